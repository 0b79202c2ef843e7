"""Scores of different units on one scale: percentiles, and where those of methods lie apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.experiments.novelty.data import Array


class Disagreement(NamedTuple):
    """How far the methods' percentiles lie apart in each cell."""

    keys: tuple[str, ...]  # the methods that were held against each other
    spread: Array  # (n_cells,): the largest percentile minus the smallest, 0 to 100
    # `most`, `least`: (n_cells,): the place in `keys` of the method that ranks the cell highest,
    # and lowest; the first of those that tie
    most: npt.NDArray[np.int64]
    least: npt.NDArray[np.int64]


def rank_cells(values: npt.ArrayLike) -> Array:
    """Of each cell, the percentage of the other cells with a lower score; ties count by half."""
    scores = np.asarray(values, dtype=np.float64)
    there = ~np.isnan(scores)
    ranks, n = np.full(scores.shape, np.nan), int(there.sum())
    below, upto = _counts(scores[there], np.sort(scores[there]))
    ranks[there] = 50.0 * (below + upto - 1) / max(n - 1, 1)
    return ranks


def rank_among(values: npt.ArrayLike, rows: npt.ArrayLike) -> Array:
    """Of each cell, the percentage of training rows whose own score is lower; ties count by half.

    All scores above the highest of the rows have the rank 100: how far above, it does not tell.
    """
    scores, own = (np.asarray(each, dtype=np.float64) for each in (values, rows))
    own = np.sort(own[~np.isnan(own)])
    if not len(own):
        return np.full(scores.shape, np.nan)
    below, upto = _counts(scores, own)
    return np.where(np.isnan(scores), np.nan, 50.0 * (below + upto) / len(own))


def compare_ranks(keys: Sequence[str], ranks: Array) -> Disagreement:
    """Where percentiles (n_methods, n_cells) of methods lie apart, and who says what."""
    return Disagreement(
        tuple(keys),
        ranks.max(axis=0) - ranks.min(axis=0),
        ranks.argmax(axis=0),
        ranks.argmin(axis=0),
    )


def _counts(values: Array, ordered: Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """How many of the ordered numbers are below each value, and at most as large."""
    return np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")
