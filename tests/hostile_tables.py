"""Table files below the upload limit that could take gigabytes or minutes, and what they take.

The bars: at most 2 GB more than before, and ten seconds of one core, to read a file and to say what
its columns are, or to refuse it.
"""

from __future__ import annotations

import gzip
import io
import multiprocessing
import resource
import tempfile
import time
import zipfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from gbuq_core.errors import GbuqError
from gbuq_core.tables import infer_schema, read_table, suggest_target

MB = 2**20
MOST_MB, MOST_SECONDS = 2048, 10.0


def grid(rows: int, columns: int, letters: tuple[int, int], width: int = 8) -> bytes:
    """Random cells of ``width`` letters between two codes, separated by commas, with a header."""
    rng = np.random.default_rng(0)
    cells = rng.integers(*letters, (rows, columns, width + 1), dtype=np.uint8)
    cells[:, :, -1] = ord(",")
    cells[:, -1, -1] = ord("\n")
    header = ",".join(f"c{k}" for k in range(columns))
    return header.encode() + b"\n" + cells.tobytes()


LETTERS = (97, 123)


def written(table: pa.Table) -> bytes:
    """A table as Parquet."""
    sink = io.BytesIO()
    parquet.write_table(table, sink)
    return sink.getvalue()


def _constant_parquet() -> bytes:
    zeros = pa.array(np.zeros(30_000_000))
    return written(pa.table({f"c{k}": zeros for k in range(4)}))


def _repeated_text_parquet() -> bytes:
    text = pa.DictionaryArray.from_arrays(np.zeros(1_500_000, np.int32), ["x" * 1000])
    sink = io.BytesIO()  # without its schema, so that plain text is read and not a dictionary
    table = pa.table({"t": text, "n": np.arange(1_500_000)})
    parquet.write_table(table, sink, store_schema=False)
    return sink.getvalue()


def workbook(sheet: bytes, strings: bytes = b"") -> bytes:
    """An Excel file of one sheet, whose XML is given, and shared strings."""
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    packages = "http://schemas.openxmlformats.org/package/2006"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{packages}/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{packages}/relationships"><Relationship Id="r1" '
        f'Type="{kind}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{kind}"><sheets>'
        '<sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{packages}/relationships">'
        f'<Relationship Id="r1" Type="{kind}/worksheet" Target="worksheets/sheet1.xml"/>'
        f'<Relationship Id="r2" Type="{kind}/sharedStrings" Target="sharedStrings.xml"/>'
        "</Relationships>",
    }
    head = f'<?xml version="1.0"?><worksheet xmlns="{main}">'.encode()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
        archive.writestr("xl/worksheets/sheet1.xml", head + sheet + b"</worksheet>")
        strings = f'<sst xmlns="{main}">'.encode() + strings + b"</sst>"
        archive.writestr("xl/sharedStrings.xml", strings)
    return packed.getvalue()


def sheet_of(rows: int, columns: int, cell: bytes) -> bytes:
    """Rows of a sheet in XML; ``cell`` takes the letter of the column and the row."""
    letters = [b"%c" % (65 + k) for k in range(columns)]
    lines = [
        b'<row r="%d">' % row + b"".join(cell % (letter, row) for letter in letters) + b"</row>"
        for row in range(1, rows + 1)
    ]
    return b"<sheetData>" + b"".join(lines) + b"</sheetData>"


ATTACKS: dict[str, Callable[[], bytes]] = {
    "249 MB of commas, gz": lambda: gzip.compress(b"," * (249 * MB)),
    "200 MB of lines of commas, gz": lambda: gzip.compress(b",,,,,,,,,\n" * (20 * MB)),
    "30 MB on one line": lambda: b"a,b\n" + b"1,2," * (30 * MB // 4),
    "240 MB of empty lines": lambda: b"a,b\n1,2\n" + b"\n" * (240 * MB),
    "a cell of 7 MB": lambda: b"a,b\n1,2\n" + b"1" * (7 * MB) + b",3\n4,5\n",
    "a quoted cell of 200 MB": lambda: (
        b'a,b\n1,2\n"' + b"twenty letters a line\n" * (200 * MB // 22) + b'",3\n4,5\n'
    ),
    "a quotation mark never closed": lambda: b'a,b\n1,"2\n' + b"12345678,12345678\n" * 13_000_000,
    "all rows ragged": lambda: b"a,b\n" + b"1\n" * 14_000_000,
    "one letter beyond 16 bits": lambda: (
        b"a,b\n" + "\U0001f600,1\n".encode() + b"1234567890123456,123456789012345\n" * 7_000_000
    ),
    "120 million constants, Parquet": _constant_parquet,
    "1.5 GB of one text, Parquet": _repeated_text_parquet,
    "two far corners, Excel": lambda: workbook(
        b'<sheetData><row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576">'
        b"<v>2</v></c></row></sheetData>"
    ),
    "a long text in 200,000 cells, Excel": lambda: workbook(
        sheet_of(100_000, 2, b'<c r="%s%d" t="s"><v>0</v></c>'),
        b"<si><t>" + b"x" * 900_000 + b"</t></si>",
    ),
    "300 MB of blanks, Excel": lambda: workbook(b" " * 300_000_000),
    "5,000 columns of words": lambda: grid(1_000, 5_000, LETTERS),
}


class Outcome(NamedTuple):
    """What became of a file; memory is the peak above what the process held before."""

    megabytes: float
    wall_seconds: float
    core_seconds: float
    peak_megabytes: float
    sentence: str


def measure(path: Path) -> Outcome:
    """Read a file in this process, which should not have done so before."""
    read_table(b"a,b\n1,2\n3,4\n")  # what is imported late
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins now
    before, wall, core = _peak_megabytes(), time.perf_counter(), _core_seconds()
    try:
        table = read_table(path)
        sentence = f"read: {table.n_rows:,} rows, target {suggest_target(infer_schema(table))}"
    except GbuqError as error:
        sentence = str(error)
    # Excel files are read by another process, which counts as if both peaks came together.
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return Outcome(
        path.stat().st_size / MB,
        time.perf_counter() - wall,
        _core_seconds() - core,
        _peak_megabytes() - before + children,
        sentence,
    )


_FORKING = multiprocessing.get_context("forkserver")
_FORKING.set_forkserver_preload([__name__])  # imported once for all files


def measure_apart(data: bytes) -> Outcome:
    """Read a file's bytes in a process of its own."""
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(1, _FORKING) as process:
        path = Path(folder, "file")
        path.write_bytes(data)
        return process.submit(measure, path).result()


def _peak_megabytes() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def _core_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in used)
