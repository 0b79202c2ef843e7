"""Ranks of measures among rows that were held out, and one rank from all of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gbuq_core.model_files.contents import check_arrays, require


class Reference(NamedTuple):
    """The held-out rows of a fold, which say what is ordinary."""

    sorted: NDArray[np.float64]  # (n_parts, n) float64: each measure's values in order
    joint: NDArray[np.float64]  # (n,) float64: `join_ranks` of the same rows in order

    def check_file(self) -> None:
        """Refuse values that do not rise."""
        n_parts = self.sorted.shape[0]
        check_arrays(self, joint=("finite", None), sorted=("finite", n_parts, len(self.joint)))
        rising = (np.diff(self.joint) >= 0.0).all() and (np.diff(self.sorted) >= 0.0).all()
        require(len(self.joint) >= 1 and rising, "its ranks are not in order")


def make_reference(values: NDArray[np.float64]) -> Reference:
    """From the measures (n_parts, n) of the held-out rows."""
    ordered = np.sort(values, axis=1)
    joint = join_ranks(part_ranks(ordered, values, own=True), values.shape[1])
    return Reference(ordered, np.sort(joint))


def part_ranks(
    ordered: NDArray[np.float64], values: NDArray[np.float64], *, own: bool = False
) -> NDArray[np.float64]:
    """The share of the reference rows that lie below each value, (n_parts, n_rows).

    Reference rows, which are their ``own``, are ranked among the others, as new rows are among all.
    Only what is larger than the largest value of the others has rank 1.
    """
    n_others = max(1, ordered.shape[1] - own)
    pairs = zip(ordered, values, strict=True)
    below = np.stack([np.searchsorted(part, row) for part, row in pairs])
    return np.minimum(below / n_others, 1.0)


def join_ranks(ranks: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """One number for the ranks (n_parts, n_rows) of each row among ``n`` others, (n_rows,).

    It is the sum of ``1 / (1 - rank + 1 / 2n)``, a soft maximum: the largest rank counts most, and
    among rows with the same largest rank the others decide. Its inverse is the harmonic mean of
    p-values, which may depend on each other.

    Wilson, "The harmonic mean p-value for combining dependent tests", PNAS 116 (2019).

    >>> join_ranks(np.array([[1.0, 0.75, 0.75], [0.0, 0.75, 0.5]]), 4).round(1).tolist()
    [8.9, 5.3, 4.3]
    """
    # Rounded, so that rows with the same ranks in another order are equal.
    return np.round((1.0 / (1.0 - ranks + 0.5 / n)).sum(axis=0), 7)


def rank_rows(
    reference: Reference, ranks: NDArray[np.float64], *, own: bool = False
) -> NDArray[np.float64]:
    """The share of the reference rows with a smaller joint rank, (n_rows,) from 0 to 1.

    Half of the equal ones count. A new row that is beyond all by one measure gets 1.
    """
    joint, n = join_ranks(ranks, len(reference.joint)), len(reference.joint)
    below, upto = (np.searchsorted(reference.joint, joint, side=s) for s in ("left", "right"))
    score = 0.5 * (below + upto) / n
    return score if own else np.where(ranks.max(axis=0) >= 1.0, 1.0, score)
