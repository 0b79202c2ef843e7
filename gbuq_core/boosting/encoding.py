"""From a user's table to the float64 matrix that engines read, and back for flags about new rows.

Categories of at most `MAX_ONE_HOT_LEVELS` levels become level codes (trees split on ``level ==
code``); larger ones become means of the target, cross-fitted on the training rows (scikit-learn's
`TargetEncoder`), one column, or one a class when there are more than two classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.progress import advance

MAX_ONE_HOT_LEVELS = 32
_EXACT_IN_FLOAT = 2**53  # larger whole numbers would share a float
_N_FOLDS = 5  # of the cross-fitted target means


class RowFlags(NamedTuple):
    """What a fitted ensemble has never seen, row by row.

    unseen_level, new_missing : (n_samples,) bool
        Whether a category has a level, or a column a missing value, that training did not have.
    columns : tuple of str
        The names of the columns where that happened.
    """

    unseen_level: np.ndarray
    new_missing: np.ndarray
    columns: tuple[str, ...]


class ColumnCoding(NamedTuple):
    """How one input column becomes matrix columns.

    kind is "number", "levels" or "target"; levels are the training levels in order (strings or
    numbers); means (n_levels, n_columns) and fallback (n_columns,) belong to "target".
    """

    name: str
    kind: str
    levels: tuple[Any, ...]
    has_missing: bool
    means: np.ndarray
    fallback: np.ndarray


class Encoding(NamedTuple):
    """The codings of all input columns, and which matrix columns hold level codes."""

    columns: tuple[ColumnCoding, ...]
    is_category: np.ndarray
    named: bool


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
    if array.ndim != 2:
        raise InvalidData(
            f"Expected 2D array, got {array.ndim}D array instead: X must have one row a sample and "
            "one column a feature (Reshape your data with X.reshape(-1, 1) if it is one feature)."
        )
    if np.iscomplexobj(array):
        raise InvalidData("Complex data not supported: pass real numbers.")
    return pd.DataFrame(array, copy=False)


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
                    f"categorical_features names {item!r}, which several columns are called: give "
                    "their positions."
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


def _numbers(column: pd.Series, name: str) -> np.ndarray:
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


def _factorize(column: pd.Series, name: str) -> tuple[np.ndarray, Any]:
    """Codes (n,), -1 where missing, and the distinct values they stand for."""
    refuse_dates(column, f"column {name!r}")
    try:
        return pd.factorize(column)
    except TypeError as error:
        raise InvalidData(
            f"column {name!r} holds values that are no categories, such as lists: convert it to "
            "text."
        ) from error


def _level_codes(
    codes: np.ndarray, distinct: Any, levels: Sequence[Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Codes (n,) int64 with -1 for what is not among ``levels``, and which values are missing."""
    position = {level: code for code, level in enumerate(levels)}
    lookup = np.array([position.get(_plain(v), -1) for v in distinct] + [-1], dtype=np.int64)
    return lookup[codes], codes < 0


def _folds(target: np.ndarray, task: str, seed: int) -> Any:
    """Five shuffled folds, with equal shares of the classes where each has a row for every fold."""
    from sklearn.model_selection import KFold, StratifiedKFold

    stratify = task != "regression" and np.bincount(target).min() >= _N_FOLDS
    kind = StratifiedKFold if stratify else KFold
    return kind(_N_FOLDS, shuffle=True, random_state=seed % 2**32)


def _fit_column(
    column: pd.Series, name: str, target: np.ndarray, task: str, seed: int
) -> tuple[ColumnCoding, np.ndarray]:
    none = np.empty(0)
    found, distinct = _factorize(column, name)
    seen = {_plain(value) for value in distinct}
    levels = tuple(sorted(seen, key=lambda v: (isinstance(v, str), v)))
    codes, missing = _level_codes(found, distinct, levels)
    has_missing = bool(missing.any())
    if len(levels) + has_missing <= MAX_ONE_HOT_LEVELS:
        codes[missing] = len(levels)
        coding = ColumnCoding(name, "levels", levels, has_missing, none, none)
        return coding, codes.astype(np.float64)[:, None]
    from sklearn.preprocessing import TargetEncoder

    kind = {"regression": "continuous", "binary": "binary", "multiclass": "multiclass"}[task]
    encoder = TargetEncoder(target_type=kind, cv=_folds(target, task, seed))
    codes[missing] = len(levels)
    encoded = encoder.fit_transform(codes[:, None], target)
    # encodings_ has one array a (column, class); categories_[0] are the codes in ascending order.
    present = encoder.categories_[0].astype(np.int64)
    fallback = np.atleast_1d(np.asarray(encoder.target_mean_, np.float64))
    means = np.tile(fallback, (len(levels) + 1, 1))
    means[present] = np.column_stack(encoder.encodings_)
    return ColumnCoding(name, "target", levels, has_missing, means, fallback), encoded


def fit_encoding(
    X: Any, target: np.ndarray, n_classes: int | None, declared: Any, seed: int
) -> tuple[Encoding, np.ndarray]:
    """Learn the coding of every column and return it with the training matrix (n, n_columns).

    The matrix of target-encoded columns is cross-fitted: no row's code uses its own target.
    """
    table = as_table(X)
    is_category = category_positions(table, declared)
    task = "regression" if n_classes is None else "binary" if n_classes == 2 else "multiclass"
    codings, parts, coded = [], [], []
    for i, label in enumerate(table.columns):
        advance(0.0)  # encoding large columns takes long: does anybody still want it?
        column = table.iloc[:, i]
        if is_category[i]:
            coding, part = _fit_column(column, str(label), target, task, seed)
        else:
            part = _numbers(column, str(label))[:, None]
            missing = bool(np.isnan(part).any())
            coding = ColumnCoding(str(label), "number", (), missing, np.empty(0), np.empty(0))
        codings.append(coding)
        parts.append(part)
        coded += [coding.kind == "levels"] * part.shape[1]
    matrix = np.hstack(parts) if parts else np.empty((len(table), 0))
    named = all(isinstance(label, str) for label in table.columns)
    return Encoding(tuple(codings), np.array(coded, bool), named), matrix


def apply_encoding(encoding: Encoding, X: Any) -> tuple[np.ndarray, RowFlags]:
    """The matrix of new rows and what in them training had never seen."""
    table = as_table(X)
    unseen, new_missing = np.zeros(len(table), bool), np.zeros(len(table), bool)
    flagged, parts = [], []
    for i, coding in enumerate(encoding.columns):
        column = table.iloc[:, i]
        if coding.kind == "number":
            part = _numbers(column, coding.name)[:, None]
            missing = np.isnan(part[:, 0])
            strange = np.zeros(len(table), bool)
        else:
            codes, missing = _level_codes(*_factorize(column, coding.name), coding.levels)
            strange = (codes < 0) & ~missing
            if coding.has_missing:
                codes[missing] = len(coding.levels)
            part = codes.astype(np.float64)[:, None]
            if coding.kind == "target":
                # one more row of means, reached by -1, for what training had not
                part = np.vstack([coding.means, coding.fallback])[codes]
        missing &= not coding.has_missing
        unseen |= strange
        new_missing |= missing
        if strange.any() or missing.any():
            flagged.append(coding.name)
        parts.append(part)
    matrix = np.hstack(parts) if parts else np.empty((len(table), 0))
    return matrix, RowFlags(unseen, new_missing, tuple(flagged))
