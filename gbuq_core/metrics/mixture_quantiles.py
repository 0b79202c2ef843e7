"""Quantiles of mixtures of normals, by Newton's method inside a bracket."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

FloatArray = NDArray[np.float64]

_ROOT_2_PI = math.sqrt(2.0 * math.pi)
_MOST_STEPS = 100  # a bisection alone takes 44 to 1e-13 of its bracket


def mixture_quantiles(
    means: FloatArray, stds: FloatArray, shares: FloatArray, levels: FloatArray
) -> FloatArray:
    """Quantiles (n, k) of mixtures with means and stds (n_members, n, 1) and shares."""
    of_members = means + np.where(stds > 0.0, stds, 0.0) * np.where(stds > 0.0, ndtri(levels), 0.0)
    used = shares > 0.0
    low, high = of_members[used].min(axis=0), of_members[used].max(axis=0)
    out = np.where(levels <= 0.0, low, high)
    row, column = np.nonzero((levels > 0.0) & (levels < 1.0) & (low < high))
    low, high, wanted = low[row, column], high[row, column], levels[row, column]
    mu, s = means[:, row, 0], stds[:, row, 0]
    x = 0.5 * (low + high)
    close = 4e-16 * np.maximum(np.abs(low), np.abs(high))  # rounding of x itself
    place = np.arange(len(x))
    ordered = x.copy()
    weights = shares[:, None]
    for _ in range(_MOST_STEPS):
        if not len(place):
            break
        z = standardised(x, mu, s)
        excess = (weights * ndtr(z)).sum(axis=0) - wanted
        high = np.where(excess >= 0.0, x, high)
        low = np.where(excess < 0.0, x, low)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            slope = (weights * np.exp(-0.5 * z * z) / (s * _ROOT_2_PI)).sum(axis=0)
            step = x - excess / slope
        trusted = (step >= low) & (step <= high)
        new = np.where(trusted, step, 0.5 * (low + high))
        exact = np.abs(excess) <= 1e-15 * wanted
        new = np.where(exact, x, new)
        still = (np.abs(new - x) > close) & ~exact
        ordered[place] = new
        place, x, low, high, wanted, close = (
            part[still] for part in (place, new, low, high, wanted, close)
        )
        mu, s = mu[:, still], s[:, still]
    out[row, column] = ordered
    return out


def standardised(points: FloatArray, loc: FloatArray | float, scale: FloatArray) -> FloatArray:
    """``(points - loc) / scale``; where the scale is 0, inf from loc on and -inf below it."""
    away = points - loc
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        z = away / scale
    return np.where(scale > 0.0, z, np.where(away >= 0.0, np.inf, -np.inf))
