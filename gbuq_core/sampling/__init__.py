"""Langevin samplers in the plane, their targets, and how to tell whether they worked.

Follows "Cyclical gradient MCMC" (Tan, Huertas and Zhao, 2023), section 5.1 and appendix B.1: SGLD,
noisy SGLD, and the two cyclical schedules, of the learning rate and of the gradient's scale.
"""

from gbuq_core.methods import SAMPLERS
from gbuq_core.sampling.chains import Chains, describe_stopped, sample_mixture
from gbuq_core.sampling.diagnostics import (
    ChainReport,
    Densities,
    ModeSequence,
    ModesFound,
    autocorrelation,
    cell_probabilities,
    density_by_step,
    diagnose,
    effective_sample_size,
    first_visits,
    grid_kl,
    mode_changes,
    mode_sequence,
    mode_timeline,
    modes_by_step,
    visit_counts,
)
from gbuq_core.sampling.schedules import Schedule, make_schedule
from gbuq_core.sampling.targets import TARGETS, Target, banana, gaussian_mixture, ring

__all__ = [
    "SAMPLERS",
    "TARGETS",
    "ChainReport",
    "Chains",
    "Densities",
    "ModeSequence",
    "ModesFound",
    "Schedule",
    "Target",
    "autocorrelation",
    "banana",
    "cell_probabilities",
    "density_by_step",
    "describe_stopped",
    "diagnose",
    "effective_sample_size",
    "first_visits",
    "gaussian_mixture",
    "grid_kl",
    "make_schedule",
    "mode_changes",
    "mode_sequence",
    "mode_timeline",
    "modes_by_step",
    "ring",
    "sample_mixture",
    "visit_counts",
]
