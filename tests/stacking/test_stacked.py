"""The stacked regressor and classifier: what they promise of any table, in small ones."""

import warnings

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.frozen import FrozenEstimator
from tolerances import SAME_SUM

from gbuq_core import (
    BoostedEnsembleClassifier,
    BoostedEnsembleRegressor,
    CalibratedRegressor,
    IBUGRegressor,
    StackedClassifier,
    StackedRegressor,
)
from gbuq_core.boosting import numba_engine
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.metrics import log_scores
from gbuq_core.stacking import base
from gbuq_core.unfamiliarity.rows import MANY_COLUMNS, find_promising

OWN = {"n_members": 2, "n_trees": 30, "depth": 3, "random_state": 0}
LGB = {"n_estimators": 30, "num_leaves": 7, "min_child_samples": 5, "verbose": -1, "n_jobs": 1}


def table(n=140, seed=0):
    """Numbers with gaps, a category, a constant column, and a smooth target with skewed noise."""
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-2.0, 2.0, (2, n))
    kind = rng.choice(["red", "blue", "<b>"], n)
    y = 3.0 + np.sin(2.0 * a) + (kind == "red") + 0.2 * rng.exponential(size=n)
    X = pd.DataFrame({"a": a, "b": np.where(b > 1.7, np.nan, b), "kind": kind, "same": 7.0})
    return X, y


X, Y = table()
NEW, Y_NEW = table(60, 1)
CLASSES = np.where(Y > 3.7, "high", "low")


def quiet(model, *data, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a clock that stops at the last of few trees
        return model.fit(*(data or (X, Y)), **options)


def regressor(stopping=None, **options):
    trees = BoostedEnsembleRegressor(**OWN, stopping=stopping)
    return StackedRegressor(trees, random_state=0, **options)


def classifier(**options):
    trees = BoostedEnsembleClassifier(**OWN, stopping=None)
    return StackedClassifier(trees, random_state=0, **options)


@pytest.fixture(scope="module")
def model():
    return quiet(regressor("two_clocks"))


@pytest.fixture(scope="module")
def classes():
    return quiet(classifier(), X, CLASSES)


def far():
    rows = NEW[:4].copy()
    rows["a"] = [0.0, 5.0, 20.0, -90.0]
    return rows


def test_the_law_is_better_than_the_trees_alone(model):
    law, trees = model.predict_distribution(NEW), model.estimator_.predict_distribution(NEW)
    assert law.crps(Y_NEW).mean() < 0.9 * trees.crps(Y_NEW).mean()
    assert sum(model.weights_.values()) == pytest.approx(1.0)
    assert model.weights_["trees"] < 0.9
    lower, upper = law.interval(0.9)
    assert 0.8 <= np.mean((lower <= Y_NEW) & (upper >= Y_NEW)) <= 0.99
    assert sum(model.component_weights_.values()) == pytest.approx(1.0)


def test_predict_is_not_worse_than_the_trees_and_the_law_has_a_mean_of_its_own(model):
    error = np.square(model.predict(NEW) - Y_NEW).mean()
    assert error <= np.square(model.estimator_.predict(NEW) - Y_NEW).mean()
    assert sum(model.mean_weights_.values()) == pytest.approx(1.0)
    assert not np.array_equal(model.predict(NEW), model.predict_distribution(NEW).loc)


def test_total_is_the_variance_of_the_law_and_the_sum_of_its_parts(model):
    rows = pd.concat([NEW, far()])
    total, data, knowledge = model.predict_uncertainty(rows)
    np.testing.assert_allclose(total, data + knowledge, rtol=1e-12)  # the issue's own
    np.testing.assert_allclose(total, model.predict_distribution(rows).variance(), rtol=SAME_SUM)
    assert (data >= 0.0).all()
    assert (knowledge >= 0.0).all()


def test_voices_add_up_to_the_law_on_all_numbers():
    model = quiet(regressor(support="real"))
    rows = pd.concat([NEW, far()])
    voices = model.predict_voices(rows)
    np.testing.assert_allclose(voices.weight.sum(axis=1), 1.0)
    mean = np.nansum(voices.weight * voices.mean, axis=1)
    law = model.predict_distribution(rows)
    np.testing.assert_allclose(law.loc, mean)
    second = np.nansum(voices.weight * (voices.variance + voices.mean**2), axis=1)
    np.testing.assert_allclose(law.variance(), second - mean**2, rtol=1e-6)
    total, data, knowledge = model.predict_uncertainty(rows)
    np.testing.assert_allclose(total, data + knowledge, rtol=1e-12)  # the issue's own
    assert (data > 0.0).all()


def test_residuals_stand_on_the_process_where_it_is_closer():
    rng = np.random.default_rng(1)
    x = rng.uniform(-2.0, 2.0, (400, 2))
    f = 3.0 * np.sin(2.0 * x[:, 0]) + x[:, 1] ** 2
    y = f + rng.exponential(size=400) - 1.0
    voices = quiet(regressor("two_clocks"), x[:300], y[:300]).predict_voices(x[300:])
    trees, residuals = (np.square(voices.mean[:, k] - f[300:]).mean() for k in (0, 1))
    assert residuals < 0.8 * trees


@pytest.mark.parametrize("one_from", [60, 1000], ids=["lengths once", "lengths in each fold"])
def test_the_process_hears_all_rows_and_is_judged_by_those_it_does_not_know(monkeypatch, one_from):
    heard = []

    def listen(process, axes, targets, *rest):
        heard.append(targets[:, 0])
        return tell(process, axes, targets, *rest)

    tell = base.condition
    monkeypatch.setattr(base, "condition", listen)
    monkeypatch.setattr(base, "ONE_PROCESS_FROM", one_from)
    monkeypatch.setattr(base, "_SMALLER_PROCESS", 40)
    monkeypatch.setattr(base.processes, "MOST_ROWS", 50)
    model = quiet(regressor())
    assert len(model._process.points) == 50
    every, *folds = heard
    assert len(every) == 140
    assert [len(fold) for fold in folds] == [112] * 5
    # Each row is missing in one fold.
    np.testing.assert_array_equal(np.sort(np.concatenate(folds)), np.sort(np.repeat(every, 4)))


@pytest.mark.parametrize("smooth", [True, False])
def test_the_process_follows_many_rows_where_it_has_earned_it_alone(monkeypatch, smooth):
    calls = []
    plain = base.processes.follow
    monkeypatch.setattr(base.processes, "follow", lambda *a: calls.append(1) or plain(*a))
    monkeypatch.setattr(base.processes, "MOST_ROWS", 100)
    rng = np.random.default_rng(0)
    x = rng.uniform(-1.0, 1.0, (1100, 4))
    f = smooth * (np.sin(4.0 * x[:, 0] * x[:, 1]) + x[:, 2])
    y = f + 0.05 * rng.normal(size=1100)
    model = quiet(regressor("two_clocks"), x[:-100], y[:-100])
    assert len(calls) == (6 if smooth else 0)  # all rows, and each fold's
    points, followed = len(model._process.points), len(model._process.rows)
    assert (points, followed) == (100, 1000 if smooth else 0)
    if smooth:
        error, of_trees = (
            np.square(each.predict(x[-100:]) - f[-100:]).mean()
            for each in (model, model.estimator_)
        )
        assert error < 0.1 * of_trees


def test_beyond_the_rows_the_process_speaks_louder_and_doubt_grows(model):
    beyond = model.find_beyond(far())
    assert beyond.share[0] < 0.2 < beyond.share[1] <= beyond.share[2]
    assert beyond.outside[:, 0].tolist() == [False, True, True, True]
    voices = model.predict_voices(far())
    assert (np.diff(voices.weight[:3, 3]) >= 0.0).all()
    assert 1.0 - voices.weight[2, 3] < 0.6 * (1.0 - voices.weight[0, 3])
    assert beyond.share[2] > 0.9
    knowledge = model.predict_uncertainty(far()).knowledge
    assert knowledge[2] > 10.0 * knowledge[0]
    strange = NEW[:2].assign(kind=["green", "red"], same=[7.0, 8.0])
    outside = model.find_beyond(strange).outside
    assert outside.tolist() == [[False, False, True, False], [False, False, False, True]]
    first_gap = model.find_beyond(NEW[:1].assign(a=np.nan))
    assert first_gap.outside.tolist() == [[True, False, False, False]]
    assert first_gap.columns == ("a", "b", "kind", "same")


def test_beyond_changes_no_law_of_rows_inside(model):
    # What the process says of a row counts there by its weight alone.
    inside = model.find_beyond(NEW).share == 0.0
    assert inside.mean() > 0.8
    weight = model.predict_voices(NEW).weight[inside]
    np.testing.assert_allclose(weight, np.tile([*model.weights_.values()], (len(weight), 1)))


def test_a_row_does_not_depend_on_its_batch_or_the_threads(model):
    law, parts = model.predict_distribution(NEW), model.predict_uncertainty(NEW)
    threads = quiet(regressor("two_clocks", n_jobs=3))
    assert threads.component_weights_ == model.component_weights_
    ends = law.quantile([0.05, 0.5, 0.95])
    np.testing.assert_array_equal(
        threads.predict_distribution(NEW).quantile([0.05, 0.5, 0.95]), ends
    )
    for k in (0, 33):
        row = NEW[k : k + 1]
        own = model.predict_distribution(row)
        np.testing.assert_array_equal(own.quantile([0.05, 0.5, 0.95])[0], ends[k])
        assert model.predict_uncertainty(row).knowledge[0] == parts.knowledge[k]
        assert model.predict(row)[0] == model.predict(NEW)[k]
        assert own.crps(Y_NEW[k : k + 1])[0] == law.crps(Y_NEW)[k]
        assert (own.loc[0], own.scale[0]) == (law.loc[k], law.scale[k])
        assert own.logpdf(Y_NEW[k : k + 1])[0] == law.logpdf(Y_NEW)[k]
        assert model.find_beyond(row).share[0] == model.find_beyond(NEW).share[k]
        for alone, all_rows in zip(
            model.predict_voices(row)[1:], model.predict_voices(NEW)[1:], strict=True
        ):
            np.testing.assert_array_equal(alone[0], all_rows[k])


def test_a_voice_that_is_not_named_does_not_speak():
    model = quiet(regressor(voices=["trees", "residuals"]))
    assert {v for v, weight in model.weights_.items() if weight > 0.0} <= {"trees", "residuals"}
    assert model.find_beyond(far()).share.tolist() == [0.0] * 4
    alone = quiet(regressor(voices=("trees",), support="real"))
    law, trees = (m.predict_distribution(NEW) for m in (alone, alone.estimator_))
    np.testing.assert_allclose(law.quantile([0.1, 0.9]), trees.quantile([0.1, 0.9]))
    np.testing.assert_allclose(law.crps(Y_NEW), trees.crps(Y_NEW), rtol=1e-3)
    assert alone.mean_weights_["trees"] == 1.0


def test_counts_get_whole_ends_and_no_negative_ones():
    rng = np.random.default_rng(0)
    x = rng.uniform(0.0, 2.0, (150, 1))
    y = rng.poisson(np.exp(x[:, 0] - 1.0)).astype(float)
    law = quiet(regressor(), x, y).predict_distribution(x)
    lower, upper = law.interval(0.9)
    assert (lower >= 0.0).all()
    assert (upper == np.round(upper)).all()
    np.testing.assert_allclose(
        sum(np.exp(law.logpdf(np.full(150, float(k)))) for k in range(40)), 1.0, rtol=1e-6
    )
    model = quiet(regressor(), x, y)
    alone = model.predict_distribution(x[7:8])
    assert (alone.loc[0], alone.scale[0]) == (law.loc[7], law.scale[7])
    targets = np.where(np.arange(150) < 3, [-1.0, 0.5, 2.0] * 50, y)
    scores = log_scores(law, targets, model.resolution_)
    assert np.flatnonzero(scores.outside).tolist() == [0, 1]
    assert np.isfinite(scores.mean)


def draw_log_normal(rng, n, s):
    X = rng.uniform(0.0, 3.0, (n, 3))
    return X, np.exp(X[:, 0] + s * rng.normal(size=n))


@pytest.mark.parametrize("s", [1.0, 3.0])
def test_intervals_of_skewed_targets_hold(s):
    rng = np.random.default_rng(20)
    model = quiet(regressor(), *draw_log_normal(rng, 400, s))
    new, y = draw_log_normal(rng, 2000, s)
    low, high = model.predict_distribution(new).interval(0.9)
    # Over ten seeds of full-size models .87 to .95; small trees of one seed stay within .05 of it.
    assert 0.84 < np.mean((low <= y) & (y <= high)) < 0.97
    assert (low >= 0.0).all()


def test_gross_outliers_are_named_and_widen_no_interval_of_the_others():
    rng = np.random.default_rng(3)
    X = rng.uniform(0.0, 3.0, (400, 3))
    y = 2.0 * X[:, 0] + 0.5 * rng.normal(size=400)
    spoilt = y.copy()
    spoilt[[5, 77, 300]] *= 1000.0
    plain, model = (quiet(regressor(), X, target) for target in (y, spoilt))
    np.testing.assert_array_equal(model.outliers_, [5, 77, 300])
    assert "3 targets lie far outside all others." in model.describe()[1]
    widths = [np.median(np.diff(one.predict_distribution(X[:100]).interval(0.5), axis=0))
              for one in (plain, model)]  # fmt: skip
    assert widths[1] < 1.3 * widths[0]


@pytest.mark.parametrize("kind", [StackedRegressor, StackedClassifier])
def test_a_search_over_the_usual_trees_says_what_to_pass(kind):
    with pytest.raises(InvalidParameter, match=r"estimator is None: pass Stacked\w+\(Boosted"):
        kind().set_params(estimator__depth=3)
    trees = kind(classifier().estimator if kind is StackedClassifier else regressor().estimator)
    assert trees.set_params(estimator__depth=4, n_jobs=1).estimator.depth == 4


def test_weights_count_rows_and_rows_of_weight_0_are_left_out():
    weight = np.r_[np.zeros(30), np.ones(110)]
    some = quiet(regressor(), sample_weight=weight)
    kept = quiet(regressor(), X[30:], Y[30:])
    assert some.component_weights_ == kept.component_weights_
    np.testing.assert_array_equal(some.predict(NEW), kept.predict(NEW))
    heavy = quiet(regressor(), sample_weight=np.where(Y > 4.0, 3.0, 1.0))
    assert heavy.predict_distribution(NEW).loc.mean() > kept.predict_distribution(NEW).loc.mean()


def test_a_new_group_is_no_stranger_than_one_that_was_left_out():
    """A column that is equal within a unit names it: its rows tell of each other."""
    rng = np.random.default_rng(0)
    unit = np.repeat(np.arange(90), 8)
    size, effect = rng.normal(size=90), 2.0 * rng.normal(size=90)
    X = np.column_stack([size[unit], rng.normal(size=len(unit))])
    y = effect[unit] + 0.2 * rng.normal(size=len(unit))
    known = unit < 60
    model = quiet(regressor("two_clocks"), X[known], y[known], groups=unit[known])
    inside = (np.abs(X[~known]) <= np.abs(X[known]).max(axis=0)).all(axis=1)
    # Ordinary rows of new units add nothing; without groups, each adds its unit's variance.
    assert np.median(model.find_beyond(X[~known][inside]).share) == 0.0
    total, _, knowledge = model.predict_uncertainty(X[~known][inside])
    assert np.median(knowledge / total) < 0.3
    assert 0.8 <= np.sqrt(np.median(total)) / y[known].std() <= 1.3


def test_groups_stay_together():
    # Each row five times: without groups, neighbours and trees know every held-out row.
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 2))
    y = rng.normal(size=30)
    rows, target, groups = np.repeat(x, 5, axis=0), np.repeat(y, 5), np.repeat(np.arange(30), 5)
    apart = quiet(regressor("two_clocks"), rows, target, groups=groups)
    mixed = quiet(regressor("two_clocks"), rows, target)
    assert apart.noise_ > 2.0 * mixed.noise_
    labels = target > 0.0  # classes of copies: apart, the neighbours know nothing
    known = quiet(classifier(), rows, labels).weights_["targets"]
    assert quiet(classifier(), rows, labels, groups=groups).weights_["targets"] <= known
    with pytest.raises(InvalidData, match="one group"):
        quiet(regressor(), rows, target, groups=np.zeros(150))
    with pytest.raises(InvalidData, match="groups has 3 values"):
        quiet(regressor(), rows, target, groups=[1, 2, 3])


def test_wide_tables_small_tables_and_constant_targets_have_a_law():
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(45, 120))
    few = quiet(regressor(), wide, wide[:, 0] + 0.1 * rng.normal(size=45))
    assert np.isfinite(few.predict_uncertainty(wide[:3] * 5.0).total).all()
    tiny = quiet(regressor(), wide[:8, :2], wide[:8, 0])
    assert tiny.weights_["trees"] == 1.0
    assert np.isfinite(tiny.predict_distribution(wide[:3, :2]).interval(0.9)).all()
    same = quiet(regressor(), wide[:50, :2], np.full(45, 5.0))
    np.testing.assert_allclose(same.predict(wide[:3, :2]), 5.0)
    still = quiet(regressor(), np.ones((45, 2)), wide[:, 0])
    assert np.isfinite(still.predict_uncertainty(np.ones((2, 2))).total).all()


ESTIMATORS = {
    "a booster": (LGBMRegressor(**LGB), IBUGRegressor),
    "a law of its own": (IBUGRegressor(LGBMRegressor(**LGB)), IBUGRegressor),
    "calibrated": (
        CalibratedRegressor(BoostedEnsembleRegressor(**OWN, stopping=None)),
        CalibratedRegressor,
    ),
}


@pytest.mark.parametrize(("estimator", "kind"), ESTIMATORS.values(), ids=ESTIMATORS)
def test_any_model_may_take_the_place_of_the_trees(estimator, kind):
    rows = X[["a", "b"]]
    model = quiet(StackedRegressor(estimator, voices=("trees", "process"), random_state=0), rows, Y)
    assert isinstance(model.estimator_, kind)
    again = quiet(StackedRegressor(estimator, voices=("trees", "process"), random_state=0), rows, Y)
    np.testing.assert_array_equal(model.predict(rows), again.predict(rows))


def test_a_fitted_model_is_used_as_it_is():
    trees = quiet(BoostedEnsembleRegressor(**OWN, stopping=None))
    model = quiet(StackedRegressor(trees, random_state=0), NEW, Y_NEW)
    assert model.estimator_ is trees
    frozen = quiet(StackedClassifier(
        FrozenEstimator(LGBMClassifier(**LGB).fit(X[["a", "b"]], CLASSES)), random_state=0,
    ), NEW[["a", "b"]], np.where(Y_NEW > 3.7, "high", "low"))  # fmt: skip
    assert frozen.predict_proba(X[["a", "b"]]).shape == (140, 2)


WRONG = {
    "no trees": ({"voices": ("process",)}, "voices must name 'trees'"),
    "another voice": ({"voices": ("trees", "choir")}, "voices must name 'trees'"),
    "a text": ({"voices": "trees"}, "voices must name 'trees'"),
    "support": ({"support": "posi"}, "support must be one of"),
}


@pytest.mark.parametrize(("options", "sentence"), WRONG.values(), ids=WRONG)
def test_impossible_options_are_one_sentence(options, sentence):
    with pytest.raises(InvalidParameter, match=sentence):
        regressor(**options).fit(X, Y)


def test_probabilities_add_up_and_knowledge_grows_beyond_the_rows(classes):
    rows = pd.concat([NEW, far()])
    chances = classes.predict_proba(rows)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    total, data, knowledge = classes.predict_uncertainty(rows)
    np.testing.assert_allclose(total, data + knowledge, rtol=1e-12)  # the issue's own
    assert min(data.min(), knowledge.min()) >= 0.0
    entropy = -(chances * np.log(np.maximum(chances, 1e-300))).sum(axis=1)
    np.testing.assert_allclose(total, entropy, rtol=1e-9, atol=1e-12)  # logs of tiny chances
    assert knowledge[-2:].min() > 5.0 * np.median(knowledge[:60])
    shares = pd.Series(CLASSES).value_counts(normalize=True)[classes.classes_]
    np.testing.assert_allclose(chances[-1], shares, atol=0.02)  # the process's prior, nearly
    assert set(classes.predict(rows)) <= {"high", "low"}
    assert classes.find_beyond(rows).share[-1] > 0.9
    assert sum(classes.weights_.values()) == pytest.approx(1.0)


def test_training_rows_are_hardly_beyond_themselves(classes):
    assert classes.find_beyond(X).share.mean() < 0.03


def test_classes_do_not_depend_on_the_batch_and_rare_ones_are_no_obstacle(classes):
    chances, parts = classes.predict_proba(NEW), classes.predict_uncertainty(NEW)
    for k in (0, 33):
        np.testing.assert_array_equal(classes.predict_proba(NEW[k : k + 1])[0], chances[k])
        for alone, all_rows in zip(classes.predict_uncertainty(NEW[k : k + 1]), parts, strict=True):
            assert alone[0] == all_rows[k]
    threads = quiet(classifier(n_jobs=3), X, CLASSES)
    np.testing.assert_array_equal(threads.predict_proba(NEW), chances)
    labels = np.where(np.arange(140) < 2, "rare", CLASSES)
    model = quiet(classifier(), X, labels)
    assert model.classes_.tolist() == ["high", "low", "rare"]
    np.testing.assert_allclose(model.predict_proba(NEW).sum(axis=1), 1.0)
    voices = model.predict_voices(NEW)
    assert voices.weight.shape == (60, 3)


def test_classes_of_a_smooth_border_gain_from_the_process():
    rng = np.random.default_rng(0)
    rows = rng.uniform(-2.0, 2.0, (400, 2))
    labels = np.hypot(*rows.T) < 1.5
    model = quiet(classifier(), rows[:160], labels[:160])
    assert model.weights_["process"] > 0.3
    own = model.predict_proba(rows[160:])[np.arange(240), labels[160:].astype(int)]
    trees = model.estimator_.predict_proba(rows[160:])
    trees = trees[np.arange(240), labels[160:].astype(int)]
    assert -np.log(own).mean() < -np.log(trees).mean()


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_of_more_columns_than_rows_those_are_read_that_go_with_the_target(n_classes):
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(60, 900))
    wide[rng.random(wide.shape) < 0.05] = np.nan
    wide[:, 5] = 1.0
    y = np.nan_to_num(wide[:, 700] - wide[:, 3])
    codes = np.searchsorted(np.quantile(y, np.arange(1, n_classes) / max(n_classes, 1)), y)
    read = find_promising(wide, codes if n_classes else y, n_classes)
    assert read.sum() == len(wide)
    assert read[[700, 3]].all()
    assert not read[5]
    assert find_promising(wide[:, :MANY_COLUMNS], y).all()
    many = np.tile(wide, (16, 1))
    assert find_promising(many, np.tile(y, 16)).all()  # more rows than columns


@pytest.mark.parametrize("kind", [BoostedEnsembleRegressor, BoostedEnsembleClassifier])
def test_columns_of_one_value_take_no_time_and_change_nothing(kind, monkeypatch):
    rng = np.random.default_rng(0)
    flat = np.zeros((60, 500))
    flat[:, [3, 77, 400]] = rng.normal(size=(60, 3))
    flat[4, 77] = np.nan
    trees = kind(n_members=2, n_trees=20, depth=3, stopping=None, random_state=0, random_strength=0)
    target = flat[:, 400] > 0.0
    few = quiet(trees, flat, target).predict_members(flat)
    assert set(np.flatnonzero(trees.feature_importances_)) <= {3, 77, 400}
    monkeypatch.setattr(numba_engine, "_FLAT", 10_000)
    np.testing.assert_array_equal(quiet(trees, flat, target).predict_members(flat), few)
