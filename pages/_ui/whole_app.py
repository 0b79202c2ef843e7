"""Make sure that a page runs inside the app, whichever page is opened first.

Streamlit takes a folder called ``pages`` for its older kind of app until app.py has run once: the
first visitor of a fresh server who opens a link to a page would get that page alone.
"""

from __future__ import annotations

import streamlit as st
from streamlit.runtime.pages_manager import PagesManager


def require_app() -> None:
    """Run again through app.py if Streamlit has started this page by itself."""
    if PagesManager.uses_pages_directory:
        PagesManager.uses_pages_directory = False
        st.rerun()
