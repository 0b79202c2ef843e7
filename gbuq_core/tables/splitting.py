"""Parts of a table that a model does not learn from, so that its scores are honest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

N_FOLDS = 5


def assign_folds(
    y: NDArray[np.float64], stratify: bool, seed: int, n_folds: int = N_FOLDS
) -> NDArray[np.int64]:
    """A fold, 0 to ``n_folds - 1``, for each row with a target; -1 for rows without.

    Parameters
    ----------
    y : ndarray of shape (n_rows,), float64
        NaN where the target is not known.
    stratify : bool
        Deal the rows of each class in turn, so that folds have the same shares of classes.
    seed : int

    Examples
    --------
    >>> y = np.array([0.0, 0.0, 1.0, 1.0, np.nan])
    >>> folds = assign_folds(y, True, seed=0, n_folds=2)
    >>> sorted(folds[:2].tolist()), sorted(folds[2:4].tolist()), int(folds[4])
    ([0, 1], [0, 1], -1)
    """
    known = np.flatnonzero(~np.isnan(y))
    order = known[np.random.default_rng(seed).permutation(len(known))]
    if stratify:
        # Sorted by class, shuffled within; dealing goes on from one class to the next, so that no
        # fold is favoured by what is left over.
        order = order[np.argsort(y[order], kind="stable")]
    folds = np.full(len(y), -1, dtype=np.int64)
    folds[order] = np.arange(len(order)) % n_folds
    return folds


def held_out_fifth(y: NDArray[np.float64], stratify: bool, seed: int) -> NDArray[np.bool_]:
    """Which rows are held out: one fold of five, but no class as a whole.

    Examples
    --------
    >>> y = np.r_[np.zeros(9), 1.0]
    >>> bool(held_out_fifth(y, True, seed=0)[9])
    False
    """
    if not stratify:
        return assign_folds(y, False, seed) == 0
    codes = np.where(np.isnan(y), 0, y).astype(np.int64)
    n_rows = np.bincount(codes[~np.isnan(y)])
    return assign_folds(np.where(n_rows[codes] == 1, np.nan, y), True, seed) == 0
