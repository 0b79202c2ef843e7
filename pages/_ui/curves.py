"""The curve component: a `Curves` figure in a page; it stays in place while its numbers change."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import streamlit as st

from gbuq_core.figures.curves import Curves, curves_source, curves_styles

_MOUNT = st.components.v2.component(
    "gbuq_curves", css=curves_styles(), js=curves_source(), isolate_styles=True
)


class Placed(NamedTuple):
    """A click where the reader places points: at (x, y), or on the point of this number."""

    x: float = 0.0
    y: float = 0.0
    point: int | None = None


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
        Called before the page runs with a click into a figure in which points are placed; never
        outside its axes, nor on a point that it does not have.
    """
    if on_place is not None:

        def placed() -> None:
            state = st.session_state.get(key)
            click = read_place(state.get("pick") if isinstance(state, dict) else None, figure)
            if click is not None:
                on_place(click)

        _MOUNT(key=key, data=figure.spec, on_pick_change=placed)
        return
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


def read_place(message: Any, figure: Curves) -> Placed | None:
    """The click that a browser sent into this figure, or None: the browser is the user's."""
    if not isinstance(message, dict):
        return None
    if "point" in message:
        point = read_pick(message["point"], frozenset(range(len(figure.spec["place"]["x"]))))
        return None if point is None else Placed(point=point)
    x, y = message.get("x"), message.get("y")
    for value, (low, high) in (
        (x, figure.spec["x"]["range"]),
        (y, figure.spec["panels"][0]["range"]),
    ):
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        if not (math.isfinite(value) and low <= value <= high):
            return None
    return Placed(float(x), float(y))
