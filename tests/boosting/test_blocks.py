"""Models that are trained block by block against the same models trained in one piece."""

import numpy as np
import pytest
from tolerances import CANCELLED, NEAR_ZERO

from gbuq_core.boosting import BoostedEnsembleClassifier, BoostedEnsembleRegressor, blocks
from gbuq_core.seeding import bits_at, skip, stream
from gbuq_core.trees import block_kernels

KNOBS = {"ensemble": None, "n_trees": 12, "depth": 4, "stopping": None, "random_state": 3}


@pytest.fixture
def table(rng):
    X = np.column_stack([rng.normal(size=(900, 3)), rng.integers(0, 4, 900)])
    return X, X[:, 0] + np.sin(3.0 * X[:, 1]) + 0.3 * rng.normal(size=900)


def cut(monkeypatch, n_rows):
    """Let blocks hold ``n_rows`` rows."""
    for module in (blocks, block_kernels):
        monkeypatch.setattr(module, "BLOCK_ROWS", n_rows)


def fitted(table, task, n_jobs=1, **knobs):
    X, y = table
    knobs = KNOBS | {"categorical_features": [3], "n_jobs": n_jobs, "truncation_step": 3} | knobs
    if task == "regression":
        return BoostedEnsembleRegressor(**knobs).fit(X, y)
    classes = np.digitize(y, [-0.7, 0.7] if task == "three classes" else [0.0])
    return BoostedEnsembleClassifier(**knobs).fit(X, classes)


METHODS = [
    {"ensemble": "virtual"},
    {"ensemble": "virtual", "temperature": "posterior", "leaf_estimation": "gradient"},
    {"ensemble": "virtual", "temperature": 50.0},
    {"method": "sgb", "n_members": 2},
    {"method": "cbsglb", "cycle_length": 4},
]


@pytest.mark.parametrize("task", ["regression", "two classes", "three classes"])
@pytest.mark.parametrize("knobs", METHODS, ids=lambda knobs: "-".join(map(str, knobs.values())))
def test_blocks_train_the_same_model(table, task, knobs, monkeypatch):
    whole = fitted(table, task, **knobs)
    cut(monkeypatch, 250)
    parts = fitted(table, task, **knobs)
    for whole_part, part in zip(whole.models_.forests, parts.models_.forests, strict=True):
        np.testing.assert_array_equal(whole_part.features, part.features)
        np.testing.assert_array_equal(whole_part.bins, part.bins)
        # Sums of some hundred terms in another order, through twelve trees.
        np.testing.assert_allclose(whole_part.values, part.values, rtol=CANCELLED, atol=NEAR_ZERO)
    for whole_part, part in zip(whole.models_.traces, parts.models_.traces, strict=True):
        np.testing.assert_allclose(whole_part, part, rtol=CANCELLED)


@pytest.mark.parametrize("task", ["regression", "three classes"])
def test_threads_change_no_bit(table, task, monkeypatch):
    cut(monkeypatch, 60)
    models = [fitted(table, task, n_jobs=n).models_ for n in (1, 2, 16)]
    for other in models[1:]:
        for expected, array in zip(models[0].forests[0], other.forests[0], strict=True):
            np.testing.assert_array_equal(expected, array)
        np.testing.assert_array_equal(models[0].traces[0], other.traces[0])


@pytest.mark.parametrize(
    ("n_rows", "n_blocks"), [(1, 1), (65_536, 1), (65_537, 2), (400_000, 8), (10**8, 32)]
)
def test_blocks_cover_all_rows(n_rows, n_blocks):
    edges = block_kernels.block_edges(n_rows)
    assert (edges[0], edges[-1], len(edges)) == (0, n_rows, n_blocks + 1)
    sizes = np.diff(edges)
    assert sizes.max() - sizes.min() <= 1


def test_a_model_without_levels(monkeypatch):
    cut(monkeypatch, 10)
    X, y = np.zeros((50, 2)), np.arange(50.0)
    model = BoostedEnsembleRegressor(**KNOBS | {"ensemble": "virtual", "truncation_step": 3})
    assert (model.fit(X, y).models_.forests[0].levels == 0).all()
    np.testing.assert_allclose(model.predict(X), y.mean())


def test_skipping_draws_continues_the_stream():
    base = np.uint64(stream(1, 2, 3, 4))
    later = np.uint64(skip(base, 1000))
    assert [bits_at(later, i) for i in range(3)] == [bits_at(base, 1000 + i) for i in range(3)]
