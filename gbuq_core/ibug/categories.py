"""Text and category columns of a data frame, as the model that is fitted here can read them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from gbuq_core.errors import InvalidData
from gbuq_core.inputs import category_columns, factorize, find_levels, level_codes, read_numbers
from gbuq_core.model_files.contents import require
from gbuq_core.trees.importers.ownership import is_owned

KINDS_OF_CODING = ("text", "category", "code")
_MISSING = "<missing>"  # CatBoost takes no NaN among categories
_MOST_HISTOGRAM_LEVELS = 255  # of scikit-learn's HistGradientBoosting


class Coding(NamedTuple):
    """How text and category columns are handed to the base model."""

    # "text" for CatBoost; "category": pandas categories; "code": the level's place among levels
    kind: str
    positions: tuple[int, ...]  # the columns
    # of each column in training: numbers before text, each ascending, or in an ordered category's
    # order
    levels: tuple[tuple[Any, ...], ...]

    def check_file(self) -> None:
        """Refuse columns and levels that do not go together."""
        require(self.kind in KINDS_OF_CODING, "its categories are of an unknown kind")
        rises = all(a < b for a, b in pairwise((-1, *self.positions)))
        require(rises and 0 < len(self.positions) == len(self.levels), "its categories differ")
        for levels in self.levels:
            known = all(type(level) in (str, float) for level in levels)
            require(known and len(set(levels)) == len(levels), "a level is impossible")


def find_coding(base_model: Any, X: Any) -> Coding | None:
    """How the text and category columns of training rows are coded; None if nothing is to be done.

    That is so without such columns, for a fitted model, and for one that reads them itself: a
    model of gbuq, or one that was told its categories.
    """
    if not (isinstance(X, pd.DataFrame) and is_owned(base_model)):
        return None
    positions = tuple(np.flatnonzero(category_columns(X, None)).tolist())
    kind = _kind_for(base_model)
    if not positions or kind is None:
        return None
    levels = tuple(_levels(X.iloc[:, i], str(X.columns[i])) for i in positions)
    if kind == "category" and max(map(len, levels)) > _most_levels(base_model):
        kind = "code"
    return Coding(kind, positions, levels)


def encode_rows(coding: Coding, X: Any) -> pd.DataFrame:
    """The rows as the base model reads them: a frame of the same columns.

    A missing value stays missing, except that CatBoost gets a level for it. A level that no
    training row has is the number after the last one for "code", and missing for "category";
    CatBoost has its own rule.
    """
    if not isinstance(X, pd.DataFrame):
        raise InvalidData(
            "X is an array, but the training rows were a data frame with text or category columns: "
            "pass a data frame."
        )
    columns: dict[Any, Any] = {}
    levels = dict(zip(coding.positions, coding.levels, strict=True))
    for position, label in enumerate(X.columns):
        column, name = X.iloc[:, position], str(label)
        if position not in levels:
            columns[label] = read_numbers(column, name)
            continue
        distinct_codes, distinct = factorize(column, name)
        codes, missing = level_codes(distinct_codes, distinct, levels[position])
        if coding.kind == "text":
            texts = np.array([*map(str, distinct), _MISSING], dtype=object)
            columns[label] = texts[distinct_codes]
        elif coding.kind == "category":
            numbers: Any = range(len(levels[position]))
            columns[label] = pd.Categorical.from_codes(codes, numbers)
        else:
            n_levels = len(levels[position])
            columns[label] = np.where(missing, np.nan, np.where(codes < 0, n_levels, codes))
    return pd.DataFrame(columns, index=X.index)


def text_positions(coding: Coding | None) -> list[int] | None:
    """The columns that CatBoost is told to be categories."""
    return list(coding.positions) if coding is not None and coding.kind == "text" else None


def _levels(column: pd.Series, name: str) -> tuple[Any, ...]:
    _, distinct = factorize(column, name)
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype) and dtype.ordered:
        present = set(find_levels(distinct))
        ordered = [find_levels([level])[0] for level in dtype.categories]
        return tuple(level for level in ordered if level in present)
    return find_levels(distinct)


def _kind_for(base_model: Any) -> str | None:
    if base_model is None:
        return "text"
    packages = {base.__module__.partition(".")[0] for base in type(base_model).__mro__}
    settings = base_model.get_params(deep=False)
    if "catboost" in packages:
        names_them = any(settings.get(name) for name in ("cat_features", "text_features"))
        return None if names_them else "text"
    if "gbuq_core" in packages:
        return None
    if "lightgbm" in packages:
        return "category"
    if "xgboost" in packages:
        return "category" if settings.get("enable_categorical") else "code"
    if "categorical_features" in settings:  # HistGradientBoosting
        columns = settings["categorical_features"]
        return "category" if isinstance(columns, str) and columns == "from_dtype" else None
    return "code"


def _most_levels(base_model: Any) -> float:
    packages = {base.__module__.partition(".")[0] for base in type(base_model).__mro__}
    if packages & {"lightgbm", "xgboost"}:
        return np.inf
    return min(_MOST_HISTOGRAM_LEVELS, getattr(base_model, "max_bins", _MOST_HISTOGRAM_LEVELS))
