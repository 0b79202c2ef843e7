"""What fits return: ensemble members while they grow, and predictive distributions by moments.

`view_members` cuts an ensemble anew for any truncation and any number of members; it trains
nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from gbuq_core.errors import InvalidParameter
from gbuq_core.glossary import UNCERTAINTY_KINDS
from gbuq_core.jobs import check_memory, parallel_map
from gbuq_core.metrics.conformal import conformal_scales
from gbuq_core.presentation import Tally
from gbuq_core.uncertainty import entropy, split_variance
from gbuq_core.validation import check_number

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

MOST_STAGES = 100  # of an ensemble that is kept while it grows
_BLOCK = 2048  # places predicted at a time, all stages and models at once
_LEAST_SCALE = 1e-9  # of the largest: no factor stretches a std of 0, where all members agree


@dataclass(frozen=True, eq=False)
class Members:
    """Predictions of an ensemble's members at places while the ensemble grows."""

    stages: Ints  # (n_stages,): trees of each model; all of them at the last
    # (n_stages, n_members, n_places, n_outputs): mean and variance of y (the variance is NaN where
    # a member predicts no noise), or class probabilities
    values: npt.NDArray[Any]
    family: str = "normal"  # or "classes"

    @cached_property
    def entropies(self) -> Array | None:
        """Of class probabilities, in nats (n_stages, n_members, n_places); worked out once."""
        if self.family != "classes":
            return None
        out = np.empty(self.values.shape[:-1])  # knowledge is a small difference of float64

        def fill(stage: int) -> None:
            out[stage] = entropy(self.values[stage])

        parallel_map(fill, range(len(out)))
        out.setflags(write=False)
        return out

    def pick(self, trees: Ints) -> npt.NDArray[Any]:
        """The members (n, n_places, n_outputs) of so many trees: cuts of one model, or models."""
        models = np.arange(len(trees)) if self.values.shape[1] > 1 else 0
        return self.values[np.searchsorted(self.stages, trees), models]


class Predictive(NamedTuple):
    """A predictive distribution at places by its moments, and scores of the places.

    Uncertainties are variances of y, or entropies in nats; NaN where a method has no such part.
    """

    mean: Array  # (..., n_places) of y, or class probabilities (..., n_places, n_classes)
    total: Array  # (..., n_places), as the others
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
    # `more` is what else the study keeps of the training, by name, and `measured`, of a stored fit,
    # what no picture waits for
    more: Any = None
    measured: Mapping[str, Predictive] | None = None

    @property
    def grown(self) -> Members:
        """Its members, of what has some."""
        assert self.members is not None
        return self.members

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
    trees: Ints = np.ones(1, dtype=np.int64)  # (n_members,): of those that count in the end
    numbers: Mapping[str, Any] = {}  # of this view alone, where they are worked out once

    @property
    def method(self) -> str:
        """The key of its method."""
        return str(self.fit.plan.methods[0])

    @property
    def last(self) -> Predictive:
        """With all trees."""
        if self.at.total.ndim == 1:
            return self.at
        mean, total, data, knowledge = (moment[-1] for moment in self.at.moments)
        return Predictive(mean, total, data, knowledge)


def decompose(
    values: npt.NDArray[Any], family: str = "normal", entropies: Array | None = None
) -> Predictive:
    """The predictive distribution of members (..., n_members, n_places, n_outputs).

    ``entropies`` (..., n_members, n_places) are those of class probabilities, where they are known.
    """
    members = np.moveaxis(values, -3, 0)  # (n_members, ..., n_places, n_outputs)
    none = np.full(members.shape[1:-1], np.nan)
    if family == "classes":
        entropies = entropy(values) if entropies is None else entropies
        proba = members.mean(axis=0, dtype=np.float64)
        data = entropies.mean(axis=-2)
        knowledge = np.maximum(entropy(proba) - data, 0.0) if len(members) > 1 else none
        return Predictive(proba, data + np.nan_to_num(knowledge), data, knowledge)
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
    frames: Ints | None = None,
) -> View:
    """An ensemble's uncertainty at every stage, of its first models or its last truncations.

    A virtual ensemble has ``cuts``: ``cuts(t)`` are the trees of the members that its one model
    would have if training had ended after t trees, of which ``frames`` are shown.
    """
    members, stages = fit.grown, fit.grown.stages
    if shown is not None:
        check_number("shown", shown, 1, integer=True)
    if cuts is None:
        entropies = members.entropies
        entropies = None if entropies is None else entropies[:, :shown]
        at = decompose(members.values[:, :shown], members.family, entropies)
        n_members = members.values[0, :shown].shape[0]
        counts, trees = np.full(len(stages), n_members), np.full(n_members, stages[-1])
        return View(fit, at, stages, counts, trees=trees)
    cuts(int(stages[-1]))  # refuses settings that leave no member at the end
    if frames is None:
        every = -(-len(stages) // MOST_STAGES)
        frames = np.unique(np.append(stages[every - 1 :: every], stages[-1]))
    chosen = [_members_at(cuts, int(frame))[-(shown or 0) :] for frame in frames]
    moments: list[Predictive] = []
    for place, trees in enumerate(chosen):
        if place and np.array_equal(trees, chosen[place - 1]):
            moments.append(moments[-1])
        elif len(trees):
            cut = np.searchsorted(stages, trees)
            entropies = None if members.entropies is None else members.entropies[cut, 0]
            moments.append(decompose(members.values[cut, 0], members.family, entropies))
        else:
            moments.append(_nothing(members))
    stacked = zip(*(each.moments for each in moments), strict=True)
    mean, total, data, knowledge = map(np.stack, stacked)
    at = Predictive(mean, total, data, knowledge)
    counts = np.array([len(trees) for trees in chosen])
    return View(fit, at, frames, counts, trees=chosen[-1])


def _nothing(members: Members) -> Predictive:
    """What there is without any member."""
    n_places, n_outputs = members.values.shape[2:]
    mean = np.full((n_places, n_outputs) if members.family == "classes" else n_places, np.nan)
    none = np.full(n_places, np.nan)
    return Predictive(mean, none, none, none)


def _members_at(cuts: Callable[[int], Ints], n_trees: int) -> Ints:
    try:
        return cuts(n_trees)
    except InvalidParameter:
        return np.empty(0, dtype=np.int64)


def with_last_class(shares: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Class probabilities with the last class, which has what the others leave.

    >>> with_last_class(np.array([0.5, 0.2])).round(6).tolist()
    [0.5, 0.2, 0.3]
    """
    last = np.maximum(1.0 - shares.sum(axis=-1, keepdims=True), 0.0)
    every: npt.NDArray[Any] = np.concatenate([shares, last], axis=-1)
    every /= every.sum(axis=-1, keepdims=True)  # shares that were rounded up may be above one
    every.setflags(write=False)
    return every


_FITS = Tally()
count_fits = _FITS.count  # what a knob of the view leaves as it is


def list_stages(n_trees: int, every: int) -> Ints:
    """Every so many trees, and all of them."""
    return np.unique(np.append(np.arange(every, n_trees + 1, every), n_trees))


def fit_members(
    plan: Any, model: Any, data: Any, places: Array, stages: Ints, family: str = "normal"
) -> Fit:
    """Train an ensemble, and keep its members' predictions for the places at these stages."""
    seconds = timed_fit(model, data)
    members = _grow(model, places, stages, family)
    return Fit(plan, members, seconds, int(model.memory_bytes_))


def timed_fit(model: Any, data: Any) -> float:
    """Train a model; the seconds that it took."""
    began = time.perf_counter()
    model.fit(data.X, data.y)
    _FITS.add()
    return time.perf_counter() - began


def _grow(model: Any, places: Array, stages: Ints, family: str) -> Members:
    """A fitted ensemble's members at every stage; a forest's at its end alone."""
    kind = np.float32 if family == "classes" else np.float64
    if not hasattr(model, "staged_members"):
        members = model.predict_members(places)  # (n_members, n_places), or with classes last
        if family == "normal":
            members = np.stack([members, np.full_like(members, np.nan)], axis=-1)
        values, stages = members.astype(kind)[None], np.array([model.n_trees_])
    else:
        values = np.empty(0)
        for low in range(0, len(places), _BLOCK):
            block = model.staged_members(places[low : low + _BLOCK], at=stages).members
            if not low:
                shape = (*block.shape[:2], len(places), block.shape[3])
                # their probabilities, and an entropy each
                check_memory(np.prod(shape[:3]) * (4.0 * shape[3] + 8.0), "the maps of this fit")
                values = np.empty(shape, kind)
            values[:, :, low : low + _BLOCK] = block
    for array in (values, stages):
        array.setflags(write=False)
    return Members(stages, values, family)
