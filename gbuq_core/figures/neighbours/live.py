"""Packs what a browser finds neighbours with, and says how a picture of them follows its knobs.

``near.js`` holds the formulas: affinities are counts of equal leaves, the k nearest rows are
sorted by them, and the scale is ``gamma * max(std, least) + delta`` of their targets, as in
`gbuq_core.ibug`. Leaves are whole numbers and arrive as they are, so that JavaScript finds the very
rows that Python finds. Targets, predictions and stds travel as float32: a scale differs from
Python's by 2e-7 of itself at most where it is read from a table, and by 1e-5 where it is summed up
from targets.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from gbuq_core.figures.curves.parts import rounded

_TYPES = {"|u1": "u1", "<u2": "u2", "<i4": "i4", "<f4": "f4", "<f8": "f8"}
# Families whose density has a closed form in the prediction and the scale (and the targets).
CLOSED = ("normal", "laplace", "logistic", "gumbel", "log-normal", "kde")


class Follow(NamedTuple):
    """How a picture finds neighbours by itself."""

    # `leaves`, `scales`, `trees`: the names of the tables that `pack_table` packed for it
    leaves: str
    scales: str
    trees: str
    # where the knobs k, tau, order, calibrate and family stand in the picture that was drawn
    at: Mapping[str, int | bool]
    counts: Sequence[int]  # how many trees count at each place of tau
    # (key, label): what each place of family means; the key "best" stands for `family`
    families: Sequence[tuple[str, str]]
    family: str  # the key of the family that was drawn
    codes: Sequence[int]  # the leaves of the chosen place
    # `loc`, `scale`: what is predicted there
    loc: float
    scale: float

    @property
    def spec(self) -> dict[str, Any]:
        """As near.js reads it."""
        return {
            **self._asdict(),
            "at": dict(self.at),
            "counts": [int(count) for count in self.counts],
            "families": [list(pair) for pair in self.families],
            "codes": [int(code) for code in self.codes],
            "closed": list(CLOSED),
        }


class Aside(NamedTuple):
    """A density drawn beside a place, sideways."""

    y: np.ndarray
    density: np.ndarray
    name: str  # for the legend

    def spec(self, x: float, colour: str) -> dict[str, Any]:
        """As curves.js reads it."""
        known = np.where(np.isfinite(self.density), self.density, 0.0)
        return {
            "x": float(x),
            "y": rounded(self.y),
            "density": rounded(known),
            "colour": colour,
            "name": self.name,
        }


def density_entry(aside: Aside, colour: str) -> dict[str, Any]:
    """The legend's line for a sideways density."""
    return {"name": aside.name, "kind": "band", "colour": colour, "opacity": 0.3, "role": "aside"}


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
