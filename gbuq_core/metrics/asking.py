"""What it saves to ask a person about the rows that a model is least sure of.

An error costs ``error_cost`` for each unit of error, a question to a person ``asking_cost``, and
a person makes no error. A row is asked about where its uncertainty is at or above a threshold. The
threshold is chosen on one half of the rows and its cost measured on the other, both ways, so that
no row chooses for itself (Chow, 1970, "On optimum recognition error and reject tradeoff", for known
probabilities).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from gbuq_core.array_checks import FloatArray, check_array, check_same_length
from gbuq_core.errors import InvalidData
from gbuq_core.lazy import import_optional
from gbuq_core.metrics.scores import check_errors, rejection_curve
from gbuq_core.validation import check_number

_THRESHOLDS = 400
_MOST_OF_CLASS = 20_000  # rows; more change a threshold by less than chance does
_RESAMPLES, _FEWEST_RESAMPLES = 1000, 200
_MOST_DRAWS = 20_000_000  # of rows, over all resamples
_DRAWS_AT_ONCE = 2_000_000


class AskingCurve(NamedTuple):
    """What it costs to ask about more and more of the most uncertain rows.

    Attributes
    ----------
    asked : ndarray of shape (n_points,)
        Share of the rows that are asked about, from 0 to 1.
    cost : ndarray of shape (n_points,)
        A row, on average, questions and remaining errors together.
    best : ndarray of shape (n_points,)
        The same if the largest errors were asked about first. No uncertainty does better.
    """

    asked: FloatArray
    cost: FloatArray
    best: FloatArray


class RecallThreshold(NamedTuple):
    """From which probability on a class is predicted, so that enough of its rows are found.

    Attributes
    ----------
    threshold : float
        NaN if no threshold is sure to; then all else is NaN too.
    recall : float
        The share of the class's rows that are found, on the rows that chose the threshold.
    called : float
        The share of all rows that are predicted to be of the class.
    precision : float
        The share of these that are.
    """

    threshold: float
    recall: float
    called: float
    precision: float


class Saving(NamedTuple):
    """Mean saving a row, with its bootstrap interval."""

    mean: float
    low: float
    high: float


class Asking(NamedTuple):
    """What a threshold saves on rows that did not choose it.

    Attributes
    ----------
    threshold : float
        The best one for all rows: ask where the uncertainty is at or above it. inf asks nobody,
        -inf asks everybody.
    asked : float
        Share of the rows that are asked about, each by the threshold of the other half.
    caught : float
        Share of all error in them; NaN if there is no error.
    cost, nobody, everybody : float
        Mean cost a row by the thresholds, of asking about no row, and about each row.
    saves_nobody, saves_everybody : Saving
        How much cheaper the thresholds are than these two.
    is_asked : ndarray of shape (n_samples,), bool
    """

    threshold: float
    asked: float
    caught: float
    cost: float
    nobody: float
    everybody: float
    saves_nobody: Saving
    saves_everybody: Saving
    is_asked: NDArray[np.bool_]

    @property
    def is_cheaper(self) -> bool:
        """Whether both intervals exclude that nobody or everybody is as cheap."""
        return self.saves_nobody.low > 0.0 and self.saves_everybody.low > 0.0


def asking_curve(
    errors: ArrayLike,
    uncertainty: ArrayLike,
    error_cost: float = 1.0,
    asking_cost: float = 1.0,
    n_points: int | None = None,
) -> AskingCurve:
    """Cost a row against the share of rows that are asked about, most uncertain first.

    Parameters
    ----------
    errors : array-like of shape (n_samples,)
        Not negative: 0 and 1 for right and wrong classes, absolute errors of a regression.
    uncertainty : array-like of shape (n_samples,)
        Only its order matters. Rows of equal uncertainty count with their mean error.
    error_cost : float
        Of a unit of error.
    asking_cost : float
        Of a question.
    n_points : int, optional
        Thin the curve for drawing.

    Examples
    --------
    >>> asking_curve([0.0, 1.0, 0.0, 1.0], [0.1, 0.9, 0.2, 0.3], error_cost=4.0).cost
    array([2.  , 1.25, 0.5 , 0.75, 1.  ])
    """
    per_error, per_question = _costs(error_cost, asking_cost)
    curve = rejection_curve(errors, uncertainty, n_points)
    questions = per_question * curve.rejected
    return AskingCurve(
        curve.rejected,
        per_error * curve.remaining + questions,
        per_error * curve.oracle + questions,
    )


def best_threshold(
    errors: ArrayLike, uncertainty: ArrayLike, error_cost: float = 1.0, asking_cost: float = 1.0
) -> float:
    """The uncertainty from which on asking is cheapest on these rows; inf for never.

    Where several thresholds cost the same, the one that asks least. -inf asks about each row.

    Parameters as for `asking_curve`.

    Examples
    --------
    >>> best_threshold([0.0, 1.0, 0.0, 1.0], [0.1, 0.9, 0.2, 0.3], error_cost=4.0)
    0.3
    >>> best_threshold([0.0, 1.0], [0.1, 0.9], error_cost=0.5)
    inf
    """
    per_error, per_question = _costs(error_cost, asking_cost)
    error, score = check_errors(errors, uncertainty)
    return _best(error, score, per_error, per_question)


def ask_by_threshold(
    errors: ArrayLike,
    uncertainty: ArrayLike,
    error_cost: float = 1.0,
    asking_cost: float = 1.0,
    confidence: float = 0.95,
    seed: int = 0,
) -> Asking:
    """Choose a threshold on each random half of the rows and measure its cost on the other.

    Parameters
    ----------
    errors, uncertainty, error_cost, asking_cost
        As for `asking_curve`; at least two rows.
    confidence : float
        Of the bootstrap intervals of the savings: rows are drawn again, thresholds stay.
    seed : int
        Of the halves and the bootstrap.

    Returns
    -------
    Asking

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> doubt = rng.random(2000)
    >>> wrong = rng.random(2000) < 0.4 * doubt
    >>> asking = ask_by_threshold(wrong, doubt, error_cost=4.0)
    >>> asking.is_cheaper, round(asking.cost, 2), round(asking.nobody, 2), asking.everybody
    (True, 0.69, 0.8, 1.0)
    """
    per_error, per_question = _costs(error_cost, asking_cost)
    tail = 0.5 * (1.0 - check_number("confidence", confidence, 0.0, 1.0))
    error, score = check_errors(errors, uncertainty)
    if len(error) < 2:
        raise InvalidData("At least two rows are needed: one half chooses, the other measures.")
    rng = np.random.default_rng(check_number("seed", seed, 0, 2**31 - 1, integer=True))
    first = np.zeros(len(error), bool)
    first[rng.permutation(len(error))[: len(error) // 2]] = True
    is_asked = np.zeros(len(error), bool)
    for half in (first, ~first):
        limit = _best(error[~half], score[~half], per_error, per_question)
        is_asked[half] = score[half] >= limit
    unasked = per_error * error
    cost = np.where(is_asked, per_question, unasked)
    saved = np.stack([unasked - cost, per_question - cost])
    low, high = _interval_of_means(saved, tail, rng)
    savings = [
        Saving(*(float(v) for v in interval))
        for interval in zip(saved.mean(axis=1), low, high, strict=True)
    ]
    total = float(error.sum())
    return Asking(
        threshold=_best(error, score, per_error, per_question),
        asked=float(is_asked.mean()),
        caught=float(error[is_asked].sum()) / total if total else math.nan,
        cost=float(cost.mean()),
        nobody=float(unasked.mean()),
        everybody=per_question,
        saves_nobody=savings[0],
        saves_everybody=savings[1],
        is_asked=is_asked,
    )


def recall_threshold(
    is_class: ArrayLike,
    probability: ArrayLike,
    recall: float = 0.95,
    confidence: float = 0.95,
) -> RecallThreshold:
    """The largest probability from which on enough of a class is found, with confidence.

    Risk control (Angelopoulos, Bates, Candes, Jordan and Lei, 2021, "Learn then test"), by mapie:
    thresholds are tested from 0 upwards until one cannot be shown to find enough, so that new rows
    of the class are found as promised for this share of all sets of rows that choose. The rows must
    be like the new ones, and must not have taught the model.

    Parameters
    ----------
    is_class : array-like of shape (n_samples,)
        Whether a row is of the class.
    probability : array-like of shape (n_samples,)
        That it is.
    recall, confidence : float
        At 0.95 and 0.95, the class needs 59 rows.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> probability = rng.random(2000)
    >>> choice = recall_threshold(rng.random(2000) < probability, probability)
    >>> [round(share, 2) for share in choice]
    [0.17, 0.96, 0.82, 0.59]
    """
    wanted = float(check_number("recall", recall, 0.01, 0.999))
    sure = float(check_number("confidence", confidence, 0.01, 0.999))
    of_class, score = check_array("is_class", is_class, 1) > 0.0, _shares(probability)
    check_same_length(is_class=of_class, probability=score)
    mine = score[of_class]
    if len(mine) * math.log(wanted) > math.log1p(-sure):  # not even if all of them are found
        return RecallThreshold(math.nan, math.nan, math.nan, math.nan)
    if len(mine) > _MOST_OF_CLASS:
        mine = np.random.default_rng(0).choice(mine, _MOST_OF_CLASS, replace=False)
    control = import_optional("mapie.risk_control").BinaryClassificationController(
        lambda rows: np.column_stack([1.0 - rows, rows]),
        "recall",
        wanted,
        confidence_level=sure,
        list_predict_params=np.append(0.0, expit(np.linspace(-9.0, 9.0, _THRESHOLDS))),
        fwer_method="fixed_sequence",
    )
    control.calibrate(mine, np.ones(len(mine), np.int64))
    threshold = float(control.valid_predict_params.max())
    called = score >= threshold
    return RecallThreshold(
        threshold,
        float(called[of_class].mean()),
        float(called.mean()),
        float(of_class[called].mean()) if called.any() else math.nan,
    )


def _shares(probability: ArrayLike) -> FloatArray:
    shares = check_array("probability", probability, 1, low=0.0)
    if (shares > 1.0).any():
        raise InvalidData("Probabilities are at most 1.")
    return shares


def _best(error: FloatArray, score: FloatArray, per_error: float, per_question: float) -> float:
    values, group = np.unique(score, return_inverse=True)
    # What each distinct uncertainty, and all above it, changes against asking nobody.
    change = per_question * np.bincount(group) - per_error * np.bincount(group, weights=error)
    total = np.concatenate(([0.0], np.cumsum(change[::-1])))
    number = int(np.argmin(total))  # the first of equals asks least
    if number == 0:
        return math.inf
    return -math.inf if number == len(values) else float(values[len(values) - number])


def _interval_of_means(
    values: FloatArray, tail: float, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Percentile bootstrap of the means of (n_kinds, n_rows) over rows, (n_kinds,) each."""
    n = values.shape[1]
    count = int(np.clip(_MOST_DRAWS // n, _FEWEST_RESAMPLES, _RESAMPLES))
    block = max(1, _DRAWS_AT_ONCE // n)
    means = [
        values[:, rng.integers(0, n, (min(block, count - start), n))].mean(axis=2)
        for start in range(0, count, block)
    ]
    low, high = np.quantile(np.concatenate(means, axis=1), [tail, 1.0 - tail], axis=1)
    return low, high


def _costs(error_cost: float, asking_cost: float) -> tuple[float, float]:
    per_error = float(check_number("error_cost", error_cost, 0.0))
    return per_error, float(check_number("asking_cost", asking_cost, 0.0))
