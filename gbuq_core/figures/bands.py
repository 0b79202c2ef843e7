"""A one-dimensional prediction with its uncertainty as bands, and the same as stacked variances.

In the upper panel the inner light band is data uncertainty and the darker rim outside it is
knowledge uncertainty, so that the outer edge is the total. In the lower panel both are variances
on top of each other, because variances add up: total = data + knowledge.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from gbuq_core.figures.theme import MethodStyle, fade, ink

Array = npt.NDArray[np.float64]

DATA_OPACITY, KNOWLEDGE_OPACITY = 0.22, 0.62
_UPPER, _LOWER = (0.36, 1.0), (0.0, 0.28)  # the panels' shares of the height


class Bands(NamedTuple):
    """What the figure shows; arrays over ``x`` are (n_points,).

    Attributes
    ----------
    x, loc : ndarray
        Where and what is predicted.
    data, knowledge : ndarray
        Variances, in squared units of y.
    true_mean, true_variance : ndarray
        The truth, known for synthetic data.
    x_rows, y_rows : ndarray of shape (n_shown,)
        Training rows to draw.
    gaps : tuple of (low, high)
        Stretches of x without training rows, hatched.
    """

    x: Array
    loc: Array
    data: Array
    knowledge: Array
    true_mean: Array
    true_variance: Array
    x_rows: Array
    y_rows: Array
    gaps: tuple[tuple[float, float], ...] = ()


class Limits(NamedTuple):
    """Fixed axes, so that a slider moves the picture and not its scale."""

    y: tuple[float, float]
    variance: tuple[float, float]


def bands_figure(
    bands: Bands,
    style: MethodStyle,
    limits: Limits,
    n_std: float = 2.0,
    dark: bool = False,
    height: int = 470,
) -> go.Figure:
    """Draw the bands (``loc`` plus and minus ``n_std`` standard deviations) and the variances.

    Parameters
    ----------
    bands : Bands
    style : MethodStyle
        The method's name and colour.
    limits : Limits
    n_std : float
        Half the width of the bands in standard deviations.
    dark : bool
        Whether the page is dark.
    height : int
        In pixels.
    """
    figure = go.Figure()
    inks = ink(dark)
    _add_bands(figure, bands, style, n_std)
    figure.add_trace(_points(bands, inks.points))
    figure.add_trace(_line(bands.x, bands.loc, style.label, style.colour, style.dash, 2.2))
    figure.add_trace(_line(bands.x, bands.true_mean, "truth", inks.truth, "dash", 1.4))
    _add_variances(figure, bands, style, inks.truth)
    for gap in bands.gaps:
        figure.add_trace(_hatched(gap, limits.y, inks.hatch, "y"))
        figure.add_trace(_hatched(gap, limits.variance, inks.hatch, "y2"))
    axis = {"zeroline": False, "showgrid": True, "fixedrange": False}
    figure.update_layout(
        height=height,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        hovermode="x",
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "traceorder": "normal"},
        xaxis={"title": {"text": "x"}, "anchor": "y2", "range": _span(bands.x), "zeroline": False},
        yaxis={"title": {"text": "y"}, "domain": _UPPER, "range": limits.y, **axis},
        yaxis2={
            "title": {"text": "variance of y"},
            "domain": _LOWER,
            "range": limits.variance,
            **axis,
        },
    )
    return figure


def _add_bands(figure: go.Figure, bands: Bands, style: MethodStyle, n_std: float) -> None:
    """Four edges from below: rim, band, rim; each fills down to the one before."""
    inner = n_std * np.sqrt(bands.data)
    outer = n_std * np.sqrt(bands.data + bands.knowledge)
    rim, band = fade(style.colour, KNOWLEDGE_OPACITY), fade(style.colour, DATA_OPACITY)
    edges = (
        (-outer, None, "", False),
        (-inner, rim, "knowledge", True),
        (inner, band, "data", True),
        (outer, rim, "knowledge", False),
    )
    for offset, fill, name, in_legend in edges:
        figure.add_trace(
            go.Scatter(
                x=_light(bands.x),
                y=_light(bands.loc + offset),
                mode="lines",
                line={"width": 0},
                fill=None if fill is None else "tonexty",
                fillcolor=fill,
                name=name,
                legendgroup=name,
                showlegend=in_legend,
                hoverinfo="skip",
            )
        )


def _add_variances(figure: go.Figure, bands: Bands, style: MethodStyle, truth: str) -> None:
    """Data variance from zero, knowledge variance on top of it, the true noise as a line."""
    layers = (
        (bands.data, "tozeroy", fade(style.colour, DATA_OPACITY), "data"),
        (
            bands.data + bands.knowledge,
            "tonexty",
            fade(style.colour, KNOWLEDGE_OPACITY),
            "data + knowledge = total",
        ),
    )
    for values, fill, colour, name in layers:
        figure.add_trace(
            go.Scatter(
                x=_light(bands.x),
                y=_light(values),
                yaxis="y2",
                mode="lines",
                line={"width": 0.8, "color": style.colour},
                fill=fill,
                fillcolor=colour,
                name=name,
                showlegend=False,
                hovertemplate="%{y:.3g}<extra>" + name + "</extra>",
            )
        )
    line = _line(bands.x, bands.true_variance, "true noise", truth, "dash", 1.4)
    figure.add_trace(line.update(yaxis="y2", showlegend=False))


def _line(x: Array, y: Array, name: str, colour: str, dash: str, width: float) -> go.Scatter:
    return go.Scatter(
        x=_light(x),
        y=_light(y),
        mode="lines",
        name=name,
        line={"color": colour, "width": width, "dash": dash},
        hovertemplate="%{y:.3g}<extra>" + name + "</extra>",
    )


def _points(bands: Bands, colour: str) -> go.Scatter:
    return go.Scatter(
        x=_light(bands.x_rows),
        y=_light(bands.y_rows),
        mode="markers",
        name="rows",
        marker={"size": 4, "color": colour},
        hoverinfo="skip",
    )


def _hatched(
    gap: tuple[float, float], limits: tuple[float, float], colour: str, axis: str
) -> go.Scatter:
    """A hatched rectangle: no training rows here."""
    (left, right), (low, high) = gap, limits
    return go.Scatter(
        x=[left, right, right, left],
        y=[low, low, high, high],
        yaxis=axis,
        mode="lines",
        line={"width": 0},
        fill="toself",
        fillpattern={"shape": "/", "size": 7, "solidity": 0.12, "fgcolor": colour},
        fillcolor="rgba(0,0,0,0)",
        name="no rows",
        legendgroup="gap",
        showlegend=axis == "y",
        hoverinfo="skip",
    )


def _light(values: Array) -> npt.NDArray[np.float32]:
    """Four bytes a number are more than a screen resolves, and travel as raw bytes."""
    return np.asarray(values, dtype=np.float32)


def _span(x: Array) -> tuple[float, float]:
    return float(x[0]), float(x[-1])
