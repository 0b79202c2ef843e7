"""Runs, which the steps of the lesson on growing noise share, and its charts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from demos.asking import Drawn
from gbuq_core.experiments.heteroscedastic.data import Array, data_of
from gbuq_core.experiments.heteroscedastic.fit import (
    HeteroscedasticFit,
    HeteroscedasticMeasure,
    HeteroscedasticRun,
    HeteroscedasticView,
    fit_heteroscedastic,
    interval_of,
    measure_heteroscedastic,
    view_heteroscedastic,
)
from gbuq_core.experiments.heteroscedastic.plan import (
    SUPPORT,
    HeteroscedasticSettings,
    plan_measure,
)
from gbuq_core.experiments.heteroscedastic.scores import HeteroscedasticScore
from gbuq_core.figures.canvas.panels import PanelSheet, Strip, StripLine
from gbuq_core.figures.curves.parts import stretches
from gbuq_core.figures.guess import PLACES, GuessChart, GuessLine
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.jobs import stage
from gbuq_core.metrics import auroc
from gbuq_core.settings import plan_of

GREY, ORANGE = "#9a9a9a", "#d55e00"
_ROWS, _EVERY = 100, 2  # rows that a chart shows, and every how many places of the grid
_FAINT = 0.35
_HEADROOM = 3.2  # stds of noise around the truth that charts hold
_NEAR_BAND = 0.25  # of the true half width: a drawn end as close as this is close
_KEPT = 16  # fits that steps share; the lesson has fewer

# Seconds of work each, so that steps that show the same fit do not train it again.
_fit = lru_cache(maxsize=_KEPT)(fit_heteroscedastic)


@lru_cache(maxsize=_KEPT)
def _measure(plan: HeteroscedasticSettings) -> HeteroscedasticMeasure:
    return measure_heteroscedastic(_fit(plan_of(plan, plan.method)), plan)


def heteroscedastic_run(settings: HeteroscedasticSettings) -> HeteroscedasticRun:
    """What `run_heteroscedastic` returns, with fits and measurements shared between the steps."""
    fits, measures = [], []
    with stage(len(settings.methods)):
        for method in settings.methods:
            with stage(1, span=1):
                fits.append(_fit(plan_of(settings, method)))
            measures.append(_measure(plan_measure(settings, method)))
    views = tuple(view_heteroscedastic(fit, settings) for fit in fits)
    return HeteroscedasticRun(settings, data_of(settings), tuple(fits), views, tuple(measures))


def both(first: HeteroscedasticRun, second: HeteroscedasticRun) -> HeteroscedasticRun:
    """Two runs of the same rows as one."""
    settings = replace(first.settings, methods=first.settings.methods + second.settings.methods)
    return first._replace(
        settings=settings,
        fits=first.fits + second.fits,
        views=first.views + second.views,
        measures=first.measures + second.measures,
    )


class Backdrop(NamedTuple):
    """Rows and truth behind every curve.

    x : (n,), places of the grid and of the rows, increasing; grid : (m,), what curves are given
    over; rows, truth : (n,); noise : (n,), its std, NaN where no rows are; y_limits : (low, high);
    shaded : where rows lie, unless that is all that is shown.
    """

    x: Array
    grid: Array
    rows: Array
    truth: Array
    noise: Array
    y_limits: tuple[float, float]
    shaded: Sequence[tuple[float, float]]

    def at(self, curves: Array) -> Array:
        """Curves (..., m) over the grid at the chart's places (..., n)."""
        flat = np.reshape(curves, (-1, len(self.grid)))
        values = np.stack([np.interp(self.x, self.grid, curve) for curve in flat])
        return values.reshape(*np.shape(curves)[:-1], len(self.x))

    def lines(self, z: float | Array = 0.0) -> list[StripLine]:
        """Rows, the true mean, and z stds of noise around it: one z, or one a frame; none at 0."""
        lines = [
            StripLine("row", self.rows, GREY, dots=True),
            StripLine("true mean", self.truth, "text", dash=True),
        ]
        if np.any(z):
            width = np.multiply.outer(z, self.noise)
            for name, ends in (("true upper end", width), ("true lower end", -width)):
                lines.append(StripLine(name, self.truth + ends, "text", dash=True))
        return lines

    def strip(self, title: str, lines: Sequence[StripLine]) -> Strip:
        """A chart of y over x."""
        return Strip(
            title=title,
            x=self.x,
            lines=lines,
            x_label="x",
            y_label="y",
            y_limits=self.y_limits,
            mode="frame",
            shaded=self.shaded,
            shaded_label="rows lie here" if self.shaded else "",
            legend=False,
        )


def backdrop_of(run: HeteroscedasticRun, near: bool = False) -> Backdrop:
    """The rows and the truth of a run; ``near`` keeps only the part with rows."""
    view, data = run.views[0], run.data
    few = np.linspace(0, len(data.y) - 1, min(len(data.y), _ROWS)).astype(np.int64)
    grid = view.x[view.support] if near else view.x[::_EVERY]
    places = np.concatenate([grid, data.X[few, 0]])
    order = np.argsort(places, kind="stable")
    rows = np.concatenate([np.full(len(places) - len(few), np.nan), data.y[few]])[order]
    x, true_std = places[order], np.sqrt(view.true_variance)
    inside = np.where(view.support, _HEADROOM * true_std, 0.0)
    seen = view.support if near else np.ones(len(view.x), dtype=np.bool_)
    low = float((view.true_mean - inside)[seen].min())
    high = float((view.true_mean + inside)[seen].max())
    room = 0.2 if near else 1.0
    within = (x >= SUPPORT[0]) & (x <= SUPPORT[1])
    return Backdrop(
        x,
        view.x,
        rows,
        np.interp(x, view.x, view.true_mean),
        np.where(within, np.interp(x, view.x, true_std), np.nan),
        (low - room, high + room),
        () if near else stretches(view.x, view.support),
    )


def interval_lines(
    behind: Backdrop, view: HeteroscedasticView, ends: Sequence[Any]
) -> list[StripLine]:
    """A method's mean and the two ends of its interval, each (m,) or (n_frames, m)."""
    assert view.loc is not None
    colour = METHOD_STYLES[view.method].colour
    lower, upper = (behind.at(np.asarray(end)) for end in ends)
    return [
        StripLine("upper end", upper, colour),
        StripLine("lower end", lower, colour),
        StripLine("mean", behind.at(view.loc), colour),
    ]


def tree_lines(behind: Backdrop, trees: Array, colour: str, played: bool) -> list[StripLine]:
    """Means of trees (n_trees, m) behind their mean and one of them a frame; or this one alone."""
    drawn = behind.at(trees)
    mean = StripLine("mean of the trees", drawn.mean(axis=0), "text")
    if played:
        return [mean, StripLine("this tree", drawn, colour)]
    faint = np.full(len(behind.x), _FAINT)
    lines = [StripLine(f"tree {i + 1}", y, colour, weight=faint) for i, y in enumerate(drawn)]
    return [*lines, mean, StripLine("this tree", drawn, ORANGE)]


def over_x(
    behind: Backdrop,
    title: str,
    lines: Sequence[tuple[str, Array, str, bool]],
    unit: str,
    **more: Any,
) -> Strip:
    """Curves over the grid, each a name, values (m,) or (n_frames, m), a colour, dashed or not."""
    shown = (behind.grid >= behind.x[0]) & (behind.grid <= behind.x[-1])
    grid = behind.grid[shown][::_EVERY]
    drawn = [
        StripLine(name, np.asarray(values)[..., shown][..., ::_EVERY], colour, dash=dash)
        for name, values, colour, dash in lines
    ]
    return Strip(
        title=title,
        x=grid,
        lines=drawn,
        x_label="x",
        y_label=unit,
        mode="frame",
        shaded=behind.shaded,
        shaded_label="rows lie here" if behind.shaded else "",
        **more,
    )


def charts_of(strips: Sequence[Strip], alt: str, columns: int = 2, height: int = 190) -> PanelSheet:
    """A sheet of charts alone."""
    return PanelSheet(
        panels=[],
        strips=strips,
        strip_columns=columns,
        strip_height=height,
        alt=alt,
        name="heteroscedastic",
    )


def band_of(run: HeteroscedasticRun, level: float) -> Drawn:
    """Rows and their true mean to draw on, and the true upper end of an interval."""
    behind = backdrop_of(run, near=True)
    x = np.linspace(*SUPPORT, PLACES)
    mean, noise = (np.interp(x, behind.x, part) for part in (behind.truth, behind.noise))
    low, high = np.floor(behind.y_limits[0]), np.ceil(behind.y_limits[1])
    seen = ~np.isnan(behind.rows)
    chart = GuessChart(
        x=SUPPORT,
        y=(low, high),
        x_ticks=[(value, f"{value:g}") for value in np.linspace(*SUPPORT, 6)],
        y_ticks=[(value, f"{value:g}") for value in np.arange(low, high + 0.5)],
        x_label="x",
        y_label="y",
        lines=[GuessLine("true mean", behind.x, behind.truth, dash=True)],
        dots=(behind.x[seen], behind.rows[seen]),
        dots_name="row",
    )
    width = wide(level) * noise
    return Drawn(chart, mean + width, _NEAR_BAND * float(width.mean()), "units of y", "true end")


def means_of_trees(fit: HeteroscedasticFit, x: Array, n_trees: int) -> Array:
    """Predictions of MACAU's first trees at places x (m,), as (n_trees, m)."""
    means: Array = fit.model.predict_members(x[:, None])[:n_trees, :, 0]
    return means


def held_by_place(
    run: HeteroscedasticRun, index: int, level: float, n_parts: int, factor: float | None
) -> Array:
    """Share of test rows in a method's intervals, for equal parts of x from left to right."""
    measure = run.measures[index]
    lower, upper = interval_of(measure.of_test, level, factor)
    held = (lower <= measure.test.y) & (measure.test.y <= upper)
    part = parts_of(measure.test.X[:, 0], n_parts)
    return np.array([held[part == i].mean() for i in range(n_parts)])


def parts_of(x: Array, n_parts: int) -> np.ndarray:
    """Which of equal parts of the rows' range each x lies in.

    >>> parts_of(np.array([0.0, 3.0, 4.0, 10.0]), 3).tolist()
    [0, 0, 1, 2]
    """
    low, high = SUPPORT
    parts = np.floor(n_parts * (x - low) / (high - low)).astype(np.int64)
    return np.clip(parts, 0, n_parts - 1)


def told_by_distance(measure: HeteroscedasticMeasure, key: str, edges: Array) -> Array:
    """AUROC of a score for foreign rows whose distance is between edges, (n_edges - 1,)."""
    known, foreign = (
        next(curve.values for curve in at.curves if curve.key == key)
        for at in (measure.of_test, measure.of_foreign)
    )
    x = measure.foreign_X[:, 0]
    away = np.maximum(SUPPORT[0] - x, x - SUPPORT[1])
    aurocs = []
    for low, high in itertools.pairwise(edges):
        these = foreign[(away > low) & (away <= high)]
        is_foreign = np.repeat([0.0, 1.0], [len(known), len(these)])
        aurocs.append(auroc(is_foreign, np.concatenate([known, these])))
    return np.array(aurocs)


def wide(level: float) -> float:
    """Half the width of a normal's interval of a level, in stds."""
    return float(ndtri(0.5 + level / 2.0))


def each_interval(run: HeteroscedasticRun, behind: Backdrop) -> Strip:
    """A method a frame: its mean and its interval; nothing for one that only scores."""
    nothing = np.full(len(run.views[0].x), np.nan)
    curves = [
        np.stack([nothing if part is None else part for part in (view.loc, view.lower, view.upper)])
        for view in run.views
    ]
    mean, lower, upper = (behind.at(np.stack(part)) for part in zip(*curves, strict=True))
    lines = [
        *behind.lines(wide(run.settings.level)),
        StripLine("upper end", upper, METHOD_STYLES["macau"].colour),
        StripLine("lower end", lower, METHOD_STYLES["macau"].colour),
        StripLine("mean", mean, "text"),
    ]
    return behind.strip(f"{100 * run.settings.level:.0f} % interval", lines)


def crps_strip(scores: Sequence[HeteroscedasticScore]) -> Strip:
    """CRPS here over that of the paper, a method a frame."""
    pairs = [(i, score.paper_crps, score.crps) for i, score in enumerate(scores)]
    return _beside_strip("CRPS", pairs, len(scores))


def auroc_strip(scores: Sequence[HeteroscedasticScore]) -> Strip:
    """The same for every score's AUROC."""
    pairs = [(i, cell.paper, cell.value) for i, score in enumerate(scores) for cell in score.auroc]
    return _beside_strip("AUROC", pairs, len(scores))


def _beside_strip(title: str, pairs: Sequence[tuple[int, float, float]], n_frames: int) -> Strip:
    """Numbers of frames, in the paper and here; those of the frame in ink."""
    known = sorted((paper, here, frame) for frame, paper, here in pairs if paper == paper)
    x, y, frame = (np.array(part) for part in zip(*known, strict=True))
    room = 0.05 * float(np.ptp(x))
    x = np.concatenate([[x[0] - room], x, [x[-1] + room]])  # dots need room at the sides
    y = np.concatenate([[np.nan], y, [np.nan]])
    frame = np.concatenate([[-1], frame, [-1]])
    this = np.where(np.arange(n_frames)[:, None] == frame, y, np.nan)
    low, high = min(x[0], np.nanmin(y) - room), max(x[-1], np.nanmax(y) + room)
    lines = [
        StripLine("as in the paper", x, "text", dash=True),
        StripLine("all", y, GREY, dots=True),
        StripLine("this method", this, ORANGE, dots=True),
    ]
    return Strip(
        title=title,
        x=x,
        lines=lines,
        x_label=f"{title} in the paper",
        y_label="here",
        y_limits=(low, high),
        mode="frame",
    )
