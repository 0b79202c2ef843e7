"""One row's values against the training rows, and what its uncertainty comes from.

The figures are Vega-Lite specifications: it draws column names and values as plain text, whatever
is in them. (Altair takes 70 ms to check one of these.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gbuq_core.figures.table.rejection import KIND_COLOURS
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
from gbuq_core.presentation import one_line, short

ROW_HEIGHT = 24


class FeatureValue(NamedTuple):
    """One feature of one row."""

    # `name`, `value`: the user's words
    name: str
    value: str
    # for a number: how many of the training rows lie below it, 0 to 100; else NaN
    percentile: float
    # for a category or a missing value: how many of the training rows have the same, 0 to 100
    share: float
    note: str = ""  # "outside the training range", "never seen in training", "missing", or nothing


def positions_figure(features: Sequence[FeatureValue]) -> Spec:
    """A strip a feature: the middle half of the training rows shaded, the row's place marked.

    A category has a bar as long as its share of the training rows instead. What is outside the
    training rows, or was never there, is vermilion.
    """
    labels = distinct([f"{one_line(f.name, 24)}: {one_line(f.value, 14)}" for f in features])
    numbers, shares, notes = [], [], []
    for label, feature in zip(labels, features, strict=True):
        row: dict[str, object] = {"c0": label, "c3": feature.note or _in_numbers(feature)}
        row["c4"] = "#d55e00" if feature.note else "#0072b2"
        if np.isnan(feature.percentile):
            shares.append({**row, "c1": 0.0, "c2": feature.share})
        else:
            numbers.append({**row, "c1": feature.percentile})
        if feature.note:
            notes.append({**row, "c1": 50.0})
    y = bars_of(labels, 190)
    x = quantity(
        "c1",
        "percentile; bars: share of rows",
        scale={"domain": [0, 100]},
        axis={"values": [0, 25, 50, 75, 100], "format": "d"},
    )
    tips = [tip("c0", "value"), tip("c3", "place")]
    looks = {"x": x, "y": y, "color": own_colour("c4"), "tooltip": tips}
    layers = [
        layer(
            "bar",
            {"color": "#7f7f7f", "height": 10, "opacity": opacity},
            values=[{"c0": n["c0"], "c1": low, "c2": high} for n in numbers],
            x=x,
            x2={"field": "c2"},
            y=y,
        )
        for low, high, opacity in ((0, 100, 0.12), (25, 75, 0.25))
    ]
    share, place = {"height": 10, "opacity": 0.6}, {"thickness": 4, "size": 18}
    layers += [
        layer("bar", share, values=shares, x2={"field": "c2"}, **looks),
        layer("tick", place, values=numbers, **looks),
        layer(
            "text",
            {"color": "#d55e00", "fontWeight": "bold"},
            values=notes,
            x=x,
            y=y,
            text={"field": "c3"},
        ),
    ]
    return {"height": ROW_HEIGHT * max(len(features), 1) + AXIS_HEIGHT, "layer": layers}


def contributions_figure(names: Sequence[str], changes: np.ndarray, kind: str, unit: str) -> Spec:
    """Bars of how much each feature adds to one uncertainty of a row."""
    labels = distinct([one_line(name, 28) for name in names])
    rows = [{"c0": label, "c1": float(v)} for label, v in zip(labels, changes, strict=True)]
    return {
        "height": ROW_HEIGHT * max(len(labels), 1) + AXIS_HEIGHT,
        "data": {"values": rows},
        **layer(
            "bar",
            {"height": 12, "color": KIND_COLOURS[kind]},
            x=quantity("c1", f"{kind} uncertainty ({unit})", axis={"tickCount": 4}),
            y=bars_of(labels, 130),
            tooltip=[tip("c0", "column"), tip("c1", "effect", "+.3g")],
        ),
    }


def _in_numbers(feature: FeatureValue) -> str:
    if np.isnan(feature.percentile):
        return f"{short(feature.share)} % of the training rows have it"
    return f"{short(feature.percentile)} % of the training rows lie below"
