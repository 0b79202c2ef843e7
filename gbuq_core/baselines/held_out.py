"""Rows to tune on: given by the user, or held out at random."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.utils.validation import validate_data

from gbuq_core.errors import InvalidData
from gbuq_core.inputs import (
    check_two_axes,
    draw_seed,
    hold_out,
    refuse_dates,
    refuse_twins,
    stack_rows,
    take_rows,
    to_pandas,
)
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
    """Check the rows that ``fit`` got. Hold out a share of X if there are no rows to tune on."""
    check_number("validation_fraction", fraction, 0, 0.9, low_open=True)
    X, y = check_rows(estimator, X, y, reset=True)
    if (X_val is None) != (y_val is None):
        raise InvalidData("X_val and y_val belong together: pass both or neither.")
    if X_val is not None:
        X_val, y_val = check_rows(estimator, X_val, y_val, reset=False)
        return TuningRows(X, y, X_val, y_val, stack_rows(X, X_val), np.concatenate([y, y_val]))
    first, second = hold_out(len(y), fraction, draw_seed(random_state))
    return TuningRows(take_rows(X, first), y[first], take_rows(X, second), y[second], X, y)


def check_new_rows(estimator: Any, X: Any) -> Any:
    """New rows checked by scikit-learn's rules; a frame stays one, X may hold NaN."""
    return _check(estimator, X, reset=False, ensure_all_finite="allow-nan")


def check_rows(estimator: Any, X: Any, y: Any, *, reset: bool) -> Any:
    """Rows and targets (n,) float64 likewise."""
    rows, target = _check(
        estimator, X, y, reset=reset, ensure_all_finite="allow-nan", y_numeric=True
    )
    refuse_dates(pd.Series(target), "y")
    return rows, np.asarray(target, dtype=np.float64)


def _check(estimator: Any, X: Any, *y: Any, **rules: Any) -> Any:
    X = to_pandas(X)
    frame = isinstance(X, pd.DataFrame)
    if frame:
        refuse_twins(X)
    check_two_axes(X)
    try:
        checked = validate_data(estimator, X, *y, dtype=None if frame else "numeric", **rules)
    except ValueError as error:
        raise InvalidData(" ".join(str(error).split())) from error
    if not frame:
        return checked
    return (X, checked[1]) if y else X
