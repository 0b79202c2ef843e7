"""Novelty maps: what makes a place new to the model? (MACAU, 2023, section 3.2)."""

from gbuq_core.experiments.novelty.experiment import NOVELTY
from pages._ui.experiment import show_experiment
from pages._ui.novelty.controls import STATE, act, admit, offer_undo
from pages._ui.novelty.look import draw_place

show_experiment(NOVELTY, STATE, (), acts=act, admit=admit, below=offer_undo, below_why=draw_place)
