"""The Soft trees page's plans, fits and views: what refits, what is drawn, what is refused."""

import re
from dataclasses import replace

import numpy as np
import pytest
from tolerances import CANCELLED, SAME_SUM, ZERO

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.placed import (
    MOST_POINTS,
    PATTERNS,
    check_points,
    decode_points,
    encode_points,
)
from gbuq_core.experiments.soft_trees.data import (
    BOARD,
    DATASETS,
    OWN,
    OWN_START,
    load_soft_trees_data,
    why_no_fit,
)
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
from gbuq_core.experiments.soft_trees.plan import (
    METHODS,
    PAPER,
    SOFT_METHODS,
    SoftTreesSettings,
    full_rank,
    plan_soft_trees,
    soft_trees_arguments,
    soft_trees_model,
    why_not,
)

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
        ({"data": "own", "points": ((0.0, 0.0),)}, "Training needs at least 5 points"),
        ({"data": "own", "points": tuple((i, 1) for i in range(6))}, "All points have y = 1"),
    ],
)
def test_points_that_cannot_be_fitted_are_refused_in_a_sentence(wrong, words):
    plan = plan_soft_trees(replace(SMALL, **wrong), "vst")
    sentence = why_not(plan)
    assert words in sentence
    assert sentence.endswith(".")
    assert sentence.count(". ") == 0
    with pytest.raises(InvalidParameter) as caught:
        fit_soft_trees(plan)
    assert str(caught.value) == sentence


def test_unknown_methods_and_sets_are_refused():
    with pytest.raises(InvalidParameter, match="method must be one of"):
        plan_soft_trees(SMALL, "forest")
    with pytest.raises(InvalidParameter, match="data must be one of"):
        plan_soft_trees(replace(SMALL, data="spiral"), "vst")


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert METHODS["xbart"].record.missing().startswith("XBART is not installed")
    with pytest.raises(InvalidParameter, match="install the package stochtree"):
        soft_trees_model(plan_soft_trees(SMALL, "xbart"))


def test_a_run_holds_its_data_and_methods_in_order(run):
    assert [view.method for view in run.views] == list(METHODS)
    assert run.data is data_of(SMALL)
    own = replace(SMALL, data="own", points=[[0, 1], [2, 3]])  # as JSON has them
    assert data_of(own).X.tolist() == [[0.0], [2.0]]
    assert all(why_not(plan_soft_trees(PAPER, method)) == "" for method in PAPER.methods)


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
    assert "add 5" in why_no_fit(())


def test_links_keep_points():
    rng = np.random.default_rng(0)
    points = check_points((rng.uniform(-1000.0, 1000.0, (MOST_POINTS, 2))).tolist())
    text = encode_points(points)
    assert decode_points(text) == points
    assert re.fullmatch(PATTERNS[2], text)
    assert re.fullmatch(r"[-0-9._~]*", text)  # needs no escape in a URL
    assert decode_points("") == ()


def test_rounding_leaves_no_minus_zero():
    assert encode_points(check_points([(-0.0001, 1e-9)])) == "0_0"
    assert encode_points([(-0.0001, 0.0)]) == "0_0"


@pytest.mark.parametrize(
    "text",
    [
        "1",
        "1_2_3",
        "a_b",
        "1_nan",
        "inf_1",
        "1_2~",
        "~1_2",
        "1e3_1",
        "99999_1",
        "1_2;3_4",
        "1001_0",
        "\u0661_1",
        " 1_2",
        "1_2\n",
        "~".join(["1_2"] * 401),
        "<b>_1",
    ],
)
def test_bad_texts_are_refused_in_a_sentence(text):
    with pytest.raises(InvalidParameter) as caught:
        decode_points(text)
    assert str(caught.value).endswith(".")
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    "points",
    [
        "1_2",
        5,
        [1, 2],
        [(1,)],
        [(1, 2, 3)],
        [("a", 1)],
        [(1, None)],
        [(1, float("nan"))],
        [(float("inf"), 1)],
        [(1e4, 0)],
        [(0, 10**400)],
    ],
)
def test_bad_points_are_refused(points):
    with pytest.raises(InvalidParameter):
        check_points(points)


def test_points_that_make_no_fit_are_told_apart():
    assert why_no_fit(OWN_START) == ""
    assert "x = 1" in why_no_fit(tuple((1.0, float(i)) for i in range(6)))
    with pytest.raises(InvalidParameter, match="remove some"):
        check_points([(0, 0)] * (MOST_POINTS + 1))
