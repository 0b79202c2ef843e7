"""Soft trees: its functions are the estimators', its numbers those of naive twins."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from tolerances import CANCELLED, NEAR_ZERO, SAME_SUM, ZERO

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.claims import VERDICTS
from gbuq_core.figures.curves.parts import sheaf
from gbuq_core.figures.handles import live_knob
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.knobs import find_knob
from gbuq_core.settings import knobs_of, to_values
from gbuq_core.study.members import Predictive, count_fits
from gbuq_core.study.soft_trees import (
    CLAIMS,
    METHODS,
    SOFT_TREES,
    SoftTreesSettings,
    SoftTreesView,
    copied,
    full_rank,
    measure,
    picture,
    soft_trees_arguments,
    spread_note,
    why_not,
)
from gbuq_core.study.soft_trees_inside import (
    BOARD,
    DATASETS,
    OWN,
    SOFT_METHODS,
    data_of,
    load_soft_trees_data,
    members_of,
    moments_of,
    predict,
    tree_view,
)
from gbuq_core.study.study import judge
from tests.figure_readers import layers, unpack_sheaf

ROUNDING = {"rtol": 5.1e-5, "atol": 0.0}  # numbers are sent with five significant digits
SMALL = SoftTreesSettings(
    methods=tuple(METHODS),
    rows=60,
    depth=2,
    steps=300,
    trees=2,
    members=6,
    sglb_trees=20,
    xbart_trees=8,
    draws=25,
    shown=5,
)
VIEW_ONLY = {"draws": 7, "draw_seed": 3, "shown": 2, "draw": 5, "tree": 2, "show": "bands"}


@pytest.fixture(scope="module")
def runs():
    return {data: SOFT_TREES.run(replace(SMALL, data=data)) for data in ("tails", "step", "own")}


@pytest.fixture(scope="module")
def run(runs):
    return runs["tails"]


@pytest.fixture(scope="module")
def fits(run):
    return {fit.method: fit for fit in run.fits}


@pytest.mark.parametrize("method", METHODS)
def test_the_knobs_of_the_view_refit_nothing(fits, method):
    assert SOFT_TREES.plan(replace(SMALL, **VIEW_ONLY), method) == fits[method].plan
    before = count_fits()
    SOFT_TREES.view(fits[method], replace(SMALL, **VIEW_ONLY))
    assert count_fits() == before


@pytest.mark.parametrize(
    ("knob", "methods"),
    [
        ({"depth": 1}, {"vst", "vsgbm"}),
        ({"leaf": "constant"}, {"vst", "vsgbm"}),
        ({"rank": 1}, {"vst", "vsgbm"}),
        ({"beta": 9.0}, {"vst", "vsgbm"}),
        ({"prior_scale": 1.0}, {"vst", "vsgbm"}),
        ({"steps": 400}, {"vst", "vsgbm"}),
        ({"restarts": 2}, {"vst", "vsgbm"}),
        ({"rate": 0.01}, {"vst", "vsgbm"}),
        ({"trees": 3}, {"vsgbm"}),
        ({"members": 3}, {"sglb"}),
        ({"sglb_trees": 30}, {"sglb"}),
        ({"temperature": 1.0}, {"sglb"}),
        ({"xbart_trees": 3}, {"xbart"}),
        ({"rows": 61}, set(METHODS)),
        ({"noise": 0.2}, set(METHODS)),
        ({"seed": 1}, set(METHODS)),
        ({"data": "gap"}, set(METHODS)),
        ({"points": ((0.0, 0.0),)}, set()),
    ],
)
def test_a_knob_of_the_fit_changes_the_plans_that_use_it(knob, methods):
    changed = replace(SMALL, **knob)
    assert {
        key for key in METHODS if SOFT_TREES.plan(changed, key) != SOFT_TREES.plan(SMALL, key)
    } == methods


def test_own_points_are_all_that_a_plan_of_them_knows():
    own = replace(SMALL, data="own")
    assert SOFT_TREES.plan(replace(own, rows=99, noise=1.0), "gp") == SOFT_TREES.plan(own, "gp")
    moved = own.points[:-1] + ((2.0, 2.0),)
    assert SOFT_TREES.plan(replace(own, points=moved), "gp") != SOFT_TREES.plan(own, "gp")


@pytest.mark.parametrize("method", SOFT_METHODS)
def test_ranks_above_the_full_one_are_one_plan(method):
    full = full_rank(method, SMALL.depth, SMALL.leaf)
    plan = SOFT_TREES.plan(replace(SMALL, rank=full + 50), method)
    assert plan == SOFT_TREES.plan(replace(SMALL, rank=full), method)
    assert plan != SOFT_TREES.plan(replace(SMALL, rank=full - 1), method)


@pytest.mark.parametrize("method", METHODS)
def test_estimators_get_the_plans_knobs(fits, method):
    model = fits[method].model
    for name, value in soft_trees_arguments(fits[method].plan).items():
        assert getattr(model, name) == value
    assert fits[method].seconds > 0.0


def test_views_have_functions_that_vary_as_their_knowledge_says(run):
    for fit, view in zip(run.fits, run.views, strict=True):
        n_grid = len(run.data.x)
        n_draws = 6 if fit.method == "sglb" else 25
        assert view.functions.shape == (n_draws, n_grid)
        # total is a sum of the other two: equal to rounding
        np.testing.assert_allclose(view.at.total, view.at.data + view.at.knowledge, rtol=CANCELLED)
        if fit.method == "gp":
            continue
        np.testing.assert_allclose(
            view.at.mean, view.functions.mean(axis=0), rtol=CANCELLED, atol=ZERO
        )
        np.testing.assert_allclose(
            view.at.knowledge, view.functions.var(axis=0), rtol=CANCELLED, atol=ZERO
        )


def test_functions_of_a_process_have_its_exact_variance(fits):
    view = SOFT_TREES.view(fits["gp"], replace(SMALL, draws=500, draw_seed=1))
    # The std of 500 normals has a relative standard error of 3 %: five of them.
    ratio = view.functions.std(axis=0)[::40] / np.sqrt(view.at.knowledge[::40])
    assert np.abs(ratio - 1.0).max() < 0.16


@pytest.mark.parametrize("method", ["vst", "vsgbm", "gp"])
def test_another_seed_draws_other_functions_of_the_same_fit(fits, method):
    first = SOFT_TREES.view(fits[method], SMALL).functions
    again = SOFT_TREES.view(fits[method], SMALL).functions
    other = SOFT_TREES.view(fits[method], replace(SMALL, draw_seed=11)).functions
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0.01  # target std is 0.5
    assert fits[method].model.random_state == SMALL.seed


def test_kept_functions_are_those_that_there_are(fits):
    view = SOFT_TREES.view(fits["sglb"], SMALL)
    assert len(view.functions) == 6
    assert view.notes == "SGLB keeps 6 members, so it has 6 functions instead of 25."
    assert SOFT_TREES.view(fits["sglb"], replace(SMALL, draws=4)).notes == ""
    assert len(SOFT_TREES.view(fits["xbart"], replace(SMALL, draws=200)).functions) == 100


@pytest.mark.parametrize("method", METHODS)
def test_five_own_points_are_enough(method):
    points = ((0.0, 0.0), (0.0, 1.0), (1.0, 0.5), (1.0, 0.5), (2.0, 0.0))
    settings = replace(SMALL, data="own", points=points, steps=60, depth=1)
    view = SOFT_TREES.view(SOFT_TREES.fit(SOFT_TREES.plan(settings, method)), settings)
    assert len(data_of(settings).x) == 400
    assert np.isfinite(view.functions).all()
    assert (view.at.total > 0.0).all()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"data": "own", "points": ((0.0, 0.0),)}, "Training needs at least 5 points"),
        ({"data": "own", "points": tuple((i, 1) for i in range(6))}, "All points have y = 1"),
    ],
)
def test_points_that_cannot_be_fitted_are_refused_in_a_sentence(wrong, words):
    plan = SOFT_TREES.plan(replace(SMALL, **wrong), "vst")
    sentence = why_not(plan)
    assert words in sentence
    assert sentence.endswith(".")
    assert sentence.count(". ") == 0
    with pytest.raises(InvalidParameter) as caught:
        SOFT_TREES.fit(plan)
    assert str(caught.value) == sentence


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert METHODS["xbart"].missing().startswith("XBART is not installed")
    with pytest.raises(InvalidParameter, match="install the package stochtree"):
        SOFT_TREES.fit(SOFT_TREES.plan(SMALL, "xbart"))


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


def test_errors_and_coverage_are_of_fresh_rows(runs):
    run = runs["tails"]
    for view in run.views:
        data, score = run.data, view.numbers
        _, moments = predict(view.fit, run.settings, data.fresh_X)
        error = math.sqrt(np.square(moments.mean - data.fresh_mean).mean())
        assert score["rmse"] == pytest.approx(error / data.target_std)
        z = np.abs(data.fresh_y - moments.mean) / np.sqrt(moments.total)
        assert score["coverage"] == pytest.approx((z <= 1.6448536).mean())
        assert score["coverage_low"] < score["coverage"] < score["coverage_high"]
        assert np.isfinite(score["nll"])
        # Nobody can predict better than the truth, a normal of std 0.1, but by chance: 500 rows'
        # mean negative log density has a standard error of sqrt(1/2) / sqrt(500) = 0.03.
        assert score["nll"] > 0.5 * math.log(2.0 * math.pi * 0.01) + 0.5 - 0.1
    fan_out = {key: numbers["fan_out"] for key, numbers in run.numbers.items() if key}
    assert fan_out["gp"] > 5.0 > 2.0 > fan_out["sglb"]


def test_scores_of_a_process_draw_no_functions(runs, monkeypatch):
    run = runs["tails"]
    place = next(i for i, fit in enumerate(run.fits) if fit.method == "gp")
    before = run.views[place].numbers
    monkeypatch.delattr(type(run.fits[place].model), "sample_functions")
    assert measure(run.views[place]) == before


def test_what_the_data_do_not_tell_is_nan(runs):
    for score in (view.numbers for view in runs["own"].views):
        assert math.isnan(score["rmse"])
        assert math.isnan(score["nll"])
        assert score["fan_out"] > 0.0
    for score in (view.numbers for view in runs["step"].views):
        assert math.isnan(score["fan_out"])
        assert score["rmse"] > 0.0


@pytest.mark.parametrize("data", ["tails", "own"])
def test_the_code_draws_the_same_functions(runs, data):
    run = runs[data]
    settings = replace(run.settings, draw_seed=9, methods=("vst", "gp", "sglb"))
    exec(copied(settings), names := {})
    np.testing.assert_allclose(names["X"], run.data.X, rtol=SAME_SUM)
    np.testing.assert_allclose(names["grid"], run.data.grid, rtol=SAME_SUM, atol=ZERO)
    # the grids differ in the last digit, and fits are the same
    np.testing.assert_allclose(
        names["functions"], SOFT_TREES.view(run.fits[2], settings).functions, rtol=CANCELLED
    )
    np.testing.assert_allclose(
        names["picture"].output,
        tree_view(run.fits[0], settings).output,
        rtol=CANCELLED,
        atol=NEAR_ZERO,
    )
    vst = names["vst"].sample_functions(names["grid"], n_draws=25, seed=9)
    np.testing.assert_allclose(
        vst, SOFT_TREES.view(run.fits[0], settings).functions, rtol=CANCELLED, atol=NEAR_ZERO
    )
    assert names["gp"].seed_ == 9


def test_the_code_takes_as_few_kept_functions_as_the_picture(runs):
    run = runs["tails"]
    for method in ("sglb", "xbart"):
        fit = next(fit for fit in run.fits if fit.method == method)
        few = replace(
            run.settings, methods=(method,), draws=5, shown=5
        )  # of 6 members, of 100 sweeps
        view = SOFT_TREES.view(fit, few)
        exec(copied(few), names := {})
        for name in ("functions", "data", "knowledge"):
            wanted = view.functions if name == "functions" else getattr(view.at, name)
            np.testing.assert_allclose(names[name], wanted, rtol=CANCELLED, atol=ZERO)


def known_view(run, away):
    """Two functions on either side of the truth, and noise of variance 1."""
    truth, ones = run.data.true_mean, np.ones(len(run.data.x))
    functions = np.stack([truth - away, truth + away])
    at = Predictive(functions.mean(axis=0), away**2 + ones, ones, away**2)
    return SoftTreesView(run.fits[0], run.settings, functions, at)


def test_scores_are_those_of_known_functions(run):
    away = np.where(run.data.support, 0.1, 0.6)  # half a known distance between two functions
    numbers = measure(known_view(run, away))
    assert numbers["inside"] == pytest.approx(0.1 / run.data.target_std)
    assert numbers["outside"] == pytest.approx(0.6 / run.data.target_std)
    assert numbers["fan_out"] == pytest.approx(6.0)
    common = run.data.true_mean[run.data.support].var()
    assert numbers["agreement"] == pytest.approx(common / (common + 0.01))


def verdicts(run, **changed):
    """The claims where the methods have other numbers."""
    views = [
        replace(view) for view in run.views if not changed or view.method in changed["methods"]
    ]
    for view in views:
        own = {name: values[view.method] for name, values in changed.items() if name != "methods"}
        vars(view)["numbers"] = {**measure(view), **own}
    return SOFT_TREES.judge(replace(run, views=tuple(views)))


def test_claims_follow_the_numbers(runs):
    # two about each soft method, and one against each of SGLB and XBART
    claims = verdicts(runs["tails"])
    assert len(claims) == 8
    assert all(claim.verdict in VERDICTS for claim in claims)
    flat = {"fan_out": dict.fromkeys(METHODS, 0.5), "inside": dict.fromkeys(METHODS, 0.9)}
    changed = verdicts(runs["tails"], methods=METHODS, **flat)
    assert {claim.verdict for claim in changed} == {"does not hold", "partly"}
    rmse = {"xbart": 0.1, "vst": 0.2, "sglb": 0.3}
    (order,) = verdicts(runs["step"], methods=rmse, rmse=rmse)
    assert (order.key, order.verdict) == ("order", "holds")
    assert "3 of 3 pairs" in order.here
    backwards = {key: 1.0 / value for key, value in rmse.items()}
    (order,) = verdicts(runs["step"], methods=rmse, rmse=backwards)
    assert order.verdict == "does not hold"


def test_the_wavelet_is_where_a_soft_tree_underfits():
    numbers = {"vst_rmse": 0.6, "best_rmse": 0.3, "best": "SGLB", "underfit": 2.0}
    (claim,) = judge(CLAIMS, {"": numbers})
    assert (claim.key, claim.verdict) == ("underfit", "holds")
    run = SOFT_TREES.run(
        replace(SMALL, data="wavelet", methods=("vst", "sglb"), rows=150, steps=400)
    )
    vst, sglb = (view.numbers["rmse"] for view in run.views)
    assert run.numbers[""]["underfit"] == pytest.approx(vst / sglb)
    assert SOFT_TREES.judge(run)[0].verdict == "holds"


def figure(run, knobs=(), **settings):
    return picture(replace(run, settings=replace(run.settings, **settings)), knobs).spec


def test_every_method_has_a_panel_with_its_functions_mean_and_bands(run):
    spec = figure(run)
    assert [panel["title"] for panel in spec["panels"]] == [m.label for m in METHODS.values()]
    low, high = run.data.y_range
    room = high - low
    for panel, view in zip(spec["panels"], run.views, strict=True):
        (lines,) = layers(panel, "sheaf")
        # 65,535 steps over three heights of the picture: half a step.
        wanted = np.clip(view.functions[:5], low - room, high + room)
        np.testing.assert_allclose(unpack_sheaf(lines)[1], wanted, atol=3.0 * room / 1.3e5)
        (mean,) = layers(panel, "line", colour=METHOD_STYLES[view.method].colour)
        np.testing.assert_allclose(mean["y"], view.at.mean, **ROUNDING)
        few = np.searchsorted(run.data.x, np.array(layers(panel, "band")[0]["x"]) - 1e-9)
        _, band, top = layers(panel, "band")
        at = view.at.take(few)
        np.testing.assert_allclose(band["high"], at.mean + 2 * np.sqrt(at.data), rtol=1e-4)
        np.testing.assert_allclose(
            top["high"], at.mean + 2 * np.sqrt(at.data + at.knowledge), rtol=1e-4
        )
    json.dumps(spec, allow_nan=False)


@pytest.mark.parametrize(
    ("show", "n_sheaves", "n_bands"), [("both", 1, 3), ("functions", 1, 0), ("bands", 0, 3)]
)
def test_functions_or_bands_or_both(run, show, n_sheaves, n_bands):
    (panel, *_) = figure(run, show=show)["panels"]
    assert (len(layers(panel, "sheaf")), len(layers(panel, "band"))) == (n_sheaves, n_bands)


def test_points_that_a_reader_places_stand_in_the_picture_without_a_method(runs):
    spec = figure(replace(runs["own"], views=()))
    (panel,) = spec["panels"]
    np.testing.assert_allclose(layers(panel, "dots")[0]["x"], runs["own"].data.X[:, 0], **ROUNDING)
    np.testing.assert_allclose(spec["place"]["y"], runs["own"].data.y, **ROUNDING)
    assert "place" not in figure(replace(runs["tails"], views=()))


def test_knobs_of_the_bar_have_moments_for_each_number_of_functions(run):
    knobs = [
        live_knob(find_knob(knobs_of(SoftTreesSettings), key), to_values(SoftTreesSettings())[key])
        for key in ("show", "shown", "draws")
    ]
    spec = figure(run, knobs)
    counts = spec["live"]["sets"]
    for panel, view in zip(spec["panels"], run.views, strict=True):
        live = panel["live"]
        sent = [live["moments"][which] for which in live["set"]]
        for count, moments in zip(counts, sent, strict=True):
            at = view.at
            if view.method != "gp":
                settings = replace(SMALL, draws=max(counts))
                members = members_of(view.fit, settings, run.data.grid)
                at = moments_of(members[:count])[1]
            np.testing.assert_allclose(moments["loc"], at.mean, **ROUNDING)
            assert spread_note(at, run.data) in live["notes"]
    waiting = figure(replace(run, views=(), notes={"vst": "training"}), knobs)
    assert "knobs" not in waiting
    assert waiting["panels"][0]["note"] == "training"


def test_a_function_that_leaves_the_picture_is_cut_off_far_outside():
    part = sheaf([0.0, 1.0], [[1e9, -1e9]], (-1.0, 1.0), "#0072b2", 0.5)
    np.testing.assert_allclose(unpack_sheaf(part)[1], [[3.0, -3.0]])
