"""The random forest whose leaves get models: the user's, or one of LightGBM."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone, is_classifier

from gbuq_core.errors import InvalidParameter
from gbuq_core.resources import check_memory, effective_n_jobs
from gbuq_core.trees.importers import LeafSource, leaf_source
from gbuq_core.trees.importers.ownership import is_owned
from gbuq_core.trees.importers.source import refuse
from gbuq_core.trees.lightgbm_forest import check_forest, grow_forest


class ForestKnobs(NamedTuple):
    """What a forest is grown with; see `gbuq_core.trees.lightgbm_forest.grow_forest`."""

    n_trees: int
    max_leaves: int
    min_child_samples: int
    subsample: float
    seed: int
    n_jobs: int | None


def find_forest(
    base_model: Any, rows: Any, target: np.ndarray, n_classes: int, knobs: ForestKnobs
) -> LeafSource:
    """The forest's leaves: of a fitted model, of one that is fitted here, or of a new forest."""
    task = "classification" if n_classes else "regression"
    if isinstance(base_model, type):
        raise InvalidParameter(
            f"base_model is the class {base_model.__name__}: pass an instance of it."
        )
    if base_model is None:
        _check_size(len(rows), knobs.n_trees * (n_classes if n_classes > 2 else 1))
        return leaf_source(_grow(np.asarray(rows, np.float64), target, n_classes, knobs), task)
    if is_owned(base_model):
        if not n_classes and is_classifier(base_model):
            # Told before its fit, which says less of numbers that are no classes.
            raise refuse("is a classifier", task)
        model = clone(base_model)
        parameters = model.get_params(deep=False)
        if parameters.get("random_state", 0) is None:
            model.set_params(random_state=knobs.seed)
        if parameters.get("n_jobs", 1) is None:
            model.set_params(n_jobs=effective_n_jobs(knobs.n_jobs))
        base_model = model.fit(rows, target)
    source = leaf_source(base_model, task)
    if hasattr(rows, "columns"):
        source.check_rows(rows)  # the same columns in the same order, where it knows their names
    _check_size(len(rows), len(source.leaf_counts))
    return source


def _check_size(n_rows: int, n_trees: int) -> None:
    """Refuse more leaves than memory holds: their numbers, order, predictions and quantiles."""
    check_memory(32.0 * n_rows * n_trees, f"the leaves of {n_rows:,} rows in {n_trees:,} trees")


def _grow(X: np.ndarray, target: np.ndarray, n_classes: int, knobs: ForestKnobs) -> Any:
    settings: dict[str, Any] = {}
    labels = np.asarray(target, np.float64)
    if n_classes == 2:
        settings = {"objective": "binary"}
    elif n_classes > 2:
        settings = {"objective": "multiclass", "num_class": n_classes}
    else:  # LightGBM's targets are float32
        spread = float(np.std(labels))
        labels = (labels - labels.mean()) / (spread if spread > 0.0 else 1.0)
    return grow_forest(X, labels, **knobs._asdict(), **settings)


def check_knobs(knobs: ForestKnobs) -> None:
    """Check the numbers a forest is grown with."""
    check_forest(knobs.n_trees, knobs.max_leaves, knobs.min_child_samples, knobs.subsample)
    effective_n_jobs(knobs.n_jobs)


def rows_for(source: LeafSource, matrix: np.ndarray) -> Any:
    """Numbers (n, n_features) as the source's model knows them: with names where it has some."""
    if matrix.shape[1] != source.n_features:
        raise InvalidParameter(
            f"The forest was trained on {source.n_features} features, but X has "
            f"{matrix.shape[1]}: pass the columns that it was trained on."
        )
    if source.feature_names is None:
        return matrix
    return pd.DataFrame(matrix, columns=list(source.feature_names))
