"""Whether the orders of a table's rows find those with large errors, on rows held out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gbuq_core.glossary import UNCERTAINTY_KINDS
from gbuq_core.tables.cutting import held_out_rows
from gbuq_core.tables.predicting import Predictions, predict_rows, row_errors
from gbuq_core.tables.scoring import ScoredTable
from gbuq_core.tables.unfamiliar import Evidence, bootstrap_evidence, held_out_unfamiliarity


def find_evidence(scored: ScoredTable) -> dict[str, Evidence]:
    """PRR of each uncertainty and of unfamiliarity on held-out rows of the first file.

    It is found once: the words, the trust and the checks of a table all ask for it.
    """
    kept = vars(scored)
    if "_evidence" not in kept:
        kept["_evidence"] = _find(scored)
    return kept["_evidence"]


def _find(scored: ScoredTable) -> dict[str, Evidence]:
    parts = _second_file(scored) if scored.measured else [_own_rows(scored)]
    errors = np.concatenate([errors for errors, _ in parts])
    if not scored.training.target.classes:
        errors = errors**2
    names = [name for name in parts[0][1] if len(parts[0][1][name])]
    return {
        name: bootstrap_evidence(errors, np.concatenate([orders[name] for _, orders in parts]))
        for name in names
    }


_Part = tuple[NDArray[np.float64], dict[str, NDArray[np.float64]]]


def _own_rows(scored: ScoredTable) -> _Part:
    """Errors of the held-out rows of the first file, and what orders them."""
    rows = np.flatnonzero(held_out_rows(scored))
    unfamiliarity = scored.unfamiliarity
    score = np.empty(0) if unfamiliarity is None else unfamiliarity.rows.score[rows]
    errors = row_errors(scored.scored, scored.predictions)[rows]
    return errors, _orders(scored.predictions, rows, score)


def _second_file(scored: ScoredTable) -> list[_Part]:
    """The same of the fifth that was held out beside a second file, by the models without it."""
    training = scored.training
    n_classes, step = len(training.target.classes), training.resolution
    parts = []
    for kept in scored.measured:
        X, y = training.X.iloc[kept.rows], training.y[kept.rows]
        judged = predict_rows(kept.model.estimator, X, y, n_classes, step)
        score = held_out_unfamiliarity(scored, kept.rows)
        orders = _orders(judged, np.arange(len(y)), np.empty(0) if score is None else score)
        parts.append((row_errors(training._replace(y=y), judged), orders))
    return parts


def _orders(
    predictions: Predictions, rows: NDArray[np.int64], score: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    parts = {kind: getattr(predictions.uncertainty, kind)[rows] for kind in UNCERTAINTY_KINDS}
    return {**parts, "unfamiliarity": score}
