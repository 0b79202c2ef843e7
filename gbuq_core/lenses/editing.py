"""The cells of a row, which the page lets its reader edit."""

from __future__ import annotations

from typing import Any

from gbuq_core.lenses.lens import EDIT, Lens, Seen
from gbuq_core.tables.editing import prepared_cell


def own_cells(seen: Seen) -> dict[str, Any]:
    """The row's cells as they are in the file, by column."""
    columns = dict.fromkeys(feature.column for feature in seen.scored.training.features)
    return {name: prepared_cell(seen.scored.scored, seen.row, name) for name in columns}


LENSES = (
    Lens(
        key="edit",
        place=EDIT,
        title="",
        of_row=True,
        compute=own_cells,
        sections=lambda seen, cells: [],  # the page draws it
    ),
)
