from gbuq_core.stacking.classifier import StackedClassifier
from gbuq_core.stacking.regressor import StackedRegressor

__all__ = ["StackedClassifier", "StackedRegressor"]
