"""Which mark stands before decimals: in a file, in a column, in the same column of a second file.

Some cells can be read in one way only: 12.5 has a decimal point, 1.234.567 and 12,5 have a decimal
comma. These decide. 20.932 is a small number with a point or a large one with a comma.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from gbuq_core.presentation import shown
from gbuq_core.tables.columns import Column
from gbuq_core.tables.written_numbers import cores, number_pattern, read_numbers

OTHER = {".": ",", ",": "."}
NAMES = {".": "point", ",": "comma"}
# Computers leave out zeros at the end, so one number in ten with three decimals shows fewer. Where
# fewer do, the few are slips, and the others may be whole numbers in groups of three digits.
_FEWEST_DECISIVE = 0.05
_FEWEST_GROUPED = 10
_MOST_AGAINST = 0.5  # of the cells with a mark, in a second file
_LOOKED_AT = 1000  # cells, which decide if they leave no doubt
_EITHER = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")


class FileMark(NamedTuple):
    """The decimal mark of a file, and why it is that one."""

    decimal: str = "."
    basis: str = "shown"  # by cells, "given" by the user, or "assumed" where no cell shows it


class ChosenMark(NamedTuple):
    """The decimal mark of a column, and a sentence where its cells leave it open."""

    decimal: str
    doubt: str = ""


class _Counts(NamedTuple):
    """How many cells only a point or only a comma allows, and how many either does."""

    point: int
    comma: int
    with_point: int  # open cells, by their mark
    with_comma: int
    groups: bool  # whether most cells show groups, as 1.234.567 and 1.234,5 do
    example: str  # an open cell

    @property
    def n_marked(self) -> int:
        """All numbers with a mark."""
        return self.point + self.comma + self.with_point + self.with_comma

    @property
    def n_decisive(self) -> int:
        """The cells that only the more frequent mark allows."""
        return max(self.point, self.comma)

    @property
    def n_open(self) -> int:
        """The cells that this mark alone makes a thousand times smaller, or larger."""
        own, other = self.with_comma, self.with_point
        if self.point > self.comma:
            own, other = other, own
        return own if self.groups else own + other

    @property
    def are_few(self) -> bool:
        """Whether fewer cells are decisive than open."""
        return self.n_decisive < self.n_open

    def decided(self) -> str:
        """The mark that most decisive cells have, or nothing where too few are decisive."""
        enough = self.n_decisive >= _FEWEST_DECISIVE * (self.n_decisive + self.n_open)
        if self.point == self.comma or not enough:
            return ""
        return "." if self.point > self.comma else ","


def find_file_mark(columns: list[list[str]], delimiter: str) -> FileMark:
    """The mark of most decisive cells; else a comma where open cells have one."""
    votes = {".": 0, ",": 0}
    n_commas = n_points = 0
    for cells in columns:
        counts = _count(pa.array([cell.strip() for cell in cells], pa.string()))
        mark = counts.decided()
        # Between commas, few decimal commas may be slips.
        if mark and not (mark == delimiter and counts.are_few):
            votes[mark] += counts.n_decisive
        n_points += counts.with_point
        n_commas += counts.with_comma
    if votes["."] != votes[","]:
        return FileMark(max(votes, key=lambda mark: votes[mark]), "shown")
    comma = n_commas > n_points and delimiter != ","
    return FileMark("," if comma else ".", "assumed")


def choose_mark(name: str, text: Any, of_file: FileMark) -> ChosenMark:
    """The decimal mark of a column of trimmed text.

    A given mark stands. Else the majority of the decisive cells decides, and where too few are
    decisive, the file does: few cells against the file's mark must be one number in twenty. Where
    nothing in the file shows it either, a column whose numbers without a mark are all below 1,000
    is read in groups of three digits.
    """
    if of_file.basis == "given":
        return ChosenMark(of_file.decimal)
    for cells in (spread(text, _LOOKED_AT), text):
        counts = _count(cells)
        mark = counts.decided()
        if mark and (mark == of_file.decimal or not counts.are_few):
            return ChosenMark(mark)
    if mark:
        n_known = len(text) - text.null_count
        stands = counts.n_decisive >= _FEWEST_DECISIVE * n_known
        mark = mark if stands else of_file.decimal
        return ChosenMark(mark, _doubt(name, counts, mark))
    n_open = counts.with_point + counts.with_comma
    if not n_open:
        return ChosenMark(of_file.decimal)
    held = "." if counts.with_point > counts.with_comma else ","
    grouped = _looks_grouped(text)
    mark = of_file.decimal
    if grouped and of_file.basis == "assumed":
        mark = OTHER[held]
    # Computers write a decimal point, so a point in a file with decimal commas may be one.
    mixed = mark == "," and held == "."
    if of_file.basis == "assumed" or mixed or (grouped and mark == held):
        return ChosenMark(mark, _doubt(name, counts, mark))
    return ChosenMark(mark)


def choose_mark_like(column: Column, text: Any, of_file: FileMark) -> ChosenMark:
    """The first file's mark for a second one's column, unless given or contradicted."""
    own = column.decimal
    if of_file.basis == "given":
        return ChosenMark(of_file.decimal)
    n_against = count_against(text, read_numbers(text, own, column.units).unreadable, own)
    if n_against and is_contradicted(n_against, count_marked(text)):
        return ChosenMark(OTHER[own], sentence_of_other(column.name, own))
    return ChosenMark(own, like_sentence(column, text, of_file))


def count_against(text: Any, unreadable: NDArray[np.bool_], own: str) -> int:
    """How many of the unreadable cells are numbers with another mark than ``own``."""
    if not unreadable.any():
        return 0
    marked = _marked(text.filter(pa.array(unreadable)))
    return int((_matches(marked, OTHER[own]) & ~_matches(marked, own)).sum())


def count_marked(text: Any) -> int:
    """How many cells are numbers with a point or a comma."""
    return _count(text).n_marked


def is_contradicted(n_against: int, n_marked: int) -> bool:
    """Whether so many numbers are against the first file's mark that the second has another."""
    return n_against > _MOST_AGAINST * n_marked


def like_sentence(column: Column, text: Any, of_file: FileMark) -> str:
    """What to say where a second file's column alone is read otherwise, or leaves its mark open."""
    alone, own = choose_mark(column.name, text, of_file), column.decimal
    if alone.decimal == own:
        marked = any(mark in cell for cell in column.examples for mark in NAMES)
        return "" if marked else alone.doubt
    example = _count(text).example
    if not example:
        return ""
    return (
        f"The numbers of the column {shown(column.name)} are read as in the first file: {example} "
        f"is {_value(example, own)}."
    )


def sentence_of_other(name: str, own: str) -> str:
    """What to say of a column whose mark is another one than that of the first file."""
    return (
        f"The column {shown(name)} has a decimal {NAMES[OTHER[own]]} and not a {NAMES[own]} as in "
        "the first file, and is read so."
    )


def spread(text: Any, n_cells: int) -> Any:
    """At least so many cells from all over a column, without missing ones."""
    known = text.drop_null()
    step = max(1, len(known) // n_cells)
    return known.take(np.arange(0, len(known), step))


def _doubt(name: str, counts: _Counts, mark: str) -> str:
    other, example = OTHER[mark], counts.example
    column = f"the column {shown(name)}"
    shows = f"Few cells of {column} show" if counts.decided() else f"T{column[1:]} does not show"
    return (
        f"{shows} whether its numbers have a decimal point or a decimal comma. {example} was read "
        f"as {_value(example, mark)}; it would be {_value(example, other)} with Decimal mark "
        f"{NAMES[other]} (--decimal {other})."
    )


def _value(cell: str, mark: str) -> str:
    return f"{read_numbers(pa.array([cell]), mark).values[0]:.15g}"


def _marked(text: Any) -> Any:
    """The numbers with a point or a comma, without their units."""
    either = pc.or_(pc.match_substring(text, "."), pc.match_substring(text, ","))
    return cores(text.filter(either)).drop_null()


def _matches(text: Any, mark: str) -> NDArray[np.bool_]:
    """Which texts are numbers with this decimal mark."""
    matches = pc.match_substring_regex(text, number_pattern(mark))
    return np.asarray(matches.to_numpy(zero_copy_only=False), dtype=bool)


def _count_plain(text: Any) -> _Counts | None:
    """Of few numbers that are written as programs do; None of others, which take patterns."""
    if len(text) > 2 * _LOOKED_AT or pc.any(pc.match_substring(text, ",")).as_py():
        return None
    try:
        pc.cast(text, pa.float64())
    except pa.ArrowInvalid:
        return None
    marked = [cell for cell in text.to_pylist() if cell and "." in cell]
    either = [cell for cell in marked if _EITHER.fullmatch(cell)]
    return _Counts(len(marked) - len(either), 0, len(either), 0, False, "".join(either[:1]))


def _count(text: Any) -> _Counts:
    """Of the numbers with a mark in trimmed text."""
    counts = _count_plain(text)
    if counts is not None:
        return counts
    text = _marked(text)
    if not len(text):
        return _Counts(0, 0, 0, 0, False, "")
    point, comma = _matches(text, "."), _matches(text, ",")
    either = point & comma
    has_point, has_comma = (
        pc.match_substring(text, mark).to_numpy(zero_copy_only=False) for mark in ".,"
    )
    n_open, n_point = int(either.sum()), int((either & has_point).sum())
    n_with = int(point.sum()) - n_open, int(comma.sum()) - n_open
    parts = comma & ~point & has_point if n_with[1] > n_with[0] else point & ~comma & has_comma
    example = text[int(np.argmax(either))].as_py() if n_open else ""
    return _Counts(*n_with, n_point, n_open - n_point, bool(parts.any()), example)


def _looks_grouped(text: Any) -> bool:
    """Whether enough numbers have a mark, and those without one are too small to need it."""
    marked = _marked(text)
    if len(pc.unique(marked)) < _FEWEST_GROUPED:
        return False
    bare = cores(pc.unique(text)).drop_null()
    bare = bare.filter(pc.match_substring_regex(bare, r"^[+-]?[1-9]\d*$"))
    return bool(len(bare)) and not pc.any(pc.match_substring_regex(bare, r"\d{4}")).as_py()
