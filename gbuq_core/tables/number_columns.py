"""A table's columns as numbers, for estimators that know no categories.

A category becomes a column of zeros and ones for each level that training had, and rare levels
share one. Numbers stay as they are. What was learnt is plain data, which a project can keep.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

MOST_LEVELS = 32  # of a category; rarer ones share a column


class Levels(NamedTuple):
    """The levels of a category in the training rows."""

    # Those with a column of their own, in the order of these columns. None is a missing value.
    own: tuple[Any, ...]
    # Those that share the column after these; it stands for unseen levels too. Empty if there is no
    # such column.
    rare: tuple[Any, ...]

    @property
    def width(self) -> int:
        """How many columns of zeros and ones it makes."""
        return len(self.own) + bool(self.rare)


class NumberColumns(NamedTuple):
    """How the columns of a table become numbers."""

    names: tuple[str, ...]  # of the table's columns
    levels: dict[str, Levels]  # of those that are categories
    complete: tuple[str, ...]  # the columns without a missing value in the training rows

    @property
    def width(self) -> int:
        """How many columns of numbers they make."""
        widths = (levels.width for levels in self.levels.values())
        return len(self.names) - len(self.levels) + sum(widths)

    def numbers(self, X: pd.DataFrame) -> NDArray[np.float64]:
        """Rows as (n_rows, width) float64: categories first, then the numbers in their order."""
        numbers = np.zeros((len(X), self.width))
        rows, first = np.arange(len(X)), 0
        for name, levels in self.levels.items():
            place = _places(X[name], levels)
            known = place >= 0
            numbers[rows[known], first + place[known]] = 1.0
            first += levels.width
        plain = [name for name in self.names if name not in self.levels]
        numbers[:, first:] = X[plain].to_numpy(dtype=np.float64)
        return numbers

    def inspect_rows(
        self, X: pd.DataFrame
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_], tuple[str, ...]]:
        """Which rows hold a level or a missing value that training had not, and in what columns."""
        known = {name: {*levels.own, *levels.rare} - {None} for name, levels in self.levels.items()}
        return flag_rows(X, self.names, known, self.complete)


class OwnColumns(NumberColumns):
    """The same for an estimator that reads categories itself: columns stay as they are."""

    @property
    def width(self) -> int:
        """How many columns there are."""
        return len(self.names)

    def numbers(self, X: pd.DataFrame) -> Any:
        """The rows themselves."""
        return X


def flag_rows(
    X: pd.DataFrame,
    names: Sequence[str],
    levels: Mapping[str, Collection[Any]],
    complete: Collection[str],
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], tuple[str, ...]]:
    """Which rows hold an unseen level, which ones an unseen gap, and in what columns."""
    X = X[[*names]]
    gaps, strange = X.isna().to_numpy(bool), np.zeros(X.shape, bool)
    for k, name in enumerate(names):
        if name in levels:
            known = X.iloc[:, k].astype(object).isin(levels[name]).to_numpy()
            strange[:, k] = ~(known | gaps[:, k])
    gaps = gaps & X.columns.isin([*complete])
    found = np.flatnonzero(np.any(gaps | strange, axis=0))
    unseen, missing = (np.asarray(cells.any(axis=1), bool) for cells in (strange, gaps))
    return unseen, missing, tuple(str(names[k]) for k in found.tolist())


def learn_columns(X: pd.DataFrame) -> NumberColumns:
    """The levels of training rows, as scikit-learn's ``OneHotEncoder`` groups them."""
    from sklearn.preprocessing import OneHotEncoder

    kinds = zip(X.columns, X.dtypes, strict=True)
    categories = [name for name, dtype in kinds if isinstance(dtype, pd.CategoricalDtype)]
    levels: dict[str, Levels] = {}
    if categories:
        encoder = OneHotEncoder(
            handle_unknown="infrequent_if_exist", max_categories=MOST_LEVELS, sparse_output=False
        ).fit(X[categories].astype(object))
        pairs = zip(encoder.categories_, encoder.infrequent_categories_, strict=True)
        for name, (every, rare) in zip(categories, pairs, strict=True):
            seldom = _plain([] if rare is None else rare)
            own = tuple(level for level in _plain(every) if level not in seldom)
            levels[name] = Levels(own, seldom)
    return NumberColumns(tuple(X.columns), levels, tuple(X.columns[~X.isna().any().to_numpy(bool)]))


def _places(cells: pd.Series, levels: Levels) -> NDArray[np.int64]:
    """The column of each cell's level; -1 where it has none."""
    rest = len(levels.own) if levels.rare else -1
    place_of = {level: place for place, level in enumerate(levels.own)}
    known = cells.astype("category").cat
    places = [place_of.get(level, rest) for level in (*known.categories, None)]
    # The code of a missing value is -1: the last place.
    return np.array(places, dtype=np.int64)[known.codes.to_numpy()]


def _plain(levels: Any) -> tuple[Any, ...]:
    return tuple(None if pd.isna(level) else level for level in levels)
