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
    grid_kl,
    mode_changes,
    mode_sequence,
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
    "gaussian_mixture",
    "grid_kl",
    "make_schedule",
    "mode_changes",
    "mode_sequence",
    "modes_by_step",
    "ring",
    "sample_mixture",
    "visit_counts",
]
