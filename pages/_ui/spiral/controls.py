"""Spiral's state in the address, and the point and the line that are chosen on a map."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np
import streamlit as st

from gbuq_core.experiments.spiral.data import EXTENT, SIDE
from gbuq_core.experiments.spiral.experiment import (
    ALONG,
    CYCLES_OPEN,
    POINT,
    POINT_OPEN,
    RAY,
    WALK_OPEN,
)
from gbuq_core.experiments.spiral.fit import SpiralRun
from gbuq_core.experiments.spiral.picture import flagged
from gbuq_core.experiments.spiral.plan import FIRST, METHODS, PAPER, SpiralSettings
from gbuq_core.knobs import Knob
from gbuq_core.settings import knobs_of, to_values
from pages._ui.canvas import CanvasEvent
from pages._ui.knobs import Preset
from pages._ui.live import COLOURS, EVERY, FOCUS, map_knob, names_of_kinds
from pages._ui.present import Step
from pages._ui.surface import SURFACE
from pages._ui.url_state import PageState

_SECTIONS = (POINT_OPEN, WALK_OPEN, CYCLES_OPEN)
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
            "cycles of 200. This takes a while.",
            keeps=tuple(knob.key for knob in _LOOKS),
        ),
    ),
    opening=MappingProxyType(
        {
            "noise": FIRST.noise,
            "forest_depth": FIRST.forest_depth,
            **{knob.key: False for knob in _SECTIONS},
        }
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


def choose(event: CanvasEvent, n_cells: int = SIDE) -> None:
    """Set the point to the clicked cell, or the ray to the drawn line, before the page runs.

    The section about it opens.

    ``n_cells`` is the number of cells a side. For several cells the point is their middle.
    """
    cells = [event.clicked[1:]] if event.clicked is not None else event.dragged
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


def count_flags(run: SpiralRun) -> None:
    """A sentence on how many flagged cells lie outside the data, if any are flagged."""
    known = [maps for maps in run.methods if np.isfinite(maps.knowledge[-1]).all()]
    if not run.settings.flag or not known:
        return
    outside = ~run.truth.in_support
    shares = [
        f"{METHODS[maps.method].label} "
        f"{100 * outside[flagged(maps.knowledge[-1], run.settings.flag)].mean():.0f} %"
        for maps in known
    ]
    st.text(
        f"Flagged cells outside the data: {', '.join(shares)}. Chance would give "
        f"{100 * outside.mean():.0f} %, the share of the map that lies outside."
    )
