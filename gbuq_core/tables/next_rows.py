"""Which rows should be labelled next: uncertain or unfamiliar ones, each unlike those before it.

A row's weight is its knowledge uncertainty over the mean of the rows in question, plus its
unfamiliarity over theirs. Rows are correlated by affinity: the share of the trees in which they
fall into the same leaf, which is a positive definite kernel (Davies and Ghahramani 2014). The row
with the largest weight comes first; what it says about the others by this correlation is taken off
their weights, as a Gaussian process would, and so on. A copy of a chosen row has no weight left.

This is the greedy search for the likeliest set of a determinantal point process, with the weights
as qualities (Kulesza and Taskar 2012; Chen, Zhang and Zhou 2018), and the steps are those of a
pivoted Cholesky factorisation. The sum of the two weights is our own choice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gbuq_core.errors import InvalidData
from gbuq_core.ibug.affinity import count_affinities, pack_leaves
from gbuq_core.jobs import check_memory, stage, tick
from gbuq_core.presentation import percent
from gbuq_core.tables.files import free_name
from gbuq_core.tables.plan import MOST_NEXT, ScorePlan
from gbuq_core.tables.predicting import fit_rows, read_by_model, stacked_model
from gbuq_core.tables.scoring import ScoredTable
from gbuq_core.tables.unfamiliar import measure_unfamiliarity, reasons_of, say_reason
from gbuq_core.validation import check_number

_MOST_TREES = 200
_NOTHING_LEFT = 1e-9  # of the largest weight
_OWN_TREES = 100


@dataclass(frozen=True, kw_only=True)
class NextRows:
    """Rows to label, the first one first.

    Attributes
    ----------
    rows : ndarray of shape (n_chosen,), int64
        Positions among the scored rows, from 0.
    weight : ndarray of shape (n_chosen,)
        Before other rows were chosen; 2 is the mean of all candidates (1 where no knowledge
        uncertainty is known).
    left : ndarray of shape (n_chosen,)
        The share of it that the rows chosen before had left.
    knowledge, unfamiliarity : ndarray of shape (n_chosen,)
        A variance of the target or nats; and 0 to 1.
    reasons : tuple of str
        Why each was chosen. They may hold names of columns.
    n_candidates : int
    """

    rows: NDArray[np.int64]
    weight: NDArray[np.float64]
    left: NDArray[np.float64]
    knowledge: NDArray[np.float64]
    unfamiliarity: NDArray[np.float64]
    reasons: tuple[str, ...]
    n_candidates: int

    def first(self, n: int) -> NextRows:
        """The first rows only: the order does not depend on how many are asked for."""
        return replace(
            self,
            rows=self.rows[:n],
            weight=self.weight[:n],
            left=self.left[:n],
            knowledge=self.knowledge[:n],
            unfamiliarity=self.unfamiliarity[:n],
            reasons=self.reasons[:n],
        )


def rank_next(scored: ScoredTable, n: int = 50, rows: NDArray[np.int64] | None = None) -> NextRows:
    r"""Rank the rows without a target by what their labels are worth.

    Parameters
    ----------
    scored : ScoredTable
        The rows of its second file are ranked, or those of the first if there is no second. If
        unfamiliarity is not added yet, it is measured here.
    n : int
        How many rows to choose, 1000 at most. Fewer are returned where the others are copies.
    rows : ndarray of int64, optional
        Positions of the candidates; by default all rows without a target.

    Raises
    ------
    InvalidData
        If there is no such row.

    Examples
    --------
    Twenty copies of a strange row are one row to label:

    >>> from gbuq_core.tables import ScorePlan, rank_next, read_table, score_table
    >>> lines = "\n".join(f"{i % 7},{i % 5},{i % 7 + 0.1 * (i % 3)}" for i in range(60))
    >>> copies = "9,9,\n" * 20
    >>> new = read_table(f"x,z,y\n3,2,\n{copies}0,4,\n".encode(), to_score=True)
    >>> scored = score_table(read_table(f"x,z,y\n{lines}".encode()), "y", new=new,
    ...                      plan=ScorePlan(method="sglb", n_trees=40))
    >>> ranked = rank_next(scored, n=3)
    >>> int(ranked.rows[0]), int(np.sum((ranked.rows > 0) & (ranked.rows < 21)))
    (1, 1)
    """
    check_number("n", n, 1, MOST_NEXT, integer=True)
    rows = np.flatnonzero(~scored.scored.known) if rows is None else np.asarray(rows, np.int64)
    if not len(rows):
        raise InvalidData(
            "Every row has a target already: open a second file with rows that have none."
        )
    check_memory(16 * len(rows) * (_MOST_TREES + n), "ranking these rows")
    familiar = scored.unfamiliarity or measure_unfamiliarity(
        scored.training, scored.scored, scored.plan.seed, scored.plan.n_jobs
    )
    its_own = np.maximum(scored.predictions.uncertainty.knowledge[rows], 0.0)
    knowledge = np.nan_to_num(its_own)  # what is not known moves no row up
    unfamiliarity = familiar.rows.score[rows]
    parts = np.stack([_over_mean(knowledge), _over_mean(unfamiliarity)])
    weight = parts.sum(axis=0)
    leaves = _leaves(scored, rows)
    train = pack_leaves(leaves)

    def affinity(place: int) -> NDArray[np.float64]:
        with stage(1.0, span=1.0):
            counts = count_affinities(train, leaves[[place]], n_jobs=1)[0]
        return counts / leaves.shape[1]

    with stage(float(min(n, len(rows)))):
        chosen, left = choose_unlike(weight, affinity, n)
    order = np.sort(knowledge)
    below = np.searchsorted(order, knowledge[chosen]) / len(order)
    why = reasons_of(scored, familiar, rows[chosen])
    reasons = tuple(
        _capital(say_reason(reason))
        if is_unfamiliar
        else f"The members disagree about it more than about {percent(share, 0)} of these rows"
        for reason, is_unfamiliar, share in zip(
            why, unfamiliarity[chosen] >= below, below, strict=True
        )
    )
    return NextRows(
        rows=rows[chosen],
        weight=weight[chosen],
        left=left,
        knowledge=its_own[chosen],
        unfamiliarity=unfamiliarity[chosen],
        reasons=reasons,
        n_candidates=len(rows),
    )


def choose_unlike(
    weight: NDArray[np.float64], affinity: Callable[[int], NDArray[np.float64]], n: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Rows of large weight that are unlike each other, and the share of it that each had left.

    ``C = sqrt(w_i w_j) A_ij`` is the prior covariance. The row with the largest variance given the
    rows chosen so far comes next; of equal ones the first (Chen, Zhang and Zhou, 2018, "Fast greedy
    MAP inference for determinantal point process", algorithm 1).
    """
    root, variance = np.sqrt(weight), weight.astype(np.float64)
    least = _NOTHING_LEFT * float(weight.max(initial=0.0))
    n = min(n, len(weight))
    factor = np.empty((n, len(weight)))
    chosen: list[int] = []
    left: list[float] = []
    while len(chosen) < n:
        tick(float(len(chosen)))
        row = int(variance.argmax())
        if variance[row] <= least:
            break
        k = len(chosen)
        covariance = root[row] * root * affinity(row)
        step = (covariance - factor[:k, row] @ factor[:k]) / np.sqrt(variance[row])
        chosen.append(row)
        left.append(float(variance[row] / weight[row]))
        factor[k] = step
        variance = np.maximum(variance - step**2, 0.0)
        variance[row] = 0.0
    return np.array(chosen, np.int64), np.array(left)


def next_frame(scored: ScoredTable, ranked: NextRows) -> pd.DataFrame:
    """A table to hand to whoever labels: `gbuq_core.tables.to_csv_bytes` writes it.

    ``row`` is the number in the file (`gbuq_core.tables.Table`). Then come ``rank``, the columns of
    the file, an empty one for the target if the file has none, and ``knowledge_uncertainty``,
    ``unfamiliarity`` and ``reason``.
    """
    renamed = {new: old for old, new in scored.added.renamed}
    own = [name for name in scored.frame.columns if name not in scored.added.names]
    taken = {str(name) for name in own}
    cells = scored.frame[own].iloc[ranked.rows].reset_index(drop=True)
    target = scored.training.target.name
    columns: dict[str, Any] = {
        free_name("row", taken): scored.scored.row_numbers[ranked.rows],
        free_name("rank", taken): np.arange(1, len(ranked.rows) + 1),
    }
    columns |= {name: cells[name] for name in own}
    if target not in {renamed.get(name, name) for name in own}:
        columns[free_name(target, taken)] = pd.array([""] * len(cells), dtype="str")
    columns[free_name("knowledge_uncertainty", taken)] = ranked.knowledge
    columns[free_name("unfamiliarity", taken)] = ranked.unfamiliarity
    columns[free_name("reason", taken)] = pd.array(list(ranked.reasons), dtype="str")
    return pd.DataFrame(columns)


def _over_mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    mean = float(values.mean())
    return values / mean if mean > 0.0 else np.zeros(len(values))


def _leaves(scored: ScoredTable, rows: NDArray[np.int64]) -> NDArray[np.int32]:
    """Leaves of at most 200 trees, spread over the model, (n_rows, n_trees)."""
    model = scored.models[0].estimator
    X, law = read_by_model(model, scored.scored.X.iloc[rows]), stacked_model(model)
    model = model if law is None else law.estimator_
    if not hasattr(model, "leaf_indices"):  # a method without trees of ours
        learnt = np.flatnonzero(scored.training.known)
        own = ScorePlan(
            ensemble="virtual", n_trees=_OWN_TREES, stopping=None, seed=scored.plan.seed
        )
        model, X = fit_rows(own, scored.training, learnt), scored.scored.X.iloc[rows]
    leaves = model.leaf_indices(X)
    n_trees = leaves.shape[1]
    trees = np.unique(np.linspace(0, n_trees - 1, min(_MOST_TREES, n_trees)).astype(np.int64))
    return np.ascontiguousarray(leaves[:, trees], dtype=np.int32)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
