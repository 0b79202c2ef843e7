"""Cohorts: groups of rows that the reader keeps under a name, and compares side by side."""

from __future__ import annotations

import streamlit as st

from gbuq_core.lenses.choices import COHORTS
from gbuq_core.tables import read_cohorts, write_cohorts
from gbuq_core.tables.cohorts import LONGEST_CONDITION, LONGEST_NAME, MOST_COHORTS, name_problem
from gbuq_core.tables.finding import names_marks
from pages._ui.controls import draw_knob
from pages._ui.your_data.lens import Drawing, draw_answer
from pages._ui.your_data.sections import ROWS, SECTION
from pages._ui.your_data.state import FIND

_ERROR, _CHOSEN = "_data_cohort_error", "_cohort"


def bind_cohorts() -> None:
    """Bind the kept cohorts to the address, by a box that the style sheet hides from everybody."""
    with st.container(key="cohorts-unseen"):
        draw_knob(COHORTS)


def draw_keep(condition: str, place: str) -> None:
    """The offer to keep the rows that meet a condition under a name."""
    if not condition.strip() or len(condition) > LONGEST_CONDITION or names_marks(condition):
        return
    with st.popover("Keep as a cohort", key=f"_keep_{place}"):
        st.text_input(
            "Name",
            key=_name_key(place),
            max_chars=LONGEST_NAME,
            help='Kept cohorts are compared in the section "Where it fails".',
        )
        st.button("Keep", key=f"_keep_now_{place}", on_click=_keep, args=(place, condition))
        if st.session_state.get(_ERROR, ("", ""))[0] == place:
            st.text(st.session_state[_ERROR][1])


def draw_cohorts(drawing: Drawing) -> None:
    """The kept cohorts side by side, and what can be done with one of them."""
    draw_answer(drawing)
    kept = read_cohorts(drawing.values.cohorts)
    with st.container(horizontal=True, vertical_alignment="bottom", key="cohort-controls"):
        st.selectbox("Cohort", list(kept), key=_CHOSEN, width=300)
        st.button("List its rows", key="_cohort_list", on_click=_list_rows)
        st.button("Remove it", key="_cohort_remove", on_click=_remove)


def _name_key(place: str) -> str:
    return f"_cohort_name_{place}"


def _keep(place: str, condition: str) -> None:
    """Keep a condition under the name that was typed: a button's callback."""
    name = " ".join((st.session_state.get(_name_key(place)) or "").split())
    kept = read_cohorts(st.session_state.get(COHORTS.key) or "")
    problem = name_problem(name)
    if not problem and name in kept:
        problem = "There is a cohort of this name: choose another one, or remove it first."
    if not problem and len(kept) >= MOST_COHORTS:
        problem = f"At most {MOST_COHORTS} cohorts are kept: remove one first."
    st.session_state[_ERROR] = (place, problem)
    if not problem:
        st.session_state[COHORTS.key] = write_cohorts({**kept, name: condition})
        st.session_state[_name_key(place)] = ""


def _list_rows() -> None:
    kept = read_cohorts(st.session_state.get(COHORTS.key) or "")
    condition = kept.get(st.session_state.get(_CHOSEN) or "")
    if condition is not None:
        st.session_state[FIND.key] = condition
        st.session_state[SECTION.key] = ROWS


def _remove() -> None:
    kept = read_cohorts(st.session_state.get(COHORTS.key) or "")
    kept.pop(st.session_state.get(_CHOSEN) or "", None)
    st.session_state[COHORTS.key] = write_cohorts(kept)
