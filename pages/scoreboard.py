"""Scoreboard: which method should I use, and does the paper's table hold?"""

from functools import partial

import streamlit as st

from gbuq_core.experiments.scoreboard.bars import check_bars
from gbuq_core.experiments.scoreboard.board import read_board
from gbuq_core.experiments.scoreboard.differing import count_agreement
from gbuq_core.experiments.scoreboard.numbers import find_number
from gbuq_core.experiments.scoreboard.picture import board_picture
from gbuq_core.experiments.scoreboard.plan import filter_table
from pages._ui.export import is_dark
from pages._ui.kept import kept
from pages._ui.scoreboard.cells import draw_cell, draw_numbers
from pages._ui.scoreboard.chooser import draw_chooser
from pages._ui.scoreboard.controls import (
    CELL,
    FOLDS,
    cell_label,
    is_asked,
    page_state,
    place_of,
    settings_of,
)
from pages._ui.scoreboard.export import explain_scoreboard, export_scoreboard
from pages._ui.scoreboard.own import draw_own, with_own
from pages._ui.scoreboard.picture import draw_bar, draw_picture
from pages._ui.scoreboard.running import draw_running
from pages._ui.scoreboard.verdicts import draw_bars, draw_differences, draw_verdicts
from pages._ui.url_state import ControlPlaces, open_page

LEDE = "Answer three questions. These methods did best for them on our test tables."

st.title("Which method should you use?")
with st.container(key="lede"):
    st.text(LEDE)
notices, chooser = st.container(), st.container()
stored = read_board()
board, own = with_own(stored)
page, opened = page_state(board)
matrix, number, paper, settings_fold, export = (
    st.expander(title, expanded=is_asked(keys)) for title, keys in FOLDS
)
with notices:
    values = open_page(page, places=ControlPlaces(settings_fold, (), settings_fold))
if values.paper != opened.label:  # a control was put back to its default
    st.rerun()
settings, table = settings_of(opened, values), opened.table
left = filter_table(table, settings)
name_cell = partial(cell_label, opened)
bars = kept("scoreboard-bars", [stored], None, lambda: check_bars(stored))
agreements = kept("scoreboard-agreement", [stored], None, lambda: count_agreement(stored))
agreement = next((each for each in agreements if each.table == table.key), None)

with chooser:
    draw_chooser(board, settings)
with matrix:
    draw_bar()
    picture = board_picture(table, settings, name_cell, is_dark())
    draw_picture(opened, picture, values.cell)
numbers = [
    find_number(table, key, method, settings.score)
    for key in left.sets
    for method in left.methods
    if name_cell(key, method) is not None
]
with export:
    export_scoreboard(table, settings, left, numbers, bars, picture)
with number:
    every, cell = st.columns([0.56, 0.44], gap="large")
    with every:
        draw_numbers(opened, numbers, values.cell)
        draw_own(own)
    with cell:
        st.subheader("One cell", anchor=CELL)
        place = place_of(opened, values)
        draw_cell(page, board, opened, place, values)
        draw_running(table, place)
with paper:
    draw_verdicts(bars, agreement)
    draw_differences(stored, table)
    draw_bars(bars)
    explain_scoreboard(table)
