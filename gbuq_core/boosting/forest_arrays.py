"""Fitted numba models as plain arrays, and back with every index checked.

Kernels check nothing: a split on a feature that does not exist, or a tree with more levels than its
leaf values allow, would read outside an array. So the way back refuses whatever training could not
have made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gbuq_core.boosting.archive import damaged
from gbuq_core.boosting.numba_engine import NumbaModels
from gbuq_core.boosting.plan import BoostingPlan
from gbuq_core.trees.binning import MAX_VALUE_BINS, Bins
from gbuq_core.trees.forest import ObliviousForest


def models_to_arrays(models: NumbaModels) -> dict[str, np.ndarray]:
    """The models as arrays: forests stacked, borders of all features in a row."""
    bins = models.bins
    stacked = (np.stack(parts) for parts in zip(*models.forests, strict=True))
    features, splits, levels, values = stacked
    traces = {"traces": np.stack(models.traces)} if models.traces else {}
    return traces | {
        "features": features,
        "bins": splits,
        "levels": levels,
        "values": values,
        "start": models.start,
        "decay": np.array(models.decay),
        "n_cells": np.array(models.n_cells, np.int64),
        "borders": np.concatenate([np.empty(0), *bins.borders]),
        "border_counts": np.array([len(borders) for borders in bins.borders], np.int64),
        "n_codes": bins.n_codes,
        "is_category": bins.is_category,
        "has_missing": bins.has_missing,
    }


def models_from_arrays(
    arrays: Mapping[str, np.ndarray], plan: BoostingPlan, n_outputs: int, is_category: np.ndarray
) -> NumbaModels:
    """The inverse of `models_to_arrays`.

    Parameters
    ----------
    arrays : mapping of name to array
    plan : BoostingPlan
        What the models were trained by.
    n_outputs : int
        2 for regression, else the number of classes.
    is_category : (n_columns,) bool
        Which columns of the matrix that the models read hold level codes.

    Raises
    ------
    ModelFileError
        If an array is missing, of the wrong shape or type, or holds what no training makes.
    """
    bins = _read_bins(arrays, is_category)
    trees = (plan.n_models, plan.n_trees)
    features = _take(arrays, "features", np.int16, (*trees, plan.depth))
    splits = _take(arrays, "bins", np.uint8, (*trees, plan.depth))
    levels = _take(arrays, "levels", np.int16, trees)
    values = _take(arrays, "values", np.float64, (*trees, 2**plan.depth, n_outputs))
    start = _take(arrays, "start", np.float64, (n_outputs,))
    decay = float(_take(arrays, "decay", np.float64, ()))
    n_cells = int(_take(arrays, "n_cells", np.int64, ()))
    _require(((levels >= 0) & (levels <= plan.depth)).all(), "a tree has impossible levels")
    known = (features >= 0) & (features < len(is_category))
    _require(known.all(), "a tree splits on a column that does not exist")
    _require((splits < bins.n_codes[features]).all(), "a tree splits on a bin that does not exist")
    _require(np.isfinite(values).all() and np.isfinite(start).all(), "a leaf value is not finite")
    _require(0.0 < decay <= 1.0 and n_cells >= 1, "a number is out of range")
    forests = tuple(
        ObliviousForest(*(part[model] for part in (features, splits, levels, values)))
        for model in range(plan.n_models)
    )
    traces: tuple[np.ndarray, ...] = ()
    if "traces" in arrays:  # files of the first version have none
        shape = (plan.n_models, 2, plan.n_trees + 1)
        traces = tuple(_take(arrays, "traces", np.float64, shape))
        _require(np.isfinite(traces).all(), "a training loss is not finite")
    return NumbaModels(forests, bins, start, decay, n_cells, traces)


def _read_bins(arrays: Mapping[str, np.ndarray], is_category: np.ndarray) -> Bins:
    """How features are binned; codes of a number are 0 to ``n_borders + 1``."""
    n_columns = len(is_category)
    counts = _take(arrays, "border_counts", np.int64, (n_columns,))
    n_codes = _take(arrays, "n_codes", np.int64, (n_columns,))
    stored = _take(arrays, "is_category", np.bool_, (n_columns,))
    has_missing = _take(arrays, "has_missing", np.bool_, (n_columns,))
    _require(np.array_equal(stored, is_category), "its columns contradict each other")
    _require(((counts >= 0) & (counts < MAX_VALUE_BINS)).all(), "a feature has impossible bins")
    all_borders = _take(arrays, "borders", np.float64, (int(counts.sum()),))
    borders = tuple(np.split(all_borders, np.cumsum(counts)[:-1]))
    for feature, edges in enumerate(borders):
        _require(np.isfinite(edges).all(), "a border is not finite")
        _require((np.diff(edges) > 0.0).all(), "borders do not ascend")
        if is_category[feature]:
            possible = len(edges) == 0 and 1 <= n_codes[feature] <= MAX_VALUE_BINS
        else:
            possible = n_codes[feature] == len(edges) + 2
        _require(possible, "a feature has impossible bins")
    return Bins(borders, n_codes, stored, has_missing)


def _take(
    arrays: Mapping[str, np.ndarray], name: str, dtype: Any, shape: tuple[int, ...]
) -> np.ndarray:
    array = arrays.get(name)
    if array is None or array.dtype != dtype or array.shape != shape:
        raise damaged(f"array {name!r} is missing or has another shape")
    return array


def _require(condition: Any, why: str) -> None:
    if not condition:
        raise damaged(why)
