"""The open section: it answers to its own controls without the rest of the page."""

from __future__ import annotations

from types import SimpleNamespace

import streamlit as st

from gbuq_core.lenses.lens import GOOD, SECOND
from gbuq_core.lenses.pictures import in_unit
from pages._ui.controls import draw_knob
from pages._ui.jobs_glue import Answer
from pages._ui.skeleton import EXPORT
from pages._ui.url_state import PageState, read_again, run_page
from pages._ui.your_data.checks import draw_checks
from pages._ui.your_data.drift import draw_drift
from pages._ui.your_data.export import export_table
from pages._ui.your_data.failing import draw_failing
from pages._ui.your_data.lens import draw_lenses, lens_files
from pages._ui.your_data.methods import comparison_downloads, draw_methods
from pages._ui.your_data.results import draw_row_map, draw_scorecard, draw_scores, draw_verdict
from pages._ui.your_data.row import draw_row
from pages._ui.your_data.rows import choose_rows, draw_list, draw_list_controls
from pages._ui.your_data.sections import LENS, METHODS, ROWS, SECTION
from pages._ui.your_data.source import drop_second, second_was_changed
from pages._ui.your_data.training import View, measured_line

# Lenses that are more than sections.
_PARTS = {"failing": draw_failing, "drift": draw_drift}
_LOOK_WIDTH, _ROW_WIDTH = 240, 220  # pixels


@st.fragment
def explore(page: PageState, values: SimpleNamespace, answer: Answer, view: View) -> None:
    """Draw the open section of a scored table, then the downloads.

    The controls of the head and of the settings run the whole page; those in here run this alone.
    """
    if second_was_changed():
        run_page(page, values)
    with st.container(horizontal=True, vertical_alignment="bottom", key="look"):
        draw_verdict(*view)
        with st.container(width=_LOOK_WIDTH):
            draw_knob(SECTION)
    values = read_again(page, values)
    trained, section = answer.result, values.section
    if section == ROWS:
        _draw_rows(page, values, answer, view)
    elif section == METHODS:
        draw_methods(page, values, answer, view)
    else:
        if section == GOOD:
            draw_scorecard(view.scored, measured_line(answer, view))
            draw_scores(*view, values.conformal)
        if section == SECOND:
            drop_second()
            if view.scored.protocol == "new_file":
                draw_row_map(view.scored, in_unit(view.scored, values.unit), None, key="new-map")
        draw_lenses(section, page, values, trained, view, parts=_PARTS)
    with st.expander(EXPORT, key="fold-export"):
        more = comparison_downloads(values, answer, view)
        more += lens_files(values, trained, view)
        export_table(trained, view, values, more)


def _draw_rows(page: PageState, values: SimpleNamespace, answer: Answer, view: View) -> None:
    """The rows to check first, all rows with their map in a fold, and the open row."""
    scored, digest = view
    shown = in_unit(scored, values.unit)
    knobs = {knob.key: knob for knob in page.knobs}
    moved = [key for key in ("find", "rank", "least") if getattr(values, key) != knobs[key].default]
    is_open = bool(moved) or values.row > 0 or values.lens != LENS.default
    checks = st.container()
    all_rows = st.expander("All rows", expanded=bool(moved), key="fold-all-rows")
    with all_rows:
        listed = choose_rows(scored, shown, values.find, values.rank, values.least)
    row = int((*listed.positions, 0)[0])
    if values.row in scored.scored.row_numbers:
        row = scored.scored.find_row(values.row)
    ringed = row if is_open else None
    with checks:
        draw_checks(scored, digest, int(scored.scored.row_numbers[row]) if is_open else 0)
    with all_rows:
        asked = bool(values.find) and len(listed.positions) > 0
        draw_row_map(scored, shown, ringed, listed.positions if asked else None)
        with st.container(width=_ROW_WIDTH):
            draw_knob(knobs["row"])
        draw_list_controls(page)
        draw_list(scored, shown, listed, ringed, digest)
    if is_open:
        draw_row(page, values, answer.result, view, shown, row)
