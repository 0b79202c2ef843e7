"""Slow, obvious twins of the samplers and their diagnostics: loops and textbook formulas."""

import math

import numpy as np

from gbuq_core.sampling import langevin_kernels as kernels
from gbuq_core.seeding import normal_at, stream


def density(target, x, y):
    """Plain density of a target, without logs: for points where it does not underflow."""
    name, arrays = type(target).__name__, target.arrays
    if name == "GaussianMixture":
        total = 0.0
        for mode, weight, (xx, xy, yy) in zip(
            target.modes, target.weights, arrays.precisions, strict=True
        ):
            dx, dy = x - mode[0], y - mode[1]
            norm = math.sqrt(xx * yy - xy * xy) / (2 * math.pi)
            total += weight * norm * math.exp(-(xx * dx * dx + 2 * xy * dx * dy + yy * dy * dy) / 2)
        return total
    if name == "Ring":
        radius, std = arrays.numbers
        # The ring cut open is a strip of this length; its ends at the centre do not matter.
        return normal(math.hypot(x, y), radius, std) / (2 * math.pi * radius)
    spread, height, frequency, std = arrays.numbers
    return normal(x, 0.0, spread) * normal(y, height * math.cos(frequency * x), std)


def normal(value, loc, scale):
    return math.exp(-(((value - loc) / scale) ** 2) / 2) / (scale * math.sqrt(2 * math.pi))


def five_point_slope(function, at, h):
    """Derivative by the five-point rule; its error is of order h^4."""
    far, near = function(at + 2 * h) - function(at - 2 * h), function(at + h) - function(at - h)
    return (8 * near - far) / (12 * h)


def draws(seed, chain, step, purpose):
    base = np.uint64(stream(np.uint64(seed), chain, step, purpose))
    return np.array([normal_at(base, 0), normal_at(base, 1)])


def langevin_step(target, schedule, gradient_noise, seed, chain, step, point):
    """One step from the definition."""
    gradient = target.gradient(point[None])[0]
    gradient = gradient + gradient_noise * draws(seed, chain, step, kernels.GRADIENT_NOISE)
    moved = point - schedule.step_sizes[step] * schedule.scales[step] * gradient
    return moved + schedule.noises[step] * draws(seed, chain, step, kernels.STEP_NOISE)


def mode_of(target, x, y):
    """Which mode a point lies in, by the definition in the docstrings."""
    name, arrays = type(target).__name__, target.arrays
    if name == "GaussianMixture":
        distances = []
        for mode, (xx, xy, yy) in zip(target.modes, arrays.precisions, strict=True):
            offset = np.array([x, y]) - mode
            distances.append(math.sqrt(offset @ np.array([[xx, xy], [xy, yy]]) @ offset))
        nearest = int(np.argmin(distances))
        return nearest if distances[nearest] <= 3 else -1
    if name == "Ring":
        across, along = math.hypot(x, y) - arrays.numbers[0], math.atan2(y, x)
        std = arrays.numbers[1]
    else:
        across, along = y - arrays.numbers[1] * math.cos(arrays.numbers[2] * x), x
        std = arrays.numbers[3]
    if abs(across) > 3 * std or not arrays.edges[0] <= along <= arrays.edges[-1]:
        return -1
    return min(sum(along >= edge for edge in arrays.edges) - 1, len(target.weights) - 1)


def autocorrelation(series):
    m, n = sum(series) / len(series), len(series)
    centred = [value - m for value in series]
    full = sum(value * value for value in centred)
    return [sum(centred[t] * centred[t + k] for t in range(n - k)) / full for k in range(n)]


def effective_sample_size(series):
    """Geyer's initial monotone sequence, term by term."""
    n, rho = len(series), autocorrelation(series)
    total, smallest = 0.0, math.inf
    for k in range(n // 2):
        pair = rho[2 * k] + rho[2 * k + 1]
        if pair <= 0:
            break
        smallest = min(smallest, pair)
        total += smallest
    return n / max(2 * total - 1, 1 / max(1, math.log10(n)))


def nth_visit(labels, kept, mode, n):
    steps = [step for step, label in enumerate(labels) if kept[step] and label == mode]
    return steps[n - 1] if len(steps) >= n else -1


def stays(labels):
    """(mode, step) of every entry into another mode than the last one."""
    visits = []
    for step, label in enumerate(labels):
        if label >= 0 and (not visits or visits[-1][0] != label):
            visits.append((label, step))
    return visits


def grid_kl(points, probabilities, extent, uniform_share):
    """KL of points to cell probabilities (row = y), one more cell for all that lies outside."""
    n, (left, right, bottom, top) = len(probabilities), extent
    counts = [0] * (n * n + 1)
    for x, y in points:
        column = math.floor((x - left) / (right - left) * n)
        row = math.floor((y - bottom) / (top - bottom) * n)
        counts[row * n + column if 0 <= row < n and 0 <= column < n else n * n] += 1
    truth = [*probabilities.ravel().tolist(), max(0.0, 1 - probabilities.sum())]
    total = 0.0
    for count, p in zip(counts, truth, strict=True):
        p = (1 - uniform_share) * p / sum(truth) + uniform_share / len(truth)
        q = (1 - uniform_share) * count / len(points) + uniform_share / len(truth)
        total += q * math.log(q / p)
    return total
