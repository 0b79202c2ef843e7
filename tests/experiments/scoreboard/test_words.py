"""Text alternatives: they name each method once, and say what the picture shows."""

import numpy as np
import pytest
from scoreboard_parts import made_up_board

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.scoreboard.board import table_of
from gbuq_core.experiments.scoreboard.numbers import describe_numbers, find_number
from gbuq_core.experiments.scoreboard.ranking import rank_methods
from gbuq_core.experiments.scoreboard.words import describe_groups

TABLE = made_up_board().table("sglb")


def test_each_number_is_named_with_the_papers_and_its_word():
    numbers = [find_number(TABLE, "boston", method.key, "nll") for method in TABLE.methods]
    said = describe_numbers(numbers, "NLL")
    assert said.startswith("NLL on boston: ")
    parts = dict(zip(numbers, said.partition(": ")[2].rstrip(".").split("; "), strict=True))
    for one, part in parts.items():
        assert part.startswith(one.method.label)
        assert ("not computed yet" in part) == np.isnan(one.ours)
        assert ("paper" in part) == np.isfinite(one.theirs)
        assert part.endswith(f"({one.word})") or not one.word
    assert {"better", "worse", "same"} & {one.word for one in numbers}
    empty = made_up_board(sets=()).table("sglb")
    assert find_number(empty, "boston", "sglb", "nll").said == "not computed yet"
    with pytest.raises(InvalidParameter):
        find_number(TABLE, "x", "sglb", "nll")


def test_methods_that_all_differ_are_said_to():
    rng = np.random.default_rng(0)
    numbers = {
        key: {f"s{i}": [base + 0.1 * rng.random()] for i in range(40)}
        for key, base in (("a", 1.0), ("b", 2.0), ("c", 3.0))
    }
    said = describe_groups(rank_methods(table_of(numbers), "score"))
    assert "methods differ" in said
    assert said.endswith("Every method is told apart from the next one.")
