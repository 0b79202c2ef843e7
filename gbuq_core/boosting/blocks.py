"""Boosting one model of many rows on several threads, with the same result on any number.

Below `BLOCK_ROWS` cells a tree is one call of a kernel (`boost_gaussian`, `boost_softmax`). Above,
the cells are cut into blocks and each tree goes through the phases of `trees.block_kernels`; what
is summed over cells is summed block by block and then in the order of the blocks.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gbuq_core.boosting.gaussian_kernels import (
    HALF_LOG_TWO_PI,
    GaussianSums,
    add_gaussian_noise,
    boost_gaussian,
    gaussian_gradients,
    grade_gaussian,
    move_gaussian,
    set_gaussian_leaves,
    sum_gaussian_leaves,
)
from gbuq_core.boosting.noise_kernels import (
    add_split_noise,
    draw_mask,
    mask_changes,
    score_noise_std,
)
from gbuq_core.boosting.softmax_kernels import (
    add_softmax_noise,
    boost_softmax,
    grade_classes,
    move_softmax,
    set_softmax_leaves,
    softmax_gradients,
    sum_softmax_leaves,
)
from gbuq_core.parallel import parallel_map
from gbuq_core.seeding import (
    LEAF_NOISE,
    MASK_ROWS,
    SAMPLE_ROWS,
    SCORE_NOISE,
    SPLIT_NOISE,
    skip,
    stream,
)
from gbuq_core.trees.block_kernels import (
    BLOCK_ROWS,
    BlockScratch,
    begin_block,
    block_edges,
    choose_smaller,
    make_block_scratch,
    merge_slots,
    rows_of_block,
    score_slots,
    split_block,
)
from gbuq_core.trees.growing_kernels import BinnedRows
from gbuq_core.trees.scoring_kernels import best_candidate

_CHUNKS_A_THREAD = 2  # of the features, so that a slow one holds nobody up for long
_WORTH_SHARING = 150_000  # values to read; waiting for another thread takes as long as 30,000


class Task(NamedTuple):
    """The kernels of one loss; ``loss_constant`` is in what ``gradients`` returns for any rows."""

    boost: Callable[..., None]
    gradients: Callable[..., Any]
    add_noise: Callable[..., None]
    grade: Callable[..., None]
    sum_leaves: Callable[..., None]
    set_leaves: Callable[..., float]
    move: Callable[..., None]
    loss_constant: float
    is_gaussian: bool


GAUSSIAN = Task(
    boost_gaussian, gaussian_gradients, add_gaussian_noise, grade_gaussian, sum_gaussian_leaves,
    set_gaussian_leaves, move_gaussian, HALF_LOG_TWO_PI, True,
)  # fmt: skip
SOFTMAX = Task(
    boost_softmax, softmax_gradients, add_softmax_noise, grade_classes, sum_softmax_leaves,
    set_softmax_leaves, move_softmax, 0.0, False,
)  # fmt: skip


class Block(NamedTuple):
    """One block's rows, targets and part of the member's state; ``low`` is its first cell."""

    low: int
    rows: BinnedRows
    cells: Any
    state: Any


class Blocks(NamedTuple):
    """A member that is trained block by block, and memory that its trees share.

    counted (n_blocks, max_leaves / 4, total_bins, n_channels); histogram (max_leaves / 2,
    total_bins, n_channels); products, squares (total_bins,); left_is_smaller (max_leaves / 2,)
    bool; chunks: ranges of features.
    """

    task: Task
    blocks: tuple[Block, ...]
    rows: BinnedRows
    state: Any
    counted: np.ndarray
    histogram: np.ndarray
    products: np.ndarray
    squares: np.ndarray
    left_is_smaller: np.ndarray
    chunks: tuple[tuple[int, int], ...]
    n_jobs: int


def needs_blocks(n_cells: int) -> bool:
    """Whether a model of so many cells is trained block by block."""
    return n_cells > BLOCK_ROWS


def block_bytes(n_cells: int, depth: int, total_bins: int, n_channels: int) -> int:
    """Memory of one member's histograms by blocks."""
    if not needs_blocks(n_cells):
        return 0
    return 8 * (len(block_edges(n_cells)) - 1) * max(1, 2 ** (depth - 2)) * total_bins * n_channels


class CutRows(NamedTuple):
    """All rows cut into blocks, for any number of members: ``rows`` says what slots mean."""

    edges: np.ndarray
    rows: BinnedRows
    parts: tuple[BinnedRows, ...]


def cut_rows(rows: BinnedRows) -> CutRows:
    """The rows by blocks; of the whole, the transposed codes are let go."""
    edges = block_edges(rows.codes.shape[0])
    parts = tuple(
        rows_of_block(rows, low, high) for low, high in itertools.pairwise(edges.tolist())
    )
    return CutRows(edges, rows._replace(columns=np.empty((len(rows.n_bins), 0), np.uint8)), parts)


def make_blocks(task: Task, cut: CutRows, cells: Any, state: Any, n_jobs: int) -> Blocks:
    """Cut one member's cells and state into blocks; the parts are views of the whole."""
    rows, depth = cut.rows, state.forest.features.shape[1]
    total_bins, n_channels = len(rows.slot_bin), state.channels.shape[1]
    counted = np.empty((len(cut.parts), max(1, 2 ** (depth - 2)), total_bins, n_channels))
    blocks = []
    for index, (low, high) in enumerate(itertools.pairwise(cut.edges.tolist())):
        part = slice(low, high)
        scratch: BlockScratch = make_block_scratch(high - low, depth, counted[index])
        own = state._replace(
            raw=state.raw[part],
            gradients=state.gradients[part],
            curvature=state.curvature[part],
            channels=state.channels[part],
            leaf_sums=np.empty_like(state.leaf_sums),
            scratch=scratch,
        )
        blocks.append(Block(low, cut.parts[index], _cells_of(task, cells, low, high), own))
    n_chunks = 1 if n_jobs == 1 else _CHUNKS_A_THREAD * n_jobs
    features = np.unique(np.linspace(0, len(rows.n_bins), n_chunks + 1).astype(int)).tolist()
    return Blocks(
        task, tuple(blocks), rows, state, counted,
        np.empty((max(1, 2 ** (depth - 1)), total_bins, n_channels)),
        np.empty(total_bins), np.empty(total_bins), np.zeros(max(1, 2 ** (depth - 1)), np.bool_),
        tuple(itertools.pairwise(features)), n_jobs,
    )  # fmt: skip


def _cells_of(task: Task, cells: Any, low: int, high: int) -> Any:
    """The targets of the cells ``low:high``; rows keep their places in the whole."""
    part = slice(low, high)
    begin = cells.begin[low : high + 1]
    if task.is_gaussian:
        every, graded = (GaussianSums(*(a[part] for a in s)) for s in (cells.every, cells.graded))
        return cells._replace(every=every, graded=graded, begin=begin)
    return cells._replace(
        n_rows=cells.n_rows[part],
        class_counts=cells.class_counts[part],
        graded=cells.graded[part],
        begin=begin,
    )


def boost_blocks(
    member: Blocks, numbers: Any, seed: int, model: int, first: int, last: int, width: Any
) -> None:
    """Add trees ``first:last`` to a member, as `boost_gaussian` and `boost_softmax` do."""
    for tree in range(first, last):
        _add_tree(member, numbers, seed, model, tree, width)


def gradients_of_blocks(member: Blocks, numbers: Any, scale: float, base: Any) -> tuple[Any, Any]:
    """The rows' gradients' root mean square and their mean NLL, as a task's ``gradients``."""
    found = parallel_map(
        lambda block: _gradients(member.task, block, numbers, scale, base),
        member.blocks,
        member.n_jobs,
    )
    return _join_gradients(member.task, found)


def _gradients(task: Task, block: Block, numbers: Any, scale: float, base: Any) -> Any:
    state = block.state
    return task.gradients(
        block.cells, state.raw, numbers, scale, base, state.gradients, state.curvature,
        state.channels,
    )  # fmt: skip


def _join_gradients(task: Task, found: list[Any]) -> tuple[float, float]:
    """Each block divides by the number of all rows, so squares and losses add up."""
    rms = math.sqrt(sum(rms * rms for rms, _ in found))
    return rms, sum(loss - task.loss_constant for _, loss in found) + task.loss_constant


def _stream(seed: int, model: int, iteration: int, purpose: int) -> np.uint64:
    """`seeding.stream` as the type that kernels read: Python's own integers are signed there."""
    return np.uint64(stream(seed, model, iteration, purpose))


def _add_tree(member: Blocks, numbers: Any, seed: int, model: int, tree: int, width: Any) -> None:
    task, blocks, n_jobs = member.task, member.blocks, member.n_jobs
    schedule, forest = numbers.schedule, member.state.forest
    if mask_changes(schedule, tree):
        share = schedule.share[tree]
        mask_base = _stream(seed, model, schedule.cycle[tree], MASK_ROWS)

        def mask(block: Block) -> None:
            rows = slice(block.cells.begin[0], block.cells.begin[-1])
            draw_mask(block.cells.order[rows], share, mask_base, block.cells.mask[rows])
            task.grade(block.cells)

        parallel_map(mask, blocks, n_jobs)
    sample_base = _stream(seed, model, tree, SAMPLE_ROWS)
    noise = numbers.noise * schedule.noise[tree]
    noise_base = _stream(seed, model, tree, SPLIT_NOISE)

    def begin(block: Block) -> Any:
        found = _gradients(task, block, numbers, schedule.scale[tree], sample_base)
        _add_noise(task, block, numbers, noise, noise_base)
        begin_block(block.rows, block.state.channels, block.state.scratch, width)
        return found

    rms, loss = _join_gradients(task, parallel_map(begin, blocks, n_jobs))
    member.state.trace[0, tree] = loss
    n_levels = _grow(
        member, numbers.l2, score_noise_std(numbers, rms, tree),
        _stream(seed, model, tree, SCORE_NOISE), tree, width,
    )  # fmt: skip
    forest.levels[tree] = n_levels

    def sum_up(block: Block) -> None:
        _sum_leaves(task, block, numbers, n_levels)

    parallel_map(sum_up, blocks, n_jobs)
    sums = member.state.leaf_sums
    sums[:] = blocks[0].state.leaf_sums
    for block in blocks[1:]:
        sums += block.state.leaf_sums
    member.state.trace[1, tree] = task.set_leaves(
        sums, forest, numbers, _stream(seed, model, tree, LEAF_NOISE), tree, n_levels
    )
    parallel_map(lambda block: task.move(block.state, numbers, tree), blocks, n_jobs)


def _add_noise(task: Task, block: Block, numbers: Any, noise: float, base: Any) -> None:
    """Langevin noise of the splits: the draws are those that the cells have in the whole."""
    state = block.state
    own = np.uint64(skip(base, block.low * state.gradients.shape[1]))
    if not numbers.preconditioned:
        add_split_noise(noise, own, state.channels)
    elif task.is_gaussian:
        task.add_noise(noise, own, state.raw, numbers, state.channels)
    else:
        task.add_noise(noise, own, state.curvature, state.channels)


def _sum_leaves(task: Task, block: Block, numbers: Any, n_levels: int) -> None:
    if task.is_gaussian:
        task.sum_leaves(block.cells, block.state, n_levels)
    else:
        task.sum_leaves(block.cells, block.state, numbers.newton, n_levels)


def _over_features(member: Blocks, fn: Callable[[tuple[int, int]], None], n_values: int) -> None:
    """Do what reads so many values for each chunk of features, or for all where that is quicker."""
    if n_values < _WORTH_SHARING:
        fn((0, len(member.rows.n_bins)))
    else:
        parallel_map(fn, member.chunks, member.n_jobs)


def _grow(
    member: Blocks, l2: float, noise_std: float, noise_base: Any, tree: int, width: Any
) -> int:
    """Choose the splits of one tree and the leaf of every row; the number of levels."""
    rows, forest, n_jobs = member.rows, member.state.forest, member.n_jobs
    depth, total_bins = forest.features.shape[1], len(rows.slot_bin)
    ends = np.append(rows.offset[1:], total_bins).astype(np.int64)
    n_parents = 0

    def merge_and_score(n_parents: int, n_leaves: int) -> None:
        def merge(chunk: tuple[int, int]) -> None:
            low, high = int(rows.offset[chunk[0]]), int(ends[chunk[1] - 1])
            merge_slots(
                member.counted, member.histogram, n_parents, member.left_is_smaller, low, high
            )

        def score(chunk: tuple[int, int]) -> None:
            score_slots(
                member.histogram, rows, n_leaves, l2, *chunk, member.products, member.squares,
                width,
            )  # fmt: skip

        n_slots = total_bins * max(n_parents, 1)
        _over_features(member, merge, len(member.blocks) * n_slots)
        _over_features(member, score, total_bins * n_leaves)

    for level in range(depth):
        n_leaves = 1 << level
        merge_and_score(n_parents, n_leaves)
        best = best_candidate(
            member.products, member.squares, rows.is_candidate, noise_std, noise_base,
            level * total_bins,
        )  # fmt: skip
        if best < 0:
            return level
        feature, code = int(rows.slot_feature[best]), np.uint8(rows.slot_bin[best])
        forest.features[tree, level] = feature
        forest.bins[tree, level] = code
        is_last = level + 1 == depth
        if not is_last:
            choose_smaller(member.histogram, rows, feature, code, n_leaves, member.left_is_smaller)

        def split(
            block: Block,
            level: int = level,
            feature: int = feature,
            code: Any = code,
            is_last: bool = is_last,
        ) -> None:
            split_block(
                block.rows, block.state.channels, block.state.scratch, level, feature, code,
                member.left_is_smaller, is_last, width,
            )  # fmt: skip

        parallel_map(split, member.blocks, n_jobs)
        n_parents = n_leaves
    return depth
