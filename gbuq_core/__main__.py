"""The command `gbuq`, also `python -m gbuq_core`: score a file or compare methods without the app.

The reader, the trainer and the export are the app's.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from gbuq_core.command_line import (
    BAD_INPUT,
    Parser,
    add_reading,
    check_out,
    check_split,
    edited_schema,
    read,
    reading_of,
    sort_inputs,
    watched,
    write_file,
)
from gbuq_core.errors import Cancelled, GbuqError, InvalidParameter
from gbuq_core.experiments.table.fit import Cut, cut_table
from gbuq_core.jobs import Job, stage
from gbuq_core.methods import METHODS
from gbuq_core.presentation import short
from gbuq_core.tables import (
    MethodComparison,
    RegressionScores,
    ScoredTable,
    ScorePlan,
    Scores,
    Table,
    add_unfamiliarity,
    compare_methods,
    describe_comparison,
    describe_drift,
    foreign_notice,
    measure_drift,
    measure_unfamiliarity,
    next_frame,
    rank_next,
    read_table,
    score_table,
    split_warnings,
    to_csv_bytes,
    to_parquet_bytes,
    why_no_coverage,
    with_intervals,
)
from gbuq_core.tables.comparing import MOST_METHODS, compared_methods, write_cell
from gbuq_core.tables.database import sqlite_path
from gbuq_core.tables.intervals import check_level
from gbuq_core.tables.next_rows import MOST_NEXT
from gbuq_core.tables.output import USUAL_LEVEL
from gbuq_core.tables.predicting import BOOSTED, CYCLICAL_METHODS, ENSEMBLES, table_methods
from gbuq_core.validation import check_number

INTERRUPTED = 130

# Options that other methods than boosted ensembles may have, by the argument of their class, and
# those that they never have.
_KNOBS = {
    "members": "n_members",
    "trees": "n_trees",
    "depth": "depth",
    "learning_rate": "learning_rate",
}
_OF_BOOSTED = (
    "ensemble", "engine", "truncation_step", "truncation_start", "cycle_length", "burn_in",
    "most_members", "stopping",
)  # fmt: skip


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

With --sql and --url, the rows to learn from are those of a SELECT; the database is only read.

Files are CSV, TSV, other separated text (also .gz), Excel (.xlsx) or Parquet.
"""

_COMPARE_DESCRIPTION = """\
Train up to four methods on TRAIN and print their scores on the same held-out rows, each with its
standard error, and which of them are not told apart: the 95 % interval of the difference on the
same rows contains 0. Rows are held out as by the command score. A method that fails is named, and
the others are compared without it.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0, 2 for bad input, 130 when interrupted."""
    options = _parser().parse_args(arguments)
    # Warnings of libraries are about our code, not about the user's file.
    warnings.simplefilter("ignore")
    try:
        if options.command == "compare":
            _compare(options)
            return 0
        scored, warned = _score(options)
    except GbuqError as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    except (KeyboardInterrupt, Cancelled):
        print("Stopped; nothing was written.", file=sys.stderr)
        return INTERRUPTED
    if not options.quiet:
        _report(scored, warned, options.out)
    return 0


def _parser() -> argparse.ArgumentParser:
    prog = "python -m gbuq_core" if __name__ == "__main__" else "gbuq"
    parser = Parser(prog=prog, description="Uncertainty in tree ensembles.")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=Parser)
    score = commands.add_parser(
        "score",
        help="give each row of a table a prediction and its uncertainties",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = score.add_argument
    _add_table(add)
    add("new", metavar="NEW", nargs="?", help="a second file to score")
    add(
        "--out",
        required=True,
        metavar="OUT",
        help="the file to write: Parquet if the name ends in .parquet, else CSV",
    )
    add_reading(add)
    plan = ScorePlan()
    add("--method", choices=table_methods(), default=plan.method, metavar="METHOD",
        help=f"for a regression: {', '.join(table_methods('regression'))}; for classes: "
        f"{', '.join(table_methods('classification'))}. csglb and cbsglb are cyclical: one model, "
        "whose cycles are the members; default: %(default)s")  # fmt: skip
    add("--ensemble", choices=list(ENSEMBLES), help="several models, or truncations of one model; "
        "default: automatic, five independent models of 300 trees where that is estimated at less "
        "than 15 s, else virtual")  # fmt: skip
    add("--members", type=int, metavar="N", help="of an independent ensemble; default: 5 if the "
        f"ensemble is automatic, else {plan.members}")  # fmt: skip
    add("--trees", type=int, metavar="N", help="a model; default: 300 for independent models of an "
        f"automatic ensemble, {plan.trees} for other boosted ensembles, else the method's "
        "own")  # fmt: skip
    add("--folds", type=int, metavar="N", help="into how many folds the rows are dealt; default: "
        f"{plan.n_folds}, or fewer where that makes independent models quick enough")  # fmt: skip
    add("--depth", type=int, metavar="N",
        help="of a tree; default: 6, or 4 with more than 200 features")  # fmt: skip
    add(
        "--learning-rate",
        type=float,
        metavar="X",
        help="default: 0.1, or 0.05 for cyclical methods",
    )
    add("--stopping", choices=["two_clocks", "none"], help="two_clocks: rows that a model has not "
        "seen choose how many trees its mean and its spread use; none: all trees, as in the "
        "papers; default: two_clocks")  # fmt: skip
    add("--engine", choices=["numba", "catboost"], default=plan.engine, help="default: %(default)s")
    add("--seed", type=int, default=plan.seed, metavar="N", help="default: %(default)s")
    add("--truncation-step", type=int, metavar="K", help="trees between two members of a virtual "
        "ensemble; a twentieth of the trees by default")  # fmt: skip
    add("--truncation-start", type=float, metavar="X",
        help="share of the trees before its first member; default: 0.5")  # fmt: skip
    add("--cycle-length", type=int, metavar="N",
        help="trees of a cycle of a cyclical method; a tenth of the trees by default")  # fmt: skip
    add("--burn-in", type=int, metavar="N",
        help="cycles of a cyclical method that give no member; default: 0")  # fmt: skip
    add("--most-members", type=int, metavar="N", help="members that count: the last truncations "
        "or cycles, or the first models; all by default")  # fmt: skip
    add("--level", type=float, default=USUAL_LEVEL, metavar="X", help="the share of rows that the "
        "intervals should hold; the columns are named after it; default: %(default)s")  # fmt: skip
    add("--conformal", action="store_true", help="intervals as wide as the held-out rows need; "
        "-inf and inf where there are too few rows; for a regression")  # fmt: skip
    add("--unfamiliarity", choices=["yes", "no"], default="yes", help="whether to measure how "
        "unfamiliar the rows are, which takes further fits; default: %(default)s")  # fmt: skip
    add("--next", metavar="FILE", help="another file to write: the rows without a target whose "
        "labels are worth most, the first one first")  # fmt: skip
    add("--next-rows", type=int, default=50, metavar="N", help="of --next, at most; default: "
        "%(default)s")  # fmt: skip
    add("--jobs", type=int, metavar="N", help="threads; all cores by default")
    add("--quiet", action="store_true", help="no progress, notices and scores")
    _add_compare(commands)
    return parser


def _add_table(add: Callable[..., Any]) -> None:
    """The arguments that name the table to learn from and its target."""
    add("train", metavar="TRAIN", nargs="?", help="the file to learn from; none with --sql")
    add("--target", required=True, metavar="NAME", help="the column to predict")


def _add_compare(commands: Any) -> None:
    """The command `compare`."""
    compare = commands.add_parser(
        "compare",
        help="compare up to four methods on the same rows of a table",
        description=_COMPARE_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = compare.add_argument
    _add_table(add)
    add("--methods", required=True, metavar="LIST",
        help=f"one to {MOST_METHODS}, with commas between them, of "
        f"{', '.join(method.key for method in compared_methods() if method.predicts)}")  # fmt: skip
    add("--reference", metavar="METHOD",
        help="what the others are compared with; default: the best in each score")  # fmt: skip
    add("--out", metavar="OUT", help="also write all numbers to this CSV file")
    add_reading(add)
    plan = ScorePlan()
    add("--trees", type=int, metavar="N", help="a model of boosted ensembles; other methods keep "
        "their own; default: 300 where gbuq score would train five independent models, else "
        f"{plan.trees}")  # fmt: skip
    add("--members", type=int, metavar="N", help="of an independent ensemble; default: 5 where "
        f"gbuq score would train independent models, else {plan.members}")  # fmt: skip
    add("--depth", type=int, metavar="N",
        help="of a boosted tree; default: 6, or 4 with more than 200 features")  # fmt: skip
    add("--learning-rate", type=float, metavar="X",
        help="of boosted ensembles; default: 0.1, or 0.05 for cyclical methods")  # fmt: skip
    add("--stopping", choices=["two_clocks", "none"], default="two_clocks",
        help="of boosted ensembles; default: %(default)s")  # fmt: skip
    add("--seed", type=int, default=plan.seed, metavar="N", help="default: %(default)s")
    add("--jobs", type=int, metavar="N", help="threads; all cores by default")
    add("--quiet", action="store_true", help="no progress and no notices")


def _compare(options: argparse.Namespace) -> None:
    """Read a table, compare methods on it, and print what came out."""
    out = None if options.out is None else Path(options.out)
    if options.sql and options.train:
        raise InvalidParameter("With --sql, compare takes no file: leave TRAIN out.")
    options.new = None
    sort_inputs(options)
    if out is not None:
        check_out(out, [options.train, options.sql and sqlite_path(options.url)])
    check_split(options)
    keys = [key.strip() for key in options.methods.split(",") if key.strip()]
    plan = ScorePlan(
        n_trees=options.trees,
        n_members=options.members,
        depth=options.depth,
        learning_rate=options.learning_rate,
        stopping=None if options.stopping == "none" else options.stopping,
        seed=options.seed,
        n_jobs=options.jobs,
        split=options.split,
        split_column=options.split_column,
        scale=options.scale,
    )

    def run(job: Job) -> tuple[Table, MethodComparison]:
        table = read(options)
        found = compare_methods(
            table, options.target, keys, task=options.task, schema=edited_schema(table, options),
            plan=plan, reference=options.reference,
        )  # fmt: skip
        return table, found

    table, found = watched(run, show=sys.stderr.isatty() and not options.quiet)
    if not options.quiet:
        for notice in table.notices:
            print(f"Note: {notice}", file=sys.stderr)
    if found.scores and out is not None:
        write_file(out, to_csv_bytes(found.frame()))
    _print_comparison(found)


def _print_comparison(found: MethodComparison) -> None:
    """The table of scores and what they say to stdout; methods that failed to stderr."""
    heads = [f"{s.label}{f' ({s.unit})' if s.unit else ''}" for s in found.scores]
    lines = [["Method", *heads, "Seconds"]]
    for method in found.methods:
        if method.error:
            print(method.error, file=sys.stderr)
            continue
        cells = [write_cell(found, method, score) for score in found.scores]
        lines.append([method.label, *cells, short(method.seconds, 2)])
    if found.n_rows:
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for line in lines:
            cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
            print("  ".join(cells).rstrip())
        print(f"{found.n_rows:,} held-out rows, the same for all; \u00b1 is one standard error "
              "over rows, brackets hold 95 % bands.")  # fmt: skip
    print("\n".join(describe_comparison(found)))


def _score(options: argparse.Namespace) -> tuple[ScoredTable, list[str]]:
    """Read, train, score and write; also what makes the scores better than they will be."""
    out = Path(options.out)
    sort_inputs(options)
    check_out(out, [options.train, options.new, options.sql and sqlite_path(options.url)])
    to_label = Path(options.next) if options.next else None
    if to_label is not None:
        if to_label.absolute() == out.absolute():
            raise InvalidParameter("--out and --next name the same file: choose another for one.")
        check_out(to_label, [options.train, options.new, options.sql and sqlite_path(options.url)])
        check_number("--next-rows", options.next_rows, 1, MOST_NEXT, integer=True)
    _check_method(options)
    check_split(options)
    check_level(options.level)
    plan = _plan_of(options)
    cut = Cut(
        options.truncation_step, options.truncation_start, options.most_members, options.burn_in
    )

    warned: list[str] = []
    asked: list[pd.DataFrame] = []

    def run(job: Job) -> ScoredTable:
        table = read(options)
        schema = edited_schema(table, options)
        new = None
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
                    warned.extend(split_warnings(table, scored.training))
                scored = with_intervals(scored, options.level, options.conformal)
            if measures:
                found = measure_unfamiliarity(
                    scored.training, scored.scored, plan.seed, plan.n_jobs
                )
                scored = add_unfamiliarity(scored, found)
        if to_label is not None:
            asked.append(next_frame(scored, rank_next(scored, options.next_rows)))
        return scored

    scored: ScoredTable = watched(run, show=sys.stderr.isatty() and not options.quiet)
    as_bytes = to_parquet_bytes if out.suffix.lower() == ".parquet" else to_csv_bytes
    write_file(out, as_bytes(scored.frame))
    if to_label is not None:
        as_bytes = to_parquet_bytes if to_label.suffix.lower() == ".parquet" else to_csv_bytes
        write_file(to_label, as_bytes(asked[0]))
    return scored, warned


def _plan_of(options: argparse.Namespace) -> ScorePlan:
    """How to train, by the options."""
    shared = {
        "method": options.method, "seed": options.seed, "n_jobs": options.jobs,
        "split": options.split, "split_column": options.split_column,
        "scale": options.scale,
        "n_folds": ScorePlan.n_folds if options.folds is None else options.folds,
    }  # fmt: skip
    if options.method not in BOOSTED:
        given = {name: getattr(options, option) for option, name in _KNOBS.items()}
        return ScorePlan(
            **shared, knobs=tuple((name, v) for name, v in given.items() if v is not None)
        )
    usual = ScorePlan()
    # Where truncations are chosen, they are the members.
    truncated = (options.truncation_step, options.truncation_start) != (None, None)
    is_open = options.method in CYCLICAL_METHODS or not truncated
    return ScorePlan(
        **shared,
        ensemble=options.ensemble or ("automatic" if is_open else "virtual"),
        cycle_length=options.cycle_length,
        engine=options.engine,
        n_members=options.members,
        n_trees=options.trees,
        depth=options.depth,
        learning_rate=options.learning_rate,
        stopping=None if options.stopping == "none" else usual.stopping,
    )


def _check_listed(options: argparse.Namespace) -> None:
    """Refuse options that a method which is no boosted ensemble does not have."""
    method = METHODS[options.method]
    has = {knob.key for knob in method.knobs}
    for option in (*_KNOBS, *_OF_BOOSTED):
        given = getattr(options, option) not in (None, "numba")
        if given and _KNOBS.get(option) not in has:
            name = "--" + option.replace("_", "-")
            raise InvalidParameter(
                f"{name} does not go with --method {method.key}, which has no such setting: leave "
                "it out."
            )
    if method.missing():
        raise InvalidParameter(method.missing())


def _check_method(options: argparse.Namespace) -> None:
    """Refuse options that say nothing about the method, before any work."""
    if options.method not in BOOSTED:
        _check_listed(options)
        return
    cyclical = options.method in CYCLICAL_METHODS
    others = ["--ensemble", "--truncation-step", "--truncation-start"]
    for option in others if cyclical else ["--cycle-length", "--burn-in"]:
        if getattr(options, option[2:].replace("-", "_")) is not None:
            reason = "whose members are the cycles of one model" if cyclical else "without cycles"
            raise InvalidParameter(
                f"{option} does not go with --method {options.method}, {reason}: leave it out."
            )
    if cyclical and options.engine == "catboost":
        raise InvalidParameter(
            "--engine catboost has no cyclical gradients: leave it out, or use another method than "
            f"{options.method}."
        )


def _report(scored: ScoredTable, warned: Sequence[str], out: str) -> None:
    """Warnings and notices to stderr, scores to stdout."""
    warning = "" if scored.unfamiliarity is None else foreign_notice(scored.unfamiliarity)
    if warning:
        print(f"Warning: {warning}", file=sys.stderr)
    for sentence in warned:
        print(f"Warning: {sentence}", file=sys.stderr)
    for notice in scored.notices:
        if notice in warned:
            continue
        print(f"Note: {notice}", file=sys.stderr)
    target = scored.training.target
    print(f"{target.task.capitalize()} of {target.name}. {target.reason}")
    missing = why_no_coverage(scored)
    print(f"On rows held out: {_scores_line(scored.scores, quotes_coverage=not missing)}")
    if missing and isinstance(scored.scores, RegressionScores):
        print(missing)
    if scored.new_scores is not None:
        print(f"On the second file: {_scores_line(scored.new_scores)}")
    if scored.protocol == "new_file":
        print(f"Drift: {describe_drift(measure_drift(scored, scored.plan.seed))}")
    print(f"Wrote {len(scored.frame):,} rows to {out} in {scored.seconds:.1f} s.")


def _scores_line(scores: Scores, quotes_coverage: bool = True) -> str:
    """The scores of some rows on one line."""
    if isinstance(scores, RegressionScores):
        pairs = zip(scores.coverage.levels, scores.coverage.observed, strict=True)
        covered = ", ".join(f"{level:.0%}: {share:.0%}" for level, share in pairs)
        parts = [
            f"NLL {short(scores.nll, 4)} nats",
            f"RMSE {short(scores.rmse, 4)} (mean only: {short(scores.baseline_rmse, 4)})",
            f"CRPS {short(scores.crps, 4)}",
            *([f"coverage {covered}"] if quotes_coverage else []),
        ]
    else:
        parts = [
            f"NLL {short(scores.nll, 4)} nats",
            f"error rate {scores.error_rate:.2%} (most frequent class: "
            f"{scores.baseline_error_rate:.2%})",
        ]
    ranks = scores.prr
    parts.append(f"PRR total {ranks.total:.0f}, data {ranks.data:.0f}, "
                 f"knowledge {ranks.knowledge:.0f} %")  # fmt: skip
    return f"{', '.join(parts)}; {scores.n_rows:,} rows."


if __name__ == "__main__":
    sys.exit(main())
