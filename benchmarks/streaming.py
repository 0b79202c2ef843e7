"""How much memory and time it takes to score a file that is larger than the memory should be.

``python -m benchmarks.streaming --rows 20000000`` writes a file of so many rows to a temporary
folder, block by block, and runs ``gbuq score --stream`` on it in a process of its own, whose peak
memory the system tells. The model learns from a sample of the same file. ``--only csv`` writes
CSV, ``--unfamiliarity`` measures that too, ``--folder`` says where the files are made.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from benchmarks.report import Row, make_parser, report

MOST_BYTES = 1.5 * 2**30
BLOCK_ROWS = 100_000


def make_blocks(n_rows: int, n_columns: int, seed: int = 0) -> Iterator[pa.Table]:
    """Numbers, one column of words and one of gaps; the target is the last column."""
    rng = np.random.default_rng(seed)
    words = np.array(["north", "east", "south", "west"])
    for start in range(0, n_rows, BLOCK_ROWS):
        n = min(BLOCK_ROWS, n_rows - start)
        X = rng.normal(size=(n, n_columns - 1))
        place = rng.integers(0, len(words), n)
        y = X[:, 0] + np.sin(3.0 * X[:, 1]) + 0.3 * place
        y += np.exp(0.3 * X[:, 2]) * rng.normal(size=n)
        X[rng.random(n) < 0.1, 3] = np.nan
        columns = {f"x{k}": X[:, k] for k in range(n_columns - 1)}
        yield pa.table({**columns, "place": words[place], "y": y})


def make_file(path: Path, n_rows: int, n_columns: int) -> None:
    """Write the rows block by block."""
    writer = None
    for block in make_blocks(n_rows, n_columns):
        if writer is None:
            kind = csv.CSVWriter if path.suffix == ".csv" else parquet.ParquetWriter
            writer = kind(path, block.schema)
        writer.write_table(block)
    assert writer is not None
    writer.close()


def run_command(words: list[str]) -> tuple[float, float, float, str]:
    """Seconds, those of the processor, and peak bytes of a command, and what it printed."""
    began = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, "-m", "gbuq_core", *words], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"gbuq {' '.join(words)} ended with status {status}.")
    busy = usage.ru_utime + usage.ru_stime
    return time.perf_counter() - began, busy, usage.ru_maxrss * 1024.0, output


def measure(
    folder: Path, n_rows: int, n_columns: int, form: str, train_rows: int, more: list[str]
) -> Row:
    """Score a file of so many rows of one format."""
    source, out = folder / f"rows.{form}", folder / f"scored.{form}"
    make_file(source, n_rows, n_columns)
    seconds, busy, peak, output = run_command(
        [
            "score",
            str(source),
            str(source),
            "--target",
            "y",
            "--stream",
            "--train-rows",
            str(train_rows),
            "--out",
            str(out),
            *more,
        ]
    )
    print(output, file=sys.stderr)
    if form == "parquet":
        assert parquet.ParquetFile(out).metadata.num_rows == n_rows
    sizes = source.stat().st_size, out.stat().st_size
    source.unlink()
    out.unlink()
    return Row(
        f"{form}, {n_rows:,} x {n_columns} ({sizes[0] / 2**20:,.0f} MB)",
        f"{peak / 2**30:.2f} GB, {seconds:,.0f} s ({busy:,.0f} s of the processor), "
        f"{n_rows / seconds:,.0f} rows/s",
        f"<= {MOST_BYTES / 2**30:.1f} GB",
        peak <= MOST_BYTES,
        {
            "format": form,
            "rows": n_rows,
            "columns": n_columns,
            "train_rows": train_rows,
            "seconds": seconds,
            "busy_seconds": busy,
            "peak_bytes": peak,
            "in_bytes": sizes[0],
            "out_bytes": sizes[1],
        },
    )


def main() -> None:
    """Measure the formats one after the other."""
    about = "Peak memory and seconds of gbuq score --stream."
    parser = make_parser(about, ["parquet", "csv"], ["parquet"])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--train-rows", type=int, default=100_000)
    parser.add_argument("--trees", type=int, default=200)
    parser.add_argument("--unfamiliarity", action="store_true")
    parser.add_argument("--folder", type=Path, default=None)
    options = parser.parse_args()
    more = ["--ensemble", "virtual", "--trees", str(options.trees)]
    more += [] if options.unfamiliarity else ["--unfamiliarity", "no"]
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        rows = [
            measure(Path(folder), options.rows, options.columns, form, options.train_rows, more)
            for form in options.only
        ]
    report("Scoring in blocks", rows, options.json)


if __name__ == "__main__":
    main()
