"""25 Gaussians: can one chain find all the modes? (Tan et al. 2023, section 5.1)."""

from gbuq_core.experiments.gaussians.experiment import GAUSSIANS
from pages._ui.experiment import show_experiment
from pages._ui.gaussians.controls import STATE

show_experiment(GAUSSIANS, STATE, ("steps",))
