"""One row's values against the training rows, and what its uncertainty comes from.

The figures are Vega-Lite specifications: it draws column names and values as plain text, whatever
is in them. (Altair takes 70 ms to check one of these.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gbuq_core.figures.table.rejection import KIND_COLOURS
from gbuq_core.figures.vega import AXIS_HEIGHT, Spec, cut, distinct, name_axis
from gbuq_core.presentation import short

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
    labels = distinct([f"{cut(f.name, 24)}: {cut(f.value, 14)}" for f in features])
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
    y = {"field": "c0", "type": "nominal", "sort": labels, "title": None, "axis": name_axis(190)}
    x = {
        "field": "c1",
        "type": "quantitative",
        "title": "percentile; bars: share of rows",
        "scale": {"domain": [0, 100]},
        "axis": {"values": [0, 25, 50, 75, 100], "format": "d"},
    }
    tips = [{"field": "c0", "title": "value"}, {"field": "c3", "title": "place"}]
    colour = {"field": "c4", "type": "nominal", "scale": None}
    strips = [
        {
            "data": {"values": [{"c0": n["c0"], "c1": low, "c2": high} for n in numbers]},
            "mark": {"type": "bar", "color": "#7f7f7f", "height": 10, "opacity": opacity},
            "encoding": {"x": x, "x2": {"field": "c2"}, "y": y},
        }
        for low, high, opacity in ((0, 100, 0.12), (25, 75, 0.25))
    ]
    layers = [
        *strips,
        {
            "data": {"values": shares},
            "mark": {"type": "bar", "height": 10, "opacity": 0.6},
            "encoding": {"x": x, "x2": {"field": "c2"}, "y": y, "color": colour, "tooltip": tips},
        },
        {
            "data": {"values": numbers},
            "mark": {"type": "tick", "thickness": 4, "size": 18},
            "encoding": {"x": x, "y": y, "color": colour, "tooltip": tips},
        },
        {
            "data": {"values": notes},
            "mark": {"type": "text", "color": "#d55e00", "fontWeight": "bold"},
            "encoding": {"x": x, "y": y, "text": {"field": "c3"}},
        },
    ]
    return {"height": ROW_HEIGHT * max(len(features), 1) + AXIS_HEIGHT, "layer": layers}


def contributions_figure(names: Sequence[str], changes: np.ndarray, kind: str, unit: str) -> Spec:
    """Bars of how much each feature adds to one uncertainty of a row."""
    labels = distinct([cut(name, 28) for name in names])
    rows = [{"c0": label, "c1": float(v)} for label, v in zip(labels, changes, strict=True)]
    return {
        "height": ROW_HEIGHT * max(len(labels), 1) + AXIS_HEIGHT,
        "data": {"values": rows},
        "mark": {"type": "bar", "height": 12, "color": KIND_COLOURS[kind]},
        "encoding": {
            "x": {
                "field": "c1",
                "type": "quantitative",
                "title": f"{kind} uncertainty ({unit})",
                "axis": {"tickCount": 4},
            },
            "y": {
                "field": "c0",
                "type": "nominal",
                "sort": labels,
                "title": None,
                "axis": name_axis(130),
            },
            "tooltip": [
                {"field": "c0", "title": "column"},
                {"field": "c1", "type": "quantitative", "title": "effect", "format": "+.3g"},
            ],
        },
    }


def _in_numbers(feature: FeatureValue) -> str:
    if np.isnan(feature.percentile):
        return f"{short(feature.share)} % of the training rows have it"
    return f"{short(feature.percentile)} % of the training rows lie below"
