"""One row in detail: what its members predict, where its values lie among the training rows, and
how much each column adds to its uncertainty.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gbuq_core.jobs import stage, tick
from gbuq_core.tables.cleaning import Prepared
from gbuq_core.tables.plan import USUAL_LEVEL
from gbuq_core.tables.predicting import ListedModel, all_classes, law_of, predict_rows
from gbuq_core.tables.scoring import ScoredTable
from gbuq_core.tables.written_dates import date_text
from gbuq_core.uncertainty import Uncertainty
from gbuq_core.validation import check_number

EFFECT_MEANING = (
    "How much this column adds to the row's uncertainty. Training rows become this row one column "
    "after the other, in random orders, and each step is the column's: its Shapley value. Positive "
    "means that the row would be less uncertain with a usual value. The effects add up to the "
    "row's uncertainty less the average of those training rows."
)

N_BACKGROUND = 32
_BLOCK_ROWS = 8192  # on the way from training rows to the row, at a time


class ColumnEffect(NamedTuple):
    """One column's part in a row's uncertainty, and its value against the training rows.

    Attributes
    ----------
    column : str
    value : str
        The cell, as text; empty if missing.
    is_missing : bool
    percentile : float
        For numbers and dates: the share of training values below it, in percent, values equal to it
        counted half. NaN for categories and missing cells.
    share : float
        For categories and missing cells: the share of training rows with the same, in percent, 0
        for one that training did not have. NaN for numbers and dates.
    total, data, knowledge : float
        See `EFFECT_MEANING`; in variances of the target, or nats.
    width : float
        The same of the width of the row's interval, in units of the target; NaN for classes.
    """

    column: str
    value: str
    is_missing: bool
    percentile: float
    share: float
    total: float
    data: float
    knowledge: float
    width: float


class RowExplanation(NamedTuple):
    """One row: what each member says, and where its uncertainty comes from.

    Attributes
    ----------
    row : int
        Its position in the scored table.
    uncertainty, usual : Uncertainty
        Each of shape (1,): the row's, and the average of the training rows that it is compared
        with. The effects of all columns add up to the difference, within 1e-9 of its size.
    width, usual_width : float
        The same of the width of the interval of 90 %; NaN for classes.
    member_loc, member_scale : ndarray of shape (n_members,)
        Means and stds of the members, in units of the target; empty for a classification, and of
        a method without members.
    member_probabilities : ndarray of shape (n_members, n_classes)
        Empty for a regression.
    classes : tuple of str
    effects : tuple of ColumnEffect
        From the largest effect on knowledge uncertainty to the smallest; on total uncertainty
        where knowledge is not known.
    n_background : int
        How many training rows it is compared with.
    """

    row: int
    uncertainty: Uncertainty
    usual: Uncertainty
    width: float
    usual_width: float
    member_loc: NDArray[np.float64]
    member_scale: NDArray[np.float64]
    member_probabilities: NDArray[np.float64]
    classes: tuple[str, ...]
    effects: tuple[ColumnEffect, ...]
    n_background: int


def explain_row(
    scored: ScoredTable, row: int, n_background: int = N_BACKGROUND, seed: int = 0
) -> RowExplanation:
    """What the members say about one row, and how much each column adds to its uncertainty.

    Each of ``n_background`` training rows of the model that scored the row becomes this row, one
    column after the other, in a random order and in its reverse. What a column changes on the way
    is its effect, averaged over all ways (Shapley values by sampled orders: Castro, Gomez and
    Tejada 2009). If two unusual values cause uncertainty together, they share it. Reports progress
    to the current job and stops once nobody wants the result.

    Parameters
    ----------
    scored : ScoredTable
    row : int
        Position in ``scored.frame``.
    n_background : int
    seed : int
        Of the choice of training rows.

    Raises
    ------
    InvalidParameter
        If there is no such row.
    """
    _check_row(scored, row)
    count = check_number("n_background", n_background, 1, 10_000, integer=True)
    model = scored.models[int(scored.model_of_row[row])]
    n_classes = len(scored.training.target.classes)
    own = scored.scored.X.iloc[[row]]
    members = _members(model.estimator, own, n_classes)
    random = np.random.default_rng(seed)
    chosen = random.choice(model.rows, min(count, len(model.rows)), replace=False)
    columns = feature_groups(scored.training)
    walk = _Walk(model.estimator, n_classes, scored.training.resolution)
    ends, gaps_of_columns = walk.effects(
        own, scored.training.X.iloc[chosen], [*columns.values()], random
    )
    learnt = scored.training.X.iloc[model.rows]
    effects = []
    for (column, features), gaps in zip(columns.items(), gaps_of_columns.tolist(), strict=True):
        place = _place(learnt[features[0]], own[features[0]])
        value, is_missing = _cell(scored, column, row, own[features[0]])
        effects.append(ColumnEffect(column, value, is_missing, *place, *gaps))
    uncertainty, usual = (Uncertainty(*part[:3, None]) for part in ends)
    by_total = np.isnan(uncertainty.knowledge).all()  # where knowledge is not known
    effects.sort(key=lambda effect: -abs(effect.total if by_total else effect.knowledge))
    regression = n_classes == 0
    return RowExplanation(
        row,
        uncertainty,
        usual,
        float(ends[0, 3]),
        float(ends[1, 3]),
        members[:, 0, 0] if regression else np.empty(0),
        np.sqrt(members[:, 0, 1]) if regression else np.empty(0),
        np.empty((0, 0)) if regression else members[:, 0],
        scored.training.target.classes,
        tuple(effects),
        len(chosen),
    )


def feature_groups(prepared: Prepared) -> dict[str, list[str]]:
    """The features of each of the table's columns; a date has several."""
    groups: dict[str, list[str]] = {}
    for feature in prepared.features:
        groups.setdefault(feature.column, []).append(feature.name)
    return groups


def _check_row(scored: ScoredTable, row: int) -> None:
    check_number("row", row, 0, len(scored.frame) - 1, integer=True)


def _members(model: Any, X: pd.DataFrame, n_classes: int) -> NDArray[np.float64]:
    """Members' means and variances, or probabilities: (n_members, n_rows, 2 or n_classes)."""
    listed = isinstance(model, ListedModel)
    members = model.judge(X).members if listed else model.predict_members(X)
    if members is None:  # of a method that tells the parts of uncertainty without any
        return np.empty((0, len(X), n_classes or 2))
    return all_classes(members, model, n_classes)


class _Walk(NamedTuple):
    """From training rows to a row, column by column."""

    model: Any
    n_classes: int
    step: float

    def measure(self, X: pd.DataFrame) -> NDArray[np.float64]:
        """Total, data and knowledge uncertainty and the interval's width, (4, n_rows)."""
        rows = predict_rows(self.model, X, np.full(len(X), np.nan), self.n_classes, self.step)
        width = np.full(len(X), np.nan)
        if not self.n_classes:
            lower, upper = law_of(rows).interval(USUAL_LEVEL)
            width = upper - lower
        return np.stack([*rows.uncertainty, width])

    def effects(
        self,
        own: pd.DataFrame,
        background: pd.DataFrame,
        groups: list[list[str]],
        random: np.random.Generator,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """What the row and the training rows have (2, 4), and what columns add (n_columns, 4)."""
        n = len(groups)
        # When each column changes, on a way and on the one in the reverse order.
        places = random.permuted(np.tile(np.arange(n), (len(background), 1)), axis=1)
        places = np.stack([places, n - 1 - places], axis=1).reshape(-1, n)
        at_once = max(1, _BLOCK_ROWS // n)
        row, first, steps = np.zeros(4), np.zeros(4), np.zeros((n, 4))
        with stage(1.0, span=1.0):
            for start in range(0, len(places), at_once):
                tick(start / len(places))
                block = places[start : start + at_once]
                ways = np.arange(start, start + len(block)) // 2
                copies = _copies(own, background.iloc[ways], groups, block)
                values = self.measure(copies)
                # The row itself is at the end: exactly 0 for a column that no model uses.
                values, row = values[:, :-1].reshape(4, len(block), n), values[:, -1]
                last = np.broadcast_to(row[:, None, None], (4, len(block), 1))
                gaps = np.diff(np.concatenate([values, last], axis=2), axis=2)
                steps += np.take_along_axis(gaps, block[None], axis=2).sum(axis=1).T
                first += values[:, :, 0].sum(axis=1)
        return np.stack([row, first / len(places)]), steps / len(places)


def _copies(
    own: pd.DataFrame, background: pd.DataFrame, groups: list[list[str]], places: NDArray[np.int64]
) -> pd.DataFrame:
    """Each way's rows before each of its steps, then the row itself."""
    n = len(groups)
    slot = {name: position for position, group in enumerate(groups) for name in group}
    parts: dict[str, Any] = {}
    for name in own.columns:
        changed = np.append(places[:, slot[name], None] < np.arange(n), True)
        if isinstance(own[name].dtype, pd.CategoricalDtype):
            known = own[name].cat.categories.union(background[name].cat.categories, sort=False)
            old = np.append(np.repeat(known.get_indexer(pd.Index(background[name])), n), -1)
            codes = np.where(changed, known.get_indexer(pd.Index(own[name]))[0], old)
            parts[name] = pd.Categorical.from_codes(codes, known)
        else:
            values = np.append(np.repeat(background[name].to_numpy(dtype=np.float64), n), np.nan)
            parts[name] = np.where(changed, float(own[name].iloc[0]), values)
    return pd.DataFrame(parts, copy=False)


def _place(learnt: pd.Series, own: pd.Series) -> tuple[float, float]:
    """Percentile and share of the row's value among the training rows; one of them is NaN."""
    value = own.iloc[0]
    if pd.isna(value):
        return float("nan"), 100.0 * float(learnt.isna().mean())
    if isinstance(learnt.dtype, pd.CategoricalDtype):
        return float("nan"), 100.0 * float((learnt == value).mean())
    known = learnt.to_numpy(dtype=np.float64)
    known = known[~np.isnan(known)]
    if not len(known):
        return float("nan"), float("nan")
    below, equal = float((known < value).mean()), float((known == value).mean())
    return 100.0 * (below + 0.5 * equal), float("nan")


def _cell(scored: ScoredTable, column: str, row: int, own: pd.Series) -> tuple[str, bool]:
    """The cell as the output shows it, and whether it counts as missing."""
    is_missing = bool(pd.isna(own.iloc[0]))
    name = dict(scored.added.renamed).get(column, column)
    value = scored.frame[name].iloc[row]
    if isinstance(value, pd.Timestamp) and not pd.isna(value):
        return date_text(value.to_datetime64()), is_missing
    return ("" if pd.isna(value) else str(value)), is_missing
