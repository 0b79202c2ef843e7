"""Checks of a number and of a choice, which need no library. Kernels check nothing.

`gbuq_core.array_checks` holds those of arrays and of what metrics take.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

from gbuq_core.errors import InvalidParameter


def check_number(
    name: str,
    value: Any,
    low: float,
    high: float = math.inf,
    *,
    integer: bool = False,
    low_open: bool = False,
) -> Any:
    """Return ``value`` as ``int`` or ``float`` if it lies in the allowed range."""
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


def check_choice(name: str, value: Any, choices: Sequence[str]) -> str:
    """Return ``value`` if it is one of ``choices``, else raise `InvalidParameter`."""
    if isinstance(value, str) and value in choices:
        return value
    listed = ", ".join(repr(choice) for choice in choices)
    raise InvalidParameter(f"{name} must be one of {listed}; got {value!r}.")
