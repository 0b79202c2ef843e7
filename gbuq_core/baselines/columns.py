"""A user's table as the float32 matrix that scikit-learn's trees read: categories become codes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gbuq_core.errors import InvalidData

# The levels of each column in code order; None for a column of numbers.
ColumnLevels = tuple[tuple[str, ...] | None, ...]


def fit_levels(X: Any) -> ColumnLevels:
    """Find the levels of every column that holds no numbers."""
    if not isinstance(X, pd.DataFrame):
        return ()
    return tuple(_levels_of(X.iloc[:, i], label) for i, label in enumerate(X.columns))


def to_matrix(X: Any, levels: ColumnLevels) -> NDArray[np.float32]:
    """Turn a table into a matrix: numbers as they are, levels as codes, gaps as NaN."""
    from sklearn.utils import check_array

    if not isinstance(X, pd.DataFrame) and any(known is not None for known in levels):
        raise InvalidData(
            "The training data had columns of text or categories: pass a DataFrame with the same "
            "columns."
        )
    if isinstance(X, pd.DataFrame) and levels:
        columns = [
            _numbers(X.iloc[:, i], X.columns[i]) if known is None else _codes(X.iloc[:, i], known)
            for i, known in enumerate(levels)
        ]
        X = np.column_stack(columns)
    try:
        matrix = check_array(X, dtype=np.float32, order="C", ensure_all_finite="allow-nan")
    except ValueError as error:
        raise InvalidData(str(error)) from error
    return matrix + np.float32(0.0)  # a copy, in which -0.0 is 0.0: equal rows have equal bytes


def _levels_of(column: pd.Series, label: Any) -> tuple[str, ...] | None:
    dtype = column.dtype
    if pd.api.types.is_bool_dtype(dtype) or pd.api.types.is_numeric_dtype(dtype):
        return None
    if isinstance(dtype, pd.CategoricalDtype):
        return tuple(dict.fromkeys(str(level) for level in dtype.categories))
    if dtype.kind in "mM" or isinstance(dtype, pd.DatetimeTZDtype | pd.PeriodDtype):
        raise InvalidData(
            f"Column {str(label)!r} holds dates or durations; turn them into numbers first."
        )
    return tuple(sorted({str(level) for level in column.dropna().unique()}))


def _codes(column: pd.Series, levels: tuple[str, ...]) -> NDArray[np.float64]:
    code = {level: float(i) for i, level in enumerate(levels)}
    positions, distinct = pd.factorize(column)
    known = np.array([code.get(str(level), np.nan) for level in distinct] + [np.nan])
    return known[positions]  # a missing value has position -1


def _numbers(column: pd.Series, label: Any) -> NDArray[np.float64]:
    try:
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        raise InvalidData(
            f"Column {str(label)!r} held numbers in training and now holds something else."
        ) from None
