"""The least familiar rows, for the report."""

from __future__ import annotations

from gbuq_core.figures.standalone import Section
from gbuq_core.presentation import percent, short
from gbuq_core.tables import ScoredTable, reason_of, say_reason

_LISTED = 20


def unfamiliar_sections(scored: ScoredTable) -> list[Section]:
    """The least familiar rows for the report, each with what says so; none if not measured."""
    found = scored.unfamiliarity
    if found is None:
        return []
    lines = [("Row", "Unfamiliarity", "Times beyond", "Columns outside", "Why")]
    for row in found.rows.order()[:_LISTED].tolist():
        reason = reason_of(scored, row)
        why = "" if reason is None else say_reason(reason)
        score, times = found.rows.score[row], found.rows.times_beyond[row]
        outside = ", ".join(found.outside_columns[row])
        number = f"{scored.scored.row_numbers[row]}"
        lines.append((number, f"{score:.3f}", short(float(times)), outside, why))
    words = (
        f"{percent(found.share_above, 0)} of the rows have an unfamiliarity above 0.9; 10 % would "
        "by chance."
    )
    return [Section(heading=f"The {len(lines) - 1} least familiar rows", text=words, table=lines)]
