"""What the pictures of neighbours share: their colour, dots by affinity, tables for the browser.

Vermilion is the chosen point with its neighbours (the stronger, the more trees they share with
it). ``canvas/near.js`` finds neighbours as `gbuq_core.ibug` does: affinities are counts of equal
leaves, the k nearest rows are sorted by them, and the scale is ``gamma * max(std, least) + delta``
of their targets. Leaves are whole numbers and arrive as they are, so that JavaScript finds the very
rows that Python finds. Targets, predictions and stds travel as float32: a scale differs from
Python's by 2e-7 of itself at most where it is read from a table, and by 1e-5 where it is summed up
from targets.
"""

from __future__ import annotations

import json
import struct
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.figures.curves.parts import Part

Array = npt.NDArray[np.float64]

NEAR = "#d55e00"
MOST_DOTS = 1000  # of the rows that are no neighbours
_TYPES = {"|u1": "u1", "<u2": "u2", "<i4": "i4", "<f4": "f4", "<f8": "f8"}
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


def others_of(n_rows: int, near: Near) -> npt.NDArray[np.int64]:
    """Rows that are no neighbours, evenly thinned to as many as a picture takes."""
    rest = np.setdiff1d(np.arange(n_rows), near.rows)
    if len(rest) <= MOST_DOTS:
        return rest
    return rest[np.linspace(0, len(rest) - 1, MOST_DOTS).astype(np.int64)]


def by_strength(near: Near) -> list[tuple[npt.NDArray[np.int64], float, float]]:
    """Neighbours in a few groups, the weakest first, with the size and the opacity of their dots.

    The strength is relative: from the weakest of them to the nearest.
    """
    if not len(near.rows):
        return []
    low, high = float(near.share.min()), float(near.share.max())
    relative = (near.share - low) / (high - low) if high > low else np.ones(len(near.rows))
    group = np.minimum((relative * _LEVELS).astype(np.int64), _LEVELS - 1)
    groups = []
    for level in range(_LEVELS):
        t = level / (_LEVELS - 1)
        size, opacity = (a + t * (b - a) for a, b in (_SIZES, _OPACITIES))
        if np.any(group == level):
            groups.append((near.rows[group == level], size, opacity))
    return groups


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


def pack_table(table: Any) -> bytes:
    """Return a named table of arrays as bytes; the browser keeps it under its name."""
    blobs, parts, size = {}, [], 0
    for field in table._fields:
        if field == "name":
            continue
        array = np.ascontiguousarray(getattr(table, field))
        array = array.astype(array.dtype.newbyteorder("<"))
        blobs[field] = {"at": size, "type": _TYPES[array.dtype.str], "shape": list(array.shape)}
        data = array.tobytes()
        data += b"\0" * (-len(data) % 4)
        parts.append(data)
        size += len(data)
    packed = json.dumps({"store": table.name, "blobs": blobs}).encode()
    packed += b" " * (-len(packed) % 4)
    return b"".join([struct.pack("<I", len(packed)), packed, *parts])
