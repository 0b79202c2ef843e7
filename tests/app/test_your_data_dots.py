"""Your data: what is believed of a browser that says which dot was clicked."""

import math

import pytest

from pages._ui.curves import read_pick
from tests.app.drawn import curve_specs
from tests.app.your_data_page import open_page, rows_of


@pytest.mark.parametrize(("message", "pick"), [(7, 7), (9.0, 9)])
def test_a_dot_of_the_figure_is_read(message, pick):
    assert read_pick(message, frozenset({7, 9})) == pick


@pytest.mark.parametrize(
    "message", [8, -1, 7.5, True, "7", None, [7], {"row": 7}, math.nan, math.inf, 10**400]
)
def test_anything_else_is_nobody(message):
    assert read_pick(message, frozenset({1, 7, 9})) is None


def test_every_dot_of_the_page_is_a_row_of_its_table():
    at = open_page(row="7")
    specs = curve_specs(at)
    (spec,) = [spec for spec in specs if spec.get("pick")]
    assert sorted(spec["read"]["names"]) == list(range(1, 443))
    ring, read = spec["panels"][0]["ring"], spec["read"]
    at_ring = read["names"].index(7)
    # The dots travel as float32.
    assert (read["x"][at_ring], read["y"][at_ring]) == pytest.approx((ring["x"], ring["y"]), 1e-6)
    assert sorted(i for layer in spec["panels"][0]["layers"] for i in layer["at"]) == list(
        range(442)
    )


def test_a_condition_leaves_the_rows_that_meet_it_on_the_same_axes():
    at = open_page(row="7")
    (whole,) = [spec for spec in curve_specs(at) if spec.get("pick")]
    at.text_input(key="find").set_value("sex = 1").run()
    (some,) = [spec for spec in curve_specs(at) if spec.get("pick")]
    listed = set(rows_of(at)["row"])
    assert 0 < len(listed) < 442
    assert set(some["read"]["names"]) == listed | {7}  # the open row stays
    assert some["x"]["range"] == whole["x"]["range"]
    assert some["panels"][0]["range"] == whole["panels"][0]["range"]
    assert any("meet the condition" in caption.value for caption in at.caption)
