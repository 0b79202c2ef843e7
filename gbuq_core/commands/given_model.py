"""`--model FILE`: a model that exists already, in place of one that is trained."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gbuq_core import given_models, lenses, tables
from gbuq_core.commands.combinations import check_task
from gbuq_core.commands.common_options import say_notes, seconds_since, shows_progress
from gbuq_core.commands.json_output import print_json
from gbuq_core.commands.outputs import check_out, is_standard_output, write_rows
from gbuq_core.commands.score_words import scores_record
from gbuq_core.commands.table_options import edited_schema, inputs_of, read, task_of
from gbuq_core.commands.text_table import print_answers, print_columns, printable
from gbuq_core.commands.watching import watched
from gbuq_core.presentation import percent
from gbuq_core.tables.plan import check_level

if TYPE_CHECKING:
    from gbuq_core.jobs import Job


def add_given(add: Callable[..., Any]) -> None:
    """The options of a given model."""
    add(
        "--model",
        metavar="FILE",
        help="use this model instead of training one: CatBoost (cbm or "
        "JSON), LightGBM (text) or XGBoost (JSON or UBJ), trained on TRAIN",
    )
    add_loss(add)
    add(
        "--neighbors",
        type=int,
        metavar="K",
        help="with --model: how many training rows give IBUG's scale; chosen by default",
    )


def add_loss(add: Callable[..., Any]) -> None:
    """What a file of CatBoost may leave out."""
    add(
        "--loss",
        metavar="NAME",
        help="by which loss a given CatBoost model was trained, where "
        "its file does not say it, such as RMSE, Poisson or Logloss",
    )


def score_given(options: argparse.Namespace) -> None:
    """Score a table by a given model, write it, and say how good the model is."""
    out = Path(options.out)
    check_out(out, inputs_of(options))
    _, judged = watched(partial(judge, options), show=shows_progress(options))
    write_rows(out, judged.frame)
    if options.json:
        print_json(_record(judged, options))
    elif not options.quiet:
        _report(judged, options)


def explain_given(options: argparse.Namespace) -> None:
    """Tell where a given model's prediction for one row comes from."""

    def work(job: Job) -> tuple[tables.GivenTable, tables.GivenExplanation, list[Any]]:
        table, judged = judge(options, job)
        row = judged.scored.scored.find_row(options.row)
        choices = lenses.reader_choices()
        answers = lenses.row_answers(judged.scored, table, choices, row, options.ask)
        return judged, tables.explain_with_model(judged, row), answers

    judged, explained, answers = watched(work, show=shows_progress(options))
    numbers = judged.scored.training.row_numbers
    if options.json:
        print_json(
            {
                "row": options.row,
                "prediction": judged.frame["prediction"].iloc[explained.row],
                "neighbours": [
                    {
                        "row": int(numbers[near.row]),
                        "target": near.target,
                        "cells": dict(near.cells),
                    }
                    for near in explained.neighbours
                ],
                "novelty_shares": dict(explained.novelty_shares),
                "words": explained.sentences,
                "warnings": judged.warnings,
                "notices": judged.notices,
                "answers": dict(answers),
            }
        )
        return
    say_notes(judged.notices, options, judged.warnings)
    print("\n".join(printable(sentence) for sentence in explained.sentences))
    if explained.neighbours:
        names = [name for name, _ in explained.neighbours[0].cells]
        target = judged.scored.training.target.name
        head = ("Training row", target, *names)
        lines = [
            (f"{numbers[near.row]:,}", near.target, *(cell for _, cell in near.cells))
            for near in explained.neighbours
        ]
        print_columns([tuple(map(printable, line)) for line in (head, *lines)])
    if explained.novelty_shares:
        print_columns(
            [
                ("Column", "Share of the novelty"),
                *((printable(name), percent(share, 0)) for name, share in explained.novelty_shares),
            ]
        )
    print_answers(answers)


def judge(options: argparse.Namespace, job: Job) -> tuple[tables.Table, tables.GivenTable]:
    """A table, and its rows or those of a second file, judged by the model of ``--model``."""
    check_level(options.level)
    model = given_models.read_model(options.model, loss=options.loss)
    table, new = read(options)
    schema = edited_schema(table, options)
    check_task(options, task_of(table, schema, options))
    judged = tables.score_with_model(
        table,
        options.target,
        model,
        task=options.task,
        schema=schema,
        new=new,
        n_neighbors=options.neighbors,
        level=options.level,
    )
    return table, judged


def _record(judged: tables.GivenTable, options: argparse.Namespace) -> dict[str, Any]:
    """What was done, for a program to read."""
    scored, source = judged.scored, judged.matched.source
    return {
        "out": options.out,
        "rows": len(judged.frame),
        "target": scored.training.target.name,
        "task": scored.training.target.task,
        "model": {
            "library": judged.matched.model.library,
            "trees": source.n_trees,
            "columns": list(judged.matched.columns),
            "neighbors": judged.judge.n_neighbors_,
        },
        "scores_in_training": None if options.new else scores_record(scored.scores),
        "new_scores": scores_record(scored.new_scores),
        "added_columns": scored.added.names,
        "warnings": list(judged.warnings),
        "notices": list(judged.notices),
        "seconds": seconds_since(options),
    }


def _report(judged: tables.GivenTable, options: argparse.Namespace) -> None:
    """Warnings and notices to stderr, scores to stdout unless the rows went there."""
    to_rows = is_standard_output(Path(options.out))
    say = partial(print, file=sys.stderr if to_rows else sys.stdout)
    say_notes(judged.notices, options, judged.warnings)
    say(judged.matched.model.summary)
    if judged.scored.new_scores is not None or options.new is None:
        say(tables.describe_given(judged))
    say(f"Wrote {len(judged.frame):,} rows to {options.out} in {seconds_since(options):.1f} s.")
