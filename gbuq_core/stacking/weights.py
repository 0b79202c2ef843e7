"""Weights of voices: expectation maximisation on rows that no voice has seen, and a gate.

Yao, Vehtari, Simpson and Gelman (2018), equation 4: the weights that maximise the log score of
left-out rows. They are found by EM with a Dirichlet prior towards the trees.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from gbuq_core.calibration.splits import N_FOLDS
from gbuq_core.jobs import advance, stage
from gbuq_core.stacking.voices import Component

FloatArray = NDArray[np.float64]

_PRIOR = 0.02  # of the rows are added to the trees' count
_STEPS, _GATE_STEPS = 300, 80
_LEAST = 2e-3  # a component with less weight is left out


class Judged(NamedTuple):
    """What the components say of rows that no voice has seen."""

    masses: FloatArray  # (n_components, n): probability of each target at the resolution
    cdfs: FloatArray  # (n_components, n_few, n_points): of the first rows, on one grid
    ahead: FloatArray  # (n_few, n_points): 1 from the target on
    widths: FloatArray  # (n_points,): what each point of the grid stands for, in units of y
    fold: NDArray[np.int64]  # (n,)
    weight: FloatArray  # (n,)

    def take(self, rows: NDArray[np.bool_]) -> Judged:
        """What they say of some rows (n,)."""
        few = rows[: len(self.ahead)]
        return Judged(
            self.masses[:, rows], self.cdfs[:, few], self.ahead[few], self.widths, self.fold[rows],
            self.weight[rows],
        )  # fmt: skip

    def log_scores(self, weights: FloatArray) -> FloatArray:
        """Of the mixture with weights (n_components, n), (n,)."""
        return -np.log((weights * self.masses).sum(axis=0))

    def crps(self, weights: FloatArray) -> FloatArray:
        """Of the first rows, (n_few,)."""
        law = np.zeros(self.ahead.shape)
        for weight, cdf in zip(weights, self.cdfs, strict=True):
            if weight.any():
                law += weight[: len(law), None] * cdf
        return np.square(law - self.ahead) @ self.widths


def expect_weights(masses: FloatArray, weight: FloatArray, n_steps: int = _STEPS) -> FloatArray:
    """Weights (n_components,) that sum to 1; the first component is the trees."""
    weights = np.full(len(masses), 1.0 / len(masses))
    prior = np.full(len(masses), 1e-3)
    prior[0] = _PRIOR * weight.sum()
    for _ in range(n_steps):
        share = weights[:, None] * masses
        share /= share.sum(axis=0)
        weights = share @ weight + prior
        weights /= weights.sum()
    return weights


def choose_weights(
    components: Sequence[Component], judged: Judged
) -> tuple[FloatArray, tuple[str, ...]]:
    """Weights (n_components,) of the voices that enter, and which enter, in this order.

    A voice enters if it improves the log score or the CRPS by more than one paired standard error,
    and worsens neither by more. Both are those of weights learnt on the other folds.
    """
    names = np.array([way.voice for way in components])
    folds = _at_least_two(judged.fold)

    def scores(voices: list[str]) -> tuple[FloatArray, FloatArray]:
        chosen = np.isin(names, voices)
        weights = np.zeros(judged.masses.shape)
        for fold in np.unique(folds):
            rest = folds != fold
            learnt = expect_weights(
                judged.masses[np.ix_(chosen, rest)], judged.weight[rest], _GATE_STEPS
            )
            weights[np.ix_(chosen, ~rest)] = learnt[:, None]
            advance(0.0)
        return judged.log_scores(weights), judged.crps(weights)

    entered = ["trees"]
    best = scores(entered)
    few = len(judged.ahead)
    while left := [voice for voice in dict.fromkeys(names.tolist()) if voice not in entered]:
        better = []
        for voice in left:
            new = scores([*entered, voice])
            gains = [
                paired_gain(old - now, judged.weight[:n])
                for old, now, n in zip(best, new, (len(judged.weight), few), strict=True)
            ]
            if max(gains) > 1.0 and min(gains) >= -1.0:
                better.append((max(gains), voice, new))
        if not better:
            break
        _, voice, best = max(better, key=lambda item: item[0])
        entered.append(voice)
    weights = np.zeros(len(components))
    chosen = np.isin(names, entered)
    weights[chosen] = expect_weights(judged.masses[chosen], judged.weight)
    weights[weights < _LEAST] = 0.0
    return weights / weights.sum(), tuple(entered)


def choose_mean_weights(
    means: FloatArray, y: FloatArray, fold: NDArray[np.int64], weight: FloatArray
) -> FloatArray:
    """Weights (n_voices,) of the voices' means (n, n_voices) by squared error.

    Those of the trees alone, unless others are better by t > 1 paired standard errors with weights
    learnt on the other folds: then these are drawn towards the trees by ``1 / t^2``. NaN marks a
    voice that is not in use.
    """
    alone = np.zeros(means.shape[1])
    alone[0] = 1.0
    used = ~np.isnan(means).any(axis=0)
    if used.sum() < 2:
        return alone

    def learn(rows: NDArray[np.bool_]) -> FloatArray:
        root = np.sqrt(weight[rows])
        away = (means[rows][:, used] - means[rows, :1]) * root[:, None]
        gap = (y[rows] - means[rows, 0]) * root
        # The trees take what the others leave.
        answer = nnls(away[:, 1:], gap)[0]
        answer /= max(1.0, answer.sum())
        out = np.zeros(means.shape[1])
        out[used] = [1.0 - answer.sum(), *answer]
        return out

    fold = _at_least_two(fold)
    error = np.empty(len(y))
    known = np.nan_to_num(means)
    for number in np.unique(fold):
        held = fold == number
        error[held] = np.square(y[held] - known[held] @ learn(~held))
    gain = paired_gain(np.square(y - means[:, 0]) - error, weight)
    if gain <= 1.0:
        return alone
    return alone + (1.0 - gain**-2) * (learn(np.ones(len(y), bool)) - alone)


def _at_least_two(fold: NDArray[np.int64]) -> NDArray[np.int64]:
    """The folds (n,), or others where all rows are in one: no voice has seen the rows anyway."""
    return fold if len(np.unique(fold)) != 1 else np.arange(len(fold)) % N_FOLDS


def paired_gain(gain: FloatArray, weight: FloatArray) -> float:
    """A mean gain (n,) in its standard errors."""
    total = weight.sum()
    mean = float(weight @ gain / total)
    error = float(np.sqrt(np.square(weight * (gain - mean)).sum()) / total)
    return mean / error if error > 0.0 else 0.0


def judge(
    cdf: Callable[[int, FloatArray], FloatArray],
    n_components: int,
    y: FloatArray,
    resolution: float,
    points: FloatArray,
    widths: FloatArray,
    fold: NDArray[np.int64],
    weight: FloatArray,
    n_few: int,
) -> Judged:
    """Ask all components: ``cdf(k, points (n', m))`` of the first n' rows."""
    ends = np.stack([y - 0.5 * resolution, y + 0.5 * resolution], axis=1)
    grid = np.broadcast_to(points, (n_few, len(points)))
    masses = np.empty((n_components, len(y)))
    cdfs = np.empty((n_components, *grid.shape))
    with stage(n_components):
        for k in range(n_components):
            below = cdf(k, ends)
            masses[k] = np.maximum(below[:, 1] - below[:, 0], 1e-12)
            cdfs[k] = cdf(k, grid)
            advance(1.0)
    ahead = (points >= y[:n_few, None]).astype(np.float64)
    return Judged(masses, cdfs, ahead, widths, fold, weight)
