"""What knowledge uncertainty is worth against what it costs: ensembles of several sizes, chains.

The cyclical paper, section 5.2, on the spiral.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from gbuq_core.figures.theme import METHOD_STYLES

_MEASURES = (
    ("rank_correlation", "Likeness to 20 other models"),
    ("auroc_far", "AUROC, far cells"),
)
_SYMBOLS = {"sglb": "circle", "virtual_sglb": "square", "csglb": "diamond", "cbsglb": "triangle-up"}


class Quality(Protocol):
    """One ensemble: `QualityPoint` of the experiment, or anything like it."""

    @property
    def method(self) -> str: ...  # noqa: D102
    @property
    def n_models(self) -> int: ...  # noqa: D102
    @property
    def core_seconds(self) -> float: ...  # noqa: D102
    @property
    def auroc_far(self) -> float: ...  # noqa: D102
    @property
    def rank_correlation(self) -> float: ...  # noqa: D102


def quality_figure(points: Sequence[Quality], height: int = 300) -> go.Figure:
    """Two measures of quality against the seconds of one core.

    Parameters
    ----------
    points : sequence of Quality
        Those of one method are joined in their order.
    height : int
        In pixels.
    """
    figure = make_subplots(
        rows=1, cols=2, horizontal_spacing=0.1, subplot_titles=[title for _, title in _MEASURES]
    )
    for column, (measure, _) in enumerate(_MEASURES, start=1):
        for method in dict.fromkeys(point.method for point in points):
            own = [point for point in points if point.method == method]
            figure.add_trace(_trace(own, measure, show_legend=column == 1), row=1, col=column)
    figure.update_xaxes(type="log", title={"text": "seconds of one core", "standoff": 6}, dtick=1)
    figure.update_yaxes(zeroline=False)
    # Straight up to the figure's edge titles would be cut.
    figure.update_annotations(font={"size": 14}, xanchor="center", yshift=4)
    figure.update_layout(
        height=height,
        margin={"l": 8, "r": 8, "t": 34, "b": 8},
        legend={"orientation": "h", "y": -0.28, "yanchor": "top", "x": 0},
    )
    return figure


def _trace(points: Sequence[Quality], measure: str, show_legend: bool) -> go.Scatter:
    style = METHOD_STYLES[points[0].method]
    several = len(points) > 1
    return go.Scatter(
        x=[point.core_seconds for point in points],
        y=[getattr(point, measure) for point in points],
        mode="lines+markers+text" if several else "markers",
        text=[str(point.n_models) for point in points] if several else None,
        textposition="top center",
        name=f"{style.label}, independent models" if several else style.label,
        legendgroup=style.label,
        showlegend=show_legend,
        line={"color": style.colour, "width": 1.5},
        marker={
            "color": style.colour,
            "size": 11,
            "symbol": _SYMBOLS.get(points[0].method, "circle"),
        },
        hovertemplate="%{y:.3f} for %{x:.2g} s<extra></extra>",
        cliponaxis=False,
    )


def describe_quality(points: Sequence[Quality]) -> str:
    """The figure in words."""
    words = []
    for point in points:
        label = METHOD_STYLES[point.method].label
        what = f"{point.n_models} independent models" if point.n_models > 1 else f"one {label}"
        alike = (
            "" if np.isnan(point.rank_correlation) else f", likeness {point.rank_correlation:.2f}"
        )
        words.append(f"{what}: {point.core_seconds:.2g} s, AUROC {point.auroc_far:.2f}{alike}")
    return "; ".join(words) + "."
