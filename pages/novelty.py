"""Novelty maps: what makes a place new to the model? (MACAU, 2023, section 3.2)."""

from gbuq_core.study.novelty import NOVELTY
from pages._ui.study import show_study

show_study(NOVELTY)
