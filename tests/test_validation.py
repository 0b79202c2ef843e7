"""Checks of arguments: what passes, what does not, and that the sentence names the culprit."""

import math

import numpy as np
import pytest

from gbuq_core.array_checks import check_array, check_same_length
from gbuq_core.errors import GbuqError, InvalidData, InvalidParameter
from gbuq_core.validation import check_choice, check_number


def sentence(excinfo):
    message = str(excinfo.value)
    assert message.endswith(".")
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("value", "integer", "expected"),
    [(3, True, 3), (np.int64(3), True, 3), (0.5, False, 0.5), (np.float32(0.5), False, 0.5)],
)
def test_numbers_in_range_come_back_as_plain_numbers(value, integer, expected):
    number = check_number("depth", value, 0, 10, integer=integer)
    assert number == expected
    assert type(number) is (int if integer else float)


@pytest.mark.parametrize(
    ("value", "options"),
    [
        (0, {"integer": True}),
        (13, {"integer": True}),
        (2.5, {"integer": True}),
        ("6", {"integer": True}),
        (True, {"integer": True}),
        (None, {}),
        (math.nan, {}),
        (math.inf, {}),
        (1, {"low_open": True}),
        (np.array([2.0, 3.0]), {}),
    ],
)
def test_other_numbers_are_refused_by_name(value, options):
    with pytest.raises(InvalidParameter) as excinfo:
        check_number("depth", value, 1, 12, **options)
    assert sentence(excinfo).startswith("depth must be")


def test_both_ends_of_a_closed_range_belong_to_it():
    assert check_number("share", 0, 0, 1) == 0.0
    assert check_number("share", 1, 0, 1) == 1.0


def test_a_range_without_upper_end_takes_every_number_but_nan():
    assert check_number("temperature", 1e300, 0) == 1e300
    assert check_number("temperature", math.inf, 0) == math.inf
    with pytest.raises(InvalidParameter):
        check_number("temperature", math.nan, 0)


def test_a_whole_number_beyond_all_floats_is_out_of_range():
    with pytest.raises(InvalidParameter):
        check_number("share", 10**400, 0, 1)


@pytest.mark.parametrize("value", ["catbost", None, 3, ["numba"], ""])
def test_choices_list_what_is_possible(value):
    with pytest.raises(InvalidParameter) as excinfo:
        check_choice("engine", value, ("numba", "catboost"))
    assert "'numba', 'catboost'" in sentence(excinfo)


def test_a_choice_comes_back():
    assert check_choice("engine", "numba", ("numba", "catboost")) == "numba"


@pytest.mark.parametrize(
    ("values", "part"),
    [
        ([[1.0, 2.0]], "one axis"),
        ([], "must not be empty"),
        ([1.0, math.nan], "finite"),
        ([1.0, math.inf], "finite"),
        (["a", "b"], "numbers"),
        ([-1.0, 1.0], "at least 0"),
        (None, "one axis"),
    ],
)
def test_arrays_are_refused_by_name(values, part):
    with pytest.raises(InvalidData) as excinfo:
        check_array("scale", values, 1, low=0)
    message = sentence(excinfo)
    assert message.startswith("scale must")
    assert part in message


def test_a_float_array_is_not_copied():
    values = np.arange(3.0)
    assert check_array("y", values, 1) is values


def test_lengths_are_compared_along_the_last_axis():
    check_same_length(y=np.zeros(3), loc=np.zeros((2, 3)))
    with pytest.raises(InvalidData) as excinfo:
        check_same_length(y=np.zeros(3), loc=np.zeros((3, 2)))
    assert "y has 3, loc has 2" in sentence(excinfo)


def test_our_errors_are_value_errors():
    # scikit-learn's checks of estimators expect ValueError for bad input.
    assert issubclass(GbuqError, ValueError)
    assert issubclass(InvalidParameter, GbuqError)
    assert issubclass(InvalidData, GbuqError)
