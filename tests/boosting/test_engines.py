"""Both engines behind one interface: the same body for this project's kernels and for CatBoost."""

import threading
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from tolerances import SAME_SUM

from gbuq_core import BoostedEnsembleClassifier, BoostedEnsembleRegressor
from gbuq_core.boosting import catboost_engine
from gbuq_core.boosting.catboost_engine import make_pool
from gbuq_core.errors import Cancelled, GbuqError, InvalidData, InvalidParameter
from gbuq_core.jobs import JobRunner

SMALL = {
    "stopping": None,
    "n_members": 3,
    "n_trees": 40,
    "truncation_step": 5,
    "depth": 3,
    "random_state": 0,
}
TASKS = ["regression", "two classes", "three classes"]

# CatBoost's own virtual ensembles divide by powers of a float32.
SINGLE = 1e-6

# Reached only by a test that hangs; no time is asserted.
HANG = 60


@pytest.fixture(params=["numba", "catboost"])
def engine(request):
    return request.param


@pytest.fixture(scope="module")
def data():
    """300 rows of two numbers with gaps and a category of four levels, and a target a task."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 2))
    level = rng.integers(0, 4, 300)
    y = 5.0 + X[:, 0] + 0.8 * (level == 2) + 0.2 * rng.normal(size=300)
    X[rng.random(300) < 0.1, 1] = np.nan
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": np.array(["p", "q", "r", "s"])[level]})
    targets = {
        "regression": y,
        "two classes": np.where(y > 5, "high", "low"),
        "three classes": np.digitize(y, [4.5, 5.5]),
    }
    return SimpleNamespace(X=table, targets=targets)


def ensemble(task, engine, **knobs):
    kind = BoostedEnsembleRegressor if task == "regression" else BoostedEnsembleClassifier
    return kind(**{"categorical_features": ["c"], "engine": engine, **SMALL, **knobs})


def fitted(task, engine, data, **knobs):
    return ensemble(task, engine, **knobs).fit(data.X, data.targets[task])


@pytest.mark.parametrize("kind", ["independent", "virtual"])
@pytest.mark.parametrize("task", TASKS)
def test_members_and_uncertainty(task, kind, engine, data):
    model = fitted(task, engine, data, ensemble=kind)
    y = data.targets[task]
    members = model.predict_members(data.X)
    n_members = 3 if kind == "independent" else 4  # of 25, 30, 35 and 40 trees
    n_values = {"regression": 2, "two classes": 2, "three classes": 3}[task]
    assert members.shape == (n_members, 300, n_values)
    assert np.isfinite(members).all()
    uncertainty = model.predict_uncertainty(data.X)
    np.testing.assert_allclose(
        uncertainty.total, uncertainty.data + uncertainty.knowledge, rtol=SAME_SUM
    )
    assert uncertainty.data.min() > 0.0
    assert uncertainty.knowledge.max() > 0.0
    if task == "regression":
        assert members[..., 1].min() > 0.0
        # 40 trees must explain most of a target whose noise is a fifth of its spread.
        assert model.score(data.X, y) > 0.7
        scale = model.predict_distribution(data.X).scale
        np.testing.assert_allclose(scale**2, uncertainty.total, rtol=SAME_SUM)
    else:
        np.testing.assert_allclose(members.sum(axis=2), 1.0, rtol=SAME_SUM)
        assert list(model.classes_) == sorted(set(y))
        # One class in two or three would be right by chance.
        assert model.score(data.X, y) > 0.8


@pytest.mark.parametrize("task", ["regression", "three classes"])
@pytest.mark.parametrize(
    "knobs",
    [
        {"method": "sgb"},
        {"temperature": "posterior"},
        {"temperature": 10.0},
        {"leaf_estimation": "gradient"},
        {"random_strength": 0.0, "l2": 1.0},
        {"max_bins": 2},
        {"subsample": 0.7},
        {"method": "sgb", "leaf_noise": True},  # does not matter without Langevin noise
    ],
    ids=str,
)
def test_every_knob_trains(task, knobs, engine, data):
    model = fitted(task, engine, data, **knobs)
    assert np.isfinite(model.predict_members(data.X)).all()
    assert model.n_trees_ == 40
    assert model.memory_bytes_ > 0


def test_fewer_members_are_the_first_models_or_the_last_truncations(engine, data):
    models = fitted("regression", engine, data)
    members = models.predict_members(data.X)
    np.testing.assert_array_equal(models.predict_members(data.X, n_members=2), members[:2])
    pair = fitted("regression", engine, data, n_members=2)
    np.testing.assert_array_equal(pair.predict_members(data.X), members[:2])
    assert np.abs(members[0] - members[1]).max() > 1e-3
    virtual = fitted("regression", engine, data, ensemble="virtual")
    np.testing.assert_allclose(
        virtual.predict_members(data.X, n_members=3),
        virtual.predict_members(data.X)[-3:],
        rtol=SINGLE,
    )


@pytest.mark.parametrize("task", TASKS)
def test_truncations_are_stages_of_the_growing_model(task, engine, data):
    model = fitted(task, engine, data, ensemble="virtual")
    staged = model.staged_members(data.X, every=5)
    np.testing.assert_array_equal(staged.n_trees, np.arange(5, 41, 5))
    np.testing.assert_allclose(model.predict_members(data.X), staged.members[4:, 0], rtol=SINGLE)
    wider = model.predict_members(data.X, truncation_step=10, truncation_start=0.0)
    np.testing.assert_allclose(wider, staged.members[1::2, 0], rtol=SINGLE)


@pytest.mark.parametrize("task", TASKS)
def test_a_model_cut_at_t_trees_is_a_model_of_t_trees(task, engine, data):
    """The start and all trees are divided by the shrinkage that came after (eq. 15)."""
    long = fitted(task, engine, data, n_members=1)
    short = fitted(task, engine, data, n_members=1, n_trees=12)
    stage = long.staged_members(data.X, every=12).members[0]
    np.testing.assert_allclose(stage, short.predict_members(data.X), rtol=SAME_SUM)  # 28 divisions


def test_what_training_had_not_is_flagged_and_predicted(engine, data):
    model = fitted("regression", engine, data)
    rows = data.X.iloc[[0, 0, 0, 0]].copy()
    rows["a"] = [0.5, 0.5, np.nan, 0.5]
    rows["b"] = [0.0, 0.0, 0.0, np.nan]
    rows["c"] = ["p", "never seen", "p", None]
    flags = model.inspect_rows(rows)
    assert flags.unseen_level.tolist() == [False, True, False, False]
    assert flags.new_missing.tolist() == [False, False, True, True]
    assert flags.columns == ("a", "c")
    members = model.predict_members(rows)
    assert np.isfinite(members).all()
    # An unseen level and a missing one are the same to the trees: neither is any known level.
    unknown = model.predict_members(rows.iloc[[1, 3]].assign(b=0.0))
    np.testing.assert_array_equal(unknown[:, 0], unknown[:, 1])


def test_rows_in_the_same_leaves_get_the_same_prediction(engine, data):
    model = fitted("regression", engine, data, depth=2)
    leaves = model.leaf_indices(data.X)
    assert leaves.shape == (300, 3 * 40)
    assert leaves.dtype == np.uint16
    assert leaves.max() == 3
    _, group = np.unique(leaves, axis=0, return_inverse=True)
    prediction = model.predict_members(data.X)
    first = {g: i for i, g in reversed(list(enumerate(group)))}
    same = [first[g] for g in group]
    np.testing.assert_array_equal(prediction, prediction[:, same])
    assert len(first) < 300


def test_a_fit_that_nobody_wants_ends_long_before_its_last_tree(engine, data):
    begun = threading.Event()
    seen = []

    def fit(job):
        begun.set()
        try:
            fitted("regression", engine, data, n_trees=20_000, n_members=4, depth=8)
        except Cancelled:
            seen.append(job.done)
            raise

    job = JobRunner().want("ann", engine, fit)
    assert begun.wait(HANG)
    job.stop()
    assert job.wait(HANG)
    assert job.state == "cancelled"
    assert seen[0] < 0.5


# What only CatBoost does


def test_members_are_those_of_catboosts_own_virtual_ensembles(data):
    for task in TASKS:
        model = fitted(task, "catboost", data, ensemble="virtual")
        inner = model.models_.models[0]
        pool = make_pool(model._encode(data.X)[0], model.models_.is_category)
        own = inner.virtual_ensembles_predict(pool, "VirtEnsembles", virtual_ensembles_count=4)
        own = own.swapaxes(0, 1)
        if task == "regression":
            scale = model.target_scale_
            expected = own * [scale.spread, scale.spread**2] + [scale.centre, 0.0]
        elif task == "two classes":
            share = 1.0 / (1.0 + np.exp(-own))
            expected = np.concatenate([1.0 - share, share], axis=2)
        else:
            powers = np.exp(own)
            expected = powers / powers.sum(axis=2, keepdims=True)
        np.testing.assert_allclose(model.predict_members(data.X), expected, rtol=SAME_SUM)


@pytest.mark.parametrize("n_trees", [40, 37])
def test_catboosts_own_call_and_partial_sums_agree(n_trees, data):
    model = fitted("three classes", "catboost", data, ensemble="virtual", n_trees=n_trees)
    matrix = model._encode(data.X)[0]
    for n_members in (2, 5, 9):
        step = n_trees // (2 * n_members)
        points = n_trees - step * np.arange(n_members)[::-1]
        assert catboost_engine.is_virtual_grid(points, n_trees)
        own = catboost_engine.raw_predictions(model.models_, matrix, points, 1, None)[0]
        others = np.append(points, n_trees)
        assert not catboost_engine.is_virtual_grid(others, n_trees)
        sums = catboost_engine.raw_predictions(model.models_, matrix, others, 1, None)[0]
        np.testing.assert_allclose(own, sums[:-1], atol=SINGLE)


@pytest.mark.parametrize("leaf_estimation", ["newton", "gradient"])
def test_catboost_has_noise_on_gradient_leaves_only(leaf_estimation):
    """As `make_plan` claims. Two cells and one split: only leaf values could differ."""
    X = np.repeat([[0.0], [1.0]], 50, axis=0)
    y = X[:, 0] + np.random.default_rng(0).normal(size=100)
    model = BoostedEnsembleRegressor(
        stopping=None,
        n_trees=1,
        depth=1,
        n_members=4,
        temperature="posterior",
        random_strength=0.0,
        leaf_estimation=leaf_estimation,
        engine="catboost",
        random_state=0,
    ).fit(X, y)
    spread = np.ptp(model.predict_members(X)[:, 0, 0])
    assert (model.langevin_.leaf_noise > 0.0) == (leaf_estimation == "gradient")
    # the noise of one draw is lr sqrt(2 / lr) / sqrt(53) = 0.06
    assert spread > 0.01 if leaf_estimation == "gradient" else spread == 0.0


def test_catboosts_gradient_noise_reaches_no_split():
    """Without random strength, members of any temperature are the same."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + rng.normal(size=200)
    model = BoostedEnsembleRegressor(
        temperature=1e-3, random_strength=0.0, engine="catboost", **SMALL
    ).fit(X, y)
    members = model.predict_members(X)
    np.testing.assert_array_equal(members[0], members[1])


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"leaf_noise": True}, "never adds noise to leaves"),
        ({"leaf_noise": False, "leaf_estimation": "gradient"}, "always adds noise to leaves"),
        ({"temperature": 1e-300}, "temperatures from"),
        ({"temperature": 1e300}, "temperatures from"),
    ],
)
def test_knobs_that_catboost_cannot_have_are_refused(data, knobs, message):
    with pytest.raises(InvalidParameter, match=message):
        fitted("regression", "catboost", data, **knobs)


def test_data_that_catboost_cannot_have_are_refused():
    model = BoostedEnsembleRegressor(engine="catboost", **SMALL)
    X, y = np.arange(40.0)[:, None], np.arange(40.0)
    with pytest.raises(InvalidData, match="needs at least one column that varies"):
        model.fit(np.ones((40, 2)), y)
    with pytest.raises(InvalidData, match="needs at least one column that varies"):
        model.fit(1.0 + 1e-12 * X, y)
    with pytest.raises(InvalidData, match="needs a target that varies"):
        model.fit(X, np.ones(40))
    model.set_params(standardize_target=False)
    with pytest.raises(InvalidData, match="standardize_target=True"):
        model.fit(X, 1e50 * y)


def test_a_column_that_is_only_sometimes_missing_is_enough(data):
    X = np.where(np.arange(40) % 2, 1.0, np.nan)[:, None]
    model = BoostedEnsembleRegressor(engine="catboost", **SMALL).fit(X, np.arange(40.0) % 2)
    assert model.predict([[1.0]]) > model.predict([[np.nan]])


def test_catboost_giving_up_is_one_sentence(rng):
    X = rng.normal(size=(300, 3))
    model = BoostedEnsembleRegressor(engine="catboost", **{**SMALL, "depth": 8}, l2=0.0)
    with pytest.raises(GbuqError, match=r"^CatBoost stopped.*raise l2.*\.$"):
        model.fit(X, rng.normal(size=300))
