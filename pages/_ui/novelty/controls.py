"""Novelty's state in the address, and the columns of tables, which have knobs of their own."""

from __future__ import annotations

from types import MappingProxyType

import streamlit as st

from gbuq_core.experiments.novelty.data import DATASETS
from gbuq_core.experiments.novelty.experiment import COLUMNS
from gbuq_core.experiments.novelty.plan import FIRST, MAP_LABELS, METHODS, NoveltySettings
from gbuq_core.knobs import Knob
from gbuq_core.settings import knobs_of
from pages._ui.knobs import Preset
from pages._ui.live import EVERY, FOCUS, map_knob
from pages._ui.present import Step
from pages._ui.surface import SURFACE
from pages._ui.url_state import PageState


def _labels_of(*keys: str) -> tuple[str, ...]:
    """The words for maps."""
    words = {key: label for label, key in MAP_LABELS.items()}
    return tuple(words[key] for key in keys)


def _with_columns() -> tuple[Knob, ...]:
    """The knobs of the settings, the columns behind their tables."""
    own = knobs_of(NoveltySettings)
    at = 1 + [knob.key for knob in own].index("table")
    return (*own[:at], *(knob for knobs in COLUMNS.values() for knob in knobs), *own[at:])


MAP = map_knob(MAP_LABELS)

STATE = PageState(
    key="novelty",
    knobs=(*_with_columns(), FOCUS, EVERY, MAP, *SURFACE),
    presets=(
        Preset(
            "Third feature nobody uses",
            {
                "third": True,
                "third_at": 3.0,
                "show": "ranks among rows",
                "column": 27,  # among the rows
                "row": 36,
                "maps": _labels_of("truth", "novelty", "conditional"),
            },
            "All places are far out along an irrelevant feature. Novelty counts it; conditional "
            "novelty counts only the features on a leaf's path.",
        ),
        Preset(
            "Clipped tail",
            {
                "tail": "clipped, as the authors'",
                "show": "own values",
                "maps": _labels_of("truth", "novelty", "distance"),
            },
            "The authors' novelty stops rising just outside the rows.",
        ),
        Preset("A table", {"data": DATASETS["table"].label}, "Two columns of real rows."),
    ),
    picture=("novelty-maps",),
    story=(
        Step("Truth at the left, scores beside it. Which scores rise where rows are rare?"),
        Step(
            "Own values instead of ranks. How far does each score reach?",
            {"show": "own values", MAP.key: METHODS["knowledge"].label},
        ),
        Step(
            "An irrelevant feature is added. Whose map changes?",
            {"show": "ranks among cells", "third": True},
        ),
    ),
    opening=MappingProxyType(
        {"maps": _labels_of(*FIRST.maps), "column": FIRST.column, "row": FIRST.row}
    ),
)


def choose_cell(row: int, column: int) -> None:
    """Look at another cell, counted from 0: a callback of a picture, before the page runs."""
    st.session_state.update(column=float(column + 1), row=float(row + 1))
