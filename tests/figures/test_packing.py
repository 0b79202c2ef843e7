import json
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbuq_core.figures.curves import pack_curves
from gbuq_core.figures.curves.parts import rounded
from gbuq_core.figures.near import pack_table
from tests.figure_readers import unpack_curves, unpack_table

NUMBERS = st.floats(allow_nan=False, allow_infinity=False, width=32)
LEAVES = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4) | NUMBERS
# Names of the header's own are no names of a figure's.
NAMES = st.text("abcxy", min_size=1, max_size=3)
SPECS = st.dictionaries(
    NAMES,
    st.recursive(
        LEAVES | st.lists(NUMBERS, max_size=30),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
        max_leaves=12,
    ),
)


@given(SPECS)
def test_what_is_packed_comes_back(spec):
    assert unpack_curves(pack_curves(spec)) == spec  # the numbers are float32's: nothing is lost


def test_long_rows_leave_the_header_and_cost_four_bytes_a_number():
    row = [i / 7 for i in range(1000)]
    spec = {"panels": [{"layers": [{"x": row, "y": row, "at": list(range(1000))}]}]}
    data = pack_curves(spec)
    length = int.from_bytes(data[:4], "little")
    assert len(data) == 4 + length + 2 * 4 * 1000
    layer = json.loads(data[4 : 4 + length])["panels"][0]["layers"][0]
    assert layer["x"] == {"packed": [0, 1000]}
    assert layer["at"] == list(range(1000))  # whole numbers name rows: they keep their type


def test_the_readers_own_points_keep_every_digit():
    points = [0.1 * i for i in range(40)]
    assert unpack_curves(pack_curves({"place": {"x": points}})) == {"place": {"x": points}}


@pytest.mark.parametrize("size", [1e-60, 1e60])
def test_numbers_that_float32_has_not_stay_as_they_are(size):
    spec = {"x": [size * i / 7 for i in range(40)]}
    assert unpack_curves(pack_curves(spec)) == spec


def test_what_the_browsers_json_cannot_read_is_refused():
    with pytest.raises(ValueError, match="JSON"):
        pack_curves({"read": {"values": [float("nan")] * 40}})


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=30))
def test_numbers_are_shortened_as_their_text_would_be(values):
    expected = [float(f"{v:.5g}") for v in values]
    # Half-way cases may go the other way: the twin rounds the exact number, the product is rounded.
    numbers = rounded(values)
    np.testing.assert_allclose(numbers, expected, rtol=1.001e-4, atol=0)
    assert numbers == [float(f"{v:.5g}") for v in numbers]  # and no digit more


class Table(NamedTuple):
    name: str
    codes: np.ndarray
    y: np.ndarray


def test_a_table_of_arrays_comes_back():
    table = Table("one", np.uint8([[1, 2, 3]]), np.float32([0.5, 2.0]))
    stored = unpack_table(pack_table(table))
    assert stored["name"] == "one"
    np.testing.assert_array_equal(stored["codes"], table.codes)
    np.testing.assert_array_equal(stored["y"], table.y)
