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
    rest = values[np.isfinite(values)]
    n_values, found = len(rest), []
    while len(rest):
        low, high = float(rest.min()), float(rest.max())
        code = low if low in _SUSPECTS else high
        if code not in _SUSPECTS:
            break
        others = rest[rest != code]
        if len(others) < n_values / 2 or len(rest) - len(others) < _SUSPECTS_MIN_ROWS:
            break
        span = float(others.max() - others.min())
        if max(others.min() - code, code - others.max()) <= _GAP * max(span, 1.0):
            break
        found.append(code)
        rest = others
    return tuple(found)
