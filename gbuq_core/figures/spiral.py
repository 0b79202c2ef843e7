"""The spiral's maps side by side: truth first, then total, data and knowledge of each method.

Malinin et al. (2021), figure 3, and the cyclical paper's figure 3. Total and data uncertainty
share one colour scale with the truth, from 0 to ln 3 nats; knowledge uncertainty has another, over
all methods with all their trees. Under the maps the schedule and the losses share their scrubber.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from gbuq_core.figures.colour import OKABE_ITO
from gbuq_core.figures.panels import (
    Line,
    Marker,
    Panel,
    PanelSheet,
    Points,
    shared_limits,
)
from gbuq_core.figures.strips import Strip, StripLine
from gbuq_core.figures.theme import METHOD_STYLES, MethodStyle
from gbuq_core.glossary import UNCERTAINTY_KINDS
from gbuq_core.synthetic import SpiralData
from gbuq_core.validation import check_choice

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

EXTENT = (-600.0, 600.0)
SCALES = ("shared", "own")
POINTS = ("truth", "all maps", "off")
MOST_FRAMES = 40  # of the maps: 12 of them with 6,400 cells then travel as 3 MB

_NATS = "nats"
_MOST_UNCERTAIN = math.log(3.0)  # three classes
_KNOWLEDGE_SPAN = 1e-4  # of the largest value: what the log colours of knowledge reach down to
_MOST_CURVE = 400  # vertices of a curve in a strip
CLASS_COLOURS = OKABE_ITO[:3]


class Truth(Protocol):
    """What is known of the spiral on its grid: `SpiralTruth` of the experiment."""

    @property
    def data_uncertainty(self) -> Array: ...  # noqa: D102
    @property
    def density(self) -> Array: ...  # noqa: D102
    @property
    def in_support(self) -> npt.NDArray[np.bool_]: ...  # noqa: D102
    @property
    def proba(self) -> Array: ...  # noqa: D102


class Maps(Protocol):
    """What is drawn of one method: `SpiralMaps` of the experiment, or anything like it.

    ``method`` is a key of `METHOD_STYLES`, ``n_trees`` (n_frames,) what the stages are called; the
    maps (n_frames, ny, nx) are in nats, NaN where there is no such value.
    """

    @property
    def method(self) -> str: ...  # noqa: D102
    @property
    def n_trees(self) -> Ints: ...  # noqa: D102
    @property
    def total(self) -> Array: ...  # noqa: D102
    @property
    def data(self) -> Array: ...  # noqa: D102
    @property
    def knowledge(self) -> Array: ...  # noqa: D102


class Growth(NamedTuple):
    """How one method was trained, for the strips under the maps.

    Attributes
    ----------
    method : str
        A key of `METHOD_STYLES`.
    n_trees, scale, train_loss : (T,) array
        Trees, the factor of the gradients and the mean loss of the training rows after each tree.
    validation_trees, validation_loss : (s,) array
        The loss of other rows, at fewer tree counts.
    member_trees : (m,) int array
        Tree counts that give a member; empty where each model is one.
    exploring : sequence of (first, last)
        Stretches of tree counts in which rows are masked or noise is left out.
    """

    method: str
    n_trees: npt.ArrayLike
    scale: npt.ArrayLike
    train_loss: npt.ArrayLike
    validation_trees: npt.ArrayLike = ()
    validation_loss: npt.ArrayLike = ()
    member_trees: npt.ArrayLike = ()
    exploring: Sequence[tuple[float, float]] = ()


class SpiralView(NamedTuple):
    """How the maps are shown: log colours for knowledge, one scale or many, training points."""

    log: bool = True
    scale: str = "shared"
    points: str = "truth"


def spiral_sheet(
    truth: Truth,
    rows: SpiralData,
    methods: Sequence[Maps],
    growths: Sequence[Growth] = (),
    view: SpiralView | None = None,
    markers: Sequence[Marker] = (),
    lines: Sequence[Line] = (),
    alt: str = "",
) -> PanelSheet:
    """Panels of the truth and of every method, over strips of their training.

    Parameters
    ----------
    truth : SpiralTruth
    rows : SpiralData
        The training rows.
    methods : sequence of SpiralMaps
        They play on the tree counts of the longest; one that has fewer trees stands still once it
        has them all.
    growths : sequence of Growth
    view : SpiralView, optional
    markers, lines : sequence of Marker, of Line
        The probed point and the ray, on every map.
    alt : str
        The picture in words.

    Raises
    ------
    InvalidParameter
        If the view asks for something that there is not.
    """
    view = SpiralView() if view is None else view
    check_choice("scale", view.scale, SCALES)
    check_choice("points", view.points, POINTS)
    frames = common_frames(methods)
    knowledge = _knowledge_limits(methods, view) if view.scale == "shared" else None
    dots = _points(rows)
    rest = [_method_panels(maps, view, knowledge, frames) for maps in methods]
    truths = _truth_panels(truth, dots, view)
    panels = _arrange(truths, rest)
    if view.points == "all maps":
        panels = [panel._replace(points=dots) for panel in panels]
    return PanelSheet(
        [panel._replace(outlined=truth.in_support) for panel in panels],
        columns={0: 3, 1: 5}.get(len(methods), 4),
        x_label="x",
        y_label="y",
        x_extent=EXTENT,
        y_extent=EXTENT,
        panel_height=_HEIGHTS[min(len(methods), 4)],
        frame_label="trees",
        frame_values=[int(n) for n in frames] if len(frames) > 1 else None,
        frames_per_second=8,
        outline_label="where the data end",
        markers=markers,
        lines=lines,
        strips=_strips(growths, frames) if len(frames) > 1 else (),
        strip_columns=2,
        alt=alt,
        name="spiral",
    )


# Pixels of a map, so that maps and strips fit on the first screen of a laptop.
_HEIGHTS = {0: 300, 1: 260, 2: 196, 3: 150, 4: 120}


def common_frames(methods: Sequence[Maps]) -> Ints:
    """The tree counts that all maps are played on: the stages of the longest, at most 40.

    >>> common_frames([])
    array([0])
    """
    growing = [np.asarray(maps.n_trees) for maps in methods if len(maps.n_trees) > 1]
    if not growing:
        return np.array([0])
    stages = max(growing, key=lambda n_trees: (int(n_trees[-1]), len(n_trees)))
    every = -(-len(stages) // MOST_FRAMES)
    return stages[::-1][::every][::-1]  # counted from the end, which is always shown


def maps_at(maps: Maps, part: Array, frames: Ints) -> Array:
    """A method's maps (n_frames, ny, nx) at other tree counts; NaN before its first stage."""
    stage = np.searchsorted(maps.n_trees, frames, side="right") - 1
    values = np.array(part[np.maximum(stage, 0)])
    values[stage < 0] = np.nan
    return values


def _knowledge_limits(methods: Sequence[Maps], view: SpiralView) -> tuple[float, float]:
    """One scale over the finished maps; early stages may leave it."""
    lo, hi = shared_limits([maps.knowledge[-1] for maps in methods], log=view.log)
    return (max(lo, hi * _KNOWLEDGE_SPAN), hi) if view.log else (0.0, hi)


def _arrange(truths: Sequence[Panel], rest: Sequence[list[Panel]]) -> list[Panel]:
    """A row a method with a panel of the truth before it; a single one has two."""
    if not rest:
        return list(truths[:3])
    if len(rest) == 1:
        return [*truths[:2], *rest[0]]
    return [panel for first, row in zip(truths, rest, strict=False) for panel in (first, *row)]


def _points(rows: SpiralData) -> Points:
    return Points(
        rows.X[:, 0],
        rows.X[:, 1],
        group=rows.y,
        group_names=("class 1", "class 2", "class 3"),
        colours=CLASS_COLOURS,
        radius=1.1,
        opacity=0.7,
    )


def _truth_panels(truth: Truth, dots: Points, view: SpiralView) -> list[Panel]:
    """True data uncertainty, density, rows, and the probability of a class."""
    noise = Panel("True data uncertainty", truth.data_uncertainty, _NATS, (0.0, _MOST_UNCERTAIN))
    highest = float(np.nanmax(truth.density))
    density = Panel(
        "True density",
        truth.density,
        "per unit area",
        (highest * 1e-4, highest),
        log=True,
        points=None if view.points == "off" else dots,
    )
    blank = np.full(np.shape(truth.density), np.nan)
    rows = Panel(
        "Training rows", blank, points=dots, alt=f"{np.size(dots.x):,} training rows by class."
    )
    first = Panel("True probability of class 1", truth.proba[0], "", (0.0, 1.0))
    return [noise, density, rows, first]


def _method_panels(
    maps: Maps, view: SpiralView, knowledge: tuple[float, float] | None, frames: Ints
) -> list[Panel]:
    style = METHOD_STYLES[maps.method]
    plays = len(maps.n_trees) > 1 and len(frames) > 1
    shared = (0.0, _MOST_UNCERTAIN) if view.scale == "shared" else None
    panels = []
    for kind, part in zip(UNCERTAINTY_KINDS, (maps.total, maps.data, maps.knowledge), strict=True):
        is_knowledge = kind == "knowledge"
        limits = knowledge if is_knowledge else shared
        if limits is None:  # a scale of its own, of the finished map
            limits = shared_limits([part[-1]], log=is_knowledge and view.log)
        known = bool(np.isfinite(part[-1]).any())
        panels.append(
            Panel(
                f"{style.label}: {kind}",
                maps_at(maps, part, frames) if plays else part[-1],
                _NATS,
                limits,
                log=is_knowledge and view.log,
                markers=() if known else _NOT_AVAILABLE,
                alt="" if known else f"{style.label} gives no {kind} uncertainty here.",
                accent=style.colour,
            )
        )
    return panels


_NOT_AVAILABLE = (Marker(-300.0, 0.0, "not available", "cross"),)


def _strips(growths: Sequence[Growth], frames: Ints) -> list[Strip]:
    """The schedule with its members marked, and the losses, over the number of trees."""
    if not growths:
        return []
    x = np.unique(np.linspace(1, frames[-1], _MOST_CURVE).astype(np.int64))
    # Members of independent models are whole models; a chain's own are places on this axis.
    chain = next((g for g in growths if np.size(g.member_trees)), None)
    shaded = next((g.exploring for g in growths if len(g.exploring)), ())
    label = METHOD_STYLES[chain.method].label if chain is not None else ""
    scale = Strip(
        "Gradient scale",
        x,
        [
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
        StripLine(f"{_style(g).label}, training", _at(x, g.n_trees, g.train_loss), _style(g).colour)
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
        "Loss",
        x,
        losses,
        x_label="trees",
        y_label=_NATS,
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
            words.append(f"{_style(growth).label} {scale.max():.3g} to {scale.min():.3g}{members}")
    return f"Factor of the gradients over the trees: {'; '.join(words)}." if words else ""


def _loss_words(growths: Sequence[Growth]) -> str:
    words = []
    for growth in growths:
        train = np.asarray(growth.train_loss, dtype=np.float64)
        other = np.asarray(growth.validation_loss, dtype=np.float64)
        if train.size:
            new = f", {other[-1]:.3g} on new rows" if other.size else ""
            words.append(f"{_style(growth).label} ends at {train[-1]:.3g} nats on its rows{new}")
    return f"Loss over the trees: {'; '.join(words)}." if words else ""
