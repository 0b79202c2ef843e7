"""Rows that a person has looked at: marks with a note, in the export and as text to keep."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from gbuq_core.tables.files import free_name

LONGEST_NOTE = 300
MOST_MARKS = 20_000  # of a table


class Mark(NamedTuple):
    """Whether a row is reviewed, and a note about it."""

    reviewed: bool
    note: str = ""


Marks = Mapping[int, Mark]


def add_marks(frame: pd.DataFrame, marks: Marks) -> pd.DataFrame:
    """A table with the columns ``reviewed`` and ``note``.

    Columns of these names in the table keep them; the new ones are then ``reviewed (2)`` and so on.

    Parameters
    ----------
    frame : DataFrame of shape (n_rows, ...)
    marks : mapping of int to Mark
        By the row's position, from 0.

    Examples
    --------
    >>> marked = add_marks(pd.DataFrame({"x": [1, 2]}), {1: Mark(True, "typing error")})
    >>> marked["reviewed"].tolist(), marked["note"].tolist()
    ([False, True], ['', 'typing error'])
    """
    reviewed, notes = [False] * len(frame), [""] * len(frame)
    for row, mark in marks.items():
        if 0 <= row < len(frame):
            reviewed[row], notes[row] = mark.reviewed, mark.note
    taken = {str(name) for name in frame.columns}
    columns = {free_name("reviewed", taken): reviewed, free_name("note", taken): notes}
    new = pd.DataFrame(columns, index=frame.index)
    return pd.concat([frame, new], axis=1)


def write_marks(tables: Mapping[str, Marks]) -> bytes:
    """The marks of several tables, by the tables' digests, as JSON.

    Examples
    --------
    >>> read_marks(write_marks({"abc": {3: Mark(True, "checked")}}))
    {'abc': {3: Mark(reviewed=True, note='checked')}}
    """
    plain = {
        table: {str(row): [mark.reviewed, mark.note] for row, mark in marks.items()}
        for table, marks in tables.items()
    }
    return json.dumps(plain).encode()


def read_marks(data: bytes) -> dict[str, dict[int, Mark]]:
    """What `write_marks` wrote."""
    return {
        table: {int(row): Mark(bool(mark[0]), str(mark[1])) for row, mark in marks.items()}
        for table, marks in json.loads(data).items()
    }
