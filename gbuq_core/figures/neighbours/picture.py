"""The training rows behind one prediction, over one input and over two."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from gbuq_core.figures.canvas.panels import (
    Marker,
    Panel,
    PanelSheet,
    Points,
    Strip,
    shared_limits,
)
from gbuq_core.figures.curves import Curves, draw_curves
from gbuq_core.figures.curves.parts import (
    Part,
    axis,
    band,
    line,
    panel,
    plain_dots,
    reading,
    rounded,
    stretches,
)
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.neighbours.live import Aside, Follow, density_entry
from gbuq_core.figures.neighbours.parts import (
    CHOSEN_RANGE,
    IBUG,
    MOST_DOTS,
    NEAR,
    STRENGTH,
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
    """A prediction over one input; arrays over ``x`` are (m,)."""

    # `x`, `loc`, `scale`: where, the prediction, and its std
    x: Array
    loc: Array
    scale: Array
    true_mean: Array
    true_std: Array
    # `x_rows`, `y_rows`: (n_rows,): training rows
    x_rows: Array
    y_rows: Array
    in_support: Mask  # where there are rows; elsewhere is hatched


class Surface(NamedTuple):
    """Maps over two inputs, (ny, nx) each."""

    true_std: Array
    scale: Array
    share: Array  # each cell's affinity with the chosen point, in [0, 1]
    in_support: Mask
    X_rows: Array  # (n_rows, 2): training rows
    # `x_extent`, `y_extent`: outer edges of the cells
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
    *,
    knobs: Sequence[LiveKnob] = (),
    follow: Follow | None = None,
    aside: Aside | None = None,
) -> Curves:
    """Rows, prediction and band with the neighbours of one x; below, scale against true noise."""
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
    dots: Part = {"kind": "dots", "colour": "text", "opacity": 0.28, "role": "others"}
    layers = [
        *(_column(a, b, upper) for a, b in picked),
        *gaps,
        {**band(x, loc - 2 * scale, loc + 2 * scale, IBUG.colour, 0.22), "role": "band"},
        {**dots, "x": rounded(course.x_rows[others]), "y": rounded(course.y_rows[others])},
        line(x, course.true_mean, **_TRUTH),
        line(x, loc, IBUG.colour, 2.2),
        {**line([at, at], upper, NEAR, 1.2), "role": "place"},
        *_strong(near, course.x_rows, course.y_rows),
    ]
    below = [
        *(_column(a, b, lower) for a, b in picked),
        *gaps,
        line(x, course.true_std, **_TRUTH),
        {**line(x, scale, IBUG.colour, 2.2), "role": "scale"},
        {**line([at, at], lower, NEAR, 1.2), "role": "place"},
    ]
    beside = {} if aside is None else {"aside": aside.spec(at, NEAR)}
    live: Part = {}
    if follow is not None:
        places = np.flatnonzero(np.abs(x - at) < 1e-9)
        live["live"] = {
            "kind": "course",
            "follow": follow.spec,
            "points": True,
            "x": at,
            "place": int(places[0]) if len(places) else None,
            "strength": STRENGTH,
            "noise": float(course.true_std.max()),
        }
    read = (
        ("prediction", loc),
        ("truth", course.true_mean),
        ("scale", scale),
        ("true noise", course.true_std),
    )
    return draw_curves(
        "neighbours",
        alt,
        height,
        axis((x[0], x[-1]), "x"),
        [
            panel(upper, y_label, layers, 0.66, **beside),
            panel(lower, "scale (std)", below, 0.34),
        ],
        [
            {"name": f"the {len(near.rows)} neighbours", **dot_look(NEAR), "role": "near"},
            {"name": "other rows", "kind": "dots", "colour": "text", "opacity": 0.5},
            {"name": "IBUG", "kind": "line", "colour": IBUG.colour, "width": 2.2},
            {"name": "\u00b1 2 scales", "kind": "band", "colour": IBUG.colour, "opacity": 0.22},
            {"name": "truth", "kind": "line", **_TRUTH},
            *([] if aside is None else [density_entry(aside, NEAR)]),
            *([_RANGE_ENTRY] if picked else []),
            *([{"name": "no rows", "kind": "hatch", "colour": "text"}] if gaps else []),
        ],
        reading(x, "x", [(name, values, name) for name, values in read]),
        hint=_HINT,
        knobs=knobs,
        pick=True,
        **live,
    )


def surface_sheet(
    surface: Surface,
    point: tuple[float, float],
    near: Near,
    inside: Mask | None = None,
    unit: str = "",
    alt: str = "",
    height: int = 330,
    *,
    knobs: Sequence[LiveKnob] = (),
    follow: Follow | None = None,
    strip: Strip | None = None,
) -> PanelSheet:
    """True noise, estimated scale, and how near every cell is to the chosen point."""
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
        strips=() if strip is None else (strip,),
        strip_height=90,
        knobs=knobs,
        near=None if follow is None else _following(follow, surface, point, strip is not None),
    )


def _following(
    follow: Follow, surface: Surface, point: tuple[float, float], has_strip: bool
) -> dict[str, Any]:
    """What near_maps.js reads: the chosen cell is None where the point is no cell's middle."""
    place, stride = 0, 1
    for at, extent, n in zip(
        point, (surface.x_extent, surface.y_extent), surface.scale.shape[::-1], strict=True
    ):
        cell = (at - extent[0]) / (extent[1] - extent[0]) * n - 0.5
        if abs(cell - round(cell)) > 1e-6 or not 0 <= round(cell) < n:
            place = -1
            break
        place += stride * round(cell)
        stride *= n
    return {
        "follow": follow.spec,
        "place": None if place < 0 else place,
        "noise": [float(surface.true_std.min()), float(surface.true_std.max())],
        "most": MOST_DOTS,
        "strip": 0 if has_strip else None,
    }


def _strong(near: Near, x: Array, y: Array) -> list[Part]:
    return [
        {**plain_dots(x[rows], y[rows], NEAR, opacity, size), "role": "near"}
        for rows, size, opacity in by_strength(near)
    ]


def _column(low: float, high: float, limits_of_y: Sequence[float]) -> Part:
    """A stretch of x whose scale lies in the range that is looked at."""
    bottom, top = limits_of_y
    tint = band([low, high], [bottom, bottom], [top, top], CHOSEN_RANGE, _TINT)
    return {**tint, "role": "range"}


_RANGE_ENTRY: Part = {
    "name": "scale in the chosen range",
    "kind": "band",
    "colour": CHOSEN_RANGE,
    "opacity": _TINT,
}
