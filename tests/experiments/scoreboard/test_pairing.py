"""Paired tests over splits: a slow t-test, wins turned round, and cases without spread."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student
from scoreboard_parts import made_up_board
from tolerances import CANCELLED, ZERO

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.scoreboard.board import table_of
from gbuq_core.experiments.scoreboard.comparing import BETTER, WORSE, MeanError
from gbuq_core.experiments.scoreboard.differing import count_agreement, list_differences
from gbuq_core.experiments.scoreboard.pairing import (
    LOSS,
    TIE,
    WIN,
    gain_over,
    judge_pair,
    tally,
    word_of_gain,
)

MIRROR = {WIN: LOSS, TIE: TIE, LOSS: WIN}
values = st.lists(st.integers(-20, 20).map(float), min_size=2, max_size=8)


def naive_p(first, second):
    """The two-sided paired t-test, from its textbook formula."""
    gaps = [a - b for a, b in zip(first, second, strict=True)]
    n, mean = len(gaps), sum(gaps) / len(gaps)
    spread = sum((gap - mean) ** 2 for gap in gaps)
    if spread == 0.0:
        return 1.0 if mean == 0.0 else 0.0
    t = mean / math.sqrt(spread / (n - 1) / n)
    return 2.0 * student.sf(abs(t), n - 1)


def pair_of(first, second, higher=False):
    table = table_of({"a": {"one": first}, "b": {"one": second}}, higher=higher)
    return judge_pair(table, "score", "one", "a", "b"), judge_pair(table, "score", "one", "b", "a")


@given(first=values, second=values, higher=st.booleans())
def test_the_test_is_that_of_the_textbook_and_wins_turn_round(first, second, higher):
    n = min(len(first), len(second))
    pair, turned = pair_of(first, second, higher)
    # Whole numbers: sums are exact, and the rest is a few roundings.
    assert pair.p_value == pytest.approx(naive_p(first[:n], second[:n]), rel=CANCELLED, abs=ZERO)
    assert turned.outcome == MIRROR[pair.outcome]
    assert turned.gain.mean == -pair.gain.mean
    assert pair.splits == n
    if pair.outcome == WIN:
        assert (sum(first[:n]) > sum(second[:n])) == higher


def test_equal_numbers_tie_and_a_constant_gap_wins():
    assert pair_of([1.0, 2.0], [1.0, 2.0])[0].outcome == TIE
    assert pair_of([1.0, 2.0], [2.0, 3.0])[0].outcome == WIN
    assert pair_of([1.0, 2.0], [2.0, 3.0], higher=True)[0].outcome == LOSS


def test_a_single_split_tells_nothing():
    assert pair_of([1.0], [2.0, 3.0])[0] is None
    table = table_of({"a": {"one": [1.0]}, "b": {"two": [1.0]}})
    assert tally(table, "score", "a") == ()
    assert gain_over({0: 1.0}, {1: 1.0}, False) is None
    assert word_of_gain(MeanError(1.0, math.nan)) == ""
    assert word_of_gain(MeanError(0.0, 0.0)) == "same"
    assert word_of_gain(MeanError(-1e-9, 0.0)) == "worse"


def test_counts_over_sets():
    low, high, mixed = [1.0, 1.1, 0.9], [2.0, 2.2, 1.9], [1.0, 1.2, 0.85]
    table = table_of({"a": {"x": low, "y": low, "z": high}, "b": {"x": high, "y": mixed, "z": low}})
    (record,) = tally(table, "score", "a")
    assert (record.other, str(record)) == ("b", "1-1-1")
    (turned,) = tally(table, "score", "b")
    assert [record.count(each) for each in (WIN, TIE, LOSS)] == [
        turned.count(each) for each in (LOSS, TIE, WIN)
    ]


def test_the_boards_own_methods_can_be_counted():
    table = made_up_board().table("ibug")
    records = tally(table, "crps", "ibug_cbu", ["ngboost", "virtual_sglb", "ibug"])
    assert [each.other for each in records] == ["ngboost", "virtual_sglb", "ibug"]
    assert all(len(each.pairs) == len(table.sets) for each in records)
    with pytest.raises(InvalidParameter, match="No method wins by"):
        tally(table, "sharpness", "ibug_cbu")
    with pytest.raises(InvalidParameter, match="no method 'x'"):
        tally(table, "crps", "x")


BOARD = made_up_board(findings=[("Why", "Because.", ["sglb/boston/*/*"])])


def test_differences_are_those_that_the_tables_judge_so():
    differences = list_differences(BOARD)
    expected = {
        (table.key, *where)
        for table in BOARD.tables
        for where in table.published
        if (beside := table.beside(*where)) is not None and beside.word in (BETTER, WORSE)
    }
    assert {tuple(each.place) for each in differences} == expected
    assert len(differences) == len(expected) > 10
    words = [each.beside.word for each in differences]
    assert words == sorted(words, reverse=True)  # worse ones first
    for each in differences:
        assert bool(each.findings) == (each.place[:2] == ("sglb", "boston"))
    assert {each.place.table for each in list_differences(BOARD, "ibug")} == {"ibug"}


def test_counts_add_up():
    agreements = {each.table: each for each in count_agreement(BOARD)}
    differing = list_differences(BOARD)
    for table in BOARD.tables:
        here = [each.beside.word for each in differing if each.place.table == table.key]
        counts = agreements[table.key]
        assert (counts.better, counts.worse) == (here.count(BETTER), here.count(WORSE))
        judged = [where for where in table.published if (b := table.beside(*where)) and b.word]
        assert counts.judged == len(judged)
    assert agreements["cyclical"].judged == 0  # the paper's set is not here
