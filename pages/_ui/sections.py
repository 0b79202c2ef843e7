"""One section of an exported page, drawn on the page in the same order."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import streamlit as st

from gbuq_core.experiments.experiment import Rows
from gbuq_core.figures.standalone import Section
from gbuq_core.presentation import markdown_table
from pages._ui.canvas import canvas
from pages._ui.curves import show_curves

Acts = Mapping[str, Mapping[str, Any]]  # by a figure's place: what is done in it, as it takes that


def draw_rows(rows: Rows, key: str, acts: Acts = MappingProxyType({})) -> None:
    """Sections with their headings and texts, side by side where they are in a row."""
    at = 0
    for row in rows:
        pair = row if isinstance(row, tuple) else (row,)
        places = st.columns(len(pair), gap="large") if len(pair) > 1 else [st.container()]
        for section, place in zip(pair, places, strict=True):
            with place:
                if section.heading:
                    st.subheader(section.heading)
                if section.text:
                    st.text(str(section.text), width="stretch")
                draw_section(section, f"{key}-{at}", **acts.get(f"{key}-{at}", {}))
            at += 1


def draw_section(section: Section, key: str, hint: str = "", **acts: Any) -> None:
    """Its figure, table and caption, below a heading of the page's; bold is what stands out."""
    if section.curves is not None:
        show_curves(section.curves, key=key, **acts)
    if section.sheet is not None:
        canvas(section.sheet, key=key, **acts)
    if hint:
        st.caption(hint)
    if section.table:
        with st.container(key=f"table-{key}"):
            st.markdown(
                markdown_table(
                    [
                        [
                            f"**{text}**" if (i, j) in section.shaded else text
                            for j, text in enumerate(row)
                        ]
                        for i, row in enumerate(section.table)
                    ]
                )
            )
    if section.caption:
        st.caption(section.caption)
