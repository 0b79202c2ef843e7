"""Helpers for Vega-Lite figures with users' labels: distinct names, axes, cut texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Spec = dict[str, Any]

AXIS_HEIGHT = 56  # of ticks and title, which count in a figure that fits its place


def name_axis(limit: int) -> Spec:
    """A vertical axis of names, each shown, cut at ``limit`` pixels."""
    return {
        "labelLimit": limit,
        "labelOverlap": False,
        "labelFlush": False,
        "ticks": False,
        "domain": False,
    }


def distinct(texts: Sequence[str]) -> list[str]:
    """Texts kept distinct, since a label is also a position.

    Examples
    --------
    >>> distinct(["a", "b", "a"])
    ['a', 'b', 'a (3)']
    """
    labels: list[str] = []
    for text in texts:
        labels.append(text if text not in labels else f"{text} ({len(labels) + 1})")
    return labels


def cut(text: str, length: int) -> str:
    """A text on one line, cut to a length.

    Examples
    --------
    >>> cut("blood  pressure", 8)
    'blood p\u2026'
    """
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1]}\u2026"
