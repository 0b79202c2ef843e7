"""Langevin samplers in the plane, their targets, and how to tell whether they worked.

Follows "Cyclical gradient MCMC" (Tan, Huertas and Zhao, 2023), section 5.1 and appendix B.1: SGLD,
noisy SGLD, and the two cyclical schedules, of the learning rate and of the gradient's scale.
"""

from gbuq_core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
