"""Options that mean nothing beside others: each is refused before any work, in one sentence."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NamedTuple

from gbuq_core import tables
from gbuq_core.errors import InvalidParameter
from gbuq_core.settings import AUTOMATIC, option_names
from gbuq_core.tables.plan import BOOSTED, CYCLICAL_METHODS, STACKED, Cut, ScorePlan

READING = (
    "delimiter", "decimal", "encoding", "header", "sheet", "skip_rows", "keep_rows",
)  # fmt: skip
# The formats of `gbuq_core.tables.Source` for which they say something.
_FORMATS = {
    "delimiter": ("csv",),
    "decimal": ("csv",),
    "encoding": ("csv",),
    "header": ("csv", "excel"),
    "sheet": ("excel",),
    "skip_rows": ("csv", "excel"),
    "keep_rows": ("csv", "excel"),
}
_OF_NUMBERS = ("level", "unit")  # and --conformal and --scale, which the core refuses


class _Rule(NamedTuple):
    """Options, by the names of their values, when they mean nothing, and what to say then."""

    options: tuple[str, ...]
    holds: Callable[[Callable[[str], Any]], bool]
    reason: str


_WITH_TREES = {AUTOMATIC, STACKED, *BOOSTED}
_INDEPENDENT = _WITH_TREES - {*CYCLICAL_METHODS}


def _has_one_model(value: Callable[[str], Any]) -> bool:
    """Whether the members are parts of one model, for sure."""
    truncated = (value("truncation_step"), value("truncation_start")) != (None, None)
    by_method = value("method") in CYCLICAL_METHODS
    return by_method or value("ensemble") == "virtual" or truncated


def _compared(value: Callable[[str], Any]) -> set[str]:
    return {key.strip() for key in (value("methods") or "").split(",")}


_RULES = (
    _Rule(("next_rows",), lambda value: not value("next"), "goes with --next only"),
    _Rule(
        ("conformal_by",),
        lambda value: value("stream") or value("project") is not None,
        "does not go with --stream or --project, which calibrate all rows together",
    ),
    _Rule(
        ("conformal_shift",),
        lambda value: value("stream") or (value("project") and value("command") != "score"),
        "does not go with --stream, and with --project in score only",
    ),
    _Rule(
        ("conformal_shift",),
        lambda value: (value("new") is None and not value("project")) or value("conformal_by"),
        "goes with a second file only, and not with --conformal-by",
    ),
    _Rule(("trust",), lambda value: value("project") is None, "goes with --project only"),
    _Rule(
        ("neighbors", "loss"),
        lambda value: value("command") != "info" and value("model") is None,
        "goes with --model only",
    ),
    _Rule(
        (
            *option_names(ScorePlan),
            *option_names(Cut),
            "conformal",
            "conformal_by",
            "conformal_shift",
            "next",
            "scheduler",
            "cluster",
            "workers",
            "unfamiliarity",
            "by",
            "unit",
        ),
        lambda value: value("model") is not None,
        "does not go with --model, whose trees are used as they are",
    ),
    _Rule(
        ("truncation_step", "truncation_start"),
        lambda value: value("ensemble") == "independent" and value("method") in _WITH_TREES,
        "does not go with --ensemble independent, whose members are whole models",
    ),
    _Rule(
        ("members",),
        lambda value: value("method") in _WITH_TREES and _has_one_model(value),
        "does not go with an ensemble of one model, where --most-members says how many count",
    ),
    _Rule(
        ("folds",),
        lambda value: value("new") is not None,
        "does not go with a second file, beside which a fifth of the rows is held out",
    ),
    _Rule(
        ("folds",),
        lambda value: value("split") == "time",
        "does not go with --split time, where models learn from earlier rows",
    ),
    _Rule(
        READING,
        lambda value: bool(value("sql")) and value("train") is None,
        "does not go with --sql alone, which reads no file",
    ),
    _Rule(
        ("trees", "depth", "learning_rate", "stopping", "members"),
        lambda value: bool(value("methods")) and not _compared(value) & _WITH_TREES,
        "is for boosted ensembles, and --methods names none",
    ),
    _Rule(
        ("members",),
        lambda value: bool(value("methods")) and not _compared(value) & _INDEPENDENT,
        "is for independent models, and --methods names none that has them",
    ),
)


def check_combination(options: argparse.Namespace) -> None:
    """Refuse options that were typed, or are in a settings file, and mean nothing."""

    def value(name: str) -> Any:
        return getattr(options, name, None)

    for names, holds, reason in _RULES:
        for name in names:
            if name in options.typed and holds(value):
                _refuse(name, reason)


def check_formats(options: argparse.Namespace, *tables: tables.Table | None) -> None:
    """Refuse options of reading that no file has a use for, once the files are read."""
    formats = {table.source.format for table in tables if table is not None}
    for name, takes in _FORMATS.items():
        if name in options.typed and not formats & {*takes}:
            _refuse(name, f"is for {' and '.join(_NAMES[kind] for kind in takes)}")


_NAMES = {"csv": "text files", "excel": "Excel files"}


def check_task(options: argparse.Namespace, task: str) -> None:
    """Refuse options of a regression for classes, once the target is known."""
    if task == "classification":
        for name in _OF_NUMBERS:
            if name in options.typed:
                _refuse(name, "is for a regression, and the target holds classes")
        if getattr(options, "fails_by", None) == "misses":
            _refuse("fails_by=misses", "is for a regression, and the target holds classes")


def _refuse(name: str, reason: str) -> None:
    raise InvalidParameter(f"--{name.replace('_', '-')} {reason}: leave it out.")
