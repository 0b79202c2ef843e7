"""From a table and its schema to what an estimator takes: features, target, and the rows in use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import types

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.jobs import check_memory
from gbuq_core.metrics import wilson_band
from gbuq_core.metrics.log_score import find_resolution
from gbuq_core.presentation import (
    columns_named,
    counted,
    enumerated,
    listed,
    short,
    shown,
    told_apart,
)
from gbuq_core.tables.column_notices import (
    column_notices,
    fold_alike,
    reading_notices,
    unreadable_sentence,
)
from gbuq_core.tables.columns import (
    Column,
    as_categories,
    as_dates,
    as_numbers,
    as_text,
    finite_values,
    fold_names,
    single_chunk,
)
from gbuq_core.tables.decimal_marks import FileMark, choose_mark_like
from gbuq_core.tables.files import Table, free_name
from gbuq_core.tables.schema import Schema, distinct_sample
from gbuq_core.tables.splitting import RowSplit, read_split, warn_of_dates
from gbuq_core.tables.words_in_columns import marker_words, words_sentence
from gbuq_core.tables.written_dates import date_part, style_like, used_parts
from gbuq_core.tables.written_numbers import Numbers
from gbuq_core.validation import check_choice

# A column of a second file of which less can be read as in the first is something else.
_FEWEST_READABLE = 0.5


class Feature(NamedTuple):
    """One column of the feature matrix: its name, the table's column, and the part of a date."""

    name: str
    column: str
    part: str


def feature_values(
    array: Any, column: Column, parts: tuple[str, ...] | None = None
) -> dict[str, Any]:
    """The features of a column by part: "" for numbers and categories, several for a date."""
    if column.kind == "category":
        return {"": as_categories(array, column)}
    if column.kind == "numeric":
        return {"": finite_values(as_numbers(array, column))}
    if column.kind == "date":
        dates = as_dates(array, column.date_style, column.missing)
        return {
            part: date_part(dates.values if part == "days" else dates.local, part)
            for part in parts or used_parts(dates.local)
        }
    raise InvalidData(
        f"The column {shown(column.name)} does not hold numbers, categories or dates: leave it out."
    )


def column_like(array: Any, column: Column, of_file: FileMark) -> tuple[Column, list[str]]:
    """The description of a second file's column, read as what the first file's column is."""
    text = as_text(array, column.missing)
    n_known = len(text) - text.null_count
    notices: list[str] = []
    if column.kind == "numeric":
        column, notices = _with_mark(array, text, column, of_file)
        numbers = as_numbers(array, column)
        unreadable, n_infinite = numbers.unreadable, int(np.isinf(numbers.values).sum())
    elif column.kind == "date":
        own = not types.is_timestamp(array.type)
        style = style_like(column.date_style, distinct_sample(text)) if own else ""
        column = replace(column, date_style=style)
        unreadable, n_infinite = as_dates(array, column.date_style, column.missing).unreadable, 0
        unreadable &= text.is_valid().to_numpy(zero_copy_only=False)
    else:
        words = marker_words(column, array, text)
        return column, [f"Second file: {words_sentence(column, words)}"] if words else []
    n_bad = int(unreadable.sum())
    examples = tuple(text.filter(unreadable).unique().to_pylist()[:3]) if n_bad else ()
    return column, [*notices, *left_out_cells(column, n_known, n_bad, examples, n_infinite)]


def left_out_cells(
    column: Column, n_known: int, n_bad: int, examples: tuple[str, ...], n_infinite: int
) -> list[str]:
    """What of a second file's column counts as missing; refused if most of it is something else."""
    if n_bad > (1.0 - _FEWEST_READABLE) * n_known:
        kind = "numbers" if column.kind == "numeric" else "dates"
        raise InvalidData(
            f"The column {shown(column.name)} holds {kind} in the first file but something else in "
            f"the second ({listed(examples)}): give both files the same columns."
        )
    sentences = []
    if n_bad:
        bad = replace(column, n_unreadable=n_bad, unreadable=examples)
        sentences.append(f"Second file: {unreadable_sentence(bad)}")
    if n_infinite:
        sentences.append(
            f"Second file: {counted(n_infinite, 'infinite value')} of the column "
            f"{shown(column.name)} count{'s' if n_infinite == 1 else ''} as missing."
        )
    return sentences


def _with_mark(
    array: Any, text: Any, column: Column, of_file: FileMark
) -> tuple[Column, list[str]]:
    """A second file's column with its decimal mark, and what is to be said about that."""
    if not types.is_string(array.type):
        return column, []
    mark = choose_mark_like(column, text, of_file)
    doubts = [f"Second file: {mark.doubt}"] if mark.doubt else []
    return replace(column, decimal=mark.decimal), doubts


TASKS = ("regression", "classification")
MAX_CLASSES = 200  # as the estimator
MIN_ROWS = 10  # with a known target: fewer cannot be split into parts that mean anything

# Squares of numbers beyond these leave the range of float64.
_LARGEST, _SMALLEST = 1e100, 1e-100
_MOST_CLASSES_IN_NUMBERS = 10
_ROWS_A_CLASS = 3  # on average, for numbers to be taken for classes
_ENOUGH_NUMBERS = 0.95
_FEW_OF_CLASS = 30  # rows: small probabilities of a class with fewer are rough


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
    """The target of every row."""

    # (n_rows,): Numbers, or codes of classes; NaN where it is not known
    values: NDArray[np.float64]
    target: Target
    notices: tuple[str, ...]


AS_CLASSES = "as classes do. If these are amounts, choose regression."


def infer_task(table: Table, schema: Schema, name: str) -> tuple[str, str]:
    """Infer the task from the target, with the reason.

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
    numbers = finite_values(as_numbers(array, column))
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
            f"The target counts from {distinct[0]:g} to {distinct[-1]:g}, {AS_CLASSES}",
        )
    return "regression", f"The target holds {len(distinct):,} distinct numbers."


def read_target(table: Table, schema: Schema, name: str, task: str | None = None) -> TargetValues:
    """The target of every row, checked."""
    column = schema.column(name)
    if task is None:
        task, reason = infer_task(table, schema, name)
    else:
        check_choice("task", task, TASKS)
        reason = "Chosen by you."
    if column.kind == "empty":
        why = [notice for notice in table.notices if shown(name) in notice and "formulas" in notice]
        raise InvalidData(
            " ".join(
                [f"The target {shown(name)} is missing in all rows: choose another column.", *why]
            )
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
        words = [f" {sentence}" for sort, sentence in column.remarks if sort == "words"]
        raise InvalidData(
            f"The target {shown(name)} is {shown(value)} in all rows, so there is nothing to "
            f"learn: choose another column.{''.join(words)}"
        )
    _check_enough(name, len(known))
    n_missing = len(values) - len(known)
    if n_missing:
        notices.append(
            f"{counted(n_missing, 'row has', 'rows have')} no target and "
            f"{'is' if n_missing == 1 else 'are'} predicted but not learnt from."
        )
    return TargetValues(values, Target(name, task, reason, tuple(classes)), tuple(notices))


def _check_enough(name: str, n_known: int) -> None:
    if n_known < MIN_ROWS:
        raise InvalidData(
            f"Only {counted(n_known, 'row')} of the target {shown(name)} can be used, but at least "
            f"{MIN_ROWS} are needed: add rows."
        )


def read_new_target(table: Table, target: Target, column: Column) -> TargetValues:
    """The target of a second file in the classes or units of the first; NaN for unseen classes."""
    array = single_chunk(table.data, target.name)
    if target.task == "regression":
        text = as_text(array, column.missing)
        column, doubts = _with_mark(array, text, column, table.source.mark)
        numbers = as_numbers(array, column)
        where = f"the target {shown(target.name)} of the second file"
        left_out = _left_out_numbers(numbers, where)
        return TargetValues(finite_values(numbers), target, (*doubts, *left_out))
    categories = as_categories(array, column)
    codes = class_codes(categories, target.classes)
    strange = [label for label in categories.categories if label not in target.classes]
    notices: tuple[str, ...] = ()
    if strange:
        n_rows = int((np.isnan(codes) & (categories.codes >= 0)).sum())
        notices = (
            f"{counted(n_rows, 'row')} of the second file "
            f"{'has a class' if n_rows == 1 else 'have classes'} that the first file does not have "
            f"({listed(strange)}): the model cannot predict them, and the scores leave these "
            "rows out.",
        )
    return TargetValues(codes, target, notices)


def class_codes(categories: Any, classes: Sequence[str]) -> NDArray[np.float64]:
    """The place of each cell's class; NaN where it is missing, or none of them."""
    position = {label: code for code, label in enumerate(classes)}
    codes = [position.get(label, np.nan) for label in categories.categories]
    return np.array([*codes, np.nan], np.float64)[categories.codes]


def _numbers(array: Any, column: Column) -> tuple[NDArray[np.float64], list[str], list[str]]:
    numbers = as_numbers(array, column)
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
            f"The numbers of the target {name} are too large, or too close together, to compute a "
            "variance: use another unit."
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
    categories = as_categories(array, column)
    name = shown(column.name)
    if mixed := dict(column.remarks).get("mixed"):
        raise InvalidData(mixed)
    labels = sorted(categories.categories, key=_class_order)
    if len(labels) > MAX_CLASSES:
        raise InvalidData(
            f"The target {name} has {len(labels):,} classes, more than the {MAX_CLASSES} that are "
            "supported: choose regression or another target."
        )
    values = class_codes(categories, labels)
    counts = np.bincount(values[~np.isnan(values)].astype(np.int64), minlength=len(labels))
    single = [labels[code] for code in np.flatnonzero(counts == 1)]
    if len(labels) == 2 and single:
        raise InvalidData(
            f"The class {shown(single[0])} of the target {name} has a single row, so it cannot "
            "be both learnt and checked: add rows of that class or choose another target."
        )
    if len(single) > 0.5 * counts.sum():
        raise InvalidData(
            f"Most rows of the target {name} are the only ones of their class, so there is "
            "nothing to learn: choose regression or another target."
        )
    notices = []
    if single:
        what = "class" if len(single) == 1 else "classes"
        notices.append(
            f"{counted(len(single), what, what)} of the target {name} "
            f"{'has' if len(single) == 1 else 'have'} a single row ({listed(single)}), so it "
            "cannot be both learnt and checked."
        )
    return values, labels, [*notices, *_rough_classes(labels, counts)]


def _rough_classes(labels: list[str], n_rows: NDArray[np.int64]) -> list[str]:
    """How rough a small probability is of classes with few rows; of several, of the rarest."""
    few = [code for code in np.argsort(n_rows, kind="stable") if n_rows[code] < _FEW_OF_CLASS]
    if not few:
        return []
    n, n_all, rarest = int(n_rows[few[0]]), int(n_rows.sum()), shown(labels[few[0]])
    share, (low, high) = n / n_all, map(float, wilson_band(n, n_all))
    who = f"The class {rarest} has only {counted(n, 'row')} to learn from."
    if len(few) > 1:
        named = listed([labels[code] for code in few])
        who = f"{len(few)} classes have fewer than {_FEW_OF_CLASS} rows to learn from: {named}."
    shares = [f"{short(100 * part, 2)} %" for part in (share, low, high)]
    return [
        f"{who} By chance alone, the share of {rarest}, {shares[0]}, could as well be {shares[1]} "
        f"to {shares[2]}: read a small probability of it as right to a factor of "
        f"{short(max(high / share, share / low), 2)} at best."
    ]


def _class_order(label: str) -> tuple[int, float, str]:
    """Numbers by size, before words by letters."""
    number = pd.to_numeric(label, errors="coerce")
    return (1, 0.0, label) if pd.isna(number) else (0, float(number), label)


_BYTES_PER_CELL = 40  # a feature, its copy in a fold, its bin and its text


class Prepared(NamedTuple):
    """A table ready to learn from or to be predicted.

    Attributes
    ----------
    X : DataFrame of shape (n_rows, n_features)
        Float64 and categorical columns; NaN is missing.
    y : ndarray of shape (n_rows,), float64
        Numbers or codes of classes, NaN where the target is not known.
    target : Target
    features : tuple of Feature
        The columns of X. A date is up to four of them: ``"day: days"`` (days since 1 January 1970),
        ``"day: month"`` (1 to 12), ``"day: weekday"`` (0 is Monday) and ``"day: hour"`` (0 to 24),
        of which only the first is there if the others do not vary.
    schema : Schema
    notices : tuple of str
        What had to be decided, including the schema's notices.
    split : RowSplit or None
        How the rows of a table to learn from belong together; None for a random split.
    row_numbers : ndarray of shape (n_rows,), int64
        The number of each row in its file; see `gbuq_core.tables.Table`.
    """

    X: pd.DataFrame
    y: NDArray[np.float64]
    target: Target
    features: tuple[Feature, ...]
    schema: Schema
    notices: tuple[str, ...]
    split: RowSplit | None = None
    row_numbers: NDArray[np.int64] = np.zeros(0, np.int64)

    @property
    def resolution(self) -> float:
        """The step of the known targets; of codes of classes it is never read."""
        return find_resolution(self.y[self.known])

    def find_row(self, number: int) -> int:
        """The position of the row with this number in the file.

        Raises
        ------
        InvalidParameter
            If there is none.
        """
        last = int(self.row_numbers[-1])
        if number > last:
            raise InvalidParameter(f"There is no row {number:,}: the file has {last:,} rows.")
        position = int(np.searchsorted(self.row_numbers, number))
        if self.row_numbers[position] != number:
            raise InvalidParameter(
                f"Row {number:,} of the file is blank, or has too many or too few cells, and is no "
                "row of the table: choose another."
            )
        return position

    @property
    def categorical(self) -> list[str]:
        """The features that are categories."""
        dtypes = zip(self.X.columns, self.X.dtypes, strict=True)
        return [name for name, dtype in dtypes if isinstance(dtype, pd.CategoricalDtype)]

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which rows have a target."""
        return ~np.isnan(self.y)


def prepare_training(
    table: Table,
    schema: Schema,
    target: str,
    task: str | None = None,
    split: str = "random",
    split_column: str | None = None,
) -> Prepared:
    """Features and target of a table to learn from.

    Parameters
    ----------
    table : Table
    schema : Schema
    target : str
    task : {"regression", "classification"}, optional
        Inferred if None.
    split : {"random", "group", "time"}
    split_column : str, optional
        What names the groups or the time. A column of groups is left out of the features unless
        the user has chosen to use it: a new group has a value that no model has seen.

    Raises
    ------
    InvalidData
        If no column is left as a feature, the target cannot be learnt (see `read_target`), or the
        column does not split the rows.
    """
    read = read_target(table, schema, target, task)
    together = read_split(table, schema, split, split_column, target)
    apart: list[str] = []
    groups = None
    if together is not None:
        apart = together.notices()
        groups = together.column if together.by == "group" else None
        if groups and schema.column(groups).used and not schema.column(groups).chosen:
            apart.append(
                f"The column {shown(groups)} names the groups of the split and is left out of the "
                "features."
            )
    used = used_columns(schema, target, groups)
    if not used:
        raise InvalidData(
            f"No column is left to predict {shown(target)} from: use more columns or choose "
            "another target."
        )
    check_memory(_BYTES_PER_CELL * table.n_rows * len(used), "preparing this table")
    parts: dict[str, Any] = {}
    features: list[Feature] = []
    for column in used:
        array = single_chunk(table.data, column.name)
        for part, values in feature_values(array, column).items():
            wished = f"{column.name}: {part}" if part else column.name
            name = free_name(wished, {*parts, *([c.name for c in used] if part else [])})
            parts[name] = values
            features.append(Feature(name, column.name, part))
    others = [column for column in schema.columns if column.name != target]
    of_target = reading_notices([schema.column(target)])
    notices = [*of_target, *column_notices(others), *read.notices, *apart]
    notices += warn_of_dates([column.name for column in used if column.kind == "date"], split)
    # Of a wide table in one piece: rows are taken from each piece by itself.
    X = pd.DataFrame(parts, copy=len(parts) > table.n_rows)
    return Prepared(
        X,
        read.values,
        read.target,
        tuple(features),
        schema,
        tuple(notices),
        together,
        table.row_numbers,
    )


def used_columns(schema: Schema, target: str, groups: str | None = None) -> list[Column]:
    """The columns that are learnt from; that of ``groups`` only if the user has chosen it."""
    return [
        column
        for column in schema.columns
        if column.used and column.name != target and (column.name != groups or column.chosen)
    ]


def names_like(names: Sequence[str], known: Sequence[str]) -> tuple[list[str], list[str]]:
    """A second file's names as the first file writes them, and what to say of those that differ.

    >>> names_like(["Area ", "y"], ["area", "y"])[0]
    ['area', 'y']
    """
    folded = fold_names(pa.array([*known, *names], pa.string())).to_pylist()
    name_of = dict(zip(folded[: len(known)][::-1], known[::-1], strict=True))
    taken, matches = {*names}, []
    for name, key in zip(names, folded[len(known) :], strict=True):
        like = name_of.get(key, name)
        matches.append(like if name not in known and like not in taken else name)
        taken.add(matches[-1])
    pairs = [told_apart(pair) for pair in zip(names, matches, strict=True) if len({*pair}) > 1]
    changed = [" as ".join(pair) for pair in pairs]
    sentences = (
        [
            "Second file: names that differ only in case, blanks or Unicode form are read as in "
            f"the first file ({enumerated(changed)})."
        ]
        if changed
        else []
    )
    return matches, sentences


def ignored_columns(names: Sequence[str], needed: Sequence[str], schema: Schema) -> list[str]:
    """What to say of a second file's further columns; it is refused if it lacks one."""
    lacking = sorted({*needed} - {*names}, key=needed.index)
    if lacking:
        it = "it" if len(lacking) == 1 else "them"
        raise InvalidData(
            f"{columns_named(lacking)} of the first file {'is' if it == 'it' else 'are'} missing "
            f"in the second: add {it} there or leave {it} out of the first."
        )
    known = {column.name for column in schema.columns}
    extra = [name for name in names if name not in known]
    are = "is" if len(extra) == 1 else "are"
    notice = f"{columns_named(extra)} of the second file {are} not in the first and {are} ignored."
    return [notice] if extra else []


def columns_like(
    table: Table, schema: Schema, needed: Sequence[str]
) -> dict[str, tuple[Column, list[str]]]:
    """`column_like` of each column of a second file that the model of the first one needs."""
    ignored_columns(table.names, needed, schema)
    return {
        name: column_like(single_chunk(table.data, name), schema.column(name), table.source.mark)
        for name in needed
    }


def prepare_new(table: Table, training: Prepared) -> Prepared:
    """Features, and the target where it is given, of a second file.

    Columns are matched by name, in any order. Extra columns are ignored.

    Raises
    ------
    InvalidData
        If columns are missing or hold something else than in the first file.
    """
    needed = list(dict.fromkeys(feature.column for feature in training.features))
    names, notices = names_like(table.names, [c.name for c in training.schema.columns])
    table = table._replace(data=table.data.rename_columns(names))
    notices += ignored_columns(table.names, needed, training.schema)
    columns = columns_like(table, training.schema, needed)
    notices += fold_alike(sentence for _, remarks in columns.values() for sentence in remarks)
    parts: dict[str, Any] = {}
    for name in needed:
        column, _ = columns[name]
        wanted = tuple(f.part for f in training.features if f.column == name)
        values = feature_values(single_chunk(table.data, name), column, wanted)
        for feature in training.features:
            if feature.column == name:
                parts[feature.name] = values[feature.part]
    X = pd.DataFrame({f.name: parts[f.name] for f in training.features}, copy=False)
    y, target = np.full(table.n_rows, np.nan), training.target
    if target.name in table.names:
        read = read_new_target(table, target, training.schema.column(target.name))
        y = read.values
        notices += read.notices
    return training._replace(
        X=X, y=y, notices=tuple(notices), split=None, row_numbers=table.row_numbers
    )
