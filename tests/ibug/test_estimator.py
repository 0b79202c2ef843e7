"""IBUGRegressor: neighbours, scales, protocols, knobs without a refit, conventions, refusals."""

import numpy as np
import pytest
from refusal_parts import refused
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from tolerances import CANCELLED, SAME_SUM

from gbuq_core import BoostedEnsembleRegressor
from gbuq_core.errors import InvalidData
from gbuq_core.ibug import FAMILIES, IBUGRegressor, log_density
from gbuq_core.ibug.search import select_trees
from gbuq_core.metrics import nll_gaussian
from gbuq_core.metrics.neighbour_tuning import CANDIDATES, smallest_positive

# One thread a library: the tests measure nothing.
GBM = {"n_estimators": 30, "max_depth": 3, "random_state": 0}


def naive_neighbours(gbm, X, new, trees=None):
    """Affinities (n_new, n) by comparing leaves, and their stable order."""
    train, query = gbm.apply(X), gbm.apply(new)
    if trees is not None:
        train, query = train[:, trees], query[:, trees]
    affinity = (query[:, None] == train[None]).sum(axis=2)
    return np.argsort(-affinity, axis=1, kind="stable"), affinity


# A given model


def test_neighbours_and_scales_are_those_of_the_slow_twin(table, fitted_gbm, new):
    X, y = table
    model = IBUGRegressor(fitted_gbm, n_neighbors=9).fit(X[:160], y[:160])
    order, affinity = naive_neighbours(fitted_gbm, X[:160], new[0])
    indices, affinities = model.kneighbors(new[0])
    np.testing.assert_array_equal(indices, order[:, :9])
    np.testing.assert_array_equal(affinities, np.take_along_axis(affinity, order[:, :9], axis=1))
    np.testing.assert_array_equal(model.neighbor_targets(new[0]), y[:160][indices])
    loc, scale = model.predict_distribution(new[0])
    np.testing.assert_array_equal(loc, fitted_gbm.predict(new[0]))
    # A difference of squares against numpy's two passes.
    np.testing.assert_allclose(scale, y[:160][indices].std(axis=1), rtol=SAME_SUM)
    assert (model.gamma_, model.delta_, model.tuning_) == (1.0, 0.0, None)


def test_tuning_and_calibration_use_the_validation_rows(table, model, fitted_gbm):
    X, y = table
    order, _ = naive_neighbours(fitted_gbm, X[:160], X[160:210])
    loc, y_val = fitted_gbm.predict(X[160:210]), y[160:210]
    scores = {
        k: nll_gaussian(y_val, loc, y[:160][order[:, :k]].std(axis=1))
        for k in CANDIDATES
        if k <= 160
    }
    assert model.n_neighbors_ == min(scores, key=scores.get)
    np.testing.assert_allclose(model.tuning_.nll, list(scores.values()), rtol=CANCELLED)
    std = y[:160][order[:, : model.n_neighbors_]].std(axis=1)
    assert model.min_scale_ == pytest.approx(smallest_positive(std), rel=CANCELLED)
    calibrated = nll_gaussian(y_val, loc, model.gamma_ * std + model.delta_)
    assert calibrated <= min(scores.values())
    mine = model.predict_distribution(model.validation_)
    assert nll_gaussian(y_val, *mine) == pytest.approx(calibrated, rel=CANCELLED)


def test_the_fitted_model_is_used_as_it_is(model, fitted_gbm):
    assert model.model_ is fitted_gbm
    assert model.n_trees_ == 30
    assert len(model.y_train_) == 160


# A model of its own


@pytest.mark.parametrize("given", [True, False], ids=["validation rows", "a share held out"])
def test_an_owned_model_is_refitted_on_all_rows(table, given):
    X, y = table
    base = GradientBoostingRegressor(**GBM)
    model = IBUGRegressor(base, random_state=1)
    model.fit(X[:160], y[:160], X[160:210], y[160:210]) if given else model.fit(X[:210], y[:210])
    assert model.model_ is not base
    assert not hasattr(base, "estimators_")
    whole = GradientBoostingRegressor(**GBM).fit(X[:210], y[:210])
    np.testing.assert_array_equal(model.predict(X[210:]), whole.predict(X[210:]))
    np.testing.assert_array_equal(model.y_train_, y[:210])
    assert len(model.y_validation_) == (50 if given else 42)
    order, _ = naive_neighbours(whole, X[:210], X[210:])
    np.testing.assert_array_equal(model.kneighbors(X[210:])[0], order[:, : model.n_neighbors_])


def test_nothing_to_tune_holds_nothing_out(table):
    X, y = table
    model = IBUGRegressor(GradientBoostingRegressor(**GBM), n_neighbors=5, calibrate=False)
    model.fit(X, y)
    assert model.validation_ is None
    assert len(model.y_train_) == len(X)


@pytest.mark.parametrize(
    "base",
    [
        RandomForestRegressor(10, random_state=0),
        BoostedEnsembleRegressor(
            stopping=None,
            ensemble="virtual",
            n_trees=60,
            truncation_step=20,
            depth=3,
            random_state=0,
        ),
    ],
    ids=["random forest", "this project's"],
)
def test_other_owned_models(table, base, new):
    X, y = table
    model = IBUGRegressor(base, random_state=0).fit(X[:210], y[:210])
    loc, scale = model.predict_distribution(new[0])
    assert (scale > 0.0).all()
    # Noise of std 0.6 on average: a nat is far from any failure.
    assert nll_gaussian(new[1], loc, scale) < 2.0


# Knobs after the fit


def test_another_k_needs_no_refit(table, model, fitted_gbm, new):
    X, y = table
    for k in (2, 30, 151):
        other = IBUGRegressor(fitted_gbm, n_neighbors=k)
        other.fit(X[:160], y[:160], X[160:210], y[160:210])
        expected = other.predict_distribution(new[0])
        for rows in (new[0], model.find_neighborhood(new[0])):
            mine = model.predict_distribution(rows, n_neighbors=k)
            np.testing.assert_array_equal(mine.scale, expected.scale)
        assert model.setting_for(k).min_scale == other.min_scale_


def test_calibration_can_be_left_out_or_made_up_for(table, model, fitted_gbm, new):
    X, y = table
    plain = IBUGRegressor(fitted_gbm, calibrate=False)
    plain.fit(X[:160], y[:160], X[160:210], y[160:210])
    mine = model.predict_distribution(new[0], calibrate=False)
    np.testing.assert_array_equal(mine.scale, plain.predict_distribution(new[0]).scale)
    made_up = plain.predict_distribution(new[0], calibrate=True)
    np.testing.assert_array_equal(made_up.scale, model.predict_distribution(new[0]).scale)


@pytest.mark.parametrize("order", ["first", "last", "random"])
def test_fewer_trees_need_no_refit(order, model, table, fitted_gbm, new):
    trees = select_trees(30, 7, order, model.seed_)
    naive = naive_neighbours(fitted_gbm, table[0][:160], new[0], trees)[0]
    choice = {"n_trees_sampled": 7, "tree_order": order}
    indices, affinities = model.kneighbors(new[0], 12, **choice)
    np.testing.assert_array_equal(indices, naive[:, :12])
    assert affinities.max() <= 7
    scale = model.predict_distribution(new[0], 12, **choice).scale
    assert scale.shape == (50,)
    neighborhood = model.find_neighborhood(new[0], 12, **choice)
    assert neighborhood.n_trees == 7
    np.testing.assert_array_equal(model.predict_distribution(neighborhood, 12).scale, scale)


def test_trees_that_count():
    assert select_trees(10, None, "first", 0) is None
    assert select_trees(10, 10, "random", 0) is None
    assert select_trees(10, 3, "first", 0).tolist() == [0, 1, 2]
    assert select_trees(10, 3, "last", 0).tolist() == [9, 8, 7]
    few, more = (set(select_trees(10, count, "random", 4).tolist()) for count in (3, 7))
    assert few < more


# Posteriors


def test_the_normal_posterior_is_loc_and_scale(model, new):
    fitted = model.predict_posterior(new[0])
    loc, scale = model.predict_distribution(new[0])
    np.testing.assert_array_equal(fitted.loc, loc)
    np.testing.assert_array_equal(fitted.scale, scale)
    median, upper = model.predict_quantiles(new[0], [0.5, 0.8413447460685429]).T
    np.testing.assert_allclose(median, loc, rtol=SAME_SUM)
    np.testing.assert_allclose(upper, loc + scale, rtol=SAME_SUM)  # one std above the mean
    grid = np.linspace(0, 10, 7)
    own = model.predict_density(new[0], np.tile(grid, (50, 1)))
    np.testing.assert_array_equal(own, model.predict_density(new[0], grid))


def test_families_are_scored_and_chosen_on_validation(table, model, fitted_gbm, new):
    X, y = table
    scores = model.score_families(new[0], new[1])
    assert scores.families == tuple(FAMILIES)
    assert scores.refusals == ("",) * 9
    assert scores.best == scores.families[int(scores.nll.argmin())]
    laplace = model.predict_posterior(new[0], "laplace")
    at = scores.families.index("laplace")
    assert scores.nll[at] == -log_density(laplace, new[1]).mean()
    tuned = IBUGRegressor(fitted_gbm, posterior="tune")
    tuned.fit(X[:160], y[:160], X[160:210], y[160:210])
    on_validation = tuned.score_families(tuned.validation_, tuned.y_validation_)
    assert tuned.posterior_ == on_validation.best
    assert tuned.predict_posterior(new[0]).family == tuned.posterior_


def test_positive_families_step_back_where_targets_are_not_positive(table, fitted_gbm):
    X, y = table
    model = IBUGRegressor(fitted_gbm, posterior="tune")
    model.fit(X[:160], y[:160] - 6.0, X[160:210], y[160:210] - 6.0)
    assert model.posterior_ not in ("log-normal", "weibull")
    scores = model.score_families(X[210:], y[210:] - 6.0)
    assert np.isnan(scores.nll).sum() == 2
    assert scores.refusals[scores.families.index("weibull")].endswith(".")
    with refused(InvalidData, "needs targets above 0"):
        model.predict_posterior(X[210:], "weibull")
    with refused(InvalidData, "needs targets above 0"):
        IBUGRegressor(fitted_gbm, 5, posterior="log-normal").fit(X[:160], y[:160] - 6.0)


# Other views


def test_class_shares_count_the_neighbours_labels(model, new):
    labels = np.where(model.y_train_ > 6.5, "high", "low")
    classes, shares = model.neighbor_class_shares(new[0], labels, 11)
    assert classes.tolist() == ["high", "low"]
    near = model.neighbor_targets(new[0], 11) > 6.5
    np.testing.assert_array_equal(shares[:, 0], near.mean(axis=1))
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=SAME_SUM)


def test_the_scale_path_shows_the_std_of_each_k(model, new):
    path = model.scale_path(new[0])
    assert path.n_neighbors.tolist() == [k for k in CANDIDATES if k <= 160]
    for k, std in zip(path.n_neighbors, path.scale.T, strict=True):
        expected = model.neighbor_targets(new[0], int(k)).std(axis=1)
        np.testing.assert_allclose(std, expected, rtol=CANCELLED)
    some = model.scale_path(model.find_neighborhood(new[0], 40), [2, 40])
    assert some.scale.shape == (50, 2)


# Conventions


@pytest.mark.parametrize("factor", [3.0, 1e-3, 1e12])
def test_the_scale_follows_the_unit_of_y(table, factor):
    X, y = table
    near = {}
    for unit in (1.0, factor):
        model = IBUGRegressor(
            GradientBoostingRegressor(n_estimators=20, random_state=0), random_state=0
        ).fit(X, unit * y)
        near[unit] = model.find_neighborhood(X[:50]), model
    (small, base), (large, other) = near.values()
    assert base.delta_ > 0.0  # else nothing is tried here
    assert other.delta_ == pytest.approx(factor * base.delta_)
    ours, theirs = base.predict_distribution(small).scale, other.predict_distribution(large).scale
    np.testing.assert_allclose(theirs, factor * ours, rtol=1e-6)
