"""`--project FILE`: the models of a project, in place of one that is trained."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection
from typing import Any

from gbuq_core import projects, tables
from gbuq_core.commands.combinations import READING, check_formats
from gbuq_core.commands.table_options import (
    STANDARD_INPUT,
    check_files,
    check_target,
    read_file,
    sort_inputs,
)
from gbuq_core.errors import InvalidParameter

# What says which files are read and how; everything else was settled by the fit.
_OF_PROJECT = ("project", "trust", "config", "json", "quiet")


def add_project(add: Callable[..., Any], files: str) -> None:
    """The options of a project; ``files`` says what the files on the line are beside it."""
    add(
        "--project",
        metavar="FILE",
        help=f"use the models of a project, which gbuq fit wrote, instead of training; {files}",
    )
    add(
        "--trust",
        action="store_true",
        help="with --project: also read models of CatBoost, whose "
        "own reader may crash on files that somebody made up",
    )


def check_project(options: argparse.Namespace, also: Collection[str]) -> None:
    """Refuse what a project has settled, before any work."""
    further = sorted(options.typed - {*_OF_PROJECT, *READING, *also})
    if further:
        name = "--" + further[0].replace("_", "-")
        raise InvalidParameter(
            f"{name} does not go with --project, which has its own settings: leave it out."
        )


def opened(options: argparse.Namespace) -> projects.Project:
    """The project that is named."""
    return projects.open_project(options.project, trust=options.trust)


def check_inputs(options: argparse.Namespace) -> None:
    """See to it that there is one model, and without a project one table to learn from."""
    if options.project is None:
        check_target(options)
        sort_inputs(options)
    elif getattr(options, "model", None) is not None:
        raise InvalidParameter("--project and --model both give a model: leave one out.")
    check_files(options)


def restored(
    options: argparse.Namespace,
) -> tuple[projects.Project, tables.Table, tables.ScoredTable]:
    """A project, its table (TRAIN, unless it holds it), and the rows that its models score."""
    project = opened(options)
    own, second = options.train, options.new
    if second is None and (project.data is not None or options.sql):
        own, second = None, own
    table = projects.own_table(project, _named(own, project, options))
    return project, table, projects.restore_project(project, table, _new_rows(second, options))


def tables_to_score(
    project: projects.Project, options: argparse.Namespace
) -> tuple[tables.Table | None, tables.Table]:
    """The project's table if it is there, and the rows to score. A single file holds these."""
    own, second = options.train, options.new
    if second is None:
        own, second = None, own
    elif options.sql:
        raise InvalidParameter(
            "With --project and --sql, the project's table comes from the database: give one file "
            "at most, to be scored."
        )
    new = _new_rows(second, options)
    table = _named(own, project, options)
    if table is not None or project.data is not None:
        table = projects.own_table(project, table)
    return table, new


def _new_rows(file: str | None, options: argparse.Namespace) -> tables.Table:
    """The rows to score, as the line names them."""
    if file is None:
        raise InvalidParameter("The models of a project score new rows: give a second file.")
    new = read_file(file, options, to_score=True)
    check_formats(options, new)
    return new


def _named(
    file: str | None, project: projects.Project, options: argparse.Namespace
) -> tables.Table | None:
    """The project's table as the line names it, read as it was for the project."""
    if bool(options.sql) != bool(options.url):
        raise InvalidParameter("--sql and --url go together: give both or none.")
    if options.sql:
        return tables.read_query(options.sql, options.url)
    if file == STANDARD_INPUT:
        return tables.read_table(
            options.given, "standard input", project.source.options, to_score=True
        )
    if file is not None:
        return tables.read_table(file, options=project.source.options, to_score=True)
    return None
