"""Novelty's closer look at one place: its scores, its features, its trees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from gbuq_core.experiments.novelty.words import describe_place
from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.figures.novelty.charts import share_figure, tree_sheet
from pages._ui.canvas import canvas
from pages._ui.controls import draw_knob
from pages._ui.neighbours.words import digits
from pages._ui.novelty.controls import PLACE
from pages._ui.novelty.picture import Found

_BOX_WIDTH = 170  # pixels of a number box


def draw_place(found: Found) -> None:
    """Why the chosen place is new: its numbers, its features, its trees."""
    look = found.look
    st.header(f"At {look.title}: what makes it new")
    left, right = st.columns([0.42, 0.58], gap="large")
    with left:
        with st.container(horizontal=True, key="novelty-place"):
            for knob in PLACE:
                with st.container(width=_BOX_WIDTH):
                    draw_knob(knob)
        with st.container(key="table-place"):
            st.markdown(table_of(place_rows(found)))
        st.caption("Ranks: the share of the map's cells, and of the training rows, with less.")
    with right:
        names = found.fit.data.feature_names
        shares = share_figure(names, look.shares)
        st.markdown("**Which feature its distance comes from**")
        st.vega_lite_chart(shares, key="novelty-shares", alt=_share_words(found))
        canvas(trees_of(found), key="novelty-trees")
    st.text(describe_place(found.fit, look), width="stretch")


def trees_of(found: Found) -> PanelSheet:
    """What every tree says about the chosen place."""
    z = found.look.z
    text = (
        f"{len(z)} trees give this place z-scores from {digits(float(z.min()))} to "
        f"{digits(float(z.max()))}, {digits(float(z.mean()))} on average."
    )
    return tree_sheet(z, alt=text)


def place_rows(found: Found) -> list[tuple[str, ...]]:
    """Every score at the chosen place; first the headings."""
    head = ("Score", "Value", "Rank, cells", "Rank, rows")
    lines = [
        (one.label, digits(one.value), _percent(one.rank_cells), _percent(one.rank_rows))
        for one in found.look.values
    ]
    return [head, *lines]


def table_of(rows: Sequence[tuple[str, ...]]) -> str:
    """A Markdown table of our own words and numbers."""
    escaped = (tuple(text.replace("|", "\\|") for text in row) for row in rows)
    head, *body = ("| " + " | ".join(row) + " |" for row in escaped)
    return "\n".join([head, "|:--|" + "--:|" * (len(rows[0]) - 1), *body])


def _percent(rank: float) -> str:
    return "\u2013" if np.isnan(rank) else f"{rank:.0f} %"


def _share_words(found: Found) -> str:
    parts = [
        f"{name} {100 * share:.0f} %"
        for name, share in zip(found.fit.data.feature_names, found.look.shares, strict=True)
    ]
    return f"Shares of the squared distance: {', '.join(parts)}."
