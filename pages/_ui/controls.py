"""Draw a page's knobs, in the order of the pipeline: data, method, knobs, view."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gbuq_core.knobs import GROUPS, Group, Knob, number_text, problem_with

HEADINGS: dict[Group, str] = {
    "data": "Data",
    "method": "Method",
    "knobs": "Knobs",
    "view": "View",
}
_RADIO_UP_TO = 4  # choices; more go into a drop-down


def is_shown(knob: Knob, values: Mapping[str, Any]) -> bool:
    """Whether the knob's ``needs`` and ``when`` are met by the values of the others."""
    needed = knob.needs is None or values.get(knob.needs[0]) in knob.needs[1]
    return needed and (knob.when is None or knob.when(values))


def draw_knobs(
    knobs: Iterable[Knob], before: Mapping[str, Any], headings: bool = True
) -> dict[str, Any]:
    """Draw every shown knob where this is called and return the value of each knob."""
    knobs = tuple(knobs)
    values = dict(before)
    for group in GROUPS:
        shown = [knob for knob in knobs if knob.group == group]
        if not any(is_shown(knob, values) for knob in shown):
            continue
        if headings:
            st.markdown(f"**{HEADINGS[group]}**")
        for knob in shown:
            if is_shown(knob, values):
                values[knob.key] = draw_knob(knob)
    return values


def draw_knob(knob: Knob) -> Any:
    """Draw one knob, bound to the URL parameter of its name, and return its value.

    A browser may send what the knob cannot have, after an update for example: that is the default,
    and `open_page` says so. A text is returned as it was typed.
    """
    value = _draw_widget(knob)
    return value if knob.kind == "text" or not problem_with(knob, value) else knob.default


def _draw_widget(knob: Knob) -> Any:
    label = f"{knob.label} ({knob.unit})" if knob.unit else knob.label
    shared: dict[str, Any] = {
        "key": knob.key,
        "help": knob.refusal or knob.help or None,
        "bind": "query-params",
        "disabled": bool(knob.refusal),
    }
    match knob.kind:
        case "integer" | "number" if knob.box:
            # A box of floats even for whole numbers: Streamlit's box of integers raises on the
            # URL text 1e999, which its box of floats refuses.
            limits = [float(v) for v in (knob.low or 0, knob.high or 0, knob.default)]
            form = "%.0f" if knob.kind == "integer" else _decimals(knob)
            if knob.kind == "integer":
                shared |= {"on_change": _round_box, "args": (knob.key,)}
            number = st.number_input(
                label, *limits, step=float(knob.step or 1), format=form, **shared
            )
            return int(number) if knob.kind == "integer" else number
        case "integer" | "number":
            cast = int if knob.kind == "integer" else float
            limits = [cast(v) for v in (knob.low or 0, knob.high or 0, knob.default)]
            step = cast(knob.step) if knob.step else None
            form = None if knob.kind == "integer" else _decimals(knob)
            return st.slider(label, *limits, step=step, format=form, **shared)
        case "range":
            ends = [int(v) for v in (knob.low or 0, knob.high or 0)]
            step = int(knob.step) if knob.step else None
            low, high = st.slider(label, *ends, tuple(knob.default), step=step, **shared)
            return int(low), int(high)
        case "ladder":
            return st.select_slider(
                label, options=knob.choices, value=knob.default, format_func=number_text, **shared
            )
        case "choice" if len(knob.choices) <= _RADIO_UP_TO and not knob.plain:
            index = knob.choices.index(knob.default)
            return st.radio(label, knob.choices, index=index, **shared)
        case "choice":
            index = knob.choices.index(knob.default)
            return st.selectbox(label, knob.choices, index=index, **shared)
        case "choices":
            chosen = st.multiselect(
                label,
                knob.choices,
                list(knob.default),
                max_selections=knob.most,
                select_all=(knob.most or len(knob.choices)) >= len(knob.choices),
                **shared,
            )
            return tuple(chosen)
        case "switch":
            return st.toggle(label, knob.default, **shared)
        case "text":
            return st.text_input(label, knob.default, max_chars=knob.most or 200, **shared)
    raise ValueError(f"unknown kind of knob {knob.kind!r}")


def _round_box(key: str) -> None:
    """Make 13 of a typed 12.7, in the box, the address and the session alike."""
    st.session_state[key] = float(math.floor(st.session_state[key] + 0.5))


def _decimals(knob: Knob) -> str:
    """A printf format with as many decimals as one step needs."""
    step = f"{knob.step or 0.01:.10f}".rstrip("0")
    return f"%.{max(len(step.split('.')[1]), 1)}f"


def draw_fold(knob: Knob, held: Iterable[Knob] = ()) -> DeltaGenerator | None:
    """The place of a fold of its own that is open, or None; the address says which are.

    Only what is open is worked out. Closed, the knobs that it holds keep their values.
    """
    section = st.expander(
        knob.label,
        expanded=bool(knob.default),
        key=knob.key,
        on_change="rerun",
        bind="query-params",
    )
    if section.open:
        return section
    for other in held:
        st.session_state[other.key] = st.session_state.get(other.key, other.default)
    return None
