"""Novelty's closer look at one place: its scores, its features, its trees."""

from __future__ import annotations

import streamlit as st

from gbuq_core.experiments.novelty.charts import share_figure, tree_sheet
from gbuq_core.experiments.novelty.fit import unit_of
from gbuq_core.experiments.novelty.words import describe_place
from gbuq_core.knobs import find_knob
from gbuq_core.presentation import digits, markdown_table, percent
from pages._ui.canvas import canvas
from pages._ui.controls import draw_knob
from pages._ui.novelty.controls import STATE
from pages._ui.novelty.picture import ShownMaps

_BOX_WIDTH = 170  # pixels of a number box


def draw_place(found: ShownMaps) -> None:
    """Why the chosen place is new: its numbers, its features, its trees."""
    look = found.look
    st.header(f"At {look.title}: what makes it new")
    left, right = st.columns([0.42, 0.58], gap="large")
    with left:
        with st.container(horizontal=True, key="novelty-place"):
            for key in ("column", "row"):
                with st.container(width=_BOX_WIDTH):
                    draw_knob(find_knob(STATE.knobs, key))
        with st.container(key="table-place"):
            st.markdown(markdown_table(place_rows(found)))
        st.caption(
            "Rank: the share of the map's cells, or of the training rows, with a lower score."
        )
    with right:
        shares = share_figure(found.run.fit.data.feature_names, look.shares)
        st.markdown("**Which features its distance comes from**")
        st.vega_lite_chart(shares, key="novelty-shares", alt=_share_words(found))
        canvas(tree_sheet(look), key="novelty-trees")
    st.text(describe_place(found.run.fit, look), width="stretch")


def place_rows(found: ShownMaps) -> list[tuple[str, ...]]:
    """Every score at the chosen place; first the headings."""
    head = ("Score", "Value", "Rank, cells", "Rank, rows")
    lines = [
        (
            _with_unit(one.label, unit_of(found.run.fit, one.key)),
            digits(one.value),
            percent(one.rank_cells / 100, 0),
            percent(one.rank_rows / 100, 0),
        )
        for one in found.look.values
    ]
    return [head, *lines]


def _with_unit(label: str, unit: str) -> str:
    """
    >>> _with_unit("Novelty", "z"), _with_unit("Isolation forest", "score")
    ('Novelty (z)', 'Isolation forest')
    """
    return label if unit == "score" else f"{label} ({unit})"


def _share_words(found: ShownMaps) -> str:
    parts = [
        f"{name} {100 * share:.0f} %"
        for name, share in zip(found.run.fit.data.feature_names, found.look.shares, strict=True)
    ]
    return f"Shares of the squared distance: {', '.join(parts)}."
