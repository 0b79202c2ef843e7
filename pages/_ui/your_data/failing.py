"""The groups for which the model fails, as a table with bars; one's rows can be listed."""

from __future__ import annotations

import math

import pandas as pd
import streamlit as st

from gbuq_core.lenses.failing import describe_failures, describe_group, failure_units, groups_frame
from gbuq_core.tables import why_no_coverage
from gbuq_core.tables.finding import LONGEST_CONDITION
from pages._ui.your_data.lens import Drawing
from pages._ui.your_data.sections import ROWS, SECTION

_CHOSEN = "_failing_group"
_MOST_DECIMALS = 6


def draw_failing(drawing: Drawing) -> None:
    """A line a group with a bar for what was asked, and what can be done with one of them."""
    failures, names = drawing.answer, failure_units(drawing.seen)
    if missing := why_no_coverage(drawing.seen.scored):
        st.text(missing, width="stretch")
    st.text(describe_failures(failures, *names), width="stretch")
    if not failures.groups:
        return
    frame = groups_frame(failures, *names)
    bar = frame.columns[0]  # first, where a phone shows it
    st.dataframe(
        frame,
        hide_index=True,
        column_config={
            "Group": st.column_config.TextColumn("Group", width=390),
            "Rows": st.column_config.TextColumn("Rows", width=70),
            bar: st.column_config.ProgressColumn(
                bar,
                min_value=0.0,
                max_value=float(frame[bar].max()) or 1.0,
                width=120,
                format=_bar_format(frame[bar]),
            ),
        },
        key="failing-groups",
        alt=" ".join(describe_group(group, failures, *names) for group in failures.groups),
    )
    texts = [group.text for group in failures.groups]
    with st.container(horizontal=True, vertical_alignment="bottom", key="failing-controls"):
        chosen = st.selectbox("Group", texts, key=_CHOSEN, width=420)
        fits = len(chosen) <= LONGEST_CONDITION
        st.button(
            "List its rows",
            key="_failing_list",
            on_click=_list_rows,
            args=(chosen,),
            disabled=not fits,
            help=None if fits else 'Its conditions are too long for the box "Find rows".',
        )


def _bar_format(numbers: pd.Series) -> str:
    """As many decimals as the largest number needs for three significant digits."""
    largest = float(numbers.max())
    decimals = 2 - math.floor(math.log10(largest)) if largest > 0.0 else 0
    return f"%.{min(max(decimals, 0), _MOST_DECIMALS)}f"


def _list_rows(text: str) -> None:
    st.session_state["find"] = text
    st.session_state[SECTION.key] = ROWS
