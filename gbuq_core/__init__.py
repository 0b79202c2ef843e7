"""gbuq: uncertainty in gradient-boosted and other tree ensembles, usable without the app."""

from gbuq_core.numba_cache import (
    do_without_cache_when_full,
    drop_stale_kernels,
    ensure_writable_cache,
)

ensure_writable_cache()  # both before any kernel is decorated
drop_stale_kernels()
do_without_cache_when_full()

from gbuq_core.boosting import (  # noqa: E402
    BoostedEnsembleClassifier,
    BoostedEnsembleRegressor,
    SmallestChange,
    VirtualEnsemble,
    find_smallest_change,
    load_ensemble,
)
from gbuq_core.calibration import CalibratedRegressor  # noqa: E402
from gbuq_core.distribution import Distribution  # noqa: E402
from gbuq_core.experiments.seeds import count_verdicts, run_over_seeds  # noqa: E402
from gbuq_core.given_models import GivenModel, read_model  # noqa: E402
from gbuq_core.ibug import IBUGRegressor  # noqa: E402
from gbuq_core.loading import load  # noqa: E402
from gbuq_core.macau import MacauClassifier, MacauRegressor  # noqa: E402
from gbuq_core.metrics.scorers import get_scorer, scorer  # noqa: E402
from gbuq_core.sampling import sample_mixture  # noqa: E402
from gbuq_core.soft_trees import (  # noqa: E402
    VariationalSoftGBMRegressor,
    VariationalSoftTreeClassifier,
    VariationalSoftTreeRegressor,
    tune_soft_tree,
)
from gbuq_core.synthetic import (  # noqa: E402
    make_daubechies,
    make_gap,
    make_heart,
    make_heteroscedastic,
    make_moons3,
    make_spiral,
    make_step,
    make_tails,
)
from gbuq_core.uncertainty import (  # noqa: E402
    Uncertainty,
    decompose_classification,
    decompose_regression,
)
from gbuq_core.unfamiliarity import UnfamiliarityScore  # noqa: E402

__version__ = "0.1.0"  # the only place: the package takes its version from this line

__all__ = [
    "BoostedEnsembleClassifier",
    "BoostedEnsembleRegressor",
    "CalibratedRegressor",
    "Distribution",
    "GivenModel",
    "IBUGRegressor",
    "MacauClassifier",
    "MacauRegressor",
    "SmallestChange",
    "Uncertainty",
    "UnfamiliarityScore",
    "VariationalSoftGBMRegressor",
    "VariationalSoftTreeClassifier",
    "VariationalSoftTreeRegressor",
    "VirtualEnsemble",
    "count_verdicts",
    "decompose_classification",
    "decompose_regression",
    "find_smallest_change",
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
