"""Two clocks: is the stated uncertainty true? (stopping of the mean and of the scale)."""

from gbuq_core.experiments.two_clocks.experiment import TWO_CLOCKS
from pages._ui.experiment import show_experiment
from pages._ui.two_clocks.controls import STATE, act

show_experiment(TWO_CLOCKS, STATE, (), acts=act)  # its knobs are in the picture
