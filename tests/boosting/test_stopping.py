"""Where boosted ensembles stop: two clocks by default, and exactly the papers' fit without."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GroupKFold, KFold, TimeSeriesSplit
from tolerances import CANCELLED, SAME_SUM, ZERO

from gbuq_core import make_heteroscedastic
from gbuq_core.boosting import BoostedEnsembleClassifier, BoostedEnsembleRegressor
from gbuq_core.boosting import stopping as rule
from gbuq_core.calibration import choose_clocks
from gbuq_core.calibration.clocks import Clocks, tree_grid
from gbuq_core.calibration.splits import Split
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.uncertainty import decompose_classification, decompose_regression

SMALL = {"n_members": 3, "n_trees": 60, "depth": 3, "learning_rate": 0.2, "random_state": 0}
KINDS = pytest.mark.parametrize("kind", [BoostedEnsembleRegressor, BoostedEnsembleClassifier])
ENSEMBLES = {
    "independent": {},
    "sgb": {"method": "sgb"},
    "virtual": {"ensemble": "virtual", "truncation_step": 5},
    "cyclical": {"method": "csglb", "cycle_length": 15},
    "burnt in": {"method": "cbsglb", "cycle_length": 10, "burn_in_cycles": 1},
    "catboost": {"engine": "catboost"},
}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def data():
    return make_heteroscedastic(200, random_state=0)


@pytest.fixture
def y(kind, data):
    if kind is BoostedEnsembleRegressor:
        return data.y
    return np.where(data.y > np.median(data.y), "high", "low")


def at(model, mean_trees, scale_trees, factor=1.5, df=4.0):
    """A fitted regression stopped by hand."""
    nothing = np.zeros(1)
    return model.with_clocks(
        Clocks(
            mean_trees=mean_trees,
            scale_trees=scale_trees,
            factor=factor,
            df=df,
            n_rows=9,
            n_trees=np.array([1]),
            rmse=nothing,
            nll=nothing,
            nll_uncorrected=nothing,
        )
    )


@KINDS
def test_two_clocks_are_the_default(kind, data, y):
    assert kind().stopping == "two_clocks"
    model = kind(**SMALL).fit(data.X, y)
    assert model.stopping_ == "two_clocks"
    assert model.clocks_.n_rows == len(y)
    for name in ("n_trees", "nll" if kind is BoostedEnsembleRegressor else "log_loss"):
        assert len(getattr(model.clocks_, name)) == len(tree_grid(60))
    early = kind(**SMALL, stopping="early").fit(data.X, y)
    assert early.stopping_ == "early"
    if kind is BoostedEnsembleRegressor:
        assert early.clocks_.mean_trees == early.clocks_.scale_trees
        assert early.clocks_.factor == 1.0
    else:
        assert early.clocks_.temperature == 1.0


@KINDS
@pytest.mark.parametrize("name", ENSEMBLES)
def test_none_is_the_papers_fit_bit_for_bit(kind, name, data, y):
    """Choosing leaves no trace: the trees of both fits are the same, and None uses all of them."""
    knobs = {**SMALL, **ENSEMBLES[name], "mean_weight": None}
    papers = kind(**knobs, stopping=None).fit(data.X, y)
    assert papers.stopping_ is None
    assert papers.clocks_ is None
    chosen = kind(**knobs).fit(data.X, y)
    stages = [5, 20, 60]
    np.testing.assert_array_equal(
        papers.staged_members(data.X, at=stages).members,
        chosen.staged_members(data.X, at=stages).members,
    )
    points = papers.member_trees()
    every = papers.staged_members(data.X, at=points).members
    members = papers.predict_members(data.X)
    np.testing.assert_array_equal(members, every.reshape(-1, *every.shape[2:]))
    assert points[-1] == 60


@pytest.mark.parametrize("name", ENSEMBLES)
@pytest.mark.parametrize(("a", "b"), [(60, 20), (30, 60), (30, 30)])
def test_members_are_truncated_as_defined(name, a, b, data):
    """Means at points of the first a trees, variances times g^2 at b for every member."""
    model = BoostedEnsembleRegressor(**SMALL, **ENSEMBLES[name], stopping=None).fit(data.X, data.y)
    stopped = at(model, a, b)
    if name == "virtual":
        step = max(1, round(5 * a / 60))
        points = [t for t in range(step, a + 1, step) if t > 0.5 * a]
    elif name == "cyclical":
        points = list(range(15, a + 1, 15))
    elif name == "burnt in":
        points = list(range(20, a + 1, 10))
    else:
        points = [a]
    assert stopped.member_trees().tolist() == points
    means = model.staged_members(data.X, at=points).members[..., 0]
    variances = model.staged_members(data.X, at=[b]).members[0, ..., 1]
    members = stopped.predict_members(data.X)
    # CatBoost adds up the trees of a stage in another order.
    rounding = SAME_SUM if name == "catboost" else 0.0
    np.testing.assert_allclose(members[..., 0], means.reshape(-1, len(data.X)), rtol=rounding)
    expected = np.broadcast_to(1.5**2 * variances, members[..., 1].shape)
    np.testing.assert_allclose(members[..., 1], expected, rtol=SAME_SUM)
    uncertainty = stopped.predict_uncertainty(data.X)
    np.testing.assert_array_equal(
        uncertainty, decompose_regression(members[..., 0], members[..., 1])
    )
    np.testing.assert_allclose(
        uncertainty.knowledge, means.reshape(-1, len(data.X)).var(axis=0), rtol=CANCELLED, atol=ZERO
    )
    law = stopped.predict_distribution(data.X)
    np.testing.assert_array_equal(law.loc, stopped.predict(data.X))
    np.testing.assert_array_equal(law.scale, np.sqrt(uncertainty.total))
    np.testing.assert_array_equal(law.df, 4.0)
    assert model.clocks_ is None  # the copy shares the trees and nothing else


@pytest.mark.parametrize(
    ("step", "a", "points"),
    [
        (50, 1000, range(550, 1001, 50)),
        (50, 500, range(275, 501, 25)),
        (50, 330, range(176, 331, 16)),  # 16.5 is 16 to the nearest even number
        (1, 300, range(151, 301)),
        (50, 7, [4, 5, 6, 7]),  # a step of at least one tree
    ],
)
def test_virtual_members_keep_their_number(step, a, points):
    X, y = np.zeros((2, 1)), [0.0, 1.0]
    model = BoostedEnsembleRegressor(
        ensemble="virtual", truncation_step=step, depth=1, stopping=None
    ).fit(X, y)
    assert model._points(a).tolist() == list(points)


def test_the_mean_of_a_cyclical_ensemble_ends_with_a_cycle(data):
    for knobs, allowed in (
        ({"method": "csglb", "cycle_length": 10}, {20, 30, 40, 50, 60}),
        ({"method": "csglb", "cycle_length": 10, "burn_in_cycles": 2}, {40, 50, 60}),
        ({"method": "csglb", "cycle_length": 60}, {60}),
    ):
        model = BoostedEnsembleRegressor(**SMALL, **knobs).fit(data.X, data.y)
        tried = model.clocks_.n_trees[np.isfinite(model.clocks_.rmse)]
        assert set(tried.tolist()) == allowed
        assert model.clocks_.mean_trees in allowed
        assert set(tree_grid(60).tolist()) <= set(model.clocks_.n_trees.tolist())
        assert len(model.member_trees()) == (
            1 if allowed == {60} else sorted(allowed).index(model.clocks_.mean_trees) + 2
        )


@pytest.mark.parametrize("name", ENSEMBLES)
def test_what_was_chosen_is_what_predicts(name, data):
    model = BoostedEnsembleRegressor(**SMALL, **ENSEMBLES[name]).fit(data.X, data.y)
    again = model.with_clocks(model.clocks_)
    np.testing.assert_array_equal(model.predict_members(data.X), again.predict_members(data.X))
    by_hand = at(model, model.clocks_.mean_trees, model.clocks_.scale_trees, model.clocks_.factor)
    np.testing.assert_array_equal(model.predict_members(data.X), by_hand.predict_members(data.X))


def test_the_callers_own_rows_choose(data):
    """By hand: fit on the others, read the stages, choose; then the models have all rows."""
    X, y, later, known = data.X[:150], data.y[:150], data.X[150:], data.y[150:]
    model = BoostedEnsembleRegressor(**SMALL).fit(X, y, later, known)
    seed = int(np.random.SeedSequence((0, 3, 0)).generate_state(1)[0])
    part = BoostedEnsembleRegressor(
        **{**SMALL, "random_state": seed}, stopping=None, mean_weight=rule.MEAN_WEIGHT
    ).fit(X, y)
    expected = choose_clocks(part.stages(later, known))
    for name, value in vars(expected).items():
        np.testing.assert_array_equal(getattr(model.clocks_, name), value)
    assert model.n_rows_ == 200
    everything = BoostedEnsembleRegressor(**SMALL, stopping=None, mean_weight=rule.MEAN_WEIGHT).fit(
        data.X, data.y
    )
    np.testing.assert_array_equal(
        model.staged_members(X).members, everything.staged_members(X).members
    )


@KINDS
def test_rows_to_choose_on_come_in_pairs(kind, data, y):
    with pytest.raises(InvalidData, match="belong together"):
        kind(**SMALL).fit(data.X, y, data.X)
    with pytest.raises(InvalidData, match="y_val has the shape"):
        kind(**SMALL).fit(data.X, y, data.X, y[:5])
    model = kind(**SMALL).fit(data.X[:20], y[:20], data.X[20:40], y[20:40])
    assert model.stopping_ == "two_clocks"  # few rows, but they are the caller's own
    assert model.clocks_.n_rows == 20


@KINDS
def test_splitters_decide_which_rows_choose(kind, data, y, monkeypatch):
    seen = []
    plain = rule.fit_clocks
    from gbuq_core.boosting import base

    def watched(*arguments):
        (splits,) = (part for part in arguments if isinstance(part, list))
        seen.append(splits)
        return plain(*arguments)

    monkeypatch.setattr(base, "fit_clocks", watched)
    small = {**SMALL, "n_trees": 10, "n_members": 2}
    groups = np.repeat(np.arange(20), 10)
    kind(**small).fit(data.X, y)
    assert sorted(np.concatenate([s.held for s in seen[-1]])) == list(range(200))
    assert len(seen[-1]) == 5
    kind(**small, cv=3).fit(data.X, y)
    assert len(seen[-1]) == 3
    kind(**small, cv=KFold(4)).fit(data.X, y)
    assert [split.held[0] for split in seen[-1]] == [0, 50, 100, 150]
    shuffled = np.random.default_rng(0).permutation(200)
    kind(**small, cv=TimeSeriesSplit(2)).fit(data.X[shuffled], y[shuffled])
    assert all(split.fitted.max() < split.held.min() for split in seen[-1])
    for cv in (None, GroupKFold(5)):
        kind(**small, cv=cv).fit(data.X, y, groups=groups)
        for split in seen[-1]:
            assert not set(groups[split.held]) & set(groups[split.fitted])
    kind(**small, cv=[(np.arange(150), np.arange(150, 200))]).fit(data.X, y)
    assert seen[-1][0].held.tolist() == list(range(150, 200))


def test_one_fifth_of_many_rows_chooses():
    many = make_heteroscedastic(2000, random_state=1)
    model = BoostedEnsembleRegressor(**{**SMALL, "n_trees": 15})
    for groups in (None, np.arange(2000) // 10):
        assert model.fit(many.X, many.y, groups=groups).clocks_.n_rows == 400


@pytest.mark.parametrize(
    ("knobs", "groups", "message"),
    [
        ({"cv": "five"}, None, "cv must be None"),
        ({"cv": 1}, None, "cv must be a whole number"),
        ({"cv": True}, None, "cv must be None"),
        ({"cv": KFold(500)}, None, "cv cannot split these rows"),
        ({"cv": GroupKFold(3)}, None, "cv cannot split these rows"),
        ({}, np.zeros(200), "All rows are in one group"),
        ({}, np.zeros(3), "groups has 3 values"),
        ({"stopping": "late"}, None, "stopping must be one of"),
        ({"tails": "heavy"}, None, "tails must be one of"),
        ({"mean_weight": -1.0}, None, "mean_weight must be"),
        ({"mean_weight": "big"}, None, "mean_weight must be"),
    ],
)
def test_nonsense_is_refused_in_one_sentence(knobs, groups, message, data):
    with pytest.raises((InvalidData, InvalidParameter), match=message) as error:
        BoostedEnsembleRegressor(**SMALL, **knobs).fit(data.X, data.y, groups=groups)
    assert "\n" not in str(error.value)


@KINDS
def test_few_rows_choose_nothing(kind, data, y):
    chosen = data.X[:39], np.array([*y[:20], *y[::10][:19]])
    with pytest.warns(UserWarning, match="39 rows are too few") as caught:
        model = kind(**SMALL).fit(*chosen)
    assert caught[0].filename == __file__
    assert model.stopping_ is None
    assert model.clocks_ is None
    plain = kind(**SMALL, stopping=None).fit(*chosen)
    np.testing.assert_array_equal(model.predict_members(data.X), plain.predict_members(data.X))


@KINDS
@pytest.mark.parametrize("temperature", ["posterior", 2.0])
def test_a_chain_is_not_truncated(kind, temperature, data, y):
    knobs = {**SMALL, "temperature": temperature}
    model = kind(**knobs).fit(data.X, y)
    assert model.stopping_ is None
    assert model.clocks_ is None
    plain = kind(**knobs, stopping=None).fit(data.X, y)
    np.testing.assert_array_equal(model.predict_members(data.X), plain.predict_members(data.X))


@pytest.mark.parametrize("name", ENSEMBLES)
def test_classes_stop_at_one_number_of_trees_with_one_temperature(name, data):
    y = np.digitize(data.y, np.quantile(data.y, [0.3, 0.7]))
    model = BoostedEnsembleClassifier(**SMALL, **ENSEMBLES[name]).fit(data.X, y)
    clocks = model.clocks_
    papers = clone(model).set_params(stopping=None).fit(data.X, y)
    points = model.member_trees()
    assert points[-1] <= clocks.n_trees_used
    staged = papers.staged_members(data.X, at=points).members
    logits = np.log(staged.reshape(-1, *staged.shape[2:])) / clocks.temperature
    softened = np.exp(logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True))
    members = model.predict_members(data.X)
    np.testing.assert_allclose(members, softened, rtol=CANCELLED, atol=ZERO)
    np.testing.assert_array_equal(
        model.predict_uncertainty(data.X), decompose_classification(members)
    )
    np.testing.assert_allclose(model.predict_proba(data.X), members.mean(axis=0))


@KINDS
@pytest.mark.parametrize("name", ["independent", "virtual", "cyclical"])
def test_threads_do_not_matter(kind, name, data, y):
    alone, other = (
        kind(**SMALL, **ENSEMBLES[name], n_jobs=n_jobs).fit(data.X, y) for n_jobs in (1, 4)
    )
    np.testing.assert_array_equal(alone.predict_members(data.X), other.predict_members(data.X))
    for field, value in vars(alone.clocks_).items():
        np.testing.assert_array_equal(getattr(other.clocks_, field), value)


@KINDS
def test_a_clock_at_the_last_tree_warns(kind, data, y):
    with pytest.warns(ConvergenceWarning, match="All 6 trees") as caught:
        kind(**{**SMALL, "n_trees": 6}).fit(data.X, y)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = kind(**{**SMALL, "n_trees": 400, "learning_rate": 0.5}).fit(data.X, y)
    assert model.clocks_.n_trees[-1] == 400


def test_default_intervals_hold(rng):
    """Growing noise and four idle columns: 90 % within four standard errors; the papers' do not."""
    train, new = (make_heteroscedastic(n, random_state=n) for n in (800, 4000))
    X, Z = (np.column_stack([part.X, rng.normal(size=(len(part.y), 4))]) for part in (train, new))
    knobs = {"n_members": 3, "n_trees": 400, "random_state": 0}
    coverage = {}
    for stopping in (None, "two_clocks"):
        model = BoostedEnsembleRegressor(**knobs, stopping=stopping).fit(X, train.y)
        lower, upper = model.predict_distribution(Z).interval(0.9)
        coverage[stopping] = np.mean((lower <= new.y) & (new.y <= upper))
    error = np.sqrt(0.09 / 800 + 0.09 / 4000)  # of the rows that choose and of those that count
    assert abs(coverage["two_clocks"] - 0.9) < 4 * error
    assert coverage[None] < 0.9 - 8 * error


def test_stopped_copies_refuse_trees_that_are_not_there(data):
    model = BoostedEnsembleRegressor(**SMALL, stopping=None).fit(data.X, data.y)
    with pytest.raises(InvalidParameter, match="the ensemble has 60"):
        at(model, 61, 5)
    with pytest.raises(InvalidData, match="shape"):
        model.stages(data.X, data.y[:5])


def test_a_fit_with_folds_that_fails_leaves_no_splits_to_the_next():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=60)
    model = BoostedEnsembleRegressor(n_members=2, n_trees=20, random_state=0)
    expected = clone(model).fit(X, y).predict(X)
    splits = [Split(np.arange(40), np.arange(40, 60))]
    with pytest.raises(InvalidData):
        model.fit_with_folds(X, np.full(60, np.nan), splits)
    np.testing.assert_array_equal(model.fit(X, y).predict(X), expected)
