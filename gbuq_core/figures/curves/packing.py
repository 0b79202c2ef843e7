"""Packs a figure of curves for the browser: one JSON header, then its long rows of numbers.

A figure holds tens of thousands of coordinates; written as JSON they cost more than all else that
a moved slider asks of the server. Layout of the bytes (little-endian)::

    | n: uint32 | JSON header, n bytes, UTF-8, padded with spaces | float32 numbers ... |

The header is the figure's specification in which every long list of numbers with a fraction reads
``{"packed": [first, count]}``. The reader's own points keep every digit: a click is compared with
them.
"""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np

_SHORT = 12  # shorter lists stay in the header
# Parts whose numbers the browser compares with its own.
_EXACT = frozenset({"place", "knobs"})


def pack_curves(spec: dict[str, Any]) -> bytes:
    """Return a figure's specification as bytes."""
    rows: list[np.ndarray] = []
    size = 0

    def reduced(value: Any) -> Any:
        nonlocal size
        if isinstance(value, dict):
            return {k: v if k in _EXACT else reduced(v) for k, v in value.items()}
        if not isinstance(value, list):
            return value
        kinds = set(map(type, value))
        if kinds & {dict, list}:
            return [reduced(v) for v in value]
        if len(value) < _SHORT or kinds != {float}:
            return value
        row = np.array(value)
        if not _fits(row):
            return value
        rows.append(row.astype("<f4"))
        size += len(value)
        return {"packed": [size - len(value), len(value)]}

    header = json.dumps(reduced(spec), separators=(",", ":"), allow_nan=False).encode()
    header += b" " * (-len(header) % 4)
    return b"".join([struct.pack("<I", len(header)), header, *(row.tobytes() for row in rows)])


def _fits(row: np.ndarray) -> bool:
    """Whether float32 keeps the digits of each: neither too large for it nor too small."""
    size = np.abs(row)
    return bool(np.all((size == 0) | ((size > 1e-30) & (size < 1e30))))
