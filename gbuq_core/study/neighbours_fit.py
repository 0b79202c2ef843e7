"""Neighbours, below its picture: data, settings, the fit, the search, the view, a place looked at.

Brophy and Lowd, "Instance-based uncertainty estimation for gradient-boosted regression trees"
(IBUG, 2022), section 4. `fit_neighbours` trains the base model, `search_neighbours` finds the
neighbours with the trees that count, `view_neighbours` turns them into scales for any k and
calibration, and `look_at` shows one prediction. Only the first trains anything: k, the trees that
count, calibration and family refit nothing.
"""

from __future__ import annotations

import contextlib
import copy
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.distribution import Distribution, NormalDistribution
from gbuq_core.errors import InvalidData, InvalidParameter, refusal_of_call
from gbuq_core.ibug import FAMILIES, check_family, fit_posterior, log_density
from gbuq_core.ibug.results import FamilyScores, Setting
from gbuq_core.methods import METHODS, Builder, Method
from gbuq_core.methods.record import is_installed
from gbuq_core.metrics import crps_gaussian, find_resolution, log_scores, rmse
from gbuq_core.metrics.neighbour_tuning import NeighbourTuning, running_std
from gbuq_core.presentation import Tally, short
from gbuq_core.settings import arguments, check, plan_of, setting
from gbuq_core.synthetic import make_heteroscedastic, make_ripples, make_wave
from gbuq_core.validation import check_choice, check_number

# --- Data -----------------------------------------------------------------------------------------


Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

N_FRESH = 1000  # rows of a synthetic set that are nobody's training rows
HELD_OUT = 0.2  # of a table
_FRESH_STREAM, _SPLIT_STREAM = 1, 2  # of the seed
_UNITS = "units of y"  # of synthetic sets
_SLOPE, _SPOT = 0.1, 0.5  # the usual noise of two sets, which ``noise`` multiplies


class DatasetInfo(NamedTuple):
    """A set of the page: its name, "1d", "2d" or "table", and a sentence about it."""

    label: str
    kind: str
    about: str


_DATASETS = {
    "heteroscedastic": DatasetInfo(
        "Growing noise",
        "1d",
        "y = x/2 + sin x + 0.1 x times normal noise, for x from 0 to 10. The noise grows with x. "
        "There are no rows outside (the data set of the MACAU paper).",
    ),
    "wave": DatasetInfo(
        "Wave",
        "1d",
        "A wave with x from 0 to 6 in steps of 0.1. The noise is strong around x = 1.4. There are "
        "few rows from 3.1 to 4.4 and none beyond 6.",
    ),
    "ripples": DatasetInfo(
        "Ripples",
        "2d",
        "A square with ripples. One spot is ten times noisier, and a disc has no rows.",
    ),
    "diabetes": DatasetInfo(
        "Diabetes",
        "table",
        "442 patients with ten measurements each. The model predicts how far the disease "
        "progressed within a year (Efron et al., 2004).",
    ),
    "wine": DatasetInfo(
        "Wine: alcohol",
        "table",
        "178 Italian wines of three cultivars. The model predicts alcohol from twelve chemical "
        "measurements (Forina et al., 1991).",
    ),
}
DATASETS: Mapping[str, DatasetInfo] = MappingProxyType(_DATASETS)


@dataclass(frozen=True, kw_only=True)
class NeighboursData:
    """Training rows, rows to score on, and the truth where it is known; arrays are read-only."""

    # `key`, `title`, `kind`: A key of `DATASETS`, its label, and "1d", "2d" or "table"
    key: str
    title: str
    kind: str
    n_inputs: int  # inputs that a picture can lie over: 1, 2, or 0 for a table
    # `X`, `y`: (n_rows, n_features): training rows; the estimator holds some of them out to tune on
    X: Array
    y: Array
    # `feature_names`, `target_name`, `unit`: `unit` of y and of a scale: the target's name where a
    # table's source gives none
    feature_names: tuple[str, ...]
    target_name: str
    unit: str
    # `X_test`, `y_test`: (n_test, n_features): fresh rows of the same law, or the rows of a table
    # that were held out
    X_test: Array
    y_test: Array
    # (n_grid, n_inputs): where curves or maps are drawn; None for a table
    grid: Array | None = None
    # `prediction.reshape(grid_shape)` is a curve or a map, the second feature upwards
    grid_shape: tuple[int, ...] | None = None
    axes: tuple[Array, ...] | None = None  # places along each input
    # `true_mean`, `true_std`, `in_support`: (n_grid,): the mean of y, the std of its noise, and
    # where training rows can lie
    true_mean: Array | None = None
    true_std: Array | None = None
    in_support: Mask | None = None
    # `test_mean`, `test_std`: (n_test,): the same truth at the fresh rows
    test_mean: Array | None = None
    test_std: Array | None = None
    # (n_rows,): A class of every training row, which the model does not see; `label_name` says what
    labels: npt.NDArray[Any] | None = None
    label_name: str = ""

    def log_scores(self, law: Distribution) -> Array:
        """NLL of the test rows at the resolution of the training targets, (n_test,) nats."""
        return log_scores(law, self.y_test, find_resolution(self.y)).values


@lru_cache(maxsize=8)
def load_neighbours_data(
    key: str, rows: int = 800, noise: float = 1.0, seed: int = 0
) -> NeighboursData:
    """Draw a synthetic set, or split a table."""
    info = DATASETS[check_choice("data", key, tuple(DATASETS))]
    if info.kind == "table":
        data = _table(key, info, seed)
    else:
        data = _synthetic(key, info, rows, noise, seed)
    for part in vars(data).values():
        for array in part if isinstance(part, tuple) else (part,):
            if isinstance(array, np.ndarray):
                array.setflags(write=False)
    return data


def _synthetic(key: str, info: DatasetInfo, rows: int, noise: float, seed: int) -> NeighboursData:
    """A synthetic set with fresh rows of the same law, and its truth over a grid."""
    make, usual = _MAKERS[key]
    drawn: Any = make(rows, usual * noise, seed)
    fresh: Any = make(N_FRESH, usual * noise, [seed, _FRESH_STREAM])
    grid, axes = drawn.grid, getattr(drawn, "axes", ())
    inside = np.arange(len(grid))
    if key == "heteroscedastic":
        # Far out trees are constant: a third of the empty stretches shows it.
        inside = np.flatnonzero((grid[:, 0] >= -3.0) & (grid[:, 0] <= 13.0))
    true_mean, true_std = drawn.mean.ravel()[inside], np.sqrt(drawn.variance).ravel()[inside]
    if key == "wave":
        place = np.searchsorted(grid[:, 0], fresh.X[:, 0] - 0.05)
        truth = true_mean[place], true_std[place]
    else:
        truth = fresh.row_mean, np.sqrt(fresh.row_variance)
    return NeighboursData(
        key=key,
        title=info.label,
        kind=info.kind,
        n_inputs=grid.shape[1],
        X=drawn.X,
        y=drawn.y,
        feature_names=("x1", "x2") if axes else ("x",),
        target_name="y",
        unit=_UNITS,
        X_test=fresh.X,
        y_test=fresh.y,
        grid=grid[inside],
        grid_shape=drawn.mean.shape if axes else (len(inside),),
        axes=axes or (grid[inside, 0],),
        true_mean=true_mean,
        true_std=true_std,
        in_support=drawn.in_support.ravel()[inside],
        test_mean=truth[0],
        test_std=truth[1],
    )


# How each is made, and its usual noise
_MAKERS: Mapping[str, tuple[Callable[..., Any], float]] = {
    "wave": (make_wave, 1.0),
    "heteroscedastic": (make_heteroscedastic, _SLOPE),
    "ripples": (make_ripples, _SPOT),
}
_TARGETS = {"diabetes": ("disease progression", ""), "wine": ("alcohol", "cultivar")}


def _table(key: str, info: DatasetInfo, seed: int) -> NeighboursData:
    """A built-in table split at random; all columns but target and label are features."""
    from gbuq_core.tables.builtin import load_builtin  # brings pyarrow, which the others do without

    table = load_builtin(key).table
    columns = {name: table.data.column(name).to_numpy() for name in table.names}
    target, label = _TARGETS[key]
    features = [name for name in columns if name not in (target, label)]
    X = np.column_stack([columns[name] for name in features]).astype(np.float64)
    y = columns[target].astype(np.float64)
    order = np.random.default_rng([seed, _SPLIT_STREAM]).permutation(len(y))
    n_test = round(HELD_OUT * len(y))
    train, test = np.sort(order[n_test:]), np.sort(order[:n_test])
    return NeighboursData(
        key=key,
        title=info.label,
        kind=info.kind,
        n_inputs=0,
        X=X[train],
        y=y[train],
        feature_names=tuple(features),
        target_name=target,
        unit=target,
        X_test=X[test],
        y_test=y[test],
        labels=columns[label].astype(str)[train] if label else None,
        label_name=label,
    )


# --- Settings -------------------------------------------------------------------------------------


SCORINGS = METHODS["ibug"].knob("scoring").choices
ORDERS = METHODS["ibug"].knob("tree_order").choices
BEST_FAMILY = "best"
FAMILY_LABELS: Mapping[str, str] = MappingProxyType(
    {
        BEST_FAMILY: "best on validation rows",
        **{key: family.label for key, family in FAMILIES.items()},
    }
)
ALL_TREES, SOME_TREES = 100, (1, 2, 5, 10, 20, 30, 50, 70)  # percent that count
SHARES = (*SOME_TREES, ALL_TREES)
ROWS, PLACES_DRAWN = "rows", "places"  # what percentiles of a scale are of
EVERYTHING = (0, 100)
PREDICTION = "prediction"
VALIDATION_FRACTION = 0.2
# The steps of k; None tunes it.
KS: tuple[int | None, ...] = (
    None, 2, 3, 5, 7, 9, 11, 15, 21, 31, 41, 61, 91, 121, 151, 201, 301, 401, 501, 601, 701,
)  # fmt: skip
# The columns of the tables, named here so that opening the page loads no table it does not show.
FEATURES: Mapping[str, tuple[str, ...]] = {
    "diabetes": (
        "age (years)", "sex", "body mass index (kg/m\u00b2)", "average blood pressure (mm Hg)",
        "total serum cholesterol", "low-density lipoproteins", "high-density lipoproteins",
        "total cholesterol / HDL", "log of serum triglycerides", "blood sugar level",
    ),
    "wine": (
        "malic acid", "ash", "alcalinity of ash", "magnesium", "total phenols", "flavanoids",
        "nonflavanoid phenols", "proanthocyanins", "color intensity", "hue",
        "od280/od315 of diluted wines", "proline",
    ),
}  # fmt: skip
# The knobs that say what is looked at, for each set its own: a link means the same in every
# session.
PLACES: Mapping[str, tuple[str, ...]] = {
    "heteroscedastic": ("x",),
    "wave": ("wave_x",),
    "ripples": ("x1", "x2"),
    "diabetes": ("diabetes_row",),
    "wine": ("wine_row",),
}


class NeighboursLibrary(NamedTuple):
    """A library whose trees IBUG reads."""

    label: str  # how people write it
    builder: Builder  # one thread: these rows are too few for two
    by_leaves: bool  # whether its trees are limited by their leaves rather than by their depth
    names: Mapping[str, str]  # what it calls our arguments


_LIBRARIES = {
    "lightgbm": NeighboursLibrary(
        "LightGBM",
        Builder(of="lightgbm:LGBMRegressor", fixed={"n_jobs": 1, "verbose": -1}),
        True,
        {"n_trees": "n_estimators", "max_leaf_nodes": "num_leaves"},
    ),
    "hist": NeighboursLibrary(
        "scikit-learn HistGradientBoosting",
        Builder(
            of="sklearn.ensemble:HistGradientBoostingRegressor", fixed={"early_stopping": False}
        ),
        True,
        {"n_trees": "max_iter"},
    ),
    "catboost": NeighboursLibrary(
        "CatBoost",
        Builder(
            of="catboost:CatBoostRegressor",
            fixed={"thread_count": 1, "verbose": False, "allow_writing_files": False},
        ),
        False,
        {"n_trees": "iterations"},
    ),
    "xgboost": NeighboursLibrary(
        "XGBoost",
        Builder(of="xgboost:XGBRegressor", fixed={"n_jobs": 1}),
        False,
        {"n_trees": "n_estimators", "depth": "max_depth"},
    ),
    "sglb": NeighboursLibrary(
        "SGLB (one model)",
        Builder(
            of="gbuq_core:BoostedEnsembleRegressor",
            fixed={"stopping": None, "method": "sglb", "n_members": 1},
        ),
        False,
        {},
    ),
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


def _is_drawn(settings: NeighboursSettings) -> bool:
    """Whether the data are drawn: a table has the rows that it has."""
    return settings.info.kind != "table"


def _place_knob(default: float, low: float, high: float, data: str, label: str) -> Any:
    """A knob of a place that is looked at."""
    return setting(
        default, label, kind="number", low=low, high=high, step=0.05, group="view", box=True,
        drawn=True, uses=lambda settings: settings.data == data,
    )  # fmt: skip


def _row(n_rows: int, data: str) -> Any:
    """A knob of a held-out row that is looked at, numbered from 1."""
    return setting(
        1, "Held-out row", low=1, high=n_rows, step=1, group="view", box=True,
        drawn=True, uses=lambda settings: settings.data == data,
    )  # fmt: skip


def _by(data: str) -> Any:
    """A knob of the column that training rows are drawn by."""
    return setting(
        PREDICTION, "Training rows by", choices=(PREDICTION, *FEATURES[data]), group="view",
        drawn=True, uses=lambda settings: settings.data == data,
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class NeighboursSettings:
    """Everything that the page depends on."""

    data: str = setting(
        "heteroscedastic", "Data", group="data",
        named={info.label: key for key, info in DATASETS.items()},
        help="Three synthetic sets with known truth, and two real tables.",
    )  # fmt: skip
    rows: int = setting(
        800, "Training rows", group="data", uses=_is_drawn, shrink=(0.5, 200), limits=(50, 20_000),
        choices=(100, 200, 300, 400, 600, 800, 1000, 1500, 2000, 3000, 5000, 10000),
    )  # fmt: skip
    noise: float = setting(
        1.0, "Noise factor", group="data", uses=_is_drawn, limits=(0.0, 1000.0),
        choices=(0.1, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0),
        help="Multiplies the usual noise of the data.",
    )  # fmt: skip
    seed: int = setting(
        0, "Seed", group="data", low=0, high=30, step=1, limits=(0, 2**31 - 1), arg="random_state",
        help="Draws the rows, or splits the table, and seeds the model.",
    )  # fmt: skip
    library: str = setting(
        "lightgbm", "Trees from", group="method",
        named={library.label: key for key, library in LIBRARIES.items()},
        help="IBUG reads the leaves of any boosted trees. SGLB is this project's own booster.",
    )  # fmt: skip
    trees: int = setting(
        100, "Trees", group="method", arg="n_trees", shrink=(0.5, 50), limits=(1, 2000),
        choices=(1, 5, 10, 20, 50, 100, 150, 200, 300, 500, 700, 1000, 2000),
    )  # fmt: skip
    leaves: int = setting(
        8, "Leaves per tree", group="method", arg="max_leaf_nodes", limits=(2, 256),
        choices=(2, 3, 4, 6, 8, 12, 16, 24, 31, 48, 64), uses=lambda plan: plan.base.by_leaves,
    )  # fmt: skip
    depth: int = setting(
        4, "Depth", group="method", arg="depth", low=1, high=8, step=1, limits=(1, 10),
        uses=lambda plan: not plan.base.by_leaves,
    )  # fmt: skip
    rate: float = setting(
        0.1, of="sglb.learning_rate", group="method", arg="learning_rate",
        choices=(0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3),
    )  # fmt: skip
    # These stand above the picture, which the browser draws anew while they move.
    k: int | None = setting(
        None, "Neighbours k", group="picture", brief="Neighbours", kind="ladder",
        named={"tuned" if k is None else str(k): k for k in KS},
        help="How many neighbours the scale comes from. Tuned: the best of 17 values on the "
        "validation rows. No retraining.",
    )  # fmt: skip
    tau: int = setting(
        ALL_TREES, "Trees that count", unit="%", group="picture", choices=SHARES,
        help="It is faster to count shared leaves in fewer trees. No retraining.",
    )  # fmt: skip
    order: str = setting(
        "first", "Which trees count", group="picture", brief="Which", choices=ORDERS,
        needs=("tau", SOME_TREES),
    )  # fmt: skip
    calibrate: bool = setting(
        True, "Calibrate the scale", group="picture", brief="Calibrated",
        kinds=("Estimated scale",),
        help="Multiplies all scales by one factor, or adds one constant. Both come from the "
        "validation rows. No retraining.",
    )  # fmt: skip
    family: str = setting(
        "normal", "Distribution", group="picture", drawn=True,
        named={label: key for key, label in FAMILY_LABELS.items()},
        help="Fitted to the neighbours' targets. All families except the kernel density keep "
        "IBUG's mean and spread.",
    )  # fmt: skip
    scoring: str = setting(
        "nll", "Tuned for", group="view", named={score.upper(): score for score in SCORINGS},
        help="The score that k and the calibration are chosen by.",
    )  # fmt: skip
    compare: tuple[str, ...] = setting(
        ("constant",), "Compare in the scorecard", group="view",
        named={label: key for key, label in BASELINES.items()},
        help="Each method is fitted once, after the picture has appeared.",
    )  # fmt: skip
    x: float = _place_knob(7.0, -3.0, 13.0, "heteroscedastic", "x")
    wave_x: float = _place_knob(1.4, 0.0, 6.9, "wave", "x")
    x1: float = _place_knob(0.5, -1.0, 1.0, "ripples", "x1")
    x2: float = _place_knob(-0.5, -1.0, 1.0, "ripples", "x2")
    diabetes_row: int = _row(88, "diabetes")
    wine_row: int = _row(36, "wine")
    diabetes_by: str = _by("diabetes")
    wine_by: str = _by("wine")
    scales: tuple[int, int] = setting(
        EVERYTHING, "Highlight rows by their scale", kind="range", low=0, high=100, step=5,
        group="view", unit="percentile", drawn=True,
        help="0 is the smallest scale, 100 the largest. Rows and places in the range are marked in "
        "the picture, and the rows are listed under Why.",
    )  # fmt: skip
    # A link that does not name it means places, as before there was a choice.
    scales_of: str = setting(
        PLACES_DRAWN, "Percentiles of the", choices=(ROWS, PLACES_DRAWN), group="view",
        uses=_is_drawn, drawn=True,
        help="Rows: 80 to 100 is the fifth of the fresh rows with the largest scale. Places: the "
        "fifth of the picture, of which many places may be without rows.",
    )  # fmt: skip

    @property
    def info(self) -> DatasetInfo:
        """The data set."""
        return DATASETS[check_choice("data", self.data, tuple(DATASETS))]

    @property
    def base(self) -> NeighboursLibrary:
        """The library of the trees."""
        return LIBRARIES[check_choice("library", self.library, tuple(LIBRARIES))]

    @property
    def point(self) -> tuple[float, ...] | None:
        """The place that is looked at; None of a table."""
        if not _is_drawn(self):
            return None
        return tuple(float(getattr(self, name)) for name in PLACES[self.data])

    @property
    def row(self) -> int | None:
        """The held-out row of a table that is looked at, from 0; None of a drawn set."""
        return None if _is_drawn(self) else getattr(self, PLACES[self.data][0]) - 1

    @property
    def across(self) -> str:
        """The column that a table's training rows are drawn by; empty of a drawn set."""
        return "" if _is_drawn(self) else getattr(self, f"{self.data}_by")

    @property
    def counted(self) -> int:
        """How many trees count, of as many as were asked for."""
        return share_of(self.trees, self.tau)


def share_of(trees: int, percent: int) -> int:
    """How many trees a share of them is, at least one."""
    return max(1, round(trees * percent / 100))


def library_missing(key: str) -> str:
    """Why a library cannot be used, in a sentence; empty if it can. Nothing is imported.

    >>> library_missing("sglb")
    ''
    """
    library = LIBRARIES[check_choice("library", key, tuple(LIBRARIES))]
    package = library.builder.module.partition(".")[0]
    if is_installed(package):
        return ""
    return (
        f"{library.label} is not installed: choose another library, or install the package "
        f"{package}."
    )


def why_not(plan: NeighboursSettings) -> str:
    """Why a plan cannot be fitted, in a sentence; empty if it can."""
    return refusal_of_call(check, plan, "data", "method") or library_missing(plan.library)


def check_view(settings: NeighboursSettings) -> None:
    """Refuse knobs of the view that make no sense whatever the fit.

    >>> check_view(NeighboursSettings(order="middle"))
    Traceback (most recent call last):
    gbuq_core.errors.InvalidParameter: order must be one of first, last, random; got 'middle'.
    """
    if settings.k is not None:
        check_number("k", settings.k, -(10**9), 10**9, integer=True)
    check(settings, "picture", "view", besides=("k",))


def neighbours_arguments(plan: NeighboursSettings) -> dict[str, Any]:
    """All arguments of the base model, by its library's names.

    >>> neighbours_arguments(NeighboursSettings(library="hist"))["max_iter"]
    100
    """
    library = plan.base
    named = {library.names.get(name, name): value for name, value in arguments(plan).items()}
    return library.builder.arguments(named)


def neighbours_model(plan: NeighboursSettings) -> Any:
    """The unfitted base model of a plan.

    >>> neighbours_model(NeighboursSettings(library="hist", leaves=5)).max_leaf_nodes
    5
    """
    refusal = why_not(plan)
    if refusal:
        raise InvalidParameter(refusal)
    return plan.base.builder.make(**neighbours_arguments(plan))


def one_thread(library: str) -> contextlib.AbstractContextManager[Any]:
    """HistGradientBoosting has no number of threads: within this context it uses one."""
    if library != "hist":
        return contextlib.nullcontext()
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1, user_api="openmp")


# --- Fit, search, view ----------------------------------------------------------------------------


class NeighboursFit(NamedTuple):
    """The base model with its training rows, and where its trees put the grid."""

    plan: NeighboursSettings
    data: NeighboursData
    # an `IBUGRegressor`, tuned on a fifth of the rows, then trained on all; None of a stored fit,
    # as `source` and `grid_leaves` are
    model: Any
    n_trees: int  # of the model
    most_k: int  # the largest k that can be calibrated and shown
    source: Any  # a `LeafSource`: the leaves of any row in the model's trees
    grid_leaves: Any  # the `TrainLeaves` of the grid, for maps of affinity
    # `seconds`, `memory_bytes`: cost of the fit, tuning included, and what IBUG holds besides the
    # model
    seconds: float  # NaN of a stored fit
    memory_bytes: int | None


class NeighboursSearch(NamedTuple):
    """What depends on the trees that count, and on no other knob of the view."""

    n_trees: int  # how many count: the largest possible affinity
    order: str  # which ones; "first" where all count
    width: int  # how many neighbours are held: any k up to it needs no other search
    near_test: Any  # the `Neighborhood` of the test rows; None of a stored search
    grid_loc: Array | None  # (n_grid,)
    # (n_grid, width): the targets of the neighbours of every place of the grid, nearest first
    grid_targets: npt.NDArray[np.float32] | None
    # validation scores of every candidate k with these trees; `best` by the scoring that was set
    # when it was searched, while both scores are there
    tuning: NeighbourTuning
    notes: tuple[str, ...]  # what was brought into range, a sentence each


@dataclass(frozen=True, kw_only=True)
class NeighboursView:
    """Predictions and scales for one k and calibration, in units of y."""

    settings: NeighboursSettings
    setting: Setting  # k, least scale, gamma and delta in use
    tuned: bool  # whether k was chosen on the validation rows
    # `loc`, `scale`: (n_test,)
    loc: Array
    scale: Array
    # `grid_loc`, `grid_scale`: (n_grid,)
    grid_loc: Array | None
    grid_scale: Array | None
    # `test_rmse`, `test_nll`, `test_crps`: of normals on the test rows: NLL in nats, the others in
    # units of y
    test_rmse: float
    test_nll: float
    test_crps: float
    notes: tuple[str, ...]  # what was brought into range, a sentence each

    @property
    def k(self) -> int:
        """The number of neighbours in use."""
        return self.setting.n_neighbors


class Brushed(NamedTuple):
    """What a range of scale highlights."""

    # `low`, `high`: the range, in units of y
    low: float
    high: float
    rows: Mask  # (n_test,)
    grid: Mask | None  # (n_grid,)
    n_rows: int
    # `mean_error`, `mean_error_others`: mean absolute error of those test rows and of the others;
    # NaN where there are none
    mean_error: float
    mean_error_others: float


_WIDTHS = (61, 201, 701)
_PER_ROW = ("loc", "indices", "affinities", "targets")
_FITS = Tally()
count_fits = _FITS.count  # what a knob of the view leaves as it is


def data_of(plan: NeighboursSettings) -> NeighboursData:
    """The data of a plan."""
    return load_neighbours_data(plan.data, plan.rows, plan.noise, plan.seed)


def fit_neighbours(plan: NeighboursSettings) -> NeighboursFit:
    """Train the base model on a part of the rows, tune k on the rest, train it on all rows."""
    from gbuq_core.ibug import IBUGRegressor
    from gbuq_core.ibug.affinity import pack_leaves
    from gbuq_core.trees.importers import leaf_source

    base = neighbours_model(plan)
    data = data_of(plan)
    model = IBUGRegressor(
        base, delta_unit=1.0, validation_fraction=VALIDATION_FRACTION, random_state=plan.seed
    )
    began = time.perf_counter()
    with one_thread(plan.library):
        model.fit(data.X, data.y)
    seconds = time.perf_counter() - began
    source, grid_leaves = leaf_source(model.model_), None
    if data.grid is not None:
        grid_leaves = pack_leaves(source.leaf_matrix(data.grid))
    _FITS.add()
    return NeighboursFit(
        plan,
        data,
        model,
        int(model.n_trees_),
        int(model.find_validation().targets.shape[1]),
        source,
        grid_leaves,
        seconds,
        int(model.memory_bytes_),
    )


def search_key(fit: NeighboursFit, settings: NeighboursSettings) -> tuple[int, str, int]:
    """Trees that count, their order and neighbours held: with the plan, the key of a search.

    All are brought into range. The neighbours held are 61, 201, 701 or as many as there are: few k
    are large, and a wide search takes long.
    """
    count = fit.n_trees if settings.tau == ALL_TREES else min(settings.counted, fit.n_trees)
    order = "first" if count == fit.n_trees else settings.order
    k = k_in_range(fit, settings.k)
    if k is None:
        tuning = scored_by(fit, settings).tuning_for(count, order)
        assert tuning is not None  # the fit held rows out
        k = int(tuning.n_neighbors[tuning.best])
    return count, order, min(next(width for width in _WIDTHS if width >= k), fit.most_k)


def search_neighbours(fit: NeighboursFit, settings: NeighboursSettings) -> NeighboursSearch:
    """Find the neighbours of the test rows and of the grid with the trees that count."""
    check_view(settings)
    count, order, width = search_key(fit, settings)
    notes: tuple[str, ...] = ()
    if settings.tau < ALL_TREES and settings.counted != count:
        notes = (
            f"You asked for {settings.counted} trees, and the model has {fit.n_trees}. The picture "
            f"counts {count}.",
        )
    trees: dict[str, Any] = {"n_trees_sampled": count, "tree_order": order}
    data = fit.data
    rows = data.X_test if data.grid is None else np.concatenate([data.X_test, data.grid])
    with one_thread(fit.plan.library):
        near = fit.model.find_neighborhood(rows, width, **trees)
    n_test, grid_loc, grid_targets = len(data.X_test), None, None
    if data.grid is not None:
        grid_loc, grid_targets = near.loc[n_test:], near.targets[n_test:].astype(np.float32)
        near = near._replace(**{name: getattr(near, name)[:n_test].copy() for name in _PER_ROW})
    tuning = scored_by(fit, settings).tuning_for(**trees)
    assert tuning is not None  # the fit held rows out
    return NeighboursSearch(count, order, width, near, grid_loc, grid_targets, tuning, notes)


def k_in_range(fit: NeighboursFit, k: int | None) -> int | None:
    """The nearest k that can be calibrated and shown; None tunes it."""
    return None if k is None else min(max(k, 2), fit.most_k)


def view_neighbours(
    fit: NeighboursFit, search: NeighboursSearch, settings: NeighboursSettings
) -> NeighboursView:
    """Predictions and scales for the settings' k, calibration and scoring."""
    from gbuq_core.ibug.search import scale_of

    check_view(settings)
    k, notes = k_in_range(fit, settings.k), list(search.notes)
    if k != settings.k:
        why = (
            f"only {fit.most_k} rows are left for tuning"
            if k == fit.most_k
            else "a spread needs at least 2 neighbours"
        )
        notes.append(f"k is {settings.k}, but {why}. The picture uses k = {k}.")
    setting = scored_by(fit, settings).setting_for(
        "tune" if k is None else k,
        settings.calibrate,
        n_trees_sampled=search.n_trees,
        tree_order=search.order,
    )
    if setting.n_neighbors > search.width:
        search = search_neighbours(fit, settings)
    scale = scale_of(search.near_test.targets, setting)
    grid_scale = None
    if search.grid_targets is not None:
        grid_scale = scale_of(search.grid_targets[:, : setting.n_neighbors].astype(float), setting)
    y, loc = fit.data.y_test, search.near_test.loc
    return NeighboursView(
        settings=settings,
        setting=setting,
        tuned=k is None,
        loc=loc,
        scale=scale,
        grid_loc=search.grid_loc,
        grid_scale=grid_scale,
        test_rmse=rmse(y, loc),
        test_nll=float(fit.data.log_scores(NormalDistribution(loc, scale)).mean()),
        test_crps=crps_gaussian(y, loc, scale),
        notes=tuple(notes),
    )


def brush_scale(fit: NeighboursFit, view: NeighboursView) -> Brushed | None:
    """The rows and cells whose scale lies in the settings' percentiles; None where all do."""
    scales = tuple(view.settings.scales)
    if scales == EVERYTHING:
        return None
    places = view.scale if view.grid_scale is None else view.grid_scale
    seen = view.scale if view.settings.scales_of == ROWS else places
    low, high = (float(end) for end in np.quantile(seen, [share / 100 for share in scales]))
    low = min(low, float(places.min())) if scales[0] == 0 else low
    high = max(high, float(places.max())) if scales[1] == 100 else high
    rows = (view.scale >= low) & (view.scale <= high)
    grid = None
    if view.grid_scale is not None:
        grid = (view.grid_scale >= low) & (view.grid_scale <= high)
    error = np.abs(fit.data.y_test - view.loc)
    return Brushed(
        low,
        high,
        rows,
        grid,
        int(rows.sum()),
        float(error[rows].mean()) if rows.any() else math.nan,
        float(error[~rows].mean()) if not rows.all() else math.nan,
    )


def rank_families(
    fit: NeighboursFit, search: NeighboursSearch, view: NeighboursView
) -> FamilyScores:
    """Mean NLL of the nine families on the validation rows, for the view's k and calibration."""
    model = scored_by(fit, view.settings)
    return model.score_families(
        model.find_validation(search.n_trees, search.order),
        model.y_validation_,
        n_neighbors=view.k,
        calibrate=view.settings.calibrate,
    )


def scored_by(fit: NeighboursFit, settings: NeighboursSettings) -> Any:
    """The fitted estimator with the settings' scoring; fits and searches are shared with it."""
    model = copy.copy(fit.model)
    model.scoring = settings.scoring
    return model


# --- One place looked at --------------------------------------------------------------------------


_N_Y = 201
_REACH = 4.5  # stds to either side of a prediction that densities are drawn over


@dataclass(frozen=True, kw_only=True)
class NeighboursLook:
    """A prediction and its neighbours; targets, scales and densities in units of y."""

    title: str
    x: Array  # (n_features,)
    row: int | None  # the test row it is; None for a place that is none
    target: float | None  # what was observed there; None for a place
    # `loc`, `scale`: the prediction and its calibrated scale
    loc: float
    scale: float
    k: int
    # `indices`, `affinities`: (k,): the neighbours among the training rows, best first, and the
    # trees they share with it
    indices: npt.NDArray[np.int32]
    affinities: npt.NDArray[np.int32]
    targets: Array  # (k,)
    features: Array  # (k, n_features)
    row_affinities: npt.NDArray[np.int32]  # (n_rows,): of all training rows, in their order
    n_trees: int  # the largest possible affinity
    cut: int  # the affinity of the k-th neighbour
    n_tied: int  # training rows with the affinity of the cut that did not become neighbours
    # `path_k`, `path_std`: (most_k - 1,): the neighbours' std, without floor and calibration, for
    # every k from 2
    path_k: npt.NDArray[np.int64]
    path_std: Array
    # (n_grid,): trees in which each place of the grid shares a leaf with x
    map_affinity: npt.NDArray[np.int64] | None
    codes: npt.NDArray[np.int64]  # (n_trees,): its leaves, tree by tree
    y_grid: Array  # (201,)
    densities: dict[str, Array]  # (201,): of every family that these targets allow
    refusals: dict[str, str]  # why a family cannot be used
    family: str  # the one in use
    # The share of each class among the neighbours, where the rows have classes. Our own view, not
    # the paper's.
    class_shares: dict[str, float] | None
    notes: tuple[str, ...]


def look_at(
    fit: NeighboursFit,
    search: NeighboursSearch,
    settings: NeighboursSettings,
    view: NeighboursView | None = None,
    ranked: FamilyScores | None = None,
) -> NeighboursLook:
    """Look at the place or test row of the settings."""
    if view is None:
        view = view_neighbours(fit, search, settings)
    x, model = _place(fit, settings)[1], scored_by(fit, settings)
    trees = {"n_trees_sampled": search.n_trees, "tree_order": search.order}
    with one_thread(fit.plan.library):
        near = model.find_neighborhood(x[None, :], len(fit.data.y), **trees)
        leaves = fit.source.leaf_matrix(x[None, :])
    look = describe_near(fit, search, settings, view, near, leaves[0].astype(np.int64), ranked)
    shares = None
    if fit.data.labels is not None:
        classes = model.neighbor_class_shares(near, fit.data.labels, view.k)
        shares = dict(zip(classes.classes.tolist(), classes.shares[0].tolist(), strict=True))
    return replace(look, map_affinity=_map_affinity(fit, search, leaves), class_shares=shares)


def describe_near(
    fit: NeighboursFit,
    search: NeighboursSearch,
    settings: NeighboursSettings,
    view: NeighboursView,
    near: Any,
    codes: npt.NDArray[np.int64],
    ranked: FamilyScores | None = None,
) -> NeighboursLook:
    """A look of all training rows by their affinity to a place; it asks no model."""
    from gbuq_core.ibug.search import scale_of

    notes: list[str] = []
    title, x, row, target = _place(fit, settings)
    k = view.k
    row_affinities = np.empty(len(fit.data.y), np.int32)
    row_affinities[near.indices[0]] = near.affinities[0]
    targets, scales = near.targets[:, :k], scale_of(near.targets, view.setting)
    loc, scale = float(near.loc[0]), float(scales[0])
    y_grid = _y_grid(loc, scale, targets[0], target)
    densities, refusals = {}, {}
    for name in FAMILIES:
        try:
            check_family(name, fit.data.y)
        except InvalidData as error:
            refusals[name] = str(error)
        else:
            posterior = fit_posterior(name, near.loc, scales, targets, view.setting.min_scale)
            densities[name] = np.exp(log_density(posterior, y_grid[None, :])[0])
    path_k = np.arange(2, fit.most_k + 1)
    cut = int(near.affinities[0, k - 1])
    return NeighboursLook(
        title=title,
        x=x,
        row=row,
        target=target,
        loc=loc,
        scale=scale,
        k=k,
        indices=near.indices[0, :k],
        affinities=near.affinities[0, :k],
        targets=targets[0],
        features=fit.data.X[near.indices[0, :k]],
        row_affinities=row_affinities,
        n_trees=search.n_trees,
        cut=cut,
        n_tied=int((near.affinities[0, k:] == cut).sum()),
        path_k=path_k,
        path_std=running_std(near.targets, path_k.tolist())[0],
        map_affinity=None,
        codes=codes,
        y_grid=y_grid,
        densities=densities,
        refusals=refusals,
        family=_family(fit, search, view, ranked, refusals, notes),
        class_shares=None,
        notes=tuple(notes),
    )


class NeighboursRun(NamedTuple):
    """All of it for one set of settings."""

    settings: NeighboursSettings
    fit: NeighboursFit
    search: NeighboursSearch
    view: NeighboursView
    look: NeighboursLook
    # numbers by name, of it and of what it is compared with
    scores: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    fitted: Mapping[str, Any] = MappingProxyType({})  # a `BaselineFit` of each of these
    ranked: FamilyScores | None = None  # every family's NLL on the validation rows

    @property
    def brushed(self) -> Brushed | None:
        """What the settings' range of scales highlights; None if all lie in it."""
        return brush_scale(self.fit, self.view)


def run_neighbours(settings: NeighboursSettings | None = None) -> NeighboursRun:
    """Fit, search, view and look."""
    settings = NeighboursSettings() if settings is None else settings
    fit = fit_neighbours(plan_of(settings))
    search = search_neighbours(fit, settings)
    view = view_neighbours(fit, search, settings)
    return NeighboursRun(settings, fit, search, view, look_at(fit, search, settings, view))


def affinity_by_trees(fit: NeighboursFit, x: Array) -> npt.NDArray[np.int64]:
    """In how many of the first 1, 2, ... trees each place of the grid shares a leaf with x.

    >>> settings = NeighboursSettings(rows=200, trees=20, x=9.0)
    >>> run = run_neighbours(settings)
    >>> grown = affinity_by_trees(run.fit, run.look.x)
    >>> grown.shape, bool((grown[-1] == run.look.map_affinity).all())
    ((20, 321), True)
    """
    from gbuq_core.ibug.affinity import count_affinities

    assert fit.grid_leaves is not None
    leaves = fit.source.leaf_matrix(np.asarray(x, np.float64)[None, :])
    shared = [
        count_affinities(fit.grid_leaves, leaves, np.array([tree]))[0]
        for tree in range(fit.n_trees)
    ]
    return np.cumsum(np.array(shared, np.int64), axis=0)


def _place(
    fit: NeighboursFit, settings: NeighboursSettings
) -> tuple[str, Array, int | None, float | None]:
    """What is looked at: its name, its features, and a table's held-out row and its target."""
    data, row = fit.data, settings.row
    if row is None:
        point = np.array(settings.point)
        texts = (f"{name} = {short(x)}" for name, x in zip(data.feature_names, point, strict=True))
        return ", ".join(texts), point, None, None
    return f"held-out row {row + 1}", data.X_test[row], row, float(data.y_test[row])


def _y_grid(loc: float, scale: float, targets: Array, target: float | None) -> Array:
    """Places of y that hold the prediction's density, the neighbours and what was observed."""
    ends = [loc - _REACH * scale, loc + _REACH * scale, float(targets.min()), float(targets.max())]
    if target is not None:
        ends.append(target)
    low, high = min(ends), max(ends)
    margin = 0.03 * (high - low) or 1.0
    return np.linspace(low - margin, high + margin, _N_Y)


def _map_affinity(
    fit: NeighboursFit, search: NeighboursSearch, leaves: Any
) -> npt.NDArray[np.int64] | None:
    from gbuq_core.ibug.affinity import count_affinities
    from gbuq_core.ibug.search import select_trees

    if fit.grid_leaves is None:
        return None
    trees = select_trees(fit.n_trees, search.n_trees, search.order, fit.model.seed_)
    return count_affinities(fit.grid_leaves, leaves, trees)[0].astype(np.int64)


def _family(
    fit: NeighboursFit,
    search: NeighboursSearch,
    view: NeighboursView,
    ranked: FamilyScores | None,
    refusals: dict[str, str],
    notes: list[str],
) -> str:
    wanted = view.settings.family
    if wanted == BEST_FAMILY:
        return (rank_families(fit, search, view) if ranked is None else ranked).best
    if wanted in refusals:
        notes.append(f"{refusals[wanted].rstrip('.')}. The picture shows the normal distribution.")
        return "normal"
    return wanted


# --- What IBUG is compared with -------------------------------------------------------------------

FITTED = ("knn", "knn_cb", "cbu")
_WITH_IMPORTANCES = ("lightgbm", "catboost", "xgboost")
NO_FITS: Mapping[str, Any] = MappingProxyType({})
_FEWEST_TREES, _MEMBERS = 200, 20  # of virtual SGLB, whose later half of members counts


class BaselineFit(NamedTuple):
    """A baseline's predictions in units of y, and what it cost.

    key : str; loc, scale : (n_test,); grid_loc, grid_scale : (n_grid,) or None; seconds : float, of
    the fit with its tuning; memory_bytes : int, what the fitted baseline holds.
    """

    key: str
    loc: Array
    scale: Array
    grid_loc: Array | None
    grid_scale: Array | None
    seconds: float
    memory_bytes: int | None


def needed_fits(baselines: tuple[str, ...]) -> tuple[str, ...]:
    """Which fits the chosen baselines take: their average with IBUG takes that of virtual SGLB."""
    wanted = {"cbu" if key == "ibug_cbu" else key for key in baselines}
    return tuple(key for key in FITTED if key in wanted)


def why_no_baseline(plan: NeighboursSettings, key: str) -> str:
    """Why a baseline cannot be fitted to a plan, in a sentence; empty if it can."""
    if key == "knn_cb" and plan.library not in _WITH_IMPORTANCES:
        return (
            f"kNN-CB uses the most important features, but {plan.base.label} "
            "reports no importances: choose CatBoost, LightGBM or XGBoost."
        )
    return why_not(plan)


def fit_baseline(plan: NeighboursSettings, key: str, scoring: str = "nll") -> BaselineFit:
    """Fit one baseline on the plan's rows and predict the test rows and the grid."""
    check_choice("baseline", key, FITTED)
    check_choice("scoring", scoring, SCORINGS)
    refusal = why_no_baseline(plan, key)
    if refusal:
        raise InvalidParameter(refusal)
    data = data_of(plan)
    model = baseline_model(plan, key, scoring)
    began = time.perf_counter()
    model.fit(data.X, data.y)
    seconds = time.perf_counter() - began
    loc, scale = model.predict_distribution(data.X_test)
    grid_loc = grid_scale = None
    if data.grid is not None:
        grid_loc, grid_scale = model.predict_distribution(data.grid)
    held = data.X.nbytes + data.y.nbytes
    if key == "cbu":
        held = int(model.estimators_[0].memory_bytes_)
    return BaselineFit(key, loc, scale, grid_loc, grid_scale, seconds, held)


def baseline_model(plan: NeighboursSettings, key: str, scoring: str) -> Any:
    """The unfitted baseline."""
    from gbuq_core.baselines import AveragingRegressor, EuclideanNeighborsRegressor
    from gbuq_core.boosting import BoostedEnsembleRegressor

    shared: dict[str, Any] = {
        "scoring": scoring,
        "validation_fraction": VALIDATION_FRACTION,
        "random_state": plan.seed,
    }
    if key == "cbu":
        return AveragingRegressor(
            [("sglb", BoostedEnsembleRegressor(**virtual_knobs(plan)))], **shared
        )
    base = neighbours_model(plan) if key == "knn_cb" else None
    return EuclideanNeighborsRegressor(base, **shared)


def virtual_knobs(plan: NeighboursSettings) -> dict[str, Any]:
    """Arguments of virtual SGLB: as many trees as the base model or 200, truncated to ten members.

    >>> virtual_knobs(NeighboursSettings(trees=400))["truncation_step"]
    20
    """
    n_trees = max(plan.trees, _FEWEST_TREES)
    return {
        "stopping": None,
        "method": "sglb",
        "ensemble": "virtual",
        "n_trees": n_trees,
        "truncation_step": n_trees // _MEMBERS,
        "depth": plan.depth,
        "learning_rate": plan.rate,
        "random_state": plan.seed,
    }


def constant_scale(fit: NeighboursFit) -> float:
    """One std for all rows: the root mean squared error on the validation rows."""
    return rmse(fit.model.y_validation_, fit.model.find_validation().loc)


def average_with(own: BaselineFit, other: BaselineFit) -> BaselineFit:
    """IBUG and virtual SGLB averaged (section 5.2), both calibrated on their own."""
    from gbuq_core.baselines import average_distributions

    assert own.memory_bytes is not None  # both are fitted
    assert other.memory_bytes is not None
    loc, scale = average_distributions((own.loc, own.scale), (other.loc, other.scale))
    grids: Any = (own.grid_loc, own.grid_scale), (other.grid_loc, other.grid_scale)
    grid_loc = grid_scale = None
    if own.grid_loc is not None and other.grid_loc is not None:
        grid_loc, grid_scale = average_distributions(*grids)
    return BaselineFit(
        "ibug_cbu",
        loc,
        scale,
        grid_loc,
        grid_scale,
        own.seconds + other.seconds,
        own.memory_bytes + other.memory_bytes,
    )


def baseline_of(
    fit: NeighboursFit, own: BaselineFit, baselines: Mapping[str, BaselineFit], key: str
) -> BaselineFit | None:
    """What is scored beside IBUG; None before it is fitted."""
    if key == "constant":
        scale = constant_scale(fit)
        grid_scale = None if own.grid_loc is None else np.full_like(own.grid_loc, scale)
        return own._replace(
            key=key, scale=np.full_like(own.loc, scale), grid_scale=grid_scale, memory_bytes=8
        )
    if key == "ibug_cbu":
        return average_with(own, baselines["cbu"]) if "cbu" in baselines else None
    return baselines.get(key)
