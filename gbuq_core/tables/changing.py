"""What would have to be different in a row for its model to be sure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from gbuq_core.boosting import SmallestChange, find_smallest_change
from gbuq_core.boosting.base import BoostedEnsemble
from gbuq_core.boosting.smallest_change import CATEGORY_COST, split_thresholds
from gbuq_core.errors import InvalidParameter
from gbuq_core.presentation import number_between
from gbuq_core.tables.editing import predict_versions, row_versions
from gbuq_core.tables.explaining import feature_groups
from gbuq_core.tables.predicting import boosted_of, read_by_model, stacked_model
from gbuq_core.tables.scoring import ScoredTable
from gbuq_core.uncertainty import Uncertainty
from gbuq_core.validation import check_choice, check_number

CHANGE_MEANING = (
    "The smallest change of one or two values with which the model would be as sure as that. For "
    "the stacked law it is searched at the trees' thresholds, and each change is tried on the law. "
    "It says how the model sees this row, not what anybody should do."
)
# Measured on one core of a 2020s server: a pair of columns, for each value of the ensemble's
# members.
_SECONDS_PER_PAIR = 8e-4
# Measured on one core: a search, and each change that is tried on a stacked law.
_SECONDS_TO_SEARCH, _SECONDS_PER_TRIED = 0.3, 4e-4
# Of a search: columns that are changed two at a time, values of each, and how far behind a
# threshold a value may lie, in stds.
_MOST_PAIRED, _MOST_VALUES, _BEHIND = 8, 8, 0.05


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
    n_tried : int
        How many changes a search tried; 0 where no smaller change of one or two cells exists.
    """

    columns: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    size: float
    uncertainty_before: Uncertainty
    uncertainty_after: Uncertainty
    prediction_before: float | str
    prediction_after: float | str
    n_tried: int = 0


def change_row(
    scored: ScoredTable, row: int, most: float, kind: str = "total", fixed: Sequence[str] = ()
) -> RowChange | None:
    """The smallest change of one or two cells that brings a row's uncertainty to a level.

    Exact over all pairs of columns and the trees' own thresholds: `find_smallest_change`. A stacked
    law also changes between thresholds, so that a change is searched: single values at its trees'
    thresholds, then pairs of those that do most, each tried on the law; a smaller one may exist.
    The model is the one that scored the row. Dates keep their values, because a date is several
    columns to the model.

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
        None if no change of two cells is enough, of those that were tried.

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
    spreads = _spreads(scored.training.X.iloc[model.rows])
    if is_searched(scored):
        free = [name for name in own.columns if name not in kept]
        return _Search(scored, row, kind, most, spreads).best(free)
    change = find_smallest_change(
        boosted_of(model.estimator),
        own,
        most,
        kind,
        kept,
        spreads,
        members=getattr(model.estimator, "chosen", {}),  # of a cut ensemble
    )
    return None if change is None else _row_change(scored, row, change)


def why_no_change(scored: ScoredTable) -> str:
    """Why no row of this table can be changed; empty if rows can."""
    estimator = boosted_of(scored.models[0].estimator)
    if isinstance(estimator, BoostedEnsemble) and estimator.engine == "numba":
        return ""
    return (
        "The smallest change is searched over the trees of gbuq's own boosted ensembles: choose "
        "Stacked, SGLB, SGB or a cyclical method, with the engine numba."
    )


def is_searched(scored: ScoredTable) -> bool:
    """Whether a change is the smallest of those that a search tries, as of a stacked law."""
    return stacked_model(scored.models[0].estimator) is not None


def estimate_change(scored: ScoredTable) -> float:
    """Roughly how many seconds `change_row` takes."""
    n = scored.training.X.shape[1]
    ensemble = boosted_of(scored.models[0].estimator)
    if is_searched(scored):
        n_values = sum(map(len, split_thresholds(ensemble))) + _MOST_PAIRED**2 * _MOST_VALUES**2 / 2
        return _SECONDS_TO_SEARCH + _SECONDS_PER_TRIED * n_values
    n_members = max(len(ensemble.member_trees()), ensemble.plan_.n_models)
    return _SECONDS_PER_PAIR * n_members * n * (n - 1) / 2


def _spreads(learnt: pd.DataFrame) -> np.ndarray:
    """The std of each column's training values; 1 for categories and constant columns."""
    stds = np.ones(learnt.shape[1])
    for k, name in enumerate(learnt.columns):
        if isinstance(learnt[name].dtype, pd.CategoricalDtype):
            continue
        std = float(np.nanstd(learnt[name].to_numpy(np.float64))) if len(learnt) else 0.0
        stds[k] = std if np.isfinite(std) and std > 0.0 else 1.0
    return stds


class _Value(NamedTuple):
    """Another value of a feature, what it costs, and how doubtful the row is then."""

    feature: str
    value: Any
    cost: float
    doubt: float = math.nan


class _Search:
    """The search of a row's smallest change on the model's own predictions."""

    def __init__(
        self, scored: ScoredTable, row: int, kind: str, most: float, spreads: np.ndarray
    ) -> None:
        self._scored, self._row, self._kind, self._most = scored, row, kind, most
        self._own = scored.scored.X.iloc[[row]]
        self._spreads = dict(zip(self._own.columns, spreads.tolist(), strict=True))
        self._n_tried = 0

    def best(self, features: Sequence[str]) -> RowChange | None:
        """The smallest change of these features that is enough, of all that are tried."""
        before = predict_versions(self._scored, self._row, self._own).uncertainty
        if getattr(before, self._kind)[0] <= self._most:
            return self._tell((), before)
        singles = [value for name in features for value in self._values(name)]
        tried = self._try([(value,) for value in singles])
        by_feature: dict[str, list[_Value]] = {}
        for (value,), doubt in tried:
            by_feature.setdefault(value.feature, []).append(value._replace(doubt=doubt))
        best = self._smallest(tried)
        # Of the columns that do most by themselves, values that less costly ones do not beat.
        order = sorted(by_feature, key=lambda name: min(v.doubt for v in by_feature[name]))
        fronts = [_front(by_feature[name]) for name in order[:_MOST_PAIRED]]
        reach = math.inf if best is None else sum(value.cost for value in best)
        pairs = [
            pair for two in combinations(fronts, 2) for pair in product(*two)
            if pair[0].cost + pair[1].cost < reach
        ]  # fmt: skip
        best = self._smallest(self._try(pairs)) or best
        return None if best is None else self._tell(best, before)

    def _tell(self, change: Sequence[_Value], before: Uncertainty) -> RowChange:
        table = self._changed([change])
        names = list(self._own.columns)
        places = tuple(names.index(value.feature) for value in change)
        smallest = SmallestChange(
            places,
            tuple(self._own[value.feature].tolist()[0] for value in change),
            tuple(value.value for value in change),
            sum(value.cost for value in change),
            table,
            before,
            predict_versions(self._scored, self._row, table).uncertainty,
        )
        return _row_change(self._scored, self._row, smallest)._replace(n_tried=self._n_tried)

    def _changed(self, changes: Sequence[Sequence[_Value]]) -> pd.DataFrame:
        cells = [{value.feature: value.value for value in change} for change in changes]
        return row_versions(self._scored, self._row, cells)

    def _try(self, changes: Sequence[tuple[_Value, ...]]) -> list[tuple[tuple[_Value, ...], float]]:
        """Changes with how doubtful the row is then."""
        if not changes:
            return []
        self._n_tried += len(changes)
        predictions = predict_versions(self._scored, self._row, self._changed(changes))
        doubt: list[float] = getattr(predictions.uncertainty, self._kind).tolist()
        return list(zip(changes, doubt, strict=True))

    def _smallest(
        self, tried: Sequence[tuple[tuple[_Value, ...], float]]
    ) -> tuple[_Value, ...] | None:
        enough = [pair for pair in tried if pair[1] <= self._most]
        if not enough:
            return None
        return min(enough, key=lambda pair: (sum(value.cost for value in pair[0]), pair[1]))[0]

    def _values(self, name: str) -> list[_Value]:
        """Other categories, or a number just behind each threshold that the trees have."""
        model = self._scored.models[int(self._scored.model_of_row[self._row])]
        learnt, own = self._scored.training.X[name].iloc[model.rows], self._own[name].iloc[0]
        if isinstance(learnt.dtype, pd.CategoricalDtype):
            levels = [str(level) for level in learnt.dropna().unique()]
            return [_Value(name, level, CATEGORY_COST) for level in levels if level != own]
        scale, values = self._spreads[name], []
        for place in self._thresholds(model.estimator, name).tolist():
            ends = (place, place + _BEHIND * scale)
            if own > place:
                ends = (place - _BEHIND * scale, place)
            value = number_between(*ends)
            cost = CATEGORY_COST if math.isnan(own) else abs(value - own) / scale
            values.append(_Value(name, value, cost))
        return values

    def _thresholds(self, model: Any, name: str) -> np.ndarray:
        """Of a number among the columns that the trees read, which has a place there."""
        rows, every = read_by_model(model, self._own), split_thresholds(boosted_of(model))
        if isinstance(rows, pd.DataFrame):
            return every[list(rows.columns).index(name)]
        numbers = [n for n in self._own.columns if n not in model.columns_.levels]
        return every[len(every) - len(numbers) + numbers.index(name)]


def _front(values: Sequence[_Value]) -> list[_Value]:
    """Values of a feature that leave less doubt than all that cost less; at most a few."""
    front: list[_Value] = []
    for value in sorted(values, key=lambda value: (value.cost, value.doubt)):
        if not front or value.doubt < front[-1].doubt:
            front.append(value)
    places = np.linspace(0, len(front) - 1, min(len(front), _MOST_VALUES)).round().astype(int)
    return [front[place] for place in places.tolist()]


def _row_change(scored: ScoredTable, row: int, change: SmallestChange) -> RowChange:
    own = scored.scored.X.iloc[[row]]
    names = [str(own.columns[k]) for k in change.columns]
    owner = {feature.name: feature.column for feature in scored.training.features}
    classes = scored.training.target.classes

    def predicted(table: pd.DataFrame) -> float | str:
        loc = float(predict_versions(scored, row, table).loc[0])
        return classes[int(loc)] if classes else loc

    return RowChange(
        tuple(owner[name] for name in names),
        tuple(_text(value) for value in change.before),
        tuple(_text(value) for value in change.after),
        change.size,
        change.uncertainty_before,
        change.uncertainty_after,
        predicted(own),
        predicted(change.row),
    )


def _text(value: Any) -> str:
    """A cell in words; every digit of a number counts, because a threshold may be close."""
    if pd.isna(value):
        return "missing"
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)
