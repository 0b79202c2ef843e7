"""Text alternatives: they name each method once, and say what the picture shows."""

import numpy as np
import pytest
from scoreboard_parts import made_up_board

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.scoreboard.board import table_of
from gbuq_core.experiments.scoreboard.ranking import rank_methods
from gbuq_core.experiments.scoreboard.words import describe_beside, describe_groups

TABLE = made_up_board().table("sglb")


@pytest.mark.parametrize("name", [one.key for one in TABLE.sets])
@pytest.mark.parametrize("score", ["nll", "rmse", "auroc_knowledge"])
def test_each_judged_method_is_named_by_its_word(name, score):
    said = describe_beside(TABLE, name, score)
    words = {"Better than the paper": "better", "Worse than the paper": "worse",
             "As in the paper": "same"}  # fmt: skip
    for head, word in words.items():
        labels = [
            method.label
            for method in TABLE.methods
            if (beside := TABLE.beside(name, method.key, score)) and beside.word == word
        ]
        assert (head in said) == bool(labels)
        part = said.partition(f"{head}: ")[2].partition(". ")[0]
        assert all(label in part for label in labels)


def test_the_best_is_highest_where_higher_is_better():
    for higher, best in ((True, "b: 2"), (False, "a: 1")):
        table = table_of({"a": {"x": [1.0]}, "b": {"x": [2.0]}}, higher=higher)
        assert f"that of {best}." in describe_beside(table, "x", "score")
    empty = made_up_board(sets=()).table("sglb")
    assert describe_beside(empty, "boston", "nll").endswith("nothing is measured yet.")
    with pytest.raises(InvalidParameter):
        describe_beside(TABLE, "x", "nll")


def test_methods_that_all_differ_are_said_to():
    rng = np.random.default_rng(0)
    numbers = {
        key: {f"s{i}": [base + 0.1 * rng.random()] for i in range(40)}
        for key, base in (("a", 1.0), ("b", 2.0), ("c", 3.0))
    }
    said = describe_groups(rank_methods(table_of(numbers), "score"))
    assert "methods differ" in said
    assert said.endswith("Every method is told apart from the next one.")
