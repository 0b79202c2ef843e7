"""`gbuq explain`: one row of a table, as the page "Your data" tells it."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from gbuq_core import lenses, tables
from gbuq_core.commands.common_options import add_common, say_notes, shows_progress
from gbuq_core.commands.given_model import add_given, explain_given
from gbuq_core.commands.json_output import print_json
from gbuq_core.commands.model_options import add_model
from gbuq_core.commands.project_options import add_project, check_inputs
from gbuq_core.commands.scored_table import Scoring, add_unfamiliar, check_asked, score_as_asked
from gbuq_core.commands.table_options import add_reading, add_table
from gbuq_core.commands.text_table import print_answers, print_columns, printable
from gbuq_core.commands.watching import watched
from gbuq_core.lenses.lens import ASKED
from gbuq_core.methods import PARTS
from gbuq_core.presentation import percent, short
from gbuq_core.settings import add_options
from gbuq_core.tables.plan import USUAL_LEVEL, Cut
from gbuq_core.validation import check_number

if TYPE_CHECKING:
    from gbuq_core.jobs import Job

_DESCRIPTION = """\
Score a table as gbuq score does, and explain one row: what it is predicted as and how sure that is,
what the members or the voices of the stacked law say, how much each column adds to its uncertainty,
where its values lie among the training rows, and how unfamiliar it is. With NEW, it is a row of the
second file.

With --project, its models score the rows, and nothing is trained: TRAIN is the project's table,
which is not needed if it is in the project.

With --model, nothing is trained: the training rows in the same leaves are listed, and how much each
column adds to the row's novelty. With --ask change, a change of the row is tried on the model.
"""


def add_explain(commands: Any) -> None:
    """The command `explain`."""
    explain = commands.add_parser(
        "explain", help="tell why one row is uncertain", description=_DESCRIPTION
    )
    add = explain.add_argument
    add_table(add, needs_target=False)
    add("new", metavar="NEW", nargs="?", help="a second file, whose row is explained")
    add(
        "--row",
        required=True,
        type=int,
        metavar="N",
        help="its number in the file: 1 is the "
        "first row below the header, and blank and skipped rows count",
    )
    add(
        "--by",
        choices=PARTS,
        default="total",
        help="which uncertainty orders the columns; default: %(default)s",
    )
    add(
        "--unit",
        choices=["std", "variance"],
        default="std",
        help="of the uncertainties of a "
        "regression; effects of columns are variances; default: %(default)s",
    )
    add(
        "--ask",
        choices=ASKED,
        action="append",
        default=[],
        help="what the page answers beside the open row: the law with the training rows in it, the "
        "training rows that share its leaves, a change that is enough "
        "for the model to be as sure as of half of the rows; may be given several times",
    )
    add_reading(add)
    add_project(add, "TRAIN is then its table, which is not needed if it is in the project")
    add_given(add)
    add_model(add)
    add_options(add, Cut)
    add_unfamiliar(add)
    add_common(add)
    explain.set_defaults(run=run, level=USUAL_LEVEL, conformal=False)


def run(options: argparse.Namespace) -> None:
    """Score the table and print what is known about the row."""
    check_number("--row", options.row, 1, integer=True)
    check_inputs(options)
    if options.model is not None:
        explain_given(options)
        return
    check_asked(options)

    def work(job: Job) -> tuple[Scoring, tables.RowExplanation, list[Any]]:
        scoring = score_as_asked(options)
        row = scoring.scored.scored.find_row(options.row)
        choices = lenses.reader_choices(rank=options.by, unit=options.unit)
        answers = lenses.row_answers(scoring.scored, scoring.table, choices, row, options.ask)
        return scoring, tables.explain_row(scoring.scored, row), answers

    scoring, explained, answers = watched(work, show=shows_progress(options))
    uncertainties = lenses.in_unit(scoring.scored, options.unit)
    if options.json:
        print_json(_record(scoring, explained, uncertainties, options) | {"answers": dict(answers)})
        return
    notices = [*map(str, scoring.scored.questions), *scoring.warned, *scoring.scored.notices]
    if math.isnan(getattr(explained.uncertainty, options.by)[0]):
        notices.append(
            f"This model tells no {options.by} uncertainty: the columns are in the order of total "
            "uncertainty."
        )
    say_notes(notices, options)
    _tell(scoring, explained, uncertainties, options)
    print_answers(answers)


def _words(
    scoring: Scoring, explained: tables.RowExplanation, uncertainties: lenses.RowUncertainties
) -> list[str]:
    """The row in sentences."""
    scored, row = scoring.scored, explained.row
    far = lenses.say_unfamiliarity(scored, row)
    sentences = [
        lenses.describe_row(scored, uncertainties, explained, row, far),
        lenses.say_law(scored, row),
        lenses.say_members(explained),
        lenses.say_parts(scored, row),
        lenses.say_width(explained),
    ]
    return [printable(sentence) for sentence in sentences if sentence]


def _tell(
    scoring: Scoring,
    explained: tables.RowExplanation,
    uncertainties: lenses.RowUncertainties,
    options: argparse.Namespace,
) -> None:
    """Sentences, and the columns that matter most."""
    line = _line(scoring, options.row)
    print(f"Row {options.row:,}" + (f" (line {line:,} of the file)" if line else ""))
    print("\n".join(_words(scoring, explained, uncertainties)))
    effects = lenses.by_size(explained.effects, options.by)
    unit = "nats" if explained.classes else "variance"
    kinds = [*PARTS, *([] if explained.classes else ["width"])]
    of_kinds = [f"{kind.capitalize()} ({unit})" for kind in PARTS] + ["Width"] * (len(kinds) - 3)
    head = ("Column", "Value", "Place", *of_kinds)
    lines = [
        (
            printable(effect.column),
            printable(effect.value),
            _place(effect),
            *(short(getattr(effect, kind), sign="+") for kind in kinds),
        )
        for effect in effects[: lenses.MOST_COLUMNS]
    ]
    print_columns([head, *lines])
    if len(effects) > lenses.MOST_COLUMNS:
        print(f"{lenses.MOST_COLUMNS} of {len(effects):,} columns are listed; --json has all.")
    if not options.quiet:
        print(tables.EFFECT_MEANING)


def _line(scoring: Scoring, row: int) -> int | None:
    """Where a text editor shows a row; None of a file without lines, and beside a project."""
    table = scoring.new or scoring.table
    if scoring.project is not None or not len(table.lines):
        return None
    return int(table.lines[table.row_numbers.searchsorted(row)])


def _place(effect: tables.ColumnEffect) -> str:
    """Where a value lies among the training rows."""
    note = lenses.feature_value(effect).note
    if note:
        return note
    if math.isfinite(effect.percentile):
        return f"above {percent(effect.percentile / 100.0, 0)} of the training rows"
    return f"as in {percent(effect.share / 100.0, 0)} of the training rows"


def _record(
    scoring: Scoring,
    explained: tables.RowExplanation,
    uncertainties: lenses.RowUncertainties,
    options: argparse.Namespace,
) -> dict[str, Any]:
    """What is known about the row, for a program to read."""
    scored, row = scoring.scored, explained.row
    target, truth = scored.training.target, scored.scored.y[row]
    known: Any = None if math.isnan(truth) else float(truth)
    if target.classes and known is not None:
        known = target.classes[int(known)]
    unfamiliarity = scored.unfamiliarity
    return {
        "row": options.row,
        "line": _line(scoring, options.row),
        "target": target.name,
        "task": target.task,
        "prediction": scored.frame["prediction"].iloc[row],
        "true_value": known,
        "uncertainty": {kind: float(getattr(explained.uncertainty, kind)[0]) for kind in PARTS},
        "unit": "nats" if target.classes else "variance",
        "members": {
            "mean": explained.member_loc,
            "std": explained.member_scale,
            "probabilities": explained.member_probabilities,
        },
        "law": None if tables.why_no_law(scored) else tables.row_law(scored, row),
        "classes": explained.classes,
        "usual": {kind: float(getattr(explained.usual, kind)[0]) for kind in PARTS},
        "width": explained.width,
        "usual_width": explained.usual_width,
        "effects": lenses.by_size(explained.effects, options.by),
        "unfamiliarity": None if unfamiliarity is None else float(unfamiliarity.rows.score[row]),
        "words": _words(scoring, explained, uncertainties),
        "plan": vars(scored.plan),
        "questions": [str(question) for question in scored.questions],
        "notices": scored.notices,
        "warnings": scoring.warned,
    }
