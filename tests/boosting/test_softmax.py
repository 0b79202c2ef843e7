"""Boosting softmax logits: gradients, cells, leaves, and whole models against a slow twin."""

import boosting_parts as parts
import naive
import numpy as np
import pytest
from boosting_parts import gradients_of, numbers
from scipy.special import softmax
from seeding_parts import normals_of
from tolerances import SAME_SUM, ZERO

from gbuq_core.boosting import BoostedEnsembleClassifier, numba_engine
from gbuq_core.boosting.numba_engine import sum_classes, unrolled_width
from gbuq_core.boosting.softmax_kernels import (
    LOGIT_STEP,
    add_softmax_noise,
    boost_softmax,
    factor_cholesky,
    softmax_gradients,
    softmax_leaves,
    solve_cholesky,
    sum_softmax_leaves,
)
from gbuq_core.trees.binning import merge_rows, single_cells

STREAM = np.uint64(99)

CLASSES = pytest.mark.parametrize("n_classes", [2, 3, 4])  # four have no unrolled kernel
PYTHON = pytest.mark.parametrize("python", [False, True], ids=["compiled", "python"])


def n_leaf_sums(n_classes):
    return n_classes + 1 + n_classes * (n_classes + 1) // 2


def member(table, n_classes, depth=2, n_trees=3, cells=None):
    return parts.member(table, np.zeros(n_classes), depth, n_leaf_sums(n_classes), n_trees, cells)


@PYTHON
@CLASSES
def test_gradients_and_hessian_are_those_of_the_likelihood(table, rng, n_classes, python):
    """Exactly minus the first and the second derivatives of the NLL, summed over a leaf's rows."""
    codes = rng.integers(0, n_classes, 120)
    cells = sum_classes(single_cells(table.columns), codes, n_classes)
    _, state = member(table, n_classes)
    state.raw[:] = rng.normal(size=state.raw.shape)
    leaf = rng.integers(0, 3, 120)
    state.scratch.leaf_of_row[:] = leaf
    values = numbers(n_rows=120.0)
    kernels = (softmax_gradients, sum_softmax_leaves)
    gradients, sum_up = [k.py_func for k in kernels] if python else kernels
    gradients(cells, state, values, 1.0, STREAM)
    sum_up(cells, state, values, 2)
    triangle = np.tril_indices(n_classes)

    def loss(here, step):
        rows = np.flatnonzero(leaf == here)
        return sum(naive.softmax_nll(codes[i], state.raw[i] + step) for i in rows)

    step = 1e-4  # cuts off about step^2; rounding of the loss adds 1e-14 / step^2 = 1e-6
    unit = step * np.eye(n_classes)
    for here in range(3):
        slope = [(loss(here, e) - loss(here, -e)) / (2 * step) for e in unit]
        np.testing.assert_allclose(-state.leaf_sums[here, :n_classes], slope, rtol=1e-5, atol=1e-6)
        assert state.leaf_sums[here, n_classes] == np.sum(leaf == here)
        hessian = [
            (loss(here, d + e) - loss(here, d - e) - loss(here, e - d) + loss(here, -d - e))
            / (4 * step**2)
            for d, e in zip(unit[triangle[0]], unit[triangle[1]], strict=True)
        ]
        sums = state.leaf_sums[here, n_classes + 1 :]
        np.testing.assert_allclose(sums, hessian, rtol=1e-5, atol=1e-5)


def test_huge_logits_do_not_overflow(table):
    raw = np.tile([1000.0, -1000.0, 999.0], (120, 1))
    cells = sum_classes(single_cells(table.columns), np.zeros(120, int), 3)
    probabilities = gradients_of(softmax_gradients, cells, raw, numbers(n_rows=120.0))[1]
    np.testing.assert_allclose(probabilities[0], softmax(raw[0]), rtol=SAME_SUM)


@PYTHON
def test_cholesky_solves(rng, python):
    kernels = (factor_cholesky, solve_cholesky)
    factorise, solve = [k.py_func for k in kernels] if python else kernels
    for n in (1, 2, 5):
        factor = rng.normal(size=(n, n))
        matrix = factor @ factor.T + np.eye(n)
        right = rng.normal(size=n)
        expected = np.linalg.solve(matrix, right)
        lower = np.tril(matrix)
        factorise(lower)
        np.testing.assert_allclose(np.tril(lower) @ np.tril(lower).T, matrix, rtol=SAME_SUM)
        solve(lower, right)
        # Conditions of a few hundred at most here, times 1e-16.
        np.testing.assert_allclose(right, expected, rtol=SAME_SUM)


@PYTHON
@CLASSES
def test_noise_of_the_posterior_on_the_choice_of_splits(rng, n_classes, python):
    """A row's has covariance ``c^2 (diag p - p p^T)``, and that of n rows is n times it."""
    counts = np.array([1.0, 9.0, 0.0, 4.0])
    p = softmax(2.0 * rng.normal(size=(4, n_classes)), axis=1)
    p[3] = np.eye(n_classes)[0]  # sure of its class: no noise
    gradients, normals = rng.normal(size=(4, n_classes)), normals_of(STREAM, 4, n_classes)
    kernel = add_softmax_noise.py_func if python else add_softmax_noise
    channels = np.column_stack([gradients, counts])
    state = parts.member_at(np.zeros_like(p))._replace(curvature=p, channels=channels)
    values = numbers(preconditioned=True)
    kernel(0.0, STREAM, state, values)
    np.testing.assert_array_equal(channels[:, :n_classes], gradients)
    kernel(0.5, STREAM, state, values)
    np.testing.assert_array_equal(channels[:, n_classes], counts)
    loss = naive.Softmax(np.zeros(1, int), n_classes, True)
    with np.errstate(divide="ignore"):
        roots = [loss.row_noise(row) for row in np.maximum(np.log(p), -1e3)]
    for cell, root in enumerate(roots):
        expected = np.diag(p[cell]) - np.outer(p[cell], p[cell])
        np.testing.assert_allclose(root @ root.T, expected, atol=ZERO)
        added = channels[cell, :n_classes] - gradients[cell]
        np.testing.assert_allclose(
            added, 0.5 * np.sqrt(counts[cell]) * root @ normals[cell], atol=ZERO
        )


@PYTHON
@pytest.mark.parametrize("newton", [True, False])
@CLASSES
def test_leaf_values_of_the_posterior(repeated, rng, n_classes, newton, python):
    """The noise of a Newton step has the covariance ``c^2 (H + l2 I)``, by its Cholesky factor.

    Rows are merged, and the twin goes from row to row.
    """
    cells, codes = merge_rows(repeated.columns), rng.integers(0, n_classes, 600)
    n_cells = len(cells.codes)
    _, state = member(repeated, n_classes, cells=cells)
    state.raw[:] = rng.normal(size=(n_cells, n_classes))
    values = numbers(leaf_noise=0.7, n_rows=600.0, newton=newton, preconditioned=True)
    kernels = (softmax_gradients, softmax_leaves)
    gradients, leaves = [k.py_func for k in kernels] if python else kernels
    sums = sum_classes(cells, codes, n_classes)
    gradients(sums, state, values, 1.0, STREAM)
    leaf = rng.integers(0, 3, n_cells)  # leaf 3 stays empty
    state.scratch.leaf_of_row[:] = leaf
    normals = normals_of(STREAM, 4, n_classes)
    cell_of_row = np.empty(600, int)
    cell_of_row[cells.order] = np.repeat(np.arange(n_cells), np.diff(cells.begin))
    raw = state.raw[cell_of_row].copy()
    leaves(sums, state, values, STREAM, 0, 2)
    twin = naive.Softmax(codes, n_classes, newton, preconditioned=True)
    for here in range(3):
        rows = np.flatnonzero(leaf[cell_of_row] == here)
        expected = 0.3 * twin.leaf_step(rows, raw, 3.0, 0.7 * normals[here])
        written = state.forest.values[0, here]
        np.testing.assert_allclose(written, expected, rtol=SAME_SUM, atol=ZERO)
    np.testing.assert_array_equal(state.forest.values[0, 3], 0.0)


@PYTHON
@pytest.mark.parametrize("newton", [True, False])
@CLASSES
def test_leaf_values(table, rng, n_classes, newton, python):
    """Noise of std ``c sqrt(H_kk + l2)``, or ``c sqrt(n + l2)``, and shrinkage after tree 0."""
    codes = rng.integers(0, n_classes, 120)
    cells = sum_classes(single_cells(table.columns), codes, n_classes)
    _, state = member(table, n_classes)
    state.raw[:] = rng.normal(size=state.raw.shape)
    values = numbers(leaf_noise=0.7, decay=0.9, n_rows=120.0, newton=newton)
    softmax_gradients(cells, state, values, 1.0, STREAM)
    leaf = rng.integers(0, 3, 120)  # leaf 3 stays empty
    state.scratch.leaf_of_row[:] = leaf
    normals = normals_of(STREAM, 4, n_classes)
    kernel = softmax_leaves.py_func if python else softmax_leaves
    for tree in range(2):
        before = state.raw.copy()
        kernel(cells, state, values, STREAM, tree, 2)
        for here in range(3):
            p = state.curvature[leaf == here]
            weight = np.full(n_classes, len(p) + 3.0)
            hessian = np.diag(weight)
            if newton:
                hessian = np.diag(p.sum(axis=0)) - p.T @ p + 3.0 * np.eye(n_classes)
                weight = np.diag(hessian)
            right = state.gradients[leaf == here].sum(axis=0)
            right = right + 0.7 * np.sqrt(weight) * normals[here]
            leaves, expected = state.forest.values[tree, here], np.linalg.solve(hessian, right)
            if newton:  # a common step of all logits is left out: no probability sees it
                expected -= expected.mean()
            np.testing.assert_allclose(leaves, 0.3 * expected, rtol=SAME_SUM, atol=ZERO)
        np.testing.assert_array_equal(state.forest.values[tree, 3], 0.0)
        expected = before * (0.9 if tree else 1.0) + state.forest.values[tree, leaf]
        np.testing.assert_allclose(state.raw, expected, rtol=SAME_SUM)


@pytest.mark.parametrize("preconditioned", [False, True])
@pytest.mark.parametrize("leaf_noise", [0.0, 0.5])
def test_newton_steps_without_l2_stay_bounded(table, leaf_noise, preconditioned):
    """The Hessian is singular where all logits move alike, and vanishes in a leaf that is sure."""
    cells = sum_classes(single_cells(table.columns), np.arange(120) % 3, 3)
    _, state = member(table, 3)
    values = numbers(l2=0.0, n_rows=120.0, leaf_noise=leaf_noise, preconditioned=preconditioned)
    state.scratch.leaf_of_row[:] = np.arange(120) % 2
    for tree, logit in enumerate((0.0, 40.0)):
        state.raw[:] = [logit, 0.0, 0.0]
        softmax_gradients(cells, state, values, 1.0, STREAM)
        softmax_leaves(cells, state, values, STREAM, tree, 1)
    undecided, sure = state.forest.values[:2]
    assert np.abs(undecided).max() < 1.0
    # Of a common step there remains the rounding of sums over the smallest pivot, 1e-14 / 1e-12.
    assert np.abs(undecided.mean(axis=1)).max() < 0.1
    assert np.abs(sure).max() <= 0.3 * LOGIT_STEP


@pytest.mark.parametrize("method", ["sgb", "sglb"])
def test_a_model_without_l2_gives_probabilities(rng, method):
    X = rng.normal(size=(200, 2))
    model = BoostedEnsembleClassifier(
        stopping=None,
        method=method,
        l2=0.0,
        temperature="posterior",
        n_members=1,
        n_trees=100,
        random_state=0,
    ).fit(X, rng.integers(0, 3, 200))
    matrix, _ = model._encode(X)
    logits = numba_engine.raw_predictions(model.models_, matrix, np.array([100]), 1, 1)
    # Logits of 1e12, as without care, have lost four of the sixteen digits of a probability.
    assert np.abs(logits).max() < 1e5
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=SAME_SUM)


def test_class_sums(rng):
    cells = merge_rows(np.array([[1, 0, 0, 1, 0] * 10], np.uint8))
    codes = rng.integers(0, 4, 50)
    codes[codes == 3] = 0  # a class without rows
    sums = sum_classes(cells, codes, 4)
    for cell, (low, high) in enumerate(zip(cells.begin[:-1], cells.begin[1:], strict=True)):
        rows = cells.order[low:high]
        np.testing.assert_array_equal(sums.class_of_row[low:high], codes[rows])
        counts = np.bincount(codes[rows], minlength=4)
        np.testing.assert_array_equal(sums.class_counts[cell], counts)
    np.testing.assert_array_equal(sums.n_rows, np.diff(cells.begin))


def test_unrolled_and_general_kernels_agree(table, rng):
    """An empty width compiles loops over any number of outputs."""
    codes, forests = rng.integers(0, 3, 120), []
    cells = single_cells(table.columns)
    assert unrolled_width(3) == (0,) * 4
    for width in ((0,) * 4, ()):
        rows, state = member(table, 3)
        values = numbers(n_rows=120.0, noise=0.1, leaf_noise=0.1, random_strength=1.0, decay=0.99)
        boost_softmax(rows, sum_classes(cells, codes, 3), state, values, 0, 0, 0, 3, width)
        forests.append(state.forest)
    for unrolled, other in zip(*forests, strict=True):
        np.testing.assert_allclose(unrolled, other, rtol=SAME_SUM)
