from gbuq_core.lenses.failing import MISSED
from gbuq_core.lenses.law import say_law
from gbuq_core.lenses.pictures import RowUncertainties, in_unit
from gbuq_core.lenses.register import reader_choices
from gbuq_core.lenses.report import row_answers, table_report
from gbuq_core.lenses.row import (
    MOST_COLUMNS,
    by_size,
    describe_row,
    feature_value,
    say_members,
    say_parts,
    say_unfamiliarity,
    say_width,
)

__all__ = [
    "MISSED",
    "MOST_COLUMNS",
    "RowUncertainties",
    "by_size",
    "describe_row",
    "feature_value",
    "in_unit",
    "reader_choices",
    "row_answers",
    "say_law",
    "say_members",
    "say_parts",
    "say_unfamiliarity",
    "say_width",
    "table_report",
]
