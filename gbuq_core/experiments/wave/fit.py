"""Three uncertainties on a line: what Home refits whenever its slider moves.

An ensemble of SGLB models (Malinin, Prokhorenkova and Ustimenko, "Uncertainty in gradient boosting
via ensembles", eq. 6 and 11-12), small enough to be fitted within a few hundredths of a second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from gbuq_core.boosting import BoostedEnsembleRegressor
from gbuq_core.presentation import short
from gbuq_core.synthetic import WaveData, make_wave
from gbuq_core.synthetic.wave import RARE_END, RARE_FROM, RARE_WIDTH
from gbuq_core.uncertainty import Uncertainty, decompose_regression

Array = npt.NDArray[np.float64]

N_STD = 2.0  # half the width of the bands, in standard deviations
NOMINAL_COVERAGE = float(ndtr(N_STD) - ndtr(-N_STD))


class WaveConfig(NamedTuple):
    """The settings of the wave; rows are rare between ``rare_from`` and ``rare_width`` further.

    The temperature of posterior sampling, 1, is for models as free as their trees. The sine is
    smoother: at 1 knowledge uncertainty is 1.7 times the prediction's error where rows are
    plentiful and 1.5 times where they are rare. At 2.5 it is 1.5 and 1.2 (means of four seeds).
    """

    n_rows: int = 800
    n_members: int = 20
    n_trees: int = 100
    depth: int = 4
    learning_rate: float = 0.2
    temperature: float = 2.5
    l2: float = 1.0
    random_state: int = 0
    rare_from: float = RARE_FROM
    rare_width: float = RARE_WIDTH

    @property
    def rare(self) -> tuple[float, float]:
        """Both ends of the stretch where rows are rare.

        >>> WaveConfig(rare_from=5.0, rare_width=2.0).rare
        (5.0, 6.0)
        """
        return self.rare_from, min(round(self.rare_from + self.rare_width, 1), RARE_END)


class RegionScores(NamedTuple):
    """Estimate beside truth over one stretch of x, as root means in units of y."""

    # `data`, `true_noise`: data uncertainty and the true standard deviation of the noise
    data: float
    true_noise: float
    # `knowledge`, `error`: knowledge uncertainty and how far the predicted mean really is from the
    # true one
    knowledge: float
    error: float


class WaveScores(NamedTuple):
    """How right the estimates are where rows are plentiful, rare, and where there are none."""

    plenty: RegionScores
    rare: RegionScores
    beyond: RegionScores
    coverage: float  # probability that a new y at a position with rows lies inside the outer band


@dataclass(frozen=True, kw_only=True)
class WaveRun:
    """Training rows, estimates on the grid, the truth, and scores."""

    config: WaveConfig
    X: Array
    y: Array
    x: Array
    loc: Array
    uncertainty: Uncertainty
    true_mean: Array
    true_variance: Array
    in_support: npt.NDArray[np.bool_]
    is_rare: npt.NDArray[np.bool_]
    scores: WaveScores
    fit_seconds: float
    memory_bytes: int


def run_wave(config: WaveConfig | None = None) -> WaveRun:
    """Draw the rows, fit the ensemble and predict on the grid.

    Examples
    --------
    >>> run = run_wave(WaveConfig(n_rows=800))
    >>> run.scores.rare.knowledge > run.scores.plenty.knowledge
    True
    """
    config = WaveConfig() if config is None else config
    wave = make_wave(
        config.n_rows,
        random_state=config.random_state,
        rare_from=config.rare_from,
        rare_width=config.rare_width,
    )
    model = BoostedEnsembleRegressor(
        stopping=None,
        method="sglb",
        n_members=config.n_members,
        n_trees=config.n_trees,
        depth=config.depth,
        learning_rate=config.learning_rate,
        temperature=config.temperature,
        l2=config.l2,
        random_state=config.random_state,
    ).fit(wave.X, wave.y)
    members = model.predict_members(wave.grid)
    loc = members[..., 0].mean(axis=0)
    uncertainty = decompose_regression(members[..., 0], members[..., 1])
    return WaveRun(
        config=config,
        X=wave.X,
        y=wave.y,
        x=wave.grid[:, 0],
        loc=loc,
        uncertainty=uncertainty,
        true_mean=wave.mean,
        true_variance=wave.variance,
        in_support=wave.in_support,
        is_rare=wave.is_rare,
        scores=_scores(loc, uncertainty, wave),
        fit_seconds=model.fit_seconds_,
        memory_bytes=model.memory_bytes_,
    )


def describe_wave(run: WaveRun) -> str:
    """The picture in words, from its numbers.

    Examples
    --------
    >>> describe_wave(run_wave()).startswith("A prediction from 800 training rows over x from 0")
    True
    """
    plenty, rare, beyond, coverage = run.scores
    x_rare, x_seen = run.x[run.is_rare], run.x[run.in_support]
    return (
        f"A prediction from {run.config.n_rows:,} training rows over x from {run.x[0]:g} to "
        f"{run.x[-1]:g}, beside the true curve. Standard deviations, in units of y: where rows "
        f"are plentiful, data uncertainty is {short(plenty.data)} (the true noise is "
        f"{short(plenty.true_noise)}) and knowledge uncertainty {short(plenty.knowledge)} (the "
        f"prediction is off by {short(plenty.error)}). From {x_rare[0]:g} to {x_rare[-1]:g}, where "
        f"rows are rare, they are {short(rare.data)} ({short(rare.true_noise)}) and "
        f"{short(rare.knowledge)} ({short(rare.error)}). Beyond {x_seen[-1]:g}, where there are "
        f"none, knowledge uncertainty is {short(beyond.knowledge)} while the prediction is off by "
        f"{short(beyond.error)}. The outer band holds {100 * coverage:.1f} % of new values at "
        f"positions with rows; {100 * NOMINAL_COVERAGE:.1f} % would be right."
    )


def wave_code(config: WaveConfig) -> str:
    """Python that computes the run with the library's public names, for copying.

    Examples
    --------
    >>> "n_members=20" in wave_code(WaveConfig())
    True
    """
    moved = "" if config.rare_from == RARE_FROM else f", rare_from={config.rare_from:g}"
    moved += "" if config.rare_width == RARE_WIDTH else f", rare_width={config.rare_width:g}"
    return f"""\
from gbuq_core import BoostedEnsembleRegressor
from gbuq_core.synthetic import WaveData, make_wave

wave = make_wave(n={config.n_rows}, random_state={config.random_state}{moved})
model = BoostedEnsembleRegressor(
    stopping=None,
    method="sglb",
    n_members={config.n_members},
    n_trees={config.n_trees},
    depth={config.depth},
    learning_rate={config.learning_rate},
    temperature={config.temperature},
    l2={config.l2},
    random_state={config.random_state},
).fit(wave.X, wave.y)

prediction = model.predict(wave.grid)
total, data, knowledge = model.predict_uncertainty(wave.grid)  # variances
"""


def _scores(loc: Array, uncertainty: Uncertainty, wave: WaveData) -> WaveScores:
    noise = np.sqrt(wave.variance)
    half_width = N_STD * np.sqrt(uncertainty.total)
    inside = ndtr((loc + half_width - wave.mean) / noise)
    inside -= ndtr((loc - half_width - wave.mean) / noise)

    def region(at: npt.NDArray[np.bool_]) -> RegionScores:
        return RegionScores(
            data=_root_mean(uncertainty.data[at]),
            true_noise=_root_mean(wave.variance[at]),
            knowledge=_root_mean(uncertainty.knowledge[at]),
            error=_root_mean((loc - wave.mean)[at] ** 2),
        )

    return WaveScores(
        plenty=region(wave.in_support & ~wave.is_rare),
        rare=region(wave.is_rare),
        beyond=region(~wave.in_support),
        coverage=float(inside[wave.in_support].mean()),
    )


def _root_mean(squares: Array) -> float:
    return float(np.sqrt(squares.mean()))
