"""MACAU: a model in every leaf of a random forest, for uncertainty and novelty of predictions.

Follows Merilinna, "Advanced uncertainty quantification and novelty detection for random forest
models" (2023), doi 10.5121/csit.2023.131920, section 3.
"""

from gbuq_core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
