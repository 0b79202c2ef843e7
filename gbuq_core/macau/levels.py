"""Text and category columns as numbers: one column of 0 and 1 for each level.

Leaf models are linear and novelty is a distance, so both need numbers. Merilinna (2023) treats
numbers only.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.inputs import category_columns, factorize, find_levels, level_codes, to_pandas
from gbuq_core.model_files.contents import require
from gbuq_core.trees.importers.ownership import is_owned

MOST_LEVELS = 30


class LevelColumns(NamedTuple):
    """Which columns of X became several."""

    # one entry for each column of X: None for numbers, else the levels of the training rows
    levels: tuple[tuple[Any, ...] | None, ...]

    def check_file(self) -> None:
        """Refuse levels that no column has."""
        for levels in self.levels:
            if levels is not None:
                known = all(type(level) in (str, float) for level in levels)
                once = 1 <= len(set(levels)) == len(levels) <= MOST_LEVELS
                require(known and once, "a level is impossible")

    @property
    def owner(self) -> np.ndarray:
        """The column of X that each encoded column belongs to, (n_encoded,) int64."""
        counts = [1 if levels is None else len(levels) for levels in self.levels]
        return np.repeat(np.arange(len(counts)), counts)

    def names(self, labels: Any) -> list[str]:
        """Names of the encoded columns: the column's own, or with the level's number."""
        names: list[str] = []
        for label, levels in zip(labels, self.levels, strict=True):
            numbers = [] if levels is None else range(len(levels))
            names += [str(label)] if levels is None else [f"{label}__{k}" for k in numbers]
        return names

    def place_numbers(self, features: tuple[int, int]) -> tuple[int, int]:
        """Where two columns of X that hold numbers stand among the encoded ones."""
        for feature in features:
            if 0 <= feature < len(self.levels) and self.levels[feature] is not None:
                raise InvalidParameter(
                    f"Feature {feature} is a category, which has no axis: choose columns of "
                    "numbers."
                )
        first = np.append(np.flatnonzero(np.diff(self.owner, prepend=-1)), len(self.owner))
        a, b = (int(first[f]) if 0 <= f < len(self.levels) else len(self.owner) for f in features)
        return a, b

    def sum_up(self, values: np.ndarray) -> np.ndarray:
        """Values (..., n_encoded) added up by column of X, (..., n_features)."""
        first = np.flatnonzero(np.diff(self.owner, prepend=-1))
        return np.add.reduceat(values, first, axis=-1)

    def encode(self, matrix: np.ndarray, table: pd.DataFrame) -> np.ndarray:
        """Rows (n, n_encoded): numbers from ``matrix`` (n, n_features), and columns of levels.

        A missing value is missing in all columns of its levels, and a level that no training row
        has is 0 in all of them.
        """
        parts = []
        for position, levels in enumerate(self.levels):
            if levels is None:
                parts.append(matrix[:, [position]])
                continue
            column = table.iloc[:, position]
            codes, missing = level_codes(*factorize(column, str(table.columns[position])), levels)
            flags = (codes[:, None] == np.arange(len(levels))).astype(np.float64)
            flags[missing] = np.nan
            parts.append(flags)
        return np.concatenate(parts, axis=1)


def find_columns(base_model: Any, X: Any) -> LevelColumns | None:
    """The levels of text and category columns; None without any, or if a forest is given fitted."""
    X = to_pandas(X)
    if not (isinstance(X, pd.DataFrame) and is_owned(base_model)):
        return None
    chosen = category_columns(X, None)
    if not chosen.any():
        return None
    levels: list[tuple[Any, ...] | None] = [None] * X.shape[1]
    for position in np.flatnonzero(chosen).tolist():
        name = str(X.columns[position])
        named = find_levels(factorize(X.iloc[:, position], name)[1])
        if not 1 <= len(named) <= MOST_LEVELS:
            raise InvalidData(
                f"Column {name!r} has {len(named):,} levels, but MACAU takes 1 to {MOST_LEVELS}, "
                "each as a column of its own: group the rare ones, or leave the column out."
            )
        levels[position] = named
    return LevelColumns(tuple(levels))
