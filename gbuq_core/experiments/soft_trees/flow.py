"""Gates and leaves of soft trees as lines in x: all that a point needs to flow through them.

Cinquin et al. (2022), section 4.1: a gate of eq. 9 is a sigmoid of a line in x, and a leaf of
eq. 13 is a line. Written in units of x and y, both are two numbers each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.soft_trees.data import Array
from gbuq_core.experiments.soft_trees.fit import SoftTreesFit
from gbuq_core.experiments.soft_trees.plan import METHODS, SoftTreesSettings

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

    >>> one = np.ones((1, 1))
    >>> lines = FlowLines(2 * one, -one, np.zeros((1, 2)), np.array([[1.0, 3.0]]))
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

    >>> one = np.ones((1, 1))
    >>> lines = FlowLines(2 * one, -one, np.zeros((1, 2)), np.array([[1.0, 3.0]]))
    >>> describe_flow(TreeFlow(1, (0,), (lines,)), 0.5)
    'At x = 0.5 the heaviest of 2 leaves has 50 % of the point. The tree predicts 2.'
    """
    shares, _, output = flow_at(flow.trees[tree], x, which)
    n = len(shares)
    what = f"the heaviest of {n} leaves has" if n > 1 else "the only leaf has"
    most = f"{100 * shares.max():.0f} % of the point"
    return f"At x = {x:.3g} {what} {most}. The tree predicts {output:.3g}."
