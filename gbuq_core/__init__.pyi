from gbuq_core.boosting import (
    BoostedEnsembleClassifier,
    BoostedEnsembleRegressor,
    VirtualEnsemble,
    load_ensemble,
)
from gbuq_core.calibration import AdaptiveIntervals, CalibratedRegressor, ConformalClassifier
from gbuq_core.distribution import Distribution
from gbuq_core.experiments.seeds import count_verdicts, run_over_seeds
from gbuq_core.given_models import GivenModel, read_model
from gbuq_core.ibug import IBUGRegressor
from gbuq_core.macau import MacauClassifier, MacauRegressor
from gbuq_core.metrics.scorers import get_scorer, scorer
from gbuq_core.model_files.fields import load
from gbuq_core.sampling import sample_mixture
from gbuq_core.several_targets import JointDistribution, MultiTargetRegressor
from gbuq_core.soft_trees import (
    VariationalSoftGBMRegressor,
    VariationalSoftTreeClassifier,
    VariationalSoftTreeRegressor,
    tune_soft_tree,
)
from gbuq_core.stacking import StackedClassifier, StackedRegressor
from gbuq_core.synthetic import (
    make_daubechies,
    make_gap,
    make_heart,
    make_heteroscedastic,
    make_moons3,
    make_spiral,
    make_step,
    make_tails,
)
from gbuq_core.tables.changing import SufficientChange, find_sufficient_change
from gbuq_core.uncertainty import (
    Uncertainty,
    decompose_classification,
    decompose_regression,
)
from gbuq_core.unfamiliarity import UnfamiliarityScore

__version__: str

__all__ = [
    "AdaptiveIntervals",
    "BoostedEnsembleClassifier",
    "BoostedEnsembleRegressor",
    "CalibratedRegressor",
    "ConformalClassifier",
    "Distribution",
    "GivenModel",
    "IBUGRegressor",
    "JointDistribution",
    "MacauClassifier",
    "MacauRegressor",
    "MultiTargetRegressor",
    "StackedClassifier",
    "StackedRegressor",
    "SufficientChange",
    "Uncertainty",
    "UnfamiliarityScore",
    "VariationalSoftGBMRegressor",
    "VariationalSoftTreeClassifier",
    "VariationalSoftTreeRegressor",
    "VirtualEnsemble",
    "count_verdicts",
    "decompose_classification",
    "decompose_regression",
    "find_sufficient_change",
    "get_scorer",
    "load",
    "load_ensemble",
    "make_daubechies",
    "make_gap",
    "make_heart",
    "make_heteroscedastic",
    "make_moons3",
    "make_spiral",
    "make_step",
    "make_tails",
    "read_model",
    "run_over_seeds",
    "sample_mixture",
    "scorer",
    "tune_soft_tree",
]
