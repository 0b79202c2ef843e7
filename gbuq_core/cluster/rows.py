"""Predictions for the rows of a table that is cut into parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from gbuq_core.cluster.spreading import Cluster
from gbuq_core.errors import InvalidParameter
from gbuq_core.validation import check_number

# Whose results have one entry a row, and the axis that counts the rows.
ROW_AXIS = {
    "predict": 0,
    "predict_proba": 0,
    "predict_uncertainty": 0,
    "score_novelty": 0,
    "explain_novelty": 0,
    "predict_members": 1,
}
PART_ROWS = 65_536


def predict_parts(
    cluster: Cluster,
    model: Any,
    X: Any,
    method: str = "predict_uncertainty",
    part_rows: int = PART_ROWS,
) -> Any:
    """What a fitted estimator says about rows, part by part on the workers.

    Parameters
    ----------
    cluster : Cluster
    model : fitted estimator
        Sent to each worker once.
    X : DataFrame or array of shape (n_rows, n_features)
    method : str
        One of `ROW_AXIS`.
    part_rows : int
        Rows of a part; the result does not depend on it.

    Returns
    -------
    ndarray or named tuple of ndarrays
        As ``model.method(X)``.

    Raises
    ------
    InvalidParameter
        If the model has no such method.
    """
    if method not in ROW_AXIS or not hasattr(model, method):
        known = [name for name in ROW_AXIS if hasattr(model, name)]
        raise InvalidParameter(
            f"A {type(model).__name__} cannot {method} in parts: choose one of {', '.join(known)}."
        )
    size = int(check_number("part_rows", part_rows, 1, 1 << 31, integer=True))
    take = X.iloc if hasattr(X, "iloc") else np.asarray(X)
    n_rows = len(X)
    parts = (take[low : low + size] for low in range(0, max(1, n_rows), size))
    return join_parts(cluster.map(_call, (model, method), parts), ROW_AXIS[method])


def _call(shared: tuple[Any, str], X: Any) -> Any:
    model, method = shared
    return getattr(model, method)(X)


def join_parts(parts: list[Any], axis: int) -> Any:
    """Arrays, or named tuples of arrays, one after the other.

    >>> join_parts([np.array([1, 2]), np.array([3])], 0)
    array([1, 2, 3])
    """
    first = parts[0]
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        columns = zip(*parts, strict=True)
        return type(first)(*(join_parts(list(column), axis) for column in columns))
    return np.concatenate(parts, axis=axis)
