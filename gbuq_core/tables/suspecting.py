"""What in a table makes scores on held-out rows better than they will be: one sentence each.

Rows that share an identifier or are copies of each other and are then split over folds, columns
that hold the target in other words, and columns that are equal to a tree.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gbuq_core.presentation import counted, listed, shown
from gbuq_core.tables.censoring import censored_times
from gbuq_core.tables.cleaning import Prepared
from gbuq_core.tables.columns import Column
from gbuq_core.tables.files import Table
from gbuq_core.tables.leaking import MOST_ROWS, codes_of, find_leaks, ranks_of
from gbuq_core.tables.schema import Schema
from gbuq_core.tables.splitting import ROW_ORDER, is_named_id, parts_of_time, warn_of_dates

_FEWEST_COPIES = 0.005  # of the rows
_FEWEST_BUT_SEVERAL = 0.1  # in all but several columns, of which some may be no counters
_COUNTS, _MOST_COUNTERS = 0.9, 20  # distinct values of a counter (share of the rows); columns
_MORE_THAN_CHANCE = 10.0
_MOST_GROUPS = 0.5  # distinct ids, as a share of the rows


def split_columns(schema: Schema, split: str, target: str) -> tuple[str, ...]:
    r"""The columns that rows can be split by, the most likely one first.

    Parameters
    ----------
    schema : Schema
    split : {"group", "time"}
        By group, columns named like an identifier with repeated values come first, then
        categories. By time, dates come first, then numbers, parts of a time together, and the
        order of the rows.
    target : str

    Examples
    --------
    >>> from gbuq_core.tables import infer_schema, read_table
    >>> rows = "".join(f"{i % 5},{i % 30},2021-01-{i % 28 + 1:02d},{i}\n" for i in range(90))
    >>> schema = infer_schema(read_table(f"dose,patient,day,y\n{rows}".encode()))
    >>> split_columns(schema, "group", "y")[0], split_columns(schema, "time", "y")
    ('patient', ('day', 'dose', 'patient', 'order of the rows'))
    """
    possible = [c for c in schema.columns if c.name != target and c.kind != "empty"]
    if split == "time":
        kinds = ("date", "numeric")
        dated = [c for c in possible if c.kind in kinds]
        parts = parts_of_time(schema, target)
        names = [c.name for c in sorted(dated, key=lambda c: kinds.index(c.kind))]
        return (*names, *([", ".join(parts)] if parts else []), ROW_ORDER)

    def rank(column: Column) -> tuple[bool, bool]:
        return not (is_named_id(column) and _repeats(column, schema)), column.kind != "category"

    return tuple(column.name for column in sorted(possible, key=rank))


def advise_time(schema: Schema, target: str) -> tuple[str, str] | None:
    r"""A column of dates that the rows may be split by, and why; None if there is none.

    >>> from gbuq_core.tables import infer_schema, read_table
    >>> rows = "".join(f"{i % 30},2021-01-{i % 28 + 1:02d},{i}\n" for i in range(90))
    >>> advise_time(infer_schema(read_table(f"patient,day,y\n{rows}".encode())), "y")[0]
    'day'
    """
    dates = [c.name for c in schema.columns if c.kind == "date" and c.name != target]
    if not dates:
        return None
    why = f"{shown(dates[0])} holds dates. To predict the future, judge each row by a "
    return dates[0], f"{why}model of earlier rows."


def _repeats(column: Column, schema: Schema) -> bool:
    return 2 <= column.n_distinct <= _MOST_GROUPS * (schema.n_rows - column.n_missing)


def split_warnings(table: Table, prepared: Prepared) -> list[str]:
    r"""Reasons why scores of this table, or its predictions, mislead; empty if none was found.

    Looks at the first 100,000 rows.

    - Dates among the features of a table that is not split by time.
    - Copies: rows that are equal in all features and the target, or in all but those that count
      rows, at least 0.5 % of all and ten times as many as after each column was shuffled by itself.
    - Times that may be cut off: a column such as "died" beside a target such as "days".
    - Leaks, over the rows where the column has a value: a number that orders the rows as the target
      does (rank correlation or AUROC of at least 0.999); categories that give the class in 99.9 %
      of the rows of another half, or three quarters of its entropy, or averages that have a
      correlation of 0.999 with the target there; cells that are missing or not by the target; and
      sums, differences, products and ratios of up to three columns that have an R2 above 0.999 on
      rows that they were not chosen by. Of a smooth series, only what tells more than the rows
      before.
    - Duplicate columns: two columns that part or order the rows in the same way.

    Parameters
    ----------
    table : Table
    prepared : Prepared
        Of this table, by `prepare_training`.

    Examples
    --------
    >>> from gbuq_core.tables import infer_schema, prepare_training, read_table
    >>> rows = "".join(f"{i % 17},{i * i % 23},{3 * (i * i % 23)}\n" for i in range(80))
    >>> table = read_table(f"x,y,z\n{rows}".encode())
    >>> split_warnings(table, prepare_training(table, infer_schema(table), "y"))[-1]
    'The column "z" orders the rows exactly as the target does: ...'
    """
    X = prepared.X.iloc[:MOST_ROWS]
    y = prepared.y[:MOST_ROWS]
    names = {feature.name: feature.column for feature in prepared.features}
    codes = [codes_of(values) for _, values in X.items()]
    return [
        *_dates(prepared),
        *_copies(X, codes, y, names),
        *censored_times(table, prepared),
        *map(str, find_leaks(prepared)),
        *_duplicate_columns(X, codes, names),
    ]


def _dates(prepared: Prepared) -> list[str]:
    columns = [column for column in prepared.schema.columns if column.kind == "date"]
    used = {feature.column for feature in prepared.features}
    split = "random" if prepared.split is None else prepared.split.by
    return warn_of_dates([column.name for column in columns if column.name in used], split)


def _copies(
    X: pd.DataFrame,
    codes: list[NDArray[np.int64]],
    y: NDArray[np.float64],
    names: dict[str, str],
) -> list[str]:
    known = ~np.isnan(y)
    if not X.shape[1] or not known.any():
        return []
    cells = np.column_stack([*codes, ranks_of(y)])[known]
    rng = np.random.default_rng(0)
    hashed = _hashed(cells)
    shuffled = _hashed(np.column_stack([rng.permutation(column) for column in cells.T]))
    # A counter may differ in copies: a column with nearly as many values as rows.
    places: dict[str, list[int]] = {}
    for k, name in enumerate(X.columns):
        places.setdefault(names[str(name)], []).append(k)
    many = [len(np.unique(column)) > _COUNTS * len(cells) for column in cells.T]
    counters = {name: own for name, own in places.items() if any(many[k] for k in own)}
    every = [k for own in counters.values() for k in own]
    for apart in ([], *list(counters.values())[:_MOST_COUNTERS], every):
        n_copies = _n_repeated(hashed, apart)
        several = len({names[str(X.columns[k])] for k in apart}) > 1
        if n_copies < (_FEWEST_BUT_SEVERAL if several else _FEWEST_COPIES) * len(cells):
            continue
        if n_copies < 2:
            continue
        if n_copies < _MORE_THAN_CHANCE * _n_repeated(shuffled, apart):
            continue
        aside = listed(dict.fromkeys(names[str(X.columns[k])] for k in apart))
        but = f" in all but {aside}" if apart else ""
        return [
            f"{counted(n_copies, 'row is a copy', 'rows are copies')} of another row{but}, target "
            "included. Where a copy is in another fold, the model has seen the answer."
        ]
    return []


def _hashed(cells: NDArray[np.int64]) -> NDArray[np.uint64]:
    """A number for each cell; those of equal rows have one sum."""
    return np.column_stack(
        [pd.util.hash_array(column) * np.uint64(2 * k + 1) for k, column in enumerate(cells.T)]
    )


def _n_repeated(hashed: NDArray[np.uint64], apart: list[int]) -> int:
    """Rows that are not the only ones of their kind, some columns left aside."""
    keys = hashed.sum(axis=1) - hashed[:, apart].sum(axis=1)
    _, count = np.unique(keys, return_counts=True)
    return int(count[count > 1].sum())


def _duplicate_columns(
    X: pd.DataFrame, codes_of_columns: list[NDArray[np.int64]], names: dict[str, str]
) -> list[str]:
    first: dict[bytes, str] = {}
    same: dict[str, list[str]] = {}
    for name, dtype, codes in zip(X.columns, X.dtypes, codes_of_columns, strict=True):
        column = names[str(name)]
        is_category = isinstance(dtype, pd.CategoricalDtype)
        if not is_category and (codes >= 0).any():
            top = codes.max()
            codes = min(codes, np.where(codes < 0, codes, top - codes), key=lambda c: c.tobytes())
        else:
            codes = pd.factorize(codes)[0].astype(np.int64)
        other = first.setdefault((b"c" if is_category else b"n") + codes.tobytes(), column)
        if other != column and column not in same.setdefault(other, []):
            same[other].append(column)
    return [
        f"The {'column' if len(copies) == 1 else 'columns'} {listed(copies)} "
        f"{'tells' if len(copies) == 1 else 'tell'} a tree the same as {shown(name)}: one of them "
        "is enough."
        for name, copies in same.items()
        if copies
    ]
