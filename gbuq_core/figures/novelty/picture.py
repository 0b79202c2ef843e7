"""Maps of what is new to a model, side by side, and of what an edit of its rows changes.

Training rows lie on every map; the leaves of the trees that find a place most novel on one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.figures.canvas.live import offered
from gbuq_core.figures.canvas.panels import Line, Marker, Panel, PanelSheet, Points, shared_limits
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.theme import METHOD_STYLES

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

MACAU = METHOD_STYLES["macau"]
# Rows lie where novelty is low and maps are dark: light colours, told apart by any eye.
CLASS_COLOURS = ("#e69f00", "#56b4e9", "#cc79a7", "#f0e442", "#ffffff")
ELLIPSE = "#ffffff"
ELLIPSE_STDS = 2.0
_LEAVES = "leaves that call this place newest, at two standard deviations"
_MOST_POINTS = 1500
_CORNERS = 48  # of an ellipse
_DIFFERENCE = "viridis"


class Ground(NamedTuple):
    """What all maps share."""

    # `x_extent`, `y_extent`: outer edges of the cells
    x_extent: tuple[float, float]
    y_extent: tuple[float, float]
    rows: Array  # (n_rows, 2): training rows
    group: npt.NDArray[np.int64]  # (n_rows,): their classes
    names: Sequence[str]  # of the classes
    in_support: Mask | None = None  # cells in which rows can lie; None where nobody knows
    x_label: str = "feature 1"
    y_label: str = "feature 2"


class ScoreMap(NamedTuple):
    """One score over the map."""

    title: str
    unit: str
    values: Array  # higher is newer; own values or ranks
    accent: str | None = None  # the method's colour, `#rrggbb`
    limits: tuple[float, float] | None = None  # of the colours; the map's own without it
    log: bool = False  # logarithmic colours
    ellipses: bool = False  # whether the leaves of the trees are drawn on this one
    key: str = ""  # the score; empty for a map that is the same whatever the others show


class Ellipses(NamedTuple):
    """Leaves as their centres (m, 2) and covariances (m, 2, 2), in units of the map's axes."""

    centre: Array
    covariance: Array


def maps_sheet(
    ground: Ground,
    maps: Sequence[ScoreMap],
    point: tuple[float, float] | None = None,
    leaves: Ellipses | None = None,
    region: Mask | None = None,
    spread: Array | None = None,
    alt: str = "",
    knobs: Sequence[LiveKnob] = (),
    near: Mapping[str, Any] | None = None,
) -> PanelSheet:
    """The chosen scores over one map each."""
    panels = [_score_panel(one, ground, leaves) for one in maps]
    if spread is not None:
        apart = Panel(
            title="Where ranks disagree",
            name="where ranks disagree",
            values=spread,
            unit="points apart",
            limits=(0.0, 100.0),
        )
        panels.append(replace(apart, points=_dots(ground)))
    outline_label = "under the lasso"
    if region is None and ground.in_support is not None:
        panels[0] = replace(panels[0], outlined=ground.in_support)
        outline_label = "where nearly all rows lie"
    elif region is None:
        outline_label = ""
    else:
        panels = [replace(panel, outlined=region) for panel in panels]
    return _sheet(
        panels,
        ground,
        columns=_columns(len(panels)),
        markers=() if point is None else (Marker(*point, legend="the place you look at"),),
        outline_label=outline_label,
        alt=alt,
        name="novelty",
        knobs=knobs,
        near=near,
    )


class Scores(NamedTuple):
    """Every score over the map and of the training rows, for `pack_table`; both float64.

    name : the same for the same scores; values : (n_scores, n_cells); rows : (n_scores, n_rows)
    """

    name: str
    values: Array
    rows: Array


def follow_ranks(
    maps: Sequence[ScoreMap],
    table: str,
    rows: Sequence[str],
    at: Mapping[str, int | bool],
    kinds: Sequence[str],
    rank_units: Mapping[str, str],
    units: Mapping[str, str],
    positive: Sequence[str],
    compared: Sequence[str],
) -> dict[str, Any]:
    """How maps of scores follow the choice of ranks or own values, as rank_maps.js reads it."""
    return {
        "kind": "ranks",
        "table": table,
        "keys": [*(one.key or None for one in maps), *(["apart"] if compared else [])],
        "rows": {key: i for i, key in enumerate(rows)},
        "at": dict(at),
        "kinds": list(kinds),
        "rankUnits": dict(rank_units),
        "units": dict(units),
        "positive": list(positive),
        "compared": list(compared),
    }


def change_sheet(
    before: tuple[Ground, Array],
    after: tuple[Ground, Array],
    title: str,
    unit: str,
    region: Mask | None = None,
    limits: tuple[float, float] | None = None,
    alt: str = "",
) -> PanelSheet:
    """One score before an edit of the training rows, after it, and the difference."""
    both = shared_limits([before[1], after[1]]) if limits is None else limits
    difference = after[1] - before[1]
    finite = np.abs(difference[np.isfinite(difference)])
    most = float(finite.max(initial=0.0)) or 1.0
    panels = [
        Panel(title="Before", values=before[1], unit=unit, limits=both, points=_dots(before[0])),
        Panel(
            title="After",
            values=after[1],
            unit=unit,
            limits=both,
            points=_dots(after[0]),
            accent=MACAU.colour,
        ),
        Panel(
            title="Difference",
            values=difference,
            unit=f"{unit}, after \u2212 before",
            limits=(-most, most),
            colour_map=_DIFFERENCE,
        ),
    ]
    return _sheet(
        [replace(panel, outlined=region) for panel in panels],
        after[0],
        columns=3,
        outline_label=f"the last edit; {title.lower()}" if region is not None else "",
        alt=alt,
        name="novelty-change",
    )


def ellipse_corners(leaves: Ellipses, stds: float = ELLIPSE_STDS) -> tuple[Array, Array]:
    """Corners of ellipses one after the other, with a NaN behind each.

    An ellipse holds the points whose Mahalanobis distance from its centre is at most ``stds``.

    Examples
    --------
    >>> x, y = ellipse_corners(Ellipses(np.zeros((1, 2)), np.eye(2)[None]), 1.0)
    >>> bool(np.allclose(np.hypot(x, y)[:-1], 1.0)), bool(np.isnan(x[-1]))
    (True, True)
    """
    angle = np.linspace(0.0, 2.0 * np.pi, _CORNERS + 1)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    values, vectors = np.linalg.eigh(leaves.covariance)
    # Rounding may leave a flat leaf a variance just below 0.
    roots = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    corners = leaves.centre[:, :, None] + stds * (roots @ circle)
    gaps = np.full((len(corners), 2, 1), np.nan)
    flat = np.concatenate([corners, gaps], axis=2).transpose(1, 0, 2).reshape(2, -1)
    return flat[0], flat[1]


def _score_panel(one: ScoreMap, ground: Ground, leaves: Ellipses | None) -> Panel:
    lines: tuple[Line, ...] = ()
    if one.ellipses and leaves is not None and len(leaves.centre):
        lines = (Line(*ellipse_corners(leaves), ELLIPSE, legend=_LEAVES),)
    return Panel(
        title=one.title,
        values=one.values,
        unit=one.unit,
        limits=one.limits,
        log=one.log,
        points=_dots(ground),
        accent=one.accent,
        lines=lines,
    )


def _dots(ground: Ground) -> Points:
    """Training rows, evenly thinned to as many as a map shows."""
    n = len(ground.rows)
    kept = np.linspace(0, max(n - 1, 0), min(n, _MOST_POINTS)).astype(np.int64)
    rows, group = ground.rows[kept], ground.group[kept] % len(CLASS_COLOURS)
    return Points(
        rows[:, 0], rows[:, 1], group, tuple(ground.names), CLASS_COLOURS, radius=1.5, opacity=0.8
    )


def _columns(n: int) -> int:
    """One row of up to four maps, then two rows of nearly the same length."""
    return n if n <= 4 else 3 if n <= 6 else 4 if n <= 8 else 5


def _sheet(
    panels: Sequence[Panel],
    ground: Ground,
    columns: int,
    markers: Sequence[Marker] = (),
    outline_label: str = "",
    alt: str = "",
    name: str = "novelty",
    knobs: Sequence[LiveKnob] = (),
    near: Mapping[str, Any] | None = None,
) -> PanelSheet:
    rows = -(-len(panels) // columns)
    focus = _where_rows_are(ground)
    return PanelSheet(
        panels=panels,
        columns=columns,
        x_label=ground.x_label,
        y_label=ground.y_label,
        x_extent=ground.x_extent,
        y_extent=ground.y_extent,
        panel_height=300 if rows == 1 else 193,
        outline_label=outline_label,
        markers=markers,
        alt=alt,
        name=name,
        knobs=offered(knobs, focus=focus),
        focus=focus,
        near=near,
    )


def _where_rows_are(ground: Ground) -> tuple[tuple[float, float], tuple[float, float]] | None:
    if not len(ground.rows):
        return None
    (x0, y0), (x1, y1) = ground.rows.min(axis=0), ground.rows.max(axis=0)
    return (float(x0), float(x1)), (float(y0), float(y1))
