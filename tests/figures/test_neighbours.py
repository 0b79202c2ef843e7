"""The pictures of neighbours draw the numbers they are given, and stay within their axes."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from gbuq_core.figures.canvas.encoding import encode_sheet
from gbuq_core.figures.error_dots import error_dots
from gbuq_core.figures.neighbours.charts import (
    Families,
    Reasons,
    family_figure,
    reasons_sheet,
)
from gbuq_core.figures.neighbours.parts import (
    CHOSEN_RANGE,
    MOST_DOTS,
    NEAR,
    Near,
    by_strength,
    others_of,
)
from gbuq_core.figures.neighbours.picture import Course, Surface, course_figure, surface_sheet
from gbuq_core.figures.neighbours.rows import HeldOut, held_out_figure, training_figure
from gbuq_core.figures.neighbours.sources import reasons_from
from tests.figure_readers import decode_sheet

# Numbers are sent with five significant digits.
ROUNDING = {"rtol": 5.1e-5, "atol": 0.0}


@pytest.fixture
def near():
    return Near(np.array([3, 0, 7]), np.array([0.9, 0.5, 0.1]))


@pytest.fixture
def course(rng):
    x = np.linspace(0.0, 1.0, 11)
    return Course(
        x=x,
        loc=np.sin(x),
        scale=0.1 + 0.2 * x,
        true_mean=np.cos(x),
        true_std=np.full(11, 0.15),
        x_rows=rng.random(40),
        y_rows=rng.normal(size=40),
        in_support=x < 0.75,
    )


@pytest.fixture
def families(rng):
    y = np.linspace(-3.0, 3.0, 61)
    density = {"Normal": np.exp(-(y**2)), "Laplace": np.exp(-np.abs(y))}
    return Families(y, density, "Laplace", rng.normal(size=30), np.linspace(1.0, 0.2, 30), 0.7)


@pytest.fixture
def reasons():
    return Reasons(
        edges=np.linspace(0.0, 1.0, 6),
        counts=np.array([100, 10, 0, 5, 2]),
        near_counts=np.array([0, 0, 0, 1, 2]),
        k=np.array([2.0, 3.0, 4.0]),
        scale=np.array([0.5, 0.7, 0.6]),
        chosen_k=3,
        true_std=0.4,
        tried=np.array([3.0, 5.0]),
        score=np.array([1.2, 1.1]),
    )


def layers(figure, kind, panel=0, **looks):
    return [
        part
        for part in figure.spec["panels"][panel]["layers"]
        if part["kind"] == kind and all(part.get(k) == v for k, v in looks.items())
    ]


def test_neighbours_are_drawn_by_their_affinity_and_nowhere_else(course, near):
    figure = course_figure(course, 0.4, near)
    strong = layers(figure, "dots", colour=NEAR)
    at = [(x, y) for part in strong for x, y in zip(part["x"], part["y"], strict=True)]
    wanted = [(course.x_rows[row], course.y_rows[row]) for row in (7, 0, 3)]  # the weakest first
    np.testing.assert_allclose(at, wanted, **ROUNDING)
    sizes = [part["size"] for part in strong]
    assert sizes == sorted(sizes)
    assert len(set(sizes)) == 3
    (others,) = layers(figure, "dots", colour="text")
    assert len(others["x"]) == 37


def test_the_band_is_two_scales_wide_and_the_rule_at_the_chosen_x(course, near):
    figure = course_figure(course, 0.4, near)
    (band,) = layers(figure, "band")
    np.testing.assert_allclose(band["low"], course.loc - 2 * course.scale, **ROUNDING)
    np.testing.assert_allclose(band["high"], course.loc + 2 * course.scale, **ROUNDING)
    for panel in (0, 1):
        (rule,) = layers(figure, "line", panel, colour=NEAR)
        assert rule["x"] == [0.4, 0.4]
    (scale,) = layers(figure, "line", 1, colour="#009e73")
    np.testing.assert_allclose(scale["y"], course.scale, **ROUNDING)


def test_a_range_of_scales_is_tinted_where_it_holds_and_not_announced_elsewhere(course, near):
    inside = course.scale > 0.25
    figure = course_figure(course, 0.4, near, inside)
    tinted = layers(figure, "band", 1)
    assert [(part["x"][0], part["x"][-1]) for part in tinted] == [(0.75, 1.0)]
    names = [entry["name"] for entry in figure.spec["legend"]]
    assert "scale in the chosen range" in names
    nothing = course_figure(course, 0.4, near, np.zeros(11, dtype=bool))
    assert not layers(nothing, "band", 1)
    assert "scale in the chosen range" not in [e["name"] for e in nothing.spec["legend"]]


def test_where_there_are_no_rows_is_hatched(course, near):
    for panel in (0, 1):
        (gap,) = layers(course_figure(course, 0.4, near), "hatch", panel)
        assert (gap["from"], gap["to"]) == (0.75, 1.0)


def test_many_rows_are_thinned_but_never_a_neighbour():
    near = Near(np.arange(5000, 5200), np.linspace(1.0, 0.5, 200))
    others = others_of(20_000, near)
    assert len(others) == MOST_DOTS
    assert not np.intersect1d(others, near.rows).size
    assert sum(len(rows) for rows, _, _ in by_strength(near)) == 200


def test_equal_affinities_are_all_strongest():
    groups = by_strength(Near(np.arange(4), np.full(4, 0.3)))
    assert [(len(rows), size, opacity) for rows, size, opacity in groups] == [(4, 9.0, 1.0)]


def test_maps_share_the_scale_of_truth_and_estimate_and_mark_the_neighbours(rng):
    near = Near(np.array([1, 4]), np.array([0.8, 0.2]))
    surface = Surface(
        true_std=np.full((4, 5), 0.5),
        scale=rng.random((4, 5)) + 1.0,
        share=rng.random((4, 5)),
        in_support=np.arange(20).reshape(4, 5) > 3,
        X_rows=rng.normal(size=(6, 2)),
        x_extent=(-3.0, 3.0),
        y_extent=(-2.0, 2.0),
    )
    inside = surface.scale > 1.5
    sheet = surface_sheet(surface, (0.5, -0.5), near, inside)
    noise, scale, share = sheet.panels
    assert noise.limits == scale.limits == (0.0, float(surface.scale.max()))
    assert share.limits == (0.0, 1.0)
    np.testing.assert_array_equal(share.points.group, [0, 0, 0, 0, 1, 1])
    np.testing.assert_allclose(np.asarray(share.points.x)[-2:], surface.X_rows[[1, 4], 0])
    np.testing.assert_array_equal(noise.hatched, ~surface.in_support)
    for panel in sheet.panels:
        np.testing.assert_array_equal(panel.outlined, inside)
    assert (sheet.markers[0].x, sheet.markers[0].y) == (0.5, -0.5)
    drawn = decode_sheet(encode_sheet(sheet)).values[1][0]
    # Values travel in steps of a 65,535th of their range.
    np.testing.assert_allclose(drawn, surface.scale, atol=2e-5)


def test_held_out_rows_can_be_chosen_and_those_outside_a_range_fade():
    rows = HeldOut(
        np.array([11, 12, 13]), np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.5, 0.3]),
        np.array([0.2, 0.1, np.nan]),
    )  # fmt: skip
    figure = held_out_figure(rows, 2, np.array([True, False, True]))
    read = figure.spec["read"]
    assert read["names"] == [11, 12, 13]
    assert figure.spec["pick"]
    assert read["values"][2]["at"] == [0.2, 0.1, None]
    ring = figure.spec["panels"][0]["ring"]
    assert (ring["x"], ring["y"]) == (3.0, 0.3)
    opacity = {place: part["opacity"] for part in layers(figure, "dots") for place in part["at"]}
    assert opacity[1] < 0.3 < min(opacity[0], opacity[2])


def test_without_truths_dots_have_one_colour_and_no_legend():
    drawn, legend = error_dots(np.full(3, np.nan), "error")
    assert [part["at"] for part in drawn] == [[0, 1, 2]]
    assert legend == []


def test_training_rows_without_a_value_are_left_out(near):
    across = np.arange(10.0)
    across[7] = np.nan
    figure = training_figure(
        across, np.arange(10.0) * 2, near, (4.5, 9.0, 1.5), labels=("age", "y")
    )
    read = figure.spec["read"]
    assert read["names"] == [1, 2, 3, 4, 5, 6, 7, 9, 10]  # as the list of neighbours counts them
    strong = [read["names"][i] for part in layers(figure, "dots", colour=NEAR) for i in part["at"]]
    assert strong == [1, 4]
    (bar,) = layers(figure, "line")
    assert bar["y"] == [6.0, 12.0]
    assert not layers(figure, "dots", colour=CHOSEN_RANGE)
    missing = training_figure(across, np.arange(10.0), near, (np.nan, 9.0, 1.5))
    assert "ring" not in missing.spec["panels"][0]
    assert not layers(missing, "line")
    json.dumps(missing.spec, allow_nan=False)


def test_rows_behind_a_range_are_blue_unless_they_are_neighbours(near):
    marked = np.isin(np.arange(10), [0, 5, 6])
    figure = training_figure(np.arange(10.0), np.arange(10.0), near, (4.5, 9.0, 1.5), marked)
    (blue,) = layers(figure, "dots", colour=CHOSEN_RANGE)
    assert blue["at"] == [5, 6]
    names = [entry["name"] for entry in figure.spec["legend"]]
    assert "neighbours of highlighted rows" in names


def test_the_rows_own_target_is_a_dot_above_or_below_the_prediction(near):
    rows = np.arange(10.0)
    figure = training_figure(rows, rows, near, (4.5, 9.0, 1.5), observed=31.0)
    (own,) = [part for part in layers(figure, "dots") if "x" in part]
    assert (own["x"], own["y"]) == ([4.5], [31.0])
    assert figure.spec["panels"][0]["range"][1] > 31.0
    assert "its own target" in [entry["name"] for entry in figure.spec["legend"]]
    unknown = training_figure(rows, rows, near, (4.5, 9.0, 1.5))
    assert not [part for part in layers(unknown, "dots") if "x" in part]


@pytest.mark.parametrize(("peak", "seen"), [(1.3, 1.3), (40.0, 1.5)])
def test_other_families_peaks_are_seen_unless_they_rise_beyond_measure(families, peak, seen):
    density = dict(families.density)
    highest = max(float(density["Laplace"].max()), bars_top(families))
    density["Normal"] = density["Normal"] / density["Normal"].max() * peak * highest
    top = family_figure(families._replace(density=density)).spec["panels"][0]["range"][1]
    assert top == pytest.approx(1.12 * seen * highest, rel=1e-3)  # five digits of the bars


def bars_top(families):
    return max(bar["high"][0] for bar in layers(family_figure(families), "band"))


def test_the_chosen_family_is_strong_and_the_bars_have_the_area_of_the_targets(families):
    figure = family_figure(families)
    strong = [part for part in layers(figure, "line") if part["width"] > 2]
    assert len(strong) == 1
    np.testing.assert_allclose(strong[0]["y"], families.density["Laplace"], **ROUNDING)
    area = sum((bar["x"][1] - bar["x"][0]) * bar["high"][0] for bar in layers(figure, "band"))
    assert area == pytest.approx(1.0, rel=1e-3)  # five digits of each edge
    assert next(entry["name"] for entry in figure.spec["legend"]) == "Laplace"
    assert [value["name"] for value in figure.spec["read"]["values"]] == ["Normal", "Laplace"]
    rug = layers(figure, "dots")
    assert sorted(x for part in rug for x in part["x"]) == pytest.approx(
        sorted(families.targets), rel=1e-4
    )


def test_an_infinite_density_neither_breaks_the_picture_nor_its_axis(families):
    density = {**families.density, "Weibull": np.full(61, np.inf)}
    figure = family_figure(families._replace(density=density))
    json.dumps(figure.spec, allow_nan=False)
    low, high = figure.spec["panels"][0]["range"]
    assert low < 0 < high < 2


def test_equal_targets_give_no_bars(families):
    figure = family_figure(families._replace(targets=np.full(30, 0.5)))
    assert not layers(figure, "band")


def test_reasons_show_the_cut_the_path_and_the_score(reasons):
    sheet = reasons_sheet(reasons, "mm")
    affinity, scale, score = sheet.strips
    every, near = (np.asarray(line.y) for line in affinity.lines)
    np.testing.assert_array_equal(every, [100.0, 10.0, np.nan, 5.0, 2.0, 2.0])
    np.testing.assert_array_equal(near, [np.nan, np.nan, np.nan, 1.0, 2.0, 2.0])
    assert all(line.bars for line in affinity.lines)
    assert list(scale.marks) == list(score.marks) == [3.0]
    assert [line.name for line in scale.lines] == ["scale", "true noise"]
    sent = decode_sheet(encode_sheet(sheet)).header["strips"]
    assert [[line["bars"] for line in strip["lines"]] for strip in sent] == [
        [True, True], [False, False], [False],
    ]  # fmt: skip


def test_one_k_alone_draws_no_curve_of_scores(reasons):
    alone = replace(reasons, tried=np.array([3.0]), score=np.array([1.0]), true_std=None)
    assert [strip.title for strip in reasons_sheet(alone).strips] == [
        "Affinity of all training rows",
        "Its scale against k",
    ]


@pytest.mark.parametrize("n_trees", [1, 49, 60, 70, 100, 1000])
def test_bars_of_affinity_hold_equally_many_numbers_of_trees(n_trees):
    every = np.arange(n_trees + 1, dtype=np.int32)  # each once
    k = np.arange(2, 4)
    look = SimpleNamespace(
        n_trees=n_trees, row_affinities=every, affinities=every[-1:], path_k=k, path_std=k * 1.0,
        k=2,
    )  # fmt: skip
    tuning = SimpleNamespace(n_neighbors=np.array([3]), nll=np.zeros(1), crps=np.zeros(1))
    reasons = reasons_from(look, (2, 0.1, 1.0, 0.0), tuning, "nll", None)
    assert len(set(reasons.counts[:-1].tolist())) <= 1
    assert reasons.counts.sum() == n_trees + 1
    assert len(reasons.counts) <= 51
    assert reasons.near_counts[-1] == 1
    assert (np.diff(reasons.edges) > 0).all()
    assert (reasons.edges[0], reasons.edges[-1]) == (0.0, 1.0)
