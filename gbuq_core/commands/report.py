"""`gbuq report`: a scored table as one HTML file, the one that the page "Your data" offers."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gbuq_core import lenses, tables
from gbuq_core.commands.common_options import add_common, check_json, say_notes, shows_progress
from gbuq_core.commands.json_output import print_json
from gbuq_core.commands.model_options import add_intervals, add_model
from gbuq_core.commands.outputs import check_out, is_standard_output, write_file
from gbuq_core.commands.project_options import add_project, check_inputs
from gbuq_core.commands.score_words import scores_record
from gbuq_core.commands.scored_table import (
    Scoring,
    add_unfamiliar,
    check_asked,
    recipe_of,
    score_as_asked,
)
from gbuq_core.commands.table_options import add_reading, add_table, inputs_of
from gbuq_core.commands.watching import watched
from gbuq_core.errors import InvalidParameter
from gbuq_core.presentation import shown
from gbuq_core.settings import add_options
from gbuq_core.tables.plan import Cut

if TYPE_CHECKING:
    from gbuq_core.jobs import Job

_DESCRIPTION = """\
Score a table as gbuq score does, and write the report that the page "Your data" offers: one HTML
file with the result in words, live pictures, scores, the rows to check first, where the model
fails, and the code that computes the same. It makes no request, and nothing that it shows of a file
can run. With --project, its models score the rows, and nothing is trained.
"""


def add_report(commands: Any) -> None:
    """The command `report`."""
    report = commands.add_parser(
        "report", help="write the report of a table as one HTML file", description=_DESCRIPTION
    )
    add = report.add_argument
    add_table(add, needs_target=False)
    add("new", metavar="NEW", nargs="?", help="a second file, whose rows are scored")
    add(
        "--out",
        required=True,
        metavar="OUT",
        help="the HTML file to write; - writes it to the standard output",
    )
    add(
        "--unit",
        choices=["std", "variance"],
        default="std",
        help="of the uncertainties of a regression; default: %(default)s",
    )
    add(
        "--fails-by",
        choices=["errors", "misses", "knowledge"],
        default="errors",
        help="look for groups of rows with large errors, missed intervals or much knowledge "
        "uncertainty; default: %(default)s",
    )
    add("--group", metavar="NAME", help="also judge each group of this column")
    add_reading(add)
    add_project(add, "TRAIN is then its table, which is not needed if it is in the project")
    add_model(add)
    add_options(add, Cut)
    add_intervals(add)
    add_unfamiliar(add)
    add_common(add)
    report.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Score the table and write its report."""
    check_json(options)
    out = Path(options.out)
    check_inputs(options)
    check_out(out, inputs_of(options))
    check_asked(options)

    def work(job: Job) -> tuple[Scoring, bytes]:
        scoring = score_as_asked(options)
        names = [column.name for column in scoring.scored.training.schema.columns]
        if options.group is not None and options.group not in names:
            raise InvalidParameter(f"There is no column {shown(options.group)}: check --group.")
        choices = lenses.reader_choices(
            unit=options.unit,
            by=lenses.MISSED if options.fails_by == "misses" else options.fails_by,
            within=100.0 * scoring.scored.level,
            conformal=scoring.scored.conformal,
            group=options.group or options.conformal_by,
            each=options.conformal_by is not None,
            weighted=options.conformal_shift,
        )
        code = _code(scoring, options)
        return scoring, lenses.table_report(scoring.scored, scoring.table, choices, code)

    scoring, content = watched(work, show=shows_progress(options))
    write_file(out, content)
    scored = scoring.scored
    if options.json:
        print_json(
            {
                "out": options.out,
                "bytes": len(content),
                "rows": len(scored.frame),
                "target": scored.training.target.name,
                "task": scored.training.target.task,
                "plan": vars(scored.plan),
                "scores": scores_record(tables.written_scores(scored)),
                "notices": scored.notices,
                "warnings": scoring.warned,
            }
        )
        return
    say_notes((*scoring.warned, *scored.notices), options)
    if not options.quiet and not is_standard_output(out):
        print(f"Wrote a report about {len(scored.frame):,} rows to {options.out}.")


def _code(scoring: Scoring, options: argparse.Namespace) -> str:
    """The Python and the command line that compute the same."""
    recipe = recipe_of(scoring, options)
    code, command = tables.table_code(recipe), tables.table_command(recipe)
    return f"{code}\n# The same from a terminal:\n# {command}\n"
