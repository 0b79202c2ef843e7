"""Inputs that once crashed, or gave numbers that meant something else."""

import numpy as np
import pandas as pd
import pytest

from gbuq_core import BoostedEnsembleClassifier, BoostedEnsembleRegressor
from gbuq_core.boosting import catboost_engine, numba_engine
from gbuq_core.boosting.plan import make_plan
from gbuq_core.errors import InvalidData

DAYS = pd.Series(pd.date_range("2020-01-01", periods=40))
SMALL = {"stopping": None, "n_members": 2, "n_trees": 5, "depth": 2, "random_state": 0}


@pytest.mark.parametrize(
    "column",
    [
        DAYS,
        DAYS.astype("category"),
        DAYS.astype(object),
        DAYS.dt.tz_localize("UTC"),
        DAYS.dt.to_period("D"),
        DAYS - DAYS[0],
        pd.Series([[1]] * 40),
        pd.Series(np.arange(40) * 1j),
    ],
    ids=["dates", "category", "object", "zone", "period", "duration", "lists", "complex"],
)
@pytest.mark.parametrize("declared", [["d"], "from_dtype", None])
def test_columns_that_are_neither_numbers_nor_categories(column, declared):
    table = pd.DataFrame({"d": column})
    model = BoostedEnsembleRegressor(categorical_features=declared, **SMALL)
    with pytest.raises(InvalidData, match=r"^column 'd' holds .*: [^:]*\.$"):
        model.fit(table, np.arange(40.0))


@pytest.mark.parametrize(
    "y",
    [
        DAYS,
        DAYS.astype(object),
        pd.Series(np.arange(40) * 1j),
        np.ma.masked_equal(np.arange(40.0), 3.0),
    ],
    ids=["dates", "object", "complex", "masked"],
)
def test_targets_that_are_no_numbers(y):
    with pytest.raises(InvalidData, match=r"^y "):
        BoostedEnsembleRegressor(**SMALL).fit(np.zeros((40, 1)), y)


def test_fractions_are_no_classes_whatever_their_dtype():
    y = pd.Series(np.arange(40) / 10.0, dtype=object)
    with pytest.raises(InvalidData, match="fractions"):
        BoostedEnsembleClassifier(**SMALL).fit(np.zeros((40, 1)), y)


def test_huge_whole_numbers_are_levels_of_their_own():
    ids = np.array([2**53, 2**53 + 1] * 100)  # the same as float64
    model = BoostedEnsembleRegressor(categorical_features=[0], **SMALL)
    model.fit(ids[:, None], np.tile([0.0, 10.0], 100))
    low, high = model.predict(ids[:2, None])
    assert high > low + 1.0


@pytest.mark.parametrize(
    ("engine", "module"), [("numba", numba_engine), ("catboost", catboost_engine)]
)
def test_the_estimate_is_the_engine_s_own_and_knows_the_threads(engine, module):
    model = BoostedEnsembleRegressor(stopping=None, engine=engine, n_members=8, n_jobs=1)
    expected = module.estimate_bytes(make_plan(model), 10_000, 5, 2, 1)
    assert model.estimate_bytes(10_000, 5) == expected
    more = BoostedEnsembleRegressor(stopping=None, engine=engine, n_members=8, n_jobs=8)
    assert more.estimate_bytes(10_000, 5) > expected
