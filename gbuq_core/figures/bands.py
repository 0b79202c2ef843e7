"""A one-dimensional prediction with its uncertainty as bands, and the same as stacked variances.

In the upper panel the inner pale band is data uncertainty and the stronger rim outside it is
knowledge uncertainty, so that the outer edge is the total. In the lower panel both are variances
on top of each other, because variances add up: total = data + knowledge.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import plotly.graph_objects as go

from gbuq_core.figures.theme import MethodStyle, fade, ink, on_page

Array = npt.NDArray[np.float64]
Part = dict[str, Any]  # of a plotly figure, in its own words

DATA_OPACITY, KNOWLEDGE_OPACITY = 0.22, 0.62
MOST_DOTS = 160  # each is an element of its own on the page; 600 of them treble a redraw
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
    x_rows, y_rows : ndarray of shape (n_rows,)
        Training rows, of which `MOST_DOTS` are drawn.
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
    inks = ink(dark)
    style = style._replace(colour=on_page(style.colour, dark))
    traces = [
        *_bands(bands, style, n_std),
        _points(bands, inks.points),
        _line(bands.x, bands.loc, style.label, style.colour, style.dash, 2.2),
        _line(bands.x, bands.true_mean, "truth", inks.truth, "dash", 1.4),
        *_variances(bands, style),
        _line(bands.x, bands.true_variance, "true noise", inks.truth, "dash", 1.4)
        | {"yaxis": "y2", "showlegend": False},
    ]
    for gap in bands.gaps:
        traces.append(_hatched(gap, limits.y, inks.hatch, "y"))
        traces.append(_hatched(gap, limits.variance, inks.hatch, "y2"))
    # Everything in one call: adding traces and updating the layout one by one costs plotly 40 ms.
    return go.Figure(data=traces, layout=_layout(bands, limits, height))


def _layout(bands: Bands, limits: Limits, height: int) -> Part:
    still = {"automargin": False, "zeroline": False}
    upper = {"title": {"text": "y"}, "domain": _UPPER, "range": limits.y}
    lower = {"title": {"text": "variance of y"}, "domain": _LOWER, "range": limits.variance}
    legend = {"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "traceorder": "normal"}
    return {
        "height": height,
        # Fixed margins: measuring the labels to find their own costs plotly a third of a redraw.
        "margin": {"l": 56, "r": 8, "t": 44, "b": 40, "autoexpand": False},
        "hovermode": "x",
        "legend": legend,
        "xaxis": {
            "title": {"text": "x"},
            "anchor": "y2",
            "range": (float(bands.x[0]), float(bands.x[-1])),
            **still,
        },
        "yaxis": upper | still,
        "yaxis2": lower | still,
    }


def _bands(bands: Bands, style: MethodStyle, n_std: float) -> list[Part]:
    """Four edges from below: rim, band, rim; each fills down to the one before."""
    inner = n_std * np.sqrt(bands.data)
    outer = n_std * np.sqrt(bands.data + bands.knowledge)
    rim, band = fade(style.colour, KNOWLEDGE_OPACITY), fade(style.colour, DATA_OPACITY)
    edges = (
        (-outer, {"showlegend": False}),
        (-inner, {"fill": "tonexty", "fillcolor": rim, "name": "knowledge"}),
        (inner, {"fill": "tonexty", "fillcolor": band, "name": "data"}),
        (outer, {"fill": "tonexty", "fillcolor": rim, "showlegend": False}),
    )
    return [
        {
            "type": "scatter",
            "x": _light(bands.x),
            "y": _light(bands.loc + offset),
            "mode": "lines",
            "line": {"width": 0},
            "hoverinfo": "skip",
            **look,
        }
        for offset, look in edges
    ]


def _variances(bands: Bands, style: MethodStyle) -> list[Part]:
    """Data variance from zero, and knowledge variance on top of it."""
    total = bands.data + bands.knowledge
    layers = (
        (bands.data, "tozeroy", DATA_OPACITY, "data"),
        (total, "tonexty", KNOWLEDGE_OPACITY, "data + knowledge = total"),
    )
    return [
        {
            "type": "scatter",
            "x": _light(bands.x),
            "y": _light(values),
            "yaxis": "y2",
            "mode": "lines",
            "line": {"width": 0.8, "color": style.colour},
            "fill": fill,
            "fillcolor": fade(style.colour, opacity),
            "name": name,
            "showlegend": False,
            "hovertemplate": "%{y:.3g}<extra>" + name + "</extra>",
        }
        for values, fill, opacity, name in layers
    ]


def _line(x: Array, y: Array, name: str, colour: str, dash: str, width: float) -> Part:
    return {
        "type": "scatter",
        "x": _light(x),
        "y": _light(y),
        "mode": "lines",
        "name": name,
        "line": {"color": colour, "width": width, "dash": dash},
        "hovertemplate": "%{y:.3g}<extra>" + name + "</extra>",
    }


def _points(bands: Bands, colour: str) -> Part:
    return {
        "type": "scatter",
        "x": _light(bands.x_rows[:MOST_DOTS]),
        "y": _light(bands.y_rows[:MOST_DOTS]),
        "mode": "markers",
        "name": "rows",
        "marker": {"size": 4, "color": colour},
        "hoverinfo": "skip",
    }


def _hatched(gap: tuple[float, float], limits: tuple[float, float], colour: str, axis: str) -> Part:
    """A hatched rectangle: no training rows here."""
    (left, right), (low, high) = gap, limits
    return {
        "type": "scatter",
        "x": [left, right, right, left],
        "y": [low, low, high, high],
        "yaxis": axis,
        "mode": "lines",
        "line": {"width": 0},
        "fill": "toself",
        "fillpattern": {"shape": "/", "size": 7, "solidity": 0.12, "fgcolor": colour},
        "fillcolor": "rgba(0,0,0,0)",
        "name": "no rows",
        "showlegend": axis == "y",
        "hoverinfo": "skip",
    }


def _light(values: Array) -> npt.NDArray[np.float32]:
    """Four bytes a number are more than a screen resolves, and travel as raw bytes."""
    return np.asarray(values, dtype=np.float32)
