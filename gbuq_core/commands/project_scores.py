"""`gbuq score --project`: rows scored by the models of a project."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gbuq_core import projects, tables
from gbuq_core.commands.cluster_options import workers
from gbuq_core.commands.common_options import say_notes, seconds_since, shows_progress
from gbuq_core.commands.json_output import print_json
from gbuq_core.commands.outputs import check_out, is_standard_output, write_rows
from gbuq_core.commands.project_options import check_project, opened, tables_to_score
from gbuq_core.commands.score_words import question_records
from gbuq_core.commands.table_options import inputs_of
from gbuq_core.commands.watching import watched
from gbuq_core.errors import InvalidParameter

if TYPE_CHECKING:
    import pandas as pd

_NOT_MEASURED = (
    "Unfamiliar rows and rows of new units were not looked for: the project does not hold its "
    "table. Name the table before NEW, or fit with --with-data."
)

_NO_TABLE = (
    "--conformal-shift compares the rows with the project's table, which is not there: name the "
    "table before NEW, or fit with --with-data."
)


class _Scored(NamedTuple):
    project: projects.Project
    frame: pd.DataFrame
    added: tuple[str, ...]
    notices: tuple[str, ...]
    warning: str = ""
    questions: tuple[tables.SplitQuestion, ...] = ()


def score_by_project(options: argparse.Namespace) -> None:
    """Score the rows of NEW and write them."""
    out = Path(options.out)
    check_project(options, ["out", "unfamiliarity", "sql", "url", "conformal_shift"])
    check_out(out, inputs_of(options))
    with workers(options) as there:
        scored: _Scored = watched(lambda job: _score(options), shows_progress(options), there)
    write_rows(out, scored.frame)
    seconds = seconds_since(options)
    if options.json:
        print_json(_record(scored, options, seconds))
        return
    if options.quiet:
        return
    say_notes(scored.notices, options, [scored.warning] if scored.warning else [])
    if not is_standard_output(out):
        for question in scored.questions:
            print(question)
        print(f"Wrote {len(scored.frame):,} rows to {options.out} in {seconds:.1f} s.")


def _score(options: argparse.Namespace) -> _Scored:
    """Open, score, and measure unfamiliarity."""
    from gbuq_core.jobs import stage
    from gbuq_core.tables.new_units import not_fitted_anew

    project = opened(options)
    table, new = tables_to_score(project, options)
    measures = options.unfamiliarity == "yes"
    notices: tuple[str, ...] = ()
    if options.conformal_shift:
        if table is None:
            raise InvalidParameter(_NO_TABLE)
        project = replace(project, conformal=True)
    with stage(2.0 if measures else 1.0):
        with stage(1.0, span=1.0):
            if table is None:
                rows = projects.score_project(project, new)
                if measures:
                    notices = (*notices, _NOT_MEASURED)
                notices = (*rows.notices, *notices)
                return _Scored(project, rows.frame, tuple(rows.added.names), notices)
            scored = projects.restore_project(project, table, new)
            about = table, project.schema, project.target.name, new, scored.plan
            notices = (*notices, *filter(None, [not_fitted_anew(*about)]))
            if options.conformal_shift:
                shift = tables.measure_shift(scored, scored.plan.seed)
                if tables.can_weigh(shift):
                    scored = tables.with_intervals(scored, project.level, True, shift=shift)
                notices = (*notices, tables.describe_shift(shift))
        if not options.quiet:
            questions = tables.ask_about_split(table, scored.training, scored.plan)
            scored = replace(scored, questions=tuple(questions))
        if not measures:
            return _restored(project, scored, notices)
        plan = scored.plan
        far = tables.measure_unfamiliarity(scored.training, scored.scored, plan.seed, plan.n_jobs)
        measured = tables.add_unfamiliarity(scored, far)
        return _restored(project, measured, notices)._replace(warning=tables.foreign_notice(far))


def _restored(
    project: projects.Project, scored: tables.ScoredTable, notices: tuple[str, ...]
) -> _Scored:
    names = tuple(scored.added.names)
    sentences = (*scored.notices, *tables.table_ends(scored), *notices)
    return _Scored(project, scored.frame, names, sentences, questions=scored.questions)


def _record(scored: _Scored, options: argparse.Namespace, seconds: float) -> dict[str, Any]:
    return {
        "questions": question_records(scored.questions),
        "out": options.out,
        "project": options.project,
        "rows": len(scored.frame),
        "target": scored.project.target.name,
        "task": scored.project.target.task,
        "level": scored.project.level,
        "conformal": scored.project.conformal,
        "added_columns": scored.added,
        "notices": scored.notices,
        "seconds": seconds,
    }
