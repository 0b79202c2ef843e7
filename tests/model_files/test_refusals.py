"""What cannot be saved is told; a new method needs no saver, only types of its fields."""

import io
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMRegressor
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import BayesianRidge, LinearRegression
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeRegressor
from xgboost import XGBRegressor

from gbuq_core import (
    BoostedEnsembleClassifier,
    BoostedEnsembleRegressor,
    IBUGRegressor,
    MacauClassifier,
    load,
    load_ensemble,
)
from gbuq_core.baselines import EuclideanNeighborsRegressor
from gbuq_core.errors import InvalidParameter, ModelFileError
from gbuq_core.model_files import fields
from tests.model_files.saved_models import OWN, TWO, XGB, X, Y, calibrated, fitted, ibug, saved


class Mine(IBUGRegressor):
    """Of another class than gbuq's own."""


class Forest(RandomForestRegressor):
    """Of another class than scikit-learn's own."""


def with_categories():
    table = pd.DataFrame({"a": X["a"], "b": pd.Categorical(np.where(X["d"] > 0, "u", "v"))})
    return IBUGRegressor(HistGradientBoostingRegressor(max_iter=5), random_state=0).fit(table, Y)


NOT_HELD = {
    "The Gradient.* starts from a model": lambda: ibug(
        GradientBoostingRegressor(n_estimators=5, init=LinearRegression())
    ),
    "The Hist.* was trained on categories": with_categories,
    "An XGBoost model with categories": lambda: ibug(
        fitted(XGBRegressor(**XGB, missing=-1.0)), X.to_numpy(), Y
    ),
    "A Mine is of another class": lambda: Mine(LGBMRegressor(verbose=-1)).fit(X, Y),
    "A Forest has no file format": lambda: ibug(Forest(5)),
    "A RandomForestClassifier has no file format": lambda: MacauClassifier(
        base_model=RandomForestClassifier(5)
    ).fit(X, TWO),
    "A DecisionTreeRegressor has no file format": lambda: EuclideanNeighborsRegressor(
        DecisionTreeRegressor(max_depth=3), random_state=0
    ).fit(X, Y),
    r"cv holds KFold\(": lambda: calibrated(BoostedEnsembleRegressor(**OWN), cv=KFold(3)),
    "classes_ holds ": lambda: BoostedEnsembleClassifier(**OWN).fit(
        X, pd.Series(pd.to_datetime(np.where(Y > 5, "2020-01-01", "2021-01-01")))
    ),
}


@pytest.mark.parametrize("sentence", NOT_HELD)
def test_what_cannot_be_held_is_told(sentence):
    model = NOT_HELD[sentence]()
    with pytest.raises(InvalidParameter, match=rf"^{sentence}[^\n]*\.$"):
        model.save(io.BytesIO())


def test_a_calibration_around_what_has_no_file_format():
    class Normal(BayesianRidge):
        def predict_distribution(self, X):
            return self.predict(X, return_std=True)

    with pytest.raises(InvalidParameter, match=r"^A Normal has no file format"):
        calibrated(Normal()).save(io.BytesIO())


def test_what_is_not_fitted_is_told():
    for model in (BoostedEnsembleRegressor(), IBUGRegressor(), MacauClassifier()):
        with pytest.raises(NotFittedError):
            model.save(io.BytesIO())
    failed = BoostedEnsembleRegressor(**OWN).fit(X, Y)
    with pytest.raises(ValueError, match="y"):
        failed.fit(X, np.full(len(Y), np.nan))
    with pytest.raises(NotFittedError):
        failed.save(io.BytesIO())


def test_the_wrong_door_is_told():
    content = saved(EuclideanNeighborsRegressor(random_state=0).fit(X, Y))
    with pytest.raises(ModelFileError, match=r"read it by gbuq_core\.load\.$"):
        load_ensemble(content)


TOY = """
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from gbuq_core.model_files import Savable
from gbuq_core.model_files.contents import check_arrays, check_places


class Sorted(NamedTuple):
    values: np.ndarray
    order: np.ndarray

    def check_file(self):
        n = len(self.order)
        check_arrays(self, values=("finite", n), order=(np.int64, n))
        check_places(self.order, n, "a row")


class ShareBelow(Savable, BaseEstimator):
    target_: Sorted
    name_: str
    _not_saved = ("cache_",)

    def __init__(self, column=0):
        self.column = column

    def fit(self, X, y):
        self.n_features_in_ = np.shape(X)[1]
        order = np.argsort(y)
        self.target_, self.name_ = Sorted(np.asarray(y, float)[order], order), "toy"
        self.cache_ = {}
        return self

    def check_file(self):
        self.cache_ = {}

    def predict(self, X):
        return np.searchsorted(self.target_.values, np.asarray(X)[:, self.column])
"""


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A package with a method of its own."""
    (tmp_path / "toy_method").mkdir()
    (tmp_path / "toy_method" / "__init__.py").write_text(f'__all__ = ["ShareBelow"]\n{TOY}')
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(fields, "_PACKAGES", [*fields._PACKAGES])
    fields.register_models("toy_method")
    yield __import__("toy_method")
    del sys.modules["toy_method"]


def test_a_new_method_needs_no_saver(toy):
    model = toy.ShareBelow(column=1).fit(X, Y)
    again = load(saved(model))
    assert (again.column, again.name_, again.cache_) == (1, "toy", {})
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    model.target_.order[0] = len(Y)
    with pytest.raises(ModelFileError, match="a row does not exist"):
        load(saved(model))


def test_the_guides_method_is_saved(tmp_path, monkeypatch):
    guide = Path(__file__).parents[2] / "docs" / "code.md"
    blocks = re.findall(r"```python\n(.*?)```", guide.read_text(encoding="utf-8"), re.DOTALL)
    code = next(block for block in blocks if "ShareBelow" in block)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(fields, "_PACKAGES", [*fields._PACKAGES])
    (tmp_path / "my_package.py").write_text(f'__all__ = ["ShareBelow"]\n{code}')
    model = __import__("my_package").ShareBelow(column=1).fit(X, Y)
    again = load(saved(model))
    del sys.modules["my_package"]
    np.testing.assert_array_equal(again.values_, model.values_)
    assert (again.column, again.cache_) == (1, {})


def test_a_field_without_a_type_is_told(toy):
    model = toy.ShareBelow().fit(X, Y)
    model.more_ = 3
    with pytest.raises(InvalidParameter, match=r"^ShareBelow does not say what more_ is: declare"):
        model.save(io.BytesIO())
    del model.more_
    model.name_ = 7
    with pytest.raises(InvalidParameter, match=r"^name_ holds 7"):
        model.save(io.BytesIO())
