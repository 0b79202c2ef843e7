"""The methods and knobs of the Soft trees page, and which of them a fit depends on.

Cinquin et al., "Variational boosted soft trees" (2022), section 5 and the supplement. How many
functions are drawn, with which seed, which draw the tree shows and which moment of the training
belong to the view: they refit nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from gbuq_core.boosting.plan import TEMPERATURES
from gbuq_core.errors import GbuqError
from gbuq_core.experiments.soft_trees.data import (
    DATASETS,
    OWN,
    OWN_START,
    Points,
    check_points,
    why_no_fit,
)
from gbuq_core.methods import METHODS as RECORDS
from gbuq_core.methods import Method
from gbuq_core.soft_trees.layout import LEAVES, MAX_DEPTH, TreeShape
from gbuq_core.validation import check_choice, check_number

LEAST_ROWS, MOST_ROWS = 10, 1000
MOST_NOISE = 2.0
MOST_RANK, MOST_STEPS, MOST_RESTARTS = 250, 20_000, 10
MOST_TREES = 20
MOST_MEMBERS, MOST_BOOSTED_TREES = 100, 2000
MOST_XBART_TREES = 200
MOST_DRAWS = 500
KEPT_SWEEPS = 100  # of XBART, the draws it has
DEPTH_OF_SGLB = 3


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


@dataclass(frozen=True, kw_only=True)
class SoftTreesSettings:
    """All settings of the page."""

    methods: tuple[str, ...] = ("vst", "sglb", "gp")  # keys of `METHODS`
    data: str = "tails"  # A key of `DATASETS`
    # `rows`, `noise`: of a drawn set: training rows, and the noise's std in units of y
    rows: int = 150
    noise: float = 0.1
    points: Points = OWN_START  # of the set "own"
    seed: int = 0  # of rows and fits
    # `depth`, `leaf`, `rank`, `beta`, `prior_scale`, `steps`, `restarts`, `learning_rate`: Of soft
    # trees, as `depth`, `leaf`, `rank`, `beta`, `prior_scale`, `n_steps`, `n_restarts` and
    # `learning_rate` (None: by the number of columns) of
    # `gbuq_core.soft_trees.VariationalSoftTreeRegressor`. A rank above the number of parameters
    # (`full_rank`) counts as that number.
    depth: int = 3
    leaf: str = "linear"
    rank: int = 5
    beta: float = 4.0
    prior_scale: float = 2.5
    steps: int = 2000
    restarts: int = 1
    learning_rate: float | None = None
    trees: int = 5  # of the VSGBM
    # `members`, `sglb_trees`, `temperature`: of SGLB: models, trees of each, and the temperature of
    # its noise
    members: int = 20
    sglb_trees: int = 100
    temperature: str | float = "catboost"
    xbart_trees: int = 30
    # functions drawn for bands and numbers; a method that kept fewer takes what it has
    draws: int = 100
    # Of the drawn functions; None takes that of the fit. Methods with kept functions ignore it.
    draw_seed: int | None = None
    shown: int = 20  # how many of them are drawn as lines: the first
    draw: int | None = None  # which of them the tree shows; None: the posterior mean
    tree: int = 0  # which tree of the VSGBM is shown, from 0
    frame: int | None = None  # A moment of the training, from 0 (the start); None: its end


# The paper's comparison: all methods, trained until they converge. The paper tuned each data set.
PAPER = SoftTreesSettings(methods=tuple(METHODS), steps=6000, restarts=3)


@dataclass(frozen=True, kw_only=True)
class SoftTreesPlan:
    """What one method's fit depends on, and nothing else: the key of its result.

    Fields that the data or the method do not use are None, so that moving them refits nothing.
    """

    method: str
    data: str
    rows: int | None
    noise: float | None
    points: Points | None
    seed: int
    depth: int | None
    leaf: str | None
    rank: int | None
    beta: float | None
    prior_scale: float | None
    steps: int | None
    restarts: int | None
    learning_rate: float | None
    trees: int | None
    members: int | None
    temperature: str | float | None


def full_rank(method: str, depth: int, leaf: str) -> int:
    """Parameters of one tree of the method on one feature: the highest rank there is.

    Examples
    --------
    >>> full_rank("vst", 3, "linear"), full_rank("vsgbm", 3, "constant")
    (46, 22)
    """
    return TreeShape(depth, 1, leaf, "mixture" if method == "vst" else "mean").n_parameters


def plan_soft_trees(settings: SoftTreesSettings, method: str) -> SoftTreesPlan:
    """What a method's fit depends on.

    Examples
    --------
    >>> from dataclasses import replace
    >>> base = SoftTreesSettings()
    >>> view = replace(base, draws=50, draw_seed=7, draw=3, frame=2, trees=9, members=3)
    >>> plan_soft_trees(view, "vst") == plan_soft_trees(base, "vst")
    True
    """
    kind = METHODS[check_choice("method", method, tuple(METHODS))]
    own = check_choice("data", settings.data, tuple(DATASETS)) == OWN
    soft = kind.family == "soft"
    trees = {
        "vsgbm": settings.trees,
        "sglb": settings.sglb_trees,
        "xbart": settings.xbart_trees,
    }.get(method)
    return SoftTreesPlan(
        method=method,
        data=settings.data,
        rows=None if own else settings.rows,
        noise=None if own else settings.noise,
        points=check_points(settings.points) if own else None,
        seed=settings.seed,
        depth=settings.depth if soft else None,
        leaf=settings.leaf if soft else None,
        rank=_rank(settings, method) if soft else None,
        beta=settings.beta if soft else None,
        prior_scale=settings.prior_scale if soft else None,
        steps=settings.steps if soft else None,
        restarts=settings.restarts if soft else None,
        learning_rate=settings.learning_rate if soft else None,
        trees=trees,
        members=settings.members if method == "sglb" else None,
        temperature=settings.temperature if method == "sglb" else None,
    )


def _rank(settings: SoftTreesSettings, method: str) -> int:
    """The rank, at most the full one; as it is where the shape makes no sense (`why_not`)."""
    if settings.leaf not in LEAVES or settings.depth not in range(MAX_DEPTH + 1):
        return settings.rank
    if isinstance(settings.rank, bool) or not isinstance(settings.rank, int):
        return settings.rank
    return min(settings.rank, full_rank(method, settings.depth, settings.leaf))


def method_missing(method: str) -> str:
    """Why a method cannot be used, in a sentence; empty if it can. Nothing is imported.

    Examples
    --------
    >>> method_missing("vst")
    ''
    """
    return METHODS[check_choice("method", method, tuple(METHODS))].record.missing()


def why_not(plan: SoftTreesPlan) -> str:
    """Why a plan cannot be fitted, in a sentence; empty if it can.

    Examples
    --------
    >>> why_not(plan_soft_trees(SoftTreesSettings(rows=3), "gp"))
    'rows must be a whole number at least 10 and at most 1000; got 3.'
    >>> why_not(plan_soft_trees(SoftTreesSettings(), "gp"))
    ''
    """
    try:
        _check(plan)
    except GbuqError as error:
        return str(error)
    refusal = why_no_fit(plan.points) if plan.points is not None else ""
    return refusal or METHODS[plan.method].record.why_not(plan.rows or len(plan.points or ()))


def _check(plan: SoftTreesPlan) -> None:
    def number(name: str, low: float, high: float, **more: bool) -> None:
        value = getattr(plan, name)
        if value is not None:
            check_number(name, value, low, high, **more)

    number("rows", LEAST_ROWS, MOST_ROWS, integer=True)
    number("noise", 0.0, MOST_NOISE)
    number("seed", 0, 2**31 - 1, integer=True)
    number("depth", 0, MAX_DEPTH, integer=True)
    if plan.leaf is not None:
        check_choice("leaf", plan.leaf, LEAVES)
    number("rank", 0, MOST_RANK, integer=True)
    number("beta", 0.0, 100.0, low_open=True)
    number("prior_scale", 0.0, 100.0, low_open=True)
    number("steps", 50, MOST_STEPS, integer=True)
    number("restarts", 1, MOST_RESTARTS, integer=True)
    number("learning_rate", 0.0, 1.0, low_open=True)
    most = {"vsgbm": MOST_TREES, "sglb": MOST_BOOSTED_TREES, "xbart": MOST_XBART_TREES}
    number("trees", 1, most.get(plan.method, 1), integer=True)
    number("members", 2, MOST_MEMBERS, integer=True)
    if isinstance(plan.temperature, str):
        check_choice("temperature", plan.temperature, TEMPERATURES)
    else:
        number("temperature", 0.0, 1e12, low_open=True)


def check_view(settings: SoftTreesSettings) -> str:
    """Why the knobs of the view are refused for any fit; empty if they are fine.

    The view itself replaces a tree or moment that a fit does not have.

    Examples
    --------
    >>> check_view(SoftTreesSettings(draws=1))
    'draws must be a whole number at least 2 and at most 500; got 1.'
    """
    try:
        check_number("draws", settings.draws, 2, MOST_DRAWS, integer=True)
        check_number("shown", settings.shown, 0, MOST_DRAWS, integer=True)
        for name in ("draw_seed", "draw", "frame"):
            if getattr(settings, name) is not None:
                check_number(name, getattr(settings, name), 0, 2**31 - 1, integer=True)
        check_number("tree", settings.tree, 0, 10**9, integer=True)
    except GbuqError as error:
        return str(error)
    return ""
