"""Where the uncertainty of a row comes from."""

from __future__ import annotations

from gbuq_core.lenses.lens import WHY, Lens, Waiting
from gbuq_core.tables import explain_row

_MOST_AT_ONCE = 60  # columns: the rows that are predicted grow with their square

LENSES = (
    Lens(
        key="row",
        place=WHY,
        title="",
        of_row=True,
        beside=lambda seen: seen.scored.training.X.shape[1] > _MOST_AT_ONCE,
        waiting=Waiting(
            "Replacing one column at a time to see where this row's uncertainty comes from",
            "It is not known where this row's uncertainty comes from.",
            "This row could not be explained.",
        ),
        compute=lambda seen: explain_row(seen.scored, seen.row),
        sections=lambda seen, explained: [],  # the page draws it
    ),
)
