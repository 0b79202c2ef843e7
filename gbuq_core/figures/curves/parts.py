"""The parts of a figure of curves, in the words that curves.js reads."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

Part = dict[str, Any]
SHEAF_LEVELS = 65535  # of a value of many lines


def rounded(values: Any) -> list[float]:
    """Five digits are more than a screen resolves."""
    exact = np.asarray(values, dtype=np.float64)
    size = np.abs(exact)
    usual = (size > 1e-15) & (size < 1e15)  # where powers of ten and their products are exact
    digits = 4 - np.floor(np.log10(np.where(usual, size, 1.0)))
    up, down = 10.0 ** np.maximum(digits, 0), 10.0 ** np.maximum(-digits, 0)
    plain = np.where(usual, exact, 0.0)
    numbers: list[float] = (np.rint(plain * up / down) * down / up).tolist()
    if not usual.all():
        for i in np.flatnonzero(~usual):
            numbers[i] = float(f"{exact[i]:.5g}")
    return numbers


def axis(ends: Sequence[float], label: str, ticks: Mapping[float, str] | None = None) -> Part:
    """The axis that all panels stand on; ``ticks`` are texts by their places."""
    part: Part = {"range": [float(end) for end in ends], "label": label}
    return part if ticks is None else {**part, "ticks": tick_texts(ticks)}


def tick_texts(ticks: Mapping[float, str]) -> Part:
    """Texts at places of an axis."""
    return {"ticks": list(ticks), "labels": list(ticks.values())}


def panel(
    ends: Sequence[float], label: str, layers: Sequence[Part], share: float = 1.0, **more: Any
) -> Part:
    """Layers over the y axis ``ends``, with a share of the figure's height."""
    return {"share": share, "range": list(ends), "label": label, "layers": list(layers), **more}


def reading(x: Any, label: str, values: Iterable[tuple[Any, ...]], **more: Any) -> Part:
    """What is read at each x: names with their values, and maybe the role of a live part."""
    read = []
    for name, at, *role in values:
        known = [None if math.isnan(value) else value for value in rounded(at)]
        read.append({"name": name, "at": known, **({"role": role[0]} if role else {})})
    return {"x": rounded(x), "label": label, "values": read, **more}


def line(x: Any, y: Any, colour: str, width: float = 2.0, dash: str = "") -> Part:
    """A polygonal line; ``colour`` is ``#rrggbb`` or "text", ``dash`` as in SVG."""
    part = {"kind": "line", "x": rounded(x), "y": rounded(y), "colour": colour, "width": width}
    return {**part, "dash": dash} if dash else part


def band(x: Any, low: Any, high: Any, colour: str, opacity: float) -> Part:
    """The area between two lines."""
    edges = {"low": rounded(low), "high": rounded(high)}
    return {"kind": "band", "x": rounded(x), **edges, "colour": colour, "opacity": opacity}


def plain_dots(x: Any, y: Any, colour: str, opacity: float, size: float) -> Part:
    """Dots at these places, which are not read."""
    where = {"x": rounded(x), "y": rounded(y)}
    return {"kind": "dots", **where, "colour": colour, "opacity": opacity, "size": size}


def readable_dots(at: Sequence[int] | np.ndarray, colour: str, opacity: float, size: float) -> Part:
    """Dots at these places of the figure's read-out."""
    places = [int(place) for place in at]
    return {"kind": "dots", "at": places, "colour": colour, "opacity": opacity, "size": size}


def entry(name: str, part: Part) -> Part:
    """A line of the legend for a part."""
    looks = ("kind", "colour", "width", "dash", "opacity", "size")
    return {"name": name, **{look: part[look] for look in looks if look in part}}


def limits(*values: Any, headroom: float = 0.04) -> list[float]:
    """An axis from 0, or from the smallest value below it, to a little above the largest."""
    every = np.concatenate([np.ravel(np.asarray(v, dtype=np.float64)) for v in values])
    every = every[np.isfinite(every)]
    low, high = (min(0.0, float(every.min())), float(every.max())) if len(every) else (0.0, 1.0)
    high += headroom * (high - low)
    return [low, high if high > low else low + 1.0]


def around(*values: Any, room: float = 0.04, least: float = 1.0) -> list[float]:
    """An axis around values with a share of room on both sides; ``least`` where they are one."""
    every = np.concatenate([np.ravel(np.asarray(v, dtype=np.float64)) for v in values])
    every = every[np.isfinite(every)]
    if not len(every):
        return [0.0, 1.0]
    low, high = float(every.min()), float(every.max())
    beside = room * (high - low) or least
    return [low - beside, high + beside]


def stretches(x: np.ndarray, inside: np.ndarray) -> list[tuple[float, float]]:
    """The stretches of x that are inside, in order; each ends half-way to its neighbour outside."""
    if not np.any(inside):
        return []
    turns = np.flatnonzero(np.diff(inside.astype(np.int8)))
    edges = [float(v) for v in (x[turns] + x[turns + 1]) / 2]
    edges = [float(x[0]), *edges] if inside[0] else edges
    edges = [*edges, float(x[-1])] if inside[-1] else edges
    return list(zip(edges[::2], edges[1::2], strict=True))


def hatches(x: np.ndarray, hatched: np.ndarray) -> list[Part]:
    """Hatching over stretches of x."""
    return [{"kind": "hatch", "from": low, "to": high} for low, high in stretches(x, hatched)]


def sheaf(
    x: Any,
    lines: Any,
    y_range: Sequence[float],
    colour: str,
    opacity: float,
    width: float = 1.0,
) -> Part:
    """Many thin lines over evenly spaced ``x``, as steps of the picture's height."""
    across = np.asarray(x, dtype=np.float64)
    values = np.asarray(lines, dtype=np.float64)
    room = y_range[1] - y_range[0]
    low, high = y_range[0] - room, y_range[1] + room
    codes = np.rint(SHEAF_LEVELS * np.clip((values - low) / (high - low), 0.0, 1.0)).astype("<u2")
    return {
        "kind": "sheaf",
        "from": float(across[0]),
        "to": float(across[-1]),
        "count": len(across),
        "range": [float(low), float(high)],
        "data": base64.b64encode(codes.tobytes()).decode(),
        "colour": colour,
        "opacity": opacity,
        "width": width,
    }
