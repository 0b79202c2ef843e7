"""Points that a reader places: what a link keeps, and what is refused."""

import re

import numpy as np
import pytest

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.placed import (
    MOST_POINTS,
    OWN_START,
    PATTERNS,
    check_points,
    decode_points,
    encode_points,
    why_no_fit,
)


def test_links_keep_points():
    rng = np.random.default_rng(0)
    points = check_points((rng.uniform(-1000.0, 1000.0, (MOST_POINTS, 2))).tolist())
    text = encode_points(points)
    assert decode_points(text) == points
    assert re.fullmatch(PATTERNS[2], text)
    assert re.fullmatch(r"[-0-9._~]*", text)  # needs no escape in a URL
    assert decode_points("") == ()


def test_rounding_leaves_no_minus_zero():
    assert encode_points(check_points([(-0.0001, 1e-9)])) == "0_0"
    assert encode_points([(-0.0001, 0.0)]) == "0_0"


@pytest.mark.parametrize(
    "text",
    [
        "1",
        "1_2_3",
        "a_b",
        "1_nan",
        "inf_1",
        "1_2~",
        "~1_2",
        "1e3_1",
        "99999_1",
        "1_2;3_4",
        "1001_0",
        "\u0661_1",
        " 1_2",
        "1_2\n",
        "~".join(["1_2"] * 401),
        "<b>_1",
    ],
)
def test_bad_texts_are_refused_in_a_sentence(text):
    with pytest.raises(InvalidParameter) as caught:
        decode_points(text)
    assert str(caught.value).endswith(".")
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    "points",
    [
        "1_2",
        5,
        [1, 2],
        [(1,)],
        [(1, 2, 3)],
        [("a", 1)],
        [(1, None)],
        [(1, float("nan"))],
        [(float("inf"), 1)],
        [(1e4, 0)],
        [(0, 10**400)],
    ],
)
def test_bad_points_are_refused(points):
    with pytest.raises(InvalidParameter):
        check_points(points)


def test_points_that_make_no_fit_are_told_apart():
    assert why_no_fit(OWN_START) == ""
    assert "x = 1" in why_no_fit(tuple((1.0, float(i)) for i in range(6)))
    with pytest.raises(InvalidParameter, match="remove some"):
        check_points([(0, 0)] * (MOST_POINTS + 1))
