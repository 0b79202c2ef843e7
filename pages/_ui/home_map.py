"""Home's lower half: where to go from here, and which method gives which uncertainty where."""

from __future__ import annotations

import streamlit as st

from pages._ui.site_map import HOME, PAGES


def show_map() -> None:
    """Links to every other page with its question, then the table of methods."""
    others = [entry for entry in PAGES if entry is not HOME]
    if others:
        st.header("Pages")
        for column, entry in zip(st.columns(len(others), gap="large"), others, strict=True):
            with column:
                st.page_link(entry.path, label=f"**{entry.title}**")
                st.caption(entry.question)
