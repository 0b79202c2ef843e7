"""Beyond the rows: what does a model say where it has seen nothing? (the law of several voices)."""

from gbuq_core.experiments.beyond.experiment import BEYOND
from pages._ui.beyond.controls import STATE, act
from pages._ui.experiment import show_experiment

show_experiment(BEYOND, STATE, ("edge", "gap"), acts=act)
