"""The Soft trees page's plans, fits and views: what refits, what is drawn, what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from tolerances import CANCELLED, SAME_SUM, ZERO

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.soft_trees.fit import (
    count_fits,
    data_of,
    fit_soft_trees,
    predict_soft_trees,
    run_soft_trees,
    view_soft_trees,
)
from gbuq_core.experiments.soft_trees.look import (
    covariance_view,
    stages_view,
    tree_frames,
    tree_view,
)
from gbuq_core.experiments.soft_trees.models import (
    estimate_soft_trees_seconds,
    soft_trees_arguments,
    soft_trees_model,
)
from gbuq_core.experiments.soft_trees.plan import (
    METHODS,
    PAPER,
    SOFT_METHODS,
    SoftTreesSettings,
    full_rank,
    method_missing,
    plan_soft_trees,
    why_not,
)

SMALL = SoftTreesSettings(
    methods=tuple(METHODS), rows=60, depth=2, steps=300, trees=2, members=6, sglb_trees=20,
    xbart_trees=8, draws=25, shown=5,
)  # fmt: skip
VIEW_ONLY = {"draws": 7, "draw_seed": 3, "shown": 2, "draw": 5, "tree": 2, "show": "bands"}


@pytest.fixture(scope="module")
def run():
    return run_soft_trees(SMALL)


@pytest.fixture(scope="module")
def fits(run):
    return {fit.method: fit for fit in run.fits}


@pytest.mark.parametrize("method", METHODS)
def test_the_knobs_of_the_view_refit_nothing(fits, method):
    assert plan_soft_trees(replace(SMALL, **VIEW_ONLY), method) == fits[method].plan
    before = count_fits()
    view_soft_trees(fits[method], replace(SMALL, **VIEW_ONLY))
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
        key for key in METHODS if plan_soft_trees(changed, key) != plan_soft_trees(SMALL, key)
    } == methods


def test_own_points_are_all_that_a_plan_of_them_knows():
    own = replace(SMALL, data="own")
    assert plan_soft_trees(replace(own, rows=99, noise=1.0), "gp") == plan_soft_trees(own, "gp")
    moved = own.points[:-1] + ((2.0, 2.0),)
    assert plan_soft_trees(replace(own, points=moved), "gp") != plan_soft_trees(own, "gp")


@pytest.mark.parametrize("method", SOFT_METHODS)
def test_ranks_above_the_full_one_are_one_plan(method):
    full = full_rank(method, SMALL.depth, SMALL.leaf)
    plan = plan_soft_trees(replace(SMALL, rank=full + 50), method)
    assert plan == plan_soft_trees(replace(SMALL, rank=full), method)
    assert plan != plan_soft_trees(replace(SMALL, rank=full - 1), method)


@pytest.mark.parametrize("method", METHODS)
def test_estimators_get_the_plans_knobs(fits, method):
    model = fits[method].model
    for name, value in soft_trees_arguments(fits[method].plan).items():
        assert getattr(model, name) == value
    assert estimate_soft_trees_seconds(fits[method].plan) > 0.0
    assert fits[method].seconds > 0.0


def test_views_have_functions_that_vary_as_their_knowledge_says(run):
    for fit, view in zip(run.fits, run.views, strict=True):
        n_grid = len(run.data.x)
        n_draws = 6 if fit.method == "sglb" else 25
        assert view.functions.shape == (n_draws, n_grid)
        # total is a sum of the other two: equal to rounding
        np.testing.assert_allclose(view.total, view.data + view.knowledge, rtol=CANCELLED)
        if fit.method == "gp":
            continue
        np.testing.assert_allclose(view.loc, view.functions.mean(axis=0), rtol=CANCELLED, atol=ZERO)
        np.testing.assert_allclose(
            view.knowledge, view.functions.var(axis=0), rtol=CANCELLED, atol=ZERO
        )


def test_functions_of_a_process_have_its_exact_variance(fits):
    view = view_soft_trees(fits["gp"], replace(SMALL, draws=500, draw_seed=1))
    # The std of 500 normals has a relative standard error of 3 %: five of them.
    ratio = view.functions.std(axis=0)[::40] / np.sqrt(view.knowledge[::40])
    assert np.abs(ratio - 1.0).max() < 0.16


@pytest.mark.parametrize("method", ["vst", "vsgbm", "gp"])
def test_another_seed_draws_other_functions_of_the_same_fit(fits, method):
    first = view_soft_trees(fits[method], SMALL).functions
    again = view_soft_trees(fits[method], SMALL).functions
    other = view_soft_trees(fits[method], replace(SMALL, draw_seed=11)).functions
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 0.01  # target std is 0.5
    assert fits[method].model.random_state == SMALL.seed


@pytest.mark.parametrize("method", ["vst", "vsgbm"])
def test_more_draws_keep_the_earlier_ones(fits, method):
    few = view_soft_trees(fits[method], replace(SMALL, draws=5)).functions
    np.testing.assert_allclose(
        few, view_soft_trees(fits[method], SMALL).functions[:5], rtol=SAME_SUM, atol=ZERO
    )  # sums of the same numbers; blocks of rows may order them differently


def test_kept_functions_are_those_that_there_are(fits):
    view = view_soft_trees(fits["sglb"], SMALL)
    assert len(view.functions) == 6
    assert view.notes == ("SGLB keeps 6 members, so it has 6 functions instead of 25.",)
    assert view_soft_trees(fits["sglb"], replace(SMALL, draws=4)).notes == ()
    assert len(view_soft_trees(fits["xbart"], replace(SMALL, draws=200)).functions) == 100


def test_predictions_elsewhere_agree_with_the_view(fits):
    for method in ("vst", "vsgbm", "sglb", "xbart"):
        view = view_soft_trees(fits[method], SMALL)
        functions, moments, _ = predict_soft_trees(
            fits[method], SMALL, fits[method].data.grid[::50]
        )
        np.testing.assert_allclose(functions, view.functions[:, ::50], rtol=CANCELLED, atol=ZERO)
        np.testing.assert_allclose(moments.total, view.total[::50], rtol=CANCELLED)


@pytest.mark.parametrize("method", SOFT_METHODS)
def test_the_tree_of_a_draw_is_the_function_of_that_draw(fits, method):
    fit = fits[method]
    total = 0.0
    for tree in range(len(fit.frames)):
        view = tree_view(fit, replace(SMALL, draw=5, tree=tree + 1))
        assert view.gates.shape == (3, len(fit.data.x))
        np.testing.assert_allclose(view.reach.sum(axis=0), 1.0, rtol=SAME_SUM)
        np.testing.assert_allclose(
            view.output, (view.reach * view.leaf_means).sum(axis=0), rtol=SAME_SUM
        )
        total = total + view.output
    np.testing.assert_allclose(
        total, view_soft_trees(fit, SMALL).functions[4], rtol=CANCELLED, atol=ZERO
    )  # the same numbers, summed in another order


def test_gates_are_even_where_the_view_says(fits):
    view = tree_view(fits["vst"], SMALL)
    for gate, split in zip(view.gates, view.splits, strict=True):
        if np.isnan(split):
            assert gate.min() >= 0.5 or gate.max() < 0.5
        else:
            # linear between places 0.01 apart, of a gate that is smooth over some 0.1
            assert np.interp(split, view.x, gate) == pytest.approx(0.5, abs=1e-6)


def test_the_training_ends_at_the_posterior_mean(fits):
    for method in SOFT_METHODS:
        frames = tree_frames(fits[method])
        assert frames.step[0] == 0
        assert frames.step[-1] == len(fits[method].elbo[0].step)
        end = tree_view(fits[method], SMALL)
        np.testing.assert_allclose(frames.output[-1], end.output, rtol=1e-5, atol=1e-5)  # float32
        assert np.abs(frames.output[0] - end.output).max() > 0.01
    beyond = tree_view(fits["vsgbm"], replace(SMALL, tree=10))
    assert beyond.tree == 1
    assert beyond.notes


def test_stages_add_up_to_the_functions(fits):
    stages = stages_view(fits["vsgbm"], SMALL)
    view = view_soft_trees(fits["vsgbm"], SMALL)
    assert stages.functions.shape == (2, 25, len(view.x))
    np.testing.assert_allclose(stages.functions[-1], view.functions, rtol=CANCELLED, atol=ZERO)
    fit = fits["vsgbm"]
    loc = predict_soft_trees(fit, SMALL, fit.data.X)[1].loc
    assert stages.rmse[1] == pytest.approx(
        np.sqrt(np.square(loc - fit.data.y).mean()), rel=CANCELLED
    )
    with pytest.raises(InvalidParameter, match="VST is not built tree by tree"):
        stages_view(fits["vst"], SMALL)


def test_the_covariance_is_that_of_the_drawn_parameters(fits):
    view = covariance_view(fits["vst"])
    assert view.n_parameters == len(view.labels) == view.groups[-1][2] == 22
    assert view.rank == 5
    drawn = fits["vst"].model.draw_parameters(4000, 1)[0]
    np.testing.assert_allclose(np.diag(view.correlation), 1.0, rtol=SAME_SUM)
    # a correlation of 4,000 draws is within 5 / sqrt(4000) of the true one
    assert np.abs(np.corrcoef(drawn.T) - view.correlation).max() < 0.08
    first, second, value = view.strongest
    i, j = view.labels.index(first), view.labels.index(second)
    assert view.correlation[i, j] == value
    assert 0.0 < view.shared < 1.0


def test_mean_field_has_no_correlation():
    fit = fit_soft_trees(plan_soft_trees(replace(SMALL, rank=0, steps=60, depth=1), "vst"))
    view = covariance_view(fit)
    assert view.strongest is None
    assert view.shared == 0.0
    np.testing.assert_array_equal(view.correlation, np.eye(10))


def test_the_looks_refuse_methods_without_soft_trees(fits):
    for look in (tree_view, tree_frames, covariance_view):
        with pytest.raises(InvalidParameter, match="Gaussian process has no soft trees"):
            look(fits["gp"])


@pytest.mark.parametrize("method", METHODS)
def test_five_own_points_are_enough(method):
    points = ((0.0, 0.0), (0.0, 1.0), (1.0, 0.5), (1.0, 0.5), (2.0, 0.0))
    settings = replace(SMALL, data="own", points=points, steps=60, depth=1)
    view = view_soft_trees(fit_soft_trees(plan_soft_trees(settings, method)), settings)
    assert len(view.x) == 400
    assert np.isfinite(view.functions).all()
    assert (view.total > 0.0).all()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"rows": 3}, "rows must be a whole number at least 10"),
        ({"noise": float("nan")}, "noise must be a number"),
        ({"seed": -1}, "seed must be"),
        ({"depth": 7}, "depth must be"),
        ({"depth": 2.5}, "depth must be a whole number"),
        ({"leaf": "curved"}, "leaf must be one of"),
        ({"rank": -1}, "rank must be"),
        ({"rank": True}, "rank must be"),
        ({"beta": 0.0}, "beta must be a number greater than 0"),
        ({"prior_scale": float("inf")}, "prior_scale must be"),
        ({"steps": 10}, "steps must be"),
        ({"restarts": 0}, "restarts must be"),
        ({"rate": 0.0}, "rate must be a number greater than 0"),
        ({"data": "own", "points": ((0.0, 0.0),)}, "Training needs at least 5 points"),
        ({"data": "own", "points": tuple((i, 1) for i in range(6))}, "All points have y = 1"),
    ],
)
def test_bad_plans_are_refused_in_a_sentence(wrong, words):
    plan = plan_soft_trees(replace(SMALL, **wrong), "vst")
    sentence = why_not(plan)
    assert words in sentence
    assert sentence.endswith(".")
    assert sentence.count(". ") == 0
    assert estimate_soft_trees_seconds(plan) == 0.0
    with pytest.raises(InvalidParameter) as caught:
        fit_soft_trees(plan)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("method", "wrong", "words"),
    [
        ("sglb", {"members": 1}, "members must be"),
        ("sglb", {"temperature": "cold"}, "temperature must be one of"),
        ("sglb", {"temperature": 0.0}, "temperature must be"),
        ("sglb", {"sglb_trees": 0}, "trees must be"),
        ("vsgbm", {"trees": 21}, "trees must be"),
        ("xbart", {"xbart_trees": 201}, "trees must be"),
    ],
)
def test_bad_knobs_of_the_others_are_refused(method, wrong, words):
    assert words in why_not(plan_soft_trees(replace(SMALL, **wrong), method))


@pytest.mark.parametrize(
    "wrong",
    [{"draws": 1}, {"draws": 501}, {"shown": -1}, {"draw": -1}, {"draw_seed": 1.5}, {"tree": 0}],
)
def test_bad_views_are_refused(fits, wrong):
    with pytest.raises(InvalidParameter, match=f"^{next(iter(wrong))} must be"):
        view_soft_trees(fits["vst"], replace(SMALL, **wrong))


def test_unknown_methods_and_sets_are_refused():
    with pytest.raises(InvalidParameter, match="method must be one of"):
        plan_soft_trees(SMALL, "forest")
    with pytest.raises(InvalidParameter, match="data must be one of"):
        plan_soft_trees(replace(SMALL, data="spiral"), "vst")


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert method_missing("xbart").startswith("XBART is not installed")
    with pytest.raises(InvalidParameter, match="install the package stochtree"):
        soft_trees_model(plan_soft_trees(SMALL, "xbart"))


def test_a_run_holds_its_data_and_methods_in_order(run):
    assert [view.method for view in run.views] == list(METHODS)
    assert run.data is data_of(SMALL)
    own = replace(SMALL, data="own", points=[[0, 1], [2, 3]])  # as JSON has them
    assert data_of(own).X.tolist() == [[0.0], [2.0]]
    assert all(why_not(plan_soft_trees(PAPER, method)) == "" for method in PAPER.methods)
