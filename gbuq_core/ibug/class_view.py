"""A classifier's neighbours and their classes: an extension by this project, not in the paper.

Brophy and Lowd (IBUG, 2022) treat regression. Algorithm 1, the affinity, needs only leaves. So it
also finds the training rows behind a predicted class.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gbuq_core.errors import InvalidData
from gbuq_core.ibug.affinity import nearest, pack_leaves
from gbuq_core.ibug.inputs import encode_labels
from gbuq_core.ibug.search import FloatArray, select_trees
from gbuq_core.inputs import draw_seed
from gbuq_core.jobs import check_memory, stage
from gbuq_core.trees.importers import leaf_source
from gbuq_core.validation import check_number

if TYPE_CHECKING:
    from gbuq_core.figures.curves import Curves


class ClassShares(NamedTuple):
    """The share of each class among a row's neighbours. An extension by this project."""

    classes: NDArray[Any]  # (n_classes,): the columns
    shares: FloatArray  # (n_samples, n_classes)


class ClassNeighbors(NamedTuple):
    """The nearest training rows of some rows, and the share of each class among them."""

    # `indices`, `affinities`: (n_samples, k): positions among the training rows and numbers of
    # shared trees, best first, ties by index
    indices: NDArray[np.int32]
    affinities: NDArray[np.int32]
    classes: NDArray[Any]  # (n_classes,): Sorted: the columns of `shares`
    # (n_samples, n_classes): they add up to 1; a share, not a calibrated probability
    shares: FloatArray

    def plot(
        self,
        X_rows: Any,
        labels: ArrayLike | None = None,
        *,
        X: Any = None,
        row: int = 0,
        columns: Any = None,
    ) -> Curves:
        """Draw the neighbours of one row among all training rows.

        The stronger a dot, the more trees share a leaf with the row. Over one feature the class is
        drawn upwards, by its number in ``classes``; over two features the second one.
        """
        from gbuq_core.figures.plots import plot_neighbours

        codes = None
        if labels is not None:
            values = np.asarray(labels)
            codes = np.searchsorted(self.classes, values).clip(0, len(self.classes) - 1)
            if (self.classes[codes] != values).any():
                raise InvalidData("A label is none of the classes of these neighbours.")
        names = ", ".join(f"{i} {name}" for i, name in enumerate(self.classes))
        return plot_neighbours(
            self.indices,
            self.affinities,
            X_rows,
            codes,
            X=X,
            row=row,
            columns=columns,
            label=f"class: {names}",
        )


def class_neighbors(
    model: Any,
    X_train: Any,
    labels: ArrayLike,
    X: Any,
    n_neighbors: int = 15,
    n_trees_sampled: int | None = None,
    tree_order: str = "first",
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> ClassNeighbors:
    """Find the training rows that share most leaves with each row of X in a classifier's trees."""
    source = leaf_source(model, task="classification")
    rows = source.check_rows(X_train)
    classes, codes = encode_labels(labels, len(rows))
    k = check_number("n_neighbors", n_neighbors, 1, len(rows), integer=True)
    trees = select_trees(source.n_trees, n_trees_sampled, tree_order, draw_seed(random_state))
    queries = source.check_rows(X)
    check_memory(len(queries) * (8 * k + 8 * len(classes)), "these neighbours")
    train = pack_leaves(source.leaf_chunks(rows), len(rows))
    parts, shares = [], []
    with stage(len(queries)):
        for leaves in source.leaf_chunks(queries):
            with stage(1, span=len(leaves)):
                near = nearest(train, leaves, k, trees, n_jobs)
            parts.append(near)
            shares.append(count_classes(codes[near.indices], len(classes)))
    indices, affinities = (np.concatenate(part) for part in zip(*parts, strict=True))
    return ClassNeighbors(indices, affinities, classes, np.concatenate(shares))


def count_classes(
    codes: np.ndarray, n_classes: int, places: FloatArray | None = None
) -> FloatArray:
    """Shares (n, n_classes) of codes (n, k), which count ``places`` (n, k) times each."""
    if places is not None:
        total = places.sum(axis=1)
        counts = [(places * (codes == code)).sum(axis=1) / total for code in range(n_classes)]
        return np.stack(counts, axis=1)
    return np.stack([(codes == code).mean(axis=1) for code in range(n_classes)], axis=1)
