"""Depth and trees that rows ask for: ``capacity="auto"``."""

import threading
import warnings

import numpy as np
import pytest

from gbuq_core import BoostedEnsembleClassifier, BoostedEnsembleRegressor
from gbuq_core.calibration.splits import HELD_OUT_FROM
from gbuq_core.errors import Cancelled, InvalidParameter
from gbuq_core.jobs import JobRunner

RNG = np.random.default_rng(0)
X = RNG.integers(0, 2, (HELD_OUT_FROM, 5)).astype(float)
# No split on fewer than four of the columns says anything.
PARITY = np.where(X[:, :4].sum(axis=1) % 2 == 0, 1.0, -1.0)
Y = PARITY + 0.1 * RNG.normal(size=len(X))
OWN = {"n_members": 2, "n_trees": 20, "depth": 2, "random_state": 0, "capacity": "auto"}


def fit(kind=BoostedEnsembleRegressor, rows=X, y=Y, **changes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few trees are all used
        return kind(**{**OWN, **changes}).fit(rows, y)


def test_deep_trees_are_taken_where_unseen_rows_gain():
    model = fit()
    assert model.plan_.depth >= 4
    assert model.depth == 2
    error = np.square(model.predict(X) - PARITY).mean()
    assert error < 0.1 < np.square(fit(capacity=None).predict(X) - PARITY).mean()


def test_deep_trees_are_not_taken_where_they_gain_nothing():
    assert fit(y=X[:, 0] + 0.1 * RNG.normal(size=len(X))).plan_.depth == 2
    assert fit(rows=X[:400], y=Y[:400]).plan_.depth == 2  # too few rows for the audition


@pytest.mark.parametrize("kind", [BoostedEnsembleRegressor, BoostedEnsembleClassifier])
def test_trees_are_added_until_the_clocks_stop(kind):
    rows = RNG.uniform(-2.0, 2.0, (300, 1))
    y = np.sin(3.0 * rows[:, 0]) + 0.1 * RNG.normal(size=300)
    target = y if kind is BoostedEnsembleRegressor else y > 0.0
    model = fit(kind, rows, target, n_trees=10, learning_rate=0.05)
    assert model.clocks_.n_trees[-1] > 10
    assert model.n_trees_ == model.clocks_.last == model.plan_.n_trees <= 40
    whole = fit(kind, rows, target, capacity=None, n_trees=model.n_trees_, learning_rate=0.05)
    np.testing.assert_array_equal(  # the same trees, stopped by the same rows
        whole.with_clocks(model.clocks_).predict_members(rows), model.predict_members(rows)
    )


def test_threads_change_nothing():
    np.testing.assert_array_equal(
        fit(n_jobs=1).predict_members(X), fit(n_jobs=3).predict_members(X)
    )


def test_the_search_stops_on_request():
    runner, begun = JobRunner(), threading.Event()

    def search(job):
        begun.set()
        return fit(n_trees=100_000)

    job = runner.want("user", "search", search)
    assert begun.wait(60)
    runner.release("user")
    with pytest.raises(Cancelled):
        job.result(60)


@pytest.mark.parametrize(
    "wrong",
    [
        {"stopping": None},
        {"ensemble": "virtual"},
        {"method": "csglb", "cycle_length": 10},
        {"capacity": "most"},
    ],
)
def test_what_it_does_not_go_with_is_one_sentence(wrong):
    with pytest.raises(InvalidParameter, match=r"^[^\n]*capacity[^\n]*\.$"):
        fit(**wrong)
