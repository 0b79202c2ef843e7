"""Training and predicting with CatBoost, behind the interface of `numba_engine`.

What is the same: losses, oblivious trees, scores, start, shrinkage, Newton and gradient leaves,
missing values, one-hot splits. Without any noise and with the same bins both engines grow the same
trees. What CatBoost (1.2) does in its own way:

- Langevin noise on the gradients does not reach the scores of splits: they are computed from a copy
  made before. It only adds to the rms that scales the random strength. Together with the leaf noise
  that Newton leaves never have (see `plan`), the temperature does next to nothing unless
  ``leaf_estimation="gradient"``.
- The noise has one size for all rows at every temperature. Here it has the posterior's covariance
  unless the temperature is "catboost".
- The random strength draws twice: the best noisy split of each feature, then the best feature by
  new draws around those splits' scores.
- A subsample chooses the splits only; leaf values use all rows.
- ``max_bins`` bins are ``max_bins - 1`` borders, one of them for missing values, chosen by
  GreedyLogSum instead of at quantiles.
- Two classes have one logit (Logloss) instead of two: Newton steps are the same, gradient steps
  half as long. Gradient leaves take ``z^2 - 1`` for the log std, twice what eq. 16 takes.
- Features and targets are float32; rows are not merged; steps are not bounded.
"""

from __future__ import annotations

import re
import time
from typing import Any

import numpy as np
import pandas as pd

from gbuq_core.boosting.plan import BoostingPlan, CatBoostModels, langevin_numbers
from gbuq_core.errors import GbuqError, InvalidData, InvalidParameter
from gbuq_core.jobs import advance, check_memory, effective_n_jobs, parallel_map
from gbuq_core.model_files.contents import require
from gbuq_core.trees.binning import MAX_ONE_HOT_LEVELS

_FLOAT32 = np.finfo(np.float32)
_TICK_SECONDS = 0.03  # between two looks at whether anybody still wants the result


class _Watcher:
    """CatBoost's callback: counts trees, ends a fit nobody wants, keeps exceptions for later."""

    def __init__(self, per_tree: float) -> None:
        self._error: BaseException | None = None
        self._per_tree = per_tree
        self._n_counted = 0
        self._next_look = 0.0

    def after_iteration(self, info: Any) -> bool:
        """Tell CatBoost whether to go on."""
        if time.perf_counter() < self._next_look:
            return True
        try:
            self._count(info.iteration)
        except BaseException as error:
            self._error = error
            return False
        self._next_look = time.perf_counter() + _TICK_SECONDS
        return True

    def finish(self, n_trees: int) -> None:
        """Count the last trees, or raise what ended the fit."""
        if self._error is not None:
            raise self._error
        self._count(n_trees)

    def _count(self, n_trees: int) -> None:
        advance((n_trees - self._n_counted) * self._per_tree)
        self._n_counted = n_trees


def fit(
    matrix: np.ndarray,
    is_category: np.ndarray,
    target: np.ndarray,
    n_classes: int | None,
    plan: BoostingPlan,
    seed: int,
    n_jobs: int | None,
    weight: np.ndarray | None = None,
) -> CatBoostModels:
    """Train ``plan.n_models`` models, two side by side: faster than one after the other."""
    n_outputs = n_classes or 2
    check_memory(estimate_bytes(plan, len(matrix), matrix.shape[1], n_outputs), "this fit")
    refuse_data(matrix, target, n_classes)
    parameters = training_parameters(plan, len(matrix), n_classes)
    catboost = import_catboost()
    n_threads = _threads_of_each(plan.n_models, n_jobs)

    def train(member: int) -> Any:
        # Each has its own: fits side by side on one pool have ended the process (CatBoost 1.2).
        pool = make_pool(matrix, is_category, target)
        if weight is not None:
            pool.set_weight(weight)
        watcher = _Watcher(1.0 / (plan.n_models * plan.n_trees))
        drawn = np.random.SeedSequence((seed, member)).generate_state(1, np.uint64)[0]
        model = catboost.CatBoost(
            {**parameters, "random_seed": int(drawn >> np.uint64(1)), "thread_count": n_threads}
        )
        try:
            model.fit(pool, callbacks=[watcher])
        except catboost.CatBoostError as error:
            raise GbuqError(one_sentence(error)) from error
        watcher.finish(model.tree_count_)
        if model.tree_count_ < plan.n_trees:
            raise GbuqError(
                f"CatBoost stopped after {model.tree_count_} of {plan.n_trees} trees because a "
                "leaf value became infinite: raise l2 or use engine='numba'."
            )
        return model

    models = tuple(parallel_map(train, range(plan.n_models), n_jobs))
    n_bytes = sum(len(model._serialize_model()) for model in models)  # CatBoost's own binary form
    return CatBoostModels(
        models, is_category.copy(), n_outputs, shrinkage(parameters), len(matrix), n_bytes
    )


def import_catboost() -> Any:
    """CatBoost, imported at its first use (1.5 s), or one sentence if it is not installed."""
    try:
        import catboost
    except ImportError as error:
        raise InvalidParameter(
            "engine='catboost' needs the package catboost: install it or use engine='numba'."
        ) from error
    return catboost


def training_parameters(plan: BoostingPlan, n_rows: int, n_classes: int | None) -> dict[str, Any]:
    """CatBoost's names for the knobs of ``plan``."""
    loss = "RMSEWithUncertainty" if n_classes is None else "MultiClass"
    parameters: dict[str, Any] = {
        "loss_function": "Logloss" if n_classes == 2 else loss,
        "iterations": plan.n_trees,
        "depth": plan.depth,
        "learning_rate": plan.learning_rate,
        # a penalty on two logits -f/2, f/2 is half of it on f, the one logit of two classes
        "l2_leaf_reg": 0.5 * plan.l2 if n_classes == 2 else plan.l2,
        "random_strength": plan.random_strength,
        "border_count": plan.max_bins - 1,
        "nan_mode": "Min",
        "one_hot_max_size": MAX_ONE_HOT_LEVELS,
        "leaf_estimation_method": "Newton" if plan.newton else "Gradient",
        "leaf_estimation_iterations": 1,
        "leaf_estimation_backtracking": "No",
        "boosting_type": "Plain",
        "bootstrap_type": "No",  # CatBoost's default would subsample (MVS, 0.8)
        "model_shrink_rate": 0.0,
        "allow_writing_files": False,
        "logging_level": "Silent",
        "metric_period": plan.n_trees,  # no loss after every tree: it costs time and goes nowhere
    }
    if plan.subsample < 1.0:
        parameters |= {"bootstrap_type": "Bernoulli", "subsample": plan.subsample}
    if plan.method == "sgb":
        return parameters
    langevin = langevin_numbers(plan, n_rows)
    parameters["model_shrink_rate"] = langevin.model_shrink_rate
    if plan.temperature == "catboost":
        return parameters | {"posterior_sampling": True}
    temperature = langevin.diffusion_temperature
    if not float(_FLOAT32.tiny) <= temperature <= float(_FLOAT32.max):
        raise InvalidParameter(
            f"engine='catboost' takes temperatures from {_FLOAT32.tiny:.0e} to {_FLOAT32.max:.0e}; "
            f"got {temperature:g}."
        )
    return parameters | {"langevin": True, "diffusion_temperature": temperature}


def shrinkage(parameters: dict[str, Any]) -> float:
    """``1 - model_shrink_rate * learning_rate`` as CatBoost has it: both rounded to float32."""
    shrink_rate, learning_rate = (
        float(np.float32(parameters[name])) for name in ("model_shrink_rate", "learning_rate")
    )
    return 1.0 - shrink_rate * learning_rate


def make_pool(matrix: np.ndarray, is_category: np.ndarray, target: Any = None) -> Any:
    """CatBoost's data set of ``matrix`` (n_rows, n_features); codes below 0 are a new level."""
    catboost = import_catboost()
    with np.errstate(over="ignore"):  # what float32 cannot hold is infinite, and so the largest
        columns = np.asfortranarray(matrix, np.float32)
    if not is_category.any():
        return catboost.Pool(columns, target)
    frame = {}
    for i in range(matrix.shape[1]):
        frame[str(i)] = _as_text(matrix[:, i]) if is_category[i] else columns[:, i]
    return catboost.Pool(
        pd.DataFrame(frame, copy=False), target, cat_features=np.flatnonzero(is_category).tolist()
    )


def _as_text(column: np.ndarray) -> Any:
    known = column >= 0  # False for NaN too
    n_codes = int(column[known].max()) + 1 if known.any() else 0
    names = pd.Index([*map(str, range(n_codes)), "unseen"])
    return pd.Categorical.from_codes(np.where(known, column, n_codes).astype(np.int64), names)


def refuse_data(matrix: np.ndarray, target: np.ndarray, n_classes: int | None) -> None:
    """Say in one sentence what CatBoost would refuse."""
    with np.errstate(over="ignore"):
        stored = target.astype(np.float32)
        varies = any(_varies(column.astype(np.float32)) for column in matrix.T)
    if not varies:
        raise InvalidData(
            "engine='catboost' needs at least one column that varies (as float32): use "
            "engine='numba'."
        )
    if n_classes is not None:
        return
    if not np.isfinite(stored).all():
        raise InvalidData(
            "engine='catboost' stores the target as float32, but its values are too large for "
            "that: set standardize_target=True or use engine='numba'."
        )
    if not _varies(stored):
        raise InvalidData(
            "engine='catboost' needs a target that varies (as float32): use engine='numba'."
        )


def _varies(values: np.ndarray) -> bool:
    return bool((values != values[0]).any())  # a missing value differs from itself: it parts rows


def one_sentence(error: Exception) -> str:
    """CatBoost's message without the place in its sources, or what its cryptic one means."""
    text = re.sub(r"^\S+:\d+:\s*", "", str(error).strip()).rstrip(".")
    if "invalid float value" in text:
        return (
            "CatBoost stopped because its predictions became infinite: raise l2, lower the "
            "learning rate or use engine='numba'."
        )
    return f"CatBoost stopped ({text}): change the data or use engine='numba'."


def raw_predictions(
    models: CatBoostModels,
    matrix: np.ndarray,
    checkpoints: np.ndarray,
    n_models: int,
    n_jobs: int | None,
) -> np.ndarray:
    """Raw outputs of the first ``n_models`` models after each number of trees in `checkpoints`."""
    shape = (n_models, len(checkpoints), len(matrix), models.n_outputs)
    check_memory(8 * int(np.prod(shape)), "these predictions")
    out = np.empty(shape)
    pool = make_pool(matrix, models.is_category)
    n_threads = _threads_of_each(n_models, n_jobs)

    def predict(member: int) -> None:
        model = models.models[member]
        if not (
            is_virtual_grid(checkpoints, model.tree_count_)
            and _call_virtual_ensembles(model, pool, n_threads, out[member])
        ):
            _sum_trees(model, pool, models.decay, checkpoints, n_threads, out[member])

    parallel_map(predict, range(n_models), n_jobs)
    return out


def is_virtual_grid(checkpoints: np.ndarray, n_trees: int) -> bool:
    """Whether these are the truncations of CatBoost's own virtual ensembles: T // (2 V) apart."""
    n_members = len(checkpoints)
    step = n_trees // (2 * n_members)
    grid = n_trees - step * np.arange(n_members)[::-1]
    return n_members > 1 and step > 0 and np.array_equal(checkpoints, grid)


def _call_virtual_ensembles(model: Any, pool: Any, n_threads: int, out: np.ndarray) -> bool:
    """Write CatBoost's members to ``out`` (n_members, n_rows, n_outputs), or return False.

    CatBoost returns the variance ``exp(2 log s)``; where that is 0 or infinite, log s is lost.
    """
    members = model.virtual_ensembles_predict(
        pool, "VirtEnsembles", virtual_ensembles_count=len(out), thread_count=n_threads
    ).swapaxes(0, 1)
    if members.shape[-1] == 2:  # mean and variance: two classes have one logit, others three
        variance = members[..., 1]
        if not (np.isfinite(variance).all() and variance.min() > 0.0):
            return False
        members[..., 1] = 0.5 * np.log(variance)
    out[...] = _all_logits(members)
    return True


def _sum_trees(
    model: Any,
    pool: Any,
    decay: float,
    checkpoints: np.ndarray,
    n_threads: int,
    out: np.ndarray,
) -> None:
    """Write the model cut at each checkpoint to ``out``, in one pass over the trees.

    CatBoost keeps trees as they are after all later shrinkage; the first slice of trees carries the
    start. A model of t trees is its share of the model of T trees divided by ``decay**(T - t)``
    (eq. 15).
    """
    total: Any = 0.0
    first = 0
    order = np.argsort(checkpoints, kind="stable")
    for i in order:
        last = int(checkpoints[i])
        if last > first:
            slice_ = model.predict(
                pool,
                prediction_type="RawFormulaVal",
                ntree_start=first,
                ntree_end=last,
                thread_count=n_threads,
            )
            total = total + slice_.reshape(out.shape[1], -1)
            first = last
        out[i] = _all_logits(total) / decay ** (model.tree_count_ - last)


def _all_logits(raw: np.ndarray) -> np.ndarray:
    """Two logits (-f/2, f/2) for the one of Logloss; others as they are."""
    return np.concatenate([-0.5 * raw, 0.5 * raw], axis=-1) if raw.shape[-1] == 1 else raw


def leaf_indices(models: CatBoostModels, matrix: np.ndarray) -> np.ndarray:
    """Leaf of every row in every tree of every model, (n_rows, n_models * n_trees) uint16."""
    pool = make_pool(matrix, models.is_category)
    parts = [model.calc_leaf_indexes(pool).astype(np.uint16) for model in models.models]
    return np.concatenate(parts, axis=1)


def value_changes(models: CatBoostModels, n_trees: np.ndarray, units: np.ndarray) -> np.ndarray:
    """CatBoost's PredictionValuesChange of the first ``n_trees[0]`` trees, (n_columns,)."""
    total = np.zeros(len(models.is_category))
    for model in models.models:
        cut = model.copy()
        cut.shrink(int(n_trees[0]))
        total += cut.get_feature_importance(type="PredictionValuesChange")
    return total


def estimate_bytes(
    plan: BoostingPlan, n_rows: int, n_features: int, n_outputs: int, n_jobs: int | None = None
) -> int:
    """Peak memory of a fit in bytes; the factors are fitted to CatBoost 1.2."""
    shared = n_rows * n_features * 8
    histogram = 3 * 2**plan.depth * plan.max_bins * 8 * (n_outputs + 1)
    at_work = n_rows * ((4 + 1) * n_features + 160 * n_outputs) + histogram
    forest = plan.n_trees * (200 + 8 * 2**plan.depth * (n_outputs + 1))
    at_once = min(plan.n_models, effective_n_jobs(n_jobs))
    return shared + at_once * (at_work + 4 * forest) + 2 * plan.n_models * forest


def check_models(
    models: CatBoostModels, plan: BoostingPlan, n_outputs: int, is_category: np.ndarray
) -> None:
    """Refuse models of a file that no training makes; as `numba_engine.check_models`."""
    require(np.array_equal(models.is_category, is_category), "its columns do not match")
    require(models.n_outputs == n_outputs, "its outputs do not match")
    require(len(models.models) == plan.n_models, "a model is missing")
    require(0.0 < models.decay <= 1.0 and models.n_cells >= 1, "a number is out of range")
    for model in models.models:
        same = model.tree_count_ == plan.n_trees and len(model.feature_names_) == len(is_category)
        require(same, "its models do not match")


def _threads_of_each(n_models: int, n_jobs: int | None) -> int:
    return max(1, effective_n_jobs(n_jobs) // n_models)
