"""Gates and leaves of soft trees as lines in x: all that a point needs to flow through them.

Cinquin et al. (2022), section 4.1: a gate of eq. 9 is a sigmoid of a line in x, and a leaf of
eq. 13 is a line. Written in units of x and y, both are two numbers each.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.soft_trees.charts import around_zero
from gbuq_core.experiments.soft_trees.data import Array, SoftTreesData
from gbuq_core.experiments.soft_trees.fit import SoftTreesFit
from gbuq_core.experiments.soft_trees.picture import few_rows
from gbuq_core.experiments.soft_trees.plan import METHODS, SoftTreesSettings
from gbuq_core.figures.colour import OKABE_ITO
from gbuq_core.figures.curves import PLAYED_PARTS, Curves
from gbuq_core.figures.curves.parts import Part
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.presentation import short

MOST_DRAWS = 100
MOST_NUMBERS = 60_000  # of all draws and trees together


class FlowLines(NamedTuple):
    """One tree's gates and leaves, for several sets of parameters."""

    # `slopes`, `offsets`: (n_sets, n_nodes): A gate sends x to the right with probability
    # `sigmoid(slope x + offset)`. Node i has the children 2 i + 1 (left) and 2 i + 2 (right).
    slopes: Array
    offsets: Array
    # `leaf_slopes`, `leaf_offsets`: (n_sets, n_leaves): A leaf answers `slope x + offset`, in units
    # of y; of later trees of a sum what they add
    leaf_slopes: Array
    leaf_offsets: Array


class TreeFlow(NamedTuple):
    """The soft trees of one method."""

    depth: int
    sets: tuple[int, ...]  # which draw each set of parameters is; 0 is the mean of the posterior
    trees: tuple[FlowLines, ...]


def tree_flow(fit: SoftTreesFit, settings: SoftTreesSettings | None = None) -> TreeFlow:
    """Gates and leaves of a method's trees, for the posterior's mean and its first draws.

    Deep trees of long sums have fewer draws, `MOST_NUMBERS` in all; the draw of the settings is
    among them.

    >>> from gbuq_core.experiments.soft_trees.fit import fit_soft_trees
    >>> from gbuq_core.experiments.soft_trees.plan import plan_soft_trees
    >>> settings = SoftTreesSettings(rows=40, steps=300, depth=2)
    >>> flow = tree_flow(fit_soft_trees(plan_soft_trees(settings, "vst")), settings)
    >>> len(flow.sets), [part.shape for part in flow.trees[0]]
    (101, [(101, 3), (101, 3), (101, 4), (101, 4)])
    """
    settings = SoftTreesSettings() if settings is None else settings
    if METHODS[fit.method].family != "soft":
        raise InvalidParameter(f"{fit.label} has no soft trees: choose VST or VSGBM.")
    model, most = fit.model, flow_draws(fit)
    sets = tuple(range(most + 1))
    sets = sets if settings.draw <= most else (*sets, settings.draw)
    draws = model.draw_parameters(max(sets), settings.sampling_seed)
    at = np.array(sets[1:]) - 1
    trees = tuple(
        _lines(fit, number, np.vstack([tree.posterior.mean[None], draws[number][at]]))
        for number, tree in enumerate(model.trees_)
    )
    return TreeFlow(model.trees_[0].shape.depth, sets, trees)


def flow_draws(fit: SoftTreesFit) -> int:
    """How many draws of the posterior `tree_flow` holds, whatever the settings ask for."""
    trees = fit.model.trees_
    numbers = 2 * (trees[0].shape.n_nodes + trees[0].shape.n_leaves) * len(trees)
    return max(1, min(MOST_DRAWS, MOST_NUMBERS // numbers - 1))


def _lines(fit: SoftTreesFit, number: int, thetas: Array) -> FlowLines:
    """A tree's parameters (n_sets, P) in units of x and y."""
    model = fit.model
    tree, encoding, scale = model.trees_[number], model.encoding_, model.target_scale_
    parts = tree.shape.split(np.ascontiguousarray(thetas))
    centre, spread = 0.0, np.inf  # x that never changes was left out of the matrix
    if encoding.names:
        centre, spread = float(encoding.centre[0]), float(encoding.spread[0])
    gates = tree.beta * parts.node_weights[..., 0] / spread
    leaves = np.zeros_like(parts.leaf_biases)
    if parts.leaf_weights.size:
        leaves = parts.leaf_weights[..., 0] / spread
    own = scale.centre if number == 0 else 0.0
    return FlowLines(
        gates,
        tree.beta * parts.node_biases - gates * centre,
        scale.spread * leaves,
        scale.spread * (parts.leaf_biases - leaves * centre) + own,
    )


def flow_at(lines: FlowLines, x: float, which: int = 0) -> tuple[Array, Array, float]:
    """What a tree says at x: the leaves' shares, their values, and the sum weighted by the shares.

    >>> unit = np.ones((1, 1))
    >>> lines = FlowLines(2 * unit, -unit, np.zeros((1, 2)), np.array([[1.0, 3.0]]))
    >>> shares, values, output = flow_at(lines, 0.5)
    >>> shares, output
    (array([0.5, 0.5]), 2.0)
    """
    slopes, offsets, leaf_slopes, leaf_offsets = (part[which] for part in lines)
    right = 1.0 / (1.0 + np.exp(-(slopes * x + offsets)))
    reach = np.ones(2 * len(right) + 1)
    for node, share in enumerate(right):
        reach[2 * node + 1] = reach[node] * (1.0 - share)
        reach[2 * node + 2] = reach[node] * share
    shares, values = reach[len(right) :], leaf_slopes * x + leaf_offsets
    return shares, values, float(shares @ values)


def describe_flow(flow: TreeFlow, x: float, tree: int = 0, which: int = 0) -> str:
    """Where a point at x ends up, in words.

    >>> unit = np.ones((1, 1))
    >>> lines = FlowLines(2 * unit, -unit, np.zeros((1, 2)), np.array([[1.0, 3.0]]))
    >>> describe_flow(TreeFlow(1, (0,), (lines,)), 0.5)
    'At x = 0.5 the heaviest of 2 leaves has 50 % of the point. The tree predicts 2.'
    """
    shares, _, output = flow_at(flow.trees[tree], x, which)
    n = len(shares)
    what = f"the heaviest of {n} leaves has" if n > 1 else "the only leaf has"
    most = f"{100 * shares.max():.0f} % of the point"
    return f"At x = {x:.3g} {what} {most}. The tree predicts {output:.3g}."


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
        "methods": [_method(*pair) for pair in zip(fits, flows, strict=True)],
        "colours": list(_LEAF_COLOURS),
        "legend": [
            {"name": "the tree's prediction", "kind": "line", "colour": "text", "width": 2.4},
            {
                "name": "leaves; area: weight at x",
                "kind": "dots",
                "colour": _LEAF_COLOURS[0],
                "opacity": 0.8,
                "size": 9,
            },
            {"name": "rows", "kind": "dots", **_ROWS},
        ],
        "knobs": [knob.spec for knob in (*knobs, played)],
        "played": {
            "key": played.key,
            "label": "x",
            "texts": [short(float(x)) for x in places],
            "fps": _FRAMES_PER_SECOND,
        },
    }
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
