"""The curve component: a `Curves` figure in a page; it stays in place while its numbers change."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import streamlit as st

from gbuq_core.figures.curves import Curves, curves_source, curves_styles, pack_curves
from gbuq_core.figures.handles import LiveKnob, read_live_knobs

_MOUNT = st.components.v2.component(
    "gbuq_curves", css=curves_styles(), js=curves_source(), isolate_styles=True
)


@cache
def _mount_of(scripts: tuple[Path, ...]) -> Callable[..., Any]:
    """The component of figures that bring these scripts along."""
    if not scripts:
        return _MOUNT
    name = f"gbuq_curves_{scripts[-1].stem}"
    css, js = curves_styles(scripts), curves_source(scripts)
    return st.components.v2.component(name, css=css, js=js, isolate_styles=True)


class Turned(NamedTuple):
    """Where the reader left the sliders of a figure."""

    mean: int
    scale: int
    factor: bool


Placed = tuple[tuple[float, float], ...]  # the points after a click


Ends = tuple[int, int]  # the positions among a figure's x at which a stretch begins and ends


class Stretch(NamedTuple):
    """A stretch of the x axis that is dragged by a bar above it, or by an end of that bar."""

    width: float
    # `narrow`, `wide`: what its width may be
    narrow: float
    wide: float
    # `low`, `high`: it lies between these
    low: float
    high: float
    label: str  # below the bar


class Border(NamedTuple):
    """A border across the x axis, which is dragged anywhere along its line."""

    # `low`, `high`, `step`: it stands between these, at steps from the first
    low: float
    high: float
    step: float


class Carry(NamedTuple):
    """What the reader drags in a figure: the place that is looked at, or a point of their own."""

    seq: int  # the last message that was heard
    waits: bool  # whether its picture is still on its way
    # called before the page runs, while something is dragged, with the number of the message and
    # the position of the x, or both ends of a stretch, or all points
    heard: Callable[[int, Any], None]
    x: float | None = None  # the place that can be dragged; None where points are
    hint: str = ""  # said after the figure's own
    # whether the picture follows by itself: then nothing is heard before it is let go
    local: bool = False
    # What begins at `x`; without it `x` itself is dragged. A click does not move it.
    stretch: Stretch | None = None
    border: Border | None = None  # what `x` is instead, which no click moves either
    greets: bool = False  # whether the stretch moves once by itself, until somebody takes hold

    @property
    def spec(self) -> dict[str, Any]:
        """As carrying.js reads it."""
        stretch = None if self.stretch is None else self.stretch._asdict()
        border = None if self.border is None else self.border._asdict()
        own = {"x": self.x, "local": self.local, "stretch": stretch, "greets": self.greets}
        return {"seq": self.seq, "waits": self.waits, "border": border, **own}


def show_curves(
    figure: Curves,
    key: str,
    on_pick: Callable[[int], None] | None = None,
    on_place: Callable[[Placed], None] | None = None,
    on_turn: Callable[[Turned], None] | None = None,
    on_stretch: Callable[[Ends], None] | None = None,
    carry: Carry | None = None,
) -> None:
    """Draw a figure. Where a knob of its bar is let go, the page takes its value over."""
    mount = _mount_of(figure.scripts)
    more: dict[str, Any] = {}
    if carry is not None:
        more = {"carry": carry.spec, "hint": f"{figure.spec['hint']}{carry.hint}"}
    data = pack_curves({**figure.spec, **more})
    read: Callable[[Any], Any] = _nothing
    tell: Callable[[Any], None] | None = None
    if on_turn is not None:
        trees = frozenset(figure.spec["dials"]["trees"])
        read, tell = partial(read_turn, trees=trees), on_turn
    elif on_place is not None:
        read, tell = read_place, on_place
    elif on_stretch is not None:
        read, tell = partial(read_stretch, count=len(figure.spec["read"]["x"])), on_stretch
    elif on_pick is not None:
        spots = figure.spec["read"]
        names = frozenset(spots.get("names", range(len(spots["x"]))))
        read, tell = partial(read_pick, names=names), on_pick
    if tell is None and not figure.knobs:
        mount(key=key, data=data)
        return

    def hear() -> None:
        state = st.session_state.get(key)
        message = state.get("pick") if isinstance(state, dict) else None
        if isinstance(message, dict) and "knobs" in message:
            _take_knobs(message["knobs"], figure.knobs)
        elif not _carried(message, carry, read):
            event = read(message)
            if event is not None and tell is not None:
                tell(event)

    mount(key=key, data=data, on_pick_change=hear)


def _nothing(message: Any) -> None:
    """What a figure can say in which nothing can be clicked."""


def _take_knobs(message: Any, knobs: Sequence[LiveKnob]) -> None:
    """Give the page's knobs the values that the bar of its picture has."""
    for name, value in (read_live_knobs(message, knobs) or {}).items():
        st.session_state[name] = value


def _carried(message: Any, carry: Carry | None, read: Callable[[Any], Any]) -> bool:
    """Tell of what is being dragged; whether the message was of that."""
    if carry is None or not isinstance(message, dict) or "carry" not in message:
        return False
    seq, place = read_pick(message.get("seq"), range(2**53)), read(message["carry"])
    if seq is not None and place is not None:
        carry.heard(seq, place)
    return True


def read_pick(message: Any, names: Container[int]) -> int | None:
    """The name of a dot that a browser sent, or None: the browser is the user's."""
    if isinstance(message, bool) or not isinstance(message, int | float):
        return None
    return int(message) if message in names else None


def read_stretch(message: Any, count: int) -> Ends | None:
    """The ends of a stretch that a browser sent, or None: the browser is the user's.

    >>> read_stretch([3, 8.0], 10), read_stretch([8, 3], 10), read_stretch([3, 10], 10)
    ((3, 8), None, None)
    """
    if not isinstance(message, list) or len(message) != 2:
        return None
    first, last = (read_pick(end, range(count)) for end in message)
    return None if first is None or last is None or first >= last else (first, last)


def read_turn(message: Any, trees: frozenset[int]) -> Turned | None:
    """Where a browser says its sliders are, or None if nowhere: the browser is the user's.

    >>> read_turn({"mean": 5, "scale": 9.0, "factor": True}, frozenset((5, 9)))
    Turned(mean=5, scale=9, factor=True)
    >>> read_turn({"mean": 7, "scale": 9, "factor": True}, frozenset((5, 9)))
    """
    if not isinstance(message, dict) or not isinstance(message.get("factor"), bool):
        return None
    mean, scale = (read_pick(message.get(name), trees) for name in ("mean", "scale"))
    return None if mean is None or scale is None else Turned(mean, scale, message["factor"])


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
