"""The curve component: a `Curves` figure in a page; it stays in place while its numbers change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

from gbuq_core.figures.curves import Curves, curves_source, curves_styles

_MOUNT = st.components.v2.component(
    "gbuq_curves", css=curves_styles(), js=curves_source(), isolate_styles=True
)


def show_curves(figure: Curves, key: str, on_pick: Callable[[int], None] | None = None) -> None:
    """Draw a figure.

    Parameters
    ----------
    figure : Curves
    key : str
        Keeps the figure in place over reruns; unique on the page.
    on_pick : callable, optional
        Called before the page runs with the name of the dot that was clicked, or with the position
        of the x where there are no dots; never with one that is not in this figure.
    """
    if on_pick is None:
        _MOUNT(key=key, data=figure.spec)
        return
    read = figure.spec["read"]
    names = frozenset(read.get("names", range(len(read["x"]))))

    def picked() -> None:
        state = st.session_state.get(key)
        name = read_pick(state.get("pick") if isinstance(state, dict) else None, names)
        if name is not None:
            on_pick(name)

    _MOUNT(key=key, data=figure.spec, on_pick_change=picked)


def read_pick(message: Any, names: frozenset[int]) -> int | None:
    """The name of a dot that a browser sent, or None: the browser is the user's."""
    if isinstance(message, bool) or not isinstance(message, int | float):
        return None
    return int(message) if message in names else None
