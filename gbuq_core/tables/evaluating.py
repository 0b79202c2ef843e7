"""The scores of a table's predictions on rows that were held out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gbuq_core.metrics import (
    Coverage,
    RejectionCurve,
    Reliability,
    auroc,
    binomial_band,
    calibration_error,
    error_rate,
    prr,
    rejection_curve,
    reliability,
    rmse,
)
from gbuq_core.tables.predicting import Predictions, inside_interval, interval_of, law_of
from gbuq_core.uncertainty import Uncertainty

COVERAGE_LEVELS = (0.5, 0.8, 0.95)
_CURVE_POINTS = 201


class ByKind(NamedTuple):
    """One number for each of total, data and knowledge uncertainty."""

    total: float
    data: float
    knowledge: float


class RejectionCurves(NamedTuple):
    """Rejection by total, data and knowledge uncertainty."""

    total: RejectionCurve
    data: RejectionCurve
    knowledge: RejectionCurve


class RegressionScores(NamedTuple):
    """Scores of a regression on rows that were not learnt from.

    Attributes
    ----------
    n_rows : int
    nll : float
        By `gbuq_core.metrics.log_scores` of one law a row with the total uncertainty, in nats: a
        normal, or the Student t that the table's rows chose. Its CRPS and its intervals are below.
    rmse, crps : float
        In units of the target.
    baseline_rmse : float
        Of predicting the training rows' mean, in units of the target.
    coverage : Coverage
        Of central intervals of 50, 80 and 95 % as they are written, with binomial bands.
    prr : ByKind
        How well each uncertainty ranks squared errors, in percent.
    rejection : RejectionCurves
        Of squared errors.
    """

    n_rows: int
    nll: float
    rmse: float
    baseline_rmse: float
    crps: float
    coverage: Coverage
    prr: ByKind
    rejection: RejectionCurves


class ClassificationScores(NamedTuple):
    """Scores of a classification on rows that were not learnt from.

    Attributes
    ----------
    n_rows : int
    nll : float
        Of the mean of the members' probabilities, in nats.
    error_rate, baseline_error_rate : float
        Shares of wrong classes, and the same for the training rows' most frequent class.
    calibration_error : float
        Mean gap of accuracy to confidence.
    reliability : Reliability
        Accuracy by confidence.
    prr : ByKind
        How well each uncertainty ranks errors, in percent.
    auroc : ByKind
        The chance that a wrong row is more uncertain than a right one.
    rejection : RejectionCurves
        Of errors, 0 or 1 a row.
    """

    n_rows: int
    nll: float
    error_rate: float
    baseline_error_rate: float
    calibration_error: float
    reliability: Reliability
    prr: ByKind
    auroc: ByKind
    rejection: RejectionCurves


Scores = RegressionScores | ClassificationScores


def evaluate(
    y: NDArray[np.float64],
    predictions: Predictions,
    rows: NDArray[np.bool_],
    y_train: NDArray[np.float64],
    n_classes: int,
) -> Scores:
    """Scores over some rows."""
    rows = rows & ~np.isnan(y)
    uncertainty = Uncertainty(*(part[rows] for part in predictions.uncertainty))
    if n_classes:
        return _classification(y[rows], predictions, rows, uncertainty, y_train)
    return _regression(y[rows], predictions, rows, uncertainty, y_train)


def _regression(
    y: NDArray[np.float64],
    predictions: Predictions,
    rows: NDArray[np.bool_],
    uncertainty: Uncertainty,
    y_train: NDArray[np.float64],
) -> RegressionScores:
    loc = predictions.loc[rows]
    law = law_of(predictions, rows)
    squared = (y - loc) ** 2
    return RegressionScores(
        n_rows=len(y),
        nll=float(predictions.nll[rows].mean()),
        rmse=rmse(y, loc),
        baseline_rmse=rmse(y, np.full(len(y), y_train.mean())),
        crps=float(law.crps(y).mean()),
        coverage=count_coverage(
            inside_interval(interval_of(predictions, COVERAGE_LEVELS, rows), y), COVERAGE_LEVELS
        ),
        prr=_by_kind(prr, squared, uncertainty),
        rejection=_curves(squared, uncertainty),
    )


def count_coverage(inside: NDArray[np.bool_], levels: Sequence[float]) -> Coverage:
    """How many rows lie inside intervals, (n_rows, n_levels), with bands of chance."""
    n_rows, n_inside = len(inside), inside.sum(axis=0)
    low, high = binomial_band(n_inside, n_rows)
    return Coverage(np.asarray(levels), n_inside / n_rows, low, high, n_rows)


def _classification(
    y: NDArray[np.float64],
    predictions: Predictions,
    rows: NDArray[np.bool_],
    uncertainty: Uncertainty,
    y_train: NDArray[np.float64],
) -> ClassificationScores:
    probabilities, codes = predictions.probabilities[rows], y.astype(np.int64)
    wrong = (predictions.loc[rows] != y).astype(np.float64)
    usual = float(np.bincount(y_train.astype(np.int64)).argmax())
    return ClassificationScores(
        n_rows=len(y),
        nll=float(predictions.nll[rows].mean()),
        error_rate=error_rate(y, predictions.loc[rows]),
        baseline_error_rate=error_rate(y, np.full(len(y), usual)),
        calibration_error=calibration_error(codes, probabilities),
        reliability=reliability(codes, probabilities),
        prr=_by_kind(prr, wrong, uncertainty),
        auroc=_by_kind(auroc, wrong, uncertainty),
        rejection=_curves(wrong, uncertainty),
    )


def _curves(errors: NDArray[np.float64], uncertainty: Uncertainty) -> RejectionCurves:
    return RejectionCurves(*(_curve(errors, part) for part in uncertainty))


def _curve(errors: NDArray[np.float64], part: NDArray[np.float64]) -> RejectionCurve:
    """The curve of a part; what remains is NaN where the part is not known."""
    if not np.isnan(part).any():
        return rejection_curve(errors, part, _CURVE_POINTS)
    bare = rejection_curve(errors, np.zeros(len(part)), _CURVE_POINTS)
    unknown = np.full_like(bare.remaining, np.nan)
    return bare._replace(remaining=unknown, retained=unknown.copy())


def _by_kind(
    score: Callable[[Any, Any], float], errors: NDArray[np.float64], uncertainty: Uncertainty
) -> ByKind:
    """A score of each part; NaN where the part is not known."""
    return ByKind(
        *(np.nan if np.isnan(part).any() else score(errors, part) for part in uncertainty)
    )
