"""Groups of rows that the reader keeps under a name, side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from gbuq_core.figures.standalone import Section
from gbuq_core.lenses.lens import FAILS, Lens, Seen
from gbuq_core.presentation import digits, percent
from gbuq_core.tables import (
    CohortComparison,
    CohortScores,
    ScoredTable,
    compare_cohorts,
    read_cohorts,
    why_no_coverage,
)
from gbuq_core.tables.cohorts import Gap, check_cohorts

MEANING = (
    "All numbers are from held-out rows. In brackets: the difference from the other held-out rows, "
    "where it is larger than 1.96 standard errors. Groups found above were chosen on half of these "
    "rows, so their differences look larger here than they are."
)
NONE_KEPT = (
    'No cohort is kept. Keep a group of "Where it fails", or the rows that a condition of "Find '
    'rows" finds.'
)


class Compared(NamedTuple):
    """Cohorts side by side, and why others cannot be compared, by name."""

    comparison: CohortComparison | None
    problems: dict[str, str]


def compare_kept(seen: Seen) -> Compared:
    """Judge every cohort that is kept and can be read."""
    kept, unit = read_cohorts(seen.values.cohorts), seen.values.unit
    problems = check_cohorts(seen.scored, kept, table=seen.table, unit=unit)
    known = {name: text for name, text in kept.items() if name not in problems}
    if not known:
        return Compared(None, problems)
    return Compared(compare_cohorts(seen.scored, known, table=seen.table, unit=unit), problems)


def _sections(seen: Seen, compared: Compared) -> list[Section]:
    words, comparison = [*compared.problems.values()], compared.comparison
    if comparison is None:
        return [Section(text=words)]
    every = (*comparison.cohorts, comparison.everything)
    lines = [_line(cohort, seen.values.unit, seen.scored) for cohort in every]
    heads = tuple(dict.fromkeys(head for line in lines for head in line))
    table = [heads, *(tuple(line.get(head, "") for head in heads) for line in lines)]
    return [Section(text=words, table=table, caption=MEANING)]


def _line(cohort: CohortScores, unit: str, scored: ScoredTable) -> dict[str, str]:
    """A cohort, or all held-out rows, as text by column; coverage where it may be quoted."""
    is_class = bool(scored.training.target.classes)
    inside = "" if is_class or why_no_coverage(scored) else f"Inside {100 * scored.level:g} %"
    is_std = unit == "std" and not is_class
    gaps = cohort.gaps
    knowledge = np.sqrt(cohort.knowledge) if is_std else cohort.knowledge
    share = (lambda value: percent(value, 0)) if is_class else digits
    cells = {
        "Cohort": cohort.name,
        "Rows": f"{cohort.n_rows:,} ({percent(cohort.share, 0)})",
        "Wrong" if is_class else "RMSE": share(cohort.error) + _side(gaps.error, cohort.condition),
        "NLL": digits(cohort.nll) + _told(gaps.nll, digits, cohort.condition),
    }
    if inside:
        low, high = (percent(end, 0).removesuffix(" %") for end in cohort.coverage_band)
        band = f"{percent(cohort.coverage, 0)} [{low} to {high}]" if cohort.n_rows else ""
        cells[inside] = band + _side(gaps.coverage, cohort.condition)
    cells["K, std" if is_std else "K"] = digits(knowledge) + _side(gaps.knowledge, cohort.condition)
    if not np.isnan(cohort.unfamiliarity):
        cells["Unfamiliarity"] = digits(cohort.unfamiliarity, 2) + _told(
            gaps.unfamiliarity, lambda value: digits(value, 2), cohort.condition
        )
    cells["Condition"] = cohort.condition
    return cells


def _told(gap: Gap, write: Callable[[float], str], condition: str) -> str:
    """The difference where it is one; nothing in the line of all rows."""
    if not condition or np.isnan(gap.value):
        return ""
    if not gap.told_apart:
        return " (not told apart)"
    sign = "+" if gap.value > 0 else "\u2212"
    return f" ({sign}{write(abs(gap.value))})"


def _side(gap: Gap, condition: str) -> str:
    """Whether it is higher or lower, where the difference is in other units than the number."""
    if not condition or np.isnan(gap.value):
        return ""
    if not gap.told_apart:
        return " (not told apart)"
    return " (higher)" if gap.value > 0 else " (lower)"


LENSES = (
    Lens(
        key="cohorts",
        place=FAILS,
        title="Kept cohorts",
        meaning=MEANING,
        asks=("cohorts", "unit"),
        depends="levels",
        refuse=lambda seen: "" if read_cohorts(seen.values.cohorts) else NONE_KEPT,
        compute=compare_kept,
        sections=_sections,
    ),
)
