"""A soft tree drawn as a tree, with a point that flows through its gates; flow.js draws it.

The browser gets gates and leaves as lines in x, once for every tree and draw, and works out what
they say while the point is dragged.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from gbuq_core.experiments.soft_trees.charts import around_zero
from gbuq_core.experiments.soft_trees.data import SoftTreesData
from gbuq_core.experiments.soft_trees.fit import SoftTreesFit
from gbuq_core.experiments.soft_trees.flow import FlowLines, TreeFlow, flow_at
from gbuq_core.experiments.soft_trees.picture import few_rows
from gbuq_core.figures.colour import OKABE_ITO
from gbuq_core.figures.curves import PLAYED_PARTS, Curves
from gbuq_core.figures.curves.parts import Part
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.presentation import short

FLOW_PARTS = (*PLAYED_PARTS, Path(__file__).parent / "flow.js")
PLACES = 401  # of the point along x
_LEAF_COLOURS = OKABE_ITO[:7]  # without black, which a dark page swallows
_ROWS = {"colour": "text", "opacity": 0.3, "size": 4}
_FRAMES_PER_SECOND = 40.0


_COARSE = 8  # places of the grid between two that an axis is chosen by


def flow_figure(
    fits: Sequence[SoftTreesFit],
    flows: Sequence[TreeFlow],
    knobs: Sequence[LiveKnob],
    played: LiveKnob,
    alt: str = "",
) -> Curves:
    """The tree's curve with the point on it, and below it the tree that the point flows through."""
    data = fits[0].data
    places = np.linspace(data.x[0], data.x[-1], PLACES)
    spec: Part = {
        "name": "soft-tree-flow",
        "drawing": "flow",
        "alt": alt,
        "x": [float(data.x[0]), float(data.x[-1])],
        "rows": {**few_rows(data), **_ROWS},
        "methods": [_method(*one) for one in zip(fits, flows, strict=True)],
        "colours": list(_LEAF_COLOURS),
        "legend": [
            {"name": "the tree's prediction", "kind": "line", "colour": "text", "width": 2.4},
            {"name": "leaves; area: weight at x", "kind": "dots", "colour": _LEAF_COLOURS[0],
             "opacity": 0.8, "size": 9},
            {"name": "rows", "kind": "dots", **_ROWS},
        ],
        "knobs": [knob.spec for knob in (*knobs, played)],
        "played": {
            "key": played.key,
            "label": "x",
            "texts": [short(float(x)) for x in places],
            "fps": _FRAMES_PER_SECOND,
        },
    }  # fmt: skip
    return Curves(spec, (*knobs, played), FLOW_PARTS)


def _method(fit: SoftTreesFit, flow: TreeFlow) -> Part:
    return {
        "name": METHOD_STYLES[fit.method].label,
        "colour": METHOD_STYLES[fit.method].colour,
        "depth": int(flow.depth),
        "sets": [int(number) for number in flow.sets],
        "trees": [
            {
                "slopes": np.ravel(lines.slopes).tolist(),
                "offsets": np.ravel(lines.offsets).tolist(),
                "leafSlopes": np.ravel(lines.leaf_slopes).tolist(),
                "leafOffsets": np.ravel(lines.leaf_offsets).tolist(),
                "range": list(_y_range(fit.data, lines if number else None)),
                "rows": number == 0,  # later trees see what the first ones leave
            }
            for number, lines in enumerate(flow.trees)
        ],
    }


def _y_range(data: SoftTreesData, later: FlowLines | None) -> tuple[float, float]:
    """That of the rows, or around 0 for what a later tree adds."""
    if later is None:
        return data.y_range
    return around_zero(np.array([flow_at(later, float(x))[2] for x in data.x[::_COARSE]]), data)
