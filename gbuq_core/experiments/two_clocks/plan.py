"""The settings of Two clocks, its models, what a fit depends on, and the ways to stop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from gbuq_core.boosting.stopping import members_of_a_fold
from gbuq_core.calibration.clocks import TAILS
from gbuq_core.calibration.splits import HELD_OUT_FROM, N_FOLDS
from gbuq_core.methods import METHODS, find_methods
from gbuq_core.validation import check_choice

# The boosted methods, which grow tree by tree; keys of `gbuq_core.methods.METHODS`.
CYCLICAL = ("csglb", "cbsglb")
WITH_CLOCKS = (
    *("sglb", "sgb", "virtual_sglb", "catboost", "ngboost"),
    *(*CYCLICAL, "virtual_catboost"),
)
WITH_MEMBERS = ("sglb", "sgb")
SINGLE = ("catboost", "ngboost")  # other libraries' models: no members, so no knowledge
# Those that are this library's estimator, with a weight of the mean in splits.
WEIGHTED = tuple(key for key in WITH_CLOCKS if key not in SINGLE)
# Every other regression that states a spread. It has no stages to stop at, and its own defaults.
WITHOUT_CLOCKS = tuple(
    method.key
    for method in find_methods("regression", yields=("total",))
    if method.key not in WITH_CLOCKS
)
MODELS = (*WITH_CLOCKS, *WITHOUT_CLOCKS)
DATA = ("five features", "growing noise", "wave", "diabetes")
N_SCORED = 1000  # rows that score; of diabetes a quarter
N_DRAWN = 121  # points of the line through five features
N_SEEDS = 10  # seeds that a verdict counts
_FEW_SEEDS = 5  # of models whose fit takes several seconds
_LONGEST_CYCLE, _FEWEST_CYCLES = 200, 5
_SOFT_TREES = MappingProxyType({"vst": 1})
_FOREIGN_TREES = 1000  # of the boosted model that some methods train first, as `Costs` counts
LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
LEVEL = 0.9  # of the intervals whose coverage is shown
_DIABETES_ROWS, _DIABETES_COLUMNS = 331, 10
_COLUMNS = MappingProxyType({"five features": 5, "diabetes": _DIABETES_COLUMNS})

# The ways to stop, with their names for people.
WAYS = MappingProxyType(
    {
        "all": "All trees",
        "factor": "All trees, one factor",
        "early": "Early stopping",
        "clocks": "Two clocks",
    }
)
# What can be done to a model without stages.
FACTOR_WAYS = MappingProxyType({"all": "As it is", "factor": "One factor"})


@dataclass(frozen=True, kw_only=True)
class TwoClocksSettings:
    """Everything that the page shows."""

    data: str = "five features"  # one of `DATA`
    model: str = MODELS[0]  # one of `MODELS`
    # `rows`, `noise`, `seed`: training rows, the factor of the true noise's std (neither applies to
    # diabetes), and the seed of the rows and of the models
    rows: int = 500
    noise: float = 1.0
    seed: int = 0
    # `trees`, `members`, `rate`, `depth`: Of the model. Only SGLB and SGB have several members.
    # NGBoost has its own trees, and a model without clocks uses the defaults of its estimator.
    trees: int = 1000
    # boosting iterations of NGBoost, which takes about ten times as long as the others
    ngboost_trees: int = 200
    members: int = 4
    rate: float = 0.1
    depth: int = 3
    # How much the mean counts beside the scale when splits are chosen; 1 is the papers' weight.
    # Other libraries' models have no such knob.
    mean_weight: float = 100.0
    tails: str = TAILS[0]  # {"student", "normal"}: of every way but "all trees", which has a normal
    # trees of the mean, trees of the scale and whether the factor applies, for the band; None is
    # what two clocks chose
    shown: tuple[int, int, bool] | None = None


@dataclass(frozen=True, kw_only=True)
class TwoClocksPlan:
    """What the fits depend on, and nothing else; a knob that the model does not have is 0."""

    data: str
    model: str
    rows: int
    noise: float
    seed: int
    trees: int
    members: int
    rate: float
    depth: int
    mean_weight: float

    @property
    def has_clocks(self) -> bool:
        """Whether the model grows tree by tree, so that its mean and its scale can stop."""
        return self.model in WITH_CLOCKS

    @property
    def ways(self) -> Mapping[str, str]:
        """The ways to stop it, or to scale it, with their names for people."""
        return WAYS if self.has_clocks else FACTOR_WAYS

    @property
    def cycle_length(self) -> int:
        """Trees of a cycle: a fifth of all, and at most the 200 of the cyclical paper."""
        return min(_LONGEST_CYCLE, self.trees // _FEWEST_CYCLES)


def plan_two_clocks(settings: TwoClocksSettings) -> TwoClocksPlan:
    """What the fits depend on; diabetes has its own rows and noise, a single model no members.

    >>> some = TwoClocksSettings(data="diabetes", rows=200)
    >>> plan_two_clocks(some) == plan_two_clocks(TwoClocksSettings(data="diabetes", noise=3.0))
    True
    """
    model = check_choice("model", settings.model, MODELS)
    is_table = settings.data == "diabetes"
    grows = model in WITH_CLOCKS
    trees = settings.ngboost_trees if model == "ngboost" else settings.trees
    members = settings.members if model in WITH_MEMBERS else 1
    return TwoClocksPlan(
        data=settings.data,
        model=model,
        rows=_DIABETES_ROWS if is_table else settings.rows,
        noise=1.0 if is_table else settings.noise,
        seed=settings.seed,
        trees=trees if grows else 0,
        members=members if grows else 0,
        rate=settings.rate if grows else 0.0,
        depth=settings.depth if grows else 0,
        mean_weight=settings.mean_weight if model in WEIGHTED else 1.0 if grows else 0.0,
    )


def seeds_of(plan: TwoClocksPlan) -> int:
    """How many seeds a verdict counts: fewer where the fits of one take several seconds.

    >>> seeds_of(plan_two_clocks(TwoClocksSettings(model="ngboost")))
    5
    """
    slow = plan.model == "ngboost" or not plan.has_clocks
    return _FEW_SEEDS if slow else N_SEEDS


def estimate_two_clocks_seconds(plan: TwoClocksPlan) -> float:
    """About how long the fits take: the model on all rows, and the folds that choose.

    >>> estimate_two_clocks_seconds(plan_two_clocks(TwoClocksSettings())) > 0.1
    True
    """
    columns = _COLUMNS.get(plan.data, 1)
    costs = METHODS[plan.model].costs
    n_folds = 1 if plan.rows >= HELD_OUT_FROM else N_FOLDS
    if not plan.has_clocks:
        trees = _trees_of(plan.model)
        each = costs.fit_seconds(plan.rows, columns, trees)
        each += costs.predict_seconds(plan.rows // N_FOLDS, trees)
        scored = costs.predict_seconds(N_SCORED + N_DRAWN, trees)
        return (1 + n_folds) * each + scored
    if plan.model in SINGLE:
        seconds = costs.fit_seconds(plan.rows, columns, plan.trees) * plan.depth / 3.0
        return (1 + n_folds) * seconds
    members = plan.members + n_folds * members_of_a_fold(plan.members, n_folds)
    return costs.fit_seconds(plan.rows, columns, members * plan.trees) * plan.depth / 6.0


def _trees_of(model: str) -> int:
    """Trees of a model at its defaults, as its costs count them."""
    for knob in METHODS[model].knobs:
        if knob.key == "n_trees":
            return int(knob.default)
    return _SOFT_TREES.get(model, _FOREIGN_TREES)
