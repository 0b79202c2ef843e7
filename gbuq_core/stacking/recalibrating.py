"""Correcting a stacked distribution by where left-out targets fell in it, where that is earned.

Kuleshov, Fenner and Ermon (2018), "Accurate uncertainties for deep learning using calibrated
regression", with a smooth map in place of isotonic regression and a test before it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator
from scipy.stats import kstwobign

FloatArray = NDArray[np.float64]

_LEVEL = 0.01  # of the test that the probabilities are uniform
_MOST_KNOTS = 20  # of a map; the square root of the rows if they are fewer
_NODES = 257
_STRAIGHT = 0.02  # share of the identity in a map: it rises everywhere


def needs_map(pit: FloatArray, weight: FloatArray) -> bool:
    """Whether probabilities of left-out targets (n,) are not uniform (Kolmogorov and Smirnov)."""
    below, at = _shares(pit, weight)
    n = weight.sum() ** 2 / np.square(weight).sum()  # rows of one weight that tell as much
    farthest = float(np.abs(below - at).max()) + 0.5 / n
    return bool(kstwobign.sf(farthest * np.sqrt(n)) < _LEVEL)


def fit_map(pit: FloatArray, weight: FloatArray) -> FloatArray:
    """How often left-out targets lie below each of equally spaced probabilities: (n_nodes,).

    A smooth monotone curve through quantiles of their probabilities (n,).
    """
    below, ranked = _shares(pit, weight)
    levels = np.linspace(0.0, 1.0, min(_MOST_KNOTS, max(2, int(np.sqrt(len(pit))))) + 1)
    at = np.interp(levels, below, ranked)
    at[0], at[-1] = 0.0, 1.0
    rises = np.r_[True, (np.diff(at) > 1e-9)[:-1] & (at[1:-1] < 1.0 - 1e-9), True]
    nodes = np.linspace(0.0, 1.0, _NODES)
    curve = PchipInterpolator(at[rises], levels[rises])(nodes)
    return np.asarray((1.0 - _STRAIGHT) * curve + _STRAIGHT * nodes)


def _shares(pit: FloatArray, weight: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The share of rows below each probability, and these in order."""
    order = np.argsort(pit)
    below = np.cumsum(weight[order]) - 0.5 * weight[order]
    return below / weight.sum(), pit[order]
