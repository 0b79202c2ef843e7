"""A law of draws, each equally likely: one with a skew, gaps and no density."""

from dataclasses import dataclass, field

import numpy as np

from gbuq_core.distribution import Distribution
from gbuq_core.errors import InvalidData
from gbuq_core.metrics.scores import crps_ensemble_values


@dataclass(frozen=True, eq=False)
class DrawnDistribution(Distribution):
    """A quantile is the smallest draw whose share of draws up to it reaches q."""

    _more_rows = (("draws", 1),)

    draws: np.ndarray  # (n_draws, n_samples): in units of y
    loc: np.ndarray = field(init=False, repr=False)
    scale: np.ndarray = field(init=False, repr=False)

    def __post_init__(self):
        draws = np.asarray(self.draws, float)
        object.__setattr__(self, "draws", draws)
        object.__setattr__(self, "loc", draws.mean(axis=0))
        object.__setattr__(self, "scale", draws.std(axis=0))

    def _quantiles(self, levels):
        count = len(self.draws)
        # 0.3 x 10 is 3.0000000000000004: the third draw is meant.
        place = np.ceil(levels * count - 1e-9).astype(np.intp) - 1
        ordered = np.sort(self.draws, axis=0).T
        return np.take_along_axis(ordered, np.clip(place, 0, count - 1), axis=1)

    def _log_density(self, y):
        raise InvalidData("Draws have no density: score them by crps, or fit a distribution.")

    def _cdf(self, points):
        return np.stack([(self.draws <= column).mean(axis=0) for column in points.T], axis=1)

    def _crps(self, y):
        return crps_ensemble_values(y, self.draws)

    def _sample(self, count, random):
        chosen = random.integers(len(self.draws), size=(count, len(self.loc)))
        return np.take_along_axis(self.draws, chosen, axis=0)
