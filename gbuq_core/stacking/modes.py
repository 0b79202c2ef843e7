"""Several modes of targets around their mean, and which one each target belongs to."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_FEWEST = 100  # rows; with fewer, modes of a few are chance
_MOST = 2_000  # rows that the modes are learnt from
_MOST_MODES = 4
_APART = 4.0  # stds between neighbouring modes; halves of a uniform distribution are 3.5 apart
_LEAST_SHARE = 0.05  # of the rows in a mode


def find_modes(residuals: FloatArray, seed: int) -> FloatArray | None:
    """The place of the mode that each residual (n,) belongs to; None where none stand apart.

    The number of modes is that of the mixture of normals with the least BIC.
    """
    if len(residuals) < _FEWEST or not np.ptp(residuals) > 0.0:
        return None
    from sklearn.mixture import GaussianMixture

    values = residuals[:, None]
    some = values[np.random.default_rng((seed, 15)).permutation(len(values))[:_MOST]]
    tries = [
        GaussianMixture(k, random_state=seed % 2**32, reg_covar=1e-6 * float(some.var())).fit(some)
        for k in range(1, _MOST_MODES + 1)
    ]
    best = min(tries, key=lambda fitted: fitted.bic(some))
    order = np.argsort(best.means_[:, 0])
    places, stds = best.means_[order, 0], np.sqrt(best.covariances_[order, 0, 0])
    apart = np.diff(places) > _APART * np.maximum(stds[1:], stds[:-1])
    if len(places) < 2 or not apart.all() or best.weights_.min() < _LEAST_SHARE:
        return None
    return np.asarray(best.predict_proba(values) @ best.means_[:, 0])
