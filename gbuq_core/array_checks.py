"""Checks of plain arrays, of flags that NumPy may have made, and of what metrics take."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gbuq_core.errors import InvalidData, InvalidParameter


def check_flag(name: str, value: Any) -> bool:
    """Return ``value`` as ``bool`` if it is True or False: no word stands for either."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidParameter(f"{name} must be True or False; got {value!r}.")
    return bool(value)


def check_array(
    name: str,
    values: Any,
    ndim: int,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    min_length: int = 1,
    infinite: bool = False,
) -> NDArray[np.float64]:
    """Return ``values`` as a float64 array if it is finite, of ``ndim`` axes and in range.

    With ``infinite``, infinities are values like others.
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidData(f"{name} must be an array of numbers without gaps.") from None
    if array.ndim != ndim:
        axes = "one axis" if ndim == 1 else f"{ndim} axes"
        raise InvalidData(f"{name} must have {axes}; got an array of shape {array.shape}.")
    if 0 in array.shape[:-1] or array.shape[-1] < min_length:
        raise InvalidData(f"{name} must not be empty; got an array of shape {array.shape}.")
    if not (np.isfinite(array) | (infinite & np.isinf(array))).all():
        raise InvalidData(
            f"{name} must hold finite numbers only; remove missing and infinite ones."
        )
    if array.size and (array.min() < low or array.max() > high):
        span = f"at least {low:g}" if math.isinf(high) else f"from {low:g} to {high:g}"
        raise InvalidData(
            f"{name} must be {span}; got values from {array.min():g} to {array.max():g}."
        )
    return array


def check_same_length(**arrays: NDArray[Any]) -> None:
    """Raise `InvalidData` unless the last axes of all arrays have one length."""
    lengths = {name: array.shape[-1] for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise InvalidData(f"The arrays must describe the same rows: {listed}.")


def begins(sizes: ArrayLike) -> NDArray[np.int64]:
    """Where parts of these sizes begin, one after the other, and the end of the last."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


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
    """Check targets and normals; a number holds for all rows. ``positive`` refuses a scale of 0."""
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
    """The column of each row's class."""
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
