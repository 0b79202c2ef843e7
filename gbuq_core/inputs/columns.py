"""A user's table column by column: numbers, levels of categories, what is missing, what is new."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from gbuq_core.errors import InvalidData, InvalidParameter

_EXACT_IN_FLOAT = 2**53  # larger whole numbers would share a float


class RowFlags(NamedTuple):
    """Levels and missing values that a fitted ensemble has never seen, row by row.

    unseen_level, new_missing : (n_samples,) bool
        Whether a category has a new level, or a column has its first missing value, since training.
    columns : tuple of str
        The names of the columns where that happened.
    """

    unseen_level: np.ndarray
    new_missing: np.ndarray
    columns: tuple[str, ...]


def as_table(X: Any) -> pd.DataFrame:
    """``X`` as a data frame without copying numbers; arrays get the column labels 0, 1, ..."""
    if isinstance(X, pd.DataFrame):
        return X
    if hasattr(X, "toarray"):
        raise InvalidData("X is a sparse matrix, which is not supported: pass X.toarray().")
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise InvalidData("X has rows of different lengths: fill the gaps with NaN.") from error
    check_two_axes(array)
    if np.iscomplexobj(array):
        raise InvalidData("Complex data not supported: pass real numbers.")
    return pd.DataFrame(array, copy=False)


def check_two_axes(X: Any) -> None:
    """Refuse what is no table by its number of axes; what has none to count is left to others.

    scikit-learn's own sentence holds all numbers of X.

    Examples
    --------
    >>> check_two_axes([[1.0, 2.0]])
    """
    try:
        n_axes = X.ndim if hasattr(X, "ndim") else np.asarray(X).ndim
    except ValueError:  # rows of different lengths
        return
    if n_axes != 2 and not hasattr(X, "toarray"):
        raise InvalidData(
            f"Expected 2D array, got {n_axes}D array instead: X must have one row a sample and "
            "one column a feature (Reshape your data with X.reshape(-1, 1) if it is one feature)."
        )


def category_positions(table: pd.DataFrame, declared: Any) -> np.ndarray:
    """Which columns are categories, (n_features,) bool.

    ``declared`` is None, "from_dtype" (columns of dtype category, string, object or bool), or a
    sequence of column names or positions.
    """
    is_category = np.zeros(table.shape[1], bool)
    if declared is None:
        return is_category
    if isinstance(declared, str) and declared == "from_dtype":
        return np.array(
            [not pd.api.types.is_numeric_dtype(t) or t.kind == "b" for t in table.dtypes]
        )
    if isinstance(declared, str) or not isinstance(declared, Sequence | np.ndarray | pd.Index):
        raise InvalidParameter(
            "categorical_features must be None, 'from_dtype' or a list of column names or "
            f"positions; got {declared!r}."
        )
    names = [name if isinstance(name, str) else None for name in table.columns]
    mask = np.asarray(declared, dtype=object)
    if mask.shape == is_category.shape and all(isinstance(m, bool | np.bool_) for m in mask):
        return mask.astype(bool)
    for item in declared:
        position: Any = item
        if isinstance(item, str):
            position = names.index(item) if item in names else None
            if names.count(item) > 1:
                raise InvalidParameter(
                    f"categorical_features names {item!r}, but several columns have this name: "
                    "give their positions."
                )
        whole = isinstance(position, int | np.integer) and not isinstance(position, bool)
        if not whole or not 0 <= int(position) < len(is_category):
            raise InvalidParameter(
                f"categorical_features names {item!r}, which is not one of the "
                f"{len(is_category)} columns."
            )
        is_category[int(position)] = True
    return is_category


_DATES = {"datetime64", "datetime", "date", "timedelta64", "timedelta", "time", "period"}


def refuse_dates(values: pd.Series, name: str) -> None:
    """Refuse dates, durations (NaT would become a number) and complex numbers (half would be lost).

    Raises
    ------
    InvalidData
        Whatever dtype the values hide in: their own, a category's or object.
    """
    dtype: Any = values.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        dtype = dtype.categories.dtype
    kind = getattr(dtype, "kind", "O")
    if kind == "c":
        raise InvalidData(f"{name} holds complex numbers: convert it to real numbers.")
    hidden = kind == "O" and pd.api.types.infer_dtype(values, skipna=True) in _DATES
    if kind in "mM" or isinstance(dtype, pd.PeriodDtype) or hidden:
        raise InvalidData(f"{name} holds dates or durations: convert it to real numbers.")


def read_numbers(column: pd.Series, name: str) -> np.ndarray:
    """A column as float64 (n,) with NaN for what is missing.

    Raises
    ------
    InvalidData
        If it holds dates, text, complex numbers or infinity.
    """
    refuse_dates(column, f"column {name!r}")
    try:
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise InvalidData(
            f"column {name!r} holds values that are not numbers: declare it in "
            "categorical_features or convert it."
        ) from error
    if np.isinf(values).any():
        raise InvalidData(
            f"column {name!r} contains infinity: replace infinite values by missing ones (NaN)."
        )
    return values


def _plain(value: Any) -> Any:
    """A level as a string or a float, so that 1, 1.0 and numpy's 1 are one level, also in a
    file.
    """
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, int | np.integer) and abs(int(value)) > _EXACT_IN_FLOAT:
        return str(int(value))
    if isinstance(value, int | float | np.integer | np.floating):
        return float(value)
    return str(value)


def factorize(column: pd.Series, name: str) -> tuple[np.ndarray, Any]:
    """Codes (n,), -1 where missing, and the distinct values they stand for."""
    refuse_dates(column, f"column {name!r}")
    try:
        return pd.factorize(column)
    except TypeError as error:
        raise InvalidData(
            f"column {name!r} holds values that cannot be categories, such as lists: convert it to "
            "text."
        ) from error


def find_levels(distinct: Any) -> tuple[Any, ...]:
    """The levels that distinct values stand for, numbers before text, each in order."""
    seen = {_plain(value) for value in distinct}
    return tuple(sorted(seen, key=lambda v: (isinstance(v, str), v)))


def level_codes(
    codes: np.ndarray, distinct: Any, levels: Sequence[Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Codes (n,) int64 with -1 for what is not among ``levels``, and which values are missing."""
    position = {level: code for code, level in enumerate(levels)}
    lookup = np.array([position.get(_plain(v), -1) for v in distinct] + [-1], dtype=np.int64)
    return lookup[codes], codes < 0
