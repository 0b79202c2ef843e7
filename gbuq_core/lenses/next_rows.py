"""Which rows without a target to label next."""

from __future__ import annotations

from functools import partial

from gbuq_core.figures.standalone import Section
from gbuq_core.knobs import Knob
from gbuq_core.lenses.lens import MORE, File, Lens, Seen, Waiting
from gbuq_core.presentation import digits, percent
from gbuq_core.tables import NextRows, next_frame, rank_next, to_csv_bytes

MEANING = (
    "Rows without a target, ranked by what their labels are worth: rows that the members disagree "
    "about and unfamiliar rows first. A row that falls into the same leaves as a chosen one loses "
    "weight, so copies are not chosen."
)
MOST_TO_LABEL = 200
LABEL = Knob(
    "label", "Rows to label", "ladder", 20, choices=(10, 20, 50, 100, MOST_TO_LABEL), group="page"
)


def _n_candidates(seen: Seen) -> int:
    return int((~seen.scored.scored.known).sum())


def _refuse(seen: Seen) -> str:
    if not _n_candidates(seen):
        return (
            "Every row has a target. Drop a second file with rows that have none to see which of "
            "them to label first."
        )
    if seen.scored.unfamiliarity is None:
        return "The ranking needs how unfamiliar the rows are, which is not measured yet."
    return ""


def _sections(seen: Seen, ranked: NextRows) -> list[Section]:
    scored, n_wanted = seen.scored, seen.values.label
    first = ranked.first(n_wanted)
    words = f"{len(first.rows):,} of {first.n_candidates:,} rows without a target."
    if len(first.rows) < min(n_wanted, first.n_candidates):
        words += " The others fall into the same leaves as these: their labels would say the same."
    unit = "nats" if scored.training.target.classes else "variance"
    lines = [("Rank", "Row", f"Knowledge ({unit})", "Unfamiliarity", "Still new", "Reason")]
    columns = first.rows, first.knowledge, first.unfamiliarity, first.left, first.reasons
    for rank, (row, known, strange, left, why) in enumerate(zip(*columns, strict=True), 1):
        number = f"{scored.scored.row_numbers[row]}"
        share = percent(left, 0)
        lines.append((f"{rank}", number, digits(known), f"{strange:.2f}", share, why))
    note = "Still new is what rows chosen before leave of its weight."
    return [Section(text=words, table=lines, caption=note)]


def _file(seen: Seen, ranked: NextRows) -> File:
    frame = next_frame(seen.scored, ranked.first(seen.values.label))
    make = partial(to_csv_bytes, frame)
    return File("Rows to label (CSV)", "rows-to-label.csv", "text/csv", make)


LENSES = (
    Lens(
        key="next",
        place=MORE,
        title="Which rows should be labelled next?",
        meaning=MEANING,
        report="if made",
        knobs=(LABEL,),
        refuse=_refuse,
        beside=lambda seen: True,
        waiting=Waiting(
            "Ranking the rows without a target",
            "The rows without a target are not ranked.",
            "The rows without a target could not be ranked.",
        ),
        compute=lambda seen: rank_next(seen.scored, MOST_TO_LABEL),
        sections=_sections,
        file=_file,
    ),
)
