"""All rows of a scored table on one map: noise to the right, knowledge uncertainty upwards."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gbuq_core.figures.curves import Curves, draw_curves
from gbuq_core.figures.curves.parts import (
    Part,
    axis,
    entry,
    limits,
    panel,
    readable_dots,
    reading,
    rounded,
    tick_texts,
)
from gbuq_core.figures.error_dots import NO_TRUTH, error_dots
from gbuq_core.presentation import NONE, short

_RING = "#d55e00"
_SIZE = 6.0


class RowMap(NamedTuple):
    """What the map shows; arrays are (n_rows,)."""

    number: np.ndarray  # the row's number in the file, for the read-out
    # `data`, `knowledge`: In the unit that is shown, not negative. Knowledge is NaN where nothing
    # tells it: rows then stand on a line, and no number is drawn or read.
    data: np.ndarray
    knowledge: np.ndarray
    # Absolute error, or 0 and 1; NaN where the truth is unknown. Or what else colours the dots.
    error: np.ndarray
    unit: str  # of both axes; not a user's text
    error_label: str
    is_class: bool  # whether errors are 0 and 1
    selected: int | None = None  # position of the row to mark
    # `data` and `knowledge` of all rows, where only some are drawn: the axes stay theirs
    whole: tuple[np.ndarray, np.ndarray] | None = None


def row_map_figure(rows: RowMap, height: int = 330, name: str = "rows-by-uncertainty") -> Curves:
    """Draw one dot a row, the worst predicted ones brightest and on top, the open one ringed."""
    layers, legend = _by_class(rows) if rows.is_class else error_dots(rows.error, rows.error_label)
    every = (rows.data, rows.knowledge) if rows.whole is None else rows.whole
    heights, is_known = np.nan_to_num(rows.knowledge), not np.isnan(rows.knowledge).any()
    top = 1.06 * float(np.nan_to_num(every[1]).max()) or 1.0
    marks: Part = {} if is_known else {"ticks": tick_texts({0.0: NONE})}
    if rows.selected is not None:
        x, y = rounded([rows.data[rows.selected], heights[rows.selected]])
        marks["ring"] = {"x": x, "y": y, "colour": _RING}
    label = f"knowledge uncertainty ({rows.unit if is_known else 'not known'})"
    values = [("data", rows.data), *([("knowledge", heights)] if is_known else [])]
    if np.isfinite(rows.error).any():
        values.append((rows.error_label.removeprefix("absolute "), rows.error))
    return draw_curves(
        name,
        describe_row_map(rows),
        height,
        axis(limits(every[0]), f"data uncertainty ({rows.unit}): noise"),
        [panel([-0.02 * top, top], label, layers, **marks)],
        legend,
        reading(
            rows.data,
            "row",
            values,
            y=rounded(heights),
            names=[int(number) for number in rows.number],
        ),
        hint="Point at a dot to read its row. Click to open the row. Drag a frame to zoom in.",
        pick=True,
    )


def _by_class(rows: RowMap) -> tuple[list[Part], list[Part]]:
    """Right ones, wrong ones above them, and those whose class is not known."""
    groups = (
        ("right", rows.error == 0.0, "#56b4e9"),
        ("wrong", rows.error == 1.0, "#d55e00"),
        ("no truth", np.isnan(rows.error), NO_TRUTH),
    )
    parts = [
        (name, readable_dots(np.flatnonzero(here), colour, 0.75, _SIZE))
        for name, here, colour in groups
        if here.any() or (name != "no truth" and np.isfinite(rows.error).any())
    ]
    return [part for _, part in parts], [entry(name, part) for name, part in parts]


def describe_row_map(rows: RowMap) -> str:
    """The map in words: typical uncertainties, and the row of most knowledge uncertainty."""
    is_known = not np.isnan(rows.knowledge).any()
    median = short(np.median(rows.data))
    start = f"{len(rows.number):,} rows. Data uncertainty has a median of {median}"
    if not is_known:
        return f"{start} ({rows.unit}). Knowledge uncertainty is unknown."
    if not rows.knowledge.any():
        return f"{start} ({rows.unit}). No row has knowledge uncertainty."
    at = int(np.argmax(rows.knowledge))
    share = float(np.mean(rows.data >= rows.knowledge))
    return (
        f"{start}, knowledge uncertainty of {short(np.median(rows.knowledge))} ({rows.unit}); in "
        f"{100 * share:.0f} % of the rows data uncertainty is the larger. The members disagree "
        f"most about row {rows.number[at]:d}: its knowledge uncertainty is "
        f"{short(rows.knowledge[at])}."
    )
