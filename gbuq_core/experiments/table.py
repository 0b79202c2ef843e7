"""A scored table looked at in other ways, without training again, and put in words.

`gbuq_core.tables.score_table` trains and judges. Here its models are cut at other truncation points
or to fewer members (eq. 15 of the virtual-ensembles paper), so that no knob of the view trains.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from gbuq_core.tables.evaluation import RegressionScores, Scores
from gbuq_core.tables.output import predicted_values, row_errors
from gbuq_core.tables.predicting import Predictions, predict_rows
from gbuq_core.tables.protocols import evaluate_measured, evaluate_rows
from gbuq_core.tables.scoring import ScoredTable
from gbuq_core.uncertainty import Uncertainty
from gbuq_core.validation import check_number

_NAMED_ROWS = 3


class Cut(NamedTuple):
    """Which members of the trained models count; None leaves the choice to the model.

    ``step`` and ``start`` are K and the start of a virtual ensemble, ``members`` the most that
    count: the first models, or the last truncations.
    """

    step: int | None = None
    start: float | None = None
    members: int | None = None


class CutModel:
    """A fitted ensemble of which only the members of a cut predict.

    Parameters
    ----------
    estimator : fitted BoostedEnsembleRegressor or BoostedEnsembleClassifier
    cut : Cut
    """

    def __init__(self, estimator: Any, cut: Cut) -> None:
        self.estimator, self.cut = estimator, cut
        self.classes_ = getattr(estimator, "classes_", None)
        self.memory_bytes_ = 0  # it holds nothing but the estimator, which is counted elsewhere

    @property
    def n_members(self) -> int:
        """How many members count."""
        plan = self.estimator.plan_
        if plan.ensemble == "virtual":
            there = len(self.estimator.member_trees(self.cut.step, self.cut.start))
        else:
            there = plan.n_models
        return there if self.cut.members is None else min(there, self.cut.members)

    @property
    def changes_nothing(self) -> bool:
        """Whether the same members count as without the cut."""
        own, cut = self.estimator, self.cut
        here, there = own.member_trees(), own.member_trees(cut.step, cut.start)
        whole = len(here) if own.plan_.ensemble == "virtual" else own.plan_.n_models
        return np.array_equal(here, there) and self.n_members == whole

    def predict_members(self, X: pd.DataFrame) -> np.ndarray:
        """As the estimator's own, of the members that count."""
        members: np.ndarray = self.estimator.predict_members(
            X, self.cut.step, self.cut.start, self.n_members
        )
        return members

    def inspect_rows(self, X: pd.DataFrame) -> Any:
        """As the estimator's own."""
        return self.estimator.inspect_rows(X)


def cut_table(scored: ScoredTable, cut: Cut) -> ScoredTable:
    r"""The same table judged by other members of the same models.

    Beside a second file, the model that was kept for ``scores`` is cut in the same way.

    Raises
    ------
    InvalidParameter
        If a truncation step gives no member, or none is left.

    Examples
    --------
    >>> from gbuq_core.tables import ScorePlan, read_table, score_table
    >>> rows = "".join(f"{i % 7},{i % 7 + 0.1 * (i % 3)}\n" for i in range(60))
    >>> scored = score_table(read_table(f"x,y\n{rows}".encode()), "y", plan=ScorePlan(n_trees=40))
    >>> cut_table(scored, Cut(step=5, start=0.5)).models[0].estimator.n_members
    4
    """
    if cut.members is not None:
        check_number("the number of members", cut.members, 1, integer=True)
    prepared, n_classes = scored.scored, len(scored.training.target.classes)
    spread = float(np.nanstd(scored.training.y))
    models = tuple(
        model._replace(estimator=CutModel(model.estimator, cut)) for model in scored.models
    )
    measured = scored.measured
    if measured is not None:
        own = CutModel(measured.model.estimator, cut)
        measured = measured._replace(model=measured.model._replace(estimator=own))
    every = (*models, *((measured.model,) if measured is not None else ()))
    if all(model.estimator.changes_nothing for model in every):
        return scored._replace(models=models, measured=measured)
    pieces, places = [], []
    for number, model in enumerate(models):
        rows = np.flatnonzero(scored.model_of_row == number)
        if len(rows):
            X = prepared.X if len(rows) == len(prepared.X) else prepared.X.iloc[rows]
            found = predict_rows(model.estimator, X, prepared.y[rows], n_classes, spread)
            pieces.append(found)
            places.append(rows)
    predictions = _in_order(pieces, places)
    judged, new_scores = held_out_rows(scored), None
    if measured is None:
        scores = evaluate_rows(prepared, scored.training, predictions, judged)
    else:
        if judged.any():
            new_scores = evaluate_rows(prepared, scored.training, predictions, judged)
        rows = measured.rows
        X, y = scored.training.X.iloc[rows], scored.training.y[rows]
        found = predict_rows(measured.model.estimator, X, y, n_classes, spread)
        scores = evaluate_measured(scored.training, rows, found)
    return scored._replace(
        models=models,
        measured=measured,
        predictions=predictions,
        frame=_with_predictions(scored, predictions),
        scores=scores,
        new_scores=new_scores,
    )


def held_out_rows(scored: ScoredTable) -> np.ndarray:
    """Rows with a truth that their model did not learn from, (n_rows,) bool."""
    rows = scored.scored.known.copy()
    if scored.protocol == "held_out":
        rows[scored.models[0].rows] = False
    return rows


def describe_table(scored: ScoredTable) -> list[str]:
    """The result in words: how good it is, whom not to trust and why.

    Plain sentences that hold the user's words.
    """
    known = scored.new_scores if scored.protocol == "new_file" else scored.scores
    good = _how_good(scored.scores, scored.training.target.name)
    sentences = [f"{_how_scored(scored)} {good}", _whom_not_to_trust(scored)]
    if known is not None:
        curve = known.rejection.total
        start = float(curve.remaining[0])
        if start > 0.0:
            left = float(np.interp(0.1, curve.rejected, curve.remaining))
            what = "squared error" if isinstance(known, RegressionScores) else "wrong classes"
            sentences.append(
                "Handing over the most uncertain tenth takes away "
                f"{100 * (1 - left / start):.0f} % of the {what}; a random tenth takes away 10 %."
            )
    return sentences


def _how_scored(scored: ScoredTable) -> str:
    n_rows = len(scored.scored.X)
    if scored.protocol == "out_of_fold":
        return f"{n_rows:,} rows, each judged by a model that did not learn from it."
    if scored.protocol == "held_out":
        n_held = int(held_out_rows(scored).sum())
        return (
            f"{n_rows:,} rows; scores are those of {n_held:,} held-out ones, the others were "
            "learnt from and look better than they are."
        )
    return (
        f"{n_rows:,} rows of the second file, judged by a model of the whole first file; scores "
        "are those of a held-out fifth of the first."
    )


def _how_good(scores: Scores, target: str) -> str:
    if isinstance(scores, RegressionScores):
        at = int(np.argmax(scores.coverage.levels))
        name = " ".join(target.split())[:40]
        return (
            f'RMSE {scores.rmse:.3g} in units of "{name}" ({scores.baseline_rmse:.3g} for always '
            f"the mean); {100 * scores.coverage.levels[at]:.0f} % intervals hold "
            f"{100 * scores.coverage.observed[at]:.0f} % of the rows."
        )
    return (
        f"{100 * scores.error_rate:.3g} % of the classes are wrong "
        f"({100 * scores.baseline_error_rate:.3g} % for always the most frequent one)."
    )


def _whom_not_to_trust(scored: ScoredTable) -> str:
    """Names the rows at the top of knowledge and of data uncertainty, with the reason."""
    part = scored.predictions.uncertainty
    strange = np.argsort(-part.knowledge, kind="stable")
    noisy = np.argsort(-part.data, kind="stable")
    return (
        f"Trust least rows {_listed(strange)} (few training rows are like them: knowledge) and "
        f"rows {_listed(noisy)} (rows like them differ among themselves: data)."
    )


def _listed(order: np.ndarray) -> str:
    names = [f"{row + 1:d}" for row in order[:_NAMED_ROWS]]
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def _with_predictions(scored: ScoredTable, predictions: Predictions) -> pd.DataFrame:
    """The output table with the columns that depend on the members replaced."""
    new = {
        "prediction": predicted_values(predictions, scored.training.target),
        "total_uncertainty": predictions.uncertainty.total,
        "data_uncertainty": predictions.uncertainty.data,
        "knowledge_uncertainty": predictions.uncertainty.knowledge,
        "error": row_errors(scored.scored, predictions),
    }
    return scored.frame.assign(**{k: v for k, v in new.items() if k in scored.added.names})


def _in_order(pieces: list[Predictions], places: list[np.ndarray]) -> Predictions:
    """Predictions of parts of a table in the order of its rows."""
    if len(pieces) == 1:
        return pieces[0]
    order = np.argsort(np.concatenate(places), kind="stable")

    def join(name: str) -> np.ndarray:
        joined: np.ndarray = np.concatenate([getattr(piece, name) for piece in pieces])[order]
        return joined

    parts = zip(*(piece.uncertainty for piece in pieces), strict=True)
    names = [name for piece in pieces for name in piece.flagged_columns]
    return Predictions(
        join("loc"),
        join("probabilities"),
        Uncertainty(*(np.concatenate(part)[order] for part in parts)),
        join("nll"),
        join("unseen_level"),
        join("new_missing"),
        tuple(dict.fromkeys(names)),
    )
