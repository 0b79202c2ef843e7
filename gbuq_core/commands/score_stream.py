"""`gbuq score` for files that do not fit into memory; see `gbuq_core.streaming`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gbuq_core import streaming, tables
from gbuq_core.commands.cluster_options import workers
from gbuq_core.commands.combinations import check_task
from gbuq_core.commands.common_options import say_notes, seconds_since, shows_progress
from gbuq_core.commands.json_output import print_json
from gbuq_core.commands.model_options import cut_of, plan_of
from gbuq_core.commands.outputs import check_out, is_standard_output
from gbuq_core.commands.score_words import drift_record, model_lines, model_record
from gbuq_core.commands.table_options import (
    STANDARD_INPUT,
    edited_schema,
    edits_of,
    inputs_of,
    reading_of,
    task_of,
)
from gbuq_core.commands.watching import watched
from gbuq_core.errors import InvalidParameter
from gbuq_core.presentation import counted, short

if TYPE_CHECKING:
    from gbuq_core.jobs import Job

# Options that decide the numbers, besides those of the plan and the columns' cells.
_SETTINGS = (
    "target", "task", "category", "drop", "use", "kind", "missing", "keep_words", "delimiter",
    "decimal", "encoding", "header", "skip_rows", "keep_rows", "train_rows",
    "sql",
)  # fmt: skip


def streams(options: argparse.Namespace) -> bool:
    """Whether a run is streamed: because it is asked for, or because a file is too large."""
    if options.new is None:
        check_in_memory(options, "the rows of TRAIN are scored out of fold, in memory")
        return False
    files = [name for name in (options.train, options.new) if name is not None]
    if STANDARD_INPUT in files:
        check_in_memory(options, "the standard input is read into memory")
        return False
    if not _asked(options) and not any(streaming.is_too_large(name) for name in files):
        return False
    if options.next:
        raise InvalidParameter("--next does not go with streaming: leave it out.")
    if is_standard_output(Path(options.out)):
        raise InvalidParameter("A streamed run writes parts first: name a file for --out.")
    return True


def check_in_memory(options: argparse.Namespace, why: str) -> None:
    """Refuse the options of a streamed run where nothing is streamed."""
    names = _asked(options)
    if names:
        raise InvalidParameter(f"--{names[0].replace('_', '-')} needs TRAIN and NEW: {why}.")


def _asked(options: argparse.Namespace) -> list[str]:
    return [name for name in ("stream", "resume", "train_rows") if getattr(options, name)]


def run_stream(options: argparse.Namespace) -> None:
    """Score NEW block by block, and say how good the model is."""
    out = Path(options.out)
    if not out.is_dir():
        check_out(out, inputs_of(options))

    def run(job: Job) -> streaming.StreamedScores:
        table = _training_table(options)
        schema = edited_schema(table, options)
        check_task(options, task_of(table, schema, options))
        return streaming.score_in_blocks(
            table,
            streaming.open_blocks(options.new, reading_of(options), to_score=True),
            out,
            options.target,
            task=options.task,
            schema=schema,
            plan=plan_of(options),
            cut=cut_of(options),
            level=options.level,
            conformal=options.conformal,
            unfamiliarity=options.unfamiliarity == "yes",
            resume=options.resume,
            settings={name: getattr(options, name) for name in _SETTINGS},
        )

    try:
        with workers(options) as there:
            scored: streaming.StreamedScores = watched(run, shows_progress(options), there)
    except KeyboardInterrupt:
        directory = streaming.places_of(out)[0]
        if not directory.is_dir():
            raise
        raise KeyboardInterrupt(
            f"Stopped; the finished parts are in {directory}: go on with --resume."
        ) from None
    if options.json:
        print_json(_record(scored, options))
    elif not options.quiet:
        _report(scored, options)


def _training_table(options: argparse.Namespace) -> tables.Table:
    """TRAIN, all of it or a sample."""
    from gbuq_core.tables.limits import MAX_CELLS

    if options.sql:
        if options.train_rows:
            raise InvalidParameter("--train-rows goes with a file: put a LIMIT into --sql.")
        return tables.read_query(options.sql, options.url)
    if options.train_rows is None and not streaming.is_too_large(options.train):
        return tables.read_table(options.train, options=reading_of(options))
    file = streaming.open_blocks(options.train, reading_of(options))
    n_rows = options.train_rows
    if n_rows is None:
        n_rows = min(streaming.count_rows(file), MAX_CELLS // len(file.names))
    edits = edits_of(file.names, options)
    return streaming.sample_table(
        file,
        options.target,
        n_rows,
        options.seed,
        dict(edits.missing_values).get(options.target, ()),
        options.target in edits.keep_words,
    )


def _record(scored: streaming.StreamedScores, options: argparse.Namespace) -> dict[str, Any]:
    """What was done, for a program to read."""
    base = scored.base
    error = "error_rate" if base.training.target.classes else "rmse"
    second = {"rows": scored.n_known, "nll": scored.nll, error: scored.error}
    return {
        **model_record(base),
        "out": options.out,
        "rows": scored.n_rows,
        "parts": scored.n_parts,
        "parts_kept": scored.n_kept,
        "training_rows": len(base.training.y),
        "new_scores": second if scored.n_known else None,
        "drift": drift_record(scored.drift),
        "added_columns": scored.columns,
        "rows_flagged": scored.n_flagged,
        "share_unfamiliar": scored.share_unfamiliar,
        "rows_outside": scored.n_outside,
        "notices": scored.notices,
        "warnings": scored.warnings,
        "seconds": seconds_since(options),
    }


def _report(scored: streaming.StreamedScores, options: argparse.Namespace) -> None:
    """Notices to stderr, scores to stdout."""
    say_notes(scored.notices, options, scored.warnings)
    print("\n".join(model_lines(scored.base, scored.no_coverage)))
    if scored.n_known:
        error = (
            f"error rate {scored.error:.2%}"
            if scored.base.training.target.classes
            else (f"RMSE {short(scored.error, 4)}")
        )
        print(
            f"On the second file: NLL {short(scored.nll, 4)} nats, {error}; "
            f"{counted(scored.n_known, 'row')}."
        )
    print(f"Drift: {tables.describe_drift(scored.drift)}")
    if scored.share_unfamiliar == scored.share_unfamiliar:  # measured
        print(
            f"Of the second file, {100 * scored.share_unfamiliar:.0f} % of the rows are unfamiliar "
            "(10 % would be by chance)."
        )
    if scored.n_kept:
        kept = f"{counted(scored.n_kept, 'part')} of {scored.n_parts:,}"
        say_notes([f"{kept} came from the run that was stopped."], options)
    where = (
        f"{counted(scored.n_parts, 'part')} in {options.out}" if scored.directory else (options.out)
    )
    print(f"Wrote {scored.n_rows:,} rows to {where} in {seconds_since(options):.1f} s.")
