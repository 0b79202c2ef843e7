"""A plotly figure of lines, bands and dots as a still SVG picture that needs no script.

It draws what the figures of a scored table consist of: scatter traces over two linear axes. All
text is escaped, and a page shows the picture as an image, in which nothing can run.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from gbuq_core.figures.theme import ink

_LEFT, _RIGHT, _TOP, _BOTTOM = 70.0, 14.0, 34.0, 48.0
_DASHES = {"dash": "7 4", "dot": "2 3", "dashdot": "7 3 2 3", "longdashdot": "11 3 2 3"}
# Colours of text and axes; an image follows the page into the dark by itself.
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#22242b}.axis{stroke:#8a8d96}.grid{stroke:#e4e5e9}"
    ".truth{stroke:#22242b}@media (prefers-color-scheme:dark)"
    "{text{fill:#e8e9ec}.grid{stroke:#363a44}.truth{stroke:#f2f2ee}}"
)


class _Frame(NamedTuple):
    """Limits of both axes and the size of the picture in pixels."""

    x: tuple[float, float]
    y: tuple[float, float]
    width: float
    height: float

    def across(self, values: Any) -> np.ndarray:
        share = (np.asarray(values, float) - self.x[0]) / (self.x[1] - self.x[0])
        placed: np.ndarray = _LEFT + share * (self.width - _LEFT - _RIGHT)
        return placed

    def down(self, values: Any) -> np.ndarray:
        share = (np.asarray(values, float) - self.y[0]) / (self.y[1] - self.y[0])
        placed: np.ndarray = self.height - _BOTTOM - share * (self.height - _TOP - _BOTTOM)
        return placed


def figure_svg(figure: go.Figure, width: int = 760, height: int = 380) -> str:
    """Draw the scatter traces of a figure with two linear axes.

    Parameters
    ----------
    figure : plotly Figure
        Lines, dots and bands (``fill="tonexty"``) only.
    width, height : int
        In pixels.

    Returns
    -------
    str
        An SVG document.

    Examples
    --------
    >>> figure = go.Figure(go.Scatter(x=[0, 1], y=[0, 2], name="a < b", mode="lines"))
    >>> "a &lt; b" in figure_svg(figure)
    True
    """
    traces = [trace for trace in figure.data if len(trace.x)]
    frame = _Frame(
        _limits(figure.layout.xaxis, [trace.x for trace in traces]),
        _limits(figure.layout.yaxis, [trace.y for trace in traces]),
        float(width),
        float(height),
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}"><style>{_STYLE}</style>'
    ]
    parts += _axes(figure, frame)
    for place, trace in enumerate(traces):
        parts += _trace(trace, traces[place - 1] if place else None, frame)
    return "".join([*parts, *_legend(traces), "</svg>"])


def _limits(axis: Any, values: Sequence[Any]) -> tuple[float, float]:
    """The axis' own range, or that of the values, from zero where the axis wants it."""
    if axis.range is not None:
        low, high = (float(v) for v in axis.range)
    else:
        every = np.concatenate([np.asarray(v, float) for v in values] or [np.zeros(1)])
        every = every[np.isfinite(every)]
        low, high = (float(every.min()), float(every.max())) if len(every) else (0.0, 1.0)
        low = min(low, 0.0) if axis.rangemode == "tozero" else low
        high += 0.04 * (high - low)
    return (low, high) if high > low else (low, low + 1.0)


def _ticks(low: float, high: float) -> np.ndarray:
    """Four to ten round numbers within the limits."""
    raw = (high - low) / 6
    unit = 10.0 ** np.floor(np.log10(raw))
    step = unit * min((1.0, 2.0, 5.0, 10.0), key=lambda factor: abs(factor * unit - raw))
    ticks: np.ndarray = np.arange(np.ceil(low / step), np.floor(high / step) + 1) * step
    ticks[ticks == 0.0] = 0.0  # else one of them is written -0
    return ticks


def _axes(figure: go.Figure, frame: _Frame) -> list[str]:
    floor, left = frame.height - _BOTTOM, _LEFT
    right, top = frame.width - _RIGHT, _TOP
    parts = []
    for axis, limits, upright in (
        (figure.layout.xaxis, frame.x, False),
        (figure.layout.yaxis, frame.y, True),
    ):
        for value in _ticks(*limits):
            text = f"{value:.0%}" if "%" in (axis.tickformat or "") else f"{value:.6g}"
            if upright:
                y = float(frame.down(value))
                parts.append(_line(left, y, right, y, "grid"))
                parts.append(_text(left - 6, y + 4, text, "end"))
            else:
                x = float(frame.across(value))
                parts.append(_line(x, top, x, floor, "grid"))
                parts.append(_text(x, floor + 16, text, "middle"))
        title = axis.title.text or ""
        if upright:
            middle = (top + floor) / 2
            turned = f' transform="rotate(-90 14 {middle:.1f})"'
            parts.append(_text(14, middle, title, "middle", turned))
        else:
            parts.append(_text((left + right) / 2, frame.height - 10, title, "middle"))
    return [*parts, _line(left, floor, right, floor, "axis"), _line(left, top, left, floor, "axis")]


def _trace(trace: go.Scatter, before: go.Scatter | None, frame: _Frame) -> list[str]:
    x, y = frame.across(trace.x), frame.down(trace.y)
    parts = []
    if trace.fill == "tonexty" and before is not None:
        around = np.concatenate([x, frame.across(before.x)[::-1]])
        heights = np.concatenate([y, frame.down(before.y)[::-1]])
        parts.append(f'<polygon points="{_points(around, heights)}" {_paint(trace.fillcolor)}/>')
    width = 2.0 if trace.line.width is None else float(trace.line.width)
    if "lines" in (trace.mode or "") and width > 0.0:
        parts.append(f'<polyline points="{_points(x, y)}" {_stroke(trace.line, width)}/>')
    if "markers" in (trace.mode or ""):
        parts += _dots(trace, x, y)
    return parts


def _dots(trace: go.Scatter, x: np.ndarray, y: np.ndarray) -> list[str]:
    marker = trace.marker
    radius = float(marker.size or 6) / 2
    colours = _marker_colours(trace)
    if str(marker.symbol or "").endswith("-open"):
        style = f'fill="none" stroke-width="{float(marker.line.width or 1):g}" stroke='
    else:
        style = f'fill-opacity="{float(marker.opacity or 1.0):g}" fill='
    return [
        f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{radius:g}" {style}"{colour}"/>'
        for a, b, colour in zip(x, y, colours, strict=True)
        if np.isfinite(a) and np.isfinite(b)
    ]


def _marker_colours(trace: go.Scatter) -> list[str]:
    """One colour a dot: the trace's, or its value's place on the colour scale."""
    marker = trace.marker
    if marker.color is None or isinstance(marker.color, str):
        return [_colour(marker.color or trace.line.color)] * len(trace.x)
    scale = [_colour(colour) for _, colour in marker.colorscale]
    values = np.nan_to_num(np.asarray(marker.color, float), nan=float(marker.cmin))
    share = np.clip((values - marker.cmin) / (marker.cmax - marker.cmin), 0.0, 1.0)
    return [scale[place] for place in np.rint(share * (len(scale) - 1)).astype(int)]


def _legend(traces: Sequence[go.Scatter]) -> list[str]:
    parts, x = [], _LEFT
    for trace in traces:
        if not trace.name or trace.showlegend is False:
            continue
        marker = trace.marker.color if isinstance(trace.marker.color, str) else None
        if trace.mode == "lines" and not trace.fill:
            line = _stroke(trace.line, float(trace.line.width or 2.0))
            parts.append(f'<polyline points="{x:.0f},15 {x + 16:.0f},15" {line}/>')
        else:
            colour = trace.fillcolor or trace.line.color or marker
            parts.append(f'<rect x="{x:.0f}" y="11" width="16" height="8" {_paint(colour)}/>')
        parts.append(_text(x + 21, 19, trace.name, "start"))
        x += 21 + 7 * len(trace.name) + 18
    return parts


def _stroke(line: Any, width: float) -> str:
    """Attributes of a line; the ink of truths turns light on a dark page."""
    kind = ' class="truth"' if line.color == ink(dark=False).truth else ""
    dash = _DASHES.get(line.dash or "", "none")
    return (
        f'fill="none" stroke="{_colour(line.color)}" stroke-width="{width:g}" '
        f'stroke-dasharray="{dash}"{kind}'
    )


def _paint(colour: str | None) -> str:
    """Fill of a colour; an ``rgba`` one is taken apart, which SVG 1.1 does not know."""
    if colour is not None and colour.startswith("rgba("):
        *channels, alpha = colour[5:-1].split(",")
        return f'fill="rgb({escape(",".join(channels))})" fill-opacity="{float(alpha):g}"'
    return f'fill="{_colour(colour)}"'


def _colour(colour: str | None) -> str:
    return escape(colour or "#7f7f7f")


def _points(x: np.ndarray, y: np.ndarray) -> str:
    kept = np.isfinite(x) & np.isfinite(y)
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x[kept], y[kept], strict=True))


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(x: float, y: float, text: str, anchor: str, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{more}>{escape(text)}</text>'
