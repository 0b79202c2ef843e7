"""Sliders whose picture is refitted while they are dragged, as often as the fit allows.

Streamlit's slider says nothing before it is let go. A page that names its quick sliders has their
picture follow::

    def draw(answer, values, moving):
        if moving:                                   # a slider is on its way
            (answer,) = ask([request_of(values)], LIVE_SECONDS)
        draw_wave(answer.result)
        return answer.fresh                          # False: ask me again

    values = open_page(STATE)
    (answer,) = ask([request_of(values)])
    follow(STATE, values, ("rows",), partial(draw, answer))

While a slider is dragged only ``draw`` runs, in a fragment of its own, with the values of the
moment. One message is under way, the newest waits, and a new key in a job's slot stops the older
fit. When the slider is let go, its own run settles the address, the scores and the picture.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

import streamlit as st

from gbuq_core.figures.handles import slider_source
from gbuq_core.knobs import Knob, problem_with
from pages._ui.address import put_together
from pages._ui.url_state import PageState, run_page

LIVE_SECONDS = 0.8  # that a fit may take before a newer value stops it

_STATE = "_live:"  # and the page
_MOUNT = st.components.v2.component("gbuq_sliders", js=slider_source(), isolate_styles=True)

Draw = Callable[[SimpleNamespace, bool], bool]


class Moved(NamedTuple):
    """A message of a slider: where it stands, and whether it was let go where it had been."""

    seq: int
    knob: str
    value: Any
    end: bool


class _Live:
    """What the server has seen of a page's sliders."""

    def __init__(self) -> None:
        self.seq = 0
        self.carried = 0  # messages of the picture itself
        self.values: dict[str, Any] | None = None  # of the message that this run answers
        self.end = False  # what was dragged was let go
        self.dropped: dict[str, Any] = {}  # where, until the run that draws its controls
        self.whole = False  # this run is of the page, not of the picture alone


def follow(page: PageState, values: SimpleNamespace, names: Sequence[str], draw: Draw) -> None:
    """Draw the page's picture here, and again whenever one of these sliders moves."""
    live = _live_of(page)
    live.whole = True
    _picture(page, values, names, draw, live)


@st.fragment
def _picture(
    page: PageState, values: SimpleNamespace, names: Sequence[str], draw: Draw, live: _Live
) -> None:
    whole, live.whole = live.whole, False
    moved, live.values = live.values, None
    if whole:  # shows what the controls say
        moved = None
    elif moved is None:
        run_page(page, values)
    knobs = {knob.key: knob for knob in page.knobs if knob.key in names}

    def heard() -> None:
        state = st.session_state.get(key)
        message = state.get("move") if isinstance(state, dict) else None
        held = {name: st.session_state.get(name, knob.default) for name, knob in knobs.items()}
        moved = read_move(message, knobs, held)
        if moved is not None:
            live.seq, live.values, live.end = moved.seq, {moved.knob: moved.value}, moved.end

    key = f"live-sliders-{page.key}"
    if moved is not None:
        values = SimpleNamespace(**{**vars(values), **moved})
    waits = not draw(values, moved is not None) and moved is not None and not live.end
    data = {"seq": live.seq, "names": tuple(knobs), "waits": waits}  # a list would import pandas
    _MOUNT(key=key, data=data, on_move_change=heard)


def carry(page: PageState, seq: int, **values: Any) -> None:
    """Draw the picture of `follow` for values that something dragged in it has: a callback.

    The knobs keep theirs until it is let go. ``seq`` is the number of the message.
    """
    live = _live_of(page)
    live.carried, live.values, live.end = seq, values, False


def drop(page: PageState, around: str, **values: Any) -> None:
    """Let knobs stay where something in the picture was let go, or clicked: a callback.

    Only the fragment with the key ``around`` runs, which has `follow` and the knobs' controls and
    begins with `take_dropped`.
    """
    _live_of(page).dropped = values
    st.rerun(around)


def take_dropped(page: PageState) -> None:
    """Give controls that are not drawn yet in this run the values of `drop`."""
    live = _live_of(page)
    dropped, live.dropped = live.dropped, {}
    put_together([(knob, dropped[knob.key]) for knob in page.knobs if knob.key in dropped])


def carried(page: PageState) -> int:
    """The number of the last message that `carry` was told of."""
    return _live_of(page).carried


def _live_of(page: PageState) -> _Live:
    return st.session_state.setdefault(_STATE + page.key, _Live())


def read_move(message: Any, knobs: dict[str, Knob], held: dict[str, Any]) -> Moved | None:
    """What a browser sent, or None: the browser is the user's.

    A slider that was let go since then stands elsewhere than where its drag began: its message
    came too late.

    >>> rows = Knob("rows", "Rows", "ladder", 100, choices=(100, 200, 400))
    >>> sent = {"seq": 3, "name": "rows", "value": [2], "base": [0]}
    >>> read_move(sent, {"rows": rows}, {"rows": 100})
    Moved(seq=3, knob='rows', value=400, end=False)
    >>> read_move(sent, {"rows": rows}, {"rows": 400}).end
    True
    >>> read_move({**sent, "value": [9]}, {"rows": rows}, {"rows": 100})
    """
    if not isinstance(message, dict) or message.get("name") not in list(knobs):
        return None
    knob = knobs[message["name"]]
    seq = message.get("seq")
    value, base = _value_of(knob, message.get("value")), _value_of(knob, message.get("base"))
    if not _is_number(seq) or not 0 <= seq < 2**53 or value is None or base is None:
        return None
    now = held[knob.key]
    if not _same(now, base):
        return Moved(int(seq), knob.key, now, True)
    return Moved(int(seq), knob.key, value, message.get("end") is True)


def _value_of(knob: Knob, thumbs: Any) -> Any:
    """The knob's value where its thumbs stand; None if that is nowhere."""
    if not isinstance(thumbs, list) or not all(_is_number(thumb) for thumb in thumbs):
        return None
    if len(thumbs) != (2 if knob.kind == "range" else 1):
        return None
    if knob.kind == "ladder":
        at = int(thumbs[0])
        return knob.choices[at] if 0 <= at < len(knob.choices) else None
    cast = float if knob.kind == "number" else int
    ends = tuple(cast(thumb) for thumb in thumbs)
    value = ends if knob.kind == "range" else ends[0]
    return None if problem_with(knob, value) else value


def _is_number(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return number and math.isfinite(value)


def _same(value: Any, other: Any) -> bool:
    if isinstance(value, float) and isinstance(other, float | int):
        return math.isclose(value, other, rel_tol=1e-9, abs_tol=1e-12)
    return bool(value == other)
