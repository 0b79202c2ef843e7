"""The settings of the Neighbours page, and which of them a fit depends on.

Brophy and Lowd, "Instance-based uncertainty estimation for gradient-boosted regression trees"
(IBUG, 2022): k, the trees that count, calibration and family belong to the view and refit nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from gbuq_core.errors import InvalidParameter, refusal_of_call
from gbuq_core.experiments.neighbours.data import DATASETS, DatasetInfo
from gbuq_core.ibug import FAMILIES
from gbuq_core.methods import METHODS, Builder, Method
from gbuq_core.methods.record import is_installed
from gbuq_core.settings import arguments, check, setting
from gbuq_core.validation import check_choice, check_number

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


def _place(default: float, low: float, high: float, data: str, label: str) -> Any:
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
    x: float = _place(7.0, -3.0, 13.0, "heteroscedastic", "x")
    wave_x: float = _place(1.4, 0.0, 6.9, "wave", "x")
    x1: float = _place(0.5, -1.0, 1.0, "ripples", "x1")
    x2: float = _place(-0.5, -1.0, 1.0, "ripples", "x2")
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
