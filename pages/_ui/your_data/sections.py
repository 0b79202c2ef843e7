"""The sections of the page "Your data" and of its open row: only the open ones are worked out."""

from __future__ import annotations

import streamlit as st

from gbuq_core.knobs import Knob
from gbuq_core.lenses.lens import WHY
from gbuq_core.lenses.register import places

ROWS, METHODS = "Rows", "Methods"
_SECTIONS = (ROWS, METHODS, *places(of_row=False))

SECTION = Knob("section", "Look at", "choice", ROWS, choices=_SECTIONS, group="page", plain=True)
LENS = Knob("lens", "The open row", "choice", WHY, choices=places(of_row=True), group="page")


def choose_lens() -> None:
    """Draw the bar of what can be asked about the open row, bound to the address like any knob."""
    st.segmented_control(
        LENS.label,
        LENS.choices,
        default=LENS.default,
        required=True,
        key=LENS.key,
        bind="query-params",
        label_visibility="collapsed",
    )
