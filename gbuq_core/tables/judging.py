"""Is a scored table any good? What its held-out rows say, beyond the scores.

PIT values, coverage by group of any column, and how well each class is found. Everything is
measured on rows that their model did not learn from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gbuq_core.metrics import GroupCoverage, auroc, average_precision, group_coverage, wilson_band
from gbuq_core.presentation import counted, enumerated, listed, percent, short, shown, written_apart
from gbuq_core.tables.cleaning import Prepared
from gbuq_core.tables.columns import (
    Column,
    as_categories,
    as_dates,
    as_numbers,
    finite_values,
    single_chunk,
)
from gbuq_core.tables.files import Table
from gbuq_core.tables.predicting import (
    Predictions,
    inside_interval,
    interval_of,
    law_of,
    predict_rows,
)
from gbuq_core.tables.scoring import ScoredTable, joined
from gbuq_core.tables.voices import outlying_rows
from gbuq_core.tables.written_dates import date_part, dates_apart
from gbuq_core.validation import check_number

MOST_GROUPS = 8
BINS = 5
FEW_NUMBERS = 6  # as many distinct ones are groups of their own
_MOST_HEAVY = 3  # rows that are named if most of the squared error is theirs
_HEAVY = 0.1  # of the squared error, at least, where there are two or three
_FOR_EACH_HEAVY = 20  # rows, at least
_MOST_NAMED = 10  # rows of a class


class HeldOut(NamedTuple):
    """The rows that give the scores, with what a model that had not seen them says.

    Attributes
    ----------
    rows : ndarray of shape (n_held,), int64
        Their positions in the training table, rising.
    y : ndarray of shape (n_held,)
        Numbers, or codes of classes.
    predictions : Predictions
        Of these rows.
    classes : tuple of str
        Empty for a regression.
    """

    rows: NDArray[np.int64]
    y: NDArray[np.float64]
    predictions: Predictions
    classes: tuple[str, ...]

    @property
    def errors(self) -> NDArray[np.float64]:
        """Absolute errors, or 1 for a wrong class and 0 for the right one."""
        if self.classes:
            return (self.predictions.loc != self.y).astype(np.float64)
        return np.abs(self.predictions.loc - self.y)


class Groups(NamedTuple):
    """The rows of a table by the values of one column: a code for each row, and the names."""

    codes: NDArray[np.int64]
    names: tuple[str, ...]


class ClassScore(NamedTuple):
    """How well one class is found among held-out rows.

    Attributes
    ----------
    name : str
        The user's word.
    n_rows : int
        Of this class.
    recall, low, high : float
        Share of its rows that are predicted so, with the Wilson band; NaN without rows.
    precision : float
        Share of the rows predicted so that are; NaN if none is.
    average_precision, auroc : float
        Of the class's probability; chance has the class's share of rows, and one half.
    """

    name: str
    n_rows: int
    recall: float
    low: float
    high: float
    precision: float
    average_precision: float
    auroc: float


def held_out(scored: ScoredTable) -> HeldOut:
    r"""The rows of the first file that a model judged without having learnt from them.

    Parameters
    ----------
    scored : ScoredTable
        Cut or not. Beside a second file, the models that gave the scores predict here.

    Examples
    --------
    >>> from gbuq_core.tables import ScorePlan, read_table, score_table
    >>> rows = "\n".join(f"{i % 7},{i % 7 + 0.1 * (i % 3)}" for i in range(60))
    >>> table = read_table(f"x,y\n{rows}\n".encode())
    >>> held_out(score_table(table, "y", plan=ScorePlan(method="sglb", n_trees=20))).rows.shape
    (60,)
    """
    training = scored.training
    classes = training.target.classes
    if scored.protocol == "new_file":
        step = training.resolution
        pieces = [
            predict_rows(
                part.model.estimator,
                training.X.iloc[part.rows],
                training.y[part.rows],
                len(classes),
                step,
            )
            for part in scored.measured
        ]
        predictions = joined(pieces, [part.rows for part in scored.measured])
        rows = np.sort(np.concatenate([part.rows for part in scored.measured]))
        return HeldOut(rows, training.y[rows], predictions, classes)
    rows = np.flatnonzero(scored.held)
    return HeldOut(rows, training.y[rows], scored.predictions.take(rows), classes)


def heavy_rows(scored: ScoredTable, second: bool = True) -> list[str]:
    r"""Name up to three rows that have most of the squared error: a total, a typing error.

    Of classes, those that are never predicted, with their rows. They are learnt from and judged as
    all others are. The rows are those that give the scores, and those of a second file with
    targets.

    Parameters
    ----------
    scored : ScoredTable
    second : bool
        Whether the rows of a second file are looked at.

    Returns
    -------
    list of str
        A sentence for each file with such rows. It may hold the user's words.

    Examples
    --------
    >>> from gbuq_core.tables import ScorePlan, read_table, score_table
    >>> rows = "\n".join(f"{i % 7},{i % 7 + 0.1 * (i % 3)}" for i in range(60))
    >>> table = read_table(f"x,y\n{rows}\n420,186\n".encode())
    >>> heavy_rows(score_table(table, "y", plan=ScorePlan(method="sglb", n_trees=20)))
    ['Row 61 has 100 % of the squared error of the 61 rows held out: its "y" is 186, predicted...']
    """
    sentences = heavy_held(scored.training, held_out(scored), stacks=scored.plan.stacks)
    if second and scored.protocol == "new_file":
        rows = np.flatnonzero(scored.scored.known)
        classes = scored.training.target.classes
        new = HeldOut(rows, scored.scored.y[rows], scored.predictions.take(rows), classes)
        sentences += [
            f"Second file: {sentence[0].lower()}{sentence[1:]}"
            for sentence in heavy_held(scored.scored, new, is_new=True)
        ]
    return sentences


def heavy_held(
    prepared: Prepared, judged: HeldOut, is_new: bool = False, stacks: bool = False
) -> list[str]:
    """A sentence about rows with most of the squared error, if they are few."""
    target, numbers = prepared.target.name, prepared.row_numbers
    if prepared.target.classes:
        return _classes_never_found(prepared, judged, is_new)
    squares = judged.errors**2
    order = np.argsort(-squares, kind="stable")[:_MOST_HEAVY]
    shares = squares[order] / max(squares.sum(), np.finfo(float).tiny)
    n_heavy = max(1, int((shares >= _HEAVY).sum()))
    share = shares[:n_heavy].sum()
    if share <= 0.5 or len(squares) < n_heavy * _FOR_EACH_HEAVY:
        return []
    heavy = np.sort(order[:n_heavy])
    single = n_heavy == 1
    if len(numbers):
        rows = enumerated([f"{number:,}" for number in numbers[judged.rows[heavy]]])
        who = f"Row {rows} has" if single else f"Rows {rows} have"
    else:  # of a sample of a large file
        who = counted(n_heavy, "row has", "rows have")
    values = [f"{value:,.15g}" for value in judged.y[heavy]]
    predicted = [short(value, 4) for value in judged.predictions.loc[heavy]]
    marker = shown(f"{target}={judged.y[heavy[0]]:.15g}")
    way = _way_of_learning(prepared, judged.rows[heavy], is_new, stacks)
    return [
        f"{who} {percent(share, 0)} of the squared error of the {len(squares):,} rows "
        f"{'with a target' if is_new else 'held out'}: {'its' if single else 'their'} "
        f"{shown(target)} {'is' if single else 'are'} {enumerated(values)}, predicted as "
        f"{enumerated(predicted)}. {way} To leave "
        f"{'a total or a typing error' if single else 'totals or typing errors'} out, delete "
        f"{'the row' if single else 'the rows'} from the file, or enter "
        f"{'its target' if single else 'their targets'} under Missing if (--missing {marker})."
    ]


def _way_of_learning(
    prepared: Prepared, heavy: NDArray[np.int64], is_new: bool, stacks: bool
) -> str:
    """What becomes of heavy rows."""
    them = "It is" if len(heavy) == 1 else "They are"
    if is_new:
        return f"{them} judged like all others."
    if stacks and np.isin(heavy, outlying_rows(prepared)).all():
        theirs = "its target" if len(heavy) == 1 else "their targets"
        return (
            f"The model learns as if {theirs} were the nearest ordinary one. {them} judged like "
            "all others."
        )
    return f"{them} learnt from and judged like all others."


def _classes_never_found(prepared: Prepared, judged: HeldOut, is_new: bool) -> list[str]:
    """A sentence about each class that no judged row is predicted as; one for many of them."""
    missed = [score for score in class_scores(judged) if score.n_rows and np.isnan(score.precision)]
    if not missed:
        return []
    if len(missed) > _MOST_HEAVY:
        n_rows = sum(score.n_rows for score in missed)
        return [
            f"{len(missed)} of {len(judged.classes)} classes are never predicted: "
            f"{listed([score.name for score in missed])}. They have {counted(n_rows, 'row')} of "
            f"the {len(judged.y):,} {'with a target' if is_new else 'held out'}, all of them wrong."
        ]
    sentences = []
    for score in missed:
        which = judged.rows[judged.y == judged.classes.index(score.name)]
        numbers = prepared.row_numbers[which] if len(prepared.row_numbers) else []
        named = [f"{number:,}" for number in numbers[:_MOST_NAMED]]
        if len(numbers) > _MOST_NAMED:
            named.append(f"{len(numbers) - _MOST_NAMED:,} more")
        rows = f" ({'row' if len(numbers) == 1 else 'rows'} {enumerated(named)})" if named else ""
        sentences.append(
            f"The class {shown(score.name)} has {counted(score.n_rows, 'row')}{rows} and is never "
            f"predicted: {'it is' if score.n_rows == 1 else 'all of them are'} wrong. Sort by "
            f"{shown('p_' + score.name)} to find rows like "
            f"{'it' if score.n_rows == 1 else 'them'}."
        )
    return sentences


def pit_values(held: HeldOut) -> NDArray[np.float64]:
    """Where each held-out target lies in its predicted law, (n_held,): uniform if the law is right.

    For a regression only.
    """
    return law_of(held.predictions).cdf(held.y)


def group_column(table: Table, column: Column, rows: NDArray[np.int64]) -> Groups:
    r"""Groups of some rows by a column: categories, or bins of equally many numbers or dates.

    The most frequent categories are groups, the others one more, and so are missing cells. A column
    with at most six distinct numbers has a group for each of them.

    Parameters
    ----------
    table : Table
    column : Column
        Of the table's schema, whether the model uses it or not.
    rows : ndarray of shape (n_kept,), int64
        Which rows to group.

    Examples
    --------
    >>> from gbuq_core.tables import infer_schema, read_table
    >>> table = read_table(b"x,who\n" + b"".join(b"%d,%d\n" % (i, i % 2) for i in range(50)))
    >>> schema = infer_schema(table)
    >>> group_column(table, schema.column("x"), np.arange(50)).names
    ('0 to 9', '10 to 19', '20 to 29', '30 to 39', '40 to 49')
    >>> group_column(table, schema.column("who"), np.arange(50)).names
    ('0', '1')
    """
    array = single_chunk(table.data, column.name)
    if column.kind == "numeric":
        numbers = as_numbers(array, column)
        return _binned(finite_values(numbers)[rows], partial(written_apart, places=4, write=short))
    if column.kind == "date":
        dates = as_dates(array, column.date_style, column.missing).values[rows]
        return _binned(date_part(dates, "days"), dates_apart)
    return _by_category(as_categories(array, column)[rows])


def _binned(values: NDArray[np.float64], write: Callable[[Sequence[float]], list[str]]) -> Groups:
    codes = np.full(len(values), -1, np.int64)
    known = np.flatnonzero(~np.isnan(values))
    distinct = np.unique(values[known])
    if len(distinct) <= FEW_NUMBERS:
        codes[known] = np.searchsorted(distinct, values[known])
        names = write(distinct.tolist())
    else:
        inner = np.quantile(values[known], np.arange(1, BINS) / BINS, method="inverted_cdf")
        place = np.searchsorted(np.unique(inner), values[known], side="left")
        filled, codes[known] = np.unique(place, return_inverse=True)
        held = [values[known][place == bin_] for bin_ in filled]
        ends = write([float(end) for part in held for end in (part.min(), part.max())])
        pairs = zip(ends[::2], ends[1::2], strict=True)
        names = [low if low == high else f"{low} to {high}" for low, high in pairs]
    return _with_missing(codes, names)


def _by_category(categories: pd.Categorical) -> Groups:
    codes = np.asarray(categories.codes, dtype=np.int64)
    count = np.bincount(codes[codes >= 0], minlength=len(categories.categories))
    order = np.argsort(-count, kind="stable")
    order = order[count[order] > 0]
    kept, others = order[:MOST_GROUPS], order[MOST_GROUPS:]
    place = np.full(len(categories.categories) + 1, -1, np.int64)
    place[kept] = np.arange(len(kept))
    names = [str(categories.categories[code]) for code in kept]
    if len(others):
        place[others] = len(kept)
        names.append(counted(len(others), "other value"))
    return _with_missing(place[codes], names)


def _with_missing(codes: NDArray[np.int64], names: list[str]) -> Groups:
    if (codes >= 0).all():
        return Groups(codes, tuple(names))
    return Groups(np.where(codes < 0, len(names), codes), (*names, "missing"))


def coverage_by_group(
    held: HeldOut,
    groups: Groups,
    level: float = 0.9,
    inside: NDArray[np.bool_] | None = None,
) -> GroupCoverage:
    """How many held-out rows of each group lie inside their central interval.

    For classes: how many are predicted right, against the mean probability of the predicted class.

    Parameters
    ----------
    held : HeldOut
    groups : Groups
        Of the held-out rows.
    level : float
        Of the intervals, between 0 and 1; classes need none.
    inside : ndarray of shape (n_held,), bool, optional
        Which rows lie inside other intervals than those of the law, such as `held_out_inside`.
    """
    if held.classes:
        sure = held.predictions.probabilities.max(axis=1)
        return group_coverage(held.errors == 0.0, np.minimum(sure, 1.0), *groups)
    check_number("level", level, 0.0, 1.0)
    if inside is None:
        inside = inside_interval(interval_of(held.predictions, level), held.y)
    return group_coverage(inside, level, *groups)


def class_scores(held: HeldOut) -> list[ClassScore]:
    """Recall, precision and ranking of each class, the rarest first; empty for a regression."""
    scores = []
    for code, name in enumerate(held.classes):
        mine, called = held.y == code, held.predictions.loc == code
        n_rows, n_right = int(mine.sum()), int((mine & called).sum())
        recall = low = high = np.nan
        if n_rows:
            recall, (low, high) = n_right / n_rows, (float(v) for v in wilson_band(n_right, n_rows))
        probability = held.predictions.probabilities[:, code]
        scores.append(
            ClassScore(
                name=name,
                n_rows=n_rows,
                recall=recall,
                low=low,
                high=high,
                precision=n_right / int(called.sum()) if called.any() else np.nan,
                average_precision=average_precision(mine, probability),
                auroc=auroc(mine, probability),
            )
        )
    return sorted(scores, key=lambda score: score.n_rows)
