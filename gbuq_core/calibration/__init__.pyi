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

__all__ = [
    "CalibratedRegressor",
    "ClassClocks",
    "ClassStages",
    "Clocks",
    "Stages",
    "choose_class_clocks",
    "choose_clocks",
    "early_clocks",
]
