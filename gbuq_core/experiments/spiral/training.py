"""How the spiral's methods were trained: schedule, members and losses as strips under the maps.

The cyclical paper, algorithm 1 and equation 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.boosting.plan import exploring
from gbuq_core.experiments.spiral.fit import SpiralMaps
from gbuq_core.experiments.spiral.plan import explores
from gbuq_core.figures.canvas.panels import Strip, StripLine
from gbuq_core.figures.theme import METHOD_STYLES, MethodStyle
from gbuq_core.presentation import short


class SpiralGrowth(NamedTuple):
    """How one method was trained."""

    method: str  # A key of `METHODS`
    n_trees: Ints  # 1 to all trees of the first model
    # `scale`, `train_loss`: the factor of its gradients, and the mean loss of the training rows
    # after each tree, in nats
    scale: Array
    train_loss: Array
    # `validation_trees`, `validation_loss`: (n_stages,): the fresh rows' loss at fewer tree counts,
    # in nats: the mean over the models
    validation_trees: Ints
    validation_loss: Array
    # (n_members,): tree counts that give a member; empty where each model is one
    member_trees: Ints
    # stretches of tree counts in which rows are masked or noise is left out
    exploring: tuple[tuple[float, float], ...] = ()


def growth_of(maps: SpiralMaps) -> SpiralGrowth | None:
    """How a method was trained; None if it kept no trace (forests, CatBoost)."""
    fit = maps.fit
    if fit.trace is None:
        return None
    plan = fit.plan
    stretches: tuple[tuple[float, float], ...] = ()
    if explores(plan):
        stretches = _stretches(exploring(plan.n_trees, plan.cycle, plan.exploration))
    return SpiralGrowth(
        method=plan.method,
        n_trees=fit.trace.n_trees,
        scale=fit.trace.scale,
        train_loss=fit.trace.train_loss,
        validation_trees=fit.n_trees,
        validation_loss=fit.validation.mean(axis=1),
        member_trees=maps.member_trees if plan.kind.virtual else np.empty(0, np.int64),
        exploring=stretches,
    )


def _stretches(on: npt.NDArray[np.bool_]) -> tuple[tuple[float, float], ...]:
    """First and last tree of every stretch in which something is on; trees count from 1."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], on.astype(np.int8), [0]])))
    return tuple((float(lo + 1), float(hi)) for lo, hi in edges.reshape(-1, 2))


Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_MOST_CURVE = 400  # vertices of a curve


def training_strips(growths: Sequence[SpiralGrowth], frames: Ints) -> list[Strip]:
    """The schedule with its members marked, and the losses, over the number of trees."""
    if not growths:
        return []
    x = np.unique(np.linspace(1, frames[-1], _MOST_CURVE).astype(np.int64))
    # Members of independent models are whole models; a chain's own are places on this axis. Of
    # several chains the one in cycles is marked.
    chains = [growth for growth in growths if np.size(growth.member_trees)]
    chain = max(chains, key=lambda growth: float(np.max(growth.scale)), default=None)
    shaded = next((g.exploring for g in growths if len(g.exploring)), ())
    label = METHOD_STYLES[chain.method].label if chain is not None else ""
    scale = Strip(
        title="Gradient scale",
        x=x,
        lines=[
            StripLine(_style(g).label, _at(x, g.n_trees, g.scale), _style(g).colour, step=True)
            for g in growths
        ],
        x_label="trees",
        y_label="alpha",
        marks=[] if chain is None else [float(t) for t in np.ravel(chain.member_trees)],
        mark_label=f"a member of {label}" if chain is not None else "",
        shaded=[(float(lo), float(hi)) for lo, hi in shaded],
        shaded_label="exploring" if shaded else "",
        frame_x=np.asarray(frames, np.float64),
        alt=_schedule_words(growths),
    )
    losses = [
        StripLine(_style(g).label, _at(x, g.n_trees, g.train_loss), _style(g).colour)
        for g in growths
    ]
    losses += [
        StripLine(
            f"{_style(g).label}, new rows",
            _at(x, g.validation_trees, g.validation_loss),
            _style(g).colour,
            dash=True,
        )
        for g in growths
        if np.size(g.validation_trees)
    ]
    loss = Strip(
        title="Loss",
        x=x,
        lines=losses,
        x_label="trees",
        y_label="nats; dashed: of new rows",
        legend=False,
        frame_x=np.asarray(frames, np.float64),
        alt=_loss_words(growths),
    )
    return [scale, loss]


def _style(growth: SpiralGrowth) -> MethodStyle:
    return METHOD_STYLES[growth.method]


def _at(x: Ints, n_trees: npt.ArrayLike, values: npt.ArrayLike) -> Array:
    """A curve at other tree counts; NaN beyond its own."""
    own, y = np.asarray(n_trees, dtype=np.float64), np.asarray(values, dtype=np.float64)
    return np.interp(x, own, y, left=np.nan, right=np.nan) if y.size else np.full(len(x), np.nan)


def _schedule_words(growths: Sequence[SpiralGrowth]) -> str:
    words = []
    for growth in growths:
        scale = np.asarray(growth.scale, dtype=np.float64)
        n_members = np.size(growth.member_trees)
        members = f", {n_members} members marked" if n_members else ""
        if scale.size:
            words.append(
                f"{_style(growth).label} {short(scale.max())} to {short(scale.min())}{members}"
            )
    return f"Factor of the gradients over the trees: {'; '.join(words)}." if words else ""


def _loss_words(growths: Sequence[SpiralGrowth]) -> str:
    words = []
    for growth in growths:
        train = np.asarray(growth.train_loss, dtype=np.float64)
        other = np.asarray(growth.validation_loss, dtype=np.float64)
        if train.size:
            new = f", {short(other[-1])} on new rows" if other.size else ""
            words.append(f"{_style(growth).label} ends at {short(train[-1])} nats on its rows{new}")
    return f"Loss over the trees: {'; '.join(words)}." if words else ""
