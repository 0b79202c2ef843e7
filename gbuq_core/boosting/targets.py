"""Targets as boosting sees them: standardised or as class codes, and summed up by cell."""

from __future__ import annotations

from typing import Any

import numpy as np

from gbuq_core.boosting.gaussian_kernels import LOG_STD_FLOOR, GaussianCells, GaussianSums
from gbuq_core.boosting.softmax_kernels import ClassCells
from gbuq_core.inputs.rows import exact_std
from gbuq_core.trees.binning import Cells


def gaussian_start(inner: np.ndarray) -> np.ndarray:
    """The first raw prediction (mean, log std) of the inner target."""
    spread = exact_std(inner)
    return np.array([float(np.mean(inner)), np.log(spread) if spread > 0.0 else LOG_STD_FLOOR])


def log_std_floor(inner: np.ndarray) -> float:
    """The log std at which boosting takes rows of the inner target to be without noise."""
    spread = exact_std(inner)
    return LOG_STD_FLOOR + (float(np.log(spread)) if spread > 0.0 else 0.0)


def sum_gaussian(cells: Cells, inner: np.ndarray) -> GaussianCells:
    """Counts and central moments of ``inner`` (n_rows,) by cell; all rows have gradients."""
    begin, sorted_values = cells.begin, inner[cells.order]
    n_cells, count = len(begin) - 1, np.diff(begin)
    if n_cells == len(inner):
        zero = np.zeros(n_cells)
        every = GaussianSums(np.ones(n_cells), sorted_values, zero, zero, zero)
        deviation = zero
    else:
        mean = np.add.reduceat(sorted_values, begin[:-1]) / count
        deviation = sorted_values - np.repeat(mean, count)
        square = deviation * deviation
        powers = (square, square * deviation, square * square)
        m2, m3, m4 = (np.add.reduceat(power, begin[:-1]) for power in powers)
        every = GaussianSums(count.astype(np.float64), mean, m2, m3, m4)
    mask = np.ones(len(inner), np.uint8)
    return GaussianCells(every, every, mask, deviation, begin, cells.order)


def sum_classes(cells: Cells, class_codes: np.ndarray, n_classes: int) -> ClassCells:
    """How many rows of each class every cell has; ``class_codes`` (n_rows,) holds 0 ..
    n_classes-1. All rows have gradients.
    """
    begin, count = cells.begin, np.diff(cells.begin)
    class_of_row = class_codes[cells.order].astype(np.int32)
    cell_of_row = np.repeat(np.arange(len(count)), count)
    counts = np.bincount(cell_of_row * n_classes + class_of_row, minlength=len(count) * n_classes)
    class_counts = counts.reshape(len(count), n_classes).astype(np.float64)
    mask = np.ones(len(class_codes), np.uint8)
    return ClassCells(
        count.astype(np.float64), class_counts, class_counts, mask, class_of_row, begin, cells.order
    )


def with_own_mask(cells: Any) -> Any:
    """The same cells with a mask and graded sums of their own, for one member to write."""
    graded: Any = cells.graded
    if isinstance(graded, GaussianSums):
        copied: Any = GaussianSums(*(part.copy() for part in graded))
    else:
        copied = graded.copy()
    return cells._replace(mask=cells.mask.copy(), graded=copied)
