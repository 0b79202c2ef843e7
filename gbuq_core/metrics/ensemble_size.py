"""How many independent members an ensemble of correlated members is worth."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gbuq_core.array_checks import FloatArray, check_array
from gbuq_core.errors import InvalidData


class EnsembleSize(NamedTuple):
    """Number of members, their correlation, and how many independent members they are worth.

    Attributes
    ----------
    n_members : int
        K, as counted.
    correlation : float
        rho, the mean correlation of two members' outputs; NaN for a single member, or if fewer than
        two members vary over the points.
    effective : float
        K_eff, from the members that vary. It is 1 if all members are alike, K if they are
        uncorrelated, more than K if they are negatively correlated, and infinite at ``rho = -1 / (K
        - 1)``. It is NaN if rho is NaN, but 1 for a single member.
    """

    n_members: int
    correlation: float
    effective: float


def effective_ensemble_size(members: ArrayLike, reference: ArrayLike | None = None) -> EnsembleSize:
    """Effective number of members, ``K_eff = K / (1 + (K - 1) rho)``.

    Take K members of equal variance and pairwise correlation rho. Their mean has the same variance
    as the mean of K_eff independent members. ``rho`` is the mean Pearson correlation over all pairs
    of members. It compares their deviations from ``reference`` over the points (and classes: a
    member's probabilities count as one long vector).

    Two good models agree because both are right: their raw predictions have a correlation near 1,
    however they were trained. Pass the truth as ``reference`` to correlate their errors instead.
    Each member's mean deviation over the points is subtracted in both cases, as in every
    correlation.

    Parameters
    ----------
    members : array-like of shape (n_members, n_points) or (n_members, n_points, n_outputs)
        Predictions of every member at the same points.
    reference : array-like of shape (n_points,) or (n_points, n_outputs), optional
        Value to subtract from every member's predictions, e.g. the true probabilities. None means
        0.

    Returns
    -------
    EnsembleSize
        A member that is constant over the points has no correlation. Then ``n_members`` counts it,
        but rho and the K in the formula do not. A single member counts as 1 effective member.

    Notes
    -----
    Do not pass the members' own mean as reference: deviations from it always have a mean
    correlation of about ``-1 / (K - 1)``, whatever the members are.

    Examples
    --------
    >>> effective_ensemble_size([[1.0, 2.0, 6.0], [1.0, 2.0, 6.0]]).effective  # one, copied
    1.0
    >>> effective_ensemble_size([[1.0, 0.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0]]).effective
    2.0
    """
    if np.ndim(members) not in (2, 3):
        raise InvalidData(
            "members must have two or three axes, members first; got an array of shape "
            f"{np.shape(members)}."
        )
    values = check_array("members", members, np.ndim(members))
    if reference is not None:
        truth = check_array("reference", reference, values.ndim - 1)
        if truth.shape != values.shape[1:]:
            raise InvalidData(
                f"reference must have the shape of one member, {values.shape[1:]}; got "
                f"{truth.shape}."
            )
        values = values - truth
    n_members = len(values)
    if n_members == 1:
        return EnsembleSize(1, math.nan, 1.0)
    n_varying, correlation = _mean_correlation(values.reshape(n_members, -1))
    shared = 1.0 + (n_varying - 1) * correlation
    # Rounding leaves a rho of exactly -1 / (K - 1) on either side.
    effective = math.inf if shared < 1e-12 else n_varying / shared
    return EnsembleSize(n_members, correlation, effective)


def _mean_correlation(rows: FloatArray) -> tuple[int, float]:
    """How many rows vary, and the mean correlation over all pairs of those; NaN without a pair."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    norms = np.sqrt((centred**2).sum(axis=1))
    # Constant but for rounding, which would correlate with anything.
    varies = norms > 1e-13 * np.abs(rows).max(axis=1) * math.sqrt(rows.shape[1])
    n = int(varies.sum())
    if n < 2:
        return n, math.nan
    units = centred[varies] / norms[varies, None]
    # The sum over all ordered pairs is the squared norm of the sum of unit vectors, less n ones.
    total = float((units.sum(axis=0) ** 2).sum())
    return n, (total - n) / (n * (n - 1))
