"""The scoreboard's pictures for a page that is downloaded: with the project's own renderers.

A saved page has no Vega. Each function here has a namesake in `charts`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from gbuq_core.experiments.scoreboard.charts import (
    ERRORS,
    colour_of,
    group_gap,
    group_places,
    short_labels,
)
from gbuq_core.experiments.scoreboard.fronts import Front
from gbuq_core.experiments.scoreboard.numbers import BoardNumber
from gbuq_core.experiments.scoreboard.ranking import Ranking
from gbuq_core.figures.canvas.panels import Panel, PanelSheet
from gbuq_core.figures.curves import Curves, draw_curves
from gbuq_core.figures.curves.parts import (
    Part,
    around,
    axis,
    entry,
    line,
    panel,
    readable_dots,
    reading,
    rounded,
    tick_texts,
)
from gbuq_core.figures.vega import distinct

_LINE, _TALL_LINE, _AROUND = 24, 34, 60  # pixels of a method, of two dots, of axis and margins
_HEIGHT = 340
_DOT, _WIDTH = 9.0, 2.0
_ASIDE = 0.18  # of a line: ours stands above it, the paper's number below
_HINT = "Point at a dot, or use the arrow keys, to read it."
_HATCHED = "not ranked"


def ranks_sheet(
    methods: Sequence[str], sets: Sequence[str], ranks: np.ndarray, score: str, alt: str
) -> PanelSheet:
    """A heat map of ranks; a cell without one (NaN) is hatched."""
    last = max(2.0, float(np.max(ranks, initial=1.0, where=np.isfinite(ranks))))
    return PanelSheet(
        panels=[
            Panel(
                title="Rank (1 is best)",
                subtitle=f"by {score}",
                values=ranks,
                limits=(1.0, last),
                blank_hatched=True,
            )
        ],
        columns=1,
        x_labels=distinct(sets),
        y_labels=short_labels(methods),
        aspect=max(0.4, 1.6 * len(sets) / max(len(methods), 1)),
        panel_height=_LINE * len(methods) + _AROUND,
        hatch_label=_HATCHED,
        alt=alt,
        name="scoreboard-ranks",
    )


def beside_curves(numbers: Sequence[BoardNumber], score: str, alt: str) -> Curves:
    """A line a method: our mean above it, the paper's number below, both with two errors."""
    labels = short_labels([number.method.label for number in numbers])
    rows: list[_Row] = []
    for at, (label, number) in enumerate(zip(labels, numbers, strict=True)):
        for whose, value, error, colour, aside in (
            ("ours", number.ours, number.error, colour_of(number.method.record), _ASIDE),
            ("paper", number.theirs, number.their_error, "text", -_ASIDE),
        ):
            if math.isfinite(value):
                half = ERRORS * error if math.isfinite(error) else 0.0
                rows.append((f"{label} ({whose})", value, half, _y(labels, at) + aside, colour))
    ours = next((row[4] for row in rows if row[4] != "text"), "text")
    legend = [
        {"name": name, "kind": "dots", "colour": colour, "opacity": 1.0, "size": _DOT}
        for name, colour in (("ours, in the method's colour", ours), ("the paper's", "text"))
    ]
    return _named_rows(labels, rows, score, alt, "scoreboard-beside", _TALL_LINE, legend)


def groups_curves(ranking: Ranking, alt: str) -> Curves:
    """Mean ranks with half of the critical difference on each side, and bars over groups."""
    methods, mean_ranks = ranking.methods, ranking.mean_ranks
    labels, difference = short_labels([each.label for each in methods]), ranking.critical_difference
    half = 0.5 * difference if math.isfinite(difference) else 0.0
    rows = [
        (label, float(mean), half, _y(labels, number), colour_of(method.record))
        for number, (label, mean, method) in enumerate(
            zip(labels, mean_ranks, methods, strict=True)
        )
    ]
    right = float(np.max(mean_ranks, initial=1.0)) + half
    bars = []
    for number, group in enumerate(group_places(ranking), start=1):
        x = right + group_gap(right) * number
        bars.append(line([x, x], [_y(labels, at) for at in (group[0], group[-1])], "text", 4.0))
    legend = [entry("not told apart", bars[0])] if bars else []
    return _named_rows(
        labels, rows, "mean rank (1 is best)", alt, "scoreboard-groups", _LINE, legend, bars
    )


def front_curves(front: Front, alt: str, budget: float | None = None) -> Curves:
    """Score against seconds, logarithmic, with the line of those that nobody beats."""
    score, points = front.score.label, front.points
    x = np.log10([max(point.seconds, 1e-3) for point in points])
    y = np.array([point.score.mean for point in points])
    half = ERRORS * np.nan_to_num([point.score.error for point in points])
    y_range = around(y - half, y + half, least=0.5)
    x_range = around(x, [] if budget is None else [math.log10(budget)], least=0.5)
    on_front = [i for i, point in enumerate(points) if point.on_front]
    # Each holds until the next one, which is better, has had its time.
    corners = np.repeat(np.array(on_front, dtype=np.int64), 2)
    best = line([*x[corners][1:], x_range[1]], y[corners], "text", 1.4)
    layers: list[Part] = [{**best, "opacity": 0.6}]
    legend = [entry("best for its time", best)]
    if budget is not None:
        limit = line([math.log10(budget)] * 2, y_range, "text", 1.2, "4 4")
        layers.append(limit)
        legend.append(entry("at equal time", limit))
    for i, point in enumerate(points):
        colour = colour_of(point.method.record)
        layers += _dot_with_error(i, x[i], y[i], half[i], colour, upright=True)
    ticks = range(math.ceil(x_range[0]), math.floor(x_range[1]) + 1)
    powers = {float(tick): f"{10.0**tick:g}" for tick in ticks}
    values = [(score, y), ("seconds", [point.seconds for point in points])]
    return draw_curves(
        "scoreboard-time",
        alt,
        _HEIGHT,
        axis(x_range, "processor seconds of a split (log)", powers),
        [panel(y_range, score, layers)],
        legend,
        reading(x, "", values, y=rounded(y), names=[point.method.label for point in points]),
        hint=_HINT,
    )


_Row = tuple[str, float, float, float, str]  # name, value, half a bar, y, colour


def _named_rows(
    labels: Sequence[str], rows: Sequence[_Row], score: str, alt: str, name: str, line_height: int,
    legend: Sequence[Part], over: Sequence[Part] = (),
) -> Curves:  # fmt: skip
    """Dots with error bars, each on the line of its name, and layers over them."""
    layers: list[Part] = []
    for i, (_, value, half, y, colour) in enumerate(rows):
        layers += _dot_with_error(i, value, y, half, colour)
    reach = [value + sign * half for _, value, half, _, _ in rows for sign in (-1.0, 1.0)]
    reach += [x for bar in over for x in bar["x"]]
    names = {_y(labels, number): label for number, label in enumerate(labels)}
    values = [row[1] for row in rows]
    return draw_curves(
        name,
        alt,
        line_height * len(labels) + _AROUND,
        axis(around(reach, least=0.5), score),
        [panel([0.4, len(labels) + 0.6], "", [*layers, *over], ticks=tick_texts(names))],
        legend,
        reading(
            values,
            "",
            [(score, values)],
            y=[row[3] for row in rows],
            names=[row[0] for row in rows],
        ),
        hint=_HINT,
    )


def _dot_with_error(
    place: int, x: float, y: float, half: float, colour: str, upright: bool = False
) -> list[Part]:
    dot = readable_dots([place], colour, 1.0, _DOT)
    if not half:
        return [dot]
    ends = ([x, x], [y - half, y + half]) if upright else ([x - half, x + half], [y, y])
    return [{**line(*ends, colour, _WIDTH), "opacity": 0.6}, dot]


def _y(labels: Sequence[str], number: int) -> float:
    """The first method is on top."""
    return float(len(labels) - number)
