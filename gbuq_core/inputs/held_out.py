"""Rows held out at random to tune on: the same ones in every estimator for one random state."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gbuq_core.errors import InvalidData
from gbuq_core.trees.importers.frames import join_frames
from gbuq_core.validation import check_number


class HeldOut(NamedTuple):
    """Positions of the rows to fit on and of those to tune on, both ascending."""

    fitted: NDArray[np.intp]
    tuned: NDArray[np.intp]


def hold_out(n_rows: int, fraction: float, seed: int) -> HeldOut:
    """Choose a share of the rows at random, leaving at least three.

    Parameters
    ----------
    n_rows : int
    fraction : float
        The share held out, above 0 and at most 0.9.
    seed : int

    Raises
    ------
    InvalidParameter
        If the fraction is out of its range.
    InvalidData
        If fewer than one row would be held out, or fewer than three would be left.

    Examples
    --------
    >>> fitted, tuned = hold_out(10, 0.2, seed=0)
    >>> len(fitted), len(tuned), sorted([*fitted.tolist(), *tuned.tolist()]) == list(range(10))
    (8, 2, True)
    """
    check_number("validation_fraction", fraction, 0, 0.9, low_open=True)
    n_tuned = round(fraction * n_rows)
    if n_tuned < 1 or n_rows - n_tuned < 3:
        raise InvalidData(
            f"n_samples = {n_rows} is too few to hold out a share of {fraction:g} and keep three "
            "rows to fit on: pass more rows, or validation rows."
        )
    order = np.random.default_rng(seed).permutation(n_rows)
    return HeldOut(np.sort(order[n_tuned:]), np.sort(order[:n_tuned]))


def take_rows(X: Any, chosen: NDArray[np.intp]) -> Any:
    """Rows of an array or a frame (n, n_features) by position."""
    return X.iloc[chosen] if isinstance(X, pd.DataFrame) else X[chosen]


def stack_rows(X: Any, more: Any) -> Any:
    """The rows of X and then those of ``more``: a frame if both are, else an array."""
    if isinstance(X, pd.DataFrame) and isinstance(more, pd.DataFrame):
        return join_frames(X, more)
    return np.concatenate([np.asarray(X), np.asarray(more)])
