"""Rejection curves of a scored table: the error that remains as uncertain rows are handed over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go

from gbuq_core.figures.theme import ink
from gbuq_core.metrics import RejectionCurve

# One colour for each uncertainty, told apart by dashes as well.
KIND_COLOURS: Mapping[str, str] = MappingProxyType(
    {"total": "#7f7f7f", "data": "#e69f00", "knowledge": "#0072b2"}
)
_DASHES = {"total": "solid", "data": "dash", "knowledge": "solid"}
_WIDTHS = {"total": 3.2, "data": 2.0, "knowledge": 2.0}


class Ranking(NamedTuple):
    """How well one uncertainty ranks the errors: its curve and its PRR in percent."""

    kind: str
    curve: RejectionCurve
    prr: float


def rejection_figure(
    rankings: Sequence[Ranking], error_label: str, dark: bool = False, height: int = 300
) -> go.Figure:
    """Draw the curves between those of random order and of the errors' own (the oracle's).

    Parameters
    ----------
    rankings : sequence of Ranking
        All of the same errors.
    error_label : str
        What the vertical axis measures, with its unit; not a user's text.
    dark : bool
        Whether the page is dark.
    height : int
        In pixels.
    """
    figure = go.Figure()
    first = rankings[0].curve
    truth = ink(dark).truth
    for values, name, dash in (
        (first.random, "random", "dot"),
        (first.oracle, "oracle", "dashdot"),
    ):
        figure.add_trace(_line(first.rejected, values, name, truth, dash, 1.2))
    for ranking in rankings:
        figure.add_trace(
            _line(
                ranking.curve.rejected,
                ranking.curve.remaining,
                ranking.kind,
                KIND_COLOURS[ranking.kind],
                _DASHES[ranking.kind],
                _WIDTHS[ranking.kind],
            )
        )
    figure.update_layout(
        height=height,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        hovermode="x unified",
        legend={
            "orientation": "h",
            "y": 1.0,
            "yanchor": "bottom",
            "x": 0,
            "entrywidth": 54,
            "itemwidth": 30,
        },
        xaxis={
            "title": {"text": "rows handed over, most uncertain first"},
            "tickformat": ".0%",
            "range": [0, 1],
            "zeroline": False,
        },
        yaxis={"title": {"text": error_label}, "rangemode": "tozero", "zeroline": False},
    )
    return figure


def describe_rejection(rankings: Sequence[Ranking], share: float = 0.1) -> str:
    """The curves in words: what is left after handing over a tenth of the rows, and the PRRs."""
    sentences = []
    for ranking in rankings:
        curve = ranking.curve
        start = float(curve.remaining[0])
        if start <= 0.0:
            return "No row is wrong, so there is nothing to reject."
        left = float(np.interp(share, curve.rejected, curve.remaining))
        ratio = f", PRR {ranking.prr:.0f} %" if np.isfinite(ranking.prr) else ""
        sentences.append(f"{ranking.kind} uncertainty {100 * (1 - left / start):.0f} %{ratio}")
    return (
        f"Handing over the {share:.0%} most uncertain rows takes away this much of the error, by "
        + "; ".join(sentences)
        + f". A random choice takes away {share:.0%}."
    )


def _line(
    x: np.ndarray, y: np.ndarray, name: str, colour: str, dash: str, width: float
) -> go.Scatter:
    return go.Scatter(
        x=np.asarray(x, np.float32),
        y=np.asarray(y, np.float32),
        mode="lines",
        name=name,
        line={"color": colour, "width": width, "dash": dash},
        hovertemplate="%{y:.3g}",
    )
