"""The pictures of neighbours draw the numbers of a run, and stay within their axes."""

import json
from dataclasses import replace

import numpy as np
import pytest

from gbuq_core.experiments.neighbours.charts import IBUG, family_figure, reasons_sheet
from gbuq_core.experiments.neighbours.look import run_neighbours
from gbuq_core.experiments.neighbours.picture import (
    CHOSEN_RANGE,
    behind_range,
    course_figure,
    held_out_figure,
    neighbours_maps,
    training_figure,
)
from gbuq_core.experiments.neighbours.plan import NeighboursSettings
from gbuq_core.figures.canvas.encoding import encode_sheet
from gbuq_core.figures.near import NEAR
from gbuq_core.ibug import FAMILIES
from tests.figure_readers import decode_sheet

# Numbers are sent with five significant digits.
ROUNDING = {"rtol": 5.1e-5, "atol": 0.0}


@pytest.fixture(scope="module")
def curve():
    return run_neighbours(NeighboursSettings(rows=200, trees=20, k=9, x=4.0))


@pytest.fixture(scope="module")
def square():
    settings = NeighboursSettings(data="ripples", rows=200, trees=20, k=9, x1=0.5, x2=-0.5)
    return run_neighbours(settings)


@pytest.fixture(scope="module")
def table():
    return run_neighbours(NeighboursSettings(data="wine", trees=20, k=9, wine_row=4))


def layers(figure, kind, panel=0, **looks):
    return [
        part
        for part in figure.spec["panels"][panel]["layers"]
        if part["kind"] == kind and all(part.get(k) == v for k, v in looks.items())
    ]


def names(figure):
    return [entry["name"] for entry in figure.spec["legend"]]


def looking(run, **look):
    return run._replace(look=replace(run.look, **look))


def brushed(run, *scales, scales_of="rows"):
    settings = replace(run.settings, scales=scales, scales_of=scales_of)
    return run._replace(settings=settings, view=replace(run.view, settings=settings))


def test_neighbours_are_drawn_by_their_affinity_and_nowhere_else(curve):
    run = looking(curve, indices=np.array([3, 0, 7]), affinities=np.array([18, 10, 2]), n_trees=20)
    figure, data = course_figure(run), run.fit.data
    strong = layers(figure, "dots", colour=NEAR)
    at = [(x, y) for part in strong for x, y in zip(part["x"], part["y"], strict=True)]
    wanted = [(data.X[row, 0], data.y[row]) for row in (7, 0, 3)]  # the weakest first
    np.testing.assert_allclose(at, wanted, **ROUNDING)
    sizes = [part["size"] for part in strong]
    assert sizes == sorted(sizes)
    assert len(set(sizes)) == 3
    (others,) = layers(figure, "dots", colour="text")
    assert len(others["x"]) == 197


def test_the_band_is_two_scales_wide_and_the_rule_at_the_chosen_x(curve):
    figure, loc, scale = course_figure(curve), curve.view.grid_loc, curve.view.grid_scale
    (band,) = layers(figure, "band")
    np.testing.assert_allclose(band["low"], loc - 2 * scale, rtol=5.1e-5, atol=5e-5)
    np.testing.assert_allclose(band["high"], loc + 2 * scale, rtol=5.1e-5, atol=5e-5)
    for panel in (0, 1):
        (rule,) = layers(figure, "line", panel, colour=NEAR)
        assert rule["x"] == [4.0, 4.0]
    (drawn,) = layers(figure, "line", 1, colour=IBUG.colour)
    np.testing.assert_allclose(drawn["y"], scale, **ROUNDING)


def test_a_range_of_scales_is_tinted_where_it_holds_and_not_announced_elsewhere(curve):
    run = brushed(curve, 80, 100, scales_of="places")
    figure, inside = course_figure(run), run.brushed.grid
    x = curve.fit.data.axes[0]
    for panel in (0, 1):
        tinted = [p for p in layers(figure, "band", panel) if p.get("role") == "range"]
        within = sum(((part["x"][0] <= x) & (x <= part["x"][-1])) for part in tinted)
        np.testing.assert_array_equal(within > 0, inside)
    assert "scale in the chosen range" in names(figure)
    assert "scale in the chosen range" not in names(course_figure(curve))


def test_where_there_are_no_rows_is_hatched(curve):
    for panel in (0, 1):
        gaps = layers(course_figure(curve), "hatch", panel)
        assert [(gap["from"], gap["to"]) for gap in gaps] == [(-3.0, -0.025), (10.025, 13.0)]


def test_maps_share_the_scale_of_truth_and_estimate_and_mark_the_neighbours(square):
    run = brushed(square, 50, 100)
    data, near, scale = (
        run.fit.data,
        run.look.indices,
        run.view.grid_scale.reshape(run.fit.data.grid_shape),
    )
    sheet = neighbours_maps(run)
    noise, estimate, share = sheet.panels
    highest = max(float(scale.max()), float(data.true_std.max()))
    assert noise.limits == estimate.limits == (0.0, highest)
    assert share.limits == (0.0, 1.0)
    np.testing.assert_array_equal(share.points.group, np.repeat([0, 1], [191, 9]))
    np.testing.assert_array_equal(np.asarray(share.points.x)[-9:], data.X[near, 0])
    np.testing.assert_array_equal(noise.hatched.ravel(), ~data.in_support)
    for panel in sheet.panels:
        np.testing.assert_array_equal(panel.outlined.ravel(), run.brushed.grid)
    assert (sheet.markers[0].x, sheet.markers[0].y) == (0.5, -0.5)
    drawn = decode_sheet(encode_sheet(sheet)).values[1][0]
    # Values travel in steps of a 65,535th of their range.
    np.testing.assert_allclose(drawn, scale, atol=2e-5)


def test_held_out_rows_can_be_chosen_and_those_outside_a_range_fade(table):
    run = brushed(table, 50, 100)
    figure, inside = held_out_figure(run), run.brushed.rows
    read = figure.spec["read"]
    assert read["names"] == list(range(1, 37))
    assert figure.spec["pick"]
    ring = figure.spec["panels"][0]["ring"]
    chosen = [run.view.loc[3], run.view.scale[3]]
    np.testing.assert_allclose([ring["x"], ring["y"]], chosen, **ROUNDING)
    opacity = {place: part["opacity"] for part in layers(figure, "dots") for place in part["at"]}
    faint = [opacity[place] < 0.3 for place in range(36)]
    np.testing.assert_array_equal(faint, ~inside)


def test_training_rows_are_read_by_number_beside_the_chosen_rows_own_target(table):
    figure, look = training_figure(table), table.look
    read = figure.spec["read"]
    assert read["names"] == list(range(1, 143))  # as the list of neighbours counts them
    strong = [
        read["names"][i]
        for part in layers(figure, "dots", colour=NEAR, role="near")
        for i in part["at"]
    ]
    assert sorted(strong) == sorted(look.indices + 1)
    (bar,) = layers(figure, "line")
    np.testing.assert_allclose(
        bar["y"], [look.loc - 2 * look.scale, look.loc + 2 * look.scale], **ROUNDING
    )
    assert not layers(figure, "dots", colour=CHOSEN_RANGE)
    far = looking(table, target=99.0)
    (own,) = layers(training_figure(far), "dots", role="own")
    assert own["y"] == [99.0]
    assert training_figure(far).spec["panels"][0]["range"][1] > 99.0
    assert "its own target" in names(figure)
    json.dumps(figure.spec, allow_nan=False)


def test_rows_behind_a_range_are_blue_unless_they_are_neighbours(table):
    run = brushed(table, 80, 100)
    figure = training_figure(run)
    (blue,) = layers(figure, "dots", colour=CHOSEN_RANGE)
    wanted = np.setdiff1d(np.flatnonzero(behind_range(run)), run.look.indices)
    assert blue["at"] == wanted.tolist()
    assert "neighbours of highlighted rows" in names(figure)


@pytest.mark.parametrize(("peak", "seen"), [(1.3, 1.3), (40.0, 1.5)])
def test_other_families_peaks_are_seen_unless_they_rise_beyond_measure(curve, peak, seen):
    density = curve.look.densities["normal"]
    alone = family_figure(looking(curve, densities={"normal": density}))
    bars = max(bar["high"][0] for bar in layers(alone, "band"))
    highest = max(float(density.max()), bars)
    other = density / density.max() * peak * highest
    both = looking(curve, densities={"normal": density, "laplace": other})
    top = family_figure(both).spec["panels"][0]["range"][1]
    assert top == pytest.approx(1.12 * seen * highest, rel=1e-3)  # five digits of the bars


def test_the_chosen_family_is_strong_and_the_bars_have_the_area_of_the_targets(curve):
    figure = family_figure(looking(curve, family="laplace"))
    strong = [part for part in layers(figure, "line") if part["width"] > 2]
    assert len(strong) == 1
    np.testing.assert_allclose(strong[0]["y"], curve.look.densities["laplace"], **ROUNDING)
    area = sum((bar["x"][1] - bar["x"][0]) * bar["high"][0] for bar in layers(figure, "band"))
    assert area == pytest.approx(1.0, rel=1e-3)  # five digits of each edge
    assert names(figure)[0] == "Laplace"
    labels = [FAMILIES[name].label for name in curve.look.densities]
    assert [value["name"] for value in figure.spec["read"]["values"]] == labels
    rug = layers(figure, "dots")
    assert sorted(x for part in rug for x in part["x"]) == pytest.approx(
        sorted(curve.look.targets), rel=1e-4
    )


def test_an_infinite_density_neither_breaks_the_picture_nor_its_axis(curve):
    usual = family_figure(curve).spec["panels"][0]["range"]
    infinite = {**curve.look.densities, "weibull": np.full(201, np.inf)}
    figure = family_figure(looking(curve, densities=infinite))
    json.dumps(figure.spec, allow_nan=False)
    assert figure.spec["panels"][0]["range"] == usual


def test_equal_targets_give_no_bars(curve):
    assert not layers(family_figure(looking(curve, targets=np.full(9, 0.5))), "band")


def test_reasons_show_the_cut_the_path_and_the_score(curve):
    sheet, look, tuning = reasons_sheet(curve), curve.look, curve.search.tuning
    affinity, scale, score = sheet.strips
    every, near = (np.nan_to_num(np.asarray(line.y)) for line in affinity.lines)
    counts = np.bincount(look.row_affinities, minlength=21)
    np.testing.assert_array_equal(every, [*counts, counts[-1]])
    assert near[:-1].sum() == 9
    assert all(line.bars for line in affinity.lines)
    assert list(scale.marks) == list(score.marks) == [9.0]
    assert [line.name for line in scale.lines] == ["scale", "true noise"]
    at_k = np.asarray(scale.lines[0].y)[np.asarray(scale.x) == 9.0]
    np.testing.assert_allclose(at_k, [look.scale])
    np.testing.assert_array_equal(score.lines[0].y, tuning.nll[tuning.n_neighbors <= 60])
    sent = decode_sheet(encode_sheet(sheet)).header["strips"]
    assert [[line["bars"] for line in strip["lines"]] for strip in sent] == [
        [True, True],
        [False, False],
        [False],
    ]


def test_one_k_alone_draws_no_curve_of_scores_and_a_table_no_true_noise(table):
    tuning, score = table.search.tuning, np.ones(1)
    tuning = tuning._replace(n_neighbors=np.array([3]), nll=score, crps=score)
    sheet = reasons_sheet(table._replace(search=table.search._replace(tuning=tuning)))
    assert [strip.title for strip in sheet.strips] == [
        "Affinity of all training rows",
        "Its scale against k",
    ]
    assert [line.name for line in sheet.strips[1].lines] == ["scale"]


@pytest.mark.parametrize("n_trees", [1, 49, 60, 70, 100, 1000])
def test_bars_of_affinity_hold_equally_many_numbers_of_trees(curve, n_trees):
    every = np.arange(n_trees + 1, dtype=np.int32)  # each once
    run = looking(curve, n_trees=n_trees, row_affinities=every, affinities=every[-1:])
    strip = reasons_sheet(run).strips[0]
    counts, near = (np.nan_to_num(np.asarray(line.y))[:-1] for line in strip.lines)
    assert len(set(counts[:-1].tolist())) <= 1
    assert counts.sum() == n_trees + 1
    assert len(counts) <= 51
    assert near[-1] == 1
    assert (np.diff(strip.x) > 0).all()
    assert (strip.x[0], strip.x[-1]) == (0.0, 100.0)
