"""The settings of Two clocks, its models, what a fit depends on, and the ways to stop."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from gbuq_core.calibration.clocks import TAILS
from gbuq_core.methods import METHODS, find_methods
from gbuq_core.settings import Codec, arguments, setting

# The boosted methods, which grow tree by tree; keys of `gbuq_core.methods.METHODS`.
CYCLICAL = ("csglb", "cbsglb")
WITH_CLOCKS = (
    "sglb", "sgb", "virtual_sglb", "catboost", "ngboost", *CYCLICAL, "virtual_catboost",
)  # fmt: skip
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
LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
LEVEL = 0.9  # of the intervals whose coverage is shown
_DIABETES_ROWS = 331

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


_TAILS = MappingProxyType(dict(zip(("Student t", "normal"), TAILS, strict=True)))
_MOST_TREES = 2000  # of any model here
_TREES = r"(?:2000|1[0-9]{3}|[1-9][0-9]{0,2})"


def read_clocks(text: str) -> tuple[int, int, bool] | None:
    """Trees of the mean, trees of the scale, and whether the factor applies."""
    match = re.fullmatch(r"(\d+)\.(\d+)(\.plain)?", text)
    return None if match is None else (int(match[1]), int(match[2]), match[3] is None)


def write_clocks(clocks: tuple[int, int, bool] | None) -> str:
    """The text of the clocks in the picture."""
    if clocks is None:
        return ""
    return f"{clocks[0]}.{clocks[1]}{'' if clocks[2] else '.plain'}"


def _is_drawn(settings: TwoClocksSettings) -> bool:
    return settings.data != "diabetes"


@dataclass(frozen=True, kw_only=True)
class TwoClocksSettings:
    """Everything that the page shows. `settings.plan_of` it is what the fits depend on."""

    data: str = setting(
        "five features", "Data", group="data", choices=DATA,
        help="Three sets with a known truth, and a real table of 442 patients.",
    )  # fmt: skip
    rows: int = setting(
        500, "Training rows", group="data", choices=(100, 200, 500, 1000, 2000), uses=_is_drawn,
        help="They train the models and choose the clocks. Other rows score them.",
    )  # fmt: skip
    noise: float = setting(
        1.0, "True noise, times", group="data", choices=(0.1, 0.3, 0.5, 1.0, 2.0, 3.0),
        uses=_is_drawn,
        help="Multiplies the std of the true noise. Growing noise has a std of a tenth of x at 1.",
    )  # fmt: skip
    seed: int = setting(
        0, "Seed", group="data", low=0, high=30, step=1, arg="random_state",
        help="Seed of the rows and of the training.",
    )  # fmt: skip
    model: str = setting(
        MODELS[0], "Model", named={METHODS[key].label: key for key in MODELS},
        help="The first eight grow tree by tree, so that their clocks can stop. CatBoost is "
        "trained with RMSEWithUncertainty and NGBoost with a normal, both on the target as it is. "
        "All others have no clocks: they use their defaults, and one factor scales their std.",
    )  # fmt: skip
    trees: int = setting(
        1000, of="sglb.n_trees", choices=(100, 200, 500, 1000, _MOST_TREES), arg="n_trees",
        uses=lambda plan: plan.has_clocks and plan.model != "ngboost",
    )  # fmt: skip
    ngboost_trees: int = setting(
        200, of="ngboost.n_trees", choices=(50, 100, 200, 300, 500), arg="n_trees",
        uses=lambda plan: plan.model == "ngboost",
        help="NGBoost takes about ten times as long a tree as the other models.",
    )  # fmt: skip
    members: int = setting(
        4, of="sglb.n_members", low=2, high=10, step=1, arg="n_members",
        uses=lambda plan: plan.model in WITH_MEMBERS,
    )  # fmt: skip
    rate: float = setting(
        0.1, of="sglb.learning_rate", choices=(0.03, 0.05, 0.1, 0.2, 0.3), arg="learning_rate",
        uses=lambda plan: plan.has_clocks,
    )  # fmt: skip
    depth: int = setting(
        3, of="sglb.depth", low=1, high=6, step=1, arg="depth", uses=lambda plan: plan.has_clocks
    )
    mean_weight: float = setting(
        100.0, "Weight of the mean in splits", choices=(1.0, 10.0, 100.0), arg="mean_weight",
        uses=lambda plan: plan.model in WEIGHTED,
        help="How much the mean counts beside the scale when a tree chooses its splits. 1 is the "
        "weight of the papers, 100 that of our default.",
    )  # fmt: skip
    # Of every way but "all trees", which has a normal
    tails: str = setting(
        TAILS[0], "Tails", group="view", named=_TAILS,
        help="The law of the intervals. A Student t keeps the std; its degrees of freedom are "
        "chosen together with the factor. Nothing is retrained.",
    )  # fmt: skip
    # Trees of the mean, trees of the scale and whether the factor applies
    clocks: tuple[int, int, bool] | None = setting(
        None, "Clocks in the picture", group="view", most=20,
        codec=Codec(read_clocks, write_clocks),
        pattern=rf"(?:{_TREES}\.{_TREES}(?:\.plain)?)?",
        help=f"Trees for the mean and trees for the scale, at most {_MOST_TREES} each, for example "
        "1000.149, or 1000.149.plain without the factor, or empty for what two clocks chose.",
    )  # fmt: skip

    @property
    def has_clocks(self) -> bool:
        """Whether the model grows tree by tree, so that its mean and its scale can stop."""
        return self.model in WITH_CLOCKS

    @property
    def ways(self) -> Mapping[str, str]:
        """The ways to stop it, or to scale it, with their names for people."""
        return WAYS if self.has_clocks else FACTOR_WAYS

    @property
    def shown(self) -> tuple[int, int, bool] | None:
        """The clocks of the band: not what a model without clocks left to one that has them."""
        left = self.clocks is not None and self.clocks[:2] == (1, 1) and self.has_clocks
        return None if left else self.clocks

    @property
    def cycle_length(self) -> int:
        """Trees of a cycle: a fifth of all, and at most the 200 of the cyclical paper."""
        return min(200, self.trees // 5)

    @property
    def n_rows(self) -> int:
        """Training rows; diabetes has its own."""
        return self.rows if _is_drawn(self) else _DIABETES_ROWS

    @property
    def n_members(self) -> int:
        """Models that are trained on all rows."""
        return self.members if self.model in WITH_MEMBERS else 1


def seeds_of(plan: TwoClocksSettings) -> int:
    """How many seeds a verdict counts: fewer where the fits of one take several seconds."""
    return _FEW_SEEDS if plan.model == "ngboost" or not plan.has_clocks else N_SEEDS


def clock_arguments(plan: TwoClocksSettings) -> dict[str, Any]:
    """All arguments of the model's estimator.

    CatBoost and NGBoost are those of their own libraries. A model without clocks has its method's
    defaults, the seed, and one thread: threads would wait for so few rows.
    """
    options = arguments(plan)
    if plan.model == "catboost":
        return {
            "loss_function": "RMSEWithUncertainty",
            "iterations": plan.trees,
            "learning_rate": plan.rate,
            "depth": plan.depth,
            "random_seed": plan.seed,
            "thread_count": 1,
            "verbose": False,
            "allow_writing_files": False,
        }
    if plan.model == "ngboost":
        from sklearn.tree import DecisionTreeRegressor

        tree = DecisionTreeRegressor(max_depth=options.pop("depth"), random_state=plan.seed)
        return {"Base": tree, "n_estimators": options.pop("n_trees"), "verbose": False, **options}
    builder = METHODS[plan.model].builder()
    if not plan.has_clocks:
        options = {"n_jobs": 1, **options}
        return {name: value for name, value in options.items() if name in builder.takes}
    if plan.model in CYCLICAL:
        options["cycle_length"] = plan.cycle_length
    return {**builder.fixed, **options}
