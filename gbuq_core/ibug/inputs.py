"""What the estimator is given, checked: rows, targets, seeds, parts of rows."""

from __future__ import annotations

import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import validate_data

from gbuq_core.errors import GbuqError, InvalidData, InvalidParameter
from gbuq_core.ibug.base_models import Rows
from gbuq_core.trees.importers.frames import join_frames

_LARGEST_TARGET = 1e75  # its fourth power is a float64 still: calibration stretches by 1e3


def check_rows(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Check X against the estimator's columns and return it: a frame as it is, else float64.

    NaN is left to the model; infinity is refused.
    """
    if isinstance(X, pd.DataFrame):
        if 0 in X.shape:
            raise InvalidData(
                f"Found array with {len(X)} sample(s) and {X.shape[1]} feature(s) "
                f"(shape={X.shape}) while a minimum of 1 is required."
            )
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
    try:
        return validate_data(
            estimator, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan"
        )
    except ValueError as error:
        raise InvalidData(str(error)) from error


def check_target(name: str, y: Any, n_rows: int) -> np.ndarray:
    """Return a regression target as float64 (n_rows,), or say in a sentence what is wrong."""
    if y is None:
        raise InvalidData(f"IBUGRegressor requires y to be passed, but the target {name} is None.")
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
    try:
        numbers = target.astype(np.float64)
    except (TypeError, ValueError):
        raise InvalidData(f"{name} holds values that are not numbers: convert it first.") from None
    if not np.isfinite(numbers).all():
        raise InvalidData(
            f"{name} contains NaN or infinity: drop the rows without a finite target."
        )
    largest = float(np.abs(numbers).max())
    if largest > _LARGEST_TARGET:
        raise InvalidData(
            f"{name} holds {largest:g}, and beyond {_LARGEST_TARGET:g} variances overflow: measure "
            "it in a larger unit."
        )
    return numbers


def draw_seed(random_state: Any) -> int:
    """A seed from what NumPy and scikit-learn call a random state."""
    try:
        return int(np.random.default_rng(random_state).integers(2**31 - 1))
    except (TypeError, ValueError):
        raise InvalidParameter(
            "random_state must be a whole number from 0, a generator or None; got "
            f"{random_state!r}."
        ) from None


def split_rows(rows: Rows, fraction: float, seed: int) -> tuple[Rows, Rows, np.ndarray]:
    """Two parts, the second with this share of the rows, at random; and where the first was."""
    n_rows = len(rows.y)
    n_second = round(fraction * n_rows)
    if n_second < 1 or n_rows - n_second < 3:
        raise InvalidData(
            f"n_samples = {n_rows} is too few to hold out a share of {fraction:g} and find "
            "neighbours in the rest: pass more rows, or validation rows."
        )
    order = np.random.default_rng(seed).permutation(n_rows)
    first = np.sort(order[n_second:])
    return _take(rows, first), _take(rows, np.sort(order[:n_second])), first


def _take(rows: Rows, chosen: np.ndarray) -> Rows:
    X = rows.X.iloc[chosen] if isinstance(rows.X, pd.DataFrame) else rows.X[chosen]
    return Rows(X, rows.y[chosen])


def join_rows(first: Rows, second: Rows) -> Rows:
    """All rows, those of ``first`` before those of ``second``."""
    if isinstance(first.X, pd.DataFrame) and isinstance(second.X, pd.DataFrame):
        X: Any = join_frames(first.X, second.X)
    else:
        X = np.concatenate([np.asarray(first.X), np.asarray(second.X)])
    return Rows(X, np.concatenate([first.y, second.y]))


def explain_missing(error: Exception, X: Any, model: Any) -> Exception:
    """A sentence in place of what a library says of NaN; any other error as it is."""
    speaks_of_it = re.search(r"\bnan\b|missing", str(error), re.IGNORECASE) is not None
    if isinstance(error, GbuqError) or not speaks_of_it or not bool(np.any(pd.isna(X))):
        return error
    return InvalidData(
        f"X contains NaN, and {type(model).__name__} does not take missing values: fill them or "
        "drop those rows."
    )
