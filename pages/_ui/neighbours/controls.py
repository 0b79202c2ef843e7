"""Neighbours' knobs, what they mean to the experiment, and the point or row that is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

from gbuq_core.experiments.neighbours.data import DATASETS
from gbuq_core.experiments.neighbours.plan import (
    BASELINES,
    BEST_FAMILY,
    LIBRARIES,
    ORDERS,
    SCORINGS,
    NeighboursPlan,
    NeighboursSettings,
)
from gbuq_core.figures.handles import LiveKnob, live_knob
from gbuq_core.ibug import FAMILIES
from gbuq_core.knobs import Knob
from pages._ui.knobs import Preset, query_string
from pages._ui.live import live_map, map_knob
from pages._ui.present import Step
from pages._ui.url_state import PageState

_DEFAULT = NeighboursSettings()
_TUNED, _ALL_TREES = "tuned", 100
_DATA_LABELS = {info.label: key for key, info in DATASETS.items()}
_LIBRARY_LABELS = {library.label: key for key, library in LIBRARIES.items()}
_BASELINE_LABELS = {label: key for key, label in BASELINES.items()}
_FAMILY_LABELS = {
    "best on validation rows": BEST_FAMILY,
    **{family.label: key for key, family in FAMILIES.items()},
}
_SCORING_LABELS = {scoring.upper(): scoring for scoring in SCORINGS}
_KS = (
    2, 3, 5, 7, 9, 11, 15, 21, 31, 41, 61, 91, 121, 151, 201, 301, 401, 501, 601, 701,
)  # fmt: skip


def _label_of(labels: Mapping[str, str], key: str) -> str:
    return next(label for label, named in labels.items() if named == key)


def _of_kind(*kinds: str) -> tuple[str, tuple[str, ...]]:
    return "data", tuple(info.label for info in DATASETS.values() if info.kind in kinds)


def _only(key: str) -> tuple[str, tuple[str, ...]]:
    return "data", (DATASETS[key].label,)


def _by_leaves(by_leaves: bool) -> tuple[str, tuple[str, ...]]:
    labels = tuple(one.label for one in LIBRARIES.values() if one.by_leaves is by_leaves)
    return "library", labels


_DATA = (
    Knob(
        "data", "Data", "choice", DATASETS[_DEFAULT.data].label, choices=tuple(_DATA_LABELS),
        group="data", help="Three synthetic sets with known truth, and two real tables.",
    ),
    Knob(
        "rows", "Training rows", "ladder", _DEFAULT.rows, group="data",
        choices=(100, 200, 300, 400, 600, 800, 1000, 1500, 2000, 3000, 5000, 10000),
        needs=_of_kind("1d", "2d"),
    ),
    Knob(
        "noise", "Noise factor", "ladder", 1, group="data",
        choices=(0.1, 0.3, 0.5, 0.7, 1, 1.5, 2, 3), needs=_of_kind("1d", "2d"),
        help="Multiplies the usual noise of the data.",
    ),
    Knob(
        "seed", "Seed", "integer", _DEFAULT.seed, 0, 30, step=1, group="data",
        help="Draws the rows, or splits the table, and seeds the model.",
    ),
)  # fmt: skip
_METHOD = (
    Knob(
        "library", "Trees from", "choice", LIBRARIES[_DEFAULT.library].label,
        choices=tuple(_LIBRARY_LABELS), group="method",
        help="IBUG reads the leaves of any boosted trees. SGLB is this project's own booster.",
    ),
    Knob(
        "trees", "Trees", "ladder", _DEFAULT.trees, group="method",
        choices=(1, 5, 10, 20, 50, 100, 150, 200, 300, 500, 700, 1000, 2000),
    ),
    Knob(
        "leaves", "Leaves per tree", "ladder", _DEFAULT.leaves, group="method",
        choices=(2, 3, 4, 6, 8, 12, 16, 24, 31, 48, 64), needs=_by_leaves(True),
    ),
    Knob(
        "depth", "Depth", "integer", _DEFAULT.depth, 1, 8, step=1, group="method",
        needs=_by_leaves(False),
    ),
    Knob(
        "rate", "Learning rate", "ladder", _DEFAULT.rate, group="method",
        choices=(0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3),
    ),
)  # fmt: skip
# These stand above the picture, which the browser draws anew while they move.
K, TAU, ORDER, CALIBRATE, FAMILY = BAR = (
    Knob(
        "k", "Neighbours k", "ladder", _TUNED, choices=(_TUNED, *(str(k) for k in _KS)),
        group="picture",
        help="How many neighbours the scale comes from. Tuned: the best of 17 values on the "
        "validation rows. No retraining.",
    ),
    Knob(
        "tau", "Trees that count", "ladder", _ALL_TREES, unit="%", group="picture",
        choices=(1, 2, 5, 10, 20, 30, 50, 70, _ALL_TREES),
        help="It is faster to count shared leaves in fewer trees. No retraining.",
    ),
    Knob(
        "order", "Which trees count", "choice", _DEFAULT.order, choices=ORDERS, group="picture",
        when=lambda values: values["tau"] < _ALL_TREES,
    ),
    Knob(
        "calibrate", "Calibrate the scale", "switch", _DEFAULT.calibrate, group="picture",
        help="Multiplies all scales by one factor, or adds one constant. Both come from the "
        "validation rows. No retraining.",
    ),
    Knob(
        "family", "Distribution", "choice", _label_of(_FAMILY_LABELS, _DEFAULT.family),
        choices=tuple(_FAMILY_LABELS), group="picture",
        help="Fitted to the neighbours' targets. All families except the kernel density keep "
        "IBUG's mean and spread.",
    ),
)  # fmt: skip
_AFFINITY = "Affinity with the point"
MAP = map_knob(("Estimated scale", _AFFINITY))
_VIEW = (
    Knob(
        "scoring", "Tuned for", "choice", _DEFAULT.scoring.upper(), choices=tuple(_SCORING_LABELS),
        group="view", help="The score that k and the calibration are chosen by.",
    ),
    Knob(
        "compare", "Compare in the scorecard", "choices",
        tuple(BASELINES[key] for key in _DEFAULT.baselines), choices=tuple(_BASELINE_LABELS),
        group="view", help="Each method is fitted once, after the picture has appeared.",
    ),
)  # fmt: skip


def _place(key: str, label: str, default: float, low: float, high: float, data: str) -> Knob:
    return Knob(
        key,
        label,
        "number",
        default,
        low,
        high,
        step=0.05,
        group="page",
        box=True,
        needs=_only(data),
    )


def _row(key: str, default: int, n_rows: int, data: str) -> Knob:
    return Knob(
        key, "Held-out row", "integer", default, 1, n_rows, step=1, group="page", box=True,
        needs=_only(data),
    )  # fmt: skip


# What is looked at, for each set by its own name, so that a link means the same in every session.
PLACES: Mapping[str, tuple[Knob, ...]] = {
    "heteroscedastic": (_place("x", "x", 7.0, -3.0, 13.0, "heteroscedastic"),),
    "wave": (_place("wave_x", "x", 1.4, 0.0, 6.9, "wave"),),
    "ripples": (
        _place("x1", "x1", 0.5, -1.0, 1.0, "ripples"),
        _place("x2", "x2", -0.5, -1.0, 1.0, "ripples"),
    ),
    "diabetes": (_row("diabetes_row", 1, 88, "diabetes"),),
    "wine": (_row("wine_row", 1, 36, "wine"),),
}
EVERYTHING = (0, 100)
RANGE = Knob(
    "scales", "Highlight rows by their scale", "range", EVERYTHING, 0, 100, step=5, group="page",
    unit="percentile",
    help="0 is the smallest scale, 100 the largest. Rows and places in the range are marked in the "
    "picture, and the rows are listed below.",
)  # fmt: skip
# A link that does not name it means places, as before there was a choice.
ROWS, PLACES_DRAWN = "rows", "places"
COUNTED = Knob(
    "scales_of", "Percentiles of the", "choice", PLACES_DRAWN, choices=(ROWS, PLACES_DRAWN),
    group="page",
    needs=("data", tuple(one.label for one in DATASETS.values() if one.kind != "table")),
    help="Rows: 80 to 100 is the fifth of the fresh rows with the largest scale. Places: the fifth "
    "of the picture, of which many places may be without rows.",
)  # fmt: skip
PREDICTION = "prediction"
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
ACROSS: Mapping[str, Knob] = {
    data: Knob(
        f"{data}_by", "Training rows by", "choice", PREDICTION, choices=(PREDICTION, *names),
        group="page", needs=_only(data),
    )
    for data, names in FEATURES.items()
}  # fmt: skip

STATE = PageState(
    key="neighbours",
    knobs=(
        *_DATA,
        *_METHOD,
        *BAR,
        MAP,
        *_VIEW,
        *(knob for knobs in PLACES.values() for knob in knobs),
        *ACROSS.values(),
        RANGE,
        COUNTED,
    ),
    presets=(
        Preset(
            "Two inputs",
            {"data": DATASETS["ripples"].label, "scales_of": ROWS},
            "Maps of noise and of affinity.",
        ),
        Preset(
            "A table",
            {"data": DATASETS["diabetes"].label, "scales_of": ROWS},
            "Held-out patients.",
        ),
    ),
    opening=MappingProxyType({"scales_of": ROWS}),
    picture=(
        *("neighbours-course", "neighbours-maps"),
        *("neighbours-rows", "neighbours-training"),  # of a table
    ),
    story=(
        Step("The marked rows share most leaves with the place at the line. They set its scale."),
        Step("5 neighbours. How rough is the scale now?", {"k": "5"}),
        Step("Three times the noise. Does the scale follow?", {"noise": 3}),
        Step(
            "Two inputs. Which rows count as near, and how far do they reach?",
            {"data": DATASETS["ripples"].label, MAP.key: _AFFINITY},
        ),
    ),
)

# Sliders whose fits are quick: the picture follows while they are dragged.
FOLLOWED = ("rows", "noise", "seed", "trees", "leaves", "depth", "rate")


class Looks(NamedTuple):
    """What the reader looks at: a place or a row, a column, and a range of scales.

    ``scales`` are percentiles, of the rows if ``of_rows``, else of the picture's places.
    """

    point: tuple[float, ...] | None
    row: int | None
    scales: tuple[int, int]
    of_rows: bool
    across: str


def looks_of(values: SimpleNamespace, data: str) -> Looks:
    """The point or the row (from 0) of the knobs' values for a set."""
    places = tuple(getattr(values, knob.key) for knob in PLACES[data])
    if DATASETS[data].kind == "table":
        across = getattr(values, ACROSS[data].key)
        return Looks(None, int(places[0]) - 1, values.scales, True, across)
    point = tuple(float(place) for place in places)
    return Looks(point, None, values.scales, values.scales_of == ROWS, "")


def settings_of(values: SimpleNamespace, plan: NeighboursPlan | None = None) -> NeighboursSettings:
    """The experiment's settings for the knobs' values.

    With the plan of a fit, what that fit depends on is its own: the last good one is shown with
    today's view while another is being made.
    """
    trees = int(values.trees) if plan is None else plan.trees
    data = _DATA_LABELS[values.data] if plan is None else plan.data
    looks = looks_of(values, data)
    settings = NeighboursSettings(
        data=data,
        rows=int(values.rows),
        noise=float(values.noise),
        seed=values.seed,
        library=_LIBRARY_LABELS[values.library],
        trees=trees,
        rate=float(values.rate),
        depth=values.depth,
        leaves=int(values.leaves),
        k=None if values.k == _TUNED else int(values.k),
        tau=None if values.tau == _ALL_TREES else max(1, round(trees * values.tau / 100)),
        order=values.order,
        calibrate=values.calibrate,
        scoring=_SCORING_LABELS[values.scoring],
        family=_FAMILY_LABELS[values.family],
        chosen=looks.row,
        point=looks.point,
        baselines=tuple(_BASELINE_LABELS[label] for label in values.compare),
    )
    if plan is None:
        return settings
    own = {name: value for name, value in plan._asdict().items() if value is not None}
    return replace(settings, **own)


def _label_values(settings: NeighboursSettings) -> dict[str, Any]:
    """The experiment's settings in the knobs' words."""
    tau = settings.tau
    values = {
        **vars(settings),
        "data": DATASETS[settings.data].label,
        "library": LIBRARIES[settings.library].label,
        "k": _TUNED if settings.k is None else str(settings.k),
        "tau": _ALL_TREES if tau is None else nearest_share(tau, settings.trees),
        "scoring": settings.scoring.upper(),
        "family": _label_of(_FAMILY_LABELS, settings.family),
        "compare": tuple(BASELINES[key] for key in settings.baselines),
    }
    looked_at: tuple[float, ...] = settings.point or ()
    if settings.chosen is not None and DATASETS[settings.data].kind == "table":
        looked_at = (settings.chosen + 1,)
    for knob, value in zip(PLACES[settings.data], looked_at, strict=False):
        values[knob.key] = value
    return values


def nearest_share(tau: int, trees: int) -> int:
    """The knob's percentage that comes closest to so many of the trees.

    >>> nearest_share(10, 100), nearest_share(3, 100)
    (10, 2)
    """
    return min(TAU.choices, key=lambda percent: abs(percent / 100 - tau / trees))


def counts_of(trees: int) -> tuple[int, ...]:
    """How many of the trees count at each place of the slider.

    >>> counts_of(50)
    (1, 1, 2, 5, 10, 15, 25, 35, 50)
    """
    return tuple(max(1, round(trees * percent / 100)) for percent in TAU.choices)


def ks_of() -> tuple[int | None, ...]:
    """K at each place of the slider; None tunes it."""
    return tuple(None if text == _TUNED else int(text) for text in K.choices)


def bar_of(values: SimpleNamespace) -> tuple[LiveKnob, ...]:
    """The knobs above the picture."""
    shares = [f"{percent} %" for percent in TAU.choices]
    some = {"tau": tuple(range(len(TAU.choices) - 1))}
    return (
        live_knob(K, values.k, label="k"),
        live_knob(TAU, values.tau, label="Trees that count", texts=shares),
        live_knob(ORDER, values.order, label="Which", needs=some),
        live_knob(CALIBRATE, values.calibrate, label="Calibrated"),
        live_knob(FAMILY, values.family),
    )


def map_of(values: SimpleNamespace) -> LiveKnob:
    """The knob that names the map beside the truth."""
    return live_map(MAP, values.map)


def families_shown() -> tuple[tuple[str, str], ...]:
    """Key and label of the family at each place of the list."""
    return tuple(
        (key, label if key == BEST_FAMILY else FAMILIES[key].label)
        for label, key in _FAMILY_LABELS.items()
    )


def query_of(settings: NeighboursSettings) -> str:
    """The part of a link after the question mark that restores these settings.

    >>> query_of(NeighboursSettings(data="wine", k=5, chosen=6))
    'data=Wine%3A+alcohol&k=5&wine_row=7'
    """
    return query_string(STATE.knobs, _label_values(settings))


def rounded_place(data: str, place: tuple[float, ...]) -> dict[str, float]:
    """The knobs of a point or row with values that they can have."""
    return {
        knob.key: round(min(max(float(value), float(knob.low or 0)), float(knob.high or 0)), 2)
        for knob, value in zip(PLACES[data], place, strict=True)
    }
