"""What every boosting kernel shares: the numbers of a fit and the arrays of one member."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gbuq_core.boosting.schedule import Schedule
from gbuq_core.trees.forest import ObliviousForest, empty_forest
from gbuq_core.trees.growing_kernels import BinnedRows, TreeScratch, make_tree_scratch

# Number of outputs for which a kernel with unrolled loops is compiled; others share a general one.
_UNROLLED_OUTPUTS = (2, 3)


class StepNumbers(NamedTuple):
    """The numbers of a fit, as the kernels read them.

    ``noise`` is ``sqrt(2 / (learning_rate * diffusion_temperature))`` (0 without Langevin noise)
    and ``leaf_noise`` the same, or 0 where only the choice of splits is noisy;
    ``decay`` is ``1 - model_shrink_rate * learning_rate``, ``subsample`` a share of the rows;
    a Gaussian's log std does not follow its gradient below ``log_std_floor``; ``schedule`` holds
    what changes from tree to tree.
    """

    learning_rate: float
    l2: float
    noise: float
    leaf_noise: float
    decay: float
    random_strength: float
    n_rows: float
    subsample: float
    newton: bool
    log_std_floor: float
    schedule: Schedule


class MemberState(NamedTuple):
    """One member in training: its trees so far, its predictions, and memory that its trees reuse.

    ``raw`` (n, n_outputs) is the current raw prediction of each cell; ``gradients`` (n, n_outputs),
    ``curvature`` (n, n_curvature) and ``channels`` (n, n_outputs + 1) belong to the current tree,
    ``leaf_sums`` (max_leaves, n_leaf_sums) to its leaves. ``trace`` (2, n_trees + 1) keeps the mean
    NLL of the training rows before each tree and after the last, and each tree's root mean square.
    """

    forest: ObliviousForest
    raw: np.ndarray
    gradients: np.ndarray
    curvature: np.ndarray
    channels: np.ndarray
    leaf_sums: np.ndarray
    trace: np.ndarray
    scratch: TreeScratch


def start_member(
    rows: BinnedRows, start: np.ndarray, n_trees: int, depth: int, n_leaf_sums: int
) -> MemberState:
    """A member without trees whose raw prediction is ``start`` (n_outputs,) everywhere."""
    n_cells, n_outputs = rows.codes.shape[0], start.shape[0]
    return MemberState(
        forest=empty_forest(n_trees, depth, n_outputs),
        raw=np.tile(start, (n_cells, 1)),
        gradients=np.empty((n_cells, n_outputs)),
        curvature=np.empty((n_cells, n_outputs)),
        channels=np.empty((n_cells, n_outputs + 1)),
        leaf_sums=np.empty((2**depth, n_leaf_sums)),
        trace=np.zeros((2, n_trees + 1)),
        scratch=make_tree_scratch(n_cells, depth, rows.slot_bin.shape[0], n_outputs + 1),
    )


def unrolled_width(n_outputs: int) -> tuple[int, ...]:
    """The ``width`` argument of the tree kernels: one entry a channel, or empty for any number."""
    return (0,) * (n_outputs + 1) if n_outputs in _UNROLLED_OUTPUTS else ()
