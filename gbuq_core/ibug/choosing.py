"""The scale of neighbours' targets, and the family that fits them best on validation rows."""

from __future__ import annotations

import numpy as np

from gbuq_core.ibug.families import FAMILIES, fit_posterior, log_density
from gbuq_core.ibug.family_fits import FloatArray
from gbuq_core.ibug.results import Neighborhood, Setting
from gbuq_core.metrics.neighbour_tuning import running_std


def scale_of(targets: FloatArray, setting: Setting) -> FloatArray:
    """The calibrated scale (n_samples,) of neighbours' targets (n_samples, k or more)."""
    k, least, gamma, delta = setting
    return gamma * np.maximum(running_std(targets, [k])[:, 0], least) + delta


def choose_family(
    setting: Setting, near: Neighborhood, y: FloatArray, lowest: float, posterior_fit: str
) -> str:
    """The family of lowest NLL on the validation rows ``near`` with their targets y.

    ``lowest`` is the lowest training target: some families live above 0.
    """
    targets = near.targets[:, : setting.n_neighbors]
    scale = scale_of(targets, setting)
    usable = [name for name, family in FAMILIES.items() if lowest > 0 or not family.positive]
    nll = []
    for name in usable:
        fitted = fit_posterior(name, near.loc, scale, targets, setting.min_scale, posterior_fit)
        nll.append(-log_density(fitted, y).mean())
    return usable[int(np.argmin(nll))]
