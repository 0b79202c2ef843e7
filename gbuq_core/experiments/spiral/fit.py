"""The spiral: three interleaved arms, and who notices that there is nothing between and around.

Malinin, Prokhorenkova and Ustimenko, "Uncertainty in gradient boosting via ensembles", section 4,
figures 3 and 4; Tan, Huertas and Zhao (cyclical SGLB), section 5.1 and figure 3. `fit_spiral`
trains one method; `map_spiral` turns what it kept into maps for any truncation step, start, burn-in
and number of members without training again; `run_spiral` does both for all methods of
`plan.SpiralSettings`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.experiments.spiral.data import GRID, SIDE, SpiralTruth, fresh_sample, spiral_truth
from gbuq_core.experiments.spiral.plan import (
    STAGE_STEP,
    SpiralSettings,
    member_trees,
    spiral_estimator,
)
from gbuq_core.jobs import check_memory, parallel_map
from gbuq_core.presentation import Tally
from gbuq_core.settings import plan_of
from gbuq_core.synthetic import SpiralData, make_spiral, spiral_features
from gbuq_core.uncertainty import entropy
from gbuq_core.validation import check_number

Array = npt.NDArray[np.float64]
Members = npt.NDArray[np.float32]

MAX_FRAMES = 40  # stages of the animation
_INDEPENDENT_FRAMES, _MAX_STAGE_MAPS = 25, 500  # the latter stages x models: 73 MB
_BLOCK = 2048  # rows predicted at a time, all stages and models at once


@dataclass(frozen=True, kw_only=True)
class SpiralFit:
    """A trained method's predictions while it grew."""

    plan: SpiralSettings
    data: SpiralData  # what it was trained on
    model: Any  # fitted, for predictions elsewhere; None of a stored fit
    # (n_stages,): trees at each stage: of a chain every 10 and every cycle's end; all trees at the
    # last
    n_trees: npt.NDArray[np.int64]
    members: Members  # (n_stages, n_models, 6400, 3): class probabilities on `GRID`
    # (n_stages, n_models, n_fresh, 3): the same for the rows of `fresh_sample`
    fresh_members: Members
    trace: Any  # scale, loss and leaf norm of every tree of the first model; None without one
    # `seconds`, `memory_bytes`: cost of the training, and what the trained model holds; NaN and
    # None of a stored fit
    seconds: float
    memory_bytes: int | None
    beyond: str = ""  # of a stored fit: what `probes.walk_off` says of it

    @cached_property
    def entropies(self) -> Array:
        """Of ``members`` (n_stages, n_models, 6400), in nats.

        They are float64, since knowledge uncertainty is a small difference.
        """
        return _entropies(self.members)

    @property
    def validation(self) -> Array:
        """Mean negative log likelihood of the fresh rows (n_stages, n_models), in nats."""
        return _losses(self.fresh_members, fresh_sample(self.plan.noise, self.plan.seed).data.y)


@dataclass(frozen=True, kw_only=True)
class SpiralMaps:
    """Uncertainty of one method at every frame, in nats."""

    fit: SpiralFit
    # `n_trees`, `n_members`: (n_frames,): trees of each model, and members that there were by then
    n_trees: npt.NDArray[np.int64]
    n_members: npt.NDArray[np.int64]
    # `total`, `data`, `knowledge`: (n_frames, 80, 80): NaN where there is no member yet, knowledge
    # also where there is only one
    total: Array
    data: Array
    knowledge: Array
    proba: Array  # (3, 80, 80): mean class probabilities with all trees
    member_trees: npt.NDArray[np.int64]  # (n_members,): how many trees each member has in the end
    members: Members  # (n_members, 6400, 3): the members' class probabilities on `GRID` in the end
    fresh_proba: Array  # (n_fresh, 3): mean class probabilities of the fresh rows in the end
    score: Any = None  # its `SpiralScore`, where a page has worked it out once

    @property
    def method(self) -> str:
        """The method's key in `METHODS`."""
        return self.fit.plan.method


class SpiralRun(NamedTuple):
    """The data of the settings, the truth, and the maps of the methods in the settings' order."""

    settings: SpiralSettings
    data: SpiralData
    truth: SpiralTruth
    methods: tuple[SpiralMaps, ...]


def run_spiral(settings: SpiralSettings | None = None) -> SpiralRun:
    """Train the methods one after the other and map their uncertainty."""
    settings = SpiralSettings() if settings is None else settings
    maps = tuple(
        map_spiral(fit_spiral(plan_of(settings, method)), settings) for method in settings.methods
    )
    data = make_spiral(settings.rows, settings.noise, settings.seed)
    return SpiralRun(settings, data, spiral_truth(settings.noise), maps)


def fit_spiral(plan: SpiralSettings) -> SpiralFit:
    """Train one method and keep its predictions on the grid and the fresh rows while it grew."""
    data = make_spiral(plan.rows, plan.noise, plan.seed)
    fresh = fresh_sample(plan.noise, plan.seed).data
    began = time.perf_counter()
    model = spiral_estimator(plan).fit(data.X, data.y)
    seconds = time.perf_counter() - began
    n_trees, members = _grow(model, plan, np.concatenate([spiral_features(GRID), fresh.X]))
    traces = getattr(model, "traces_", ())
    _FITS.add()
    fit = SpiralFit(
        plan=plan,
        data=data,
        model=model,
        n_trees=n_trees,
        members=members[:, :, : len(GRID)],
        fresh_members=members[:, :, len(GRID) :],
        trace=traces[0] if traces else None,
        seconds=seconds,
        memory_bytes=int(model.memory_bytes_),
    )
    _ = fit.entropies  # here rather than where it is drawn
    return fit


def model_of(fit: SpiralFit) -> Any:
    """The model; that of a stored fit is made again."""
    return _model_again(fit.plan) if fit.model is None else fit.model


@lru_cache(maxsize=2)
def _model_again(plan: SpiralSettings) -> Any:
    return fit_spiral(plan).model


_FITS = Tally()
count_fits = _FITS.count  # what a knob of the view leaves as it is


def map_spiral(fit: SpiralFit, settings: SpiralSettings) -> SpiralMaps:
    """Uncertainty at every frame for the settings' truncation, burn-in and members; trains nothing.

    A chain at t trees has the members that it would have if training had ended there.
    """
    frames = _frames(fit)
    maps = np.full((3, len(frames), len(GRID)), np.nan)
    counts = np.zeros(len(frames), dtype=np.int64)
    before: npt.NDArray[np.int64] | None = None
    for i, n_trees in enumerate(frames):
        stages, models = _counting(fit, settings, int(n_trees))
        counts[i] = len(stages) * len(models)
        if before is not None and fit.plan.kind.cyclical and np.array_equal(stages, before):
            maps[:, i] = maps[:, i - 1]  # no cycle has ended since
        elif counts[i]:
            members = fit.members[stages[:, None], models].reshape(-1, len(GRID), 3)
            entropies = fit.entropies[stages[:, None], models].reshape(-1, len(GRID))
            maps[:, i] = _decompose(members, entropies)
        before = stages
    for array in (maps, counts, members):
        array.setflags(write=False)
    return SpiralMaps(
        fit=fit,
        n_trees=frames,
        n_members=counts,
        total=maps[0].reshape(-1, SIDE, SIDE),
        data=maps[1].reshape(-1, SIDE, SIDE),
        knowledge=maps[2].reshape(-1, SIDE, SIDE),
        proba=members.mean(axis=0, dtype=np.float64).T.reshape(3, SIDE, SIDE),
        member_trees=np.repeat(fit.n_trees[stages], len(models)),
        members=members,
        fresh_proba=fit.fresh_members[stages[:, None], models].mean(axis=(0, 1), dtype=np.float64),
    )


def _decompose(members: Members, entropies: Array) -> tuple[Array, Array, Array]:
    """Total, data and knowledge uncertainty, eq. 3-4, of members (n, 6400, 3) of known entropies.

    As `decompose_classification`, to 1e-15: dragging a slider computes no entropy twice.
    """
    mean = members.mean(axis=0, dtype=np.float64)
    data = entropies.mean(axis=0)
    if len(members) == 1:
        return data, data, np.full_like(data, np.nan)
    knowledge = np.maximum(entropy(mean) - data, 0.0)
    return data + knowledge, data, knowledge


def _grow(model: Any, plan: SpiralSettings, rows: Array) -> tuple[npt.NDArray[np.int64], Members]:
    """Stages and members (n_stages, n_models, n_rows, 3) of a fitted model."""
    if not plan.kind.boosting:
        n_trees = np.array([model.n_trees_])
        members = model.predict_members(rows).astype(np.float32)[None]
        members.setflags(write=False)
        return n_trees, members
    n_trees = _stages(plan)
    check_memory(20 * len(n_trees) * plan.n_models * len(rows), "the maps of this fit")
    members = np.empty((len(n_trees), plan.n_models, len(rows), 3), np.float32)
    for low in range(0, len(rows), _BLOCK):
        block = slice(low, low + _BLOCK)
        members[:, :, block] = model.staged_members(rows[block], at=n_trees).members
    for array in (n_trees, members):
        array.setflags(write=False)
    return n_trees, members


def _stages(plan: SpiralSettings) -> npt.NDArray[np.int64]:
    """Numbers of trees at which predictions are kept."""
    if plan.kind.virtual:
        every = [np.arange(STAGE_STEP, plan.n_trees + 1, STAGE_STEP)]
        if plan.kind.cyclical:
            every.append(np.arange(plan.cycle, plan.n_trees + 1, plan.cycle))
        return np.unique(np.concatenate([*every, [plan.n_trees]]))
    wanted = max(1, min(_INDEPENDENT_FRAMES, _MAX_STAGE_MAPS // plan.members))
    step = -(-plan.trees // wanted)
    return np.unique(np.append(np.arange(step, plan.trees + 1, step), plan.trees))


def _frames(fit: SpiralFit) -> npt.NDArray[np.int64]:
    """At most `MAX_FRAMES` of the stages, the last among them."""
    if not fit.plan.kind.virtual:
        return fit.n_trees
    tens = -(-fit.plan.n_trees // (MAX_FRAMES * STAGE_STEP))
    even = np.arange(STAGE_STEP * tens, fit.plan.n_trees, STAGE_STEP * tens)
    return np.append(even[: MAX_FRAMES - 1], fit.plan.n_trees)


def _counting(
    fit: SpiralFit, settings: SpiralSettings, n_trees: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Which stages and which models are the members when each model has ``n_trees`` trees."""
    if fit.plan.kind.virtual:
        cuts = member_trees(fit.plan, settings, n_trees)
        return np.searchsorted(fit.n_trees, cuts), np.array([0])
    if settings.shown is not None:
        check_number("shown", settings.shown, 1, integer=True)
    stage = np.searchsorted(fit.n_trees, [n_trees])
    return stage, np.arange(fit.members.shape[1])[: settings.shown]


def _entropies(members: Members) -> Array:
    """Entropies (n_stages, n_models, n_rows) of members (..., 3), in nats."""
    out = np.empty(members.shape[:-1])

    def fill(stage: int) -> None:
        out[stage] = entropy(members[stage])

    parallel_map(fill, range(len(out)))
    out.setflags(write=False)
    return out


def _losses(members: Members, classes: npt.NDArray[np.int64]) -> Array:
    """Mean negative log likelihood (n_stages, n_models) of members (..., n_rows, 3)."""
    own = members[..., np.arange(len(classes)), classes].astype(np.float64)
    # A float32 probability may underflow to 0: it counts as the smallest normal number.
    return -np.log(np.maximum(own, np.finfo(np.float32).tiny)).mean(axis=-1)
