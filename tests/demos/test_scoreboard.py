"""The lesson on reading a scoreboard: what it counts, against what is known in closed form."""

import numpy as np
import pytest
from tolerances import SAME_SUM, ZERO

from demos.scoreboard import simulate
from demos.scoreboard.simulate import (
    COUNTS,
    LOSSES,
    N_PAIRS,
    N_REPEATS,
    N_SETS,
    SET_COUNTS,
    SPLITS,
    SPREADS,
    TEST_ROWS,
    THREE,
    compare_many,
    flag_equals,
    hide_sizes,
    rank_equals,
    see_difference,
    time_sets,
    tune_neighbours,
)
from gbuq_core.errors import InvalidData
from gbuq_core.experiments.scoreboard.comparing import share_by_chance
from tests.scoreboard_parts import made_up_board

SIGMAS = 4.0  # of a share: the seed is fixed, and a wrong formula is off by far more


def near(share, truth, n):
    return abs(share - truth) <= SIGMAS * np.sqrt(truth * (1.0 - truth) / n)


def test_equal_pairs_are_flagged_as_often_as_students_t_says():
    flagged = flag_equals()
    for at, n in enumerate(SPLITS):
        assert near(flagged.two_errors[at], share_by_chance(n), N_PAIRS)
        assert near(flagged.student[at], 0.05, N_PAIRS)


def test_pairs_do_not_care_how_much_splits_differ_and_means_do():
    seen = see_difference()
    # Adding a spread to both changes the differences by rounding only.
    assert np.ptp(seen.paired) < 0.001
    assert seen.unpaired[0] > seen.paired[0] > 0.9
    assert seen.unpaired[-1] < 0.05
    gaps = seen.worse - seen.better
    assert np.allclose(gaps, gaps[0], atol=ZERO)
    assert seen.better.shape == (len(SPREADS), THREE)


def test_the_better_rank_can_have_the_larger_mean():
    hidden = hide_sizes()
    assert (hidden.ranks[:, 0] < hidden.ranks[:, 1]).all()
    assert np.ptp(hidden.ranks[1:, 0]) == 0.0
    assert hidden.mean[0] < 1.0 < hidden.mean[-1]
    assert hidden.mean[-1] == pytest.approx(1.0 + (LOSSES[-1] - 5 * 0.01) / N_SETS, rel=SAME_SUM)


def test_nemenyi_allows_for_what_lots_give():
    """The studentized range is exact for many sets; for six it is a little too wide."""
    spread = rank_equals()
    at = SET_COUNTS.index(N_SETS)
    # A quantile of 2,000 boards has an error of some hundredths of a rank, and ranks are coarse.
    assert np.abs(spread.most - spread.critical)[at:].max() < 0.3
    assert spread.critical[-1] == pytest.approx(spread.most[-1], rel=0.05)
    assert (spread.median < spread.most).all()


def test_one_of_many_differs_by_chance_as_often_as_powers_say():
    boards = compare_many()
    for m in (1, 20, 100):
        at = COUNTS.index(m)
        assert near(boards.student[at], 1.0 - 0.95**m, N_REPEATS)
        assert near(boards.holm[at], 1.0 - (1.0 - 0.05 / m) ** m, N_REPEATS)
        chance = share_by_chance(THREE)
        assert near(boards.two_errors[at], 1.0 - (1.0 - chance) ** m, N_REPEATS)


def test_test_rows_that_choose_flatter_and_a_default_is_beaten():
    tuned = tune_neighbours()
    assert tuned.leaked[0] < 0.5 < tuned.true[0]  # below the noise, which nothing can beat
    assert (tuned.leaked < tuned.true).all()
    assert tuned.true[0] - tuned.leaked[0] > tuned.true[-1] - tuned.leaked[-1]
    assert (tuned.honest < tuned.default).all()
    assert tuned.leaked.shape == (len(TEST_ROWS),)


def test_the_quickest_that_is_as_good_is_no_slower_than_the_best():
    board = made_up_board()
    for each in time_sets(board, "ours", "crps"):
        assert each.quickest.seconds <= each.best.seconds
        assert each.best.score.mean == min(point.score.mean for point in each.points)
    higher = time_sets(board, "soft_trees", "log_likelihood")
    assert all(each.best.score.mean == max(p.score.mean for p in each.points) for each in higher)
    assert time_sets(made_up_board(sets=()), "ours", "crps") == ()


def test_a_board_without_results_is_one_sentence(monkeypatch):
    monkeypatch.setattr(simulate, "read_board", lambda: made_up_board(sets=()))
    simulate.time_stored.cache_clear()
    with pytest.raises(InvalidData, match="no results yet"):
        simulate.time_stored()
