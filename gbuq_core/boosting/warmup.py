"""Compile, or load from the cache, the kernels of a first fit, at once or step by step.

`warm_up` does what a fit does. The steps of `gbuq_core.kernel_steps` share its kernels among
processes: those that only kernels call are compiled for the types that they are called with there,
which the arrays of a fit of two rows have.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import typeof

from gbuq_core.boosting.gaussian_kernels import (
    add_gaussian_noise,
    boost_gaussian,
    gaussian_gradients,
    gaussian_leaves,
    mask_gaussian,
)
from gbuq_core.boosting.numba_engine import (
    MemberState,
    NumbaModels,
    StepNumbers,
    raw_predictions,
    start_member,
    sum_classes,
    sum_gaussian,
    unrolled_width,
)
from gbuq_core.boosting.plan import make_schedule
from gbuq_core.boosting.softmax_kernels import (
    add_softmax_noise,
    boost_softmax,
    mask_classes,
    softmax_gradients,
    softmax_leaves,
)
from gbuq_core.compiling import inner
from gbuq_core.trees.binning import Bins, apply_bins, fit_bins, single_cells
from gbuq_core.trees.forest_kernels import empty_forest
from gbuq_core.trees.growing_kernels import BinnedRows, grow_tree

_DRAWS = np.uint64(0)  # the base of a stream
_CODES = np.zeros((1, 2), np.uint8)
_MATRIX = np.arange(2.0)[:, None]


def warm_up() -> None:
    """Fit and predict tiny models with the real types: kernels are in memory then."""
    from gbuq_core.boosting.classifier import BoostedEnsembleClassifier
    from gbuq_core.boosting.regressor import BoostedEnsembleRegressor

    X = np.arange(12.0).reshape(6, 2)
    small: dict[str, Any] = {
        "stopping": None,
        "n_members": 1,
        "n_trees": 2,
        "depth": 2,
        "random_state": 0,
        "n_jobs": 1,
    }
    BoostedEnsembleRegressor(**small).fit(X, X[:, 0]).predict_uncertainty(X)
    for n_classes in (2, 3):
        classes = np.arange(6) % n_classes
        BoostedEnsembleClassifier(**small).fit(X, classes).predict_uncertainty(X)


def _rows() -> BinnedRows:
    """Two rows of one column, binned without a kernel."""
    cells = single_cells(_CODES)
    return BinnedRows(
        cells.codes,
        cells.columns,
        np.zeros(1, np.uint64),
        np.ones(1, np.int64),
        np.zeros(1, np.bool_),
        np.ones(1, np.bool_),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
    )


def _member(n_outputs: int) -> MemberState:
    return start_member(_rows(), np.zeros(n_outputs), n_trees=1, depth=1, n_leaf_sums=1)


def _numbers() -> StepNumbers:
    schedule = make_schedule(1, "sglb", 1, (1.0, 1.0), 1.0, 1.0, False)
    return StepNumbers(0.1, 1.0, 0.1, 0.1, 1.0, 0.0, 2.0, 1.0, True, True, 0.0, schedule)


def _cells(n_classes: int | None) -> Any:
    cells, target = single_cells(_CODES), np.arange(2.0)
    if n_classes is None:
        return sum_gaussian(cells, target)
    return sum_classes(cells, target.astype(np.int64), n_classes)


def _compile(kernel: Any, *arguments: Any) -> Any:
    """Compile a kernel for the types of these arguments, without calling it."""
    kernel.compile(tuple(typeof(argument) for argument in arguments))


def _grow(n_outputs: int) -> None:
    state = _member(n_outputs)
    forest = state.forest
    _compile(
        inner(grow_tree),
        _rows(),
        state.channels,
        state.scratch,
        1.0,
        0.0,
        _DRAWS,
        forest.features[0],
        forest.bins[0],
        unrolled_width(n_outputs),
    )


def compile_trees_of_two() -> None:
    """Growing trees of two outputs."""
    _grow(2)


def compile_trees_of_three() -> None:
    """Growing trees of three outputs."""
    _grow(3)


def compile_gaussian() -> None:
    """What a tree of a Gaussian's two outputs needs beside its growing."""
    cells, state, numbers = _cells(None), _member(2), _numbers()
    _compile(inner(mask_gaussian), cells, 1.0, _DRAWS)
    _compile(inner(gaussian_gradients), cells, state, numbers, 1.0, _DRAWS)
    _compile(inner(add_gaussian_noise), 1.0, _DRAWS, state, numbers)
    _compile(inner(gaussian_leaves), cells, state, numbers, _DRAWS, 0, state.forest.levels[0])


def compile_softmax() -> None:
    """What a tree of classes needs beside its growing."""
    cells, state, numbers = _cells(2), _member(2), _numbers()
    _compile(inner(mask_classes), cells, 1.0, _DRAWS)
    _compile(inner(softmax_gradients), cells, state, numbers, 1.0, _DRAWS)
    _compile(inner(add_softmax_noise), 1.0, _DRAWS, state, numbers)
    _compile(inner(softmax_leaves), cells, state, numbers, _DRAWS, 0, state.forest.levels[0])


def _boost(kernel: Any, n_outputs: int, n_classes: int | None) -> None:
    width = unrolled_width(n_outputs)
    cells, state = _cells(n_classes), _member(n_outputs)
    _compile(kernel, _rows(), cells, state, _numbers(), 0, 0, 0, 1, width)


def boost_numbers() -> None:
    """Whole training steps of a regression."""
    _boost(boost_gaussian, 2, None)


def boost_two_classes() -> None:
    """Whole training steps of two classes."""
    _boost(boost_softmax, 2, 2)


def boost_three_classes() -> None:
    """Whole training steps of three classes."""
    _boost(boost_softmax, 3, 3)


def _bins() -> Bins:
    return fit_bins(_MATRIX, np.zeros(1, np.bool_), 2)


def compile_bins() -> None:
    """Binning."""
    apply_bins(_bins(), _MATRIX)


def _predict(n_outputs: int) -> None:
    forest, start = empty_forest(1, 1, n_outputs), np.zeros(n_outputs)
    models = NumbaModels((forest,), _bins(), start, 1.0, 2)
    raw_predictions(models, _MATRIX, np.ones(1, np.int64), 1, 1)


def compile_predicting() -> None:
    """Predictions of two outputs."""
    _predict(2)


def compile_predicting_three() -> None:
    """Predictions of three outputs."""
    _predict(3)
