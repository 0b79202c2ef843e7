"""The way from a page to its lesson."""

from __future__ import annotations

import streamlit as st

from pages._ui.site_map import LESSONS, PAGES, has_lesson


def offer_lesson(url_path: str) -> None:
    """Link to the lesson of a page that has one; call it after the page has run."""
    for entry in PAGES:
        if entry.url_path == url_path and has_lesson(entry):
            st.page_link(
                LESSONS.path,
                label=f"Lesson: {entry.title}, step by step",
                icon=":material/school:",
                query_params={"lesson": entry.title},
            )
