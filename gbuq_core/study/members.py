"""What fits return: ensemble members while they grow, and predictive distributions by moments.

`view_members` cuts an ensemble anew for any truncation and any number of members; it trains
nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from gbuq_core.errors import InvalidParameter
from gbuq_core.glossary import UNCERTAINTY_KINDS
from gbuq_core.metrics.conformal import conformal_scales
from gbuq_core.presentation import Tally
from gbuq_core.uncertainty import decompose_classification, split_variance

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

MOST_STAGES = 100  # of an ensemble that is kept while it grows
_LEAST_SCALE = 1e-9  # of the largest: no factor stretches a std of 0, where all members agree


class Members(NamedTuple):
    """Predictions of an ensemble's members at places while the ensemble grows."""

    stages: Ints  # (n_stages,): trees of each model; all of them at the last
    # (n_stages, n_members, n_places, n_outputs): mean and variance of y (the variance is NaN where
    # a member predicts no noise), or class probabilities
    values: Array
    family: str = "normal"  # or "classes"


class Predictive(NamedTuple):
    """A predictive distribution at places by its moments, and scores of the places.

    Uncertainties are variances of y, or entropies in nats; NaN where a method has no such part.
    """

    mean: Array  # (..., n_places)
    total: Array
    data: Array
    knowledge: Array
    intervals: Mapping[float, tuple[Array, Array]] = {}  # by level, if its own; (n_places,) each
    scores: Mapping[str, Array] = {}  # of novelty, (n_places,): larger is farther from rows

    @property
    def parts(self) -> tuple[str, ...]:
        """Which of total, data and knowledge uncertainty there are."""
        return tuple(part for part in UNCERTAINTY_KINDS if np.isfinite(getattr(self, part)).any())

    @property
    def ranking(self) -> tuple[str, ...]:
        """What places can be ranked by: all parts, or the first one; and novelty."""
        parts = self.parts if len(self.parts) == len(UNCERTAINTY_KINDS) else self.parts[:1]
        return (*parts, *self.scores)

    def take(self, places: Any) -> Predictive:
        """The same at some of the places."""
        ends = {level: (low[places], high[places]) for level, (low, high) in self.intervals.items()}
        scores = {name: values[places] for name, values in self.scores.items()}
        mean, total, data, knowledge = (moment[..., places] for moment in self.moments)
        return Predictive(mean, total, data, knowledge, ends, scores)

    @property
    def moments(self) -> tuple[Array, Array, Array, Array]:
        """Mean, total, data and knowledge."""
        return self[:4]

    def score(self, name: str) -> Array:
        """One of what places are ranked by."""
        return self.scores[name] if name in self.scores else getattr(self, name)

    def interval(self, level: float, factor: float | None = None) -> tuple[Array, Array]:
        """The central interval of a level: the method's own, or that of a normal."""
        if factor is None and level in self.intervals:
            return self.intervals[level]
        half = (factor or 1.0) * float(ndtri(0.5 + level / 2.0)) * np.sqrt(self.total)
        return self.mean - half, self.mean + half

    def conformal_factor(self, y: Array, level: float) -> float:
        """The factor on all stds with which a normal's interval holds its level on these rows."""
        scale = np.sqrt(self.total)
        least = _LEAST_SCALE * max(float(scale.max()), float(np.ptp(y)), 1e-300)
        scaled = conformal_scales(y, self.mean, np.maximum(scale, least), levels=[level])
        return float(scaled.stretch[0])


class Fit(NamedTuple):
    """A trained method: the settings that it depends on, its predictions and its cost."""

    plan: Any  # settings of one method
    members: Members | None  # at the picture's places, if a view cuts them anew
    # `seconds`, `memory_bytes`: cost of the training, and what the trained model holds
    seconds: float = np.nan  # NaN where nothing was fitted here, as `memory_bytes` is None
    memory_bytes: int | None = None
    predicted: Mapping[str, Predictive] | None = None  # by set of places, of what has no members
    model: Any = None  # if more is asked of it; None of a stored fit

    def at(self, places: str) -> Predictive:
        """What it predicts at a set of places."""
        assert self.predicted is not None
        return self.predicted[places]


class View(NamedTuple):
    """What today's settings show of a fit."""

    fit: Fit
    at: Predictive  # (n_frames, n_places), or (n_places,) of what does not grow
    stages: Ints = np.zeros(1, dtype=np.int64)  # (n_frames,): trees of each model
    counts: Ints = np.ones(1, dtype=np.int64)  # (n_frames,): members that there are by then
    factors: tuple[float, ...] = ()  # on all stds, by level, of a conformal step

    @property
    def method(self) -> str:
        """The key of its method."""
        return str(self.fit.plan.methods[0])

    @property
    def last(self) -> Predictive:
        """With all trees."""
        if self.at.mean.ndim == 1:
            return self.at
        mean, total, data, knowledge = (moment[-1] for moment in self.at.moments)
        return Predictive(mean, total, data, knowledge)


def decompose(values: Array, family: str = "normal") -> Predictive:
    """The predictive distribution of members (..., n_members, n_places, n_outputs)."""
    members = np.moveaxis(values, -3, 0)  # (n_members, ..., n_places, n_outputs)
    none = np.full(members.shape[1:-1], np.nan)
    if family == "classes":
        flat = members.reshape(len(members), -1, members.shape[-1])
        parts = decompose_classification(flat)
        total, data, knowledge = (part.reshape(none.shape) for part in parts)
        return Predictive(none, total, data, knowledge if len(members) > 1 else none)
    mean, variance = members[..., 0], members[..., 1]
    known = bool(np.isfinite(variance).all())
    total, data, knowledge = split_variance(mean, variance if known else np.zeros_like(mean))
    knowledge = knowledge if len(members) > 1 else none
    total, data = (total, data) if known else (none, none)
    return Predictive(mean.mean(axis=0), total, data, knowledge)


def view_members(
    fit: Fit,
    cuts: Callable[[int], Ints] | None = None,
    shown: int | None = None,
    most: int = MOST_STAGES,
) -> View:
    """An ensemble's uncertainty at every stage, of its first models or its last truncations.

    A virtual ensemble has ``cuts``: ``cuts(t)`` are the trees of the members that its one model
    would have if training had ended after t trees.
    """
    assert fit.members is not None
    stages, values, family = fit.members
    if cuts is None:
        members = values[:, :shown]
        counts = np.full(len(stages), members.shape[1])
        return View(fit, decompose(members, family), stages, counts)
    cuts(int(stages[-1]))  # refuses settings that leave no member at the end
    every = -(-len(stages) // most)
    frames = np.unique(np.append(stages[every - 1 :: every], stages[-1]))
    chosen = [_members_at(cuts, int(frame))[-(shown or 0) :] for frame in frames]
    none = Predictive(*np.full((4, values.shape[2]), np.nan))
    cut = [
        decompose(values[np.searchsorted(stages, trees), 0], family) if len(trees) else none
        for trees in chosen
    ]
    moments = zip(*(each.moments for each in cut), strict=True)
    mean, total, data, knowledge = map(np.stack, moments)
    at = Predictive(mean, total, data, knowledge)
    return View(fit, at, frames, np.array([len(trees) for trees in chosen]))


def _members_at(cuts: Callable[[int], Ints], n_trees: int) -> Ints:
    try:
        return cuts(n_trees)
    except InvalidParameter:
        return np.empty(0, dtype=np.int64)


_FITS = Tally()
count_fits = _FITS.count  # what a knob of the view leaves as it is


def fit_members(plan: Any, model: Any, data: Any, n_trees: int, virtual: bool) -> Fit:
    """Train an ensemble, and keep its members' predictions for ``data.grid`` while it grows."""
    seconds = timed_fit(model, data)
    members = _grow(model, data.grid, n_trees, virtual)
    return Fit(plan, members, seconds, int(model.memory_bytes_))


def timed_fit(model: Any, data: Any) -> float:
    """Train a model; the seconds that it took."""
    began = time.perf_counter()
    model.fit(data.X, data.y)
    _FITS.add()
    return time.perf_counter() - began


def _grow(model: Any, places: Array, n_trees: int, virtual: bool) -> Members:
    """A fitted ensemble's members at every stage; a forest's at its end alone."""
    if not hasattr(model, "staged_members"):
        means = model.predict_members(places)  # (n_members, n_places)
        values = np.stack([means, np.full_like(means, np.nan)], axis=-1)[None]
        return Members(np.array([model.n_trees_]), values)
    staged = model.staged_members(places, every=1 if virtual else -(-n_trees // MOST_STAGES))
    staged.members.setflags(write=False)
    return Members(staged.n_trees, staged.members)
