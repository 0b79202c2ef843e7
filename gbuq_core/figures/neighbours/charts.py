"""One chosen point: what its neighbours' targets look like, and why its scale is what it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gbuq_core.figures.canvas.panels import PanelSheet, Strip, StripLine
from gbuq_core.figures.curves import Curves, draw_curves
from gbuq_core.figures.curves.parts import (
    Part,
    axis,
    band,
    entry,
    line,
    panel,
    plain_dots,
    reading,
)
from gbuq_core.figures.neighbours.parts import IBUG, NEAR, Array, Near, by_strength, dot_look

_BARS, _MOST_BARS = 0.2, 24  # opacity, number
_OTHER = "#9a9a9a"  # readable on white and on black
_PALE = "#b4b4b4"
_ROOM = 1.5  # times the chosen family's peak that the others may take


class Families(NamedTuple):
    """Distributions of one prediction."""

    y: Array  # (n_points,): Increasing
    # (n_points,): by the families' names, in the order in which they are read
    density: Mapping[str, Array]
    chosen: str  # the family that is drawn strongly
    targets: Array  # (k,): the neighbours' targets, the nearest first
    share: Array  # (k,): their affinities, in [0, 1]
    truth: float | None = None  # the target itself, where it is known
    truth_name: str = "the row's own target"  # what that is, for the legend


@dataclass(frozen=True, kw_only=True)
class Reasons:
    """What a scale comes from."""

    edges: Array  # (n_bins + 1,): of affinities, in [0, 1]
    # `counts`, `near_counts`: (n_bins,): how many of all training rows, and of the neighbours, have
    # them
    counts: Array
    near_counts: Array
    k: Array  # (n_k,): Increasing, with the point's scale for each in `scale` (n_k,)
    scale: Array
    chosen_k: int
    true_std: float | None  # the true noise there, where it is known
    # (n_tried,): the k that were tried, with their score on validation rows in `score`; may be
    # empty
    tried: Array
    score: Array
    scoring: str = "NLL (nats)"  # the score's name and unit


def family_figure(families: Families, label: str = "y", alt: str = "", height: int = 300) -> Curves:
    """All families over the neighbours' targets: bars, a rug of dots, and the chosen one strong."""
    y, targets = families.y, families.targets
    inside = targets[(targets >= y[0]) & (targets <= y[-1])]
    heights, edges = _histogram(inside, len(targets))
    chosen = families.density.get(families.chosen)
    # A family of tiny scale may rise beyond all measure: the chosen one and the bars are seen, and
    # of the others what rises at most half as high again.
    seen = [heights] if chosen is None else [heights, chosen]
    needed = max(float(np.nanmax(part, initial=0.0)) for part in seen)
    peaks = [float(np.max(d, initial=0.0, where=np.isfinite(d))) for d in families.density.values()]
    top = 1.12 * max(needed, min(max(peaks, default=0.0), _ROOM * needed)) or 1.0
    foot = -0.07 * top
    layers: list[Part] = [
        band([a, b], [0.0, 0.0], [h, h], NEAR, _BARS)
        for a, b, h in zip(edges[:-1], edges[1:], heights, strict=True)
        if h > 0
    ]
    layers += [
        _curve(y, density, _OTHER, 1.1)
        for name, density in families.density.items()
        if name != families.chosen
    ]
    if chosen is not None:
        layers.append(_curve(y, chosen, IBUG.colour, 2.6))
    every = Near(np.arange(len(targets)), families.share)
    for rows, size, opacity in by_strength(every):
        foot_y = np.full(len(rows), foot / 2)
        layers.append(plain_dots(targets[rows], foot_y, NEAR, 0.6 * opacity, size))
    legend: list[Part] = [
        {"name": families.chosen, "kind": "line", "colour": IBUG.colour, "width": 2.6},
        {"name": "other families", "kind": "line", "colour": _OTHER, "width": 1.1},
        {"name": "the neighbours' targets", **dot_look(NEAR)},
    ]
    if families.truth is not None:
        truth = line([families.truth] * 2, [foot, top], "text", 1.4, "6 5")
        layers.append(truth)
        legend.append(entry(families.truth_name, truth))
    finite = [
        (name, np.where(np.isfinite(density), density, np.nan))
        for name, density in families.density.items()
    ]
    return draw_curves(
        "posterior-families",
        alt,
        height,
        axis((y[0], y[-1]), label),
        [panel([foot, top], "density", layers)],
        legend,
        reading(y, "y", finite),
        hint="Point at the picture, or use its arrow keys, to read every family's density.",
    )


def family_strip(families: Families, label: str = "y", beside: str = "") -> Strip:
    """The same as a small chart of a sheet."""
    y, targets = families.y, families.targets
    inside = targets[(targets >= y[0]) & (targets <= y[-1])]
    heights, edges = _histogram(inside, len(targets))
    at = np.searchsorted(edges, y, side="right") - 1
    there = (at >= 0) & (at < len(heights))
    bars = np.full(len(y), np.nan)
    bars[there] = heights[at[there]]
    bars[bars <= 0] = np.nan
    seen = np.concatenate([bars, families.density[families.chosen]])
    lines = [
        StripLine("neighbours", bars, NEAR, bars=True),
        *(
            StripLine(name, density, "text" if name == beside else _OTHER, dash=name != beside)
            for name, density in families.density.items()
            if name != families.chosen
        ),
        StripLine(families.chosen, families.density[families.chosen], IBUG.colour),
    ]
    marked = families.truth is not None
    return Strip(
        title="The neighbours' targets",
        x=y,
        lines=lines,
        x_label=label,
        y_label="density",
        y_limits=(0.0, 1.12 * float(np.nanmax(seen))),
        marks=[families.truth] if families.truth is not None else (),
        mark_label=families.truth_name if marked else "",
    )


def reasons_sheet(reasons: Reasons, unit: str = "", alt: str = "") -> PanelSheet:
    """Affinities of all training rows, the scale against k, and the score that chose k."""
    every, near = (_bars(counts) for counts in (reasons.counts, reasons.near_counts))
    affinity = Strip(
        title="Affinity of all training rows",
        x=100.0 * reasons.edges,
        lines=[
            StripLine("training rows", every, _PALE, bars=True),
            StripLine(f"the {reasons.chosen_k} neighbours", near, NEAR, bars=True),
        ],
        x_label="trees with a shared leaf (%)",
        y_label="rows",
        y_limits=(0.7, 1.4 * float(np.nanmax(every, initial=1.0))),
        log=True,
    )
    lines = [StripLine("scale", reasons.scale, IBUG.colour)]
    seen = float(np.nanmax(reasons.scale, initial=0.0))
    if reasons.true_std is not None:
        level = np.full(len(reasons.k), reasons.true_std)
        lines.append(StripLine("true noise", level, "text", dash=True))
        seen = max(seen, reasons.true_std)
    scale = Strip(
        title="Its scale against k",
        x=reasons.k,
        lines=lines,
        x_label="k, neighbours that count",
        y_label=unit,
        y_limits=(0.0, 1.08 * seen or 1.0),
        marks=[float(reasons.chosen_k)],
        mark_label=f"k = {reasons.chosen_k}",
    )
    strips = [affinity, scale]
    if len(reasons.tried) > 1:
        strips.append(
            Strip(
                title="The score that chooses k",
                x=reasons.tried,
                lines=[StripLine("validation rows", reasons.score, IBUG.colour)],
                x_label="k, neighbours that count",
                y_label=reasons.scoring,
                marks=[float(reasons.chosen_k)],
                mark_label=f"k = {reasons.chosen_k}",
            )
        )
    return PanelSheet(
        panels=[],
        strips=strips,
        strip_columns=len(strips),
        strip_height=150,
        alt=alt,
        name="why-this-scale",
    )


def _bars(counts: Array) -> Array:
    """Heights at the left edges, the last once more at the right end; nothing where none are."""
    heights = np.append(counts, counts[-1:]).astype(np.float64)
    heights[heights <= 0] = np.nan
    return heights


def _curve(y: Array, density: Array, colour: str, width: float) -> Part:
    """A density where it is a number: a family may be refused, or be infinite at an edge."""
    there = np.isfinite(density)
    return line(y[there], density[there], colour, width)


def _histogram(targets: Array, n: int) -> tuple[Array, Array]:
    """Bars whose area is the share of the ``n`` neighbours in them."""
    if len(targets) < 2 or float(np.ptp(targets)) == 0.0:
        return np.zeros(0), np.zeros(1)
    bars = int(np.clip(round(2 * n ** (1 / 3)), 4, _MOST_BARS))
    counts, edges = np.histogram(targets, bins=bars)
    return counts / (n * np.diff(edges)), edges
