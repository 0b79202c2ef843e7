"""What a reader chooses that several lenses look at."""

from __future__ import annotations

from gbuq_core.knobs import Knob
from gbuq_core.lenses.lens import GROUPING_COLUMNS

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
