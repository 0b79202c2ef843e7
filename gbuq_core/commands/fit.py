"""`gbuq fit`: train on a table once and write a project, which scores other rows later."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gbuq_core import projects, tables
from gbuq_core.commands.cluster_options import add_cluster, workers
from gbuq_core.commands.combinations import check_task
from gbuq_core.commands.common_options import (
    add_common,
    check_json,
    say_notes,
    seconds_since,
    shows_progress,
)
from gbuq_core.commands.json_output import print_json
from gbuq_core.commands.model_options import (
    add_intervals,
    add_model,
    check_method,
    plan_of,
    why_alone,
)
from gbuq_core.commands.outputs import check_out, is_standard_output, write_file
from gbuq_core.commands.table_options import (
    add_reading,
    add_table,
    check_files,
    check_split,
    edited_schema,
    edits_of,
    inputs_of,
    read,
    sort_inputs,
    task_of,
)
from gbuq_core.commands.text_table import printable
from gbuq_core.commands.watching import watched
from gbuq_core.errors import InvalidParameter
from gbuq_core.tables.plan import check_level

if TYPE_CHECKING:
    from gbuq_core.jobs import Job

_DESCRIPTION = """\
Train on TRAIN and write a project: the models, the columns with your corrections, and what the
intervals need. gbuq score NEW --project PROJECT then scores other rows without training, with the
same numbers as gbuq score TRAIN NEW. The project does not hold the rows unless --with-data is
given; with them, it can also tell how unfamiliar new rows are. Scores are measured on a fifth of
the rows that is held out.
"""


def add_fit(commands: Any) -> None:
    """The command `fit`."""
    fit = commands.add_parser(
        "fit", help="train on a table and keep the models in a file", description=_DESCRIPTION
    )
    add = fit.add_argument
    add_table(add)
    add("--out", required=True, metavar="PROJECT", help="the file to write, such as rows.gbuq")
    add("--with-data", action="store_true", help="keep the rows of TRAIN in the project")
    add_reading(add)
    add_model(add, deals_folds=False)
    add_intervals(add, by_group=False)
    add_cluster(add)
    add_common(add)
    fit.set_defaults(run=run, new=None)


def run(options: argparse.Namespace) -> None:
    """Train, write the project, and say what is in it."""
    check_json(options)
    out = Path(options.out)
    if options.sql and options.train:
        raise InvalidParameter("With --sql, fit takes no file: leave TRAIN out.")
    sort_inputs(options)
    check_out(out, inputs_of(options))
    check_split(options)
    check_method(options)
    check_files(options)
    check_level(options.level)
    plan = plan_of(options)

    def work(job: Job) -> tuple[tables.Table, projects.Project, bytes]:
        table, _ = read(options)
        check_task(options, task_of(table, edited_schema(table, options), options))
        project = projects.fit_project(
            table,
            options.target,
            task=options.task,
            edits=edits_of(table.names, options),
            plan=plan,
            level=options.level,
            conformal=options.conformal,
            with_data=options.with_data,
        )
        return table, project, projects.project_bytes(project)

    with workers(options) as there:
        table, project, content = watched(work, shows_progress(options), there)
    write_file(out, content)
    notices = (*why_alone(options), *table.notices, *project.notices)
    say_notes(notices, options)
    seconds = seconds_since(options)
    if options.json:
        print_json(_record(project, notices, options.out, len(content), seconds))
    elif not options.quiet and not is_standard_output(out):
        print("\n".join(map(printable, projects.describe_project(project))))
        print(f"Wrote {options.out} in {seconds:.1f} s.")


def _record(
    project: projects.Project, notices: Sequence[str], out: str, n_bytes: int, seconds: float
) -> dict[str, Any]:
    """What was done, for a program to read."""
    assert project.models is not None
    return {
        "out": out,
        "bytes": n_bytes,
        "rows": project.n_rows,
        "target": project.target.name,
        "task": project.target.task,
        "plan": vars(project.models.plan),
        "scores": project.models.scores,
        "notices": notices,
        "seconds": seconds,
    }
