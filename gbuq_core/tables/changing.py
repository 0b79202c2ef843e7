"""What would have to be different in a row for its model to be sure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from gbuq_core.boosting import SmallestChange, find_smallest_change
from gbuq_core.boosting.base import BoostedEnsemble
from gbuq_core.errors import InvalidParameter
from gbuq_core.tables.explaining import feature_groups
from gbuq_core.tables.predicting import all_classes
from gbuq_core.tables.scoring import ScoredTable
from gbuq_core.uncertainty import Uncertainty, mean_over_members
from gbuq_core.validation import check_choice, check_number

CHANGE_MEANING = (
    "The smallest change of one or two values with which the model would be as sure as that. It "
    "says how the model sees this row, not what anybody should do."
)
# Measured on one core of a 2020s server: a pair of columns, for each value of the ensemble's
# members.
_SECONDS_PER_PAIR = 8e-4


class RowChange(NamedTuple):
    """The smallest change of a row that makes its model sure enough.

    Attributes
    ----------
    columns, before, after : tuple of str
        The columns, the cells as they are and as they would have to be.
    size : float
        In stds of the training rows, plus 1 for another category or for a missing value.
    uncertainty_before, uncertainty_after : Uncertainty
        Each (1,): variances of the target, or nats.
    prediction_before, prediction_after : float or str
        The predicted mean, or class.
    """

    columns: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    size: float
    uncertainty_before: Uncertainty
    uncertainty_after: Uncertainty
    prediction_before: float | str
    prediction_after: float | str


def change_row(
    scored: ScoredTable, row: int, most: float, kind: str = "total", fixed: Sequence[str] = ()
) -> RowChange | None:
    """The smallest change of one or two cells that brings a row's uncertainty to a level.

    Exact over all pairs of columns and the trees' own thresholds: `find_smallest_change`. The model
    is the one that scored the row. Dates keep their values, because a date is several columns to
    the model.

    Parameters
    ----------
    scored : ScoredTable
    row : int
        Position in ``scored.frame``.
    most : float
        The uncertainty must become at most this: a variance of the target, or nats.
    kind : {"total", "data", "knowledge"}
    fixed : sequence of str
        Columns of the table that must keep their cells.

    Returns
    -------
    RowChange or None
        None if no change of two cells is enough.

    Raises
    ------
    InvalidParameter
        If there is no such row or column, or the method's trees are not gbuq's own.
    """
    check_number("row", row, 0, len(scored.frame) - 1, integer=True)
    check_choice("kind", kind, Uncertainty._fields)
    refusal = why_no_change(scored)
    if refusal:
        raise InvalidParameter(refusal)
    groups = feature_groups(scored.training)
    for column in fixed:
        if column not in groups:
            raise InvalidParameter(f"fixed names {column!r}, which the model does not use.")
    model = scored.models[int(scored.model_of_row[row])]
    own = scored.scored.X.iloc[[row]]
    owner = {name: column for column, names in groups.items() for name in names}
    kept = [name for name in own.columns if owner[name] in fixed or len(groups[owner[name]]) > 1]
    found = find_smallest_change(
        _ensemble_of(model.estimator),
        own,
        most,
        kind,
        kept,
        _spreads(scored.training.X.iloc[model.rows]),
        members=getattr(model.estimator, "chosen", {}),  # of a cut ensemble
    )
    return None if found is None else _told(scored, model.estimator, own, found)


def why_no_change(scored: ScoredTable) -> str:
    """Why no row of this table can be changed; empty if rows can."""
    estimator = _ensemble_of(scored.models[0].estimator)
    if isinstance(estimator, BoostedEnsemble) and estimator.engine == "numba":
        return ""
    return (
        "The smallest change is searched over the trees of gbuq's own boosted ensembles: choose "
        "SGLB, SGB or a cyclical method, with the engine numba."
    )


def estimate_change(scored: ScoredTable) -> float:
    """Roughly how many seconds `change_row` takes."""
    n = scored.training.X.shape[1]
    ensemble = _ensemble_of(scored.models[0].estimator)
    n_members = max(len(ensemble.member_trees()), ensemble.plan_.n_models)
    return _SECONDS_PER_PAIR * n_members * n * (n - 1) / 2


def _ensemble_of(estimator: Any) -> Any:
    """The ensemble itself, also of one of which only some members count."""
    return getattr(estimator, "estimator", estimator)


def _spreads(learnt: pd.DataFrame) -> np.ndarray:
    """The std of each column's training values; 1 for categories and constant columns."""
    found = np.ones(learnt.shape[1])
    for k, name in enumerate(learnt.columns):
        if isinstance(learnt[name].dtype, pd.CategoricalDtype):
            continue
        std = float(np.nanstd(learnt[name].to_numpy(np.float64))) if len(learnt) else 0.0
        found[k] = std if np.isfinite(std) and std > 0.0 else 1.0
    return found


def _told(scored: ScoredTable, model: Any, own: pd.DataFrame, found: SmallestChange) -> RowChange:
    names = [str(own.columns[k]) for k in found.columns]
    owner = {feature.name: feature.column for feature in scored.training.features}
    target = scored.training.target

    def predicted(table: pd.DataFrame) -> float | str:
        members = all_classes(model.predict_members(table), model, len(target.classes))
        mean = mean_over_members(members)[0]
        return target.classes[int(np.argmax(mean))] if target.classes else float(mean[0])

    return RowChange(
        tuple(owner[name] for name in names),
        tuple(_text(value) for value in found.before),
        tuple(_text(value) for value in found.after),
        found.size,
        found.uncertainty_before,
        found.uncertainty_after,
        predicted(own),
        predicted(found.row),
    )


def _text(value: Any) -> str:
    """A cell in words; every digit of a number counts, because a threshold may be close."""
    if pd.isna(value):
        return "missing"
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)
