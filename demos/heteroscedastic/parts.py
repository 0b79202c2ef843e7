"""Runs, which the steps of the lesson on growing noise share, and its charts."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from demos.asking import Drawn
from gbuq_core.figures.canvas.panels import PanelSheet, Strip, StripLine
from gbuq_core.figures.curves.parts import stretches
from gbuq_core.figures.guess import PLACES, GuessChart, GuessLine
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.jobs import stage
from gbuq_core.metrics import auroc
from gbuq_core.settings import plan_of
from gbuq_core.study.heteroscedastic import (
    HETEROSCEDASTIC,
    HIGH,
    LEVELS,
    LOW,
    MEASURED,
    HeteroscedasticSettings,
    draw_foreign,
    draw_test,
    fit,
    known_along,
    measure,
    view,
)
from gbuq_core.study.members import Array, Fit, Predictive, View
from gbuq_core.study.study import Numbers, Run

GREY, ORANGE = "#9a9a9a", "#d55e00"
_ROWS, _EVERY = 100, 2  # rows that a chart shows, and every how many places of the grid
_FAINT = 0.35
_HEADROOM = 3.2  # stds of noise around the truth that charts hold
_NEAR_BAND = 0.25  # of the true half width: a drawn end as close as this is close
_KEPT = 16  # fits that steps share; the lesson has fewer

# Seconds of work each, so that steps that show the same fit do not train it again.
_fit = lru_cache(maxsize=_KEPT)(fit)


@lru_cache(maxsize=_KEPT)
def _measure(plan: HeteroscedasticSettings) -> Mapping[str, Predictive]:
    return measure(_fit(plan_of(plan, plan.method)), plan)


def heteroscedastic_run(settings: HeteroscedasticSettings) -> Run:
    """What `HETEROSCEDASTIC.run` returns, with fits and measurements shared between the steps."""
    views, measured = [], {}
    with stage(len(settings.methods)):
        for method in settings.methods:
            with stage(1, span=1):
                views.append(view(_fit(plan_of(settings, method)), settings))
            measured[method] = _measure(plan_of(settings, method, MEASURED))
    return replace(HETEROSCEDASTIC.gather(settings, views), measured=measured)


def both(first: Run, second: Run) -> Run:
    """Two runs of the same rows as one."""
    return replace(
        first,
        settings=replace(first.settings, methods=first.settings.methods + second.settings.methods),
        views=first.views + second.views,
        measured={**first.measured, **second.measured},
    )


def label_of(view: View) -> str:
    """Its method as people write it."""
    return METHOD_STYLES[view.method].label


def factor_of(view: View, level: float) -> float:
    """Of the conformal step at a level."""
    return view.factors[LEVELS.index(level)]


def ends_of(view: View, settings: HeteroscedasticSettings, level: float) -> tuple[Array, Array]:
    """A method's interval of a level, with the conformal step of the settings."""
    return view.at.interval(level, factor_of(view, level) if settings.conformal else None)


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


def backdrop_of(run: Run, near: bool = False) -> Backdrop:
    """The rows and the truth of a run; ``near`` keeps only the part with rows."""
    known, data = known_along(run), run.data
    few = np.linspace(0, len(data.y) - 1, min(len(data.y), _ROWS)).astype(np.int64)
    grid = known.x[known.support] if near else known.x[::_EVERY]
    places = np.concatenate([grid, data.X[few, 0]])
    order = np.argsort(places, kind="stable")
    rows = np.concatenate([np.full(len(places) - len(few), np.nan), data.y[few]])[order]
    x = places[order]
    inside = np.where(known.support, _HEADROOM * known.std, 0.0)
    seen = known.support if near else np.ones(len(known.x), dtype=np.bool_)
    low = float((known.mean - inside)[seen].min())
    high = float((known.mean + inside)[seen].max())
    room = 0.2 if near else 1.0
    within = (x >= LOW) & (x <= HIGH)
    return Backdrop(
        x,
        known.x,
        rows,
        np.interp(x, known.x, known.mean),
        np.where(within, np.interp(x, known.x, known.std), np.nan),
        (low - room, high + room),
        () if near else stretches(known.x, known.support),
    )


def interval_lines(behind: Backdrop, view: View, ends: Sequence[Any]) -> list[StripLine]:
    """A method's mean and the two ends of its interval, each (m,) or (n_frames, m)."""
    colour = METHOD_STYLES[view.method].colour
    lower, upper = (behind.at(np.asarray(end)) for end in ends)
    return [
        StripLine("upper end", upper, colour),
        StripLine("lower end", lower, colour),
        StripLine("mean", behind.at(view.at.mean), colour),
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


def band_of(run: Run, level: float) -> Drawn:
    """Rows and their true mean to draw on, and the true upper end of an interval."""
    behind = backdrop_of(run, near=True)
    x = np.linspace(LOW, HIGH, PLACES)
    mean, noise = (np.interp(x, behind.x, part) for part in (behind.truth, behind.noise))
    low, high = np.floor(behind.y_limits[0]), np.ceil(behind.y_limits[1])
    seen = ~np.isnan(behind.rows)
    chart = GuessChart(
        x=(LOW, HIGH),
        y=(low, high),
        x_ticks=[(value, f"{value:g}") for value in np.linspace(LOW, HIGH, 6)],
        y_ticks=[(value, f"{value:g}") for value in np.arange(low, high + 0.5)],
        x_label="x",
        y_label="y",
        lines=[GuessLine("true mean", behind.x, behind.truth, dash=True)],
        dots=(behind.x[seen], behind.rows[seen]),
        dots_name="row",
    )
    width = wide(level) * noise
    return Drawn(chart, mean + width, _NEAR_BAND * float(width.mean()), "units of y", "true end")


def means_of_trees(fit: Fit, x: Array, n_trees: int) -> Array:
    """Predictions of MACAU's first trees at places x (m,), as (n_trees, m)."""
    means: Array = fit.model.predict_members(x[:, None])[:n_trees, :, 0]
    return means


def held_by_place(run: Run, index: int, level: float, n_parts: int, factor: float | None) -> Array:
    """Share of test rows in a method's intervals, for equal parts of x from left to right."""
    at, test = run.measured[run.views[index].method]["test"], draw_test(run.settings)
    lower, upper = at.interval(level, factor)
    held = (lower <= test.y) & (test.y <= upper)
    part = parts_of(test.X[:, 0], n_parts)
    return np.array([held[part == i].mean() for i in range(n_parts)])


def parts_of(x: Array, n_parts: int) -> np.ndarray:
    """Which of equal parts of the rows' range each x lies in.

    >>> parts_of(np.array([0.0, 3.0, 4.0, 10.0]), 3).tolist()
    [0, 0, 1, 2]
    """
    parts = np.floor(n_parts * (x - LOW) / (HIGH - LOW)).astype(np.int64)
    return np.clip(parts, 0, n_parts - 1)


def told_by_distance(run: Run, method: str, name: str, edges: Array) -> Array:
    """AUROC of a score for foreign rows whose distance is between edges, (n_edges - 1,)."""
    known, foreign = (run.measured[method][rows].score(name) for rows in ("test", "foreign"))
    x = draw_foreign(run.settings)[:, 0]
    away = np.maximum(LOW - x, x - HIGH)
    aurocs = []
    for low, high in itertools.pairwise(edges):
        these = foreign[(away > low) & (away <= high)]
        is_foreign = np.repeat([0.0, 1.0], [len(known), len(these)])
        aurocs.append(auroc(is_foreign, np.concatenate([known, these])))
    return np.array(aurocs)


def wide(level: float) -> float:
    """Half the width of a normal's interval of a level, in stds."""
    return float(ndtri(0.5 + level / 2.0))


def each_interval(run: Run, behind: Backdrop) -> Strip:
    """A method a frame: its mean and its interval; nothing for one that only scores."""
    level = run.settings.level
    curves = [(view.at.mean, *ends_of(view, run.settings, level)) for view in run.views]
    mean, lower, upper = (behind.at(np.stack(part)) for part in zip(*curves, strict=True))
    lines = [
        *behind.lines(wide(level)),
        StripLine("upper end", upper, METHOD_STYLES["macau"].colour),
        StripLine("lower end", lower, METHOD_STYLES["macau"].colour),
        StripLine("mean", mean, "text"),
    ]
    return behind.strip(f"{100 * level:.0f} % interval", lines)


def paired(numbers: Numbers, begins: str = "") -> list[tuple[float, float]]:
    """Numbers of the paper, by how their names begin, with those that came out here."""
    names = [name for name in numbers if name.startswith(f"paper_{begins}")]
    return [(numbers[name], numbers.get(name.removeprefix("paper_"), np.nan)) for name in names]


def beside_strip(title: str, begins: str, scores: Sequence[Numbers]) -> Strip:
    """Numbers here over those of the paper, a method a frame."""
    pairs = [(i, *pair) for i, numbers in enumerate(scores) for pair in paired(numbers, begins)]
    return _beside_strip(title, pairs, len(scores))


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
