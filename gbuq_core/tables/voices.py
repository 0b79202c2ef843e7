"""The stacked law around the trees of a table: each model's is weighed by other held-out rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gbuq_core.lazy import why_missing
from gbuq_core.presentation import enumerated, short
from gbuq_core.stacking.outliers import find_outliers, tame_targets
from gbuq_core.tables.cleaning import Prepared
from gbuq_core.tables.plan import ScorePlan
from gbuq_core.tables.predicting import FittedModel, ListedModel

_MOST_NAMED = 10  # rows with outlying targets
# Seconds on one core, measured once on tables of 150 to 6,000 rows and 6 to 20 columns: shares of a
# bar follow from them, and nothing else.
_PER_TREE, _ROWS_OF_TREE = 1.2e-8, 2000  # a tree, by column and row; what it costs without rows
_LAW_TAKES, _PER_ROW, _PER_FEW_ROWS, _FEW_ROWS = 0.4, 3e-4, 4e-3, 400


def shares_of_work(training: Prepared, plan: ScorePlan, n_fits: int) -> tuple[float, float]:
    """How much of the work is that of so many fits of trees, and that of the law around them."""
    n_rows, n_columns = training.X.shape
    n_trees = plan.trees * (1 if plan.ensemble == "virtual" else plan.members)
    of_trees = _PER_TREE * n_fits * n_trees * n_columns * (_ROWS_OF_TREE + n_rows)
    return of_trees, _LAW_TAKES + _PER_ROW * n_rows + _PER_FEW_ROWS * min(n_rows, _FEW_ROWS)


def outlying_rows(training: Prepared) -> NDArray[np.intp]:
    """Places of the rows whose targets lie far outside all others."""
    known = np.flatnonzero(training.known)
    return known[:0] if training.target.classes else known[find_outliers(training.y[known])]


def tamed(training: Prepared) -> Prepared:
    """The rows as the trees of a law learn them: outlying targets as the nearest ordinary one."""
    return training._replace(y=tame_targets(training.y, outlying_rows(training)))


def stack(
    training: Prepared,
    plan: ScorePlan,
    models: list[FittedModel],
    groups: list[NDArray[np.int64]],
    whole: FittedModel | None,
) -> tuple[list[FittedModel], FittedModel | None]:
    """A law around each of some trees for a group of rows that they have not seen; one for others.

    No row has a say in its own law, and the rows of a model are those that its neighbours may be.
    """
    from gbuq_core.stacking.base import Around

    rows = np.sort(np.concatenate(groups))
    target = training.target.task
    listed = ListedModel(plan.method, target, {}, plan.n_jobs, plan.seed)
    around = Around(
        tuple(model.estimator for model in models),
        tuple(np.searchsorted(rows, group) for group in groups),
        None if whole is None else whole.estimator,
    )
    y = training.y[rows]
    law = listed.estimator
    split = training.split
    laws_around = law.fit_around(
        training.X.iloc[rows],
        y.astype(np.int64) if training.target.classes else y,
        around,
        split.codes[rows] if split is not None and split.by == "group" else None,
    )

    def fitted(law: Any, of_trees: NDArray[np.int64], seen: NDArray[np.int64]) -> FittedModel:
        return FittedModel(listed.stacked_on(law, training.X.iloc[of_trees]), seen)

    seen = [rows[split.fitted] for split in around.splits()]
    learnt = [model.rows for model in models]
    laws = [fitted(*parts) for parts in zip(laws_around, learnt, seen, strict=True)]
    return laws, None if whole is None else fitted(law, whole.rows, rows)


class TableLaw(NamedTuple):
    """What the stacked law of a table found."""

    weights: dict[str, float]  # of each voice, as a mean over the models
    support: str  # of a regression, else empty
    resolution: float | None  # the step of a regression's targets, NaN without one, else None


def law_found(models: Sequence[FittedModel]) -> TableLaw | None:
    """What the law around a table's trees found; None without one."""
    laws: list[Any] = [getattr(model.estimator, "estimator", None) for model in models]
    if not hasattr(laws[0], "weights_"):
        return None
    weights = {
        name: sum(law.weights_[name] for law in laws) / len(laws) for name in laws[0].weights_
    }
    if not hasattr(laws[0], "support_"):
        return TableLaw(weights, "", None)
    step = laws[0].resolution_
    if round(step / 10.0 ** math.floor(math.log10(step)), 6) not in (1.0, 2.0, 5.0):
        step = 1.0 if laws[0].support_.whole else math.nan  # the finest that scores tell apart
    return TableLaw(weights, " ".join(laws[0].describe()), step)


_VOICES = {
    "trees": "the trees", "residuals": "the residuals of rows like it",
    "targets": "the targets of rows like it", "process": "a smooth process",
}  # fmt: skip


def describe_law(models: Sequence[FittedModel], training: Prepared) -> list[str]:
    """Who speaks, which values the target can have, and which rows have others than all."""
    law = law_found(models)
    if law is None:
        return []
    order = sorted(law.weights, key=lambda name: -law.weights[name])
    shares = [
        f"{100 * law.weights[name]:.0f} % from {_VOICES[name]}"
        for name in order
        if law.weights[name] >= 0.005
    ]
    sentences = [
        f"What is said of a row comes to {', '.join(shares)} (weighed on rows that none had seen)."
    ]
    missing = why_missing("lightgbm")
    if missing:
        sentences.append(f"Rows like a row have no say in it. {missing}")
    if law.support:
        step = law.resolution
        steps = f" Its values differ by steps of {short(step)}." if step and step == step else ""
        sentences.append(law.support + steps)
    odd = outlying_rows(training)
    if len(odd) and len(training.row_numbers):
        rows = enumerated([f"{number:,}" for number in training.row_numbers[odd[:_MOST_NAMED]]])
        more = f", and {len(odd) - _MOST_NAMED:,} more" if len(odd) > _MOST_NAMED else ""
        sentences.append(f"Rows whose targets lie far outside all others: {rows}{more}.")
    return sentences
