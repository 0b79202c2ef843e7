"""The row under a picture: copy the code, download the data and the page.

Files are made when their button is pressed, not on each rerun. What a page offers is a
`Download`; a CSV must come from the core's export, which keeps cells from being run as formulae.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import streamlit as st

OFFERED = "_offered"  # session key: how each file of the page is made, by its name


class Download(NamedTuple):
    """One file: what its button says, what it is called, how its bytes are made."""

    label: str
    file_name: str
    mime: str
    make: Callable[[], str | bytes]


def show_exports(key: str, python: str, downloads: Sequence[Download] = ()) -> None:
    """Draw the row."""
    st.session_state[OFFERED] = {download.file_name: download.make for download in downloads}
    with st.container(horizontal=True, key=f"exports-{key}", gap="small"):
        with st.popover("Copy Python"):
            st.caption("Computes what the picture shows, without the app.")
            st.code(python, language="python")
        for download in downloads:
            st.download_button(
                download.label,
                data=download.make,
                file_name=download.file_name,
                mime=download.mime,
                key=f"_download:{key}:{download.file_name}",
                on_click="ignore",
            )


def is_dark() -> bool:
    """Whether the reader's page is dark, as far as the browser has said."""
    return st.context.theme.type == "dark"
