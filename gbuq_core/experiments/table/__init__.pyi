from gbuq_core.experiments.table.export import TableRecipe, table_code, table_command
from gbuq_core.experiments.table.fit import Cut, cut_table

__all__ = [
    "Cut",
    "TableRecipe",
    "cut_table",
    "table_code",
    "table_command",
]
