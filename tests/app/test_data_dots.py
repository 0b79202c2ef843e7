"""Your data: what is believed of a browser that says which dot was clicked."""

import json
import math

import pytest

from pages._ui.curves import read_pick
from tests.app.data_page import open_page


@pytest.mark.parametrize(("message", "found"), [(7, 7), (9.0, 9)])
def test_a_dot_of_the_figure_is_read(message, found):
    assert read_pick(message, frozenset({7, 9})) == found


@pytest.mark.parametrize(
    "message", [8, -1, 7.5, True, "7", None, [7], {"row": 7}, math.nan, math.inf, 10**400]
)
def test_anything_else_is_nobody(message):
    assert read_pick(message, frozenset({1, 7, 9})) is None


def test_every_dot_of_the_page_is_a_row_of_its_table():
    at = open_page(row="7")
    specs = [json.loads(part.proto.json) for part in at.get("bidi_component")]
    (spec,) = [spec for spec in specs if spec.get("pick")]
    assert sorted(spec["read"]["names"]) == list(range(1, 443))
    ring, read = spec["panels"][0]["ring"], spec["read"]
    at_ring = read["names"].index(7)
    assert (ring["x"], ring["y"]) == (read["x"][at_ring], read["y"][at_ring])
    assert sorted(i for layer in spec["panels"][0]["layers"] for i in layer["at"]) == list(
        range(442)
    )
