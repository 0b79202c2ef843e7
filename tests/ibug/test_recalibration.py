"""Calibration with exactly the trees that count, whichever these are: no setting of other trees."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingRegressor
from tolerances import CANCELLED

from gbuq_core.errors import InvalidParameter
from gbuq_core.ibug import IBUGRegressor
from gbuq_core.ibug.search import select_trees
from gbuq_core.metrics import nll_gaussian
from gbuq_core.metrics.neighbour_tuning import CANDIDATES, smallest_positive, tune_neighbors
from gbuq_core.metrics.scale_calibration import calibrate_scale
from gbuq_core.resources import Recent

GBM = {"n_estimators": 24, "max_depth": 3, "random_state": 0}
CHOICES = [(1, "first"), (5, "first"), (5, "last"), (9, "random"), (24, "last")]


@pytest.fixture(scope="module")
def table():
    """Rows whose noise grows with the first feature, which the trees learn of late or never."""
    rng = np.random.default_rng(1)
    X = rng.uniform(size=(300, 3))
    return X, 5.0 + 3 * X[:, 1] + (0.1 + X[:, 0]) * rng.normal(size=300)


@pytest.fixture(scope="module")
def gbm(table):
    X, y = table
    return GradientBoostingRegressor(**GBM).fit(X[:160], y[:160])


def split(table):
    X, y = table
    return X[:160], y[:160], X[160:220], y[160:220]


@pytest.fixture(scope="module")
def given(table, gbm):
    return IBUGRegressor(gbm, delta_unit=1.0, random_state=0).fit(*split(table))


@pytest.fixture(scope="module")
def owned(table):
    return IBUGRegressor(GradientBoostingRegressor(**GBM), delta_unit=1.0, random_state=0).fit(
        *split(table)
    )


def slow_targets(gbm, table, n_trees, order, seed):
    """Targets of all training rows, nearest first, of each validation row: (60, 160)."""
    X, y, X_val, _ = split(table)
    chosen = select_trees(24, n_trees, order, seed)
    trees = np.arange(24) if chosen is None else chosen
    train, query = gbm.apply(X)[:, trees], gbm.apply(X_val)[:, trees]
    affinity = (query[:, None] == train[None]).sum(axis=2)
    return y[np.argsort(-affinity, axis=1, kind="stable")]


@pytest.mark.parametrize("of", ["given", "owned"])
@pytest.mark.parametrize(("n_trees", "order"), CHOICES)
def test_a_setting_is_found_with_the_trees_that_count(of, n_trees, order, table, gbm, request):
    """The model for tuning of ``owned`` is fitted to the same rows as the given one."""
    model = request.getfixturevalue(of)
    near = slow_targets(gbm, table, n_trees, order, model.seed_)
    _, _, X_val, y_val = split(table)
    loc = gbm.predict(X_val)
    for k in (7, 31, model.n_neighbors_):
        std = near[:, :k].std(axis=1)
        least = smallest_positive(std)
        gamma, delta, _ = calibrate_scale(y_val, loc, np.maximum(std, least))
        setting = model.setting_for(k, n_trees_sampled=n_trees, tree_order=order)
        # Running sums against numpy's two passes.
        assert setting.min_scale == pytest.approx(least, rel=CANCELLED)
        assert setting[2:] == (gamma, delta)
        plain = model.setting_for(k, False, n_trees, order)
        assert plain == (k, setting.min_scale, 1.0, 0.0)
    tuned = tune_neighbors(y_val, loc, near)
    mine = model.tuning_for(n_trees, order)
    np.testing.assert_allclose(mine.nll, tuned.nll, rtol=CANCELLED)
    assert (
        model.setting_for("tune", None, n_trees, order).n_neighbors
        == mine.n_neighbors[mine.best]
        == tuned.n_neighbors[tuned.best]
    )


def test_a_fit_with_fewer_trees_and_a_choice_of_them_agree(table, gbm, given):
    """What is tuned for five trees after the fit is what a fit with five trees tunes."""
    X = table[0][220:]
    choice = {"n_trees_sampled": 5, "tree_order": "last"}
    fresh = IBUGRegressor(gbm, delta_unit=1.0, random_state=0, **choice)
    fresh.fit(*split(table))
    assert given.setting_for("tune", **choice) == fresh.setting_for()
    expected = fresh.predict_distribution(X)
    mine = given.predict_distribution(X, "tune", **choice)
    np.testing.assert_array_equal(mine.scale, expected.scale)
    # k stays unless it is asked for; all trees are reached by their number.
    assert given.setting_for(**choice).n_neighbors == given.n_neighbors_
    assert fresh.setting_for("tune", n_trees_sampled=24) == given.setting_for()


def test_all_methods_take_the_same_trees(table, given):
    X, y = table[0][220:], table[1][220:]
    choice = {"n_trees_sampled": 3, "tree_order": "last"}
    near = given.find_neighborhood(X, **choice)
    assert (near.n_trees, near.tree_order) == (3, "last")
    scale = given.predict_distribution(X, 15, **choice).scale
    setting = given.setting_for(15, **choice)
    std = given.neighbor_targets(X, 15, **choice).std(axis=1)
    by_hand = setting.gamma * np.maximum(std, setting.min_scale) + setting.delta
    np.testing.assert_allclose(scale, by_hand, rtol=CANCELLED)
    assert not np.array_equal(scale, given.predict_distribution(X, 15).scale)
    # A neighbourhood knows its trees.
    np.testing.assert_array_equal(given.predict_distribution(near, 15).scale, scale)
    np.testing.assert_array_equal(
        given.predict_posterior(near, "laplace", None, 15).scale, scale / np.sqrt(2.0)
    )
    np.testing.assert_array_equal(
        given.score_families(X, y, n_neighbors=15, **choice).nll,
        given.score_families(near, y, n_neighbors=15).nll,
    )
    labels = given.y_train_ > 6.0
    np.testing.assert_array_equal(
        given.neighbor_class_shares(X, labels, 15, **choice).shares,
        given.neighbor_class_shares(near, labels, 15).shares,
    )
    np.testing.assert_array_equal(
        given.scale_path(X, [15], **choice).scale, given.scale_path(near, [15]).scale
    )


def test_validation_rows_of_any_trees(table, given, gbm):
    near = given.find_validation(5, "last")
    expected = slow_targets(gbm, table, 5, "last", given.seed_)
    np.testing.assert_array_equal(near.targets, expected)
    assert near.affinities.max() <= 5
    loc, scale = given.predict_distribution(near)
    setting = given.setting_for(None, None, 5, "last")
    score = calibrate_scale(
        given.y_validation_, loc,
        np.maximum(expected[:, : setting.n_neighbors].std(axis=1), setting.min_scale),
    ).score  # fmt: skip
    assert nll_gaussian(given.y_validation_, loc, scale) == pytest.approx(score, rel=CANCELLED)
    np.testing.assert_array_equal(given.validation_.targets, given.find_validation().targets)


def test_few_trees_are_honestly_worse_than_a_kept_calibration_would_tell(table, given):
    """The point of it: a calibration of all trees put on one tree's neighbours is not the best."""
    near = given.find_validation(1, "last")
    k, least, gamma, delta = given.setting_for()
    std = near.targets[:, :k].std(axis=1)
    kept = nll_gaussian(given.y_validation_, near.loc, gamma * np.maximum(std, least) + delta)
    mine = nll_gaussian(given.y_validation_, *given.predict_distribution(near))
    assert mine <= kept


def test_without_validation_rows_nothing_can_be_recalibrated(table, gbm):
    X, y, _, _ = split(table)
    model = IBUGRegressor(gbm, 9).fit(X, y)
    assert model.validation_ is None
    assert model.tuning_for() is None
    assert model.setting_for(n_trees_sampled=3) == (9, 1e-15, 1.0, 0.0)
    for ask in (
        lambda: model.setting_for("tune"),
        lambda: model.predict_distribution(X, "tune"),
        model.find_validation,
    ):
        with pytest.raises(InvalidParameter, match=r"^[^\n]*needs validation rows[^\n]*\.$"):
            ask()


def test_a_model_for_tuning_may_have_other_trees(table):
    X, y = table
    base = GradientBoostingRegressor(n_estimators=99, n_iter_no_change=2, random_state=0)
    model = IBUGRegressor(base, random_state=0).fit(X, y)
    n_fewer = model._validation.leaves.n_trees
    assert n_fewer != model.n_trees_
    assert model.setting_for(n_trees_sampled=model.n_trees_) == model.setting_for()
    assert model.setting_for(15, n_trees_sampled=1) != model.setting_for(15)
    many = max(n_fewer, model.n_trees_ - 1)
    if many < model.n_trees_:
        assert model.setting_for(n_trees_sampled=many) == model.setting_for()


def test_a_choice_is_searched_once_and_only_so_many_are_kept(table, gbm, monkeypatch):
    model = IBUGRegressor(gbm, delta_unit=1.0, random_state=0).fit(*split(table))
    seen = []
    search = "gbuq_core.ibug.recalibrating.nearest"
    from gbuq_core.ibug.affinity import nearest

    monkeypatch.setattr(search, lambda *arguments: seen.append(1) or nearest(*arguments))
    for _ in range(3):
        for k in CANDIDATES[:5]:
            model.setting_for(k, n_trees_sampled=4)
            model.setting_for(k, False)
    assert len(seen) == 1  # of four trees; that of all was kept by the fit
    for n_trees in range(1, 24):
        model.setting_for(9, n_trees_sampled=n_trees)
    kept = model._validation._near
    assert len(kept._values) == kept._most == 8


def test_rows_are_searched_in_parts_without_a_trace(given, monkeypatch):
    whole = given.find_validation(6, "random")
    monkeypatch.setattr("gbuq_core.ibug.search._PART", 500)
    fresh = copy.deepcopy(given)
    for mine, expected in zip(fresh.find_validation(6, "random"), whole, strict=True):
        np.testing.assert_array_equal(mine, expected)
    assert fresh.setting_for(31, None, 6, "random") == given.setting_for(31, None, 6, "random")


def test_stated_memory_covers_what_is_held(table, given, owned):
    for model in (given, owned):
        seen = model._validation
        for n_trees in range(1, 24):
            model.setting_for(n_trees_sampled=n_trees)
        kept = sum(part.nbytes for near, _ in seen._near._values.values() for part in near)
        held = model._rows.leaves.n_bytes + seen.own.nbytes + model.y_train_.nbytes + kept
        held += seen.leaves.n_bytes if model is owned else 0
        assert held < model.memory_bytes_ < held + 10_000  # predictions, targets, places
        # One byte for a leaf; two for a neighbour's index, one for its affinity.
        assert seen.own.itemsize == 1
        assert kept == 8 * 60 * 160 * 2


def test_copies_and_pickles_find_the_same(given, table):
    X = table[0][220:]
    choice = {"n_trees_sampled": 4, "tree_order": "random"}
    expected = given.predict_distribution(X, 21, **choice)
    pickled = pickle.loads(pickle.dumps(given))  # noqa: S301 (of this test)
    for twin in (copy.deepcopy(given), pickled):
        np.testing.assert_array_equal(twin.predict_distribution(X, 21, **choice), expected)
        assert twin.memory_bytes_ == given.memory_bytes_
    assert not hasattr(clone(given), "n_neighbors_")


def test_recent_values_forget_the_oldest():
    kept = Recent(2)
    for key in (1, 2, 1, 3):  # 1 was asked for after 2
        kept.get(key, lambda key=key: key)
    assert kept.get(1, lambda: "anew") == 1
    assert kept.get(2, lambda: "anew") == "anew"
    assert copy.deepcopy(kept).get(1, lambda: "empty") == "empty"
