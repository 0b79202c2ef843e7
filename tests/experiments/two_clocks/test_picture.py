"""Two clocks' figures as plain data: what the browser is sent, and where marks stand."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tolerances import NEAR_ZERO

from gbuq_core.experiments.two_clocks.fit import fit_two_clocks
from gbuq_core.experiments.two_clocks.picture import (
    band_figure,
    clocks_sheet,
    curves_figure,
    reliability_figure,
)
from gbuq_core.experiments.two_clocks.plan import DATA, TwoClocksSettings
from gbuq_core.experiments.two_clocks.scores import look_two_clocks
from gbuq_core.figures.canvas.encoding import encode_sheet
from gbuq_core.figures.curves import pack_curves
from gbuq_core.figures.standalone import standalone_html
from gbuq_core.figures.theme import METHOD_STYLES
from tests.figure_readers import decode_sheet, unpack_curves

SMALL = TwoClocksSettings(data="growing noise", rows=100, trees=100, members=2)


@cache
def look_of(data="growing noise", model="sglb"):
    return look_two_clocks(fit_two_clocks(replace(SMALL, data=data, model=model)), "student")


@pytest.mark.parametrize("data", DATA)
def test_the_band_is_sent_once_for_every_pair_of_clocks(data):
    look = look_of(data)
    spec = unpack_curves(pack_curves(band_figure(look, alt="Words.").spec))
    dials, stages = spec["dials"], look.fit.scene
    for name, field in (("loc", "mean"), ("data", "data"), ("knowledge", "knowledge")):
        values = np.reshape(dials[name], stages.mean.shape)  # with five digits
        np.testing.assert_allclose(values, getattr(stages, field), rtol=1e-4, atol=NEAR_ZERO)
    n = len(dials["trees"])
    np.testing.assert_allclose(
        np.reshape(dials["nll"]["scaled"], (n, n)), look.maps.nll_scaled, rtol=1e-4
    )
    assert dials["trees"][dials["mean"]] == look.clocks["clocks"].mean_trees
    assert dials["trees"][dials["scale"]] == look.clocks["clocks"].scale_trees
    assert dials["factor"] is True
    assert [stop["name"] for stop in dials["stops"]] == list(look.labels.values())
    assert spec["alt"] == "Words."
    truth = any(entry["name"] == "true mean" for entry in spec["legend"])
    assert truth == (data != "diabetes")


def test_the_sliders_stand_where_the_link_says():
    dials = band_figure(look_of(), (41, 5, False)).spec["dials"]
    trees = dials["trees"]
    assert abs(trees[dials["mean"]] - 41) <= 5
    assert (trees[dials["scale"]], dials["factor"]) == (5, False)


def test_the_map_marks_each_way_where_it_stops():
    look = look_of()
    plain, scaled = decode_sheet(encode_sheet(clocks_sheet(look, (5, 100, True)))).header["panels"]
    names = [[mark["label"] for mark in panel["markers"]] for panel in (plain, scaled)]
    assert names == [
        ["All trees", "Early stopping"],
        ["All trees, one factor", "Two clocks", "shown"],
    ]
    early = plain["markers"][1]
    assert early["x"] == early["y"]  # on the diagonal
    last = len(look.maps.n_trees) - 1
    assert (plain["markers"][0]["x"], plain["markers"][0]["y"]) == (last, last)
    assert (scaled["markers"][2]["x"], scaled["markers"][2]["y"]) == (0, last)
    assert plain["limits"] == scaled["limits"]


def test_curves_are_over_a_log_axis_with_named_trees():
    spec = curves_figure(look_of()).spec
    assert spec["read"]["names"][-1] == "100"
    assert spec["x"]["ticks"]["labels"][-1] == "100"
    np.testing.assert_allclose(spec["x"]["ticks"]["ticks"][-1], 2.0)
    labels = [panel["label"] for panel in spec["panels"]]
    assert labels == ["RMSE", "coverage (%)", "NLL (nats)", "CRPS"]


def test_reliability_runs_from_nothing_to_everything():
    spec = reliability_figure(look_of()).spec
    for values in spec["read"]["values"]:
        assert (values["at"][0], values["at"][-1]) == (0.0, 100.0)
        assert np.all(np.diff(values["at"]) >= 0)


def test_the_band_stands_in_a_page_of_its_own():
    page = standalone_html([band_figure(look_of()), clocks_sheet(look_of())], "Two clocks")
    assert "class DialsView" in page


def test_a_model_without_clocks_has_one_stage_its_colour_and_no_knowledge_in_the_legend():
    look = look_of(model="knn")
    spec = band_figure(look, (1, 1, False)).spec
    dials = spec["dials"]
    assert (dials["trees"], dials["factor"]) == ([1], False)
    assert [stop["name"] for stop in dials["stops"]] == ["As it is", "One factor"]
    assert dials["colour"] == METHOD_STYLES["knn"].colour
    assert [entry["name"] for entry in spec["legend"]][:2] == ["data", "prediction"]
    assert len(reliability_figure(look).spec["legend"]) == 3


def test_ways_that_stop_at_one_place_share_its_mark():
    look = look_of()
    every = look.clocks["all"]
    there = replace(look.clocks["clocks"], mean_trees=every.mean_trees, scale_trees=100)
    same = replace(look, clocks={**look.clocks, "clocks": there})
    header = decode_sheet(encode_sheet(clocks_sheet(same))).header
    labels = [mark["label"] for mark in header["panels"][1]["markers"]]
    assert labels == ["All trees, one factor = Two clocks"]
