"""The figures of a scored table: what is drawn where, and in words."""

import json

import numpy as np
import pytest

from gbuq_core.figures.clocks import ChosenCurve, clocks_figure
from gbuq_core.figures.table import coverage as table_coverage
from gbuq_core.figures.table.compared import ScoreGaps, compared_figure
from gbuq_core.figures.table.features import FeatureValue, contributions_figure, positions_figure
from gbuq_core.figures.table.members import (
    MemberClasses,
    MemberValues,
    member_classes_figure,
    member_means_figure,
    member_values_figure,
)
from gbuq_core.figures.table.rejection import Ranking, describe_rejection, rejection_figure
from gbuq_core.figures.table.rows import RowMap, describe_row_map, row_map_figure
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.metrics import coverage, prr, rejection_curve, reliability

STYLE = METHOD_STYLES["sglb"]
NASTY = "<a href='http://evil.example'>x</a>"


def ranking(errors, values, kind="total"):
    return Ranking(kind, rejection_curve(errors, values), prr(errors, values))


# Numbers are sent with five significant digits.
ROUNDING = {"rtol": 5.1e-5, "atol": 0.0}


def read_by_name(figure):
    return {entry["name"]: entry["at"] for entry in figure.spec["read"]["values"]}


def test_rejection_lies_between_random_and_oracle():
    errors = np.array([0.0, 3.0, 1.0, 2.0])
    figure = rejection_figure([ranking(errors, errors)], "error")
    assert [entry["name"] for entry in figure.spec["legend"]] == ["random", "oracle", "total"]
    (panel,) = figure.spec["panels"]
    random, oracle, total = panel["layers"]
    assert total["y"] == oracle["y"]
    assert random["y"][0] == oracle["y"][0] == 1.5
    assert (total["x"][0], total["x"][-1]) == (0.0, 100.0)
    assert panel["range"][0] == 0.0
    assert panel["range"][1] > 1.5
    assert read_by_name(figure)["total"] == total["y"]
    assert "PRR 100 %" in figure.alt
    assert figure.alt == describe_rejection([ranking(errors, errors)])
    assert_json(figure)
    assert "nothing to reject" in describe_rejection([ranking(errors * 0, errors)])


@pytest.mark.parametrize("cyclical", [False, True])
def test_both_clocks_are_marked_where_they_stop(cyclical):
    n_trees = np.array([5, 10, 20, 40])
    rmse = np.array([np.nan if cyclical else 3.0, 2.0, 1.5, 1.6])
    nll, plain = np.array([2.0, 1.0, 1.2, 1.5]), np.array([2.5, 1.5, 4.0, 90.0])
    curves = [
        ChosenCurve("RMSE", "RMSE of the mean", rmse, 20),
        ChosenCurve("NLL (nats)", "NLL of the spread", nll, 10, plain, "same trees for both"),
    ]
    figure = clocks_figure(n_trees, curves, "what was chosen")
    above, below = figure.spec["panels"]
    assert above["layers"][-1]["x"] == [20.0, 20.0]
    assert below["layers"][-1]["x"] == [10.0, 10.0]
    assert above["layers"][0]["y"] == ([2.0, 1.5, 1.6] if cyclical else [3.0, 2.0, 1.5, 1.6])
    assert below["range"][1] < 3.0  # what collapses leaves the picture
    assert figure.spec["read"]["x"] == ([10.0, 20.0, 40.0] if cyclical else [5.0, 10.0, 20.0, 40.0])
    assert_json(figure)
    assert figure.alt == "what was chosen"


def test_the_trees_of_a_classifier_are_marked():
    loss = np.array([0.6, 0.4, 0.5])
    curve = ChosenCurve("log loss (nats)", "log loss", loss, 10)
    figure = clocks_figure(np.array([5, 10, 20]), [curve], "")
    (panel,) = figure.spec["panels"]
    assert panel["layers"][1]["x"] == [10.0, 10.0]
    assert read_by_name(figure)["log loss"] == loss.tolist()


def test_coverage_and_reliability_show_promise_and_measurement():
    rng = np.random.default_rng(1)
    y = rng.normal(size=200)
    promise = coverage(y, np.zeros(200), np.full(200, 0.1))
    figure = table_coverage.coverage_figure(promise, STYLE)
    band, right, measured, dots = figure.spec["panels"][0]["layers"]
    order = np.argsort(promise.levels)
    np.testing.assert_allclose(measured["x"], 100 * promise.levels[order], **ROUNDING)
    np.testing.assert_allclose(measured["y"], 100 * promise.observed[order], **ROUNDING)
    np.testing.assert_allclose(band["low"], 100 * promise.low[order], **ROUNDING)
    assert right["x"] == right["y"] == [0.0, 100.0]
    assert dots["y"] == measured["y"]
    assert "outside their band" in figure.alt
    sure = reliability(np.array([0, 1, 1]), np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]]))
    figure = table_coverage.reliability_figure(sure, STYLE)
    assert_json(figure)
    measured = figure.spec["panels"][0]["layers"][2]
    assert len(measured["x"]) == 3
    assert np.isfinite(measured["y"]).all()


def assert_json(figure):
    assert json.loads(json.dumps(figure.spec, allow_nan=False)) == figure.spec


def row_map(**changes):
    shown = RowMap(
        number=np.array([1, 2, 3]),
        data=np.array([1.0, 2.0, 3.0]),
        knowledge=np.array([0.3, 0.2, 0.1]),
        error=np.array([5.0, 1.0, np.nan]),
        unit="std",
        error_label="absolute error",
        is_class=False,
        selected=1,
    )
    return shown._replace(**changes)


def test_the_worst_rows_are_drawn_on_top_and_the_open_one_is_ringed():
    figure = row_map_figure(row_map())
    (panel,) = figure.spec["panels"]
    # without a truth, then the smaller error, then the larger
    assert [layer["at"] for layer in panel["layers"]] == [[2], [1], [0]]
    assert (panel["ring"]["x"], panel["ring"]["y"]) == (2.0, 0.2)
    assert "disagree most about row 1" in figure.alt
    assert figure.alt == describe_row_map(row_map())
    assert_json(figure)


def test_a_dot_can_be_read_and_picked_by_its_number():
    read = row_map_figure(row_map(number=np.array([7, 8, 9]))).spec["read"]
    assert read["names"] == [7, 8, 9]
    assert (read["x"], read["y"]) == ([1.0, 2.0, 3.0], [0.3, 0.2, 0.1])
    assert {v["name"]: v["at"] for v in read["values"]}["error"] == [5.0, 1.0, None]
    ranges = row_map_figure(row_map()).spec
    assert ranges["x"]["range"][1] > 3.0
    low, high = ranges["panels"][0]["range"]
    assert low < 0.1 < 0.3 < high


def test_wrong_and_right_classes_have_names():
    figure = row_map_figure(row_map(error=np.array([0.0, 1.0, np.nan]), is_class=True))
    assert [entry["name"] for entry in figure.spec["legend"]] == ["right", "wrong", "no truth"]
    assert [layer["at"] for layer in figure.spec["panels"][0]["layers"]] == [[0], [1], [2]]


def test_a_map_without_truths_needs_no_scale_and_reads_no_error():
    figure = row_map_figure(row_map(error=np.full(3, np.nan), selected=None))
    (panel,) = figure.spec["panels"]
    assert [layer["at"] for layer in panel["layers"]] == [[0, 1, 2]]
    assert "ring" not in panel
    assert figure.spec["legend"] == []
    assert set(read_by_name(figure)) == {"data", "knowledge"}


def test_the_scale_of_errors_leaves_out_the_worst_fiftieth():
    error = np.append(np.linspace(0.0, 1.0, 99), 1000.0)
    rows = RowMap(np.arange(100), error, error, error, "std", "absolute error", is_class=False)
    figure = row_map_figure(rows)
    (scale,) = figure.spec["legend"]
    assert scale["name"] == "absolute error, 0 to 0.99 and above"
    layers = figure.spec["panels"][0]["layers"]
    assert len(layers) == len(scale["colours"]) == 16
    assert 99 in layers[-1]["at"]
    assert sorted(place for layer in layers for place in layer["at"]) == list(range(100))


def test_the_users_words_stay_data():
    features = [
        FeatureValue(NASTY, NASTY, 100.0, 0.0, "outside the training range"),
        FeatureValue(NASTY, "", np.nan, 12.5, "missing"),
    ]
    spec = positions_figure(features)
    assert len(set(spec["layer"][0]["encoding"]["y"]["sort"])) == 2
    assert spec["layer"][2]["data"]["values"][0]["c2"] == 12.5
    assert spec["layer"][3]["data"]["values"][0]["c1"] == 100.0
    bars = contributions_figure([NASTY, NASTY], np.array([1.0, -2.0]), "data", "nats")
    assert [row["c1"] for row in bars["data"]["values"]] == [1.0, -2.0]
    assert NASTY[:20] in bars["data"]["values"][0]["c0"]


def test_members_of_a_regression():
    members = MemberValues(np.array([1.0, 3.0]), np.array([0.5, 0.5]), 1.2, 2.5, NASTY)
    spec = member_values_figure(members, STYLE)
    rows = spec["data"]["values"]
    assert [row["c1"] for row in rows] == [1.0, 3.0, 2.0]
    assert (rows[0]["c2"], rows[0]["c3"]) == (0.0, 2.0)
    assert spec["layer"][-1]["data"]["values"] == [{"c1": 2.5}]
    without = member_values_figure(members._replace(truth=np.nan), STYLE)
    assert len(without["layer"]) == 2
    assert [row["c1"] for row in member_means_figure(members, STYLE)["data"]["values"]] == [1, 3]


def test_members_of_a_classification_show_the_most_probable_classes():
    p = np.array([[0.1, 0.7, 0.2], [0.2, 0.5, 0.3]])
    spec = member_classes_figure(MemberClasses(p, ("a", "b", "c"), 2), STYLE)
    bars, dots = (layer["data"]["values"] for layer in spec["layer"])
    assert [bar["c0"] for bar in bars] == ["b", "c (true)", "a"]
    assert len(dots) == 6


def test_compared_methods_stand_beside_their_names_with_their_intervals():
    gaps = ScoreGaps("NLL", np.array([0.0, 0.2]), np.array([0.0, -0.1]), np.array([0.0, 0.5]))
    styles = [METHOD_STYLES["ibug"], METHOD_STYLES["ibug_cbu"]]
    figure = compared_figure(styles, [gaps, gaps._replace(label="CRPS")], "words")
    assert figure.spec["alt"] == "words"
    assert figure.spec["x"]["ticks"]["labels"] == ["IBUG", "IBUG + virtu…"]
    first, second = figure.spec["panels"]
    assert [panel["label"] for panel in (first, second)] == ["NLL", "CRPS"]
    assert first["range"][0] < -0.1 < 0.5 < first["range"][1]
    intervals = [layer["y"] for layer in first["layers"] if layer.get("width") == 3.0]
    assert intervals == [[0.0, 0.0], [-0.1, 0.5]]
    assert read_by_name(figure)["NLL to"] == [0.0, 0.5]
    assert_json(figure)
    alone = compared_figure(styles[:1], [ScoreGaps("NLL", *np.zeros((3, 1)))], "words")
    low, high = alone.spec["panels"][0]["range"]
    assert low < 0.0 < high
