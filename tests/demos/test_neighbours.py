"""The lesson on neighbours: its numbers, and the facts that its fixed sentences rest on."""

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from lesson_parts import computed, fits_made_once

from demos.neighbours.steps import COUNTS, LESSON, MOST_FRAMES_K, NOISY_SPOT, QUIET
from gbuq_core.figures.canvas.encoding import encode_sheet
from gbuq_core.metrics import auroc
from gbuq_core.study.neighbours_fit import run_neighbours, search_neighbours, view_neighbours
from gbuq_core.synthetic import ripples_truth
from tests.figure_readers import decode_sheet

PRESETS = {step.title: step.preset for step in LESSON.steps}
shown = partial(computed, "neighbours")


@cache
def run_of(title):
    with fits_made_once():
        return run_neighbours(PRESETS[title])


def viewed(title, **knobs):
    run = run_of(title)
    settings = replace(run.settings, **knobs)
    return view_neighbours(run.fit, search_neighbours(run.fit, settings), settings)


def test_the_affinity_grows_tree_by_tree_to_the_pages_map():
    sheet, run = shown("Shared leaves").sheet, run_of("Shared leaves")
    growing, shape = sheet.panels[2].values, run.fit.data.grid_shape
    np.testing.assert_array_equal(
        growing[-1], (run.look.map_affinity / run.look.n_trees).reshape(shape)
    )
    assert set(np.unique(growing[0])) == {0.0, 1.0}  # one tree: in the box or not
    by_distance = np.argsort(np.hypot(*(run.fit.data.X - run.look.x).T), kind="stable")
    both = np.intersect1d(by_distance[: run.look.k], run.look.indices)
    assert 0 < len(both) < run.look.k
    assert f"{len(both)} are also among the nearest" in shown("Shared leaves").answer


def test_the_spot_is_underrated_and_the_quiet_place_overrated():
    spot, quiet = (run_of(title).look.scale for title in ("Shared leaves", "A quiet place"))
    noise = [float(np.sqrt(ripples_truth([at]).variance[0])) for at in (NOISY_SPOT, QUIET)]
    assert noise[1] < quiet < spot < noise[0]
    # The mean's own change among the neighbours is as large as the noise.
    means = ripples_truth(run_of("A quiet place").look.features).mean
    assert means.std() > noise[1]
    assert f"{quiet:#.2g} here and {spot:#.2g} in the spot" in shown("A quiet place").answer


def test_few_and_many_neighbours_score_worse_than_those_that_are_tuned():
    title = "How many neighbours"
    sheet, tuned = shown(title).sheet, viewed(title, k=None)
    (strip,) = sheet.strips
    nll = np.asarray(strip.lines[0].y)
    assert nll[1] > nll[tuned.k - 2] + 1
    assert nll[-1] > nll[tuned.k - 2] + 0.1
    assert nll[tuned.k - 2] == tuned.test_nll
    assert list(strip.marks) == [tuned.k]
    header = decode_sheet(encode_sheet(sheet)).header
    assert header["frames"] == MOST_FRAMES_K - 1
    np.testing.assert_array_equal(
        np.asarray(sheet.panels[1].values)[1].ravel(), run_of(title).view.grid_scale
    )


def test_calibration_mends_coverage_and_not_the_map():
    title = "One number for all"
    run, bare = run_of(title), viewed(title, calibrate=False)
    (strip,) = shown(title).sheet.strips
    raw, done = (np.asarray(line.y) for line in strip.lines[:2])
    assert abs(done[1] - 90) < 2 < abs(raw[1] - 90)
    assert np.ptp(done) < np.ptp(raw)
    inside, truth = run.fit.data.in_support, run.fit.data.true_std
    off = [np.abs(view.grid_scale - truth)[inside].mean() for view in (bare, run.view)]
    assert off[1] > off[0]
    assert f"from {bare.test_nll:.2f} to {run.view.test_nll:.2f}" in shown(title).more[-1]


def test_a_few_first_trees_score_best_and_then_the_order_hardly_matters():
    (strip,) = shown("Which trees count").sheet.strips
    first, last, other = (np.asarray(line.y) for line in strip.lines)
    at, more = COUNTS.index(5), COUNTS.index(20)
    assert first[at] < min(last[at], other[at]) - 0.05
    spread = [np.ptp([line[place] for line in (first, last, other)]) for place in (at, more)]
    assert spread[1] < spread[0]
    assert first[-1] == last[-1] == other[-1]
    assert first[-1] == viewed("Which trees count", tau=100).test_nll


def test_the_chosen_family_is_best_on_validation_rows_and_not_on_others():
    run = run_of("Skewed neighbours")
    targets = run.look.targets
    skewness = float((((targets - targets.mean()) / targets.std()) ** 3).mean())
    assert skewness > 1
    assert run.look.family == "kde"
    held_out = run.fit.model.score_families(
        run.search.near_test, run.fit.data.y_test, n_neighbors=run.view.k
    )
    nll = dict(zip(held_out.families, held_out.nll, strict=True))
    assert nll["kde"] > nll["normal"] > nll[held_out.best]
    sentence = f"an NLL of {nll['kde']:.2f} nats, the normal {nll['normal']:.2f}"
    assert sentence in shown("Skewed neighbours").answer
    strip = shown("Skewed neighbours").sheet.strips[0]
    assert [line.name for line in strip.lines][-1] == "kernel density"
    bars = np.asarray(strip.lines[0].y)
    # Bars are a density: steps of the grid round their edges by at most one step of 200 each.
    assert np.nansum(bars) * (strip.x[1] - strip.x[0]) == pytest.approx(1.0, abs=0.05)


def test_the_scale_does_not_find_the_disc_and_affinity_does():
    run = run_of("Nothing there")
    empty = ~run.fit.data.in_support
    assert auroc(empty, run.view.grid_scale) < 0.5
    nearest = run.fit.model.find_neighborhood(run.fit.data.grid, 2).affinities[:, 0]
    assert auroc(empty, -nearest) > 0.9
    error = np.abs(run.view.grid_loc - run.fit.data.true_mean)
    assert error[empty].mean() > 2 * error[~empty].mean()
    assert run.view.grid_scale[empty].mean() < run.view.grid_scale[~empty].mean()
    assert abs(run.look.loc - ripples_truth([run.look.x]).mean[0]) > 1.5 * run.look.scale


def test_an_error_is_no_std_and_both_have_their_unit():
    noise, scale, error = (panel.unit for panel in shown("Nothing there").sheet.panels)
    assert noise == scale == "std, units of y"
    assert error == "units of y"
