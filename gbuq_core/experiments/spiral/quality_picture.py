"""What knowledge uncertainty is worth against what it costs: ensembles of several sizes, chains.

The cyclical paper, section 5.2, on the spiral.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from gbuq_core.experiments.spiral.quality import QualityPoint
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.presentation import seconds_text

if TYPE_CHECKING:
    import plotly.graph_objects as go

MEASURES: Mapping[str, str] = MappingProxyType(
    {"rank_correlation": "likeness to 20 other models", "auroc_far": "AUROC, far cells"}
)
_SYMBOLS = {"sglb": "circle", "virtual_sglb": "square", "csglb": "diamond", "cbsglb": "triangle-up"}


def quality_figure(points: Sequence[QualityPoint], measure: str, height: int = 290) -> go.Figure:
    """One measure of quality against the seconds of one core."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for method in dict.fromkeys(point.method for point in points):
        figure.add_trace(_trace([p for p in points if p.method == method], measure))
    figure.update_layout(
        height=height,
        margin={"l": 8, "r": 8, "t": 36, "b": 8},  # the plot's buttons and the highest label
        # Under the axis title: the buttons above would cover it.
        legend={"orientation": "h", "y": 0, "yref": "container", "yanchor": "bottom", "x": 0},
        xaxis={"type": "log", "dtick": 1, "title": {"text": "seconds of one core"}},
        yaxis={"zeroline": False, "title": {"text": MEASURES[measure]}},
    )
    return figure


def _trace(points: Sequence[QualityPoint], measure: str) -> go.Scatter:
    import plotly.graph_objects as go

    style = METHOD_STYLES[points[0].method]
    several = len(points) > 1
    return go.Scatter(
        x=[point.core_seconds for point in points],
        y=[getattr(point, measure) for point in points],
        mode="lines+markers+text" if several else "markers",
        text=[str(point.n_models) for point in points] if several else None,
        textposition="top center",
        name=f"{style.label}, independent" if several else style.label,
        line={"color": style.colour, "width": 1.5},
        marker={
            "color": style.colour,
            "size": 11,
            "symbol": _SYMBOLS.get(points[0].method, "circle"),
        },
        hovertemplate="%{y:.3f} for %{x:.2g} s<extra></extra>",
        cliponaxis=False,
    )


def describe_quality(points: Sequence[QualityPoint]) -> str:
    """The figure in words."""
    words = []
    for point in points:
        label = METHOD_STYLES[point.method].label
        what = f"{point.n_models} independent models" if point.n_models > 1 else f"one {label}"
        alike = (
            "" if np.isnan(point.rank_correlation) else f", likeness {point.rank_correlation:.2f}"
        )
        cost = seconds_text(point.core_seconds)
        words.append(f"{what}: {cost}, AUROC {point.auroc_far:.2f}{alike}")
    return "; ".join(words) + "."
