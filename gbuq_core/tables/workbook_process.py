"""One sheet of an Excel file to columns: a reader of `gbuq_core.limited_process`.

A workbook of a few kilobytes can ask for any amount of memory: by a cell in the last corner of the
sheet, by one long text in millions of cells, by zeros that compress a thousandfold.
"""

from __future__ import annotations

import datetime
import io
import json
import re
import zipfile
from typing import Any

_BATCH = 50_000  # rows
_MOST_ABOVE = 30  # rows above the names of the columns
_MOST_CELLS_READ_TWICE = 500_000
_UNFILLED = re.compile(rb'<c r="([A-Z]+)\d+"[^>]*><f[^>]*>[^<]*</f>(?:<v ?/>|<v></v>)?</c>')
_MERGED = re.compile(rb'<mergeCell ref="([A-Z]+)(\d+):([A-Z]+)(\d+)"')
_FEWEST_ROWS = 10  # of a sheet, before one that follows is read instead


def prepare() -> None:
    """Import the reader."""
    import pyarrow  # noqa: F401
    import python_calamine  # noqa: F401


def _about(**parts: Any) -> bytes:
    return json.dumps(parts).encode() + b"\n"


def _as_text(cell: Any) -> str | None:
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 2**53:
        return str(int(cell))
    if isinstance(cell, datetime.datetime):
        day, time = cell.date().isoformat(), cell.time()
        return day if time == datetime.time() else f"{day} {time.isoformat()}"
    return None if cell == "" else str(cell)


def _is_header(row: list[Any]) -> bool:
    """Words name columns, and so do years among them; other numbers and dates do not."""
    known = [cell for cell in row if cell != ""]
    others = [cell for cell in known if not isinstance(cell, str)]
    years = all(type(cell) in (int, float) and 1800 <= cell <= 2200 for cell in others)
    return bool(known) and years and len(others) < len(known)


def _column(cells: list[Any]) -> Any:
    """Cells as numbers, booleans or dates where all known ones are; as text otherwise."""
    import pyarrow as pa

    kinds = {type(cell) for cell in cells if cell != ""}
    if kinds and kinds <= {float, int}:
        return pa.array([None if cell == "" else float(cell) for cell in cells], pa.float64())
    if kinds == {datetime.time}:  # in hours
        return pa.array([None if c == "" else _seconds(c) / 3600.0 for c in cells], pa.float64())
    if kinds == {datetime.timedelta}:  # in seconds, as in Parquet
        return pa.array([None if c == "" else c.total_seconds() for c in cells], pa.float64())
    if kinds == {bool}:
        return pa.array([None if cell == "" else cell for cell in cells], pa.bool_())
    if kinds and kinds <= {datetime.datetime, datetime.date}:
        days = [None if cell == "" else cell for cell in cells]
        midnight = datetime.time()
        dates = [
            datetime.datetime.combine(day, midnight) if type(day) is datetime.date else day
            for day in days
        ]
        return pa.array(dates, pa.timestamp("us"))
    return pa.array([_as_text(cell) for cell in cells], pa.string())


def _seconds(time: datetime.time) -> float:
    return time.hour * 3600.0 + time.minute * 60.0 + time.second + time.microsecond / 1e6


def _names_begin(rows: list[list[Any]]) -> int:
    """The row of the names: the first full one below titles and merged names."""
    filled = [sum(cell != "" for cell in row) for row in rows[: _MOST_ABOVE + 1]]
    full = max(1, len(rows[0]) // 2) if rows else 0
    begin = next((k for k, n in enumerate(filled) if n > full), 0)
    if not rows or len(rows[0]) < 2 or len(rows) <= begin + 2:
        return 0
    if begin and filled[begin - 1] > 1 and not _is_header(rows[begin]):  # few names, and no title
        return begin - 1
    names, below = rows[begin + 1], rows[begin + 2]
    words = all(isinstance(cell, str) and cell for cell in names)
    if "" in rows[begin] and words and any(isinstance(cell, float | int) for cell in below):
        return begin + 1
    return begin


def _xml_of(payload: bytes, position: int, n_cells: int) -> bytes:
    """The XML of a sheet that is not large, for what the reader of cells does not tell."""
    if n_cells > _MOST_CELLS_READ_TWICE:
        return b""
    try:
        with zipfile.ZipFile(io.BytesIO(payload)) as archive:
            return archive.read(f"xl/worksheets/sheet{position + 1}.xml")
    except (KeyError, ValueError, OSError, zipfile.BadZipFile):
        return b""


def _place(letters: bytes) -> int:
    place = 0
    for letter in letters:
        place = 26 * place + letter - 64
    return place - 1


def _fill_merged(rows: list[list[Any]], numbers: list[int], xml: bytes, first: int) -> int:
    """Put the value of merged cells below the names into all of their rows; how many get one."""
    row_of = {number: row for number, row in zip(numbers, rows, strict=True) if number > first}
    n_filled = 0
    for left, top, right, bottom in _MERGED.findall(xml):
        column = _place(left)
        if column != _place(right) or int(top) not in row_of or column >= len(rows[0]):
            continue
        for number in range(int(top) + 1, int(bottom) + 1):
            if number in row_of:
                row_of[number][column] = row_of[int(top)][column]
                n_filled += 1
    return n_filled


def _sizes(book: Any, names: list[str]) -> dict[str, int]:
    """How many cells the sheets with several columns and rows reach over; short ones negative."""
    sizes = {}
    for name in names:
        sheet = book.get_sheet_by_name(name)
        if sheet.end is not None:
            height, width = (e - s + 1 for s, e in zip(sheet.start, sheet.end, strict=True))
            if height > 1 and width > 1:
                sizes[name] = height * width * (1 if height >= _FEWEST_ROWS else -1)
    return sizes


def answer(asked: dict[str, Any], payload: bytes) -> bytes:
    """A line of JSON; then, if all went well, an Arrow stream with the columns."""
    import pyarrow as pa
    from python_calamine import CalamineWorkbook, SheetTypeEnum

    wanted, header = asked["sheet"], asked["header"]
    book = CalamineWorkbook.from_filelike(io.BytesIO(payload))
    names = [about.name for about in book.sheets_metadata if about.typ == SheetTypeEnum.WorkSheet]
    sizes = _sizes(book, names)
    likely = [name for name, size in sizes.items() if size > 0] or [*sizes] or names or [""]
    chosen = wanted or likely[0]
    larger = [name for name in sizes if abs(sizes[name]) > abs(sizes.get(chosen, 0))]
    if chosen not in names:
        return _about(failure="no sheet", sheets=names)
    sheet = book.get_sheet_by_name(chosen)
    n_rows, n_columns = (0, 0) if sheet.end is None else (place + 1 for place in sheet.end)
    if n_rows * n_columns > asked["most_cells"]:
        return _about(failure="cells", sheets=names, rows=n_rows, columns=n_columns)
    rows, numbers = [], []  # those that are not blank, and their numbers in the sheet
    for number, row in enumerate(sheet.iter_rows(), start=1):
        if any(cell != "" for cell in row):
            rows.append(row)
            numbers.append(number)
    xml = _xml_of(payload, names.index(chosen), n_rows * n_columns)
    skip = asked["skip_rows"]
    above = (0 if header == "no" else _names_begin(rows)) if skip is None else skip
    n_above = above and numbers[min(above, len(numbers) - 1)] - 1
    rows, numbers = rows[above:], numbers[above:]
    n_merged = _fill_merged(rows, numbers, xml, numbers[0]) if rows and b"<mergeCell " in xml else 0
    first = rows[0] if rows else []
    has_header = header == "yes" or (header == "auto" and _is_header(first))
    body = rows[1:] if has_header else rows
    if has_header:
        numbers = [number - numbers[0] for number in numbers[1:]]
    columns = [list(column) for column in zip(*body, strict=True)] or [[] for _ in first]
    del rows, body
    titles = [_as_text(cell) or "" for cell in first] if has_header else [""] * len(first)
    used = [k for k in range(len(first)) if titles[k] or any(c != "" for c in columns[k])]
    unfilled = {_place(letters) for letters in _UNFILLED.findall(xml)} if b"<f" in xml else set()
    formulas = [titles[k] for k in used if k in unfilled and all(c == "" for c in columns[k])]
    times = [titles[k] for k in used if {type(c) for c in columns[k] if c != ""} == {datetime.time}]
    arrays = []
    for k in used:
        arrays.append(_column(columns[k]))
        columns[k] = []
    table = pa.table(arrays, names=[f"f{k}" for k in range(len(arrays))])
    written = io.BytesIO()
    parts = {"sheets": names, "sheet": chosen, "has_header": has_header, "row_numbers": numbers}
    parts |= {"larger": [] if wanted else larger}
    parts |= {"above": n_above, "merged": n_merged, "formulas": formulas, "times": times}
    written.write(_about(**parts, titles=[titles[k] for k in used]))
    with pa.ipc.new_stream(written, table.schema) as stream:
        stream.write_table(table, max_chunksize=_BATCH)
    return written.getvalue()
