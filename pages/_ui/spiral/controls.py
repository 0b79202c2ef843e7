"""Spiral's knobs, what they mean to the experiment, and the point and the line chosen on a map."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

import streamlit as st

from gbuq_core.experiments.spiral.plan import METHODS, PAPER, STAGE_STEP, SpiralSettings
from gbuq_core.figures.spiral.picture import EXTENT, POINTS, SCALES, SpiralView
from gbuq_core.glossary import UNCERTAINTY_KINDS
from gbuq_core.knobs import Knob, narrow
from pages._ui.canvas import CanvasEvent
from pages._ui.knobs import Preset, while_one_of
from pages._ui.live import COLOURS, FOCUS, map_knob, names_of_kinds
from pages._ui.present import Step
from pages._ui.surface import SURFACE
from pages._ui.url_state import PageState, link_query

MOST_METHODS = 4
_FIRST_METHODS = ("sglb", "csglb")  # an ensemble and one long model: large maps, soon there
_DEFAULT = SpiralSettings(methods=_FIRST_METHODS)
_BY_LABEL = {method.label: key for key, method in METHODS.items()}
_ALL = "all"
_LEAF_NOISE = {"automatic": None, "on": True, "off": False}
_RATES = (0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3)


def _with(*labels: str) -> tuple[str, tuple[Any, ...]]:
    """Shown while one of these methods is chosen."""
    return while_one_of("methods", labels, _BY_LABEL, MOST_METHODS)


def _of(method: str, name: str, **changes: Any) -> Knob:
    """A knob of a method's record, in the steps of this page."""
    default = {"default": getattr(_DEFAULT, changes.get("key", name))}
    return narrow(METHODS[method].record.knob(name), **{**default, **changes})


def _labels(keep: Any) -> tuple[str, ...]:
    return tuple(method.label for method in METHODS.values() if keep(method))


def _explores(values: Mapping[str, Any]) -> bool:
    """Whether exploration differs from the rest of a cycle."""
    return bool(values["noise_free"]) or METHODS["cbsglb"].label in values["methods"]


_CYCLICAL = _labels(lambda method: method.cyclical)
_BOOTSTRAPPED = (METHODS["cbsglb"].label,)
_CHAINS = _labels(lambda method: method.virtual)
_CUT = _labels(lambda method: method.virtual and not method.cyclical)
_INDEPENDENT = _labels(lambda method: not method.virtual)
_BOOSTED = _labels(lambda method: method.boosting)
_STEADY = _labels(lambda method: method.boosting and not method.cyclical)
_LANGEVIN = _labels(lambda method: method.langevin)
_TEMPERATURE, _LEAVES = (
    METHODS["sglb"].record.knob(name) for name in ("temperature", "leaf_noise")
)
_NOISY_LEAVES = _labels(lambda method: method.langevin and method.engine == "numba")

_DATA = (
    Knob(
        "rows", "Training rows per class", "ladder", _DEFAULT.rows, group="data",
        choices=(50, 100, 200, 300, 500, 700, 1000, 1500, 2000, 3000),
    ),
    Knob(
        "noise", "Noise", "ladder", _DEFAULT.noise, group="data",
        choices=(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1),
        help="More noise makes the arms wider. They also widen with the distance from the middle.",
    ),
    Knob(
        "seed", "Seed", "integer", _DEFAULT.seed, 0, 30, step=1, group="data",
        help="Sets the rows and the models' random numbers.",
    ),
)  # fmt: skip
_METHOD = (
    Knob(
        "methods", "Methods, at most four", "choices",
        tuple(METHODS[method].label for method in _DEFAULT.methods),
        choices=tuple(_BY_LABEL), most=MOST_METHODS, group="method",
        help="cSGLB and cbSGLB are one long model each, with a member at the end of every cycle. "
        "vRF is one random forest whose members are groups of trees. CatBoost trains SGLB with "
        "its own code.",
    ),
)  # fmt: skip
_KNOBS = (
    _of(
        "sglb", "n_members", key="members", low=2, high=30, step=1, needs=_with(*_INDEPENDENT),
        help="The number of independent models, or of groups of vRF's trees. The members of one "
        "long model follow from K or from its cycles.",
    ),
    _of(
        "sglb", "n_trees", key="trees", label="Trees, independent models",
        choices=(50, 100, 150, 200, 300, 500, 700, 1000, 1500, 2000), needs=_with(*_INDEPENDENT),
        help="The trees of each boosted model, and of the whole forest.",
    ),
    _of(
        "csglb", "n_trees", key="chain_trees", label="Trees, one long model",
        choices=(100, 200, 300, 400, 500, 600, 800, 1000, 1500, 2000, 3000),
        needs=_with(*_CHAINS), help="The length of virtual SGLB, cSGLB and cbSGLB.",
    ),
    _of("sglb", "depth", high=8, step=1, needs=_with(*_BOOSTED)),
    _of(
        "vrf", "max_depth", key="forest_depth", label="Depth, vRF", low=2, high=30, step=1,
        needs=_with(METHODS["vrf"].label),
        help="The paper's forests have depth 10. Does vRF learn the arms with it?",
    ),
    _of(
        "sglb", "learning_rate", key="rate", choices=_RATES, needs=_with(*_STEADY),
        help="For all boosted methods without cycles.",
    ),
    _of(
        "csglb", "learning_rate", key="rate_cyclical", label="Learning rate, cyclical",
        choices=_RATES, needs=_with(*_CYCLICAL),
    ),
    _of(
        "virtual_sglb", "truncation_step", brief="K", key="step", low=10, high=200, step=STAGE_STEP,
        needs=_with(*_CUT), group="picture",
    ),
    _of(
        "virtual_sglb", "truncation_start", brief="Start", key="start", high=0.9, step=0.05,
        needs=_with(*_CUT), group="picture",
    ),
    _of(
        "csglb", "cycle_length", key="cycle", needs=_with(*_CYCLICAL),
        choices=(10, 20, 25, 40, 50, 60, 80, 100, 150, 200, 300, 400, 500),
    ),
    _of(
        "csglb", "alpha_max", default=int(_DEFAULT.alpha_max), needs=_with(*_CYCLICAL),
        choices=(1, 2, 3, 5, 10, 15, 20),
    ),
    _of(
        "csglb", "alpha_min", default=int(_DEFAULT.alpha_min), needs=_with(*_CYCLICAL),
        choices=(0.1, 0.2, 0.5, 1, 2),
    ),
    _of(
        "cbsglb", "mask_prob", key="mask", low=0.05, step=0.01, needs=_with(*_BOOTSTRAPPED),
    ),
    _of("csglb", "noise_free_exploration", key="noise_free", needs=_with(*_CYCLICAL)),
    _of(
        "csglb", "exploration_fraction", key="exploration", step=0.05, needs=_with(*_CYCLICAL),
        when=_explores,
        help="cbSGLB hides rows during this part. If the switch above is on, this part has no "
        "noise.",
    ),
    # Links hold these two values as text.
    Knob(
        "temperature", _TEMPERATURE.label, "ladder", _DEFAULT.temperature,
        choices=("posterior", "10", "100", "1000", "10000", "catboost"), needs=_with(*_LANGEVIN),
        help=_TEMPERATURE.help,
    ),
    Knob(
        "leaf_noise", _LEAVES.label, "choice", "automatic", choices=tuple(_LEAF_NOISE),
        needs=_with(*_NOISY_LEAVES),
        help="Adds Langevin noise to the leaf values, not only to the choice of splits. Automatic "
        "is off at the temperature catboost, as in CatBoost's own code, and on at all others.",
    ),
    _of(
        "sglb", "random_strength", default=int(_DEFAULT.random_strength),
        choices=(0, 1, 3, 10, 30, 100, 300), needs=_with(*_BOOSTED),
    ),
)  # fmt: skip
_VIEW = (
    _of(
        "csglb", "burn_in_cycles", brief="Burn-in", key="burn_in", high=10, step=1, group="picture",
        needs=_with(*_CYCLICAL),
        help="The first cycles give no member. Nothing is retrained. The paper keeps all cycles.",
    ),
    Knob(
        "shown", "Members shown", "ladder", _ALL, brief="Members", group="picture",
        choices=("2", "3", "5", "7", "10", "15", _ALL),
        help="Uses only this many members. Nothing is retrained.",
    ),
    Knob(
        "flag", "Flag the most unknown cells", "ladder", 0, brief="Flag", unit="%", group="picture",
        choices=(0, 1, 5, 10, 20, 30, 40, 50),
        help="Hatches these cells in each map of knowledge uncertainty.",
    ),
    Knob("points", "Training rows on", "choice", "truth", choices=POINTS, group="view"),
    Knob(
        "log", "Logarithmic colours for knowledge", "switch", True, brief="Log KU", group="picture",
    ),
    Knob(
        "scale", "Colour scales", "choice", "shared", brief="Scales", choices=SCALES,
        group="picture",
        help="Shared: total and data run from 0 to ln 3 nats, and all knowledge maps share a "
        "scale. Own: each map has its own scale.",
    ),
)  # fmt: skip


def _place(key: str, label: str, default: int) -> Knob:
    """A coordinate in a box beside the picture, so that the keyboard can set it too."""
    low, high = EXTENT
    return Knob(
        key, label, "integer", default, int(low), int(high), step=15, group="page", box=True
    )


# Between two arms: where all three methods' members may differ. The ray leaves the data on the way.
POINT = (_place("px", "x", 0), _place("py", "y", -190))
RAY = (
    _place("rx", "from x", 0),
    _place("ry", "from y", 0),
    _place("sx", "to x", 600),
    _place("sy", "to y", 450),
)
ALONG = Knob("along", "Along it", "choice", "knowledge", choices=UNCERTAINTY_KINDS, group="page")

# Sections that fold. All are open in a link, as they were before they could fold.
POINT_OPEN = Knob("one_point", "One point", "switch", True, group="page")
WALK_OPEN = Knob("walk", "A walk out of the data", "switch", True, group="page")
CYCLES_OPEN = Knob(
    "first_cycles", "How much knowledge uncertainty comes from the first cycles", "switch", True,
    group="page",
)  # fmt: skip
COMPUTE_OPEN = Knob("compute", "What compute buys", "switch", True, group="page")
_SECTIONS = (POINT_OPEN, WALK_OPEN, CYCLES_OPEN, COMPUTE_OPEN)
_LOOKS = (*POINT, *RAY, ALONG, *SURFACE, *_SECTIONS)
MAP = map_knob(("True density", "Density of class 1", *names_of_kinds(_BY_LABEL)))


def _label_values(settings: SpiralSettings) -> dict[str, Any]:
    """The experiment's settings in the knobs' words."""
    temperature = settings.temperature
    return {
        **vars(settings),
        "methods": tuple(METHODS[method].label for method in settings.methods),
        "temperature": temperature if isinstance(temperature, str) else f"{temperature:g}",
        "leaf_noise": next(k for k, v in _LEAF_NOISE.items() if v is settings.leaf_noise),
        "shown": _ALL if settings.shown is None else str(settings.shown),
    }


# How the picture's bar names its knobs.
STATE = PageState(
    key="spiral",
    knobs=(*_DATA, *_METHOD, *_KNOBS, *_VIEW, COLOURS, FOCUS, MAP, *_LOOKS),
    presets=(
        Preset(
            "Paper settings",
            _label_values(PAPER),
            help="4,500 rows, 20 independent models of 1,000 trees, long models of 2,000 trees in "
            "cycles of 200. This takes a while. The page shows the estimate.",
            keeps=tuple(knob.key for knob in _LOOKS),
        ),
    ),
    # Narrow arms, with gaps between them to find; trees of a forest that can learn them; and the
    # rest of the page folded.
    opening=MappingProxyType(
        {"noise": 0.2, "forest_depth": 20, **{knob.key: False for knob in _SECTIONS}}
    ),
    picture=("spiral",),
    story=(
        Step("Noise 0.2: there are gaps between the arms. Is knowledge uncertainty high in them?"),
        Step(
            "Noise 0.4, the paper's. Where does data uncertainty lie now?",
            {"noise": 0.4, MAP.key: f"{METHODS['sglb'].label}: data"},
        ),
        Step(
            "Noise 0.8: the arms overlap. What is left for knowledge uncertainty to find?",
            {"noise": 0.8},
        ),
        Step(
            "50 rows per class instead of 500. Which uncertainty grows?",
            {"noise": 0.2, "rows": 50},
        ),
    ),
)


def settings_of(values: SimpleNamespace) -> SpiralSettings:
    """The experiment's settings for the knobs' values."""
    named = values.temperature in ("catboost", "posterior")
    # Whole numbers are written without a point, in links too: the experiment has its own types.
    own = {
        name: type(default)(getattr(values, name))
        for name, default in vars(_DEFAULT).items()
        if isinstance(default, (bool, int, float))
    }
    return SpiralSettings(
        **{
            **own,
            "methods": tuple(_BY_LABEL[label] for label in values.methods),
            "temperature": values.temperature if named else float(values.temperature),
            "leaf_noise": _LEAF_NOISE[values.leaf_noise],
            "shown": None if values.shown == _ALL else int(values.shown),
        }
    )


def view_of(values: SimpleNamespace) -> SpiralView:
    """How the maps are shown."""
    return SpiralView(values.log, values.scale, values.points, values.flag)


class Looks(NamedTuple):
    """What the reader looks at: a point, a line, and what is drawn along the line.

    ``point_open`` and ``walk_open`` say whether their sections are, and so whether the maps show
    them.
    """

    point: tuple[float, float]
    start: tuple[float, float]
    end: tuple[float, float]
    along: str
    point_open: bool = True
    walk_open: bool = True


def looks_of(values: SimpleNamespace) -> Looks:
    """The probed point and the ray of the knobs' values."""
    return Looks(
        (float(values.px), float(values.py)),
        (float(values.rx), float(values.ry)),
        (float(values.sx), float(values.sy)),
        values.along,
        values.one_point,
        values.walk,
    )


def query_of(settings: SpiralSettings, view: SpiralView | None = None) -> str:
    """The part of a link after the question mark that restores these settings.

    >>> query_of(SpiralSettings(methods=("sglb", "csglb"), cycle=50, seed=2))
    'seed=2&cycle=50'
    """
    view = SpiralView() if view is None else view
    return link_query(STATE, {**_label_values(settings), **view._asdict()})


def choose(event: CanvasEvent, n_cells: int) -> None:
    """Set the point to the clicked cell, or the ray to the drawn line, before the page runs.

    The section about it opens.

    ``n_cells`` is the number of cells a side. For several cells the point is their middle.
    """
    cells = [event.clicked[1:]] if event.clicked is not None else event.lassoed
    if cells:
        width = (EXTENT[1] - EXTENT[0]) / n_cells
        rows, columns = zip(*cells, strict=True)
        middles = (sum(at) / len(at) for at in (columns, rows))
        st.session_state[POINT_OPEN.key] = True
        _put(POINT, (EXTENT[0] + (middle + 0.5) * width for middle in middles))
    if event.ray is not None:
        st.session_state[WALK_OPEN.key] = True
        _put(RAY, event.ray)


def _put(knobs: tuple[Knob, ...], values: Any) -> None:
    for knob, value in zip(knobs, values, strict=True):
        inside = min(max(round(float(value)), knob.low), knob.high)
        st.session_state[knob.key] = float(inside)  # boxes hold floats
