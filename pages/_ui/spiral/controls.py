"""Spiral's state in the address, and the point and the line that are chosen on a map."""

from __future__ import annotations

from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple

import streamlit as st

from gbuq_core.experiments.spiral.data import EXTENT
from gbuq_core.experiments.spiral.plan import METHODS, PAPER, SpiralSettings
from gbuq_core.glossary import UNCERTAINTY_KINDS
from gbuq_core.knobs import Knob
from gbuq_core.settings import knobs_of, to_values
from pages._ui.canvas import CanvasEvent
from pages._ui.knobs import Preset
from pages._ui.live import COLOURS, EVERY, FOCUS, map_knob, names_of_kinds
from pages._ui.present import Step
from pages._ui.surface import SURFACE
from pages._ui.url_state import PageState


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

# All are open in a link, as they were before they could fold.
POINT_OPEN = Knob("one_point", "One point", "switch", True, group="page")
WALK_OPEN = Knob("walk", "A walk out of the data", "switch", True, group="page")
CYCLES_OPEN = Knob(
    "first_cycles", "How much knowledge uncertainty comes from the first cycles", "switch", True,
    group="page",
)  # fmt: skip
COMPUTE_OPEN = Knob("compute", "What compute buys", "switch", True, group="page")
_SECTIONS = (POINT_OPEN, WALK_OPEN, CYCLES_OPEN, COMPUTE_OPEN)
_LOOKS = (*POINT, *RAY, ALONG, *SURFACE, *_SECTIONS)
MAP = map_knob(
    (
        "True density",
        "Density of class 1",
        *names_of_kinds(method.label for method in METHODS.values()),
    )
)


STATE = PageState(
    key="spiral",
    knobs=(*knobs_of(SpiralSettings), COLOURS, FOCUS, EVERY, MAP, *_LOOKS),
    presets=(
        Preset(
            "Paper settings",
            to_values(PAPER),
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
