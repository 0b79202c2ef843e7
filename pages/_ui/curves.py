"""The curve component: a `Curves` figure in a page; it stays in place while its numbers change."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import streamlit as st

from gbuq_core.figures.curves import Curves, curves_source, curves_styles, pack_curves

_MOUNT = st.components.v2.component(
    "gbuq_curves", css=curves_styles(), js=curves_source(), isolate_styles=True
)


Placed = tuple[tuple[float, float], ...]  # the points after a click


def show_curves(
    figure: Curves,
    key: str,
    on_pick: Callable[[int], None] | None = None,
    on_place: Callable[[Placed], None] | None = None,
) -> None:
    """Draw a figure.

    Parameters
    ----------
    figure : Curves
    key : str
        Keeps the figure in place over reruns; unique on the page.
    on_pick : callable, optional
        Called before the page runs with the name of the dot that was clicked, or with the position
        of the x where there are no dots; never with one that is not in this figure.
    on_place : callable, optional
        Called before the page runs with all points after a click into a figure in which points
        are placed: clicks may come faster than the page runs, and the last one counts.
    """
    data = pack_curves(figure.spec)
    if on_place is not None:

        def placed() -> None:
            state = st.session_state.get(key)
            points = read_place(state.get("pick") if isinstance(state, dict) else None)
            if points is not None:
                on_place(points)

        _MOUNT(key=key, data=data, on_pick_change=placed)
        return
    if on_pick is None:
        _MOUNT(key=key, data=data)
        return
    read = figure.spec["read"]
    names = frozenset(read.get("names", range(len(read["x"]))))

    def picked() -> None:
        state = st.session_state.get(key)
        name = read_pick(state.get("pick") if isinstance(state, dict) else None, names)
        if name is not None:
            on_pick(name)

    _MOUNT(key=key, data=data, on_pick_change=picked)


def read_pick(message: Any, names: frozenset[int]) -> int | None:
    """The name of a dot that a browser sent, or None: the browser is the user's."""
    if isinstance(message, bool) or not isinstance(message, int | float):
        return None
    return int(message) if message in names else None


def read_place(message: Any) -> Placed | None:
    """The points that a browser sent, or None if they are none: the browser is the user's.

    >>> read_place({"x": [0, 1], "y": [0.5, -1]}), read_place({"x": [0], "y": ["1"]})
    (((0.0, 0.5), (1.0, -1.0)), None)
    """
    if not isinstance(message, dict):
        return None
    x, y = message.get("x"), message.get("y")
    if not isinstance(x, list) or not isinstance(y, list) or len(x) != len(y):
        return None
    for value in (*x, *y):
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        if not math.isfinite(value):
            return None
    return tuple((float(a), float(b)) for a, b in zip(x, y, strict=True))
