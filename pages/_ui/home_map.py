"""Home's lower half: where to go from here, and which method gives which uncertainty where."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from pages._ui.site_map import HOME, PAGES

_PER_ROW = 4


class MethodRow(NamedTuple):
    """What one family of methods gives for each task, and the pages that show it."""

    method: str
    regression: str
    classification: str
    pages: str


ALL_THREE = "total, data, knowledge"
METHODS = (MethodRow("Ensemble of SGB or SGLB models", ALL_THREE, ALL_THREE, "Home"),)


def show_pages() -> None:
    """Links to every other page with the question it answers."""
    others = [entry for entry in PAGES if entry is not HOME]
    for start in range(0, len(others), _PER_ROW):
        columns = st.columns(_PER_ROW, gap="large")
        for column, entry in zip(columns, others[start : start + _PER_ROW], strict=False):
            with column:
                st.page_link(entry.path, label=f"**{entry.title}**")
                st.caption(entry.question)


def show_methods() -> None:
    """The table of methods and tasks."""
    st.header("Which method gives what")
    lines = ["| Method | Regression | Classification | Page |", "|:--|:--|:--|:--|"]
    lines += ["| " + " | ".join(row) + " |" for row in METHODS]
    with st.container(key="methods"):
        st.markdown("\n".join(lines))
    st.caption(
        "Regression uncertainties are variances, in squared units of the target, shown as standard "
        "deviations on request; classification uncertainties are entropies, in nats. A single "
        "boosted model gives no knowledge uncertainty: its total is its data uncertainty."
    )
