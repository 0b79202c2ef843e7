"""The address of "Your data" with a built-in table, for the lesson."""

from __future__ import annotations

from gbuq_core.lenses.judged import CONFORMAL
from gbuq_core.tables.code import TableRecipe
from pages._ui.knobs import query_string
from pages._ui.your_data.sections import SECTION
from pages._ui.your_data.state import (
    AFTERWARDS,
    AUTOMATIC,
    METHOD,
    SCALE,
    SPLIT,
    TABLE,
    TRAINING,
)

# Those whose choices do not depend on the table.
KNOBS = (TABLE, SPLIT, SCALE, *METHOD, *TRAINING, *AFTERWARDS, SECTION, CONFORMAL)


def query_of(recipe: TableRecipe, section: str) -> str:
    """The part of a link after the question mark that opens a table with its plan, at a section.

    The plan is one of SGLB with a random split on the plain scale; its number of trees and its
    depth are given.

    >>> from gbuq_core.tables.cutting import Cut
    >>> from gbuq_core.tables import ScorePlan
    >>> from gbuq_core.tables.files import ReadOptions
    >>> recipe = TableRecipe(
    ...     source="wine", is_builtin=True, options=ReadOptions(), kinds={}, used={}, missing={},
    ...     target="cultivar", task=None, second="", cut=Cut(members=20),
    ...     plan=ScorePlan(ensemble="independent", n_members=5, n_trees=50, depth=4),
    ... )
    >>> query_of(recipe, "More rows")
    'table=wine&ensemble=independent&trees=50&depth=4&section=More+rows'
    """
    plan = recipe.plan
    values = {
        "table": recipe.source.replace("_", " "),
        "ensemble": plan.ensemble,
        "trees": AUTOMATIC if plan.n_trees is None else plan.n_trees,
        "models": plan.members,
        "depth": AUTOMATIC if plan.depth is None else plan.depth,
        "seed": plan.seed,
        "section": section,
        "conformal": recipe.conformal,
    }
    return query_string(KNOBS, values)
