"""The posterior over a tree's parameters: a Gaussian with a diagonal plus low-rank covariance."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gbuq_core.soft_trees.gaussian_kernels import allocate_kl_work, draw_parameters, kl_gradient
from gbuq_core.validation import check_number

Floats = NDArray[np.float64]


class LowRankGaussian(NamedTuple):
    """``N(mean, diag(scale^2) + V V^T)`` (eq. 16)."""

    mean: Floats  # (n_parameters,)
    scale: Floats  # (n_parameters,), above 0
    factor: Floats  # V, (n_parameters, rank); rank 0: the parameters are independent (mean field)

    @property
    def rank(self) -> int:
        """Number of columns of V."""
        return int(self.factor.shape[1])

    def draw(self, n_draws: int, seed: int, first: int = 0, member: int = 0) -> Floats:
        """Return draws number ``first`` on, (n_draws, n_parameters).

        Each draw is a function of (seed, member, its number): asking for more keeps the earlier
        ones.
        """
        check_number("n_draws", n_draws, 1, integer=True)
        out = np.empty((n_draws, len(self.mean)))
        columns = np.ascontiguousarray(self.factor.T)
        draw_parameters(self.mean, self.scale, columns, np.uint64(seed), member, first, out)
        return out

    def covariance(self) -> Floats:
        """Return the covariance, (n_parameters, n_parameters)."""
        return np.diag(self.scale**2) + self.factor @ self.factor.T

    def marginal_scale(self) -> Floats:
        """Return the std of each parameter, (n_parameters,)."""
        return np.sqrt(self.scale**2 + (self.factor**2).sum(axis=1))

    def log_density(self, thetas: Any) -> Floats:
        """Return the log densities of ``thetas`` (..., n_parameters) as (...).

        The quadratic form is the least of ``|(theta - mean - V a) / scale|^2 + |a|^2`` over ``a``:
        two squares, where the inverse covariance by Woodbury's identity would subtract.
        """
        off = (np.asarray(thetas, dtype=np.float64) - self.mean) / self.scale
        white = self.factor / self.scale[:, None]
        gram = np.eye(self.rank) + white.T @ white
        a = np.linalg.solve(gram, (off @ white)[..., None])[..., 0]
        square = ((off - a @ white.T) ** 2).sum(axis=-1) + (a**2).sum(axis=-1)
        log_det = 2.0 * np.log(self.scale).sum() + np.linalg.slogdet(gram)[1]
        return -0.5 * (square + log_det + len(self.mean) * math.log(2.0 * math.pi))

    def kl(self, prior_scale: float) -> float:
        """Return KL(q || N(0, prior_scale^2 I)) in nats (eq. 21)."""
        prior_scale = check_number("prior_scale", prior_scale, 0, low_open=True)
        columns = np.ascontiguousarray(self.factor.T)
        return float(
            kl_gradient(
                (self.mean, self.scale, columns),
                prior_scale,
                allocate_kl_work(*columns.shape),
                np.empty_like(self.mean),
                np.empty_like(self.scale),
                np.empty_like(columns),
            )
        )
