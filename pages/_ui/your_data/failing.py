"""Where the model fails: a table of groups with bars, and buttons that list or keep one's rows."""

from __future__ import annotations

import math
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import streamlit as st

from gbuq_core.errors import InvalidData
from gbuq_core.lenses.choices import MISSED
from gbuq_core.lenses.failing import (
    MEASURES,
    compare_cohort,
    describe_cohort,
    describe_failures,
)
from gbuq_core.presentation import digits, percent
from gbuq_core.tables import Failures, ScoredTable, find_failures, why_no_coverage
from gbuq_core.tables.cohorts import LONGEST_CONDITION
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
_CHOSEN = "_failing_group"
_MOST_DECIMALS = 6
_CACHED = 32


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
        if found.cohorts:
            _draw_groups(found, scored, unit, interval)


def _draw_groups(found: Failures, scored: ScoredTable, unit: str, interval: str) -> None:
    """A line a group with a bar for what was asked, and what can be done with one of them."""
    frame = groups_frame(found, unit, interval)
    bar = frame.columns[0]  # first, where a phone shows it
    st.dataframe(
        frame,
        hide_index=True,
        column_config={
            "Group": st.column_config.TextColumn("Group", width=390),
            "Rows": st.column_config.TextColumn("Rows", width=70),
            bar: st.column_config.ProgressColumn(
                bar, min_value=0.0, max_value=float(frame[bar].max()) or 1.0, width=120,
                format=_bar_format(frame[bar]),
            ),
        },
        key="failing-groups",
        alt=" ".join(describe_cohort(cohort, found, unit, interval) for cohort in found.cohorts),
    )  # fmt: skip
    texts = [cohort.text for cohort in found.cohorts]
    with st.container(horizontal=True, vertical_alignment="bottom", key="failing-controls"):
        chosen = st.selectbox("Group", texts, key=_CHOSEN, width=420)
        place = texts.index(chosen)
        fits = len(chosen) <= LONGEST_CONDITION
        st.button(
            "List its rows",
            key="_failing_list",
            on_click=_list_rows,
            args=(chosen,),
            disabled=not fits,
            help=None if fits else 'Its conditions are too long for the box "Find rows".',
        )
        draw_keep(chosen, f"group_{place}")


def groups_frame(found: Failures, unit: str, interval: str) -> pd.DataFrame:
    """A line a group, and one of all judging rows; the number that was asked for is the bar's."""
    cohorts = (*found.cohorts, found.everything)
    is_class = bool(np.isnan(found.everything.misses))
    is_std = unit.startswith("std") and not is_class
    error = [cohort.error for cohort in cohorts]
    misses = [cohort.misses for cohort in cohorts]
    knowledge = [np.sqrt(cohort.knowledge) if is_std else cohort.knowledge for cohort in cohorts]
    columns = {"error": ("Wrong (%)" if is_class else "RMSE", error, digits)}
    if is_class:
        columns["error"] = ("Wrong (%)", [100.0 * share for share in error], digits)
    elif interval:
        shares = [100.0 * share for share in misses]
        columns["misses"] = (f"Outside the {interval} (%)", shares, partial(digits, places=2))
    columns["knowledge"] = ("K, std" if is_std else "K", knowledge, digits)
    head, numbers, _ = columns.pop(found.measure)
    cells: dict[str, object] = {
        head: numbers,
        "Group": [*(cohort.text for cohort in found.cohorts), "all of them"],
        "Against the others": [
            *(compare_cohort(cohort, found.measure) for cohort in found.cohorts), ""
        ],
        "Rows": [f"{cohort.n_rows:,} ({percent(cohort.share, 0)})" for cohort in cohorts],
    }  # fmt: skip
    for name, values, write in columns.values():
        cells[name] = [write(value) for value in values]
    return pd.DataFrame(cells)


def _bar_format(numbers: pd.Series) -> str:
    """As many decimals as the largest number needs for three significant digits."""
    largest = float(numbers.max())
    decimals = 2 - math.floor(math.log10(largest)) if largest > 0.0 else 0
    return f"%.{min(max(decimals, 0), _MOST_DECIMALS)}f"


def _list_rows(text: str) -> None:
    st.session_state["find"] = text
    st.session_state[SECTION.key] = ROWS


@st.cache_resource(max_entries=_CACHED, show_spinner=False, scope="session")
def _failures(digest: str, measure: str, _scored: ScoredTable) -> Failures:
    return find_failures(_scored, measure)
