"""CalibratedRegressor: what it covers, what it leaves alone, and what it refuses."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GroupKFold, TimeSeriesSplit, cross_val_score
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import has_fit_parameter

from gbuq_core import (
    BoostedEnsembleClassifier,
    BoostedEnsembleRegressor,
    CalibratedRegressor,
    IBUGRegressor,
    StackedRegressor,
    make_heteroscedastic,
)
from gbuq_core.baselines import EuclideanNeighborsRegressor
from gbuq_core.calibration.laws import ResidualDistribution
from gbuq_core.distribution import LogDistribution, NormalDistribution
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.trees.importers.ownership import copy_unfitted
from gbuq_core.uncertainty import Uncertainty

METHODS = ["scale", "conformal", "isotonic"]
BOOSTED = {"n_members": 3, "n_trees": 40, "depth": 3, "random_state": 0, "stopping": None}


class Overconfident(RegressorMixin, BaseEstimator):
    """The truth of `make_heteroscedastic` with a std that is too small, and some knowledge."""

    def __init__(self, factor=0.4, knowledge=0.0):
        self.factor = factor
        self.knowledge = knowledge

    def fit(self, X, y, sample_weight=None):
        self.n_rows_ = len(y)
        self.weight_ = None if sample_weight is None else float(np.sum(sample_weight))
        return self

    def predict(self, X):
        return _mean(np.asarray(X)[:, 0])

    def predict_uncertainty(self, X):
        data = (self.factor * _std(np.asarray(X)[:, 0])) ** 2
        knowledge = np.full(len(data), self.knowledge)
        return Uncertainty(data + knowledge, data, knowledge)

    def predict_distribution(self, X):
        return NormalDistribution(self.predict(X), np.sqrt(self.predict_uncertainty(X).total))


def _mean(x):
    return x * np.sin(x)


def _std(x):
    return 0.1 + 0.1 * np.abs(x)


def rows(n, seed, heavy=False):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 10, n)
    noise = rng.standard_t(3, n) / np.sqrt(3) if heavy else rng.normal(size=n)
    return x[:, None], _mean(x) + _std(x) * noise


def coverage(model, X, y, level=0.9):
    lower, upper = model.predict_interval(X, level)
    return np.mean((lower <= y) & (y <= upper))


def foreign(name, n_trees=None):
    if name == "catboost":
        catboost = pytest.importorskip("catboost")
        return catboost.CatBoostRegressor(
            loss_function="RMSEWithUncertainty",
            iterations=n_trees or 60,
            depth=3,
            learning_rate=0.2,
            random_seed=0,
            verbose=0,
            allow_writing_files=False,
            thread_count=2,
        )
    ngboost = pytest.importorskip("ngboost")
    return ngboost.NGBRegressor(
        n_estimators=n_trees or 30, learning_rate=0.2, verbose=False, random_state=0
    )


FOREIGN = pytest.mark.parametrize("name", ["catboost", "ngboost"])


@pytest.mark.parametrize("heavy", [False, True])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_intervals_cover_as_often_as_they_say(method, heavy, level):
    X, y = rows(1500, 0, heavy)
    model = CalibratedRegressor(Overconfident(), method, random_state=0).fit(X, y)
    # Three standard errors: of the 1,500 rows that calibrate and of the 4,000 that are counted. A
    # t of a few degrees is one of ten in the search: one point more.
    error = 3.0 * np.sqrt(level * (1 - level) * (1 / 1500 + 1 / 4000)) + 0.01
    assert abs(coverage(model, *rows(4000, 1, heavy), level) - level) < error


def test_a_factor_and_a_tail_are_found_again():
    X, y = rows(4000, 2)
    model = CalibratedRegressor(Overconfident(0.4), "scale", cv=5, random_state=0).fit(X, y)
    # The std of a normal from 4,000 rows: a standard error of 1 / sqrt(8000), 1.1 %.
    assert model.factor_ == pytest.approx(1 / 0.4, rel=0.04)
    assert model.df_ >= 20
    heavy = CalibratedRegressor(Overconfident(0.4), "scale", cv=5).fit(*rows(4000, 3, True))
    assert heavy.df_ <= 4.0
    normal = CalibratedRegressor(Overconfident(0.4), "scale", tails="normal").fit(X, y)
    assert np.isinf(normal.df_)
    assert isinstance(normal.predict_distribution(X), NormalDistribution)


@pytest.mark.parametrize("method", METHODS)
def test_knowledge_is_never_scaled(method):
    X, y = rows(600, 4)
    base = Overconfident(0.4, knowledge=0.05)
    model = CalibratedRegressor(base, method, random_state=0).fit(X, y)
    total, data, knowledge = model.predict_uncertainty(X)
    np.testing.assert_array_equal(knowledge, 0.05)
    scaled = model.factor_**2 * base.predict_uncertainty(X).data
    np.testing.assert_allclose(data, scaled + model.floor_**2)
    assert model.floor_ == 0.0  # the stds are right but for a factor
    np.testing.assert_array_equal(total, data + knowledge)
    assert 1.5 < model.factor_ < 3.5
    if method != "isotonic":  # whose law has a std of its own
        np.testing.assert_allclose(model.predict_distribution(X).variance(), total, rtol=1e-6)
    np.testing.assert_array_equal(model.predict(X), model.predict_distribution(X).loc)


@pytest.mark.parametrize("method", [*METHODS, "two_clocks"])
def test_a_fitted_ensemble_is_used_as_it_is(method, monkeypatch):
    train, later = (make_heteroscedastic(300, random_state=k) for k in (0, 1))
    base = BoostedEnsembleRegressor(**BOOSTED).fit(train.X, train.y)
    before = base.predict_members(later.X)
    monkeypatch.setattr(BoostedEnsembleRegressor, "fit", _no_fit)
    monkeypatch.setattr(BoostedEnsembleRegressor, "_train", _no_fit)
    model = CalibratedRegressor(base, method).fit(later.X, later.y)
    assert model.estimator_ is base
    assert model.prefit_
    assert model.n_calibration_ == 300
    assert base.clocks_ is None
    np.testing.assert_array_equal(base.predict_members(later.X), before)
    new = make_heteroscedastic(2000, random_state=2)
    # Calibrated on 300 rows: a standard error of 1.7 points, 3 of them and one for the tails.
    assert abs(coverage(model, new.X, new.y) - 0.9) < 0.06


def _no_fit(*_, **__):
    raise AssertionError("nothing may be fitted")


def test_two_clocks_around_an_ensemble_is_its_own_rule():
    train = make_heteroscedastic(300, random_state=0)
    base = BoostedEnsembleRegressor(**BOOSTED)
    model = CalibratedRegressor(base, "two_clocks", tails="normal", cv=3).fit(train.X, train.y)
    own = clone(base).set_params(stopping="two_clocks", tails="normal", cv=3).fit(train.X, train.y)
    np.testing.assert_array_equal(model.predict(train.X), own.predict(train.X))
    for name, part in (("predict_distribution", "scale"), ("predict_uncertainty", "knowledge")):
        pair = [getattr(getattr(each, name)(train.X), part) for each in (model, own)]
        np.testing.assert_allclose(*pair)
    assert model.clocks_.factor == own.clocks_.factor
    assert base.stopping is None


def test_rows_of_the_callers_own_choose():
    train, later = (make_heteroscedastic(300, random_state=k) for k in (0, 1))
    base = BoostedEnsembleRegressor(**BOOSTED)
    for method in (*METHODS, "two_clocks"):
        model = CalibratedRegressor(base, method).fit(train.X, train.y, later.X, later.y)
        assert model.n_calibration_ == 300
        assert model.estimator_.n_rows_ == 600


@pytest.mark.parametrize("method", [*METHODS, "two_clocks"])
@pytest.mark.parametrize("prefit", [False, True])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_target_on_a_log_scale_is_calibrated_there(method, prefit):
    (X, y), (later, known), (new, truth) = (rows(400, k) for k in (20, 21, 22))
    base = BoostedEnsembleRegressor(target="log", **BOOSTED)
    if prefit:
        X, y = later, known
        base.fit(rows(400, 20)[0], np.exp(0.3 * rows(400, 20)[1]))
    model = CalibratedRegressor(base, method, random_state=0).fit(X, np.exp(0.3 * y))
    price = np.exp(0.3 * truth)
    # 400 rows on both sides: a standard error of 2.1 points.
    assert abs(coverage(model, new, price) - 0.9) < 0.06
    assert isinstance(model.predict_distribution(new), LogDistribution) == (method != "conformal")
    total, data, knowledge = model.predict_uncertainty(new)
    np.testing.assert_allclose(total, data + knowledge)
    assert (knowledge >= 0).all()
    if prefit and method in ("scale", "isotonic"):
        with pytest.raises(InvalidData, match="y must lie above 0"):
            model.fit(X, y)


@FOREIGN
@pytest.mark.parametrize("frame", [False, True])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_other_libraries_models_as_their_users_have_them(name, frame):
    train, new = (make_heteroscedastic(n, random_state=n) for n in (300, 2000))
    X = pd.DataFrame(train.X, columns=["x"]) if frame else train.X
    Z = pd.DataFrame(new.X, columns=["x"]) if frame else new.X
    base = foreign(name)
    model = CalibratedRegressor(base, "two_clocks", random_state=0)
    model.fit(X, train.y)
    clocks = model.clocks_
    assert not model.prefit_
    assert clocks.n_rows == 300
    assert min(clocks.mean_trees, clocks.scale_trees) >= 5
    assert abs(coverage(model, Z, new.y) - 0.9) < 0.06
    total, data, knowledge = model.predict_uncertainty(Z)
    assert not knowledge.any()
    # The final model, read by its own library's methods.
    final = model.estimator_
    if name == "catboost":
        mean, variance = (
            final.predict(Z, prediction_type="RMSEWithUncertainty", ntree_end=n_trees)[:, k]
            for k, n_trees in enumerate((clocks.mean_trees, clocks.scale_trees))
        )
    else:
        mean = final.pred_dist(Z, max_iter=clocks.mean_trees).loc
        variance = final.pred_dist(Z, max_iter=clocks.scale_trees).scale ** 2
    np.testing.assert_allclose(model.predict(Z), mean)
    np.testing.assert_allclose(data, clocks.factor**2 * variance)
    np.testing.assert_allclose(model.predict_distribution(Z).variance(), total)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_catboost_keeps_its_categories(rng, tmp_path):
    """scikit-learn cannot clone CatBoost with ``cat_features``; a file has no parameters."""
    colour = pd.Categorical(rng.choice(["red", "blue"], 200))
    X = pd.DataFrame({"a": rng.normal(size=200), "colour": colour})
    y = X["a"] + 2.0 * (X["colour"] == "red") + 0.3 * rng.normal(size=200)
    base = foreign("catboost", 40).set_params(cat_features=["colour"])
    for method in ("scale", "two_clocks"):
        model = clone(CalibratedRegressor(base, method)).fit(X[:150], y[:150], X[150:], y[150:])
        assert model.estimator_.get_cat_feature_indices() == [1]
        assert model.n_calibration_ == 50
        assert model.predict_interval(X).lower.shape == (200,)
    assert np.isfinite(cross_val_score(CalibratedRegressor(base), X, y, cv=2)).all()
    fitted = copy_unfitted(base).fit(X[:100], y[:100])
    fitted.save_model(tmp_path / "model.cbm")
    loaded = type(base)().load_model(tmp_path / "model.cbm")
    first, other = (
        CalibratedRegressor(each, "two_clocks").fit(X[100:], y[100:]) for each in (fitted, loaded)
    )
    assert other.prefit_
    assert first.factor_ == other.factor_


@FOREIGN
@pytest.mark.parametrize("method", [*METHODS, "two_clocks"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_their_fitted_models_are_left_alone(name, method, monkeypatch):
    train, later, new = (make_heteroscedastic(300, random_state=k) for k in range(3))
    base = foreign(name).fit(train.X, train.y)
    before = np.asarray(base.predict(new.X))
    monkeypatch.setattr(type(base), "fit", _no_fit)
    model = CalibratedRegressor(base, method).fit(later.X, later.y)
    assert model.estimator_ is base
    np.testing.assert_array_equal(np.asarray(base.predict(new.X)), before)
    assert abs(coverage(model, new.X, new.y) - 0.9) < 0.09  # 300 rows on both sides


@FOREIGN
def test_their_stages_are_those_of_a_plain_loop(name):
    from gbuq_core.calibration.boosters import reader_of

    train, later = (make_heteroscedastic(100, random_state=k) for k in range(2))
    base = foreign(name, 20).fit(train.X, train.y)
    stages = reader_of(base).stages(base, later.X, later.y, 25)  # more than there are
    for k, n_trees in enumerate(stages.n_trees):
        used = min(int(n_trees), 20)
        if name == "catboost":
            mean, variance = base.predict(
                later.X, prediction_type="RMSEWithUncertainty", ntree_end=used
            ).T
        else:
            law = base.pred_dist(later.X, max_iter=used)
            mean, variance = law.loc, law.scale**2
        np.testing.assert_allclose(stages.mean[k], mean)
        np.testing.assert_allclose(stages.data[k], variance)
    assert not stages.knowledge.any()


@FOREIGN
def test_a_clock_at_the_last_tree_warns(name):
    train = make_heteroscedastic(200, random_state=0)
    with pytest.warns(ConvergenceWarning, match="All 6 trees"):
        CalibratedRegressor(foreign(name, 6), "two_clocks").fit(train.X, train.y)


class Watched(Overconfident):
    """Remembers which rows each fit saw."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y, sample_weight=None):
        Watched.seen.append(np.asarray(X)[:, 0].copy())
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("method", METHODS)
def test_splitters_choose_the_rows(method):
    X, y = rows(100, 5)
    X = np.column_stack([np.arange(100.0), X])  # the row's number comes first

    def fits(cv, groups=None):
        Watched.seen = []
        CalibratedRegressor(Watched(), method, cv=cv, random_state=0).fit(X, y, groups=groups)
        assert sorted(Watched.seen[-1]) == list(range(100))  # the last fit has all rows
        return [set(part.astype(int)) for part in Watched.seen[:-1]]

    assert [len(part) for part in fits(None)] == [80] * 5
    assert [len(part) for part in fits(4)] == [75] * 4
    forward = fits(TimeSeriesSplit(3))
    assert [max(part) for part in forward] == [24, 49, 74]
    groups = np.repeat(np.arange(10), 10)
    for cv in (None, GroupKFold(5)):
        for part in fits(cv, groups):
            held = set(range(100)) - part
            assert not set(groups[list(held)]) & set(groups[list(part)])


@pytest.mark.parametrize("kind", ["calibrated", "two clocks", "stacked"])
def test_rows_of_units_are_named_and_groups_keep_coverage(kind):
    rng = np.random.default_rng(0)
    unit = np.repeat(np.arange(180), 8)
    X = rng.normal(size=(180, 3))[unit]
    y = 3.0 * rng.normal(size=180)[unit] + 0.3 * rng.normal(size=len(unit))
    known = unit < 80
    trees = BoostedEnsembleRegressor(**BOOSTED | {"n_trees": 200, "stopping": "two_clocks"})
    model = {
        "calibrated": CalibratedRegressor(BoostedEnsembleRegressor(**BOOSTED), random_state=0),
        "two clocks": trees,
        "stacked": StackedRegressor(trees, ("trees",), random_state=0),
    }[kind]

    def coverage(**groups):
        law = model.fit(X[known], y[known], **groups).predict_distribution(X[~known])
        lower, upper = law.interval(0.9)
        return np.mean((lower <= y[~known]) & (y[~known] <= upper))

    with pytest.warns(UserWarning, match="pass groups="):
        assert coverage() < 0.7
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Many rows")
        assert 0.85 < coverage(groups=unit[known]) < 0.97


def test_many_rows_need_one_more_fit_only():
    X, y = rows(2000, 6)
    Watched.seen = []
    model = CalibratedRegressor(Watched(), random_state=0).fit(X, y)
    assert [len(part) for part in Watched.seen] == [1600, 2000]
    assert model.n_calibration_ == 400


def test_weights_reach_the_estimator():
    X, y = rows(100, 7)
    weights = np.linspace(1, 2, 100)
    model = CalibratedRegressor(Overconfident()).fit(X, y, sample_weight=weights)
    assert model.estimator_.weight_ == pytest.approx(weights.sum())
    with pytest.raises(InvalidParameter, match="takes no sample_weight"):
        CalibratedRegressor(EuclideanNeighborsRegressor()).fit(X, y, sample_weight=weights)
    with pytest.raises(InvalidData, match="sample_weight has 5 values"):
        CalibratedRegressor(Overconfident()).fit(X, y, sample_weight=weights[:5])
    with pytest.raises(InvalidData, match="all zero"):
        CalibratedRegressor(Overconfident()).fit(X, y, sample_weight=0.0 * weights)
    with pytest.raises(InvalidParameter, match="does not cover X_val"):
        CalibratedRegressor(Overconfident()).fit(X, y, X, y, sample_weight=weights)


@pytest.mark.parametrize("method", METHODS)
def test_another_unit_of_y_changes_nothing_else(method):
    X, y = rows(300, 9)
    base = BoostedEnsembleRegressor(**BOOSTED)
    plain = CalibratedRegressor(base, method, random_state=0).fit(X, y)
    moved = CalibratedRegressor(base, method, random_state=0).fit(X, 1000.0 * y - 5.0)
    lower, upper = plain.predict_interval(X)
    for end, other in zip((lower, upper), moved.predict_interval(X), strict=True):
        # The search for a factor stops within half a percent of it.
        np.testing.assert_allclose(
            1000.0 * end - 5.0, other, atol=2e-2 * 1000 * (upper - lower).max()
        )


def _own_words(model):
    if has_fit_parameter(model.estimator, "sample_weight"):
        return {}
    names = ("pandas_series", "not_an_array", "list", "shape", "not_overwritten")
    failing = [f"check_sample_weights_{name}" for name in names]
    return dict.fromkeys([*failing, "check_all_zero_sample_weights_error"], "takes no weights")


@parametrize_with_checks(
    [
        CalibratedRegressor(
            BoostedEnsembleRegressor(
                n_members=2,
                n_trees=10,
                depth=3,
                learning_rate=0.5,
                stopping=None,
                n_jobs=1,
                random_state=0,
            ),
            "isotonic",
            random_state=0,
        )
    ],
    expected_failed_checks=_own_words,
)
def test_scikit_learn_conventions(estimator, check):
    if "equivalence" in check.func.__name__:
        pytest.skip("folds are drawn from rows, so a weight of 2 is not a row given twice")
    check(estimator)


def test_a_frozen_estimator_survives_clone():
    train, later = (make_heteroscedastic(200, random_state=k) for k in (0, 1))
    base = BoostedEnsembleRegressor(**BOOSTED).fit(train.X, train.y)
    model = clone(CalibratedRegressor(FrozenEstimator(base))).fit(later.X, later.y)
    assert model.estimator_ is base
    melted = clone(CalibratedRegressor(base)).fit(later.X, later.y)
    assert not melted.prefit_
    with pytest.raises(NotFittedError, match="fit it first"):
        CalibratedRegressor(FrozenEstimator(clone(base))).fit(later.X, later.y)


OF_NGBOOST = {
    "LogNormal": lambda rng, x: np.exp(x + 0.5 * rng.normal(size=len(x))),
    "Poisson": lambda rng, x: rng.poisson(np.exp(x)).astype(float),
    "Exponential": lambda rng, x: rng.exponential(np.exp(x)) + 1e-6,
    "TFixedDf": lambda rng, x: x + 0.3 * rng.standard_t(4, len(x)),
}


@pytest.mark.parametrize("name", OF_NGBOOST)
def test_other_laws_of_ngboost_are_calibrated_as_the_normal_is(name):
    ngboost = pytest.importorskip("ngboost")
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 2.0, (2000, 2))
    y = OF_NGBOOST[name](rng, X[:, 0])
    dist = getattr(ngboost.distns, name)
    booster = ngboost.NGBRegressor(Dist=dist, n_estimators=30, verbose=False, random_state=0)
    lower, upper = (
        CalibratedRegressor(booster, random_state=0).fit(X[:500], y[:500]).predict_interval(X[500:])
    )
    # Of 500 and 1,500 rows a coverage of 90 % has a standard error of .015; counts hold more.
    assert 0.85 <= np.mean((lower <= y[500:]) & (y[500:] <= upper)) <= 0.96
    assert name != "LogNormal" or (lower > 0.0).all()


def test_what_cannot_be_is_refused_in_one_sentence():
    X, y = rows(100, 11)
    catboost = pytest.importorskip("catboost")
    ngboost = pytest.importorskip("ngboost")
    mean_only = catboost.CatBoostRegressor(iterations=3, verbose=0, allow_writing_files=False)
    fitted = Overconfident().fit(X, y)
    wrong = [
        (CalibratedRegressor(Overconfident(), "platt"), "method must be one of"),
        (CalibratedRegressor(Overconfident(), tails="heavy"), "tails must be one of"),
        (CalibratedRegressor(LinearRegression()), "predicts no scale"),
        (CalibratedRegressor(RandomForestRegressor()), r"IBUGRegressor\(RandomForestRegressor"),
        (CalibratedRegressor(TransformedTargetRegressor(Overconfident())), "or use func=np.log"),
        (CalibratedRegressor(Overconfident), "not a class"),
        (CalibratedRegressor(Overconfident(), "two_clocks"), "does not grow tree by tree"),
        (CalibratedRegressor(mean_only), "RMSEWithUncertainty"),
        (CalibratedRegressor(mean_only.copy().fit(X, y), "two_clocks"), "RMSEWithUncertainty"),
        (
            CalibratedRegressor(ngboost.NGBRegressor(Dist=ngboost.distns.HalfNormal)),
            "has HalfNormal",
        ),
        (CalibratedRegressor(Overconfident(), cv="five"), "cv must be"),
        (
            CalibratedRegressor(
                BoostedEnsembleRegressor(**BOOSTED | {"temperature": "posterior"}), "two_clocks"
            ),
            "a chain of samples",
        ),
        (
            CalibratedRegressor(IBUGRegressor(DecisionTreeRegressor(max_depth=3).fit(X, y))),
            "has seen all rows",
        ),
    ]
    for model, given, message in [
        *((model, (X, y), message) for model, message in wrong),
        (CalibratedRegressor(fitted), (X, y, X, y), "leave out X_val and y_val"),
        (CalibratedRegressor(Overconfident()), (X, y, X), "belong together"),
        (CalibratedRegressor(Overconfident()), (X, y, X, y[:5]), "y_val has the shape"),
        (CalibratedRegressor(Overconfident()), (X[:9], y[:9]), "at least 10 rows"),
        (CalibratedRegressor(fitted), (X[:9], y[:9]), "at least 10 rows"),
        (CalibratedRegressor(Overconfident()), (X, np.full(100, np.nan)), "NaN"),
        (CalibratedRegressor(Overconfident()), (X, y[:50]), "100 rows but y has 50"),
        (
            CalibratedRegressor(BoostedEnsembleRegressor(**BOOSTED).fit(X, y)),
            (np.hstack([X, X]), y),
            "expects 1",
        ),
    ]:
        with pytest.raises(ValueError, match=message) as error:
            model.fit(*given)
        assert ". " not in str(error.value)


@FOREIGN
def test_a_librarys_own_complaint_comes_as_one_sentence(name):
    X, _ = rows(100, 12)
    with pytest.raises(InvalidData, match="cannot be fitted to these rows"):
        CalibratedRegressor(foreign(name), "two_clocks").fit(X, np.full(100, 1.0))


def test_classes_are_for_scikit_learn(rng):
    X = rng.normal(size=(300, 2))
    y = np.where(X[:, 0] + rng.normal(size=300) > 0, "yes", "no")
    base = BoostedEnsembleClassifier(
        n_members=2, n_trees=20, depth=2, stopping=None, random_state=0
    )
    model = CalibratedClassifierCV(base, method="sigmoid", cv=3).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert model.score(X, y) > 0.7
    fitted = CalibratedClassifierCV(FrozenEstimator(base.fit(X, y)), cv=3).fit(X, y)
    assert fitted.predict_proba(X).shape == (300, 2)


class TestLaws:
    """Conformal laws; tests/test_distribution.py has those that have a density."""

    def law(self, rng):
        sizes = np.abs(rng.standard_t(4, 400))
        return ResidualDistribution(rng.normal(size=5), rng.uniform(0.5, 2.0, 5), sizes)

    def test_intervals_are_quantiles_and_cdf_undoes_them(self, rng):
        levels, law = np.array([0.02, 0.2, 0.5, 0.81, 0.97]), self.law(rng)
        lower, upper = law.interval(0.9)
        np.testing.assert_allclose(law.quantile([0.05, 0.95]), np.stack([lower, upper], 1))
        for column, level in zip(law.quantile(levels).T, levels, strict=True):
            # One step of 400 residuals, half of it on either side.
            np.testing.assert_allclose(law.cdf(column), level, atol=1 / 400)

    def test_moments_and_crps_are_those_of_many_draws(self, rng):
        law = self.law(rng)
        draws = law.sample(40_000, random_state=0)
        np.testing.assert_allclose(draws.mean(axis=0), law.mean(), atol=0.04)
        np.testing.assert_allclose(draws.std(axis=0), law.scale, rtol=0.05)
        y = law.loc + law.scale * np.array([-2.0, -0.5, 0.0, 1.0, 4.0])
        apart = np.abs(draws[:20_000] - draws[20_000:]).mean(axis=0)
        slow = np.abs(draws - y).mean(axis=0) - 0.5 * apart
        np.testing.assert_allclose(law.crps(y), slow, rtol=0.04)

    def test_conformal_ends_are_exact_ranks(self):
        law = ResidualDistribution([0.0], [1.0], np.arange(1.0, 20.0))
        assert law.interval(0.95).upper == 19.0
        assert law.interval(0.0).upper == 0.0
        assert np.isposinf(law.interval(1.0).upper)
        with pytest.raises(InvalidData, match="at least 99"):
            law.interval(0.99)
        with pytest.raises(InvalidData, match="no density"):
            law.logpdf([0.0])
        naive = [np.mean([max(a, abs(z)) for a in range(1, 20)]) for z in (0.0, 7.5, 30.0)]
        apart = np.mean([max(a, b) for a in range(1, 20) for b in range(1, 20)])
        many = ResidualDistribution(np.zeros(3), np.ones(3), law.sizes)
        np.testing.assert_allclose(many.crps([0.0, 7.5, -30.0]), np.array(naive) - apart / 2)

    def test_conformal_coverage_is_guaranteed_over_draws(self):
        """19 residuals, a level of 0.9: the 18th of them covers 18 / 20 of new rows on average."""
        rng = np.random.default_rng(0)
        sizes = np.abs(rng.normal(size=(4000, 20)))
        inside = [
            row[0] <= ResidualDistribution([0.0], [1.0], row[1:]).interval(0.9).upper[0]
            for row in sizes
        ]
        assert abs(np.mean(inside) - 0.9) < 3 * np.sqrt(0.09 / 4000)
