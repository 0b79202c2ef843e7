"""The tables that are there without a file."""

import pytest

from gbuq_core.errors import InvalidParameter
from gbuq_core.tables import BUILTIN_TABLES, ScorePlan, infer_task, load_builtin, score_table

EXPECTED = {"diabetes": (442, 11, 1), "wine": (178, 14, 0), "breast_cancer": (569, 31, 0)}


@pytest.mark.parametrize("about", BUILTIN_TABLES, ids=lambda about: about.key)
def test_built_in_tables(about):
    loaded = load_builtin(about.key)
    n_rows, n_columns, n_categories = EXPECTED[about.key]
    assert loaded.table.n_rows == n_rows
    assert len(loaded.schema.columns) == n_columns
    features = [column for column in loaded.schema.columns if column.name != about.target]
    assert all(column.used for column in features)
    assert sum(column.kind == "category" for column in features) == n_categories
    assert infer_task(loaded.table, loaded.schema, about.target)[0] == about.task
    assert loaded.schema.notices == ()


def test_a_built_in_table_can_be_scored():
    loaded = load_builtin("wine")
    plan = ScorePlan(ensemble="virtual", n_trees=40, depth=3, learning_rate=0.2)
    scored = score_table(loaded.table, "cultivar", schema=loaded.schema, plan=plan)
    assert scored.scores.error_rate < 0.1


def test_unknown_tables_are_refused():
    with pytest.raises(InvalidParameter, match="key must be one of"):
        load_builtin("iris")
