"""What the Scoreboard shows: which numbers of the board, in which picture, and whose question."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gbuq_core.experiments.scoreboard.board import Score, Table
from gbuq_core.experiments.scoreboard.choosing import PURPOSES
from gbuq_core.settings import setting

RANKS, BESIDE, APART, TIME = "Ranks", "Beside the paper", "Who differs", "Against time"
VIEWS = (RANKS, BESIDE, APART, TIME)


@dataclass(frozen=True, kw_only=True)
class BoardSettings:
    """The page's settings; without methods or sets, all count that have the score."""

    # Keys of the board. The page has knobs of its own for them, which offer what the table has.
    table: str = "ours"
    score: str = "crps"
    methods: tuple[str, ...] | None = None
    sets: tuple[str, ...] | None = None
    view: str = setting(RANKS, "Picture", choices=VIEWS, group="page")
    # Processor seconds of a split.
    budget: int = setting(
        0, "At equal time, at most", unit="s", group="page",
        choices=(0, 1, 3, 10, 30, 60, 120, 300, 600, 1800),
        help="Only methods compete that take no more processor seconds for a split. 0 sets no "
        "limit.",
    )  # fmt: skip
    # The three questions that lead to a method.
    task: str = setting(
        "regression", "What do you predict?", group="page",
        named={"a number": "regression", "a class": "classification"},
    )  # fmt: skip
    purpose: str = setting(
        "intervals", "What is the uncertainty for?", group="page",
        named={purpose.label: key for key, purpose in PURPOSES.items()},
    )  # fmt: skip
    rows: int = setting(
        1000, "How many rows do you have?", group="page",
        choices=(100, 300, 1000, 3000, 10_000, 30_000, 100_000),
    )  # fmt: skip


class Filtered(NamedTuple):
    """What settings leave of a table; ``slow`` methods take longer than the budget."""

    score: Score
    # `sets`, `methods`: keys
    sets: tuple[str, ...]
    methods: tuple[str, ...]
    slow: int


def filter_table(table: Table, settings: BoardSettings) -> Filtered:
    """The sets and methods that the settings name; without a choice, all with the metric."""
    score = table.find_score(settings.score)
    has = {(set_key, method) for set_key, method, each in table.published if each == score.key}
    has |= {(each.set, each.method) for each in table.results if score.key in each.scores}
    # What has no result at all yet may have the metric, too.
    done_sets = {each.set for each in table.results}
    done_methods = {each.method for each in table.results}
    of_sets, of_methods = {name for name, _ in has}, {key for _, key in has}
    tasks = {each.task for each in table.sets if each.key in of_sets}
    sets = settings.sets or tuple(
        each.key
        for each in table.sets
        if each.key in of_sets or (each.key not in done_sets and each.task in tasks)
    )
    methods = settings.methods or tuple(
        each.key for each in table.methods if each.key in of_methods or each.key not in done_methods
    )
    quick = tuple(key for key in methods if is_quick(table, sets, key, settings.budget))
    return Filtered(score, sets, quick, len(methods) - len(quick))


def is_quick(table: Table, sets: Sequence[str], method: str, budget: float) -> bool:
    """Whether a method keeps to the budget on each of the sets, as far as it was run on them."""
    seconds = [table.seconds(set_key, method) for set_key in sets]
    return not budget or all(each is None or each <= budget for each in seconds)


def scoreboard_code(settings: BoardSettings) -> str:
    """Code for the ranks and the numbers beside the paper's, without the app."""
    table, score = settings.table, settings.score
    methods, sets = settings.methods, settings.sets
    those_methods, those_sets = json.dumps(methods), json.dumps(sets)
    if methods is None:
        those_methods = f'[method.key for method in table.methods_with("{score}")]'
    if sets is None:
        those_sets = f'[each.key for each in table.sets_with("{score}")]'
    arguments = ", ".join(["table", f'"{score}"', "methods", *([] if sets is None else ["sets"])])
    return (
        "from gbuq_core.experiments.scoreboard.board import read_board\n"
        "from gbuq_core.experiments.scoreboard.ranking import rank_methods\n\n"
        f'table = read_board().table("{table}")\n'
        f"methods = {those_methods}\n"
        f"sets = {those_sets}\n"
        "for name in sets:\n"
        "    for method in methods:\n"
        f'        print(name, method, table.beside(name, method, "{score}"))  # ours / the '
        "paper's\n"
        f"print(rank_methods({arguments}).words)\n"
    )
