"""A one-dimensional prediction with its uncertainty as bands, and the same as stacked variances.

In the upper panel the inner pale band is data uncertainty and the stronger rim outside it is
knowledge uncertainty, so that the outer edge is the total. In the lower panel both are variances
on top of each other, because variances add up: total = data + knowledge.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.figures.curves import Curves, draw_curves
from gbuq_core.figures.curves.parts import Part, axis, band, line, panel, reading, rounded
from gbuq_core.figures.theme import MethodStyle

Array = npt.NDArray[np.float64]

DATA_OPACITY, KNOWLEDGE_OPACITY = 0.22, 0.62
MOST_DOTS = 1000
_UPPER, _LOWER = 0.68, 0.32  # the panels' shares of the height
_ROWS: Part = {"colour": "text", "opacity": 0.25}
_TRUTH: Part = {"colour": "text", "width": 1.4, "dash": "6 5"}


class Bands(NamedTuple):
    """What the figure shows; arrays over ``x`` are (n_points,)."""

    # `x`, `loc`: where and what is predicted
    x: Array
    loc: Array
    # `data`, `knowledge`: variances, in squared units of y
    data: Array
    knowledge: Array
    # `true_mean`, `true_variance`: the truth, known for synthetic data
    true_mean: Array
    true_variance: Array
    # `x_rows`, `y_rows`: (n_rows,): training rows, of which `MOST_DOTS` are drawn
    x_rows: Array
    y_rows: Array
    gaps: tuple[tuple[float, float], ...] = ()  # stretches of x without training rows, hatched


class Limits(NamedTuple):
    """Fixed axes, so that a slider moves the picture and not its scale."""

    y: tuple[float, float]
    variance: tuple[float, float]


def bands_figure(
    bands: Bands,
    style: MethodStyle,
    limits: Limits,
    n_std: float = 2.0,
    name: str = "bands",
    alt: str = "",
    height: int = 440,
) -> Curves:
    """Draw the bands (``loc`` plus and minus ``n_std`` standard deviations) and the variances."""
    hatches = [{"kind": "hatch", "from": low, "to": high} for low, high in bands.gaps]
    upper = [*_bands(bands, style, n_std), *_lines(bands, style), *hatches]
    lower = [*_variances(bands, style), *hatches]
    return draw_curves(
        name,
        alt,
        height,
        axis((bands.x[0], bands.x[-1]), "x"),
        [
            panel(limits.y, "y", upper, _UPPER),
            panel(limits.variance, "variance of y", lower, _LOWER),
        ],
        _legend(style, bool(hatches)),
        _read(bands),
    )


def _bands(bands: Bands, style: MethodStyle, n_std: float) -> list[Part]:
    """Rim, band, rim, from below."""
    inner = n_std * np.sqrt(bands.data)
    outer = n_std * np.sqrt(bands.data + bands.knowledge)
    edges = (
        (-outer, -inner, KNOWLEDGE_OPACITY),
        (-inner, inner, DATA_OPACITY),
        (inner, outer, KNOWLEDGE_OPACITY),
    )
    return [
        band(bands.x, bands.loc + low, bands.loc + high, style.colour, opacity)
        for low, high, opacity in edges
    ]


def _lines(bands: Bands, style: MethodStyle) -> list[Part]:
    """Training rows, prediction and truth."""
    x_rows, y_rows = bands.x_rows[:MOST_DOTS], bands.y_rows[:MOST_DOTS]
    return [
        {"kind": "dots", "x": rounded(x_rows), "y": rounded(y_rows), **_ROWS},
        line(bands.x, bands.loc, style.colour, 2.2),
        line(bands.x, bands.true_mean, **_TRUTH),
    ]


def _variances(bands: Bands, style: MethodStyle) -> list[Part]:
    """Data variance from zero, knowledge variance on top of it, the true noise as a line."""
    zero, total = np.zeros_like(bands.data), bands.data + bands.knowledge
    return [
        band(bands.x, zero, bands.data, style.colour, DATA_OPACITY),
        band(bands.x, bands.data, total, style.colour, KNOWLEDGE_OPACITY),
        line(bands.x, bands.true_variance, **_TRUTH),
    ]


def _legend(style: MethodStyle, hatched: bool) -> list[Part]:
    area = {"kind": "band", "colour": style.colour}
    entries: list[Part] = [
        {"name": "knowledge", **area, "opacity": KNOWLEDGE_OPACITY},
        {"name": "data", **area, "opacity": DATA_OPACITY},
        {"name": style.label, "kind": "line", "colour": style.colour, "width": 2.2},
        {"name": "truth", "kind": "line", **_TRUTH},
        {"name": "rows", "kind": "dots", "colour": "text", "opacity": 0.5},
    ]
    if hatched:
        entries.append({"name": "no rows", "kind": "hatch", "colour": "text"})
    return entries


def _read(bands: Bands) -> Part:
    """What the read-out says at each x; uncertainties as standard deviations, like the bands."""
    values = (
        ("prediction", bands.loc),
        ("truth", bands.true_mean),
        ("data std", np.sqrt(bands.data)),
        ("knowledge std", np.sqrt(bands.knowledge)),
        ("true noise", np.sqrt(bands.true_variance)),
    )
    return reading(bands.x, "x", values)
