"""Training and predicting with this project's own kernels."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from gbuq_core.boosting.gaussian_kernels import boost_gaussian, gaussian_gradients
from gbuq_core.boosting.plan import BoostingPlan, langevin_numbers, plan_schedule
from gbuq_core.boosting.softmax_kernels import boost_softmax, softmax_gradients
from gbuq_core.boosting.steps import StepNumbers, start_member, unrolled_width
from gbuq_core.boosting.targets import (
    gaussian_start,
    log_std_floor,
    sum_classes,
    sum_gaussian,
    with_own_mask,
)
from gbuq_core.jobs import advance, check_memory, effective_n_jobs, parallel_map
from gbuq_core.trees.binning import (
    Bins,
    apply_bins,
    binned_rows,
    fit_bins,
    merge_rows,
    single_cells,
)
from gbuq_core.trees.forest import ObliviousForest, forest_bytes
from gbuq_core.trees.forest_kernels import fill_leaf_matrix, predict_checkpoints

_CHUNK_SECONDS = 0.02  # between two looks at whether anybody still wants the result


class NumbaModels(NamedTuple):
    """Fitted models: one forest each, all with the same bins, start and decay.

    ``traces`` holds for each model (2, n_trees + 1) float64: the mean NLL of the inner target
    before each tree and after the last, and the root mean square of what each tree added.
    """

    forests: tuple[ObliviousForest, ...]
    bins: Bins
    start: np.ndarray
    decay: float
    n_cells: int
    traces: tuple[np.ndarray, ...] = ()

    @property
    def n_bytes(self) -> int:
        """Memory of the fitted trees."""
        return sum(array.nbytes for forest in self.forests for array in forest)


def fit(
    matrix: np.ndarray,
    is_category: np.ndarray,
    target: np.ndarray,
    n_classes: int | None,
    plan: BoostingPlan,
    seed: int,
    n_jobs: int | None,
) -> NumbaModels:
    """Train ``plan.n_models`` models.

    Parameters
    ----------
    matrix : (n_rows, n_features) float64
        NaN is missing; categories hold codes.
    target : (n_rows,)
        The inner target, or class codes.
    n_classes : int or None
        None for regression.
    """
    n_rows, n_outputs = len(matrix), n_classes or 2
    n_bytes = estimate_bytes(plan, n_rows, matrix.shape[1], n_outputs, n_jobs)
    check_memory(n_bytes, "this fit")
    bins = fit_bins(matrix, is_category, plan.max_bins)
    columns = apply_bins(bins, matrix)
    cells = merge_rows(columns) or single_cells(columns)
    rows = binned_rows(bins, cells.codes)
    langevin = langevin_numbers(plan, n_rows)
    numbers = StepNumbers(
        plan.learning_rate, plan.l2, langevin.noise, langevin.leaf_noise, langevin.decay,
        plan.random_strength, float(n_rows), plan.subsample, plan.newton,
        log_std_floor(target) if n_classes is None else 0.0, plan_schedule(plan),
    )  # fmt: skip
    boost: Any
    masked = bool((numbers.schedule.share < 1.0).any())
    if n_classes is None:
        sums: Any = sum_gaussian(cells, target)
        start, n_leaf_sums = gaussian_start(target), 4
        boost, gradients = boost_gaussian, gaussian_gradients
    else:
        sums = sum_classes(cells, target, n_classes)
        start = np.zeros(n_classes)
        boost, gradients = boost_softmax, softmax_gradients
        n_leaf_sums = n_classes + 1 + (n_classes * (n_classes + 1) // 2 if plan.newton else 0)

    def train(model: int) -> tuple[ObliviousForest, np.ndarray]:
        state = start_member(rows, start, plan.n_trees, plan.depth, n_leaf_sums)
        own = with_own_mask(sums) if masked else sums
        width, first, chunk = unrolled_width(n_outputs), 0, 1
        while first < plan.n_trees:
            last = min(first + chunk, plan.n_trees)
            began = time.perf_counter()
            boost(rows, own, state, numbers, seed, model, first, last, width)
            per_tree = (time.perf_counter() - began) / (last - first)
            chunk = max(1, min(4 * chunk, int(_CHUNK_SECONDS / max(per_tree, 1e-9))))
            advance((last - first) / (plan.n_trees * plan.n_models))
            first = last
        state.trace[0, -1] = gradients(
            own, state.raw, numbers, 1.0, np.uint64(0),
            state.gradients, state.curvature, state.channels,
        )[1]  # fmt: skip
        return state.forest, state.trace

    trained = parallel_map(train, range(plan.n_models), n_jobs)
    forests, traces = zip(*trained, strict=True)
    return NumbaModels(forests, bins, start, langevin.decay, len(cells.codes), traces)


def raw_predictions(
    models: NumbaModels,
    matrix: np.ndarray,
    checkpoints: np.ndarray,
    n_models: int,
    n_jobs: int | None,
) -> np.ndarray:
    """Raw outputs of the first ``n_models`` models after each number of trees in ``checkpoints``.

    Returns
    -------
    (n_models, n_checkpoints, n_rows, n_outputs) float64
    """
    columns = apply_bins(models.bins, matrix)
    shape = (n_models, len(checkpoints), len(matrix), len(models.start))
    # Raw outputs, the parameters made of them, and two such arrays while those are made.
    check_memory(4 * 8 * int(np.prod(shape)), "these predictions")
    out = np.empty(shape)
    points = checkpoints.astype(np.int64)
    # Rows are cut into blocks, so that one model of many rows keeps all cores busy too.
    size = max(4096, -(-len(matrix) // 64))
    blocks = [(m, low) for low in range(0, len(matrix), size) for m in range(n_models)]

    def predict(block: tuple[int, int]) -> None:
        model, low = block
        predict_checkpoints(
            columns, models.bins.is_category, models.forests[model], models.start, models.decay,
            points, low, min(low + size, len(matrix)), out[model],
        )  # fmt: skip

    parallel_map(predict, blocks, n_jobs)
    return out


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


def estimate_bytes(
    plan: BoostingPlan, n_rows: int, n_features: int, n_outputs: int, n_jobs: int | None = None
) -> int:
    """Peak memory of a fit in bytes: data, what each model at work needs, and the forests."""
    # The matrix twice while its columns are put together, three times a byte of codes, targets.
    data = n_rows * (19 * n_features + 16 * n_outputs + 64)
    histogram = 2 ** max(plan.depth - 1, 0) * n_features * (plan.max_bins + 1) * 8 * (n_outputs + 1)
    at_work = n_rows * (8 * (4 * n_outputs + 1) + 10) + histogram
    models = plan.n_models * forest_bytes(plan.n_trees, plan.depth, n_outputs)
    return data + min(plan.n_models, effective_n_jobs(n_jobs)) * at_work + models
