"""A small Gaussian process with one length and bend a feature: the voice for what is smooth.

Matern 5/2, lengths and noise by the marginal likelihood of at most 500 rows (Rasmussen and
Williams, equations 2.23 to 2.25, 5.8 and 5.9). More rows speak through these (Snelson and
Ghahramani 2006, equations 8 and 9). Several targets share one set of lengths and one covariance.
Each axis is bent first (Snoek, Swersky, Zemel and Adams 2014), by a curve of one parameter, unless
there are more axes than rows.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, cholesky, eigh, qr, solve_triangular
from scipy.linalg.lapack import dpotri
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from gbuq_core.jobs import advance, stage
from gbuq_core.model_files.contents import check_arrays, require
from gbuq_core.parallel import one_blas_thread

FloatArray = NDArray[np.float64]

MOST_ROWS = 500
MOST_FOLLOWED = 6000  # rows: their matrix takes 288 MB
_STEPS = 20  # early: longer ones grow the signal, and with it the law beyond the rows
_SIGNAL, _NOISE, _LENGTH = (1e-2, 1e3), (1e-7, 1e1), (1e-1, 1e3)
_BEND = 5.0  # at most: its slopes are then e^5 times as steep at one end as at the other
_USUAL_BEND = 0.2  # the scale of the bends' Cauchy prior: most axes are straight, a few are not
_STEEP = 4.0  # times the latent variance gained beyond the box counts, up to what is usual
_FARTHER = 0.5  # stds that a mean may go beyond the training targets
_BLOCK = 192  # rows at a time: products of one shape have one order of sums
_ROWS = 2000  # rows at a time while they are learnt from
_JITTER = 1e-10  # of the signal, at most: on the points that more rows speak through
_ROOT_5 = math.sqrt(5.0)


class Process(NamedTuple):
    """A fitted process; targets and their variances are in stds of y."""

    used: NDArray[np.bool_]  # (n_axes,): the axes that vary in training
    low: FloatArray  # (n_used,): the box of the training rows
    high: FloatArray
    lengths: FloatArray  # (n_used,)
    bends: FloatArray  # (3, n_used): least value and range of the points, and how the axis is bent
    points: FloatArray  # (n, n_used), bent, over the lengths: the rows that these were learnt from
    half: FloatArray  # (n, n): the latent variance is signal - |half k|^2, k to the points
    weights: FloatArray  # (n or n_rows, n_targets): of what the mean follows
    signal: float
    noise: float
    usual: float  # the latent variance that a share of the left-out rows stay below
    most: float  # and that of the left-out row with most
    reach: FloatArray  # (2, n_targets): least and greatest mean, just beyond the training targets
    rows: (
        FloatArray  # (n_rows, n_used): as the points, rows whose targets the mean follows; or none
    )

    def check_file(self) -> None:
        """Refuse parts that do not go together."""
        n, p = self.points.shape if self.points.ndim == 2 else (0, 0)
        check_arrays(
            self, used=(bool, None), points=("finite", n, p), half=("finite", n, n),
            lengths=("finite", p), low=("finite", p), high=("finite", p), bends=("finite", 3, p),
            weights=("finite", len(self.rows) or n, None), reach=("finite", 2, None),
            rows=("finite", None, p),
        )  # fmt: skip
        numbers = np.isfinite([self.signal, self.noise, self.usual, self.most]).all()
        positive = (self.lengths > 0.0).all() and (self.bends[1] > 0.0).all()
        require(
            n >= 1 and self.used.sum() == p and numbers and positive,
            "its process is impossible",
        )

    def predict(self, axes: NDArray[Any]) -> tuple[FloatArray, FloatArray]:
        """Mean (n, n_targets) and latent variance (n,) of rows (n, n_axes)."""
        return self._at(np.asarray(axes[:, self.used], np.float64))

    def leave(
        self, axes: NDArray[Any], mean: FloatArray, latent: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """What rows add to their latent variance by leaving the training rows, and to their mean.

        The excess (n,) is what is above all left-out rows; beyond the training box already what is
        above the usual, as far as leaving the box has added it. The step (n,) is what the mean does
        from the nearest place of the box.
        """
        rows = np.asarray(axes[:, self.used], np.float64)
        inside = np.clip(rows, self.low, self.high)
        moved = np.flatnonzero((inside != rows).any(axis=1))
        excess = np.maximum(latent - self.most, 0.0)
        step = np.zeros(len(rows))
        if len(moved):
            edge, before = self._at(inside[moved])
            step[moved] = mean[moved] - edge[:, 0]
            added = _STEEP * np.maximum(latent[moved] - before, 0.0)
            above = np.maximum(latent[moved] - self.usual, 0.0)
            excess[moved] = np.maximum(excess[moved], np.minimum(added, above))
        return excess, step

    def lean(
        self, mean: FloatArray, latent: FloatArray, excess: FloatArray, other: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Mean and latent variance (n,) with another prior mean beyond the rows, (n,) too.

        Far from all rows a process answers with its prior: the mean of all targets, and a signal
        that may be larger than their variance. In its place come the other mean and at most this
        variance, in so far as the latent variance is the excess.
        """
        most = min(self.signal, 1.0)
        tighter = 1.0 + latent * (1.0 / most - 1.0 / self.signal)
        there = np.clip((mean + latent / most * other) / tighter, *self.reach[:, 0])
        away = excess / np.maximum(latent, 1e-300)
        return mean + away * (there - mean), latent + away * (latent / tighter - latent)

    def _at(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        mean = np.empty((len(rows), self.weights.shape[1]))
        variance = np.empty(len(rows))
        block = np.zeros((_BLOCK, rows.shape[1]))
        with one_blas_thread():
            for start in range(0, len(rows), _BLOCK):
                n = min(_BLOCK, len(rows) - start)
                block[:n] = rows[start : start + n]
                bent = bend(block, self.bends)[0] / self.lengths
                across = self.signal * _matern(cdist(bent, self.points))
                known = across
                if len(self.rows):
                    known = self.signal * _matern(cdist(bent, self.rows))
                mean[start : start + n] = np.clip((known @ self.weights)[:n], *self.reach)
                left = self.signal - np.square(across @ self.half.T).sum(axis=1)
                variance[start : start + n] = np.maximum(left[:n], 0.0)
                advance(0.0)
        return mean, variance


def fit_process(
    axes: NDArray[Any], targets: FloatArray, weight: FloatArray | None = None, usual: float = 0.5
) -> Process:
    """Learn lengths, bends, signal, noise from rows (n, n_axes), targets (n, n_targets) in stds.

    A row of weight w has the noise of the mean of w rows. ``usual`` is the share of left-out rows
    whose latent variance is the usual.
    """
    rows = np.asarray(axes, np.float64)
    used = np.ptp(rows, axis=0) > 0.0
    rows = rows[:, used]
    noisy = np.ones(len(rows)) if weight is None else 1.0 / np.maximum(weight, 1e-3)
    n_used = rows.shape[1]
    n_bent = n_used if n_used <= len(rows) else 0  # few rows show of many axes no bends
    bounds = [*np.log([_SIGNAL, _NOISE, *[_LENGTH] * n_used]), *[(-_BEND, _BEND)] * n_bent]
    start = np.zeros(2 + n_used + n_bent)
    start[1] = math.log(0.1)
    start[2 : 2 + n_used] = math.log(max(1.0, math.sqrt(n_used / 4.0)))
    with one_blas_thread(), stage(_STEPS + 1.0):
        theta = minimize(
            negative_likelihood, start, (rows, targets, noisy), "L-BFGS-B", jac=True,
            bounds=bounds, options={"maxiter": _STEPS}, callback=lambda _: advance(1.0),
        ).x  # fmt: skip
        signal, noise = (float(value) for value in np.exp(theta[:2]))
        lengths = np.exp(theta[2 : 2 + n_used])
        bent = np.pad(theta[2 + n_used :], (0, n_used - n_bent))
        bends = np.stack([rows.min(axis=0), np.ptp(rows, axis=0), bent])
        points = bend(rows, bends)[0] / lengths
        covariance = signal * _matern(cdist(points, points))
        covariance[np.diag_indices_from(covariance)] += noise * noisy
        lower = cholesky(covariance, lower=True, check_finite=False)
        half = solve_triangular(lower, np.eye(len(rows)), lower=True, check_finite=False)
        weights = half.T @ (half @ targets)
    # Each row without itself (Rasmussen and Williams, equation 5.12), less its own noise.
    left_out = np.clip(1.0 / np.square(half).sum(axis=0) - noise * noisy, 0.0, signal)
    return _finish(
        Process(used, rows.min(axis=0), rows.max(axis=0), lengths, bends, points, half, weights,
                signal, noise, 0.0, 0.0, np.empty((2, 0)), points[:0]),
        targets, left_out, usual,
    )  # fmt: skip


def condition(
    process: Process, axes: NDArray[Any], targets: FloatArray, weight: FloatArray | None = None,
    usual: float = 0.5,
) -> Process:  # fmt: skip
    """What a process says after more rows (n, n_axes), with lengths, bends and points as they are.

    Given the function at the points the rows are independent, each with the variance that these
    leave it.
    """
    rows = np.asarray(axes[:, process.used], np.float64)
    points, signal, noise = process.points, process.signal, process.noise
    noisy = np.full(len(rows), noise) if weight is None else noise / np.maximum(weight, 1e-3)
    with one_blas_thread():
        among = signal * _matern(cdist(points, points))
        among[np.diag_indices_from(among)] += min(noise, _JITTER * signal)
        lower = cholesky(among, lower=True, check_finite=False)
        seen = np.empty((len(rows), len(points)))  # the rows as sums of independent parts
        for start in range(0, len(rows), _ROWS):
            bent = bend(rows[start : start + _ROWS], process.bends)[0] / process.lengths
            across = signal * _matern(cdist(points, bent))
            seen[start : start + _ROWS] = solve_triangular(
                lower, across, lower=True, check_finite=False, overwrite_b=True
            ).T
            advance(0.0)
        own = np.maximum(signal - np.square(seen).sum(axis=1), 0.0)
        known = (seen / (own + noisy)[:, None]).T
        size, turn = eigh(known @ seen, check_finite=False, overwrite_a=True)
        size = np.maximum(size, 0.0)
        half = turn.T @ solve_triangular(lower, np.eye(len(points)), lower=True, check_finite=False)
        weights = half.T @ ((turn.T @ (known @ targets)) / (1.0 + size)[:, None])
        left = np.square(seen @ (turn / np.sqrt(1.0 + size))).sum(axis=1)
        half = qr(np.sqrt(size / (1.0 + size))[:, None] * half, mode="r", check_finite=False)[0]
    # Each row without itself (Sherman and Morrison): its share in what the points know.
    left_out = np.clip(own + left / np.maximum(1.0 - left / (own + noisy), 1e-12), 0.0, signal)
    return _finish(
        process._replace(low=rows.min(axis=0), high=rows.max(axis=0), half=half, weights=weights),
        targets, left_out, usual,
    )  # fmt: skip


def follow(
    process: Process, axes: NDArray[Any], targets: FloatArray, weight: FloatArray | None = None
) -> Process:
    """A process whose mean is that of these rows (n, n_axes) themselves.

    What it does not know stays as it is through the points: exact variances take n products a row
    and point, and n^2 numbers in memory and files.
    """
    rows = np.asarray(axes[:, process.used], np.float64)
    rows = bend(rows, process.bends)[0] / process.lengths
    noisy = process.noise if weight is None else process.noise / np.maximum(weight, 1e-3)
    covariance = np.empty((len(rows), len(rows)))
    with one_blas_thread():
        for start in range(0, len(rows), _BLOCK):
            stop = start + _BLOCK
            covariance[start:stop, :stop] = _matern(cdist(rows[start:stop], rows[:stop]))
            covariance[start:stop, :stop] *= process.signal
            advance(0.0)
        covariance[np.diag_indices_from(covariance)] += noisy
        # LAPACK goes by columns: the transpose is factored where it is.
        upper = cholesky(covariance.T, overwrite_a=True, check_finite=False)
        weights = cho_solve((upper, False), targets, check_finite=False)
    return process._replace(rows=rows, weights=weights)


def _finish(process: Process, targets: FloatArray, left_out: FloatArray, usual: float) -> Process:
    """A process with what it holds of its rows' targets and left-out latent variances."""
    # Row by row, as a file gives them back: products of another order of memory differ in bits.
    return process._replace(
        points=np.ascontiguousarray(process.points), half=np.ascontiguousarray(process.half),
        usual=float(np.quantile(left_out, usual)), most=float(left_out.max()),
        reach=np.stack([targets.min(axis=0) - _FARTHER, targets.max(axis=0) + _FARTHER]),
    )  # fmt: skip


def negative_likelihood(
    theta: FloatArray, rows: FloatArray, targets: FloatArray, noisy: FloatArray
) -> tuple[float, FloatArray]:
    """Minus the log marginal likelihood and the bends' log prior but for a constant; its gradient.

    theta holds the logs of signal, noise and lengths, and the bends, of Cauchy prior, if any axis
    is bent; ``noisy`` (n,) times the noise is each row's.
    """
    advance(0.0)
    n_used = rows.shape[1]
    signal, noise, *lengths = np.exp(theta[: 2 + n_used])
    bends = theta[2 + n_used :]
    bent = slopes = rows
    if len(bends):
        bent, slopes = bend(rows, np.stack([rows.min(axis=0), np.ptp(rows, axis=0), bends]))
    scaled = bent / lengths
    far = _distances(_ROOT_5 * scaled)  # from here on in place: new matrices cost more
    decay = np.negative(far)
    np.exp(decay, out=decay)
    decay *= signal
    slope = 1.0 + far
    slope *= decay
    latent = np.square(far, out=far)
    latent *= decay
    latent /= 3.0
    latent += slope
    covariance = latent.copy(order="F")
    covariance[np.diag_indices_from(covariance)] += noise * noisy
    try:
        lower = cholesky(covariance, lower=True, check_finite=False, overwrite_a=True)
    except LinAlgError:
        return 1e25, np.zeros_like(theta)
    weights = cho_solve((lower, True), targets, check_finite=False)
    n_targets = targets.shape[1]
    value = 0.5 * float(np.sum(targets * weights))
    value += n_targets * float(np.log(np.diagonal(lower)).sum())
    value += n_targets * float(np.log1p(np.square(bends / _USUAL_BEND)).sum())
    inverse = dpotri(lower, lower=True, overwrite_c=True)[0]  # a lower triangle
    inverse[np.diag_indices_from(inverse)] *= 0.5
    outer = weights @ weights.T
    if n_targets > 1:
        inverse *= n_targets
    outer -= inverse
    outer -= inverse.T
    # dk/dx_j = -signal 5/3 (1 + sqrt(5) r) exp(-sqrt(5) r) difference j, of axes over the lengths
    slope *= outer
    of_axes = (5.0 / 3.0) * (slope @ scaled - slope.sum(axis=1)[:, None] * scaled)
    of_lengths = -(of_axes * scaled).sum(axis=0)
    of_bends = (of_axes * slopes).sum(axis=0)[: len(bends)] / lengths[: len(bends)]
    of_bends -= n_targets * 2.0 * bends / (_USUAL_BEND**2 + np.square(bends))
    of_noise = 0.5 * noise * (np.diagonal(outer) @ noisy)
    of_signal = 0.5 * float(np.sum(np.multiply(outer, latent, out=latent)))
    return value, -np.concatenate([[of_signal, of_noise], of_lengths, of_bends])


def _distances(points: FloatArray) -> FloatArray:
    """Those between all points (n, n); of many axes by products, in less time."""
    if points.shape[1] <= len(points):
        return cdist(points, points)
    inner = points @ points.T
    squares = np.diagonal(inner)
    far = np.maximum(squares[:, None] + squares - 2.0 * inner, 0.0)
    np.fill_diagonal(far, 0.0)
    return np.sqrt(far, out=far)


def _matern(distance: FloatArray) -> FloatArray:
    """Matern 5/2 at distances over the lengths, in place: a new matrix costs more than its sums."""
    far = np.multiply(distance, _ROOT_5, out=distance)
    decay = np.negative(far)
    np.exp(decay, out=decay)
    bump = np.square(far)
    bump /= 3.0
    far += 1.0
    far += bump
    far *= decay
    return far


def bend(rows: FloatArray, bends: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Rows (n, n_axes) with bent axes, and by how much they move with the bends.

    Of a bend b, z from 0 to 1 in the axis's range becomes log(1 + (e^b - 1) z) / b. Outside the
    range the axis is straight, as steep as at its end but no flatter than unbent.
    """
    low, width, given = bends
    b = np.where(np.abs(given) < 1e-7, 1e-7, given)
    z = (rows - low) / width
    inside = np.clip(z, 0.0, 1.0)
    grown = np.expm1(b)
    part = 1.0 + grown * inside
    bent = np.log1p(grown * inside) / b
    slopes = (inside * np.exp(b) / part - bent) / b
    bent += np.minimum(z, 0.0) * np.maximum(grown / b, 1.0)
    bent += np.maximum(z - 1.0, 0.0) * np.maximum(-np.expm1(-b) / b, 1.0)
    return width * bent, width * slopes
