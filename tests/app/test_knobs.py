"""Reading and writing a page's settings as URL text, without Streamlit."""

import doctest
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbuq_core.knobs import Knob, problem_with
from pages._ui import knobs as module
from pages._ui.knobs import query_string, quoted, read_knob

KNOBS = (
    Knob("rows", "Rows", "ladder", 100, choices=(10, 100, 1000)),
    Knob("noise", "Noise", "ladder", 0.5, choices=(0.0, 0.5, 1.0, 2.5)),
    Knob("methods", "Methods", "choices", ("SGB",), choices=("SGB", "SGLB", "vRF"), most=2),
    Knob("method", "Method", "choice", "SGB", choices=("SGB", "virtual SGLB")),
    Knob("trees", "Trees", "integer", 100, 1, 1000),
    Knob("rate", "Learning rate", "number", 0.1, 0.0, 1.0),
    Knob("cells", "Cells", "text", "", pattern=r"(\d+(,\d+)*)?"),
    Knob("log", "Logarithmic", "switch", False),
    Knob("brush", "Part", "range", (0, 100), 0, 100, step=5),
)
VALUES = st.fixed_dictionaries(
    {
        "rows": st.sampled_from((10, 100, 1000)),
        "noise": st.sampled_from((0.0, 0.5, 1.0, 2.5)),
        "methods": st.lists(st.sampled_from(("SGB", "SGLB", "vRF")), max_size=2, unique=True).map(
            tuple
        ),
        "method": st.sampled_from(("SGB", "virtual SGLB")),
        "trees": st.integers(1, 1000),
        "rate": st.floats(0.0, 1.0),
        "cells": st.lists(st.integers(0, 80)).map(lambda c: ",".join(map(str, c))),
        "log": st.booleans(),
        "brush": st.lists(st.integers(0, 20), min_size=2, max_size=2).map(
            lambda ends: tuple(5 * end for end in sorted(ends))
        ),
    }
)


def test_the_examples_in_the_docstrings_hold():
    assert doctest.testmod(module).failed == 0


@given(VALUES)
def test_a_link_says_back_every_value(values):
    from urllib.parse import parse_qs

    texts = parse_qs(query_string(KNOBS, values), keep_blank_values=True)
    for knob in KNOBS:
        if knob.key not in texts:
            assert values[knob.key] == knob.default
            continue
        reading = read_knob(knob, texts[knob.key])
        assert reading.problem == ""
        assert reading.value == values[knob.key]


@pytest.mark.parametrize(
    "texts", [["80"], ["80", "20"], ["0", "7"], ["0", "105"], ["0", "5", "10"], ["a", "5"]]
)
def test_a_range_has_two_ends_in_order_where_its_slider_can_stand(texts):
    brush = KNOBS[-1]
    assert "two whole numbers from 0 to 100, the lower one first" in read_knob(brush, texts).problem
    assert read_knob(brush, ["20", "80.0"]).value == (20, 80)


def test_whole_steps_of_a_ladder_are_written_as_they_are_shown():
    assert query_string(KNOBS, {"noise": 1.0}) == query_string(KNOBS, {"noise": 1}) == "noise=1"


@given(st.sampled_from(KNOBS), st.lists(st.text(), min_size=1, max_size=3))
def test_any_text_gives_a_possible_value_or_one_sentence(knob, texts):
    reading = read_knob(knob, texts)
    if reading.problem:
        assert reading.problem.startswith(knob.key)
        assert "\n" not in reading.problem
        assert len(reading.problem) < 400
    else:
        assert not problem_with(knob, reading.value)


@pytest.mark.parametrize(
    ("key", "texts", "value"),
    [
        ("noise", ["1"], 1.0),
        ("noise", ["1.0"], 1.0),
        ("noise", ["2.50"], 2.5),
        ("noise", ["0"], 0.0),
        ("rows", ["1e3"], 1000),
        ("rows", ["10.0"], 10),
        ("method", ["VIRTUAL sglb"], "virtual SGLB"),
        ("methods", ["sglb", "SGLB", "VRF"], ("SGLB", "vRF")),
    ],
)
def test_another_spelling_of_a_choice_is_read(key, texts, value):
    knob = next(knob for knob in KNOBS if knob.key == key)
    assert read_knob(knob, texts) == (value, "")


@pytest.mark.parametrize("text", ["nan", "inf", "1e999", "1.01", "-1", "True"])
def test_other_numbers_are_no_steps_of_a_ladder(text):
    assert read_knob(KNOBS[1], [text]).problem


K = Knob("step", "Truncation step K", "integer", 30, 10, 200, step=10)
START = Knob("start", "Truncation start", "number", 0.5, 0.0, 0.9, step=0.05)
MASK = Knob("mask", "Rows kept", "number", 0.66, 0.05, 1.0, step=0.01)


@pytest.mark.parametrize(
    ("knob", "text", "asked_for"),
    [
        (K, "15", "a multiple of 10 from 10 to 200"),
        (K, "205", "a multiple of 10 from 10 to 200"),
        (START, "0.33", "a number from 0 to 0.9 in steps of 0.05"),
        (MASK, "0.655", "a number from 0.05 to 1 in steps of 0.01"),
    ],
)
def test_a_slider_stands_on_its_steps_only(knob, text, asked_for):
    assert f"must be {asked_for}, but" in read_knob(knob, [text]).problem


@pytest.mark.parametrize("knob", [K, START, MASK])
def test_every_step_of_a_slider_can_be_linked(knob):
    count = round((knob.high - knob.low) / knob.step)
    for n in range(count + 1):
        value = min(knob.low + n * knob.step, knob.high)  # with the browser's rounding errors
        assert read_knob(knob, [str(value)]).problem == ""


def test_a_box_takes_what_lies_between_its_steps():
    assert read_knob(replace(K, box=True), ["15"]).value == 15


@pytest.mark.parametrize("value", [True, "3", None, 0, 1001, float("nan"), 3.5])
def test_what_an_integer_knob_cannot_be(value):
    assert problem_with(KNOBS[3], value)


def test_long_and_many_line_texts_are_cut_to_one_short_line():
    assert quoted("a\nb\u202ec") == '"a b c"'
    assert len(quoted("x" * 5000)) == 42
