"""Truncations of one model: which they are, that they are what a shorter fit gives, no refits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tolerances import SAME_SUM

from gbuq_core.boosting import BoostedEnsembleClassifier, BoostedEnsembleRegressor, numba_engine
from gbuq_core.boosting.plan import truncation_points
from gbuq_core.errors import InvalidParameter

SMALL = {"stopping": None, "n_trees": 60, "depth": 3, "learning_rate": 0.3, "random_state": 0}


@pytest.fixture
def data(rng):
    X = rng.normal(size=(200, 2))
    return X, 100.0 + X[:, 0] + 0.3 * rng.normal(size=200)


@pytest.fixture
def no_fit(monkeypatch):
    """From here on nothing may be trained."""

    def refuse(*args):
        raise AssertionError("a refit")

    return lambda: monkeypatch.setattr(numba_engine, "fit", refuse)


@given(n_trees=st.integers(1, 3000), step=st.integers(1, 400), start=st.integers(0, 20))
def test_points_equal_the_twin(n_trees, step, start):
    """Twentieths of a whole number are rounded; the twin compares whole numbers only."""
    expected = [t for t in range(step, n_trees + 1, step) if 20 * t > start * n_trees]
    if not expected:
        with pytest.raises(InvalidParameter, match=r"^truncation_step [^\n]*\.$"):
            truncation_points(n_trees, step, start / 20)
    else:
        assert truncation_points(n_trees, step, start / 20).tolist() == expected


@pytest.mark.parametrize(
    ("step", "start"), [(0, 0.5), (1.5, 0.5), (50, -0.1), (50, 1.1), ("50", 0.5), (50, np.nan)]
)
def test_impossible_truncations_are_refused(step, start):
    with pytest.raises(InvalidParameter, match=r"^truncation_st(ep|art) must be [^\n]*\.$"):
        truncation_points(1000, step, start)


@pytest.mark.parametrize("method", ["sgb", "sglb"])
@pytest.mark.parametrize("standardize_target", [True, False])
def test_a_truncation_is_the_model_of_a_shorter_fit(data, method, standardize_target):
    """Bit for bit, also of a start of (100, log std): it shrinks with the rest of the model."""
    X, y = data
    knobs = {**SMALL, "method": method, "standardize_target": standardize_target, "n_members": 2}
    stages = BoostedEnsembleRegressor(**knobs).fit(X, y).staged_members(X, every=20)
    assert stages.n_trees.tolist() == [20, 40, 60]
    for t, members in zip(stages.n_trees, stages.members, strict=True):
        shorter = BoostedEnsembleRegressor(**{**knobs, "n_trees": int(t)}).fit(X, y)
        np.testing.assert_array_equal(members, shorter.predict_members(X))


def test_truncation_divides_by_the_shrinkage_that_came_later(data):
    """Equation 15: partial sums of the final model over (1 - gamma eps)^(T - t)."""
    X, y = data
    model = BoostedEnsembleRegressor(
        **SMALL, ensemble="virtual", temperature="posterior", standardize_target=False
    ).fit(X, y)
    models, decay, T = model.models_, model.langevin_.decay, 60
    assert decay == 1.0 - 0.3 / (2 * 200)
    leaves = model.leaf_indices(X)
    # What start and trees have come to in the final model, after all shrinkage.
    start = models.start * decay ** (T - 1)
    trees = [
        models.forests[0].values[tree, leaves[:, tree]] * decay ** (T - 1 - tree)
        for tree in range(T)
    ]
    members = model.predict_members(X, truncation_step=7, truncation_start=0.0)
    points = model.member_trees(7, 0.0)
    assert points.tolist() == [7, 14, 21, 28, 35, 42, 49, 56]
    for t, member in zip(points, members, strict=True):
        raw = (start + np.sum(trees[:t], axis=0)) / decay ** (T - t)
        # Sixty numbers of about 100 are added and divided in another order.
        np.testing.assert_allclose(member[:, 0], raw[:, 0], rtol=SAME_SUM)
        np.testing.assert_allclose(member[:, 1], np.exp(2 * raw[:, 1]), rtol=SAME_SUM)


def test_shrinkage_reaches_the_start(data):
    """N rows far from 0, and nothing to split on: the mean is pulled to 0 by the prior."""
    _, y = data
    model = BoostedEnsembleRegressor(
        stopping=None,
        n_members=1,
        n_trees=500,
        learning_rate=0.5,
        standardize_target=False,
        random_state=0,
    ).fit(np.zeros((200, 1)), y)
    # Where a tree's step makes up for the shrinkage: N / (N + l2) (ybar - mu) = mu / (2 N).
    expected = y.mean() * 200 / (200 + 0.5 + 3.0 / 400)
    np.testing.assert_allclose(model.predict([[0.0]])[0], expected, rtol=SAME_SUM)


@pytest.mark.parametrize("kind", [BoostedEnsembleRegressor, BoostedEnsembleClassifier])
@pytest.mark.parametrize("method", ["sgb", "sglb"])
def test_moving_the_truncations_refits_nothing(data, kind, method, no_fit):
    X, y = data
    target = np.digitize(y, [99.5, 100.5]) if kind is BoostedEnsembleClassifier else y
    knobs = {**SMALL, "method": method, "ensemble": "virtual"}
    choices = [(5, 0.5, None), (10, 0.25, None), (7, 0.0, 3), (60, 0.9, 1), (1, 0.5, 30)]
    fresh = [
        kind(**knobs, truncation_step=step, truncation_start=start).fit(X, target)
        for step, start, _ in choices
    ]
    model = kind(**knobs, truncation_step=6).fit(X, target)
    no_fit()
    for (step, start, n_members), other in zip(choices, fresh, strict=True):
        expected = other.predict_members(X)
        if n_members is not None:
            expected = expected[-n_members:]  # the last, best trained truncations
        chosen = {"truncation_step": step, "truncation_start": start, "n_members": n_members}
        np.testing.assert_array_equal(model.predict_members(X, **chosen), expected)
        uncertainty, again = model.predict_uncertainty(X, **chosen), other.predict_uncertainty(X)
        if n_members is None:
            for part, same in zip(uncertainty, again, strict=True):
                np.testing.assert_array_equal(part, same)
        assert len(model.member_trees(step, start)) >= len(expected)


@pytest.mark.parametrize(
    ("ensemble", "knobs"),
    [
        ("virtual", {"truncation_step": 61}),
        ("virtual", {"truncation_start": 1.0}),
        ("virtual", {"truncation_step": -1}),
        ("virtual", {"n_members": 4}),
        ("virtual", {"n_members": 0}),
        ("independent", {"n_members": 3}),
        ("independent", {"n_members": 1.5}),
    ],
)
def test_members_that_are_not_there_are_refused(data, ensemble, knobs):
    model = BoostedEnsembleRegressor(
        **SMALL, n_members=2, ensemble=ensemble, truncation_step=10
    ).fit(*data)
    with pytest.raises(InvalidParameter, match=r"^(truncation_st\w+|n_members) [^\n]*\.$"):
        model.predict_uncertainty(data[0], **knobs)


@pytest.mark.parametrize("every", [0, 61, 2.5, "10"])
def test_stages_that_are_not_there_are_refused(data, every):
    model = BoostedEnsembleRegressor(**SMALL, n_members=1).fit(*data)
    with pytest.raises(InvalidParameter, match=r"^every must be [^\n]*\.$"):
        model.staged_members(data[0], every=every)


def test_a_virtual_ensemble_trains_one_model(data):
    model = BoostedEnsembleRegressor(**SMALL, n_members=7, ensemble="virtual", truncation_step=10)
    model.fit(*data)
    single = BoostedEnsembleRegressor(**SMALL, n_members=1).fit(*data)
    assert len(model.models_.forests) == 1
    np.testing.assert_array_equal(
        model.predict_members(data[0])[-1:], single.predict_members(data[0])
    )
