"""The row under a picture: copy the code, copy the link, download the data and the page.

Files are made when their button is pressed, not on each rerun. What a page offers is a
`Download`; a CSV must come from the core's export, which keeps cells from being run as formulae.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import streamlit as st

from gbuq_core.figures.theme import PictureFormat

_PICTURE_KEY = "_picture_format"


class Download(NamedTuple):
    """One file: what its button says, what it is called, how its bytes are made."""

    label: str
    file_name: str
    mime: str
    make: Callable[[], str | bytes]


def show_exports(
    key: str,
    python: str,
    link: str,
    downloads: Sequence[Download] = (),
    plotly_picture: bool = False,
) -> None:
    """Draw the row.

    Parameters
    ----------
    key : str
        Unique on the page.
    python : str
        Code that computes the same numbers with the library's public names.
    link : str
        The address that restores the page (see `url_state.link_to`).
    downloads : sequence of Download
    plotly_picture : bool
        Whether the page has a plotly figure, whose camera button saves `picture_format`.
    """
    with st.container(horizontal=True, key=f"exports-{key}", gap="small"):
        with st.popover("Copy Python"):
            st.caption("Computes what the picture shows, without the app.")
            st.code(python, language="python")
        with st.popover("Copy link"):
            st.caption("Opens this page with these settings.")
            st.code(link or "?", language=None, wrap_lines=True)
        for download in downloads:
            st.download_button(
                download.label,
                data=download.make,
                file_name=download.file_name,
                mime=download.mime,
                key=f"_download:{key}:{download.file_name}",
                on_click="ignore",
            )
        if plotly_picture:
            with st.popover("Picture"):
                st.caption("The camera button at the figure's upper right saves it as")
                st.segmented_control(
                    "Format",
                    ("svg", "png"),
                    default="svg",
                    required=True,
                    format_func=str.upper,
                    key=_PICTURE_KEY,
                    label_visibility="collapsed",
                    persist_state="session",
                )


def picture_format() -> PictureFormat:
    """What the camera button of plotly figures saves: the reader's choice, SVG at first."""
    return "png" if st.session_state.get(_PICTURE_KEY) == "png" else "svg"


def is_dark() -> bool:
    """Whether the reader's page is dark, as far as the browser has said."""
    return st.context.theme.type == "dark"
