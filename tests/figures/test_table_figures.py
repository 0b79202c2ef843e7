"""The figures of a scored table: what is drawn where, and in words."""

import doctest

import numpy as np
import pytest

from gbuq_core.figures import (
    table_coverage,
    table_features,
    table_members,
    table_rejection,
    table_rows,
    vega,
)
from gbuq_core.figures.table_features import FeatureValue, contributions_figure, positions_figure
from gbuq_core.figures.table_members import (
    MemberClasses,
    MemberValues,
    member_classes_figure,
    member_means_figure,
    member_values_figure,
)
from gbuq_core.figures.table_rejection import Ranking, describe_rejection, rejection_figure
from gbuq_core.figures.table_rows import RowMap, describe_row_map, row_map_figure
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.metrics import coverage, prr, rejection_curve, reliability

STYLE = METHOD_STYLES["sglb"]
NASTY = "<a href='http://evil.example'>x</a>"


@pytest.mark.parametrize(
    "module",
    [table_coverage, table_features, table_members, table_rejection, table_rows, vega],
)
def test_the_examples_in_the_docstrings_hold(module):
    assert doctest.testmod(module).failed == 0


def ranking(errors, values, kind="total"):
    return Ranking(kind, rejection_curve(errors, values), prr(errors, values))


def test_rejection_lies_between_random_and_oracle():
    errors = np.array([0.0, 3.0, 1.0, 2.0])
    figure = rejection_figure([ranking(errors, errors)], "error")
    random, oracle, total = figure.data
    assert [trace.name for trace in figure.data] == ["random", "oracle", "total"]
    np.testing.assert_array_equal(total.y, oracle.y)
    assert random.y[0] == oracle.y[0] == np.float32(1.5)
    assert "PRR 100 %" in describe_rejection([ranking(errors, errors)])
    assert "nothing to reject" in describe_rejection([ranking(errors * 0, errors)])


def test_coverage_and_reliability_show_promise_and_measurement():
    rng = np.random.default_rng(1)
    y = rng.normal(size=200)
    found = coverage(y, np.zeros(200), np.full(200, 0.1))
    figure = table_coverage.coverage_figure(found, STYLE)
    measured = figure.data[-1]
    np.testing.assert_array_equal(measured.x, np.sort(found.levels))
    assert "outside their band" in table_coverage.describe_coverage(found)
    sure = reliability(np.array([0, 1, 1]), np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]]))
    measured = table_coverage.reliability_figure(sure, STYLE).data[-1]
    assert len(measured.x) == 3
    assert np.isfinite(measured.y).all()


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


@pytest.mark.parametrize("dark", [False, True])
def test_the_worst_rows_are_drawn_on_top_and_the_open_one_is_ringed(dark):
    dots, ring = row_map_figure(row_map(), dark).data
    assert dots.customdata[:, 0].tolist() == [3, 2, 1]
    assert (ring.x, ring.y) == ((2.0,), (0.2,))
    assert "least familiar is row 1" in describe_row_map(row_map())


def test_wrong_and_right_classes_have_names():
    traces = row_map_figure(row_map(error=np.array([0.0, 1.0, np.nan]), is_class=True)).data
    assert [trace.name for trace in traces[:3]] == ["right", "wrong", "no truth"]


def test_a_map_without_truths_needs_no_colour_bar():
    (dots,) = row_map_figure(row_map(error=np.full(3, np.nan), selected=None)).data
    assert dots.marker.color == "#56b4e9"


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
