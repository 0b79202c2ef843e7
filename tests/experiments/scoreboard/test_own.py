"""The user's own table as one more set: its numbers, its errors, and nothing else changed."""

import math

import pytest
from scoreboard_parts import made_up_board

from gbuq_core.errors import InvalidData
from gbuq_core.experiments.scoreboard.choosing import choose_method
from gbuq_core.experiments.scoreboard.comparing import MeanError
from gbuq_core.experiments.scoreboard.fronts import find_front
from gbuq_core.experiments.scoreboard.own import OWN_SET, join_own
from gbuq_core.experiments.scoreboard.ranking import rank_methods
from gbuq_core.tables.comparing import (
    CLASS_SCORES,
    REGRESSION_SCORES,
    ComparedMethod,
    Estimate,
    MethodComparison,
)

BOARD = made_up_board()


def compared(scores, **values):
    """A comparison of methods, by key their first score's value; None for one that failed."""
    methods = [
        ComparedMethod(
            key=key, label=key.upper(), differences={}, seconds=float(i + 1),
            error="" if value is not None else "It failed.",
            scores={} if value is None else {
                score.key: Estimate(value + j, 0.1, 0.0, 1.0) for j, score in enumerate(scores)
            },
        )
        for i, (key, value) in enumerate(values.items())
    ]  # fmt: skip
    shown = scores if any(method.scores for method in methods) else ()
    return MethodComparison(scores=shown, methods=tuple(methods), best={}, reference={}, n_rows=500)


def test_a_regression_joins_the_table_of_all_methods():
    own = join_own(BOARD, compared(REGRESSION_SCORES, ibug=1.0, sglb=2.0, gp=None))
    table = own.table("ours")
    assert table.find_set(OWN_SET).rows == 500
    assert table.find_set(OWN_SET).label == "your table"
    places = {score.key: i for i, score in enumerate(REGRESSION_SCORES)}
    for ours, theirs in {"log_score": "nll", "crps": "crps", "rmse": "rmse", "prr_total": "prr",
                         "coverage_0.9": "coverage"}.items():  # fmt: skip
        assert table.ours(OWN_SET, "ibug", ours) == MeanError(1.0 + places[theirs], 0.1)
    assert table.results_of(OWN_SET, "gp") == ()
    assert table.seconds(OWN_SET, "sglb") == 2.0
    # The other sets and tables are as they were, and so is the board that was given.
    assert [t for t in own.tables if t.key != "ours"] == [
        t for t in BOARD.tables if t.key != "ours"
    ]
    assert [r for r in table.results if r.set != OWN_SET] == list(BOARD.table("ours").results)
    assert OWN_SET not in [s.key for s in BOARD.table("ours").sets]
    front = find_front(table, "crps", OWN_SET)
    assert [point.method.key for point in front.points] == ["ibug", "sglb"]
    ranking = rank_methods(table, "crps", ["ibug", "sglb"], [OWN_SET])
    assert [each.key for each in ranking.methods] == ["ibug", "sglb"]
    # Four methods are not half of all, so that a board's rankings keep their methods.
    assert OWN_SET not in [s.key for s in rank_methods(table, "crps").sets]


def test_classes_join_it_in_its_own_units():
    own = join_own(BOARD, compared(CLASS_SCORES, sglb=0.25, isolation=0.5))
    table = own.table("ours")
    assert table.find_set(OWN_SET).task == "classification"
    at = [score.key for score in CLASS_SCORES].index("error_rate")
    assert table.ours(OWN_SET, "sglb", "error") == MeanError(100.0 * (0.25 + at), 10.0)
    assert table.find_method("isolation").label == "ISOLATION"  # the table had no such method


def test_joining_again_replaces_and_a_missing_number_is_left_out():
    once = join_own(BOARD, compared(REGRESSION_SCORES, ibug=1.0, sglb=2.0))
    again = join_own(once, compared(REGRESSION_SCORES, knn=math.nan, gp=3.0))
    table = again.table("ours")
    assert [s.key for s in table.sets].count(OWN_SET) == 1
    assert table.results_of(OWN_SET, "ibug") == ()
    assert table.ours(OWN_SET, "knn", "crps") is None
    assert table.ours(OWN_SET, "gp", "log_score").mean == 3.0


def test_nothing_to_join_is_said():
    with pytest.raises(InvalidData, match="nothing to compare"):
        join_own(BOARD, compared(REGRESSION_SCORES, ibug=None))


def test_the_chooser_works_on_a_board_with_the_users_table():
    own = join_own(BOARD, compared(REGRESSION_SCORES, ibug=1.0, sglb=2.0, knn=3.0, gp=4.0))
    assert choose_method(own, "regression", 500, "intervals").method is not None
