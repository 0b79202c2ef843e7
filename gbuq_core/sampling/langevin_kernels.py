"""Langevin chains on a density in the plane, and which mode each sample lies in.

Every draw is a function of (seed, chain, step, purpose), so chains cut into chunks or spread over
threads come out the same.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from gbuq_core.sampling.arrays import FARTHEST, MIXTURE, MODE_STDS, RING
from gbuq_core.seeding import normal_at, stream, uniform_at

# What a stream is for; the numbers lie beyond those of the trees, so one seed serves both.
START, GRADIENT_NOISE, STEP_NOISE = range(16, 19)

# exp(-40) of the largest term is below the rounding of the sum.
_NEGLIGIBLE = 40.0


@njit(nogil=True, cache=True)
def _mixture_gradient(target, exponents, x, y):
    """Gradient of -log of a Gaussian mixture at one point by log-sum-exp.

    ``exponents`` (n_modes,) is scratch space. Far from every mode each density underflows; their
    ratios to the largest do not.
    """
    means, precisions = target.means, target.precisions
    largest = -np.inf
    for mode in range(means.shape[0]):
        dx = x - means[mode, 0]
        dy = y - means[mode, 1]
        exponent = target.log_weights[mode] - 0.5 * (
            precisions[mode, 0] * dx * dx
            + 2.0 * precisions[mode, 1] * dx * dy
            + precisions[mode, 2] * dy * dy
        )
        exponents[mode] = exponent
        if exponent > largest:
            largest = exponent
    total, along_x, along_y = 0.0, 0.0, 0.0
    for mode in range(means.shape[0]):
        below = exponents[mode] - largest
        if below > -_NEGLIGIBLE:
            share = math.exp(below)
            dx = x - means[mode, 0]
            dy = y - means[mode, 1]
            total += share
            along_x += share * (precisions[mode, 0] * dx + precisions[mode, 1] * dy)
            along_y += share * (precisions[mode, 1] * dx + precisions[mode, 2] * dy)
    return along_x / total, along_y / total


@njit(nogil=True, cache=True)
def _ring_gradient(numbers, x, y):
    """Gradient of ``(r - radius)^2 / (2 std^2)``; 0 at the centre, where there is none."""
    distance = math.sqrt(x * x + y * y)
    if distance == 0.0:
        return 0.0, 0.0
    pull = (distance - numbers[0]) / (numbers[1] * numbers[1] * distance)
    return pull * x, pull * y


@njit(nogil=True, cache=True)
def _banana_gradient(numbers, x, y):
    """Gradient of ``x^2 / (2 a^2) + (y - b cos(w x))^2 / (2 s^2)``, numbers = (a, b, w, s)."""
    spread, height, frequency, std = numbers[0], numbers[1], numbers[2], numbers[3]
    pull = (y - height * math.cos(frequency * x)) / (std * std)
    slope = -height * frequency * math.sin(frequency * x)
    return x / (spread * spread) - pull * slope, pull


@njit(nogil=True, cache=True)
def _gradient(target, exponents, x, y):
    if target.kind == MIXTURE:
        return _mixture_gradient(target, exponents, x, y)
    if target.kind == RING:
        return _ring_gradient(target.numbers, x, y)
    return _banana_gradient(target.numbers, x, y)


@njit(nogil=True, cache=True)
def draw_starts(seed, first_chain, extent, state):
    """Write points uniform on the square of half width ``extent`` into ``state`` (n_chains, 2)."""
    for chain in range(state.shape[0]):
        base = np.uint64(stream(seed, first_chain + chain, 0, START))
        for axis in range(2):
            state[chain, axis] = extent * (2.0 * uniform_at(base, axis) - 1.0)


@njit(nogil=True, cache=True)
def run_chains(target, schedule, gradient_noise, seed, first_chain, first_step, state, samples):
    """Move chains on by the steps that ``samples`` has room for (algorithm 1 without the trees).

    ``x <- x - lr_t alpha_t (grad + gradient_noise N(0, I)) + noise_t N(0, I)``

    Parameters
    ----------
    target : TargetArrays
    schedule : ScheduleArrays
        Of the whole run; the chunk begins at ``first_step``.
    gradient_noise : float64
    seed : uint64
    first_chain, first_step : int64
        The numbers of the first chain and step of this chunk, which the draws are made from.
    state : float64 array of shape (n_chains, 2)
        Where the chains are; moved on in place. A chain beyond `FARTHEST` along an axis has run
        off and is NaN from its next step on.
    samples : float32 array of shape (n_chains, n, 2)
        Written: the point after each step. The step that runs off still writes where it got to,
        the ones after it NaN.
    """
    exponents = np.empty(target.means.shape[0])
    for chain in range(state.shape[0]):
        x, y = state[chain, 0], state[chain, 1]
        number = first_chain + chain
        for row in range(samples.shape[1]):
            step = first_step + row
            if not (abs(x) <= FARTHEST and abs(y) <= FARTHEST):
                x, y = np.nan, np.nan
                samples[chain, row:] = np.nan
                break
            gradient_x, gradient_y = _gradient(target, exponents, x, y)
            on_gradient = np.uint64(stream(seed, number, step, GRADIENT_NOISE))
            on_step = np.uint64(stream(seed, number, step, STEP_NOISE))
            factor = schedule.step_sizes[step] * schedule.scales[step]
            noise = schedule.noises[step]
            x -= factor * (gradient_x + gradient_noise * normal_at(on_gradient, 0))
            y -= factor * (gradient_y + gradient_noise * normal_at(on_gradient, 1))
            x += noise * normal_at(on_step, 0)
            y += noise * normal_at(on_step, 1)
            samples[chain, row, 0] = x
            samples[chain, row, 1] = y
        state[chain, 0], state[chain, 1] = x, y


@njit(nogil=True, cache=True)
def _nearest_component(target, x, y):
    """The mixture component whose mean is within `MODE_STDS` std of a point and nearest, or -1."""
    nearest = -1
    smallest = MODE_STDS * MODE_STDS
    for mode in range(target.means.shape[0]):
        dx = x - target.means[mode, 0]
        dy = y - target.means[mode, 1]
        squared = (
            target.precisions[mode, 0] * dx * dx
            + 2.0 * target.precisions[mode, 1] * dx * dy
            + target.precisions[mode, 2] * dy * dy
        )
        if squared <= smallest:
            smallest, nearest = squared, mode
    return nearest


@njit(nogil=True, cache=True)
def _region(edges, position):
    """The region between two edges that a position lies in; the last edge belongs to the last."""
    for region in range(edges.shape[0] - 2):
        if position < edges[region + 1]:
            return region
    return edges.shape[0] - 2


@njit(nogil=True, cache=True)
def label_modes(target, samples, out):
    """Write the mode of each of ``samples`` (n, 2) float32 into ``out`` (n,) int16; -1 for none."""
    numbers, edges = target.numbers, target.edges
    for row in range(samples.shape[0]):
        x, y = np.float64(samples[row, 0]), np.float64(samples[row, 1])
        mode = -1
        if target.kind == MIXTURE:
            mode = _nearest_component(target, x, y)
        elif target.kind == RING:
            if abs(math.sqrt(x * x + y * y) - numbers[0]) <= MODE_STDS * numbers[1]:
                mode = _region(edges, math.atan2(y, x))
        else:
            across = abs(y - numbers[1] * math.cos(numbers[2] * x)) <= MODE_STDS * numbers[3]
            if across and abs(x) <= edges[edges.shape[0] - 1]:
                mode = _region(edges, x)
        out[row] = mode
