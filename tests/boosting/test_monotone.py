"""Monotone constraints hold in every member and truncation, whatever the noise."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gbuq_core import BoostedEnsembleClassifier, BoostedEnsembleRegressor, StackedRegressor
from gbuq_core.boosting.monotone_kernels import project_monotone
from gbuq_core.errors import InvalidParameter

SIGNS = {"up": 1, "down": -1}
NOISY = {
    "n_trees": 20,
    "depth": 4,
    "temperature": 1.0,
    "leaf_noise": True,
    "learning_rate": 0.3,
    "truncation_step": 4,
    "n_members": 2,
    "stopping": None,
    "n_jobs": 1,
    "random_state": 0,
    "monotone_constraints": SIGNS,
}


def rows(seed=0, n=200):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.uniform(-1, 1, (n, 3)), columns=["up", "free", "down"])
    X["kind"] = pd.Categorical(rng.choice(["a", "b"], n))
    X.loc[::17, "up"] = np.nan
    # The truth turns, so that trees without constraints break them.
    return X, np.sin(4 * X["up"].fillna(0)) + X["down"] ** 2 + 0.3 * rng.normal(size=n)


def steps(model, column, outputs):
    """What changes as one column rises, of some rows."""
    X = rows(1, 40)[0]
    grid = [outputs(model.predict_members(X.assign(**{column: x}))) for x in np.linspace(-1, 1, 25)]
    return np.diff(np.stack(grid), axis=0) * SIGNS[column]


@pytest.mark.parametrize("method", ["sgb", "sglb", "csglb"])
@pytest.mark.parametrize("ensemble", [None, "virtual"])
def test_means_only_move_one_way(method, ensemble):
    X, y = rows()
    known = {**NOISY, "cycle_length": 10} | ({"learning_rate": 0.1} if method == "csglb" else {})
    model = BoostedEnsembleRegressor(method=method, ensemble=ensemble, **known).fit(X, y)
    loose = BoostedEnsembleRegressor(**{**known, "monotone_constraints": None}).fit(X, y)
    for column in SIGNS:
        moved = steps(model, column, lambda members: members[..., 0])
        assert (moved >= 0.0).all()
        assert (moved > 0.0).any()
        assert (steps(loose, column, lambda members: members[..., 0]) < 0.0).any()


@pytest.mark.parametrize("around", [None, StackedRegressor])
@pytest.mark.parametrize("rules", [{"up": 1}, SIGNS])
def test_ends_of_intervals_move_one_way(around, rules):
    X, y = rows(0, 300)
    y *= 1 + 2 * (X["down"] > 0)  # a std that rises where the mean falls
    known = {"n_members": 2, "n_trees": 60, "depth": 3, "random_state": 0}
    found, levels = [], [0.5, 0.9] if around else [0.5, 0.9, 0.99]  # a stack may be recalibrated
    for constraints in (rules, None):
        trees = BoostedEnsembleRegressor(monotone_constraints=constraints, **known)
        model = (trees if around is None else around(trees, random_state=0)).fit(X, y)
        new = rows(1, 30)[0]
        moved = []
        for column, sign in rules.items():
            grid = [new.assign(**{column: x}) for x in np.linspace(-1.2, 1.2, 30)]
            ends = [model.predict_distribution(part).interval(levels) for part in grid]
            moved.append(np.diff(np.array(ends), axis=0).ravel() * sign)
        found.append(np.concatenate(moved).min())
        held = rows(2, 3000)
        lower, upper = model.predict_distribution(held[0]).interval(0.9)
        y_held = held[1] * (1 + 2 * (held[0]["down"] > 0))
        # 300 rows, with constraints that are wrong: within .06.
        assert 0.84 < np.mean((lower <= y_held) & (y_held <= upper)) < 0.96
    assert found[0] >= -1e-9 > found[1]  # the law of the stack is inverted to 1e-10


@pytest.mark.parametrize("n_classes", [2, 3])
def test_logits_only_move_one_way(n_classes):
    X, y = rows()
    codes = pd.qcut(y, n_classes, labels=False)
    model = BoostedEnsembleClassifier(ensemble="virtual", **NOISY).fit(X, codes)
    matrix = [model._matrix(rows(1, 40)[0].assign(up=x)) for x in np.linspace(-1, 1, 25)]
    raw = [model._raw(part, np.arange(1, 21), 1) for part in matrix]
    moved = np.diff(np.stack(raw), axis=0)
    assert (moved * ([-1, 1] if n_classes == 2 else [1] * 3) >= 0.0).all()
    if n_classes == 2:
        assert (steps(model, "down", lambda members: members[..., 1]) >= -1e-15).all()


def test_constrained_rows_in_blocks_and_clocks(monkeypatch):
    X, y = rows(2, 400)
    by_place = {**NOISY, "stopping": "two_clocks", "cv": 2, "temperature": "catboost"}
    by_place |= {"monotone_constraints": [1, 0, -1, 0]}
    model = BoostedEnsembleRegressor(**by_place).fit(X, y)
    monkeypatch.setattr("gbuq_core.boosting.blocks.BLOCK_ROWS", 100)
    blocks = BoostedEnsembleRegressor(**{**by_place, "stopping": None}).fit(X, y)
    for fitted in (model, blocks):
        assert (steps(fitted, "up", lambda members: members[..., 0]) >= 0.0).all()


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_leaves_in_order_stay_and_others_are_put_in_order(seed):
    rng = np.random.default_rng(seed)
    features, signs = rng.integers(0, 3, 3).astype(np.int16), rng.integers(-1, 2, (1, 3))
    counts = rng.integers(0, 4, 8).astype(float)
    values = rng.normal(size=(8, 1))
    ordered = values.copy()
    square = project_monotone(ordered, counts, features, signs.astype(np.int8), 3)
    assert square == pytest.approx(float((counts * ordered[:, 0] ** 2).sum()))
    for level, feature in enumerate(features):
        for leaf in range(8):
            step = ordered[leaf | 1 << level, 0] - ordered[leaf, 0]
            assert step * signs[0, feature] >= 0.0
    again = ordered.copy()
    project_monotone(again, counts, features, signs.astype(np.int8), 3)
    np.testing.assert_array_equal(again, ordered)
    if (signs[0, features] != 0).sum() == 1:  # one pair each: pooled by their rows
        np.testing.assert_allclose(counts @ ordered, counts @ values, atol=1e-12)


@pytest.mark.parametrize(
    ("constraints", "more", "message"),
    [
        ([1, 0], {}, "for each of the 4 columns"),
        ({"other": 1}, {}, "by name or position"),
        ({"up": 2}, {}, "must hold 1, -1 or 0"),
        ({4: 1}, {}, "by name or position"),
        ({"kind": 1}, {}, "have no order"),
        (1, {}, "for each of the 4 columns"),
        (SIGNS, {"engine": "catboost"}, "need engine='numba'"),
        (SIGNS, {"target": "log"}, "whose mean follows"),
    ],
)
def test_what_cannot_be_constrained(constraints, more, message):
    X, y = rows()
    known = {**NOISY, "leaf_noise": None, "monotone_constraints": constraints, **more}
    with pytest.raises(InvalidParameter, match=message):
        BoostedEnsembleRegressor(**known).fit(X, np.exp(y))
