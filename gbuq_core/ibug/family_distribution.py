"""IBUG's families behind the one `Distribution` type."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gbuq_core.distribution import Distribution, NormalDistribution
from gbuq_core.ibug.families import (
    Posterior,
    cdf,
    fit_rows,
    join_posteriors,
    log_density,
    moments,
    quantiles_at,
    sample,
    take_rows,
)
from gbuq_core.ibug.family_fits import FloatArray
from gbuq_core.ibug.results import Setting
from gbuq_core.ibug.search import Neighborhood, scale_of
from gbuq_core.metrics.scores import crps_mixture_values


@dataclass(frozen=True, eq=False)
class FamilyDistribution(Distribution):
    """One of IBUG's families a row, fitted to the row's neighbours.

    `mean` and `variance` are the family's. They differ from ``loc`` and ``scale`` where the family
    was not matched to them: a KDE, ``posterior_fit="likelihood"``, and a prediction of at most 0
    under log-normal and Weibull. Fitted by likelihood, a Student t may have no variance: then it
    is inf.
    """

    _more_rows = (("posterior", 0),)

    # `loc`, `scale`: (n_samples,): the model's prediction and the calibrated std of the neighbours
    loc: FloatArray
    scale: FloatArray
    posterior: Posterior  # the family's own parameters

    @staticmethod
    def _cut(part: Any, places: NDArray[np.intp]) -> Posterior:
        return take_rows(part, places)

    @staticmethod
    def _join(parts: list[Any]) -> Posterior:
        return join_posteriors(parts)

    def mean(self) -> FloatArray:  # noqa: D102 (of the base)
        return moments(self.posterior)[0]

    def variance(self) -> FloatArray:  # noqa: D102 (of the base)
        return np.square(moments(self.posterior)[1])

    def _quantiles(self, levels: FloatArray) -> FloatArray:
        return quantiles_at(self.posterior, levels)

    def _log_density(self, y: FloatArray) -> FloatArray:
        return log_density(self.posterior, y)

    def _cdf(self, points: FloatArray) -> FloatArray:
        return cdf(self.posterior, points)

    def _crps(self, y: FloatArray) -> FloatArray:
        centres = self.posterior.centres
        if centres is None:
            return super()._crps(y)
        variances = np.broadcast_to(np.square(self.posterior.scale), centres.T.shape)
        places, shares = self.posterior.places, None
        if places is not None:
            shares = (places / places.sum(axis=1, keepdims=True)).T
        return crps_mixture_values(y, centres.T, variances, shares)

    def _sample(self, count: int, random: np.random.Generator) -> FloatArray:
        return sample(self.posterior, count, random)


def distribute(
    parts: Iterable[Neighborhood],
    setting: Setting,
    family: str,
    posterior_fit: str,
    n_jobs: int | None,
) -> Distribution:
    """The distribution of all rows of ``parts``: the prediction with a family around it."""
    matched = family == "normal" and posterior_fit == "matched"
    loc, scale, fitted = [], [], []
    for near in parts:
        loc.append(near.loc)
        scale.append(scale_of(near.targets, setting, near.weights))
        if not matched:
            fitted.append(fit_rows(family, near, setting, posterior_fit, n_jobs))
    pair = np.concatenate(loc), np.concatenate(scale)
    if matched:
        return NormalDistribution(*pair)
    return FamilyDistribution(*pair, join_posteriors(fitted))
