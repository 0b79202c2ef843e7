"""The training rows behind one prediction, over one input and over two.

Vermilion is the chosen point with its neighbours, green is IBUG, black the truth, and blue the part
that a range of scales picks out. With the ``knobs`` of its bar a picture follows them by itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gbuq_core.experiments.neighbours.charts import (
    IBUG,
    density_beside,
    density_name,
    family_strip,
    near_of,
)
from gbuq_core.experiments.neighbours.fit import Array, Mask
from gbuq_core.experiments.neighbours.live import follow_of
from gbuq_core.experiments.neighbours.look import NeighboursRun, describe_choice
from gbuq_core.experiments.neighbours.plan import PREDICTION
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
    entry,
    hatches,
    line,
    panel,
    plain_dots,
    readable_dots,
    reading,
    rounded,
    stretches,
)
from gbuq_core.figures.error_dots import error_dots
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.near import (
    MOST_DOTS,
    NEAR,
    STRENGTH,
    Near,
    by_strength,
    dot_look,
    others_of,
    room_around,
)

CHOSEN_RANGE = "#0072b2"  # what a range of scales picks out
_TRUTH: Part = {"colour": "text", "width": 1.4, "dash": "6 5"}
_TINT = 0.16
_STRIP_POINTS = 401
_HINT = "Point at the picture, or use its arrow keys, to read values; click or Enter chooses x."


def round_up(value: float) -> float:
    """The next of 1, 1.5, 2, 3, 4, 5, 6, 8, 10 times a power of ten: an axis that seldom moves.

    >>> round_up(0.43), round_up(11), round_up(0.0)
    (0.5, 15.0, 1.0)
    """
    if not value > 0 or not math.isfinite(value):
        return 1.0
    unit = 10.0 ** math.floor(math.log10(value))
    return unit * next(step for step in _STEPS if step * unit >= value * (1 - 1e-9))


_STEPS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


def course_figure(run: NeighboursRun, knobs: Sequence[LiveKnob] = ()) -> Curves:
    """Rows, prediction and band with the neighbours of one x; below, scale against true noise."""
    data: Any = run.fit.data  # of a set that is drawn: nothing of its grid is None
    view: Any = run.view
    brushed: Any = run.brushed
    loc, scale, near = view.grid_loc, view.grid_scale, near_of(run)
    x, x_rows, at = data.axes[0], data.X[:, 0], float(run.look.x[0])
    spread = np.concatenate([data.y, data.true_mean])
    low, high = float(spread.min()), float(spread.max())
    upper = [low - 0.06 * (high - low), high + 0.06 * (high - low)]
    lower = [0.0, round_up(1.05 * float(max(scale.max(), data.true_std.max())))]
    picked = [] if brushed is None else stretches(x, brushed.grid)
    gaps = hatches(x, ~data.in_support)
    others = others_of(len(x_rows), near)
    dots: Part = {"kind": "dots", "colour": "text", "opacity": 0.28, "role": "others"}
    layers = [
        *(_column(a, b, upper) for a, b in picked),
        *gaps,
        {**band(x, loc - 2 * scale, loc + 2 * scale, IBUG.colour, 0.22), "role": "band"},
        {**dots, "x": rounded(x_rows[others]), "y": rounded(data.y[others])},
        line(x, data.true_mean, **_TRUTH),
        line(x, loc, IBUG.colour, 2.2),
        {**line([at, at], upper, NEAR, 1.2), "role": "place"},
        *_strong(near, x_rows, data.y),
    ]
    below = [
        *(_column(a, b, lower) for a, b in picked),
        *gaps,
        line(x, data.true_std, **_TRUTH),
        {**line(x, scale, IBUG.colour, 2.2), "role": "scale"},
        {**line([at, at], lower, NEAR, 1.2), "role": "place"},
    ]
    aside, aside_entry = density_beside(run, at)
    live: Part = {}
    if (follow := follow_of(run, knobs)) is not None:
        places = np.flatnonzero(np.abs(x - at) < 1e-9)
        live["live"] = {
            "kind": "course",
            "follow": follow,
            "points": True,
            "x": at,
            "place": int(places[0]) if len(places) else None,
            "strength": STRENGTH,
            "noise": float(data.true_std.max()),
        }
    read = (
        ("prediction", loc),
        ("truth", data.true_mean),
        ("scale", scale),
        ("true noise", data.true_std),
    )
    return draw_curves(
        "neighbours",
        describe_choice(run),
        400,
        axis((x[0], x[-1]), "x"),
        [
            panel(upper, data.target_name, layers, 0.66, aside=aside),
            panel(lower, "scale", below, 0.34),
        ],
        [
            {"name": f"the {len(near.rows)} neighbours", **dot_look(NEAR), "role": "near"},
            {
                "name": "prediction \u00b1 2 scales",
                "kind": "band",
                "colour": IBUG.colour,
                "opacity": 0.22,
            },
            {"name": "truth", "kind": "line", **_TRUTH},
            aside_entry,
            *([_RANGE_ENTRY] if picked else []),
            *([{"name": "no rows", "kind": "hatch", "colour": "text"}] if gaps else []),
        ],
        reading(x, "x", [(name, values, name) for name, values in read]),
        hint=_HINT,
        knobs=knobs,
        pick=True,
        **live,
    )


def neighbours_maps(run: NeighboursRun, knobs: Sequence[LiveKnob] = ()) -> PanelSheet:
    """True noise, estimated scale, and how near every cell is to the chosen point."""
    data: Any = run.fit.data  # of a set that is drawn: nothing of its grid is None
    view: Any = run.view
    look: Any = run.look
    brushed: Any = run.brushed
    X, near = data.X, near_of(run)
    true_std, scale, empty, share = (
        part.reshape(data.grid_shape)
        for part in (data.true_std, view.grid_scale, ~data.in_support, look.map_affinity)
    )
    inside = None if brushed is None else brushed.grid.reshape(data.grid_shape)
    low, high = shared_limits([true_std, scale])
    scale_limits = (min(low, 0.0), high)
    few = others_of(len(X), near)
    at = np.concatenate([few, near.rows]).astype(np.int64)
    group = np.repeat([0, 1], [len(few), len(near.rows)])
    names = ("training rows", f"the {len(near.rows)} neighbours")
    rows = Points(X[at, 0], X[at, 1], group, names, ("#c8c8c8", NEAR), 2.7, 0.85)
    only_near = Points(
        X[near.rows, 0], X[near.rows, 1], None, names[1:], (NEAR,), radius=3.4, opacity=0.9
    )
    std_unit = f"std, {data.unit}"
    maps = (
        Panel(
            title="True noise",
            values=true_std,
            unit=std_unit,
            limits=scale_limits,
            hatched=empty,
        ),
        Panel(
            title="Estimated scale",
            values=scale,
            unit=std_unit,
            limits=scale_limits,
            hatched=empty,
            points=only_near,
            accent=IBUG.colour,
        ),
        Panel(
            title="Affinity with the point",
            values=share / look.n_trees,
            unit="of the trees",
            limits=(0.0, 1.0),
            colour_map="viridis",
            points=rows,
            accent=NEAR,
        ),
    )
    x_extent, y_extent = (_edges(axis) for axis in data.axes)
    follow, strips = follow_of(run, knobs), (_targets_strip(run),) if knobs else ()
    sheet = PanelSheet(
        panels=[replace(panel, outlined=inside) for panel in maps],
        columns=3,
        x_label="x1",
        y_label="x2",
        x_extent=x_extent,
        y_extent=y_extent,
        panel_height=330,
        hatch_label="no training rows",
        outline_label="scale in the chosen range" if inside is not None else "",
        markers=(Marker(float(look.x[0]), float(look.x[1]), legend="the place you look at"),),
        alt=describe_choice(run),
        name="neighbours",
        strips=strips,
        strip_height=90,
        knobs=knobs,
    )
    if follow is None:
        return sheet
    # What near_maps.js reads.
    noise = [float(true_std.min()), float(true_std.max())]
    following = {"follow": follow, "place": _cell(data.axes, look.x), "noise": noise}
    return replace(sheet, near={**following, "most": MOST_DOTS, "strip": 0})


def _targets_strip(run: NeighboursRun) -> Strip:
    """The neighbours' targets with the density in use, over all targets of the data."""
    look, targets, name = run.look, run.fit.data.y, density_name(run)
    low, high = float(targets.min()), float(targets.max())
    y = np.linspace(low - 0.1 * (high - low), high + 0.1 * (high - low), _STRIP_POINTS)
    density = np.interp(y, look.y_grid, np.nan_to_num(look.densities[look.family]), 0.0, 0.0)
    return family_strip(run, y, {name: density}, name)


def _edges(places: Array) -> tuple[float, float]:
    """The outer edges of cells with these middles."""
    half = 0.5 * float(places[1] - places[0])
    return float(places[0]) - half, float(places[-1]) + half


def _cell(axes: Sequence[Array], point: Array) -> int | None:
    """The cell whose middle a point is, counted row by row; None if it is none's."""
    place, stride = 0, 1
    for places, at in zip(axes, point, strict=True):
        cell = float((at - places[0]) / (places[1] - places[0]))
        if abs(cell - round(cell)) > 1e-6 or not 0 <= round(cell) < len(places):
            return None
        place += stride * round(cell)
        stride *= len(places)
    return place


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


_MORE_OFTEN = 2.0  # times, among the neighbours of the highlighted rows
_HEIGHT = 360


def held_out_figure(run: NeighboursRun, knobs: Sequence[LiveKnob] = ()) -> Curves:
    """Held-out rows by prediction and scale, coloured by their error; the chosen one ringed."""
    data, loc, scale, chosen = run.fit.data, run.view.loc, run.view.scale, run.look.row
    brushed, error = run.brushed, np.abs(data.y_test - run.view.loc)
    live: Part = {}
    if (follow := follow_of(run, knobs)) is not None:
        live["live"] = {"kind": "held", "follow": follow, "points": True, "place": chosen}
    layers, legend = error_dots(error, "absolute error", None if brushed is None else brushed.rows)
    x, y = rounded([loc[chosen], scale[chosen]])
    top = round_up(1.03 * float(scale.max()))
    of = f" ({data.target_name})"
    return draw_curves(
        "held-out-rows",
        describe_choice(run),
        _HEIGHT,
        axis(room_around(loc), f"prediction{of}"),
        [panel([-0.02 * top, top], f"scale{of}", layers, ring={"x": x, "y": y, "colour": NEAR})],
        legend,
        reading(
            loc,
            "row",
            [("prediction", loc), ("scale", scale, "scale"), ("error", error)],
            y=rounded(scale),
            names=[*range(1, len(loc) + 1)],
        ),
        hint="Point at a dot to read its row, click to choose it; drag a frame to look closer.",
        knobs=knobs,
        pick=True,
        **live,
    )


def training_figure(run: NeighboursRun, knobs: Sequence[LiveKnob] = ()) -> Curves:
    """Training rows by one column and their target, with the neighbours of the chosen row."""
    look, target, near = run.look, run.fit.data.y, near_of(run)
    across, value, places = _across(run)
    share = np.zeros(len(target))
    share[near.rows] = near.share
    drawn_rows = np.union1d(others_of(len(target), near), near.rows).astype(np.int64)
    place = {int(row): i for i, row in enumerate(drawn_rows)}
    chosen_rows = set(near.rows.tolist())  # one may share no tree at all
    others = [i for row, i in place.items() if row not in chosen_rows]
    layers: list[Part] = [{**readable_dots(others, "text", 0.28, 4.5), "role": "others"}]
    marked = behind_range(run)
    if marked is not None:
        blue = [i for row, i in place.items() if marked[row] and row not in chosen_rows]
        layers.append({**readable_dots(blue, CHOSEN_RANGE, 0.8, 5.0), "role": "marked"})
    for rows, size, opacity in by_strength(near):
        at = [place[int(row)] for row in rows]
        layers.append({**readable_dots(at, NEAR, opacity, size), "role": "near"})
    low, high = look.loc - 2 * look.scale, look.loc + 2 * look.scale
    bar = line([value, value], [low, high], IBUG.colour, 3.0)
    own = {**_OWN_TARGET, "x": rounded([value]), "y": rounded([look.target]), "role": "own"}
    drawn = [part for part in layers if part["at"]] + [{**bar, "role": "bar"}, own]
    x, y = rounded([value, look.loc])
    aside, aside_entry = density_beside(run, value)
    live: Part = {}
    if (follow := follow_of(run, knobs)) is not None:
        live["live"] = {
            "kind": "training",
            "follow": follow,
            "place": look.row,
            "strength": STRENGTH,
            "across": rounded(places),
        }
    trees = np.where(share[drawn_rows] > 0.0, share[drawn_rows], np.nan)
    seen = room_around([*target, low, high, float(look.target or 0.0)])
    return draw_curves(
        "training-rows",
        describe_choice(run),
        _HEIGHT,
        axis(room_around(np.append(across, value)), run.settings.across),
        [
            panel(
                seen,
                run.fit.data.target_name,
                drawn,
                ring={"x": x, "y": y, "colour": NEAR},
                aside=aside,
            )
        ],
        [
            {"name": f"{len(near.rows)} neighbours", **dot_look(NEAR), "role": "near"},
            aside_entry,
            entry("\u00b1 2 scales", bar),
            entry("its own target", _OWN_TARGET),
            *([_BEHIND] if marked is not None else []),
        ],
        reading(
            across[drawn_rows],
            "training row",
            [("target", target[drawn_rows]), ("share of trees", trees, "share")],
            y=rounded(target[drawn_rows]),
            names=(drawn_rows + 1).tolist(),
        ),
        hint="Point at a dot to read its training row; drag a frame to look closer.",
        pick=False,
        **live,
    )


def _across(run: NeighboursRun) -> tuple[Array, float, Array]:
    """The column that training rows are drawn by; the chosen row's value in it, and all others'."""
    fit, look, name = run.fit, run.look, run.settings.across
    if name == PREDICTION:
        return fit.source.predict(fit.data.X), look.loc, run.view.loc
    column = fit.data.feature_names.index(name)
    return fit.data.X[:, column], float(look.x[column]), fit.data.X_test[:, column]


def behind_range(run: NeighboursRun) -> Mask | None:
    """Training rows that are neighbours of highlighted rows at least twice as often as of others.

    None if no range is chosen or it holds no row.
    """
    brushed = run.brushed
    if brushed is None or not brushed.n_rows:
        return None
    indices, n = run.search.near_test.indices[:, : run.view.k], len(run.fit.data.y)
    inside, outside = (
        np.bincount(indices[rows].ravel(), minlength=n) / max(int(rows.sum()), 1)
        for rows in (brushed.rows, ~brushed.rows)
    )
    return (inside > 0) & (inside >= _MORE_OFTEN * outside)


_OWN_TARGET: Part = {"kind": "dots", "colour": "text", "opacity": 1.0, "size": 9.0}
_BEHIND: Part = {
    "name": "neighbours of highlighted rows",
    "kind": "dots",
    "colour": CHOSEN_RANGE,
    "opacity": 0.8,
    "size": 5.0,
}
