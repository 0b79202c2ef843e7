"""A table scored as the options say: what score, explain and report have in common."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from gbuq_core import projects, tables
from gbuq_core.commands.combinations import check_task
from gbuq_core.commands.model_options import check_members, check_method, cut_of, plan_of
from gbuq_core.commands.project_options import check_project, restored
from gbuq_core.commands.table_options import (
    check_split,
    edited_schema,
    edits_of,
    read,
    reading_of,
    task_of,
)
from gbuq_core.settings import option_names
from gbuq_core.tables.plan import check_level

# What means something beside a project, where one row or all of them are looked at.
_OF_LOOKING = (
    *option_names(tables.Cut), "unfamiliarity", "row", "by", "unit", "fails_by", "group", "out",
    "sql", "url",
)  # fmt: skip


class Scoring(NamedTuple):
    """The table to learn from, what was scored, and what to be warned of."""

    table: tables.Table
    scored: tables.ScoredTable
    warned: tuple[str, ...]
    project: projects.Project | None = None  # it was restored from
    new: tables.Table | None = None  # the second file


def add_unfamiliar(add: Callable[..., Any]) -> None:
    """Whether to measure how unfamiliar the rows are."""
    add(
        "--unfamiliarity",
        choices=["yes", "no"],
        default="yes",
        help="whether to measure how "
        "unfamiliar the rows are, which takes further fits; default: %(default)s",
    )


def check_asked(options: argparse.Namespace) -> None:
    """Refuse options that do not go together, before any work."""
    if options.project is not None:
        check_project(options, _OF_LOOKING)
        return
    check_split(options)
    check_method(options)
    check_level(options.level)
    plan_of(options)


def score_as_asked(options: argparse.Namespace) -> Scoring:
    """Read, train or open the project, and score; call it in a job, whose progress it reports.

    Small models say whether another split of the rows changes the scores.
    """
    from gbuq_core.jobs import stage

    measures = options.unfamiliarity == "yes"
    asks = 0.0 if options.quiet else 0.2
    with stage(1.0 + asks + 0.7 * measures):  # measured once
        with stage(1.0, span=1.0):
            scoring = _trained(options) if options.project is None else _restored(options)
            if not options.quiet:
                heavy = tables.heavy_rows(scoring.scored)
                flattered = tables.split_warnings(scoring.table, scoring.scored.training)
                scoring = scoring._replace(warned=(*heavy, *flattered))
        if not options.quiet:
            scored = scoring.scored
            with stage(1.0, span=asks):
                questions = tables.ask_about_split(scoring.table, scored.training, scored.plan)
            scoring = scoring._replace(scored=replace(scored, questions=tuple(questions)))
        if measures:
            scored = scoring.scored
            plan = scored.plan
            unfamiliarity = tables.measure_unfamiliarity(
                scored.training, scored.scored, plan.seed, plan.n_jobs
            )
            scoring = scoring._replace(scored=tables.add_unfamiliarity(scored, unfamiliarity))
    return scoring


def _trained(options: argparse.Namespace) -> Scoring:
    table, new = read(options)
    schema = edited_schema(table, options)
    check_task(options, task_of(table, schema, options))
    scored = tables.score_table(
        table,
        options.target,
        task=options.task,
        schema=schema,
        new=new,
        plan=plan_of(options),
    )
    column, scored = getattr(options, "conformal_by", None), _cut(scored, options)
    by = None if column is None else tables.own_groups(scored, column, table)
    shift, weighted = None, getattr(options, "conformal_shift", False)
    if weighted and not (scored.new_units and tables.why_no_shift(scored)):  # which is said
        measured = tables.measure_shift(scored, scored.plan.seed)
        shift = measured if tables.can_weigh(measured) else None
    conformal = options.conformal or by is not None or weighted
    scored = tables.with_intervals(scored, options.level, conformal, by=by, shift=shift)
    return Scoring(table, scored, (), new=new)


def _restored(options: argparse.Namespace) -> Scoring:
    project, table, scored = restored(options)
    check_members(options, scored.plan.method)
    check_task(options, scored.training.target.task)
    return Scoring(table, _cut(scored, options), (), project)


def _cut(scored: tables.ScoredTable, options: argparse.Namespace) -> tables.ScoredTable:
    cut = cut_of(options)
    return scored if cut == tables.Cut() else tables.cut_table(scored, cut)


def recipe_of(scoring: Scoring, options: argparse.Namespace) -> tables.TableRecipe:
    """All that the numbers depend on, for code that computes the same."""
    table, scored, project = scoring.table, scoring.scored, scoring.project
    second = "" if scored.protocol != "new_file" else Path(options.new or options.train).name
    reading = reading_of(options)
    if project is None:
        task, edits = options.task, edits_of(table.names, options)
    else:
        task, edits = project.task, project.edits
    return tables.TableRecipe(
        source=table.source.name,
        is_builtin=table.source.format == "memory",
        options=reading,
        edits=edits,
        target=scored.training.target.name,
        task=task,
        second=second,
        plan=scored.plan,
        cut=cut_of(options),
        query=table.source.query,
        level=scored.level,
        conformal=scored.conformal,
        by_group=scored.by_group.column if scored.by_group else "",
        shifted=scored.shift is not None,
    )
