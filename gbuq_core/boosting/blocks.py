"""Boosting one model of many rows on several threads, with the same result on any number.

Below `BLOCK_ROWS` cells a tree is one call of a kernel (`boost_gaussian`, `boost_softmax`). Above,
the cells are cut into blocks and each tree goes through the phases of `trees.block_kernels`; what
is summed over cells is summed block by block and then in the order of the blocks.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import partial
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
from gbuq_core.boosting.noise_kernels import draw_mask, mask_changes, score_noise_std
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
    LevelScratch,
    block_edges,
    choose_smaller,
    make_block_scratch,
    make_level_scratch,
    merge_and_score,
    merge_first,
    rows_of_block,
    split_block,
)
from gbuq_core.trees.growing_kernels import BinnedRows, begin_root
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
    boost_gaussian,
    gaussian_gradients,
    add_gaussian_noise,
    grade_gaussian,
    sum_gaussian_leaves,
    set_gaussian_leaves,
    move_gaussian,
    HALF_LOG_TWO_PI,
    True,
)
SOFTMAX = Task(
    boost_softmax,
    softmax_gradients,
    add_softmax_noise,
    grade_classes,
    sum_softmax_leaves,
    set_softmax_leaves,
    move_softmax,
    0.0,
    False,
)


class Block(NamedTuple):
    """One block's rows, targets and part of the member's state; ``low`` is its first cell."""

    low: int
    rows: BinnedRows
    cells: Any
    state: Any


class Blocks(NamedTuple):
    """A member that is trained block by block: what its trees are made of, and by whom."""

    task: Task
    blocks: tuple[Block, ...]
    rows: BinnedRows
    state: Any
    level: LevelScratch
    chunks: tuple[tuple[int, int], ...]
    numbers: Any
    seed: int
    model: int
    width: Any
    n_jobs: int

    def draws(self, iteration: int, purpose: int) -> np.uint64:
        """`seeding.stream` as the type that kernels read: Python's own integers are signed."""
        return np.uint64(stream(self.seed, self.model, iteration, purpose))


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


def cut_rows(rows: BinnedRows, n_jobs: int | None) -> CutRows:
    """The rows by blocks; of the whole, the transposed codes are let go."""
    edges = block_edges(rows.codes.shape[0])
    parts = parallel_map(
        lambda ends: rows_of_block(rows, *ends), itertools.pairwise(edges.tolist()), n_jobs
    )
    layout = rows._replace(columns=np.empty((len(rows.n_bins), 0), np.uint8))
    return CutRows(edges, layout, tuple(parts))


def make_blocks(
    task: Task,
    cut: CutRows,
    cells: Any,
    state: Any,
    numbers: Any,
    seed: int,
    model: int,
    width: Any,
    n_jobs: int,
) -> Blocks:
    """Cut one member's cells and state into blocks; the parts are views of the whole."""
    rows, depth = cut.rows, state.forest.features.shape[1]
    level = make_level_scratch(len(cut.parts), depth, len(rows.slot_bin), state.channels.shape[1])
    blocks = []
    for index, (low, high) in enumerate(itertools.pairwise(cut.edges.tolist())):
        part = slice(low, high)
        own = state._replace(
            raw=state.raw[part],
            gradients=state.gradients[part],
            curvature=state.curvature[part],
            channels=state.channels[part],
            leaf_sums=np.empty_like(state.leaf_sums),
            scratch=make_block_scratch(high - low, depth, level.counted[index]),
        )
        blocks.append(Block(low, cut.parts[index], _cells_of(task, cells, low, high), own))
    n_chunks = 1 if n_jobs == 1 else _CHUNKS_A_THREAD * n_jobs
    features = np.unique(np.linspace(0, len(rows.n_bins), n_chunks + 1).astype(int)).tolist()
    return Blocks(
        task,
        tuple(blocks),
        rows,
        state,
        level,
        tuple(itertools.pairwise(features)),
        numbers,
        seed,
        model,
        width,
        n_jobs,
    )


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


def boost_blocks(member: Blocks, first: int, last: int) -> None:
    """Add trees ``first:last`` to a member, as `boost_gaussian` and `boost_softmax` do."""
    for tree in range(first, last):
        _add_tree(member, tree)


def final_loss(member: Blocks) -> float:
    """The rows' mean NLL after the last tree."""
    last = partial(_gradients, member, len(member.state.forest.levels), 1.0)
    return _join_gradients(member.task, parallel_map(last, member.blocks, member.n_jobs))[1]


def _add_tree(member: Blocks, tree: int) -> None:
    task, numbers, blocks, state = member.task, member.numbers, member.blocks, member.state
    begin, sum_up = partial(_begin_tree, member, tree), partial(_sum_leaves, member)
    rms, state.trace[0, tree] = _join_gradients(task, parallel_map(begin, blocks, member.n_jobs))
    n_levels = _grow(member, tree, score_noise_std(numbers, rms, tree))
    state.forest.levels[tree] = n_levels
    if n_levels < state.forest.features.shape[1]:  # else `_split` has done it
        parallel_map(partial(sum_up, n_levels), blocks, member.n_jobs)
    sums = state.leaf_sums
    sums[:] = blocks[0].state.leaf_sums
    for block in blocks[1:]:
        sums += block.state.leaf_sums
    state.trace[1, tree] = task.set_leaves(
        sums, state.forest, numbers, member.draws(tree, LEAF_NOISE), tree, n_levels
    )


def _begin_tree(member: Blocks, tree: int, block: Block) -> tuple[float, float]:
    """What comes before the first split of a tree; what `_gradients` returns."""
    task, numbers, state = member.task, member.numbers, block.state
    schedule = numbers.schedule
    if mask_changes(schedule, tree):
        places = slice(block.cells.begin[0], block.cells.begin[-1])
        base = member.draws(schedule.cycle[tree], MASK_ROWS)
        draw_mask(block.cells.order[places], schedule.share[tree], base, block.cells.mask[places])
        task.grade(block.cells)
    totals = _gradients(member, tree, schedule.scale[tree], block)
    # The draws are those that the cells have in the whole.
    n_before = block.low * state.gradients.shape[1]
    base = np.uint64(skip(member.draws(tree, SPLIT_NOISE), n_before))
    task.add_noise(numbers.noise * schedule.noise[tree], base, state, numbers)
    begin_root(block.rows, state.channels, state.scratch, state.scratch.counted[0], member.width)
    return totals


def _gradients(member: Blocks, tree: int, scale: float, block: Block) -> tuple[float, float]:
    """A task's ``gradients`` before ``tree``, once the rows have moved by the tree before it.

    Moving them with that tree would be one more time for threads to wait for each other.
    """
    task, numbers = member.task, member.numbers
    if tree > 0:
        task.move(block.state, numbers, tree - 1)
    base = member.draws(tree, SAMPLE_ROWS)
    return task.gradients(block.cells, block.state, numbers, scale, base)


def _join_gradients(task: Task, totals: list[tuple[float, float]]) -> tuple[float, float]:
    """Each block divides by the number of all rows, so squares and losses add up."""
    rms = math.sqrt(sum(rms * rms for rms, _ in totals))
    return rms, sum(loss - task.loss_constant for _, loss in totals) + task.loss_constant


def _sum_leaves(member: Blocks, n_levels: int, block: Block) -> None:
    member.task.sum_leaves(block.cells, block.state, member.numbers, n_levels)


def _grow(member: Blocks, tree: int, noise_std: float) -> int:
    """Choose the splits of one tree and the leaf of every row; the number of levels."""
    rows, forest, scratch = member.rows, member.state.forest, member.level
    depth, total_bins = forest.features.shape[1], len(rows.slot_bin)
    noise_base = member.draws(tree, SCORE_NOISE)
    for level in range(depth):
        n_leaves = 1 << level
        _score(member, n_leaves)
        best = best_candidate(
            scratch.products,
            scratch.squares,
            rows.is_candidate,
            noise_std,
            noise_base,
            level * total_bins,
        )
        if best < 0:
            return level
        feature, code = int(rows.slot_feature[best]), np.uint8(rows.slot_bin[best])
        forest.features[tree, level] = feature
        forest.bins[tree, level] = code
        if level + 1 < depth:
            choose_smaller(
                scratch.histogram, rows, feature, code, n_leaves, scratch.left_is_smaller
            )
        parallel_map(partial(_split, member, level, feature, code), member.blocks, member.n_jobs)
    return depth


def _score(member: Blocks, n_leaves: int) -> None:
    """Score all candidates, by chunks of features or in one piece where that is quicker."""
    rows, scratch = member.rows, member.level
    merge_first(scratch, rows, n_leaves, member.width)
    n_values = len(rows.slot_bin) * (len(member.blocks) * max(n_leaves // 2, 1) + n_leaves)
    if n_values < _WORTH_SHARING:
        _score_chunk(member, n_leaves, (0, len(rows.n_bins)))
    else:
        parallel_map(partial(_score_chunk, member, n_leaves), member.chunks, member.n_jobs)


def _score_chunk(member: Blocks, n_leaves: int, chunk: tuple[int, int]) -> None:
    merge_and_score(member.level, member.rows, n_leaves, member.numbers.l2, *chunk, member.width)


def _split(member: Blocks, level: int, feature: int, code: Any, block: Block) -> None:
    """Split a block's rows; after the last level, sum up over the leaves."""
    is_last = level + 1 == member.state.forest.features.shape[1]
    split_block(
        block.rows,
        block.state.channels,
        block.state.scratch,
        level,
        feature,
        code,
        member.level.left_is_smaller,
        is_last,
        member.width,
    )
    if is_last:
        _sum_leaves(member, level + 1, block)
