"""Where values stand among those of training: quantile tables, one a tree or one a leaf.

Table g holds the quantiles ``quantiles[begin[g]:begin[g + 1]]`` at levels evenly spread from 0 to
1. What the kernels write becomes a z-score outside: ``ndtri(share) + excess``.
"""

from __future__ import annotations

from numba import njit

from gbuq_core.compiling import INNER, OUTER

MAX_QUANTILES = 1000  # scikit-learn's default number
_EDGE = 1e-7  # so near the smallest or largest training value scikit-learn takes it for that
_ROUNDING = 1e-9  # a range below this share of the values is rounding: they count as one value


@njit(nogil=True, cache=True, **OUTER)
def write_quantiles(values, out):
    """Write the ``len(out)`` evenly spaced quantiles of ``values`` (n,), ascending.

    Linear interpolation, with the roundings of NumPy's percentiles: ties stay ties there or not.
    """
    n, m = len(values), len(out)
    step = 1.0 / (m - 1) if m > 1 else 0.0
    for i in range(m):
        level = 1.0 if i == m - 1 and m > 1 else i * step
        place = (level * 100.0 / 100.0) * (n - 1)
        low = min(int(place), n - 1)
        part, gap = place - low, values[min(low + 1, n - 1)] - values[low]
        if part < 0.5:
            out[i] = values[low] + gap * part
        else:
            out[i] = values[min(low + 1, n - 1)] - gap * (1.0 - part)
        if i > 0:
            out[i] = max(out[i], out[i - 1])


@njit(nogil=True, cache=True, **OUTER)
def write_leaf_quantiles(values, begin, quantile_begin, low, high, out):
    """Write the tables of leaves ``low`` to ``high``; values come by leaf, ascending within it."""
    for g in range(low, high):
        if begin[g + 1] > begin[g]:
            write_quantiles(
                values[begin[g] : begin[g + 1]], out[quantile_begin[g] : quantile_begin[g + 1]]
            )


@njit(nogil=True, cache=True, **INNER)
def _count_below(quantiles, x, with_equal):
    """How many of the ascending ``quantiles`` are below x, or not above it."""
    low, high = 0, len(quantiles)
    while low < high:
        middle = (low + high) // 2
        if quantiles[middle] < x or (with_equal and quantiles[middle] == x):
            low = middle + 1
        else:
            high = middle
    return low


@njit(nogil=True, cache=True, **INNER)
def _share_below(x, quantiles):
    """The share of training values below x, between 0 and 1; half of those equal to it count."""
    m = len(quantiles)
    if x < quantiles[0]:
        return 0.0
    if x > quantiles[m - 1]:
        return 1.0
    right = _count_below(quantiles, x, True)
    if quantiles[right - 1] < x:
        low = quantiles[right - 1]
        return (right - 1 + (x - low) / (quantiles[right] - low)) / (m - 1)
    left = _count_below(quantiles, x, False)
    return 0.5 * (left + right - 1) / (m - 1)


@njit(nogil=True, cache=True, **INNER)
def clipped_share(x, quantiles):
    """scikit-learn's quantile transform to [0, 1]: 0 and 1 at and beyond the training values."""
    if x - _EDGE < quantiles[0]:
        return 0.0
    if x + _EDGE > quantiles[-1]:
        return 1.0
    return _share_below(x, quantiles)


@njit(nogil=True, cache=True, **INNER)
def _is_single(quantiles):
    """Whether the training values are one value, but for rounding."""
    low, high = quantiles[0], quantiles[-1]
    return not high - low > _ROUNDING * max(abs(low), abs(high))


@njit(nogil=True, cache=True, **OUTER)
def write_clipped(values, tables, begin, quantiles, single_is_centre, shares, excess):
    """Write shares and excesses of ``values`` (n, k) in tables of these numbers (n, k).

    As scikit-learn's QuantileTransformer; with ``single_is_centre`` a table of a single value is
    a RobustScaler (what leaves have): no share (a half), and the difference as the excess.
    """
    for i in range(values.shape[0]):
        for t in range(values.shape[1]):
            own = quantiles[begin[tables[i, t]] : begin[tables[i, t] + 1]]
            shares[i, t], excess[i, t] = 0.5, 0.0
            if len(own) > 0 and single_is_centre and own[0] == own[-1]:
                excess[i, t] = values[i, t] - own[0]
            elif len(own) > 0:
                shares[i, t] = clipped_share(values[i, t], own)


@njit(nogil=True, cache=True, **OUTER)
def write_rising(values, tables, begin, quantiles, edges, shares, excess):
    """Write shares and excesses that keep rising beyond the training values, (n, k) each.

    With m quantiles, a share is ``(1/2 + (m - 1) share) / m``, so that the ends have finite
    z-scores ``+-edge``, ``edge = edges[m]``; beyond them the z-score rises linearly, by ``edge``
    for each half of the training values' range. A single value is only subtracted.
    """
    for i in range(values.shape[0]):
        for t in range(values.shape[1]):
            own = quantiles[begin[tables[i, t]] : begin[tables[i, t] + 1]]
            m, x = len(own), values[i, t]
            shares[i, t], excess[i, t] = 0.5, 0.0
            if m > 0 and _is_single(own):
                excess[i, t] = x - own[0]
            elif m > 0:
                shares[i, t] = (0.5 + (m - 1) * _share_below(x, own)) / m
                slope = 2.0 * edges[m] / (own[-1] - own[0])
                if x > own[-1]:
                    excess[i, t] = slope * (x - own[-1])
                elif x < own[0]:
                    excess[i, t] = slope * (x - own[0])
