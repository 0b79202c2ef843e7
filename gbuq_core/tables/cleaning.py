"""From a table and its schema to what an estimator takes: features, target, and the rows in use."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gbuq_core.errors import InvalidData
from gbuq_core.jobs import check_memory
from gbuq_core.tables.columns import single_chunk
from gbuq_core.tables.features import Feature, column_like, feature_values
from gbuq_core.tables.names import free_name
from gbuq_core.tables.notices import column_notices
from gbuq_core.tables.reading import Table
from gbuq_core.tables.schema import Schema
from gbuq_core.tables.targets import Target, read_new_target, read_target
from gbuq_core.tables.wording import columns_named, shown

_BYTES_PER_CELL = 40  # a feature, its copy in a fold, its bin and its text


class Prepared(NamedTuple):
    """A table ready to learn from or to be predicted.

    Attributes
    ----------
    X : DataFrame of shape (n_rows, n_features)
        Float64 and categorical columns; NaN is missing.
    y : ndarray of shape (n_rows,), float64
        Numbers or codes of classes, NaN where the target is not known.
    target : Target
    features : tuple of Feature
        The columns of X. A date is up to four of them: ``"day: days"`` (days since 1 January 1970),
        ``"day: month"`` (1 to 12), ``"day: weekday"`` (0 is Monday) and ``"day: hour"`` (0 to 24),
        of which only the first is there if the others do not vary.
    schema : Schema
    notices : tuple of str
        What had to be decided, including the schema's notices.
    """

    X: pd.DataFrame
    y: NDArray[np.float64]
    target: Target
    features: tuple[Feature, ...]
    schema: Schema
    notices: tuple[str, ...]

    @property
    def categorical(self) -> list[str]:
        """The features that are categories."""
        dtypes = zip(self.X.columns, self.X.dtypes, strict=True)
        return [name for name, dtype in dtypes if isinstance(dtype, pd.CategoricalDtype)]

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which rows have a target."""
        return ~np.isnan(self.y)


def prepare_training(
    table: Table, schema: Schema, target: str, task: str | None = None
) -> Prepared:
    """Features and target of a table to learn from.

    Raises
    ------
    InvalidData
        If no column is left as a feature, or the target cannot be learnt (see `read_target`).
    """
    read = read_target(table, schema, target, task)
    used = [column for column in schema.columns if column.used and column.name != target]
    if not used:
        raise InvalidData(
            f"No column is left to predict {shown(target)} from: use more columns or choose "
            "another target."
        )
    check_memory(_BYTES_PER_CELL * table.n_rows * len(used), "preparing this table")
    parts: dict[str, Any] = {}
    features: list[Feature] = []
    for column in used:
        array = single_chunk(table.data, column.name)
        for part, values in feature_values(array, column).items():
            wished = f"{column.name}: {part}" if part else column.name
            name = free_name(wished, {*parts, *([c.name for c in used] if part else [])})
            parts[name] = values
            features.append(Feature(name, column.name, part))
    others = [column for column in schema.columns if column.name != target]
    notices = [*column_notices(others), *read.notices]
    dates = [column.name for column in used if column.kind == "date"]
    if dates:
        notices.append(
            f"{columns_named(dates)} hold{'s' if len(dates) == 1 else ''} dates, and the rows are "
            "split at random: if they are ordered in time, the future may look easier than it is."
        )
    X = pd.DataFrame(parts, copy=False)
    return Prepared(X, read.values, read.target, tuple(features), schema, tuple(notices))


def prepare_new(table: Table, training: Prepared) -> Prepared:
    """Features, and the target where it is given, of a second file.

    Columns are matched by name; extra ones are ignored, and so is the order.

    Raises
    ------
    InvalidData
        If columns are missing or hold something else than in the first file.
    """
    names = set(table.names)
    needed = list(dict.fromkeys(feature.column for feature in training.features))
    lacking = [name for name in needed if name not in names]
    if lacking:
        it = "it" if len(lacking) == 1 else "them"
        raise InvalidData(
            f"{columns_named(lacking)} of the first file {'is' if it == 'it' else 'are'} missing "
            f"in the second: add {it} there or leave {it} out of the first."
        )
    notices = []
    known = {column.name for column in training.schema.columns}
    extra = [name for name in table.names if name not in known]
    if extra:
        are = "is" if len(extra) == 1 else "are"
        notices.append(
            f"{columns_named(extra)} of the second file {are} not in the first and {are} ignored."
        )
    parts: dict[str, Any] = {}
    for name in needed:
        array = single_chunk(table.data, name)
        column, remarks = column_like(array, training.schema.column(name), table.decimal)
        notices += remarks
        wanted = tuple(f.part for f in training.features if f.column == name)
        found = feature_values(array, column, wanted)
        for feature in training.features:
            if feature.column == name:
                parts[feature.name] = found[feature.part]
    X = pd.DataFrame({f.name: parts[f.name] for f in training.features}, copy=False)
    y, target = np.full(table.n_rows, np.nan), training.target
    if target.name in names:
        read = read_new_target(table, target, training.schema.column(target.name))
        y = read.values
        notices += read.notices
    return training._replace(X=X, y=y, notices=tuple(notices))
