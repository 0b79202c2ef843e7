"""Cards that lead on: a picture of what opens, a title, a question, and one action.

The pictures are those of ``python -m benchmarks.pictures --thumbnails``.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import streamlit as st

from pages._ui.export import is_dark

PICTURES = Path(__file__).with_name("thumbnails")


class Card(NamedTuple):
    """Where a card leads, and what stands on it."""

    path: str  # of the page's file
    title: str
    words: str
    picture: str  # the page's address, which names its picture
    query: Mapping[str, str] = {}


def draw_cards(cards: Iterable[Card], key: str = "cards") -> None:
    """The cards in as many columns as the page is wide; all of a card is its link."""
    with st.container(horizontal=True, key=key):
        for card in cards:
            with st.container(border=True, gap=None, key=f"card-{card.picture}"):
                st.html(f'<img alt="" src="{_source(card.picture, is_dark())}">')
                st.page_link(card.path, label=f"**{card.title}**", query_params=card.query)
                st.text(card.words)


@cache
def _source(name: str, dark: bool) -> str:
    """A stored picture as an address that needs no server."""
    data = (PICTURES / f"{name}-{'dark' if dark else 'light'}.webp").read_bytes()
    return f"data:image/webp;base64,{b64encode(data).decode()}"
