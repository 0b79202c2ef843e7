"""`gbuq score`: give each row of a table a prediction and its uncertainties.

The reader, the trainer and the export are the app's.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gbuq_core import tables
from gbuq_core.commands.cluster_options import add_cluster, workers
from gbuq_core.commands.common_options import (
    add_common,
    check_json,
    say_notes,
    seconds_since,
    shows_progress,
)
from gbuq_core.commands.given_model import add_given, score_given
from gbuq_core.commands.json_output import print_json
from gbuq_core.commands.model_options import add_intervals, add_model, why_alone
from gbuq_core.commands.outputs import check_out, is_standard_output, write_rows
from gbuq_core.commands.project_options import add_project, check_inputs
from gbuq_core.commands.project_scores import score_by_project
from gbuq_core.commands.score_stream import check_in_memory, run_stream, streams
from gbuq_core.commands.score_words import (
    drift_record,
    model_lines,
    model_record,
    scores_line,
    scores_record,
)
from gbuq_core.commands.scored_table import add_unfamiliar, check_asked, score_as_asked
from gbuq_core.commands.table_options import add_reading, add_table, inputs_of
from gbuq_core.commands.watching import watched
from gbuq_core.errors import InvalidParameter
from gbuq_core.settings import add_options
from gbuq_core.tables.plan import MOST_NEXT, Cut
from gbuq_core.validation import check_number

if TYPE_CHECKING:
    import pandas as pd

    from gbuq_core.jobs import Job

_DESCRIPTION = """\
Train a model on TRAIN and write the rows with new columns: prediction with the ends of an interval
(lower_90 and upper_90), total_uncertainty, data_uncertainty and knowledge_uncertainty (variances of
the target and their roots _std, or nats for classes and the probability p_ of each class), and how
unfamiliar each row is: unfamiliarity (0 to 1; a tenth of ordinary rows is above 0.9), times_beyond
(how many times as far as the farthest ordinary row), novelty (MACAU's) and outside_columns (whose
values the training rows do not reach).

With NEW, a model of all rows of TRAIN scores the rows of NEW. Without NEW, the rows of TRAIN are
scored: up to 20,000 rows by five models, each row by the one that did not learn from it (column
fold). Above 20,000 rows, one model learns from four fifths, and those rows are marked in_training.
With --split group or time, groups stay together, or models learn from earlier rows only.

With --project, the models of a project score the rows of NEW, with the project's intervals. How
unfamiliar the rows are is measured if the project holds its table, or if TRAIN names that table
before NEW. A project that the page saved without a second file has models for the rows of its own
table: with NEW, a model for other rows is trained first.

With --model, nothing is trained: the file's own trees are used, and TRAIN is the table that they
were trained on. The columns ibug_std, nearest_rows (the training rows in the same leaves) and
novelty come from these trees.

With --sql and --url, the rows to learn from are those of a SELECT; the database is only read.

Files are CSV, TSV, other separated text (also .gz), Excel (.xlsx) or Parquet. With --stream, and
above 250 MB, NEW is scored block by block into OUT.parts, and the parts are then joined. If OUT is
a directory, its Parquet parts stay there. A run that was stopped goes on with --resume.
"""


def add_score(commands: Any) -> None:
    """The command `score`."""
    score = commands.add_parser(
        "score",
        help="give each row of a table a prediction and its uncertainties",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = score.add_argument
    add_table(add, needs_target=False)
    add("new", metavar="NEW", nargs="?", help="a second file to score")
    add_project(add, "a single file is then NEW, and no option of a fit applies")
    add(
        "--out",
        required=True,
        metavar="OUT",
        help="the file to write: Parquet if the name ends "
        "in .parquet, else CSV; - writes CSV to the standard output",
    )
    add_reading(add)
    add_given(add)
    add_model(add)
    add_options(add, Cut)
    add_intervals(add)
    add_unfamiliar(add)
    add(
        "--next",
        metavar="FILE",
        help="another file to write: the rows without a target whose "
        "labels are worth most, the first one first",
    )
    add(
        "--next-rows",
        type=int,
        default=50,
        metavar="N",
        help="of --next, at most; default: %(default)s",
    )
    add(
        "--stream",
        action="store_true",
        help="score NEW block by block, so that it may be larger "
        "than the memory; always above 250 MB or 30 million cells",
    )
    add(
        "--resume",
        action="store_true",
        help="go on with a streamed run that was stopped, by the same command",
    )
    add(
        "--train-rows",
        type=int,
        metavar="N",
        help="learn from a sample of so many rows of TRAIN "
        "that has the same share of each class, or of each twentieth of the target's values; "
        "default: all rows up to 30 million cells; with NEW",
    )
    add_cluster(add)
    add_common(add)
    score.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Score a table, write it, and say how good the model is."""
    check_json(options)
    check_inputs(options)
    if options.project is not None:
        check_in_memory(options, "a project's models score in memory")
        score_by_project(options)
        return
    if options.model is not None:
        check_in_memory(options, "a model that is given scores in memory")
        score_given(options)
        return
    check_asked(options)
    if streams(options):
        run_stream(options)
        return
    scored, warned = _score(options)
    if options.json:
        print_json(_record(scored, warned, options))
    elif not options.quiet:
        _report(scored, warned, options)


def _score(options: argparse.Namespace) -> tuple[tables.ScoredTable, list[str]]:
    """Read, train, score and write; also what makes the scores better than they will be."""
    out = Path(options.out)
    check_out(out, inputs_of(options))
    to_label = Path(options.next) if options.next else None
    if to_label is not None:
        if to_label.absolute() == out.absolute():
            raise InvalidParameter("--out and --next name the same file: choose another for one.")
        check_out(to_label, inputs_of(options))
        check_number("--next-rows", options.next_rows, 1, MOST_NEXT, integer=True)

    warned: list[str] = []
    next_rows: list[pd.DataFrame] = []

    def work(job: Job) -> tables.ScoredTable:
        scoring = score_as_asked(options)
        scored = scoring.scored
        warned.extend(scoring.warned)
        if to_label is not None:
            next_rows.append(tables.next_frame(scored, tables.rank_next(scored, options.next_rows)))
        return scored

    with workers(options) as there:
        scored: tables.ScoredTable = watched(work, shows_progress(options), there)
    write_rows(out, scored.frame)
    if to_label is not None:
        write_rows(to_label, next_rows[0])
    return scored, warned


def _record(
    scored: tables.ScoredTable, warned: Sequence[str], options: argparse.Namespace
) -> dict[str, Any]:
    """What was done, for a program to read."""
    second = scored.protocol == "new_file"
    drift = drift_record(tables.measure_drift(scored, scored.plan.seed)) if second else None
    if drift is not None and not tables.why_no_shift(scored):
        shift = scored.shift or tables.measure_shift(scored, scored.plan.seed)
        drift |= {
            "p_value": shift.p_value,
            "effective_rows": shift.n_effective if len(shift.rows) else None,
            "weighted": scored.shift is not None,
        }
    return {
        **model_record(scored),
        "out": options.out,
        "rows": len(scored.frame),
        "new_scores": scores_record(tables.written_scores(scored, second=True)),
        "drift": drift,
        "added_columns": scored.added.names,
        "warnings": list(warned),
        "notices": [*why_alone(options), *scored.notices, *tables.table_ends(scored)],
        "seconds": seconds_since(options),
    }


def _report(scored: tables.ScoredTable, warned: Sequence[str], options: argparse.Namespace) -> None:
    """Warnings and notices to stderr, scores to stdout unless the rows went there."""
    out = options.out
    say = partial(print, file=sys.stderr if is_standard_output(Path(out)) else sys.stdout)
    foreign = "" if scored.unfamiliarity is None else tables.foreign_notice(scored.unfamiliarity)
    say_notes(
        [*why_alone(options), *scored.notices], options, [*([foreign] if foreign else []), *warned]
    )
    for line in model_lines(scored, tables.why_no_coverage(scored)):
        say(line)
    for sentence in tables.table_ends(scored):
        say(sentence)
    new_scores = tables.written_scores(scored, second=True)
    if new_scores is not None:
        say(f"On the second file: {scores_line(new_scores)}")
    if scored.protocol == "new_file":
        say(f"Drift: {tables.describe_drift(tables.measure_drift(scored, scored.plan.seed))}")
        say(f"Exchangeability: {_shift_line(scored)}")
    say(f"Wrote {len(scored.frame):,} rows to {out} in {seconds_since(options):.1f} s.")


def _shift_line(scored: tables.ScoredTable) -> str:
    """Whether the second file's rows can be told from the first's, and what was done about it."""
    if why := tables.why_no_shift(scored):
        return why
    shift = scored.shift or tables.measure_shift(scored, scored.plan.seed)
    sentence = tables.describe_shift(shift)
    if scored.shift is not None:
        return f"{sentence} The intervals are weighted."
    return f"{sentence} --conformal-shift does that." if tables.can_weigh(shift) else sentence
