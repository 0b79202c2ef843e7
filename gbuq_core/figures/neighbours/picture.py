"""The training rows behind one prediction, over one input and over two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from gbuq_core.figures.canvas.panels import Marker, Panel, PanelSheet, Points, shared_limits
from gbuq_core.figures.curves import Curves
from gbuq_core.figures.curves.parts import Part, band, line, rounded, stretches
from gbuq_core.figures.neighbours.parts import (
    CHOSEN_RANGE,
    IBUG,
    NEAR,
    Array,
    Mask,
    Near,
    by_strength,
    dot_look,
    others_of,
    round_up,
)

_TRUTH: Part = {"colour": "text", "width": 1.4, "dash": "6 5"}
_TINT = 0.16
_HINT = "Point at the picture, or use its arrow keys, to read values; click or Enter chooses x."


class Course(NamedTuple):
    """A prediction over one input; arrays over ``x`` are (m,).

    Attributes
    ----------
    x, loc, scale : ndarray
        Where, the prediction, and its std.
    true_mean, true_std : ndarray
    x_rows, y_rows : ndarray of shape (n_rows,)
        Training rows.
    in_support : ndarray of bool
        Where there are rows; elsewhere is hatched.
    """

    x: Array
    loc: Array
    scale: Array
    true_mean: Array
    true_std: Array
    x_rows: Array
    y_rows: Array
    in_support: Mask


class Surface(NamedTuple):
    """Maps over two inputs, (ny, nx) each.

    Attributes
    ----------
    true_std, scale : ndarray
    share : ndarray
        Each cell's affinity with the chosen point, in [0, 1].
    in_support : ndarray of bool
    X_rows : ndarray of shape (n_rows, 2)
        Training rows.
    x_extent, y_extent : (low, high)
        Outer edges of the cells.
    """

    true_std: Array
    scale: Array
    share: Array
    in_support: Mask
    X_rows: Array
    x_extent: tuple[float, float]
    y_extent: tuple[float, float]


def course_figure(
    course: Course,
    at: float,
    near: Near,
    inside: Mask | None = None,
    y_label: str = "y",
    alt: str = "",
    height: int = 440,
) -> Curves:
    """Rows, prediction and band with the neighbours of one x; below, scale against true noise.

    Parameters
    ----------
    course : Course
    at : float
        The chosen x.
    near : Near
    inside : (m,) bool array, optional
        Where the scale lies in the range that is looked at.
    y_label, alt : str
    height : int
        In pixels, without the legend.
    """
    x, loc, scale = course.x, course.loc, course.scale
    spread = np.concatenate([course.y_rows, course.true_mean])
    low, high = float(spread.min()), float(spread.max())
    upper = [low - 0.06 * (high - low), high + 0.06 * (high - low)]
    lower = [0.0, round_up(1.05 * float(max(scale.max(), course.true_std.max())))]
    picked = [] if inside is None else stretches(x, inside)
    gaps: list[Part] = [
        {"kind": "hatch", "from": a, "to": b} for a, b in stretches(x, ~course.in_support)
    ]
    others = others_of(len(course.x_rows), near)
    dots: Part = {"kind": "dots", "colour": "text", "opacity": 0.28}
    layers = [
        *(_column(a, b, upper) for a, b in picked),
        *gaps,
        band(x, loc - 2 * scale, loc + 2 * scale, IBUG.colour, 0.22),
        {**dots, "x": rounded(course.x_rows[others]), "y": rounded(course.y_rows[others])},
        line(x, course.true_mean, **_TRUTH),
        line(x, loc, IBUG.colour, 2.2),
        line([at, at], upper, NEAR, 1.2),
        *_strong(near, course.x_rows, course.y_rows),
    ]
    below = [
        *(_column(a, b, lower) for a, b in picked),
        *gaps,
        line(x, course.true_std, **_TRUTH),
        line(x, scale, IBUG.colour, 2.2),
        line([at, at], lower, NEAR, 1.2),
    ]
    spec = {
        "name": "neighbours",
        "alt": alt,
        "height": height,
        "hint": _HINT,
        "pick": True,
        "x": {"range": [float(x[0]), float(x[-1])], "label": "x"},
        "panels": [
            {"share": 0.66, "range": upper, "label": y_label, "layers": layers},
            {"share": 0.34, "range": lower, "label": "scale (std)", "layers": below},
        ],
        "legend": [
            {"name": f"the {len(near.rows)} neighbours", **dot_look(NEAR)},
            {"name": "other training rows", "kind": "dots", "colour": "text", "opacity": 0.5},
            {"name": "IBUG", "kind": "line", "colour": IBUG.colour, "width": 2.2},
            {"name": "\u00b1 2 scales", "kind": "band", "colour": IBUG.colour, "opacity": 0.22},
            {"name": "truth", "kind": "line", **_TRUTH},
            *([_RANGE_ENTRY] if picked else []),
            *([{"name": "no rows", "kind": "hatch", "colour": "text"}] if gaps else []),
        ],
        "read": {
            "x": rounded(x),
            "label": "x",
            "values": [
                {"name": name, "at": rounded(values)}
                for name, values in (
                    ("prediction", loc),
                    ("truth", course.true_mean),
                    ("scale", scale),
                    ("true noise", course.true_std),
                )
            ],
        },
    }
    return Curves(spec)


def surface_sheet(
    surface: Surface,
    point: tuple[float, float],
    near: Near,
    inside: Mask | None = None,
    unit: str = "",
    alt: str = "",
    height: int = 330,
) -> PanelSheet:
    """True noise, estimated scale, and how near every cell is to the chosen point.

    Parameters
    ----------
    surface : Surface
    point : (float, float)
        The chosen point.
    near : Near
    inside : (ny, nx) bool array, optional
        Cells whose scale lies in the range that is looked at; outlined.
    unit : str
        Of the target.
    alt : str
    height : int
        Most pixels of a map.
    """
    low, high = shared_limits([surface.true_std, surface.scale])
    scale_limits = (min(low, 0.0), high)
    X = surface.X_rows
    few = others_of(len(X), near)
    at = np.concatenate([few, near.rows]).astype(np.int64)
    group = np.repeat([0, 1], [len(few), len(near.rows)])
    names = ("training rows", f"the {len(near.rows)} neighbours")
    rows = Points(X[at, 0], X[at, 1], group, names, ("#c8c8c8", NEAR), 2.7, 0.85)
    only_near = Points(
        X[near.rows, 0], X[near.rows, 1], None, names[1:], (NEAR,), radius=3.4, opacity=0.9
    )
    empty = ~surface.in_support
    std_unit = f"std, {unit}" if unit else "std"
    maps = (
        Panel(
            title="True noise",
            values=surface.true_std,
            unit=std_unit,
            limits=scale_limits,
            hatched=empty,
        ),
        Panel(
            title="Estimated scale",
            values=surface.scale,
            unit=std_unit,
            limits=scale_limits,
            hatched=empty,
            points=only_near,
            accent=IBUG.colour,
        ),
        Panel(
            title="Affinity with the point",
            values=surface.share,
            unit="of the trees",
            limits=(0.0, 1.0),
            colour_map="viridis",
            points=rows,
            accent=NEAR,
        ),
    )
    panels = [replace(panel, outlined=inside) for panel in maps]
    return PanelSheet(
        panels=panels,
        columns=3,
        x_label="x1",
        y_label="x2",
        x_extent=surface.x_extent,
        y_extent=surface.y_extent,
        panel_height=height,
        hatch_label="no training rows",
        outline_label="scale in the chosen range" if inside is not None else "",
        markers=(Marker(*point, legend="the place you look at"),),
        alt=alt,
        name="neighbours",
    )


def _strong(near: Near, x: Array, y: Array) -> list[Part]:
    return [
        {
            "kind": "dots",
            "x": rounded(x[rows]),
            "y": rounded(y[rows]),
            "colour": NEAR,
            "opacity": opacity,
            "size": size,
        }
        for rows, size, opacity in by_strength(near)
    ]


def _column(low: float, high: float, limits_of_y: Sequence[float]) -> Part:
    """A stretch of x whose scale lies in the range that is looked at."""
    bottom, top = limits_of_y
    return band([low, high], [bottom, bottom], [top, top], CHOSEN_RANGE, _TINT)


_RANGE_ENTRY: Part = {
    "name": "scale in the chosen range",
    "kind": "band",
    "colour": CHOSEN_RANGE,
    "opacity": _TINT,
}
