"""Every check of a scalar argument and of plain arrays; kernels check nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gbuq_core.errors import InvalidData, InvalidParameter


def check_number(
    name: str,
    value: Any,
    low: float,
    high: float = math.inf,
    *,
    integer: bool = False,
    low_open: bool = False,
) -> Any:
    """Return ``value`` as ``int`` or ``float`` if it lies in the allowed range.

    Parameters
    ----------
    name : str
        The name the message uses.
    value : object
        What the caller was given; booleans are not numbers here.
    low, high : float
        The closed range; ``low_open`` excludes ``low`` itself.
    integer : bool
        Whether only whole numbers are allowed.

    Raises
    ------
    InvalidParameter
        With one sentence that names the parameter, the range and the value.

    Examples
    --------
    >>> check_number("depth", 6, 1, 12, integer=True)
    6
    """
    kind = "a whole number" if integer else "a number"
    left = "greater than" if low_open else "at least"
    span = f"{left} {low:g}" + (f" and at most {high:g}" if math.isfinite(high) else "")
    allowed: Any = Integral if integer else Real
    if isinstance(value, bool) or not isinstance(value, allowed):
        raise InvalidParameter(f"{name} must be {kind} {span}; got {value!r}.")
    try:
        number = int(value) if integer else float(value)
    except OverflowError:  # a whole number beyond all floats
        number = math.inf if value > 0 else -math.inf
    if math.isnan(number) or number > high or number < low or (low_open and number == low):
        raise InvalidParameter(f"{name} must be {kind} {span}; got {value!r}.")
    return number


def check_flag(name: str, value: Any) -> bool:
    """Return ``value`` as ``bool`` if it is True or False: no word stands for either.

    Examples
    --------
    >>> check_flag("calibrate", np.True_)
    True
    """
    if not isinstance(value, bool | np.bool_):
        raise InvalidParameter(f"{name} must be True or False; got {value!r}.")
    return bool(value)


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Return ``value`` if it is one of ``choices``, else raise `InvalidParameter`.

    Examples
    --------
    >>> check_choice("engine", "numba", ["numba", "catboost"])
    'numba'
    """
    if isinstance(value, str) and value in choices:
        return value
    listed = ", ".join(repr(choice) for choice in choices)
    raise InvalidParameter(f"{name} must be one of {listed}; got {value!r}.")


def check_array(
    name: str,
    values: Any,
    ndim: int,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    min_length: int = 1,
) -> NDArray[np.float64]:
    """Return ``values`` as a float64 array if it is finite, of ``ndim`` axes and in range.

    Parameters
    ----------
    name : str
        The name the message uses.
    values : array-like
        Numbers; a float64 array comes back as it is, without a copy.
    ndim : int
        How many axes it must have.
    low, high : float
        The closed range of every value.
    min_length : int
        The shortest length that the last axis may have.

    Raises
    ------
    InvalidData
        With one sentence that names the array and what is wrong with it.

    Examples
    --------
    >>> check_array("scale", [1, 2.5], 1, low=0)
    array([1. , 2.5])
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
    if not np.isfinite(array).all():
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
    """Raise `InvalidData` unless the last axes of all arrays have one length.

    Examples
    --------
    >>> check_same_length(y=np.zeros(3), loc=np.zeros((2, 3)))
    """
    lengths = {name: array.shape[-1] for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise InvalidData(f"The arrays must describe the same rows: {listed}.")
