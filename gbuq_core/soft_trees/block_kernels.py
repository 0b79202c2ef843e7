"""What every likelihood of a soft tree shares, on blocks of rows that stay in the cache.

Each array of a block is flat: number ``h`` of something at row ``i`` of a block of ``m`` rows
stands at ``h m + i``, so that every loop runs over neighbouring rows and LLVM can vectorise it.
The exponential and the logarithm are polynomials for the same reason: a call into the C library
stops vectorisation and takes five times as long.

``contract`` lets the compiler fuse ``a * b + c``; ``reassoc``, in the sums over rows only, lets it
sum in lanes. Neither assumes anything about infinities or signs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from gbuq_core.compiling import INNER, OUTER

MIXTURE, MEAN, CLASSES = range(3)

# Rows a block; its arrays (some 100 kB in a tree of depth 4) fit the second-level cache.
BLOCK = 128

# Raw stds below count as this one: a leaf std is at least 9e-14 of the target's, so that the
# squared residual of any row stays finite. There the gradient in the raw std is zero.
MIN_RAW = -30.0

# Where the gates' weights begin; of type int64, as all other places: for a literal 0 every function
# that takes a place would be compiled once more.
FIRST = np.int64(0)

HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)

_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_ROUND = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to a whole number, in the lowest bits
_SQRT2 = math.sqrt(2.0)
_HALF_LN2 = 0.5 * math.log(2.0)


class ShapeCodes(NamedTuple):
    """A tree's shape as whole numbers; ``n_classes`` is 1 for a Gaussian output."""

    depth: int
    n_features: int
    is_linear: int
    output: int
    n_classes: int


class Bits(NamedTuple):
    """Two float64 arrays of the exponential, and the same memory as int64."""

    shifted: np.ndarray
    powers: np.ndarray
    shifted_bits: np.ndarray
    power_bits: np.ndarray


class Scratch(NamedTuple):
    """The arrays of one block, flat and float64 (m = rows of the block).

    ``logits``, ``small`` (n_nodes, m): ``z = beta (w.x + b)`` and ``exp(-|z|)`` of each gate;
    ``log_reach``, ``spread`` (n_nodes + n_leaves, m): a node is reached with probability
    ``exp(log_reach) / spread``; ``shares`` likewise: responsibilities, summed over subtrees;
    ``means`` (n_leaves n_classes, m), ``raws``, ``smalls``, ``inverses`` (n_leaves, m): outputs of
    the leaves, raw stds, ``exp(-|raw|)`` and 1 / std; ``peaks``, ``totals`` (m,): of log-sum-exp;
    ``exponents``: arguments of the exponential; ``bits``: what it needs itself.
    """

    logits: np.ndarray
    small: np.ndarray
    log_reach: np.ndarray
    spread: np.ndarray
    shares: np.ndarray
    means: np.ndarray
    raws: np.ndarray
    smalls: np.ndarray
    inverses: np.ndarray
    peaks: np.ndarray
    totals: np.ndarray
    exponents: np.ndarray
    bits: Bits


@njit(nogil=True, cache=True, inline="always")
def allocate_scratch(codes):
    """Scratch for one block of any size."""
    n_leaves = 2**codes.depth
    n_nodes = n_leaves - 1
    heads = n_leaves * codes.n_classes
    shifted, powers = np.empty(heads * BLOCK), np.empty(heads * BLOCK)
    return Scratch(
        np.empty(n_nodes * BLOCK),
        np.empty(n_nodes * BLOCK),
        np.empty((n_nodes + n_leaves) * BLOCK),
        np.empty((n_nodes + n_leaves) * BLOCK),
        np.empty((n_nodes + n_leaves) * BLOCK),
        np.empty(heads * BLOCK),
        np.empty(heads * BLOCK),
        np.empty(heads * BLOCK),
        np.empty(heads * BLOCK),
        np.empty(BLOCK),
        np.empty(BLOCK),
        np.empty(heads * BLOCK),
        Bits(shifted, powers, shifted.view(np.int64), powers.view(np.int64)),
    )


@njit(nogil=True, cache=True, **OUTER, fastmath={"contract"})
def exp_into(x, out, n, bits):
    """Write ``exp(x)`` into ``out`` of ``n`` numbers <= 0; relative error < 4e-16.

    ``exp(x) = 2^k exp(r)`` with ``|r| <= ln(2) / 2`` and a Taylor polynomial of degree 12. Below
    -708 the result is ``exp(-708)``: nothing underflows. Were ``x`` also ``out``, the loop would
    not be vectorised.
    """
    shifted, powers, whole, exponents = bits
    for i in range(n):
        v = x[i] if x[i] > -708.0 else -708.0
        s = v * _LOG2_E + _ROUND
        shifted[i] = s
        k = s - _ROUND
        r = (v - k * _LN2_HIGH) - k * _LN2_LOW
        p = r * (1.0 / 479001600.0) + 1.0 / 39916800.0
        p = p * r + 1.0 / 3628800.0
        p = p * r + 1.0 / 362880.0
        p = p * r + 1.0 / 40320.0
        p = p * r + 1.0 / 5040.0
        p = p * r + 1.0 / 720.0
        p = p * r + 1.0 / 120.0
        p = p * r + 1.0 / 24.0
        p = p * r + 1.0 / 6.0
        p = p * r + 0.5
        p = p * r + 1.0
        out[i] = p * r + 1.0
    for i in range(n):
        exponents[i] = (whole[i] + 1023) << 52
    for i in range(n):
        out[i] *= powers[i]


@njit(nogil=True, cache=True, inline="always", fastmath={"contract"})
def log1p_unit(t):
    """``log(1 + t)`` for t in [0, 1]; relative error < 5e-16.

    ``log(q) = 2 artanh((q - 1) / (q + 1))`` of ``1 + t`` or, nearer to 1, of ``(1 + t) / sqrt(2)``.
    """
    low = t < 0.41421356
    w = (t if low else (t + 1.0) - _SQRT2) / (t + 2.0 if low else (t + 1.0) + _SQRT2)
    v = w * w
    p = v * (1.0 / 19.0) + 1.0 / 17.0
    p = p * v + 1.0 / 15.0
    p = p * v + 1.0 / 13.0
    p = p * v + 1.0 / 11.0
    p = p * v + 1.0 / 9.0
    p = p * v + 1.0 / 7.0
    p = p * v + 1.0 / 5.0
    p = p * v + 1.0 / 3.0
    p = p * v + 1.0
    return 2.0 * w * p + (0.0 if low else _HALF_LN2)


@njit(nogil=True, cache=True, inline="always")
def softplus_scalar(raw):
    """``log(1 + exp(raw))`` and its derivative for one number."""
    small = math.exp(-abs(raw))
    slope = (1.0 if raw >= 0.0 else small) / (1.0 + small)
    return max(raw, 0.0) + math.log1p(small), slope


@njit(nogil=True, cache=True, **INNER, fastmath={"contract"})
def affine(theta, weights, biases, heads, slopes, Xt, start, m, out):
    """Write ``w_h . x + b_h`` of ``heads`` rows of parameters on a block into ``out`` (heads, m).

    The weights begin at ``theta[weights]``, ``slopes`` (n_features or 0) of them a head, the
    biases at ``theta[biases]``.
    """
    for h in range(heads):
        row = out[h * m : (h + 1) * m]
        bias = theta[biases + h]
        first = weights + h * slopes
        for i in range(m):
            row[i] = bias
        j = 0
        while j + 3 < slopes:
            w0, w1, w2, w3 = theta[first + j], theta[first + j + 1], theta[first + j + 2], 0.0
            w3 = theta[first + j + 3]
            x0, x1 = Xt[j, start : start + m], Xt[j + 1, start : start + m]
            x2, x3 = Xt[j + 2, start : start + m], Xt[j + 3, start : start + m]
            for i in range(m):
                row[i] += (w0 * x0[i] + w1 * x1[i]) + (w2 * x2[i] + w3 * x3[i])
            j += 4
        while j < slopes:
            w0 = theta[first + j]
            x0 = Xt[j, start : start + m]
            for i in range(m):
                row[i] += w0 * x0[i]
            j += 1


@njit(nogil=True, cache=True, **INNER, fastmath={"contract", "reassoc"})
def add_affine_gradient(slope, weights, biases, heads, slopes, Xt, start, m, factor, gradient):
    """Add ``factor`` times the gradient through `affine`, given that in its output, ``slope``."""
    for h in range(heads):
        row = slope[h * m : (h + 1) * m]
        total = 0.0
        for i in range(m):
            total += row[i]
        gradient[biases + h] += factor * total
        first = weights + h * slopes
        j = 0
        while j + 3 < slopes:
            x0, x1 = Xt[j, start : start + m], Xt[j + 1, start : start + m]
            x2, x3 = Xt[j + 2, start : start + m], Xt[j + 3, start : start + m]
            a, b, c, d = 0.0, 0.0, 0.0, 0.0
            for i in range(m):
                a += row[i] * x0[i]
                b += row[i] * x1[i]
                c += row[i] * x2[i]
                d += row[i] * x3[i]
            gradient[first + j] += factor * a
            gradient[first + j + 1] += factor * b
            gradient[first + j + 2] += factor * c
            gradient[first + j + 3] += factor * d
            j += 4
        while j < slopes:
            x0 = Xt[j, start : start + m]
            total = 0.0
            for i in range(m):
                total += row[i] * x0[i]
            gradient[first + j] += factor * total
            j += 1


@njit(nogil=True, cache=True, **INNER, fastmath={"contract"})
def evaluate_gates(codes, beta, theta, Xt, start, m, scratch):
    """Write the gates of a block: ``logits`` = beta (w.x + b) (eq. 9) and ``small`` = exp(-|.|)."""
    n_nodes = 2**codes.depth - 1
    p = codes.n_features
    logits, exponents = scratch.logits, scratch.exponents
    affine(theta, FIRST, n_nodes * p, n_nodes, p, Xt, start, m, logits)
    for i in range(n_nodes * m):
        logits[i] *= beta
        exponents[i] = -abs(logits[i])
    exp_into(exponents, scratch.small, n_nodes * m, scratch.bits)


@njit(nogil=True, cache=True, **INNER, fastmath={"contract"})
def reach_nodes(codes, m, scratch):
    """Write ``log_reach`` and ``spread`` of all nodes and leaves (eq. 7 in log space).

    ``sigmoid(z) = exp(-max(-z, 0)) / (1 + exp(-|z|))``: the exponents add up along a path however
    sure its gates are, and the product of the denominators is at most 2^depth.
    """
    n_nodes = 2**codes.depth - 1
    log_reach, spread = scratch.log_reach, scratch.spread
    for i in range(m):
        log_reach[i] = 0.0
        spread[i] = 1.0
    for node in range(n_nodes):
        z, t = scratch.logits[node * m : (node + 1) * m], scratch.small[node * m : (node + 1) * m]
        log_own = log_reach[node * m : (node + 1) * m]
        own = spread[node * m : (node + 1) * m]
        left, right = (2 * node + 1) * m, (2 * node + 2) * m
        log_left, log_right = log_reach[left : left + m], log_reach[right : right + m]
        spread_left, spread_right = spread[left : left + m], spread[right : right + m]
        for i in range(m):
            up = z[i] if z[i] > 0.0 else 0.0
            log_left[i] = log_own[i] - up
            log_right[i] = log_own[i] + (z[i] - up)
            product = own[i] * (1.0 + t[i])
            spread_left[i] = product
            spread_right[i] = product


@njit(nogil=True, cache=True, **INNER, fastmath={"contract"})
def gate_slopes(codes, m, scratch):
    """Turn leaf responsibilities into the gradient of the log-likelihood in the gates' logits.

    ``shares`` holds the responsibilities of the leaves; on return those of the subtrees too, and
    ``logits`` of node ``n`` holds ``share(right) P(left | n) - share(left) P(right | n)``.
    """
    n_nodes = 2**codes.depth - 1
    shares = scratch.shares
    for node in range(n_nodes - 1, -1, -1):
        z, t = scratch.logits[node * m : (node + 1) * m], scratch.small[node * m : (node + 1) * m]
        own = shares[node * m : (node + 1) * m]
        left = shares[(2 * node + 1) * m : (2 * node + 2) * m]
        right = shares[(2 * node + 2) * m : (2 * node + 3) * m]
        for i in range(m):
            own[i] = left[i] + right[i]
            likely = 1.0 / (1.0 + t[i])
            unlikely = t[i] * likely
            to_right = likely if z[i] >= 0.0 else unlikely
            to_left = unlikely if z[i] >= 0.0 else likely
            z[i] = right[i] * to_left - left[i] * to_right
