"""The models of a class in the leaves of its trees: logistic regressions, or shares."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gbuq_core.array_checks import begins
from gbuq_core.macau.leaves import LeafScaling, LeafTable, Members
from gbuq_core.macau.logistic_kernels import fit_logistic_leaves, write_class_members
from gbuq_core.macau.novelty import LeafQuantiles, fit_inference
from gbuq_core.parallel import parallel_map
from gbuq_core.progress import advance
from gbuq_core.resources import check_memory

# An eigenvalue below this share of the largest one is no information, on a scale on which every
# feature has as much.
_NO_INFORMATION = 1e-12


class LogisticLeaves(NamedTuple):
    """A logistic regression in every leaf, on its path features and its own scaling."""

    # (len(table.path) + n_leaves,) float64: leaf g with k features has k weights and then its
    # intercept, which is infinite where all of its rows are of one class: the first of them stands
    # at `table.path_begin[g] + g`
    weights: np.ndarray
    # (n_leaves + 1,) int64: leaf g has the covariance (k, k) `covariance[first[g]:first[g + 1]]` of
    # equation 3
    first: np.ndarray
    covariance: np.ndarray  # (first[-1],) float64


class ClassLeaves(NamedTuple):
    """What the leaves of some trees say about one class against all others."""

    trees: np.ndarray  # (k,) int64: the trees that are about this class
    logistic: LogisticLeaves | None
    shares: np.ndarray  # (n_leaves,) float64: the class's shares in the leaves
    quantiles: LeafQuantiles  # of the probabilities of the leaves' training rows


def fit_class(
    X: np.ndarray,
    target: np.ndarray,
    trees: np.ndarray,
    table: LeafTable,
    scaling: LeafScaling,
    linear: bool,
    n_jobs: int | None = None,
) -> ClassLeaves:
    """Fit the models of one class in the leaves of its trees (section 3.1.2, eq. 3)."""
    labels = target[table.rows]
    sizes = np.maximum(np.diff(table.begin), 1)
    filled = np.append(labels, 0.0)  # so that reduceat may start at the end
    shares = np.add.reduceat(filled, table.begin[:-1]) / sizes
    shares[np.diff(table.begin) == 0] = 0.0
    if not linear:
        fitted = np.repeat(shares, np.diff(table.begin))
        return ClassLeaves(trees, None, shares, fit_inference(fitted, table, n_jobs))
    lengths = np.diff(table.path_begin)
    first = begins(lengths**2)
    n_weights = len(table.path) + table.n_leaves
    check_memory(8 * (n_weights + 2 * int(first[-1]) + 2 * len(labels)), "these leaf models")
    model = LogisticLeaves(np.zeros(n_weights), first, np.zeros(first[-1]))
    fitted = np.zeros(len(table.rows))

    def work(span: tuple[int, int]) -> None:
        fit_logistic_leaves(X, target, *span, table, scaling, model, fitted)
        advance(0.0)

    spans = [(int(table.first[t]), int(table.first[t + 1])) for t in trees]
    if table.fallback >= 0:
        spans.append((table.fallback, table.fallback + 1))
    parallel_map(work, spans, n_jobs)
    _invert(model, lengths)
    return ClassLeaves(trees, model, shares, fit_inference(fitted, table, n_jobs))


def _invert(model: LogisticLeaves, lengths: np.ndarray) -> None:
    """Overwrite ``X^T V X`` of every leaf by its pseudo-inverse.

    Each feature is brought to a diagonal of one before, so that what counts as no information
    does not depend on the features' scales.
    """
    for k in np.unique(lengths):
        every, size = np.flatnonzero(lengths == k), max(1, 1_000_000 // int(k * k))
        for start in range(0, len(every), size):  # so that the matrices stay small
            cells = model.first[every[start : start + size]][:, None] + np.arange(k * k)
            matrices = model.covariance[cells].reshape(-1, k, k)
            spread = np.sqrt(np.diagonal(matrices, axis1=1, axis2=2))
            spread[spread == 0.0] = 1.0
            unit = spread[:, :, None] * spread[:, None, :]
            inverses = np.linalg.pinv(matrices / unit, rcond=_NO_INFORMATION, hermitian=True)
            model.covariance[cells] = (inverses / unit).reshape(-1, k * k)


def predict_class(
    X: np.ndarray,
    numbers: np.ndarray,
    table: LeafTable,
    scaling: LeafScaling,
    leaves: ClassLeaves,
    n_jobs: int | None = None,
) -> Members:
    """Probability of a class and its variance in every tree about it (eq. 4 and 5)."""
    own = np.ascontiguousarray(numbers[:, leaves.trees])
    model = leaves.logistic
    if model is None:
        mean = leaves.shares[own]
        return Members(mean, mean * (1.0 - mean))
    out = Members(np.empty(own.shape), np.empty(own.shape))
    size = max(1, 200_000 // max(1, own.shape[1]))

    def work(start: int) -> None:
        rows = slice(start, start + size)
        write_class_members(
            X[rows], own[rows], table, scaling, model, out.means[rows], out.variances[rows]
        )
        advance(0.0)

    parallel_map(work, range(0, len(X), size), n_jobs)
    return out
