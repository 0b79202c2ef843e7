"""Sections of the page that fold: the address says which are open; only those are worked out."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gbuq_core.knobs import Knob


def fold(knob: Knob, held: Iterable[Knob] = ()) -> DeltaGenerator | None:
    """The place of a section that is open, or None."""
    section = st.expander(
        f"**{knob.label}**",
        expanded=bool(knob.default),
        key=knob.key,
        on_change="rerun",
        bind="query-params",
    )
    if section.open:
        return section
    for one in held:
        st.session_state[one.key] = st.session_state.get(one.key, one.default)
    return None
