"""Numbers that differ from the paper's by more than two standard errors, and why."""

from __future__ import annotations

from typing import NamedTuple

from benchmarks.tables.board import Board, Finding, Place
from benchmarks.tables.comparing import BETTER, SAME, WORSE, Beside


class Difference(NamedTuple):
    """A number of ours that is better or worse than the paper's, and what explains it."""

    place: Place
    beside: Beside
    findings: tuple[Finding, ...]


class Agreement(NamedTuple):
    """How many numbers of a table are the same as the paper's, better and worse."""

    table: str
    same: int
    better: int
    worse: int

    @property
    def judged(self) -> int:
        """All numbers that have a paper's beside them."""
        return self.same + self.better + self.worse


def list_differences(board: Board, table: str | None = None) -> tuple[Difference, ...]:
    """What did not reproduce, worse ones first; then in the board's order.

    Parameters
    ----------
    board : Board
    table : str, optional
        Of all tables without it.

    Examples
    --------
    >>> from benchmarks.tables.board import read_board
    >>> {found.beside.word for found in list_differences(read_board())} <= {"better", "worse"}
    True
    """
    differences = []
    for each in board.tables if table is None else [board.table(table)]:
        for name, method, score in each.published:
            beside = each.beside(name, method, score)
            if beside is not None and beside.word in (BETTER, WORSE):
                place = Place(each.key, name, method, score)
                differences.append(Difference(place, beside, board.findings_on(place)))
    return tuple(sorted(differences, key=lambda each: each.beside.word != WORSE))


def count_agreement(board: Board) -> tuple[Agreement, ...]:
    """For each table how its numbers compare with the paper's."""
    agreements = []
    for table in board.tables:
        words = [getattr(table.beside(*where), "word", "") for where in table.published]
        counts = (words.count(each) for each in (SAME, BETTER, WORSE))
        agreements.append(Agreement(table.key, *counts))
    return tuple(agreements)
