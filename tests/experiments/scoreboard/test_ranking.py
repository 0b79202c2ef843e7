"""Ranks, Friedman and Nemenyi: slow twins, scikit-posthocs, and what permutations leave alone."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import friedmanchisquare
from scoreboard_parts import made_up_board
from tolerances import CANCELLED, SAME_SUM, ZERO

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.experiments.scoreboard.board import table_of
from gbuq_core.experiments.scoreboard.ranking import (
    LEVEL,
    critical_difference,
    friedman,
    group_ranks,
    nemenyi,
    rank_columns,
    rank_methods,
)


def naive_ranks(column, higher):
    """One more than how many are better, and half of how many others are as good."""
    return [
        1.0
        + sum((other > value) if higher else (other < value) for other in column)
        + 0.5 * (sum(other == value for other in column) - 1)
        for value in column
    ]


def naive_groups(mean_ranks, difference):
    """All runs of methods in which the ends are closer, but those within a longer one."""
    n = len(mean_ranks)
    runs = [
        tuple(range(a, b + 1))
        for a, b in itertools.combinations(range(n), 2)
        if mean_ranks[b] - mean_ranks[a] < difference
    ]
    return [run for run in runs if not any(set(run) < set(other) for other in runs)]


few = st.integers(0, 4).map(float)  # few values, so that there are ties
matrices = (
    st.integers(2, 6)
    .flatmap(
        lambda k: st.integers(2, 6).flatmap(
            lambda n: st.lists(st.lists(few, min_size=n, max_size=n), min_size=k, max_size=k)
        )
    )
    .map(np.array)
)


@given(means=matrices, higher=st.booleans())
def test_ranks_are_those_of_the_slow_twin_and_sum_to_the_same(means, higher):
    ranks = rank_columns(means, higher)
    naive = np.column_stack([naive_ranks(column, higher) for column in means.T.tolist()])
    np.testing.assert_array_equal(ranks, naive)  # halves are exact
    k = len(means)
    np.testing.assert_array_equal(ranks.sum(axis=0), k * (k + 1) / 2)


@given(means=matrices, seed=st.integers(0, 99))
def test_the_order_of_methods_and_sets_changes_nothing(means, seed):
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(means.shape[0]), rng.permutation(means.shape[1])
    ranks = rank_columns(means, False)
    moved = rank_columns(means[np.ix_(rows, columns)], False)
    np.testing.assert_array_equal(moved, ranks[np.ix_(rows, columns)])
    # Sums in another order differ by roundings of numbers up to some hundreds.
    np.testing.assert_allclose(friedman(moved), friedman(ranks), rtol=CANCELLED, atol=ZERO)


@pytest.mark.parity
@pytest.mark.parametrize("seed", range(3))
def test_nemenyi_is_that_of_scikit_posthocs(seed):
    from scikit_posthocs import posthoc_nemenyi_friedman

    rng = np.random.default_rng(seed)
    k, n = rng.integers(3, 6), rng.integers(4, 20)
    means = rng.normal(size=(k, n)) + 0.6 * np.arange(k)[:, None]
    if seed % 2:
        means = means.round()  # with ties
    ranks = rank_columns(means, False)
    theirs = posthoc_nemenyi_friedman(pd.DataFrame(means.T)).to_numpy()
    ours = nemenyi(ranks)
    # Both integrate the same density numerically, to about eight digits.
    np.testing.assert_allclose(ours, theirs, atol=1e-7)
    mean_ranks = ranks.mean(axis=1)
    gaps = np.abs(mean_ranks[:, None] - mean_ranks)
    # What the critical difference tells apart is what has a p value below the level.
    np.testing.assert_array_equal(gaps > critical_difference(int(k), int(n)), ours < LEVEL)


@pytest.mark.parity
def test_groups_are_the_bars_of_scikit_posthocs_cliques():
    """Two methods share one of our bars exactly where scikit-posthocs calls them not different."""
    from scikit_posthocs import posthoc_nemenyi_friedman, sign_array

    rng = np.random.default_rng(3)
    means = rng.normal(size=(6, 12)) + np.arange(6)[:, None]
    ranks = rank_columns(means, False)
    ranks = ranks[np.argsort(ranks.mean(axis=1), kind="stable")]
    groups = group_ranks(ranks.mean(axis=1), critical_difference(6, 12))
    p_values = posthoc_nemenyi_friedman(pd.DataFrame(ranks.T))
    different = sign_array(p_values, alpha=LEVEL) == 1
    for a, b in itertools.combinations(range(6), 2):
        together = any(a in group and b in group for group in groups)
        assert together == (not different[a, b]), (a, b)
    assert any(different[a, b] for a, b in itertools.combinations(range(6), 2))


def test_critical_differences_are_those_of_the_table_in_print():
    # Demšar (2006), table 5(a): two-tailed Nemenyi at 5 %, q / sqrt(2) to three digits.
    printed = {2: 1.960, 3: 2.343, 4: 2.569, 5: 2.728, 6: 2.850, 7: 2.949, 8: 3.031, 9: 3.102,
               10: 3.164}  # fmt: skip
    for k, q in printed.items():
        factor = critical_difference(k, 7) / math.sqrt(k * (k + 1) / (6.0 * 7))
        assert factor == pytest.approx(q, abs=1e-3)  # it cuts digits off
    assert math.isnan(critical_difference(1, 7))
    assert math.isnan(critical_difference(3, 1))


def test_friedman_is_scipys_on_the_numbers_themselves():
    means = np.random.default_rng(1).normal(size=(4, 9))
    expected = friedmanchisquare(*means)
    assert friedman(rank_columns(means, False)) == pytest.approx(tuple(expected), rel=SAME_SUM)
    for ranks in (np.ones((2, 5)), np.ones((4, 1)), np.full((3, 5), 2.0)):
        assert all(map(math.isnan, friedman(ranks)))


@given(
    ranks=st.lists(st.floats(1.0, 9.0), min_size=1, max_size=8).map(sorted),
    difference=st.floats(0.01, 9.0),
)
def test_groups_are_those_of_the_slow_twin(ranks, difference):
    # A gap that equals the difference but for rounding may fall on either side.
    gaps = [b - a for a, b in itertools.combinations(ranks, 2)]
    if any(abs(gap - difference) < 1e-9 for gap in gaps):
        return
    groups = group_ranks(np.array(ranks), difference)
    assert groups == naive_groups(ranks, difference)


def test_without_a_critical_difference_nobody_is_told_apart():
    assert group_ranks(np.array([1.0, 2.0, 3.0]), math.nan) == [(0, 1, 2)]
    assert group_ranks(np.array([1.0]), math.nan) == []


def numbers(**methods):
    return {
        key: {name: np.atleast_1d(values).tolist() for name, values in sets.items()}
        for key, sets in methods.items()
    }


def test_only_methods_with_all_sets_are_ranked_and_the_rest_is_said():
    table = table_of(
        numbers(
            a={"one": 1, "two": 1, "three": 1},
            b={"one": 2, "two": 2},
            c={"one": 0},
            d={"one": 3, "two": 3},
        )
    )
    ranking = rank_methods(table, "score")
    assert [each.key for each in ranking.sets] == ["one", "two"]
    assert [each.key for each in ranking.methods] == ["a", "b", "d"]
    assert ranking.left_out == (
        "The set three does not count: 1 of 4 methods have it.",
        "c is not ranked: it has no result on two.",
    )
    assert "Two" not in ranking.words
    ranking = rank_methods(table, "score", ["a", "c"], ["one"])
    assert [each.key for each in ranking.methods] == ["c", "a"]
    assert ranking.left_out == ()
    assert math.isnan(ranking.p_value)
    assert math.isnan(ranking.critical_difference)
    with pytest.raises(InvalidData, match=r"choose fewer sets\.$"):
        rank_methods(table, "score", ["c"], ["two"])


def test_means_are_over_the_splits_that_all_methods_have():
    table = table_of(numbers(a={"one": [1, 1, 90]}, b={"one": [2, 2]}))
    ranking = rank_methods(table, "score")
    assert ranking.means.ravel().tolist() == [1.0, 2.0]
    assert [each.key for each in ranking.methods] == ["a", "b"]


def test_higher_scores_rank_first_where_they_are_better():
    table = table_of(numbers(a={"one": 1, "two": 1}, b={"one": 2, "two": 2}), higher=True)
    assert [each.key for each in rank_methods(table, "score").methods] == ["b", "a"]


def test_a_score_that_nobody_wins_by_is_refused():
    table = made_up_board().table("ours")
    with pytest.raises(InvalidParameter, match="neither low nor high"):
        rank_methods(table, "coverage_0.9")
    with pytest.raises(InvalidParameter, match="no method 'x'"):
        rank_methods(table, "crps", ["x"])


@pytest.mark.parametrize(("key", "score"), [("ours", "crps"), ("sglb", "nll"), ("ibug", "crps")])
def test_the_boards_own_tables_can_be_ranked(key, score):
    ranking = rank_methods(made_up_board().table(key), score)
    k, n = ranking.ranks.shape
    assert (k, n) == (len(ranking.methods), len(ranking.sets))
    assert (np.diff(ranking.mean_ranks) >= 0).all()
    assert ranking.mean_ranks.sum() == pytest.approx(k * (k + 1) / 2, rel=SAME_SUM)
    assert set().union(*ranking.groups) <= {method.key for method in ranking.methods}
    assert ranking.words.startswith("Mean ranks by ")
    assert f"{n} sets" in ranking.words
