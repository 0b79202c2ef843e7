"""One section of an exported page, drawn on the page in the same order."""

from __future__ import annotations

import streamlit as st

from gbuq_core.figures.standalone import Section
from gbuq_core.presentation import markdown_table
from pages._ui.canvas import canvas
from pages._ui.curves import show_curves


def draw_section(section: Section, key: str) -> None:
    """Its figure, table and caption, below a heading of the page's; bold is what stands out."""
    if section.curves is not None:
        show_curves(section.curves, key=key)
    if section.sheet is not None:
        canvas(section.sheet, key=key)
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
