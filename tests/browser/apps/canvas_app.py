"""Figures for the tests of the canvas component; ?case= names one."""

from __future__ import annotations

import streamlit as st

from pages._ui.canvas import canvas
from tests.browser.sheets import chains, charts, fields, heart, labels, training

st.set_page_config(layout="wide")

case = st.query_params.get("case", "heart")
kinds = {"1": "cells", "ray": "ray", "both": ("cells", "ray")}
select = kinds.get(st.query_params.get("select", "1"))
seed = st.slider("Seed", 0, 20, 0, key="seed")
n_frames = int(st.query_params.get("frames", "1"))
if case == "all":
    every = {
        "heart": heart(100, seed),
        "fields": fields(40, 0.0),
        "chains": chains(),
        "labels": labels("<b>Bold</b> & co"),
        "training": training(100, 400, seed),
        "charts": charts(1),
    }
    for name, sheet in every.items():
        canvas(sheet, key=name, select=select)
    st.stop()
sheet = heart(n_frames, seed) if case == "heart" else fields(20, 0.0, n_frames)
if st.query_params.get("hidden") == "1":
    _, second = st.tabs(["first", "second"])
    with second:
        event = canvas(sheet, key="figure", select=select)
else:
    event = canvas(sheet, key="figure", select=select)
st.text(f"event: clicked={event.clicked} dragged={len(event.dragged)} frame={event.frame}")
st.text(f"ray: {event.ray and [round(at, 1) for at in event.ray]}")
st.text(f"cells: {sorted(event.dragged)[:12]}")
