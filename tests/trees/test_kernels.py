"""Histograms, splits, trees and their predictions against slow twins."""

from typing import NamedTuple

import naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba.core.errors import TypingError
from seeding_parts import normals_of
from tolerances import SAME_SUM, ZERO

from gbuq_core.trees import forest_kernels, growing_kernels, histogram_kernels, scoring_kernels
from gbuq_core.trees.binning import apply_bins, binned_rows, fit_bins, single_cells
from gbuq_core.trees.forest_kernels import ObliviousForest, empty_forest, forest_bytes, leaf_scratch
from gbuq_core.trees.growing_kernels import grow_tree, make_tree_scratch

STREAM = np.uint64(12345)


class Problem(NamedTuple):
    """Binned rows with gradients: what one tree is grown on, for the kernels and for the twins."""

    rows: growing_kernels.BinnedRows
    codes: np.ndarray
    is_category: np.ndarray
    options: list
    gradients: np.ndarray
    counts: np.ndarray

    @property
    def channels(self):
        return np.column_stack([self.gradients, self.counts])

    @property
    def width(self):
        n_outputs = self.gradients.shape[1]
        return (0,) * (n_outputs + 1) if n_outputs in (2, 3) else ()


def make_problem(seed, n=40, n_outputs=2, with_empty_cells=False):
    """Two numbers, one of them with gaps, two categories and a constant."""
    rng = np.random.default_rng(seed)
    gaps = rng.normal(size=n)
    gaps[rng.random(n) < 0.2] = np.nan
    X = np.column_stack(
        [rng.normal(size=n), gaps, rng.integers(0, 5, n), rng.integers(0, 2, n), np.ones(n)]
    )
    is_category = np.array([False, False, True, True, False])
    bins = fit_bins(X, is_category, 6)
    cells = single_cells(apply_bins(bins, X))
    gradients = rng.normal(size=(n, n_outputs))
    counts = rng.integers(1, 4, n).astype(float)
    if with_empty_cells:
        empty = rng.random(n) < 0.3
        gradients[empty], counts[empty] = 0.0, 0.0
    options = naive.candidates(bins.n_codes, is_category, bins.has_missing)
    return Problem(binned_rows(bins, cells), cells.codes, is_category, options, gradients, counts)


def grow(problem, depth, l2=3.0, noise_std=0.0, kernel=grow_tree):
    rows, n = problem.rows, len(problem.codes)
    scratch = make_tree_scratch(n, depth, len(rows.slot_bin), problem.channels.shape[1])
    features, bins = np.zeros(depth, np.int16), np.zeros(depth, np.uint8)
    levels = kernel(
        rows, problem.channels, scratch, l2, noise_std, STREAM, features, bins, problem.width
    )
    splits = list(zip(features[:levels].tolist(), bins[:levels].tolist(), strict=True))
    return splits, scratch.leaf_of_row, scratch


def histogram_of(problem, chosen):
    rows = problem.rows
    histogram = np.zeros((len(rows.slot_bin), problem.channels.shape[1]))
    for slot, (feature, code) in enumerate(zip(rows.slot_feature, rows.slot_bin, strict=True)):
        inside = chosen & (problem.codes[:, feature] == code)
        histogram[slot] = problem.channels[inside].sum(axis=0)
    return histogram


@pytest.mark.parametrize("n_outputs", [2, 3, 5])
def test_histograms_count_rows(n_outputs):
    problem = make_problem(1, n_outputs=n_outputs)
    chosen = np.arange(40) % 3 == 1
    order = np.append(np.flatnonzero(chosen), 7).astype(np.uint32)
    by_lanes, by_loop = np.zeros((2, len(problem.rows.slot_bin), n_outputs + 1))
    for width, out in ((problem.width, by_lanes), ((), by_loop)):
        histogram_kernels.count_rows(
            order,
            0,
            len(order) - 1,
            problem.codes,
            problem.rows.offset,
            problem.channels,
            out,
            width,
        )
    expected = histogram_of(problem, chosen)
    np.testing.assert_allclose(by_lanes, expected, rtol=SAME_SUM, atol=ZERO)
    np.testing.assert_array_equal(by_lanes, by_loop)  # each lane is a sum of its own


def test_lanes_are_of_contiguous_matrices_only():
    """Addresses are computed from a row's number, so other layouts must not compile."""
    problem = make_problem(1)
    out = np.zeros((len(problem.rows.slot_bin), len(problem.width)))
    for channels in (np.asfortranarray(problem.channels), problem.channels.astype(np.float32)):
        with pytest.raises(TypingError, match=r"contiguous|float64"):
            histogram_kernels.count_rows(
                np.arange(2, dtype=np.uint32),
                0,
                2,
                problem.codes,
                problem.rows.offset,
                channels,
                out,
                problem.width,
            )


@given(seed=st.integers(0, 10**6), option=st.integers(0, 100))
@settings(max_examples=30)
def test_parent_is_left_plus_right(seed, option):
    """With whole numbers as gradients sums are exact, so the sibling by subtraction is too."""
    problem = make_problem(seed)
    problem = problem._replace(gradients=np.round(8 * problem.gradients))
    feature, code = problem.options[option % len(problem.options)]
    goes_right = naive.goes_right(problem.codes, problem.is_category, feature, code)
    everything = np.ones(len(problem.codes), bool)
    parent = histogram_of(problem, everything)
    left, right = (histogram_of(problem, chosen) for chosen in (~goes_right, goes_right))
    np.testing.assert_array_equal(parent, left + right)
    for kernel in (histogram_kernels.split_histogram, histogram_kernels.split_histogram.py_func):
        for swap in (False, True):
            rest, counted = parent.copy(), left.copy()
            kernel(rest, counted, swap)
            np.testing.assert_array_equal(rest, left if swap else right)
            np.testing.assert_array_equal(counted, right if swap else left)


@given(
    codes=st.lists(st.integers(0, 4), min_size=1, max_size=30),
    code=st.integers(0, 4),
    is_equal=st.booleans(),
    cut=st.tuples(st.integers(0, 30), st.integers(0, 30)),
)
def test_rows_are_parted_in_order(codes, code, is_equal, cut):
    column = np.array(codes, np.uint8)
    low, high = sorted(min(c, len(codes)) for c in cut)
    before = np.arange(len(codes))[::-1].astype(np.uint32)
    right = column[before] == code if is_equal else column[before] > code
    inside = (np.arange(len(codes)) >= low) & (np.arange(len(codes)) < high)
    expected = before.copy()
    expected[low:high] = np.concatenate([before[inside & ~right], before[inside & right]])
    for kernel in (histogram_kernels.part_rows, histogram_kernels.part_rows.py_func):
        order, spare = before.copy(), np.zeros_like(before)
        middle = kernel(order, spare, low, high, column, np.uint8(code), is_equal)
        np.testing.assert_array_equal(order, expected)
        assert middle == low + np.sum(inside & ~right)


def kernel_scores(problem, leaf, l2, python=False):
    rows, n_channels = problem.rows, problem.channels.shape[1]
    products, squares = np.zeros(len(rows.slot_bin)), np.zeros(len(rows.slot_bin))
    sum_leaf, add_scores = scoring_kernels.sum_leaf, scoring_kernels.add_leaf_scores
    if python:
        sum_leaf, add_scores = sum_leaf.py_func, add_scores.py_func
    for here in np.unique(leaf):
        histogram, running = histogram_of(problem, leaf == here), np.empty((2, n_channels))
        sum_leaf(histogram, rows.offset, rows.n_bins, running, problem.width)
        add_scores(
            histogram,
            rows.offset,
            rows.n_bins,
            rows.is_category,
            l2,
            products,
            squares,
            running,
            problem.width,
        )
    return products, squares


@given(seed=st.integers(0, 10**6), n_outputs=st.integers(1, 4), l2=st.sampled_from([0.0, 0.1, 3.0]))
@settings(max_examples=40)
def test_scores_equal_the_formula(seed, n_outputs, l2):
    problem = make_problem(seed, n_outputs=n_outputs)
    leaf = np.random.default_rng(seed).integers(0, 3, len(problem.codes))
    products, squares = kernel_scores(problem, leaf, l2)
    slots = np.flatnonzero(problem.rows.is_candidate)
    for slot, (feature, code) in zip(slots, problem.options, strict=True):
        right = naive.goes_right(problem.codes, problem.is_category, feature, code)
        score = naive.cosine_score(leaf + 3 * right, problem.gradients, problem.counts, l2)
        assert products[slot] / np.sqrt(squares[slot]) == pytest.approx(score, rel=SAME_SUM)


def test_python_scores_equal_compiled_ones():
    problem = make_problem(3)
    leaf = np.arange(40) % 4
    # One order of operations, so nothing but a fused multiply-add could differ.
    for scores, expected in zip(
        kernel_scores(problem, leaf, 3.0, python=True),
        kernel_scores(problem, leaf, 3.0),
        strict=True,
    ):
        np.testing.assert_allclose(scores, expected, rtol=SAME_SUM)


def test_score_noise_is_numbered_by_slot(rng):
    products, squares = rng.random(50), rng.random(50) + 0.5
    is_candidate = rng.random(50) < 0.5
    normals = normals_of(STREAM, 200)
    for first in (0, 50, 150):
        scores = products / np.sqrt(squares) + 0.7 * normals[first : first + 50]
        expected = np.argmax(np.where(is_candidate, scores, -np.inf))
        args = (products, squares, is_candidate, 0.7, STREAM, first)
        assert scoring_kernels.best_candidate(*args) == expected


@pytest.mark.parametrize("python", [False, True], ids=["compiled", "python"])
def test_the_first_of_the_best_candidates_wins(python):
    kernel = scoring_kernels.best_candidate
    kernel = kernel.py_func if python else kernel
    products = np.array([9.0, 1.0, 4.0, 4.0, 0.0])
    squares = np.array([1.0, 1.0, 4.0, 4.0, 0.0])
    chosen = np.array([False, True, True, True, True])
    assert kernel(products, squares, chosen, 0.0, STREAM, 0) == 2
    assert kernel(products, squares, chosen & (products == 0), 0.0, STREAM, 0) == 4
    assert kernel(products, squares, np.zeros(5, bool), 0.0, STREAM, 0) == -1


@given(
    seed=st.integers(0, 10**6),
    depth=st.integers(1, 4),
    n_outputs=st.integers(1, 4),
    l2=st.sampled_from([0.0, 3.0]),
    with_empty_cells=st.booleans(),
)
@settings(max_examples=60)
def test_trees_equal_the_twin(seed, depth, n_outputs, l2, with_empty_cells):
    """Level by level: deep leaves hold few rows, where two candidates can part them alike."""
    problem = make_problem(seed, n_outputs=n_outputs, with_empty_cells=with_empty_cells)
    splits, leaf_of_row, scratch = grow(problem, depth, l2)
    assert len(splits) == depth
    leaf = np.zeros(len(problem.codes), int)
    for level, chosen in enumerate(splits):
        parted = {
            option: leaf + 2**level * naive.goes_right(problem.codes, problem.is_category, *option)
            for option in problem.options
        }
        scores = {
            option: naive.cosine_score(parted[option], problem.gradients, problem.counts, l2)
            for option in problem.options
        }
        assert scores[chosen] == pytest.approx(max(scores.values()), rel=SAME_SUM)
        leaf = parted[chosen]
    np.testing.assert_array_equal(leaf_of_row, leaf)
    filled = np.flatnonzero(problem.counts > 0)
    assert sorted(scratch.order[: len(filled)].tolist()) == filled.tolist()


def test_a_tree_equals_the_twin_as_a_whole():
    problem = make_problem(5, n=400)
    expected, leaf = naive.grow_tree(
        problem.codes,
        problem.is_category,
        problem.options,
        problem.gradients,
        problem.counts,
        3.0,
        3,
    )
    splits, leaf_of_row, _ = grow(problem, 3)
    assert splits == expected
    np.testing.assert_array_equal(leaf_of_row, leaf)


def test_a_noisy_tree_equals_the_twin():
    """The draw of slot s at level l is number ``l * total_bins + s`` of its stream."""
    problem = make_problem(6, n=200)
    total = len(problem.rows.slot_bin)
    normals = normals_of(STREAM, 3 * total)
    noise = np.zeros((3, 5, 256))
    for slot, place in enumerate(
        zip(problem.rows.slot_feature, problem.rows.slot_bin, strict=True)
    ):
        noise[(slice(None), *place)] = 5.0 * normals[slot::total]
    expected, leaf = naive.grow_tree(
        problem.codes,
        problem.is_category,
        problem.options,
        problem.gradients,
        problem.counts,
        3.0,
        3,
        noise,
    )
    splits, leaf_of_row, _ = grow(problem, 3, noise_std=5.0)
    assert splits == expected
    assert splits != grow(problem, 3)[0]  # or the noise would not be seen here
    np.testing.assert_array_equal(leaf_of_row, leaf)


def test_python_and_compiled_trees_agree():
    problem = make_problem(7, n=60)
    tree, leaf, _ = grow(problem, 3, kernel=grow_tree.py_func)
    expected, compiled_leaf, _ = grow(problem, 3)
    assert tree == expected
    np.testing.assert_array_equal(leaf, compiled_leaf)


def test_constant_features_give_no_levels():
    X = np.full((6, 2), 3.0)
    is_category = np.array([False, False])
    bins = fit_bins(X, is_category, 8)
    rows = binned_rows(bins, single_cells(apply_bins(bins, X)))
    problem = Problem(rows, rows.codes, is_category, [], np.ones((6, 2)), np.ones(6))
    splits, leaf_of_row, _ = grow(problem, 4)
    assert splits == []
    np.testing.assert_array_equal(leaf_of_row, 0)


def test_no_row_at_all_in_the_sample():
    """A sub-sample may be empty; every row still gets the leaf of the (arbitrary) splits."""
    problem = make_problem(8)._replace(gradients=np.zeros((40, 2)), counts=np.zeros(40))
    splits, leaf_of_row, _ = grow(problem, 2)
    expected = sum(
        2**level * naive.goes_right(problem.codes, problem.is_category, *split)
        for level, split in enumerate(splits)
    )
    np.testing.assert_array_equal(leaf_of_row, expected)


@pytest.fixture
def forest(rng):
    """Seven random trees of up to three levels on the features of `make_problem`."""
    problem = make_problem(0)
    forest = empty_forest(7, 3, 2)
    picks = rng.integers(0, len(problem.options), size=(7, 3))
    forest.features[:], forest.bins[:] = np.array(problem.options)[picks].transpose(2, 0, 1)
    forest.levels[:] = [3, 3, 0, 1, 3, 2, 3]
    forest.values[:] = rng.normal(size=forest.values.shape)
    return forest


@pytest.mark.parametrize(("n", "width"), [(40, ()), (2048, (0, 0)), (5000, (0, 0))])
def test_predictions_equal_the_twin(forest, n, width):
    """Every checkpoint of one pass is a model of so many trees; blocks of rows do not matter."""
    problem = make_problem(9, n=n)
    start, decay = np.array([0.5, -1.0]), 0.9
    checkpoints = np.array([1, 2, 6, 7])  # single trees and four at once
    out = np.full((4, n, 2), np.nan)
    for low, high in ((0, n // 3), (n // 3, n)):
        forest_kernels.predict_checkpoints(
            problem.rows.columns,
            problem.is_category,
            forest,
            start,
            decay,
            checkpoints,
            low,
            high,
            leaf_scratch(3),
            width,
            out,
        )
    for predicted, t in zip(out, checkpoints, strict=True):
        expected = naive.predict(problem.codes, problem.is_category, forest, start, decay, t)
        # The same sums in the same order, up to fused multiply-adds.
        np.testing.assert_allclose(predicted, expected, rtol=0, atol=ZERO)


def test_python_predictions_equal_compiled_ones(forest):
    problem = make_problem(10)
    outs = np.zeros((2, 2, 40, 2))
    for kernel, out in zip(
        (forest_kernels.predict_checkpoints, forest_kernels.predict_checkpoints.py_func),
        outs,
        strict=True,
    ):
        kernel(
            problem.rows.columns,
            problem.is_category,
            forest,
            np.zeros(2),
            0.9,
            np.array([3, 7]),
            0,
            40,
            leaf_scratch(9),
            (0, 0),
            out,
        )
    np.testing.assert_allclose(outs[0], outs[1], rtol=0, atol=ZERO)


@pytest.mark.parametrize("python", [False, True], ids=["compiled", "python"])
def test_leaf_indices_equal_the_twin(forest, python):
    kernel = forest_kernels.fill_leaf_matrix
    problem = make_problem(11)
    out = np.full((40, 7), 999, np.uint16)
    (kernel.py_func if python else kernel)(problem.rows.columns, problem.is_category, forest, out)
    for tree in range(7):
        expected = naive.leaf_of(problem.codes, problem.is_category, forest, tree)
        np.testing.assert_array_equal(out[:, tree], expected)


@given(seed=st.integers(0, 10**6), depth=st.integers(1, 5))
@settings(max_examples=20)
def test_training_and_prediction_agree_about_leaves(seed, depth):
    problem = make_problem(seed)
    splits, leaf_of_row, _ = grow(problem, depth)
    features, bins = np.array(splits).T
    forest = ObliviousForest(
        features[None].astype(np.int16),
        bins[None].astype(np.uint8),
        np.array([depth], np.int16),
        np.zeros((1, 2**depth, 2)),
    )
    for kernel in (forest_kernels.find_leaves, forest_kernels.find_leaves.py_func):
        leaves = np.full(30, 77, np.uint16)
        kernel(problem.rows.columns, problem.is_category, forest, 0, 5, 35, leaves)
        np.testing.assert_array_equal(leaves, leaf_of_row[5:35])


def test_forest_bytes():
    assert forest_bytes(7, 3, 2) == sum(array.nbytes for array in empty_forest(7, 3, 2))
