"""The heart: two categorical features, no rows inside a heart, and who notices.

Malinin, Prokhorenkova and Ustimenko, "Uncertainty in gradient boosting via ensembles", section 4
and figures 2 and 4. `fit_heart` trains one method; `map_heart` turns what it kept into maps for
any truncation step, start and number of members without training again; `run_heart` does both for
all methods of `plan.HeartSettings`.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.boosting.plan import truncation_points
from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.heart.data import SIDE, make_painted_heart
from gbuq_core.experiments.heart.plan import (
    METHODS,
    HeartSettings,
    heart_arguments,
)
from gbuq_core.experiments.opening import Opening
from gbuq_core.presentation import Tally
from gbuq_core.settings import plan_of
from gbuq_core.synthetic import HeartData
from gbuq_core.uncertainty import decompose_regression
from gbuq_core.validation import check_number

Array = npt.NDArray[np.float64]

MAX_FRAMES = 100  # stages of the boosting-time scrubber


class HeartFit(NamedTuple):
    """A trained method's predictions for the 81 cells while it grew."""

    plan: HeartSettings  # of one method
    data: HeartData  # what it was trained on, painted cells included
    n_trees: npt.NDArray[np.int64]  # (n_stages,): trees at each stage; all of them at the last
    # (n_stages, n_models, 81, 2): mean and variance; the variance is NaN for forests, which predict
    # none
    members: Array
    # `seconds`, `memory_bytes`: cost of the training, and what the trained model holds
    seconds: float  # NaN where nothing was fitted here, as `memory_bytes` is None
    memory_bytes: int | None


class HeartMaps(NamedTuple):
    """Uncertainty of one method at every stage, as variances of y."""

    fit: HeartFit
    # `n_trees`, `n_members`: (n_frames,): trees of each model, and members that there were by then
    n_trees: npt.NDArray[np.int64]
    n_members: npt.NDArray[np.int64]
    # `total`, `data`, `knowledge`: (n_frames, 9, 9): NaN where there is no such value: knowledge
    # takes two members, forests predict no noise
    total: Array
    data: Array
    knowledge: Array
    mean: Array  # (9, 9): the prediction with all trees

    @property
    def method(self) -> str:
        """The method's key in `METHODS`."""
        return self.fit.plan.method

    @property
    def truth(self) -> HeartData:
        """The data it was trained on."""
        return self.fit.data


class HeartRun(NamedTuple):
    """The data of the settings and the maps of their methods, in the settings' order."""

    settings: HeartSettings
    data: HeartData
    methods: tuple[HeartMaps, ...]


def run_heart(settings: HeartSettings | None = None) -> HeartRun:
    """Train the methods one after the other and map their uncertainty."""
    settings = HeartSettings() if settings is None else settings
    maps = tuple(
        map_heart(fit_heart(plan_of(settings, method)), settings) for method in settings.methods
    )
    return HeartRun(settings, _painted(settings), maps)


def fit_heart(plan: HeartSettings) -> HeartFit:
    """Train one method and keep its predictions for the cells at up to 100 stages."""
    data = _painted(plan)
    kind = METHODS[plan.method]
    began = time.perf_counter()
    model = kind.make(heart_arguments(plan)).fit(data.X, data.y)
    seconds = time.perf_counter() - began
    if kind.boosting:
        every = 1 if kind.virtual else -(-plan.trees // MAX_FRAMES)
        staged = model.staged_members(data.grid, every=every)
        n_trees, members = staged.n_trees, staged.members
    else:
        means = model.predict_members(data.grid)
        n_trees = np.array([model.n_trees_])
        members = np.stack([means, np.full_like(means, np.nan)], axis=-1)[None]
    members.setflags(write=False)
    _FITS.add()
    return HeartFit(plan, data, n_trees, members, seconds, int(model.memory_bytes_))


_FITS = Tally()
count_fits = _FITS.count  # what a knob of the view leaves as it is


OPENING = Opening(
    name="heart",
    kind=HeartFit,
    make=fit_heart,
    plans=lambda: [plan_of(HeartSettings(), method) for method in HeartSettings().methods],
    afresh=lambda plan: {"data": _painted(plan)},
)


def map_heart(fit: HeartFit, settings: HeartSettings) -> HeartMaps:
    """Uncertainty at every stage for the settings' truncation and members; trains nothing.

    A virtual ensemble at t trees has the members that the model cut at t trees would have: those
    of ``K, 2K, ...`` above ``start * t`` (eq. 15).
    """
    if settings.shown is not None:
        check_number("shown", settings.shown, 1, integer=True)
    if METHODS[fit.plan.method].virtual:
        return _virtual_maps(fit, settings)
    members = fit.members[:, : settings.shown]
    total, data, knowledge = _decompose(members)
    counts = np.full(len(fit.n_trees), members.shape[1])
    mean = members[-1, :, :, 0].mean(axis=0).reshape(SIDE, SIDE)
    return HeartMaps(fit, fit.n_trees, counts, total, data, knowledge, mean)


def _painted(plan: HeartSettings) -> HeartData:
    return make_painted_heart(plan.rows, plan.noise, plan.seed, plan.cells)


def _decompose(members: Array) -> tuple[Array, Array, Array]:
    """Total, data and knowledge of members (n_frames, n_members, 81, 2), (n_frames, 9, 9) each."""
    n_frames, n_members = members.shape[:2]
    mean = np.moveaxis(members[..., 0], 0, 1).reshape(n_members, -1)
    variance = np.moveaxis(members[..., 1], 0, 1).reshape(n_members, -1)
    known = bool(np.isfinite(variance).all())
    parts = decompose_regression(mean, variance if known else np.zeros_like(mean))
    none = np.full(mean.shape[1], np.nan)
    knowledge = parts.knowledge if n_members > 1 else none
    total, data = (parts.total, parts.data) if known else (none, none)
    shape = (n_frames, SIDE, SIDE)
    return total.reshape(shape), data.reshape(shape), knowledge.reshape(shape)


def _virtual_maps(fit: HeartFit, settings: HeartSettings) -> HeartMaps:
    """Maps of a virtual ensemble at the stages that independent ones are kept at."""
    n_trees, single = fit.plan.trees, fit.members[:, 0]
    truncation_points(n_trees, settings.step, settings.start)  # refuses none at the end
    frames = _stages(n_trees)
    maps = np.full((3, len(frames), SIDE, SIDE), np.nan)
    counts = np.zeros(len(frames), dtype=np.int64)
    for i, frame in enumerate(frames):
        cuts = _cuts_at(int(frame), settings)[-(settings.shown or 0) :]
        counts[i] = len(cuts)
        if len(cuts):
            maps[:, i] = np.concatenate(_decompose(single[None, cuts - 1]))
    mean = single[cuts - 1, :, 0].mean(axis=0).reshape(SIDE, SIDE)
    return HeartMaps(fit, frames, counts, maps[0], maps[1], maps[2], mean)


def _stages(n_trees: int) -> npt.NDArray[np.int64]:
    every = -(-n_trees // MAX_FRAMES)
    return np.unique(np.append(np.arange(every, n_trees + 1, every), n_trees))


def _cuts_at(n_trees: int, settings: HeartSettings) -> npt.NDArray[np.int64]:
    """The members of a virtual ensemble of so many trees; none while there are too few."""
    try:
        return truncation_points(n_trees, settings.step, settings.start)
    except InvalidParameter:
        return np.empty(0, dtype=np.int64)
