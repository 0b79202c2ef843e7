"""The MACAU benchmark on little data: its twin and its rays."""

from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import macau_novelty, macau_speed
from benchmarks.macau_twin import TwinAnswer
from gbuq_core import MacauClassifier, MacauRegressor


@pytest.mark.parametrize(
    ("estimator", "knobs"), [(MacauRegressor, {"leaf_features": "path"}), (MacauClassifier, {})]
)
def test_the_twin_is_held_to_ours(estimator, knobs, rng):
    X = rng.normal(size=(120, 3))
    y = X[:, 0] * 10.0 + X[:, 1] + 2.0 * rng.normal(size=120)
    if estimator is MacauClassifier:
        y = (y > 0).astype(int)
    shape = {"n_trees": 3, "max_leaves": 4, "min_child_samples": 15}
    model = estimator(**knobs, **shape, random_state=0, n_jobs=1)
    # A bar of 0 s is never met, and one of 1000 s always.
    fit, scored = macau_speed.with_twin("small", model, X, y, X[:9] + 0.1, 1, (0.0, 1e3), n_trees=2)
    assert (fit.met, scored.met) == (False, True)
    assert fit.numbers["worst"] <= macau_speed.CLOSE
    assert fit.numbers["twin_cpu"] > 0


def test_a_twin_that_differs_is_an_error(rng):
    X = rng.normal(size=(60, 2))
    model = MacauRegressor(
        n_trees=2, max_leaves=2, leaf_features="path", random_state=0, n_jobs=1
    ).fit(X, 9 * X[:, 0])
    scale = model.target_scale_
    members = (model.predict_members(X) - [scale.centre, 0.0]) / [scale.spread, scale.spread**2]
    mean, variance = np.moveaxis(members.transpose(1, 0, 2), 2, 0)
    nothing = np.zeros_like(mean)
    right = TwinAnswer(mean, np.sqrt(variance), nothing, nothing, nothing)
    assert macau_speed.compare(model, X, right) == 0.0
    with pytest.raises(RuntimeError, match="differs from the twin"):
        macau_speed.compare(model, X, right._replace(mean=mean + 0.01))


def test_rays_lead_out_of_the_box_of_the_rows(rng):
    X = rng.normal([5.0, -100.0, 0.0], [1.0, 30.0, 0.01], (200, 3))
    rays = macau_novelty.random_rays(X, 20, 0)
    low, high, places = X.min(axis=0), X.max(axis=0), rays.X
    outside = (places < low) | (places > high)
    assert outside.any(axis=2).all()
    # Steps along a ray are equal, and as long as they say in the features' stds.
    steps = np.diff(rays.X, axis=1) / X.std(axis=0)
    np.testing.assert_allclose(np.linalg.norm(steps, axis=2), np.diff(rays.distance)[0])


@pytest.mark.parametrize(("tail", "least", "rising"), [("rise", 1.0, 1.0), ("clip", 0.0, 0.0)])
def test_rays_are_ranked(tail, least, rising):
    class Far(SimpleNamespace):
        def set_params(self, tail):
            self.tail = tail

        def score_novelty(self, X):
            away = np.abs(X[:, 0] - 5.0)
            return SimpleNamespace(novelty=away if self.tail == "rise" else np.full(len(X), 5.2))

    ranks, share = macau_novelty.rank_rays(Far(), macau_novelty.line_rays(), tail)
    assert ranks.tolist() == pytest.approx([least, least])
    assert share == rising
