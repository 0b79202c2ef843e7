"""How unfamiliar the rows are: measured beside the page, and the least familiar ones listed."""

from __future__ import annotations

from gbuq_core.figures.standalone import Section
from gbuq_core.lenses.lens import Lens, Seen, Waiting
from gbuq_core.presentation import percent, short
from gbuq_core.tables import TableUnfamiliarity, measure_unfamiliarity, reason_of, say_reason
from gbuq_core.tables.unfamiliar import lacking_notice

_LISTED = 20


def measured(seen: Seen) -> TableUnfamiliarity:
    """What the table holds, or measured now."""
    scored = seen.scored
    return scored.unfamiliarity or measure_unfamiliarity(
        scored.training, scored.scored, scored.plan.seed
    )


def _sections(seen: Seen, table: TableUnfamiliarity) -> list[Section]:
    """The least familiar rows, each with what says so."""
    scored = seen.scored
    lines = [("Row", "Unfamiliarity", "Times beyond", "Columns outside", "Why")]
    for row in table.rows.order()[:_LISTED].tolist():
        reason = reason_of(scored, row)
        why = "" if reason is None else say_reason(reason)
        score, times = table.rows.score[row], table.rows.times_beyond[row]
        outside = ", ".join(table.outside_columns[row])
        number = f"{scored.scored.row_numbers[row]}"
        lines.append((number, f"{score:.3f}", short(float(times)), outside, why))
    words = [
        f"{percent(table.share_above, 0)} of the rows have an unfamiliarity above 0.9; 10 % would "
        "by chance.",
        *lacking_notice(table),
    ]
    heading = f"The {len(lines) - 1} least familiar rows"
    return [Section(heading=heading, text=" ".join(words), table=lines)]


LENSES = (
    Lens(
        key="unfamiliar",
        place="",
        title="Which rows are the least familiar?",
        depends="files",
        concerns=lambda seen: seen.scored.unfamiliarity is not None,
        beside=lambda seen: True,
        waiting=Waiting(
            "Measuring how unfamiliar the rows are",
            "It is not known how unfamiliar the rows are.",
            "It could not be measured how unfamiliar the rows are.",
        ),
        compute=measured,
        sections=_sections,
    ),
)
