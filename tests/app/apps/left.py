"""A page with a knob of every kind."""

import streamlit as st

from gbuq_core.knobs import Knob
from pages._ui.knobs import Preset
from pages._ui.live import map_knob
from pages._ui.present import Step
from pages._ui.url_state import ControlPlaces, PageState, change_next, link_query, open_page

STATE = PageState(
    key="left",
    knobs=(
        Knob("rows", "Rows", "ladder", 100, choices=(10, 30, 100, 300), group="data"),
        Knob("methods", "Methods", "choices", ("SGB",), choices=("SGB", "SGLB", "vRF"), most=2),
        Knob("method", "Method", "choice", "SGB", choices=("SGB", "virtual SGLB"), group="method"),
        Knob("trees", "Trees", "integer", 100, 1, 1000),
        Knob("rate", "Learning rate", "number", 0.1, 0.01, 1.0, step=0.01),
        Knob("noise", "Noise", "ladder", 1.0, choices=(0.0, 0.3, 1.0, 3.0, 10.0)),
        Knob("seed", "Seed", "integer", 0, 0, 99, box=True),
        Knob(
            "step",
            "Truncation step",
            "integer",
            50,
            1,
            100,
            when=lambda values: {"SGB": False, "virtual SGLB": True}[values["method"]],
        ),
        Knob("cells", "Cells", "text", "", pattern=r"(\d+(,\d+)*)?", help="Numbers and commas."),
        Knob("log", "Logarithmic", "switch", False, group="view"),
        Knob("level", "Level", "ladder", 0.9, choices=(0.5, 0.8, 0.9), group="picture"),
        map_knob(("SGB: data", "SGB: knowledge")),
    ),
    presets=(
        Preset("Quick"),
        Preset(
            "Paper settings",
            {"trees": 1000, "method": "virtual SGLB", "step": 80},
            keeps=("cells",),
        ),
    ),
    picture=("quick",),
    story=(
        Step("As it is."),
        Step("Six trees.", {"trees": 6}),
        Step("Noise.", {"noise": 10.0, "map": "SGB: data"}),
    ),
)

st.title("Left")
values = open_page(STATE, ControlPlaces(st.container(), (), st.sidebar))
st.text(f"values {sorted(vars(values).items())}")
query = link_query(STATE, vars(values))
st.text(f"link [{query and f'?{query}'}]")
st.button("Six trees", on_click=change_next, args=(STATE,), kwargs={"trees": 6})
