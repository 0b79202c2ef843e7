from gbuq_core.calibration.adaptive import AdaptiveIntervals
from gbuq_core.calibration.clocks import (
    ClassClocks,
    ClassStages,
    Clocks,
    Stages,
    choose_class_clocks,
    choose_clocks,
    early_clocks,
)
from gbuq_core.calibration.regressor import CalibratedRegressor
from gbuq_core.calibration.sets import ConformalClassifier, PredictionSets

__all__ = [
    "AdaptiveIntervals",
    "CalibratedRegressor",
    "ClassClocks",
    "ClassStages",
    "Clocks",
    "ConformalClassifier",
    "PredictionSets",
    "Stages",
    "choose_class_clocks",
    "choose_clocks",
    "early_clocks",
]
