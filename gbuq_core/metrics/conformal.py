"""Split conformal calibration of any predicted ``(loc, scale)``, one factor a level.

Papadopoulos et al. (2002), inductive confidence machines, with scores divided by the predicted
scale (Papadopoulos, Gammerman and Vovk, 2008; Lei et al., 2018, section 5.2): if new rows have the
same distribution as the calibration rows, their coverage is at least the level, whatever the model.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from gbuq_core.array_checks import FloatArray, check_array, check_gaussian
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.metrics.scores import Coverage, binomial_band

CONFORMAL_LEVELS = (0.5, 0.8, 0.95)


class ConformalScales(NamedTuple):
    """Intervals ``loc +- factor * scale`` with guaranteed coverage, and their coverage on test
    rows.

    Attributes
    ----------
    levels : ndarray of shape (n_levels,)
        Nominal coverage.
    factors : ndarray of shape (n_levels,)
        Half the width of each level's interval, in predicted stds.
    stretch : ndarray of shape (n_levels,)
        ``factors`` divided by those of a normal. 1 means that the std is right, 2 that it should be
        twice as large.
    coverage : Coverage or None
        Coverage on the test rows; None without test rows.
    n_calibration : int
    """

    levels: FloatArray
    factors: FloatArray
    stretch: FloatArray
    coverage: Coverage | None
    n_calibration: int

    def intervals(self, loc: ArrayLike, scale: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends, (n_levels, n_samples) each, for new rows' ``loc`` and ``scale``."""
        half = self.factors[:, None] * np.asarray(scale, dtype=np.float64)
        return np.asarray(loc) - half, np.asarray(loc) + half


def conformal_scales(
    y: ArrayLike,
    loc: ArrayLike,
    scale: ArrayLike,
    y_test: ArrayLike | None = None,
    loc_test: ArrayLike | None = None,
    scale_test: ArrayLike | None = None,
    levels: ArrayLike = CONFORMAL_LEVELS,
    confidence: float = 0.95,
) -> ConformalScales:
    """Find the factor of each level on calibration rows, and its coverage on test rows.

    The factor of level L is the ``ceil((n + 1) L)``-th smallest ``|y - loc| / scale``.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Targets of calibration rows. The model must not have seen these rows.
    loc, scale : array-like of shape (n_samples,)
        The model's predictions for these rows, in units of y; the scale is positive.
    y_test, loc_test, scale_test : array-like of shape (n_test,), optional
        Rows to measure the coverage on. Pass all three or none.
    levels : array-like of shape (n_levels,)
        Above 0 and below 1.
    confidence : float
        Of the binomial band of the coverage.

    Returns
    -------
    ConformalScales

    References
    ----------
    Papadopoulos et al. (2002); Lei, G'Sell, Rinaldo, Tibshirani and Wasserman (2018).

    Examples
    --------
    >>> y = np.arange(1.0, 20.0)
    >>> scales = conformal_scales(y, np.zeros(19), np.ones(19), levels=[0.5, 0.95])
    >>> scales.factors  # the 10th and the 19th of 19 scores
    array([10., 19.])
    """
    rows = check_gaussian(y, loc, scale, positive=True)
    nominal = check_levels(levels)
    check_calibration_rows(len(rows.y), nominal)
    scores = np.sort(np.abs(rows.y - rows.loc) / rows.scale)
    factors = scores[[conformal_rank(len(scores), level) - 1 for level in nominal]]
    stretch = factors / ndtri(0.5 + 0.5 * nominal)
    measured = None
    given = [part is not None for part in (y_test, loc_test, scale_test)]
    if any(given):
        if not all(given):
            raise InvalidData("y_test, loc_test and scale_test belong together: pass all or none.")
        fresh = check_gaussian(y_test, loc_test, scale_test, positive=True)  # type: ignore[arg-type]
        new = np.sort(np.abs(fresh.y - fresh.loc) / fresh.scale)
        inside, n = np.searchsorted(new, factors, side="right"), len(new)
        measured = Coverage(nominal, inside / n, *binomial_band(inside, n, confidence), n)
    return ConformalScales(nominal, factors, stretch, measured, len(scores))


def conformal_rank(n_rows: int, level: float) -> int:
    """Rank of the score, among ``n_rows``, that bounds a new row's with probability ``level``."""
    # 20 x 0.95 may come out a rounding above 19.
    return math.ceil((n_rows + 1) * level * (1.0 - 1e-12))


def conformal_needs(level: float) -> int:
    """The fewest rows whose largest score bounds a new row's with probability ``level``."""
    return math.ceil(level / (1.0 - level) * (1.0 - 1e-12))


def check_levels(levels: ArrayLike) -> FloatArray:
    """Nominal coverages (n_levels,) float64, each between 0 and 1."""
    nominal = check_array("levels", levels, 1)
    if nominal.min() <= 0.0 or nominal.max() >= 1.0:
        raise InvalidParameter(f"levels must lie above 0 and below 1; got {levels!r}.")
    return nominal


def check_calibration_rows(n_rows: int, levels: FloatArray) -> None:
    """Refuse calibration rows that are too few for the largest level."""
    top = float(levels.max())
    if conformal_rank(n_rows, top) > n_rows:
        raise InvalidData(
            f"{n_rows} calibration rows are too few for an interval of {100 * top:g} %, which "
            f"needs at least {conformal_needs(top)}: pass more rows or take a lower level."
        )
