"""A figure of curves as a still SVG picture that needs no script.

It draws what curves.js draws, but for the read-out. All text is escaped, and a page shows the
picture as an image, in which nothing can run.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from gbuq_core.figures.curves import Curves
from gbuq_core.figures.curves.parts import Part

_LEFT, _RIGHT, _TOP, _BOTTOM, _GAP = 70.0, 14.0, 34.0, 48.0, 26.0
# Colours of text and axes; an image follows the page into the dark by itself.
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#22242b}.axis{stroke:#8a8d96}.grid{stroke:#e4e5e9}"
    ".ink{stroke:#22242b}@media (prefers-color-scheme:dark)"
    "{text{fill:#e8e9ec}.grid{stroke:#363a44}.ink{stroke:#f2f2ee}}"
)


class _Frame(NamedTuple):
    """Limits of both axes, and the edges of the panel in pixels."""

    x: tuple[float, float]
    y: tuple[float, float]
    right: float
    top: float
    floor: float

    def across(self, values: Sequence[float]) -> np.ndarray:
        share = (np.asarray(values, float) - self.x[0]) / (self.x[1] - self.x[0])
        placed: np.ndarray = _LEFT + share * (self.right - _LEFT)
        return placed

    def down(self, values: Sequence[float]) -> np.ndarray:
        share = (np.asarray(values, float) - self.y[0]) / (self.y[1] - self.y[0])
        placed: np.ndarray = self.floor - share * (self.floor - self.top)
        return placed


def figure_svg(figure: Curves, width: int = 760, height: int = 380) -> str:
    """Draw a figure of curves.

    Parameters
    ----------
    figure : Curves
    width, height : int
        In pixels.

    Returns
    -------
    str
        An SVG document.

    Examples
    --------
    >>> from gbuq_core.figures.curves.parts import line
    >>> panel = {"share": 1.0, "range": [0, 2], "label": "a < b", "layers": []}
    >>> panel["layers"].append(line([0, 1], [0, 2], "#0072b2"))
    >>> spec = {"x": {"range": [0, 1], "label": "x"}, "panels": [panel], "legend": []}
    >>> "a &lt; b" in figure_svg(Curves(spec))
    True
    """
    spec = figure.spec
    panels = spec["panels"]
    room = height - _TOP - _BOTTOM - _GAP * (len(panels) - 1)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}"><style>{_STYLE}</style>'
    ]
    top = _TOP
    for panel in panels:
        floor = top + room * panel["share"]
        frame = _Frame(tuple(spec["x"]["range"]), tuple(panel["range"]), width - _RIGHT, top, floor)
        parts += _axes(spec["x"], panel["label"], frame, is_last=panel is panels[-1])
        for layer in panel["layers"]:
            parts += _layer(layer, spec.get("read", {}), frame)
        parts += _ring(panel, frame)
        top = floor + _GAP
    return "".join([*parts, *_legend(spec["legend"], width - _RIGHT), "</svg>"])


def _ticks(low: float, high: float) -> np.ndarray:
    """Four to ten round numbers within the limits."""
    raw = (high - low) / 6
    unit = 10.0 ** np.floor(np.log10(raw))
    step = unit * min((1.0, 2.0, 5.0, 10.0), key=lambda factor: abs(factor * unit - raw))
    ticks: np.ndarray = np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step
    ticks[ticks == 0.0] = 0.0  # else one of them is written -0
    return ticks


def _axes(across: Part, title: str, frame: _Frame, is_last: bool) -> list[str]:
    top, floor, right = frame.top, frame.floor, frame.right
    parts = []
    for value in _ticks(*frame.y):
        y = float(frame.down([value])[0])
        parts.append(_line(_LEFT, y, right, y, "grid"))
        parts.append(_text(_LEFT - 6, y + 4, f"{value:.6g}", "end"))
    for value in _ticks(*frame.x):
        x = float(frame.across([value])[0])
        parts.append(_line(x, top, x, floor, "grid"))
        if is_last:
            parts.append(_text(x, floor + 16, f"{value:.6g}", "middle"))
    middle = (top + floor) / 2
    parts.append(_text(14, middle, title, "middle", f' transform="rotate(-90 14 {middle:.1f})"'))
    if is_last:
        parts.append(_text((_LEFT + right) / 2, floor + 38, across["label"], "middle"))
    return [
        *parts,
        _line(_LEFT, floor, right, floor, "axis"),
        _line(_LEFT, top, _LEFT, floor, "axis"),
    ]


def _layer(layer: Part, read: Part, frame: _Frame) -> list[str]:
    """One part of a panel, within the axes that were chosen to hold it."""
    if layer["kind"] == "hatch":
        left, right = frame.across([layer["from"], layer["to"]])
        box = f'x="{left:.1f}" y="{frame.top:.1f}" width="{right - left:.1f}"'
        return [f'<rect {box} height="{frame.floor - frame.top:.1f}" fill="#888" opacity="0.15"/>']
    if layer["kind"] == "band":
        x, low, high = frame.across(layer["x"]), frame.down(layer["low"]), frame.down(layer["high"])
        around = _points(np.concatenate([x, x[::-1]]), np.concatenate([high, low[::-1]]))
        return [f'<polygon points="{around}" {_fill(layer)}/>']
    if layer["kind"] == "line":
        points = _points(frame.across(layer["x"]), frame.down(layer["y"]))
        return [f'<polyline points="{points}" {_stroke(layer)}/>']
    if layer["kind"] == "words":
        return [_text(_LEFT + 6, frame.top + 14, layer["text"], "start")]
    source, places = layer, range(len(layer.get("x", ())))
    if "at" in layer:
        source, places = read, layer["at"]
    dots = [[source[axis][place] for place in places] for axis in ("x", "y")]
    radius = layer.get("size", 4) / 2
    return [
        f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{radius:g}" {_fill(layer)}/>'
        for a, b in zip(frame.across(dots[0]), frame.down(dots[1]), strict=True)
    ]


def _ring(panel: Part, frame: _Frame) -> list[str]:
    ring = panel.get("ring")
    if ring is None:
        return []
    x, y = float(frame.across([ring["x"]])[0]), float(frame.down([ring["y"]])[0])
    style = f'fill="none" stroke-width="3" stroke="{escape(ring["colour"])}"'
    return [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="8" {style}/>']


def _legend(entries: Sequence[Part], right: float) -> list[str]:
    """Entries in one line, closer together where they would not end left of ``right``."""
    widths = [6 * len(e["colours"]) if e["kind"] == "scale" else 16 for e in entries]
    steps = [width + 23 + 7 * len(e["name"]) for width, e in zip(widths, entries, strict=True)]
    closer = min(1.0, (right - _LEFT) / max(1, sum(steps) - 18))
    parts, x = [], float(_LEFT)
    for entry, width, step in zip(entries, widths, steps, strict=True):
        if entry["kind"] == "scale":
            parts += [
                f'<rect x="{x + 6 * i:.0f}" y="10" width="6.5" height="9" fill="{escape(colour)}"/>'
                for i, colour in enumerate(entry["colours"])
            ]
        elif entry["kind"] == "line":
            ends = f"{x:.0f},15 {x + 16:.0f},15"
            parts.append(f'<polyline points="{ends}" {_stroke(entry)}/>')
        else:
            parts.append(f'<rect x="{x:.0f}" y="11" width="16" height="8" {_fill(entry)}/>')
        parts.append(_text(x + width + 5, 19, entry["name"], "start"))
        x += step * closer
    return parts


def _stroke(line: Part) -> str:
    """Attributes of a line; one in the colour of text turns light on a dark page."""
    is_ink = line["colour"] == "text"
    colour = ' class="ink"' if is_ink else f' stroke="{escape(line["colour"])}"'
    dash = escape(str(line.get("dash") or "none"))
    return f'fill="none" stroke-width="{line["width"]:g}" stroke-dasharray="{dash}"{colour}'


def _fill(part: Part) -> str:
    colour = "#7f7f7f" if part["colour"] == "text" else part["colour"]
    return f'fill="{escape(colour)}" fill-opacity="{float(part.get("opacity", 1.0)):g}"'


def _points(x: np.ndarray, y: np.ndarray) -> str:
    kept = np.isfinite(x) & np.isfinite(y)
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x[kept], y[kept], strict=True))


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(text)}</text>'
