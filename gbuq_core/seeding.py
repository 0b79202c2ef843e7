"""Random numbers as a pure function of (seed, member, iteration, purpose, index).

Every draw is the hash of a counter, so the result of a fit depends neither on the number of
threads nor on how a fit is cut into chunks. The hash is SplitMix64 (Steele, Lea and Flood, 2014);
normals come from the 256-layer ziggurat of Marsaglia and Tsang (2000).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

# What a stream is for; each purpose of one iteration has a stream of its own.
SAMPLE_ROWS, SPLIT_NOISE, SCORE_NOISE, LEAF_NOISE, MASK_ROWS = range(5)
N_PURPOSES = 5

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_RETRY = np.uint64(0xD1342543DE82EF95)

_ZIGGURAT_EDGE = 3.6541528853610088  # where the tail starts for 256 layers
_ZIGGURAT_AREA = 0.00492867323399  # the area of each layer
_MANTISSA = 2.0**52


def _ziggurat_tables() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Layer widths over 2^52, acceptance thresholds and densities, (256,) each."""
    edge = np.empty(257)
    edge[256] = _ZIGGURAT_AREA / math.exp(-0.5 * _ZIGGURAT_EDGE**2)
    edge[255] = _ZIGGURAT_EDGE
    for layer in range(254, 0, -1):
        above = edge[layer + 1]
        edge[layer] = math.sqrt(-2.0 * math.log(_ZIGGURAT_AREA / above + math.exp(-0.5 * above**2)))
    edge[0] = 0.0
    width = edge[1:] / _MANTISSA
    accept = (edge[:-1] / edge[1:] * _MANTISSA).astype(np.uint64)
    density = np.exp(-0.5 * edge[:-1] ** 2)
    return width, accept, density


_WIDTH, _ACCEPT, _DENSITY = _ziggurat_tables()


@njit(nogil=True, cache=True, inline="always")
def _mix(z):
    z = (z ^ (z >> np.uint64(30))) * _MIX_1
    z = (z ^ (z >> np.uint64(27))) * _MIX_2
    return z ^ (z >> np.uint64(31))


@njit(nogil=True, cache=True)
def stream(seed, member, iteration, purpose):
    """The uint64 base of one stream of draws."""
    base = _mix(np.uint64(seed) + _GOLDEN)
    base = _mix(base ^ (np.uint64(member) * _MIX_1 + _GOLDEN))
    base = _mix(base ^ (np.uint64(iteration) * _MIX_2 + _GOLDEN))
    return _mix(base ^ (np.uint64(purpose) * _RETRY + _GOLDEN))


@njit(nogil=True, cache=True)
def fill_streams(seed, member, iteration, bases):
    """Write to ``bases`` (N_PURPOSES,) uint64 the `stream` of every purpose.

    Named one by one, purposes would be constants, with a `stream` compiled for each.
    """
    for purpose in range(bases.shape[0]):
        bases[purpose] = stream(seed, member, iteration, purpose)


@njit(nogil=True, cache=True)
def skip(base, n_draws):
    """The base of the stream without its first ``n_draws``: its draw 0 is their successor."""
    return np.uint64(base) + np.uint64(n_draws) * _GOLDEN


@njit(nogil=True, cache=True, inline="always")
def bits_at(base, index):
    """Draw number ``index`` of a stream as 64 random bits."""
    return _mix(np.uint64(base) + np.uint64(index) * _GOLDEN)


@njit(nogil=True, cache=True, inline="always")
def uniform_at(base, index):
    """Draw number ``index`` of a stream, uniform on the open interval (0, 1)."""
    # 52 bits and a half: with 53 the largest would round to 1.
    return (np.float64(bits_at(base, index) >> np.uint64(12)) + 0.5) * (1.0 / _MANTISSA)


@njit(nogil=True, cache=True)
def _normal_slow(bits):
    """The one draw in a hundred that falls outside the core of its layer."""
    while True:
        layer = np.int64(bits & np.uint64(0xFF))
        position = bits >> np.uint64(12)
        x = np.float64(position) * _WIDTH[layer]
        sign = -1.0 if (bits >> np.uint64(8)) & np.uint64(1) else 1.0
        if position < _ACCEPT[layer]:
            return sign * x
        bits = _mix(bits * _RETRY + _GOLDEN)
        if layer == 255:  # the widest layer ends in the tail
            while True:
                u1 = (np.float64(bits >> np.uint64(11)) + 0.5) * (1.0 / 9007199254740992.0)
                bits = _mix(bits * _RETRY + _GOLDEN)
                u2 = (np.float64(bits >> np.uint64(11)) + 0.5) * (1.0 / 9007199254740992.0)
                bits = _mix(bits * _RETRY + _GOLDEN)
                tail = -math.log(u1) / _ZIGGURAT_EDGE
                if -2.0 * math.log(u2) > tail * tail:
                    return sign * (_ZIGGURAT_EDGE + tail)
        u = (np.float64(bits >> np.uint64(11)) + 0.5) * (1.0 / 9007199254740992.0)
        bits = _mix(bits * _RETRY + _GOLDEN)
        low = _DENSITY[layer + 1]
        if low + u * (_DENSITY[layer] - low) < math.exp(-0.5 * x * x):
            return sign * x


@njit(nogil=True, cache=True, inline="always")
def normal_at(base, index):
    """Draw number ``index`` of a stream, standard normal."""
    bits = bits_at(base, index)
    layer = np.int64(bits & np.uint64(0xFF))
    position = bits >> np.uint64(12)
    if position < _ACCEPT[layer]:
        x = np.float64(position) * _WIDTH[layer]
        return -x if (bits >> np.uint64(8)) & np.uint64(1) else x
    return _normal_slow(bits)
