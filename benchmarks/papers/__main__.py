"""``python -m benchmarks.papers``: compute cells, print or keep their rows, write the pages."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.papers import __doc__ as about
from benchmarks.papers import pages
from benchmarks.papers.computing import RUNNERS, compute
from benchmarks.papers.data import BUILTIN, FOREIGN, SOURCES, Missing, fetch_set
from benchmarks.papers.table import Row, mean_and_error, read_rows, replace_rows, write_rows
from gbuq_core.errors import GbuqError

SEEDS = 3  # where the file does not say how many splits a cell has
BOARD = (
    "task", "set", "rows", "method", "measure", "mean", "standard_error", "seconds", "splits",
)  # fmt: skip


def wanted_cells(arguments: argparse.Namespace, rows: list[Row]) -> dict[tuple[str, str], int]:
    """The sets and methods that the options name, each with its number of splits."""
    cells: dict[tuple[str, str], int] = {}
    for row in rows:
        options = ("paper", "table", "set", "method", "measure")
        if all(getattr(arguments, name) in (None, getattr(row, name)) for name in options):
            seeds = arguments.seeds or int(row.seeds or SEEDS)
            cells[row.set, row.method] = max(seeds, cells.get((row.set, row.method), 0))
    return cells


def computed_cells(arguments: argparse.Namespace, rows: list[Row]) -> Iterator[list[Row]]:
    """Rows of each cell asked for; what cannot be computed is said on stderr."""
    by_place = {row.place: row for row in rows}
    for (name, method), seeds in wanted_cells(arguments, rows).items():
        cell = (arguments.paper, name, method)
        try:
            numbers, seconds = compute(*cell, seeds, arguments.data_dir, arguments.jobs)
        except (Missing, GbuqError, OSError) as error:
            print(f"{'/'.join(cell)} was left out: {error}", file=sys.stderr)
            continue
        fresh = []
        for measure, values in numbers.items():
            if arguments.measure in (None, measure):
                empty = Row(arguments.paper, "", name, method, measure, *7 * [""])
                row = by_place.get((*cell, measure), empty)
                mean, error = mean_and_error(values)
                row = row._replace(ours=mean, error=error, seeds=str(len(values)))
                fresh.append(row._replace(seconds=f"{seconds:.4g}"))
        yield fresh


def board_row(row: Row) -> tuple[Any, ...]:
    """The row as the scoreboard's file has it."""
    if row.set in BUILTIN:
        task, size = "classification", len(BUILTIN[row.set]().target)
    else:
        task, size = "regression", SOURCES[row.set].rows
    numbers = [f"{float(text):.6g}" if text else "" for text in (row.ours, row.error)]
    return task, row.set, size, row.method, row.measure, *numbers, row.seconds, row.seeds


def sets_read(arguments: argparse.Namespace, rows: list[Row]) -> list[str]:
    """The sets that the cells read from the folder, those of out-of-distribution rows too."""
    names = {name.removesuffix("_halves") for name, _ in wanted_cells(arguments, rows)}
    return sorted((names | {FOREIGN.get(name, name) for name in names}) & set(SOURCES))


def main() -> None:
    """Do what the options ask for."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--paper", choices=RUNNERS)
    parser.add_argument("--table", help="of the paper, by its number")
    for name in ("--set", "--method", "--measure"):
        parser.add_argument(name, help="all without it")
    parser.add_argument("--seeds", type=int, help="splits; as many as the file has without it")
    parser.add_argument("--data-dir", type=Path, help="folder of the sets")
    parser.add_argument("--jobs", type=int, default=1, help="splits at once")
    parser.add_argument("--download", action="store_true", help="fetch sets that are not there")
    parser.add_argument("--write", action="store_true", help="put the rows into papers.csv")
    parser.add_argument("--board", action="store_true", help="print rows of the scoreboard")
    parser.add_argument("--pages", action="store_true", help="write README and docs/scoreboard.md")
    arguments, rows = parser.parse_args(), read_rows()
    if arguments.pages:
        pages.write_pages()
        return
    if arguments.paper is None:
        parser.error("name a --paper, or --pages")
    if arguments.board and arguments.paper != "ours":
        parser.error("the scoreboard has numbers of --paper ours only")
    if not wanted_cells(arguments, rows):
        parser.error("benchmarks/papers.csv has no such cell")
    names = sets_read(arguments, rows)
    if names and arguments.data_dir is None:
        parser.error(f"{names[0]} is read from a folder: add --data-dir")
    try:
        for name in names if arguments.download else ():
            if not (arguments.data_dir / f"{name}.csv.gz").is_file():
                fetch_set(name, arguments.data_dir)
    except Missing as error:
        parser.error(str(error))
    header, as_printed = (BOARD, board_row) if arguments.board else (Row._fields, tuple)
    write_rows([header], sys.stdout)
    for fresh in computed_cells(arguments, rows):
        write_rows(map(as_printed, fresh), sys.stdout)
        sys.stdout.flush()
        if arguments.write:
            replace_rows(fresh)


if __name__ == "__main__":
    main()
