"""Training and predicting with this project's own kernels, and its models as plain arrays."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gbuq_core.boosting.blocks import (
    GAUSSIAN,
    SOFTMAX,
    CutRows,
    block_bytes,
    boost_blocks,
    cut_rows,
    final_loss,
    make_blocks,
    needs_blocks,
)
from gbuq_core.boosting.gaussian_kernels import LOG_STD_FLOOR, GaussianCells, GaussianSums
from gbuq_core.boosting.monotone import signs_of_outputs
from gbuq_core.boosting.plan import BoostingPlan, Schedule, langevin_numbers, plan_schedule
from gbuq_core.boosting.softmax_kernels import ClassCells
from gbuq_core.compilers import need_kernels
from gbuq_core.inputs import exact_std, weighted_mean
from gbuq_core.jobs import advance, check_memory, effective_n_jobs, parallel_map
from gbuq_core.model_files.contents import check_arrays, check_places, require
from gbuq_core.parallel import spread_map
from gbuq_core.trees.binning import (
    Bins,
    Cells,
    apply_bins,
    binned_rows,
    fit_bins,
    merge_rows,
    single_cells,
)
from gbuq_core.trees.forest_kernels import (
    ObliviousForest,
    empty_forest,
    fill_leaf_matrix,
    forest_bytes,
    leaf_scratch,
    predict_checkpoints,
)
from gbuq_core.trees.growing_kernels import BinnedRows, TreeScratch, make_tree_scratch

_FLAT = 200  # columns of one value, and as many as of more, are worth leaving out
_CHUNK_SECONDS = 0.02  # between two looks at whether anybody still wants the result
# Number of outputs for which a kernel with unrolled loops is compiled; others share a general one.
_UNROLLED_OUTPUTS = (2, 3)
# The compile steps of a fit by its number of classes, and of predictions by that of outputs.
_FITTING = {None: "gaussian_boosting", 2: "two_classes", 3: "three_classes"}
_PREDICTING = {2: "predicting", 3: "predicting_three"}


class StepNumbers(NamedTuple):
    """The numbers of a fit, as the kernels read them."""

    learning_rate: float
    l2: float
    noise: float  # `sqrt(2 / (learning_rate * diffusion_temperature))`, 0 without Langevin noise
    leaf_noise: float  # the same, or 0 where only the choice of splits is noisy
    decay: float  # `1 - model_shrink_rate * learning_rate`
    random_strength: float
    n_rows: float
    subsample: float  # a share of the rows
    newton: bool
    preconditioned: bool  # whether both noises have the covariance that samples from the posterior
    log_std_floor: float  # a Gaussian's log std does not follow its gradient below it
    schedule: Schedule  # what changes from tree to tree
    monotone: np.ndarray = np.zeros((0, 0), np.int8)  # see `project_monotone`


class MemberState(NamedTuple):
    """One member in training: its trees so far, its predictions, and memory that its trees reuse.

    ``raw`` (n, n_outputs) is the current raw prediction of each cell; ``gradients`` (n, n_outputs),
    ``curvature`` (n, n_curvature) and ``channels`` (n, n_outputs + 1) belong to the current tree,
    ``leaf_sums`` (max_leaves, n_leaf_sums) to its leaves. ``trace`` (2, n_trees + 1) keeps the mean
    NLL of the training rows before each tree and after the last, and each tree's root mean square.
    """

    forest: ObliviousForest
    raw: np.ndarray
    gradients: np.ndarray
    curvature: np.ndarray
    channels: np.ndarray
    leaf_sums: np.ndarray
    trace: np.ndarray
    scratch: TreeScratch


def start_member(
    rows: BinnedRows, start: np.ndarray, n_trees: int, depth: int, n_leaf_sums: int
) -> MemberState:
    """A member without trees whose raw prediction is ``start`` (n_outputs,) everywhere."""
    n_cells, n_outputs = rows.codes.shape[0], start.shape[0]
    return MemberState(
        forest=empty_forest(n_trees, depth, n_outputs),
        raw=np.tile(start, (n_cells, 1)),
        gradients=np.empty((n_cells, n_outputs)),
        curvature=np.empty((n_cells, n_outputs)),
        channels=np.empty((n_cells, n_outputs + 1)),
        leaf_sums=np.empty((2**depth, n_leaf_sums)),
        trace=np.zeros((2, n_trees + 1)),
        scratch=make_tree_scratch(n_cells, depth, rows.slot_bin.shape[0], n_outputs + 1),
    )


def unrolled_width(n_outputs: int) -> tuple[int, ...]:
    """The ``width`` argument of the tree kernels: one entry a channel, or empty for any number."""
    return (0,) * (n_outputs + 1) if n_outputs in _UNROLLED_OUTPUTS else ()


class NumbaModels(NamedTuple):
    """Fitted models: one forest each, all with the same bins, start and decay."""

    forests: tuple[ObliviousForest, ...]
    bins: Bins
    start: np.ndarray
    decay: float
    n_cells: int
    # one a model, (2, n_trees + 1): NLL of the inner target before each tree, size of each tree
    traces: tuple[np.ndarray, ...] = ()

    @property
    def n_bytes(self) -> int:
        """Memory of the fitted trees."""
        return sum(array.nbytes for forest in self.forests for array in forest)


class TrainingSet(NamedTuple):
    """What every model of a fit is trained from; nobody writes to it."""

    rows: BinnedRows
    cut: CutRows | None
    sums: Any
    masked: bool
    start: np.ndarray
    n_leaf_sums: int
    numbers: StepNumbers
    plan: BoostingPlan
    n_classes: int | None
    seed: int
    n_jobs: int | None


def train_model(training: TrainingSet, model: int) -> tuple[ObliviousForest, np.ndarray]:
    """Train model number ``model`` of a fit, the same in any process: its trees and its trace."""
    plan, numbers, seed, cut = training.plan, training.numbers, training.seed, training.cut
    rows, start, n_classes = training.rows, training.start, training.n_classes
    task = GAUSSIAN if n_classes is None else SOFTMAX
    # Threads that fewer models than cores leave idle help the models that there are.
    n_inner = max(1, effective_n_jobs(training.n_jobs) // plan.n_models)
    state = start_member(rows, start, plan.n_trees, plan.depth, training.n_leaf_sums)
    own = with_own_mask(training.sums) if training.masked else training.sums
    width, first, chunk = unrolled_width(len(start)), 0, 1
    blocks = (
        None
        if cut is None
        else make_blocks(task, cut, own, state, numbers, seed, model, width, n_inner)
    )
    while first < plan.n_trees:
        last = min(first + chunk, plan.n_trees)
        began = time.perf_counter()
        if blocks is None:
            task.boost(rows, own, state, numbers, seed, model, first, last, width)
        else:
            boost_blocks(blocks, first, last)
        per_tree = (time.perf_counter() - began) / (last - first)
        chunk = max(1, min(4 * chunk, int(_CHUNK_SECONDS / max(per_tree, 1e-9))))
        advance((last - first) / (plan.n_trees * plan.n_models))
        first = last
    if blocks is not None:
        state.trace[0, -1] = final_loss(blocks)
    return state.forest, state.trace


def fit(
    matrix: np.ndarray,
    is_category: np.ndarray,
    target: np.ndarray,
    n_classes: int | None,
    plan: BoostingPlan,
    seed: int,
    n_jobs: int | None,
    weight: np.ndarray | None = None,
    signs: np.ndarray | None = None,
) -> NumbaModels:
    """Train ``plan.n_models`` models; ``signs`` (n_columns,) are those of monotone columns."""
    n_rows, n_outputs = len(matrix), n_classes or 2
    n_bytes = estimate_bytes(plan, n_rows, matrix.shape[1], n_outputs, n_jobs)
    check_memory(n_bytes, "this fit")
    need_kernels("bins", _FITTING.get(n_classes, "softmax"))
    bins = fit_bins(matrix, is_category, plan.max_bins, weight, n_jobs)
    columns = apply_bins(bins, matrix, n_jobs)
    parting, read = bins, np.flatnonzero((bins.n_codes > 2) | bins.is_category | bins.has_missing)
    if bins.n_codes.size > 2 * max(1, len(read)) + _FLAT:  # those of one value take time, too
        parting = Bins(tuple(bins.borders[k] for k in read), *(part[read] for part in bins[1:]))
        columns, signs = columns[read], None if signs is None else signs[read]
    cells = merge_rows(columns, always=weight is not None) or single_cells(columns)
    rows = binned_rows(parting, cells)
    n_counted = count_weighted(n_rows, weight)
    langevin = langevin_numbers(plan, n_counted)
    numbers = StepNumbers(
        plan.learning_rate,
        plan.l2,
        langevin.noise,
        langevin.leaf_noise,
        langevin.decay,
        plan.random_strength,
        n_counted,
        plan.subsample,
        plan.newton,
        plan.preconditioned,
        log_std_floor(target, weight) if n_classes is None else 0.0,
        plan_schedule(plan),
        signs_of_outputs(signs, n_classes),
    )
    masked = bool((numbers.schedule.share < 1.0).any())
    if n_classes is None:
        sums: Any = sum_gaussian(cells, target, weight)
        start, n_leaf_sums = gaussian_start(target, weight), 5
    else:
        sums = sum_classes(cells, target, n_classes, weight)
        start = np.zeros(n_classes)
        n_leaf_sums = n_classes + 1 + (n_classes * (n_classes + 1) // 2 if plan.newton else 0)

    cut = cut_rows(rows, n_jobs) if needs_blocks(len(cells.codes)) else None
    training = TrainingSet(
        rows if cut is None else cut.rows,
        cut,
        sums,
        masked,
        start,
        n_leaf_sums,
        numbers,
        plan,
        n_classes,
        seed,
        n_jobs,
    )
    trained = spread_map(train_model, training, range(plan.n_models), n_jobs)
    forests, traces = zip(*trained, strict=True)
    if parting is not bins:
        forests = tuple(
            forest._replace(features=read.astype(np.int16)[forest.features]) for forest in forests
        )
    return NumbaModels(forests, bins, start, langevin.decay, len(cells.codes), traces)


def count_weighted(n_rows: int, weight: np.ndarray | None) -> float:
    """How many rows a training set counts as: the sum of its weights."""
    return float(n_rows) if weight is None else float(weight.sum())


def gaussian_start(inner: np.ndarray, weight: np.ndarray | None = None) -> np.ndarray:
    """The first raw prediction (mean, log std) of the inner target."""
    spread = exact_std(inner, weight)
    return np.array(
        [weighted_mean(inner, weight), np.log(spread) if spread > 0.0 else LOG_STD_FLOOR]
    )


def log_std_floor(inner: np.ndarray, weight: np.ndarray | None = None) -> float:
    """The log std at which boosting takes rows of the inner target to be without noise."""
    spread = exact_std(inner, weight)
    return LOG_STD_FLOOR + (float(np.log(spread)) if spread > 0.0 else 0.0)


def sum_gaussian(
    cells: Cells, inner: np.ndarray, weight: np.ndarray | None = None
) -> GaussianCells:
    """Counts and central moments of ``inner`` (n_rows,) by cell; all rows have gradients."""
    begin, sorted_values = cells.begin, inner[cells.order]
    n_cells, count = len(begin) - 1, np.diff(begin)
    w = np.ones(len(inner)) if weight is None else weight[cells.order]
    if n_cells == len(inner):
        zero = np.zeros(n_cells)
        every = GaussianSums(w, sorted_values, zero, zero, zero)
        deviation = zero
    else:
        n = np.add.reduceat(w, begin[:-1])
        mean = np.add.reduceat(w * sorted_values, begin[:-1]) / n
        deviation = sorted_values - np.repeat(mean, count)
        square = deviation * deviation
        powers = (square, square * deviation, square * square)
        m2, m3, m4 = (np.add.reduceat(w * power, begin[:-1]) for power in powers)
        every = GaussianSums(n, mean, m2, m3, m4)
    mask = np.ones(len(inner), np.uint8)
    return GaussianCells(every, every, mask, deviation, w, begin, cells.order)


def sum_classes(
    cells: Cells, class_codes: np.ndarray, n_classes: int, weight: np.ndarray | None = None
) -> ClassCells:
    """Rows of each class (``class_codes`` from 0) in every cell; all rows have gradients."""
    begin, count = cells.begin, np.diff(cells.begin)
    class_of_row = class_codes[cells.order].astype(np.int32)
    cell_of_row = np.repeat(np.arange(len(count)), count)
    w = np.ones(len(class_codes)) if weight is None else weight[cells.order]
    counts = np.bincount(
        cell_of_row * n_classes + class_of_row, w, minlength=len(count) * n_classes
    )
    class_counts = counts.reshape(len(count), n_classes)
    mask = np.ones(len(class_codes), np.uint8)
    return ClassCells(
        np.add.reduceat(w, begin[:-1]),
        class_counts,
        class_counts,
        mask,
        class_of_row,
        w,
        begin,
        cells.order,
    )


def with_own_mask(cells: Any) -> Any:
    """The same cells with a mask and graded sums of their own, for one member to write."""
    return cells._replace(mask=cells.mask.copy(), graded=copy.deepcopy(cells.graded))


def raw_predictions(
    models: NumbaModels,
    matrix: np.ndarray,
    checkpoints: np.ndarray,
    n_models: int,
    n_jobs: int | None,
) -> np.ndarray:
    """Raw outputs of the first ``n_models`` models after each of ``checkpoints`` trees."""
    shape = (n_models, len(checkpoints), len(matrix), len(models.start))
    # Raw outputs, the parameters made of them, and two such arrays while those are made.
    check_memory(4 * 8 * int(np.prod(shape)), "these predictions")
    need_kernels(_PREDICTING.get(len(models.start), "predicting"))
    columns = apply_bins(models.bins, matrix, n_jobs)
    out = np.empty(shape)
    walk = _walker(models, checkpoints)
    # Rows are cut into blocks, so that one model of many rows keeps all cores busy too.
    size = max(4096, -(-len(matrix) // 64))
    blocks = [(m, low) for low in range(0, len(matrix), size) for m in range(n_models)]

    def predict(block: tuple[int, int]) -> None:
        model, low = block
        walk(columns, model, low, min(low + size, len(matrix)), out[model])

    parallel_map(predict, blocks, n_jobs)
    return out


def read_stages(
    models: NumbaModels, checkpoints: np.ndarray, n_models: int
) -> Callable[[np.ndarray], np.ndarray]:
    """`raw_predictions` as a function of a few rows of the matrix, which runs on one thread."""
    walk = _walker(models, checkpoints)

    def read(matrix: np.ndarray) -> np.ndarray:
        columns = apply_bins(models.bins, matrix)
        out = np.empty((n_models, len(checkpoints), len(matrix), len(models.start)))
        for model in range(n_models):
            walk(columns, model, 0, len(matrix), out[model])
        return out

    return read


def _walker(
    models: NumbaModels, checkpoints: np.ndarray
) -> Callable[[np.ndarray, int, int, int, np.ndarray], None]:
    """Writes to its last argument what one model says of some rows of binned columns."""
    points = checkpoints.astype(np.int64)
    depth = models.forests[0].features.shape[1]
    width = unrolled_width(len(models.start))[1:]  # an entry an output: nothing is counted here

    def walk(columns: np.ndarray, model: int, low: int, high: int, out: np.ndarray) -> None:
        predict_checkpoints(
            columns,
            models.bins.is_category,
            models.forests[model],
            models.start,
            models.decay,
            points,
            low,
            high,
            leaf_scratch(depth),
            width,
            out,
        )

    return walk


def leaf_indices(models: NumbaModels, matrix: np.ndarray) -> np.ndarray:
    """Leaf of every row in every tree of every model, (n_rows, n_models * n_trees) uint16."""
    columns = apply_bins(models.bins, matrix)
    n_trees = len(models.forests[0].levels)
    check_memory(2 * len(matrix) * n_trees * (len(models.forests) + 1), "these leaf indices")
    out = np.empty((len(matrix), n_trees * len(models.forests)), np.uint16)
    for model, forest in enumerate(models.forests):
        part = np.empty((len(matrix), n_trees), np.uint16)
        fill_leaf_matrix(columns, models.bins.is_category, forest, part)
        out[:, model * n_trees : (model + 1) * n_trees] = part
    return out


def value_changes(models: NumbaModels, n_trees: np.ndarray, units: np.ndarray) -> np.ndarray:
    """How much the splits on each column change the leaf values, squared, (n_columns,)."""
    total = np.zeros(len(models.bins.is_category))
    for forest in models.forests:
        tree = np.arange(len(forest.levels))[:, None]
        later = np.maximum(n_trees - 1 - tree, 0)  # trees that shrink this one
        weights = np.where(tree < n_trees, (units * models.decay**later) ** 2, 0.0)
        filled = (forest.values != 0.0).any(axis=2)  # a leaf without rows adds exactly 0
        weights /= np.maximum(filled.sum(axis=1), 1)[:, None]
        for level in range(forest.features.shape[1]):
            shape = (len(tree), -1, 2, 2**level)
            sides, known = forest.values.reshape(*shape, len(units)), filled.reshape(shape)
            both = (known[:, :, 0] & known[:, :, 1])[..., None]
            change = np.where(both, (sides[:, :, 0] - sides[:, :, 1]) ** 2, 0.0).sum(axis=(1, 2))
            used = level < forest.levels
            added = (change * weights).sum(axis=1) * used
            total += np.bincount(forest.features[:, level], added, len(total))
    return total


def estimate_bytes(
    plan: BoostingPlan, n_rows: int, n_features: int, n_outputs: int, n_jobs: int | None = None
) -> int:
    """Peak memory of a fit in bytes: data, what each model at work needs, and the forests."""
    # The matrix twice while its columns are put together, three times a byte of codes, targets.
    data = n_rows * (19 * n_features + 16 * n_outputs + 64)
    histogram = 2 ** max(plan.depth - 1, 0) * n_features * (plan.max_bins + 1) * 8 * (n_outputs + 1)
    at_work = n_rows * (8 * (4 * n_outputs + 1) + 10) + histogram
    at_work += block_bytes(n_rows, plan.depth, n_features * (plan.max_bins + 1), n_outputs + 1)
    models = plan.n_models * forest_bytes(plan.n_trees, plan.depth, n_outputs)
    return data + min(plan.n_models, effective_n_jobs(n_jobs)) * at_work + models


def check_models(
    models: NumbaModels, plan: BoostingPlan, n_outputs: int, is_category: np.ndarray
) -> None:
    """Refuse models of a file that no training makes: kernels would read outside an array."""
    check_arrays(models, start=("finite", n_outputs))
    same = np.array_equal(models.bins.is_category, is_category)
    require(same, "its columns contradict each other")
    require(0.0 < models.decay <= 1.0 and models.n_cells >= 1, "a number is out of range")
    require(len(models.forests) == plan.n_models, "a model is missing")
    trees = (plan.n_trees, plan.depth)
    for forest in models.forests:
        check_arrays(
            forest,
            features=(np.int16, *trees),
            bins=(np.uint8, *trees),
            levels=(np.int16, plan.n_trees),
            values=("finite", plan.n_trees, 2**plan.depth, n_outputs),
        )
        levels = (forest.levels >= 0) & (forest.levels <= plan.depth)
        require(levels.all(), "a tree has impossible levels")
        check_places(forest.features, len(is_category), "a column that a tree splits on")
        known = forest.bins < models.bins.n_codes[forest.features]
        require(known.all(), "a tree splits on a bin that does not exist")
    require(len(models.traces) == plan.n_models, "a trace of its training is missing")
    for trace in models.traces:
        fits = trace.dtype == np.float64 and trace.shape == (2, plan.n_trees + 1)
        require(fits and np.isfinite(trace).all(), "a training loss is not finite")
