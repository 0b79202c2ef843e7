"""Where the uncertainty of a row comes from."""

from __future__ import annotations

from gbuq_core.lenses.lens import WHY, Lens, Waiting
from gbuq_core.tables import estimate_explaining, explain_row

LENSES = (
    Lens(
        key="row",
        place=WHY,
        title="",
        of_row=True,
        seconds=lambda seen: estimate_explaining(seen.scored),
        waiting=Waiting(
            "Replacing one column at a time to see where this row's uncertainty comes from",
            "It is not known where this row's uncertainty comes from.",
            "This row could not be explained.",
        ),
        compute=lambda seen: explain_row(seen.scored, seen.row),
        sections=lambda seen, explained: [],  # the page draws it
    ),
)
