"""A soft tree drawn as a tree, with a point that flows through its gates; flow.js draws it.

The browser gets gates and leaves as lines in x, once for every tree and draw, and works out what
they say while the point is dragged.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gbuq_core.figures.colour import OKABE_ITO
from gbuq_core.figures.curves import PLAYED_PARTS, Curves
from gbuq_core.figures.curves.parts import Part, rounded
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.soft_trees.picture import MOST_DOTS, Scene
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.presentation import short

FLOW_PARTS = (*PLAYED_PARTS, Path(__file__).parent / "flow.js")
PLACES = 401  # of the point along x
_LEAF_COLOURS = OKABE_ITO[:7]  # without black, which a dark page swallows
_ROWS = {"colour": "text", "opacity": 0.3, "size": 4}
_FRAMES_PER_SECOND = 40.0


class FlowMethod(NamedTuple):
    """The soft trees of one method."""

    method: str  # A key of `METHOD_STYLES`
    # of the experiment, or anything like it: `depth`, `sets` and `trees`, each with `slopes`,
    # `offsets`, `leaf_slopes` and `leaf_offsets`
    flow: Any
    ranges: Sequence[tuple[float, float]]  # the y axis of each tree


def place_texts(scene: Scene) -> tuple[str, ...]:
    """How the places of the point are written: as x.

    Examples
    --------
    >>> x = np.linspace(-2.0, 2.0, 5)
    >>> scene = Scene(x, (0.0, 1.0), x, x, np.ones(5, dtype=bool), None)
    >>> place_texts(scene)[:2], len(place_texts(scene))
    (('-2', '-1.99'), 401)
    """
    return tuple(short(float(x)) for x in np.linspace(scene.x[0], scene.x[-1], PLACES))


def flow_figure(
    scene: Scene,
    methods: Sequence[FlowMethod],
    knobs: Sequence[LiveKnob],
    played: LiveKnob,
    alt: str = "",
) -> Curves:
    """The tree's curve with the point on it, and below it the tree that the point flows through.

    Examples
    --------
    >>> from gbuq_core.experiments.soft_trees.flow import FlowLines, TreeFlow
    >>> from gbuq_core.figures.handles import live_knob
    >>> from gbuq_core.knobs import Knob
    >>> x = np.linspace(-2.0, 2.0, 5)
    >>> scene = Scene(x, (0.0, 1.0), x, x, np.ones(5, dtype=bool), None)
    >>> one, two = np.ones((1, 1)), np.ones((1, 2))
    >>> tree = TreeFlow(1, (0,), (FlowLines(one, one, two, two),))
    >>> place = live_knob(Knob("tree_x", "x", "number", 50.0, 0.0, 100.0, step=0.25), 50.0)
    >>> flow_figure(scene, [FlowMethod("vst", tree, [(0.0, 1.0)])], [], place).spec["drawing"]
    'flow'
    """
    few = np.linspace(0, len(scene.x_rows) - 1, min(len(scene.x_rows), MOST_DOTS)).astype(np.int64)
    rows = {"x": rounded(scene.x_rows[few]), "y": rounded(scene.y_rows[few])}
    spec: Part = {
        "name": "soft-tree-flow",
        "drawing": "flow",
        "alt": alt,
        "x": [float(scene.x[0]), float(scene.x[-1])],
        "rows": {"kind": "dots", **rows, **_ROWS},
        "methods": [_method(one) for one in methods],
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
            "texts": list(place_texts(scene)),
            "fps": _FRAMES_PER_SECOND,
        },
    }  # fmt: skip
    return Curves(spec, (*knobs, played), FLOW_PARTS)


def _method(one: FlowMethod) -> Part:
    return {
        "name": METHOD_STYLES[one.method].label,
        "colour": METHOD_STYLES[one.method].colour,
        "depth": int(one.flow.depth),
        "sets": [int(number) for number in one.flow.sets],
        "trees": [
            {
                "slopes": np.ravel(lines.slopes).tolist(),
                "offsets": np.ravel(lines.offsets).tolist(),
                "leafSlopes": np.ravel(lines.leaf_slopes).tolist(),
                "leafOffsets": np.ravel(lines.leaf_offsets).tolist(),
                "range": [float(end) for end in one.ranges[number]],
                "rows": number == 0,  # later trees see what the first ones leave
            }
            for number, lines in enumerate(one.flow.trees)
        ],
    }
