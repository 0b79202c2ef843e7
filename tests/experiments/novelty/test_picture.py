"""The maps of novelty draw the numbers of their run, on scales that mean what they say."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from tolerances import SAME_SUM

from gbuq_core.experiments.novelty.fit import run_novelty, view_novelty
from gbuq_core.experiments.novelty.look import explain_place
from gbuq_core.experiments.novelty.picture import (
    CLASS_COLOURS,
    MOST_POINTS,
    as_map,
    ellipse_corners,
    histogram_edges,
    novelty_sheet,
    score_panel,
    share_figure,
    tree_sheet,
)
from gbuq_core.experiments.novelty.plan import APART, METHODS, OWN, NoveltySettings
from gbuq_core.experiments.novelty.scores import support_of
from gbuq_core.figures.canvas.encoding import encode_sheet
from gbuq_core.macau.results import LeafEllipses
from tests.figure_readers import decode_sheet, decode_strips


@pytest.fixture(scope="module")
def run():
    return run_novelty(NoveltySettings(rows=100, trees=5))


@pytest.fixture(scope="module")
def table():
    return run_novelty(NoveltySettings(data="table", table="diabetes", trees=5))


def seen(run, **change):
    settings = replace(run.settings, **change)
    return run._replace(settings=settings, view=view_novelty(run.fit, run.maps, settings))


def test_maps_keep_their_units_scales_and_numbers(run):
    own = seen(run, maps=("knowledge", "truth", OWN), show="value", log=True)
    sheet = novelty_sheet(own)
    assert [panel.unit for panel in sheet.panels] == ["nats", "variance of p", "variance of p"]
    assert [panel.limits for panel in sheet.panels] == [None, None, None]
    assert [panel.log for panel in sheet.panels] == [False, True, True]
    assert {panel.colour_map for panel in sheet.panels} == {"cividis"}
    decoded = decode_sheet(encode_sheet(sheet))
    for key, values in zip(("truth", "knowledge", "knowledge"), decoded.values, strict=True):
        # Travels as float32: half a unit in its last place.
        np.testing.assert_allclose(values[0], as_map(run.maps.of(key)), rtol=6e-8)
    ranks = score_panel(run, "knowledge", log=True)
    assert (ranks.limits, ranks.log, ranks.unit) == ((0.0, 100.0), False, "% of cells below")


def test_rows_lie_on_every_map_coloured_by_class(run, table):
    sheet = novelty_sheet(run)
    assert [panel.title for panel in sheet.panels][-1] == "Where ranks disagree"
    for panel in sheet.panels:
        np.testing.assert_array_equal(np.asarray(panel.points.x), run.fit.rows.X[:, 0])
        np.testing.assert_array_equal(panel.points.group, run.fit.rows.y)
        assert panel.points.group_names == tuple(run.fit.data.classes)
    assert len(set(CLASS_COLOURS)) == len(CLASS_COLOURS)
    numbers = novelty_sheet(table).panels[0].points
    assert (numbers.group_names, set(numbers.group)) == (("training rows",), {0})


def test_the_first_map_outlines_where_rows_can_lie(run, table):
    sheet = novelty_sheet(run)
    np.testing.assert_array_equal(sheet.panels[0].outlined, as_map(support_of(run.fit)))
    assert [panel.outlined is None for panel in sheet.panels[1:]] == [True] * 5
    assert sheet.outline_label == "where nearly all rows lie"
    unknown = novelty_sheet(table)
    assert unknown.panels[0].outlined is None
    assert not unknown.outline_label


def test_leaves_are_drawn_on_the_novelty_alone(run):
    look = explain_place(run.fit, run.maps, run.settings, (0.5, -0.5))
    sheet = novelty_sheet(run, look=look)
    drawn = {panel.title: panel.lines for panel in sheet.panels if panel.lines}
    assert list(drawn) == ["Novelty"]
    assert drawn["Novelty"][0].legend
    assert (sheet.markers[0].x, sheet.markers[0].y) == (0.5, -0.5)
    assert sheet.markers[0].legend
    encode_sheet(sheet)
    none = look.ellipses._replace(centre=np.zeros((0, 2)), covariance=np.zeros((0, 2, 2)))
    bare = novelty_sheet(run, look=replace(look, ellipses=none))
    assert not any(panel.lines for panel in bare.panels)


def test_an_ellipse_has_the_mahalanobis_distance_it_says():
    covariance = np.array([[[0.5, 0.2], [0.2, 0.3]], [[1.0, 0.0], [0.0, 0.0]]])
    none = np.zeros(2)
    leaves = LeafEllipses(none, np.array([[0.0, 1.0], [-1.0, 0.5]]), covariance, none, none, none)
    x, y = ellipse_corners(leaves, 2.0)
    ends = np.flatnonzero(np.isnan(x))
    assert len(ends) == 2
    first = np.stack([x, y])[:, : ends[0]].T - leaves.centre[0]
    squared = np.einsum("ij,jk,ik->i", first, np.linalg.inv(leaves.covariance[0]), first)
    np.testing.assert_allclose(squared, 4.0, rtol=SAME_SUM)  # a 2 x 2 solve loses a few digits
    flat = y[ends[0] + 1 : ends[1]]  # a leaf without extent in y is a line
    np.testing.assert_allclose(flat, 0.5, rtol=SAME_SUM)


@pytest.mark.parametrize(("n", "columns"), [(1, 1), (4, 4), (5, 3), (6, 3), (7, 4), (8, 4), (9, 5)])
def test_four_maps_stand_in_one_row_and_more_in_two(run, n, columns):
    panel = score_panel(run, "novelty")
    assert novelty_sheet(run, {str(i): panel for i in range(n)}).columns == columns


def test_the_settings_choose_the_maps_and_the_truth_comes_first(run, table):
    def titles(run, *maps):
        return [panel.title for panel in novelty_sheet(seen(run, maps=maps)).panels]

    assert titles(run) == []
    assert titles(run, APART, "novelty", "truth") == [
        METHODS["truth"].label,
        "Novelty",
        "Where ranks disagree",
    ]
    assert titles(table, "truth") == ["Novelty"]  # in place of a truth that nobody knows
    assert titles(seen(run, compared=("novelty",)), APART) == []


def test_many_rows_are_thinned(run, rng):
    rows = run.fit.rows._replace(
        X=rng.normal(size=(9000, 2)), y=np.zeros(9000), origin=np.arange(9000)
    )
    crowd = run._replace(fit=replace(run.fit, rows=rows))
    drawn = novelty_sheet(crowd, {"novelty": score_panel(run, "novelty")}, alt="a crowd")
    assert len(drawn.panels[0].points.x) == MOST_POINTS


def test_every_tree_is_in_a_bar(run):
    look = explain_place(run.fit, run.maps, run.settings)
    (strip,) = decode_strips(encode_sheet(tree_sheet(look)))
    (heights,) = strip.lines.values()
    assert np.nansum(heights[0][:-1]) == len(look.z)
    assert strip.header["marks"][0] == pytest.approx(look.z.mean())


def test_trees_that_agree_get_bars_of_some_width(run):
    edges = histogram_edges(np.full(5, 5.2))
    assert edges[0] < 5.2 < edges[-1]
    assert all(low < high for low, high in pairwise(edges))
    look = explain_place(run.fit, run.maps, run.settings)
    encode_sheet(tree_sheet(replace(look, z=np.full(5, 5.2))))


def test_shares_are_bars_of_names_as_they_are():
    figure = share_figure(["<b>a</b>", "<b>a</b>"], np.array([1.25, -0.25]))
    assert [row["c1"] for row in figure["data"]["values"]] == [125.0, -25.0]
    labels = [row["c0"] for row in figure["data"]["values"]]
    assert labels[0] == "<b>a</b>"
    assert len(set(labels)) == 2
