"""The law of several voices: trees, their neighbours' residuals and targets, a small Gaussian
process, weighed by what they say of rows that none of them has seen.

Yao, Vehtari, Simpson and Gelman (2018), "Using stacking to average Bayesian predictive
distributions"; docs/methods/stacking.md says what is added.
"""

from gbuq_core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
