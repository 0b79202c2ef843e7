"""Rows as the trees measure them, kept so that another tail of their z-scores costs little.

`gbuq_core.macau.novelty.score_novelty` gives the same means, and spreads, without keeping anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gbuq_core.macau.covariance_kernels import write_distances
from gbuq_core.macau.leaves import LeafScaling, LeafTable
from gbuq_core.macau.novelty import LeafQuantiles, NoveltyModel, z_scores
from gbuq_core.parallel import parallel_map

_SHARE_CELLS = 200_000  # rows x trees of one share of a thread


class Predicted(NamedTuple):
    """What inference novelty compares, of some of the rows.

    rows : (k,) int64, which of them.
    values : (k, m) float64
        Predictions of m trees' leaves.
    leaves : (k, m) int64
        The numbers of these leaves.
    quantiles : LeafQuantiles
    """

    rows: np.ndarray
    values: np.ndarray
    leaves: np.ndarray
    quantiles: LeafQuantiles


class Measured(NamedTuple):
    """Distances of rows in all and in path features, (n, n_trees) float64, and predictions."""

    distances: np.ndarray
    path_distances: np.ndarray
    predicted: tuple[Predicted, ...]


class MeanNovelty(NamedTuple):
    """The first three fields of `gbuq_core.macau.results.Novelty`, (n,) each."""

    novelty: np.ndarray
    conditional_novelty: np.ndarray
    inference_novelty: np.ndarray


def measure_rows(
    X: np.ndarray,
    numbers: np.ndarray,
    predicted: Sequence[Predicted],
    table: LeafTable,
    scaling: LeafScaling,
    model: NoveltyModel,
    n_jobs: int | None = None,
) -> Measured:
    """Measure rows X (n, n_features) in their leaves (n, n_trees).

    Parameters as in `gbuq_core.macau.novelty.score_novelty`.
    """
    found = Measured(np.empty(numbers.shape), np.empty(numbers.shape), tuple(predicted))
    size = max(1, _SHARE_CELLS // max(1, table.n_trees))

    def work(start: int) -> None:
        rows = slice(start, start + size)
        write_distances(
            X[rows], numbers[rows], table, scaling, model,
            found.distances[rows], found.path_distances[rows],
        )  # fmt: skip

    parallel_map(work, range(0, len(X), size), n_jobs)
    return found


def mean_novelty(
    measured: Measured, model: NoveltyModel, tail: str, n_jobs: int | None = None
) -> MeanNovelty:
    """Means over the trees of the z-scores of what was measured, to the last bit as without."""
    n, n_trees = measured.distances.shape
    out = np.empty((3, n))
    size = max(1, _SHARE_CELLS // max(1, n_trees))

    def work(start: int) -> None:
        rows = slice(start, start + size)
        distances = measured.distances[rows]
        trees = np.tile(np.arange(n_trees, dtype=np.int64), (len(distances), 1))
        begin = model.quantile_begin
        out[0, rows] = z_scores(distances, trees, begin, model.quantiles, tail).mean(axis=1)
        out[1, rows] = z_scores(
            measured.path_distances[rows], trees, begin, model.path_quantiles, tail
        ).mean(axis=1)

    parallel_map(work, range(0, n, size), n_jobs)
    for rows, values, leaves, quantiles in measured.predicted:
        z = z_scores(values, leaves, quantiles.begin, quantiles.quantiles, tail, of_leaves=True)
        out[2, rows] = z.mean(axis=1)
    return MeanNovelty(*out)
