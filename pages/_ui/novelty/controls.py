"""Novelty's state in the address, and the columns of tables, which have knobs of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType, SimpleNamespace
from typing import Any

import streamlit as st

from gbuq_core.experiments.novelty.data import DATASETS, TABLES, TableChoice
from gbuq_core.experiments.novelty.plan import FIRST, MAP_LABELS, METHODS, NoveltySettings
from gbuq_core.figures.handles import LiveKnob, live_knob
from gbuq_core.knobs import Knob, find_knob
from gbuq_core.settings import from_values, knobs_of, sliders
from pages._ui.knobs import Preset
from pages._ui.live import EVERY, FOCUS, live_knobs, map_knob
from pages._ui.present import Step
from pages._ui.surface import SURFACE
from pages._ui.url_state import PageState

# Sliders whose maps follow while they are dragged.
FOLLOWED = (*sliders(NoveltySettings), "third_at", "neighbours", "drawn")


def _labels_of(*keys: str) -> tuple[str, ...]:
    """The words for maps."""
    words = {key: label for label, key in MAP_LABELS.items()}
    return tuple(words[key] for key in keys)


_OF_TABLE = ("data", (DATASETS["table"].label,))


def _columns_of(choice: TableChoice) -> tuple[Knob, ...]:
    """The two columns of a table that are the map's axes."""

    def is_chosen(values: Mapping[str, Any]) -> bool:
        return bool(values["table"] == choice.title)

    return tuple(
        Knob(
            f"{choice.key}_{axis}", f"Column {way}", "choice", default,
            choices=tuple(choice.columns),
            group="data", needs=_OF_TABLE, when=is_chosen, plain=True,
        )
        for axis, way, default in zip("xy", ("across", "upwards"), choice.default, strict=True)
    )  # fmt: skip


COLUMNS = {choice.key: _columns_of(choice) for choice in TABLES}


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


def bar_of(values: SimpleNamespace) -> tuple[LiveKnob, ...]:
    """The knobs above the maps."""
    show, log = (find_knob(STATE.knobs, key) for key in ("show", "log"))
    own = (show.choices.index("own values"),)
    return live_knob(show, values.show), live_knob(log, values.log, needs={"show": own})


def bar_knobs(values: SimpleNamespace) -> list[LiveKnob]:
    """The knobs of the picture's bar."""
    return live_knobs(STATE, values)


def settings_of(values: SimpleNamespace) -> NoveltySettings:
    """The settings for the knobs' values, with the columns of the chosen table."""
    settings = from_values(NoveltySettings, vars(values))
    x, y = (getattr(values, knob.key) for knob in COLUMNS[settings.table])
    return replace(settings, columns=(x, y))


def choose_cell(row: int, column: int) -> None:
    """Look at another cell, counted from 0: a callback of a picture, before the page runs."""
    st.session_state.update(column=float(column + 1), row=float(row + 1))
