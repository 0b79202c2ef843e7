"""Sentences beside a picture. Foreign text is shown by `st.text`, which parses nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import streamlit as st

Tone = Literal["note", "error"]


def show_notice(sentences: Sequence[str] | str, key: str, tone: Tone = "note") -> None:
    """Show plain sentences in a quiet box; nothing in them is read as Markdown or HTML.

    Parameters
    ----------
    sentences : str or sequence of str
        One line each.
    key : str
        Unique on the page; the style sheet finds the box by ``st-key-<tone>-<key>``.
    tone : {"note", "error"}
        An error stands where a picture would be.
    """
    lines = [sentences] if isinstance(sentences, str) else list(sentences)
    with st.container(key=f"{tone}-{key}", border=True, gap=None):
        for line in lines:
            st.text(line, width="stretch")
