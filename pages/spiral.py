"""Spiral: does one long model know what an ensemble knows? (cyclical SGLB; Malinin et al. 2021)."""

from gbuq_core.experiments.spiral.experiment import SPIRAL
from pages._ui.experiment import show_experiment
from pages._ui.spiral.controls import STATE, choose, count_flags

show_experiment(SPIRAL, STATE, ("noise",), on_select=choose, rays=True, below=count_flags)
