"""Densities in the plane to sample from, each with its modes, mean and covariance.

The 25 Gaussians are those of Tan, Huertas and Zhao (2023), appendix B.1. The others are ours and
show where a sampler fails: a ring and a banana have no separate modes but long ways to go, two
modes of unequal weight show whether a sampler gets the *shares* right, one Gaussian whether it gets
the spread right.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp, ndtr, ndtri

from gbuq_core.array_checks import check_array
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.sampling.arrays import BANANA, MIXTURE, MODE_STDS, RING, TargetArrays
from gbuq_core.validation import check_choice, check_number

FloatArray = NDArray[np.float64]
# The share of a normal, and of a round Gaussian in the plane, within `MODE_STDS` std.
_INSIDE_1D = float(2.0 * ndtr(MODE_STDS) - 1.0)
_INSIDE_2D = 1.0 - math.exp(-0.5 * MODE_STDS**2)

_MAX_MODES = 1000


@dataclass(frozen=True, eq=False)
class Target(ABC):
    """A density in the plane."""

    # name, label: the key of `TARGETS` and what a reader sees
    name: str
    label: str
    # (n_modes, 2): the centre of each mode: the mean of a Gaussian, the middle of a region of a
    # ring
    modes: FloatArray
    # std of a mode: of a round Gaussian along any line, across the ring or the banana
    mode_std: float
    # (n_modes,): the share of each among the points that lie in a mode; sums to 1
    weights: FloatArray
    # mean, covariance: (2,): True moments of the whole density
    mean: FloatArray
    covariance: FloatArray
    # the share of the density that lies within three std of a mode: a perfect sampler's share
    share_in_modes: float
    # left, right, bottom and top of a picture that holds practically all of the density
    extent: tuple[float, float, float, float]
    arrays: TargetArrays  # the same for the kernels

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
        from gbuq_core.sampling.langevin_kernels import label_modes  # drawing needs no kernel

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
        sectors = []
        for low, high in zip(self.arrays.edges[:-1], self.arrays.edges[1:], strict=True):
            turn = np.linspace(low, high, n_points // 2)
            arc = np.stack([np.cos(turn), np.sin(turn)], axis=1)
            inner, outer = radius - MODE_STDS * std, radius + MODE_STDS * std
            sectors.append(np.concatenate([outer * arc, inner * arc[::-1]]))
        return sectors


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
        sectors = []
        for low, high in zip(self.arrays.edges[:-1], self.arrays.edges[1:], strict=True):
            x = np.linspace(low, high, n_points // 2)
            middle = np.stack([x, height * np.cos(frequency * x)], axis=1)
            above = np.array([0.0, MODE_STDS * std])
            sectors.append(np.concatenate([middle + above, (middle - above)[::-1]]))
        return sectors


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


def gaussian_mixture(
    means: ArrayLike,
    covariances: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    name: str = "mixture",
    label: str = "Gaussian mixture",
    extent: tuple[float, float, float, float] | None = None,
) -> GaussianMixture:
    """A mixture of Gaussians of one's own as a target for `sample_mixture`.

    ``weights`` of the target are those given: exact as shares of the modes where their ellipses of
    three std do not overlap and have little of another mode's mass.
    """
    centres = check_array("means", means, 2)
    m = len(centres)
    if centres.shape[1] != 2 or m > _MAX_MODES:
        raise InvalidData(
            f"means must have two columns and at most {_MAX_MODES} rows; got shape {centres.shape}."
        )
    matrices = _covariances(covariances, m)
    shares = np.ones(m) if weights is None else check_array("weights", weights, 1)
    if shares.shape != (m,) or shares.min() <= 0:
        raise InvalidData(f"weights must be {m} positive numbers, one for each mean.")
    shares = shares / shares.sum()
    precisions = np.linalg.inv(matrices)
    log_norms = -0.5 * np.linalg.slogdet(matrices)[1] - math.log(2.0 * math.pi)
    mean = shares @ centres
    offsets = centres - mean
    spread = np.einsum("m,mij->ij", shares, matrices)
    stds = np.sqrt(np.diagonal(matrices, axis1=1, axis2=2))
    low, high = (centres - 5.0 * stds).min(axis=0), (centres + 5.0 * stds).max(axis=0)
    return GaussianMixture(
        name=name,
        label=label,
        modes=centres.copy(),
        mode_std=float(np.sqrt(np.trace(spread) / 2.0)),
        weights=shares,
        mean=mean,
        covariance=spread + np.einsum("m,mi,mj->ij", shares, offsets, offsets),
        share_in_modes=_INSIDE_2D,
        extent=extent or (float(low[0]), float(high[0]), float(low[1]), float(high[1])),
        arrays=TargetArrays(
            kind=MIXTURE,
            means=centres.copy(),
            precisions=np.ascontiguousarray(precisions.reshape(m, 4)[:, [0, 1, 3]]),
            log_weights=np.log(shares) + log_norms,
            numbers=np.zeros(1),
            edges=np.zeros(m + 1),
        ),
    )


def ring(radius: float = 3.0, std: float = 0.25, n_sectors: int = 12) -> Ring:
    """A ring of one's own; moments in closed form from those of a truncated normal."""
    r = check_number("radius", radius, 0, 1e3, low_open=True)
    s = check_number("std", std, 0, r / MODE_STDS, low_open=True)
    n = check_number("n_sectors", n_sectors, 2, _MAX_MODES, integer=True)
    edges = np.linspace(-math.pi, math.pi, n + 1)
    middle = 0.5 * (edges[:-1] + edges[1:])
    first, second = radial_moments(r, s)
    reach = r + 6.0 * s
    # The mass of the band: of the density r exp(-z^2/2) over z within three std.
    in_band = s * math.sqrt(2.0 * math.pi) * r * _INSIDE_1D / first
    return Ring(
        name="ring",
        label="Ring",
        modes=r * np.stack([np.cos(middle), np.sin(middle)], axis=1),
        mode_std=s,
        weights=np.full(n, 1.0 / n),
        mean=np.zeros(2),
        covariance=0.5 * second / first * np.eye(2),
        share_in_modes=in_band,
        extent=(-reach, reach, -reach, reach),
        arrays=_bent(RING, np.array([r, s]), edges),
    )


def banana(
    spread: float = 1.5,
    height: float = 2.0,
    frequency: float = 0.7,
    std: float = 0.5,
    n_regions: int = 5,
) -> Banana:
    """A banana of one's own; moments in closed form from the normal's characteristic function."""
    a = check_number("spread", spread, 0, 1e3, low_open=True)
    b = check_number("height", height, 0, 1e3)
    w = check_number("frequency", frequency, 0, 1e3, low_open=True)
    s = check_number("std", std, 0, 1e3, low_open=True)
    n = check_number("n_regions", n_regions, 2, _MAX_MODES, integer=True)

    def stretch(shares: FloatArray) -> FloatArray:
        """Where x has these shares of what lies within three std."""
        below = ndtr(-MODE_STDS)
        return np.asarray(a * ndtri(below + shares * (1.0 - 2.0 * below)))

    centres = stretch((np.arange(n) + 0.5) / n)
    # E cos(w x) = exp(-w^2 a^2 / 2) and cos^2 = (1 + cos 2 w x) / 2; cos is even, x odd.
    mean_y = b * math.exp(-0.5 * (w * a) ** 2)
    square_y = 0.5 * b**2 * (1.0 + math.exp(-2.0 * (w * a) ** 2)) + s**2
    reach = 4.0 * a
    return Banana(
        name="banana",
        label="Banana",
        modes=np.stack([centres, b * np.cos(w * centres)], axis=1),
        mode_std=s,
        weights=np.full(n, 1.0 / n),
        mean=np.array([0.0, mean_y]),
        covariance=np.diag([a**2, square_y - mean_y**2]),
        share_in_modes=_INSIDE_1D**2,
        extent=(-reach, reach, -b - 5.0 * s, b + 5.0 * s),
        arrays=_bent(BANANA, np.array([a, b, w, s]), stretch(np.arange(n + 1) / n)),
    )


def find_target(target: str | Target) -> Target:
    """The target of a name out of `TARGETS`; a target itself as it is."""
    if isinstance(target, Target):
        return target
    if not isinstance(target, str):
        raise InvalidParameter(f"target must be a name or a Target; got {target!r}.")
    return TARGETS[check_choice("target", target, list(TARGETS))]


def _covariances(covariances: ArrayLike, m: int) -> FloatArray:
    """One positive definite matrix (2, 2) for each of ``m`` modes."""
    array = np.asarray(covariances)
    matrices = check_array("covariances", array[None] if array.ndim == 2 else array, 3)
    if matrices.shape not in ((1, 2, 2), (m, 2, 2)):
        raise InvalidData(f"covariances must have shape (2, 2) or ({m}, 2, 2); got {array.shape}.")
    symmetric = np.array_equal(matrices, np.swapaxes(matrices, 1, 2))
    if not symmetric or np.linalg.eigvalsh(matrices).min() <= 0:
        raise InvalidData("Each covariance must be symmetric and positive definite.")
    return np.broadcast_to(matrices, (m, 2, 2))


def _bent(kind: int, numbers: FloatArray, edges: FloatArray) -> TargetArrays:
    """Arrays of a target that is no mixture."""
    m = len(edges) - 1
    return TargetArrays(kind, np.zeros((m, 2)), np.zeros((m, 3)), np.zeros(m), numbers, edges)


_GRID = np.array([(x, y) for x in (-4, -2, 0, 2, 4) for y in (-4, -2, 0, 2, 4)], dtype=np.float64)

TARGETS: Mapping[str, Target] = MappingProxyType(
    {
        "gaussians25": gaussian_mixture(
            _GRID, 0.03 * np.eye(2), name="gaussians25", label="25 Gaussians", extent=(-6, 6, -6, 6)
        ),
        "ring": ring(),
        "banana": banana(),
        "two_modes": gaussian_mixture(
            [[-1.2, 0.0], [1.2, 0.0]],
            0.0625 * np.eye(2),
            [0.8, 0.2],
            name="two_modes",
            label="Two unequal modes",
            extent=(-4, 4, -4, 4),
        ),
        "gaussian": gaussian_mixture(
            [[1.0, -0.5]],
            [[1.0, 0.6], [0.6, 0.8]],
            name="gaussian",
            label="One Gaussian",
            extent=(-4, 6, -5.5, 4.5),
        ),
    }
)
