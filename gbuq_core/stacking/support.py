"""Where a target can lie: read off its training values, or said by the user."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.model_files.contents import require

FloatArray = NDArray[np.float64]

SUPPORTS = ("auto", "real", "nonnegative", "unit", "whole")
_EVIDENCE = 5.0  # rows that a tail would have beyond the last value: none is there, so it is an end
_NEAR_END = 10  # distinct values
_FEW_LEVELS = 30  # of a scale in halves or tenths
_MASS = 0.01  # of the rows at a bound: fewer are no mass


class Support(NamedTuple):
    """The values that a target can take, in units of y."""

    name: str  # of `SUPPORTS`, or "interval"
    low: float  # -inf and inf where there is no bound
    high: float
    whole: bool  # whether only whole numbers occur
    low_mass: bool  # whether training rows lie at the bound: the law keeps a mass there
    high_mass: bool

    def check_file(self) -> None:
        """Refuse bounds that leave nothing between them."""
        known = self.name in (*SUPPORTS, "interval")
        require(known and self.low < self.high, "the support of its target is impossible")

    @property
    def is_real(self) -> bool:
        """Whether every number can occur."""
        return not self.whole and math.isinf(self.low) and math.isinf(self.high)

    @property
    def mirrors(self) -> tuple[float, float]:
        """Where probability beyond is folded back; infinite where it is not."""
        half = 0.5 if self.whole else 0.0
        return (
            -math.inf if self.low_mass else self.low - half,
            math.inf if self.high_mass else self.high + half,
        )

    def outside(self, y: FloatArray) -> NDArray[np.bool_]:
        """Which targets (n,) cannot occur."""
        odd = (y < self.low) | (y > self.high)
        return odd | (y != np.round(y)) if self.whole else odd

    def describe(self) -> str:
        """One sentence."""
        if self.is_real:
            return "The target can be any number."
        kind = "The target is a whole number" if self.whole else "The target is a number"
        bounds = [
            f"{word} {value:g}" for word, value in (("from", self.low), ("up to", self.high))
            if math.isfinite(value)
        ]  # fmt: skip
        at = [
            f"{value:g}"
            for mass, value in ((self.low_mass, self.low), (self.high_mass, self.high))
            if mass and not self.whole
        ]
        piled = f", and many rows are at {' and '.join(at)}" if at else ""
        return " ".join([kind, *bounds]) + piled + "."


def find_support(y: FloatArray, wanted: Any = "auto") -> Support:
    """The support of training targets (n,), or the one that the user says."""
    name, low, high = _bounds(y, wanted)
    whole = name == "whole"
    if whole and (y != np.round(y)).any():
        raise InvalidData(
            f"support is 'whole', but y holds {y[y != np.round(y)][0]:g}: choose another support, "
            "or round y."
        )
    beyond = (y < low) | (y > high)
    if beyond.any():
        raise InvalidData(
            f"support goes from {low:g} to {high:g}, but y holds {y[beyond][0]:g}: choose a wider "
            "one, or drop these rows."
        )

    def mass(bound: float) -> bool:
        there = int((y == bound).sum())
        return there >= max(2.0, _MASS * len(y))

    return Support(name, low, high, whole, mass(low), mass(high))


def _bounds(y: FloatArray, wanted: Any) -> tuple[str, float, float]:
    least, most, spread = float(y.min()), float(y.max()), float(y.std())
    from_zero = 0.0 if 0.0 <= least < max(spread, 1.0) else -math.inf
    given = {
        "real": (-math.inf, math.inf),
        "nonnegative": (0.0, math.inf),
        "unit": (0.0, 1.0),
        "whole": (from_zero, math.inf),
    }
    if isinstance(wanted, str):
        if wanted not in SUPPORTS:
            raise InvalidParameter(
                f"support must be one of {', '.join(SUPPORTS)} or a pair (low, high); got "
                f"{wanted!r}."
            )
        name = _find_name(y, least, most, spread) if wanted == "auto" else wanted
        low, high = given[name]
        counts = np.unique(y, return_counts=True)[1]
        if wanted == "auto" and name != "unit" and len(counts) > 1 + (name != "whole"):
            low, high = least if _ends(counts) else low, most if _ends(counts[::-1]) else high
            name = name if name == "whole" or (low, high) == given[name] else "interval"
        return name, low, high
    pair = list(wanted) if isinstance(wanted, Sequence | np.ndarray) else []
    numbers = [-math.inf if end is None else end for end in pair[:1]]
    numbers += [math.inf if end is None else end for end in pair[1:]]
    try:
        low, high = (float(end) for end in numbers)
    except (TypeError, ValueError):
        low = high = math.nan
    if not low < high:
        raise InvalidParameter(
            f"support must be a name or a pair (low, high) with low below high; got {wanted!r}."
        )
    return "interval", low, high


def _ends(counts: NDArray[np.int64]) -> bool:
    """Whether targets end at the first of all values in order: few would stop there at once.

    A tail that thins out as the last two values do would have rows beyond. Of many values, round
    ones are more frequent than others, and those of a unit that repeats have as many rows each.
    """
    many = len(counts) > _FEW_LEVELS
    near, usual = counts[: _NEAR_END if many else 2].max(), np.median(counts) if many else 0.0
    return bool(counts[0] ** 2 >= _EVIDENCE * near and counts[0] >= _EVIDENCE * usual)


def _find_name(y: FloatArray, least: float, most: float, spread: float) -> str:
    if (y == np.round(y)).all() and most > least:
        return "whole"
    if least < 0.0 or spread == 0.0:
        return "real"
    if most <= 1.0 and 1.0 - most < spread:
        return "unit"
    return "nonnegative" if least < spread else "real"
