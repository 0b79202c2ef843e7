"""The Pareto front: a slow twin, and what a beaten method changes (nothing)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scoreboard_parts import made_up_board

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.scoreboard.board import table_of
from gbuq_core.experiments.scoreboard.fronts import find_front, on_front

OURS = made_up_board().table("ours")
points = st.lists(
    st.tuples(st.integers(1, 6).map(float), st.integers(0, 6).map(float)), min_size=1, max_size=12
)


def naive_front(points):
    return [
        not any(
            s <= seconds and v <= value and (s < seconds or v < value) for s, v in points
        )
        for seconds, value in points
    ]  # fmt: skip


@given(timed=points)
def test_the_front_is_that_of_the_slow_twin(timed):
    seconds, losses = np.array(timed).T
    assert on_front(seconds, losses).tolist() == naive_front(timed)
    assert on_front(seconds, losses).any()


@given(timed=points, slower=st.floats(0.0, 3.0), worse=st.floats(0.0, 3.0), at=st.integers(0, 11))
def test_a_beaten_method_changes_no_front(timed, slower, worse, at):
    seconds, losses = np.array(timed).T
    k = at % len(timed)
    if slower + worse == 0.0:
        return
    more = on_front(np.r_[seconds, seconds[k] + slower], np.r_[losses, losses[k] + worse])
    if seconds[k] + slower > seconds[k] or losses[k] + worse > losses[k]:  # no rounding to nothing
        assert not more[-1]
        assert more[:-1].tolist() == on_front(seconds, losses).tolist()


@pytest.mark.parametrize("higher", [False, True])
def test_the_best_at_equal_time(higher):
    sign = -1.0 if higher else 1.0
    table = table_of(
        {
            "quick": {"one": [sign * 3.0]},
            "beaten": {"one": [sign * 4.0]},
            "slow": {"one": [sign * 1.0]},
        },
        higher=higher,
        seconds={"quick": 1.0, "beaten": 2.0, "slow": 10.0},
    )
    front = find_front(table, "score", "one")
    assert [point.method.key for point in front.points] == ["quick", "beaten", "slow"]
    assert [point.method.key for point in front.best] == ["quick", "slow"]
    assert front.within(0.5) is None
    assert front.within(5.0).method.key == "quick"
    assert front.within(10.0).method.key == "slow"
    assert "beaten" not in front.words
    assert "1 s" in front.words


@given(budget=st.floats(0.0, 30.0))
def test_no_method_within_the_time_is_better(budget):
    front = find_front(OURS, "crps", "boston")
    best = front.within(budget)
    affordable = [point for point in front.points if point.seconds <= budget]
    if best is None:
        assert affordable == []
    else:
        assert best in affordable
        assert best.score.mean == min(point.score.mean for point in affordable)


def test_what_is_unknown_is_refused_and_what_is_not_there_is_empty():
    table = made_up_board(sets=("boston",)).table("ours")
    with pytest.raises(InvalidParameter, match="no best value"):
        find_front(table, "coverage_0.9", "boston")
    with pytest.raises(InvalidParameter, match="no set 'x'"):
        find_front(table, "crps", "x")
    assert find_front(table, "crps", "power").points == ()
    assert find_front(table, "crps", "power").within(1.0) is None
    only = find_front(table, "crps", "boston", ["ibug", "sglb"])
    assert {point.method.key for point in only.points} == {"ibug", "sglb"}
