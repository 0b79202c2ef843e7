"""Where the model fails, for the report: groups of rows in words."""

from __future__ import annotations

import numpy as np

from gbuq_core.errors import InvalidData
from gbuq_core.figures.standalone import Section
from gbuq_core.lenses.choices import MISSED, Choices
from gbuq_core.presentation import digits, percent
from gbuq_core.tables import Cohort, Failures, ScoredTable, find_failures, why_no_coverage
from gbuq_core.tables.intervals import name_interval

MEASURES = {"errors": "error", MISSED: "misses", "knowledge": "knowledge"}
# What a group has, or is, more and less of than the other rows.
_MORE_OR_LESS = {
    "error": ("worse", "better"),
    "misses": ("more misses", "fewer misses"),
    "knowledge": ("more uncertain", "less uncertain"),
}


def fails_sections(scored: ScoredTable, values: Choices, unit: str) -> list[Section]:
    """Groups of rows, the worst first, or why there are none."""
    heading, missing = "Where does it fail?", why_no_coverage(scored)
    if missing and values.by == MISSED:
        return [Section(heading=heading, text=missing)]
    try:
        found = find_failures(scored, MEASURES[values.by])
    except InvalidData as error:
        return [Section(heading=heading, text=str(error))]
    interval = "" if missing else name_interval(scored)
    cohorts = [describe_cohort(cohort, found, unit, interval) for cohort in found.cohorts]
    every = describe_failures(found, unit, interval)
    return [Section(heading=heading, text=[*filter(None, [missing]), every, *cohorts])]


def describe_failures(found: Failures, unit: str, interval: str) -> str:
    """All judging rows together. Plain text.

    ``interval`` names the intervals whose misses are told; without a name, none are.
    """
    every = found.everything
    rows = (
        f"Groups are looked for in {found.n_looking:,} held-out rows, and judged by "
        f"{every.n_rows:,} others"
    )
    if not found.cohorts:
        return f"{rows}. No group was found: there is no column to tell rows apart by."
    return f"{rows}. All of the others: {_numbers(every, found, unit, interval)}."


def describe_cohort(cohort: Cohort, found: Failures, unit: str, interval: str) -> str:
    """One group in words. Plain text that holds the user's words."""
    numbers = _numbers(cohort, found, unit, interval)
    told = f"{cohort.text}: {percent(cohort.share, 0)} of the rows, {numbers}."
    than = "from" if is_like_others(cohort) else "than"
    return f"{told} {compare_cohort(cohort, found.measure).capitalize()} {than} the other rows."


def is_like_others(cohort: Cohort) -> bool:
    """Whether chance explains its difference from the other rows."""
    return not (cohort.is_worse or cohort.is_better)


def compare_cohort(cohort: Cohort, measure: str) -> str:
    """How a group differs from the other rows, in a word or two.

    Examples
    --------
    >>> bad = Cohort((), 20, 0.2, 3.0, 0.3, (0.1, 0.5), 1.0, 2.0, 0.5)
    >>> compare_cohort(bad, "error"), compare_cohort(bad._replace(gap=-2.0), "misses")
    ('clearly worse', 'clearly fewer misses')
    >>> compare_cohort(bad._replace(gap=0.1), "error")
    'not told apart'
    """
    if is_like_others(cohort):
        return "not told apart"
    more, less = _MORE_OR_LESS[measure]
    return f"clearly {more if cohort.is_worse else less}"


def _numbers(cohort: Cohort, found: Failures, unit: str, interval: str) -> str:
    if np.isnan(cohort.misses):
        parts = [f"{percent(cohort.error)} of the classes are wrong"]
    else:
        parts = [f"error {digits(cohort.error)}"]
        if interval:
            low, high = (percent(share, 0) for share in cohort.misses_band)
            misses = percent(cohort.misses, 0)
            parts.append(f"{misses} outside the {interval} ({low} to {high})")
    if found.measure == "knowledge":
        mean = float(np.sqrt(cohort.knowledge)) if unit.startswith("std") else cohort.knowledge
        parts.append(f"knowledge uncertainty {digits(mean)}")
    return ", ".join(parts)
