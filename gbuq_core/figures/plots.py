"""What estimators return as a picture: over one feature as curves, over two as maps.

The method ``plot`` of a result calls these with its own arrays. A picture shows one or two columns
of the rows that were scored. Rows on an even grid fill the cells of a map; of other rows the mean
in each cell is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.figures.canvas.panels import Panel, PanelSheet, Points, shared_limits
from gbuq_core.figures.colour import OKABE_ITO
from gbuq_core.figures.curves import Curves, draw_curves
from gbuq_core.figures.curves.parts import (
    Part,
    axis,
    band,
    entry,
    limits,
    line,
    panel,
    plain_dots,
    readable_dots,
    reading,
    rounded,
)
from gbuq_core.figures.handles import live_knob
from gbuq_core.figures.near import (
    NEAR,
    Near,
    by_strength,
    dot_look,
    others_of,
    room_around,
)
from gbuq_core.figures.places import (
    Columns,
    Places,
    lay_cells,
    read_places,
    same_columns,
)
from gbuq_core.knobs import Knob
from gbuq_core.methods import SAMPLERS
from gbuq_core.presentation import counted

Array = npt.NDArray[np.float64]

LEVELS = (0.5, 0.8, 0.9, 0.95, 0.99)
_BLUE = OKABE_ITO[0]
_DATA, _KNOWLEDGE, _WHOLE = 0.22, 0.55, 0.28  # opacities
_ROWS: Part = {"colour": "text", "opacity": 0.3, "size": 3.5}
_LIGHT = ("#e8e8e8",)  # dots on dark maps
_MOST_X = 400  # places of a curve
_MOST_ROWS = 1500  # dots
_HINT_DOTS = "Point at a dot, or use the arrow keys, to read it; drag a frame to look closer."
_WIDEST = 1.6  # times the usual level's height, the widest one may take
_TALL, _MAP = 340, 300  # pixels


def plot_uncertainty(
    parts: Mapping[str, Array],
    X: Any,
    *,
    X_rows: Any = None,
    columns: Columns = None,
    unit: str = "",
) -> PanelSheet | Curves:
    """Total, data and knowledge uncertainty: stacked over one feature, three maps over two."""
    total, data, knowledge = (np.asarray(parts[k]) for k in ("total", "data", "knowledge"))
    places = read_places(X, len(total), columns)
    dots = _dots_of(X_rows, places)
    alt = f"Total, data and knowledge uncertainty over {' and '.join(places.names)}."
    if len(places.names) == 2:
        tops = (shared_limits(each)[1] for each in ([total, data], [knowledge]))
        shared, own = ((0.0, top) if top > 0 else None for top in tops)
        maps = (("Total", total, shared), ("Data", data, shared), ("Knowledge", knowledge, own))
        looks = {"unit": unit, "points": dots, "blank_hatched": True}
        return _sheet(maps, places, alt, "uncertainty", looks)
    x, (total, data, knowledge) = _over_x(places, total, data, knowledge)
    zero = np.zeros(len(x))
    top = limits(total)
    lower = band(x, zero, data, _BLUE, _DATA)
    upper = band(x, data, total, _BLUE, _KNOWLEDGE)
    outline = line(x, total, _BLUE, 2.0)
    layers, legend = (
        [lower, upper, outline],
        [entry("total", outline), entry("knowledge", upper), entry("data", lower)],
    )
    if dots is not None:
        layers.append(plain_dots(dots.x, np.zeros(np.size(dots.x)), **_ROWS))
        legend.append({"name": "rows", "kind": "dots", **_ROWS})
    stacked = panel(top, unit or "uncertainty", layers)
    read = [("total", total), ("data", data), ("knowledge", knowledge)]
    return _curves("uncertainty", alt, places, x, [stacked], legend, read)


def plot_distribution(
    loc: Array,
    scale: Array,
    ends: Mapping[float, Sequence[Array]],
    X: Any,
    *,
    X_rows: Any = None,
    y_rows: Any = None,
    level: float = 0.9,
    data_share: Array | None = None,
    columns: Columns = None,
    label: str = "y",
) -> PanelSheet | Curves:
    """A prediction with its interval over one feature, or its maps over two."""
    places = read_places(X, len(loc), columns)
    if len(places.names) == 2:
        maps = (("Prediction", loc, None), ("Std", scale, (0.0, shared_limits([scale])[1])))
        alt = f"Prediction and standard deviation of {label} over {' and '.join(places.names)}."
        looks = {"unit": label, "points": _dots_of(X_rows, places), "blank_hatched": True}
        return _sheet(maps, places, alt, "prediction", looks)
    x, (mean, std) = _over_x(places, loc, scale)
    share = None if data_share is None else _over_x(places, data_share)[1][0]
    levels = sorted(ends)
    bands = {level: _over_x(places, *ends[level])[1] for level in levels}
    settings = [_level_setting(x, mean, std, level, bands[level], share) for level in levels]
    at = levels.index(level)
    prediction = line(x, mean, _BLUE, 2.2)
    dots_y, over = [], [prediction]
    rows = _rows_of(X_rows, y_rows, places)
    if rows is not None:
        dots_y = [rows[1]]
        over.append(plain_dots(*rows, **_ROWS))
        for setting in settings:
            setting["legend"].append({"name": "rows", **dot_look("text"), **_ROWS})
    # Of a long tail the widest levels leave the picture.
    usual, widest = (np.concatenate(bands[max(level, other)]) for other in LEVELS[-2:])
    held = widest if np.ptp(widest) <= _WIDEST * np.ptp(usual) else usual
    seen = np.concatenate([mean, held, *dots_y])
    layers = settings[at]["layers"]
    drawn = {"first": 0, "count": len(layers)}
    whole = panel(room_around(seen), label, [*layers, *over], live=drawn)
    knob = live_knob(
        Knob("level", "Level", "ladder", level, choices=tuple(levels)),
        level,
        texts=[_percent(level) for level in levels],
    )
    alt = f"The prediction of {label} over {places.names[0]} with its {_percent(level)} interval."
    legend, ends_read = settings[at]["legend"], _values_read(mean, std, bands[level])
    live = {"kind": "levels", "settings": settings}
    return _curves(
        "prediction", alt, places, x, [whole], legend, ends_read, knobs=(knob,), live=live
    )


def plot_scores(
    scores: Mapping[str, Array],
    X: Any,
    *,
    X_rows: Any = None,
    columns: Columns = None,
    unit: str = "",
) -> PanelSheet | Curves:
    """Scores that are high where rows are new: a curve or a map each.

    >>> corners = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    >>> sheet = plot_scores({"Novelty": np.arange(4.0)}, corners)
    >>> sheet.panels[0].values.tolist()
    [[0.0, 1.0], [2.0, 3.0]]
    """
    arrays = {title: np.asarray(values, dtype=np.float64) for title, values in scores.items()}
    places = read_places(X, len(next(iter(arrays.values()))), columns)
    alt = f"{', '.join(arrays)} over {' and '.join(places.names)}."
    dots = _dots_of(X_rows, places)
    if len(places.names) == 2:
        maps = [(title, values, None) for title, values in arrays.items()]
        return _sheet(maps, places, alt, "scores", {"unit": unit, "points": dots})
    x, means = _over_x(places, *arrays.values())
    panels, legend = [], []
    for i, (title, values) in enumerate(zip(arrays, means, strict=True)):
        curve = line(x, values, OKABE_ITO[i % len(OKABE_ITO)], 2.0)
        span = room_around(values)
        layers = [curve]
        if dots is not None:
            foot = np.full(np.size(dots.x), span[0])
            layers.append(plain_dots(dots.x, foot, **_ROWS))
        panels.append(panel(span, unit, layers, 1 / len(arrays)))
        legend.append(entry(title, curve))
    if dots is not None:
        legend.append({"name": "rows", "kind": "dots", **_ROWS})
    read = list(zip(arrays, means, strict=True))
    height = _TALL if len(panels) == 1 else 170 * len(panels)
    return _curves("scores", alt, places, x, panels, legend, read, height=height)


def plot_neighbours(
    indices: npt.NDArray[Any],
    affinities: npt.NDArray[Any],
    X_rows: Any,
    y_rows: Any = None,
    *,
    X: Any = None,
    row: int = 0,
    columns: Columns = None,
    label: str = "y",
) -> Curves:
    """The training rows that are neighbours of one row, among all of them."""
    if not -len(indices) <= row < len(indices):
        raise InvalidParameter(
            f"row must be one of the {counted(len(indices), 'row')} that were asked for; got {row}."
        )
    places = read_places(X_rows, None, columns)
    n = len(places.values)
    named = indices[row] >= 0
    if named.any() and int(indices[row].max()) >= n:
        raise InvalidData(
            f"X_rows must be the training rows; it has {n} rows, and one neighbour is row "
            f"{int(indices[row].max()) + 1}."
        )
    near = Near(indices[row][named].astype(np.int64), affinities[row][named].astype(np.float64))
    if len(places.names) == 2:
        across, up, labels = places.values[:, 0], places.values[:, 1], places.names
    else:
        if y_rows is None:
            raise InvalidParameter("A picture over one feature needs the targets: pass y_rows.")
        up = _targets(y_rows, n)
        across, labels = places.values[:, 0], (places.names[0], label)
    trees = np.zeros(n)
    trees[near.rows] = near.share
    dots = np.union1d(others_of(n, near), near.rows).astype(np.int64)
    dots = dots[np.isfinite(across[dots]) & np.isfinite(up[dots])]
    place = {int(row): i for i, row in enumerate(dots)}
    chosen = set(near.rows.tolist())
    layers = [readable_dots([i for r, i in place.items() if r not in chosen], "text", 0.28, 4.5)]
    for rows, size, opacity in by_strength(near):
        layers.append(
            readable_dots([place[int(r)] for r in rows if int(r) in place], NEAR, opacity, size)
        )
    layers, y_range = [part for part in layers if part["at"]], room_around(up[dots])
    marks: Part = {}
    legend: list[Part] = [
        {"name": counted(len(near.rows), "neighbour"), **dot_look(NEAR)},
        {"name": "other training rows", "kind": "dots", "colour": "text", "opacity": 0.5},
    ]
    x_seen = across[dots]
    if X is not None:
        own = same_columns(X, places, ("X", "X_rows"), len(indices))[row]
        x_seen = np.append(x_seen, own[0])
        y_range = room_around(np.append(up[dots], own[1:]))
        if len(own) == 2:
            x, y = rounded(own)
            marks = {"ring": {"x": x, "y": y, "colour": NEAR}}
        else:
            mark = line([own[0], own[0]], y_range, NEAR, 1.4)
            layers.append(mark)
            legend.append(entry("the row itself", mark))
    values = [(name, values[dots]) for name, values in zip(labels, (across, up), strict=True)]
    shared = np.where(trees[dots] > 0.0, trees[dots], np.nan)
    return draw_curves(
        "neighbours",
        f"The {counted(len(near.rows), 'neighbour')} of one row among {n} training rows.",
        _TALL,
        axis(room_around(x_seen), labels[0]),
        [panel(y_range, labels[1], layers, **marks)],
        legend,
        reading(
            across[dots],
            "training row",
            [*values, ("shared trees", shared)],
            y=rounded(up[dots]),
            names=(dots + 1).tolist(),
        ),
        hint=_HINT_DOTS,
    )


def plot_samples(
    steps: npt.NDArray[np.int64],
    density: Array,
    target: Array,
    extent: Sequence[float],
    sampler: str,
    *,
    log: bool = False,
) -> PanelSheet:
    """The true density beside that of a sampler's points, played over the steps.

    >>> density = np.ones((2, 3, 3))
    >>> plot_samples(np.array([5, 10]), density, density[0], (0, 1, 0, 1), "sgld").panels[1].title
    'SGLD'
    """
    look = SAMPLERS[sampler]
    top = float(target.max())
    # The page's own span of a logarithmic scale.
    shared: Part = {"unit": "per unit area", "log": log, "limits": (1e-4 * top * log, top)}
    left, right, bottom, up = map(float, extent)
    plays = len(steps) > 1
    return PanelSheet(
        panels=[
            Panel(title="Target", values=target, **shared),
            Panel(
                title=look.label,
                values=density if plays else density[0],
                accent=look.colour,
                **shared,
            ),
        ],
        columns=2,
        x_label="x",
        y_label="y",
        x_extent=(left, right),
        y_extent=(bottom, up),
        panel_height=_MAP,
        frame_label="step",
        frame_values=steps.tolist() if plays else None,
        alt=f"The target and the samples that {look.label} keeps in {int(steps[-1]):,} steps.",
        name="samples",
    )


def _over_x(places: Places, *values: Array) -> tuple[Array, list[Array]]:
    """Values over the one column in its order, the mean of rows at one place, thinned."""
    at = places.values[:, 0]
    there = np.isfinite(at)
    x, place = np.unique(at[there], return_inverse=True)
    rows = np.bincount(place)
    means = [np.bincount(place, np.asarray(part)[there]) / rows for part in values]
    few = np.linspace(0, len(x) - 1, min(len(x), _MOST_X)).astype(np.int64)
    return x[few], [mean[few] for mean in means]


def _level_setting(
    x: Array, mean: Array, std: Array, level: float, around: Sequence[Array], share: Array | None
) -> Part:
    """What is drawn, written and read at one level."""
    low, high = around
    name = f"{_percent(level)} interval"
    prediction = {"name": "prediction", "kind": "line", "colour": _BLUE, "width": 2.2}
    values = reading(x, "", _values_read(mean, std, around))["values"]
    edges = [line(x, end, _BLUE, 1.2) for end in (low, high)]
    if share is None:
        whole = band(x, low, high, _BLUE, _WHOLE)
        return {
            "layers": [whole, *edges],
            "legend": [prediction, entry(name, whole)],
            "values": values,
        }
    # Of a normal it is the interval from data uncertainty alone.
    root = np.sqrt(np.clip(share, 0.0, 1.0))
    inner_low, inner_high = mean - root * (mean - low), mean + root * (high - mean)
    rim = [
        band(x, low, inner_low, _BLUE, _KNOWLEDGE),
        band(x, inner_high, high, _BLUE, _KNOWLEDGE),
    ]
    data = band(x, inner_low, inner_high, _BLUE, _DATA)
    legend = [prediction, entry(f"{name}: data", data), entry("knowledge", rim[0])]
    return {"layers": [rim[0], data, rim[1], *edges], "legend": legend, "values": values}


def _values_read(mean: Array, std: Array, ends: Sequence[Array]) -> list[tuple[str, Array]]:
    return list(zip(("prediction", "std", "lower", "upper"), (mean, std, *ends), strict=True))


def _percent(level: float) -> str:
    """A level as it is said: without the zeros of a measured number.

    >>> _percent(0.8), _percent(0.995)
    ('80 %', '99.5 %')
    """
    return f"{100 * level:.6g} %"


def _curves(
    name: str,
    alt: str,
    places: Places,
    x: Array,
    panels: Sequence[Part],
    legend: Sequence[Part],
    read: Sequence[tuple[str, Array]],
    height: int = _TALL,
    **more: Any,
) -> Curves:
    """Panels over the one column of the places."""
    (label,) = places.names
    if len(x) < 2:
        raise InvalidData(f"A curve needs rows at two places at least; all have one {label}.")
    return draw_curves(
        name,
        alt,
        height,
        axis((x[0], x[-1]), label),
        panels,
        legend,
        reading(x, label, read),
        **more,
    )


def _sheet(
    maps: Sequence[tuple[str, Array, Any]],
    places: Places,
    alt: str,
    name: str,
    looks: Mapping[str, Any],
) -> PanelSheet:
    """Maps of titles, values and limits over the two columns of the places."""
    cells = lay_cells(places.values)
    means = [(title, cells.mean(values), ends) for title, values, ends in maps]
    blank = any(np.isnan(values).any() for _, values, _ in means)
    return PanelSheet(
        panels=[
            Panel(title=title, values=values, limits=ends, **looks) for title, values, ends in means
        ],
        columns=min(len(maps), 4),
        x_label=places.names[0],
        y_label=places.names[1],
        x_extent=cells.x_extent,
        y_extent=cells.y_extent,
        panel_height=_MAP,
        blank_label="no rows here" if blank else "",
        alt=alt,
        name=name,
    )


def _dots_of(X_rows: Any, places: Places) -> Points | None:
    """Rows over a map, or over the one column (their y is 0)."""
    if X_rows is None:
        return None
    values = same_columns(X_rows, places, ("X_rows", "X"))
    values = values[np.isfinite(values).all(axis=1)]
    few = np.linspace(0, len(values) - 1, min(len(values), _MOST_ROWS)).astype(np.int64)
    y = values[few, 1] if values.shape[1] == 2 else np.zeros(len(few))
    return Points(values[few, 0], y, None, ("rows",), _LIGHT, radius=1.6, opacity=0.75)


def _rows_of(X_rows: Any, y_rows: Any, places: Places) -> tuple[Array, Array] | None:
    if X_rows is None and y_rows is None:
        return None
    if X_rows is None or y_rows is None:
        raise InvalidParameter("Rows over one feature need both X_rows and y_rows.")
    x = same_columns(X_rows, places, ("X_rows", "X"))[:, 0]
    y = _targets(y_rows, len(x))
    there = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    few = there[np.linspace(0, len(there) - 1, min(len(there), _MOST_ROWS)).astype(np.int64)]
    return x[few], y[few]


def _targets(y_rows: Any, n: int) -> Array:
    try:
        y = np.asarray(y_rows, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidData("A picture of neighbours needs targets that are numbers.") from error
    if y.shape != (n,):
        raise InvalidData(f"y_rows must have one value for each of the {n} rows of X_rows.")
    return y
