"""The options that several commands share, besides those of a table."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from gbuq_core.commands.outputs import is_standard_output
from gbuq_core.errors import InvalidParameter
from gbuq_core.settings import add_options
from gbuq_core.tables.plan import ScorePlan


def add_common(add: Callable[..., Any], *, trains: bool = True) -> None:
    """Options of every command that prints a result; ``trains`` adds those of a fit."""
    if trains:
        add_options(add, ScorePlan, "seed", "n_jobs")
    add(
        "--config",
        metavar="FILE",
        help="a TOML file whose table of this command's name holds "
        "options, such as trees = 300; options on the line win",
    )
    add(
        "--json",
        action="store_true",
        help="print the result as one JSON object to the standard "
        "output, and everything else to the standard error",
    )
    quiet = "no progress and no notices" if trains else "no notices"
    add("--quiet", action="store_true", help=quiet)


def shows_progress(options: argparse.Namespace) -> bool:
    """Whether somebody looks at the standard error, where progress is told."""
    return sys.stderr.isatty() and not options.quiet


def seconds_since(options: argparse.Namespace) -> float:
    """How long the whole command has taken so far, from its first option on."""
    return time.perf_counter() - float(options.began)


def check_json(options: argparse.Namespace) -> None:
    """Refuse two results on the standard output."""
    if options.json and options.out is not None and is_standard_output(Path(options.out)):
        raise InvalidParameter(
            "--json and --out both write to the standard output: name a file for --out."
        )


def say_notes(
    notices: Iterable[str], options: argparse.Namespace, warnings: Sequence[str] = ()
) -> None:
    """Warnings, and notices that are none, on the standard error: each once, one a line."""
    if not options.quiet:
        for warning in warnings:
            print(f"Warning: {warning}", file=sys.stderr)
        for notice in dict.fromkeys(notices):
            if notice not in warnings:
                print(f"Note: {notice}", file=sys.stderr)
