"""From a user's table to bin codes: columns to a float64 matrix, its values to bins, rows to cells.

Categories of at most `MAX_ONE_HOT_LEVELS` levels become level codes (trees split on ``level ==
code``); larger ones become means of the target, cross-fitted on the training rows (scikit-learn's
`TargetEncoder`), one column, or one a class when there are more than two classes. What new rows
hold that training had not is flagged.

Code 0 of a numeric feature is kept for missing values; values follow in ascending order. So a split
``code > 0`` separates missing rows from all others. If training had no missing values, a missing
one counts as the smallest value. Codes of a category are its levels; 255 is any new level. Rows
with the same codes make a cell.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from gbuq_core.array_checks import begins
from gbuq_core.inputs import (
    RowFlags,
    as_table,
    category_positions,
    factorize,
    find_levels,
    level_codes,
    read_numbers,
)
from gbuq_core.model_files.contents import check_arrays, require
from gbuq_core.parallel import parallel_map
from gbuq_core.progress import advance
from gbuq_core.trees.binning_kernels import PADDED_BORDERS, code_rows
from gbuq_core.trees.growing_kernels import BinnedRows

MAX_ONE_HOT_LEVELS = 32
_N_FOLDS = 5  # of the cross-fitted target means


class ColumnCoding(NamedTuple):
    """How one input column becomes matrix columns."""

    name: str
    kind: str  # "number", "levels" or "target"
    levels: tuple[Any, ...]  # in order, strings or numbers
    has_missing: bool
    means: np.ndarray  # (n_levels, n_columns), of "target"
    fallback: np.ndarray  # (n_columns,), of "target"

    def check_file(self) -> None:
        """Refuse levels that no column has, and means of other levels."""
        why = f"the coding of column {self.name!r:.60} is impossible"
        require(all(type(level) in (float, str) for level in self.levels), why)
        require(len(set(self.levels)) == len(self.levels), why)
        n_columns = 0
        if self.kind == "target":
            n_columns = self.fallback.shape[0] if self.fallback.ndim else 0
            check_arrays(
                self,
                means=("finite", len(self.levels) + 1, n_columns),
                fallback=("finite", n_columns),
            )
        elif self.kind == "levels":
            require(1 <= len(self.levels) + self.has_missing <= MAX_ONE_HOT_LEVELS, why)
        else:
            require(self.kind == "number" and not self.levels, why)


def _number_coding(label: Any, has_missing: bool) -> ColumnCoding:
    return ColumnCoding(str(label), "number", (), has_missing, np.empty(0), np.empty(0))


class Encoding(NamedTuple):
    """The codings of all input columns, and which matrix columns hold level codes."""

    columns: tuple[ColumnCoding, ...]
    is_category: np.ndarray
    named: bool

    def check_file(self) -> None:
        """Refuse matrix columns that the columns do not make."""
        categories: list[bool] = []
        for column in self.columns:
            width = len(column.fallback) if column.kind == "target" else 1
            categories += [column.kind == "levels"] * width
        check_arrays(self, is_category=(bool, len(categories)))
        same = len(categories) >= 1 and self.is_category.tolist() == categories
        require(same, "its columns do not match")


def _folds(target: np.ndarray, task: str, seed: int) -> Any:
    """Five shuffled folds, with equal shares of the classes where each has a row for every fold."""
    from sklearn.model_selection import KFold, StratifiedKFold

    stratify = task != "regression" and np.bincount(target).min() >= _N_FOLDS
    kind = StratifiedKFold if stratify else KFold
    return kind(_N_FOLDS, shuffle=True, random_state=seed % 2**32)


def _fit_column(
    column: pd.Series,
    name: str,
    target: np.ndarray,
    task: str,
    seed: int,
    weight: np.ndarray | None,
) -> tuple[ColumnCoding, np.ndarray]:
    none = np.empty(0)
    places, distinct = factorize(column, name)
    levels = find_levels(distinct)
    codes, missing = level_codes(places, distinct, levels)
    has_missing = bool(missing.any())
    if len(levels) + has_missing <= MAX_ONE_HOT_LEVELS:
        codes[missing] = len(levels)
        coding = ColumnCoding(name, "levels", levels, has_missing, none, none)
        return coding, codes.astype(np.float64)[:, None]
    if weight is not None:
        codes[missing] = len(levels)
        folds = _folds(target, task, seed).split(target, target)
        means, fallback, encoded = _weighted_means(codes, target, task, weight, folds)
        means = np.vstack([means, np.tile(fallback, (len(levels) + 1 - len(means), 1))])
        return ColumnCoding(name, "target", levels, has_missing, means, fallback), encoded
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


def _weighted_means(
    codes: np.ndarray, target: np.ndarray, task: str, weight: np.ndarray, folds: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What scikit-learn's `TargetEncoder` learns, with rows that count ``weight`` (n,) times:
    ``(n m + (v / V) M) / (n + v / V)`` for n rows of mean m, variance v, and M, V of all rows.
    """
    values = target[:, None].astype(np.float64)
    if task == "multiclass":
        values = (target[:, None] == np.arange(target.max() + 1)).astype(np.float64)
    n_levels = int(codes.max()) + 1

    def learn(rows: Any) -> tuple[np.ndarray, np.ndarray]:
        w, v, c = weight[rows], values[rows], codes[rows]
        overall = np.average(v, axis=0, weights=w)
        variance = np.average(np.square(v - overall), axis=0, weights=w)
        n = np.bincount(c, w, n_levels)[:, None]
        total = np.stack([np.bincount(c, w * part, n_levels) for part in v.T], axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = total / n
            squares = np.square(v - mean[c])
            within = np.stack([np.bincount(c, w * part, n_levels) for part in squares.T], axis=1)
            share = variance * n / (variance * n + within / n)
        return np.where(np.isnan(share), overall, share * mean + (1.0 - share) * overall), overall

    means, fallback = learn(slice(None))
    encoded = np.empty((len(codes), len(fallback)))
    for fitted, held in folds:
        encoded[held] = learn(fitted)[0][codes[held]]
    return means, fallback, encoded


def fit_encoding(
    X: Any,
    target: np.ndarray,
    n_classes: int | None,
    declared: Any,
    seed: int,
    weight: np.ndarray | None = None,
) -> tuple[Encoding, np.ndarray]:
    """Learn the coding of every column; return it with the training matrix (n, n_columns), in which
    target-encoded columns are cross-fitted.
    """
    table = as_table(X)
    is_category = category_positions(table, declared)
    task = "regression" if n_classes is None else "binary" if n_classes == 2 else "multiclass"
    named = all(isinstance(label, str) for label in table.columns)
    numbers = None if is_category.any() else _float_matrix(table)
    if numbers is not None and not np.isinf(numbers).any():
        missing_in = np.isnan(numbers).any(axis=0).tolist()
        columns = tuple(
            _number_coding(label, missing)
            for label, missing in zip(table.columns, missing_in, strict=True)
        )
        return Encoding(columns, np.zeros(len(columns), bool), named), numbers
    codings, parts, coded = [], [], []
    for i, label in enumerate(table.columns):
        advance(0.0)  # encoding large columns takes long: does anybody still want it?
        column = table.iloc[:, i]
        if is_category[i]:
            coding, part = _fit_column(column, str(label), target, task, seed, weight)
        else:
            part = read_numbers(column, str(label))[:, None]
            coding = _number_coding(label, bool(np.isnan(part).any()))
        codings.append(coding)
        parts.append(part)
        coded += [coding.kind == "levels"] * part.shape[1]
    matrix = np.hstack(parts) if parts else np.empty((len(table), 0))
    return Encoding(tuple(codings), np.array(coded, bool), named), matrix


def _float_matrix(table: pd.DataFrame) -> np.ndarray | None:
    """The memory of a table of float64 without a copy, not to be written to; else None."""
    if not all(dtype == np.float64 for dtype in table.dtypes):
        return None
    return np.ascontiguousarray(table.to_numpy(np.float64))


def _plain_numbers(encoding: Encoding, table: pd.DataFrame) -> np.ndarray | None:
    """The matrix of a table of float64 without anything to look up or to flag, else None."""
    if not all(coding.kind == "number" for coding in encoding.columns):
        return None
    matrix = _float_matrix(table)
    # A sum is finite unless a value is not, or values near the largest number overflow it.
    return matrix if matrix is not None and np.isfinite(matrix.sum()) else None


def apply_encoding(encoding: Encoding, X: Any) -> tuple[np.ndarray, RowFlags]:
    """The matrix of new rows and what in them training had never seen."""
    table = as_table(X)
    unseen, new_missing = np.zeros(len(table), bool), np.zeros(len(table), bool)
    numbers = _plain_numbers(encoding, table)
    if numbers is not None:
        return numbers, RowFlags(unseen, new_missing, ())
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


MAX_VALUE_BINS = 255
UNSEEN_LEVEL = 255
_NUMBER = -1  # in place of a category's number of levels
_ROWS = 65_536  # coded at a time, so that threads share the work and a stop is noticed
_LARGE = 200_000  # cells of a matrix whose columns are worth sorting side by side


class Bins(NamedTuple):
    """How features are binned."""

    # ascending for each feature: `x` has code `1 + borders < x`; none for a category
    borders: tuple[np.ndarray, ...]
    n_codes: np.ndarray  # (n_features,): how many codes training may use
    is_category: np.ndarray  # (n_features,) bool
    has_missing: np.ndarray  # (n_features,) bool: whether a number was missing in training

    def check_file(self) -> None:
        """Refuse codes that no training makes: those of a number are 0 to ``n_borders + 1``."""
        n = len(self.borders)
        check_arrays(self, n_codes=(np.int64, n), is_category=(bool, n), has_missing=(bool, n))
        for edges, n_codes, category in zip(*self[:3], strict=True):
            require(edges.dtype == np.float64 and edges.ndim == 1, "a border is no number")
            require(np.isfinite(edges).all(), "a border is not finite")
            require((np.diff(edges) > 0.0).all(), "borders do not ascend")
            possible = len(edges) < MAX_VALUE_BINS and n_codes == len(edges) + 2
            if category:
                possible = len(edges) == 0 and 1 <= n_codes <= MAX_VALUE_BINS
            require(possible, "a feature has impossible bins")


class Cells(NamedTuple):
    """Rows with the same codes."""

    order: np.ndarray  # (n_rows,) sorts rows by cell
    begin: np.ndarray  # (n_cells + 1,): where a cell's rows begin in that order
    codes: np.ndarray  # (n_cells, n_features) uint8, C order
    columns: np.ndarray  # the same transposed, C order


def choose_borders(
    values: np.ndarray, max_bins: int, weight: np.ndarray | None = None
) -> np.ndarray:
    """Borders between at most ``max_bins`` bins of about equally many of ``values`` (n,).

    Each border lies half-way between two neighbouring distinct values; with few distinct values
    every one gets a bin. ``weight`` (n,) says how many rows each value counts as.
    """
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) < 2:
        return np.empty(0)
    if len(distinct) <= max_bins:
        cuts = np.arange(len(distinct) - 1)
    else:
        n_rows = float(len(values))
        if weight is not None:
            order = np.argsort(values, kind="stable")
            first = np.concatenate([[0], np.cumsum(counts)[:-1]])
            counts = np.add.reduceat(weight[order], first)
            n_rows = float(counts.sum())
        targets = np.arange(1, max_bins) * (n_rows / max_bins)
        cuts = np.unique(np.searchsorted(np.cumsum(counts), targets - 0.5))
        cuts = cuts[cuts < len(distinct) - 1]
    below, above = distinct[cuts], distinct[cuts + 1]
    middle = below / 2 + above / 2
    return np.where((middle < above) & (middle >= below), middle, below)


def fit_bins(
    X: np.ndarray,
    is_category: np.ndarray,
    max_bins: int,
    weight: np.ndarray | None = None,
    n_jobs: int | None = 1,
) -> Bins:
    """Choose bins for ``X`` (n, n_features); NaN is missing; categories hold codes 0, 1, ..."""
    n_features = X.shape[1]
    borders = [np.empty(0)] * n_features
    n_codes, has_missing = np.empty(n_features, np.int64), np.zeros(n_features, bool)

    def fit_one(feature: int) -> None:
        column = X[:, feature]
        if is_category[feature]:
            n_codes[feature] = int(column.max()) + 1 if len(column) else 0
            return
        missing = np.isnan(column)
        has_missing[feature] = missing.any()
        known = None if weight is None else weight[~missing]
        borders[feature] = choose_borders(column[~missing], max_bins, known)
        n_codes[feature] = len(borders[feature]) + 2

    parallel_map(fit_one, range(n_features), n_jobs if X.size > _LARGE else 1)
    return Bins(tuple(borders), n_codes, is_category, has_missing)


def apply_bins(bins: Bins, X: np.ndarray, n_jobs: int | None = 1) -> np.ndarray:
    """Codes of ``X`` (n, n_features) as (n_features, n) uint8, one contiguous row a feature."""
    n_rows, n_features = X.shape
    codes = np.empty((n_features, n_rows), np.uint8)
    borders = np.full((n_features, PADDED_BORDERS), np.inf)
    for feature, own in enumerate(bins.borders):
        borders[feature, : len(own)] = own
    n_levels = np.where(bins.is_category, bins.n_codes, _NUMBER)
    values = np.ascontiguousarray(X, np.float64).view()
    values.flags.writeable = False  # one kernel, whether the caller's may be written or not
    unseen = np.uint8(UNSEEN_LEVEL)

    def code(low: int) -> None:
        code_rows(values, borders, n_levels, unseen, low, min(low + _ROWS, n_rows), codes)

    parallel_map(code, range(0, n_rows, _ROWS), n_jobs)
    return codes


def merge_rows(columns: np.ndarray, always: bool = False) -> Cells | None:
    """Cells of ``columns`` (n_features, n); None, unless ``always``, if few rows are equal."""
    n_features, n_rows = columns.shape
    if n_rows < 2 or n_features == 0:
        return None
    probe = columns[:, :: max(1, n_rows // 4096)]
    if not always and len(np.unique(probe.T, axis=0)) > 0.9 * probe.shape[1]:
        return None  # a sample without repeats: a table of continuous values
    key = np.zeros(n_rows, np.int64)
    for column in columns:
        size = int(column.max()) + 1
        if int(key.max()) >= (1 << 62) // size:
            key = np.unique(key, return_inverse=True)[1]
        key = key * size + column
    if int(key.max()) < 8 * n_rows:  # dense keys: count instead of sort
        filled = np.bincount(key)
        present = np.flatnonzero(filled)
        rank = np.zeros(len(filled), np.int64)
        rank[present] = np.arange(len(present))
        cell_of_row, counts = rank[key], filled[present]
    else:
        _, cell_of_row, counts = np.unique(key, return_inverse=True, return_counts=True)
    if not always and len(counts) > n_rows // 2:
        return None
    order = np.argsort(cell_of_row, kind="stable")
    begin = begins(counts)
    merged = np.ascontiguousarray(columns[:, order[begin[:-1]]])
    return Cells(order, begin, np.ascontiguousarray(merged.T), merged)


def single_cells(columns: np.ndarray) -> Cells:
    """Every row a cell of its own."""
    n_rows = columns.shape[1]
    codes = np.ascontiguousarray(columns.T)
    return Cells(np.arange(n_rows), np.arange(n_rows + 1), codes, np.ascontiguousarray(columns))


def binned_rows(bins: Bins, cells: Cells) -> BinnedRows:
    """What the growing kernels read: the cells' codes and the layout of histograms.

    Candidates are the codes that part something: for a number ``code > c`` for every c but the last
    (c = 0, missing against the rest, only where training had missing values), for a category
    ``code == c`` (one of two levels only: both part the rows alike).
    """
    n_codes = bins.n_codes
    offset = np.concatenate([[0], np.cumsum(n_codes)[:-1]]).astype(np.uint64)
    slot_feature = np.repeat(np.arange(len(n_codes)), n_codes)
    slot_bin = np.arange(int(n_codes.sum())) - offset.astype(np.int64)[slot_feature]
    category = bins.is_category[slot_feature]
    last = slot_bin == n_codes[slot_feature] - 1
    candidate_number = ~last & ((slot_bin > 0) | bins.has_missing[slot_feature])
    candidate_category = np.where(n_codes[slot_feature] == 2, ~last, n_codes[slot_feature] > 2)
    return BinnedRows(
        codes=cells.codes,
        columns=cells.columns,
        offset=offset,
        n_bins=n_codes,
        is_category=bins.is_category,
        is_candidate=np.where(category, candidate_category, candidate_number),
        slot_feature=slot_feature.astype(np.int64),
        slot_bin=slot_bin.astype(np.int64),
    )
