"""The scoreboard's pictures as Vega-Lite: ours beside the paper's, ranks, groups, score and time.

All of them put names on lines of their own, so that a phone has room for them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gbuq_core.experiments.scoreboard.fronts import Front, Timed
from gbuq_core.experiments.scoreboard.numbers import BoardNumber
from gbuq_core.experiments.scoreboard.ranking import Ranking
from gbuq_core.figures.theme import METHOD_STYLES, ink
from gbuq_core.figures.vega import (
    AXIS_HEIGHT,
    Spec,
    bars_of,
    distinct,
    layer,
    own_colour,
    quantity,
    tip,
)
from gbuq_core.methods.papers import DARK_GREY
from gbuq_core.presentation import one_line, short

_LINE, _LOW_LINE = 26, 19  # pixels of a method, and where there are many
_MANY = 20
_TALL_LINE = 34  # of two dots
_NAMES = 130  # pixels
LETTERS = 28  # of a method's name
_GROUP_GAP, _GROUP_SHARE = 0.35, 0.016  # between bars of groups: a rank, the axis; the larger
_APART_X, _APART_Y = 0.3, 0.08  # of the axes, between two names
# Stripes across a cell that has no number; grey, for light and dark.
_HATCH, _HATCH_COLOUR = "\u2571" * 6, "#8f8f8f"
ERRORS = 2.0  # standard errors that an error bar is long, on each side


_DOT: Spec = {"filled": True, "opacity": 1.0}
PICKED = "picked"  # the name of the charts' selection


def clickable(spec: Spec, cells: Sequence[str | None]) -> Spec:
    """The figure with a click that picks a cell (selection `PICKED`, field ``cell``)."""
    rows = [{**row, "cell": cell} for row, cell in zip(spec["data"]["values"], cells, strict=True)]
    layers = [dict(layer) for layer in spec["layer"]]
    target = next(layer for layer in layers if _is_target(layer["mark"]))
    target["name"] = "target"
    target["mark"] = {**target["mark"], "cursor": "pointer"}
    select = {"type": "point", "fields": ["cell"], "on": "click"}
    return {
        **spec,
        "data": {"values": rows},
        "params": [{"name": PICKED, "select": select, "views": ["target"]}],
        "layer": layers,
    }


def _is_target(mark: Any) -> bool:
    """Dots, and the clear cells above a heat map."""
    return isinstance(mark, dict) and (mark["type"] == "point" or mark.get("opacity") == 0.0)


def colour_of(record: str | None) -> str:
    """The colour of a method by its record; grey for others' methods without one."""
    style = METHOD_STYLES.get(record or "")
    return DARK_GREY if style is None else style.colour


def beside_figure(numbers: Sequence[BoardNumber], score: str, dark: bool = False) -> Spec:
    """A line a method: our mean as a dot, the paper's number as a diamond, both with two errors."""
    labels, truth = short_labels([number.method.label for number in numbers]), ink(dark).truth
    rows: list[Spec] = []
    for label, number in zip(labels, numbers, strict=True):
        for whose, value, error, shade in (
            ("ours", number.ours, number.error, colour_of(number.method.record)),
            ("paper", number.theirs, number.their_error, truth),
        ):
            if math.isfinite(value):
                rows.append(
                    {
                        "c0": label,
                        "c1": value,
                        "c2": value - ERRORS * _or_zero(error),
                        "c3": value + ERRORS * _or_zero(error),
                        "c4": whose,
                        "c5": shade,
                        "c6": _with_error(value, error),
                        "c7": number.word or "not compared",
                    }
                )
    y = _names(labels)
    offset = {"field": "c4", "sort": ["ours", "paper"]}
    x = quantity("c1", score, scale={"zero": False})
    colour = own_colour("c5")
    shape = {
        "field": "c4",
        "type": "nominal",
        "title": None,
        "scale": {"domain": ["ours", "paper"], "range": ["circle", "diamond"]},
        "legend": {"orient": "top", "symbolFillColor": truth, "symbolStrokeColor": truth},
    }
    tips = [
        tip("c0", "method"),
        tip("c4", "whose"),
        tip("c6", f"{one_line(score, 40)} (standard error)"),
        tip("c7", "ours is"),
    ]
    shared = {"y": y, "yOffset": offset, "color": colour}
    return {
        "height": _TALL_LINE * max(len(labels), 1) + AXIS_HEIGHT,
        "data": {"values": rows},
        "layer": [
            layer("rule", {"strokeWidth": 2}, x={**x, "field": "c2"}, x2={"field": "c3"}, **shared),
            layer("point", {**_DOT, "size": 70}, x=x, shape=shape, tooltip=tips, **shared),
        ],
    }


def ranks_figure(
    methods: Sequence[str],
    sets: Sequence[str],
    ranks: np.ndarray,
    means: np.ndarray,
    score: str,
) -> Spec:
    """A heat map: a line a method, a column a set, its rank written in the cell."""
    lines, columns = short_labels(methods), distinct(sets)
    last = max(2.0, float(np.max(ranks, initial=1.0, where=np.isfinite(ranks))))
    rows = [
        {"c0": line, "c1": column, "c2": _or_none(ranks[i, j]), "c3": _or_none(means[i, j]),
         "c4": short(float(ranks[i, j])) if math.isfinite(ranks[i, j]) else "",
         "c5": _state(float(ranks[i, j]), float(means[i, j])),
         "c6": "" if math.isfinite(ranks[i, j]) else _HATCH}
        for i, line in enumerate(lines)
        for j, column in enumerate(columns)
    ]  # fmt: skip
    x = {
        "field": "c1", "type": "nominal", "sort": columns, "title": None,
        "scale": {"domain": columns},
        "axis": {"orient": "top", "labelAngle": -50, "ticks": False, "domain": False},
    }  # fmt: skip
    colour = {
        "field": "c2", "type": "quantitative", "title": "rank",
        "scale": {"scheme": "cividis", "domain": [1.0, last], "reverse": True}, "legend": None,
    }  # fmt: skip
    # Dark letters on the light end of the colours, which is rank 1.
    letters = {
        "condition": {"test": f"datum.c2 <= {(1.0 + last) / 2.0}", "value": "#111111"},
        "value": "#ffffff",
    }
    tips = [
        tip("c0", "method"), tip("c1", "set"), tip("c5", "rank"),
        tip("c3", one_line(score, 40), ".4g"),
    ]  # fmt: skip
    place = {"x": x, "y": _names(lines)}
    ranked = {"transform": [{"filter": "isValid(datum.c2)"}]}
    hatch, text = {"fontSize": 13, "color": _HATCH_COLOUR}, {"fontSize": 11}
    return {
        "height": _height(len(lines)),
        "data": {"values": rows},
        "layer": [
            layer("text", hatch, text={"field": "c6"}, **place),
            {**ranked, **layer("rect", {}, color=colour, **place)},
            {**ranked, **layer("text", text, text={"field": "c4"}, color=letters, **place)},
            layer("rect", {"opacity": 0.0}, tooltip=tips, **place),
        ],
    }


def _height(n_lines: int) -> int:
    return (_LINE if n_lines < _MANY else _LOW_LINE) * max(n_lines, 1) + AXIS_HEIGHT


def _or_none(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _state(rank: float, mean: float) -> str:
    """What a cell of the heat map is called.

    >>> _state(2.0, 0.1), _state(math.nan, 0.1), _state(math.nan, math.nan)
    ('2', 'not ranked', 'not computed yet')
    """
    if math.isfinite(rank):
        return short(rank)
    return "not ranked" if math.isfinite(mean) else "not computed yet"


def groups_figure(ranking: Ranking, dark: bool = False) -> Spec:
    """A critical-difference diagram on its side: mean ranks, and bars over who is like whom."""
    methods, mean_ranks = ranking.methods, ranking.mean_ranks
    labels, groups = short_labels([method.label for method in methods]), group_places(ranking)
    half = 0.5 * _or_zero(ranking.critical_difference)
    rows = [
        {"c0": label, "c1": float(mean), "c2": float(mean) - half, "c3": float(mean) + half,
         "c4": colour_of(method.record)}
        for label, mean, method in zip(labels, mean_ranks, methods, strict=True)
    ]  # fmt: skip
    right = float(np.max(mean_ranks, initial=1.0)) + half
    gap = group_gap(right)
    bars = [
        {"c0": labels[group[0]], "c5": labels[group[-1]], "c1": right + gap * (k + 1),
         "c6": f"{len(group)} methods that are not told apart"}
        for k, group in enumerate(groups)
    ]  # fmt: skip
    y = _names(labels)
    x = quantity(
        "c1",
        "mean rank (1 is best)",
        scale={"domain": [0.0, right + gap * (len(groups) + 1)], "nice": False},
        axis={"tickMinStep": 1},
    )
    colour = own_colour("c4")
    tips = [tip("c0", "method"), tip("c1", "mean rank", ".3g")]
    shared = {"y": y, "color": colour}
    half_bar = {"strokeWidth": 2, "opacity": 0.55, "clip": True}
    layers = [
        layer("rule", half_bar, x={**x, "field": "c2"}, x2={"field": "c3"}, **shared),
        layer("point", {**_DOT, "size": 80}, x=x, tooltip=tips, **shared),
    ]
    if bars:
        round_bar = {"strokeWidth": 4, "strokeCap": "round", "color": ink(dark).truth}
        group = {"y2": {"field": "c5"}, "tooltip": [tip("c6", "group")]}
        layers.append(layer("rule", round_bar, values=bars, x=x, y=y, **group))
    return {
        "height": _height(len(labels)),
        "data": {"values": rows},
        "layer": layers,
    }


def front_figure(front: Front, budget: float | None = None, dark: bool = False) -> Spec:
    """Score against seconds, logarithmic, with the line of those that nobody beats."""
    score = front.score.label
    rows = [
        {"c0": point.method.label, "c1": point.seconds, "c2": point.score.mean,
         "c3": colour_of(point.method.record), "c4": point.on_front,
         "c5": point.score.mean - ERRORS * _or_zero(point.score.error),
         "c6": point.score.mean + ERRORS * _or_zero(point.score.error),
         "c7": _with_error(*point.score), "c8": one_line(point.method.label, 20) if named else ""}
        for point, named in zip(front.points, _names_apart(front.points), strict=True)
    ]  # fmt: skip
    x = quantity(
        "c1",
        "processor seconds of a split (log)",
        scale={"type": "log", "nice": False, "padding": 24},
        axis={"tickCount": 4, "format": "~g"},
    )
    y = quantity("c2", score, scale={"zero": False})
    colour = own_colour("c3")
    tips = [
        tip("c0", "method"),
        tip("c1", "seconds", ".3g"),
        tip("c7", f"{one_line(score, 40)} (standard error)"),
        tip("c4", "best for its time"),
    ]
    truth = ink(dark).truth
    steps = {"interpolate": "step-after", "color": truth, "opacity": 0.5}
    error = {"y": {**y, "field": "c5"}, "y2": {"field": "c6"}, "color": colour}
    name = {"dy": -12, "fontSize": 11, "color": truth}
    layers = [
        {"transform": [{"filter": "datum.c4"}], **layer("line", steps, x=x, y=y)},
        layer("rule", {"opacity": 0.5}, x=x, **error),
        layer("point", {**_DOT, "size": 80}, x=x, y=y, color=colour, tooltip=tips),
        layer("text", name, x=x, y=y, text={"field": "c8"}),
    ]
    if budget is not None:
        limit = {"strokeDash": [4, 4], "color": truth}
        layers.append(layer("rule", limit, values=[{"c1": budget}], x=x))
    return {"height": 340, "data": {"values": rows}, "layer": layers}


def group_places(ranking: Ranking) -> list[list[int]]:
    """The places of each group's methods among all, from 0."""
    at = {method.key: place for place, method in enumerate(ranking.methods)}
    return [[at[key] for key in group] for group in ranking.groups]


def group_gap(right: float) -> float:
    """How far apart the bars of groups stand, in ranks, right of all dots."""
    return max(_GROUP_GAP, _GROUP_SHARE * right)


def _names_apart(points: Sequence[Timed]) -> list[bool]:
    """Which points are named: the best for their time, the best of all first, with room between."""
    x = [math.log10(max(point.seconds, 1e-3)) for point in points]
    y = [point.score.mean for point in points]
    wide, high = (max(each) - min(each) or 1.0 if each else 1.0 for each in (x, y))
    named: list[int] = []
    for i in reversed(range(len(points))):
        near = any(
            abs(x[i] - x[k]) < _APART_X * wide and abs(y[i] - y[k]) < _APART_Y * high for k in named
        )
        if points[i].on_front and not near:
            named.append(i)
    return [i in named for i in range(len(points))]


def short_labels(names: Sequence[str]) -> list[str]:
    """Names of methods as figures have room for them, told apart."""
    return distinct([one_line(name, LETTERS) for name in names])


def _names(labels: Sequence[str]) -> Spec:
    # A domain, since layers with data of their own would sort names anew.
    return bars_of(labels, _NAMES, scale={"domain": list(labels)})


def _or_zero(error: float) -> float:
    return error if math.isfinite(error) else 0.0


def _with_error(value: float, error: float) -> str:
    """A number as tips show it.

    >>> _with_error(0.5, 0.1), _with_error(0.5, math.nan)
    ('0.5 (0.1)', '0.5')
    """
    return f"{short(value, 4)} ({short(error, 2)})" if math.isfinite(error) else short(value, 4)
