"""Where each parameter of a soft tree stands in the one vector that its posterior is about.

    node weights | node biases | leaf weights | leaf biases | scale weights | scale biases
     (nodes, p)     (nodes,)      (leaves, p)    (leaves,)     (leaves, p)      (leaves,)

Node ``i`` has the children ``2 i + 1`` (left) and ``2 i + 2`` (right); what is numbered beyond the
last node is a leaf, from left to right.
"""

from __future__ import annotations

import math
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gbuq_core.methods import METHODS
from gbuq_core.methods.functions import SOFT_KNOBS
from gbuq_core.model_files.contents import require

if TYPE_CHECKING:
    from gbuq_core.soft_trees.block_kernels import ShapeCodes

LEAVES = METHODS["vst"].knob("leaf").choices
OUTPUTS = ("mixture", "mean", "classes")
MAX_DEPTH = int(SOFT_KNOBS["depth"].high or 0)

# Within the ranges of the paper's table 5 for beta, prior scale and depth; its learning rates are
# for far longer runs.
DEFAULT_GRID: dict[str, tuple[float, ...]] = {
    "beta": (2.0, 8.0),
    "prior_scale": (1.0, 2.5),
    "depth": (2, 3, 4),
    "learning_rate": (0.01, 0.03),
}
"""The knobs that `tune_soft_tree` tries by default."""


class TreeParts(NamedTuple):
    """What each group of parameters is; arrays, or slices of the vector."""

    node_weights: Any  # (..., n_nodes, n_features)
    # (..., n_nodes): A gate turns right with probability `sigmoid(beta (w.x + b))` (eq. 9).
    node_biases: Any
    # (..., n_leaves, n_features): Slopes of the leaf means (eq. 13), of size 0 in constant leaves.
    # For classes one row a leaf and class, (..., n_leaves, n_classes, n_features).
    leaf_weights: Any
    leaf_biases: Any  # (..., n_leaves) or (..., n_leaves, n_classes)
    # (..., n_leaves, n_features): Slopes of the raw leaf stds (eq. 14); of size 0 but in linear
    # leaves of a mixture.
    scale_weights: Any
    # (..., n_leaves): the leaf std is the softplus of the raw one; of size 0 but in a mixture
    scale_biases: Any


class TreeShape(NamedTuple):
    """A complete binary soft tree."""

    depth: int  # 0 is a single leaf
    n_features: int
    # {"linear", "constant"}: whether the leaves are linear in the features or constant
    leaf: str = "linear"
    # {"mixture", "mean", "classes"}: "mixture" is the mixture of Gaussians of eq. 6, "mean" the
    # weighted mean of the leaves with one noise for all rows (section 4.2), "classes" a mixture of
    # softmax leaves (ours).
    output: str = "mixture"
    n_classes: int = 0  # 0 but for classes

    def check_file(self) -> None:
        """Refuse a shape that no fit has."""
        possible = 0 <= self.depth <= MAX_DEPTH and self.n_features >= 1 and self.n_classes >= 0
        possible = possible and self.leaf in LEAVES and self.output in OUTPUTS
        possible = possible and (self.output == "classes") == (self.n_classes > 0)
        require(possible, "the shape of its trees is impossible")

    @property
    def n_nodes(self) -> int:
        """Number of gates."""
        return int(2**self.depth - 1)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(2**self.depth)

    @property
    def _shapes(self) -> TreeParts:
        p, per_leaf = self.n_features, (self.n_classes,) if self.output == "classes" else ()
        n_nodes, n_leaves = self.n_nodes, self.n_leaves
        slopes = p if self.leaf == "linear" else 0
        n_scales = n_leaves if self.output == "mixture" else 0
        return TreeParts(
            (n_nodes, p),
            (n_nodes,),
            (n_leaves, *per_leaf, slopes),
            (n_leaves, *per_leaf),
            (n_scales, slopes),
            (n_scales,),
        )

    @property
    def slices(self) -> TreeParts:
        """Where each group stands in the vector, as slices."""
        ends = accumulate((int(math.prod(shape)) for shape in self._shapes), initial=0)
        return TreeParts(*(slice(a, b) for a, b in pairwise(ends)))

    @property
    def n_parameters(self) -> int:
        """Length of the parameter vector."""
        return int(self.slices.scale_biases.stop)

    @property
    def codes(self) -> ShapeCodes:
        """The shape as kernels take it."""
        from gbuq_core.soft_trees.block_kernels import CLASSES, MEAN, MIXTURE, ShapeCodes

        return ShapeCodes(
            self.depth,
            self.n_features,
            int(self.leaf == "linear"),
            {"mixture": MIXTURE, "mean": MEAN, "classes": CLASSES}[self.output],
            self.n_classes if self.output == "classes" else 1,
        )

    def split(self, thetas: NDArray[np.float64]) -> TreeParts:
        """Return the groups of ``thetas`` (..., n_parameters); views of a contiguous array."""
        return TreeParts(
            *(
                thetas[..., part].reshape(*thetas.shape[:-1], *shape)
                for part, shape in zip(self.slices, self._shapes, strict=True)
            )
        )


def softplus(raw: ArrayLike) -> NDArray[np.float64]:
    """Return ``log(1 + exp(raw))`` without overflow."""
    return np.logaddexp(0.0, np.asarray(raw, dtype=np.float64))


def inverse_softplus(value: ArrayLike) -> NDArray[np.float64]:
    """Return the raw number whose softplus is ``value`` > 0."""
    positive = np.asarray(value, dtype=np.float64)
    return positive + np.log(-np.expm1(-positive))
