"""The options of a table, which all commands that read one share, and how it is read."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gbuq_core import tables
from gbuq_core.commands.combinations import check_formats
from gbuq_core.errors import InvalidParameter, TableError
from gbuq_core.presentation import shown
from gbuq_core.settings import add_options
from gbuq_core.tables.plan import ScorePlan

STANDARD_INPUT = "-"
# The files that are read, by the option that names them.
_FILES = {"train": "file", "new": "file", "project": "project", "model": "model file"}
_DELIMITERS = {"\\t": "\t", "tab": "\t", "space": " "}


def add_table(add: Callable[..., Any], needs_target: bool = True) -> None:
    """The arguments that name the table to learn from and its target."""
    add(
        "train",
        metavar="TRAIN",
        nargs="?",
        help="the file to learn from; - reads the standard input; none with --sql",
    )
    add("--target", required=needs_target, metavar="NAME", help="the column to predict")


def add_reading(add: Callable[..., Any]) -> None:
    """Options of every command: the task, the columns, and how the table is read."""
    add("--task", choices=["regression", "classification"], help="default: decided by the target")
    several: dict[str, Any] = {"action": "append", "default": []}
    add("--category", **several, metavar="NAME", help="read this column as categories")
    add("--drop", **several, metavar="NAME", help="do not use this column")
    add("--use", **several, metavar="NAME", help="use this column, even if it would be left out")
    add(
        "--kind",
        **several,
        metavar="NAME=KIND",
        help="read a column as numeric, category, date, identifier or text",
    )
    add(
        "--missing",
        **several,
        metavar="NAME=VALUES",
        help="values that mean missing in a column, with commas between them; -999 is also -999.0",
    )
    add(
        "--keep-words",
        **several,
        metavar="NAME",
        help="words such as NA and null are values in this column, not missing",
    )
    add_format(add)
    add(
        "--sql",
        metavar="QUERY",
        help="learn from the rows of this SELECT; a file given to score is then NEW",
    )
    add(
        "--url",
        metavar="URL",
        help="of the database, as SQLAlchemy writes it, such as sqlite:///rows.db",
    )
    add_options(add, ScorePlan, "split", "split_column", "scale")


def add_format(add: Callable[..., Any]) -> None:
    """Options of how a file is read."""
    add(
        "--delimiter",
        help="between two cells of a text file, also tab or space; default: decided by the file",
    )
    add("--decimal", choices=[".", ","], help="the decimal mark; default: decided by the file")
    add("--encoding", help="such as utf-8 or cp1252; default: decided by the file")
    add("--header", choices=["yes", "no"], help="whether the first row names the columns")
    add("--sheet", metavar="NAME", help="of an Excel file; default: the first one with a table")
    add(
        "--skip-rows",
        type=int,
        metavar="N",
        help="rows above the names of the columns; default: decided by the file",
    )
    add(
        "--keep-rows",
        choices=["yes", "no"],
        help="whether totals, repeated headers and footers are rows like the others; default: no",
    )


def read(options: argparse.Namespace) -> tuple[tables.Table, tables.Table | None]:
    """The table to learn from, and the second file if there is one."""
    if options.sql:
        table = tables.read_query(options.sql, options.url)
    else:
        table = read_file(options.train, options)
    new = None if options.new is None else read_file(options.new, options, to_score=True)
    check_formats(options, table, new)
    return table, new


def task_of(table: tables.Table, schema: tables.Schema, options: argparse.Namespace) -> str:
    """What is asked for, or else what the target says."""
    return options.task or tables.infer_task(table, schema, options.target)[0]


def reading_of(options: argparse.Namespace) -> tables.ReadOptions:
    """How files are read."""
    delimiter = _DELIMITERS.get(options.delimiter, options.delimiter)
    header = None if options.header is None else options.header == "yes"
    return tables.ReadOptions(
        delimiter,
        options.encoding,
        options.decimal,
        header,
        options.sheet,
        options.skip_rows,
        options.keep_rows == "yes" or None,
    )


def edited_schema(table: tables.Table, options: argparse.Namespace) -> tables.Schema:
    """What was concluded about the columns, with the user's corrections."""
    edits = edits_of(table.names, options)
    return tables.edit_schema(table, tables.infer_schema(table), **edits.arguments())


def edits_of(names: Sequence[str], options: argparse.Namespace) -> tables.Edits:
    """The user's corrections of columns, which have these names."""
    missing: dict[str, tuple[str, ...]] = {}
    for name, values in (_given(names, text, "--missing") for text in options.missing):
        words = (value.strip() for value in values.split(","))
        missing[name] = (*missing.get(name, ()), *filter(None, words))
    kinds = [(name, "category") for name in options.category]
    kinds += [_given(names, text, "--kind") for text in options.kind]
    uses = [(name, False) for name in options.drop] + [(name, True) for name in options.use]
    return tables.Edits.of(
        _agreed("--kind and --category", kinds),
        _agreed("--use and --drop", uses),
        missing,
        options.keep_words,
    )


def _agreed(option: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """What is said of each column, which must not be two things."""
    found = dict(pairs)
    for name, value in pairs:
        if found[name] != value:
            raise InvalidParameter(
                f"{option} say two things of the column {shown(name)}: leave one of them out."
            )
    return found


def _given(columns: Sequence[str], text: str, option: str) -> tuple[str, str]:
    """NAME=VALUE taken apart; the names of columns may hold equals signs themselves."""
    names = [name for name in columns if text.startswith(f"{name}=")]
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


def inputs_of(options: argparse.Namespace) -> list[str | Path | None]:
    """Every file that the options name to be read, for what must not be written."""
    names = ("train", "new", "project", "model", "config")
    files: list[str | Path | None] = [getattr(options, name, None) for name in names]
    if options.url:
        from gbuq_core.tables.database import sqlite_path

        files.append(sqlite_path(options.url))
    return files


def check_files(options: argparse.Namespace) -> None:
    """Refuse files that are not there, and read the standard input, before any work."""
    named = {name: getattr(options, name, None) for name in _FILES}
    for name, path in named.items():
        if path is None or (path == STANDARD_INPUT and name in ("train", "new")):
            continue
        if not os.path.exists(path):
            what = _FILES[name]
            raise InvalidParameter(f"There is no {what} {shown(Path(path).name)}: check the path.")
    if list(named.values()).count(STANDARD_INPUT) > 1:
        raise InvalidParameter(
            "The standard input can be read once: name a file for TRAIN or for NEW."
        )
    if STANDARD_INPUT in named.values():
        options.given = source_of(STANDARD_INPUT)[0]


def source_of(path: str) -> tuple[Path | bytes, str]:
    """A file, or what the standard input holds where - is given, and how it is called."""
    if path != STANDARD_INPUT:
        return Path(path), Path(path).name
    if sys.stdin is None:
        raise TableError("The standard input is closed: name a file.")
    return sys.stdin.buffer.read(tables.MAX_FILE_BYTES + 1), "standard input"


def read_file(path: str, options: argparse.Namespace, to_score: bool = False) -> tables.Table:
    """The table of a file, or of the standard input."""
    source: Path | bytes = Path(path)
    name = None
    if path == STANDARD_INPUT:
        source, name = options.given, "standard input"
    return tables.read_table(source, name, reading_of(options), to_score=to_score)


def check_target(options: argparse.Namespace) -> None:
    """Refuse a fit without a target, where the parser could not."""
    if options.target is None:
        raise InvalidParameter("There is no column to predict: give --target.")


def check_split(options: argparse.Namespace) -> None:
    """Refuse a split without its column, and a column without a split."""
    if options.split == "random" and options.split_column is not None:
        raise InvalidParameter("--split-column goes with --split group or --split time.")
    if options.split != "random" and options.split_column is None:
        raise InvalidParameter(f"--split {options.split} needs a column: give --split-column.")
