"""`gbuq score --project`: rows scored by the models of a project, without training."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from gbuq_core.commands.cluster_options import workers
from gbuq_core.commands.combinations import check_formats
from gbuq_core.commands.common_options import say_notes, shows_progress
from gbuq_core.commands.json_output import print_json
from gbuq_core.commands.outputs import check_out, is_standard_output, write_file
from gbuq_core.commands.project_options import check_project, opened
from gbuq_core.commands.table_options import inputs_of, reading_of
from gbuq_core.commands.watching import watched
from gbuq_core.errors import InvalidParameter
from gbuq_core.jobs import Job
from gbuq_core.projects import Project, restore_project, score_project
from gbuq_core.tables import read_table, to_csv_bytes, to_parquet_bytes


class _Found(NamedTuple):
    project: Project
    frame: pd.DataFrame
    added: tuple[str, ...]
    notices: tuple[str, ...]


def score_by_project(options: argparse.Namespace) -> None:
    """Score the rows of NEW, or those that the project holds, and write them."""
    out, new = Path(options.out), options.train
    if options.new is not None:
        raise InvalidParameter(
            "With --project, the models are trained already: give one file at most, to be scored."
        )
    check_project(options, ["out"])
    check_out(out, inputs_of(options))
    began = time.perf_counter()

    def work(job: Job) -> _Found:
        project = opened(options)
        if new is None:
            again = restore_project(project)
            return _Found(project, again.frame, tuple(again.added.names), again.notices)
        rows = read_table(new, options=reading_of(options), to_score=True)
        check_formats(options, rows)
        found = score_project(project, rows)
        return _Found(project, found.frame, tuple(found.added.names), found.notices)

    with workers(options) as there:
        found: _Found = watched(work, shows_progress(options), there)
    as_bytes = to_parquet_bytes if out.suffix.lower() == ".parquet" else to_csv_bytes
    write_file(out, as_bytes(found.frame))
    seconds = time.perf_counter() - began
    if options.json:
        print_json(_record(found, options, seconds))
        return
    say_notes(found.notices, options)
    if not options.quiet and not is_standard_output(out):
        print(f"Wrote {len(found.frame):,} rows to {options.out} in {seconds:.1f} s.")


def _record(found: _Found, options: argparse.Namespace, seconds: float) -> dict[str, Any]:
    return {
        "out": options.out,
        "project": options.project,
        "rows": len(found.frame),
        "target": found.project.target.name,
        "task": found.project.target.task,
        "level": found.project.level,
        "conformal": found.project.conformal,
        "added_columns": found.added,
        "notices": found.notices,
        "seconds": seconds,
    }
