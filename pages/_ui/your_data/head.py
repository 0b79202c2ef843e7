"""Before a table: a place to drop it and three samples. After it: a chip, and what is advised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gbuq_core.presentation import one_line
from gbuq_core.tables import ScaleAdvice, Schema, SplitQuestion
from gbuq_core.tables.suspecting import advise_time
from pages._ui.controls import draw_knob
from pages._ui.notices import show_notice
from pages._ui.url_state import ControlPlaces, PageState, change_next, open_page
from pages._ui.your_data.fitted import open_dropped
from pages._ui.your_data.lens import plain
from pages._ui.your_data.source import (
    STAYS,
    Opened,
    delete_data,
    drop_model,
    drop_query,
    drop_table,
    has_own_data,
)
from pages._ui.your_data.state import (
    ANY_ROW,
    BUILTIN,
    SCALE,
    SPLIT,
    TABLE,
    UPLOADED,
    open_next,
    page_state,
)

HEAD = ("target",)
_SAMPLES = {
    "diabetes": "how far will it progress?",
    "wine": "which grape is it?",
    "breast cancer": "is the tumour malignant?",
}


def draw_start(choice: str) -> None:
    """A large place to drop a table, and three samples."""
    page = page_state((), "", ANY_ROW)
    values = open_page(page, places=ControlPlaces(st.container(), (), None))
    if values.table != choice:
        st.rerun()
    with st.container(key="first-drop"):
        drop_table(open_dropped, meaning=None)
        st.caption(STAYS)
    st.text("Or try a sample:")
    with st.container(horizontal=True, key="samples"):
        for name in BUILTIN:
            label = f"**{name.capitalize()}:** {_SAMPLES[name]}"
            st.button(label, key=f"sample-{name}", on_click=open_next, args=(name,))
        drop_query()
    _draw_delete()


def draw_chip(name: str, opened: Opened | None, place: DeltaGenerator) -> None:
    """The name of what is open, a table or else a model, which opens into ways to another one."""
    with place, st.popover(plain(one_line(name)), icon=":material/table:", key="open-table"):
        if opened is not None and opened.about:
            st.caption(opened.about)
        drop_table(open_dropped)
        own = (UPLOADED,) if has_own_data() or opened is None or opened.is_upload else ()
        draw_knob(replace(TABLE, label="Or a sample", choices=(*BUILTIN, *own)))
        drop_query()
        st.divider()
        if opened is not None:
            drop_model()
        _draw_delete()


def draw_advice(
    page: PageState,
    values: SimpleNamespace,
    schema: Schema,
    scale: ScaleAdvice,
    questions: Sequence[SplitQuestion] = (),
    warned: Sequence[str] = (),
) -> None:
    """What to doubt, and each advice with a button that takes it, the ``questions`` first."""
    if warned:
        show_notice(warned, "warned")
    if values.split == SPLIT.default:
        labels = {"time": "by time", "group": "by group"}
        for question in questions:
            split = {"split": labels[question.split], "by_column": question.column}
            _advise(page, str(question), f"Split {labels[question.split]}", split)
        day = advise_time(schema, values.target)
        if day and "time" not in [question.split for question in questions]:
            _advise(page, day[1], "Split by time", {"split": "by time", "by_column": day[0]})
    if scale.offer and values.scale == SCALE.default:
        why = f"{scale.offer} On a log scale, errors count in proportion."
        _advise(page, why, "Use the log scale", {"scale": "log scale"})


def _advise(page: PageState, why: str, label: str, settings: dict[str, str]) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key=f"advise-{label}"):
        show_notice(why, f"advice-{label}")
        st.button(label, key=f"_{label}", on_click=change_next, args=(page,), kwargs=settings)


def _draw_delete() -> None:
    if has_own_data():
        st.button(
            "Delete my data",
            key="delete-data",
            type="tertiary",
            on_click=delete_data,
            help="Removes your files, and what was computed from them, from the memory of "
            "this server at once.",
        )
