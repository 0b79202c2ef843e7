"""Soft trees say in one sentence what they cannot use."""

import numpy as np
import pandas as pd
import pytest
from refusal_parts import refused_from

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.soft_trees import (
    VariationalSoftGBMRegressor,
    VariationalSoftTreeClassifier,
    VariationalSoftTreeRegressor,
    inputs,
)

SMALL = {"depth": 1, "rank": 2, "n_steps": 60, "n_draws": 10, "random_state": 0}
KINDS = (VariationalSoftTreeRegressor, VariationalSoftTreeClassifier, VariationalSoftGBMRegressor)
EACH = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"a": rng.normal(size=120), "b": rng.normal(size=120)})
    return X, (X["a"] + 0.3 * rng.normal(size=120)).to_numpy()


def target_for(kind, y):
    return np.where(y > 0, "yes", "no") if kind is VariationalSoftTreeClassifier else y


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
def test_impossible_draws_and_moments_are_refused(frame, kind):
    X, y = frame
    model = kind(**SMALL).fit(X, target_for(kind, y))
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
