"""How the spiral's methods were trained: schedule, members and losses as strips under the maps.

The cyclical paper, algorithm 1 and equation 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from gbuq_core.figures.canvas.panels import Strip, StripLine
from gbuq_core.figures.theme import METHOD_STYLES, MethodStyle
from gbuq_core.presentation import short

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_MOST_CURVE = 400  # vertices of a curve


class Growth(Protocol):
    """How one method was trained: `SpiralGrowth` of the experiment, or anything like it.

    ``method`` is a key of `METHOD_STYLES`; ``scale`` and ``train_loss`` go with ``n_trees``,
    ``validation_loss`` with ``validation_trees``, and all of them may be empty. Tree counts that
    give a member are in ``member_trees``, stretches of them in ``exploring``.
    """

    @property
    def method(self) -> str: ...  # noqa: D102
    @property
    def n_trees(self) -> npt.ArrayLike: ...  # noqa: D102
    @property
    def scale(self) -> npt.ArrayLike: ...  # noqa: D102
    @property
    def train_loss(self) -> npt.ArrayLike: ...  # noqa: D102
    @property
    def validation_trees(self) -> npt.ArrayLike: ...  # noqa: D102
    @property
    def validation_loss(self) -> npt.ArrayLike: ...  # noqa: D102
    @property
    def member_trees(self) -> npt.ArrayLike: ...  # noqa: D102
    @property
    def exploring(self) -> Sequence[tuple[float, float]]: ...  # noqa: D102


def training_strips(growths: Sequence[Growth], frames: Ints) -> list[Strip]:
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
        frame_x=[float(n) for n in frames],
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
        frame_x=[float(n) for n in frames],
        alt=_loss_words(growths),
    )
    return [scale, loss]


def _style(growth: Growth) -> MethodStyle:
    return METHOD_STYLES[growth.method]


def _at(x: Ints, n_trees: npt.ArrayLike, values: npt.ArrayLike) -> Array:
    """A curve at other tree counts; NaN beyond its own."""
    own, y = np.asarray(n_trees, dtype=np.float64), np.asarray(values, dtype=np.float64)
    return np.interp(x, own, y, left=np.nan, right=np.nan) if y.size else np.full(len(x), np.nan)


def _schedule_words(growths: Sequence[Growth]) -> str:
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


def _loss_words(growths: Sequence[Growth]) -> str:
    words = []
    for growth in growths:
        train = np.asarray(growth.train_loss, dtype=np.float64)
        other = np.asarray(growth.validation_loss, dtype=np.float64)
        if train.size:
            new = f", {short(other[-1])} on new rows" if other.size else ""
            words.append(f"{_style(growth).label} ends at {short(train[-1])} nats on its rows{new}")
    return f"Loss over the trees: {'; '.join(words)}." if words else ""
