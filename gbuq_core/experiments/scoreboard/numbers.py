"""Numbers of the board beside the paper's: as lines of a table, as a file, and in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from gbuq_core.experiments.scoreboard.board import BoardMethod, BoardSet, Score, Table
from gbuq_core.experiments.scoreboard.commands import command_of
from gbuq_core.experiments.scoreboard.own import OWN_SET
from gbuq_core.experiments.scoreboard.ranking import Ranking
from gbuq_core.presentation import csv_text, digits, short

_SAID = {"same": "the same", "": "not compared"}


class BoardNumber(NamedTuple):
    """One number of ours and of the paper, with standard errors; NaN where there is none."""

    set: BoardSet
    method: BoardMethod
    ours: float
    error: float
    theirs: float
    their_error: float
    word: str = ""  # "better", "worse" or "same"; empty where nothing is said
    splits: int = 0
    seconds: float = math.nan  # the median split's, of one core

    @property
    def verdict(self) -> str:
        """What ours is."""
        if math.isnan(self.ours):
            return "not computed yet"
        return "the paper has none" if math.isnan(self.theirs) else _SAID.get(self.word, self.word)


def find_number(table: Table, set_key: str, method: str, score: str) -> BoardNumber:
    """What the board and the paper have of a cell."""
    ours, theirs = table.ours(set_key, method, score), table.published.get((set_key, method, score))
    beside, seconds = table.beside(set_key, method, score), table.seconds(set_key, method)
    return BoardNumber(
        table.find_set(set_key),
        table.find_method(method),
        math.nan if ours is None else ours.mean,
        math.nan if ours is None else ours.error,
        math.nan if theirs is None else theirs.value,
        math.nan if theirs is None or theirs.error is None else theirs.error,
        "" if beside is None else beside.word,
        len(table.values(set_key, method, score)),
        math.nan if seconds is None else seconds,
    )


def numbers_csv(numbers: Sequence[BoardNumber], table: Table, score: Score) -> str:
    """The numbers as a file; each has the command that makes it."""
    head = ("table", "set", "method", "metric", "ours", "standard_error", "paper",
            "paper_standard_error", "ours_is", "splits", "seconds", "command")  # fmt: skip
    rows = [
        (table.key, each.set.label, each.method.label, score.label, each.ours, each.error,
         each.theirs, each.their_error, each.verdict, each.splits, each.seconds,
         command_for(table, each))
        for each in numbers
    ]  # fmt: skip
    return csv_text(head, rows)


def command_for(table: Table, number: BoardNumber) -> str:
    """The command of a cell; none makes the numbers of the session's own table."""
    return "" if number.set.key == OWN_SET else command_of(table, number.set.key, number.method.key)


def number_rows(numbers: Sequence[BoardNumber]) -> list[tuple[str, ...]]:
    """The numbers as a table; headings first."""
    head = ("Set", "Method", "Ours", "Paper", "Ours is", "Seconds")
    return [
        head,
        *(
            (number.set.label, number.method.label, with_error(number.ours, number.error),
             with_error(number.theirs, number.their_error), number.verdict, digits(number.seconds))
            for number in numbers
        ),
    ]  # fmt: skip


def cell_rows(table: Table, set_key: str, method: str) -> list[tuple[str, ...]]:
    """All scores of a cell: ours, the paper's, and which is better; headings first."""
    rows: list[tuple[str, ...]] = [("Metric", "Ours", "Paper", "Ours is")]
    for score in table.scores:
        number = find_number(table, set_key, method, score.key)
        if not (math.isnan(number.ours) and math.isnan(number.theirs)):
            ours = with_error(number.ours, number.error)
            theirs = with_error(number.theirs, number.their_error)
            rows.append((score.label, ours, theirs, number.verdict))
    return rows


def describe_numbers(numbers: Sequence[BoardNumber], score: str) -> str:
    """The numbers of one set in a sentence."""
    parts = []
    for number in numbers:
        ours = "not computed yet" if math.isnan(number.ours) else short(number.ours)
        theirs = "" if math.isnan(number.theirs) else f", paper {short(number.theirs)}"
        word = f" ({number.word})" if number.word else ""
        parts.append(f"{number.method.label} {ours}{theirs}{word}")
    return f"{score} on {numbers[0].set.label}: {'; '.join(parts)}."


def with_error(value: float, error: float) -> str:
    """A number with its standard error.

    >>> with_error(0.5, 0.0123), with_error(0.5, float("nan"))
    ('0.500 ± 0.012', '0.500')
    """
    return digits(value) if math.isnan(error) else f"{digits(value)} \u00b1 {digits(error, 2)}"


def describe_groups(ranking: Ranking) -> str:
    """Which methods a critical-difference diagram does not tell apart."""
    labels = {method.key: method.label for method in ranking.methods}
    sentences = [ranking.words]
    for group in ranking.groups:
        sentences.append(f"Not told apart: {few_names([labels[key] for key in group])}.")
    if not ranking.groups and len(ranking.methods) > 1:
        sentences.append("Every method is told apart from the next one.")
    return " ".join(sentences)


def few_names(labels: Sequence[str], most: int = 6) -> str:
    """Labels, which may hold commas, for a sentence: the first so many, and how many more.

    >>> few_names(list("ab")), few_names(list("abcd"), 2), few_names([])
    ('a and b', 'a; b and 2 more', '')
    """
    if len(labels) > most:
        return f"{'; '.join(labels[:most])} and {len(labels) - most} more"
    return " and ".join(filter(None, ["; ".join(labels[:-1]), *labels[-1:]]))
