"""A trial of a cbm file: a reader of `gbuq_core.limited_process`, which says whether it survived.

It walks as many rows through all trees as may meet most of their leaves. An error that CatBoost
raises is met again, and told, by the process that asked.
"""

from __future__ import annotations

import sys
from typing import Any


def prepare() -> None:
    """Import CatBoost, but not its widgets, whose libraries take longer than the rest."""
    sys.modules["catboost.widget"] = None  # type: ignore[assignment]
    import catboost  # noqa: F401


def answer(question: dict[str, Any], payload: bytes) -> bytes:
    """A word, if the file has not ended the process."""
    import catboost
    import numpy as np

    model = catboost.CatBoost()
    try:
        model.load_model(blob=payload)
        n_features = len(model.feature_names_)
        rows = np.random.default_rng(0).standard_cauchy((512, n_features)).astype(object)
        rows[:2], rows[2:4] = -1e30, 1e30
        for column in model.get_cat_feature_indices():
            rows[:, column] = "0"
        model.calc_leaf_indexes(rows, thread_count=1)
        model.predict(rows, thread_count=1)
    except (catboost.CatBoostError, ArithmeticError, LookupError, TypeError, ValueError):
        return b"refused"
    return b"survived"
