"""This project's kernels against CatBoost itself: the same trees, the same maps, the same scores.

Where they differ on purpose (see `gbuq_core.boosting.catboost_engine`) the tests say by how much.
"""

import numpy as np
import pytest
from scipy.stats import spearmanr

from gbuq_core import BoostedEnsembleClassifier, BoostedEnsembleRegressor, make_heart, make_spiral
from gbuq_core.metrics import auroc

pytestmark = pytest.mark.parity

# CatBoost reads features and targets as float32 (6e-8 relative) and adds up 60 trees of them.
FLOAT32 = 1e-6

# Nothing random: no subsample, no Langevin noise, no noise on scores.
PLAIN = {"method": "sgb", "subsample": 1.0, "random_strength": 0.0, "n_members": 1, "depth": 4}


@pytest.fixture(scope="module")
def grid():
    """800 rows of five features with 20 values each, so that both engines have the same bins."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 20, size=(800, 5)).astype(float)
    signal = np.sin(X[:, 0] / 3) + 0.1 * X[:, 1] * (X[:, 2] > 9)
    y = signal + (0.1 + 0.03 * X[:, 3]) * rng.normal(size=800)
    return X, y


def with_gaps(X):
    return np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)


def stages(kind, engine, X, y, **knobs):
    """Predictions (60, n_rows, 2 or n_classes) of one model after each of 60 trees."""
    model = kind(
        stopping=None, engine=engine, n_trees=60, random_state=0, **{**PLAIN, **knobs}
    ).fit(X, y)
    return model.staged_members(X, every=1).members[:, 0]


@pytest.mark.parametrize("categories", [None, [0, 1]], ids=["numbers", "categories"])
@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "gaps"])
def test_gaussian_trees_are_catboosts(gaps, categories, grid):
    X, y = grid
    if gaps:
        X = with_gaps(X)
    ours, theirs = (
        stages(BoostedEnsembleRegressor, engine, X, y, categorical_features=categories)
        for engine in ("numba", "catboost")
    )
    np.testing.assert_allclose(ours, theirs, rtol=FLOAT32, atol=FLOAT32)
    assert np.ptp(ours[-1, :, 1]) > 0.1  # the variance does depend on x


@pytest.mark.parametrize("leaf_estimation", ["newton", "gradient"])
@pytest.mark.parametrize("gaps", [False, True], ids=["complete", "gaps"])
def test_softmax_trees_are_catboosts(gaps, leaf_estimation, grid):
    X, y = grid
    if gaps:
        X = with_gaps(X)
    classes = np.digitize(y, [0.5, 1.2])
    ours, theirs = (
        stages(
            BoostedEnsembleClassifier,
            engine,
            X,
            classes,
            leaf_estimation=leaf_estimation,
            categorical_features=[4],
        )
        for engine in ("numba", "catboost")
    )
    np.testing.assert_allclose(ours, theirs, atol=FLOAT32)


def test_two_logits_are_one_logit(grid):
    """Equal without l2, which Newton steps share (l2 / 2 on one logit) but scores of splits do not.

    Leaves where one class is all but certain magnify rounding, since nothing holds them: 20 trees.
    """
    X, y = grid
    ours, theirs = (
        stages(BoostedEnsembleClassifier, engine, X, y > 1.0, l2=0.0, learning_rate=0.03)[:20]
        for engine in ("numba", "catboost")
    )
    np.testing.assert_allclose(ours, theirs, atol=FLOAT32)


def test_catboosts_gaussian_gradient_leaves_take_twice_our_log_std_step():
    """One tree, one split: ours is eq. 16, half of ``z^2 - 1``."""
    rng = np.random.default_rng(2)
    X = np.repeat([[0.0], [1.0]], 100, axis=0)
    y = (1.0 + X[:, 0]) * rng.normal(size=200)
    steps = []
    for engine in ("numba", "catboost"):
        model = BoostedEnsembleRegressor(
            stopping=None,
            engine=engine,
            n_trees=1,
            random_state=0,
            leaf_estimation="gradient",
            **{**PLAIN, "depth": 1},
        ).fit(X, y)
        log_std = 0.5 * np.log(model.predict_members([[0.0], [1.0]])[0, :, 1])
        steps.append(log_std - np.log(np.std(y)))
    np.testing.assert_allclose(steps[1], 2.0 * steps[0], rtol=1e-5)


def test_a_subsample_of_catboosts_does_not_reach_the_leaves():
    """One tree, one split: leaf values of all rows, so all members are the same."""
    X = np.repeat([[0.0], [1.0]], 100, axis=0)
    y = X[:, 0] + np.random.default_rng(3).normal(size=200)
    model = BoostedEnsembleRegressor(
        stopping=None,
        engine="catboost",
        method="sgb",
        n_trees=1,
        depth=1,
        n_members=3,
        random_state=0,
        random_strength=0.0,
    ).fit(X, y)
    assert np.ptp(model.predict_members(X), axis=0).max() == 0.0


# The heart


@pytest.fixture(scope="module")
def heart():
    return make_heart(random_state=0)


def heart_maps(heart, engine, **knobs):
    return (
        BoostedEnsembleRegressor(
            stopping=None,
            engine=engine,
            learning_rate=0.3,
            categorical_features=[0, 1],
            random_state=0,
            **knobs,
        )
        .fit(heart.X, heart.y)
        .predict_uncertainty(heart.grid)
    )


def test_the_heart_of_the_authors_and_ours_tell_the_same(heart, reference_dir):
    """Their members come from CatBoost with target statistics, another draw of cell means.

    So no cell can be compared with its twin, and inside the support theirs is far larger: target
    statistics are random numbers that differ between members, one-hot splits are not (measured:
    3.7e-5 and 2e-11). What must agree is the decision: knowledge uncertainty is larger in every
    empty cell than in any other, data uncertainty is the noise.
    """
    theirs = np.load(reference_dir / "catboost_heart.npz", allow_pickle=False)
    ours = heart_maps(heart, "numba")
    empty = ~heart.in_support.ravel()
    truth = heart.variance.ravel()[~empty]
    np.testing.assert_array_equal(theirs["variance_map"].ravel()[~empty], truth)
    knowledge = theirs["sglb_member_mean"].var(axis=0)
    data = theirs["sglb_member_variance"].mean(axis=0)
    assert auroc(empty, knowledge) == 1.0
    assert auroc(empty, ours.knowledge) == 1.0
    # A variance of 1000 rows has a standard error of 4.5 %; the worst of 64 cells, 3 of those.
    assert np.abs(ours.data[~empty] / truth - 1.0).max() < 0.15
    assert np.abs(data[~empty] - truth).max() < 0.01
    assert np.abs(ours.data[~empty] - truth).max() < 0.01
    # In empty cells the spread of members is that of the cells around, of the same size in both.
    ratio = ours.knowledge[empty].mean() / knowledge[empty].mean()
    assert 0.1 < ratio < 10.0


def test_virtual_members_of_the_heart_tell_the_same(heart, reference_dir):
    theirs = np.load(reference_dir / "catboost_heart.npz", allow_pickle=False)
    ours = heart_maps(heart, "numba", ensemble="virtual")
    empty = ~heart.in_support.ravel()
    for knowledge in (theirs["virtual_knowledge"], ours.knowledge):
        assert auroc(empty, knowledge) >= 0.97
    # Virtual members are far closer to each other than models of their own are.
    assert ours.knowledge[empty].mean() < 1e-3 * theirs["sglb_member_mean"].var(axis=0).mean()


def test_both_engines_draw_the_same_map_of_the_heart():
    """The same rows, one-hot splits in both; 100 rows a cell, so that CatBoost takes seconds."""
    heart = make_heart(n_per_cell=100, random_state=0)
    empty = ~heart.in_support.ravel()
    knobs = {"n_members": 5, "n_trees": 300}
    ours, theirs = (heart_maps(heart, engine, **knobs) for engine in ("numba", "catboost"))
    assert auroc(empty, ours.knowledge) == 1.0
    assert auroc(empty, theirs.knowledge) == 1.0
    # Both have converged to the variance of each cell's rows.
    np.testing.assert_allclose(ours.data[~empty], theirs.data[~empty], rtol=0.01)
    # A variance of 5 members, averaged over 17 cells that share their neighbours.
    assert 0.3 < ours.knowledge[empty].mean() / theirs.knowledge[empty].mean() < 3.0
    assert spearmanr(ours.total, theirs.total).statistic > 0.9


def test_both_engines_have_the_same_virtual_members_of_the_heart(heart):
    """Half of the paper's trees, so that CatBoost takes seconds; no trace of the border."""
    empty = ~heart.in_support.ravel()
    for engine in ("numba", "catboost"):
        maps = heart_maps(heart, engine, ensemble="virtual", n_trees=500, truncation_step=25)
        assert auroc(empty, maps.knowledge) >= 0.97
        # A thousand times below the noise, as virtual ensembles are.
        assert maps.knowledge.max() < 1e-3 * heart.variance.ravel()[~empty].min()


# Scores


def to_codes(train, test, n_levels=60):
    """Features as quantile numbers, so that both engines have the same bins."""
    borders = [np.quantile(column, np.arange(1, n_levels) / n_levels) for column in train.T]
    return [
        np.stack([np.searchsorted(b, c) for b, c in zip(borders, X.T, strict=True)], 1).astype(
            float
        )
        for X in (train, test)
    ]


def regression_task():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(2400, 4))
    spread = 0.2 + 0.1 * np.abs(X[:, 3])
    y = np.sin(2 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0) + spread * rng.normal(size=2400)
    train, test = to_codes(X[:400], X[400:])
    return BoostedEnsembleRegressor, train, y[:400], test, y[400:]


def spiral_task():
    small = make_spiral(n_per_class=150, random_state=1)
    large = make_spiral(n_per_class=700, random_state=2)
    train, test = to_codes(small.X, large.X)
    return BoostedEnsembleClassifier, train, small.y, test, large.y


def negative_log_likelihoods(model, X, y):
    """The mean over rows for each member, (n_members,)."""
    members = model.predict_members(X)
    if isinstance(model, BoostedEnsembleClassifier):
        return -np.log(members[:, np.arange(len(y)), y]).mean(axis=1)
    mean, variance = members[..., 0], members[..., 1]
    return (0.5 * np.log(2 * np.pi * variance) + (y - mean) ** 2 / (2 * variance)).mean(axis=1)


@pytest.mark.parametrize("task", [regression_task, spiral_task])
def test_both_engines_score_alike(task):
    """The mean test NLL of 12 models differs by no more than the std of one, plus 0.02 nats.

    The 0.02 nats are for noise that differs: on gradients in ours, on the best split of each
    feature once more in CatBoost's.
    """
    kind, X, y, X_test, y_test = task()
    scores, knowledge = [], []
    for engine in ("numba", "catboost"):
        model = kind(
            stopping=None, n_members=12, n_trees=80, depth=3, random_state=0, engine=engine
        ).fit(X, y)
        scores.append(negative_log_likelihoods(model, X_test, y_test))
        knowledge.append(model.predict_uncertainty(X_test).knowledge.mean())
    ours, theirs = scores
    spread = np.sqrt((ours.var(ddof=1) + theirs.var(ddof=1)) / 2)
    assert abs(ours.mean() - theirs.mean()) < spread + 0.02
    # A variance of 12 members is good to 40 % in a row; the mean over rows to far less than that.
    assert 0.6 < knowledge[0] / knowledge[1] < 1.7
