"""Tables as text in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gbuq_core.lenses.report import RowAnswer


def print_columns(lines: Sequence[Sequence[str]]) -> None:
    """Print lines of cells, each column as wide as its widest cell.

    >>> print_columns([("Method", "RMSE"), ("SGLB", "0.5")])
    Method  RMSE
    SGLB    0.5
    """
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
        print("  ".join(cells).rstrip())


def printable(value: object) -> str:
    r"""A text from somebody's file on one line, with nothing that a terminal would run.

    >>> printable("red\x1b[31m")
    'red?[31m'
    """
    text = " ".join(str(value).split())
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def print_answers(answers: Sequence[tuple[str, RowAnswer]]) -> None:
    """Print what lenses say of a row, each below its question."""
    for _, (question, words, table) in answers:
        print("\n".join(map(printable, (question, *words))))
        if table:
            print_columns([tuple(map(printable, line)) for line in table])
