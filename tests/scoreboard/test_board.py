"""The scoreboard's numbers and what is read off them."""

import math

import pytest

from gbuq_core.errors import InvalidParameter
from gbuq_core.scoreboard.board import (
    MEASURES,
    TASKS,
    best_for_their_time,
    method_label,
    numbers_for,
    purposes_for,
    rank_methods,
    read_board,
)

QUESTIONS = [(task, purpose) for task in TASKS for purpose in purposes_for(task)]


def test_every_number_is_one_of_a_method_that_has_a_name():
    places = [(each.task, each.set, each.method, each.measure) for each in read_board()]
    assert len({*places}) == len(places)
    labels = {each.method: method_label(each.method) for each in read_board()}
    assert len({*labels.values()}) == len(labels)
    for number in read_board():
        assert number.task in TASKS
        assert number.measure in MEASURES
        assert number.rows > 0
        assert math.isfinite(number.mean)
        assert math.isfinite(number.seconds)
        assert number.seconds > 0.0
        # A single split has no standard error.
        assert math.isfinite(number.standard_error) == (number.splits > 1)


@pytest.mark.parametrize(
    ("task", "purpose", "table", "method", "mean", "error"),
    [
        ("regression", "intervals", "concrete", "stacked", 1.72, 0.236),
        ("regression", "errors", "boston", "knn", 47.5, 3.87),
        ("regression", "foreign", "energy", "gp", 1.0, 0.0),
        ("regression", "rows", "wine", "ibug:catboost", 0.325, 0.0215),
        ("classification", "intervals", "digits", "forests", 0.32, 0.00562),
        ("classification", "errors", "breast_cancer", "stacked", 87.4, 1.23),
        ("classification", "foreign", "wine_cultivars", "sglb", 0.897, 0.01),
    ],
)
def test_each_question_has_its_numbers(task, purpose, table, method, mean, error):
    numbers = {(each.set, each.method): each for each in numbers_for(task, purpose)}
    number = numbers[table, method]
    assert number.mean == pytest.approx(mean, rel=5e-3)  # as pages write it: three digits
    assert number.standard_error == pytest.approx(error, rel=5e-3)


@pytest.mark.parametrize(("task", "purpose"), QUESTIONS)
@pytest.mark.parametrize("rows", [1, 100, 1000, 10**9])
def test_ranks_are_those_of_the_tables_that_count(task, purpose, rows):
    ranking = rank_methods(task, purpose, rows)
    ranks = [each.mean_rank for each in ranking.methods]
    assert ranks == sorted(ranks)
    # Ties share their ranks, so that the mean of all ranks is that of 1 to n.
    assert sum(ranks) / len(ranks) == pytest.approx((len(ranks) + 1) / 2, rel=1e-12)  # rounding
    assert {*ranking.sets} <= {each.set for each in numbers_for(task, purpose)}


def test_no_quicker_method_is_as_good_as_one_that_is_best_for_its_time():
    for task, purpose in QUESTIONS:
        numbers = numbers_for(task, purpose)
        higher = MEASURES[numbers[0].measure].higher
        for table in {each.set for each in numbers}:
            here = [each for each in numbers if each.set == table]
            best = best_for_their_time(here)
            for number in here:
                beaten = any(
                    other.seconds <= number.seconds
                    and (other.mean >= number.mean if higher else other.mean <= number.mean)
                    for other in here
                    if other is not number
                )
                assert beaten != (number in best)


@pytest.mark.parametrize(("task", "purpose"), [("classification", "rows"), ("mode", "errors")])
def test_a_question_without_numbers_is_refused(task, purpose):
    with pytest.raises(InvalidParameter, match="must be one of"):
        rank_methods(task, purpose, 1000)
