"""Places whose rows are erased on Novelty maps: which rows go, and links that keep them."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbuq_core.errors import GbuqError
from gbuq_core.experiments.novelty.data import SIDE, load_novelty_data
from gbuq_core.experiments.novelty.erasing import (
    AROUND,
    MOST_PLACES,
    erase_rows,
    read_places,
    rows_in,
    squares_around,
    write_places,
)
from gbuq_core.experiments.novelty.plan import NoveltySettings
from gbuq_core.knobs import find_knob
from gbuq_core.settings import knobs_of

CELL = st.integers(0, SIDE - 1)
PLACES = st.lists(st.tuples(CELL, CELL), max_size=MOST_PLACES)


@given(PLACES)
def test_links_carry_places(places):
    text = write_places(places)
    assert read_places(text) == tuple(places)
    assert re.fullmatch(find_knob(knobs_of(NoveltySettings), "erased").pattern, text)


@pytest.mark.parametrize("text", ["0_5", "61_5", "5_61", "5", "5_5~", "5_5" + 20 * "~5_5", "a_b"])
def test_a_link_names_no_other_places(text):
    assert not re.fullmatch(find_knob(knobs_of(NoveltySettings), "erased").pattern, text)


@given(PLACES)
def test_a_square_holds_the_cells_beside_its_place(places):
    row, column = np.divmod(np.arange(SIDE * SIDE), SIDE)
    beside = np.zeros(SIDE * SIDE, dtype=bool)
    for at_row, at_column in places:
        away = np.maximum(np.abs(row - at_row), np.abs(column - at_column))
        beside |= away <= AROUND
    np.testing.assert_array_equal(squares_around(places), beside)


@pytest.mark.parametrize("data", ["moons", "table"])
def test_the_rows_in_the_squares_go_and_the_others_stay_as_they_are(data):
    data, places = load_novelty_data(data), [(34, 20), (25, 30)]
    rows, gone = erase_rows(data, places), rows_in(data, places)
    steps = [axis[1] - axis[0] for axis in data.axes]
    away = [
        np.abs(data.X[:, :2] - data.grid[SIDE * row + column]) / steps for row, column in places
    ]
    # From the middle of a cell; the edge of the square is half a cell behind its last one.
    inside = np.logical_or(*[each.max(axis=1) < AROUND + 0.5 for each in away])
    np.testing.assert_array_equal(gone, inside)
    assert 0 < gone.sum() < len(data.y)
    np.testing.assert_array_equal(rows.origin, np.flatnonzero(~gone))
    np.testing.assert_array_equal(rows.X, data.X[~gone])
    np.testing.assert_array_equal(rows.y, data.y[~gone])
    np.testing.assert_array_equal(erase_rows(data, []).X, data.X)


def refusal(data, places):
    with pytest.raises(GbuqError) as caught:
        erase_rows(data, places)
    return str(caught.value)


def test_what_leaves_nothing_to_fit_and_what_is_no_place_is_one_sentence():
    data = load_novelty_data("rings")
    inner = [(row, column) for row in (25, 34) for column in (25, 34)]  # within 1.5 of the middle
    assert refusal(data, inner) == "No training row of class 0 would be left."
    few = load_novelty_data("moons", rows=60)
    text = r"Only \d\d training rows would be left. A forest needs at least 50."
    assert re.fullmatch(text, refusal(few, [(34, 20)]))
    assert refusal(data, [(5, 60)]).startswith("erased must")
    assert "got (1,)." in refusal(data, [(1,)])
    assert refusal(data, [(5, 5)] * 21).startswith("Rows can be erased at 20 places at most")
