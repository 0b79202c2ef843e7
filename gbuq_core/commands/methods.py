"""`gbuq methods`: the records of all methods."""

from __future__ import annotations

import argparse
from typing import Any

from gbuq_core.commands.common_options import add_common
from gbuq_core.commands.json_output import print_json
from gbuq_core.commands.text_table import print_columns
from gbuq_core.methods import METHODS, TASKS, Method
from gbuq_core.tables.plan import table_methods

_DESCRIPTION = """\
List the methods: the key that --method and --methods take, the tasks, the parts of uncertainty and
novelty that it tells in a regression, and whether gbuq score can use it.
"""


def add_methods(commands: Any) -> None:
    """The command `methods`."""
    methods = commands.add_parser(
        "methods", help="list the methods and what they tell", description=_DESCRIPTION
    )
    add = methods.add_argument
    add("--task", choices=TASKS, help="only the methods that can do it")
    add_common(add, trains=False)
    methods.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Print the records."""
    methods = [each for each in METHODS.values() if options.task in (None, *each.tasks)]
    if options.json:
        print_json({"methods": [_record(method) for method in methods]})
        return
    head = ("Method", "Name", "Tasks", "Tells", "gbuq score", "What it is")
    print_columns([head, *map(_line, methods)])
    if not options.quiet:
        for method in methods:
            if missing := method.missing():
                print(missing)


def _scores(method: Method) -> list[str]:
    """The tasks for which `gbuq score` takes it."""
    return [task for task in TASKS[:2] if method.key in table_methods(task)]


def _line(method: Method) -> tuple[str, ...]:
    return (
        method.key,
        method.label,
        ", ".join(method.tasks),
        ", ".join(method.yields),
        ", ".join(_scores(method)) or "no",
        method.about,
    )


def _record(method: Method) -> dict[str, Any]:
    knobs = [
        {"name": knob.key, "label": knob.label, "default": knob.default} for knob in method.knobs
    ]
    return {
        **{name: getattr(method, name) for name in _TOLD},
        "scores": _scores(method),
        "reads_gaps": not method.complete,
        "missing": method.missing(),
        "knobs": knobs,
    }


_TOLD = (
    "key",
    "label",
    "about",
    "paper",
    "section",
    "tasks",
    "yields",
    "classes_yield",
    "most_rows",
    "packages",
)
