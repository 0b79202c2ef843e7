"""What a fit must not depend on: units of y, order of rows, threads, chunks; and what it may."""

import numpy as np
import pytest
from tolerances import CANCELLED, NEAR_ZERO, ZERO

from gbuq_core.boosting import BoostedEnsembleClassifier, BoostedEnsembleRegressor, numba_engine

SMALL = {"stopping": None, "n_members": 3, "n_trees": 40, "depth": 3, "learning_rate": 0.3}
PLAIN = {"method": "sgb", "subsample": 1.0, "random_strength": 0.0}


@pytest.fixture
def data(rng):
    X = rng.normal(size=(300, 3))
    X[rng.random((300, 3)) < 0.05] = np.nan
    y = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) ** 2 + 0.3 * rng.normal(size=300)
    return X, y


@pytest.fixture
def repeated(rng):
    """400 rows in 20 cells, which are merged."""
    X = rng.integers(0, [5, 4], size=(400, 2)).astype(float)
    return X, X[:, 0] + 0.5 * rng.normal(size=400)


@pytest.mark.parametrize("temperature", ["catboost", "posterior"])
@pytest.mark.parametrize(("a", "b"), [(1e-3, 0.0), (250.0, -3e4), (1.0, 1e6)])
def test_the_unit_of_y_does_not_matter(data, a, b, temperature):
    X, y = data
    knobs = {**SMALL, "temperature": temperature, "random_state": 0}
    expected = BoostedEnsembleRegressor(**knobs).fit(X, y).predict_members(X)
    members = BoostedEnsembleRegressor(**knobs).fit(X, a * y + b).predict_members(X)
    # Standardising loses digits of a y that is small against its mean: 1e-16 of |b|, through
    # forty trees whose splits stay the same ones.
    rounding = 1e-10 + 1e-14 * abs(b) / a
    np.testing.assert_allclose(members[..., 0], a * expected[..., 0] + b, rtol=0, atol=a * rounding)
    np.testing.assert_allclose(members[..., 1], a**2 * expected[..., 1], rtol=100 * rounding)


def test_without_standardising_it_does(rng):
    """Noise of one unit is the same whatever y is: a hundredth of a y that is a hundred times y.

    So it is CatBoost's: that of the posterior has the size of the rows' own noise.
    """
    X, y = np.zeros((50, 1)), rng.normal(size=50)
    knobs = {**SMALL, "temperature": "catboost", "leaf_noise": True, "random_state": 0}
    for standardize_target, factor in ((True, 100.0), (False, 1.0)):
        small, large = (
            BoostedEnsembleRegressor(**knobs, standardize_target=standardize_target)
            .fit(X, a * y)
            .predict_members(X[:1])[:, 0, 0]
            for a in (1.0, 100.0)
        )
        # Linear in the noise, so the same draws give the same deviations, up to rounding.
        np.testing.assert_allclose(large - large[0], factor * (small - small[0]), atol=NEAR_ZERO)


@pytest.mark.parametrize("kind", [BoostedEnsembleRegressor, BoostedEnsembleClassifier])
@pytest.mark.parametrize("merge", [False, True])
def test_the_order_of_rows_does_not_matter(data, repeated, rng, kind, merge):
    """Without noise; merged cells are numbered by their codes, so with noise too."""
    X, y = repeated if merge else data
    target = np.digitize(y, [0.3, 1.2]) if kind is BoostedEnsembleClassifier else y
    knobs = {**SMALL, **({} if merge else PLAIN), "random_state": 0}
    model = kind(**knobs).fit(X, target)
    assert model.n_cells_ == (20 if merge else 300)
    order = rng.permutation(len(X))
    again = kind(**knobs).fit(X[order], target[order])
    # Sums over rows in another order, through forty trees.
    np.testing.assert_allclose(
        again.predict_members(X), model.predict_members(X), rtol=CANCELLED, atol=ZERO
    )


@pytest.mark.parametrize("kind", [BoostedEnsembleRegressor, BoostedEnsembleClassifier])
@pytest.mark.parametrize(
    "knobs",
    [
        {},
        {"method": "sgb"},
        {"temperature": "posterior"},
        {"ensemble": "virtual", "truncation_step": 5},
        {"method": "cbsglb", "cycle_length": 10, "learning_rate": 0.1},
    ],
    ids=["sglb", "sgb", "posterior", "virtual", "cyclical"],
)
def test_threads_and_chunks_do_not_matter(data, kind, knobs, monkeypatch):
    X, y = data
    target = y > 0 if kind is BoostedEnsembleClassifier else y

    def fit(n_jobs, chunk_seconds):
        monkeypatch.setattr(numba_engine, "_CHUNK_SECONDS", chunk_seconds)
        model = kind(**{**SMALL, **knobs}, n_jobs=n_jobs, random_state=0).fit(X, target)
        return model.predict_members(X), model.leaf_indices(X)

    expected = fit(1, 0.03)
    for n_jobs, chunk_seconds in ((8, 0.03), (2, 1e-9), (1, 1e9)):
        for array, wanted in zip(fit(n_jobs, chunk_seconds), expected, strict=True):
            np.testing.assert_array_equal(array, wanted)


def test_predictions_do_not_depend_on_other_rows_or_threads(rng):
    """More rows than fit in a block of the kernel and in a block of the pool."""
    X = rng.normal(size=(9000, 2))
    model = BoostedEnsembleRegressor(**SMALL, random_state=0).fit(X[:500], X[:500, 0])
    together = model.predict_members(X)
    apart = np.concatenate([model.predict_members(part) for part in np.split(X, [1, 2050])], axis=1)
    np.testing.assert_array_equal(together, apart)
    np.testing.assert_array_equal(model.set_params(n_jobs=8).predict_members(X), together)


def test_other_seeds_give_other_results(data):
    X, y = data
    generator = np.random.default_rng(5)
    states = [5, 6, None, None, generator, generator]
    models = [BoostedEnsembleRegressor(**SMALL, random_state=state).fit(X, y) for state in states]
    assert len({model.predict(X)[0] for model in models}) == 6
    again = BoostedEnsembleRegressor(**SMALL, random_state=models[2].seed_).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), models[2].predict(X))
