"""Checks of what the metrics take: Gaussians, mixtures of members, class labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gbuq_core.errors import InvalidData
from gbuq_core.validation import check_array, check_same_length

FloatArray = NDArray[np.float64]


class Gaussian(NamedTuple):
    """Targets and one normal per row: y, loc and scale (a std), each (n_samples,)."""

    y: FloatArray
    loc: FloatArray
    scale: FloatArray


class Mixture(NamedTuple):
    """Targets (n_samples,) and the members' means and variances (n_members, n_samples)."""

    y: FloatArray
    means: FloatArray
    variances: FloatArray


def check_gaussian(y: ArrayLike, loc: ArrayLike, scale: ArrayLike, positive: bool) -> Gaussian:
    """Check targets and normals; a number as ``scale`` (or ``loc``) holds for every row.

    ``positive`` refuses a scale of 0, where a density does not exist.
    """
    target = check_array("y", y, 1)
    location = check_array("loc", _spread(loc, target.shape), 1)
    std = check_array("scale", _spread(scale, target.shape), 1, low=0.0)
    check_same_length(y=target, loc=location, scale=std)
    if positive and not std.all():
        raise InvalidData("scale must be positive everywhere; a std of 0 has no density.")
    return Gaussian(target, location, std)


def check_mixture(y: ArrayLike, means: ArrayLike, variances: ArrayLike, positive: bool) -> Mixture:
    """Check targets and the members' normals; ``positive`` refuses variances of 0."""
    target = check_array("y", y, 1)
    mu = check_array("means", means, 2)
    s2 = check_array("variances", variances, 2, low=0.0)
    check_same_length(y=target, means=mu, variances=s2)
    if mu.shape != s2.shape:
        raise InvalidData(
            f"means and variances must have one shape; got {mu.shape} and {s2.shape}."
        )
    if positive and not s2.all():
        raise InvalidData("variances must be positive everywhere; one of 0 has no density.")
    return Mixture(target, mu, s2)


def class_codes(y: ArrayLike, n_classes: int, classes: ArrayLike | None) -> NDArray[np.int64]:
    """The column of each row's class.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Codes 0 to ``n_classes - 1``, or labels out of ``classes``.
    n_classes : int
    classes : array-like of shape (n_classes,) or None
        The label of each column (``classes_`` of a classifier); None means that y holds codes.
    """
    labels = np.asarray(y)
    if labels.ndim != 1 or labels.size == 0:
        raise InvalidData(f"y must be a column of class labels; got shape {labels.shape}.")
    if classes is None:
        if labels.dtype.kind not in "iub" or labels.min() < 0 or labels.max() >= n_classes:
            raise InvalidData(
                f"y must hold class codes from 0 to {n_classes - 1}; pass classes for other labels."
            )
        return labels.astype(np.int64)
    names = np.asarray(classes)
    if names.shape != (n_classes,):
        raise InvalidData(
            f"classes must name the {n_classes} columns; got an array of shape {names.shape}."
        )
    columns = {name: column for column, name in enumerate(names.tolist())}
    try:
        return np.array([columns[label] for label in labels.tolist()], dtype=np.int64)
    except KeyError as missing:
        raise InvalidData(f"y holds the label {missing.args[0]!r}, but classes does not.") from None


def _spread(values: ArrayLike, shape: tuple[int, ...]) -> ArrayLike:
    """A single number for all rows; anything else as it is."""
    return np.broadcast_to(np.asarray(values), shape) if np.ndim(values) == 0 else values
