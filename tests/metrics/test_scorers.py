"""The scorers inside scikit-learn's own searches and validations."""

import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gbuq_core
from gbuq_core import MacauRegressor, get_scorer, scorer
from gbuq_core.baselines import EuclideanNeighborsRegressor
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.metrics.scorers import SCORERS

RANDOM = np.random.default_rng(5)
X = RANDOM.uniform(-1.0, 1.0, (90, 2))
Y = X[:, 0] + 0.2 * RANDOM.normal(size=90)
WEIGHT = RANDOM.integers(0, 4, 90).astype(float)
CV = KFold(3)

MODEL = MacauRegressor("basic", n_trees=10, random_state=0)
GRID = {"random_state": [0, 1]}


def by_hand(name, d, y, level=0.9):
    if name == "neg_crps":
        return -d.crps(y)
    if name == "neg_nll":
        return d.logpdf(y)
    lower, upper = d.interval(level)
    return (lower <= y) & (y <= upper)


@pytest.mark.parametrize("name", SCORERS)
def test_cross_validation_scores_what_one_would_by_hand(name):
    scores = cross_val_score(MODEL, X, Y, cv=CV, scoring=scorer(name))
    expected = [
        by_hand(name, clone(MODEL).fit(X[a], Y[a]).predict_distribution(X[b]), Y[b]).mean()
        for a, b in CV.split(X)
    ]
    np.testing.assert_allclose(scores, expected)


def test_a_grid_search_chooses_by_it():
    scoring = {name: scorer(name, 0.5) for name in SCORERS}
    search = GridSearchCV(MODEL, GRID, cv=CV, scoring=scoring, refit="neg_crps").fit(X, Y)
    means = search.cv_results_["mean_test_neg_crps"]
    assert search.best_index_ == means.argmax()
    alone = GridSearchCV(MODEL, GRID, cv=CV, scoring=scorer("neg_crps")).fit(X, Y)
    np.testing.assert_array_equal(alone.cv_results_["mean_test_score"], means)
    assert alone.score(X, Y) == scorer("neg_crps")(alone.best_estimator_, X, Y)
    assert scorer("neg_nll")(alone, X, Y) == scorer("neg_nll")(alone.best_estimator_, X, Y)


@pytest.mark.parametrize("name", SCORERS)
def test_weights_reach_it_where_metadata_is_routed(name):
    with sklearn.config_context(enable_metadata_routing=True):
        weighted = scorer(name).set_score_request(sample_weight=True)
        model = clone(MODEL).set_fit_request(sample_weight=False)  # the scores alone are weighted
        results = cross_validate(
            model,
            X,
            Y,
            cv=CV,
            scoring=weighted,
            params={"sample_weight": WEIGHT},
            return_estimator=True,
        )
        search = GridSearchCV(model, GRID, cv=CV, scoring=weighted, refit=False)
        search.fit(X, Y, sample_weight=WEIGHT)
    for score, (_, b), fitted in zip(
        results["test_score"], CV.split(X), results["estimator"], strict=True
    ):
        values = by_hand(name, fitted.predict_distribution(X[b]), Y[b])
        assert score == pytest.approx(np.average(values, weights=WEIGHT[b]))
        # Whole weights are repeated rows.
        times = WEIGHT[b].astype(int)
        again = scorer(name)(fitted, np.repeat(X[b], times, 0), np.repeat(Y[b], times))
        assert score == pytest.approx(again)
    assert len(search.cv_results_["mean_test_score"]) == 2


def test_a_pipeline_is_scored_by_its_last_step():
    pipeline = make_pipeline(StandardScaler(), EuclideanNeighborsRegressor(random_state=0))
    scores = cross_val_score(pipeline, X, Y, cv=CV, scoring=scorer("neg_crps"))
    assert np.isfinite(scores).all()
    fitted = pipeline.fit(X, Y)
    d = fitted[-1].predict_distribution(fitted[0].transform(X))
    assert scorer("neg_nll")(pipeline, X, Y) == d.logpdf(Y).mean()


def test_it_is_cloned_pickled_and_public():
    made = scorer("coverage", level=0.5)
    for other in (clone(made), pickle.loads(pickle.dumps(made))):  # noqa: S301 (our own)
        assert (other.name, other.level) == ("coverage", 0.5)
    assert gbuq_core.get_scorer("neg_crps").name == "neg_crps"
    assert get_scorer(made) is made
    assert gbuq_core.scorer is gbuq_core.metrics.scorer


@pytest.mark.parametrize(
    ("ask", "error", "words"),
    [
        (lambda model: scorer("crps"), InvalidParameter, "scorer must be one of 'neg_crps'"),
        (lambda model: scorer("coverage", 0), InvalidParameter, "level must be a number"),
        (lambda model: get_scorer("no such"), InvalidParameter, "There is no scorer 'no such'"),
        (
            lambda model: scorer("neg_crps")(LinearRegression().fit(X, Y), X, Y),
            InvalidParameter,
            "LinearRegression has no predict_distribution",
        ),
        (lambda model: scorer("neg_crps")(model, X, Y[1:]), InvalidData, "each of the 90 rows"),
        (lambda model: scorer("coverage")(model, X, Y[1:]), InvalidData, "y has 89 values"),
        (
            lambda model: scorer("neg_nll")(model, X, Y, np.zeros(90)),
            InvalidData,
            "sample_weight must hold 90",
        ),
        (
            lambda model: scorer("neg_nll")(model, X, Y, -WEIGHT),
            InvalidData,
            "sample_weight must be at least 0",
        ),
    ],
)
def test_what_cannot_be_scored_is_refused_in_a_sentence(ask, error, words):
    model = EuclideanNeighborsRegressor(random_state=0).fit(X, Y)
    with pytest.raises(error, match=words):
        ask(model)
