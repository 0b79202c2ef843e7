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


@EACH
@pytest.mark.parametrize(
    ("knobs", "start"),
    [
        ({"depth": 7}, "depth must be a whole number"),
        ({"depth": True}, "depth must be a whole number"),
        ({"leaf": "quadratic"}, "leaf must be one of "),
        ({"rank": -1}, "rank must be a whole number"),
        ({"beta": 0.0}, "beta must be a number greater than 0"),
        ({"beta": "hard"}, "beta must be a number"),
        ({"prior_scale": -1.0}, "prior_scale must be a number"),
        ({"n_steps": 0}, "n_steps must be a whole number"),
        ({"learning_rate": 2.0}, "learning_rate must be a number"),
        ({"learning_rate": 0.0}, "learning_rate must be a number greater than 0"),
        ({"n_draws": 0}, "n_draws must be a whole number"),
        ({"n_gradient_draws": 0}, "n_gradient_draws must be a whole number"),
        ({"n_restarts": 0}, "n_restarts must be a whole number"),
        ({"batch_size": 0}, "batch_size must be a whole number"),
        ({"flat_tolerance": np.nan}, "flat_tolerance must be a number"),
        ({"n_jobs": 0}, "n_jobs must be a whole number"),
        ({"random_state": "x"}, "random_state must be a whole number"),
        ({"categorical_features": ["z"]}, "categorical_features names 'z'"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_impossible_knobs_are_refused(frame, kind, knobs, start):
    with refused_from(InvalidParameter, start):
        kind(**{**SMALL, **knobs}).fit(frame[0], target_for(kind, frame[1]))


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


@EACH
@pytest.mark.parametrize(
    ("X", "start"),
    [
        (np.zeros((2, 0)), r"X has 0 feature\(s\)"),
        (np.zeros((0, 2)), r"Found array with 0 sample\(s\)"),
        (np.zeros((1, 2)), "one sample is too few"),
        (np.zeros((3, 2)), "X has 3 rows but y has 2"),
        (np.array([[1.0], [np.inf]]), "column '0' contains infinity"),
        (np.array([["a"], ["b"]]), "column '0' holds values that are not numbers"),
    ],
    ids=["no column", "no row", "one row", "three rows", "infinity", "text"],
)
def test_impossible_data_are_refused(kind, X, start):
    y = target_for(kind, np.array([-1.0, 1.0]))[: min(len(X), 2)]
    with refused_from(InvalidData, start):
        kind(**SMALL).fit(X, y)


def test_too_many_columns_are_refused(monkeypatch):
    monkeypatch.setattr(inputs, "MAX_COLUMNS", 3)
    with refused_from(InvalidData, "X has 4 columns after encoding"):
        VariationalSoftTreeRegressor(**SMALL).fit(np.eye(5)[:, :4], np.arange(5.0))


@EACH
def test_prediction_needs_a_fit_rows_and_possible_draws(frame, kind):
    X, y = frame
    for method in ("predict", "predict_members", "predict_uncertainty", "inspect_rows"):
        with pytest.raises(ValueError, match="not fitted"):
            getattr(kind(), method)(X)
    model = kind(**SMALL).fit(X, target_for(kind, y))
    with refused_from(InvalidData, r"Found array with 0 sample\(s\)"):
        model.predict(X[:0])
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
