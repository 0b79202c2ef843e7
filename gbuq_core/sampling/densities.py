"""What a target is: a density in the plane that knows its modes, moments and gradient."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp, ndtr

from gbuq_core.errors import InvalidData
from gbuq_core.sampling.langevin_kernels import MODE_STDS, TargetArrays, label_modes
from gbuq_core.validation import check_array

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Target(ABC):
    """A density in the plane.

    Attributes
    ----------
    name, label : str
        The key of `TARGETS` and what a reader sees.
    modes : ndarray of shape (n_modes, 2)
        The centre of each mode: the mean of a Gaussian, the middle of a region of a ring.
    mode_std : float
        Std of a mode: of a round Gaussian along any line, across the ring or the banana.
    weights : ndarray of shape (n_modes,)
        The share of each among the points that lie in a mode; sums to 1.
    mean, covariance : ndarray of shape (2,) and (2, 2)
        True moments of the whole density.
    share_in_modes : float
        The share of the density that lies within three std of a mode: a perfect sampler's share.
    extent : tuple of 4 floats
        Left, right, bottom and top of a picture that holds practically all of the density.
    arrays : TargetArrays
        The same for the kernels.
    """

    name: str
    label: str
    modes: FloatArray
    mode_std: float
    weights: FloatArray
    mean: FloatArray
    covariance: FloatArray
    share_in_modes: float
    extent: tuple[float, float, float, float]
    arrays: TargetArrays

    @abstractmethod
    def log_density(self, points: ArrayLike) -> FloatArray:
        """Log density at ``points`` (n, 2), normalised, in nats; (n,)."""

    @abstractmethod
    def gradient(self, points: ArrayLike) -> FloatArray:
        """Gradient of *minus* the log density at ``points`` (n, 2); (n, 2)."""

    @abstractmethod
    def outlines(self, n_points: int = 64) -> list[FloatArray]:
        """The border of each mode, where samples count for it, as a polygon (n, 2)."""

    def mode_of(self, points: ArrayLike) -> NDArray[np.int16]:
        """The mode that each of ``points`` (n, 2) lies in, -1 for none; (n,)."""
        samples = np.ascontiguousarray(_points(points), dtype=np.float32)
        labels = np.empty(len(samples), dtype=np.int16)
        label_modes(self.arrays, samples, labels)
        return labels


class GaussianMixture(Target):
    """A mixture of Gaussians; a point is in the nearest mode within three std (Mahalanobis)."""

    def log_density(self, points: ArrayLike) -> FloatArray:
        """Log-sum-exp over the components: the plain sum underflows far from every mode."""
        return np.asarray(logsumexp(self._log_terms(_points(points)), axis=1))

    def gradient(self, points: ArrayLike) -> FloatArray:
        """Each component pulls to its mean, by its share of the density."""
        rows = _points(points)
        terms = self._log_terms(rows)
        shares = np.exp(terms - logsumexp(terms, axis=1, keepdims=True))
        offsets = rows[:, None, :] - self.modes
        return np.asarray(np.einsum("nm,mij,nmj->ni", shares, self._precisions(), offsets))

    def outlines(self, n_points: int = 64) -> list[FloatArray]:
        """Ellipses of three std."""
        turn = np.linspace(0.0, 2.0 * np.pi, n_points, endpoint=False)
        circle = MODE_STDS * np.stack([np.cos(turn), np.sin(turn)], axis=1)
        roots = [np.linalg.cholesky(np.linalg.inv(matrix)) for matrix in self._precisions()]
        return [mode + circle @ root.T for mode, root in zip(self.modes, roots, strict=True)]

    def _precisions(self) -> FloatArray:
        return self.arrays.precisions[:, [0, 1, 1, 2]].reshape(-1, 2, 2)

    def _log_terms(self, rows: FloatArray) -> FloatArray:
        offsets = rows[:, None, :] - self.modes
        squared = np.einsum("nmi,mij,nmj->nm", offsets, self._precisions(), offsets)
        return np.asarray(self.arrays.log_weights - 0.5 * squared)


class Ring(Target):
    """Density proportional to ``exp(-(r - radius)^2 / (2 std^2))``; its modes are equal sectors."""

    def log_density(self, points: ArrayLike) -> FloatArray:
        """Constant along the ring, normal across it."""
        radius, std = self.arrays.numbers
        distance = np.hypot(*_points(points).T)
        log_total = math.log(2.0 * math.pi * radial_moments(radius, std)[0])
        return -0.5 * ((distance - radius) / std) ** 2 - log_total

    def gradient(self, points: ArrayLike) -> FloatArray:
        """Towards the ring; 0 at the centre, where the density has a tip and no gradient."""
        radius, std = self.arrays.numbers
        rows = _points(points)
        distance = np.hypot(*rows.T)
        pull = (distance - radius) / std**2
        inverse = np.divide(1.0, distance, out=np.zeros_like(distance), where=distance > 0)
        return np.asarray((pull * inverse)[:, None] * rows)

    def outlines(self, n_points: int = 64) -> list[FloatArray]:
        """Sectors of the band of three std on both sides."""
        radius, std = self.arrays.numbers
        found = []
        for low, high in zip(self.arrays.edges[:-1], self.arrays.edges[1:], strict=True):
            turn = np.linspace(low, high, n_points // 2)
            arc = np.stack([np.cos(turn), np.sin(turn)], axis=1)
            inner, outer = radius - MODE_STDS * std, radius + MODE_STDS * std
            found.append(np.concatenate([outer * arc, inner * arc[::-1]]))
        return found


class Banana(Target):
    """``x ~ N(0, spread^2)``, ``y | x ~ N(height cos(frequency x), std^2)``: an arch.

    The usual banana bends as a square; its gradient grows without bound and every fixed step
    diverges on it. The cosine bends as much where the density is and keeps the slope bounded.
    Its modes are stretches of x of equal probability.
    """

    def log_density(self, points: ArrayLike) -> FloatArray:
        """The two normals."""
        spread, height, frequency, std = self.arrays.numbers
        x, y = _points(points).T
        across = (y - height * np.cos(frequency * x)) / std
        return -0.5 * ((x / spread) ** 2 + across**2) - math.log(2.0 * math.pi * spread * std)

    def gradient(self, points: ArrayLike) -> FloatArray:
        """Back to the arch and along it to its top."""
        spread, height, frequency, std = self.arrays.numbers
        x, y = _points(points).T
        pull = (y - height * np.cos(frequency * x)) / std**2
        slope = -height * frequency * np.sin(frequency * x)
        return np.stack([x / spread**2 - pull * slope, pull], axis=1)

    def outlines(self, n_points: int = 64) -> list[FloatArray]:
        """Stretches of the band of three std above and below."""
        _, height, frequency, std = self.arrays.numbers
        found = []
        for low, high in zip(self.arrays.edges[:-1], self.arrays.edges[1:], strict=True):
            x = np.linspace(low, high, n_points // 2)
            middle = np.stack([x, height * np.cos(frequency * x)], axis=1)
            above = np.array([0.0, MODE_STDS * std])
            found.append(np.concatenate([middle + above, (middle - above)[::-1]]))
        return found


def radial_moments(radius: float, std: float) -> tuple[float, float]:
    """Integrals of ``r f(r)`` and ``r^3 f(r)`` over r > 0, ``f = exp(-(r - radius)^2/(2 std^2))``.

    By parts: ``I_k = std^2 (k - 1) I_(k-2) + radius I_(k-1)``, plus ``std^2 f(0)`` for k = 1.
    """
    tip = std**2 * math.exp(-0.5 * (radius / std) ** 2)
    zeroth = std * math.sqrt(2.0 * math.pi) * float(ndtr(radius / std))
    first = radius * zeroth + tip
    second = radius * first + std**2 * zeroth
    third = radius * second + 2.0 * std**2 * first
    return first, third


def _points(points: ArrayLike) -> FloatArray:
    rows = check_array("points", points, 2)
    if rows.shape[1] != 2:
        raise InvalidData(f"points must have two columns; got an array of shape {rows.shape}.")
    return rows
