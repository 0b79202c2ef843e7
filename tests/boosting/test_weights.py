"""sample_weight and class_weight: a weight of 3 is three rows, of 0 none."""

import boosting_parts as parts
import numpy as np
import pandas as pd
import pytest
from saving_parts import SMALL, saved
from sklearn.preprocessing import TargetEncoder
from tolerances import CANCELLED, NEAR_ZERO, SAME_SUM, ZERO

from gbuq_core import BoostedEnsembleClassifier, BoostedEnsembleRegressor, make_heart
from gbuq_core.boosting import load_ensemble
from gbuq_core.boosting.gaussian_kernels import gaussian_gradients, mask_gaussian
from gbuq_core.boosting.numba_engine import sum_classes, sum_gaussian, with_own_mask
from gbuq_core.boosting.softmax_kernels import mask_classes, softmax_gradients
from gbuq_core.calibration import ClassStages, Stages, choose_class_clocks, choose_clocks
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.inputs import check_sample_weight
from gbuq_core.trees.binning import choose_borders, fit_encoding, merge_rows, single_cells

BOTH = pytest.mark.parametrize("kind", [BoostedEnsembleRegressor, BoostedEnsembleClassifier])
# What draws nothing row by row: all rows are in every tree.
WHOLE = [
    {"method": "sglb"},
    {"method": "sglb", "temperature": "posterior"},
    {"method": "sglb", "leaf_estimation": "gradient"},
    {"method": "csglb", "cycle_length": 5},
    {"method": "sgb", "subsample": 1.0},
]


@pytest.fixture(scope="module")
def table():
    """Rows of the heart's 72 cells, y in eighths, so that sums do not depend on their order."""
    rng = np.random.default_rng(3)
    heart = make_heart(n_per_cell=10, random_state=0)
    rows = rng.permutation(len(heart.X))[:200]
    weight = rng.integers(0, 6, 200)
    return heart.X[rows], np.round(8 * heart.y[rows] + rng.normal(0, 4, 200)) / 8, weight


@pytest.fixture
def rows(kind, table):
    """The table with a target for the kind of model."""
    X, y, weight = table
    return X, np.digitize(y, [-0.2, 0.5]) if kind is BoostedEnsembleClassifier else y, weight


@BOTH
@pytest.mark.parametrize("knobs", WHOLE, ids=str)
def test_whole_weights_equal_repeated_rows(rows, kind, knobs):
    X, y, weight = rows
    knobs = {**SMALL, "standardize_target": False, **knobs}
    weighted = kind(**knobs).fit(X, y, sample_weight=weight)
    repeated = kind(**knobs).fit(X.repeat(weight, axis=0), y.repeat(weight))
    assert repeated.n_cells_ == weighted.n_cells_ < weighted.n_rows_
    assert weighted.total_weight_ == repeated.n_rows_ == repeated.total_weight_ == weight.sum()
    assert weighted.langevin_ == repeated.langevin_
    np.testing.assert_array_equal(weighted.leaf_indices(X), repeated.leaf_indices(X))
    # Sums over a cell's rows are exact, products of weights and squared deviations nearly.
    np.testing.assert_allclose(
        weighted.predict_members(X), repeated.predict_members(X), rtol=CANCELLED, atol=ZERO
    )


@BOTH
@pytest.mark.parametrize("method", ["sglb", "sgb"])
def test_weights_of_one_change_nothing(rows, kind, method):
    X, y, _ = rows
    plain = kind(**SMALL, method=method).fit(X, y)
    for ones in (np.ones(len(y)), [1] * len(y), 1.0):
        same = kind(**SMALL, method=method).fit(X, y, sample_weight=ones)
        np.testing.assert_array_equal(same.predict_members(X), plain.predict_members(X))


@BOTH
def test_rows_of_weight_zero_are_left_out(rows, kind):
    """Also from the folds, the groups and the classes."""
    X, y, weight = rows
    knobs = {**SMALL, "stopping": "two_clocks"}
    groups = np.arange(len(y)) % 7
    some = weight > 0
    strange = np.where(some, y, 99 if kind is BoostedEnsembleClassifier else 1e70)
    weighted = kind(**knobs).fit(X, strange, groups=groups, sample_weight=some)
    fewer = kind(**knobs).fit(X[some], y[some], groups=groups[some])
    np.testing.assert_array_equal(weighted.predict_members(X), fewer.predict_members(X))
    with pytest.raises(InvalidData, match=r"^groups has 3 values"):
        kind(**knobs).fit(X, y, groups=[1, 2, 3], sample_weight=some)


@pytest.mark.parametrize("n_classes", [None, 3])
@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("subsample", [1.0, 0.4])
def test_rows_that_are_drawn_bring_their_weight(rng, n_classes, merge, subsample):
    """Sums of drawn and masked rows add up: weights v and w give what v + w gives."""
    columns = rng.integers(0, 3, (3, 400)).astype(np.uint8)
    cells = merge_rows(columns) if merge else single_cells(columns)
    n_outputs = n_classes or 2
    raw = rng.normal(size=(len(cells.codes), n_outputs))
    y = rng.normal(size=400) if n_classes is None else rng.integers(0, n_classes, 400)
    values = parts.numbers(n_rows=400.0, subsample=subsample)
    weights = rng.integers(0, 4, (2, 400)) + rng.random((2, 400))

    def sums_of(weight):
        state = parts.member_at(raw)
        if n_classes is None:
            sums = with_own_mask(sum_gaussian(cells, y, weight))
            mask_gaussian(sums, 0.6, np.uint64(7))
            gaussian_gradients(sums, state, values, 1.0, np.uint64(9))
            return parts.written(state)
        sums = with_own_mask(sum_classes(cells, y, n_classes, weight))
        mask_classes(sums, 0.6, np.uint64(7))
        softmax_gradients(sums, state, values, 1.0, np.uint64(9))
        return state.gradients, sums.graded, state.channels  # probabilities have no weight

    left, other, both = sums_of(weights[0]), sums_of(weights[1]), sums_of(weights.sum(axis=0))
    for first, second, together in zip(left, other, both, strict=True):
        np.testing.assert_allclose(first + second, together, rtol=CANCELLED, atol=NEAR_ZERO)
    np.testing.assert_allclose(
        sums_of(3 * weights[0])[2], 3 * left[2], rtol=CANCELLED, atol=NEAR_ZERO
    )
    counted = left[2][:, -1].sum() / weights[0].sum()
    assert counted == pytest.approx(subsample, abs=0.1 if subsample < 1.0 else ZERO)


@pytest.mark.parametrize("n_classes", [None, 2, 3])
def test_continuous_rows_get_the_noise_of_the_rows_they_stand_for(rng, n_classes):
    """Without repeats, weighted rows make cells in their order: as repeated rows do."""
    X, weight = rng.normal(size=(60, 2)), rng.integers(2, 6, 60)
    y = np.round(8 * X[:, 0]) / 8
    kind = BoostedEnsembleRegressor
    if n_classes:
        kind, y = BoostedEnsembleClassifier, np.arange(60) % n_classes
    knobs = {**SMALL, "standardize_target": False}
    weighted = kind(**knobs).fit(X, y, sample_weight=weight)
    repeated = kind(**knobs).fit(X.repeat(weight, axis=0), y.repeat(weight))
    np.testing.assert_allclose(
        weighted.predict_members(X), repeated.predict_members(X), rtol=CANCELLED, atol=ZERO
    )


@pytest.mark.parametrize("method", ["sgb", "sglb"])
def test_catboost_takes_weights(rng, method):
    X, weight = rng.normal(size=(400, 2)), rng.integers(0, 4, 400)
    y = X[:, 0] + np.where(weight > 1, 1.0, -1.0) + 0.1 * rng.normal(size=400)
    knobs = {**SMALL, "engine": "catboost", "method": method, "n_trees": 100}
    means = [
        BoostedEnsembleRegressor(**knobs).fit(a, b, sample_weight=w).predict(X).mean()
        for a, b, w in (
            (X, y, weight),
            (X.repeat(weight, axis=0), y.repeat(weight), None),
            (X, y, None),
        )
    ]
    assert abs(means[0] - means[1]) < 0.1
    assert abs(means[2] - means[1]) > 0.3


def test_level_means_are_those_of_repeated_rows(rng):
    codes, weight = rng.integers(0, 40, 500), rng.integers(1, 4, 500)
    column = pd.DataFrame({"shop": codes.astype(str)})
    repeated = column.iloc[np.arange(500).repeat(weight)]
    for n_classes in (None, 2, 3):
        y = rng.normal(size=500) + codes if n_classes is None else codes % n_classes
        encoding, matrix = fit_encoding(column, y, n_classes, ["shop"], 0, weight.astype(float))
        expected = fit_encoding(repeated, y.repeat(weight), n_classes, ["shop"], 0)[0]
        own, other = encoding.columns[0], expected.columns[0]
        np.testing.assert_allclose(own.means, other.means, rtol=SAME_SUM)
        np.testing.assert_allclose(own.fallback, other.fallback, rtol=SAME_SUM)
        # Weights that are all 2 change no mean of a level; the folds are the same.
        double = fit_encoding(column, y, n_classes, ["shop"], 0, np.full(500, 2.0))[1]
        plain = fit_encoding(column, y, n_classes, ["shop"], 0)[1]
        assert np.abs(double - plain).max() < 0.35 * np.std(plain)
        assert matrix.shape == plain.shape
    one_row_each = fit_encoding(column, y, None, ["shop"], 0, np.ones(500))[1]
    encoder = TargetEncoder(target_type="continuous", cv=5)
    assert one_row_each.shape == encoder.fit_transform(column, y).shape


def test_borders_part_weights_evenly(rng):
    values, weight = rng.normal(size=300), rng.integers(1, 9, 300)
    np.testing.assert_array_equal(
        choose_borders(values, 16, weight.astype(float)), choose_borders(values.repeat(weight), 16)
    )


def test_clocks_count_weighted_rows(rng):
    """Chosen on weighted rows as on repeated ones."""
    weight = rng.integers(1, 5, 80)
    y = rng.normal(size=80)
    mean = np.array([0.5, 0.1, 0.02])[:, None] * rng.normal(size=(3, 80)) + [[0.4], [0.0], [-0.1]]
    data = np.array([2.0, 0.5, 0.2])[:, None] * np.ones(80)
    shared = {"n_trees": np.array([5, 10, 20]), "for_mean": np.ones(3, bool)}
    once = Stages(mean=mean, knowledge=0.1 * data, data=data, y=y, weight=weight * 1.0, **shared)
    rows = np.arange(80).repeat(weight)
    other = Stages(
        mean=mean[:, rows], knowledge=0.1 * data[:, rows], data=data[:, rows], y=y[rows], **shared
    )
    for tails in ("normal", "student"):
        own, expected = choose_clocks(once, tails), choose_clocks(other, tails)
        assert (own.mean_trees, own.scale_trees) == (expected.mean_trees, expected.scale_trees)
        assert own.factor == pytest.approx(expected.factor, rel=1e-6)
        np.testing.assert_allclose(own.nll, expected.nll, rtol=CANCELLED)
        np.testing.assert_allclose(own.rmse, expected.rmse, rtol=SAME_SUM)
    logits = rng.normal(size=(2, 80, 3))
    log_p = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
    codes = rng.integers(0, 3, 80)
    shared = {"n_trees": np.array([5])}
    own = choose_class_clocks(
        ClassStages(log_probabilities=(log_p,), codes=codes, weight=weight * 1.0, **shared)
    )
    expected = choose_class_clocks(
        ClassStages(log_probabilities=(log_p[:, rows],), codes=codes[rows], **shared)
    )
    assert own.temperature == pytest.approx(expected.temperature, rel=1e-6)
    np.testing.assert_allclose(own.log_loss, expected.log_loss, rtol=CANCELLED)


@BOTH
@pytest.mark.parametrize("stopping", ["two_clocks", "early"])
def test_the_rows_that_choose_are_weighted(rows, kind, stopping):
    """The callers' own rows count once; all others as they weigh."""
    X, y, weight = rows
    model = kind(**{**SMALL, "stopping": stopping})
    model.fit(X, y, X[:50], y[:50], sample_weight=weight)
    assert model.total_weight_ == weight.sum() + 50
    assert model.clocks_.n_rows == 50
    model.fit(X, y, sample_weight=weight)
    assert model.clocks_.n_rows == (weight > 0).sum()
    again = load_ensemble(saved(model))
    assert again.total_weight_ == weight.sum()
    assert again.langevin_ == model.langevin_
    np.testing.assert_array_equal(again.predict_members(X), model.predict_members(X))


def test_class_weights_are_weights_of_rows(table):
    X, y, weight = table
    y = np.array(["no", "yes"])[(y > 0.8).astype(int)]
    plain = BoostedEnsembleClassifier(**SMALL)
    by_dict = BoostedEnsembleClassifier(**SMALL, class_weight={"yes": 3}).fit(X, y)
    by_rows = plain.fit(X, y, sample_weight=np.where(y == "yes", 3, 1))
    np.testing.assert_array_equal(by_dict.predict_proba(X), by_rows.predict_proba(X))
    balanced = BoostedEnsembleClassifier(**SMALL, class_weight="balanced")
    rare = (y == "yes").mean()
    expected = plain.fit(X, y, sample_weight=np.where(y == "yes", 0.5 / rare, 0.5 / (1 - rare)))
    model = balanced.fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), rtol=CANCELLED)
    assert model.total_weight_ == pytest.approx(len(y))
    # Balanced counts weighted rows too.
    weighted = balanced.fit(X, y, sample_weight=weight).predict_proba(X)
    other = balanced.fit(X.repeat(weight, axis=0), y.repeat(weight)).predict_proba(X)
    np.testing.assert_allclose(weighted, other, rtol=CANCELLED)


@BOTH
def test_weights_that_are_none(rows, kind):
    X, y, _ = rows
    for bad, why in (
        (np.full(200, -1.0), r"^sample_weight holds negative, missing or infinite values\.$"),
        (np.full(200, np.nan), r"^sample_weight holds negative, missing"),
        (np.ones(3), r"^sample_weight has the shape \(3,\), but X has 200 rows"),
        (np.ones((200, 2)), r"^sample_weight has the shape \(200, 2\)"),
        (["a"] * 200, r"^sample_weight holds values that are not numbers\.$"),
        (np.zeros(200), r"^sample_weight is zero in all rows"),
        (np.eye(200)[0] * 5, r"^sample_weight is positive in one row"),
    ):
        with pytest.raises(InvalidData, match=why):
            kind(**SMALL).fit(X, y, sample_weight=bad)


@pytest.mark.parametrize(
    ("class_weight", "why"),
    [
        ("even", r"^class_weight must be None, 'balanced' or a dict"),
        ({7: 2.0}, r"^class_weight names 7, which y never is\.$"),
        ({0: -1.0}, r"^class_weight must hold positive numbers\.$"),
    ],
)
def test_class_weights_that_are_none(table, class_weight, why):
    X, y, _ = table
    with pytest.raises((InvalidData, InvalidParameter), match=why):
        BoostedEnsembleClassifier(**SMALL, class_weight=class_weight).fit(X, (y > 0).astype(int))
    with pytest.raises(InvalidParameter, match=r"^class_weight is for classifiers"):
        BoostedEnsembleRegressor(**SMALL, class_weight="balanced").fit(X, y)


def test_sums_of_weights_are_exact(rng):
    """What is left of all weights when all are taken away is 0, whatever the order."""
    weight = check_sample_weight(rng.exponential(size=1000) ** 3 / 7.0, 1000)
    assert (np.sort(weight).cumsum()[-1] - weight[rng.permutation(1000)].cumsum()[-1]) == 0.0
    left = weight.sum() - weight[:400].sum() - weight[400:].sum()
    assert left == 0.0
