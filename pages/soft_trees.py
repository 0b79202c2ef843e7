"""Soft trees: how many functions fit the same points? (Cinquin et al. 2022)."""

from gbuq_core.experiments.soft_trees.experiment import SOFT_TREES
from pages._ui.experiment import show_experiment
from pages._ui.soft_trees.controls import STATE, draw_points, hold_points

show_experiment(SOFT_TREES, STATE, ("rows",), hold=hold_points, below=draw_points)
