"""How a second file differs from the first, by column and as rows that it did not hold."""

from __future__ import annotations

from functools import partial

import numpy as np

from gbuq_core.figures.curves import Curves
from gbuq_core.figures.standalone import Section
from gbuq_core.figures.table.drift import TwoFiles, two_files_figure
from gbuq_core.knobs import Knob
from gbuq_core.lenses.lens import ALL_COLUMNS, SECOND, File, Lens, Seen, Waiting
from gbuq_core.presentation import digits, percent
from gbuq_core.tables import (
    ScoredTable,
    ShiftWeights,
    TableDrift,
    can_weigh,
    describe_drift,
    describe_shift,
    drift_csv,
    held_out_inside,
    measure_drift,
    measure_shift,
    why_no_coverage,
    why_no_shift,
)
from gbuq_core.tables.drifting import LARGE, MODERATE, SMOOTHING, may_use
from gbuq_core.tables.shifting import LARGEST_WEIGHT

MEANING = (
    "The population stability index (PSI) compares the shares of rows in bins: the deciles of the "
    "first file for numbers, the most frequent categories, and missing values. "
    f"{SMOOTHING:g} rows are added to each bin. By convention, {MODERATE:g} to {LARGE:g} is a "
    "moderate shift and more is large. The tick is where chance ends: 95 % of unchanged files with "
    "as many rows stay below the ticks of all columns."
)
MOST_SHIFTED = "(shifted the most)"
DRIFTED = Knob(
    "drifted",
    "Column in both files",
    "choice",
    MOST_SHIFTED,
    choices=(MOST_SHIFTED, ALL_COLUMNS),
    group="page",
    plain=True,
)
WEIGHTED = Knob(
    "weighted",
    "Weighted for the second file",
    "switch",
    False,
    group="page",
    help="On: conformal intervals of the second file's rows, where held-out rows count for more if "
    "the second file has more rows like them. Also in the downloads.",
)
_SHIFT_MEANING = (
    "A model learns to tell the rows of the two files apart. If it ranks rows that it has not seen "
    "better than chance would, the files differ (p below 0.05). What it says of a row is also its "
    f"weight, from 1 / {LARGEST_WEIGHT:g} to {LARGEST_WEIGHT:g}."
)
_REPORTED = 30  # columns
_HEIGHT = 220
_MOST_CELLS_AT_ONCE, _MOST_CELLS_TOLD_AT_ONCE = 2_500_000, 50_000


def _refuse(seen: Seen) -> str:
    if seen.scored.protocol == "new_file":
        return ""
    return (
        "No second file is scored. Drop one here to see how it differs from the first, and whether "
        "you may use this model for it."
    )


def _sections(seen: Seen, drift: TableDrift) -> list[Section]:
    """The columns that have shifted the most, and how unfamiliar the second file's rows are."""
    scored = seen.scored
    lines = [("Column", "Shift (PSI)", "By chance up to")]
    lines += [
        (column.name, digits(column.psi), digits(column.chance))
        for column in drift.columns[:_REPORTED]
    ]
    words = [
        may_use(drift, scored.unfamiliarity),
        describe_drift(drift),
        *filter(None, [why_no_coverage(scored)]),
        MEANING,
    ]
    if len(drift.columns) > _REPORTED:
        words.append(
            f"The {_REPORTED} columns that have shifted the most are listed, of "
            f"{len(drift.columns):,}."
        )
    sections = [Section(text=words, table=lines)]
    if drift.unfamiliarity is not None:
        picture = unfamiliarity_picture(drift, scored)
        caption = str(picture.spec["alt"])
        heading = "How unfamiliar are its rows?"
        sections.append(Section(heading=heading, curves=picture, caption=caption))
    return sections


def unfamiliarity_picture(drift: TableDrift, scored: ScoredTable) -> Curves:
    """How unfamiliar the rows of both files are, where that was measured."""
    assert scored.unfamiliarity is not None
    assert drift.unfamiliarity is not None
    above = scored.unfamiliarity.share_above
    words = (
        f"{percent(above, 0)} of the second file's rows have an unfamiliarity above 0.9 (10 % is "
        f"usual), and {percent(drift.foreign, 0)} are less familiar than every "
        f"held-out row of the first file (up to {percent(drift.usual_foreign, 0)} is usual)."
    )
    picture = TwoFiles(*drift.unfamiliarity)
    return two_files_figure(picture, "drift-unfamiliarity", "unfamiliarity", words, _HEIGHT)


def _cells(seen: Seen) -> float:
    return float(seen.scored.training.X.size + seen.scored.scored.X.size)


def _shift_sections(seen: Seen, shift: ShiftWeights) -> list[Section]:
    """Whether the rows can be told apart, and what was done with the intervals."""
    words, values = [describe_shift(shift)], seen.values
    if can_weigh(shift) and not seen.scored.training.target.classes:
        level = values.within / 100.0
        inside = np.average(held_out_inside(seen.scored, level, True), weights=shift.held)
        words.append(
            f"Without weights, conformal intervals of {values.within:g} % would hold about "
            f"{percent(float(inside), 0)} of the second file's rows."
        )
        if values.weighted and values.each:
            words.append("Each group has its own width, so the intervals are not weighted.")
        elif values.weighted:
            words.append("The intervals are weighted.")
    return [Section(text=words)]


def _shift_title(seen: Seen) -> str:
    is_class = bool(seen.scored.training.target.classes)
    return "Do its rows differ from the first file's?" if is_class else "Do intervals hold there?"


LENSES = (
    Lens(
        key="drift",
        place=SECOND,
        title="Does the second file look like the first?",
        meaning=MEANING,
        knobs=(DRIFTED,),
        depends="files",
        refuse=_refuse,
        beside=lambda seen: _cells(seen) > _MOST_CELLS_AT_ONCE,
        waiting=Waiting(
            "Comparing the second file with the first",
            "The second file was not compared with the first.",
            "The second file could not be compared with the first.",
        ),
        compute=lambda seen: measure_drift(seen.scored, seen.scored.plan.seed),
        sections=_sections,
        file=lambda seen, drift: File(
            "Drift by column (CSV)", "drift.csv", "text/csv", partial(drift_csv, drift)
        ),
    ),
    Lens(
        key="shift",
        place=SECOND,
        title=_shift_title,
        meaning=_SHIFT_MEANING,
        knobs=(WEIGHTED,),
        shows=("within", "each"),
        without=lambda seen: ("weighted",) if seen.scored.training.target.classes else (),
        concerns=lambda seen: seen.scored.protocol == "new_file",
        refuse=lambda seen: why_no_shift(seen.scored),
        beside=lambda seen: _cells(seen) > _MOST_CELLS_TOLD_AT_ONCE,
        waiting=Waiting("Comparing the rows of both files"),
        compute=lambda seen: measure_shift(seen.scored, seen.scored.plan.seed),
        sections=_shift_sections,
    ),
)
