"""What the estimator is given, checked: rows and targets."""

from __future__ import annotations

import itertools
import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import validate_data

from gbuq_core.errors import GbuqError, InvalidData, InvalidParameter
from gbuq_core.inputs.columns import check_two_axes, refuse_dates
from gbuq_core.inputs.rows import LARGEST_TARGET
from gbuq_core.validation import check_number


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
        if not X.columns.is_unique:
            twice = X.columns[X.columns.duplicated()][0]
            raise InvalidData(f"X has several columns {twice!r}: give each a name of its own.")
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
        raise InvalidData(" ".join(str(error).split())) from error


def _check_names(estimator: Any, X: pd.DataFrame) -> None:
    """Refuse columns of other names, or in another order, than at the fit."""
    known, given = getattr(estimator, "feature_names_in_", None), list(X.columns)
    if known is None or given == list(known):
        return
    extra = [repr(name) for name in given if name not in set(known)]
    missing = [repr(name) for name in known if name not in set(given)]
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
    largest = float(np.abs(numbers).max())
    if largest > LARGEST_TARGET:
        raise InvalidData(
            f"{name} holds {largest:g}, and beyond {LARGEST_TARGET:g} variances overflow: measure "
            "it in a larger unit."
        )
    return numbers


def check_counts(n_neighbors: ArrayLike) -> list[int]:
    """Several numbers of neighbours, or say in a sentence why they are none.

    Examples
    --------
    >>> check_counts([3, 5])
    [3, 5]
    """
    given = np.atleast_1d(np.asarray(n_neighbors)).tolist()
    counts = [check_number("n_neighbors", k, 1, integer=True) for k in given]
    if not counts or any(left >= right for left, right in itertools.pairwise(counts)):
        raise InvalidParameter(
            f"n_neighbors must be one number or several that rise; got {counts!r}."
        )
    return counts


def encode_labels(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The classes of labels (n,), sorted, and each label's place among them, (n,).

    Examples
    --------
    >>> encode_labels(np.array(["b", "a", "b"]))
    (array(['a', 'b'], dtype='<U1'), array([1, 0, 1]))
    """
    try:
        return np.unique(labels, return_inverse=True)
    except TypeError:
        kinds = sorted({type(label).__name__ for label in labels.tolist()})
        raise InvalidData(
            f"labels of different kinds ({', '.join(kinds)}) have no order: make all of them text "
            "or all numbers, also where one is missing."
        ) from None


def explain_missing(error: Exception, X: Any, model: Any) -> Exception:
    """A sentence in place of what a library says of NaN; any other error as it is."""
    speaks_of_it = re.search(r"\bnan\b|missing", str(error), re.IGNORECASE) is not None
    if isinstance(error, GbuqError) or not speaks_of_it or not bool(np.any(pd.isna(X))):
        return error
    return InvalidData(
        f"X contains NaN, and {type(model).__name__} does not take missing values: fill them or "
        "drop those rows."
    )
