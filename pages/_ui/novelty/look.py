"""Novelty's closer look at one place and its trees."""

from __future__ import annotations

import streamlit as st

from gbuq_core.experiments.novelty.experiment import place_section
from gbuq_core.experiments.novelty.fit import NoveltyRun
from gbuq_core.experiments.novelty.picture import share_figure, tree_sheet
from gbuq_core.experiments.novelty.scores import describe_place
from gbuq_core.knobs import find_knob
from pages._ui.canvas import canvas
from pages._ui.controls import draw_knob
from pages._ui.novelty.controls import STATE
from pages._ui.sections import draw_section

_BOX_WIDTH = 170  # pixels of a number box


def draw_place(run: NoveltyRun) -> None:
    """Why the chosen place is new: its numbers, its features, its trees."""
    look, names = run.look, run.fit.data.feature_names
    st.subheader(f"At {look.title}: what makes it new")
    left, right = st.columns([0.42, 0.58], gap="large")
    with left:
        with st.container(horizontal=True, key="novelty-place"):
            for key in ("column", "row"):
                with st.container(width=_BOX_WIDTH):
                    draw_knob(find_knob(STATE.knobs, key))
        draw_section(place_section(run.fit, look), "place")
    with right:
        each = zip(names, look.shares, strict=True)
        words = ", ".join(f"{name} {100 * share:.0f} %" for name, share in each)
        st.markdown("**Which features its distance comes from**")
        st.vega_lite_chart(
            share_figure(names, look.shares),
            key="novelty-shares",
            alt=f"Shares of the squared distance: {words}.",
        )
        canvas(tree_sheet(look), key="novelty-trees")
    st.text(describe_place(run.fit, look), width="stretch")
