"""Soft trees as estimators: scikit-learn's conventions, tables, draws, pictures, refusals."""

import numpy as np
import pandas as pd
import pytest
from refusal_parts import refused_from
from tolerances import CANCELLED, SAME_SUM, ZERO

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.soft_trees import (
    VariationalSoftGBMRegressor,
    VariationalSoftTreeClassifier,
    VariationalSoftTreeRegressor,
    base,
    inputs,
    tune_soft_tree,
)
from gbuq_core.soft_trees.inputs import apply_inputs, fit_inputs
from gbuq_core.synthetic import make_gap, make_tails

SMALL = {"depth": 1, "rank": 2, "n_steps": 60, "n_draws": 10, "random_state": 0}
KINDS = (VariationalSoftTreeRegressor, VariationalSoftTreeClassifier, VariationalSoftGBMRegressor)
EACH = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"a": rng.normal(size=120), "b": rng.normal(size=120)})
    return X, (X["a"] + 0.3 * rng.normal(size=120)).to_numpy()


@pytest.fixture(scope="module")
def fitted(frame):
    X, y = frame
    return {kind: kind(**SMALL).fit(X, target_for(kind, y)) for kind in KINDS}


@pytest.fixture(scope="module")
def curve():
    """A converged tree on the rows of the tails."""
    tails = make_tails(random_state=1)
    return tails, VariationalSoftTreeRegressor(random_state=0).fit(tails.X, tails.y)


def target_for(kind, y):
    return np.where(y > 0, "yes", "no") if kind is VariationalSoftTreeClassifier else y


def test_functions_agree_inside_the_rows_and_part_outside(curve):
    tails, model = curve
    spread = model.sample_functions(tails.grid, 200).std(axis=0)
    inside = tails.in_support
    # Medians over seeds are 5 in the tails and 12 in the gap; single seeds go down to 2.
    assert spread[~inside].mean() > 2.5 * spread[inside].mean()
    off = model.predict(tails.grid[inside]) - tails.mean[inside]
    assert np.sqrt(np.mean(off**2)) < 0.25 * tails.y.std()


def test_functions_part_in_a_gap():
    gap = make_gap(random_state=0)
    model = VariationalSoftTreeRegressor(random_state=0, n_steps=2000).fit(gap.X, gap.y)
    spread = model.sample_functions(gap.grid, 200).std(axis=0)
    between = np.abs(gap.grid[:, 0]) < 0.6
    assert spread[between].mean() > 2.5 * spread[gap.in_support].mean()


def test_draws_change_without_a_refit(curve):
    tails, model = curve
    grid = tails.grid[::20]
    before = model.posterior_.mean.copy()
    many, few = model.sample_functions(grid, 30), model.sample_functions(grid, 10)
    np.testing.assert_array_equal(many[:10], few)  # draw i is the same whatever their number
    other = model.sample_functions(grid, 10, seed=5)
    assert (other != few).any(axis=1).all()
    np.testing.assert_array_equal(other, model.sample_functions(grid, 10, seed=5))
    np.testing.assert_array_equal(model.posterior_.mean, before)


def test_the_density_is_the_draws_mean_density(curve):
    tails, model = curve
    x = np.array([[0.3]])
    step = 0.01
    y = np.arange(-60.0, 60.0, step)
    density = np.exp(model.log_densities(np.repeat(x, len(y), axis=0), y))
    loc, scale = model.predict_distribution(x)
    # A Riemann sum, to 1e-6 exact for normals of width 0.02 and more, over all the 60 units that
    # the widest leaf of a draw reaches; squares weigh its tail.
    assert density.sum() * step == pytest.approx(1.0, abs=1e-6)
    assert (density * y).sum() * step == pytest.approx(loc[0], abs=1e-6)
    assert (density * (y - loc[0]) ** 2).sum() * step == pytest.approx(scale[0] ** 2, rel=1e-4)
    rows = model.log_densities(tails.X, tails.y)
    assert model.log_score(tails.X, tails.y) == pytest.approx(rows.mean(), rel=SAME_SUM)
    assert model.validation_elbo(tails.X, tails.y) < rows.mean()  # Jensen, and the KL


def test_the_picture_of_a_draw_is_the_drawn_function(curve):
    tails, model = curve
    grid = tails.grid[::10]
    picture = model.tree_picture(grid, draw=3)
    assert picture.gates.shape == (7, len(grid))
    assert picture.leaf_means.shape == picture.leaf_stds.shape == (8, len(grid))
    np.testing.assert_allclose(picture.reach.sum(axis=0), 1.0, rtol=SAME_SUM)
    np.testing.assert_allclose(picture.output, model.sample_functions(grid, 4)[3], rtol=CANCELLED)
    # Node 0 parts the leaves: the right half of them has its probability.
    np.testing.assert_allclose(picture.reach[4:].sum(axis=0), picture.gates[0], rtol=CANCELLED)
    between = picture.reach * (picture.leaf_stds**2 + (picture.leaf_means - picture.output) ** 2)
    np.testing.assert_allclose(
        between.sum(axis=0), model.predict_members(grid, 4)[3, :, 1], rtol=CANCELLED
    )  # the variance of eq. 6
    lines = model.tree_picture(np.array([[0.0], [1.0], [2.0]]), draw=3).leaf_means
    np.testing.assert_allclose(lines[:, 2] - lines[:, 1], lines[:, 1] - lines[:, 0], rtol=CANCELLED)


def test_training_can_be_watched(curve):
    tails, model = curve
    path, elbo = model.path_, model.elbo_path_
    assert path.step[0] == 0
    assert path.step[-1] == len(elbo.elbo) == model.n_steps_
    assert path.means.shape == (len(path.step), model.shape_.n_parameters)
    np.testing.assert_array_equal(path.means[-1], model.posterior_.mean)
    assert elbo.elbo[-50:].mean() > elbo.elbo[:50].mean()
    first = model.tree_picture(tails.grid, snapshot=0)
    last = model.tree_picture(tails.grid, snapshot=len(path.step) - 1)
    np.testing.assert_array_equal(last.output, model.tree_picture(tails.grid).output)
    assert (first.output != last.output).any()


def test_results_of_the_classifier_fit_together(frame, fitted):
    X, y = frame
    model, labels = fitted[VariationalSoftTreeClassifier], target_for(KINDS[1], y)
    members = model.predict_members(X)
    assert members.shape == (10, 120, 2)
    np.testing.assert_allclose(members.sum(axis=2), 1.0, rtol=SAME_SUM)
    np.testing.assert_allclose(model.predict_proba(X), members.mean(axis=0), rtol=SAME_SUM)
    total, data, knowledge = model.predict_uncertainty(X)
    np.testing.assert_allclose(total, data + knowledge, rtol=SAME_SUM)
    chosen = model.predict_proba(X)[np.arange(120), (labels == "yes").astype(int)]
    assert model.log_score(X, labels) == pytest.approx(np.log(chosen).mean(), rel=CANCELLED)
    picture = model.tree_picture(X, draw=2)
    np.testing.assert_allclose(picture.output, members[2], rtol=CANCELLED)
    assert picture.leaf_probabilities.shape == (2, 120, 2)
    with refused_from(InvalidData, "y holds the class 'maybe'"):
        model.log_score(X, np.where(y > 0, "yes", "maybe"))


def test_three_classes_of_numbers():
    rng = np.random.default_rng(0)
    y = np.repeat([3.0, 7.0, 9.0], 40)
    X = y[:, None] + 0.3 * rng.normal(size=(120, 1))
    model = VariationalSoftTreeClassifier(**SMALL).set_params(n_steps=600, depth=2).fit(X, y)
    assert model.classes_.tolist() == [3.0, 7.0, 9.0]
    assert (model.predict(X) == y).mean() > 0.95


def test_numbers_are_standardised_gaps_marked_and_constants_left_out():
    X = pd.DataFrame({"a": [1.0, np.nan, 3.0, 8.0], "b": [5.0] * 4, "c": [np.nan] * 4})
    encoding, matrix = fit_inputs(X)
    assert encoding.names == ("a", "a missing")
    np.testing.assert_allclose(matrix.mean(axis=0), 0.0, atol=ZERO)
    np.testing.assert_allclose(matrix.std(axis=0), 1.0, rtol=SAME_SUM)
    filled = [1.0, 3.0, 3.0, 8.0]  # by the median of 1, 3, 8
    np.testing.assert_allclose(matrix[:, 0], (filled - np.mean(filled)) / np.std(filled))
    new, flags = apply_inputs(encoding, pd.DataFrame({"a": [1e300], "b": [np.nan], "c": [1.0]}))
    assert new[0, 0] == inputs.FARTHEST
    assert flags.new_missing.tolist() == [True]
    assert flags.columns == ("b",)


def test_categories_have_a_column_each_and_unknown_ones_none():
    X = pd.DataFrame({"colour": ["red", "blue", "red", None]})
    encoding, matrix = fit_inputs(X, "from_dtype")
    assert encoding.names == ("colour = blue", "colour = red", "colour missing")
    raw = matrix * encoding.spread + encoding.centre
    expected = [[0, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    np.testing.assert_allclose(raw, expected, atol=ZERO)
    new, flags = apply_inputs(encoding, pd.DataFrame({"colour": ["green", "red"]}))
    np.testing.assert_allclose(
        new * encoding.spread + encoding.centre, [[0, 0, 0], [0, 1, 0]], atol=ZERO
    )
    assert flags.unseen_level.tolist() == [True, False]


def test_text_in_a_data_frame_is_a_category_unnamed(rng):
    X = pd.DataFrame({"colour": rng.choice(["red", "blue"], 60), "x": rng.normal(size=60)})
    y = np.where(X["colour"] == "red", 1.0, -1.0) + 0.1 * rng.normal(size=60)
    model = VariationalSoftTreeRegressor(**SMALL).fit(X, y)
    named = VariationalSoftTreeRegressor(**SMALL, categorical_features=["colour"]).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), named.predict(X))
    assert model.encoding_.names == ("colour = blue", "colour = red", "x")


def test_rare_levels_share_a_column():
    levels = [f"l{i:02d}" for i in range(40)]
    X = pd.DataFrame({"level": levels + levels[5:36]})
    encoding, matrix = fit_inputs(X, [0])
    assert matrix.shape[1] == len(encoding.names) == inputs.MAX_LEVELS
    assert encoding.columns[0].levels == tuple(levels[5:36])  # those that come twice
    assert encoding.names[-1] == "level = rarer"
    new, flags = apply_inputs(encoding, pd.DataFrame({"level": ["l00", "other"]}))
    np.testing.assert_array_equal(new[0], new[1])
    assert not flags.unseen_level.any()


@pytest.mark.parametrize("scale", [1e-60, 1e60])
def test_extreme_units_of_y_give_finite_results(frame, scale):
    X, y = frame
    model = VariationalSoftTreeRegressor(**SMALL).fit(X, scale * y)
    for part in (*model.predict_uncertainty(X), *model.predict_distribution(X)):
        assert np.isfinite(part).all()


def test_rows_without_anything_to_learn():
    X = np.column_stack([np.full(20, np.nan), np.ones(20)])
    model = VariationalSoftTreeRegressor(**SMALL).fit(X, np.full(20, 0.1))
    # The inner target is 0 throughout; its posterior is narrow beside the unit spread.
    assert model.predict([[3.0, 7.0]])[0] == pytest.approx(0.1, abs=0.5)


def test_minibatches_fit_too():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 1))
    y = np.abs(X[:, 0]) + 0.1 * rng.normal(size=600)
    model = VariationalSoftTreeRegressor(**SMALL).set_params(n_steps=800, batch_size=100)
    off = model.fit(X, y).predict(X) - np.abs(X[:, 0])
    assert np.sqrt(np.mean(off**2)) < 0.3 * y.std()


def test_rows_are_predicted_in_blocks_alike(curve, monkeypatch):
    tails, model = curve
    whole = model.predict_members(tails.grid, 20)
    monkeypatch.setattr(base, "_BLOCK_CELLS", 500)
    np.testing.assert_allclose(model.predict_members(tails.grid, 20), whole, rtol=SAME_SUM)


def test_tuning_takes_the_best_of_the_grid():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, size=(120, 1))
    y = np.sign(x[:, 0]) + 0.1 * rng.normal(size=120)
    start = VariationalSoftTreeRegressor(**SMALL).set_params(n_steps=500)
    for scoring in ("elbo", "log_score"):
        tuning = tune_soft_tree(start, x, y, {"depth": [0, 1]}, scoring, random_state=0)
        assert tuning.best == {"depth": 1}  # one line cannot be a step
        assert tuning.knobs == ({"depth": 0}, {"depth": 1})
        assert tuning.scores[1] > tuning.scores[0]
        assert tuning.estimator.n_rows_ == 120
    with refused_from(InvalidParameter, "grid names 'trees', but"):
        tune_soft_tree(start, x, y, {"trees": [1]})
    with refused_from(InvalidParameter, "grid has no value for 'depth'"):
        tune_soft_tree(start, x, y, {"depth": []})
    with refused_from(InvalidParameter, "grid must have a list of values for 'depth'"):
        tune_soft_tree(start, x, y, {"depth": 3})
    with refused_from(InvalidParameter, "grid must give each parameter a list of values"):
        tune_soft_tree(start, x, y, ["depth"])
    with refused_from(InvalidParameter, "estimator must be a soft tree"):
        tune_soft_tree("VST", x, y)
    with refused_from(InvalidParameter, "scoring must be one of"):
        tune_soft_tree(start, x, y, scoring="r2")
    with refused_from(InvalidData, "2 rows are too few"):
        tune_soft_tree(start, x[:2], y[:2])


@EACH
def test_a_rank_above_full_is_full(frame, kind):
    X, y = frame
    model = kind(**SMALL).set_params(rank=5000, depth=0, n_steps=3).fit(X, target_for(kind, y))
    n_parameters = model.trees_[0].shape.n_parameters
    assert model.trees_[0].posterior.factor.shape == (n_parameters, n_parameters)
    full = kind(**SMALL).set_params(rank=n_parameters, depth=0, n_steps=3)
    full.fit(X, target_for(kind, y))
    np.testing.assert_array_equal(model.trees_[0].posterior.mean, full.trees_[0].posterior.mean)


@pytest.mark.parametrize(
    ("knobs", "start"),
    [
        ({"output": "median"}, "output must be one of "),
        ({"noise": 0.1}, "noise needs output='mean'"),
        ({"output": "mean", "noise": 0.0}, "noise must be a number greater than 0"),
    ],
)
def test_impossible_outputs_are_refused(frame, knobs, start):
    with refused_from(InvalidParameter, start):
        VariationalSoftTreeRegressor(**SMALL, **knobs).fit(*frame)


def test_too_many_columns_are_refused(monkeypatch):
    monkeypatch.setattr(inputs, "MAX_COLUMNS", 3)
    with refused_from(InvalidData, "X has 4 columns after encoding"):
        VariationalSoftTreeRegressor(**SMALL).fit(np.eye(5)[:, :4], np.arange(5.0))


@EACH
def test_impossible_draws_and_moments_are_refused(frame, fitted, kind):
    X, model = frame[0], fitted[kind]
    with refused_from(InvalidParameter, "n_draws must be a whole number"):
        model.predict_members(X, n_draws=0)
    with refused_from(InvalidParameter, "seed must be a whole number"):
        model.predict_members(X, seed=-1)
    with refused_from(InvalidParameter, "draw must be a whole number"):
        model.tree_picture(X, draw=-1)
    with refused_from(InvalidParameter, "snapshot must be a whole number"):
        model.tree_picture(X, snapshot=1000)
    with refused_from(InvalidData, "The arrays must describe the same rows"):
        model.log_score(X, np.zeros(3))
