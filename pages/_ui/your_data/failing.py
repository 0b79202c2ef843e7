"""Where the model fails: groups of rows in words, and a button that lists each one's rows."""

from __future__ import annotations

from types import SimpleNamespace

import streamlit as st

from gbuq_core.errors import InvalidData
from gbuq_core.reports.choices import MISSED
from gbuq_core.reports.failing import MEASURES, describe_cohort, describe_failures
from gbuq_core.tables import Failures, ScoredTable, find_failures, why_no_coverage
from gbuq_core.tables.intervals import name_interval
from pages._ui.controls import draw_knob
from pages._ui.url_state import PageState
from pages._ui.your_data.cohorts import draw_keep
from pages._ui.your_data.sections import ROWS, SECTION

MEANING = (
    "A shallow tree looks for groups of rows with large errors on one half of the rows that the "
    "models had not seen. The numbers are those of the other half, so a group that is there by "
    "chance shows no large error."
)
_CACHED = 32
_LONGEST_CONDITION = 200  # that the box "Find rows" takes


def draw_failing(
    page: PageState, values: SimpleNamespace, scored: ScoredTable, unit: str, digest: str
) -> None:
    """Groups of rows for which the model fails, from the worst to the best."""
    knobs = {knob.key: knob for knob in page.knobs}
    st.markdown("**Where does it fail?**", help=MEANING)
    missing = why_no_coverage(scored)
    if missing:
        st.text(missing, width="stretch")
    draw_knob(knobs["by"])
    if missing and values.by == MISSED:
        return
    try:
        found = _failures(digest, MEASURES[values.by], scored)
    except InvalidData as error:
        st.text(str(error))
        return
    interval = "" if missing else name_interval(scored)
    with st.container(key="failing"):
        st.text(describe_failures(found, unit, interval), width="stretch")
        for number, cohort in enumerate(found.cohorts):
            words, button, keep = st.columns([0.7, 0.12, 0.18], vertical_alignment="center")
            words.text(describe_cohort(cohort, found, unit, interval), width="stretch")
            if len(cohort.text) <= _LONGEST_CONDITION:
                button.button(
                    "List rows", key=f"_failing_{number}", on_click=_list_rows, args=(cohort.text,)
                )
                with keep:
                    draw_keep(cohort.text, f"group_{number}")


def _list_rows(text: str) -> None:
    st.session_state["find"] = text
    st.session_state[SECTION.key] = ROWS


@st.cache_resource(max_entries=_CACHED, show_spinner=False, scope="session")
def _failures(digest: str, measure: str, _scored: ScoredTable) -> Failures:
    return find_failures(_scored, measure)
