"""Where the model fails: groups of rows in words, and a button that lists each one's rows."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import streamlit as st

from gbuq_core.errors import InvalidData
from gbuq_core.figures.standalone import Section
from gbuq_core.presentation import digits, percent
from gbuq_core.tables import Cohort, Failures, ScoredTable, find_failures, why_no_coverage
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
MISSED = "missed intervals"
_NAMES = {"errors": "error", MISSED: "misses", "knowledge": "knowledge"}


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
        found = _failures(digest, _NAMES[values.by], scored)
    except InvalidData as error:
        st.text(str(error))
        return
    interval = "" if missing else name_interval(scored)
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


def fails_sections(scored: ScoredTable, values: SimpleNamespace, unit: str) -> list[Section]:
    """The same for the report."""
    heading, missing = "Where does it fail?", why_no_coverage(scored)
    if missing and values.by == MISSED:
        return [Section(heading=heading, text=missing)]
    try:
        found = find_failures(scored, _NAMES[values.by])
    except InvalidData as error:
        return [Section(heading=heading, text=str(error))]
    interval = "" if missing else name_interval(scored)
    cohorts = [describe_cohort(cohort, found, unit, interval) for cohort in found.cohorts]
    every = describe_failures(found, unit, interval)
    return [Section(heading=heading, text=[*filter(None, [missing]), every, *cohorts])]


def describe_failures(found: Failures, unit: str, interval: str) -> str:
    """All judging rows together. Plain text.

    ``interval`` names the intervals whose misses are told; without a name, none are.
    """
    every = found.everything
    rows = f"{found.n_looking:,} rows looked for groups and {every.n_rows:,} others judge them"
    if not found.cohorts:
        return f"{rows}. No group was found: there is no column to tell rows apart by."
    return f"{rows}. All of these: {_numbers(every, found, unit, interval)}."


def describe_cohort(cohort: Cohort, found: Failures, unit: str, interval: str) -> str:
    """One group in words. Plain text that holds the user's words."""
    numbers = _numbers(cohort, found, unit, interval)
    told = f"{cohort.text}: {percent(cohort.share, 0)} of the rows, {numbers}."
    return told if cohort.stands_out else f"{told} Not told apart from the other rows."


def _numbers(cohort: Cohort, found: Failures, unit: str, interval: str) -> str:
    if np.isnan(cohort.misses):
        parts = [f"{percent(cohort.error)} of the classes are wrong"]
    else:
        parts = [f"error {digits(cohort.error)}"]
        if interval:
            low, high = (percent(share, 0) for share in cohort.misses_band)
            misses = percent(cohort.misses, 0)
            parts.append(f"{misses} outside the {interval} ({low} to {high})")
    if found.measure == "knowledge":
        mean = float(np.sqrt(cohort.knowledge)) if unit.startswith("std") else cohort.knowledge
        parts.append(f"knowledge uncertainty {digits(mean)}")
    return ", ".join(parts)


def _list_rows(text: str) -> None:
    st.session_state["find"] = text
    st.session_state[SECTION.key] = ROWS


@st.cache_resource(max_entries=_CACHED, show_spinner=False, scope="session")
def _failures(digest: str, measure: str, _scored: ScoredTable) -> Failures:
    return find_failures(_scored, measure)
