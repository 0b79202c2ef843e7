"""A one-dimensional prediction with its uncertainty as bands, and the same as stacked variances.

In the upper panel the inner pale band is data uncertainty and the stronger rim outside it is
knowledge uncertainty, so that the outer edge is the total. In the lower panel both are variances
on top of each other, because variances add up: total = data + knowledge.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.figures.curves import Curves
from gbuq_core.figures.curves.parts import rounded
from gbuq_core.figures.theme import MethodStyle

Array = npt.NDArray[np.float64]
Part = dict[str, Any]  # of the drawing, in the words of curves.js

DATA_OPACITY, KNOWLEDGE_OPACITY = 0.22, 0.62
MOST_DOTS = 1000
_UPPER, _LOWER = 0.68, 0.32  # the panels' shares of the height
_TRUTH = {"colour": "text", "width": 1.4, "dash": "6 5"}


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
    spec = {
        "name": name,
        "alt": alt,
        "height": height,
        "hint": "Point at the picture, or use its arrow keys, to read values.",
        "x": {"range": [float(bands.x[0]), float(bands.x[-1])], "label": "x"},
        "panels": [
            {"share": _UPPER, "range": list(limits.y), "label": "y", "layers": upper},
            {
                "share": _LOWER,
                "range": list(limits.variance),
                "label": "variance of y",
                "layers": lower,
            },
        ],
        "legend": _legend(style, bool(hatches)),
        "read": _read(bands),
    }
    return Curves(spec)


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
        _band(bands.x, bands.loc + low, bands.loc + high, style, opacity)
        for low, high, opacity in edges
    ]


def _lines(bands: Bands, style: MethodStyle) -> list[Part]:
    """Training rows, prediction and truth."""
    x = rounded(bands.x)
    return [
        {
            "kind": "dots",
            "x": rounded(bands.x_rows[:MOST_DOTS]),
            "y": rounded(bands.y_rows[:MOST_DOTS]),
            "colour": "text",
            "opacity": 0.25,
        },
        {"kind": "line", "x": x, "y": rounded(bands.loc), "colour": style.colour, "width": 2.2},
        {"kind": "line", "x": x, "y": rounded(bands.true_mean), **_TRUTH},
    ]


def _variances(bands: Bands, style: MethodStyle) -> list[Part]:
    """Data variance from zero, knowledge variance on top of it, the true noise as a line."""
    zero, total = np.zeros_like(bands.data), bands.data + bands.knowledge
    line = {"kind": "line", "x": rounded(bands.x), "y": rounded(bands.true_variance), **_TRUTH}
    return [
        _band(bands.x, zero, bands.data, style, DATA_OPACITY),
        _band(bands.x, bands.data, total, style, KNOWLEDGE_OPACITY),
        line,
    ]


def _band(x: Array, low: Array, high: Array, style: MethodStyle, opacity: float) -> Part:
    return {
        "kind": "band",
        "x": rounded(x),
        "low": rounded(low),
        "high": rounded(high),
        "colour": style.colour,
        "opacity": opacity,
    }


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
    return {
        "x": rounded(bands.x),
        "label": "x",
        "values": [{"name": name, "at": rounded(at)} for name, at in values],
    }
