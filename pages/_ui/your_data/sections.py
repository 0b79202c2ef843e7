"""The sections of the page "Your data": one is open, and only that one is worked out.

A section is drawn by a function of `explore.py`'s list; what it found stays in caches of the
session, so that coming back costs nothing.
"""

from __future__ import annotations

import streamlit as st

from gbuq_core.knobs import Knob

ROWS, METHODS, GOOD = "Rows", "Methods", "Is it any good?"
FAILS, MORE, SECOND = "Where it fails", "More rows", "Second file"

SECTION = Knob(
    "section",
    "Section",
    "choice",
    ROWS,
    choices=(ROWS, GOOD, FAILS, SECOND),
    group="page",
)
# Switches of earlier links, each with the section that took its place.
_EARLIER = {"good": GOOD, "fails": FAILS}


def choose_section() -> None:
    """Draw the bar of sections, bound to the address like any knob."""
    st.segmented_control(
        SECTION.label,
        SECTION.choices,
        default=SECTION.default,
        required=True,
        key=SECTION.key,
        bind="query-params",
        label_visibility="collapsed",
    )


def follow_earlier_link() -> None:
    """Open the section that a link of before there were sections asks for."""
    asked = [name for name in _EARLIER if st.query_params.get(name) in ("true", "false")]
    if not asked:
        return
    opened = [_EARLIER[name] for name in asked if st.query_params[name] == "true"]
    for name in asked:
        del st.query_params[name]
    if opened and SECTION.key not in st.query_params:
        st.query_params[SECTION.key] = opened[0]
    st.rerun()
