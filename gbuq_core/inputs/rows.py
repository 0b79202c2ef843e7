"""Rows and targets as a user passes them to `fit` and `predict`, checked; seeds."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import validate_data

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.inputs.columns import as_table, refuse_dates
from gbuq_core.validation import check_number

# Its fourth power is a float64 still: moments of residuals go that far.
LARGEST_TARGET = 1e75


class TargetScale(NamedTuple):
    """``y = centre + spread * inner``; the inner target is what models are trained on."""

    centre: float
    spread: float


def check_fit_data(estimator: Any, X: Any, y: Any) -> tuple[pd.DataFrame, np.ndarray]:
    """Check X against y, remember feature names, and return X as a table with y (n,).

    Raises
    ------
    InvalidData
        One sentence.
    """
    if y is None:
        raise InvalidData(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    table = as_table(X)
    if np.ma.is_masked(y):
        raise InvalidData("y is a masked array: drop the rows without a target before fitting.")
    target = np.asarray(y)
    if target.ndim == 2 and target.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected: y.ravel() is used.",
            DataConversionWarning,
            stacklevel=4,
        )
        target = target[:, 0]
    if target.ndim != 1:
        raise InvalidData(f"y must have one value a row; got an array of shape {target.shape}.")
    if len(target) != len(table):
        raise InvalidData(f"X has {len(table)} rows but y has {len(target)}.")
    if len(table) == 0:
        raise InvalidData("Found array with 0 sample(s) while a minimum of 2 is required.")
    if len(table) < 2:
        raise InvalidData("one sample is too few to fit on: pass at least 2 rows.")
    if table.shape[1] == 0:
        raise InvalidData(
            f"X has 0 feature(s) (shape={table.shape}) while a minimum of 1 is required: add a "
            "column."
        )
    validate_data(estimator, X, reset=True, skip_check_array=True)
    return table, target


def check_new_rows(estimator: Any, X: Any) -> pd.DataFrame:
    """Check X against the columns of the fit and return it as a table of at least one row."""
    table = as_table(X)
    given = X if hasattr(X, "shape") else table
    validate_data(estimator, given, reset=False, skip_check_array=True)
    if len(table) == 0:
        raise InvalidData("Found array with 0 sample(s) while a minimum of 1 is required.")
    return table


def check_numeric_target(target: np.ndarray) -> np.ndarray:
    """A regression target (n,) as float64, finite.

    Raises
    ------
    InvalidData
        If it holds text, dates, missing values or infinity.
    """
    refuse_dates(pd.Series(target), "y")
    try:
        numbers = np.array(target, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidData(
            "y holds values that are not numbers: use the classifier or convert the target."
        ) from error
    if not np.isfinite(numbers).all():
        raise InvalidData(
            "y contains NaN or infinity: drop the rows without a finite target before fitting."
        )
    return numbers


def fit_target_scale(y: np.ndarray, standardize: bool = True) -> TargetScale:
    """Mean and std of ``y`` (n,), or (0, 1) when it is not to be standardised.

    Raises
    ------
    InvalidData
        If a square of the target could overflow.
    """
    largest = float(np.abs(y).max())
    if largest > LARGEST_TARGET:
        raise InvalidData(
            f"y holds {largest:g}, but variances overflow above {LARGEST_TARGET:g}: use a larger "
            "unit."
        )
    if not standardize:
        return TargetScale(0.0, 1.0)
    spread = exact_std(y)
    return TargetScale(float(np.mean(y)), spread if spread > 0.0 else 1.0)


def exact_std(values: np.ndarray) -> float:
    """Standard deviation of ``values`` (n,), exactly 0 where all are equal."""
    return 0.0 if values.min() == values.max() else float(np.std(values))


def draw_seed(random_state: Any) -> int:
    """A seed from what NumPy and scikit-learn call a random state.

    Raises
    ------
    InvalidParameter
        If it is neither a whole number from 0, a generator nor None.

    Examples
    --------
    >>> draw_seed(3)
    3
    """
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return int(check_number("random_state", int(random_state), 0, 2**63 - 1, integer=True))
    if random_state is None:
        return int(np.random.default_rng().integers(2**31))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    raise InvalidParameter(f"random_state must be a whole number or None; got {random_state!r}.")
