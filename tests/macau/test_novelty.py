"""MACAU's novelty: covariances of leaves, z-scores that rise, and what explains them."""

from types import SimpleNamespace

import naive_macau as naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.covariance import OAS
from sklearn.ensemble import RandomForestRegressor
from sklearn.preprocessing import RobustScaler
from tolerances import CANCELLED, SAME_SUM, ZERO

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.macau.covariance_kernels import shrink
from gbuq_core.macau.leaves import fit_scaling, make_leaf_table, number_leaves
from gbuq_core.macau.novelty import (
    explain_novelty,
    fit_inference,
    fit_novelty,
    inspect_novelty,
    leaf_covariances,
    leaf_ellipses,
    score_novelty,
    z_scores,
)
from gbuq_core.trees.importers import leaf_source
from gbuq_core.trees.importers.paths import leaf_paths


def set_up(X, source, leaf_matrix=None):
    """Leaves, scaling and novelty of training rows in a given forest."""
    if leaf_matrix is None:
        leaf_matrix = source.leaf_matrix(X)
    table = make_leaf_table(leaf_matrix, source, leaf_paths(source))
    scaling = fit_scaling(X, table, n_jobs=1)
    model = fit_novelty(X, table, scaling, n_jobs=1)
    return SimpleNamespace(source=source, table=table, scaling=scaling, model=model, X=X)


def parts(fitted, X):
    """What the functions of novelty take: rows, their leaves, and what was fitted."""
    numbers = number_leaves(fitted.table, fitted.source.leaf_matrix(X))
    return X, numbers, fitted.table, fitted.scaling, fitted.model


def score(fitted, X, tail="rise"):
    X, numbers, table, scaling, model = parts(fitted, X)
    inference = fit_inference(np.zeros(len(table.rows)), table, n_jobs=1)
    return score_novelty(
        X, numbers, np.zeros(numbers.shape), table, scaling, model, inference, tail, n_jobs=1
    )


def a_forest(X, y, n_trees=10, leaves=6, seed=0):
    forest = RandomForestRegressor(n_trees, max_leaf_nodes=leaves, random_state=seed)
    return leaf_source(forest.fit(X, y))


@pytest.fixture(scope="module")
def bent():
    """200 rows of four correlated features, a forest on them."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 4)) @ rng.normal(size=(4, 4)) + [0.0, 10.0, -5.0, 0.0]
    return set_up(X, a_forest(X, X[:, 0] * X[:, 1] + rng.normal(size=200)))


def test_equals_scikit_learn_in_every_leaf(bent, rng):
    X = bent.X[:30] + rng.normal(size=(30, 4))
    _, numbers, table, _, _ = parts(bent, X)
    scores = score(bent, X, "clip")
    n_rows = np.diff(table.begin)[numbers]
    for conditional, field in enumerate(("novelty", "conditional_novelty")):
        z = np.column_stack(
            [naive.tree_z(bent.X, X, table, numbers, t, conditional) for t in range(table.n_trees)]
        )
        np.testing.assert_allclose(getattr(scores, field), z.mean(axis=1), rtol=0, atol=1e-7)
        spread = naive.weighted_spread(z, n_rows)
        np.testing.assert_allclose(getattr(scores, f"{field}_std"), spread, rtol=0, atol=1e-7)


@given(n=st.integers(2, 40), p=st.integers(1, 7), seed=st.integers(0, 2**32))
def test_shrinkage_is_scikit_learns(n, p, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) @ rng.normal(size=(p, p))
    X -= X.mean(axis=0)
    covariance = X.T @ X / n
    mean_variance = np.trace(covariance) / p
    S = np.tril(covariance) / mean_variance
    weight = shrink(S, p, n)
    twin = OAS().fit(X)
    # A few hundred roundings of numbers near 1.
    np.testing.assert_allclose(
        S * mean_variance, np.tril(twin.covariance_), rtol=1e-10, atol=1e-12 * mean_variance
    )
    if p > 1:  # with one feature any weight gives the same
        assert weight == pytest.approx(twin.shrinkage_, rel=1e-9)


def test_covariances_of_leaves_are_scikit_learns(bent):
    leaves = np.arange(bent.table.n_leaves)
    covariances = leaf_covariances(bent.model, leaves, 4)
    for leaf in leaves[::7]:
        train = bent.X[naive.rows_of(bent.table, leaf)]
        twin = OAS().fit(RobustScaler().fit_transform(train))
        # Two triangular inversions of matrices of condition below 1e4.
        np.testing.assert_allclose(covariances[leaf], twin.covariance_, rtol=1e-8, atol=1e-9)


@settings(max_examples=20)  # each fits ten trees
@given(seed=st.integers(0, 2**32))
def test_order_of_rows_and_powers_of_two_change_nothing(seed, bent):
    rng = np.random.default_rng(seed)
    order, factors = rng.permutation(len(bent.X)), 2.0 ** rng.integers(-8, 9, 4)
    leaves = bent.source.leaf_matrix(bent.X)
    X = np.ascontiguousarray(bent.X[order] * factors)
    other = set_up(X, bent.source, leaves[order])
    new = bent.X[:20] + rng.normal(size=(20, 4))
    _, numbers, *_ = parts(bent, new)
    inference = fit_inference(np.zeros(len(bent.table.rows)), bent.table, n_jobs=1)
    scores = [
        score_novelty(
            rows,
            numbers,
            np.zeros(numbers.shape),
            f.table,
            f.scaling,
            f.model,
            inference,
            "rise",
            n_jobs=1,
        ).novelty
        for rows, f in ((new, bent), (new * factors, other))
    ]
    # Sums over the rows run in another order: some 40 roundings, condition below 1e4.
    np.testing.assert_allclose(*scores, rtol=0, atol=1e-8)


def assert_clipped_like_scikit_learn(train, values):
    """Values among the training values of one leaf; returns its quantiles."""
    table = SimpleNamespace(begin=np.array([0, len(train)]), first=np.array([0, 1]), n_leaves=1)
    begin, quantiles = fit_inference(train, table, n_jobs=1)
    tables = np.zeros((len(values), 1), np.int64)
    scores = z_scores(values[:, None], tables, begin, quantiles, "clip")[:, 0]
    # Near +-5.2 a rounding of 1e-16 of a share moves z by 1e-16 / pdf(5.2) = 2e-10.
    np.testing.assert_allclose(scores, naive.to_z(train, values), rtol=0, atol=1e-8)
    return quantiles


@given(n=st.integers(2, 60), ties=st.booleans(), seed=st.integers(0, 2**32))
def test_clipped_scores_are_scikit_learns(n, ties, seed):
    rng = np.random.default_rng(seed)
    train = rng.integers(0, 6, n).astype(float) if ties else rng.normal(size=n)
    values = np.concatenate([train, rng.normal(size=20), [-1e9, 1e9]])
    quantiles = assert_clipped_like_scikit_learn(train, values)
    # Sorted values but for the rounding of np.percentile, which we follow.
    np.testing.assert_allclose(quantiles, np.sort(train), rtol=1e-12, atol=1e-12)


def test_a_thousand_quantiles_are_scikit_learns(rng):
    train, values = rng.gamma(2.0, size=2500), rng.gamma(2.0, size=300)
    assert len(assert_clipped_like_scikit_learn(train, values)) == 1000


@given(
    train=st.lists(st.floats(-100, 100).map(lambda x: round(x, 1)), min_size=1, max_size=30),
    of_leaves=st.booleans(),
)
def test_rising_scores_never_fall_and_always_rise_outside(train, of_leaves):
    quantiles, begin = np.sort(train), np.array([0, len(train)])
    grid = np.unique(np.concatenate([np.linspace(-300.0, 300.0, 601), train]))
    tables = np.zeros((len(grid), 1), np.int64)
    z = z_scores(grid[:, None], tables, begin, quantiles, "rise", of_leaves=of_leaves)[:, 0]
    assert np.isfinite(z).all()
    assert (np.diff(z) >= 0).all()
    outside = (grid[1:] > quantiles[-1]) | (grid[:-1] < quantiles[0])
    assert (np.diff(z)[outside] > 0).all()


def test_rising_scores_stay_near_the_clipped_ones_inside(rng):
    train = np.sort(rng.normal(size=500))
    tables, begin = np.zeros((500, 1), np.int64), np.array([0, 500])
    rise, clip = (z_scores(train[:, None], tables, begin, train, tail) for tail in ("rise", "clip"))
    # At rank i of 500 shares differ by at most 1/1000, z by that over the density there: 0.02
    # at |z| = 1.645.
    middle = np.abs(clip) < 1.645
    assert np.abs(rise - clip)[middle].max() < 0.02
    assert rise.max() == pytest.approx(3.09, abs=0.01)  # ndtri(1 - 1/1000)


def test_novelty_rises_along_rays_out_of_the_data(bent, rng):
    centre = np.median(bent.X, axis=0)
    for direction in rng.normal(size=(8, 4)):
        way = direction / np.linalg.norm(direction)
        start = np.abs((bent.X - centre) @ way).max()
        lengths = np.linspace(start, 20 * start, 60)
        scores = score(bent, centre + lengths[:, None] * way)
        assert spearmanr(lengths, scores.novelty).statistic >= 0.95
        # The authors' transform has ended there.
        assert np.ptp(score(bent, centre + lengths[-20:, None] * way, "clip").novelty) < 1e-3


def test_inference_novelty_rises_both_ways_and_is_signed(bent):
    table = bent.table
    predictions = bent.X[table.rows, 0] * 3.0
    inference = fit_inference(predictions, table, n_jobs=1)
    x = np.repeat(np.median(bent.X, axis=0)[None], 41, axis=0)
    X, numbers, _, scaling, model = parts(bent, x)
    offered = np.tile(np.linspace(-200.0, 200.0, 41)[:, None], (1, table.n_trees))
    z = score_novelty(X, numbers, offered, table, scaling, model, inference, "rise", n_jobs=1)
    assert (np.diff(z.inference_novelty) > 0).all()
    assert z.inference_novelty[0] < -5 < 5 < z.inference_novelty[-1]


def test_a_leaf_of_one_predicted_value_scores_the_difference():
    quantiles, begin = np.full(5, 0.3), np.array([0, 5])
    values = np.array([[0.3, 1.0, 0.0]])
    for tail in ("clip", "rise"):
        z = z_scores(values, np.zeros((1, 3), np.int64), begin, quantiles, tail, of_leaves=True)
        np.testing.assert_allclose(z, values - 0.3, atol=ZERO)  # the RobustScaler of one value


@pytest.mark.parametrize("conditional", [False, True])
def test_contributions_sum_to_the_mean_squared_distance(bent, conditional, rng):
    X = bent.X[:25] + 2.0 * rng.normal(size=(25, 4))
    contributions = explain_novelty(*parts(bent, X), conditional=conditional, n_jobs=1)
    total = np.zeros(len(X))
    _, numbers, table, *_ = parts(bent, X)
    for leaf in range(table.n_leaves):
        inside = np.argwhere(numbers == leaf)[:, 0]
        columns = naive.path_of(table, leaf) if conditional else np.arange(4)
        train = bent.X[np.ix_(naive.rows_of(table, leaf), columns)]
        if len(inside):
            total[inside] += naive.leaf_distances(train, X[np.ix_(inside, columns)]) ** 2
    # Roundings of sums over ten trees, condition below 1e4.
    np.testing.assert_allclose(contributions.sum(axis=1), total / table.n_trees, rtol=1e-9)
    shares = explain_novelty(*parts(bent, X), conditional=conditional, normalize=True, n_jobs=1)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=SAME_SUM)


def test_contributions_are_shapley_values(bent):
    x = bent.X[:3] + [3.0, 0.0, -2.0, 1.0]
    detail = inspect_novelty(*parts(bent, x), "rise")
    _, numbers, table, *_ = parts(bent, x)
    for row, tree in ((0, 0), (1, 4), (2, 9)):
        train = bent.X[naive.rows_of(table, numbers[row, tree])]
        scaler = RobustScaler().fit(train)
        twin = OAS().fit(scaler.transform(train))
        deviation = scaler.transform(x[row : row + 1])[0] - twin.location_
        # As above.
        np.testing.assert_allclose(
            detail.contributions[row, tree], naive.shapley(deviation, twin.precision_), rtol=1e-8
        )


def test_detail_agrees_with_the_scores(bent):
    X = bent.X[:7]
    detail, scores = inspect_novelty(*parts(bent, X), "rise"), score(bent, X)
    np.testing.assert_array_equal(detail.leaf, bent.source.leaf_matrix(X))
    assert detail.leaf.dtype == np.int32
    np.testing.assert_allclose(detail.z.mean(axis=1), scores.novelty, rtol=SAME_SUM)
    np.testing.assert_allclose(detail.contributions.sum(axis=2), detail.distance**2, rtol=CANCELLED)
    _, numbers, table, *_ = parts(bent, X)
    np.testing.assert_array_equal(detail.rows_in_leaf, np.diff(table.begin)[numbers])


def test_ellipses_are_in_units_of_the_features(bent):
    x = bent.X[5:6]
    ellipses = leaf_ellipses(*parts(bent, x), "rise", features=(1, 3))
    detail = inspect_novelty(*parts(bent, x), "rise")
    np.testing.assert_array_equal(ellipses.tree, np.arange(10))
    np.testing.assert_array_equal(ellipses.n_rows, detail.rows_in_leaf[0])
    np.testing.assert_array_equal(ellipses.distance, detail.distance[0])
    _, numbers, table, *_ = parts(bent, x)
    for tree in range(10):
        train = bent.X[naive.rows_of(table, numbers[0, tree])]
        mean = train[:, [1, 3]].mean(axis=0)
        np.testing.assert_allclose(ellipses.centre[tree], mean, rtol=SAME_SUM)
        scaler = RobustScaler().fit(train)
        scale = np.diag(scaler.scale_)
        twin = scale @ OAS().fit(scaler.transform(train)).covariance_ @ scale
        # As for the covariances above.
        np.testing.assert_allclose(
            ellipses.covariance[tree], twin[np.ix_([1, 3], [1, 3])], rtol=1e-7, atol=1e-8
        )
    ellipse = leaf_ellipses(*parts(bent, x), "rise", features=[1, 3], trees=[4])
    np.testing.assert_array_equal(ellipse.covariance[0], ellipses.covariance[4])


def test_ellipses_refuse_what_is_not_there(bent):
    x = bent.X[:1]
    for features in ((0, 4), (1, 1), (0,), "ab", None, (0.5, 1)):
        with pytest.raises(InvalidParameter, match="features"):
            leaf_ellipses(*parts(bent, x), "rise", features=features)
    for trees in ([10], [], [-1]):
        with pytest.raises(InvalidParameter, match=r"trees(?!.*int64)"):
            leaf_ellipses(*parts(bent, x), "rise", features=(0, 1), trees=trees)
    with pytest.raises(InvalidData, match="one row"):
        leaf_ellipses(*parts(bent, bent.X[:2]), "rise", features=(0, 1))


def hard_tables(rng):
    """Tables that leave nothing or too much to a covariance."""
    x = rng.normal(size=40)
    yield "constant", np.column_stack([x, np.full(40, 7.0)])
    yield "collinear", np.column_stack([x, 2.0 * x, -x])
    yield "huge", np.column_stack([x, 1e150 * x])
    yield "tiny", np.column_stack([x, 1e-150 * x])
    yield "two values", np.column_stack([x, (x > 0).astype(float)])


def test_hard_tables_give_finite_scores(rng):
    for name, X in hard_tables(rng):
        plain = X[:, :1].repeat(X.shape[1], axis=1)  # what scikit-learn's forest takes
        source = a_forest(plain, X[:, 0], leaves=25)
        fitted = set_up(X, source, source.leaf_matrix(plain))
        numbers = number_leaves(fitted.table, source.leaf_matrix(plain))
        for far in (X + 1.0, X * 3.0, -X):
            detail = inspect_novelty(
                far, numbers, fitted.table, fitted.scaling, fitted.model, "rise"
            )
            assert np.isfinite(detail.z).all(), name
            assert np.isfinite(detail.contributions).all(), name
            assert np.isfinite(detail.distance).all(), name


def test_a_leaf_of_one_row_measures_in_the_whole_tables_stds(rng):
    X = rng.normal(size=(60, 2)) * [1.0, 1000.0]
    forest = RandomForestRegressor(3, random_state=0, bootstrap=False)
    forest.fit(X * [1.0, 0.0], X[:, 0])  # which asks about the first feature only
    fitted = set_up(X, leaf_source(forest))
    assert np.diff(fitted.table.begin).max() == 1
    detail = inspect_novelty(*parts(fitted, X[:5] + [[0.0, 500.0]]), "rise")
    # Each row stays in its leaf, and its distance is in the table's stds (divided by n).
    np.testing.assert_allclose(detail.distance, 500.0 / X[:, 1].std(), rtol=1e-9)


def test_missing_values_take_the_leafs_median(bent, rng):
    X = bent.X.copy()
    X[rng.random(X.shape) < 0.1] = np.nan
    leaves = bent.source.leaf_matrix(bent.X)
    fitted = set_up(X, bent.source, leaves)
    numbers = number_leaves(fitted.table, leaves)
    detail = inspect_novelty(X, numbers, fitted.table, fitted.scaling, fitted.model, "rise")
    tree = 2
    for leaf in range(fitted.table.first[tree], fitted.table.first[tree + 1]):
        rows = naive.rows_of(fitted.table, leaf)
        train = np.where(np.isnan(X[rows]), np.nanmedian(X[rows], axis=0), X[rows])
        twin = naive.leaf_distances(train, train)
        # As for the covariances above.
        np.testing.assert_allclose(detail.distance[rows, tree], twin, rtol=1e-9, atol=1e-12)


def test_a_feature_missing_throughout_adds_nothing(bent):
    X = bent.X.copy()
    X[:, 2] = np.nan
    leaves = bent.source.leaf_matrix(bent.X)
    fitted = set_up(X, bent.source, leaves)
    numbers = number_leaves(fitted.table, leaves)
    detail = inspect_novelty(X, numbers, fitted.table, fitted.scaling, fitted.model, "rise")
    assert np.isfinite(detail.z).all()
    assert (detail.contributions[:, :, 2] == 0.0).all()
    ellipses = leaf_ellipses(
        X[:1], numbers[:1], fitted.table, fitted.scaling, fitted.model, "rise", features=(0, 2)
    )
    assert len(ellipses.tree) == 0
