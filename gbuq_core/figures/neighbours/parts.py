"""What the pictures of neighbours share: their colours, dots by affinity, axes.

Vermilion is the chosen point with its neighbours (the stronger, the more trees they share with
it), green is IBUG, black the truth, and blue the part that a range of scales picks out.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.figures.curves.parts import Part
from gbuq_core.figures.theme import METHOD_STYLES

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

NEAR, CHOSEN_RANGE = "#d55e00", "#0072b2"
MOST_DOTS = 1000  # of the rows that are no neighbours
IBUG = METHOD_STYLES["ibug"]
_LEVELS = 4  # of strength, by affinity
_SIZES, _OPACITIES = (5.0, 9.0), (0.45, 1.0)
# How near.js draws neighbours by their strength, and how many other rows.
STRENGTH: Part = {
    "levels": _LEVELS,
    "sizes": list(_SIZES),
    "opacities": list(_OPACITIES),
    "most": MOST_DOTS,
    "colour": NEAR,
}


class Near(NamedTuple):
    """The chosen point's neighbours."""

    rows: npt.NDArray[np.int64]  # (k,): their positions among the training rows, the nearest first
    share: Array  # (k,): the share of the trees in which each is in the point's leaf, in [0, 1]


def round_up(value: float) -> float:
    """The next of 1, 1.5, 2, 3, 4, 5, 6, 8, 10 times a power of ten: an axis that seldom moves.

    >>> round_up(0.43), round_up(11), round_up(0.0)
    (0.5, 15.0, 1.0)
    """
    if not value > 0 or not math.isfinite(value):
        return 1.0
    unit = 10.0 ** math.floor(math.log10(value))
    return unit * next(step for step in _STEPS if step * unit >= value * (1 - 1e-9))


_STEPS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


def others_of(n_rows: int, near: Near) -> npt.NDArray[np.int64]:
    """Rows that are no neighbours, evenly thinned to as many as a picture takes."""
    rest = np.setdiff1d(np.arange(n_rows), near.rows)
    if len(rest) <= MOST_DOTS:
        return rest
    picked: npt.NDArray[np.int64] = rest[np.linspace(0, len(rest) - 1, MOST_DOTS).astype(np.int64)]
    return picked


def by_strength(near: Near) -> list[tuple[npt.NDArray[np.int64], float, float]]:
    """Neighbours in a few groups, the weakest first, with the size and the opacity of their dots.

    The strength is relative: from the weakest of them to the nearest.
    """
    if not len(near.rows):
        return []
    low, high = float(near.share.min()), float(near.share.max())
    relative = (near.share - low) / (high - low) if high > low else np.ones(len(near.rows))
    group = np.minimum((relative * _LEVELS).astype(np.int64), _LEVELS - 1)
    found = []
    for level in range(_LEVELS):
        t = level / (_LEVELS - 1)
        size, opacity = (a + t * (b - a) for a, b in (_SIZES, _OPACITIES))
        if np.any(group == level):
            found.append((near.rows[group == level], size, opacity))
    return found


def dot_look(colour: str) -> Part:
    """Strong dots of this colour, for a legend."""
    return {"kind": "dots", "colour": colour, "opacity": 1.0, "size": 8.0}


def room_around(values: npt.ArrayLike) -> list[float]:
    """Limits with some room on both sides."""
    array = np.asarray(values, dtype=np.float64)
    array = array[np.isfinite(array)]
    low, high = (float(array.min()), float(array.max())) if len(array) else (0.0, 1.0)
    room = 0.04 * (high - low) or 0.5 * abs(low) or 0.5
    return [low - room, high + room]
