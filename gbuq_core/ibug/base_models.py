"""The model whose trees IBUG reads: the user's, as it is, or one that the estimator fits itself."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import threadpool_limits

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.ibug.inputs import check_rows, check_target
from gbuq_core.inputs import check_sample_weight, stack_rows, take_rows
from gbuq_core.jobs import effective_n_jobs, stage
from gbuq_core.progress import TreeWatcher
from gbuq_core.trees.importers.lightgbm_calls import shared_threads
from gbuq_core.trees.importers.ownership import copy_unfitted, is_owned

# The default: CatBoost, the paper's, with as many trees as the validation rows ask for.
_MOST_TREES = 1000
_PATIENCE = 50
_LEARNING_RATE = 0.1


class BaseFit(NamedTuple):
    """A fitted model and its number of trees, where that was chosen on validation rows."""

    model: Any
    n_trees: int | None


class Rows(NamedTuple):
    """Rows, their targets, and how many rows each counts as (n,); None means one."""

    X: Any
    y: np.ndarray
    weight: np.ndarray | None = None

    def take(self, chosen: NDArray[np.intp]) -> Rows:
        """Some of them, by position."""
        weight = None if self.weight is None else self.weight[chosen]
        return Rows(take_rows(self.X, chosen), self.y[chosen], weight)

    def stack(self, more: Rows) -> Rows:
        """These and then those, which weigh 1."""
        weight = self.weight
        if weight is not None:
            weight = np.append(weight, np.ones(len(more.y)))
        return Rows(stack_rows(self.X, more.X), np.concatenate([self.y, more.y]), weight)

    def fit_arguments(self) -> dict[str, np.ndarray]:
        """What `fit` is given besides X and y."""
        return {} if self.weight is None else {"sample_weight": self.weight}


def weigh_rows(base_model: Any, rows: Rows, sample_weight: Any) -> Rows:
    """The rows with a positive weight, and their weights."""
    weight = check_sample_weight(sample_weight, len(rows.y))
    if weight is None:
        return rows
    if (
        base_model is not None
        and is_owned(base_model)
        and not has_fit_parameter(base_model, "sample_weight")
    ):
        raise InvalidParameter(
            f"base_model ({type(base_model).__name__}) takes no sample_weight in fit: pass a model "
            "that does."
        )
    positive = weight[weight > 0.0]
    kept = rows.take(np.flatnonzero(weight))
    return kept if (positive == 1.0).all() else kept._replace(weight=positive)


def check_validation(estimator: Any, X_val: Any, y_val: Any) -> Rows | None:
    """The caller's own rows to tune on, checked; None without any."""
    if X_val is None and y_val is None:
        return None
    if X_val is None or y_val is None:
        raise InvalidData("X_val and y_val belong together: pass both or neither.")
    table = check_rows(estimator, X_val, reset=False)
    return Rows(table, check_target("y_val", y_val, len(table)))


def fit_owned(
    base_model: Any,
    rows: Rows,
    held_out: Rows | None,
    n_trees: int | None,
    seed: int,
    n_jobs: int | None,
    categories: list[int] | None = None,
) -> BaseFit:
    """Fit the user's estimator (a clone), or CatBoost where there is none."""
    if base_model is not None:
        model = copy_unfitted(base_model)
        settings = model.get_params(deep=False)
        if settings.get("random_state", seed) is None:
            model.set_params(random_state=seed % 2**32)  # as large as scikit-learn takes it
        if categories is not None:
            model.set_params(cat_features=categories)
        if type(model).__module__.startswith("lightgbm"):
            with shared_threads(settings.get("n_jobs") or n_jobs) as number:
                model.set_params(n_jobs=number)
                return BaseFit(model.fit(rows.X, rows.y, **rows.fit_arguments()), None)
        if n_jobs is None:
            return BaseFit(model.fit(rows.X, rows.y, **rows.fit_arguments()), None)
        n_threads = effective_n_jobs(n_jobs)
        if settings.get("n_jobs", n_threads) is None:
            model.set_params(n_jobs=n_threads)
        elif type(model).__module__.startswith("catboost") and "thread_count" not in settings:
            model.set_params(thread_count=n_threads)
        with threadpool_limits(n_threads, user_api="openmp"):  # HistGradientBoosting
            return BaseFit(model.fit(rows.X, rows.y, **rows.fit_arguments()), None)
    catboost = _catboost()
    limit = n_trees or _MOST_TREES
    model = catboost.CatBoostRegressor(
        iterations=limit,
        learning_rate=_LEARNING_RATE,
        random_seed=seed,
        cat_features=categories,
        thread_count=effective_n_jobs(n_jobs),
        verbose=False,
        allow_writing_files=False,
    )
    watcher = TreeWatcher()
    stopping: dict[str, Any] = {}
    if held_out is not None:
        held: Any = (held_out.X, held_out.y)
        if held_out.weight is not None:
            held = catboost.Pool(*held, weight=held_out.weight, cat_features=categories)
        stopping = {"eval_set": held, "early_stopping_rounds": _PATIENCE}
    try:
        with stage(limit):
            model.fit(rows.X, rows.y, callbacks=[watcher], **rows.fit_arguments(), **stopping)
    except catboost.CatBoostError as error:
        reason = re.sub(r"^.*?\.cpp:\d+:\s*", "", str(error)).strip().rstrip(".")
        raise InvalidData(f"CatBoost cannot be fitted to these rows: {reason}.") from error
    watcher.raise_error()
    return BaseFit(model, model.tree_count_)


def _catboost() -> Any:
    try:
        import catboost
    except ImportError as error:
        raise InvalidParameter(
            "Without a base_model, the package catboost fits the trees, and it is not installed: "
            "pip install catboost, or pass a base_model."
        ) from error
    return catboost
