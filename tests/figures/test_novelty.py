"""The maps of novelty draw the numbers they are given, on scales that mean what they say."""

from itertools import pairwise

import numpy as np
import pytest
from tolerances import SAME_SUM

from gbuq_core.figures.canvas.encoding import encode_sheet
from gbuq_core.figures.novelty import picture as novelty
from gbuq_core.figures.novelty.charts import histogram_edges, share_figure, tree_sheet
from gbuq_core.figures.novelty.picture import (
    CLASS_COLOURS,
    Ellipses,
    Ground,
    ScoreMap,
    change_sheet,
    ellipse_corners,
    maps_sheet,
)
from tests.figure_readers import decode_sheet, decode_strips

NY, NX = 4, 6


@pytest.fixture
def rng():
    return np.random.default_rng(3)


@pytest.fixture
def ground(rng):
    support = np.zeros((NY, NX), dtype=bool)
    support[1:3, 2:4] = True
    rows, group = rng.normal(size=(20, 2)), rng.integers(0, 2, 20)
    return Ground((-3.0, 3.0), (-2.0, 2.0), rows, group, ("left", "right"), support, "x1", "x2")


@pytest.fixture
def maps(rng):
    return [
        ScoreMap("Truth", "nats", rng.normal(size=(NY, NX))),
        ScoreMap(
            "Novelty", "%", 100 * rng.random((NY, NX)), "#8c564b", (0.0, 100.0), ellipses=True
        ),
        ScoreMap("KU", "variance of p", rng.random((NY, NX)), "#8c564b", log=True),
    ]


@pytest.fixture
def leaves():
    covariance = np.array([[[0.5, 0.2], [0.2, 0.3]], [[1.0, 0.0], [0.0, 0.0]]])
    return Ellipses(np.array([[0.0, 1.0], [-1.0, 0.5]]), covariance)


def test_maps_keep_their_units_scales_and_numbers(ground, maps):
    sheet = maps_sheet(ground, maps)
    assert [panel.unit for panel in sheet.panels] == ["nats", "%", "variance of p"]
    assert [panel.limits for panel in sheet.panels] == [None, (0.0, 100.0), None]
    assert [panel.log for panel in sheet.panels] == [False, False, True]
    assert {panel.colour_map for panel in sheet.panels} == {"cividis"}
    decoded = decode_sheet(encode_sheet(sheet))
    for one, values in zip(maps, decoded.values, strict=True):
        # Travels as float32: half a unit in its last place.
        np.testing.assert_allclose(values[0], one.values, rtol=6e-8)


def test_rows_lie_on_every_map_coloured_by_class(ground, maps):
    sheet = maps_sheet(ground, maps, spread=np.full((NY, NX), 40.0))
    assert [panel.title for panel in sheet.panels][-1] == "Where ranks disagree"
    for panel in sheet.panels:
        np.testing.assert_array_equal(np.asarray(panel.points.x), ground.rows[:, 0])
        np.testing.assert_array_equal(panel.points.group, ground.group)
        assert panel.points.group_names == ("left", "right")
    assert len(set(CLASS_COLOURS)) == len(CLASS_COLOURS)


def test_the_first_map_outlines_where_rows_can_lie_but_for_a_lasso(ground, maps):
    sheet = maps_sheet(ground, maps)
    np.testing.assert_array_equal(sheet.panels[0].outlined, ground.in_support)
    assert [panel.outlined is None for panel in sheet.panels] == [False, True, True]
    assert sheet.outline_label == "where nearly all rows lie"
    region = np.eye(NY, NX, dtype=bool)
    lasso = maps_sheet(ground, maps, region=region)
    assert all(panel.outlined is region for panel in lasso.panels)
    assert lasso.outline_label == "under the lasso"
    unknown = maps_sheet(ground._replace(in_support=None), maps)
    assert unknown.panels[0].outlined is None
    assert not unknown.outline_label


def test_leaves_are_drawn_on_the_novelty_alone(ground, maps, leaves):
    sheet = maps_sheet(ground, maps, point=(0.5, -0.5), leaves=leaves)
    assert [len(panel.lines) for panel in sheet.panels] == [0, 1, 0]
    assert (sheet.markers[0].x, sheet.markers[0].y) == (0.5, -0.5)
    assert sheet.markers[0].legend
    assert [line.legend != "" for panel in sheet.panels for line in panel.lines] == [True]
    encode_sheet(sheet)
    none = Ellipses(np.zeros((0, 2)), np.zeros((0, 2, 2)))
    assert not any(panel.lines for panel in maps_sheet(ground, maps, leaves=none).panels)


def test_an_ellipse_has_the_mahalanobis_distance_it_says(leaves):
    x, y = ellipse_corners(leaves, 2.0)
    ends = np.flatnonzero(np.isnan(x))
    assert len(ends) == 2
    first = np.stack([x, y])[:, : ends[0]].T - leaves.centre[0]
    squared = np.einsum("ij,jk,ik->i", first, np.linalg.inv(leaves.covariance[0]), first)
    np.testing.assert_allclose(squared, 4.0, rtol=SAME_SUM)  # a 2 x 2 solve loses a few digits
    flat = y[ends[0] + 1 : ends[1]]  # a leaf without extent in y is a line
    np.testing.assert_allclose(flat, 0.5, rtol=SAME_SUM)


@pytest.mark.parametrize(("n", "columns"), [(1, 1), (4, 4), (5, 3), (6, 3), (7, 4), (8, 4), (9, 5)])
def test_four_maps_stand_in_one_row_and_more_in_two(ground, maps, n, columns):
    many = [maps[0]._replace(title=f"Map {i}") for i in range(n)]
    assert maps_sheet(ground, many).columns == columns


def test_an_edit_is_shown_on_one_scale_with_its_difference(ground, rng):
    before, after = rng.normal(size=(2, NY, NX))
    fewer = ground._replace(rows=ground.rows[:7], group=ground.group[:7])
    region = np.zeros((NY, NX), dtype=bool)
    region[0, 0] = True
    sheet = change_sheet((ground, before), (fewer, after), "Novelty", "z-score", region)
    first, second, third = sheet.panels
    assert first.limits == second.limits
    assert first.limits[0] == min(before.min(), after.min())
    np.testing.assert_array_equal(third.values, after - before)
    assert third.limits[0] == -third.limits[1] == -np.abs(after - before).max()
    assert (len(first.points.x), len(second.points.x)) == (20, 7)
    for panel in sheet.panels:
        np.testing.assert_array_equal(panel.outlined, region)


def test_an_edit_that_changed_nothing_is_drawn(ground):
    same = np.ones((NY, NX))
    third = change_sheet((ground, same), (ground, same), "Novelty", "z-score").panels[2]
    assert third.limits == (-1.0, 1.0)
    encode_sheet(change_sheet((ground, same), (ground, same), "Novelty", "z-score"))


def test_no_rows_and_many_rows_can_be_drawn(ground, maps, rng):
    empty = ground._replace(rows=np.zeros((0, 2)), group=np.zeros(0, dtype=np.int64))
    encode_sheet(maps_sheet(empty, maps))
    rows = rng.normal(size=(9000, 2))
    crowd = ground._replace(rows=rows, group=np.zeros(9000, dtype=np.int64))
    assert len(maps_sheet(crowd, maps).panels[0].points.x) == novelty._MOST_POINTS


def test_every_tree_is_in_a_bar(rng):
    z, conditional = rng.normal(3.0, 1.0, 100), rng.normal(size=100)
    strips = decode_strips(encode_sheet(tree_sheet(z, conditional)))
    for strip in strips:
        (heights,) = strip.lines.values()
        assert np.nansum(heights[0][:-1]) == 100
    assert strips[0].header["marks"][0] == pytest.approx(z.mean())
    assert len(decode_strips(encode_sheet(tree_sheet(z)))) == 1


def test_trees_that_agree_get_bars_of_some_width():
    edges = histogram_edges(np.full(5, 5.2))
    assert edges[0] < 5.2 < edges[-1]
    assert all(low < high for low, high in pairwise(edges))
    encode_sheet(tree_sheet(np.full(5, 5.2)))


def test_shares_are_bars_of_names_as_they_are():
    figure = share_figure(["<b>a</b>", "<b>a</b>"], np.array([1.25, -0.25]))
    assert [row["c1"] for row in figure["data"]["values"]] == [125.0, -25.0]
    labels = [row["c0"] for row in figure["data"]["values"]]
    assert labels[0] == "<b>a</b>"
    assert len(set(labels)) == 2
