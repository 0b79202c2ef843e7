"""Three uncertainties on a line: what Home refits whenever its slider moves.

An ensemble of SGLB models (Malinin, Prokhorenkova and Ustimenko, "Uncertainty in gradient boosting
via ensembles", eq. 6 and 11-12), small enough to be fitted within a few hundredths of a second.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from gbuq_core.experiments.opening import Opening
from gbuq_core.experiments.python_text import arguments_text, call_lines
from gbuq_core.experiments.wave.plan import ENSEMBLE, WaveSettings
from gbuq_core.presentation import short
from gbuq_core.settings import arguments
from gbuq_core.synthetic import WaveData, make_wave
from gbuq_core.uncertainty import Uncertainty, decompose_regression

Array = npt.NDArray[np.float64]

N_STD = 2.0  # half the width of the bands, in standard deviations
NOMINAL_COVERAGE = float(ndtr(N_STD) - ndtr(-N_STD))


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
    """Training rows with the truth, estimates on the grid, and scores."""

    settings: WaveSettings
    data: WaveData
    loc: Array  # (70,): the predicted mean on the grid
    uncertainty: Uncertainty  # variances on the grid
    scores: WaveScores
    fit_seconds: float  # NaN where nothing was fitted here, as `memory_bytes` is None
    memory_bytes: int | None

    @property
    def x(self) -> Array:
        """The grid, (70,)."""
        return self.data.grid[:, 0]


def run_wave(settings: WaveSettings | None = None) -> WaveRun:
    """Draw the rows, fit the ensemble and predict on the grid."""
    settings = WaveSettings() if settings is None else settings
    from gbuq_core.boosting import BoostedEnsembleRegressor

    wave = _rows(settings)
    model = BoostedEnsembleRegressor(**ENSEMBLE, random_state=settings.seed).fit(wave.X, wave.y)
    members = model.predict_members(wave.grid)
    loc = members[..., 0].mean(axis=0)
    uncertainty = decompose_regression(members[..., 0], members[..., 1])
    return WaveRun(
        settings=settings,
        data=wave,
        loc=loc,
        uncertainty=uncertainty,
        scores=_scores(loc, uncertainty, wave),
        fit_seconds=model.fit_seconds_,
        memory_bytes=model.memory_bytes_,
    )


def _rows(settings: WaveSettings) -> WaveData:
    return make_wave(**arguments(settings))


OPENING = Opening(
    name="wave",
    kind=WaveRun,
    make=run_wave,
    plans=lambda: [WaveSettings(rows=100)],
    afresh=lambda plan: {"data": _rows(plan), "fit_seconds": math.nan, "memory_bytes": None},
)


def describe_wave(run: WaveRun) -> str:
    """The picture in words, from its numbers."""
    plenty, rare, beyond, coverage = run.scores
    x_rare, x_seen = run.x[run.data.is_rare], run.x[run.data.in_support]
    return (
        f"A prediction from {run.settings.rows:,} training rows over x from {run.x[0]:g} to "
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


def wave_code(settings: WaveSettings) -> str:
    """Python that computes the run with the library's public names, for copying."""
    given, usual = arguments(settings), arguments(WaveSettings())
    moved = {
        name: round(given[name], 1)
        for name in ("rare_from", "rare_width")
        if given[name] != usual[name]
    }
    rows = {name: given[name] for name in ("n", "random_state")} | moved
    model = call_lines("BoostedEnsembleRegressor", {**ENSEMBLE, "random_state": settings.seed})
    return "\n".join(
        [
            "from gbuq_core import BoostedEnsembleRegressor",
            "from gbuq_core.synthetic import make_wave",
            "",
            f"wave = make_wave({arguments_text(rows)})",
            f"model = {model[0]}",
            *model[1:-1],
            ").fit(wave.X, wave.y)",
            "",
            "prediction = model.predict(wave.grid)",
            "total, data, knowledge = model.predict_uncertainty(wave.grid)  # variances",
            "",
        ]
    )


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
