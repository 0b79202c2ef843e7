"""Affinities, neighbours and leaf density against the slow twins of `naive_ibug`."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_ibug import naive_affinities, naive_density, naive_nearest
from tolerances import SAME_SUM

from gbuq_core.errors import InvalidData, InvalidParameter, MemoryLimitExceeded
from gbuq_core.ibug.affinity import (
    count_affinities,
    estimate_nearest_bytes,
    leaf_density,
    nearest,
    pack_leaves,
)
from gbuq_core.jobs import JobRunner


def draw_leaves(rng, n_rows, n_trees, n_leaves, *, alike=0.5):
    """Leaf numbers in which rows share many trees, as rows of real models do."""
    prototypes = rng.integers(0, n_leaves, size=(4, n_trees))
    own = rng.integers(0, n_leaves, size=(n_rows, n_trees))
    same = rng.random((n_rows, n_trees)) < alike
    return np.where(same, prototypes[rng.integers(0, 4, size=n_rows)], own)


@st.composite
def problems(draw):
    """Training and query leaves, some of the query's without training rows; k; trees."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_rows, n_trees = draw(st.integers(1, 40)), draw(st.integers(1, 9))
    n_leaves = draw(st.sampled_from([1, 2, 7]))
    train = draw_leaves(rng, n_rows, n_trees, n_leaves)
    query = draw_leaves(rng, draw(st.integers(1, 5)), n_trees, n_leaves + 2)
    chosen = rng.permutation(n_trees)[: draw(st.integers(1, n_trees))]
    return train, query, draw(st.integers(1, n_rows)), draw(st.sampled_from([None, chosen]))


@given(problems())
def test_neighbours_equal_the_twin(problem):
    leaves, query, k, trees = problem
    train = pack_leaves(leaves)
    counts = naive_affinities(leaves, query, trees)
    np.testing.assert_array_equal(count_affinities(train, query, trees), counts)
    near = nearest(train, query, k, trees)
    indices, affinities = naive_nearest(counts, k)
    np.testing.assert_array_equal(near.indices, indices)
    np.testing.assert_array_equal(near.affinities, affinities)


# Rows and trees around the sizes of blocks (512), of groups of queries (16) and of 8-bit counters
# (252 and 255 trees); leaves around what one byte tells apart.
@pytest.mark.parametrize(
    ("n_rows", "n_trees", "n_queries", "n_leaves"),
    [
        (511, 251, 15, 31),
        (512, 252, 16, 31),
        (513, 253, 17, 31),
        (1025, 256, 1, 3),
        (1030, 509, 70, 2),
        (700, 5, 3, 255),
        (700, 5, 3, 256),
        (2000, 130, 4, 400),
        (1500, 300, 33, 1),
    ],
)
def test_neighbours_equal_numpy_around_block_sizes(n_rows, n_trees, n_queries, n_leaves, rng):
    leaves = draw_leaves(rng, n_rows, n_trees, n_leaves)
    query = draw_leaves(rng, n_queries, n_trees, n_leaves + 1)
    train = pack_leaves(leaves)
    counts = (query[:, None, :] == leaves[None]).sum(axis=2)
    np.testing.assert_array_equal(count_affinities(train, query), counts)
    order = np.lexsort((np.broadcast_to(np.arange(n_rows), counts.shape), -counts))
    for k in (1, 20, n_rows):
        near = nearest(train, query, k)
        np.testing.assert_array_equal(near.indices, order[:, :k])
        np.testing.assert_array_equal(
            near.affinities, np.take_along_axis(counts, order[:, :k], axis=1)
        )


def test_narrow_and_wide_trees_mix(rng):
    """One-byte and two-byte codes in any order, and a choice of trees that mixes them."""
    leaves = np.where(
        np.arange(40) % 3 == 0, rng.integers(0, 600, (900, 40)), rng.integers(0, 5, (900, 40))
    )
    query = leaves[rng.permutation(900)[:20]]
    train = pack_leaves(leaves)
    assert len(train.planes.high) == 14
    chosen = rng.permutation(40)[:25]
    counts = (query[:, None, chosen] == leaves[None][..., chosen]).sum(axis=2)
    np.testing.assert_array_equal(count_affinities(train, query, chosen), counts)


@pytest.mark.parametrize("n_jobs", [1, 2, 7])
def test_threads_do_not_change_the_result(n_jobs, rng):
    train = pack_leaves(draw_leaves(rng, 800, 30, 5))
    query = draw_leaves(rng, 150, 30, 5)
    alone, several = nearest(train, query, 10, n_jobs=1), nearest(train, query, 10, n_jobs=n_jobs)
    np.testing.assert_array_equal(alone.indices, several.indices)


def test_chunks_pack_like_the_whole(rng):
    leaves = rng.integers(0, 500, size=(1000, 6))
    whole = pack_leaves(leaves)
    chunks = pack_leaves((leaves[low : low + 130] for low in range(0, 1000, 130)), n_rows=1000)
    query = leaves[:50]
    np.testing.assert_array_equal(whole.n_leaves, chunks.n_leaves)
    np.testing.assert_array_equal(count_affinities(whole, query), count_affinities(chunks, query))
    assert len(whole.planes.high) == 6


def test_255_leaves_fit_into_one_byte_and_256_do_not():
    narrow, wide = (pack_leaves(np.arange(n)[:, None]) for n in (255, 256))
    assert (len(narrow.planes.high), len(wide.planes.high)) == (0, 1)
    for train, n in ((narrow, 255), (wide, 256)):
        # 300 and 65,535 are leaves without training rows, whatever their bytes look like.
        query = np.array([[0], [n - 1], [300], [65_535]])
        counts = count_affinities(train, query)
        np.testing.assert_array_equal(counts.sum(axis=1), [1, 1, 0, 0])


def test_more_leaves_than_two_bytes_tell_apart_are_refused():
    assert pack_leaves(np.arange(65_535)[:, None]).n_leaves[0] == 65_535
    with pytest.raises(InvalidData, match=r"Tree 1 has more than 65,535 leaves"):
        pack_leaves(np.stack([np.zeros(65_536, int), np.arange(65_536)], axis=1))


def test_memory_stays_below_three_bytes_a_row_and_tree(rng):
    for n_leaves in (31, 600):
        train = pack_leaves(rng.integers(0, n_leaves, size=(4000, 50)))
        assert train.n_bytes <= 3 * 4000 * 50


def test_the_search_keeps_no_matrix_of_affinities():
    """A million training rows: the estimate does not know them."""
    assert estimate_nearest_bytes(1000, 1000, 701) < 30e6


def test_a_search_that_does_not_fit_is_refused(monkeypatch, rng):
    train = pack_leaves(draw_leaves(rng, 50, 5, 3))
    monkeypatch.setattr("gbuq_core.resources.available_memory_bytes", lambda: 1000)
    for work in (
        lambda: nearest(train, np.zeros((9, 5), int), 40),
        lambda: count_affinities(train, np.zeros((90, 5), int)),
        lambda: pack_leaves(np.zeros((900, 5), int)),
    ):
        with pytest.raises(MemoryLimitExceeded, match="would need about"):
            work()


def test_a_search_nobody_wants_is_stopped(rng):
    train = pack_leaves(draw_leaves(rng, 20_000, 50, 5))
    query = draw_leaves(rng, 40, 50, 5)
    began = threading.Event()

    def search(job):
        began.set()
        for _ in range(1000):
            nearest(train, query, 5)

    runner = JobRunner()
    job = runner.want("tab", 1, search)
    assert began.wait(timeout=60)
    runner.want("tab", 2, lambda job: None)
    assert job.wait(timeout=60)
    assert job.state == "cancelled"


def test_leaf_density_equals_the_twin(rng):
    leaves, query = draw_leaves(rng, 80, 7, 6), draw_leaves(rng, 9, 7, 8)
    leaves[:, 3] = np.arange(80) + 300  # a leaf of its own for every row
    train = pack_leaves(leaves)
    # Means of shares: rounding of some sums of 80 terms.
    np.testing.assert_allclose(
        leaf_density(train).visited, naive_density(leaves, leaves), rtol=SAME_SUM
    )
    density = leaf_density(train, query)
    np.testing.assert_allclose(density.visited, naive_density(leaves, query), rtol=SAME_SUM)
    np.testing.assert_array_equal(density.n_leaves, [len(np.unique(column)) for column in leaves.T])
    np.testing.assert_allclose(density.largest[3], 1 / 80)


def test_leaf_density_of_two_byte_trees(rng):
    leaves = rng.integers(0, 700, size=(3000, 2))
    density = leaf_density(pack_leaves(leaves))
    _, counts = np.unique(leaves[:, 1], return_counts=True)
    np.testing.assert_allclose(density.visited[1], np.square(counts / 3000).sum())


@pytest.mark.parametrize("k", [0, 51, 2.5, True, "5", None])
def test_impossible_k_is_refused(k, rng):
    train = pack_leaves(draw_leaves(rng, 50, 5, 3))
    with pytest.raises(
        InvalidParameter, match="k must be a whole number at least 1 and at most 50"
    ):
        nearest(train, np.zeros((1, 5), int), k)


@pytest.mark.parametrize(
    ("leaves", "message"),
    [
        (np.zeros((2, 4), int), "from 4 trees, but the leaves of the training rows come from 5"),
        (np.zeros((2, 5)), "whole numbers"),
        (np.zeros(5, int), "matrix"),
        (np.zeros((0, 5), int), "at least one row"),
        (np.full((1, 5), -1), "from 0 to"),
        (np.full((1, 5), 1 << 40), "from 0 to"),
    ],
)
def test_impossible_leaves_are_refused(leaves, message, rng):
    train = pack_leaves(draw_leaves(rng, 50, 5, 3))
    with pytest.raises(InvalidData, match=message):
        nearest(train, leaves, 3)


@pytest.mark.parametrize(
    ("chunks", "n_rows", "message"),
    [
        ([np.zeros((2, 3), int)], 3, "hold fewer rows"),
        ([np.zeros((2, 3), int)] * 2, 3, "do not make a matrix"),
        ([np.zeros((2, 3), int), np.zeros((1, 2), int)], 3, "do not make a matrix"),
        ([], 3, "hold fewer rows"),
    ],
)
def test_chunks_that_do_not_fit_are_refused(chunks, n_rows, message):
    with pytest.raises(InvalidData, match=message):
        pack_leaves(chunks, n_rows)
