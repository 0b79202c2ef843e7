"""Explore: the experiments as cards."""

import streamlit as st

from pages._ui.cards import Card, draw_cards
from pages._ui.site_map import EXPERIMENTS
from pages._ui.url_state import through_the_app

through_the_app()
st.title("What do tree ensembles know?")
draw_cards(Card(entry.path, entry.title, entry.question, entry.url_path) for entry in EXPERIMENTS)
