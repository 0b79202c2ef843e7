"""The chooser: it follows its rule, whatever the board says, and says so where it cannot."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scoreboard_parts import made_up_board, with_scores, with_table

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.scoreboard.board import read_board
from gbuq_core.experiments.scoreboard.choosing import (
    NEAR,
    PURPOSES,
    TASKS,
    choose_method,
)
from gbuq_core.methods import METHODS

FULL = made_up_board()


@pytest.mark.parametrize("rows", [50, 1000, 10**6])
@pytest.mark.parametrize("purpose", PURPOSES)
@pytest.mark.parametrize("task", TASKS)
def test_every_answer_is_a_method_that_can_do_it_and_its_lines(task, purpose, rows):
    choice = choose_method(FULL, task, rows, purpose)
    if choice.method is None:
        assert (task, purpose) == ("classification", "rows")
        assert choice.lines == choice.sets == choice.cautions == ()
        return
    record = METHODS[choice.method.record]
    assert task in record.tasks
    yields = record.yields if task == "regression" else record.classes_yield
    assert set(PURPOSES[purpose].needs) <= set(yields)
    assert choice.lines[0].method == choice.method
    assert [line.mean_rank for line in choice.lines] == sorted(x.mean_rank for x in choice.lines)
    table = FULL.table(choice.table)
    for line in choice.lines:
        expected = [table.ours(s.key, line.method.key, choice.score.key) for s in choice.sets]
        assert list(line.scores) == expected
    assert choice.method.label in choice.why
    assert all(s.task == task for s in choice.sets)


@given(rows=st.integers(1, 10**7))
def test_the_sets_that_count_are_the_near_ones(rows):
    choice = choose_method(FULL, "regression", rows, "intervals")
    sizes = {s.key: s.rows for s in FULL.table(choice.table).sets_with("crps")}
    ratio = {key: max(rows / size, size / rows) for key, size in sizes.items()}
    near = {key for key in ratio if ratio[key] <= NEAR}
    nearest = {key for key in ratio if ratio[key] == min(ratio.values())}
    assert {s.key for s in choice.sets} == (near or nearest)
    warned = any("compare methods on your own table" in each for each in choice.cautions)
    assert warned == (not near)


@pytest.mark.parametrize("winner", ["ibug", "gp", "macau_linear"])
def test_the_answer_is_computed_from_the_board(winner):
    board = with_scores(
        FULL, "ours", lambda result: {"crps": 0.01} if result.method == winner else {}
    )
    choice = choose_method(board, "regression", 1000, "intervals")
    assert choice.method.key == winner
    assert choice.lines[0].mean_rank == 1.0
    # A rival that is as good to the last digit is said to be.
    both = with_scores(
        board, "ours", lambda result: {"crps": 0.01} if result.method == "knn" else {}
    )
    choice = choose_method(both, "regression", 1000, "intervals")
    assert {choice.method.key, choice.as_good[0].key} == {winner, "knn"}


def test_the_quicker_of_two_equal_methods_is_named():
    board = with_scores(
        FULL, "ours", lambda r: {"crps": 0.01} if r.method in ("ibug", "knn") else {}
    )
    table = board.table("ours")
    for quick in ("ibug", "knn"):
        results = tuple(
            r._replace(seconds=0.001 if r.method == quick else 5.0) for r in table.results
        )
        timed = with_table(board, replace(table, results=results))
        choice = choose_method(timed, "regression", 1000, "intervals")
        assert choice.method.key == quick


def test_a_board_without_such_cells_says_so():
    empty = made_up_board(sets=("digits",))
    choice = choose_method(empty, "regression", 1000, "intervals")
    assert choice.method is None
    assert "no regression cell yet" in choice.why
    choice = choose_method(empty, "classification", 1000, "foreign")
    assert choice.method is not None
    assert "Only 1 set of the board can tell." in choice.cautions


def test_single_splits_are_a_caution():
    protein = made_up_board(sets=("protein",))
    table = protein.table("ours")
    first = replace(table, results=tuple(r for r in table.results if r.split == 0))
    board = replace(protein, tables=(first,))
    choice = choose_method(board, "regression", 2000, "intervals")
    assert "Some numbers come from one split and have no standard error." in choice.cautions
    assert choice.as_good == ()


def test_other_questions_are_refused():
    with pytest.raises(InvalidParameter, match="task"):
        choose_method(read_board(), "cooking", 10, "rows")
    with pytest.raises(InvalidParameter, match="purpose"):
        choose_method(read_board(), "regression", 10, "cooking")
