"""The command `gbuq`, also `python -m gbuq_core`: score a file without the app.

The reader, the trainer and the export are the app's.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from gbuq_core.errors import Cancelled, GbuqError, InvalidParameter, TableError
from gbuq_core.experiments.table.fit import Cut, cut_table
from gbuq_core.jobs import Job, JobRunner, stage
from gbuq_core.methods import METHODS
from gbuq_core.presentation import short, shown
from gbuq_core.tables import (
    ReadOptions,
    RegressionScores,
    Schema,
    ScoredTable,
    ScorePlan,
    Scores,
    Table,
    add_unfamiliarity,
    describe_drift,
    edit_schema,
    foreign_notice,
    infer_schema,
    measure_drift,
    measure_unfamiliarity,
    read_query,
    read_table,
    score_table,
    split_warnings,
    to_csv_bytes,
    to_parquet_bytes,
    why_no_coverage,
    with_intervals,
)
from gbuq_core.tables.database import sqlite_path
from gbuq_core.tables.intervals import check_level
from gbuq_core.tables.output import USUAL_LEVEL
from gbuq_core.tables.predicting import BOOSTED, CYCLICAL_METHODS, table_methods
from gbuq_core.tables.scaling import SCALES
from gbuq_core.tables.splitting import SPLITS

BAD_INPUT = 2
INTERRUPTED = 130
_LOOK_SECONDS = 0.2  # between two looks at the progress

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

_DELIMITERS = {"\\t": "\t", "tab": "\t", "space": " "}

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


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are one sentence, like all others."""

    def error(self, message: str) -> NoReturn:
        sentence = message[:1].upper() + message[1:].rstrip(".")
        print(f"{sentence}; see --help.", file=sys.stderr)
        raise SystemExit(BAD_INPUT)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0, 2 for bad input, 130 when interrupted."""
    options = _parser().parse_args(arguments)
    # Warnings of libraries are about our code, not about the user's file.
    warnings.simplefilter("ignore")
    try:
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
    parser = _Parser(prog=prog, description="Uncertainty in tree ensembles.")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser)
    score = commands.add_parser(
        "score",
        help="give each row of a table a prediction and its uncertainties",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = score.add_argument
    add("train", metavar="TRAIN", nargs="?", help="the file to learn from; none with --sql")
    add("new", metavar="NEW", nargs="?", help="a second file to score")
    add("--target", required=True, metavar="NAME", help="the column to predict")
    add(
        "--out",
        required=True,
        metavar="OUT",
        help="the file to write: Parquet if the name ends in .parquet, else CSV",
    )
    add("--task", choices=["regression", "classification"], help="default: decided by the target")
    add(
        "--category",
        action="append",
        default=[],
        metavar="NAME",
        help="read this column as categories",
    )
    add("--drop", action="append", default=[], metavar="NAME", help="do not use this column")
    add(
        "--use",
        action="append",
        default=[],
        metavar="NAME",
        help="use this column, even if it would be left out",
    )
    add("--kind", action="append", default=[], metavar="NAME=KIND", help="read a column as "
        "numeric, category, date, identifier or text")  # fmt: skip
    add("--missing", action="append", default=[], metavar="NAME=VALUES",
        help="values that mean missing in a column, with commas between them")  # fmt: skip
    add(
        "--delimiter",
        help="between two cells of a text file, also tab or space; default: decided by the file",
    )
    add("--decimal", choices=[".", ","], help="the decimal mark; default: decided by the file")
    add("--encoding", help="such as utf-8 or cp1252; default: decided by the file")
    add("--header", choices=["yes", "no"], help="whether the first row names the columns")
    add(
        "--sql",
        metavar="QUERY",
        help="learn from the rows of this SELECT; a file given is then NEW",
    )
    add("--url", metavar="URL", help="of the database, as SQLAlchemy writes it, such as "
        "sqlite:///rows.db")  # fmt: skip
    add("--sheet", metavar="NAME", help="of an Excel file; default: the first one")
    plan = ScorePlan()
    add("--method", choices=table_methods(), default=plan.method, metavar="METHOD",
        help=f"for a regression: {', '.join(table_methods('regression'))}; for classes: "
        f"{', '.join(table_methods('classification'))}. csglb and cbsglb are cyclical: one model, "
        "whose cycles are the members; default: %(default)s")  # fmt: skip
    add("--ensemble", choices=["virtual", "independent"],
        help="truncations of one model, or several models; default: virtual")  # fmt: skip
    add("--members", type=int, metavar="N",
        help=f"of an independent ensemble; default: {plan.n_members}")  # fmt: skip
    add("--trees", type=int, metavar="N",
        help=f"a model; default: {plan.n_trees} for boosted ensembles, else the method's "
        "own")  # fmt: skip
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
    add("--split", choices=SPLITS, default=plan.split, help="how rows are held out: one by one, by "
        "groups that stay together, or in the order of time (each row is judged by a model of "
        "earlier rows); default: %(default)s")  # fmt: skip
    add("--split-column", metavar="NAME", help="what names the groups or the time; a column of "
        "groups is no feature unless --use names it")  # fmt: skip
    add("--level", type=float, default=USUAL_LEVEL, metavar="X", help="the share of rows that the "
        "intervals should hold; the columns are named after it; default: %(default)s")  # fmt: skip
    add("--conformal", action="store_true", help="intervals as wide as the held-out rows need; "
        "-inf and inf where there are too few rows; for a regression")  # fmt: skip
    add("--scale", choices=SCALES, default=plan.scale, help="on which a regression learns its "
        "target; log is for positive targets with a long tail; predictions and scores are in units "
        "of the target either way; default: %(default)s")  # fmt: skip
    add("--unfamiliarity", choices=["yes", "no"], default="yes", help="whether to measure how "
        "unfamiliar the rows are, which takes further fits; default: %(default)s")  # fmt: skip
    add("--jobs", type=int, metavar="N", help="threads; all cores by default")
    add("--quiet", action="store_true", help="no progress, notices and scores")
    return parser


def _score(options: argparse.Namespace) -> tuple[ScoredTable, list[str]]:
    """Read, train, score and write; also what makes the scores better than they will be."""
    out = Path(options.out)
    _sort_inputs(options)
    _check_out(out, [options.train, options.new, options.sql and sqlite_path(options.url)])
    delimiter = _DELIMITERS.get(options.delimiter, options.delimiter)
    header = None if options.header is None else options.header == "yes"
    reading = ReadOptions(delimiter, options.encoding, options.decimal, header, options.sheet)
    _check_method(options)
    _check_split(options)
    check_level(options.level)
    plan = _plan_of(options)
    cut = Cut(
        options.truncation_step, options.truncation_start, options.most_members, options.burn_in
    )

    warned: list[str] = []

    def run(job: Job) -> ScoredTable:
        if options.sql:
            table = read_query(options.sql, options.url)
        else:
            table = read_table(options.train, options=reading)
        schema = _edited(table, options)
        new = None
        if options.new is not None:
            new = read_table(options.new, options=reading, to_score=True)
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
            if not measures:
                return scored
            found = measure_unfamiliarity(scored.training, scored.scored, plan.seed, plan.n_jobs)
        return add_unfamiliarity(scored, found)

    scored = _watched(run, show=sys.stderr.isatty() and not options.quiet)
    as_bytes = to_parquet_bytes if out.suffix.lower() == ".parquet" else to_csv_bytes
    _write(out, as_bytes(scored.frame))
    return scored, warned


def _plan_of(options: argparse.Namespace) -> ScorePlan:
    """How to train, by the options."""
    shared = {
        "method": options.method, "seed": options.seed, "n_jobs": options.jobs,
        "split": options.split, "split_column": options.split_column,
        "scale": options.scale,
    }  # fmt: skip
    if options.method not in BOOSTED:
        given = {name: getattr(options, option) for option, name in _KNOBS.items()}
        return ScorePlan(
            **shared, knobs=tuple((name, v) for name, v in given.items() if v is not None)
        )
    usual = ScorePlan()
    return ScorePlan(
        **shared,
        ensemble=options.ensemble or "virtual",
        cycle_length=options.cycle_length,
        engine=options.engine,
        n_members=usual.n_members if options.members is None else options.members,
        n_trees=usual.n_trees if options.trees is None else options.trees,
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


def _check_split(options: argparse.Namespace) -> None:
    if options.split == "random" and options.split_column is not None:
        raise InvalidParameter("--split-column goes with --split group or --split time.")
    if options.split != "random" and options.split_column is None:
        raise InvalidParameter(f"--split {options.split} needs a column: give --split-column.")


def _edited(table: Table, options: argparse.Namespace) -> Schema:
    """What was concluded about the columns, with the user's corrections."""
    missing = dict(_given(table, text, "--missing") for text in options.missing)
    return edit_schema(
        table,
        infer_schema(table),
        kinds={
            **dict.fromkeys(options.category, "category"),
            **dict(_given(table, text, "--kind") for text in options.kind),
        },
        used={**dict.fromkeys(options.drop, False), **dict.fromkeys(options.use, True)},
        missing_values={
            name: [value.strip() for value in values.split(",") if value.strip()]
            for name, values in missing.items()
        },
    )


def _given(table: Table, text: str, option: str) -> tuple[str, str]:
    """NAME=VALUE taken apart; the names of columns may hold equals signs themselves."""
    names = [name for name in table.names if text.startswith(f"{name}=")]
    if not names:
        raise InvalidParameter(f"{option} must begin with the name of a column and =; got {text}.")
    name = max(names, key=len)
    return name, text[len(name) + 1 :]


def _sort_inputs(options: argparse.Namespace) -> None:
    """See to it that there is one table to learn from: a file or a query."""
    if bool(options.sql) != bool(options.url):
        raise InvalidParameter("--sql and --url go together: give both or none.")
    if options.sql:
        if options.new is not None:
            raise InvalidParameter(
                "With --sql, the rows to learn from come from the database: give one file at most, "
                "to be scored."
            )
        options.train, options.new = None, options.train
    elif options.train is None:
        raise InvalidParameter("There is no table to learn from: give TRAIN, or --sql and --url.")


def _check_out(out: Path, inputs: Sequence[str | Path | None]) -> None:
    """Refuse an output that cannot be written or that is one of the inputs, before any work."""
    if not out.parent.is_dir():
        raise InvalidParameter(f"There is no directory {out.parent}: create it or choose another.")
    try:
        out.lstat()
    except FileNotFoundError:
        pass  # the usual case
    except OSError as error:
        raise InvalidParameter(
            f"{shown(out.name)} cannot be written ({error.strerror}): choose another output."
        ) from None
    if out.is_dir():
        raise InvalidParameter(f"{out} is a directory: give the name of a file.")
    for name in inputs:
        if name is not None and _is_same_file(out, name):
            raise InvalidParameter(
                f"{out} is an input file and would be overwritten: choose another output."
            )
    if not os.access(out if out.exists() else out.parent, os.W_OK):
        raise InvalidParameter(f"{out} cannot be written: check its permissions.")


def _is_same_file(out: Path, name: str | Path) -> bool:
    try:
        return out.samefile(name)
    except OSError:  # one of them does not exist, or cannot; reading it will tell
        return False


def _watched(run: Any, show: bool) -> ScoredTable:
    """Run a job, with a line of progress if ``show``; Ctrl-C stops it between two kernel chunks."""
    job = JobRunner().want("command line", "score", run)
    try:
        while not job.wait(_LOOK_SECONDS):
            if show:
                print(f"\rTraining and scoring: {job.fraction:4.0%}", end="", file=sys.stderr)
    except KeyboardInterrupt:
        job.stop()
        job.wait(10)
        raise
    finally:
        if show:
            print("\r" + " " * 40 + "\r", end="", file=sys.stderr)
    scored: ScoredTable = job.result()
    return scored


def _write(out: Path, data: bytes) -> None:
    """Write a whole file or none."""
    try:
        # Not named after OUT, whose name may be as long as names can be.
        with tempfile.NamedTemporaryFile(dir=out.parent, prefix=".gbuq-", delete=False) as new:
            new.write(data)
        os.chmod(new.name, 0o666 & ~_umask())
        os.replace(new.name, out)
    except OSError as error:
        raise TableError(
            f"{out} cannot be written ({error.strerror}): choose another output."
        ) from None


def _umask() -> int:
    """The permissions that new files must not have; it can only be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


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
