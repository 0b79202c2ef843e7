"""A table scored as the options say: what score, explain and report have in common."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

from gbuq_core.commands.model_options import check_method, cut_of, plan_of
from gbuq_core.commands.table_options import check_split, edited_schema, read, reading_of
from gbuq_core.experiments.table.fit import Cut, cut_table
from gbuq_core.jobs import stage
from gbuq_core.tables import (
    ScoredTable,
    ScorePlan,
    Table,
    add_unfamiliarity,
    measure_unfamiliarity,
    read_table,
    score_table,
    split_warnings,
    with_intervals,
)
from gbuq_core.tables.intervals import check_level


class Asked(NamedTuple):
    """The table to learn from, what was scored, and what makes the scores too good."""

    table: Table
    scored: ScoredTable
    warned: tuple[str, ...]


def add_unfamiliar(add: Callable[..., Any]) -> None:
    """Whether to measure how unfamiliar the rows are."""
    add("--unfamiliarity", choices=["yes", "no"], default="yes", help="whether to measure how "
        "unfamiliar the rows are, which takes further fits; default: %(default)s")  # fmt: skip


def check_fit(options: argparse.Namespace) -> ScorePlan:
    """The plan of a fit; refuses options that do not go together, before any work."""
    check_method(options)
    check_split(options)
    check_level(options.level)
    return plan_of(options)


def score_as_asked(options: argparse.Namespace, plan: ScorePlan) -> Asked:
    """Read, train and score; call it in a job, whose progress it reports."""
    table = read(options)
    schema = edited_schema(table, options)
    cut = cut_of(options)
    new = None
    warned: tuple[str, ...] = ()
    if options.new is not None:
        new = read_table(options.new, options=reading_of(options), to_score=True)
    measures = options.unfamiliarity == "yes"
    with stage(2.0 if measures else 1.0):
        with stage(1.0, span=1.0):
            scored = score_table(
                table, options.target, task=options.task, schema=schema, new=new, plan=plan
            )
            scored = scored if cut == Cut() else cut_table(scored, cut)
            if not options.quiet:
                warned = tuple(split_warnings(table, scored.training))
            scored = with_intervals(scored, options.level, options.conformal)
        if measures:
            found = measure_unfamiliarity(scored.training, scored.scored, plan.seed, plan.n_jobs)
            scored = add_unfamiliarity(scored, found)
    return Asked(table, scored, warned)
