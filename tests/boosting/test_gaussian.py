"""Boosting a Gaussian: gradients, cells, leaves, and whole models against a slow twin."""

import boosting_parts as parts
import naive
import numpy as np
import pytest
from boosting_parts import gradients_of, numbers
from seeding_parts import normals_of
from tolerances import SAME_SUM, ZERO

from gbuq_core.boosting import BoostedEnsembleRegressor
from gbuq_core.boosting.gaussian_kernels import (
    LOG_STD_FLOOR,
    LOG_STD_STEP,
    add_gaussian_noise,
    gaussian_gradients,
    gaussian_leaves,
)
from gbuq_core.boosting.noise_kernels import add_split_noise, score_noise_std
from gbuq_core.boosting.numba_engine import gaussian_start, log_std_floor, sum_gaussian
from gbuq_core.trees.binning import merge_rows, single_cells

STREAM = np.uint64(99)


def two_cells(rng):
    """Three and four rows merged into two cells, with the rows' targets."""
    y = rng.normal(size=7)
    columns = np.array([[0, 0, 0, 1, 1, 1, 1]], np.uint8)
    cells = merge_rows(columns)
    return y, [slice(0, 3), slice(3, 7)], sum_gaussian(cells, y)


@pytest.mark.parametrize("python", [False, True], ids=["compiled", "python"])
def test_gradients_are_those_of_the_likelihood(rng, python):
    """Newton: the log std's are minus the NLL's derivative and its second derivative; the mean's
    are both multiplied by the variance. Gradient leaves: the derivative is divided by the Fisher
    information, diag(1/s^2, 2), and the curvature is a count of rows.
    """
    y, slices, cells = two_cells(rng)
    raw = np.array([[0.3, -0.4], [-0.2, 0.5]])
    kernel = gaussian_gradients.py_func if python else gaussian_gradients
    newton, curvature, channels, _ = gradients_of(kernel, cells, raw, numbers(n_rows=7.0))
    natural, ones, _, _ = gradients_of(kernel, cells, raw, numbers(n_rows=7.0, newton=False))
    step = 1e-4  # cuts off about step^2, and rounding adds 1e-16 / step^2 = 1e-8 of curvature
    for cell, rows in enumerate(slices):
        variance = np.exp(2.0 * raw[cell, 1])
        loss = {
            (i, j): sum(
                naive.gaussian_nll(v, *(raw[cell] + step * np.array([i, j]))) for v in y[rows]
            )
            for i, j in [(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)]
        }
        by_mean = (loss[1, 0] - loss[-1, 0]) / (2 * step)
        by_log_std = (loss[0, 1] - loss[0, -1]) / (2 * step)
        twice_by_mean = (loss[1, 0] - 2 * loss[0, 0] + loss[-1, 0]) / step**2
        twice_by_log_std = (loss[0, 1] - 2 * loss[0, 0] + loss[0, -1]) / step**2
        expected = [-variance * by_mean, -by_log_std]
        np.testing.assert_allclose(newton[cell], expected, rtol=1e-6)
        np.testing.assert_allclose(
            curvature[cell], [variance * twice_by_mean, twice_by_log_std], rtol=1e-6
        )
        np.testing.assert_allclose(natural[cell], [expected[0], expected[1] / 2], rtol=1e-6)
        np.testing.assert_array_equal(ones[cell], channels[cell, 2])
    np.testing.assert_array_equal(channels, np.column_stack([newton, [3.0, 4.0]]))


def test_noise_on_the_choice_of_splits(rng):
    """A cell of n rows gets sqrt(n) of one row's noise; cells outside the sample get none."""
    counts = np.array([1.0, 9.0, 0.0, 4.0])
    gradients = rng.normal(size=(4, 2))
    normals = normals_of(STREAM, 4, 2)
    for kernel in (add_split_noise, add_split_noise.py_func):
        channels = np.column_stack([gradients, counts])
        kernel(0.5, STREAM, channels)
        expected = gradients + 0.5 * np.sqrt(counts)[:, None] * normals
        np.testing.assert_allclose(channels[:, :2], expected, rtol=SAME_SUM)
        np.testing.assert_array_equal(channels[:, 2], counts)


@pytest.mark.parametrize("newton", [True, False])
@pytest.mark.parametrize("kernel", [add_gaussian_noise, add_gaussian_noise.py_func])
def test_noise_of_the_posterior_on_the_choice_of_splits(rng, kernel, newton):
    """``c s`` a row on y - mu; ``c sqrt 2`` on z^2 - 1, half that on its half; ``sqrt(n)`` a cell.

    The std that sizes it is within e^12 of the target's own.
    """
    counts = np.array([1.0, 9.0, 0.0, 4.0, 1.0, 1.0])
    raw = np.column_stack([rng.normal(size=6), [-0.5, 0.2, 0.0, 1.0, 40.0, -40.0]])
    gradients, normals = rng.normal(size=(6, 2)), normals_of(STREAM, 6, 2)
    channels = np.column_stack([gradients, counts])
    state = parts.member_at(raw)._replace(channels=channels)
    values = numbers(newton=newton, preconditioned=True)
    kernel(0.0, STREAM, state, values)
    np.testing.assert_array_equal(channels[:, :2], gradients)
    kernel(0.5, STREAM, state, values)
    loss = naive.Gaussian(raw[:, 0], newton)
    roots = [loss.row_noise([0.0, log_std]) for log_std in np.clip(raw[:, 1], -12.0, 12.0)]
    expected = gradients + [
        0.5 * np.sqrt(n) * root @ z for n, root, z in zip(counts, roots, normals, strict=True)
    ]
    np.testing.assert_allclose(channels[:, :2], expected, rtol=SAME_SUM, atol=ZERO)
    np.testing.assert_array_equal(channels[:, 2], counts)


@pytest.mark.parametrize("kernel", [score_noise_std, score_noise_std.py_func])
def test_score_noise_fades(kernel):
    values = numbers(n_rows=1000.0, learning_rate=0.1, random_strength=2.0)
    assert kernel(values, 3.0, 0) == pytest.approx(6.0 * 1000 / 1001)
    # After ln(N) / eps trees one half is left, and nothing in the end.
    assert kernel(values, 3.0, round(np.log(1000) / 0.1)) == pytest.approx(3.0, rel=0.01)
    assert kernel(values, 3.0, 1000) < 1e-30


@pytest.mark.parametrize("newton", [True, False])
@pytest.mark.parametrize("python", [False, True], ids=["compiled", "python"])
def test_leaf_values(table, rng, newton, python):
    """A draw a leaf and output, of std ``c sqrt(curvature + l2)``; shrinkage after tree 0."""
    _, state = parts.member(table, [0.1, -0.3])
    y = rng.normal(size=120)
    values = numbers(leaf_noise=0.7, decay=0.9, n_rows=120.0, newton=newton)
    cells = sum_gaussian(single_cells(table.columns), y)
    gaussian_gradients(cells, state, values, 1.0, STREAM)
    leaf = rng.integers(0, 3, 120)  # leaf 3 stays empty
    state.scratch.leaf_of_row[:] = leaf
    kernel = gaussian_leaves.py_func if python else gaussian_leaves
    normals = normals_of(STREAM, 4, 2)
    for tree in range(2):
        before = state.raw.copy()
        kernel(cells, state, values, STREAM, tree, 2)
        for here in range(3):
            weight = state.curvature[leaf == here].sum(axis=0) + 3.0
            total = state.gradients[leaf == here].sum(axis=0)
            total = total + 0.7 * np.sqrt(weight) * normals[here]
            leaves = state.forest.values[tree, here]
            np.testing.assert_allclose(leaves, 0.3 * total / weight, rtol=SAME_SUM)
        np.testing.assert_array_equal(state.forest.values[tree, 3], 0.0)
        expected = before * (0.9 if tree else 1.0) + state.forest.values[tree, leaf]
        np.testing.assert_allclose(state.raw, expected, rtol=SAME_SUM)


@pytest.mark.parametrize("newton", [True, False])
@pytest.mark.parametrize("python", [False, True], ids=["compiled", "python"])
def test_leaf_values_of_the_posterior(repeated, rng, newton, python):
    """The mean's rows weigh ``1 / s^2``; the noise has the covariance of what divides it.

    Rows are merged, and their stds vary inside a leaf; the twin goes from row to row.
    """
    cells = merge_rows(repeated.columns)
    y, n_cells = rng.normal(size=600), len(cells.codes)
    _, state = parts.member(repeated, [0.0, 0.0], cells=cells)
    state.raw[:] = rng.normal(size=(n_cells, 2)) * [1.0, 0.5]
    values = numbers(leaf_noise=0.7, n_rows=600.0, newton=newton, preconditioned=True)
    kernels = (gaussian_gradients, gaussian_leaves)
    gradients, leaves = [k.py_func for k in kernels] if python else kernels
    sums = sum_gaussian(cells, y)
    gradients(sums, state, values, 1.0, STREAM)
    leaf = rng.integers(0, 3, n_cells)  # leaf 3 stays empty
    state.scratch.leaf_of_row[:] = leaf
    normals = normals_of(STREAM, 4, 2)
    cell_of_row = np.empty(600, int)
    cell_of_row[cells.order] = np.repeat(np.arange(n_cells), np.diff(cells.begin))
    raw = state.raw[cell_of_row].copy()
    size = leaves(sums, state, values, STREAM, 0, 2)
    twin, written = naive.Gaussian(y, newton, preconditioned=True), state.forest.values[0]
    for here in range(3):
        rows = np.flatnonzero(leaf[cell_of_row] == here)
        expected = 0.3 * twin.leaf_step(rows, raw, 3.0, 0.7 * normals[here])
        np.testing.assert_allclose(written[here], expected, rtol=SAME_SUM)
    np.testing.assert_array_equal(written[3], 0.0)
    added = written[leaf[cell_of_row]]
    assert size == pytest.approx(np.sqrt((added**2).sum() / 600), rel=SAME_SUM)
    # The splits are chosen by gradients without weights.
    first = raw[np.unique(cell_of_row, return_index=True)[1]]
    plain = gradients_of(gaussian_gradients, sums, first, numbers(n_rows=600.0, newton=newton))
    np.testing.assert_array_equal(state.channels, plain[2])


def test_a_far_too_large_std_comes_down_in_steps(table):
    """There z is 0, the Hessian 2 z^2 too, and without a bound the Newton step infinite."""
    _, state = parts.member(table, [0.0, 50.0])
    cells = sum_gaussian(single_cells(table.columns), np.zeros(120))
    values = numbers(l2=0.0, n_rows=120.0)
    gaussian_gradients(cells, state, values, 1.0, STREAM)
    state.scratch.leaf_of_row[:] = 0
    gaussian_leaves(cells, state, values, STREAM, 0, 0)
    assert state.forest.values[0, 0, 1] == pytest.approx(-0.3 * LOG_STD_STEP)


@pytest.mark.parametrize("unit", [1.0, 1e-8])
@pytest.mark.parametrize("standardize_target", [True, False])
def test_a_target_without_noise_keeps_a_std(rng, unit, standardize_target):
    """It falls to e^-12 of the target's own, whatever the unit, and a step of 10 eps beyond."""
    X = rng.integers(0, 4, size=(200, 1)).astype(float)
    model = BoostedEnsembleRegressor(
        stopping=None,
        method="sgb",
        n_members=2,
        n_trees=300,
        learning_rate=0.5,
        random_state=0,
        standardize_target=standardize_target,
        random_strength=0.0,
    )
    y = 2.0 * unit * X[:, 0]
    members = model.fit(X, y).predict_members(X)
    relative = np.sqrt(members[..., 1]) / y.std()
    assert np.exp(-12 - 5) < relative.min() < relative.max() < 2 * np.exp(-12)
    # Residuals fall to about that std; below it their gradients hardly count any more.
    np.testing.assert_allclose(members[..., 0], np.tile(y, (2, 1)), atol=1e-4 * y.std())


def test_below_the_floor_only_larger_residuals_count():
    cells = sum_gaussian(single_cells(np.zeros((1, 2), np.uint8)), np.array([0.0, 10.0]))
    cells.every.mean[1] = 10.0 * np.exp(-12)  # z = 10
    raw = np.array([[0.0, -12.5], [0.0, -12.5]])
    gradients, *_ = gradients_of(gaussian_gradients, cells, raw, numbers(n_rows=2.0))
    np.testing.assert_allclose(gradients[:, 1], [0.0, 99.0], rtol=SAME_SUM)


def test_start_and_sums(rng):
    y = rng.normal(size=50)
    np.testing.assert_allclose(gaussian_start(y), [y.mean(), np.log(y.std())], rtol=SAME_SUM)
    assert gaussian_start(np.full(3, 0.1))[1] == log_std_floor(np.full(3, 0.1)) == LOG_STD_FLOOR
    assert log_std_floor(y) == pytest.approx(np.log(y.std()) + LOG_STD_FLOOR, rel=SAME_SUM)
    cells = merge_rows(np.array([[1, 0, 0, 1, 0] * 10], np.uint8))
    sums = sum_gaussian(cells, y)
    for cell, (low, high) in enumerate(zip(cells.begin[:-1], cells.begin[1:], strict=True)):
        rows = y[cells.order[low:high]]
        deviation = rows - rows.mean()
        assert sums.every.n_rows[cell] == len(rows)
        expected = [rows.mean(), *(np.sum(deviation**k) for k in (2, 3, 4))]
        moments = [part[cell] for part in sums.every[1:]]
        np.testing.assert_allclose(moments, expected, rtol=SAME_SUM, atol=ZERO)
        np.testing.assert_allclose(sums.deviation[low:high], deviation, atol=ZERO)
