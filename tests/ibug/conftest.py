"""A table in three parts, and a model of its first two."""

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor

from gbuq_core.ibug import IBUGRegressor

# One thread a library: the tests measure nothing.
GBM = {"n_estimators": 30, "max_depth": 3, "random_state": 0}


@pytest.fixture(scope="module")
def table():
    """260 rows whose noise grows with the first feature, in three parts."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(260, 3))
    y = 5.0 + 3 * X[:, 1] + (0.1 + X[:, 0]) * rng.normal(size=260)
    return X, y


@pytest.fixture(scope="module")
def fitted_gbm(table):
    X, y = table
    return GradientBoostingRegressor(**GBM).fit(X[:160], y[:160])


@pytest.fixture(scope="module")
def model(table, fitted_gbm):
    X, y = table
    return IBUGRegressor(fitted_gbm, random_state=0).fit(X[:160], y[:160], X[160:210], y[160:210])


@pytest.fixture(scope="module")
def new(table):
    return table[0][210:], table[1][210:]
