"""One sheet of an Excel file to columns: a reader of `gbuq_core.limited_process`.

A workbook of a few kilobytes can ask for any amount of memory: by a cell in the last corner of the
sheet, by one long text in millions of cells, by zeros that compress a thousandfold.
"""

from __future__ import annotations

import datetime
import io
import json
from typing import Any

_BATCH = 50_000  # rows


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


def answer(asked: dict[str, Any], payload: bytes) -> bytes:
    """A line of JSON; then, if all went well, an Arrow stream with the columns."""
    import pyarrow as pa
    from python_calamine import CalamineWorkbook, SheetTypeEnum

    wanted, header = asked["sheet"], asked["header"]
    book = CalamineWorkbook.from_filelike(io.BytesIO(payload))
    names = [about.name for about in book.sheets_metadata if about.typ == SheetTypeEnum.WorkSheet]
    chosen = wanted or (names[0] if names else "")
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
    first = rows[0] if rows else []
    has_header = header == "yes" or (header == "auto" and _is_header(first))
    body = rows[1:] if has_header else rows
    if has_header:
        numbers = [number - numbers[0] for number in numbers[1:]]
    columns = [list(column) for column in zip(*body, strict=True)] or [[] for _ in first]
    del rows, body
    titles = [_as_text(cell) or "" for cell in first] if has_header else [""] * len(first)
    used = [k for k in range(len(first)) if titles[k] or any(c != "" for c in columns[k])]
    arrays = []
    for k in used:
        arrays.append(_column(columns[k]))
        columns[k] = []
    table = pa.table(arrays, names=[f"f{k}" for k in range(len(arrays))])
    written = io.BytesIO()
    told = {"sheets": names, "sheet": chosen, "has_header": has_header, "row_numbers": numbers}
    written.write(_about(**told, titles=[titles[k] for k in used]))
    with pa.ipc.new_stream(written, table.schema) as stream:
        stream.write_table(table, max_chunksize=_BATCH)
    return written.getvalue()
