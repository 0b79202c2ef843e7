"""Home's lower half: where to go from here, and which method gives which uncertainty where."""

from __future__ import annotations

from typing import NamedTuple

import streamlit as st

from gbuq_core.presentation import markdown_table
from pages._ui.site_map import HOME, PAGES

_LINK_WIDTH = 300  # pixels; links stand in a row on a desktop and in a column on a phone


class MethodRow(NamedTuple):
    """What one family of methods gives for each task, and the pages that show it."""

    method: str
    regression: str
    classification: str
    pages: str


ALL_THREE = "total, data, knowledge"
METHODS = (
    MethodRow(
        "Ensemble of SGB or SGLB models", ALL_THREE, ALL_THREE, "Home, Heart, Spiral, Your data"
    ),
    MethodRow(
        "Virtual ensemble of one SGLB model", ALL_THREE, ALL_THREE, "Heart, Spiral, Your data"
    ),
    MethodRow("One model in cycles (cSGLB, cbSGLB)", ALL_THREE, ALL_THREE, "Spiral, Your data"),
    MethodRow("CatBoost's own ensembles", ALL_THREE, ALL_THREE, "Heart, Spiral, Your data"),
    MethodRow(
        "Random forest in groups (vRF), or many forests", "knowledge", ALL_THREE, "Heart, Spiral"
    ),
    MethodRow(
        "Models in the leaves of a random forest (MACAU)",
        f"{ALL_THREE}; novelty",
        f"{ALL_THREE}; novelty",
        "Heteroscedastic, Novelty maps",
    ),
)


def show_pages() -> None:
    """Links to every other page with the question it answers."""
    st.header("Where next")
    with st.container(horizontal=True, gap="medium", key="pages"):
        for entry in PAGES:
            if entry is not HOME:
                with st.container(width=_LINK_WIDTH, gap=None):
                    st.page_link(entry.path, label=f"**{entry.title}**")
                    st.caption(entry.question)


def show_methods() -> None:
    """The table of methods and tasks."""
    st.header("Which method gives what")
    head = ("Method", "Regression", "Classification", "Page")
    with st.container(key="methods"):
        st.markdown(markdown_table([head, *METHODS], "l"))
    st.caption(
        "Regression uncertainties are variances, in squared units of the target, shown as standard "
        "deviations on request; classification uncertainties are entropies, in nats; MACAU's are "
        "variances of the class probability, and novelty is a z-score. A single boosted model "
        "gives no knowledge uncertainty: its total is its data uncertainty."
    )
