"""Which rows a model learns from and which model scores which row; shared by page and command line.

- **out of fold**: without a second file and with up to 20,000 rows that have a target, five models
  are trained, each without one fifth of the rows (column ``fold``, 1 to 5), and each row is scored
  by the model that did not see it. Rows without a target are scored by the first model.
- **held out**: with more rows, one model is trained on four fifths. The held-out fifth gives the
  scores. The other rows are scored by the same model that learnt them and marked ``in_training``:
  their uncertainties and errors look better than they are.
- **new file**: with a second file, one model is trained on four fifths of the first file for the
  scores, and another on all of it, which scores the second file.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gbuq_core.jobs import parallel_map, stage
from gbuq_core.tables.cleaning import Prepared
from gbuq_core.tables.evaluation import Scores, evaluate
from gbuq_core.tables.predicting import PILOT_SHARE, Predictions, ScorePlan, fit_rows, predict_rows
from gbuq_core.tables.splitting import N_FOLDS, assign_folds, held_out_fifth
from gbuq_core.uncertainty import Uncertainty

PROTOCOLS = ("out_of_fold", "held_out", "new_file")
MAX_ROWS_OUT_OF_FOLD = 20_000

_PREDICTING_SHARE = 0.1  # of the progress of a fit


class FittedModel(NamedTuple):
    """A trained ensemble and the rows of the training table that it learnt from."""

    estimator: Any
    rows: NDArray[np.int64]


class Measured(NamedTuple):
    """The model that gave the scores beside a second file, and the rows held out from it."""

    model: FittedModel
    rows: NDArray[np.int64]


class RowsScored(NamedTuple):
    """What a protocol comes to; the last three are None where they do not apply."""

    models: tuple[FittedModel, ...]
    model_of_row: NDArray[np.int64]
    predictions: Predictions
    scores: Scores
    fold: NDArray[np.int64] | None
    in_training: NDArray[np.bool_] | None
    measured: Measured | None = None


def choose_protocol(n_known: int, has_new: bool) -> str:
    """Which protocol a table with ``n_known`` rows that have a target is scored by.

    Examples
    --------
    >>> choose_protocol(20_000, False), choose_protocol(20_001, False), choose_protocol(50, True)
    ('out_of_fold', 'held_out', 'new_file')
    """
    if has_new:
        return "new_file"
    return "out_of_fold" if n_known <= MAX_ROWS_OUT_OF_FOLD else "held_out"


def run_protocol(
    protocol: str, training: Prepared, scored: Prepared, plan: ScorePlan
) -> RowsScored:
    """Train and score by one of `PROTOCOLS`."""
    run = {"out_of_fold": _out_of_fold, "held_out": _held_out, "new_file": _new_file}[protocol]
    return run(training, scored, plan)


def _out_of_fold(training: Prepared, scored: Prepared, plan: ScorePlan) -> RowsScored:
    folds = assign_folds(training.y, bool(training.target.classes), plan.seed)
    # A row without a target is new to all models; the first one scores it.
    model_of_row = np.maximum(folds, 0)
    parts = [
        (np.flatnonzero((folds >= 0) & (folds != fold)), np.flatnonzero(model_of_row == fold))
        for fold in range(N_FOLDS)
    ]
    models, pieces = _fit_and_predict(training, scored, plan, parts)
    predictions = _joined(pieces, [rows for _, rows in parts])
    scores = evaluate_rows(training, training, predictions, folds >= 0)
    return RowsScored(models, model_of_row, predictions, scores, folds + 1, None)


def _held_out(training: Prepared, scored: Prepared, plan: ScorePlan) -> RowsScored:
    held = held_out_fifth(training.y, bool(training.target.classes), plan.seed)
    learnt = np.flatnonzero(~held & training.known)
    models, pieces = _fit_and_predict(
        training, scored, plan, [(learnt, np.arange(len(training.X)))]
    )
    in_training = np.zeros(len(training.X), bool)
    in_training[learnt] = True
    scores = evaluate_rows(training, training, pieces[0], held)
    return RowsScored(models, np.zeros(len(held), np.int64), pieces[0], scores, None, in_training)


def _new_file(training: Prepared, scored: Prepared, plan: ScorePlan) -> RowsScored:
    held = held_out_fifth(training.y, bool(training.target.classes), plan.seed)
    everything, held_rows = np.flatnonzero(training.known), np.flatnonzero(held)

    def measure() -> tuple[FittedModel, Predictions]:
        part = (np.flatnonzero(~held & training.known), held_rows)
        models, pieces = _fit_and_predict(training, training, plan, [part])
        return models[0], pieces[0]

    def judge() -> tuple[FittedModel, Predictions]:
        part = (everything, np.arange(len(scored.X)))
        models, pieces = _fit_and_predict(training, scored, plan, [part])
        return models[0], pieces[0]

    def run(step: int) -> tuple[FittedModel, Predictions]:
        with stage(1.0, span=1.0):
            return (measure, judge)[step]()

    with stage(2.0):
        measured, judged = parallel_map(run, range(2), _fits_at_once(plan))
    scores = evaluate_measured(training, held_rows, measured[1])
    model_of_row = np.zeros(len(scored.X), np.int64)
    kept = Measured(measured[0], held_rows)
    return RowsScored((judged[0],), model_of_row, judged[1], scores, None, None, kept)


def _fit_and_predict(
    training: Prepared,
    scored: Prepared,
    plan: ScorePlan,
    parts: list[tuple[NDArray[np.int64], NDArray[np.int64]]],
) -> tuple[tuple[FittedModel, ...], list[Predictions]]:
    """For each (rows to learn from, rows to score): the fitted model and its predictions."""
    spread = float(np.nanstd(training.y))

    def run(part: tuple[NDArray[np.int64], NDArray[np.int64]]) -> tuple[FittedModel, Predictions]:
        learnt, judged = part
        with stage(1.0 + PILOT_SHARE + _PREDICTING_SHARE, span=1.0):
            with stage(1.0 + PILOT_SHARE, span=1.0 + PILOT_SHARE):
                estimator = fit_rows(plan, training, learnt)
            X = scored.X if len(judged) == len(scored.X) else scored.X.iloc[judged]
            found = predict_rows(
                estimator, X, scored.y[judged], len(training.target.classes), spread
            )
        return FittedModel(estimator, learnt), found

    with stage(float(len(parts))):
        results = parallel_map(run, parts, _fits_at_once(plan))
    return tuple(model for model, _ in results), [found for _, found in results]


def one_thread_a_fit(plan: ScorePlan) -> bool:
    """Whether a fit keeps one core busy only, so that several fits should run side by side."""
    return plan.one_model and plan.engine == "numba" and not plan.listed


def _fits_at_once(plan: ScorePlan) -> int | None:
    return plan.n_jobs if one_thread_a_fit(plan) else 1


def _joined(pieces: list[Predictions], rows: list[NDArray[np.int64]]) -> Predictions:
    """Predictions of parts of a table in the order of its rows."""
    order = np.argsort(np.concatenate(rows), kind="stable")

    def join(parts: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        return np.concatenate(parts)[order]

    columns = [name for piece in pieces for name in piece.flagged_columns]
    return Predictions(
        join([piece.loc for piece in pieces]),
        join([piece.probabilities for piece in pieces]),
        Uncertainty(
            join([piece.uncertainty.total for piece in pieces]),
            join([piece.uncertainty.data for piece in pieces]),
            join([piece.uncertainty.knowledge for piece in pieces]),
        ),
        join([piece.nll for piece in pieces]),
        np.concatenate([piece.unseen_level for piece in pieces])[order],
        np.concatenate([piece.new_missing for piece in pieces])[order],
        tuple(dict.fromkeys(columns)),
    )


def evaluate_measured(
    training: Prepared, rows: NDArray[np.int64], predictions: Predictions
) -> Scores:
    """Scores of predictions of these rows of the training table only."""
    held = training._replace(y=training.y[rows])
    return evaluate_rows(held, training, predictions, np.ones(len(rows), bool))


def evaluate_rows(
    prepared: Prepared, training: Prepared, predictions: Predictions, rows: NDArray[np.bool_]
) -> Scores:
    """Scores over those of some rows of a prepared table that have a target."""
    y_train = training.y[training.known]
    return evaluate(prepared.y, predictions, rows, y_train, len(training.target.classes))
