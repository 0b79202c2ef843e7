"""The address of "Your data" with a built-in table, for the lesson."""

from __future__ import annotations

from gbuq_core.lenses.judged import CONFORMAL
from gbuq_core.settings import to_values
from gbuq_core.tables.code import TableRecipe
from pages._ui.knobs import query_string
from pages._ui.your_data.sections import SECTION
from pages._ui.your_data.state import AFTERWARDS, PLAN, TABLE

# Those whose choices do not depend on the table.
KNOBS = (TABLE, *PLAN.values(), *AFTERWARDS, SECTION, CONFORMAL)


def query_of(recipe: TableRecipe, section: str) -> str:
    """The part of a link after the question mark that opens a table with its plan, at a section.

    >>> from gbuq_core.tables.plan import Cut, Edits, ReadOptions, ScorePlan
    >>> recipe = TableRecipe(
    ...     source="wine", is_builtin=True, options=ReadOptions(), edits=Edits(),
    ...     target="cultivar", task=None, second="", cut=Cut(members=20),
    ...     plan=ScorePlan(ensemble="independent", n_members=5, n_trees=50, depth=4),
    ... )
    >>> query_of(recipe, "More rows")
    'table=wine&ensemble=independent&trees=50&depth=4&section=More+rows'
    """
    values = {
        **to_values(recipe.plan),
        "table": recipe.source.replace("_", " "),
        "section": section,
        "conformal": recipe.conformal,
    }
    return query_string(KNOBS, values)
