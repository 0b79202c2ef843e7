"""The methods and knobs of the Soft trees page, and which of them a fit depends on.

Cinquin et al., "Variational boosted soft trees" (2022), section 5 and the supplement. How many
functions are drawn, with which seed, which draw the tree shows and which moment of the training
belong to the view: they refit nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from gbuq_core.errors import InvalidParameter, refusal_of_call
from gbuq_core.experiments.placed import (
    MOST_POINTS,
    PATTERNS,
    check_points,
    decode_points,
    encode_points,
)
from gbuq_core.experiments.soft_trees.data import (
    DATASETS,
    OWN,
    OWN_START,
    why_no_fit,
)
from gbuq_core.knobs import texts_of
from gbuq_core.methods import METHODS as RECORDS
from gbuq_core.methods import Builder, Method
from gbuq_core.methods.boosted import KNOBS
from gbuq_core.settings import Codec, arguments, check, plan_of, setting
from gbuq_core.soft_trees.layout import LEAVES, MAX_DEPTH, TreeShape
from gbuq_core.validation import check_choice, check_number

MOST_TREES = 20
MOST_DRAWS, MOST_DRAW = 500, 100
SHOWS = ("both", "functions", "bands")
_SEEDS = (0, 2**31 - 1)
_CHARACTERS = 20  # of one point in a link, at most


class SoftTreesMethod(NamedTuple):
    """A method of the page: its record, and where its functions come from."""

    record: Method  # of `gbuq_core.methods`: label, package, estimator, costs
    # {"soft", "kept", "process"}: `"soft"`: drawn from a posterior over a tree's parameters.
    # `"kept"`: the members or sweeps that the fit keeps. `"process"`: drawn from a process.
    family: str

    @property
    def label(self) -> str:
        """How people write it."""
        return self.record.label

    @property
    def about(self) -> str:
        """What it does, in a sentence."""
        return self.record.about


_FAMILIES = {"vst": "soft", "vsgbm": "soft", "sglb": "kept", "xbart": "kept", "gp": "process"}
_METHODS = {key: SoftTreesMethod(RECORDS[key], family) for key, family in _FAMILIES.items()}
METHODS: Mapping[str, SoftTreesMethod] = MappingProxyType(_METHODS)
SOFT_METHODS = tuple(key for key, method in METHODS.items() if method.family == "soft")


def _is_soft(settings: SoftTreesSettings) -> bool:
    return METHODS[settings.method].family == "soft"


def _is_drawn(settings: SoftTreesSettings) -> bool:
    return settings.data != OWN


def _is(method: str) -> Callable[[SoftTreesSettings], bool]:
    return lambda settings: settings.method == method


@dataclass(frozen=True, kw_only=True)
class SoftTreesSettings:
    """All settings of the page."""

    data: str = setting(
        "tails", "Data", group="data", named={info.label: key for key, info in DATASETS.items()},
        help="Four data sets of the paper, or points that you place in the picture.",
    )  # fmt: skip
    rows: int = setting(
        150, "Rows", group="data", uses=_is_drawn, limits=(10, 1000),
        choices=(10, 20, 30, 50, 75, 100, 150, 200, 300, 500, 1000),
    )  # fmt: skip
    noise: float = setting(
        0.1, "Noise (std)", group="data", uses=_is_drawn, limits=(0.0, 2.0),
        choices=(0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0),
    )  # fmt: skip
    seed: int = setting(
        0, "Seed", group="data", low=0, high=30, step=1, limits=_SEEDS, arg="random_state",
        help="Seed of the rows and of the training.",
    )  # fmt: skip
    methods: tuple[str, ...] = setting(
        ("vst", "sglb", "gp"), "Methods", group="method", each=True,
        named={method.label: key for key, method in METHODS.items()},
        help="Shown side by side on the same axes. VST is one soft tree. VSGBM is a boosted sum "
        "of soft trees.",
    )  # fmt: skip
    depth: int = setting(
        3, of="vst.depth", group="method", uses=_is_soft, arg="depth", high=6, step=1
    )
    leaf: str = setting(
        "linear", of="vst.leaf", group="method", uses=_is_soft, arg="leaf",
        named={"a line": "linear", "a constant": "constant"},
    )  # fmt: skip
    # One above the number of parameters (`full_rank`) counts as that number.
    rank: int = setting(
        5, of="vst.rank", group="method", uses=_is_soft, arg="rank", limits=(0, 250),
        choices=(0, 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100),
    )  # fmt: skip
    beta: float = setting(
        4.0, of="vst.beta", group="method", uses=_is_soft, arg="beta",
        choices=(0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 20.0),
    )  # fmt: skip
    prior_scale: float = setting(
        2.5, of="vst.prior_scale", group="method", uses=_is_soft, arg="prior_scale",
        choices=(0.25, 0.5, 1.0, 1.5, 2.5, 4.0, 6.0, 10.0),
    )  # fmt: skip
    steps: int = setting(
        2000, of="vst.n_steps", group="method", uses=_is_soft, arg="n_steps", shrink=(1.0, 500),
        limits=(50, 20_000),
        choices=(100, 200, 500, 1000, 1500, 2000, 3000, 4000, 6000, 10000),
    )  # fmt: skip
    restarts: int = setting(
        1, of="vst.n_restarts", group="method", uses=_is_soft, arg="n_restarts", shrink=(1.0, 1),
        high=10, step=1, limits=(1, 10),
    )  # fmt: skip
    rate: float | None = setting(
        None, "Learning rate", group="method", uses=_is_soft, arg="learning_rate", kind="ladder",
        named={"auto": None, "0.003": 0.003, "0.01": 0.01, "0.03": 0.03, "0.1": 0.1},
        help="The highest learning rate of Adam. It rises at first and then falls to 0. "
        "auto is 0.03.",
    )  # fmt: skip
    trees: int = setting(
        5, of="vsgbm.n_trees", group="method", uses=_is("vsgbm"), arg="n_trees", high=20, step=1,
        limits=(1, MOST_TREES),
    )  # fmt: skip
    members: int = setting(
        20, "Models of SGLB", of="sglb.n_members", group="method", uses=_is("sglb"),
        arg="n_members", choices=(2, 3, 5, 10, 20, 30, 50, 100), shrink=(0.5, 5), help="",
        limits=(2, 100),
    )  # fmt: skip
    sglb_trees: int = setting(
        100, "Trees of each SGLB model", of="sglb.n_trees", group="method", uses=_is("sglb"),
        arg="n_trees", choices=(20, 50, 100, 200, 300, 500, 1000, 2000), shrink=(0.5, 50),
        limits=(1, 2000),
    )  # fmt: skip
    temperature: str | float = setting(
        "catboost", "Temperature of SGLB", of="sglb.temperature", group="method",
        uses=_is("sglb"), arg="temperature", kind="choice", help="",
        choices=texts_of(KNOBS["temperature"]),
    )  # fmt: skip
    xbart_trees: int = setting(
        30, of="xbart.n_trees", group="method", uses=_is("xbart"), arg="n_trees",
        choices=(1, 5, 10, 20, 30, 50, 100, 200), limits=(1, 200),
    )  # fmt: skip
    # 0 takes the fit's own. Methods with kept functions ignore it.
    draw_seed: int = setting(
        0, "Seed of the draws", group="view", low=0, high=30, step=1, limits=_SEEDS,
        help="Draws other functions from the same posterior. Changing this does not retrain.",
    )  # fmt: skip
    show: str = setting(
        "both", "Show", group="picture", choices=SHOWS, drawn=True,
        help="Sampled functions, bands of data and knowledge uncertainty, or both.",
    )  # fmt: skip
    shown: int = setting(
        20, "Functions drawn as lines", group="picture", brief="Lines", drawn=True,
        choices=(1, 3, 5, 10, 20, 30, 50, 100), needs=("show", ("both", "functions")),
        limits=(0, MOST_DRAWS),
        help="How many functions are shown.",
    )  # fmt: skip
    draws: int = setting(
        100, "Functions behind the bands", group="picture", limits=(2, MOST_DRAWS),
        choices=(10, 20, 50, 100, 200, 500),
        help="Bands and scores follow from this many functions. A Gaussian process needs none.",
    )  # fmt: skip
    points: tuple[tuple[float, ...], ...] = setting(
        OWN_START, "Points", group="page", fits=True, uses=lambda settings: settings.data == OWN,
        codec=Codec(decode_points, encode_points), pattern=PATTERNS[2],
        check=partial(refusal_of_call, decode_points), most=_CHARACTERS * MOST_POINTS,
        help="Points as x_y with a tilde between them: -1.25_0.5~0_0.333",
    )  # fmt: skip
    tree: int = setting(
        1, "Tree", group="picture", drawn=True, low=1, high=MOST_TREES, step=1,
        limits=(1, 10**9),
        help="Which tree of the boosted sum is shown.",
    )  # fmt: skip
    draw: int = setting(  # 0: the mean
        0, "Draw", group="picture", drawn=True, low=0, high=MOST_DRAW, step=1, limits=_SEEDS,
        help="The mean of the posterior, or a tree drawn from it.",
    )  # fmt: skip

    @property
    def method(self) -> str:
        """The first method, the only one of a fit's key."""
        return self.methods[0]

    @property
    def n_rows(self) -> int:
        """How many rows are drawn or placed."""
        return self.rows if _is_drawn(self) else len(self.points)

    @property
    def n_functions(self) -> int:
        """How many functions are drawn; a method that kept fewer takes what it has."""
        return max(self.draws, self.shown)

    @property
    def sampling_seed(self) -> int | None:
        """The seed of the draws; None takes the fit's."""
        return self.draw_seed or None


# The paper's comparison: all methods, trained until they converge. The paper tuned each data set.
PAPER = SoftTreesSettings(methods=tuple(METHODS), steps=6000, restarts=3)


def full_rank(method: str, depth: int, leaf: str) -> int:
    """Parameters of one tree of the method on one feature: the highest rank there is."""
    return TreeShape(depth, 1, leaf, "mixture" if method == "vst" else "mean").n_parameters


def plan_soft_trees(settings: SoftTreesSettings, method: str) -> SoftTreesSettings:
    """What a method's fit depends on: `settings.plan_of` with a rank that its trees can have."""
    check_choice("data", settings.data, tuple(DATASETS))
    plan = plan_of(settings, method)
    if plan.data == OWN:
        plan = replace(plan, points=check_points(plan.points))
    shaped = plan.leaf in LEAVES and plan.depth in range(MAX_DEPTH + 1)
    if _is_soft(plan) and shaped and type(plan.rank) is int:  # else `why_not` refuses it
        plan = replace(plan, rank=min(plan.rank, full_rank(method, plan.depth, plan.leaf)))
    return plan


def why_not(plan: SoftTreesSettings) -> str:
    """Why a plan cannot be fitted, in a sentence; empty if it can."""
    refusal = refusal_of_call(_check, plan) or ("" if _is_drawn(plan) else why_no_fit(plan.points))
    return refusal or METHODS[plan.method].record.why_not(plan.n_rows)


def _check(plan: SoftTreesSettings) -> None:
    check(plan, "data", "method", besides=("rate",))
    if plan.rate is not None:
        check_number("rate", plan.rate, 0.0, 1.0, low_open=True)


# What no knob of the page moves: SGLB's depth, and how many sweeps of XBART are kept as draws.
_FIXED: dict[str, dict[str, Any]] = {"sglb": {"depth": 3}, "xbart": {"n_draws": 100}}


def soft_trees_arguments(plan: SoftTreesSettings) -> dict[str, Any]:
    """All arguments of the plan's estimator."""
    return builder_of(plan).arguments({**_FIXED.get(plan.method, {}), **arguments(plan)})


def builder_of(plan: SoftTreesSettings) -> Builder:
    """How the plan's estimator is made, without its knobs."""
    return METHODS[plan.method].record.builder()


def soft_trees_model(plan: SoftTreesSettings) -> Any:
    """The unfitted estimator of a plan."""
    refusal = why_not(plan)
    if refusal:
        raise InvalidParameter(refusal)
    return builder_of(plan).make(**soft_trees_arguments(plan))
