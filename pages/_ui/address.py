"""Values for several knobs at once, as one step of the browser's Back.

A widget whose value is set in code tells the browser so by itself: two of them are two steps, and
Back leads through a mixture of what was before and after.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from gbuq_core.knobs import Knob
from pages._ui.knobs import link_texts, query_string

_UNTOLD = "_untold"  # session key: values that the browser may not have heard of, by knob


def put(knob: Knob, value: Any) -> None:
    """Give a knob that is not drawn yet in this run its value."""
    st.session_state[knob.key] = list(value) if knob.kind == "choices" else value
    untold: dict[str, Any] = st.session_state.setdefault(_UNTOLD, {})
    untold.pop(knob.key, None)
    if query_string([knob], {knob.key: value}):
        untold[knob.key] = st.session_state[knob.key]


def put_together(values: Sequence[tuple[Knob, Any]], tells: bool = True) -> None:
    """Give knobs that are not drawn yet in this run their values, and tell the browser once.

    Unless it ``tells``, the browser hears nothing, and has yet to write them.
    """
    _write_address(values, tells)
    for knob, value in values:
        put(knob, value)


def put_again(knobs: Iterable[Knob], tells: bool = True) -> None:
    """Put the values of earlier runs again that the browser's address does not show yet.

    Streamlit tells a widget only once that code has set it. When a message of the browser begins
    another run before that has been sent, it is never sent: the widget would stand at its default
    beside a picture of the value. Call it before controls are drawn; ``tells`` is that of
    `put_together`.
    """
    untold: dict[str, Any] = st.session_state.get(_UNTOLD, {})
    again = []
    for knob in knobs:
        if knob.key not in untold:
            continue
        value = untold.pop(knob.key)
        moved = st.session_state.get(knob.key) != value  # by the reader, or by code
        if not moved and knob.key not in st.query_params:
            again.append((knob, value))
    if again:
        put_together(again, tells)


def forget_untold() -> None:
    """Another page is shown, whose controls are other ones."""
    st.session_state.pop(_UNTOLD, None)


def write_out(knob: Knob, value: Any) -> None:
    """Let the rest of the run find a knob in an address that would be bare.

    The browser has yet to write it: see `back_steps.complete_address`.
    """
    context = get_script_run_ctx()
    if context is None:
        return
    with suppress(AttributeError, TypeError), context.session_state.query_params() as address:
        if not st.query_params.get_all(knob.key):
            address.set_with_no_forward_msg(knob.key, link_texts(knob, value))
        context.query_string = urlencode(address._query_params, doseq=True)  # of the next run


def _write_address(values: Sequence[tuple[Knob, Any]], tells: bool) -> None:
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
        if tells:
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


def fragment_runs() -> bool:
    """Whether this run is a fragment's: what `open_page` says is said in the others."""
    context = get_script_run_ctx()
    return context is not None and bool(context.fragment_ids_this_run)
