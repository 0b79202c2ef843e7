"""A second file beside the first: how far each column shifted, and histograms of both files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gbuq_core.figures.curves import Curves, draw_curves
from gbuq_core.figures.curves.parts import (
    Part,
    axis,
    band,
    entry,
    limits,
    line,
    panel,
    reading,
    rounded,
)
from gbuq_core.figures.theme import ink
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
from gbuq_core.presentation import one_line, percent

_FIRST, _SECOND, _QUIET = "#0072b2", "#d55e00", "#7f7f7f"
_ROW_HEIGHT, _PAIR_HEIGHT, _LEGEND_HEIGHT = 26, 36, 40
MOST_COLUMNS = 20
_FEW_DATES = 4  # below the axis: more have no room on a phone
PICKED = "picked"  # the name of the chart's selection


class Shift(NamedTuple):
    """How far a column shifted: its index, what chance gives at most, the limits of convention."""

    name: str
    psi: float
    chance: float

    @property
    def is_told_apart(self) -> bool:
        """Whether it is above chance."""
        return self.psi > self.chance


class TwoFiles(NamedTuple):
    """Shares of the rows of two files by bin; ``edges`` (n_bins + 1,), empty for categories.

    ``dates`` are the edges in words where they are days.
    """

    edges: np.ndarray
    labels: tuple[str, ...]
    first: np.ndarray
    second: np.ndarray
    dates: tuple[str, ...] = ()


def shifts_figure(shifts: Sequence[Shift], marks: tuple[float, float], dark: bool = False) -> Spec:
    """A bar a column, the largest index first, with a tick where chance ends.

    Columns above chance are vermilion. Names are the user's words; a click picks one (selection
    `PICKED`, field ``c0``).
    """
    names = list(drawn_names(shifts))
    values: list[dict[str, Any]] = [
        {
            "c0": name,
            "c1": round(shift.psi, 5),
            "c2": round(shift.chance, 5),
            "c3": _SECOND if shift.is_told_apart else _QUIET,
        }
        for name, shift in zip(names, shifts, strict=False)
    ]
    y = bars_of(names, 170)
    title = "population stability index"
    index, chance = (quantity(field, title, scale={"zero": True}) for field in ("c1", "c2"))
    tips = [tip("c0", "column"), tip("c1", "index", ".3f"), tip("c2", "chance, up to", ".3f")]
    bar = {"height": 12, "cursor": "pointer"}
    truth = ink(dark).truth
    limit = {"strokeDash": [3, 3], "color": truth, "opacity": 0.5}
    select = {"type": "point", "fields": ["c0"], "on": "click"}
    return {
        "height": _ROW_HEIGHT * len(names) + AXIS_HEIGHT,
        "data": {"values": values},
        "params": [{"name": PICKED, "select": select, "views": ["bars"]}],
        "layer": [
            {
                "name": "bars",
                **layer("bar", bar, x=index, y=y, color=own_colour("c3"), tooltip=tips),
            },
            layer(
                "tick", {"thickness": 2, "size": 18, "color": truth}, x=chance, y=y, tooltip=tips
            ),
            layer("rule", limit, values=[{"c1": mark} for mark in marks], x=index),
        ],
    }


def drawn_names(shifts: Sequence[Shift]) -> dict[str, str]:
    """What each bar is called in the chart, and the column's own name."""
    drawn = list(shifts)[:MOST_COLUMNS]
    names = distinct([one_line(shift.name, 26) for shift in drawn])
    return {name: shift.name for name, shift in zip(names, drawn, strict=True)}


def two_files_figure(files: TwoFiles, name: str, label: str, alt: str, height: int = 220) -> Curves:
    """Two histograms over the same bins: the first file as bars, the second as a line."""
    edges = np.asarray(files.edges, np.float64)
    corners = np.repeat(edges, 2)[1:-1]
    first, second = (100.0 * np.repeat(part, 2) for part in (files.first, files.second))
    bars: Part = band(corners, np.zeros(len(corners)), first, _FIRST, 0.35)
    steps = line(corners, second, _SECOND, 2.0)
    middle = (edges[1:] + edges[:-1]) / 2.0
    ticks = None
    if files.dates:
        places = np.unique(np.linspace(0, len(edges) - 1, _FEW_DATES).round().astype(int))
        ticks = {x: files.dates[k] for x, k in zip(rounded(edges[places]), places, strict=True)}
    return draw_curves(
        name,
        alt,
        height,
        axis((edges[0], edges[-1]), label, ticks),
        [panel(limits(first, second), "share of rows (%)", [bars, steps])],
        [entry("first file", bars), entry("second file", steps)],
        reading(
            middle,
            "",
            [("first file (%)", 100.0 * files.first), ("second file (%)", 100.0 * files.second)],
            names=list(files.labels),
        ),
    )


def two_files_categories(files: TwoFiles) -> Spec:
    """Two bars a category: its share of the rows of the first and of the second file."""
    names = distinct([one_line(label, 26) for label in files.labels])
    who = ["first file", "second file"]
    values = [
        {"c0": name, "c1": round(100.0 * float(share), 3), "c2": file}
        for name, *shares in zip(names, files.first, files.second, strict=True)
        for file, share in zip(who, shares, strict=True)
    ]
    return {
        "height": _PAIR_HEIGHT * len(names) + AXIS_HEIGHT + _LEGEND_HEIGHT,
        "data": {"values": values},
        **layer(
            "bar",
            {},
            x=quantity("c1", "share of rows (%)"),
            y=bars_of(names, 170),
            yOffset={"field": "c2", "sort": who},
            color={
                "field": "c2",
                "type": "nominal",
                "sort": who,
                "title": None,
                "scale": {"domain": who, "range": [_FIRST, _SECOND]},
                "legend": {"orient": "top"},
            },
            tooltip=[tip("c0", "category"), tip("c2", "file"), tip("c1", "share (%)", ".1f")],
        ),
    }


def describe_two_files(files: TwoFiles, name: str) -> str:
    """The bin in which the two files differ the most, in words.

    >>> shares = np.array([0.2, 0.5, 0.3]), np.array([0.7, 0.2, 0.1])
    >>> describe_two_files(TwoFiles(np.empty(0), ("a", "b", "c"), *shares), "shop")
    'shop: the files differ most in a, with 20 % of the rows of the first file and 70 % of the ...'
    """
    at = int(np.argmax(np.abs(files.second - files.first)))
    return (
        f"{one_line(name, 40)}: the files differ most in {one_line(files.labels[at], 40)}, with "
        f"{percent(files.first[at], 0)} of the rows of the first file and "
        f"{percent(files.second[at], 0)} of the second."
    )
