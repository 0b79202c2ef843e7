"""Nominal beside measured: coverage of a regression's intervals, reliability of probabilities."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from gbuq_core.figures.theme import MethodStyle, fade, ink
from gbuq_core.metrics import Coverage, Reliability


def coverage_figure(
    found: Coverage, style: MethodStyle, dark: bool = False, height: int = 300
) -> go.Figure:
    """Measured against nominal coverage with its binomial band; the diagonal is right."""
    order = np.argsort(found.levels)
    return _against_diagonal(
        found.levels[order],
        found.observed[order],
        found.low[order],
        found.high[order],
        style,
        ("nominal coverage", "measured coverage"),
        dark,
        height,
    )


def reliability_figure(
    found: Reliability, style: MethodStyle, dark: bool = False, height: int = 300
) -> go.Figure:
    """Share of right classes against the probability given to them, in bins with rows."""
    filled = found.n_rows > 0
    return _against_diagonal(
        found.confidence[filled],
        found.accuracy[filled],
        found.low[filled],
        found.high[filled],
        style,
        ("probability of the predicted class", "share that is right"),
        dark,
        height,
    )


def describe_coverage(found: Coverage) -> str:
    """One sentence a level would be long: the level nearest 90 %, and whether all bands hold.

    Examples
    --------
    >>> level = np.array([0.9])
    >>> describe_coverage(Coverage(level, level - 0.1, level - 0.15, level - 0.02, 100))
    'Intervals meant to hold 90 % of the rows hold 80 %. 1 of 1 levels is outside its band.'
    """
    at = int(np.argmin(np.abs(found.levels - 0.9)))
    outside = int(np.sum((found.levels < found.low) | (found.levels > found.high)))
    verdict = (
        "The difference is within what chance explains at every level."
        if not outside
        else f"{outside} of {len(found.levels)} levels {'is' if outside == 1 else 'are'} outside "
        f"{'its' if outside == 1 else 'their'} band."
    )
    return (
        f"Intervals meant to hold {100 * found.levels[at]:.0f} % of the rows hold "
        f"{100 * found.observed[at]:.0f} %. {verdict}"
    )


def describe_reliability(found: Reliability) -> str:
    """Where probabilities promise too much or too little, in words."""
    filled = found.n_rows > 0
    gap = found.accuracy[filled] - found.confidence[filled]
    worst = int(np.argmax(np.abs(gap)))
    side = "more often" if gap[worst] > 0 else "less often"
    return (
        f"Where the predicted class gets a probability of "
        f"{100 * found.confidence[filled][worst]:.0f} % on average, it is right in "
        f"{100 * found.accuracy[filled][worst]:.0f} % of {found.n_rows[filled][worst]:,} rows, "
        f"{side} than promised; all other groups are closer."
    )


def _against_diagonal(
    promised: np.ndarray,
    measured: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    style: MethodStyle,
    labels: tuple[str, str],
    dark: bool,
    height: int,
) -> go.Figure:
    figure = go.Figure()
    start = min(0.0, float(promised.min())) if len(promised) else 0.0
    figure.add_trace(
        go.Scatter(
            x=[start, 1.0],
            y=[start, 1.0],
            mode="lines",
            name="right",
            line={"color": ink(dark).truth, "width": 1.2, "dash": "dot"},
            hoverinfo="skip",
        )
    )
    band = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    figure.add_trace(go.Scatter(x=promised, y=high, showlegend=False, **band))
    figure.add_trace(
        go.Scatter(
            x=promised,
            y=low,
            fill="tonexty",
            fillcolor=fade(style.colour, 0.2),
            name="95 % band of chance",
            **band,
        )
    )
    figure.add_trace(
        go.Scatter(
            x=promised,
            y=measured,
            mode="lines+markers",
            name="measured",
            line={"color": style.colour, "width": 2},
            marker={"size": 7},
            customdata=np.stack([low, high], axis=1),
            hovertemplate="%{x:.0%} promised, %{y:.1%} measured "
            "(%{customdata[0]:.1%} to %{customdata[1]:.1%})<extra></extra>",
        )
    )
    figure.update_layout(
        height=height,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0},
        xaxis={"title": {"text": labels[0]}, "tickformat": ".0%", "zeroline": False},
        yaxis={"title": {"text": labels[1]}, "tickformat": ".0%", "zeroline": False},
    )
    return figure
