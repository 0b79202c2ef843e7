"""From a user's table to the float64 matrix that engines read, and back for flags about new rows.

Categories of at most `MAX_ONE_HOT_LEVELS` levels become level codes (trees split on ``level ==
code``); larger ones become means of the target, cross-fitted on the training rows (scikit-learn's
`TargetEncoder`), one column, or one a class when there are more than two classes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from gbuq_core.inputs import (
    RowFlags,
    as_table,
    category_positions,
    factorize,
    find_levels,
    level_codes,
    read_numbers,
)
from gbuq_core.progress import advance

MAX_ONE_HOT_LEVELS = 32
_N_FOLDS = 5  # of the cross-fitted target means


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
    found, distinct = factorize(column, name)
    levels = find_levels(distinct)
    codes, missing = level_codes(found, distinct, levels)
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
            part = read_numbers(column, str(label))[:, None]
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
            part = read_numbers(column, coding.name)[:, None]
            missing = np.isnan(part[:, 0])
            strange = np.zeros(len(table), bool)
        else:
            codes, missing = level_codes(*factorize(column, coding.name), coding.levels)
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
