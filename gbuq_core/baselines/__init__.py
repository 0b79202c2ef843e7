"""What the papers compare with: methods of other libraries behind this project's conventions.

So far random forests as ensembles, one forest in groups (vRF) or several, on scikit-learn's trees:
Malinin et al. (2021), appendix C.
"""

from gbuq_core.baselines.forests import ForestEnsembleClassifier, ForestEnsembleRegressor

__all__ = ["ForestEnsembleClassifier", "ForestEnsembleRegressor"]
