"""What every estimator keeps to, whatever its method: one body over the records."""

import copy
import functools
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks
from tolerances import CANCELLED, SAME_SUM

import gbuq_core
from gbuq_core import (
    BoostedEnsembleClassifier,
    BoostedEnsembleRegressor,
    CalibratedRegressor,
    IBUGRegressor,
    MacauClassifier,
    MacauRegressor,
    StackedClassifier,
    StackedRegressor,
    UnfamiliarityScore,
    VariationalSoftGBMRegressor,
    VariationalSoftTreeClassifier,
    VariationalSoftTreeRegressor,
    baselines,
)
from gbuq_core.baselines import (
    AveragingRegressor,
    CatBoostUncertaintyRegressor,
    ConformalizedQuantileRegressor,
    ConformalRegressor,
    DistanceScore,
    EuclideanNeighborsRegressor,
    ForestEnsembleClassifier,
    ForestEnsembleRegressor,
    ForestVarianceRegressor,
    GaussianNLLRegressor,
    GaussianProcessBaseline,
    IsolationForestScore,
    NGBoostRegressor,
    QuantileForestRegressor,
    XBARTRegressor,
)
from gbuq_core.distribution import Distribution
from gbuq_core.errors import Cancelled, InvalidData, MemoryLimitExceeded
from gbuq_core.methods import METHODS
from gbuq_core.progress import Place, Progress, at
from tests.project_parts import SMALL as KNOBS

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(150, 2)), columns=["a", "b c"])
Y = 5.0 + X["a"].to_numpy() + 0.3 * RNG.normal(size=150)
TARGETS = {"regression": Y, "classification": np.where(Y > 5.0, "yes", "no"), "novelty": None}
CASES = [
    *((key, task) for key, own in METHODS.items() for task in own.builders if task in TARGETS),
    ("calibrated", "regression"),
    ("average", "regression"),
]
EACH = pytest.mark.parametrize(("key", "task"), CASES, ids=lambda part: part)
SEEDLESS = {"conformal_linear", "distance", "calibrated", "knn_cb"}
GBM = {"n_estimators": 40, "max_depth": 2, "random_state": 0}
AT_ONCE = {"knn", "knn_cb", "conformal_linear"}  # a fit of one step
UNCOUNTED = {"ngboost", "catboost", "isolation", "distance"}  # which can be stopped all the same
SMALL_IN_MEMORY = {  # some rows, or what a library holds
    "knn", "knn_cb", "conformal_linear", "distance", "xbart", "forest", "quantile",
    "conformal_forest", "cqr", "gnll", "ngboost", "catboost", "isolation", "average",
}  # fmt: skip


def estimator_of(key, task, **more):
    """Small enough to be fitted in a moment."""
    if key == "calibrated":
        base = BoostedEnsembleRegressor(n_members=2, n_trees=8, stopping=None, random_state=0)
        return CalibratedRegressor(base, random_state=0).set_params(**more)
    if key == "stacked":  # trees and neighbours; the process alone takes as long as all others
        options = {"voices": ("trees", "targets"), "random_state": 0, "n_jobs": 1} | more
        small = METHODS[key].make(task, n_members=2, n_trees=8)
        return small.set_params(estimator__stopping=None, estimator__capacity=None, **options)
    if key == "average":
        members = [("knn", EuclideanNeighborsRegressor())]
        return AveragingRegressor(members, random_state=0).set_params(**more)
    method = METHODS[key]
    if method.missing():
        pytest.skip(method.missing())
    knobs = {knob.key: KNOBS[knob.key] for knob in method.knobs if knob.key in KNOBS}
    made = method.make(task, **knobs)
    # Cycles and truncations that leave members of few trees; of its own CatBoost has hundreds.
    given = {"base_model": GradientBoostingRegressor(**GBM), "ibug__base_model": None}
    given["ibug__base_model"] = given["base_model"]
    given |= {"cycle_length": 4, "truncation_step": 2, "truncation_start": 0.2, "stopping": None}
    given |= {"random_state": 0, "n_jobs": 1, "subsample": 0.5} | more
    known = made.get_params()
    known = known if key.startswith(("ibug", "knn_cb")) else known.keys() - {"base_model"}
    return made.set_params(**{k: v for k, v in given.items() if k in known})


def fit(model, task, rows=X):
    return model.fit(rows) if task == "novelty" else model.fit(rows, TARGETS[task])


@functools.cache
def fitted(key, task):
    """Fitted once for all tests that change nothing."""
    return fit(estimator_of(key, task), task)


def asked(model):
    names = ("predict", "predict_proba", "predict_members", "predict_uncertainty", "score_novelty")
    return [name for name in names if hasattr(model, name)]


def answers(model, rows=X):
    """All numbers and labels that a model gives to rows."""
    return {name: np.asarray(getattr(model, name)(rows)) for name in asked(model)}


def assert_same(actual, expected, key=""):
    for name, numbers in expected.items():
        if key == "gp":  # a climb over rows that lie in another order of memory
            np.testing.assert_allclose(actual[name], numbers, rtol=1e-6)
        else:
            np.testing.assert_array_equal(actual[name], numbers)


def refused(text="."):
    """One line that holds ``text``."""
    return pytest.raises(InvalidData, match=rf"^[^\n]*{text}[^\n]*$")


@EACH
def test_columns_keep_their_names_order_and_number(key, task):
    model = copy.deepcopy(fitted(key, task))
    assert (model.feature_names_in_.tolist(), model.n_features_in_) == (["a", "b c"], 2)
    ask = getattr(model, asked(model)[-1])
    for other in (X[["b c", "a"]], X.rename(columns={"a": "z"})):
        with pytest.raises(ValueError, match="feature names"):
            ask(other)
    expected = answers(model)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        np.testing.assert_array_equal(ask(X.to_numpy()), ask(X))
    fit(model, task, X.to_numpy())  # forgets the names of the last fit
    assert not hasattr(model, "feature_names_in_")
    assert_same(answers(model, X.to_numpy()), expected, key)
    with pytest.raises(ValueError, match="features"):
        ask(X[["a"]].to_numpy())


@EACH
def test_clones_copies_and_threads_say_the_same_and_another_seed_does_not(key, task):
    model = fitted(key, task)
    assert repr(clone(model).get_params()) == repr(model.get_params())
    expected = answers(model)
    assert_same(answers(fit(clone(model), task)), expected)
    assert_same(answers(copy.deepcopy(model)), expected)
    assert_same(answers(pickle.loads(pickle.dumps(model))), expected)  # noqa: S301
    if "n_jobs" in model.get_params():
        threads = fit(estimator_of(key, task, n_jobs=3), task)
        assert_same(answers(threads), expected)
    if "random_state" in model.get_params() and key not in SEEDLESS:
        other = fit(estimator_of(key, task, random_state=1), task)
        assert repr(answers(other)) != repr(expected)


@EACH
def test_nothing_is_asked_about_no_rows(key, task):
    model = fitted(key, task)
    for name in asked(model):
        with refused(r"0 sample\(s\)"):
            getattr(model, name)(X[:0])


@EACH
def test_impossible_rows_and_targets_are_one_sentence(key, task):
    model = estimator_of(key, task)
    target = TARGETS["regression" if task == "novelty" else task]
    two = target[[Y.argmin(), Y.argmax()]]
    for rows in (
        np.array([[np.inf], [1.0]]),
        np.array([["a"], ["b"]]),
        np.zeros((2, 0)),
        np.zeros((0, 2)),
        pd.DataFrame({"x": pd.to_datetime(["2020-01-01", "2021-01-01"])}),
    ):
        with refused():
            model.fit(rows, two[: len(rows)])
    if task == "novelty":
        return
    for rows, wrong in ((X, target[:149]), (X, None), (X[:3], [1.0, np.nan, 2.0])):
        with refused():
            model.fit(rows, wrong)
    if task == "regression":
        with pytest.raises(ValueError, match=r"^[^\n]+$"):
            model.fit(X[:3], ["a", "b", "c"])
    elif key != "catboost":
        with refused("one class"):
            model.fit(X[:3], ["a", "a", "a"])


@pytest.mark.parametrize("key", ["sglb", "vst", "vsgbm", "macau", "ibug"])
def test_a_fit_that_fails_leaves_nothing_of_the_one_before(key):
    model = copy.deepcopy(fitted(key, "regression"))
    with refused():
        model.fit(X, np.nan * Y)
    with pytest.raises(NotFittedError):
        model.predict(X)


@EACH
def test_a_fit_reports_to_its_end_and_ends_when_nobody_wants_it(key, task):
    seen, progress = [], Progress(1.0)

    def look():
        seen.append(progress.done)

    def refuse():
        raise Cancelled

    with at(Place(progress=progress, checks=(look,))):
        fit(estimator_of(key, task), task)
    assert bool(seen) == (key not in AT_ONCE)
    if seen:
        assert seen == sorted(seen)
        counted = key not in UNCOUNTED or task == "classification"
        assert progress.done == pytest.approx(1.0 if counted else 0.0)
        with at(Place(progress=Progress(1.0), checks=(refuse,))), pytest.raises(Cancelled):
            fit(estimator_of(key, task), task)


@pytest.mark.parametrize(
    ("key", "task"), [case for case in CASES if case[0] not in SMALL_IN_MEMORY]
)
def test_a_fit_too_large_for_the_memory_is_refused_before_it_begins(key, task, monkeypatch):
    monkeypatch.setattr("gbuq_core.resources.available_memory_bytes", lambda: 1000)
    with pytest.raises(MemoryLimitExceeded, match=r"^[^\n]* would need about [^\n]*\.$"):
        fit(estimator_of(key, task), task)


@pytest.mark.parametrize("key", [key for key, task in CASES if task == "regression"])
def test_the_unit_of_the_target_is_only_a_unit(key):
    model = fitted(key, "regression")
    moved = estimator_of(key, "regression").fit(X, 1024.0 * Y)
    # A power of two rounds nothing; what searches for an optimum stops near it, and the grid of
    # calibration has a unit.
    np.testing.assert_allclose(moved.predict(X), 1024.0 * model.predict(X), rtol=1e-3)
    if hasattr(model, "predict_distribution"):
        law, other = (each.predict_distribution(X) for each in (model, moved))
        np.testing.assert_allclose(other.scale, 1024.0 * law.scale, rtol=2e-2)


@EACH
def test_uncertainty_has_the_parts_of_the_record_and_they_add_up(key, task):
    model = fitted(key, task)
    if not hasattr(model, "predict_uncertainty"):
        for numbers in answers(model).values():
            assert np.isfinite(numbers).all()
        return
    total, data, knowledge = model.predict_uncertainty(X)
    np.testing.assert_allclose(total, data + knowledge, rtol=SAME_SUM)
    if key in METHODS and task == "regression":
        for part, name in ((data, "data"), (knowledge, "knowledge")):
            assert part.any() == (name in METHODS[key].yields), name
    if task == "regression":
        law = model.predict_distribution(X)
        assert isinstance(law, Distribution)
        if key != "stacked":  # whose prediction has weights of its own
            np.testing.assert_allclose(law.loc, model.predict(X), rtol=CANCELLED)
        np.testing.assert_allclose(law.scale**2, total, rtol=CANCELLED)
    else:
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=SAME_SUM)
        assert set(model.predict(X)) <= set(model.classes_)


def excused(estimator):
    if isinstance(estimator, MacauRegressor):
        return {
            "check_dtype_object": "text is refused in our own words",
            "check_sample_weight_equivalence_on_dense_data": (
                "LightGBM samples rows by their place, and the check shuffles the weighted rows "
                "only; tests/macau/test_weights.py compares rows in one order"
            ),
        }
    if isinstance(estimator, IBUGRegressor):
        own = "scikit-learn's GradientBoostingRegressor, the base model here, does not pass it"
        return {"check_sample_weight_equivalence_on_dense_data": own}
    if isinstance(estimator, MacauClassifier | UnfamiliarityScore):
        return {"check_dtype_object": "text is refused in our own words"}
    return {}


SOFT = {"depth": 1, "rank": 1, "n_steps": 150, "n_draws": 10}


FEW = {"n_trees": 3, "n_jobs": 1}
BOOSTED = {"stopping": None, "n_members": 2, "n_trees": 10}
CHECKED = [
    BoostedEnsembleRegressor(**BOOSTED),
    BoostedEnsembleClassifier(**BOOSTED),
    IBUGRegressor(GradientBoostingRegressor(**GBM), n_jobs=1),
    MacauRegressor(n_trees=2, n_jobs=1),
    MacauClassifier(n_trees=2, n_jobs=1),
    VariationalSoftTreeRegressor(**SOFT),
    VariationalSoftTreeClassifier(**SOFT),
    VariationalSoftGBMRegressor(n_trees=2, **SOFT),
    StackedRegressor(
        BoostedEnsembleRegressor(**BOOSTED, learning_rate=0.5), voices=("trees",), n_jobs=1
    ),
    StackedClassifier(BoostedEnsembleClassifier(**BOOSTED), voices=("trees",), n_jobs=1),
    UnfamiliarityScore(("range", "distance"), n_jobs=1),
    EuclideanNeighborsRegressor(),
    EuclideanNeighborsRegressor(GradientBoostingRegressor(**GBM)),
    AveragingRegressor([("knn", EuclideanNeighborsRegressor())]),
    ConformalRegressor(**FEW, levels=(0.5,)),
    ConformalizedQuantileRegressor(**FEW, levels=(0.5,)),
    ForestEnsembleRegressor(n_groups=2, trees_per_group=5, random_state=0),
    ForestEnsembleClassifier(n_groups=2, trees_per_group=5, random_state=0),
    ForestVarianceRegressor(**FEW),
    QuantileForestRegressor(**FEW),
    GaussianNLLRegressor(n_trees=3),
    NGBoostRegressor(n_trees=5),
    CatBoostUncertaintyRegressor(n_trees=4, n_members=2, n_jobs=1),
    DistanceScore(n_neighbors=2),
    IsolationForestScore(**FEW),
    XBARTRegressor(n_trees=3, n_draws=5, n_burn_in=3),
    GaussianProcessBaseline(n_restarts=0),
]


def test_every_public_estimator_is_checked():
    offered = {name for room in (gbuq_core, baselines) for name in room.__all__}
    classes = {name for name in offered if hasattr(getattr(gbuq_core, name, None), "fit")}
    classes |= {name for name in offered if hasattr(getattr(baselines, name, None), "fit")}
    # With other settings in tests/calibration, and with their libraries in tests/baselines.
    elsewhere = {"CalibratedRegressor", "PeerRegressor", "PeerClassifier"}
    elsewhere |= {"ConformalClassifier", "MultiTargetRegressor"}  # tests/test_several_targets.py
    assert classes - {type(estimator).__name__ for estimator in CHECKED} == elsewhere


@parametrize_with_checks(CHECKED, expected_failed_checks=excused)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)
