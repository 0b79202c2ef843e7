"""Class labels and class codes."""

from __future__ import annotations

import numpy as np
import pandas as pd

from gbuq_core.errors import InvalidData

MAX_CLASSES = 200


def encode_classes(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sorted classes of ``y`` (n,) and each row's class code (n,) int64.

    Raises
    ------
    InvalidData
        If labels are missing, look continuous, or there are fewer than 2 or too many classes.
    """
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
            f"y has {len(classes)} different classes, but at most {MAX_CLASSES} are supported: to "
            "predict a number, use the regressor."
        )
    return classes, codes.astype(np.int64)
