"""Rows to tune on: given by the user, or held out at random."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.validation import check_number


class TuningRows(NamedTuple):
    """Rows to fit on, rows to tune on, and all of them to fit on in the end; each y is float64."""

    X: Any
    y: np.ndarray
    X_val: Any
    y_val: np.ndarray
    X_all: Any
    y_all: np.ndarray


def make_tuning_rows(
    estimator: Any, X: Any, y: Any, X_val: Any, y_val: Any, fraction: Any, random_state: Any
) -> TuningRows:
    """Check what ``fit`` was given; hold a share of the rows out where none are given to tune on.

    Raises
    ------
    InvalidData, InvalidParameter
        If rows are too few, not finite, or do not match.
    """
    check_number("validation_fraction", fraction, 0, 0.9, low_open=True)
    X, y = check_rows(estimator, X, y, reset=True)
    if (X_val is None) != (y_val is None):
        raise InvalidData("X_val and y_val belong together: pass both or neither.")
    if X_val is not None:
        X_val, y_val = check_rows(estimator, X_val, y_val, reset=False)
        return TuningRows(X, y, X_val, y_val, _stack(X, X_val), np.concatenate([y, y_val]))
    n_val = round(fraction * len(y))
    if n_val < 1 or len(y) - n_val < 3:
        raise InvalidData(
            f"n_samples = {len(y)} is too few to hold out a share of {fraction:g}: pass more rows, "
            "or validation rows."
        )
    try:
        order = check_random_state(random_state).permutation(len(y))
    except ValueError:
        raise InvalidParameter(
            f"random_state must be a whole number, a RandomState or None; got {random_state!r}."
        ) from None
    first, second = np.sort(order[n_val:]), np.sort(order[:n_val])
    return TuningRows(_take(X, first), y[first], _take(X, second), y[second], X, y)


def check_rows(estimator: Any, X: Any, y: Any = None, *, reset: bool) -> Any:
    """Rows (and targets) checked by scikit-learn's rules; a frame stays one, X may hold NaN."""
    keep = isinstance(X, pd.DataFrame)
    given = X
    try:
        if y is None and not reset:
            X = validate_data(estimator, X, reset=False, dtype=None, ensure_all_finite="allow-nan")
            return given if keep else X
        X, y = validate_data(
            estimator,
            X,
            "no_validation" if y is None else y,
            reset=reset,
            dtype=None,
            ensure_all_finite="allow-nan",
            y_numeric=True,
        )
    except ValueError as error:
        raise InvalidData(str(error)) from error
    return (given if keep else X), np.asarray(y, dtype=np.float64)


def _take(X: Any, chosen: np.ndarray) -> Any:
    return X.iloc[chosen] if isinstance(X, pd.DataFrame) else X[chosen]


def _stack(X: Any, more: Any) -> Any:
    if isinstance(X, pd.DataFrame) and isinstance(more, pd.DataFrame):
        return pd.concat([X, more], ignore_index=True)
    return np.concatenate([np.asarray(X), np.asarray(more)])
