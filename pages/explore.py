"""Explore: the experiments as cards."""

import streamlit as st

from pages._ui.cards import Card, draw_cards
from pages._ui.site_map import EXPERIMENTS

st.title("What do tree ensembles know?")
draw_cards(Card(one.path, one.title, one.question, one.url_path) for one in EXPERIMENTS)
