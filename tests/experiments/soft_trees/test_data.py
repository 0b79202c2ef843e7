"""The Soft trees page's data: the drawn sets, own points and their text in a link."""

import re

import numpy as np
import pytest

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.soft_trees.data import (
    BOARD,
    DATASETS,
    MOST_POINTS,
    OWN,
    OWN_START,
    POINTS_PATTERN,
    check_points,
    decode_points,
    encode_points,
    load_soft_trees_data,
    why_no_fit,
)


@pytest.mark.parametrize("key", DATASETS)
def test_sets_lie_in_their_picture(key):
    data = load_soft_trees_data(key, rows=80, noise=0.1, seed=2)
    assert (np.diff(data.x) > 0.0).all()
    assert len(data.x) == len(data.support) <= 441
    for values, (low, high) in ((data.X[:, 0], data.x_range), (data.y, data.y_range)):
        assert low <= values.min() < values.max() <= high
    # rows lie only where the support says: at most one place of the grid away
    nearest = np.abs(data.X - data.x).argmin(axis=1)
    assert data.support[nearest].all()
    assert not data.X.flags.writeable


@pytest.mark.parametrize("key", [key for key in DATASETS if key != OWN])
def test_the_truth_explains_fresh_rows(key):
    data = load_soft_trees_data(key, rows=30, noise=0.2, seed=1)
    left = data.fresh_y - data.fresh_mean
    assert left.std() == pytest.approx(0.2, rel=0.13)  # four standard errors of 500 normals
    assert not np.intersect1d(data.X[:, 0], data.fresh_X[:, 0]).size
    on_grid = np.interp(data.fresh_X[:, 0], data.x, data.true_mean)
    near_jump = np.abs(data.fresh_X[:, 0]) < 0.01 if key == "step" else False
    # linear between places at most 0.02 apart, of curves that bend by less than 200
    assert (
        np.abs(on_grid - data.fresh_mean)[~np.broadcast_to(near_jump, on_grid.shape)].max() < 0.05
    )


def test_own_points_make_their_own_support():
    data = load_soft_trees_data(OWN)
    inside = data.support[(data.x > -2.0) & (data.x < -0.2)]
    between = data.support[(data.x > 0.0) & (data.x < 0.9)]
    assert inside.all()
    assert not between.any()
    assert data.true_mean is None
    assert data.fresh_X is None
    wide = load_soft_trees_data(OWN, points=((-100.0, 0.0), (100.0, 50.0)))
    assert wide.x_range[0] < -100.0 < 100.0 < wide.x_range[1]


def test_points_far_apart_from_each_other_are_no_gaps():
    sparse = load_soft_trees_data(OWN, points=tuple((float(x), 0.1 * x) for x in range(-3, 4)))
    assert sparse.support[np.abs(sparse.x) < 3.0].all()
    assert not sparse.support[np.abs(sparse.x) > 3.8].any()
    # Two clouds: what is typical is the space inside them.
    clouds = tuple((x + shift, x) for shift in (-2.0, 2.0) for x in (0.0, 0.1, 0.2, 0.3))
    apart = load_soft_trees_data(OWN, points=clouds)
    assert not apart.support[np.abs(apart.x) < 1.0].any()


def test_an_empty_board_can_be_drawn():
    data = load_soft_trees_data(OWN, points=())
    assert data.x_range == BOARD[0]
    assert data.y_range == BOARD[1]
    assert not data.support.any()
    assert "add 5" in why_no_fit(())


def test_links_keep_points():
    rng = np.random.default_rng(0)
    points = check_points((rng.uniform(-1000.0, 1000.0, (MOST_POINTS, 2))).tolist())
    text = encode_points(points)
    assert decode_points(text) == points
    assert re.fullmatch(POINTS_PATTERN, text)
    assert re.fullmatch(r"[-0-9._~]*", text)  # needs no escape in a URL
    assert decode_points("") == ()


def test_rounding_leaves_no_minus_zero():
    assert encode_points(check_points([(-0.0001, 1e-9)])) == "0_0"
    assert encode_points([(-0.0001, 0.0)]) == "0_0"


@pytest.mark.parametrize(
    "text",
    ["1", "1_2_3", "a_b", "1_nan", "inf_1", "1_2~", "~1_2", "1e3_1", "99999_1", "1_2;3_4", "1001_0",
     "\u0661_1", " 1_2", "1_2\n", "~".join(["1_2"] * 401), "<b>_1"],
)  # fmt: skip
def test_bad_texts_are_refused_in_a_sentence(text):
    with pytest.raises(InvalidParameter) as caught:
        decode_points(text)
    assert str(caught.value).endswith(".")
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    "points",
    ["1_2", 5, [1, 2], [(1,)], [(1, 2, 3)], [("a", 1)], [(1, None)], [(1, float("nan"))],
     [(float("inf"), 1)], [(1e4, 0)], [(0, 10**400)], [(0, 0)] * 401],
)  # fmt: skip
def test_bad_points_are_refused(points):
    with pytest.raises(InvalidParameter):
        check_points(points)


def test_too_many_points_are_refused_with_what_to_do():
    with pytest.raises(InvalidParameter, match="remove some"):
        check_points([(i / 10.0, 0.0) for i in range(MOST_POINTS + 1)])


def test_points_that_make_no_fit_are_told_apart():
    assert why_no_fit(OWN_START) == ""
    assert "x = 1" in why_no_fit(tuple((1.0, float(i)) for i in range(6)))
