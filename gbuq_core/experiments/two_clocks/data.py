"""The rows of Two clocks: some to train on, others that score, and what the picture is drawn over.

The rows that choose the clocks are training rows, held out in folds. The rows that score have
chosen nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gbuq_core.experiments.two_clocks.plan import N_DRAWN, N_SCORED, TwoClocksSettings
from gbuq_core.synthetic import (
    CurveData,
    WaveData,
    make_friedman,
    make_heteroscedastic,
    make_wave,
)

Array = NDArray[np.float64]
SLOPE = 0.1  # std of growing noise per unit of x, at noise 1
_MARGIN = 2.0  # of growing noise: how far beyond its rows the picture goes


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What the band is drawn over."""

    X: Array  # (n_points, n_features): the points
    x: Array  # (n_points,): where they stand: the feature's value, or a row's rank
    label: str  # of the x axis
    # `mean`, `std`: (n_points,): the truth; None for a real table
    mean: Array | None
    std: Array | None
    # `x_rows`, `y_rows`: (n_rows,): rows that were not trained on, as dots: rows that score, and of
    # five features new rows on the line that is drawn
    x_rows: Array
    y_rows: Array
    gaps: tuple[tuple[float, float], ...] = ()  # stretches of x without training rows


@dataclass(frozen=True, kw_only=True)
class ClockRows:
    """Rows to train on, rows that score with their truth if it is known, and the scene."""

    X: Array
    y: Array
    X_scored: Array
    y_scored: Array
    mean_scored: Array | None
    std_scored: Array | None
    scene: Scene


def rows_of(plan: TwoClocksSettings) -> ClockRows:
    """Draw or load the rows of a plan."""
    makers = {
        "five features": _five_features,
        "growing noise": _growing_noise,
        "wave": _wave,
        "diabetes": _diabetes,
    }
    return makers[plan.data](plan)


def _five_features(plan: TwoClocksSettings) -> ClockRows:
    rows = make_friedman(plan.rows, plan.noise, random_state=plan.seed)
    scored = make_friedman(N_SCORED, plan.noise, random_state=[plan.seed, 2])
    # A line through the middle of the cube along the fourth feature, and new rows on it.
    line = np.full((N_DRAWN, 5), 0.5)
    line[:, 3] = np.linspace(0.0, 1.0, N_DRAWN)
    mean = 10.0 * math.sin(math.pi / 4.0) + 10.0 * line[:, 3] + 2.5
    std = 2.0 * plan.noise * line[:, 3]
    normals = np.random.default_rng([plan.seed, 3]).normal(size=N_DRAWN)
    return ClockRows(
        X=rows.X,
        y=rows.y,
        X_scored=scored.X,
        y_scored=scored.y,
        mean_scored=scored.mean,
        std_scored=np.sqrt(scored.variance),
        scene=Scene(
            X=line,
            x=line[:, 3],
            label="fourth feature (the other four are 0.5)",
            mean=mean,
            std=std,
            x_rows=line[:, 3],
            y_rows=mean + std * normals,
        ),
    )


def _growing_noise(plan: TwoClocksSettings) -> ClockRows:
    slope = SLOPE * plan.noise
    rows = make_heteroscedastic(plan.rows, slope, random_state=plan.seed)
    scored: CurveData = make_heteroscedastic(N_SCORED, slope, random_state=[plan.seed, 2])
    x = scored.grid[:, 0]
    seen = (x >= -_MARGIN) & (x <= 10.0 + _MARGIN)
    gaps = ((-_MARGIN, 0.0), (10.0, 10.0 + _MARGIN))
    return _curve(rows, scored, scored.row_mean, np.sqrt(scored.row_variance), seen, gaps)


def _wave(plan: TwoClocksSettings) -> ClockRows:
    rows = make_wave(plan.rows, plan.noise, random_state=plan.seed)
    scored = make_wave(N_SCORED, plan.noise, random_state=[plan.seed, 2])
    x = scored.grid[:, 0]
    place, std = np.searchsorted(x, scored.X[:, 0]), np.sqrt(scored.variance)
    gap = float(x[scored.in_support][-1]) + 0.05, float(x[-1])
    return _curve(rows, scored, scored.mean[place], std[place], np.isfinite(x), (gap,))


def _curve(
    rows: CurveData | WaveData,
    scored: CurveData | WaveData,
    mean: Array,
    std: Array,
    seen: NDArray[np.bool_],
    gaps: tuple[tuple[float, float], ...],
) -> ClockRows:
    """Rows of a curve with the truth of those that score, over the places that are seen."""
    return ClockRows(
        X=rows.X,
        y=rows.y,
        X_scored=scored.X,
        y_scored=scored.y,
        mean_scored=mean,
        std_scored=std,
        scene=Scene(
            X=scored.grid[seen],
            x=scored.grid[seen, 0],
            label="x",
            mean=scored.mean[seen],
            std=np.sqrt(scored.variance[seen]),
            x_rows=scored.X[:, 0],
            y_rows=scored.y,
            gaps=gaps,
        ),
    )


def _diabetes(plan: TwoClocksSettings) -> ClockRows:
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True, scaled=False)
    order = np.random.default_rng([plan.seed, 5]).permutation(len(y))
    train, scored = order[: plan.n_rows], order[plan.n_rows :]
    drawn = scored[np.argsort(y[scored], kind="stable")]
    rank = np.arange(1.0, len(scored) + 1.0)
    return ClockRows(
        X=X[train],
        y=y[train],
        X_scored=X[scored],
        y_scored=y[scored],
        mean_scored=None,
        std_scored=None,
        scene=Scene(
            X=X[drawn],
            x=rank,
            label="patients that score, in the order of their target",
            mean=None,
            std=None,
            x_rows=rank,
            y_rows=y[drawn],
        ),
    )
