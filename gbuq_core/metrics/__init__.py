"""Scores of predictions and of their uncertainty; lower is better unless a docstring says
otherwise.

Proper scores (CRPS, NLL, check and interval score), calibration (coverage with its binomial band,
PIT, reliability, split conformal factors) and ranking (rejection curves, PRR, AUROC), as Malinin et
al. (2021), section 5, and Brophy and Lowd (IBUG, 2022) report them, and the effective size of an
ensemble. ``scale`` is always a standard deviation.
"""

from gbuq_core.metrics.class_calibration import Reliability, calibration_error, reliability
from gbuq_core.metrics.conformal import CONFORMAL_LEVELS, ConformalScales, conformal_scales
from gbuq_core.metrics.ensemble_size import EnsembleSize, effective_ensemble_size
from gbuq_core.metrics.intervals import (
    DEFAULT_LEVELS,
    Coverage,
    PitHistogram,
    binomial_band,
    coverage,
    interval_coverage,
    mace,
    pit_coverage,
    pit_gaussian,
    pit_histogram,
    pit_mixture,
    sharpness,
)
from gbuq_core.metrics.proper_scores import (
    check_score,
    crps_ensemble,
    crps_gaussian,
    crps_gaussian_values,
    crps_mixture,
    crps_student_values,
    error_rate,
    interval_score,
    mean_interval_score,
    nll_classification,
    nll_classification_values,
    nll_gaussian,
    nll_gaussian_values,
    nll_mixture,
    nll_mixture_values,
    pinball_score,
    rmse,
)
from gbuq_core.metrics.ranking import RejectionCurve, auroc, prr, rejection_curve

__all__ = [
    "CONFORMAL_LEVELS",
    "DEFAULT_LEVELS",
    "ConformalScales",
    "Coverage",
    "EnsembleSize",
    "PitHistogram",
    "RejectionCurve",
    "Reliability",
    "auroc",
    "binomial_band",
    "calibration_error",
    "check_score",
    "conformal_scales",
    "coverage",
    "crps_ensemble",
    "crps_gaussian",
    "crps_gaussian_values",
    "crps_mixture",
    "crps_student_values",
    "effective_ensemble_size",
    "error_rate",
    "interval_coverage",
    "interval_score",
    "mace",
    "mean_interval_score",
    "nll_classification",
    "nll_classification_values",
    "nll_gaussian",
    "nll_gaussian_values",
    "nll_mixture",
    "nll_mixture_values",
    "pinball_score",
    "pit_coverage",
    "pit_gaussian",
    "pit_histogram",
    "pit_mixture",
    "prr",
    "rejection_curve",
    "reliability",
    "rmse",
    "sharpness",
]
