"""Points that a reader places: they come back, are dragged, and stand below as text."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import streamlit as st

from gbuq_core.errors import GbuqError
from gbuq_core.experiments.placed import check_points, encode_points
from gbuq_core.knobs import find_knob
from pages._ui.controls import draw_knob
from pages._ui.curves import Carry, Placed
from pages._ui.live_sliders import carried, carry
from pages._ui.notices import show_notice
from pages._ui.url_state import PageState

_REFUSED = "_points_refused"  # the session key of a click that could not be


def hold_points(state: PageState, name: str, waits: bool) -> dict[str, Any]:
    """What is done in a figure of curves: the points are those of the knob of this name."""

    def place(placed: Placed) -> None:
        try:
            st.session_state[name] = encode_points(check_points(placed))
        except GbuqError as error:
            refuse(error)

    def carry_to(seq: int, placed: Placed) -> None:
        with suppress(GbuqError):
            carry(state, seq, **{name: encode_points(check_points(placed))})

    return {"on_place": place, "carry": Carry(carried(state), waits, carry_to)}


def refuse(error: GbuqError) -> None:
    """Say why a click could not be where the page is drawn next."""
    st.session_state[_REFUSED] = str(error)


def draw_points(state: PageState, name: str, n_points: int) -> None:
    """How many there are, and they as text, for the keyboard and for other programs."""
    if refused := st.session_state.pop(_REFUSED, ""):
        show_notice(refused, state.key)
    knob = find_knob(state.knobs, name)
    with st.container(horizontal=True, vertical_alignment="center", key=f"{state.key}-points"):
        st.caption(f"{n_points} point{'s' if n_points != 1 else ''}.", width="content")
        for label, key, text in (("Clear", "_clear", ""), ("Start again", "_again", knob.default)):
            st.button(label, key=key, on_click=st.session_state.update, args=({name: text},))
        with st.popover("As text"):
            draw_knob(knob)
