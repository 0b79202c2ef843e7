"""What the estimator is given, checked: rows and targets."""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import validate_data

from gbuq_core.array_checks import check_array, check_flag
from gbuq_core.errors import GbuqError, InvalidData, InvalidParameter
from gbuq_core.ibug.families import FAMILIES, FITS
from gbuq_core.ibug.search import TREE_ORDERS
from gbuq_core.inputs import (
    check_largest_target,
    check_two_axes,
    refuse_dates,
    refuse_twins,
    to_pandas,
)
from gbuq_core.jobs import effective_n_jobs
from gbuq_core.metrics.neighbour_tuning import TINIEST_SCALE
from gbuq_core.metrics.scale_calibration import SCORINGS
from gbuq_core.validation import check_choice, check_number

_LEAST_SPREAD = 1e3 * TINIEST_SCALE  # of y: three digits of its std are more than nothing


def check_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Check X against the estimator's columns; return a frame as it is, else float64.

    NaN is left to the model; infinity is refused. An array of other objects becomes a frame.
    """
    X = to_pandas(X)
    if isinstance(X, pd.DataFrame):
        if 0 in X.shape:
            raise InvalidData(
                f"Found array with {len(X)} sample(s) and {X.shape[1]} feature(s) "
                f"(shape={X.shape}) while a minimum of 1 is required."
            )
        refuse_twins(X)
        if not reset:
            _check_names(estimator, X)
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        numbers = X.select_dtypes("number")
        infinite = [
            str(name)
            for name in numbers
            if np.isinf(numbers[name].to_numpy(float, na_value=0)).any()
        ]
        if infinite:
            raise InvalidData(f"Column {infinite[0]!r} holds infinity: replace it or drop the row.")
        return X
    check_two_axes(X)
    try:
        return validate_data(
            estimator, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan"
        )
    except ValueError as error:
        objects = isinstance(X, np.ndarray) and X.dtype == object
        if objects and any(isinstance(value, str) for value in X.flat):
            return check_rows(estimator, pd.DataFrame(X).infer_objects(), reset=reset)
        raise InvalidData(" ".join(str(error).split())) from error


def numbers_of(X: Any) -> np.ndarray:
    """A table of numbers as the float64 array that CatBoost reads; NaN is missing."""
    if isinstance(X, pd.DataFrame):
        for label, dtype in X.dtypes.items():
            if not (pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype)):
                raise InvalidData(
                    f"Column {str(label)!r} holds neither numbers nor text: convert it to numbers."
                )
        return X.to_numpy(dtype=np.float64, na_value=np.nan)
    return np.asarray(X, dtype=np.float64)


def _check_names(estimator: Any, X: pd.DataFrame) -> None:
    """Refuse columns of other names, or in another order, than at the fit."""
    known, names = getattr(estimator, "feature_names_in_", None), list(X.columns)
    if known is None or names == list(known):
        return
    extra = [repr(name) for name in names if name not in set(known)]
    missing = [repr(name) for name in known if name not in set(names)]
    if not extra and not missing:
        raise InvalidData(
            "The feature names must be in the order of the fit: pass "
            "X[estimator.feature_names_in_]."
        )
    parts = [f"{extra[0]} was not among them"] if extra else []
    parts += [f"{missing[0]} is missing"] if missing else []
    raise InvalidData(f"The feature names must be those of the fit: {', and '.join(parts)}.")


def check_target(name: str, y: Any, n_rows: int) -> np.ndarray:
    """Return a regression target as float64 (n_rows,), or say in a sentence what is wrong."""
    if y is None:
        raise InvalidData(f"IBUGRegressor requires y to be passed, but the target {name} is None.")
    if np.ma.is_masked(y):
        raise InvalidData(f"{name} is a masked array: drop the rows without a target.")
    target = np.asarray(y)
    if target.ndim == 2 and target.shape[1] == 1:
        warnings.warn(
            f"A column-vector {name} was passed when a 1d array was expected: its one column is "
            "used.",
            DataConversionWarning,
            stacklevel=3,
        )
        target = target[:, 0]
    if target.ndim != 1:
        raise InvalidData(
            f"{name} must have one value a row, not several targets; got shape {target.shape}."
        )
    if len(target) != n_rows:
        raise InvalidData(f"The rows and {name} differ in number: {n_rows} and {len(target)}.")
    if target.dtype.kind == "c":
        raise InvalidData(f"Complex data not supported: pass real numbers as {name}.")
    refuse_dates(pd.Series(target), name)
    try:
        numbers = target.astype(np.float64)
    except (TypeError, ValueError):
        raise InvalidData(f"{name} holds values that are not numbers: convert it first.") from None
    if not np.isfinite(numbers).all():
        raise InvalidData(
            f"{name} contains NaN or infinity: drop the rows without a finite target."
        )
    check_largest_target(numbers, name)
    return numbers


def check_parameters(model: Any) -> None:
    """Refuse constructor arguments of an `IBUGRegressor` that make no sense."""
    if isinstance(model.base_model, type):
        raise InvalidParameter(
            f"base_model must be an object, not a class: pass {model.base_model.__name__}()."
        )
    check_choice("scoring", model.scoring, SCORINGS)
    check_choice("tree_order", model.tree_order, TREE_ORDERS)
    check_choice("posterior", model.posterior, (*FAMILIES, "tune"))
    check_choice("posterior_fit", model.posterior_fit, FITS)
    check_flag("calibrate", model.calibrate)
    if model.delta_unit != "std":
        check_number("delta_unit", model.delta_unit, 0, low_open=True)
    if model.n_trees_sampled is not None:
        check_number("n_trees_sampled", model.n_trees_sampled, 1, integer=True)
    if model.min_scale is not None:
        check_number("min_scale", model.min_scale, 0, low_open=True)
    check_number("validation_fraction", model.validation_fraction, 0, 0.9, low_open=True)
    effective_n_jobs(model.n_jobs)
    if hasattr(model.base_model, "fit") and hasattr(model.base_model, "predict_proba"):
        raise InvalidParameter(
            f"base_model is a classifier ({type(model.base_model).__name__}): pass a regressor, "
            "or use gbuq_core.ibug.class_neighbors to see the classes of its neighbours."
        )


def check_untuned(model: Any) -> None:
    """Refuse to tune an `IBUGRegressor` around a fitted model without validation rows."""
    for name in ("n_neighbors", "posterior"):
        if getattr(model, name) == "tune":
            raise InvalidParameter(
                f"{name}='tune' needs rows that the fitted model has not seen: pass X_val and "
                f"y_val, or choose {name} yourself."
            )


def check_grid(y_grid: ArrayLike, n_rows: int) -> np.ndarray:
    """A grid (m,) for all rows, or (n_rows, m), as float64."""
    grid = check_array("y_grid", y_grid, 2 if np.ndim(y_grid) == 2 else 1)
    if grid.ndim == 2 and len(grid) != n_rows:
        raise InvalidData(
            f"y_grid must be one grid, or one for each of the {n_rows} rows; got shape "
            f"{grid.shape}."
        )
    return grid


def check_k(n_neighbors: Any, n_train: int) -> int:
    """Return k if it is a number that makes sense for so many training rows."""
    if isinstance(n_neighbors, bool) or not isinstance(n_neighbors, int | np.integer):
        raise InvalidParameter(
            f"n_neighbors must be a whole number or 'tune'; got {n_neighbors!r}."
        )
    k = int(n_neighbors)
    if k < 2:
        raise InvalidParameter(
            f"n_neighbors must be at least 2, as a single neighbour has no spread; got {k}."
        )
    if k > n_train:
        raise InvalidParameter(
            f"n_neighbors must be at most {n_train}, the number of training rows; got {k}."
        )
    return k


def check_spread(y: np.ndarray) -> None:
    """Refuse training targets (n_samples,) that are all equal or nearly so."""
    if len(y) == 1:
        raise InvalidData("n_samples = 1 is too few: a row has no neighbours but itself.")
    if y.min() == y.max():
        raise InvalidData(
            f"y has only one value ({y[0]:g}): equal neighbours have no spread to show."
        )
    spread = y.max() - y.min()
    if spread < _LEAST_SPREAD:
        raise InvalidData(
            f"y varies by only {spread:g}, and a std below {TINIEST_SCALE:g} counts as 0: use a "
            "smaller unit for y."
        )


def check_counts(n_neighbors: ArrayLike) -> list[int]:
    """Several numbers of neighbours, or say in a sentence why they are none.

    >>> check_counts([3, 5])
    [3, 5]
    """
    numbers = np.atleast_1d(np.asarray(n_neighbors)).tolist()
    counts = [check_number("n_neighbors", k, 1, integer=True) for k in numbers]
    if not counts or any(left >= right for left, right in itertools.pairwise(counts)):
        raise InvalidParameter(
            f"n_neighbors must be one number or a rising list of numbers; got {counts!r}."
        )
    return counts


def encode_labels(labels: ArrayLike, n_train: int) -> tuple[np.ndarray, np.ndarray]:
    """The classes of labels (n_train,), sorted, and each label's place among them, (n_train,).

    >>> encode_labels(["b", "a", "b"], 3)
    (array(['a', 'b'], dtype='<U1'), array([1, 0, 1]))
    """
    names = np.asarray(labels)
    if names.shape != (n_train,):
        raise InvalidData(
            f"labels must name a class for each of the {n_train} training rows; got shape "
            f"{names.shape}."
        )
    try:
        return np.unique(names, return_inverse=True)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in names.tolist()})
        raise InvalidData(
            f"labels mixes values of different kinds ({', '.join(kinds)}): make all of them text "
            "or all of them numbers, missing ones too."
        ) from None


@contextmanager
def missing_explained(X: Any, model: Any) -> Iterator[None]:
    """Replace a library's error about NaN in X by a plain sentence; let other errors pass."""
    try:
        yield
    except ValueError as error:
        about_it = re.search(r"\bnan\b|missing", str(error), re.IGNORECASE) is not None
        if isinstance(error, GbuqError) or not about_it or not bool(np.any(pd.isna(X))):
            raise
        raise InvalidData(
            f"X contains NaN, and {type(model).__name__} does not take missing values: fill them "
            "or drop those rows."
        ) from error
