"""What fits return: ensemble members while they grow, and predictive distributions by moments.

`view_members` cuts an ensemble anew for any truncation and any number of members; it trains
nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.errors import InvalidParameter
from gbuq_core.presentation import Tally
from gbuq_core.uncertainty import decompose_classification, split_variance

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

MOST_STAGES = 100  # of an ensemble that is kept while it grows


class Members(NamedTuple):
    """Predictions of an ensemble's members at places while the ensemble grows."""

    stages: Ints  # (n_stages,): trees of each model; all of them at the last
    # (n_stages, n_members, n_places, n_outputs): mean and variance of y (the variance is NaN where
    # a member predicts no noise), or class probabilities
    values: Array
    family: str = "normal"  # or "classes"


class Predictive(NamedTuple):
    """A predictive distribution at places by its moments: variances of y, or entropies in nats.

    NaN where a method has no such part.
    """

    mean: Array  # (..., n_places)
    total: Array
    data: Array
    knowledge: Array


class Fit(NamedTuple):
    """A trained method: the settings that it depends on, its predictions and its cost."""

    plan: Any  # settings of one method
    members: Members  # at the picture's places
    # `seconds`, `memory_bytes`: cost of the training, and what the trained model holds
    seconds: float  # NaN where nothing was fitted here, as `memory_bytes` is None
    memory_bytes: int | None


class View(NamedTuple):
    """What today's settings show of a fit."""

    fit: Fit
    at: Predictive  # (n_frames, n_places)
    stages: Ints  # (n_frames,): trees of each model
    counts: Ints  # (n_frames,): members that there are by then

    @property
    def method(self) -> str:
        """The key of its method."""
        return str(self.fit.plan.methods[0])

    @property
    def last(self) -> Predictive:
        """With all trees."""
        return Predictive(*(moment[-1] for moment in self.at))


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
    mean, total, data, knowledge = (np.stack(moments) for moments in zip(*cut, strict=True))
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
    began = time.perf_counter()
    model.fit(data.X, data.y)
    seconds = time.perf_counter() - began
    _FITS.add()
    members = _grow(model, data.grid, n_trees, virtual)
    return Fit(plan, members, seconds, int(model.memory_bytes_))


def _grow(model: Any, places: Array, n_trees: int, virtual: bool) -> Members:
    """A fitted ensemble's members at every stage; a forest's at its end alone."""
    if not hasattr(model, "staged_members"):
        means = model.predict_members(places)  # (n_members, n_places)
        values = np.stack([means, np.full_like(means, np.nan)], axis=-1)[None]
        return Members(np.array([model.n_trees_]), values)
    staged = model.staged_members(places, every=1 if virtual else -(-n_trees // MOST_STAGES))
    staged.members.setflags(write=False)
    return Members(staged.n_trees, staged.members)
