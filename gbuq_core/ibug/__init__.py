"""IBUG: a point-predicting tree model made probabilistic by the training rows behind a prediction.

Brophy and Lowd (2022): affinity kernels, neighbours, posterior families, calibration, estimator.
"""

from gbuq_core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
