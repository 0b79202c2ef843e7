"""Heart: does the model know where it has seen nothing? (Malinin et al. 2021, section 4)."""

from gbuq_core.experiments.heart.experiment import HEART
from pages._ui.experiment import show_experiment
from pages._ui.heart.controls import STATE, offer_unpaint, paint

show_experiment(HEART, STATE, ("rows",), on_select=paint, below=offer_unpaint)
