"""One place's novelty: what every tree says, and how much of its distance each feature carries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gbuq_core.experiments.novelty.data import Array
from gbuq_core.experiments.novelty.look import PlaceLook
from gbuq_core.experiments.novelty.picture import MACAU
from gbuq_core.figures.canvas.panels import PanelSheet, Strip, StripLine
from gbuq_core.figures.vega import AXIS_HEIGHT, Spec, bars_of, distinct, layer, quantity, tip
from gbuq_core.presentation import digits, one_line, short

_MOST_BARS = 30
_ROW_HEIGHT = 34


def tree_sheet(look: PlaceLook) -> PanelSheet:
    """A histogram of the trees' z-scores of a place, the mean marked."""
    z, mean = look.z, float(look.z.mean())
    edges = histogram_edges(z)
    counts = np.histogram(z, bins=edges)[0].astype(np.float64)
    heights = np.append(counts, counts[-1:])
    heights[heights <= 0] = np.nan
    strip = Strip(
        title="Novelty, tree by tree",
        x=edges,
        lines=[StripLine("trees", heights, MACAU.colour, bars=True)],
        x_label="z-score",
        y_label="trees",
        y_limits=(0.0, 1.15 * float(np.nanmax(heights, initial=1.0))),
        marks=[float(np.clip(mean, edges[0], edges[-1]))],
        mark_label=f"mean {short(mean)}",
    )
    alt = (
        f"{len(z)} trees give this place z-scores from {digits(float(z.min()))} to "
        f"{digits(float(z.max()))}, {digits(mean)} on average."
    )
    return PanelSheet(panels=[], strips=[strip], strip_height=150, alt=alt, name="trees")


def histogram_edges(values: Array) -> Array:
    """Edges of bars over all values, at least one unit wide in all."""
    low, high = float(values.min()), float(values.max())
    if high - low < 1.0:
        middle = (low + high) / 2
        low, high = middle - 0.5, middle + 0.5
    bars = int(np.clip(round(1.5 * np.sqrt(len(values))), 10, _MOST_BARS))
    edges: Array = np.linspace(low, high, bars + 1)
    return edges


def share_figure(names: Sequence[str], shares: Array) -> Spec:
    """Bars of each feature's share of the squared distance; a share may be below 0."""
    labels = distinct([one_line(name, 28) for name in names])
    rows = [
        {"c0": label, "c1": 100.0 * float(share)}
        for label, share in zip(labels, shares, strict=True)
    ]
    y = bars_of(labels, 150)
    x = quantity("c1", "share of the squared distance (%)", axis={"tickCount": 5})
    tips = [tip("c0", "feature"), tip("c1", "share (%)", ".3g")]
    return {
        "height": _ROW_HEIGHT * max(len(labels), 1) + AXIS_HEIGHT,
        "data": {"values": rows},
        **layer("bar", {"height": 16, "color": MACAU.colour}, x=x, y=y, tooltip=tips),
    }
