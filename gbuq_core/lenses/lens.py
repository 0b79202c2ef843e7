"""What is asked of a scored table, declared once: a lens.

The page "Your data" draws every lens of the register, and its HTML report, which `gbuq report`
writes too, holds those of the whole table. `docs/code.md` shows the smallest one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from gbuq_core.knobs import Knob

if TYPE_CHECKING:
    from gbuq_core.figures.standalone import Section
    from gbuq_core.tables import ScoredTable, Table

# Sections of the page, and what can be asked about the open row. A lens may name a place of its
# own, which comes last.
GOOD, FAILS = "Is it any good?", "Where it fails"
MORE, SECOND = "More rows", "Second file"
WHY, DECIDE = "Why", "Rows that decide"
EDIT, CHANGE = "Edit this row", "A change that is enough"

# What `gbuq explain --ask` may ask about a row, by the keys of the lenses.
ASKED = ("law", "leaves", "change")

# Of the table, as the choices of a knob.
ALL_COLUMNS, GROUPING_COLUMNS = "(all columns)", "(columns that group rows)"


class Seen(NamedTuple):
    """What a lens looks at."""

    scored: ScoredTable
    table: Table  # the first file
    values: Any  # the reader's choices, each an attribute with the key of its knob
    row: int = 0  # the position of the open row


class File(NamedTuple):
    """A file to download: what its button says, what it is called, and how it is made."""

    label: str
    name: str
    mime: str
    make: Callable[[], str | bytes]


class Waiting(NamedTuple):
    """What is said while a result is worked out, and without it."""

    working: str = "Working it out"
    cancelled: str = ""
    failed: str = ""


_WAITING = Waiting()


@dataclass(frozen=True, kw_only=True)
class Lens:
    """A question about a scored table or one of its rows, and how it is answered."""

    key: str  # of its job, and of its place on the page
    place: str  # the section or tab that it is drawn in; "" where it is in the report alone
    title: str | Callable[[Seen], str]  # the question
    meaning: str = ""  # how it is answered: the help beside the question
    of_row: bool = False  # whether it is about the open row; the report holds none of these
    half: bool = False  # whether it takes half of the width, beside the next one of its kind
    # "if made": the report holds it if the page has worked it out, and never waits for it
    report: Literal["yes", "if made", "no"] = "yes"
    # Drawn above the answer. ALL_COLUMNS among the choices stands for the names of the columns.
    knobs: tuple[Knob, ...] = ()
    # The keys of the choices that `compute` reads, and of others' that `sections` reads.
    asks: tuple[str, ...] = ()
    shows: tuple[str, ...] = ()
    # What else the result depends on: the view with its members, that with the intervals that were
    # chosen, the fit, or the two files alone; and, of a row, by default the row.
    depends: Literal["view", "levels", "fit", "files"] = "view"
    of: Callable[[Seen], Hashable] = lambda seen: seen.row
    without: Callable[[Seen], tuple[str, ...]] = lambda seen: ()  # knobs not drawn for a table
    concerns: Callable[[Seen], bool] = lambda seen: True  # whether it is shown at all
    refuse: Callable[[Seen], str] = lambda seen: ""  # why it cannot be answered, in a sentence
    waits: Callable[[Seen], str] = lambda seen: ""  # what is said until the reader asks for it
    # Whether it may take longer than half a second: it is then a job beside the page.
    beside: Callable[[Seen], bool] = lambda seen: False
    waiting: Waiting = _WAITING
    compute: Callable[[Seen], Any]  # what takes time; a GbuqError is shown in its place
    sections: Callable[[Seen, Any], list[Section]]  # how the answer is shown
    file: Callable[[Seen, Any], File] | None = None  # what it adds to the downloads

    def heading(self, seen: Seen) -> str:
        """The question, which may depend on the table."""
        return self.title if isinstance(self.title, str) else self.title(seen)
