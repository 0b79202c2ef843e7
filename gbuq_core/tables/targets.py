"""Which column is predicted, and whether that is a regression or a classification."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gbuq_core.errors import InvalidData
from gbuq_core.tables.columns import (
    Column,
    as_categories,
    as_numbers,
    as_text,
    finite_values,
    single_chunk,
)
from gbuq_core.tables.kinds import best_numbers
from gbuq_core.tables.number_text import Numbers
from gbuq_core.tables.reading import Table
from gbuq_core.tables.schema import Schema
from gbuq_core.tables.wording import counted, listed, shown
from gbuq_core.validation import check_choice

TASKS = ("regression", "classification")
MAX_CLASSES = 200  # as the estimator
MIN_ROWS = 10  # with a known target: fewer cannot be split into parts that mean anything

# Squares of numbers beyond these leave the range of float64.
_LARGEST, _SMALLEST = 1e100, 1e-100
_MOST_CLASSES_IN_NUMBERS = 10
_ROWS_A_CLASS = 3  # on average, for numbers to be taken for classes
_ENOUGH_NUMBERS = 0.95


class Target(NamedTuple):
    """What is predicted.

    Attributes
    ----------
    name : str
    task : {"regression", "classification"}
    reason : str
        Why that task, one sentence.
    classes : tuple of str
        The class labels as in the file, sorted; empty for a regression.
    """

    name: str
    task: str
    reason: str
    classes: tuple[str, ...]


class TargetValues(NamedTuple):
    """The target of every row.

    Attributes
    ----------
    values : ndarray of shape (n_rows,), float64
        Numbers, or codes of classes; NaN where it is not known.
    target : Target
    notices : tuple of str
    """

    values: NDArray[np.float64]
    target: Target
    notices: tuple[str, ...]


def infer_task(table: Table, schema: Schema, name: str) -> tuple[str, str]:
    """The task that a target asks for and why.

    Words and two distinct values are classes, and so are repeated whole numbers that count up from
    0 or 1 to at most 10; other numbers are a regression.

    Returns
    -------
    task, reason : str
    """
    column = schema.column(name)
    if column.kind in ("category", "text", "constant", "empty"):
        return "classification", "The target holds words."
    if column.kind == "date":
        return "regression", "The target holds dates."
    array = single_chunk(table.data, name)
    numbers = finite_values(as_numbers(array, column.decimal, column.missing_values))
    distinct = np.unique(numbers[~np.isnan(numbers)])
    if not len(distinct):
        return "classification", "The target holds words."
    if len(distinct) == 2:
        return "classification", "The target has two distinct values."
    whole = bool((distinct == np.round(distinct)).all())
    counts = whole and distinct[0] in (0.0, 1.0) and bool((np.diff(distinct) == 1).all())
    repeated = np.isfinite(numbers).sum() >= _ROWS_A_CLASS * len(distinct)
    if counts and repeated and len(distinct) <= _MOST_CLASSES_IN_NUMBERS:
        return (
            "classification",
            f"The target counts from {distinct[0]:g} to {distinct[-1]:g}, as classes do.",
        )
    return "regression", f"The target holds {len(distinct):,} distinct numbers."


def read_target(table: Table, schema: Schema, name: str, task: str | None = None) -> TargetValues:
    """The target of every row, checked.

    Parameters
    ----------
    table : Table
    schema : Schema
    name : str
        The target's column.
    task : {"regression", "classification"}, optional
        Inferred if None.

    Raises
    ------
    InvalidData
        If there is nothing to learn: the target is constant, always missing, of the wrong kind, has
        too many or too rare classes, or too few rows have one.
    """
    column = schema.column(name)
    if task is None:
        task, reason = infer_task(table, schema, name)
    else:
        check_choice("task", task, TASKS)
        reason = "Chosen by you."
    if column.kind == "empty":
        raise InvalidData(
            f"The target {shown(name)} is missing in all rows: choose another column."
        )
    _check_enough(name, table.n_rows - column.n_missing)
    array = single_chunk(table.data, name)
    if task == "regression":
        values, classes, notices = _numbers(array, column)
    else:
        values, classes, notices = _classes(array, column)
    known = values[~np.isnan(values)]
    if len(known) and bool((known == known[0]).all()):
        value = classes[0] if classes else f"{known[0]:g}"
        raise InvalidData(
            f"The target {shown(name)} is {shown(value)} in all rows, so there is nothing to "
            "learn: choose another column."
        )
    _check_enough(name, len(known))
    n_missing = len(values) - len(known)
    if n_missing:
        notices.append(
            f"{counted(n_missing, 'row has', 'rows have')} no target and "
            f"{'is' if n_missing == 1 else 'are'} set aside: predicted, but not learnt from."
        )
    return TargetValues(values, Target(name, task, reason, tuple(classes)), tuple(notices))


def _check_enough(name: str, n_known: int) -> None:
    if n_known < MIN_ROWS:
        raise InvalidData(
            f"Only {counted(n_known, 'row')} of the target {shown(name)} can be used, and at least "
            f"{MIN_ROWS} are needed: add rows."
        )


def read_new_target(table: Table, target: Target, column: Column) -> TargetValues:
    """The target of a second file in the classes or units of the first; NaN for unseen classes."""
    array = single_chunk(table.data, target.name)
    if target.task == "regression":
        text = as_text(array, column.missing_values)
        numbers = best_numbers(array, text, table.decimal)[0]
        where = f"the target {shown(target.name)} of the second file"
        found = _left_out_numbers(numbers, where)
        return TargetValues(finite_values(numbers), target, tuple(found))
    categories = as_categories(array, column.missing_values)
    position = {label: code for code, label in enumerate(target.classes)}
    known = np.array([position.get(label, np.nan) for label in categories.categories])
    codes = np.append(known, np.nan)[categories.codes]
    strange = [label for label in categories.categories if label not in position]
    notices: tuple[str, ...] = ()
    if strange:
        n_rows = int(np.isin(categories.codes, np.flatnonzero(np.isnan(known))).sum())
        notices = (
            f"{counted(n_rows, 'row')} of the second file "
            f"{'has a class' if n_rows == 1 else 'have classes'} that the first file does not have "
            f"({listed(strange)}): they cannot be predicted and are not counted in its scores.",
        )
    return TargetValues(codes, target, notices)


def _numbers(array: Any, column: Column) -> tuple[NDArray[np.float64], list[str], list[str]]:
    numbers = as_numbers(array, column.decimal, column.missing_values)
    values, name = finite_values(numbers), shown(column.name)
    n_known = int((~np.isnan(numbers.values) | numbers.unreadable).sum())
    n_bad = int(numbers.unreadable.sum())
    if column.kind == "date":
        raise InvalidData(
            f"The target {name} holds dates, which cannot be predicted: choose another column."
        )
    if n_bad > (1.0 - _ENOUGH_NUMBERS) * n_known:
        raise InvalidData(
            f"The target {name} holds text ({listed(column.unreadable or column.examples)}), so a "
            "regression is not possible: choose classification or another target."
        )
    if np.isnan(values).all():
        raise InvalidData(f"The target {name} holds no finite number: choose another column.")
    if np.nanmax(np.abs(values)) > _LARGEST or 0.0 < np.ptp(values[~np.isnan(values)]) < _SMALLEST:
        raise InvalidData(
            f"The numbers of the target {name} are too large or too close for variances: give them "
            "in another unit."
        )
    return values, [], _left_out_numbers(numbers, f"the target {name}")


def _left_out_numbers(numbers: Numbers, where: str) -> list[str]:
    """What of a numeric target counts as missing though it is not."""
    notices = []
    n_bad = int(numbers.unreadable.sum())
    if n_bad:
        notices.append(f"{counted(n_bad, 'row')} with text in {where} count as missing.")
    n_infinite = int(np.isinf(numbers.values).sum())
    if n_infinite:
        notices.append(f"{counted(n_infinite, 'infinite value')} of {where} count as missing.")
    return notices


def _classes(array: Any, column: Column) -> tuple[NDArray[np.float64], list[str], list[str]]:
    categories = as_categories(array, column.missing_values)
    name = shown(column.name)
    labels = sorted(categories.categories, key=_class_order)
    if len(labels) > MAX_CLASSES:
        raise InvalidData(
            f"The target {name} has {len(labels):,} classes, more than the {MAX_CLASSES} that are "
            "supported: choose regression or another target."
        )
    position = {label: code for code, label in enumerate(labels)}
    codes = np.array([position[label] for label in categories.categories] + [np.nan])
    values = codes[categories.codes].astype(np.float64)
    counts = np.bincount(values[~np.isnan(values)].astype(np.int64), minlength=len(labels))
    single = [labels[code] for code in np.flatnonzero(counts == 1)]
    if len(labels) == 2 and single:
        raise InvalidData(
            f"The class {shown(single[0])} of the target {name} has a single row, so it cannot be "
            "both learnt and checked: add rows of that class or choose another target."
        )
    if len(single) > 0.5 * counts.sum():
        raise InvalidData(
            f"Most rows of the target {name} are the only ones of their class, so nothing can be "
            "learnt: choose regression or another target."
        )
    notices = []
    if single:
        what = "class" if len(single) == 1 else "classes"
        notices.append(
            f"{counted(len(single), what, what)} of the target {name} ({listed(single)}) with a "
            "single row cannot be both learnt and checked."
        )
    return values, labels, notices


def _class_order(label: str) -> tuple[int, float, str]:
    """Numbers by size, before words by letters."""
    number = pd.to_numeric(label, errors="coerce")
    return (1, 0.0, label) if pd.isna(number) else (0, float(number), label)
