"""A page whose bare address opens another value than its default."""

from types import MappingProxyType

import streamlit as st

from gbuq_core.knobs import Knob
from pages._ui.url_state import ControlPlaces, PageState, open_page

STATE = PageState(
    key="opened",
    knobs=(Knob("size", "Size", "ladder", 100, choices=(10, 30, 100, 300)),),
    opening=MappingProxyType({"size": 10}),
)

st.title("Opened")
values = open_page(STATE, ControlPlaces(st.container(), (), st.sidebar))
st.text(f"values {sorted(vars(values).items())}")
