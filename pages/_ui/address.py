"""Values for several knobs at once, as one step of the browser's Back.

A widget whose value is set in code tells the browser so by itself: two of them are two steps, and
Back leads through a mixture of what was before and after.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from gbuq_core.knobs import Knob
from pages._ui.knobs import link_texts, query_string


def put(knob: Knob, value: Any) -> None:
    """Give a knob that is not drawn yet in this run its value."""
    st.session_state[knob.key] = list(value) if knob.kind == "choices" else value


def put_together(values: Sequence[tuple[Knob, Any]]) -> None:
    """Give knobs that are not drawn yet in this run their values, and tell the browser once."""
    _write_address(values)
    for knob, value in values:
        put(knob, value)


def write_out(knob: Knob, value: Any) -> None:
    """Write a knob's value into an address that would be bare, where a bare one means another."""
    context = get_script_run_ctx()
    if context is None or st.query_params.get_all(knob.key):
        return
    with suppress(AttributeError, TypeError), context.session_state.query_params() as address:
        address.set_with_no_forward_msg(knob.key, link_texts(knob, value))
        address._send_query_param_msg()


def _write_address(values: Sequence[tuple[Knob, Any]]) -> None:
    """One message with all values; widgets that find their own in it send none.

    Streamlit has no public call for bound parameters. Where its names are other ones, nothing is
    written here, and each widget tells its value by itself again.
    """
    context = get_script_run_ctx()
    if context is None or not values:
        return
    with suppress(AttributeError, TypeError), context.session_state.query_params() as address:
        for knob, value in values:
            if query_string([knob], {knob.key: value}):
                # As its widget writes it: 11.0 of a box, where links say 11.
                texts = [str(value)] if knob.box else link_texts(knob, value)
                address.set_with_no_forward_msg(knob.key, texts)
            else:
                address.discard_param_no_forward_msg(knob.key)
        address._send_query_param_msg()


def write_picture_knobs(knobs: Iterable[Knob]) -> None:
    """Let the address say what knobs of the group "picture" are, which have no widget to do it."""
    for knob in knobs:
        if knob.group != "picture":
            continue
        value = st.session_state.get(knob.key, knob.default)
        texts = link_texts(knob, value) if query_string([knob], {knob.key: value}) else []
        if st.query_params.get_all(knob.key) == texts:
            continue
        if texts:
            st.query_params[knob.key] = texts
        else:
            del st.query_params[knob.key]


def went_back() -> bool:
    """Whether the reader went Back or Forward to come to this run."""
    context = get_script_run_ctx()
    return context is not None and context.is_history_navigation
