"""Rows on a line that end and have a gap, and what each voice of the stacked law says around them.

The law is that of `StackedRegressor` (Yao, Vehtari, Simpson and Gelman 2018).
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from gbuq_core.experiments.opening import Opening
from gbuq_core.presentation import Tally
from gbuq_core.settings import setting

Array = npt.NDArray[np.float64]

FROM, TO = -1.0, 9.0  # of the picture
GAP_FROM = 2.0  # the rows begin at 0, and the gap here
MOST_GAP, LEAST_EDGE, MOST_EDGE = 2.0, 4.5, 8.0
LEVEL, N_STD = 0.9, 1.6448536269514722  # of the bands, and half their width in stds
_X = np.round(np.linspace(FROM, TO, 201), 2)
TREES: Mapping[str, Any] = MappingProxyType(
    {
        "stopping": None, "method": "sglb", "n_members": 10, "n_trees": 60, "depth": 3,
        "learning_rate": 0.2, "temperature": 2.5, "l2": 1.0,
    }
)  # fmt: skip
_FITS = Tally()
count_fits = _FITS.count


@dataclass(frozen=True, kw_only=True)
class BeyondSettings:
    """Everything that the picture depends on."""

    edge: float = setting(
        6.0, "Rows end at x =", low=LEAST_EDGE, high=MOST_EDGE, step=0.1, group="data",
        help="All rows lie between 0 and here.",
    )  # fmt: skip
    gap: float = setting(
        1.5, "Width of the gap", low=0.0, high=MOST_GAP, step=0.1, group="data",
        help=f"There are no rows from x = {GAP_FROM:g} over this width.",
    )  # fmt: skip
    rows: int = setting(150, "Training rows", group="data", choices=(60, 100, 150, 250, 400))
    noise: float = setting(
        0.2, "Noise (std)", group="data", choices=(0.1, 0.2, 0.3, 0.5),
        help="Standard deviation of the noise around the true curve.",
    )  # fmt: skip
    seed: int = setting(
        0, "Seed", group="data", low=0, high=30, step=1,
        help="Seed of the rows and of the training.",
    )  # fmt: skip

    @property
    def stretches(self) -> tuple[tuple[float, float], ...]:
        """Where rows lie, from the left."""
        if self.gap == 0.0:
            return ((0.0, self.edge),)
        return ((0.0, GAP_FROM), (GAP_FROM + self.gap, self.edge))


class BeyondRows(NamedTuple):
    """Training rows with their target."""

    x: Array  # (n_rows,)
    y: Array


class Estimate(NamedTuple):
    """What a model says over the picture's x: mean and variances, (n_points,) each."""

    mean: Array
    data: Array
    knowledge: Array

    @property
    def half(self) -> Array:
        """Half the width of the outer band."""
        return N_STD * np.sqrt(self.data + self.knowledge)


class Spoken(NamedTuple):
    """The voices inside the law, (n_points, 4) each; NaN where a voice has no weight anywhere."""

    weight: Array
    mean: Array
    variance: Array


@dataclass(frozen=True, kw_only=True)
class BeyondFit:
    """Trees and process alone, and the law with its voices, which a quick fit leaves out."""

    settings: BeyondSettings
    rows: BeyondRows
    trees: Estimate
    process: Estimate
    law: Estimate | None
    spoken: Spoken | None
    seconds: float  # NaN where nothing was fitted here

    @property
    def x(self) -> Array:
        """The places of the picture."""
        return _X

    @property
    def truth(self) -> Array:
        """The true mean there."""
        return true_mean(_X)

    @property
    def inside(self) -> npt.NDArray[np.bool_]:
        """Which of them lie among the rows."""
        return np.any([(low <= _X) & (high >= _X) for low, high in self.settings.stretches], axis=0)


def true_mean(x: Array) -> Array:
    """The curve: a sine around a line.

    >>> true_mean(np.array([0.0]))
    array([0.])
    """
    return np.sin(1.5 * x) + 0.3 * x


def make_rows(plan: BeyondSettings) -> BeyondRows:
    """Draw the rows: evenly where rows lie, so that a knob moves them and draws none anew."""
    draws = np.random.default_rng(plan.seed)
    at = draws.random(plan.rows) * (plan.edge - plan.gap)
    x = np.where(at > GAP_FROM, at + plan.gap, at)
    return BeyondRows(x, true_mean(x) + plan.noise * draws.normal(size=plan.rows))


def fit_beyond(plan: BeyondSettings, whole: bool = True) -> BeyondFit:
    """Fit the law; without ``whole`` trees and process alone, which takes a tenth of the time."""
    from gbuq_core.boosting import BoostedEnsembleRegressor
    from gbuq_core.stacking import StackedRegressor

    _FITS.add()
    began = time.perf_counter()
    rows = make_rows(plan)
    X, grid = rows.x[:, None], _X[:, None]
    model = BoostedEnsembleRegressor(**TREES, random_state=plan.seed)
    law = spoken = None
    if whole:
        stacked = StackedRegressor(model, random_state=plan.seed).fit(X, rows.y)
        model, parts = stacked.estimator_, stacked.predict_uncertainty(grid)
        law = Estimate(stacked.predict_distribution(grid).loc, parts.data, parts.knowledge)
        heard = stacked.predict_voices(grid)
        spoken = Spoken(heard.weight, heard.mean, heard.variance)
    else:
        model.fit(X, rows.y)
    alone = model.predict_uncertainty(grid)
    return BeyondFit(
        settings=plan,
        rows=rows,
        trees=Estimate(model.predict(grid), alone.data, alone.knowledge),
        process=_fit_process(rows),
        law=law,
        spoken=spoken,
        seconds=time.perf_counter() - began,
    )


def _fit_process(rows: BeyondRows) -> Estimate:
    """The process that the law has for a voice, before the factor of its std."""
    from gbuq_core.stacking.process import fit_process

    middle, width = rows.x.mean(), rows.x.std()
    centre, spread = rows.y.mean(), rows.y.std()
    process = fit_process((rows.x[:, None] - middle) / width, ((rows.y - centre) / spread)[:, None])
    mean, latent = process.predict((_X[:, None] - middle) / width)
    noise = np.full(len(_X), spread**2 * process.noise)
    return Estimate(centre + spread * mean[:, 0], noise, spread**2 * latent)


class Regional(NamedTuple):
    """A number for each part of the picture; NaN where there is none."""

    inside: float
    left: float
    gap: float
    right: float
    outside: float


class BeyondScore(NamedTuple):
    """How true a model is: the share of new y inside its band, and its CRPS, in units of y."""

    key: str
    label: str
    coverage: Regional
    crps: Regional
    width: Regional  # mean width of the outer band


LABELS: Mapping[str, str] = MappingProxyType(
    {"trees": "Trees alone", "process": "Process alone", "law": "The law of all voices"}
)
FIRST = BeyondSettings()


def score_beyond(fit: BeyondFit) -> tuple[BeyondScore, ...]:
    """Scores of all that was fitted, exact over the noise: no new row is drawn."""
    return tuple(
        _score(fit, key, estimate) for key in LABELS if (estimate := getattr(fit, key)) is not None
    )


def _score(fit: BeyondFit, key: str, estimate: Estimate) -> BeyondScore:
    noise, off, half = fit.settings.noise, estimate.mean - fit.truth, estimate.half
    held = ndtr((off + half) / noise) - ndtr((off - half) / noise)
    return BeyondScore(
        key,
        LABELS[key],
        *(_by_region(fit, each) for each in (held, _expected_crps(estimate, off, noise), 2 * half)),
    )


def _expected_crps(estimate: Estimate, off: Array, noise: float) -> Array:
    """Mean CRPS of a normal law over normal y: E|X - Y| - E|X - X'| / 2, in closed form."""
    variance = estimate.data + estimate.knowledge
    wide = np.sqrt(variance + noise**2)
    z = off / wide
    away = wide * (np.sqrt(2.0 / np.pi) * np.exp(-0.5 * z * z) + z * (2.0 * ndtr(z) - 1.0))
    return away - np.sqrt(variance / np.pi)


def _by_region(fit: BeyondFit, values: Array) -> Regional:
    inside, x = fit.inside, fit.x
    left, right = x < 0.0, x > fit.settings.edge
    at = (inside, left, ~(inside | left | right), right, ~inside)
    return Regional(*(float(values[cells].mean()) if cells.any() else math.nan for cells in at))


OPENING = Opening(
    name="beyond",
    kind=BeyondFit,
    make=fit_beyond,
    plans=lambda: [FIRST],
    afresh=lambda plan: {"rows": make_rows(plan)},
)
