"""The rows to check first, each with why and what is predicted: a list that opens them."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from gbuq_core.figures import table
from gbuq_core.figures.sources import join_scripts, read_styles
from gbuq_core.lenses.report import check_heading
from gbuq_core.tables import ScoredTable
from gbuq_core.tables.checking import name_prediction, rows_to_check, say_prediction
from pages._ui.kept import remember

_KEY = "row-checks"
_HERE = Path(table.__file__).parent
_MOUNT = st.components.v2.component(
    "gbuq_checks",
    html='<p aria-hidden="true"><b>Row</b>Why<span>Predicted</span></p>'
    '<ol role="listbox" tabindex="0"></ol>',
    css=read_styles(_HERE / "checks.css"),
    js=join_scripts([_HERE / "checks.js"]),
)


def draw_checks(scored: ScoredTable, digest: str, opened: int) -> None:
    """The list; choosing a row opens it below. ``opened`` is the number of the open row, or 0."""
    lines = remember(digest, _lines, scored)
    heading = check_heading(len(scored.scored.X))

    def open_row() -> None:
        state = st.session_state.get(_KEY)
        number = state.get("row") if isinstance(state, dict) else None
        if number in [line[0] for line in lines]:  # the browser is the user's
            st.session_state["row"] = float(number)

    st.subheader(heading)
    with st.container(key="checks"):
        data = {"label": heading, "open": opened, "rows": lines}
        _MOUNT(key=_KEY, data=data, on_row_change=open_row)


def _lines(scored: ScoredTable) -> list[tuple[int, str, str, str]]:
    """Of each row its number, why it is to be checked, what is predicted, and what else is told."""
    lines = []
    for row, why, also in rows_to_check(scored):
        more = f"{also} {say_prediction(scored, row)}.".strip()
        number = int(scored.scored.row_numbers[row])
        lines.append((number, why, name_prediction(scored, row), more))
    return lines
