"""How a second file differs from the first, for the report."""

from __future__ import annotations

from gbuq_core.figures.curves import Curves
from gbuq_core.figures.standalone import Section
from gbuq_core.figures.table.drift import TwoFiles, two_files_figure
from gbuq_core.presentation import digits, percent
from gbuq_core.tables import (
    ScoredTable,
    TableDrift,
    describe_drift,
    measure_drift,
    why_no_coverage,
)
from gbuq_core.tables.drifting import LARGE, MODERATE, SMOOTHING

MEANING = (
    "The population stability index (PSI) compares the shares of rows in bins: the deciles of the "
    "first file for numbers, the most frequent categories, and missing values. "
    f"{SMOOTHING:g} rows are added to each bin. By convention, {MODERATE:g} to {LARGE:g} is a "
    "moderate shift and more is large. The tick is where chance ends: 95 % of unchanged files with "
    "as many rows stay below the ticks of all columns."
)
_REPORTED = 30  # columns
_HEIGHT = 220


def second_sections(scored: ScoredTable) -> list[Section]:
    """The second file for the report; none without one."""
    if scored.protocol != "new_file":
        return []
    found = measure_drift(scored, scored.plan.seed)
    lines = [("Column", "Shift (PSI)", "By chance up to")]
    lines += [
        (column.name, digits(column.psi), digits(column.chance))
        for column in found.columns[:_REPORTED]
    ]
    words = [describe_drift(found), *filter(None, [why_no_coverage(scored)]), MEANING]
    if len(found.columns) > _REPORTED:
        words.append(
            f"The {_REPORTED} columns that have shifted the most are listed, of "
            f"{len(found.columns):,}."
        )
    heading = "Does the second file look like the first?"
    sections = [Section(heading=heading, text=words, table=lines)]
    if found.unfamiliarity is not None:
        picture = unfamiliarity_picture(found, scored)
        sections.append(
            Section(
                heading="How unfamiliar are its rows?",
                curves=picture,
                caption=str(picture.spec["alt"]),
            )
        )
    return sections


def unfamiliarity_picture(found: TableDrift, scored: ScoredTable) -> Curves:
    """How unfamiliar the rows of both files are, where that was measured."""
    assert scored.unfamiliarity is not None
    assert found.unfamiliarity is not None
    above = scored.unfamiliarity.share_above
    words = (
        f"{percent(above, 0)} of the second file's rows have an unfamiliarity above 0.9 (10 % is "
        f"usual), and {percent(found.foreign, 0)} are less familiar than every "
        f"held-out row of the first file (up to {percent(found.usual_foreign, 0)} is usual)."
    )
    picture = TwoFiles(*found.unfamiliarity)
    return two_files_figure(picture, "drift-unfamiliarity", "unfamiliarity", words, _HEIGHT)
