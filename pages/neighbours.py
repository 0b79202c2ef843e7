"""Neighbours: which training rows does a prediction come from? (IBUG; Brophy and Lowd 2022)."""

from gbuq_core.study.neighbours import NEIGHBOURS
from pages._ui.experiment import show_single
from pages._ui.neighbours.controls import STATE, act
from pages._ui.neighbours.rows import draw_rows

keys = ("noise", "diabetes_row", "wine_row")
show_single(NEIGHBOURS, STATE, keys, acts=act, below_why=draw_rows)
