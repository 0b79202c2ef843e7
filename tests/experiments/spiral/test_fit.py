"""The spiral: maps against direct calls of the estimators, what refits, what a point is told."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tolerances import CANCELLED, ZERO

from gbuq_core import BoostedEnsembleClassifier, make_spiral
from gbuq_core.baselines import ForestEnsembleClassifier
from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.spiral.data import AXIS, GRID, fresh_sample, spiral_truth
from gbuq_core.experiments.spiral.fit import (
    MAX_FRAMES,
    count_fits,
    fit_spiral,
    map_spiral,
    run_spiral,
)
from gbuq_core.experiments.spiral.plan import (
    METHODS,
    PAPER,
    SpiralSettings,
    member_trees,
    spiral_estimator,
    why_not,
)
from gbuq_core.experiments.spiral.probes import probe, ray, ray_truth
from gbuq_core.metrics import nll_classification
from gbuq_core.settings import plan_of
from gbuq_core.synthetic import spiral_features, spiral_posterior

SMALL = SpiralSettings(
    rows=60, members=3, trees=40, chain_trees=90, step=10, cycle=25, depth=4, seed=1
)
FEATURES = spiral_features(GRID)
# Kept probabilities are float32: 6e-8 of a number up to 1, and entropies are about as steep.
SINGLE = {"rtol": 0, "atol": 1e-6}


@pytest.fixture(scope="module")
def fit_of():
    """Fits of `SMALL`, one a method, made when first asked for."""
    return cache(lambda method: fit_spiral(plan_of(SMALL, method)))


def direct(method, n_trees, settings=SMALL):
    """The estimator with knobs written out, fitted."""
    spiral = make_spiral(settings.rows, settings.noise, settings.seed)
    knobs = {
        "sgb": {"method": "sgb", "learning_rate": 0.1, "n_members": 3},
        "sglb": {"method": "sglb", "learning_rate": 0.1, "n_members": 3},
        "virtual_sglb": {
            "method": "sglb", "learning_rate": 0.1, "ensemble": "virtual", "truncation_step": 10
        },
        "csglb": {"method": "csglb", "learning_rate": 0.05, "cycle_length": 25},
        "cbsglb": {"method": "cbsglb", "learning_rate": 0.05, "cycle_length": 25},
    }[method]  # fmt: skip
    model = BoostedEnsembleClassifier(
        stopping=None, **knobs, n_trees=n_trees, depth=4, random_strength=100.0, random_state=1
    )
    return model.fit(spiral.X, spiral.y)


def assert_maps(maps, frame, uncertainty):
    for part, expected in zip((maps.total, maps.data, maps.knowledge), uncertainty, strict=True):
        np.testing.assert_allclose(part[frame].ravel(), expected, **SINGLE)


@pytest.mark.parametrize("method", ["sgb", "sglb", "virtual_sglb", "csglb", "cbsglb"])
@pytest.mark.parametrize("early", [False, True])
def test_maps_are_those_of_an_estimator_with_so_many_trees(fit_of, method, early):
    fit = fit_of(method)
    maps = map_spiral(fit, SMALL)
    frame = len(maps.n_trees) // 2 + 1 if early else -1
    model = direct(method, int(maps.n_trees[frame]))
    members = model.predict_members(FEATURES)
    assert maps.n_members[frame] == len(members) > 1
    assert_maps(maps, frame, model.predict_uncertainty(FEATURES))
    if not early:
        np.testing.assert_allclose(maps.members, members, **SINGLE)
        proba = model.predict_proba(FEATURES).T.reshape(3, 80, 80)
        np.testing.assert_allclose(maps.proba, proba, **SINGLE)
        fresh = fresh_sample(SMALL.noise, SMALL.seed).data.X
        np.testing.assert_allclose(maps.fresh_proba, model.predict_proba(fresh), **SINGLE)
        assert maps.knowledge[-1].max() > 1e-4  # there is something to compare


def test_forest_maps_are_those_of_its_groups(fit_of):
    spiral = make_spiral(SMALL.rows, random_state=1)
    forest = ForestEnsembleClassifier(n_groups=3, trees_per_group=13, random_state=1)
    maps = map_spiral(fit_of("vrf"), SMALL)
    assert maps.n_trees.tolist() == [39]
    assert_maps(maps, 0, forest.fit(spiral.X, spiral.y).predict_uncertainty(FEATURES))
    assert fit_of("vrf").trace is None


def test_catboost_goes_through_the_same_maps():
    settings = replace(SMALL, rows=30, members=2, trees=6)
    fit = fit_spiral(plan_of(settings, "catboost"))
    assert_maps(map_spiral(fit, settings), -1, fit.model.predict_uncertainty(FEATURES))
    assert fit.model.engine == "catboost"


@pytest.mark.parametrize(
    ("method", "moved", "knobs"),
    [
        ("virtual_sglb", {"step": 20}, {"truncation_step": 20}),
        ("virtual_sglb", {"start": 0.2}, {"truncation_start": 0.2}),
        ("virtual_sglb", {"shown": 2}, {"n_members": 2}),
        ("csglb", {"burn_in": 1}, {"burn_in_cycles": 1}),
        ("csglb", {"shown": 2}, {"n_members": 2}),
        ("sglb", {"shown": 2}, {"n_members": 2}),
    ],
)
def test_knobs_of_the_view_refit_nothing_and_give_what_the_estimator_gives(
    fit_of, method, moved, knobs
):
    fit, model = fit_of(method), direct(method, 40 if method == "sglb" else 90)
    before, settings = count_fits(), replace(SMALL, **moved)
    assert plan_of(settings, method) == fit.plan
    maps = map_spiral(fit, settings)
    assert count_fits() == before
    assert_maps(maps, -1, model.predict_uncertainty(FEATURES, **knobs))
    unmoved = map_spiral(fit, SMALL)
    assert not np.array_equal(maps.knowledge[-1], unmoved.knowledge[-1])


def test_exploration_is_a_knob_of_csglb_once_noise_depends_on_it():
    free = SpiralSettings(noise_free=True)
    assert plan_of(free, "csglb") != plan_of(replace(free, exploration=0.5), "csglb")


def test_estimators_get_every_knob_of_their_plan():
    settings = replace(
        SMALL,
        temperature=7.0,
        leaf_noise=True,
        random_strength=3.0,
        alpha_max=8.0,
        alpha_min=0.5,
        mask=0.4,
        exploration=0.7,
        noise_free=True,
        rate_cyclical=0.07,
    )
    model = spiral_estimator(plan_of(settings, "cbsglb"))
    assert {
        "method": "cbsglb",
        "n_trees": 90,
        "cycle_length": 25,
        "alpha_max": 8.0,
        "alpha_min": 0.5,
        "mask_prob": 0.4,
        "exploration_fraction": 0.7,
        "noise_free_exploration": True,
        "temperature": 7.0,
        "leaf_noise": True,
        "random_strength": 3.0,
        "learning_rate": 0.07,
        "depth": 4,
        "random_state": 1,
    }.items() <= model.get_params().items()


def test_the_papers_preset_is_the_papers():
    plans = {method: plan_of(PAPER, method) for method in METHODS}
    assert (plans["sglb"].members, plans["sglb"].n_trees, plans["sglb"].rate) == (20, 1000, 0.1)
    chain = plans["virtual_sglb"]
    assert (chain.n_trees, chain.rate, chain.depth, chain.random_strength) == (2000, 0.1, 6, 100)
    assert len(member_trees(chain, PAPER)) == 20
    cyclical = plans["cbsglb"]
    assert (cyclical.n_trees, cyclical.rate_cyclical, cyclical.cycle) == (2000, 0.05, 200)
    assert (cyclical.alpha_max, cyclical.alpha_min) == (10, 1)
    assert (cyclical.mask, cyclical.exploration, PAPER.rows) == (0.66, 0.9, 1500)
    assert member_trees(cyclical, PAPER).tolist() == list(range(200, 2001, 200))


def test_frames_end_with_all_trees_and_before_the_first_member_there_is_nothing(fit_of):
    for method in ("sglb", "virtual_sglb", "csglb"):
        maps = map_spiral(fit_of(method), SMALL)
        assert len(maps.n_trees) <= MAX_FRAMES
        assert maps.n_trees[-1] == fit_of(method).plan.n_trees
        assert (np.diff(maps.n_trees) > 0).all()
    assert maps.n_members.tolist() == [0, 0, 1, 1, 2, 2, 2, 3, 3]  # after 10, 20, ... trees
    assert np.isnan(maps.total[:2]).all()
    assert np.isfinite(maps.total[2:]).all()
    assert np.isnan(maps.knowledge[:4]).all()  # one member cannot disagree
    assert np.isfinite(maps.knowledge[4:]).all()
    assert maps.member_trees.tolist() == [25, 50, 75]


def test_long_chains_keep_to_forty_frames():
    settings = replace(SMALL, rows=10, chain_trees=1010, cycle=100, depth=1)
    fit = fit_spiral(plan_of(settings, "csglb"))
    maps = map_spiral(fit, settings)
    assert len(fit.n_trees) == 101
    assert len(maps.n_trees) <= MAX_FRAMES
    assert maps.n_trees[-1] == 1010
    assert maps.member_trees.tolist() == list(range(100, 1001, 100))


def test_training_is_traced_and_validated_on_fresh_rows(fit_of):
    fit = fit_of("csglb")
    assert len(fit.trace.scale) == 90
    assert fit.trace.scale[0] == fit.trace.scale[25] == 10.0
    fresh = fresh_sample(SMALL.noise, SMALL.seed)
    last = fit.model.staged_members(fresh.data.X, every=90).members[0, 0]
    expected = nll_classification(fresh.data.y, last)
    assert fit.validation[-1, 0] == pytest.approx(expected, abs=1e-5)  # float32 once more
    assert fit.validation.shape == (len(fit.n_trees), 1)
    assert fit.validation[-1, 0] < fit.validation[0, 0]
    assert not np.isin(fresh.data.X[:, 0], fit.data.X[:, 0]).any()


def test_what_is_kept_cannot_be_written_to(fit_of):
    fit = fit_of("sglb")
    maps, truth = map_spiral(fit, SMALL), spiral_truth(SMALL.noise)
    arrays = [fit.members, fit.fresh_members, fit.entropies, fit.n_trees, GRID, maps.total]
    for array in [*arrays, maps.knowledge, maps.members, *truth]:
        assert not array.flags.writeable
    assert fit.members.dtype == np.float32


def test_the_truth_is_that_of_the_generator():
    truth = spiral_truth(0.4)
    proba = spiral_posterior(GRID)
    np.testing.assert_array_equal(truth.proba.reshape(3, -1).T, proba)
    np.testing.assert_allclose(np.exp(truth.log_density), truth.density)
    # The grid's cells of 15 by 15 hold nearly all rows: a Riemann sum, coarse near the middle.
    assert truth.density.sum() * 15.0**2 == pytest.approx(1, abs=0.03)
    assert truth.data_uncertainty.max() <= np.log(3) + ZERO
    rows = make_spiral(1000, random_state=8).X[:, :2]
    cell = np.floor((rows + 600) / 15).astype(int)
    inside = truth.in_support[cell[:, 1], cell[:, 0]]
    # 99 % by the limit's own estimate; cells at the border are judged by their centres.
    assert 0.97 < inside.mean() < 1.0
    assert truth.in_support.mean() < 0.4


def test_rows_of_maps_are_the_second_axis_upwards():
    np.testing.assert_allclose(GRID.reshape(80, 80, 2)[3, 5], [AXIS[5], AXIS[3]])
    assert (AXIS[0], AXIS[-1]) == (-592.5, 592.5)


@pytest.mark.parametrize(
    ("method", "moved", "words"),
    [
        ("virtual_sglb", {"step": 15}, "multiple of 10"),
        ("virtual_sglb", {"step": 200}, "no member"),
        ("virtual_sglb", {"shown": 0}, "shown"),
        ("sglb", {"shown": 0}, "shown"),
        ("csglb", {"burn_in": 3}, "Burn-in 3 leaves none of the 3 cycles"),
        ("csglb", {"burn_in": -1}, "burn_in"),
    ],
)
def test_views_without_members_are_refused_by_a_sentence(fit_of, method, moved, words):
    settings = replace(SMALL, **moved)
    with pytest.raises(InvalidParameter, match=words) as caught:
        map_spiral(fit_of(method), settings)
    assert str(caught.value).endswith(".")
    # Of what is one model it is known without a fit.
    plan = plan_of(SMALL, method)
    assert why_not(plan, settings) == (str(caught.value) if METHODS[method].virtual else "")
    assert why_not(plan, SMALL) == ""


def test_settings_that_cannot_be_fitted_are_refused_by_a_sentence():
    for moved in ({"rows": 0}, {"cycle": 1000}, {"rate_cyclical": 0.0}, {"noise": -1.0}):
        with pytest.raises(InvalidParameter):
            fit_spiral(plan_of(replace(SMALL, **moved), "csglb"))
    with pytest.raises(InvalidParameter, match="noise must be at least"):
        run_spiral(replace(SMALL, noise=0.0, methods=()))
    with pytest.raises(InvalidParameter, match="method"):
        plan_of(SMALL, "magic")


@pytest.mark.parametrize("method", ["sglb", "virtual_sglb", "csglb", "vrf"])
def test_a_point_and_a_line_are_told_what_the_map_shows(fit_of, method):
    fit, settings = fit_of(method), replace(SMALL, shown=2)
    maps = map_spiral(fit, settings)
    row, columns = 46, [10, 20, 30]
    line = ray(fit, settings, (AXIS[10], AXIS[row]), (AXIS[30], AXIS[row]), n=3)
    np.testing.assert_allclose(line.distance, [0, 150, 300])
    for name in ("total", "data", "knowledge"):
        values = getattr(maps, name)[-1, row, columns]
        np.testing.assert_allclose(getattr(line, name), values, **SINGLE)
    at = probe(fit, settings, AXIS[20], AXIS[row])
    cell = maps.members.reshape(2, 80, 80, 3)[:, row, 20]
    np.testing.assert_allclose(at.member_proba, cell, **SINGLE)
    assert float(at.uncertainty.knowledge) == pytest.approx(line.knowledge[1], abs=1e-6)
    np.testing.assert_array_equal(at.member_trees, maps.member_trees)
    if METHODS[method].virtual:
        on_path = np.searchsorted(at.path_trees, at.member_trees)
        np.testing.assert_allclose(at.path_proba[on_path], at.member_proba, atol=ZERO)
    else:
        np.testing.assert_allclose(at.path_proba[-1], at.member_proba.mean(axis=0), atol=ZERO)
    assert at.path_trees[-1] == fit.n_trees[-1]
    np.testing.assert_allclose(at.truth_proba, spiral_posterior(GRID)[80 * row + 20])


def test_one_member_knows_no_disagreement(fit_of):
    settings = replace(SMALL, shown=1)
    at = probe(fit_of("csglb"), settings, 100, 50.5)
    assert np.isnan(at.uncertainty.knowledge)
    assert at.uncertainty.total == at.uncertainty.data > 0
    maps = map_spiral(fit_of("csglb"), settings)
    assert np.isnan(maps.knowledge[-1]).all()
    assert np.isfinite(maps.total[-1]).all()


def test_the_truth_along_a_line_is_that_of_its_cells():
    truth = spiral_truth(0.4)
    line = ray_truth(0.4, (AXIS[40], AXIS[2]), (AXIS[40], AXIS[60]), n=59)
    for name in ("density", "data_uncertainty", "in_support"):
        np.testing.assert_allclose(
            getattr(line, name), getattr(truth, name)[2:61, 40], rtol=CANCELLED
        )
    assert 0 < line.in_support.sum() < 59


@pytest.mark.parametrize(
    ("start", "end", "words"),
    [
        ((0, 0), (0, 0), "length"),
        ((0, 0), (0, float("nan")), "y must be"),
        ((0, 0), (1e7, 0), "x must be"),
        ((0, 0), (1, 2, 3), "two coordinates"),
        ((0, 0), ("a", 2), "x must be"),
    ],
)
def test_impossible_lines_are_refused_by_a_sentence(fit_of, start, end, words):
    with pytest.raises(InvalidParameter, match=words):
        ray(fit_of("vrf"), SMALL, start, end)
    with pytest.raises(InvalidParameter, match=words):
        ray_truth(0.4, start, end)


@pytest.mark.parametrize("method", ["csglb", "cbsglb"])
@pytest.mark.parametrize(
    ("moved", "words"),
    [
        ({"rate_cyclical": 0.3}, "Learning rate 0.3 times largest alpha 10 is 3"),
        ({"cycle": 500}, "Cycle length 500 is more than the 90 trees"),
        ({"alpha_max": 1.0, "alpha_min": 2.0}, "Smallest alpha 2 is above largest alpha 1"),
    ],
)
def test_what_cannot_be_fitted_is_refused_in_the_pages_words(method, moved, words):
    plan = plan_of(replace(SMALL, **moved), method)
    assert why_not(plan).startswith(words)
    with pytest.raises(InvalidParameter, match=words) as caught:
        fit_spiral(plan)
    assert str(caught.value) == why_not(plan)
    assert why_not(plan_of(replace(SMALL, **moved), "virtual_sglb")) == ""


def test_the_longest_step_that_is_allowed_is_fitted():
    # Learning rate times largest alpha is 2, to the last bit or nearly.
    for rate, alpha in ((0.2, 10.0), (0.1, 20.0)):
        plan = plan_of(replace(SMALL, rate_cyclical=rate, alpha_max=alpha), "csglb")
        assert why_not(plan) == ""
