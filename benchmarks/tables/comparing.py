"""Means over splits with their standard errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class MeanError(NamedTuple):
    """A mean over splits and its standard error; the error is NaN for a single split."""

    mean: float
    error: float

    def __str__(self) -> str:
        """The error stands in parentheses."""
        return f"{self.mean:.3f}" + (f" ({self.error:.3f})" if np.isfinite(self.error) else "")


def mean_error(values: Sequence[float]) -> MeanError:
    """Mean and standard error (std with n - 1, over the root of n) of values of several splits."""
    found = np.asarray(values, dtype=np.float64)
    if len(found) < 2:
        return MeanError(float(found.mean()), float("nan"))
    return MeanError(float(found.mean()), float(found.std(ddof=1) / np.sqrt(len(found))))
