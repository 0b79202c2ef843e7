"""Which rows of a table a model must not learn from together: groups, and the order of time.

By group, the rows of one person or one machine are all in one part, so the scores are those of a
new one. By time, rows are judged by models of earlier rows only (forward chaining), so the scores
are those of the future. At random, rows are dealt one by one (`gbuq_core.tables.predicting`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pyarrow import types

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.presentation import columns_named, counted, shown
from gbuq_core.tables.columns import (
    Column,
    as_categories,
    as_dates,
    as_numbers,
    as_text,
    finite_values,
    single_chunk,
)
from gbuq_core.tables.files import Table
from gbuq_core.tables.plan import SPLITS
from gbuq_core.tables.schema import Schema, distinct_sample
from gbuq_core.tables.written_dates import find_date_style
from gbuq_core.tables.written_months import month_number
from gbuq_core.validation import check_choice

# Where the blocks of time begin, as shares of the rows. The first block is only learnt from, the
# second one chooses the number of trees for the third, and all from the third on are judged.
CHAIN = (1 / 12, 1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6)
LAST_FIFTH = (3 / 5, 4 / 5)  # the same where one model is measured on the last fifth
_FEWEST_LEARNT = 5  # rows
_READABLE = 0.95


ROW_ORDER = "order of the rows"  # names no column: the order in time in which a file has its rows
# How the names of units end, and those of what counts or measures them.
_ID_NAME = re.compile(
    r"(id|ids|uuid|guid|key|pid|sid|uid|subj|cust|emp|hosp|prov|patient|customer|client|user|"
    r"subject|person|device|session|household|"
    r"account|participant|hospital|clinic|ward|doctor|physician|provider|policy|policyholder|mrn|"
    r"student|pupil|teacher|school|university|store|shop|branch|farm|herd|cow|animal|mouse|plant|"
    r"well|site|station|sensor|machine|engine|unit|vehicle|truck|driver|vin|batch|lot|wafer|house|"
    r"company|firm|vendor|supplier|seller|merchant|employee|worker|operator|member|donor|player|"
    r"team|borrower|kunde|patientin|betrieb|filiale|schule|gerät|maschine)"
    r"(id|no|nr)?"
)
_NUMBER_OF = {"no", "nr", "num", "number", "code", "name", "nummer"}
_MEASURES = {
    "num", "n", "no", "number", "count", "total", "of", "per", "avg", "mean", "max", "min", "sum",
    "size", "sqft", "area", "price", "cost", "age", "length", "points", "score", "rate", "since",
    "until", "to", "last", "next", "elapsed", "duration", "spent",
}  # fmt: skip


# How parts of a time are called, and the lowest and the highest one.
_PARTS = {
    "year": (r"year|yr|yyyy|jahr|annee|année|anno|ano|año|anio|rok|год|年", 0, 2200),
    "quarter": (r"quarter|qtr|quartal|trimestre|trimester", 1, 4),
    "month": (r"month|mnth|mon|mo|monat|mois|mese|mes|mês|mm|miesiac|miesiąc|месяц|月", 1, 12),
    "week": (r"week|weekofyear|woche|kw|semaine|semana|settimana", 0, 54),
    "day": (r"day|dayofmonth|tag|jour|giorno|dia|día|dd|dzien|dzień|день|日", 1, 366),
    "hour": (r"hour|hr|hh|stunde|heure|ora|hora|godzina|час|时|時", 0, 24),
    "minute": (r"minute|minutes|min", 0, 60),
    "second": (r"second|seconds|sec", 0, 61),
}


# How an order in time is called; "days" and "delivery time" are how long something takes.
_TIME_NAME = re.compile(
    r"time|date|timestamp|datetime|epoch|period|t|ts|zeit|datum|zeitpunkt|temps|fecha|tiempo|tempo|"
    r"tijd|czas|время|дата|时间|日期|日付|month|week|day|hour|tag|woche|monat|" + _PARTS["year"][0]
)
_LONE = {"min", "sec", "mm", "dd", "mon", "hh"}  # "temp_min" is no minute


def name_words(name: str) -> list[str]:
    """The words of a column's name, in small letters.

    >>> name_words("num_minPoints (a)")
    ['num', 'min', 'points', 'a']
    """
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[^\W\d_])(?=\d)", "_", name)
    return [word for word in re.split(r"[\W_]+", apart.lower()) if word]


def names_time(name: str) -> bool:
    """Whether a name is that of a time, such as day, obs_time or pickup hour."""
    words = _own_words(name)
    return bool(words and _TIME_NAME.fullmatch(words[-1]) and not _MEASURES & {*words})


def is_named_time(column: Column) -> bool:
    """Whether a column of numbers is an order in time by its name and its range."""
    if column.kind not in ("numeric", "identifier") or not names_time(column.name):
        return False
    last, (low, high) = _own_words(column.name)[-1], column.range or (0.0, 0.0)
    if re.fullmatch(_PARTS["year"][0], last):
        return 1500 <= low <= high <= 2200
    turns = {part: ends for part, (pattern, *ends) in _PARTS.items() if re.fullmatch(pattern, last)}
    if "day" in turns:
        turns["day"] = [1, 31]
    # Hours of a day go around.
    return not any(first <= low <= high <= end for first, end in turns.values())


def parts_of_time(schema: Schema, target: str) -> list[str]:
    r"""Columns that are named like parts of a time and hold such numbers, the longest first.

    A month may also be a word.

    Examples
    --------
    >>> from gbuq_core.tables import infer_schema, read_table
    >>> rows = "".join(f"{i // 28 % 12 + 1},{i % 28 + 1},2021,{i}\n" for i in range(90))
    >>> parts_of_time(infer_schema(read_table(f"month,day,yr,y\n{rows}".encode())), "y")
    ['yr', 'month', 'day']
    """
    parts = []
    for pattern, low, high in _PARTS.values():
        named = re.compile(pattern)
        for column in schema.columns:
            ends = column.range
            if column.kind == "constant":
                value = pd.to_numeric(column.examples[0], errors="coerce")
                ends = (value, value)
            if column.kind in ("category", "constant") and all(map(month_number, column.examples)):
                ends = (1, 12)
            if column.name == target or ends is None or column.kind == "date":
                continue
            whole = all(low <= end <= high and end == round(end) for end in ends)
            if whole and _is_part(_own_words(column.name), named):
                parts.append(column.name)
                break
    return parts if len(parts) > 1 else []


def _is_part(words: list[str], named: re.Pattern[str]) -> bool:
    """Whether a name is that of a part of a time: "hr", "pickup_hour", "hour of day"."""
    if (_MEASURES - {"of"}) & {*words} and len(words) > 1:
        return False
    ends = [words[-1], *(words[:1] if len(words) == 2 else [])]
    if "of" in words[1:-1]:  # the day of a week is no day
        ends = [words[words.index("of") - 1]] if words[-1] != "week" else []
    return any(named.fullmatch(word) for word in ends if {*words} == {word} or word not in _LONE)


def _own_words(name: str) -> list[str]:
    """The words of a name without a number or "no" at its end."""
    words = name_words(name)
    while len(words) > 1 and (words[-1] in _NUMBER_OF or words[-1].isdigit()):
        words.pop()
    return words


def is_named_id(column: Column) -> bool:
    """Whether a column is named like an identifier, or is of that kind."""
    words = _own_words(column.name)
    named = words and (_ID_NAME.fullmatch(words[-1]) or words[0] == "id")
    return bool(named and not _MEASURES & {*words}) or column.kind == "identifier"


def split_names(column: str, names: Sequence[str]) -> tuple[str, ...]:
    """The columns that a split's column names: none for the order of the rows, or parts of a time.

    >>> split_names("year, month", ["year", "month", "y"]), split_names(ROW_ORDER, ["y"])
    (('year', 'month'), ())
    """
    if column in names:
        return (column,)
    if column == ROW_ORDER:
        return ()
    parts = tuple(part.strip() for part in column.split(","))
    return parts if set(parts) <= set(names) else (column,)


class RowSplit(NamedTuple):
    """How the rows of a table belong together."""

    by: str  # {"group", "time"}
    column: str
    # (n_rows,): The group of each row, or its rank among the distinct times. A row without a value
    # is a group of its own, and has no time: -1.
    codes: NDArray[np.int64]
    n_missing: int  # rows without a value

    def notices(self) -> list[str]:
        """What was decided, one sentence each."""
        name = shown(self.column)
        if self.by == "group":
            n_groups = len(np.unique(self.codes)) - self.n_missing
            sentences = [
                f"The rows are split by group: {counted(n_groups, 'value')} of {name}. No group is "
                "both learnt from and judged."
            ]
            if self.n_missing:
                sentences.append(
                    f"{counted(self.n_missing, 'row has', 'rows have')} no value in {name} and "
                    f"{'is a group of its own' if self.n_missing == 1 else 'are a group each'}."
                )
            return sentences
        sentences = [
            f"The rows are split by time, in the order of {name}. Each row is judged by a model of "
            "earlier rows; the earliest rows are only learnt from."
        ]
        if self.n_missing:
            sentences.append(
                f"{counted(self.n_missing, 'row has', 'rows have')} no value in {name}: "
                f"{'it is' if self.n_missing == 1 else 'they are'} predicted, but not learnt from "
                "and not in the scores."
            )
        return sentences


def describe_split(split: str, column: str | None = None) -> str:
    """How the rows are split, in a few words.

    Examples
    --------
    >>> describe_split("random"), describe_split("group", "patient")
    ('split at random', 'split by group (patient)')
    """
    if split == "random" or column is None:
        return "split at random"
    return f"split by {split} ({' '.join(column.split())})"


def warn_of_dates(columns: Sequence[str], split: str) -> list[str]:
    """That columns hold dates, and what else that asks for; nothing if the split is by time.

    >>> warn_of_dates(["day"], "time"), len(warn_of_dates(["day"], "random"))
    ([], 1)
    """
    if not columns or split == "time":
        return []
    return [
        f"{columns_named(columns)} hold{'s' if len(columns) == 1 else ''} dates, but the rows are "
        f"split {'at random' if split == 'random' else 'by group'}. If the rows follow each other "
        "in time, the scores may be too good: choose Split: by time."
    ]


def check_split(split: str, column: str | None) -> None:
    """Refuse a split without a column, and a column without a split."""
    check_choice("split", split, SPLITS)
    if split == "random" and column is not None:
        raise InvalidParameter(
            f"split_column is {column!r}, but the rows are split at random: choose split group or "
            "time, or leave split_column out."
        )
    if split != "random" and column is None:
        raise InvalidParameter(f"A split by {split} needs a column: give split_column.")


def read_split(
    table: Table, schema: Schema, split: str, column: str | None, target: str
) -> RowSplit | None:
    r"""How the rows belong together by a column; None for a random split.

    >>> from gbuq_core.tables import infer_schema, read_table
    >>> table = read_table(b"who,y\n" + b"".join(b"%d,%d\n" % (i // 3, i) for i in range(30)))
    >>> read_split(table, infer_schema(table), "group", "who", "y").codes[:4].tolist()
    [0, 0, 0, 1]
    """
    check_split(split, column)
    if column is None:
        return None
    names = split_names(column, table.names) if split == "time" else (column,)
    name = shown(column)
    if target in names:
        raise InvalidData(
            f"The target {shown(target)} cannot split the rows: choose another column."
        )
    read = _groups if split == "group" else _times
    codes = np.zeros(table.n_rows, np.int64) if names else np.arange(table.n_rows)
    for part in names:
        places = read(table, schema.column(part))
        codes = np.where((codes < 0) | (places < 0), -1, codes * (places.max() + 1) + places)
        codes[codes >= 0] = np.unique(codes[codes >= 0], return_inverse=True)[1]
    known = codes >= 0
    n_missing = int((~known).sum())
    if not known.any():
        raise InvalidData(
            f"The column {name} is missing in all rows, so it cannot split them: choose another "
            "column."
        )
    if len(np.unique(codes[known])) == 1 and (split == "time" or not n_missing):
        raise InvalidData(
            f"The column {name} has one value only, so it cannot split the rows: choose another "
            "column."
        )
    if split == "group" and n_missing:
        codes = codes.copy()
        codes[~known] = codes.max() + 1 + np.arange(n_missing)
    return RowSplit(split, column, codes, n_missing)


def _groups(table: Table, column: Column) -> NDArray[np.int64]:
    array = single_chunk(table.data, column.name)
    return as_categories(array, column).codes.astype(np.int64)


def _times(table: Table, column: Column) -> NDArray[np.int64]:
    """Ranks of dates or numbers among the distinct ones; -1 where there is none."""
    array = single_chunk(table.data, column.name)
    text = as_text(array, column.missing)
    values: NDArray[np.float64] | None = None
    style = column.date_style
    if column.kind not in ("date", "numeric"):
        style = find_date_style(distinct_sample(text), day_first=False)[0]
    if column.kind == "date" or types.is_timestamp(array.type) or (style and len(text)):
        dates = as_dates(array, style, column.missing).values
        values = np.where(np.isnat(dates), np.nan, dates.astype("datetime64[us]").astype(float))
    else:
        numbers = finite_values(as_numbers(array, column))
        n_known = len(text) - text.null_count
        if np.isfinite(numbers).sum() < _READABLE * n_known:
            months = [month_number(word or "") or np.nan for word in text.to_pylist()]
            numbers = np.array(months, np.float64)
        if np.isfinite(numbers).sum() >= _READABLE * n_known:
            values = numbers
    if values is None:
        raise InvalidData(
            f"The column {shown(column.name)} holds neither dates nor numbers, so it gives no "
            "order in time: choose another column, or split by group."
        )
    codes = np.full(len(values), -1, np.int64)
    known = ~np.isnan(values)
    codes[known] = np.unique(values[known], return_inverse=True)[1]
    return codes


def assign_groups(
    groups: NDArray[np.int64],
    y: NDArray[np.float64],
    n_classes: int,
    seed: int,
    n_folds: int,
) -> NDArray[np.int64]:
    """A fold, 0 to at most ``n_folds - 1``, for each row, with no group in two folds.

    The largest groups are dealt first, each to the fold that has the fewest rows, or the fewest of
    the group's classes. There are fewer folds where there are fewer groups. Rows without a target
    are with their group; a group that has no target at all is in no fold: -1.
    """
    known = ~np.isnan(y)
    codes = np.where(known, y, 0.0).astype(np.int64) if n_classes else np.zeros(len(y), np.int64)
    names, place = np.unique(groups, return_inverse=True)
    counts = np.zeros((len(names), max(n_classes, 1)))
    np.add.at(counts, (place[known], codes[known]), 1.0)
    order = np.random.default_rng(seed).permutation(np.flatnonzero(counts.sum(axis=1) > 0))
    order = order[np.argsort(-counts[order].sum(axis=1), kind="stable")]
    n_folds = min(n_folds, len(order))
    share = counts / np.maximum(counts.sum(axis=0), 1.0)
    load = np.zeros((n_folds, counts.shape[1]))
    n_rows = np.zeros(n_folds)
    fold_of = np.full(len(names), -1, np.int64)
    for number, group in enumerate(order):
        if number < n_folds:
            fold = number  # no fold stays empty
        else:
            crowded = load @ share[group]
            fold = int(np.lexsort((n_rows, crowded))[0])
        fold_of[group] = fold
        load[fold] += share[group]
        n_rows[fold] += counts[group].sum()
    return fold_of[place]


def check_left(y: NDArray[np.float64], learnt: NDArray[np.int64], column: str) -> None:
    """Refuse a split by group that leaves nothing to learn: one class, or one number."""
    if not len(learnt) or y[learnt].min() == y[learnt].max():
        raise InvalidData(
            f"A split by the groups of {shown(column)} leaves rows with one target value only to "
            "learn from: choose another column, or another split."
        )


def hold_out_groups(
    groups: NDArray[np.int64], y: NDArray[np.float64], n_classes: int, seed: int
) -> NDArray[np.bool_]:
    """Which rows with a target are held out: about a fifth, whole groups, two if possible."""
    known = ~np.isnan(y)
    n_groups = len(np.unique(groups[known]))
    folds = assign_groups(groups, y, n_classes, seed, int(np.clip(n_groups // 2, 2, 5)))
    folds = np.where(known, folds, -1)
    choices = []
    for fold in range(int(folds.max()) + 1):
        rows = np.flatnonzero(folds == fold)
        lonely = len(np.unique(groups[rows])) < 2
        choices.append((lonely, abs(len(rows) - known.sum() / 5), fold))
    return folds == min(choices)[2]


class Chain(NamedTuple):
    """Blocks of rows in time."""

    block: NDArray[np.int64]  # (n_rows,): of each row, from 0; -1 for a row without a time
    # The block whose rows choose the number of trees before anything is judged. It is not judged.
    chooses: int | None
    # the blocks that are judged, each by a model of the rows of all blocks before it
    judged: tuple[int, ...]


def chain_blocks(
    times: NDArray[np.int64], y: NDArray[np.float64], starts: Sequence[float], column: str
) -> Chain:
    """Blocks in time for forward chaining. Rows of one time are in one block."""
    usable = (times >= 0) & ~np.isnan(y)
    ranks, count = np.unique(times[usable], return_counts=True)
    before = np.cumsum(count) - count
    # Rounded: 1/6 of 60 rows is row 10, and not the row after it.
    block_of = np.searchsorted(np.round(np.asarray(starts) * count.sum(), 6), before, side="right")
    block_of = np.unique(block_of, return_inverse=True)[1]
    if len(ranks) > 1 and block_of[-1] == 0:
        block_of[-1] = 1  # nearly all rows are of one time, the last one
    block = np.full(len(times), -1, np.int64)
    dated = times >= 0
    if len(ranks):
        at = np.clip(np.searchsorted(ranks, times[dated], side="right") - 1, 0, None)
        block[dated] = block_of[at]
    possible = []
    for number in range(1, int(block_of.max(initial=0)) + 1):
        learnt = y[usable & (block < number)]
        if len(learnt) >= _FEWEST_LEARNT and learnt.min() < learnt.max():
            possible.append(number)
    if not possible:
        raise InvalidData(
            f"By {shown(column)}, no part of the rows has enough earlier rows with different "
            "targets to learn from: choose another column, or another split."
        )
    chooses = possible[0] if len(possible) > 1 else None
    return Chain(block, chooses, tuple(possible[1:] if len(possible) > 1 else possible))
