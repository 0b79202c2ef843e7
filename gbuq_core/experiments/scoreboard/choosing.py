"""The chooser: from a task, a number of rows and a purpose to a method, by the board alone.

The rule: take the sets whose number of rows is nearest, rank the methods that can do what is asked
by the purpose's score on them, and name the one with the lowest mean rank; the quicker one of two.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from gbuq_core.errors import InvalidData
from gbuq_core.experiments.scoreboard.board import Board, BoardMethod, BoardSet, Score, Table
from gbuq_core.experiments.scoreboard.comparing import WORSE, MeanError
from gbuq_core.experiments.scoreboard.pairing import gain_over, word_of_gain
from gbuq_core.experiments.scoreboard.ranking import Ranking, counting_sets, rank_methods
from gbuq_core.methods import METHODS
from gbuq_core.presentation import counted, short
from gbuq_core.validation import check_choice

TASKS = ("regression", "classification")
NEAR = 4.0  # sets with so many times more or fewer rows still count as near
RULE = (
    "The sets that count have at most four times more or fewer rows than yours; if none has, the "
    "nearest ones. Of the methods that can do what you ask for, the one with the lowest mean rank "
    "on them is named, and of two equal ones the quicker one."
)


class Purpose(NamedTuple):
    """What uncertainty is wanted for, and the scores that tell who does it well.

    scores : the one that most methods of a table have decides, an earlier one of two; needs : what
    a method must yield, of `gbuq_core.methods.YIELDS`.
    """

    key: str
    label: str
    scores: tuple[str, ...]
    needs: tuple[str, ...] = ()


PURPOSES: Mapping[str, Purpose] = {
    each.key: each
    for each in (
        Purpose("intervals", "intervals and probabilities", ("crps", "nll")),
        Purpose("errors", "ranking rows by their errors", ("prr_total",)),
        Purpose("foreign", "finding foreign rows", ("auroc_knowledge",)),
        Purpose("rows", "explaining by training rows", ("crps", "nll"), ("neighbours",)),
    )
}


class Line(NamedTuple):
    """A ranked method, its mean rank and mean on each set; seconds are means of `Table.seconds`."""

    method: BoardMethod
    mean_rank: float
    scores: tuple[MeanError, ...]
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A method and the lines of the board that say so.

    Attributes
    ----------
    method : BoardMethod or None
        None if the board cannot tell.
    table : str
        The key of the table that decides; "" without a method.
    score : Score or None
        What decides.
    sets : tuple of BoardSet
        On which it was measured.
    lines : tuple of Line
        All methods that were ranked, best first.
    as_good : tuple of BoardMethod
        Others that are worse on none of the sets, by two standard errors of paired differences.
    why : str
        The reason in a sentence, or why there is none.
    cautions : tuple of str
        What to bear in mind, a sentence each.
    """

    method: BoardMethod | None
    table: str
    score: Score | None
    sets: tuple[BoardSet, ...]
    lines: tuple[Line, ...]
    as_good: tuple[BoardMethod, ...]
    why: str
    cautions: tuple[str, ...]


def choose_method(board: Board, task: str, rows: int, purpose: str) -> Choice:
    """The method that the board speaks for.

    Parameters
    ----------
    board : Board
    task : {"regression", "classification"}
    rows : int
        Of the reader's table.
    purpose : str
        A key of `PURPOSES`.

    Raises
    ------
    InvalidParameter
        For another task or purpose.

    Examples
    --------
    >>> from gbuq_core.experiments.scoreboard.board import read_board
    >>> choose_method(read_board(), "classification", 500, "rows").why
    'No method of the board explains classes by training rows.'
    """
    check_choice("task", task, TASKS)
    check_choice("purpose", purpose, tuple(PURPOSES))
    wanted = PURPOSES[purpose]
    able = [
        record.key
        for record in METHODS.values()
        if task in record.builders and set(wanted.needs) <= set(record.yields_for(task))
    ]
    if not able:
        what = "classes" if task == "classification" else "numbers"
        return _nothing(f"No method of the board explains {what} by training rows.")
    places = []
    for score, table in product(wanted.scores, board.tables):
        if score in [each.key for each in table.scores]:
            near = [each.key for each in _nearest(table, score, task, rows)]
            methods = [
                each.key
                for each in table.methods_with(score)
                if each.record in able and any(table.values(key, each.key, score) for key in near)
            ]
            if methods:
                places.append((table, score, methods, near))
    if not places:
        return _nothing(
            f"The board has no {task} cell yet that tells about {wanted.label}: run the tables, or "
            "ask for something else."
        )
    # Of several tables the one where most methods compete, so that the best of few does not win.
    table, score, methods, near = max(places, key=lambda place: len(place[2]))
    try:
        ranking = rank_methods(table, score, methods, near)
    except InvalidData:
        return _nothing(
            f"No method has all sets near {counted(rows, 'row')} yet: run more of the tables."
        )
    return _chosen(table, ranking, rows, wanted)


def _nothing(why: str) -> Choice:
    return Choice(
        method=None, table="", score=None, sets=(), lines=(), as_good=(), why=why, cautions=()
    )


def _nearest(table: Table, score: str, task: str, rows: int) -> tuple[BoardSet, ...]:
    """The sets of a task with a similar number of rows, or the nearest ones."""
    counting, _ = counting_sets(table, score, table.methods_with(score))
    sets = [each for each in counting if each.task == task]
    if not sets:
        return ()
    gaps = [abs(math.log(each.rows / max(rows, 1))) for each in sets]
    limit = max(math.log(NEAR), min(gaps)) * (1.0 + 1e-12)  # at a factor of exactly four too
    return tuple(each for each, gap in zip(sets, gaps, strict=True) if gap <= limit)


def _chosen(table: Table, ranking: Ranking, rows: int, wanted: Purpose) -> Choice:
    lines = []
    for i, method in enumerate(ranking.methods):
        scores = [table.ours(entry.key, method.key, ranking.score.key) for entry in ranking.sets]
        seconds = [table.seconds(entry.key, method.key) or 0.0 for entry in ranking.sets]
        lines.append(
            Line(
                method,
                float(ranking.mean_ranks[i]),
                tuple(each for each in scores if each is not None),
                float(np.mean(seconds)),
            )
        )
    lines.sort(key=lambda line: (line.mean_rank, line.seconds))
    best = lines[0]
    as_good = tuple(
        line.method for line in lines[1:] if _as_good(table, ranking, line.method, best.method)
    )
    sets = ", ".join(each.label for each in ranking.sets)
    task = next(each.label for each in PURPOSES.values() if ranking.score.key in each.scores)
    why = (
        f"{best.method.label} does best at {task} among {counted(len(lines), 'method')} on {sets}: "
        f"its mean place is {short(best.mean_rank)}."
    )
    return Choice(
        method=best.method,
        table=table.key,
        score=ranking.score,
        sets=ranking.sets,
        lines=tuple(lines),
        as_good=as_good,
        why=why,
        cautions=_cautions(ranking, lines, rows),
    )


def _as_good(table: Table, ranking: Ranking, method: BoardMethod, best: BoardMethod) -> bool:
    """Whether a method is worse than the best on no set; single splits tell nothing."""
    score = ranking.score
    for entry in ranking.sets:
        gain = gain_over(
            table.values(entry.key, method.key, score.key),
            table.values(entry.key, best.key, score.key),
            bool(score.higher),
        )
        if gain is None or word_of_gain(gain) in (WORSE, ""):
            return False
    return True


def _cautions(ranking: Ranking, lines: Sequence[Line], rows: int) -> tuple[str, ...]:
    cautions = []
    sizes = [each.rows for each in ranking.sets]
    far = min(max(rows / size, size / rows) for size in sizes) if rows else math.inf
    if far > NEAR:
        few, many = min(sizes), max(sizes)
        span = counted(few, "row") if few == many else f"{few:,} to {many:,} rows"
        cautions.append(
            f"The nearest sets have {span}, and yours {counted(rows, 'row')}: compare methods on "
            "your own table too."
        )
    if len(ranking.sets) < 3:
        cautions.append(f"Only {counted(len(ranking.sets), 'set')} of the board can tell.")
    if len(lines) == 1:
        cautions.append("No other method of the board competes.")
    if any(not math.isfinite(score.error) for line in lines[:1] for score in line.scores):
        cautions.append("Some numbers come from one split and have no standard error.")
    return (*cautions, *ranking.left_out)
