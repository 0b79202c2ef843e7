"""Where the model fails: groups of rows in words, and as a table."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd

from gbuq_core.errors import InvalidData
from gbuq_core.figures.standalone import Section
from gbuq_core.knobs import Knob
from gbuq_core.lenses.lens import FAILS, Lens, Seen
from gbuq_core.lenses.pictures import in_unit
from gbuq_core.presentation import digits, percent
from gbuq_core.tables import FailingGroup, Failures, find_failures, why_no_coverage
from gbuq_core.tables.intervals import name_interval

MISSED = "missed intervals"
MEASURES = {"errors": "error", MISSED: "misses", "knowledge": "knowledge"}
BY = Knob("by", "Groups with large", "choice", "errors", choices=tuple(MEASURES), group="page")
MEANING = (
    "A shallow tree looks for groups of rows with large errors on one half of the rows that the "
    "models had not seen. The numbers are those of the other half, so a group that is there by "
    "chance shows no large error."
)
# What a group has, or is, more and less of than the other rows.
_MORE_OR_LESS = {
    "error": ("worse", "better"),
    "misses": ("more misses", "fewer misses"),
    "knowledge": ("more uncertain", "less uncertain"),
}


def failures_of(seen: Seen) -> Failures:
    """The groups that the reader asks for, the worst first."""
    missing = why_no_coverage(seen.scored)
    if missing and seen.values.by == MISSED:
        raise InvalidData(missing)
    return find_failures(seen.scored, MEASURES[seen.values.by])


def failure_units(seen: Seen) -> tuple[str, str]:
    """The unit of uncertainties, and the intervals whose misses are told; "" where none are."""
    interval = "" if why_no_coverage(seen.scored) else name_interval(seen.scored)
    return in_unit(seen.scored, seen.values.unit).unit, interval


def _sections(seen: Seen, failures: Failures) -> list[Section]:
    """Groups of rows in words, the worst first."""
    names = failure_units(seen)
    groups = [describe_group(group, failures, *names) for group in failures.groups]
    missing, every = why_no_coverage(seen.scored), describe_failures(failures, *names)
    return [Section(text=[*filter(None, [missing]), every, *groups])]


def describe_failures(failures: Failures, unit: str, interval: str) -> str:
    """All judging rows together; without a name of the intervals, no misses are told."""
    every = failures.everything
    rows = (
        f"Groups are looked for in {failures.n_looking:,} held-out rows, and judged by "
        f"{every.n_rows:,} others"
    )
    if not failures.groups:
        return f"{rows}. No group was found: there is no column to tell rows apart by."
    return f"{rows}. All of the others: {_numbers(every, failures, unit, interval)}."


def describe_group(group: FailingGroup, failures: Failures, unit: str, interval: str) -> str:
    """One group in words. Plain text that holds the user's words."""
    numbers = _numbers(group, failures, unit, interval)
    words = f"{group.text}: {percent(group.share, 0)} of the rows, {numbers}."
    than = "from" if is_like_others(group) else "than"
    return f"{words} {compare_group(group, failures.measure).capitalize()} {than} the other rows."


def is_like_others(group: FailingGroup) -> bool:
    """Whether chance explains its difference from the other rows."""
    return not (group.is_worse or group.is_better)


def compare_group(group: FailingGroup, measure: str) -> str:
    """How a group differs from the other rows, in a word or two.

    >>> bad = FailingGroup((), 20, 0.2, 3.0, 0.3, (0.1, 0.5), 1.0, 2.0, 0.5)
    >>> compare_group(bad, "error"), compare_group(bad._replace(gap=-2.0), "misses")
    ('clearly worse', 'clearly fewer misses')
    >>> compare_group(bad._replace(gap=0.1), "error")
    'not told apart'
    """
    if is_like_others(group):
        return "not told apart"
    more, less = _MORE_OR_LESS[measure]
    return f"clearly {more if group.is_worse else less}"


def groups_frame(failures: Failures, unit: str, interval: str) -> pd.DataFrame:
    """A line a group, and one of all judging rows; the number that was asked for comes first."""
    groups = (*failures.groups, failures.everything)
    is_class = bool(np.isnan(failures.everything.misses))
    is_std = unit.startswith("std") and not is_class
    error = [group.error for group in groups]
    misses = [group.misses for group in groups]
    knowledge = [np.sqrt(group.knowledge) if is_std else group.knowledge for group in groups]
    columns = {"error": ("Wrong (%)" if is_class else "RMSE", error, digits)}
    if is_class:
        columns["error"] = ("Wrong (%)", [100.0 * share for share in error], digits)
    elif interval:
        shares = [100.0 * share for share in misses]
        columns["misses"] = (f"Outside the {interval} (%)", shares, partial(digits, places=2))
    columns["knowledge"] = ("K, std" if is_std else "K", knowledge, digits)
    head, numbers, _ = columns.pop(failures.measure)
    cells: dict[str, object] = {
        head: numbers,
        "Group": [*(group.text for group in failures.groups), "all of them"],
        "Against the others": [
            *(compare_group(group, failures.measure) for group in failures.groups),
            "",
        ],
        "Rows": [f"{group.n_rows:,} ({percent(group.share, 0)})" for group in groups],
    }
    for name, values, write in columns.values():
        cells[name] = [write(value) for value in values]
    return pd.DataFrame(cells)


def _numbers(group: FailingGroup, failures: Failures, unit: str, interval: str) -> str:
    if np.isnan(group.misses):
        parts = [f"{percent(group.error)} of the classes are wrong"]
    else:
        parts = [f"error {digits(group.error)}"]
        if interval:
            low, high = (percent(share, 0) for share in group.misses_band)
            misses = percent(group.misses, 0)
            parts.append(f"{misses} outside the {interval} ({low} to {high})")
    if failures.measure == "knowledge":
        mean = float(np.sqrt(group.knowledge)) if unit.startswith("std") else group.knowledge
        parts.append(f"knowledge uncertainty {digits(mean)}")
    return ", ".join(parts)


LENSES = (
    Lens(
        key="failing",
        place=FAILS,
        title="Where does it fail?",
        meaning=MEANING,
        knobs=(BY,),
        asks=("by",),
        shows=("unit",),
        depends="levels",
        compute=failures_of,
        sections=_sections,
    ),
)
