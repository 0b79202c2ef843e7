"""Whether intervals and probabilities keep their promise in every group of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gbuq_core.array_checks import FloatArray, check_array
from gbuq_core.errors import InvalidData
from gbuq_core.metrics.scores import binomial_band, wilson_band
from gbuq_core.validation import check_number


class GroupCoverage(NamedTuple):
    """Promised and observed shares of all rows and of each group.

    Attributes
    ----------
    names : tuple of str
        "all rows", then the groups that have rows.
    n_rows : ndarray of shape (n_groups,), int64
    promised : ndarray of shape (n_groups,)
        The level of the intervals, or the mean probability of the predicted classes.
    observed : ndarray of shape (n_groups,)
        Share of rows inside their interval, or whose class is right.
    low, high : ndarray of shape (n_groups,)
        Wilson band of ``observed``. That of all rows stands alone; those of the groups hold all
        together with the confidence that was asked for (Bonferroni).
    is_off : ndarray of shape (n_groups,), bool
        Where that band and the exact binomial one exclude what is promised: Wilson's alone would
        call one missed row of one more than chance.
    """

    names: tuple[str, ...]
    n_rows: NDArray[np.int64]
    promised: FloatArray
    observed: FloatArray
    low: FloatArray
    high: FloatArray
    is_off: NDArray[np.bool_]


def group_coverage(
    inside: ArrayLike,
    promised: ArrayLike,
    group: ArrayLike,
    names: Sequence[str],
    confidence: float = 0.95,
) -> GroupCoverage:
    """Coverage of all rows and by group, with Wilson bands.

    Parameters
    ----------
    inside : array-like of shape (n_samples,), bool or 0 and 1
        Whether a row lies inside its interval, or its predicted class is right.
    promised : array-like of shape (n_samples,), or a number
        The level, or the probability of the predicted class.
    group : array-like of shape (n_samples,) of int
        Position of the row's group in ``names``.
    names : sequence of str
    confidence : float
        Of the band of all rows, and of the bands of the groups together.

    Examples
    --------
    >>> coverage = group_coverage([1, 1, 0, 1], 0.9, [0, 0, 1, 1], ["a", "b"])
    >>> coverage.names, coverage.observed
    (('all rows', 'a', 'b'), array([0.75, 1.  , 0.5 ]))
    """
    hits = check_array("inside", inside, 1, low=0.0, high=1.0)
    codes = np.asarray(group)
    if codes.shape != hits.shape or codes.dtype.kind not in "iu":
        raise InvalidData("group must hold a whole number for each row.")
    if len(codes) and (codes.min() < 0 or codes.max() >= len(names)):
        raise InvalidData(f"group must lie between 0 and {len(names) - 1}.")
    level = np.broadcast_to(check_array("promised", np.atleast_1d(promised), 1), hits.shape)
    check_number("confidence", confidence, 0.0, 1.0)
    n_rows = np.bincount(codes, minlength=len(names))
    filled = np.flatnonzero(n_rows)
    n = np.concatenate(([len(hits)], n_rows[filled]))
    right, meant = (
        np.concatenate(([values.sum()], np.bincount(codes, values, len(names))[filled]))
        for values in (hits, level)
    )
    together = 1.0 - (1.0 - confidence) / len(filled)
    (low, high), (exact_low, exact_high) = (
        np.concatenate([band(right[:1], n[:1], confidence), band(right[1:], n[1:], together)], 1)
        for band in (wilson_band, binomial_band)
    )
    labels = tuple(str(names[int(place)]) for place in filled)
    promise = meant / n
    is_off = (promise < np.minimum(low, exact_low)) | (promise > np.maximum(high, exact_high))
    return GroupCoverage(("all rows", *labels), n, promise, right / n, low, high, is_off)
