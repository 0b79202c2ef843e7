"""Scoring a table: train, measure on rows that were held out, and judge every row."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gbuq_core.jobs import check_memory, effective_n_jobs
from gbuq_core.tables.cleaning import Prepared, prepare_new, prepare_training
from gbuq_core.tables.evaluation import Scores
from gbuq_core.tables.output import AddedColumns, assemble_output
from gbuq_core.tables.pilot import FEWEST_PILOT_ROWS, PILOT_ROWS, pilot_of
from gbuq_core.tables.predicting import (
    BLOCK_ROWS,
    Predictions,
    ScorePlan,
    bins_for,
    depth_for,
    make_estimator,
)
from gbuq_core.tables.protocols import (
    FittedModel,
    Measured,
    choose_protocol,
    evaluate_rows,
    one_thread_a_fit,
    run_protocol,
)
from gbuq_core.tables.reading import Table
from gbuq_core.tables.schema import Schema, infer_schema
from gbuq_core.tables.splitting import N_FOLDS
from gbuq_core.tables.wording import columns_named, counted

_BYTES_PER_ADDED_CELL = 16


class ScoreEstimate(NamedTuple):
    """What scoring will cost, roughly: seconds, and peak memory in bytes."""

    seconds: float
    bytes: int


@dataclass(frozen=True, kw_only=True)
class ScoredTable:
    """A scored table.

    Attributes
    ----------
    frame : DataFrame of shape (n_rows, ...)
        The input's columns and the added ones, in the order of the file.
    added : AddedColumns
        The names of the added columns.
    protocol : str
        One of `PROTOCOLS`; see `gbuq_core.tables.protocols`.
    scores : RegressionScores or ClassificationScores
        On held-out rows of the first file.
    new_scores : the same or None
        On the second file, if it has targets.
    training, scored : Prepared
        The first table, and the one whose rows are scored (the same without a second file).
    models : tuple of FittedModel
    model_of_row : ndarray of shape (n_rows,), int64
        Which of the models scored each row.
    measured : Measured or None
        With a second file, the model that gave ``scores``, which scored none of its rows.
    predictions : Predictions
        Of each row.
    plan : ScorePlan
    notices : tuple of str
        Everything that had to be decided, one plain sentence each.
    seconds : float
        How long it took.
    """

    frame: pd.DataFrame
    added: AddedColumns
    protocol: str
    scores: Scores
    new_scores: Scores | None
    training: Prepared
    scored: Prepared
    models: tuple[FittedModel, ...]
    model_of_row: NDArray[np.int64]
    measured: Measured | None
    predictions: Predictions
    plan: ScorePlan
    notices: tuple[str, ...]
    seconds: float


def estimate_scoring(prepared: Prepared, plan: ScorePlan, n_new: int = 0) -> ScoreEstimate:
    """What `score_table` will cost.

    Parameters
    ----------
    prepared : Prepared
        Of the training table.
    plan : ScorePlan
    n_new : int
        Rows of the second file; 0 without one.
    """
    n_known, n_features = int(prepared.known.sum()), prepared.X.shape[1]
    n_classes = len(prepared.target.classes)
    protocol = choose_protocol(n_known, n_new > 0)
    sizes = {
        "out_of_fold": [n_known - n_known // N_FOLDS] * N_FOLDS,
        "held_out": [n_known - n_known // N_FOLDS],
        "new_file": [n_known - n_known // N_FOLDS, n_known],
    }[protocol]
    estimator = make_estimator(plan, prepared)
    fits = [estimator.estimate_fit(size, n_features, n_classes or None) for size in sizes]
    pilot_seconds = 0.0
    if plan.learning_rate is None and not plan.listed:
        pilot = pilot_of(estimator)
        rows = min(n_known, PILOT_ROWS)
        pilot_seconds = pilot.estimate_fit(rows, n_features, n_classes or None).seconds * len(sizes)
    at_once = min(effective_n_jobs(plan.n_jobs), len(sizes)) if one_thread_a_fit(plan) else 1
    n_scored = n_new or len(prepared.X)
    # Each fit at work copies its rows and turns them into one matrix of float64.
    matrices = at_once * 2 * 8 * n_features * n_known
    members = BLOCK_ROWS * (plan.n_members + 40) * 8 * max(n_classes, 2) * 3
    output = n_scored * (_BYTES_PER_ADDED_CELL * (n_features + 12) + 8 * n_classes)
    seconds = (
        pilot_seconds + sum(fit.seconds for fit in fits)
    ) / at_once + 2e-6 * n_scored * n_features
    n_bytes = at_once * max(fit.bytes for fit in fits) + matrices + members + output
    return ScoreEstimate(seconds, int(n_bytes))


def score_table(
    table: Table,
    target: str,
    *,
    task: str | None = None,
    schema: Schema | None = None,
    new: Table | None = None,
    plan: ScorePlan | None = None,
) -> ScoredTable:
    r"""Train an ensemble on a table and give each row a prediction and its uncertainties.

    Without ``new`` the rows of ``table`` are scored, else those of ``new``; which model scores
    which row is told in `gbuq_core.tables.protocols`. Reports progress to the current job and
    stops when nobody wants the result any more.

    Parameters
    ----------
    table : Table
    target : str
        The column to predict.
    task : {"regression", "classification"}, optional
        Inferred if None.
    schema : Schema, optional
        Inferred if None.
    new : Table, optional
        A second file to score; its target may be missing.
    plan : ScorePlan, optional

    Returns
    -------
    ScoredTable

    Raises
    ------
    InvalidData, InvalidParameter, MemoryLimitExceeded
        One sentence each.

    Examples
    --------
    >>> from gbuq_core.tables import read_table
    >>> rows = "\n".join(f"{i % 7},{i % 7 + 0.1 * (i % 3)}" for i in range(60))
    >>> table = read_table(f"x,y\n{rows}\n".encode())
    >>> scored = score_table(table, "y", plan=ScorePlan(n_trees=50))
    >>> scored.frame.columns.tolist()[:4]
    ['x', 'y', 'prediction', 'total_uncertainty']
    """
    began = time.perf_counter()
    plan = plan or ScorePlan()
    training = prepare_training(table, schema or infer_schema(table), target, task)
    scored = training if new is None else prepare_new(new, training)
    n_new = 0 if new is None else new.n_rows
    check_memory(estimate_scoring(training, plan, n_new).bytes, "scoring this table")
    protocol = choose_protocol(int(training.known.sum()), new is not None)
    found = run_protocol(protocol, training, scored, plan)
    new_scores = None
    if new is not None and scored.known.any():
        new_scores = evaluate_rows(scored, training, found.predictions, scored.known)
    frame, added, renamed = assemble_output(
        new or table, scored, found.predictions, found.fold, found.in_training
    )
    notices = [*table.notices, *training.notices, *_width_notice(plan, training)]
    if new is not None:
        notices += [f"Second file: {notice}" for notice in new.notices]
        notices += scored.notices
    return ScoredTable(
        frame=frame,
        added=added,
        protocol=protocol,
        scores=found.scores,
        new_scores=new_scores,
        training=training,
        scored=scored,
        models=found.models,
        model_of_row=found.model_of_row,
        measured=found.measured,
        predictions=found.predictions,
        plan=plan,
        notices=(
            *notices,
            *renamed,
            *_rate_notice(plan, found.models),
            *_flag_notices(found.predictions),
        ),
        seconds=time.perf_counter() - began,
    )


def _width_notice(plan: ScorePlan, training: Prepared) -> list[str]:
    """That a wide table gets simpler trees."""
    n_features = training.X.shape[1]
    bins, depth = bins_for(plan, n_features), depth_for(plan, n_features)
    if plan.listed or (bins_for(plan, 1) == bins and depth_for(plan, 1) == depth):
        return []
    return [
        f"With {n_features:,} features, trees have depth {depth} and cut each feature into {bins} "
        "bins, to keep the fit short."
    ]


def _rate_notice(plan: ScorePlan, models: tuple[FittedModel, ...]) -> list[str]:
    """Which learning rates the pilot fits led to."""
    if plan.listed or plan.learning_rate is not None:
        return []
    rates = [model.estimator.learning_rate for model in models]
    found = f"{min(rates):.2g}" + (f" to {max(rates):.2g}" if max(rates) > min(rates) else "")
    if min(len(model.rows) for model in models) < FEWEST_PILOT_ROWS:
        return [f"The learning rate is {found}: there are too few rows to try others."]
    return [f"Short pilot fits on the training rows led to a learning rate of {found}."]


def _flag_notices(predictions: Predictions) -> list[str]:
    """How many rows hold something that their model had never seen."""
    if not predictions.flagged_columns:
        return []
    n_rows = int((predictions.unseen_level | predictions.new_missing).sum())
    where = columns_named(predictions.flagged_columns).replace("The column", "the column", 1)
    return [
        f"{counted(n_rows, 'row has', 'rows have')} a category or a missing value that training "
        f"did not have, in {where}; they are marked unseen_level or new_missing."
    ]
