"""The open section: it answers to its own controls without the rest of the page."""

from __future__ import annotations

import time
from types import SimpleNamespace

import streamlit as st

from gbuq_core.lenses.lens import GOOD
from gbuq_core.lenses.pictures import in_unit
from pages._ui.jobs_glue import Answer
from pages._ui.url_state import PageState, link_to, read_again
from pages._ui.your_data.cohorts import bind_cohorts, draw_cohorts, draw_keep
from pages._ui.your_data.drift import draw_drift
from pages._ui.your_data.export import export_table
from pages._ui.your_data.failing import draw_failing
from pages._ui.your_data.lens import draw_lenses, lens_files
from pages._ui.your_data.marks import draw_mark, marks_of
from pages._ui.your_data.methods import comparison_downloads, draw_methods
from pages._ui.your_data.results import draw_row_map, draw_scorecard, draw_scores
from pages._ui.your_data.row import draw_row
from pages._ui.your_data.rows import choose_rows, draw_list, draw_list_controls
from pages._ui.your_data.sections import METHODS, ROWS, choose_section
from pages._ui.your_data.training import View, measured_line

# Lenses that are more than sections.
_PARTS = {"failing": draw_failing, "cohorts": draw_cohorts, "drift": draw_drift}
_DRAWN = "_data_drawn"  # the digest of the view whose picture was sent last
_HEAD_START = 0.1  # seconds


@st.fragment
def explore(page: PageState, values: SimpleNamespace, answer: Answer, view: View) -> None:
    """Draw the open section of a scored table, then the downloads.

    The controls in the sidebar run the whole page; those in here run this alone.
    """
    choose_section()
    bind_cohorts()
    values = read_again(page, values)
    trained = answer.result
    if values.section == ROWS:
        _draw_rows(page, values, answer, view)
    elif values.section == METHODS:
        draw_methods(page, values, answer, view)
    else:
        if values.section == GOOD:
            draw_scorecard(view.scored, measured_line(answer, view))
        draw_lenses(values.section, page, values, trained, view, parts=_PARTS)
    more = comparison_downloads(values, answer, view)
    more += lens_files(values, trained, view)
    export_table(trained, view, values, link_to(page, values), more)


def _draw_rows(page: PageState, values: SimpleNamespace, answer: Answer, view: View) -> None:
    """The map of the rows, the scores, the list and the open row."""
    scored, digest = view
    shown, marks = in_unit(scored, values.unit), marks_of(answer.result)
    picture, judged = st.columns([0.54, 0.46], gap="large")
    at, controls = st.container(), st.container()
    with controls:
        listed = choose_rows(scored, shown, marks, values.find, values.rank, values.least)
    row = int((*listed.positions, 0)[0])
    if values.row in scored.scored.row_numbers:
        row = scored.scored.find_row(values.row)
    with picture:  # before all else, so that it is the first to be seen
        asked = bool(values.find) and len(listed.positions) > 0
        draw_row_map(scored, shown, row, listed.positions if asked else None)
    with judged:
        draw_scores(scored, digest, values.conformal)
    _let_it_be_drawn(digest)
    with at:
        draw_scorecard(scored, measured_line(answer, view))
    with controls:
        draw_list_controls(page)
        draw_keep(values.find, "found")
    draw_list(scored, shown, marks, listed, row, digest)
    draw_mark(answer.result, row)
    draw_row(page, values, answer.result, view, shown, row)


def _let_it_be_drawn(digest: str) -> None:
    """Leave the browser time for a new picture before the list and the row follow.

    What arrives together is drawn together, and the list with the charts of a row takes it several
    times as long as the picture. A control that is moved meanwhile ends this run: Streamlit looks
    for that whenever the state is read.
    """
    if st.session_state.get(_DRAWN) == digest:
        return
    st.session_state[_DRAWN] = digest
    until = time.monotonic() + _HEAD_START
    while time.monotonic() < until and st.session_state[_DRAWN] == digest:
        time.sleep(0.01)
