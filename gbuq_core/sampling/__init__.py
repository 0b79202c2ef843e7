"""Langevin samplers in the plane, their targets, and how to tell whether they worked.

Follows "Cyclical SGLB" (Tan and Li, 2022), section 5.1 and appendix B.1: SGLD, noisy SGLD, and the
two cyclical schedules, of the learning rate and of the gradient's scale.
"""

from gbuq_core.sampling.chains import Chains, describe_stopped, sample_mixture
from gbuq_core.sampling.densities import Target
from gbuq_core.sampling.schedules import SAMPLERS, Schedule, make_schedule
from gbuq_core.sampling.targets import TARGETS, banana, gaussian_mixture, ring

__all__ = [
    "SAMPLERS",
    "TARGETS",
    "Chains",
    "Schedule",
    "Target",
    "banana",
    "describe_stopped",
    "gaussian_mixture",
    "make_schedule",
    "ring",
    "sample_mixture",
]
