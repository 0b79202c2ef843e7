"""The columns of a table, inferred and then edited by the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from gbuq_core.errors import InvalidData
from gbuq_core.jobs import parallel_map
from gbuq_core.tables.columns import CHOSEN_KINDS, FEATURE_KINDS, Column, single_chunk
from gbuq_core.tables.kinds import Clues, column_as, infer_column
from gbuq_core.tables.notices import column_notices
from gbuq_core.tables.reading import Table
from gbuq_core.tables.wording import listed, shown
from gbuq_core.validation import check_choice

_LIKELY_TARGETS = ("target", "y", "label", "class", "outcome", "response", "diagnosis", "price")


class Schema(NamedTuple):
    """What the columns of a table are.

    Attributes
    ----------
    columns : tuple of Column
        In the order of the file.
    n_rows : int
    notices : tuple of str
        What had to be decided, one plain sentence each.
    """

    columns: tuple[Column, ...]
    n_rows: int
    notices: tuple[str, ...]

    def column(self, name: str) -> Column:
        """The column of that name.

        Raises
        ------
        InvalidData
            With the nearest names, if there is none.
        """
        for column in self.columns:
            if column.name == name:
                return column
        import difflib

        names = [column.name for column in self.columns]
        near = difflib.get_close_matches(name, names, n=3)
        hint = f"did you mean {listed(near)}" if near else f"the columns are {listed(names)}"
        raise InvalidData(f"The table has no column {shown(name)}: {hint}.")


def infer_schema(table: Table) -> Schema:
    r"""Conclude what each column of a table holds.

    Examples
    --------
    >>> from gbuq_core.tables import read_table
    >>> table = read_table(b"city;size\nUlm;1,5\nUlm;2,5\nBonn;3\n")
    >>> [(column.name, column.kind) for column in infer_schema(table).columns]
    [('city', 'category'), ('size', 'numeric')]
    """
    names = table.names

    def infer(position: int) -> Column:
        array = single_chunk(table.data, position)
        return infer_column(names[position], array, _clues(table, position))

    columns = parallel_map(infer, range(len(names)))
    if not any(column.used for column in columns):
        columns = [_rescued(table, column) for column in columns]
    return Schema(tuple(columns), table.n_rows, tuple(column_notices(columns)))


def edit_schema(
    table: Table,
    schema: Schema,
    kinds: Mapping[str, str] | None = None,
    used: Mapping[str, bool] | None = None,
    missing_values: Mapping[str, Sequence[object]] | None = None,
) -> Schema:
    """Replace conclusions by the user's choices.

    Parameters
    ----------
    table : Table
        The one that the schema was inferred from.
    schema : Schema
    kinds : mapping of name to kind, optional
        One of `CHOSEN_KINDS`.
    used : mapping of name to bool, optional
        False leaves a column out; True takes in one that was left out, as numbers if it has any,
        else as a category.
    missing_values : mapping of name to values, optional
        What counts as missing in a column besides the usual markers, such as ``(-999,)``.

    Returns
    -------
    Schema

    Raises
    ------
    InvalidData
        If a column does not exist or cannot be read as the chosen kind.
    """
    kinds, used, missing_values = dict(kinds or {}), dict(used or {}), dict(missing_values or {})
    for name in (*kinds, *used, *missing_values):
        schema.column(name)
    columns = []
    for position, column in enumerate(schema.columns):
        name = column.name
        clues, array = _clues(table, position), single_chunk(table.data, position)
        markers = tuple(_marker(value) for value in missing_values.get(name, ()))
        kind = kinds.get(name)
        if kind is not None and (kind != column.kind or markers):
            check_choice("kind", kind, CHOSEN_KINDS)
            column = column_as(name, array, kind, markers or column.missing_values, clues)
        elif markers:
            kind = column.kind if column.kind in CHOSEN_KINDS else "category"
            column = column_as(name, array, kind, markers, clues)
        if name in used and used[name] and column.kind not in FEATURE_KINDS:
            column = _taken_in(table, column)
        columns.append(replace(column, used=used.get(name, column.used)))
    return Schema(tuple(columns), table.n_rows, tuple(column_notices(columns)))


def suggest_target(schema: Schema) -> str:
    r"""The column that people most likely want to predict: by its name, else the last one.

    Examples
    --------
    >>> from gbuq_core.tables import read_table
    >>> suggest_target(infer_schema(read_table(b"y,x\n1,2\n3,5\n")))
    'y'
    """
    possible = [column.name for column in schema.columns if column.kind in FEATURE_KINDS]
    if not possible:
        return schema.columns[-1].name
    by_name = {name.lower(): name for name in reversed(possible)}
    likely = [by_name[name] for name in _LIKELY_TARGETS if name in by_name]
    return likely[0] if likely else possible[-1]


def _clues(table: Table, position: int) -> Clues:
    day_first = table.decimal == "," or table.source.options.delimiter == ";"
    return Clues(table.decimal, day_first, position == 0 and table.data.num_columns >= 4)


def _marker(value: object) -> str:
    """A missing value as text: -999.0 and "-999" are one."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def _taken_in(table: Table, column: Column) -> Column:
    """A left-out column as a feature after all."""
    if column.kind == "empty":
        raise InvalidData(
            f"The column {shown(column.name)} cannot be used: all of its cells are missing."
        )
    array = single_chunk(table.data, column.name)
    clues = _clues(table, 1)
    try:
        return column_as(column.name, array, "numeric", column.missing_values, clues)
    except InvalidData:
        return column_as(column.name, array, "category", column.missing_values, clues)


def _rescued(table: Table, column: Column) -> Column:
    """Where nothing would be left, whole numbers that look like identifiers are features."""
    if column.kind != "identifier":
        return column
    taken = _taken_in(table, column)
    if taken.kind != "numeric":
        return column
    return replace(taken, reason="It may identify rows, but no other column could be used.")
