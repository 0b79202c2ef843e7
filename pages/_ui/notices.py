"""Sentences beside a picture. Foreign text is shown by `st.text`, which parses nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import streamlit as st

Tone = Literal["note", "error"]


def show_notice(sentences: Sequence[str] | str, key: str, tone: Tone = "note") -> None:
    """Show plain sentences in a quiet box; nothing in them is read as Markdown or HTML."""
    lines = [sentences] if isinstance(sentences, str) else list(sentences)
    with st.container(key=f"{tone}-{key}", border=True, gap=None):
        for line in lines:
            st.text(line, width="stretch")
