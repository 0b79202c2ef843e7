"""What a browser needs to find neighbours and scales by itself, while a knob or the pointer moves.

Affinity is a count of equal leaves (Brophy and Lowd, IBUG, 2022, algorithm 1), so the leaves of the
training rows and of all places are enough. The scale of every place for every k of a slider is
worked out here, with the floor and the calibration that belong to that k; so are those of the
chosen k for every number of trees that count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.experiments.neighbours.fit import (
    NeighboursFit,
    NeighboursSearch,
    k_in_range,
    scored_by,
)
from gbuq_core.experiments.neighbours.look import NeighboursRun
from gbuq_core.experiments.neighbours.plan import (
    FAMILY_LABELS,
    ORDERS,
    SHARES,
    NeighboursSettings,
    one_thread,
    share_of,
)
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.metrics.neighbour_tuning import running_std

Codes = npt.NDArray[Any]  # uint8 or uint16

# Families whose density has a closed form in the prediction and the scale (and the targets).
CLOSED = ("normal", "laplace", "logistic", "gumbel", "log-normal", "kde")
_FOLLOWED = ("k", "tau", "order", "calibrate", "family")  # knobs
MOST_BYTES = 4_000_000  # of leaves: more would be a long wait on a slow line


class LeafNumbers(NamedTuple):
    """Where the trees put training rows and places, tree by tree."""

    name: str  # the same for the same fit
    rows: Codes  # (n_trees, n_rows): leaf numbers of the model, of the training rows
    places: Codes  # (n_trees, n_places): of the grid, or of a table's held-out rows
    # (3, n_trees): the trees in the order in which they come to count, for "first", "last" and
    # "random"
    orders: npt.NDArray[np.int32]
    X: npt.NDArray[np.float32]  # (n_rows, n_features)
    y: npt.NDArray[np.float32]  # (n_rows,): the training rows
    loc: npt.NDArray[np.float32]  # (n_places,): predictions of the places
    # (n_places,): the true mean there, or the held-out rows' own targets
    truth: npt.NDArray[np.float32]


class ScaleTable(NamedTuple):
    """The scale of every place for every k of a slider."""

    name: str  # the same for the same fit, trees that count and score
    std: npt.NDArray[np.float32]  # (n_distinct, n_places): the neighbours' std, for each distinct k
    at: npt.NDArray[np.int32]  # (n_k,): which row of `std` belongs to a place of the slider of k
    # (n_k, 2, 4): k, least, gamma and delta, without and with calibration
    by_k: npt.NDArray[np.float32]


class TreeTable(NamedTuple):
    """k, least scale, gamma and delta of one k, for other numbers of trees that count."""

    name: str  # the same for the same fit, order of trees, score and k
    by_trees: npt.NDArray[np.float32]  # (n_counts, 2, 4): without and with calibration


def places_of(fit: NeighboursFit) -> npt.NDArray[np.float64]:
    """The grid of a synthetic set, or a table's held-out rows, (n_places, n_features)."""
    return fit.data.X_test if fit.data.grid is None else fit.data.grid


def leaf_name(fit: NeighboursFit) -> str:
    """The name of a fit's `LeafNumbers`, without making it."""
    return _name("leaves", fit.plan)


def scale_name(fit: NeighboursFit, search: NeighboursSearch, settings: NeighboursSettings) -> str:
    """The name of a `ScaleTable`, without making it."""
    return _name("scales", fit.plan, search.n_trees, search.order, settings.scoring)


def tree_name(fit: NeighboursFit, settings: NeighboursSettings) -> str:
    """The name of a `TreeTable`, without making it."""
    return _name("trees", fit.plan, settings.order, settings.scoring, settings.k)


def _name(*parts: Any) -> str:
    return blake2b(repr(parts).encode(), digest_size=8).hexdigest()


def is_small(fit: NeighboursFit) -> bool:
    """Whether a fit's leaves are few enough to be sent to a browser."""
    n = len(fit.data.y) + len(places_of(fit))
    return fit.n_trees * n <= MOST_BYTES


def leaf_table(fit: NeighboursFit) -> LeafNumbers:
    """The leaves of the training rows and of all places."""
    from gbuq_core.ibug.search import select_trees

    data, places = fit.data, places_of(fit)
    with one_thread(fit.plan.library):
        rows, others = (fit.source.leaf_matrix(X) for X in (data.X, places))
        loc = fit.source.predict(places)
    kind = np.uint8 if max(rows.max(), others.max()) < 256 else np.uint16
    every = np.arange(fit.n_trees)
    orders = []  # of all trees but one, which is none of a single tree, and of that one
    for order in ORDERS:
        first = select_trees(fit.n_trees, max(1, fit.n_trees - 1), order, fit.model.seed_)
        orders.append(every if first is None else np.append(first, np.setdiff1d(every, first)))
    truth = data.y_test if data.grid is None or data.true_mean is None else data.true_mean
    return LeafNumbers(
        leaf_name(fit),
        np.ascontiguousarray(rows.T, dtype=kind),
        np.ascontiguousarray(others.T, dtype=kind),
        np.array(orders, dtype=np.int32),
        data.X.astype(np.float32),
        data.y.astype(np.float32),
        np.asarray(loc, np.float32),
        np.asarray(truth, np.float32),
    )


def follow_of(run: NeighboursRun, knobs: Sequence[LiveKnob]) -> dict[str, Any] | None:
    """How a picture finds neighbours by itself, as near.js reads it; its bar has the ``knobs``."""
    fit, look = run.fit, run.look
    if not knobs or not is_small(fit):
        return None
    return {
        # the names of the tables that `pack_table` packs for it
        "leaves": leaf_name(fit),
        "scales": scale_name(fit, run.search, run.settings),
        "trees": tree_name(fit, run.settings),
        # where its knobs stand in the picture that was drawn
        "at": {knob.key: knob.value for knob in knobs if knob.key in _FOLLOWED},
        # how many trees count at each place of tau
        "counts": [min(share_of(fit.plan.trees, share), fit.n_trees) for share in SHARES],
        # what each place of family means; the key "best" stands for `family`
        "families": [list(pair) for pair in FAMILY_LABELS.items()],
        "family": look.family,
        "codes": look.codes.tolist(),
        "loc": look.loc,
        "scale": look.scale,
        "closed": list(CLOSED),
    }


def scale_table(
    fit: NeighboursFit,
    search: NeighboursSearch,
    settings: NeighboursSettings,
    ks: Sequence[int | None],
) -> ScaleTable:
    """Scales for every k of a slider, with the trees of the search."""
    trees: dict[str, Any] = {"n_trees_sampled": search.n_trees, "tree_order": search.order}
    by_k = np.array([_both(fit, settings, k, trees) for k in ks])
    used = by_k[:, 0, 0].astype(np.int64)
    distinct, at = np.unique(used, return_inverse=True)
    with one_thread(fit.plan.library):
        near = fit.model.find_neighborhood(places_of(fit), int(distinct[-1]), **trees)
    std = running_std(near.targets, distinct.tolist())
    return ScaleTable(
        scale_name(fit, search, settings),
        np.ascontiguousarray(std.T, dtype=np.float32),
        at.astype(np.int32),
        by_k.astype(np.float32),
    )


def tree_table(
    fit: NeighboursFit, settings: NeighboursSettings, shares: Sequence[int]
) -> TreeTable:
    """What turns the std of the settings' k into a scale, for each percentage of trees counted."""
    by_trees = []
    for share in shares:
        n_trees = min(share_of(fit.plan.trees, share), fit.n_trees)
        order = "first" if n_trees == fit.n_trees else settings.order
        trees: dict[str, Any] = {"n_trees_sampled": n_trees, "tree_order": order}
        by_trees.append(_both(fit, settings, settings.k, trees))
    return TreeTable(tree_name(fit, settings), np.array(by_trees, dtype=np.float32))


def _both(
    fit: NeighboursFit, settings: NeighboursSettings, k: int | None, trees: Mapping[str, Any]
) -> list[tuple[float, ...]]:
    """K, least scale, gamma and delta without calibration, and with it."""
    model, tuned = scored_by(fit, settings), k_in_range(fit, k) or "tune"
    return [model.setting_for(tuned, is_on, **trees) for is_on in (False, True)]
