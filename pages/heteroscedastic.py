"""Noise that grows: does the model know its noise, and where it has seen nothing? (MACAU, 4.1)."""

from gbuq_core.experiments.heteroscedastic.experiment import HETEROSCEDASTIC
from pages._ui.experiment import show_experiment
from pages._ui.heteroscedastic.controls import STATE

show_experiment(HETEROSCEDASTIC, STATE, ("noise_slope",))
