"""What counts as a missing value in a text file, and numbers suspected of standing for one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MISSING_MARKERS = frozenset(
    ["", "NA", "na", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "NaN", "nan", "NAN", "-NaN", "-nan"]
    + ["<NA>", "<na>", "NULL", "null", "Null", "None", "NaT", "?", "-", "--", "."]
    + ["\u2013", "\u2014"]  # dashes
    + ["-1.#IND", "1.#IND", "-1.#QNAN", "1.#QNAN"]
    + ["#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!"]
)

# Codes that people type for "not measured". Never taken as missing unasked: -999 may be a value.
_SUSPECTS = (-9999.0, -999.0, -99.0, 99.0, 999.0, 9999.0, 99999.0, -99999.0)
_SUSPECTS_MIN_ROWS = 2
_GAP = 0.5  # of the range of the other values, between them and the suspect


def suspected_missing(values: NDArray[np.float64]) -> tuple[float, ...]:
    """Codes such as -999 that occur at least twice, at one end, far from all other values.

    Examples
    --------
    >>> suspected_missing(np.array([12.0, 15.0, 9.0, -999.0, -999.0]))
    (-999.0,)
    """
    finite = values[np.isfinite(values)]
    if not len(finite) or not {float(finite.min()), float(finite.max())} & {*_SUSPECTS}:
        return ()
    ordinary = finite[~np.isin(finite, _SUSPECTS)]
    if len(ordinary) < len(finite) / 2:
        return ()
    low, high = float(ordinary.min()), float(ordinary.max())
    gap = _GAP * max(high - low, 1.0)
    return tuple(
        code
        for code in _SUSPECTS
        if max(low - code, code - high) > gap and (finite == code).sum() >= _SUSPECTS_MIN_ROWS
    )
