"""A scored table looked at in other ways, without training again.

`gbuq_core.tables.score_table` trains and judges. Here its models are cut at other truncation points
or to fewer members (eq. 15 of the virtual-ensembles paper), so that no knob of the view trains.
Where the models stop, the factor and the tails stay as the table's rows chose them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gbuq_core.tables.cleaning import Prepared
from gbuq_core.tables.intervals import refresh_output
from gbuq_core.tables.plan import Cut
from gbuq_core.tables.predicting import (
    FittedModel,
    Predictions,
    all_classes,
    is_on_log_scale,
    judge_members,
    predict_rows,
    tails_of,
)
from gbuq_core.tables.scoring import ScoredTable, evaluate_measured, evaluate_rows, joined
from gbuq_core.validation import check_number

_MOST_STAGE_BYTES = 32_000_000


class CutModel:
    """A fitted ensemble of which only the members of a cut predict."""

    def __init__(self, estimator: Any, cut: Cut) -> None:
        self.estimator, self.cut = estimator, cut
        self.classes_ = getattr(estimator, "classes_", None)
        self.clocks_ = getattr(estimator, "clocks_", None)
        self.target_ = getattr(estimator, "target_", None)
        self.memory_bytes_ = 0  # it holds nothing but the estimator, which is counted elsewhere

    @property
    def n_members(self) -> int:
        """How many members count."""
        plan = self.estimator.plan_
        there = len(self._points) if plan.ensemble == "virtual" else plan.n_models
        return there if self.cut.members is None else min(there, self.cut.members)

    @property
    def places(self) -> NDArray[np.int64]:
        """Which of the members that `possible_members` gives count, (n_members,)."""
        if self.estimator.plan_.ensemble != "virtual":
            return np.arange(self.n_members)
        return np.searchsorted(_possible_points(self.estimator), self._points[-self.n_members :])

    @property
    def changes_nothing(self) -> bool:
        """Whether the same members count as without the cut."""
        here, there = self.estimator.member_trees(), self._points
        plan = self.estimator.plan_
        whole = len(here) if plan.ensemble == "virtual" else plan.n_models
        return np.array_equal(here, there) and self.n_members == whole

    def predict_members(self, X: pd.DataFrame) -> np.ndarray:
        """As the estimator's own, of the members that count."""
        return self.estimator.predict_members(X, **self.chosen)

    @property
    def chosen(self) -> dict[str, Any]:
        """The members that count, as keywords of the estimator's predicting methods."""
        cut = self.cut
        return {
            "truncation_step": cut.step,
            "truncation_start": cut.start,
            "n_members": self.n_members,
            "burn_in_cycles": cut.burn_in,
        }

    def inspect_rows(self, X: pd.DataFrame) -> Any:
        """As the estimator's own."""
        return self.estimator.inspect_rows(X)

    @property
    def _points(self) -> NDArray[np.int64]:
        cut = self.cut
        return self.estimator.member_trees(cut.step, cut.start, cut.burn_in)


class Stages(NamedTuple):
    """What every possible member says of its model's rows, so that a cut predicts nothing."""

    scored: tuple[NDArray[np.float64], ...]  # (n_possible, n_rows, 2 or n_classes) a model
    measured: tuple[NDArray[np.float64], ...]  # of Measured models


def stage_table(scored: ScoredTable, most_bytes: int = _MOST_STAGE_BYTES) -> Stages | None:
    """Predictions of all possible members; None if they are too many, not ours, or CatBoost's."""
    # CatBoost sums up its truncations in another order: a cut would differ in the last digit.
    if scored.plan.engine == "catboost" or scored.plan.listed:
        return None
    n_classes = len(scored.training.target.classes)
    parts = [(model, scored.scored.X.iloc[rows]) for model, rows in _rows_by_model(scored)]
    parts += [(kept.model, scored.training.X.iloc[kept.rows]) for kept in scored.measured]
    n_bytes = sum(
        8 * _n_possible(model.estimator) * len(X) * max(2, n_classes) for model, X in parts
    )
    if n_bytes > most_bytes:
        return None
    stages = [
        all_classes(possible_members(model.estimator, X), model.estimator, n_classes)
        if len(X)
        else np.empty((0, 0, 0))
        for model, X in parts
    ]
    n_models = len(scored.models)
    return Stages(tuple(stages[:n_models]), tuple(stages[n_models:]))


def possible_members(estimator: Any, X: pd.DataFrame) -> NDArray[np.float64]:
    """Predictions of all members that a cut may choose from, (n_possible, n_rows, n_outputs)."""
    is_virtual = estimator.plan_.ensemble == "virtual"
    return estimator.predict_members(X, **(_every_member(estimator) if is_virtual else {}))


def _every_member(estimator: Any) -> dict[str, Any]:
    """All members of a virtual ensemble, as keywords of its predicting methods."""
    if estimator.plan_.cyclical:
        return {"burn_in_cycles": 0}
    return {"truncation_step": 1, "truncation_start": 0.0}


def _possible_points(estimator: Any) -> NDArray[np.int64]:
    return estimator.member_trees(**_every_member(estimator))


def _n_possible(estimator: Any) -> int:
    plan = estimator.plan_
    return len(_possible_points(estimator)) if plan.ensemble == "virtual" else plan.n_models


def _rows_by_model(scored: ScoredTable) -> list[tuple[FittedModel, NDArray[np.int64]]]:
    return [
        (model, np.flatnonzero(scored.model_of_row == number))
        for number, model in enumerate(scored.models)
    ]


def cut_table(scored: ScoredTable, cut: Cut, stages: Stages | None = None) -> ScoredTable:
    r"""The same table judged by other members of the same models.

    Beside a second file, the model that was kept for ``scores`` is cut in the same way.

    Examples
    --------
    >>> from gbuq_core.tables import ScorePlan, read_table, score_table
    >>> rows = "".join(f"{i % 7},{i % 7 + 0.1 * (i % 3)}\n" for i in range(60))
    >>> plan = ScorePlan(ensemble="virtual", n_trees=40)
    >>> scored = score_table(read_table(f"x,y\n{rows}".encode()), "y", plan=plan)
    >>> cut_table(scored, Cut(step=5, start=0.5)).models[0].estimator.n_members
    4
    """
    if cut.members is not None:
        check_number("the number of members", cut.members, 1, integer=True)
    if scored.plan.listed:  # whose members nothing chooses
        return scored
    prepared = scored.scored
    models = tuple(
        model._replace(estimator=CutModel(model.estimator, cut)) for model in scored.models
    )
    measured = tuple(
        kept._replace(model=kept.model._replace(estimator=CutModel(kept.model.estimator, cut)))
        for kept in scored.measured
    )
    every = (*models, *(kept.model for kept in measured))
    if all(model.estimator.changes_nothing for model in every):
        return replace(scored, models=models, measured=measured)
    pieces, places = [], []
    for number, (model, rows) in enumerate(_rows_by_model(replace(scored, models=models))):
        if len(rows):
            staged = None if stages is None else stages.scored[number]
            pieces.append(_cut_rows(scored, model.estimator, prepared, rows, staged))
            places.append(rows)
    predictions = joined(pieces, places)
    new_scores = None
    if not measured:
        scores = evaluate_rows(prepared, scored.training, predictions, scored.held)
    else:
        if prepared.known.any():
            new_scores = evaluate_rows(prepared, scored.training, predictions, prepared.known)
        parts = [
            _cut_rows(
                scored,
                kept.model.estimator,
                scored.training,
                kept.rows,
                None if stages is None else stages.measured[number],
            )
            for number, kept in enumerate(measured)
        ]
        held = [kept.rows for kept in measured]
        rows = np.sort(np.concatenate(held))
        scores = evaluate_measured(scored.training, rows, joined(parts, held))
    return refresh_output(
        replace(
            scored,
            models=models,
            measured=measured,
            predictions=predictions,
            scores=scores,
            new_scores=new_scores,
        )
    )


def _cut_rows(
    scored: ScoredTable,
    model: CutModel,
    prepared: Prepared,
    rows: NDArray[np.int64],
    staged: NDArray[np.float64] | None,
) -> Predictions:
    """What a cut model says about rows of a prepared table, predicted or picked from its stages."""
    n_classes = len(scored.training.target.classes)
    step = scored.training.resolution
    if staged is None:
        X = prepared.X if len(rows) == len(prepared.X) else prepared.X.iloc[rows]
        return predict_rows(model, X, prepared.y[rows], n_classes, step)
    # What training had not seen does not depend on the members.
    known = scored.predictions
    none = np.zeros(len(rows), bool)
    flags = (
        (known.unseen_level[rows], known.new_missing[rows], known.flagged_columns)
        if prepared is scored.scored
        else (none, none, ())
    )
    members, law = staged[model.places], (tails_of(model), is_on_log_scale(model))
    return judge_members(members, flags, prepared.y[rows], n_classes, step, *law)
