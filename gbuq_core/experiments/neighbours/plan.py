"""The settings of the Neighbours page, and which of them a fit depends on.

Brophy and Lowd, "Instance-based uncertainty estimation for gradient-boosted regression trees"
(IBUG, 2022): k, the trees that count, calibration and family belong to the view and refit nothing.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from gbuq_core.errors import GbuqError, InvalidParameter
from gbuq_core.experiments.neighbours.data import DATASETS
from gbuq_core.ibug import FAMILIES
from gbuq_core.methods import METHODS, Method
from gbuq_core.validation import check_choice, check_number

ORDERS = ("first", "last", "random")
SCORINGS = ("nll", "crps")
BEST_FAMILY = "best"
MOST_TREES, MOST_ROWS = 2000, 20_000
MOST_DEPTH, MOST_LEAVES = 10, 256
VALIDATION_FRACTION = 0.2
_TABLE_ROWS = {"diabetes": 354, "wine": 142}


class NeighboursLibrary(NamedTuple):
    """A library whose trees IBUG reads.

    label : how people write it; package : what has to be installed; by_leaves : whether its trees
    are limited by their leaves rather than by their depth.
    """

    label: str
    package: str
    by_leaves: bool


_LIBRARIES = {
    "lightgbm": NeighboursLibrary("LightGBM", "lightgbm", True),
    "hist": NeighboursLibrary("scikit-learn HistGradientBoosting", "sklearn", True),
    "catboost": NeighboursLibrary("CatBoost", "catboost", False),
    "xgboost": NeighboursLibrary("XGBoost", "xgboost", False),
    "sglb": NeighboursLibrary("SGLB (one model)", "gbuq_core", False),
}
LIBRARIES: Mapping[str, NeighboursLibrary] = MappingProxyType(_LIBRARIES)

# What IBUG is set beside; all but "constant" and "ibug_cbu" are fitted when they are asked for.
# The IBUG paper's CBU is CatBoost's uncertainty, here virtual SGLB.
RECORDS: Mapping[str, Method] = MappingProxyType(
    {
        "knn": METHODS["knn"],
        "knn_cb": METHODS["knn_cb"],
        "cbu": METHODS["virtual_sglb"],
        "ibug_cbu": METHODS["ibug_cbu"],
    }
)
_CONSTANT = {"constant": "one scale for all rows"}
BASELINES: Mapping[str, str] = MappingProxyType(
    {**_CONSTANT, **{key: record.label for key, record in RECORDS.items()}}
)


@dataclass(frozen=True, kw_only=True)
class NeighboursSettings:
    """Everything that the page depends on."""

    data: str = "heteroscedastic"  # A key of `DATASETS`
    # `rows`, `noise`: training rows of a synthetic set, and a factor of its usual noise; tables
    # ignore them
    rows: int = 800
    noise: float = 1.0
    seed: int = 0  # of rows, split and models
    library: str = "lightgbm"  # A key of `LIBRARIES`
    # `trees`, `rate`: of the base model
    trees: int = 100
    rate: float = 0.1
    # `depth`, `leaves`: the size of its trees; which of the two counts depends on the library
    depth: int = 4
    leaves: int = 8
    k: int | None = None  # neighbours; None takes the best on the validation rows
    tau: int | None = None  # how many trees count; None: all
    order: str = "first"  # {"first", "last", "random"}: which ones
    calibrate: bool = True
    scoring: str = "nll"  # {"nll", "crps"}: what tuning and calibration minimise
    # A key of `gbuq_core.ibug.FAMILIES`, or "best" for the lowest NLL on the validation rows
    family: str = "normal"
    chosen: int | None = None  # the test row that is looked at
    # the place that is looked at, in 1-D and 2-D; it counts before `chosen`
    point: tuple[float, ...] | None = None
    # `scale_low`, `scale_high`: the range of scale that is highlighted, in units of y
    scale_low: float | None = None
    scale_high: float | None = None
    baselines: tuple[str, ...] = ("constant",)  # keys of `BASELINES`


class NeighboursPlan(NamedTuple):
    """What a fit depends on, and nothing else: the key of its result.

    Fields that the data or the library do not use are None, so that moving them refits nothing.
    """

    data: str
    rows: int | None
    noise: float | None
    seed: int
    library: str
    trees: int
    rate: float
    depth: int | None
    leaves: int | None


def plan_neighbours(settings: NeighboursSettings) -> NeighboursPlan:
    """What the fit of these settings depends on.

    Examples
    --------
    >>> few, many = NeighboursSettings(k=5, tau=10), NeighboursSettings(order="random", depth=9)
    >>> plan_neighbours(few) == plan_neighbours(many)
    True
    """
    info = DATASETS[check_choice("data", settings.data, tuple(DATASETS))]
    library = LIBRARIES[check_choice("library", settings.library, tuple(LIBRARIES))]
    synthetic = info.kind != "table"
    return NeighboursPlan(
        data=settings.data,
        rows=settings.rows if synthetic else None,
        noise=settings.noise if synthetic else None,
        seed=settings.seed,
        library=settings.library,
        trees=settings.trees,
        rate=settings.rate,
        depth=None if library.by_leaves else settings.depth,
        leaves=settings.leaves if library.by_leaves else None,
    )


def library_missing(key: str) -> str:
    """Why a library cannot be used, in a sentence; empty if it can. Nothing is imported.

    Examples
    --------
    >>> library_missing("sglb")
    ''
    """
    library = LIBRARIES[check_choice("library", key, tuple(LIBRARIES))]
    try:
        found = importlib.util.find_spec(library.package) is not None
    except (ImportError, ValueError):
        found = False
    if found:
        return ""
    return (
        f"{library.label} is not installed: choose another library, or install the package "
        f"{library.package}."
    )


def why_not(plan: NeighboursPlan) -> str:
    """Why a plan cannot be fitted, in a sentence; empty if it can.

    Examples
    --------
    >>> why_not(plan_neighbours(NeighboursSettings(rows=10)))
    'rows must be a whole number at least 50 and at most 20000; got 10.'
    >>> why_not(plan_neighbours(NeighboursSettings()))
    ''
    """
    try:
        _check(plan)
    except GbuqError as error:
        return str(error)
    return library_missing(plan.library)


def _check(plan: NeighboursPlan) -> None:
    if plan.rows is not None:
        check_number("rows", plan.rows, 50, MOST_ROWS, integer=True)
    if plan.noise is not None:
        check_number("noise", plan.noise, 0.0, 1000.0)
    check_number("seed", plan.seed, 0, 2**31 - 1, integer=True)
    check_number("trees", plan.trees, 1, MOST_TREES, integer=True)
    check_number("rate", plan.rate, 0.0, 1.0, low_open=True)
    if plan.depth is not None:
        check_number("depth", plan.depth, 1, MOST_DEPTH, integer=True)
    if plan.leaves is not None:
        check_number("leaves", plan.leaves, 2, MOST_LEAVES, integer=True)


def check_view(settings: NeighboursSettings) -> str:
    """Why the knobs of the view make no sense whatever the fit; empty if they do.

    Numbers that are too large or too small are brought into range by the view, which says so.

    Examples
    --------
    >>> check_view(NeighboursSettings(order="middle"))
    "order must be one of 'first', 'last', 'random'; got 'middle'."
    """
    try:
        check_choice("order", settings.order, ORDERS)
        check_choice("scoring", settings.scoring, SCORINGS)
        check_choice("family", settings.family, (*FAMILIES, BEST_FAMILY))
        for key in settings.baselines:
            check_choice("baselines", key, tuple(BASELINES))
        for name in ("k", "tau", "chosen"):
            value = getattr(settings, name)
            if value is not None:
                check_number(name, value, -(10**9), 10**9, integer=True)
    except GbuqError as error:
        return str(error)
    return ""


def neighbours_knobs(plan: NeighboursPlan) -> dict[str, Any]:
    """Arguments of the base model's class, with one thread: these rows are too few for two."""
    shared = {"random_state": plan.seed}
    if plan.library == "lightgbm":
        return {
            "n_estimators": plan.trees,
            "num_leaves": plan.leaves,
            "learning_rate": plan.rate,
            "n_jobs": 1,
            "verbose": -1,
            **shared,
        }
    if plan.library == "hist":
        return {
            "max_iter": plan.trees,
            "max_leaf_nodes": plan.leaves,
            "learning_rate": plan.rate,
            "early_stopping": False,
            **shared,
        }
    if plan.library == "catboost":
        return {
            "iterations": plan.trees,
            "depth": plan.depth,
            "learning_rate": plan.rate,
            "thread_count": 1,
            "verbose": False,
            "allow_writing_files": False,
            **shared,
        }
    if plan.library == "xgboost":
        return {
            "n_estimators": plan.trees,
            "max_depth": plan.depth,
            "learning_rate": plan.rate,
            "n_jobs": 1,
            **shared,
        }
    return {
        "stopping": None,
        "method": "sglb",
        "n_members": 1,
        "n_trees": plan.trees,
        "depth": plan.depth,
        "learning_rate": plan.rate,
        **shared,
    }


MODEL_CLASSES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "lightgbm": ("lightgbm", "LGBMRegressor"),
        "hist": ("sklearn.ensemble", "HistGradientBoostingRegressor"),
        "catboost": ("catboost", "CatBoostRegressor"),
        "xgboost": ("xgboost", "XGBRegressor"),
        "sglb": ("gbuq_core", "BoostedEnsembleRegressor"),
    }
)


def neighbours_model(plan: NeighboursPlan) -> Any:
    """The unfitted base model of a plan.

    Examples
    --------
    >>> plan = plan_neighbours(NeighboursSettings(library="hist", leaves=5))
    >>> neighbours_model(plan).max_leaf_nodes
    5
    """
    refusal = why_not(plan)
    if refusal:
        raise InvalidParameter(refusal)
    module, name = MODEL_CLASSES[plan.library]
    return getattr(importlib.import_module(module), name)(**neighbours_knobs(plan))


def one_thread(library: str) -> contextlib.AbstractContextManager[Any]:
    """HistGradientBoosting has no number of threads: within this context it uses one."""
    if library != "hist":
        return contextlib.nullcontext()
    from threadpoolctl import threadpool_limits

    limits: contextlib.AbstractContextManager[Any] = threadpool_limits(1, user_api="openmp")
    return limits


# Seconds on one core of a 2020s server: a first import, and a tree with its row's work.
_IMPORT = {"lightgbm": 0.4, "hist": 0.3, "catboost": 0.6, "xgboost": 0.4, "sglb": 0.0}
_PER_TREE = {"lightgbm": 1e-4, "hist": 6e-4, "catboost": 4e-4, "xgboost": 4e-4, "sglb": 2e-4}
_PER_ROW = {"lightgbm": 6e-8, "hist": 1e-7, "catboost": 1.2e-7, "xgboost": 1.2e-7, "sglb": 5e-8}


def estimate_neighbours_seconds(plan: NeighboursPlan) -> float:
    """Roughly what `fit_neighbours` takes: the model is fitted twice, once to tune on.

    Examples
    --------
    >>> quick = plan_neighbours(NeighboursSettings())
    >>> slow = quick._replace(trees=2000, rows=20_000)
    >>> estimate_neighbours_seconds(slow) > 5 * estimate_neighbours_seconds(quick)
    True
    """
    rows = plan.rows if plan.rows is not None else _TABLE_ROWS[plan.data]
    per_tree = _PER_TREE[plan.library] + rows * _PER_ROW[plan.library]
    return 0.1 + _IMPORT[plan.library] + 2.0 * plan.trees * per_tree
