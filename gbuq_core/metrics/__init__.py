"""Scores of predictions and of their uncertainty; lower is better unless a docstring says
otherwise.

Proper scores (CRPS, NLL, check and interval score), calibration (coverage with its binomial band,
PIT, reliability, split conformal factors) and ranking (rejection curves, PRR, AUROC), as Malinin et
al. (2021), section 5, and Brophy and Lowd (IBUG, 2022) report them, and the effective size of an
ensemble; coverage by group, and thresholds that find enough rows. ``scale`` is always a standard
deviation. Arrays that are empty, not finite or of different lengths are refused by `InvalidData`,
impossible numbers by `InvalidParameter`, in one sentence.
"""

from gbuq_core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
