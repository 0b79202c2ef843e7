"""Soft trees on rows against one-row twins, finite differences, and numbers far out."""

import math

import naive_soft_trees as naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_soft_trees import log_likelihood
from tolerances import CANCELLED, SAME_SUM

from gbuq_core.soft_trees import block_kernels as blocks
from gbuq_core.soft_trees.forward import (
    draw_gates,
    draw_leaves,
    draw_log_densities,
    draw_moments,
    draw_probabilities,
)
from gbuq_core.soft_trees.layout import TreeShape, inverse_softplus, softplus

OUTPUTS = ["mixture", "mean", "classes"]
N_CLASSES = 3


def shape_of(depth, n_features, leaf, output):
    return TreeShape(depth, n_features, leaf, output, N_CLASSES if output == "classes" else 0)


def rows_for(shape, rng, n):
    X = rng.normal(size=(n, shape.n_features))
    if shape.output == "classes":
        return X, rng.integers(0, N_CLASSES, n).astype(float)
    return X, rng.normal(size=n)


shapes = st.builds(
    shape_of,
    st.integers(0, 4),
    st.integers(1, 6),  # features are taken four at a time
    st.sampled_from(["constant", "linear"]),
    st.sampled_from(OUTPUTS),
)


@settings(max_examples=60)
@given(shape=shapes, seed=st.integers(0, 2**32), size=st.sampled_from([0.1, 1.0, 5.0]))
def test_forward_is_the_naive_twin(shape, seed, size):
    rng = np.random.default_rng(seed)
    thetas = size * rng.normal(size=(2, shape.n_parameters))
    X, y = rows_for(shape, rng, 3)
    beta, noise = 1.7, 0.6
    logs = draw_log_densities(shape, beta, thetas, X, y, noise)
    gates = draw_gates(shape, beta, thetas, X)
    # Some hundred roundings of numbers up to the size of the result: 1e-16 each, 1e-11 with room.
    close = {"rtol": 1e-11, "atol": 1e-11}
    if shape.output == "classes":
        probabilities = draw_probabilities(shape, beta, thetas, X)
    else:
        moments, leaves = draw_moments(shape, beta, thetas, X), draw_leaves(shape, thetas, X)
    for s, theta in enumerate(thetas):
        for i, x in enumerate(X):
            expected = naive.log_density(shape, beta, theta, x, y[i], noise)
            np.testing.assert_allclose(logs[s, i], expected, **close)
            log_shares = naive.leaf_log_probabilities(shape, beta, theta, x)
            np.testing.assert_allclose(gates.leaves[s, i], np.exp(log_shares), **close)
            logits = naive.gate_logits(shape, beta, theta, x)
            right = [math.exp(naive.log_sigmoid(z)) for z in logits]
            np.testing.assert_allclose(gates.right[s, i], right, **close)
            if shape.output == "classes":
                shares = naive.probabilities(shape, beta, theta, x)
                np.testing.assert_allclose(probabilities[s, i], shares, **close)
                continue
            mean = naive.tree_mean(shape, beta, theta, x)
            np.testing.assert_allclose(moments.means[s, i], mean, **close)
            means = [naive.leaf_mean(shape, theta, k, x) for k in range(shape.n_leaves)]
            np.testing.assert_allclose(leaves.means[s, i], means, **close)
            if shape.output == "mixture":
                variance = naive.tree_variance(shape, beta, theta, x)
                np.testing.assert_allclose(moments.variances[s, i], variance, **close)
                stds = [naive.leaf_std(shape, theta, k, x) for k in range(shape.n_leaves)]
                np.testing.assert_allclose(leaves.stds[s, i], stds, **close)
            else:
                assert moments.variances[s, i] == 0.0
                assert leaves.stds.shape == (2, 3, 0)


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("leaf", ["constant", "linear"])
@pytest.mark.parametrize("depth", [0, 1, 2, 3, 4])
def test_gradient_equals_finite_differences(depth, leaf, output, rng):
    shape = shape_of(depth, 2, leaf, output)
    X, y = rows_for(shape, rng, blocks.BLOCK + 9)  # a full block and the rest of one
    theta, beta, noise = rng.normal(size=shape.n_parameters), 2.0, 0.7

    def value(moved):
        return log_likelihood(shape, beta, moved, X, y, noise).value

    likelihood = log_likelihood(shape, beta, theta, X, y, noise)
    # The fifth derivative of log p is at most some beta^5 times rows, so at h = 2e-4 the rule is
    # wrong by h^4 1e4 = 2e-11, and rounding adds 1e3 eps / h = 1e-9; the groups are of order 1.
    expected = naive.five_point(value, theta, 2e-4)
    for name, part in shape.slices._asdict().items():
        if part.start == part.stop:
            continue
        largest = np.abs(expected[part]).max()
        np.testing.assert_allclose(
            likelihood.gradient[part], expected[part], rtol=0, atol=1e-6 * largest, err_msg=name
        )
    if output == "mean":
        raw = inverse_softplus(noise)

        def by_noise(moved):
            return log_likelihood(shape, beta, theta, X, y, float(softplus(moved[0]))).value

        slope = naive.five_point(by_noise, np.array([raw]), 2e-4)[0]
        assert likelihood.noise_gradient == pytest.approx(slope, rel=1e-6)
    else:
        assert likelihood.noise_gradient == 0.0


def test_likelihood_of_many_rows_is_the_sum_over_rows(rng):
    shape = TreeShape(3, 5)
    X, y = rows_for(shape, rng, 2 * blocks.BLOCK + 5)
    theta = rng.normal(size=shape.n_parameters)
    whole = log_likelihood(shape, 2.0, theta, X, y)
    order = rng.permutation(len(y))
    other = log_likelihood(shape, 2.0, theta, X[order], y[order])
    logs = draw_log_densities(shape, 2.0, theta[None], X, y)[0]
    # Sums of 261 terms in another order: 261 eps of the largest partial sum.
    assert whole.value == pytest.approx(other.value, rel=SAME_SUM)
    assert whole.value == pytest.approx(logs.sum(), rel=SAME_SUM)
    scale = np.abs(whole.gradient).max()
    np.testing.assert_allclose(whole.gradient, other.gradient, rtol=0, atol=1e-12 * scale)


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("depth", [0, 2, 6])
@pytest.mark.parametrize("size", [1e3, 1e6])
def test_huge_parameters_give_finite_numbers(output, depth, size, rng):
    shape = shape_of(depth, 2, "linear", output)
    X, y = rows_for(shape, rng, 30)
    theta = size * rng.normal(size=shape.n_parameters)
    likelihood = log_likelihood(shape, 5.0, theta, X, y, 1e-6)
    assert np.isfinite(likelihood.value)
    assert np.isfinite(likelihood.gradient).all()
    assert np.isfinite(likelihood.noise_gradient)
    assert likelihood.value == pytest.approx(
        sum(naive.log_density(shape, 5.0, theta, X[i], y[i], 1e-6) for i in range(30)),
        rel=CANCELLED,  # differences of numbers of order size^2 lose some digits in both
    )


def test_tiny_stds_and_outliers(rng):
    shape = TreeShape(1, 1, "constant")
    X, y = np.zeros((3, 1)), np.array([0.0, 1.0, 1e6])
    for raw in (-5.0, -29.0, -31.0, -800.0):
        theta = np.array([1.0, 0.3, 0.0, 1.0, raw, raw])
        likelihood = log_likelihood(shape, 1.0, theta, X, y)
        assert np.isfinite(likelihood.gradient).all()
        twin = sum(naive.log_density(shape, 1.0, theta, X[i], y[i], 1.0) for i in range(3))
        assert likelihood.value == pytest.approx(twin, rel=SAME_SUM)
    # Below MIN_RAW the std does not depend on the raw one any more.
    assert (likelihood.gradient[shape.slices.scale_biases] == 0.0).all()


def test_an_almost_impossible_leaf_wins_if_the_likely_one_cannot_explain():
    # P(right) = exp(-900) underflows, and so does the density of the left leaf, exp(-5e9).
    shape = TreeShape(1, 1, "constant")
    theta = np.array([0.0, -900.0, 0.0, 100.0, inverse_softplus(1e-3), inverse_softplus(1e-3)])
    x, y = np.zeros((1, 1)), np.array([100.0])
    log = draw_log_densities(shape, 1.0, theta[None], x, y)[0, 0]
    assert log == pytest.approx(-900.0 + naive.log_normal(0.0, 0.0, 1e-3), rel=SAME_SUM)
    gradient = log_likelihood(shape, 1.0, theta, x, y).gradient
    assert gradient[shape.slices.node_biases] == pytest.approx([1.0])  # 1 - P(right)


def test_exponential_and_logarithm_to_the_last_digits():
    x = np.concatenate([-np.geomspace(1e-300, 707.9, 40_000), np.linspace(-2, 0, 10_001), [-0.0]])
    bits = blocks.allocate_scratch(TreeShape(6, 1).codes).bits
    out = np.empty_like(x)
    for first in range(0, len(x), 8000):  # 64 leaves of 128 rows have room
        part = slice(first, first + 8000)
        blocks.exp_into(x[part], out[part], len(x[part]), bits)
    # The C library's own is within 1 ulp = 2.2e-16 of the truth on every processor; ours adds two.
    assert np.abs(out / [math.exp(value) for value in x] - 1.0).max() < 7e-16
    far = np.array([-1e300, -709.0])
    blocks.exp_into(far, far_out := np.empty(2), 2, bits)
    assert far_out == pytest.approx(np.exp([-708.0, -708.0]), rel=SAME_SUM, abs=0.0)
    t = np.concatenate([np.geomspace(1e-300, 1.0, 20_000), np.linspace(0.4, 0.43, 1000)])
    logs = np.array([blocks.log1p_unit(value) for value in t])
    assert np.abs(logs / [math.log1p(value) for value in t] - 1.0).max() < 7e-16
    assert blocks.log1p_unit(0.0) == 0.0


def test_parts_are_views_in_the_order_of_the_docstring():
    shape = TreeShape(2, 3)
    theta = np.arange(float(shape.n_parameters))
    parts = shape.split(theta)
    assert [part.shape for part in parts] == [(3, 3), (3,), (4, 3), (4,), (4, 3), (4,)]
    np.testing.assert_array_equal(np.concatenate([part.ravel() for part in parts]), theta)
    parts.scale_biases[:] = -1.0
    assert (theta[shape.slices.scale_biases] == -1.0).all()
    classes = shape_of(1, 2, "linear", "classes")
    assert classes.split(np.zeros((5, classes.n_parameters))).leaf_weights.shape == (5, 2, 3, 2)
