"""How well an uncertainty ranks: rejection curves and PRR for errors, AUROC for detection."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gbuq_core.errors import InvalidData
from gbuq_core.validation import FloatArray, check_array, check_number, check_same_length


class RejectionCurve(NamedTuple):
    """The error that remains as more and more of the most uncertain rows are rejected.

    Attributes
    ----------
    rejected : ndarray of shape (n_points,)
        Share of the rows rejected, from 0 to 1.
    remaining : ndarray of shape (n_points,)
        Sum of the retained rows' errors, divided by the number of *all* rows, in units of the
        errors. A rejected row goes to an expert, and its error counts as 0.
    oracle : ndarray of shape (n_points,)
        The same if the largest errors are rejected first. No ranking does better.
    random : ndarray of shape (n_points,)
        The same for a random order, on average: a straight line.
    retained : ndarray of shape (n_points,)
        Mean error of the retained rows, NaN if none is left.
    """

    rejected: FloatArray
    remaining: FloatArray
    oracle: FloatArray
    random: FloatArray
    retained: FloatArray


def rejection_curve(
    errors: ArrayLike, uncertainty: ArrayLike, n_points: int | None = None
) -> RejectionCurve:
    """Reject rows from the most to the least uncertain and follow the error that remains.

    Rows of equal uncertainty share their mean error, as if rejected in random order. So the order
    of the rows never matters.

    Parameters
    ----------
    errors : array-like of shape (n_samples,)
        Non-negative error of each row: squared errors, or 0 and 1 for right and wrong classes.
    uncertainty : array-like of shape (n_samples,)
        Only its order matters.
    n_points : int, optional
        Thin the curve to at most this many points for drawing; None keeps all n_samples + 1.

    Returns
    -------
    RejectionCurve

    Raises
    ------
    InvalidData
        If the arrays are empty, not finite, of different lengths, or an error is negative.

    References
    ----------
    Malinin (2019), PhD thesis, and Malinin et al. (2021), section 5.

    Examples
    --------
    >>> rejection_curve([0.0, 3.0, 1.0], [0.1, 0.9, 0.5]).remaining.round(4)
    array([1.3333, 0.3333, 0.    , 0.    ])
    """
    by_uncertainty, by_error = _sorted_errors(errors, uncertainty)
    n = len(by_error)
    kept_rows = np.arange(n, -1, -1)
    if n_points is not None:
        count = check_number("n_points", n_points, 2, integer=True)
        kept_rows = kept_rows[np.unique(np.linspace(0, n, min(count, n + 1)).round().astype(int))]
    rejected = 1.0 - kept_rows / n
    kept = _partial_sums(by_uncertainty)[kept_rows]
    oracle = _partial_sums(by_error)[kept_rows]
    return RejectionCurve(
        rejected=rejected,
        remaining=kept / n,
        oracle=oracle / n,
        random=oracle[0] / n * (1.0 - rejected),
        retained=np.divide(kept, kept_rows, out=np.full(len(kept), np.nan), where=kept_rows > 0),
    )


def prr(errors: ArrayLike, uncertainty: ArrayLike) -> float:
    """Prediction-rejection ratio in percent: 100 ranks like the errors themselves, 0 like chance.

    The area between the random and the model's rejection curve, divided by the area between the
    random and the oracle's curve. Trapezoids from 0 to ``(n - 1)/n`` rejected, in O(n log n).
    Higher is better; below 0 is worse than chance.

    Parameters
    ----------
    errors : array-like of shape (n_samples,)
        Squared errors (regression), or 0 and 1 for right and wrong classes.
    uncertainty : array-like of shape (n_samples,)
        Only its order matters; ties count with their mean error (see `rejection_curve`).

    Returns
    -------
    float
        NaN if all errors are equal, because every ranking is then equally good.

    Raises
    ------
    InvalidData
        As for `rejection_curve`.

    Notes
    -----
    Equals the authors' code for regression where no uncertainties tie. Their code for classes
    counts one row less on every curve; the two agree to O(1/n).

    References
    ----------
    Malinin (2019), PhD thesis, and Malinin et al. (2021), section 5 and table 1.

    Examples
    --------
    >>> prr([0.0, 3.0, 1.0], [0.1, 0.9, 0.5])
    100.0
    """
    by_uncertainty, by_error = _sorted_errors(errors, uncertainty)
    if by_error[0] == by_error[-1]:
        return math.nan
    best = _area_below_random(by_error)
    return 100.0 * (_area_below_random(by_uncertainty) / best)


def auroc(is_positive: ArrayLike, scores: ArrayLike) -> float:
    """Area under the ROC curve: the chance that a positive row scores above a negative one.

    Ties count one half. 1 separates perfectly, 0.5 is chance; higher is better.

    Parameters
    ----------
    is_positive : array-like of shape (n_samples,), bool or 0 and 1
        For detection: which rows are outside the training data.
    scores : array-like of shape (n_samples,)
        For detection: their knowledge uncertainty. Only its order matters.

    Returns
    -------
    float
        NaN if there is no positive or no negative row.

    Raises
    ------
    InvalidData
        If the arrays are empty, of different lengths, not finite, or not 0 and 1.

    References
    ----------
    Malinin et al. (2021), section 5; Mann and Whitney (1947).

    Examples
    --------
    >>> auroc([True, False, False], [2.0, 1.0, 2.0])
    0.75
    """
    positive = check_array("is_positive", is_positive, 1)
    values = check_array("scores", scores, 1)
    check_same_length(is_positive=positive, scores=values)
    if not np.isin(positive, (0.0, 1.0)).all():
        raise InvalidData("is_positive must hold only true and false, or 1 and 0.")
    members = values[positive == 1.0]
    others = np.sort(values[positive == 0.0])
    if not len(members) or not len(others):
        return math.nan
    below = np.searchsorted(others, members, side="left")
    not_above = np.searchsorted(others, members, side="right")
    # Whole numbers summed as integers: exact, whatever the order of the rows.
    twice_won = int(below.sum()) + int(not_above.sum())
    return twice_won / (2 * len(members) * len(others))


def _sorted_errors(errors: ArrayLike, uncertainty: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Errors from the least to the most uncertain row (ties averaged), and sorted by themselves."""
    error = check_array("errors", errors, 1, low=0.0)
    score = check_array("uncertainty", uncertainty, 1)
    check_same_length(errors=error, uncertainty=score)
    # Errors break ties, so that even the rounding of the sums is free of the order of the rows.
    order = np.lexsort((error, score))
    ranked, score = error[order], score[order]
    starts: NDArray[np.intp] = np.flatnonzero(np.r_[True, score[1:] != score[:-1]])
    if len(starts) < len(ranked):
        sizes = np.diff(np.r_[starts, len(ranked)])
        ranked = np.repeat(np.add.reduceat(ranked, starts) / sizes, sizes)
    return ranked, np.sort(error)


def _partial_sums(ranked: FloatArray) -> FloatArray:
    """Sum of the first k errors for k = 0 .. n: what remains if only those rows are retained."""
    return np.concatenate(([0.0], np.cumsum(ranked)))


def _area_below_random(ranked: FloatArray) -> float:
    """Area between the straight line of random rejection and the curve of ``ranked``, unscaled."""
    n = len(ranked)
    sums = _partial_sums(ranked)
    gap = sums[-1] * np.arange(n + 1) / n - sums  # over the number of rows retained
    # The trapezoid rule from nothing rejected (gap 0) to one row retained, which counts half.
    return float(gap[2:].sum() + 0.5 * gap[1])
