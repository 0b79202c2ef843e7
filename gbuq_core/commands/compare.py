"""`gbuq compare`: train several methods on a table and print their scores on the same rows."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gbuq_core import tables
from gbuq_core.commands.cluster_options import add_cluster, workers
from gbuq_core.commands.common_options import add_common, check_json, say_notes, shows_progress
from gbuq_core.commands.json_output import print_json
from gbuq_core.commands.outputs import check_out, write_file
from gbuq_core.commands.score_words import question_records
from gbuq_core.commands.table_options import (
    add_reading,
    add_table,
    check_files,
    check_split,
    edited_schema,
    inputs_of,
    read,
    sort_inputs,
)
from gbuq_core.commands.text_table import print_columns
from gbuq_core.commands.watching import watched
from gbuq_core.errors import GbuqError, InvalidParameter
from gbuq_core.presentation import one_line, short, shown
from gbuq_core.settings import add_options, check_options, given_options
from gbuq_core.tables.plan import MOST_METHODS, ScorePlan, check_methods, compared_methods

if TYPE_CHECKING:
    from gbuq_core.jobs import Job

_DESCRIPTION = """\
Train up to four methods on TRAIN and print their scores on the same held-out rows, each with its
standard error, and which of them are not told apart: the 95 % interval of the difference on the
same rows contains 0. Rows are held out as by the command score. A method that fails is named, and
the others are compared without it. Trees, members, depth, learning rate and stopping are those of
boosted ensembles; other methods keep their own.
"""


def add_compare(commands: Any) -> None:
    """The command `compare`."""
    compare = commands.add_parser(
        "compare",
        help="compare up to four methods on the same rows of a table",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = compare.add_argument
    add_table(add)
    add(
        "--methods",
        required=True,
        metavar="LIST",
        help=f"one to {MOST_METHODS}, with commas between them, of "
        f"{', '.join(method.key for method in compared_methods() if method.predicts)}",
    )
    add(
        "--with",
        dest="peers",
        action="append",
        default=[],
        metavar="MODULE:OBJECT",
        help="also compare a model of another library, such as ngboost:NGBRegressor: an "
        "estimator, or a class or function of no arguments that makes one, which predicts "
        "quantiles, draws or a distribution. The module is imported, so its code runs; may be "
        "given several times, and no settings file can",
    )
    add(
        "--reference",
        metavar="METHOD",
        help="what the others are compared with; default: the best in each score",
    )
    add("--out", metavar="OUT", help="also write all numbers to this CSV file")
    add_reading(add)
    add_options(add, ScorePlan, "n_trees", "n_members", "depth", "learning_rate", "stopping")
    add_cluster(add)
    add_common(add)
    compare.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Read a table, compare methods on it, and print what came out."""
    check_json(options)
    out = None if options.out is None else Path(options.out)
    if options.sql and options.train:
        raise InvalidParameter("With --sql, compare takes no file: leave TRAIN out.")
    options.new = None
    sort_inputs(options)
    if out is not None:
        check_out(out, inputs_of(options))
    check_split(options)
    check_files(options)
    check_options(ScorePlan, vars(options))
    keys = [key.strip() for key in options.methods.split(",") if key.strip()]
    if options.peers and (options.scheduler or options.cluster):
        raise InvalidParameter("--with does not go with a cluster, whose workers lack the model.")
    with redirect_stdout(sys.stderr):  # code of others may print
        keys += [_declared(spec) for spec in options.peers]
    check_methods(keys)
    plan = ScorePlan(**given_options(ScorePlan, vars(options)))

    from gbuq_core.jobs import stage

    def run(job: Job) -> tuple[tables.Table, tables.MethodComparison, list[tables.SplitQuestion]]:
        table, _ = read(options)
        schema = edited_schema(table, options)
        with stage(1.0, span=0.9):
            comparison = tables.compare_methods(
                table,
                options.target,
                keys,
                task=options.task,
                schema=schema,
                plan=plan,
                reference=options.reference,
            )
        split = plan.split, plan.split_column
        training = tables.prepare_training(table, schema, options.target, options.task, *split)
        return table, comparison, tables.ask_about_split(table, training, plan)

    with workers(options) as there, redirect_stdout(sys.stderr):
        table, comparison, questions = watched(run, shows_progress(options), there)
    say_notes(table.notices, options)
    if comparison.scores and out is not None:
        write_file(out, tables.to_csv_bytes(comparison.frame()))
    if options.json:
        print_json({"questions": question_records(questions), **_record(comparison)})
    else:
        for question in questions:
            print(question)
        _print_comparison(comparison)


def _declared(spec: str) -> str:
    """Import what ``--with`` names, and let it stand among the methods; its key."""
    from gbuq_core.baselines import declare_peer

    module, _, name = spec.partition(":")
    if not (module and name):
        raise InvalidParameter(
            f"--with takes MODULE:OBJECT, such as ngboost:NGBRegressor; got {shown(spec)}."
        )
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())  # after all that is installed
    try:
        return declare_peer(spec, getattr(importlib.import_module(module), name)).key
    except GbuqError:
        raise
    except Exception as error:  # of code that is not ours
        why = one_line(str(error), 200)
        raise InvalidParameter(f"--with {spec} cannot be loaded ({why}).") from error


def _record(comparison: tables.MethodComparison) -> dict[str, Any]:
    """The comparison for a program to read."""
    scores = [
        {"key": score.key, "label": score.label, "unit": score.unit or "share"}
        for score in comparison.scores
    ]
    methods = [
        {
            "method": method.key,
            "label": method.label,
            "seconds": method.seconds,
            "error": method.error,
            "scores": method.scores,
            "differences": method.differences,
        }
        for method in comparison.methods
    ]
    return {
        "rows": comparison.n_rows,
        "scores": scores,
        "methods": methods,
        "best": comparison.best,
        "reference": comparison.reference,
        "words": tables.describe_comparison(comparison),
    }


def _print_comparison(comparison: tables.MethodComparison) -> None:
    """The table of scores and what they say to stdout; methods that failed to stderr."""
    from gbuq_core.tables.comparing import write_cell

    heads = [f"{s.label}{f' ({s.unit})' if s.unit else ''}" for s in comparison.scores]
    lines = [["Method", *heads, "Seconds"]]
    for method in comparison.methods:
        if method.error:
            print(method.error, file=sys.stderr)
            continue
        cells = [write_cell(comparison, method, score) for score in comparison.scores]
        lines.append([method.label, *cells, short(method.seconds, 2)])
    if comparison.n_rows:
        print_columns(lines)
        print(
            f"{comparison.n_rows:,} held-out rows, the same for all; \u00b1 is one standard "
            "error over rows, brackets hold 95 % bands."
        )
    print("\n".join(tables.describe_comparison(comparison)))
