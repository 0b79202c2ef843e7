"""The settings of Two clocks, its models, what a fit depends on, and the ways to stop."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from gbuq_core.boosting.stopping import members_of_a_fold
from gbuq_core.calibration.clocks import TAILS
from gbuq_core.calibration.splits import HELD_OUT_FROM, N_FOLDS
from gbuq_core.methods import METHODS
from gbuq_core.validation import check_choice

# The boosted methods whose mean may stop after any tree; keys of `gbuq_core.methods.METHODS`.
MODELS = ("sglb", "sgb", "virtual_sglb", "catboost", "ngboost")
WITH_MEMBERS = ("sglb", "sgb")
SINGLE = ("catboost", "ngboost")  # other libraries' models: no members, so no knowledge
DATA = ("five features", "growing noise", "wave", "diabetes")
N_SCORED = 1000  # rows that score; of diabetes a quarter
N_DRAWN = 121  # points of the line through five features
N_SEEDS = 10  # seeds that a verdict counts
_N_SEEDS_NGBOOST = 5  # its fit takes several seconds
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


@dataclass(frozen=True, kw_only=True)
class TwoClocksSettings:
    """Everything that the page shows.

    Attributes
    ----------
    data : str
        One of `DATA`.
    model : str
        One of `MODELS`.
    rows, noise, seed : int, float, int
        Training rows, the factor of the true noise's std (neither applies to diabetes), and the
        seed of the rows and of the models.
    trees, members, rate, depth : int, int, float, int
        Of the model. Only SGLB and SGB have several members. NGBoost has its own trees.
    ngboost_trees : int
        Boosting iterations of NGBoost, which takes about ten times as long as the others.
    mean_weight : float
        How much the mean counts beside the scale when splits are chosen; 1 is the papers' weight.
        CatBoost and NGBoost have no such knob.
    tails : {"student", "normal"}
        Of every way but "all trees", which has a normal.
    shown : tuple of (int, int, bool) or None
        Trees of the mean, trees of the scale and whether the factor applies, for the band; None is
        what two clocks chose.
    """

    data: str = "five features"
    model: str = MODELS[0]
    rows: int = 500
    noise: float = 1.0
    seed: int = 0
    trees: int = 1000
    ngboost_trees: int = 200
    members: int = 4
    rate: float = 0.1
    depth: int = 3
    mean_weight: float = 100.0
    tails: str = TAILS[0]
    shown: tuple[int, int, bool] | None = None


@dataclass(frozen=True, kw_only=True)
class TwoClocksPlan:
    """What the fits depend on, and nothing else."""

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


def plan_two_clocks(settings: TwoClocksSettings) -> TwoClocksPlan:
    """What the fits depend on; diabetes has its own rows and noise, a single model no members.

    >>> some = TwoClocksSettings(data="diabetes", rows=200)
    >>> plan_two_clocks(some) == plan_two_clocks(TwoClocksSettings(data="diabetes", noise=3.0))
    True
    """
    model = check_choice("model", settings.model, MODELS)
    is_table = settings.data == "diabetes"
    return TwoClocksPlan(
        data=settings.data,
        model=model,
        rows=_DIABETES_ROWS if is_table else settings.rows,
        noise=1.0 if is_table else settings.noise,
        seed=settings.seed,
        trees=settings.ngboost_trees if model == "ngboost" else settings.trees,
        members=settings.members if model in WITH_MEMBERS else 1,
        rate=settings.rate,
        depth=settings.depth,
        mean_weight=1.0 if model in SINGLE else settings.mean_weight,
    )


def seeds_of(plan: TwoClocksPlan) -> int:
    """How many seeds a verdict counts: fewer for NGBoost, whose fit takes several seconds.

    >>> seeds_of(plan_two_clocks(TwoClocksSettings(model="ngboost")))
    5
    """
    return _N_SEEDS_NGBOOST if plan.model == "ngboost" else N_SEEDS


def estimate_two_clocks_seconds(plan: TwoClocksPlan) -> float:
    """About how long the fits take: the model on all rows, and the folds that choose.

    >>> estimate_two_clocks_seconds(plan_two_clocks(TwoClocksSettings())) > 0.1
    True
    """
    columns = _COLUMNS.get(plan.data, 1)
    costs = METHODS[plan.model].costs
    n_folds = 1 if plan.rows >= HELD_OUT_FROM else N_FOLDS
    if plan.model in SINGLE:
        seconds = costs.fit_seconds(plan.rows, columns, plan.trees) * plan.depth / 3.0
        return (1 + n_folds) * seconds
    members = plan.members + n_folds * members_of_a_fold(plan.members, n_folds)
    return costs.fit_seconds(plan.rows, columns, members * plan.trees) * plan.depth / 6.0
