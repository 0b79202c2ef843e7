"""What the commands of `gbuq` share: a parser, how a table is read, progress, the file written."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from gbuq_core.errors import InvalidParameter, TableError
from gbuq_core.jobs import JobRunner
from gbuq_core.presentation import shown
from gbuq_core.tables import (
    ReadOptions,
    Schema,
    ScorePlan,
    Table,
    edit_schema,
    infer_schema,
    read_query,
    read_table,
)
from gbuq_core.tables.scaling import SCALES
from gbuq_core.tables.splitting import SPLITS

BAD_INPUT = 2
_LOOK_SECONDS = 0.2  # between two looks at the progress
_DELIMITERS = {"\\t": "\t", "tab": "\t", "space": " "}


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are one sentence, like all others."""

    def error(self, message: str) -> NoReturn:
        """Print a complaint and leave."""
        sentence = message[:1].upper() + message[1:].rstrip(".")
        print(f"{sentence}; see --help.", file=sys.stderr)
        raise SystemExit(BAD_INPUT)


def add_reading(add: Callable[..., Any]) -> None:
    """Options of every command: the task, the columns, and how the table is read."""
    add("--task", choices=["regression", "classification"], help="default: decided by the target")
    add(
        "--category",
        action="append",
        default=[],
        metavar="NAME",
        help="read this column as categories",
    )
    add("--drop", action="append", default=[], metavar="NAME", help="do not use this column")
    add(
        "--use",
        action="append",
        default=[],
        metavar="NAME",
        help="use this column, even if it would be left out",
    )
    add("--kind", action="append", default=[], metavar="NAME=KIND", help="read a column as "
        "numeric, category, date, identifier or text")  # fmt: skip
    add("--missing", action="append", default=[], metavar="NAME=VALUES",
        help="values that mean missing in a column, with commas between them")  # fmt: skip
    add(
        "--delimiter",
        help="between two cells of a text file, also tab or space; default: decided by the file",
    )
    add("--decimal", choices=[".", ","], help="the decimal mark; default: decided by the file")
    add("--encoding", help="such as utf-8 or cp1252; default: decided by the file")
    add("--header", choices=["yes", "no"], help="whether the first row names the columns")
    add(
        "--sql",
        metavar="QUERY",
        help="learn from the rows of this SELECT; a file given to score is then NEW",
    )
    add("--url", metavar="URL", help="of the database, as SQLAlchemy writes it, such as "
        "sqlite:///rows.db")  # fmt: skip
    add("--sheet", metavar="NAME", help="of an Excel file; default: the first one")
    add("--split", choices=SPLITS, default=ScorePlan().split, help="how rows are held out: one by "
        "one, by groups that stay together, or in the order of time (each row is judged by a model "
        "of earlier rows); default: %(default)s")  # fmt: skip
    add("--split-column", metavar="NAME", help="what names the groups or the time; a column of "
        "groups is no feature unless --use names it")  # fmt: skip
    add("--scale", choices=SCALES, default=ScorePlan().scale, help="on which a regression learns "
        "its target; log is for positive targets with a long tail; predictions and scores are in "
        "units of the target either way; default: %(default)s")  # fmt: skip


def read(options: argparse.Namespace) -> Table:
    """The table to learn from."""
    if options.sql:
        return read_query(options.sql, options.url)
    return read_table(options.train, options=reading_of(options))


def reading_of(options: argparse.Namespace) -> ReadOptions:
    """How files are read."""
    delimiter = _DELIMITERS.get(options.delimiter, options.delimiter)
    header = None if options.header is None else options.header == "yes"
    return ReadOptions(delimiter, options.encoding, options.decimal, header, options.sheet)


def edited_schema(table: Table, options: argparse.Namespace) -> Schema:
    """What was concluded about the columns, with the user's corrections."""
    missing = dict(_given(table, text, "--missing") for text in options.missing)
    return edit_schema(
        table,
        infer_schema(table),
        kinds={
            **dict.fromkeys(options.category, "category"),
            **dict(_given(table, text, "--kind") for text in options.kind),
        },
        used={**dict.fromkeys(options.drop, False), **dict.fromkeys(options.use, True)},
        missing_values={
            name: [value.strip() for value in values.split(",") if value.strip()]
            for name, values in missing.items()
        },
    )


def _given(table: Table, text: str, option: str) -> tuple[str, str]:
    """NAME=VALUE taken apart; the names of columns may hold equals signs themselves."""
    names = [name for name in table.names if text.startswith(f"{name}=")]
    if not names:
        raise InvalidParameter(f"{option} must begin with the name of a column and =; got {text}.")
    name = max(names, key=len)
    return name, text[len(name) + 1 :]


def sort_inputs(options: argparse.Namespace) -> None:
    """See to it that there is one table to learn from: a file or a query."""
    if bool(options.sql) != bool(options.url):
        raise InvalidParameter("--sql and --url go together: give both or none.")
    if options.sql:
        if options.new is not None:
            raise InvalidParameter(
                "With --sql, the rows to learn from come from the database: give one file at most, "
                "to be scored."
            )
        options.train, options.new = None, options.train
    elif options.train is None:
        raise InvalidParameter("There is no table to learn from: give TRAIN, or --sql and --url.")


def check_split(options: argparse.Namespace) -> None:
    """Refuse a split without its column, and a column without a split."""
    if options.split == "random" and options.split_column is not None:
        raise InvalidParameter("--split-column goes with --split group or --split time.")
    if options.split != "random" and options.split_column is None:
        raise InvalidParameter(f"--split {options.split} needs a column: give --split-column.")


def check_out(out: Path, inputs: Sequence[str | Path | None]) -> None:
    """Refuse an output that cannot be written or that is one of the inputs, before any work."""
    if not out.parent.is_dir():
        raise InvalidParameter(f"There is no directory {out.parent}: create it or choose another.")
    try:
        out.lstat()
    except FileNotFoundError:
        pass  # the usual case
    except OSError as error:
        raise InvalidParameter(
            f"{shown(out.name)} cannot be written ({error.strerror}): choose another output."
        ) from None
    if out.is_dir():
        raise InvalidParameter(f"{out} is a directory: give the name of a file.")
    for name in inputs:
        if name is not None and _is_same_file(out, name):
            raise InvalidParameter(
                f"{out} is an input file and would be overwritten: choose another output."
            )
    if not os.access(out if out.exists() else out.parent, os.W_OK):
        raise InvalidParameter(f"{out} cannot be written: check its permissions.")


def _is_same_file(out: Path, name: str | Path) -> bool:
    try:
        return out.samefile(name)
    except OSError:  # one of them does not exist, or cannot; reading it will tell
        return False


def watched(run: Any, show: bool) -> Any:
    """Run a job, with a line of progress if ``show``; Ctrl-C stops it between two kernel chunks."""
    job = JobRunner().want("command line", "table", run)
    try:
        while not job.wait(_LOOK_SECONDS):
            if show:
                print(f"\rTraining and scoring: {job.fraction:4.0%}", end="", file=sys.stderr)
    except KeyboardInterrupt:
        job.stop()
        job.wait(10)
        raise
    finally:
        if show:
            print("\r" + " " * 40 + "\r", end="", file=sys.stderr)
    return job.result()


def write_file(out: Path, data: bytes) -> None:
    """Write a whole file or none."""
    try:
        # Not named after OUT, whose name may be as long as names can be.
        with tempfile.NamedTemporaryFile(dir=out.parent, prefix=".gbuq-", delete=False) as new:
            new.write(data)
        os.chmod(new.name, 0o666 & ~_umask())
        os.replace(new.name, out)
    except OSError as error:
        raise TableError(
            f"{out} cannot be written ({error.strerror}): choose another output."
        ) from None


def _umask() -> int:
    """The permissions that new files must not have; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
