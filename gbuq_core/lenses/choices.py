"""What a reader chooses that several lenses look at."""

from __future__ import annotations

from gbuq_core.knobs import Knob
from gbuq_core.lenses.lens import GROUPING_COLUMNS
from gbuq_core.tables.cohorts import COHORTS_PATTERN, MOST_CHARACTERS

UNIT = Knob(
    "unit",
    "Uncertainty of a regression as",
    "choice",
    "std",
    choices=("std", "variance"),
    group="view",
)
RANK = Knob(
    "rank",
    "Rank by",
    "choice",
    "total",
    choices=("total", "data", "knowledge", "error", "prediction", "unfamiliarity"),
    group="page",
)
GROUP = Knob(
    "group", "Group rows by", "choice", None, choices=(GROUPING_COLUMNS,), group="page", plain=True
)
# No control: buttons write it, and the address keeps it.
COHORTS = Knob(
    "cohorts",
    "Cohorts",
    "text",
    "",
    group="page",
    most=MOST_CHARACTERS,
    pattern=COHORTS_PATTERN,
    help="Names and conditions such as old=age > 60, with | between two cohorts.",
)
