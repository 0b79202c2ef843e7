"""Where the program departs from a paper: a part of docs/departures.md."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import streamlit as st

_FILE = Path(__file__).resolve().parents[2] / "docs" / "departures.md"
_INTRODUCTION = (
    "**Where gbuq departs from the paper**, why, what that changes, and the setting that restores "
    "the paper (from `docs/departures.md`):"
)


@cache
def read_departures() -> dict[str, str]:
    """The table of each heading, as Markdown.

    >>> "MACAU" in read_departures()
    True
    """
    parts = _FILE.read_text(encoding="utf-8").split("\n## ")[1:]
    found = (part.partition("\n") for part in parts)
    return {heading.partition(" (")[0]: text.strip() for heading, _, text in found}


def show_departures(*headings: str) -> None:
    """The departures under these headings of the file."""
    st.markdown(_INTRODUCTION)
    with st.container(key="table-departures"):
        for heading in headings:
            st.markdown(read_departures()[heading])
