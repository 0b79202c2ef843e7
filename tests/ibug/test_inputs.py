"""What IBUGRegressor and its baselines agree on: rows held out, names of columns, threads; refusals
of models, model files and choices that reach them through the estimator.
"""

import catboost
import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from refusal_parts import refused
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from threadpoolctl import threadpool_info
from tolerances import SAME_SUM

from gbuq_core import BoostedEnsembleRegressor
from gbuq_core.baselines.held_out import make_tuning_rows
from gbuq_core.errors import GbuqError, InvalidData, InvalidParameter, MemoryLimitExceeded
from gbuq_core.ibug import IBUGRegressor
from gbuq_core.ibug.base_models import Rows, fit_owned
from gbuq_core.inputs import hold_out
from gbuq_core.trees.importers import load_leaf_source

CATBOOST = {"verbose": 0, "allow_writing_files": False, "iterations": 3, "thread_count": 1}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(120, 3))
    return X, X[:, 1] + (0.1 + X[:, 0]) * rng.normal(size=120)


@pytest.fixture(scope="module")
def frame(table):
    return pd.DataFrame(table[0], columns=["a", "b", "c"])


@pytest.fixture(scope="module")
def model(frame, table):
    base = GradientBoostingRegressor(n_estimators=12, random_state=0)
    return IBUGRegressor(base, random_state=0).fit(frame.to_numpy(), table[1])


# Rows held out


@pytest.mark.parametrize("random_state", [0, 7])
@pytest.mark.parametrize("fraction", [0.2, 0.35])
def test_all_methods_hold_the_same_rows_out(random_state, fraction, table):
    X, y = table
    places = np.arange(len(y), dtype=float)[:, None]
    baseline = make_tuning_rows(BaseEstimator(), places, y, None, None, fraction, random_state)
    base = GradientBoostingRegressor(n_estimators=3, random_state=0)
    ibug = IBUGRegressor(base, 5, random_state=random_state, validation_fraction=fraction)
    np.testing.assert_array_equal(ibug.fit(X, y).y_validation_, baseline.y_val)
    fitted, tuned = hold_out(len(y), fraction, random_state)
    assert baseline.X_val[:, 0].tolist() == tuned.tolist()
    assert baseline.X[:, 0].tolist() == fitted.tolist()


@pytest.mark.parametrize(("n_rows", "fraction"), [(3, 0.2), (4, 0.5), (2, 0.9)])
def test_too_few_rows_to_hold_some_out(n_rows, fraction):
    with refused(InvalidData, f"n_samples = {n_rows} is too few to hold out a share of"):
        hold_out(n_rows, fraction, 0)


# Columns


@pytest.mark.filterwarnings("error")  # nor does the library warn of names
def test_frames_are_held_to_the_names_and_the_order_of_the_fit(frame, table):
    base = GradientBoostingRegressor(n_estimators=5, random_state=0)
    named = IBUGRegressor(base, 5, random_state=0).fit(frame, table[1])
    turned = frame[["b", "a", "c"]]
    for ask in (named.predict, named.predict_distribution, named.kneighbors, named.leaf_density):
        with refused(InvalidData, "must be in the order of the fit: pass X\\[estimator"):
            ask(turned)
    np.testing.assert_array_equal(
        named.predict(turned[named.feature_names_in_]), named.predict(frame)
    )
    for odd, text in (
        (frame.rename(columns={"a": "z"}), "'z' was not among them, and 'a' is missing"),
        (frame[["a", "b"]], "'c' is missing"),
        (frame.assign(d=1.0), "'d' was not among them"),
        (frame.set_axis(["a", "a", "c"], axis=1), "X has several columns named 'a'"),
    ):
        with refused(InvalidData, text):
            named.predict(odd)
    with refused(InvalidData, "must be in the order of the fit"):
        IBUGRegressor(base, 5).fit(frame, table[1], turned, table[1])


# Threads


class Watching(RegressorMixin, BaseEstimator):
    """Notes the threads that it was given."""

    def __init__(self, n_jobs=None, random_state=None):
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X, y):
        pools = [pool for pool in threadpool_info() if pool["user_api"] == "openmp"]
        self.openmp_ = {pool["num_threads"] for pool in pools}
        return self


def test_the_number_of_threads_reaches_the_library_unless_it_has_its_own(table):
    rows = Rows(*table)

    def fit(base, n_jobs):
        return fit_owned(base, rows, None, None, 2**40, n_jobs).model

    assert fit(Watching(), 3).n_jobs == 3
    assert fit(Watching(n_jobs=2), 3).n_jobs == 2
    assert fit(Watching(), None).n_jobs is None
    assert fit(Watching(), 1).openmp_ == {1}  # HistGradientBoosting has no parameter for it
    assert 0 <= fit(Watching(), 1).random_state < 2**32
    own = dict(CATBOOST)
    own.pop("thread_count")
    assert fit(catboost.CatBoostRegressor(**own), 1).get_params()["thread_count"] == 1
    assert fit(BoostedEnsembleRegressor(stopping=None, n_members=1, n_trees=3), 1).n_jobs == 1


# Refusals


def bad_models(X, y):
    """Models that are not of one output and one task, and what is said of each."""
    both, classes = np.column_stack([y, 2 * y]), np.digitize(y, [0.3, 0.6])
    one_output = "a regression model with one output is needed"
    yield RandomForestRegressor(3).fit(X, both), "has 2 outputs, but " + one_output
    multi = catboost.CatBoostRegressor(**CATBOOST, loss_function="MultiRMSE").fit(X, both)
    yield multi, "predicts several numbers at once"
    classifier = catboost.CatBoost({**CATBOOST, "loss_function": "MultiClass"}).fit(X, classes)
    yield classifier, "is a classifier, but " + one_output
    options = {"verbose": -1, "num_threads": 1}
    for objective in ({"objective": "multiclass", "num_class": 3}, {"objective": "binary"}):
        target = classes if "num_class" in objective else classes > 0
        booster = lightgbm.train({**options, **objective}, lightgbm.Dataset(X, target), 3)
        yield booster, "is a classifier, but " + one_output
    xgb = {"n_estimators": 3, "n_jobs": 1}
    yield xgboost.XGBRegressor(**xgb).fit(X, both), "has 2 outputs"
    vectors = xgboost.XGBRegressor(**xgb, multi_strategy="multi_output_tree").fit(X, both)
    yield vectors, "leaves with several values, one an output"
    booster = xgboost.XGBClassifier(**xgb).fit(X, classes).get_booster()
    yield booster, "is a classifier"
    narrow = HistGradientBoostingRegressor(max_iter=3).fit(X[:, :2], y)
    yield narrow, "was trained on 2 features, but X has 3"
    yield "model.txt", "A model file has to be read first"


def test_models_of_several_outputs_or_classes_are_refused_by_name(table):
    X, y = table
    for bad, text in bad_models(X, y):
        with refused(GbuqError, text):
            IBUGRegressor(bad, 5).fit(X, y)


def test_model_files_that_are_damaged_or_lie_are_refused(table):
    X, y = table
    fitted = lightgbm.LGBMRegressor(n_estimators=3, num_leaves=5, verbose=-1, n_jobs=1).fit(X, y)
    text = fitted.booster_.model_to_string().encode()
    end = text.index(b"end of trees")
    for bad in (
        text[: end // 2],  # cut off
        text.replace(b"num_leaves=4", b"num_leaves=9", 1),
        text.replace(b"max_feature_idx=2", b"max_feature_idx=1"),
        text.replace(b"split_feature=", b"split_feature=7 ", 1),
        b"tree of life",
    ):
        with refused(GbuqError, "model file"):
            IBUGRegressor(load_leaf_source(bad), 5).fit(X, y)
    for unread in ("model.txt", text):
        with refused(InvalidParameter, "A model file has to be read first"):
            IBUGRegressor(unread, 5).fit(X, y)
    whole = IBUGRegressor(load_leaf_source(text), 5).fit(X, y)
    np.testing.assert_allclose(
        whole.predict(X), fitted.predict(X), rtol=SAME_SUM
    )  # summed elsewhere


def test_choices_after_the_fit_are_checked(model, table):
    X = table[0]
    with refused(InvalidParameter, "n_trees_sampled must be .* at most 12; got 'all'"):
        model.setting_for(n_trees_sampled="all")
    with refused(InvalidParameter, "n_trees_sampled must be .* at most 12; got 13"):
        model.predict_distribution(X, n_trees_sampled=13)
    with refused(InvalidParameter, "tree_order must be one of"):
        model.kneighbors(X, tree_order="best")
    with refused(InvalidParameter, "calibrate must be True or False; got 'no'"):
        model.predict_distribution(X, calibrate="no")
    with refused(InvalidParameter, "posterior_fit must be one of"):
        model.score_families(X, table[1], posterior_fit="guess")
    for counts, text in (
        ([], "a rising list of numbers"),
        ([5, 3], "a rising list of numbers"),
        ([3, 3], "a rising list of numbers"),
        ([2.7], "whole number"),
        (["a"], "number"),
        ([0, 4], "at least 1"),
        (10_000, "at most"),
    ):
        with refused(InvalidParameter, text):
            model.scale_path(X, counts)


# Memory


def test_what_cannot_fit_is_refused_beforehand(model, table, monkeypatch):
    X = table[0]
    near = model.find_neighborhood(X)
    monkeypatch.setattr("gbuq_core.resources.available_memory_bytes", lambda: 20_000)
    for ask in (
        lambda: model.find_neighborhood(X),
        lambda: model.kneighbors(X, 90),
        lambda: model.predict_posterior(near, "kde", n_neighbors=90),
        lambda: model.predict_density(near, np.linspace(0.0, 1.0, 50)),
        lambda: model.find_validation(3),
    ):
        with refused(MemoryLimitExceeded, "would need about .* take fewer rows"):
            ask()
    assert len(model.predict_posterior(near, "laplace").scale) == len(X)


def test_row_blocks_leave_no_trace(model, table, monkeypatch):
    X, y = table
    grid = np.linspace(-1.0, 2.0, 7)
    near = model.find_neighborhood(X)

    def everything():
        yield from model.predict_posterior(near, "kde")[2:5:2]
        yield model.predict_posterior(near, "skew-normal").shape
        yield model.predict_density(near, grid, "student-t")
        yield model.predict_quantiles(near, [0.1, 0.9], "kde")
        yield model.score_families(near, y).nll
        yield model.scale_path(X).scale
        yield model.neighbor_class_shares(X, model.y_train_ > 0.5, 9).shares

    whole = list(everything())
    monkeypatch.setattr("gbuq_core.ibug.search._PART", 300)
    monkeypatch.setattr("gbuq_core.ibug.families._CELLS", 50)
    monkeypatch.setattr("gbuq_core.ibug.families._BLOCK", 70)
    for mine, expected in zip(everything(), whole, strict=True):
        # Newton steps of a Weibull go on until the last row of the block has converged, to 1e-12.
        np.testing.assert_allclose(mine, expected, rtol=SAME_SUM)
