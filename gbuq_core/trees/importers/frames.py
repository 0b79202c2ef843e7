"""Data frames with category columns, as libraries of trees take them."""

from __future__ import annotations

import pandas as pd
from pandas.api.types import union_categoricals


def join_frames(first: pd.DataFrame, second: pd.DataFrame) -> pd.DataFrame:
    """The rows of ``first`` and then those of ``second``, which has the same columns.

    Category columns stay such where the two know different levels: pandas makes text of them.

    Examples
    --------
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
