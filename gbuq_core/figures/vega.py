"""Helpers for Vega-Lite figures with users' labels: distinct names, axes, cut texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Spec = dict[str, Any]

AXIS_HEIGHT = 56  # of ticks and title, which count in a figure that fits its place


def bars_of(labels: Sequence[str], limit: int, **more: Any) -> Spec:
    """The vertical axis of the names in field ``c0``, each shown, cut at ``limit`` pixels."""
    looks = {"labelOverlap": False, "labelFlush": False, "ticks": False, "domain": False}
    axis = {"labelLimit": limit, **looks}
    names = more or {"sort": list(labels)}
    return {"field": "c0", "type": "nominal", "title": None, "axis": axis, **names}


def quantity(field: str, title: str, **more: Any) -> Spec:
    """An axis of numbers."""
    return {"field": field, "type": "quantitative", "title": title, **more}


def own_colour(field: str) -> Spec:
    """Colours as the rows say them."""
    return {"field": field, "type": "nominal", "scale": None}


def tip(field: str, title: str, form: str = "") -> Spec:
    """A line of what is said at the pointer: a text, or with ``form`` a number."""
    return quantity(field, title, format=form) if form else {"field": field, "title": title}


def layer(mark: str, looks: Spec, *, values: Any = None, **encoding: Any) -> Spec:
    """Marks of one kind; of rows of their own where ``values`` are given."""
    own = {} if values is None else {"data": {"values": list(values)}}
    return {**own, "mark": {"type": mark, **looks}, "encoding": encoding}


def distinct(texts: Sequence[str]) -> list[str]:
    """Texts kept distinct, since a label is also a position."""
    labels: list[str] = []
    for text in texts:
        labels.append(text if text not in labels else f"{text} ({len(labels) + 1})")
    return labels
