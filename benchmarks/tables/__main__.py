"""``python -m benchmarks.tables``: what was asked for, checked, run and printed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from benchmarks.protocols import EFFORTS, PROTOCOLS
from benchmarks.protocols.data import SPLITS as SPLITS_OF
from benchmarks.tables import __doc__ as about
from benchmarks.tables.cells import BadResult, Cell, Cells, NotStored
from benchmarks.tables.downloading import NotFetched, fetch_missing
from benchmarks.tables.publish import publish
from benchmarks.tables.report import report_lines
from benchmarks.tables.running import SPLITS, Runner, Wanted, complain, list_cells
from gbuq_core.errors import GbuqError
from gbuq_core.resources import usable_cores

RESULTS = Path(__file__).resolve().parents[1] / "results"
_MOST_SPLITS = 20


class BadArgument(ValueError):
    """What was asked for cannot be; the message is one sentence."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise BadArgument(message[0].upper() + message[1:] + ": see --help.")


def make_parser() -> argparse.ArgumentParser:
    """The options."""
    parser = _Parser(
        prog="python -m benchmarks.tables", description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--data-dir", type=Path, help="folder of <name>.csv.gz and <name>_splits")
    parser.add_argument(
        "--download", action="store_true", help="fetch sets that the folder does not have"
    )
    parser.add_argument("--tables", default=",".join(PROTOCOLS), help="of " + ", ".join(PROTOCOLS))
    parser.add_argument("--sets", help="with commas; all of the tables' without it")
    parser.add_argument("--methods", help="with commas; all of the tables' without it")
    parser.add_argument(
        "--splits", help=f"the first so many of a set; {SPLITS} or what a table needs without it"
    )
    parser.add_argument("--effort", default="small", help="of " + ", ".join(EFFORTS))
    parser.add_argument("--jobs", help="cells at once; one a core without it")
    parser.add_argument("--scheduler", help="of a Dask cluster, tcp://host:8786")
    parser.add_argument("--time-limit", default="3600", help="seconds of one cell")
    parser.add_argument("--resume", action="store_true", help="keep what is stored")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--report", action="store_true", help="print what is stored, run nothing")
    parser.add_argument(
        "--publish", action="store_true", help="write the scoreboard of what is stored, run nothing"
    )
    return parser


def _names(text: str | None, known: Sequence[str], what: str) -> tuple[str, ...] | None:
    if text is None:
        return None
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in names:
        if name not in known:
            raise BadArgument(f"There is no {what} {name!r}: choose from {', '.join(known)}.")
    if not names:
        raise BadArgument(f"--{what}s names none: choose from {', '.join(known)}.")
    return names


def _whole(text: str, name: str, most: int) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= most:
        raise BadArgument(f"{name} must be a whole number from 1 to {most:,}; got {text!r}.")
    return int(text)


def read_wanted(arguments: argparse.Namespace) -> Wanted:
    """Which cells the options ask for."""
    tables = _names(arguments.tables, list(PROTOCOLS), "table")
    assert tables is not None
    protocols = [PROTOCOLS[table] for table in tables]
    sets = list(dict.fromkeys(name for protocol in protocols for name in protocol.sets))
    methods = list(dict.fromkeys(name for protocol in protocols for name in protocol.methods))
    if arguments.effort not in EFFORTS:
        raise BadArgument(
            f"There is no effort {arguments.effort!r}: choose from {', '.join(EFFORTS)}."
        )
    return Wanted(
        tables,
        _names(arguments.sets, sets, "set"),
        _names(arguments.methods, methods, "method"),
        None if arguments.splits is None else _whole(arguments.splits, "--splits", _MOST_SPLITS),
        arguments.effort,
        arguments.download,
    )


def sets_read(cells: Sequence[Cell]) -> dict[str, Cell]:
    """The sets that these cells read from the data folder, each with a cell that does."""
    by_name: dict[str, Cell] = {}
    for cell in cells:
        protocol = PROTOCOLS[cell.table]
        read = () if cell.set in protocol.builtin else (cell.set,)
        for name in (*read, *protocol.files.get(cell.set, ())):
            by_name.setdefault(name, cell)
    return by_name


def check_data(data_dir: Path | None, cells: Sequence[Cell]) -> None:
    """Refuse a run whose sets are not in the folder."""
    for name, cell in sets_read(cells).items():
        if data_dir is None:
            raise BadArgument(f"{cell.table}/{cell.set} is read from a folder: add --data-dir.")
        for file in (f"{name}.csv.gz", *([f"{name}_splits.npz"] if name in SPLITS_OF else [])):
            if not (data_dir / file).is_file():
                raise BadArgument(
                    f"{data_dir} has no {file}: name the folder of the sets, fetch them with "
                    f"--download, or leave {cell.set} out with --sets."
                )


def check_stored(store: Cells, cells: Sequence[Cell], effort: str) -> None:
    """Refuse to go on with results of another effort."""
    for cell in cells:
        known = store.get(cell)
        if known is not None and known.effort != effort:
            raise BadArgument(
                f"{store.folder} holds {cell} of the effort {known.effort}: name another --out, or "
                "leave --resume out to compute it anew."
            )


def run(argv: Sequence[str]) -> int:
    """Do what the options ask for; returns the exit code."""
    arguments = make_parser().parse_args(argv)
    wanted = read_wanted(arguments)
    store = Cells(arguments.out)
    if arguments.publish:
        print(_published(store))
        return 0
    cells = list_cells(wanted)
    if not cells:
        raise BadArgument("No set has such a method: look at --help, or leave --methods out.")
    failures: tuple[str, ...] = ()
    if not arguments.report:
        jobs = _whole(arguments.jobs or str(usable_cores()), "--jobs", 1024)
        limit = float(_whole(arguments.time_limit, "--time-limit", 10**6))
        if arguments.download:
            if arguments.data_dir is None:
                raise BadArgument("--download writes into a folder: add --data-dir.")
            fetch_missing(sets_read(cells), arguments.data_dir, _say)
        check_data(arguments.data_dir, cells)
        store.make_folder()
        if arguments.resume:
            check_stored(store, cells, wanted.effort)
        for table in wanted.tables:
            print(f"{table}: {PROTOCOLS[table].words}", flush=True)
        runner = Runner(store, arguments.data_dir, wanted.effort, limit, _say)
        if arguments.scheduler is None:
            outcome = runner.run(cells, arguments.resume, jobs)
        else:
            from gbuq_core.cluster import open_cluster

            with open_cluster(arguments.scheduler) as cluster:
                outcome = runner.run(cells, arguments.resume, jobs, cluster)
        failures = outcome.failures
        for sentence in (*outcome.missing, *failures):
            complain(f"Left out: {sentence}")
    print("\n".join(report_lines([result for result in map(store.get, cells) if result])))
    return 1 if failures else 0


def _published(store: Cells) -> str:
    try:
        return publish(store)
    except BadResult:
        raise
    except ValueError as error:
        raise BadArgument(str(error)) from error


def _say(sentence: str) -> None:
    print(sentence, flush=True)


def main() -> None:
    """Run the command; exit code 2 and one sentence on stderr for what cannot be."""
    try:
        code = run(sys.argv[1:])
    except (BadArgument, BadResult, GbuqError, NotFetched, NotStored) as error:
        complain(str(error))
        code = 2
    except KeyboardInterrupt:
        complain("Interrupted. What was computed is stored: go on with --resume.")
        code = 130
    sys.exit(code)


if __name__ == "__main__":
    main()
