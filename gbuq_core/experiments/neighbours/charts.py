"""One chosen point: what its neighbours' targets look like, and why its scale is what it is."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from gbuq_core.experiments.neighbours.fit import Array
from gbuq_core.experiments.neighbours.look import NeighboursRun, describe_scale, truth_at
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
    rounded,
)
from gbuq_core.figures.near import NEAR, Near, by_strength, dot_look
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.ibug import FAMILIES
from gbuq_core.presentation import digits

IBUG = METHOD_STYLES["ibug"]
SCORES = {"nll": "NLL (nats)", "crps": "CRPS (units of y)"}
_BARS, _MOST_BARS = 0.2, 24  # opacity, number
_BINS = 50  # of a histogram of affinities, if there are more trees
_LEAST_REACH, _REACH = 60, 4  # of k that a scale is drawn up to: so many, or times k
_OTHER = "#9a9a9a"  # readable on white and on black
_PALE = "#b4b4b4"
_ROOM = 1.5  # times the chosen family's peak that the others may take


def near_of(run: NeighboursRun) -> Near:
    """The neighbours, their affinities as shares of the trees that count."""
    look = run.look
    return Near(look.indices.astype(np.int64), look.affinities / look.n_trees)


def _observed(run: NeighboursRun) -> tuple[float | None, str]:
    """The row's own target, or the true mean where that is known, and what it is."""
    if run.look.target is not None:
        return run.look.target, "the row's own target"
    known = truth_at(run)
    return (None, "") if known is None else (known[0], "true mean")


def family_figure(run: NeighboursRun) -> Curves:
    """All families over the neighbours' targets: bars, a rug of dots, and the chosen one strong."""
    look = run.look
    y, targets, chosen = look.y_grid, look.targets, look.densities[look.family]
    heights, edges = _histogram(y, targets)
    low, high = (digits(float(np.quantile(targets, share))) for share in (0.25, 0.75))
    label = FAMILIES[look.family].label
    alt = (
        f"{len(look.densities)} distributions over the targets of {look.k} neighbours, whose "
        f"middle half lies from {low} to {high}. The bold line is {label}."
    )
    # A family of tiny scale may rise beyond all measure: the chosen one and the bars are seen, and
    # of the others what rises at most half as high again.
    needed = max(float(np.nanmax(part, initial=0.0)) for part in (heights, chosen))
    peaks = [float(np.max(d, initial=0.0, where=np.isfinite(d))) for d in look.densities.values()]
    top = 1.12 * max(needed, min(max(peaks, default=0.0), _ROOM * needed)) or 1.0
    foot = -0.07 * top
    layers: list[Part] = [
        band([a, b], [0.0, 0.0], [h, h], NEAR, _BARS)
        for a, b, h in zip(edges[:-1], edges[1:], heights, strict=True)
        if h > 0
    ]
    layers += [
        _curve(y, density, _OTHER, 1.1)
        for name, density in look.densities.items()
        if name != look.family
    ]
    layers.append(_curve(y, chosen, IBUG.colour, 2.6))
    every = Near(np.arange(len(targets)), near_of(run).share)
    for rows, size, opacity in by_strength(every):
        foot_y = np.full(len(rows), foot / 2)
        layers.append(plain_dots(targets[rows], foot_y, NEAR, 0.6 * opacity, size))
    legend: list[Part] = [
        {"name": label, "kind": "line", "colour": IBUG.colour, "width": 2.6},
        {"name": "other families", "kind": "line", "colour": _OTHER, "width": 1.1},
        {"name": "the neighbours' targets", **dot_look(NEAR)},
    ]
    observed, what = _observed(run)
    if observed is not None:
        truth = line([observed] * 2, [foot, top], "text", 1.4, "6 5")
        layers.append(truth)
        legend.append(entry(what, truth))
    finite = [
        (FAMILIES[name].label, np.where(np.isfinite(density), density, np.nan))
        for name, density in look.densities.items()
    ]
    return draw_curves(
        "posterior-families",
        alt,
        300,
        axis((y[0], y[-1]), run.fit.data.target_name),
        [panel([foot, top], "density", layers)],
        legend,
        reading(y, "y", finite),
        hint="Point at the picture, or use its arrow keys, to read every family's density.",
    )


def family_strip(
    run: NeighboursRun, y: Array, densities: Mapping[str, Array], chosen: str, beside: str = ""
) -> Strip:
    """Densities over ``y``, by their names, above the neighbours' targets, as a small chart."""
    heights, edges = _histogram(y, run.look.targets)
    at = np.searchsorted(edges, y, side="right") - 1
    there = (at >= 0) & (at < len(heights))
    bars = np.full(len(y), np.nan)
    bars[there] = heights[at[there]]
    bars[bars <= 0] = np.nan
    lines = [
        StripLine("neighbours", bars, NEAR, bars=True),
        *(
            StripLine(name, density, "text" if name == beside else _OTHER, dash=name != beside)
            for name, density in densities.items()
            if name != chosen
        ),
        StripLine(chosen, densities[chosen], IBUG.colour),
    ]
    observed, what = _observed(run)
    return Strip(
        title="The neighbours' targets",
        x=y,
        lines=lines,
        x_label=run.fit.data.target_name,
        y_label="density",
        y_limits=(0.0, 1.12 * float(np.nanmax(np.concatenate([bars, densities[chosen]])))),
        marks=() if observed is None else [observed],
        mark_label=what,
    )


def density_name(run: NeighboursRun) -> str:
    """What the legend calls the density of the family in use."""
    return f"density ({FAMILIES[run.look.family].label})"


def density_beside(run: NeighboursRun, x: float) -> tuple[Part, Part]:
    """The density of the family in use, drawn sideways at ``x``, and its entry in the legend."""
    look, name = run.look, density_name(run)
    density = look.densities[look.family]
    known = np.where(np.isfinite(density), density, 0.0)
    drawn = {"x": x, "y": rounded(look.y_grid), "density": rounded(known), "colour": NEAR}
    entry = {"name": name, "kind": "band", "colour": NEAR, "opacity": 0.3, "role": "aside"}
    return {**drawn, "name": name}, entry


def reasons_sheet(run: NeighboursRun) -> PanelSheet:
    """Affinities of all training rows, the scale against k, and the score that chose k."""
    look, (_, least, gamma, delta) = run.look, run.view.setting
    truth, chosen = truth_at(run), f"k = {look.k}"
    n = look.n_trees
    width = -(-(n + 1) // _BINS)  # whole numbers of trees, or bars would differ by their room
    edges = np.arange(-0.5, n + 0.5 + width, width)
    every, near = (_bars(counted, edges) for counted in (look.row_affinities, look.affinities))
    affinity = Strip(
        title="Affinity of all training rows",
        x=100.0 * np.clip(edges / n, 0.0, 1.0),
        lines=[
            StripLine("training rows", every, _PALE, bars=True),
            StripLine(f"the {look.k} neighbours", near, NEAR, bars=True),
        ],
        x_label="trees with a shared leaf (%)",
        y_label="rows",
        y_limits=(0.7, 1.4 * float(np.nanmax(every, initial=1.0))),
        log=True,
    )
    drawn = look.path_k <= max(_LEAST_REACH, _REACH * look.k)
    k, by_k = look.path_k[drawn], gamma * np.maximum(look.path_std[drawn], least) + delta
    lines = [StripLine("scale", by_k, IBUG.colour)]
    seen = float(np.nanmax(by_k, initial=0.0))
    if truth is not None:
        lines.append(StripLine("true noise", np.full(len(k), truth[1]), "text", dash=True))
        seen = max(seen, truth[1])
    scale = Strip(
        title="Its scale against k",
        x=k.astype(np.float64),
        lines=lines,
        x_label="k, neighbours that count",
        y_label=run.fit.data.unit,
        y_limits=(0.0, 1.08 * seen or 1.0),
        marks=[float(look.k)],
        mark_label=chosen,
    )
    strips, tuning, scoring = [affinity, scale], run.search.tuning, run.settings.scoring
    tried = tuning.n_neighbors <= k[-1]
    if tried.sum() > 1:
        scores = tuning.nll if scoring == "nll" else tuning.crps
        strips.append(
            Strip(
                title="The score that chooses k",
                x=tuning.n_neighbors[tried].astype(np.float64),
                lines=[StripLine("validation rows", scores[tried], IBUG.colour)],
                x_label="k, neighbours that count",
                y_label=SCORES[scoring],
                marks=[float(look.k)],
                mark_label=chosen,
            )
        )
    return PanelSheet(
        panels=[],
        strips=strips,
        strip_columns=len(strips),
        strip_height=150,
        alt=describe_scale(run),
        name="why-this-scale",
    )


def _bars(affinities: npt.NDArray[np.int32], edges: Array) -> Array:
    """Rows by affinity: heights at the left edges, the last once more; nothing where none are."""
    counts = np.histogram(affinities, bins=edges)[0]
    heights = np.append(counts, counts[-1:]).astype(np.float64)
    heights[heights <= 0] = np.nan
    return heights


def _curve(y: Array, density: Array, colour: str, width: float) -> Part:
    """A density where it is a number: a family may be refused, or be infinite at an edge."""
    there = np.isfinite(density)
    return line(y[there], density[there], colour, width)


def _histogram(y: Array, targets: Array) -> tuple[Array, Array]:
    """Bars of the targets within ``y``, whose area is the share of them all that lies there."""
    inside = targets[(targets >= y[0]) & (targets <= y[-1])]
    if len(inside) < 2 or float(np.ptp(inside)) == 0.0:
        return np.zeros(0), np.zeros(1)
    bars = int(np.clip(round(2 * len(targets) ** (1 / 3)), 4, _MOST_BARS))
    counts, edges = np.histogram(inside, bins=bars)
    return counts / (len(targets) * np.diff(edges)), edges
