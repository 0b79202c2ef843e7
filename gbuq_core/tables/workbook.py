"""Excel workbooks (.xlsx): one sheet to columns of text, numbers, booleans and dates.

The sheet is read in a process of its own (`gbuq_core.tables.workbook_process`), which may not take
more memory and time than it is given.
"""

from __future__ import annotations

import importlib.util
import io
import json
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from gbuq_core.errors import TableError
from gbuq_core.limited_process import ProcessLimits, ask_process, has_met_limits
from gbuq_core.presentation import columns_named, counted, listed, shown
from gbuq_core.tables import limits
from gbuq_core.tables.separated_text import above_sentences

MAX_SHEET_CELLS = 5_000_000
_LIMITS = ProcessLimits(memory=2**30, cpu_seconds=9, seconds=60.0)
_NO_SHEET = "\x01"  # a name that no sheet can have
_READER = Path(__file__).with_name("workbook_process.py")


class Sheet(NamedTuple):
    """Titles with their columns, the name of the sheet and those of all, and how it was read."""

    columns: list[tuple[str, Any]]
    name: str
    names: tuple[str, ...]
    has_header: bool
    summary: str
    notices: list[str]
    row_numbers: list[int]  # as in a `Table`


def is_workbook(data: bytes) -> bool:
    """Whether bytes are an Excel workbook (.xlsx), and no other archive."""
    if not data.startswith(b"PK\x03\x04"):
        return False
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except (zipfile.BadZipFile, ValueError, OSError):
        return b"xl/workbook.xml" in data[-(2**20) :]


def sheet_names(data: bytes) -> tuple[str, ...]:
    """The names of the sheets of an Excel workbook; none of other or unreadable data.

    Examples
    --------
    >>> sheet_names(b"a,b")
    ()
    """
    if not is_workbook(data):
        return ()
    try:
        about, _ = _ask(data, _NO_SHEET, "auto")
    except TableError:
        return ()
    return tuple(about["sheets"])


def read_workbook(
    data: bytes,
    sheet: str | None,
    has_header: bool | None,
    to_score: bool = False,
    skip_rows: int | None = None,
) -> Sheet:
    """Read one sheet: the first one that holds a table, or the one of that name."""
    if importlib.util.find_spec("python_calamine") is None:
        raise TableError("Excel files need python-calamine: install it, or save the table as CSV.")
    _check_unpacked(data)
    header = {None: "auto", True: "yes", False: "no"}[has_header]
    about, stream = _ask(data, sheet or "", header, skip_rows)
    notices: list[str] = []
    if about.get("failure") == "no sheet" and to_score and about["sheets"]:
        first = about["sheets"][0]
        notices.append(f"It has no sheet {shown(str(sheet))}, so {shown(first)} is read.")
        about, stream = _ask(data, first, header, skip_rows)
    _refuse_failure(about, sheet)
    notices += _read_so(about, sheet, skip_rows)
    table = pa.ipc.open_stream(stream).read_all()
    titles = about["titles"]
    if not titles:
        others = [name for name in about["sheets"] if name != about["sheet"]]
        choose = f"choose another one, such as {shown(others[0])}" if others else "add rows"
        raise TableError(f"The sheet {shown(about['sheet'])} is empty: {choose}.")
    for title, column in zip(titles, table.columns, strict=True):
        if pa.types.is_string(column.type):
            limits.check_cell_sizes(title, column)
    if not about["has_header"]:
        titles = [f"column {k + 1}" for k in range(len(titles))]
        if has_header is None:
            notices.append(
                "The first row looks like data, so the columns are called column 1, column 2 and "
                "so on. If the first row holds names, set Header to yes."
            )
    kind = "a header" if about["has_header"] else "no header"
    names = tuple(about["sheets"])
    of = f", one of {len(names)}" if len(names) > 1 else ""
    summary = (
        f"Read as the Excel sheet {shown(about['sheet'])}{of}, with "
        f"{counted(len(titles), 'column')} and {kind}."
    )
    columns = list(zip(titles, table.columns, strict=True))
    return Sheet(
        columns, about["sheet"], names, about["has_header"], summary, notices, about["row_numbers"]
    )


def _read_so(about: dict[str, Any], sheet: str | None, skip_rows: int | None) -> list[str]:
    """What had to be decided about the cells of a sheet."""
    notices = []
    first = about["sheets"][0]
    if not sheet and about["sheet"] != first:
        notices.append(
            f"The sheet {shown(first)} holds no table of several columns and ten rows, so "
            f"{shown(about['sheet'])} is read: choose another Sheet (--sheet)."
        )
    if about["larger"]:
        notices.append(
            f"The sheet {shown(about['sheet'])} is read, though {listed(about['larger'])} "
            f"{'has' if len(about['larger']) == 1 else 'have'} more cells: choose another Sheet "
            "(--sheet)."
        )
    if about["above"] and skip_rows is None:
        notices += above_sentences(about["above"])
    if about["merged"]:
        notices.append(f"{counted(about['merged'], 'cell')} below merged cells got their value.")
    if about["formulas"]:
        s = "s" * (len(about["formulas"]) == 1)
        notices.append(
            f"{columns_named(about['formulas'])} hold{s} formulas whose results are not stored: "
            "open the file in Excel and save it."
        )
    if about["times"]:
        s = "s" * (len(about["times"]) == 1)
        times = columns_named(about["times"])
        notices.append(f"{times} hold{s} times of day, which are read in hours.")
    return notices


def _check_unpacked(data: bytes) -> None:
    """Refuse what says of itself that it unpacks to too much; what lies is stopped later."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
    except (zipfile.BadZipFile, ValueError, OSError):
        raise _damaged() from None
    limits.check_text(unpacked)
    try:
        limits.check_ratio(len(data), unpacked)
    except TableError:
        raise _too_much() from None


def _ask(
    data: bytes, sheet: str, header: str, skip_rows: int | None = None
) -> tuple[dict[str, Any], pa.BufferReader]:
    """What the other process says, and the columns that it sends."""
    asked: dict[str, Any] = {"sheet": sheet, "header": header, "skip_rows": skip_rows}
    asked["most_cells"] = MAX_SHEET_CELLS
    code, answer = ask_process(_READER, asked, data, _LIMITS)
    line, _, rest = answer.partition(b"\n")
    if code == 0 and line:
        return json.loads(line), pa.BufferReader(rest)
    raise _too_much() if has_met_limits(code) else _damaged()


def _refuse_failure(about: dict[str, Any], sheet: str | None) -> None:
    failure = about.get("failure")
    if failure == "cells":
        raise TableError(
            f"The sheet reaches over {counted(about['rows'], 'row')} and "
            f"{counted(about['columns'], 'column')}, more than the limit of "
            f"{MAX_SHEET_CELLS / 1e6:.0f} million cells of an Excel file: save it as CSV, or clear "
            "the cells far from the table."
        )
    if failure:
        names = about["sheets"]
        if not names:
            raise TableError("The workbook has no sheet with cells: save the table as CSV.")
        raise TableError(
            f"The workbook has no sheet {shown(str(sheet))}: choose among {listed(names)}."
        )


def _damaged() -> TableError:
    return TableError("The Excel file is damaged or locked: save it again, or as CSV.")


def _too_much() -> TableError:
    return TableError(
        "The Excel file needs more memory or time than a table of its size: save it as CSV, or "
        "clear the cells far from the table."
    )
