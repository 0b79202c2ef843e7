"""What fitted soft trees hand out."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from gbuq_core.model_files.contents import check_arrays, require
from gbuq_core.soft_trees.gaussian import LowRankGaussian
from gbuq_core.soft_trees.layout import TreeShape


class ElboPath(NamedTuple):
    """How the evidence lower bound rose, (n_steps,) each."""

    step: np.ndarray  # int64: 1, 2, ...
    elbo: np.ndarray  # each step's estimate from its few draws, in nats of the standardised target


class Snapshots(NamedTuple):
    """Posterior means through training."""

    step: np.ndarray  # (n_snapshots,) int64: steps taken; the first is 0, the start
    means: np.ndarray  # (n_snapshots, n_parameters)


class FittedTree(NamedTuple):
    """One tree's variational posterior and how it came about."""

    shape: TreeShape  # where each parameter stands: ``shape.split(posterior.mean)``
    beta: float
    posterior: LowRankGaussian  # ``mean`` (P,), ``scale`` (P,) and ``factor`` (P, rank)
    noise: float | None  # noise std of a mean output, in units of the inner target
    elbo: ElboPath
    snapshots: Snapshots

    def check_file(self) -> None:
        """Refuse arrays of another length than the shape gives."""
        size, path, moments = self.shape.n_parameters, self.elbo, self.snapshots
        form = ("finite", size)
        check_arrays(self.posterior, mean=form, scale=form, factor=("finite", size, None))
        require((self.posterior.scale > 0.0).all(), "a spread of its posterior is impossible")
        check_arrays(path, step=(np.int64, None), elbo=("finite", len(path.step)))
        check_arrays(moments, step=(np.int64, None), means=("finite", len(moments.step), size))
        require(len(path.step) >= 1 and len(moments.step) >= 1, "its training is empty")
        require(0.0 < self.beta <= 1000.0, "its beta is impossible")
        has_noise = self.noise is not None
        require(has_noise == (self.shape.output == "mean"), "its noise is impossible")
        require(not has_noise or 0.0 < (self.noise or 0.0) < math.inf, "its noise is impossible")

    @property
    def n_bytes(self) -> int:
        """Memory of its arrays."""
        arrays = (*self.posterior, *self.elbo, *self.snapshots)
        return sum(array.nbytes for array in arrays)


class TreePicture(NamedTuple):
    """One tree over rows, for its posterior mean, a draw or a moment of its training.

    Leaves are in units of y. The first tree of a boosted sum holds the mean of y; the others'
    leaves are what they add.
    """

    # (n_nodes, n_samples): probability of going right; node i has the children 2 i + 1 and 2 i + 2
    gates: np.ndarray
    reach: np.ndarray  # (n_leaves, n_samples): probability of each leaf, from left to right
    leaf_means: np.ndarray  # (n_leaves, n_samples)
    leaf_stds: np.ndarray  # the same, or (0, n_samples) where the tree predicts a mean only
    output: np.ndarray  # (n_samples,): `sum over leaves of reach * leaf_means` (eq. 4)


class ClassTreePicture(NamedTuple):
    """One tree of classes over rows: as `TreePicture`, with a probability for every class."""

    gates: np.ndarray
    reach: np.ndarray
    leaf_probabilities: np.ndarray  # (n_leaves, n_samples, n_classes)
    output: np.ndarray  # (n_samples, n_classes)


class TunedSoftTree(NamedTuple):
    """What `tune_soft_tree` tried; scores are (n_combinations,), in nats a validation row."""

    best: dict[str, float]  # the knobs of the highest score
    estimator: object  # fitted to all rows with them
    knobs: tuple[dict[str, float], ...]  # every combination
    scores: np.ndarray  # those of `scoring`: either of the two below
    scoring: str
    elbos: np.ndarray
    log_scores: np.ndarray  # mean log predictive density, or class probability
