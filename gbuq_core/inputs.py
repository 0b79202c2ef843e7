"""What every estimator does with what a user passes: tables, targets, classes, rows held out."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import union_categoricals

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.model_files.contents import require
from gbuq_core.validation import check_number

_CONSTANT_SPREAD = 1e-12  # of a constant target, as a share of it: above its rounding
_EXACT_IN_FLOAT = 2**53  # larger whole numbers would share a float


class RowFlags(NamedTuple):
    """Levels and missing values that a fitted ensemble has never seen, row by row."""

    unseen_level: np.ndarray  # (n_samples,) bool: whether a category has a new level
    new_missing: np.ndarray  # (n_samples,) bool: whether a column has its first missing value
    columns: tuple[str, ...]  # the names of those where that happened


class MostProbable:
    """A classifier whose ``predict_proba`` says what it predicts."""

    if TYPE_CHECKING:
        classes_: np.ndarray
        predict_proba: Callable[[Any], Any]

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of every row, (n_samples,)."""
        codes = np.argmax(self.predict_proba(X), axis=1)  # first: it tells what is not fitted
        return self.classes_[codes]


def to_pandas(X: Any) -> Any:
    """A data frame of Arrow, polars and the like as pandas', numbers in the processor's order."""
    if hasattr(X, "to_pandas") and hasattr(X, "columns"):
        return X.to_pandas()
    if not isinstance(X, pd.DataFrame) or not any(map(_is_foreign, X.dtypes)):
        return X
    columns = [
        pd.Series(native(X.iloc[:, k].to_numpy())) if _is_foreign(kind) else X.iloc[:, k]
        for k, kind in enumerate(X.dtypes)
    ]
    return pd.concat([one.set_axis(X.index) for one in columns], axis=1).set_axis(X.columns, axis=1)


def as_table(X: Any) -> pd.DataFrame:
    """``X`` as a data frame without copying numbers; arrays get the column labels 0, 1, ..."""
    X = to_pandas(X)
    if isinstance(X, pd.DataFrame):
        refuse_twins(X)
        return X
    check_two_axes(X)
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise InvalidData("X has rows of different lengths: fill the gaps with NaN.") from error
    if np.iscomplexobj(array):
        raise InvalidData("Complex data not supported: pass real numbers.")
    return pd.DataFrame(native(array), copy=False)


def native(array: np.ndarray) -> np.ndarray:
    """The array in the processor's own order of bytes, which files of other machines are not in."""
    return array.astype(array.dtype.newbyteorder("=")) if _is_foreign(array.dtype) else array


def _is_foreign(kind: Any) -> bool:
    return isinstance(kind, np.dtype) and not kind.isnative


def refuse_twins(table: pd.DataFrame) -> None:
    """Refuse two columns of one name: a prediction could not tell which is which."""
    if not table.columns.is_unique:
        twice = table.columns[table.columns.duplicated()][0]
        raise InvalidData(f"X has several columns named {twice!r}: give each column its own name.")


def check_two_axes(X: Any) -> None:
    """Refuse what is no table by its axes (scikit-learn's sentence would hold all numbers), and a
    sparse matrix, whose zeros are cells like others to trees.
    """
    if hasattr(X, "toarray"):
        raise InvalidData(
            "X is a sparse matrix, which is not supported: pass X.toarray(), or the text columns "
            "themselves in a data frame instead of one column a level."
        )
    try:
        n_axes = X.ndim if hasattr(X, "ndim") else np.asarray(X).ndim
    except ValueError:  # rows of different lengths
        return
    if n_axes != 2:
        raise InvalidData(
            f"Expected 2D array, got {n_axes}D array instead: X must have one row a sample and "
            "one column a feature (Reshape your data with X.reshape(-1, 1) if it is one feature)."
        )


def category_positions(table: pd.DataFrame, declared: Any) -> np.ndarray:
    """Which columns are categories, (n_features,) bool; ``declared`` is None, names or
    positions, or "from_dtype" (columns of dtype category, string, object or bool).
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
        whole = isinstance(position, int | np.integer) and not isinstance(position, bool)
        if not whole or not 0 <= int(position) < len(is_category):
            raise InvalidParameter(
                f"categorical_features names {item!r}, which is not one of the "
                f"{len(is_category)} columns."
            )
        is_category[int(position)] = True
    return is_category


def category_columns(X: Any, declared: Any) -> np.ndarray:
    """Which columns of X are categories, (n_features,) bool; text in a data frame says so itself.

    >>> X = pd.DataFrame({"size": [1.0, 2.0], "kind": ["a", "b"]})
    >>> category_columns(X, None).tolist(), category_columns(X, ["size"]).tolist()
    ([False, True], [True, False])
    """
    X, table = to_pandas(X), as_table(X)
    if declared is not None or not isinstance(X, pd.DataFrame):
        return category_positions(table, declared)
    return np.array([_is_text(table, i, dtype) for i, dtype in enumerate(table.dtypes)], dtype=bool)


def _is_text(table: pd.DataFrame, position: int, dtype: Any) -> bool:
    if isinstance(dtype, pd.CategoricalDtype | pd.StringDtype):
        return True
    return dtype.kind == "O" and any(isinstance(value, str) for value in table.iloc[:, position])


_DATES = {"datetime64", "datetime", "date", "timedelta64", "timedelta", "time", "period"}


def refuse_dates(values: pd.Series, name: str) -> None:
    """Refuse dates, durations (NaT would be a number) and complex numbers (half would be lost)."""
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
    """A column as float64 (n,) with NaN for what is missing."""
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
    """A level as a string or a float, so that 1, 1.0 and numpy's 1 are one level."""
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


def check_sample_weight(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Weights that count rows (n_rows,): one of 3 is three rows, one of 0 is none.

    Weights that count less than two rows in all are shares: they get a mean of 1 over their rows.
    They are rounded to multiples of a power of 2, so small beside their sum that nothing else
    changes: so sums and differences of weights are exact, and nothing is left where all is taken
    away.
    """
    if sample_weight is None:
        return None
    try:
        weight = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidData("sample_weight holds values that are not numbers.") from error
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.shape != (n_rows,):
        raise InvalidData(
            f"sample_weight has the shape {weight.shape}, but X has {n_rows} rows: pass one "
            "number a row."
        )
    if not (np.isfinite(weight).all() and (weight >= 0.0).all()):
        raise InvalidData("sample_weight holds negative, missing or infinite values.")
    total = float(weight.sum())
    if total == 0.0:
        raise InvalidData("sample_weight is zero in all rows: no row is left to fit on.")
    if total < 2.0 - 1e-9:
        weight *= (weight > 0.0).sum() / total
        total = float(weight.sum())
    if not total < 2.0**500:
        raise InvalidData(
            f"sample_weight adds up to {total:g}, but a weight counts rows: scale the weights to "
            "a mean of 1."
        )
    unit = 2.0 ** (math.ceil(math.log2(total)) - 52)
    weight = np.round(weight / unit) * unit
    if (weight > 0.0).sum() < 2:
        raise InvalidData("sample_weight is positive in one row: at least 2 rows are needed.")
    return None if (weight == 1.0).all() else weight


# Its fourth power is a float64 still: moments of residuals go that far.
LARGEST_TARGET = 1e75


class TargetScale(NamedTuple):
    """``y = centre + spread * inner``; the inner target is what models are trained on."""

    centre: float
    spread: float

    def check_file(self) -> None:
        """Refuse what is no scale."""
        usable = bool(np.isfinite(self).all()) and 0.0 < self.spread * self.spread < math.inf
        require(usable, "the scale of its target is impossible")


def check_fit_data(estimator: Any, X: Any, y: Any) -> tuple[pd.DataFrame, np.ndarray]:
    """Check X against y, remember feature names, and return X as a table with y (n,)."""
    if y is None:
        raise InvalidData(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None."
        )
    table = as_table(X)
    if np.ma.is_masked(y):
        raise InvalidData("y is a masked array: drop the rows without a target before fitting.")
    # Processes that only compile kernels import this module too, and scikit-learn takes seconds.
    from sklearn.exceptions import DataConversionWarning
    from sklearn.utils.validation import validate_data

    target = native(np.asarray(y))
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
    validate_data(estimator, to_pandas(X), reset=True, skip_check_array=True)
    return table, target


def check_new_rows(estimator: Any, X: Any) -> pd.DataFrame:
    """Check X against the columns of the fit and return it as a table of at least one row."""
    from sklearn.utils.validation import validate_data

    table = as_table(X)
    rows = to_pandas(X) if hasattr(X, "shape") else table
    validate_data(estimator, rows, reset=False, skip_check_array=True)
    if len(table) == 0:
        raise InvalidData("Found array with 0 sample(s) while a minimum of 1 is required.")
    return table


def check_numeric_target(target: np.ndarray) -> np.ndarray:
    """A regression target (n,) as float64, finite."""
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


def check_largest_target(y: np.ndarray, name: str = "y") -> None:
    """Refuse targets (n,) whose variances would overflow."""
    largest = float(np.abs(y).max())
    if largest > LARGEST_TARGET:
        raise InvalidData(
            f"{name} holds {largest:g}, but variances overflow above {LARGEST_TARGET:g}: use a "
            "larger unit."
        )


def fit_target_scale(
    y: np.ndarray, standardize: bool = True, weight: np.ndarray | None = None
) -> TargetScale:
    """Mean and std of ``y`` (n,), or (0, 1) when it is not to be standardised; weighted."""
    check_largest_target(y)
    if not standardize:
        return TargetScale(0.0, 1.0)
    spread = exact_std(y, weight)
    return TargetScale(weighted_mean(y, weight), spread if spread > 0.0 else 1.0)


def constant_scale(centre: float) -> TargetScale:
    """The scale of a target that is constant: what is kept of a prior gets nearly no variance.

    >>> constant_scale(-4.0)
    TargetScale(centre=-4.0, spread=4e-12)
    """
    return TargetScale(centre, _CONSTANT_SPREAD * (abs(centre) or 1.0))


def weighted_mean(values: np.ndarray, weight: np.ndarray | None = None) -> float:
    """The mean of ``values`` (n,), each counted ``weight`` (n,) times."""
    return float(np.mean(values) if weight is None else np.average(values, weights=weight))


def exact_std(values: np.ndarray, weight: np.ndarray | None = None) -> float:
    """Standard deviation of ``values`` (n,), exactly 0 where all are equal; weighted."""
    if values.min() == values.max():
        return 0.0
    if weight is None:
        return float(np.std(values))
    return math.sqrt(weighted_mean(np.square(values - weighted_mean(values, weight)), weight))


def draw_seed(random_state: Any) -> int:
    """A seed from what NumPy and scikit-learn call a random state."""
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return int(check_number("random_state", int(random_state), 0, 2**63 - 1, integer=True))
    if random_state is None:
        return int(np.random.default_rng().integers(2**31))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    raise InvalidParameter(f"random_state must be a whole number or None; got {random_state!r}.")


MAX_CLASSES = 200


def codes_of_known(classes: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The place of each label of ``y`` (n,) among the sorted classes of the training data."""
    known = np.isin(y, classes)
    if not known.all():
        raise InvalidData(
            f"y holds the class {y[~known].tolist()[0]!r}, which was not in the training "
            "data: drop these rows."
        )
    return np.searchsorted(classes, y)


def encode_classes(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sorted classes of ``y`` (n,) and each row's class code (n,) int64."""
    if pd.isna(y).any():
        raise InvalidData("y contains NaN: drop or label the rows without a class.")
    if y.dtype.kind == "O" and pd.api.types.infer_dtype(y) in ("floating", "mixed-integer-float"):
        y = y.astype(np.float64)
    if y.dtype.kind == "f":
        if not np.isfinite(y).all():
            raise InvalidData("y contains infinity: every row needs a class.")
        if (y != np.round(y)).any():
            raise InvalidData(
                "Unknown label type: continuous. y holds fractions, not classes: use the "
                "regressor, or round or bin the target."
            )
    try:
        classes, codes = np.unique(y, return_inverse=True)
    except TypeError as error:
        raise InvalidData(
            "y mixes text and numbers: give every class a label of one type."
        ) from error
    if len(classes) < 2:
        raise InvalidData(
            "Classifier can't train when only one class is present: y needs at least 2 classes."
        )
    if len(classes) > MAX_CLASSES:
        raise InvalidData(
            f"y has {len(classes)} different classes, but at most {MAX_CLASSES} are supported: "
            + (
                "to predict a number, use the regressor."
                if classes.dtype.kind in "iuf"
                else "group the rare ones, or predict a part of the label."
            )
        )
    return classes, codes.astype(np.int64)


class TuningSplit(NamedTuple):
    """Positions of the rows to fit on and of those to tune on, both ascending."""

    fitted: NDArray[np.intp]
    tuned: NDArray[np.intp]


def hold_out(n_rows: int, fraction: float, seed: int) -> TuningSplit:
    """Choose a share of the rows at random, leaving at least three."""
    check_number("validation_fraction", fraction, 0, 0.9, low_open=True)
    n_tuned = round(fraction * n_rows)
    if n_tuned < 1 or n_rows - n_tuned < 3:
        raise InvalidData(
            f"n_samples = {n_rows} is too few to hold out a share of {fraction:g} and keep three "
            "rows to fit on: pass more rows, or validation rows."
        )
    order = np.random.default_rng(seed).permutation(n_rows)
    return TuningSplit(np.sort(order[n_tuned:]), np.sort(order[:n_tuned]))


def take_rows(X: Any, chosen: NDArray[np.intp]) -> Any:
    """Rows of an array or a frame (n, n_features) by position."""
    return to_pandas(X).iloc[chosen] if isinstance(X, pd.DataFrame) else X[chosen]


def stack_rows(X: Any, more: Any) -> Any:
    """The rows of X and then those of ``more``: a frame if both are, else an array."""
    if isinstance(X, pd.DataFrame) and isinstance(more, pd.DataFrame):
        return join_frames(X, more)
    return np.concatenate([np.asarray(X), np.asarray(more)])


def join_frames(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """The rows of ``first`` and then those of ``second``, which has the same columns.

    Category columns stay such where the two know different levels: pandas makes text of them.

    >>> first = pd.DataFrame({"kind": pd.Categorical(["a", "b"])})
    >>> second = pd.DataFrame({"kind": pd.Categorical(["c"])})
    >>> join_frames(first, second)["kind"].cat.categories.tolist()
    ['a', 'b', 'c']
    """
    joined = pd.concat([first, second], ignore_index=True)
    for label in first.columns:
        pair = [first[label], second[label]]
        if any(not isinstance(part.dtype, pd.CategoricalDtype) for part in pair):
            continue
        if pair[0].dtype == pair[1].dtype or any(part.cat.ordered for part in pair):
            continue  # orders of different levels cannot be merged
        if pair[0].cat.categories.dtype == pair[1].cat.categories.dtype:
            joined[label] = union_categoricals(pair)
    return joined
