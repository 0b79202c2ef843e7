"""A scored row with other values: what its model and its unfamiliarity say then.

The row goes the way of every scored row: the model that scored it predicts the edited row, and the
measures that judged how unfamiliar it is judge it again.
"""

from __future__ import annotations

import datetime
import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from gbuq_core.errors import InvalidParameter
from gbuq_core.presentation import short, shown
from gbuq_core.tables.cleaning import Prepared
from gbuq_core.tables.columns import Column, as_categories, as_text, trim
from gbuq_core.tables.decimal_marks import OTHER
from gbuq_core.tables.explaining import feature_groups
from gbuq_core.tables.predicting import Predictions, interval_of, predict_rows
from gbuq_core.tables.scoring import ScoredTable
from gbuq_core.tables.unfamiliar import explain_version, judge_versions
from gbuq_core.tables.written_dates import (
    as_date,
    date_part,
    date_text,
    find_date_style,
    read_dates,
)
from gbuq_core.tables.written_numbers import BARE, CLOCK, read_numbers
from gbuq_core.uncertainty import Uncertainty
from gbuq_core.unfamiliarity import Reason
from gbuq_core.validation import check_number

LEVEL = 0.9
N_VALUES = 65
_FEW_VALUES = 12  # a column of no more distinct numbers has no values in between
_MOST_LEVELS = 50
_FIGURES = 4  # of the values of a curve

Value = Any  # a number, text, a date, True or False; None is missing


class EditedRow(NamedTuple):
    """What is said of a row with other values.

    Attributes
    ----------
    prediction : float or str
        The predicted mean, or class.
    lower, upper : float
        The ends of the central interval; NaN for a classification.
    probabilities : ndarray of shape (n_classes,)
        Empty for a regression.
    uncertainty : Uncertainty
        Each (1,): variances of the target, or nats.
    unfamiliarity, times_beyond : float
        NaN where the table's unfamiliarity was not measured.
    parts : tuple of Reason
        What every measure of unfamiliarity says.
    notes : tuple of (str, str)
        Columns with an edited value that training does not know, and a sentence about it.
    """

    prediction: float | str
    lower: float
    upper: float
    probabilities: NDArray[np.float64]
    uncertainty: Uncertainty
    unfamiliarity: float
    times_beyond: float
    parts: tuple[Reason, ...]
    notes: tuple[tuple[str, str], ...]


class ColumnCurve(NamedTuple):
    """What is said of a row while one of its columns takes other values.

    Attributes
    ----------
    column : str
    kind : {"numeric", "category", "date"}
    values : tuple
        Numbers in rising order, dates (``numpy.datetime64``) in order, or categories, the most
        frequent first; the row's own value and the edited one are among them.
    texts : tuple of str
        The same as text.
    loc, lower, upper : ndarray of shape (n_values,)
        As in `EditedRow`; ``loc`` of a classification is the code of the class.
    probabilities : ndarray of shape (n_values, n_classes)
    uncertainty : Uncertainty
        Each (n_values,).
    unfamiliarity : ndarray of shape (n_values,)
        NaN where it was not measured.
    """

    column: str
    kind: str
    values: tuple[Any, ...]
    texts: tuple[str, ...]
    loc: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    uncertainty: Uncertainty
    unfamiliarity: NDArray[np.float64]


def score_edited(
    scored: ScoredTable, row: int, edits: Mapping[str, Value], level: float = LEVEL
) -> EditedRow:
    r"""What the model would say about a row if some of its values were others.

    The model is the one that scored the row. With unfamiliarity added to the table, the edited row
    is judged as the row was. No edit gives the row's own scores.

    Parameters
    ----------
    scored : ScoredTable
    row : int
        Position in ``scored.frame``.
    edits : mapping of str to value
        New cells by column: numbers, text, dates, True and False. None, an empty text and marks
        such as "NA" are missing values. Text is read as a plain number first, and else as in the
        file. A category may be one that the table does not have.
    level : float
        Of the interval.

    Returns
    -------
    EditedRow

    Raises
    ------
    InvalidParameter
        If there is no such row or column, or a value is no number or date where the column holds
        these.

    Examples
    --------
    >>> from gbuq_core.tables import read_table, score_table, ScorePlan
    >>> rows = "\n".join(f"{i % 7},{'ab'[i % 2]},{i % 7 + 0.1 * (i % 3)}" for i in range(60))
    >>> scored = score_table(read_table(f"x,kind,y\n{rows}".encode()), "y",
    ...                      plan=ScorePlan(method="sglb", n_trees=40))
    >>> bool(score_edited(scored, 3, {}).prediction == scored.frame["prediction"][3])
    True
    >>> edited = score_edited(scored, 3, {"x": 0, "kind": "c"})
    >>> bool(edited.prediction < scored.frame["prediction"][3])
    True
    >>> edited.notes
    (('kind', 'The training rows have no "c".'),)
    """
    check_number("row", row, 0, len(scored.frame) - 1, integer=True)
    check_number("level", level, 0.01, 0.999)
    cells = {column: read_cell(scored, column, value) for column, value in edits.items()}
    X = row_versions(scored, row, [_features(scored, cells)])
    predictions = predict_versions(scored, row, X)
    lower, upper = _interval(scored, predictions, level)
    judged = explain_version(scored, row, X)
    classes = scored.training.target.classes
    return EditedRow(
        classes[int(predictions.loc[0])] if classes else float(predictions.loc[0]),
        float(lower[0]),
        float(upper[0]),
        predictions.probabilities[0],
        predictions.uncertainty,
        math.nan if judged is None else float(judged[0].score[0]),
        math.nan if judged is None else float(judged[0].times_beyond[0]),
        () if judged is None else judged[1],
        tuple(
            (column, note)
            for column, cell in cells.items()
            if (note := _note(scored, row, column, cell))
        ),
    )


def column_curve(
    scored: ScoredTable,
    row: int,
    column: str,
    edits: Mapping[str, Value] | None = None,
    n_values: int = N_VALUES,
    level: float = LEVEL,
) -> ColumnCurve:
    r"""What the model says about a row while one column goes through its training values.

    Numbers and dates go from the smallest to the largest training value in equal steps (numbers
    with few distinct values through these), categories through the most frequent ones.

    Parameters
    ----------
    scored : ScoredTable
    row : int
    column : str
    edits : mapping of str to value, optional
        Other new cells of the row, as for `score_edited`.
    n_values : int
        The most values, besides the row's own and the edited one.
    level : float

    Examples
    --------
    >>> from gbuq_core.tables import read_table, score_table, ScorePlan
    >>> rows = "\n".join(f"{i % 7},{i % 7 + 0.1 * (i % 3)}" for i in range(60))
    >>> scored = score_table(read_table(f"x,y\n{rows}".encode()), "y",
    ...                      plan=ScorePlan(method="sglb", n_trees=40))
    >>> curve = column_curve(scored, 3, "x")
    >>> curve.values, bool(curve.loc[0] < curve.loc[-1])
    ((0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0), True)
    """
    check_number("row", row, 0, len(scored.frame) - 1, integer=True)
    most = check_number("n_values", n_values, 2, 10_000, integer=True)
    cells = {name: read_cell(scored, name, value) for name, value in (edits or {}).items()}
    kind = scored.training.schema.column(column).kind
    values = column_values(scored, row, column, most, cells.get(column))
    X = row_versions(scored, row, [_features(scored, {**cells, column: value}) for value in values])
    predictions = predict_versions(scored, row, X)
    lower, upper = _interval(scored, predictions, level)
    judged = judge_versions(scored, row, X)
    return ColumnCurve(
        column,
        kind,
        tuple(values),
        tuple(cell_text(value) for value in values),
        predictions.loc,
        lower,
        upper,
        predictions.probabilities,
        predictions.uncertainty,
        np.full(len(values), np.nan) if judged is None else judged.score,
    )


def column_values(
    scored: ScoredTable, row: int, column: str, n_values: int = N_VALUES, cell: Any = None
) -> list[Any]:
    """The values of one column that `column_curve` goes through."""
    own = prepared_cell(scored.scored, row, column)
    extra = [value for value in (own, cell) if value is not None]
    kind = scored.training.schema.column(column).kind
    feature = feature_groups(scored.training)[column][0]
    rows = scored.models[int(scored.model_of_row[row])].rows
    learnt = scored.training.X[feature].iloc[rows]
    if kind == "category":
        counts = learnt.value_counts()
        levels = [str(name) for name in counts.index[counts > 0][: min(n_values, _MOST_LEVELS)]]
        return [*levels, *dict.fromkeys(level for level in extra if level not in levels)]
    known = np.unique(learnt.to_numpy(dtype=np.float64))
    known = known[np.isfinite(known)]
    steps = known
    if len(known) > _FEW_VALUES:
        steps = 0.5 * np.linspace(2.0 * known[0], 2.0 * known[-1], n_values)
        whole = bool((known == np.round(known)).all())
        steps = np.round(steps) if whole or kind == "date" else _rounded(steps)
        steps = np.clip(steps, known[0], known[-1])
    if kind == "date":
        return sorted({*(as_date(day) for day in steps.tolist()), *extra})
    return sorted({*steps.tolist(), *extra})


def read_cell(scored: ScoredTable, column: str, value: Value) -> Any:
    """A new cell as the table's column reads it: float, str, ``numpy.datetime64``, or None."""
    groups = feature_groups(scored.training)
    if column not in groups:
        raise InvalidParameter(
            f"{shown(column)} cannot be edited: it is not one of the columns that the model uses."
        )
    about = scored.training.schema.column(column)
    if _is_missing(value, about):
        return None
    if about.kind == "numeric":
        return _read_number(about, value)
    if about.kind == "date":
        return _read_date(about, value)
    categories = as_categories(pa.array([value]), about)
    return None if categories.codes[0] < 0 else str(categories.categories[0])


def prepared_cell(prepared: Prepared, row: int, column: str) -> Any:
    """The cell of a prepared table's row as `read_cell` gives cells."""
    groups = feature_groups(prepared)
    if column not in groups:
        raise InvalidParameter(f"column must be one that the model uses; got {column!r}.")
    value = prepared.X[groups[column][0]].iloc[row]
    if pd.isna(value):
        return None
    kind = prepared.schema.column(column).kind
    if kind == "category":
        return str(value)
    return as_date(float(value)) if kind == "date" else float(value)


def cell_text(value: Any) -> str:
    """A cell of `read_cell` as text that it reads back; empty where it is missing.

    >>> cell_text(3.0), cell_text(np.datetime64("2024-02-29T00:00")), cell_text(None)
    ('3', '2024-02-29', '')
    """
    if value is None:
        return ""
    if isinstance(value, np.datetime64):
        return date_text(value)
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _is_missing(value: Value, column: Column) -> bool:
    if isinstance(value, str):
        return trim(pa.array([value]), column.missing).null_count > 0
    return value is None or bool(pd.isna(value)) or value in column.missing.numbers


def _read_number(column: Column, value: Value) -> float:
    number = math.nan
    if isinstance(value, numbers.Real):
        number = float(value)
    elif isinstance(value, str):
        try:
            number = float(value.strip()) if "_" not in value else math.nan
        except ValueError:
            # With the column's decimal mark, or with the other one where only that makes a number.
            units = column.units if column.units in ((), CLOCK) else (*BARE, *column.units)
            text = trim(pa.array([value]), column.missing)
            for mark in (column.decimal, OTHER[column.decimal]):
                number = float(read_numbers(text, mark, units).values[0])
                if not math.isnan(number):
                    break
    if math.isinf(number):
        raise InvalidParameter(f"{shown(column.name)} must be a finite number.")
    if math.isnan(number):
        raise InvalidParameter(
            f"{shown(value)} is not a number, and the column {shown(column.name)} holds numbers."
        )
    return number


def _read_date(column: Column, value: Value) -> Any:
    moment: Any = None
    if isinstance(value, str):
        text = as_text(pa.array([value]), column.missing)
        day_first = column.date_style.startswith("day")
        for style in (column.date_style, find_date_style(text.to_pylist(), day_first)[0]):
            if style and not np.isnat(read_dates(text, style).values[0]):
                return read_dates(text, style).values[0]
    elif isinstance(value, datetime.date | np.datetime64):
        moment = pd.Timestamp(value)
        if moment.tzinfo is not None:
            moment = moment.tz_convert("UTC").tz_localize(None)
    if moment is None:
        raise InvalidParameter(
            f"{shown(value)} is not a date, and the column {shown(column.name)} holds dates: "
            "write it as 2024-02-29."
        )
    return moment.to_datetime64().astype("datetime64[us]")


def _features(scored: ScoredTable, cells: Mapping[str, Any]) -> dict[str, Any]:
    """The features of new cells, by name; None is missing."""
    features: dict[str, Any] = {}
    for feature in scored.training.features:
        if feature.column not in cells:
            continue
        cell = cells[feature.column]
        if feature.part and cell is not None:
            cell = float(date_part(np.array([cell], "datetime64[us]"), feature.part)[0])
        features[feature.name] = cell
    return features


def row_versions(
    scored: ScoredTable, row: int, changes: Sequence[Mapping[str, Any]]
) -> pd.DataFrame:
    """The row once for each set of changed features."""
    own, n = scored.scored.X.iloc[[row]], len(changes)
    parts: dict[str, Any] = {}
    for name in own.columns:
        column = own[name]
        given = [(k, change[name]) for k, change in enumerate(changes) if name in change]
        if isinstance(column.dtype, pd.CategoricalDtype):
            new = pd.Index([level for _, level in given if level is not None], dtype="str")
            known = column.cat.categories.append(new).unique()
            codes = np.repeat(known.get_indexer(pd.Index(column)), n)
            for k, level in given:
                codes[k] = -1 if level is None else known.get_indexer(pd.Index([level]))[0]
            parts[name] = pd.Categorical.from_codes(codes, known)
        else:
            values = np.repeat(column.to_numpy(dtype=np.float64), n)
            for k, number in given:
                values[k] = np.nan if number is None else number
            parts[name] = values
    return pd.DataFrame(parts, copy=False)


def predict_versions(scored: ScoredTable, row: int, X: pd.DataFrame) -> Predictions:
    """What the model that scored a row says of versions of it."""
    model = scored.models[int(scored.model_of_row[row])].estimator
    n_classes = len(scored.training.target.classes)
    step = scored.training.resolution
    return predict_rows(model, X, np.full(len(X), np.nan), n_classes, step)


def _interval(
    scored: ScoredTable, predictions: Predictions, level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if scored.training.target.classes:
        none = np.full(len(predictions.loc), np.nan)
        return none, none
    return interval_of(predictions, level)


def _rounded(steps: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values with no more digits than tell them apart; the ends stay."""
    width = float(steps[1] - steps[0])
    if not (width > 0.0 and math.isfinite(width)):
        return steps
    places = 1 - math.floor(math.log10(width))
    if not -300 < places < 300:
        return steps
    inner = [float(round(value, places)) for value in steps[1:-1].tolist()]
    return np.array([steps[0], *inner, steps[-1]])


def _note(scored: ScoredTable, row: int, column: str, cell: Any) -> str:
    """What is wrong with a new cell; empty where nothing is."""
    name = feature_groups(scored.training)[column][0]
    rows = scored.models[int(scored.model_of_row[row])].rows
    learnt = scored.training.X[name].iloc[rows]
    if cell is None:
        never = not bool(learnt.isna().any())
        return "Missing, which it never is in the training rows." if never else "Missing."
    if isinstance(learnt.dtype, pd.CategoricalDtype):
        known = bool((learnt == cell).any())
        return "" if known else f"The training rows have no {shown(cell)}."
    number = _features(scored, {column: cell})[name]
    low, high = float(learnt.min()), float(learnt.max())
    if low <= number <= high:
        return ""
    if math.isnan(low):
        return "The training rows have no value here."
    below = number < low
    end = low if below else high
    limit = cell_text(as_date(end)) if isinstance(cell, np.datetime64) else short(end, _FIGURES)
    if below:
        return f"Below all training values: they begin at {limit}."
    return f"Above all training values: they end at {limit}."
