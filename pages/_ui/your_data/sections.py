"""The sections of the page "Your data" and of its open row: only the open ones are worked out."""

from __future__ import annotations

import streamlit as st

from gbuq_core.knobs import Knob
from gbuq_core.lenses.lens import CHANGE, FAILS, GOOD, WHY
from gbuq_core.lenses.register import places

ROWS, METHODS = "Rows", "Methods"
_SECTIONS = (ROWS, METHODS, *places(of_row=False))

SECTION = Knob("section", "Look at", "choice", ROWS, choices=_SECTIONS, group="page", plain=True)
LENS = Knob("lens", "The open row", "choice", WHY, choices=places(of_row=True), group="page")
# Switches of earlier links, each with what took its place.
_EARLIER = {"good": (SECTION, GOOD), "fails": (SECTION, FAILS), "change": (LENS, CHANGE)}


def choose_lens() -> None:
    """Draw the bar of what can be asked about the open row, bound to the address like any knob."""
    st.segmented_control(
        LENS.label, LENS.choices, default=LENS.default, required=True, key=LENS.key,
        bind="query-params", label_visibility="collapsed",
    )  # fmt: skip


def follow_earlier_link() -> None:
    """Open what a link of before there were sections asks for."""
    asked = [name for name in _EARLIER if st.query_params.get(name) in ("true", "false")]
    if not asked:
        return
    opened = [_EARLIER[name] for name in asked if st.query_params[name] == "true"]
    for name in asked:
        del st.query_params[name]
    for knob, value in opened:
        if knob.key not in st.query_params:
            st.query_params[knob.key] = value
    st.rerun()
