"""What an ensemble tells about its fit: cost, the course of training, members while they grow."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from gbuq_core.errors import InvalidParameter


class FitEstimate(NamedTuple):
    """What a fit will cost on this machine, roughly: seconds and peak memory in bytes."""

    seconds: float
    bytes: int


class FitTrace(NamedTuple):
    """How the training of one model went, tree by tree, (n_trees,) each.

    ``n_trees`` counts 1, 2, ...; ``scale`` is the factor of that tree's gradients (eq. 7 of the
    cyclical paper, else 1); ``train_loss`` the mean negative log likelihood of the training rows
    with that many trees, in nats, for regression of the target in its own unit; ``leaf_norm`` the
    root mean square over rows of what the tree added to the raw outputs.
    """

    n_trees: np.ndarray
    scale: np.ndarray
    train_loss: np.ndarray
    leaf_norm: np.ndarray


class StagedMembers(NamedTuple):
    """Members while they grow: n_trees (n_stages,) and members (n_stages, n_members, n_samples, 2
    or n_classes), as `predict_members` of an ensemble trained for that many trees would give them.
    """

    n_trees: np.ndarray
    members: np.ndarray


class ValidationLosses(NamedTuple):
    """n_trees (n_stages,) and the mean negative log likelihood in nats, (n_models, n_stages)."""

    n_trees: np.ndarray
    loss: np.ndarray


def check_stages(at: Any, n_trees: int) -> np.ndarray:
    """Numbers of trees that a caller wants to see a model at."""
    stages = np.asarray(at)
    usable = stages.ndim == 1 and len(stages) > 0 and np.issubdtype(stages.dtype, np.integer)
    if not usable or stages[0] < 1 or stages[-1] > n_trees or (np.diff(stages) <= 0).any():
        raise InvalidParameter(
            f"at must be rising whole numbers of trees from 1 to {n_trees}; got {at!r}."
        )
    return stages.astype(np.int64)
