"""Is the posterior one: the members' standard deviation over that of the exact posterior.

Trees that may split on one column of two values, or on nothing, leave models that have an exact
posterior: a mean and a log std for each group of rows, or one logit a class. Members trained at the
temperature "posterior" are draws from it, up to the finite step: an autoregression whose step takes
off a share ``eps`` of the distance has ``1 / (1 - eps / 2)`` of the variance. All ratios divide by
the exact std with that factor.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import polygamma

from gbuq_core import BoostedEnsembleClassifier, BoostedEnsembleRegressor

SIGMAS = (1.0, 0.2, 0.05)
COUNTS = ((900, 100), (700, 200, 100))
BAR = (0.9, 1.1)
_N_ROWS = 1000


class Ratio(NamedTuple):
    """A std of the members over the exact one, from ``n_draws`` draws."""

    what: str
    ratio: float
    n_draws: int

    @property
    def error(self) -> float:
        """The standard error: a sample std of n normal draws is off by ``1 / sqrt(2 n)``."""
        return self.ratio / math.sqrt(2.0 * self.n_draws)


def groups(
    leaf_estimation: str, sigma: float, l2: float, n_members: int, seed: int = 0
) -> tuple[Ratio, Ratio]:
    """Two groups ``y = -1, 1`` with noise ``sigma``, 500 rows each: their mean and their log std.

    The mean has variance ``sigma^2 / (n + (n + l2) / 2N)``, of which the second part is the prior
    that shrinkage makes; a log std has that of half the log of a gamma with shape ``(n - 1) / 2``.
    """
    x = np.repeat([0.0, 1.0], _N_ROWS // 2)
    y = 2.0 * x - 1.0 + sigma * _standard_noise(x, seed)
    rate, n = 0.1, _N_ROWS // 2
    model = _regressor(n_members, 200, rate, l2, leaf_estimation).fit(x[:, None], y)
    members = model.predict_members([[0.0], [1.0]])
    step = 1.0 / math.sqrt(1.0 - rate / 2.0)
    mean = sigma / math.sqrt(n + (n + l2) / (2 * _N_ROWS)) * step
    log_std = 0.5 * math.sqrt(polygamma(1, (n - 1) / 2)) * step
    what = f"sigma {sigma:g}, {leaf_estimation} leaves, l2 {l2:g}"
    return (
        Ratio(f"mean, {what}", _ratio(members[..., 0], mean), 2 * n_members),
        Ratio(f"log sigma, {what}", _ratio(0.5 * np.log(members[..., 1]), log_std), 2 * n_members),
    )


def mixed_leaf(leaf_estimation: str, n_members: int, seed: int = 0) -> tuple[Ratio, Ratio]:
    """Noise 1 or 0.05 by one column; trees split on an irrelevant one as well.

    A leaf of such a tree holds rows of both kinds. Sums of trees of depth 1 are additive, ``a(x0) +
    b(x1)``, so the posterior is that of weighted least squares with three free numbers.
    """
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.repeat([0.0, 1.0], _N_ROWS // 2), rng.integers(0, 2, _N_ROWS)])
    sigma = np.where(X[:, 0] > 0, 0.05, 1.0)
    y = sigma * _standard_noise(2.0 * X[:, 0] + X[:, 1], seed)
    rate = 0.1
    model = _regressor(n_members, 400, rate, 0.0, leaf_estimation).fit(X, y)
    cells = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    members = model.predict_members(cells)[..., 0]
    design, points = (np.column_stack([np.ones(len(part)), part]) for part in (X, cells))
    covariance = np.linalg.inv(design.T @ (design / sigma[:, None] ** 2))
    exact = np.sqrt(np.einsum("ij,jk,ik->i", points, covariance, points) / (1.0 - rate / 2.0))
    return (
        Ratio(
            f"mixed leaf, rows of sigma 1, {leaf_estimation} leaves",
            _ratio(members[:, :2], exact[:2]),
            n_members,
        ),
        Ratio(
            f"mixed leaf, rows of sigma 0.05, {leaf_estimation} leaves",
            _ratio(members[:, 2:], exact[2:]),
            n_members,
        ),
    )


def logits(leaf_estimation: str, counts: tuple[int, ...], n_members: int) -> list[Ratio]:
    """One leaf with ``counts`` rows of each class: differences of logits from that of the first.

    The class probabilities have a Dirichlet posterior, so ``log p_a - log p_b`` has variance
    ``psi_1(n_a) + psi_1(n_b)``.
    """
    codes = np.repeat(np.arange(len(counts)), counts)
    # A gradient step takes off eps times an eigenvalue of diag p - p p^T, at least 0.12 here: it
    # needs more trees to forget the start, and the bias of its step is below 1 %.
    rate, n_trees = (0.05, 200) if leaf_estimation == "newton" else (0.1, 500)
    model = BoostedEnsembleClassifier(
        temperature="posterior",
        leaf_estimation=leaf_estimation,
        n_members=n_members,
        n_trees=n_trees,
        depth=1,
        learning_rate=rate,
        random_strength=0.0,
        random_state=0,
    ).fit(np.zeros((len(codes), 1)), codes)
    log_p = np.log(model.predict_members([[0.0]])[:, 0])
    names = {2: "binary", 3: "three classes"}
    step = 1.0 / math.sqrt(1.0 - rate / 2.0) if leaf_estimation == "newton" else 1.0
    ratios = []
    for k in range(1, len(counts)):
        exact = math.sqrt(polygamma(1, counts[0]) + polygamma(1, counts[k])) * step
        what = f"{names[len(counts)]}, {counts[0]} and {counts[k]} rows, {leaf_estimation} leaves"
        ratios.append(Ratio(what, _ratio(log_p[:, 0] - log_p[:, k], exact), n_members))
    return ratios


def _standard_noise(group: np.ndarray, seed: int) -> np.ndarray:
    """Normal noise with mean 0 and std 1 in each group, so that the truth is what fits best."""
    noise = np.random.default_rng(seed).normal(size=len(group))
    for value in np.unique(group):
        part = noise[group == value]
        noise[group == value] = (part - part.mean()) / part.std()
    return noise


def _regressor(
    n_members: int, n_trees: int, rate: float, l2: float, leaf_estimation: str
) -> BoostedEnsembleRegressor:
    return BoostedEnsembleRegressor(
        temperature="posterior",
        leaf_estimation=leaf_estimation,
        n_members=n_members,
        n_trees=n_trees,
        depth=1,
        learning_rate=rate,
        l2=l2,
        random_strength=0.0,
        random_state=0,
    )


def _ratio(draws: np.ndarray, exact: Any) -> float:
    """Root mean square over columns of the std of ``draws`` (n_members, ...) over ``exact``."""
    return float(np.sqrt(np.mean((draws.std(axis=0) / exact) ** 2)))
