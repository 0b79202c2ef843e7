"""The training rows that decide about a row."""

from __future__ import annotations

from typing import Any

from gbuq_core.figures.standalone import Section
from gbuq_core.lenses.lens import DECIDE, Lens, Seen, Waiting
from gbuq_core.presentation import one_line, short
from gbuq_core.tables import (
    DECIDING_MEANING,
    DecidingRows,
    ModelLeaves,
    ScoredTable,
    deciding_rows,
    model_leaves,
    why_no_deciding,
)
from gbuq_core.tables.deciding import DIFFERS
from gbuq_core.tables.predicting import boosted_of

_MOST_COLUMNS = 40
_MOST_CELLS_AT_ONCE = 30_000_000  # rows times trees


def describe_deciding(scored: ScoredTable, deciding: DecidingRows) -> str:
    """How near they are and what their targets are; plain text that holds the user's words."""
    first = deciding.rows[0]
    targets: list[Any] = [near.target for near in deciding.rows]
    number = scored.training.row_numbers[first.row]
    words = (
        f"The nearest training row, {number:,}, shares a leaf in {first.affinity:,} of "
        f"{deciding.n_trees:,} trees."
    )
    if scored.training.target.classes:
        usual = max(set(targets), key=targets.count)
        return f"{words} {targets.count(usual)} of the {len(targets)} are {str(usual)[:60]}."
    low, high = min(targets), max(targets)
    return f"{words} The targets of the {len(targets)} go from {short(low, 4)} to {short(high, 4)}."


def _sections(seen: Seen, leaves: ModelLeaves) -> list[Section]:
    """The ten training rows that share the most leaves with a row, below the row itself."""
    scored, row = seen.scored, seen.row
    nearest = deciding_rows(scored, row, leaves=leaves)
    shown = range(min(len(nearest.columns), _MOST_COLUMNS))
    which = "second file" if scored.scored is not scored.training else "this row"
    names = [one_line(name) for name in (scored.training.target.name, *nearest.columns)]
    own = [f"{scored.scored.row_numbers[row]:,} ({which})", "", _own_target(scored, row)]
    lines = [("Row", "Trees shared", *names[: len(shown) + 1])]
    lines.append((*own, *(nearest.cells[k] for k in shown)))
    for near in nearest.rows:
        number = f"{scored.training.row_numbers[near.row]:,}"
        cells = number, f"{100 * near.share:.0f} %", _told(near.target)
        lines.append((*cells, *(near.cells[k] for k in shown)))
    shaded = {
        (line, 3 + k) for line, near in enumerate(nearest.rows, 2) for k in shown if near.differs[k]
    }
    note = (
        f"Shaded values differ: numbers and dates by more than {short(DIFFERS)} std of the column, "
        "categories by name."
    )
    if len(nearest.columns) > _MOST_COLUMNS:
        note += f" {_MOST_COLUMNS} of {len(nearest.columns):,} columns are shown."
    words = describe_deciding(scored, nearest)
    return [Section(text=words, table=lines, shaded=shaded, caption=note)]


def _own_target(scored: ScoredTable, row: int) -> str:
    value = scored.scored.y[row]
    classes = scored.training.target.classes
    if value != value:  # not known
        return ""
    return classes[int(value)] if classes else _told(float(value))


def _told(target: float | str) -> str:
    return target if isinstance(target, str) else short(target, 4)


def _model_number(seen: Seen) -> int:
    """Which model judged the row: its leaves serve all rows that it judged."""
    return int(seen.scored.model_of_row[seen.row])


def _takes_long(seen: Seen) -> bool:
    """Whether many leaves have to be numbered."""
    model, rows = seen.scored.models[_model_number(seen)]
    ensemble = boosted_of(model)
    n_cells = len(rows) * int(ensemble.n_trees_) * int(ensemble.plan_.n_models)
    return n_cells > _MOST_CELLS_AT_ONCE


LENSES = (
    Lens(
        key="leaves",
        place=DECIDE,
        title="Which training rows decide it?",
        meaning=DECIDING_MEANING,
        of_row=True,
        of=_model_number,
        refuse=lambda seen: why_no_deciding(seen.scored),
        beside=_takes_long,
        waiting=Waiting(
            "Finding the leaves of the training rows",
            "It is not known which rows decide.",
            "The rows that decide could not be found.",
        ),
        compute=lambda seen: model_leaves(seen.scored, _model_number(seen)),
        sections=_sections,
    ),
)
