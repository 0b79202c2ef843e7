"""A page whose ``trees`` has another range than the left page's."""

import streamlit as st

from gbuq_core.knobs import Knob
from pages._ui.url_state import ControlPlaces, PageState, open_page

STATE = PageState(key="right", knobs=(Knob("trees", "Trees", "integer", 20, 1, 50),))

st.title("Right")
values = open_page(STATE, ControlPlaces(st.container(), (), st.sidebar))
st.text(f"values {sorted(vars(values).items())}")
