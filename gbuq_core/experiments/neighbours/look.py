"""One prediction looked at: its neighbours, why its scale is what it is, and its posteriors.

Brophy and Lowd (IBUG, 2022), algorithms 1 and 2, equation 3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.errors import InvalidData
from gbuq_core.experiments.neighbours.fit import (
    Array,
    Brushed,
    NeighboursFit,
    NeighboursSearch,
    NeighboursView,
    brush_scale,
    fit_neighbours,
    rank_families,
    scored_by,
    search_neighbours,
    view_neighbours,
)
from gbuq_core.experiments.neighbours.plan import (
    BEST_FAMILY,
    NeighboursSettings,
    one_thread,
)
from gbuq_core.ibug import FAMILIES, FamilyScores, check_family, fit_posterior, log_density
from gbuq_core.ibug.affinity import count_affinities
from gbuq_core.ibug.search import scale_of, select_trees
from gbuq_core.metrics.neighbour_tuning import running_std
from gbuq_core.presentation import short
from gbuq_core.settings import plan_of

_N_Y = 201
_REACH = 4.5  # stds to either side of a prediction that densities are drawn over


@dataclass(frozen=True, kw_only=True)
class NeighboursLook:
    """A prediction and its neighbours; targets, scales and densities in units of y."""

    title: str
    x: Array  # (n_features,)
    row: int | None  # the test row it is; None for a place that is none
    target: float | None  # what was observed there; None for a place
    # `loc`, `scale`: the prediction and its calibrated scale
    loc: float
    scale: float
    k: int
    # `indices`, `affinities`: (k,): the neighbours among the training rows, best first, and the
    # trees they share with it
    indices: npt.NDArray[np.int32]
    affinities: npt.NDArray[np.int32]
    targets: Array  # (k,)
    features: Array  # (k, n_features)
    row_affinities: npt.NDArray[np.int32]  # (n_rows,): of all training rows, in their order
    n_trees: int  # the largest possible affinity
    cut: int  # the affinity of the k-th neighbour
    n_tied: int  # training rows with the affinity of the cut that did not become neighbours
    # `path_k`, `path_std`: (most_k - 1,): the neighbours' std, without floor and calibration, for
    # every k from 2
    path_k: npt.NDArray[np.int64]
    path_std: Array
    # (n_grid,): trees in which each place of the grid shares a leaf with x
    map_affinity: npt.NDArray[np.int64] | None
    y_grid: Array  # (201,)
    densities: dict[str, Array]  # (201,): of every family that these targets allow
    refusals: dict[str, str]  # why a family cannot be used
    family: str  # the one in use
    # The share of each class among the neighbours, where the rows have classes. Our own view, not
    # the paper's.
    class_shares: dict[str, float] | None
    notes: tuple[str, ...]


class _Place(NamedTuple):
    title: str
    x: Array
    row: int | None
    target: float | None


def look_at(
    fit: NeighboursFit,
    search: NeighboursSearch,
    settings: NeighboursSettings,
    view: NeighboursView | None = None,
    ranked: FamilyScores | None = None,
) -> NeighboursLook:
    """Look at the place or test row of the settings."""
    if view is None:
        view = view_neighbours(fit, search, settings)
    notes: list[str] = []
    place = _place(fit, settings)
    model = scored_by(fit, settings)
    count, order, k = search.n_trees, search.order, view.k
    with one_thread(fit.plan.library):
        near = model.find_neighborhood(
            place.x[None, :], len(fit.data.y), n_trees_sampled=count, tree_order=order
        )
    row_affinities = np.empty(len(fit.data.y), np.int32)
    row_affinities[near.indices[0]] = near.affinities[0]
    targets, scales = near.targets[:, :k], scale_of(near.targets, view.setting)
    loc, scale = float(near.loc[0]), float(scales[0])
    y_grid = _y_grid(loc, scale, targets[0], place.target)
    densities, refusals = {}, {}
    for name in FAMILIES:
        try:
            check_family(name, fit.data.y)
        except InvalidData as error:
            refusals[name] = str(error)
        else:
            posterior = fit_posterior(name, near.loc, scales, targets, view.setting.min_scale)
            densities[name] = np.exp(log_density(posterior, y_grid[None, :])[0])
    path_k = np.arange(2, fit.most_k + 1)
    shares = None
    if fit.data.labels is not None:
        found = model.neighbor_class_shares(near, fit.data.labels, k)
        shares = dict(zip(found.classes.tolist(), found.shares[0].tolist(), strict=True))
    cut = int(near.affinities[0, k - 1])
    return NeighboursLook(
        title=place.title,
        x=place.x,
        row=place.row,
        target=place.target,
        loc=loc,
        scale=scale,
        k=k,
        indices=near.indices[0, :k],
        affinities=near.affinities[0, :k],
        targets=targets[0],
        features=fit.data.X[near.indices[0, :k]],
        row_affinities=row_affinities,
        n_trees=count,
        cut=cut,
        n_tied=int((near.affinities[0, k:] == cut).sum()),
        path_k=path_k,
        path_std=running_std(near.targets, path_k.tolist())[0],
        map_affinity=_map_affinity(fit, search, place.x),
        y_grid=y_grid,
        densities=densities,
        refusals=refusals,
        family=_family(fit, search, view, ranked, refusals, notes),
        class_shares=shares,
        notes=tuple(notes),
    )


class NeighboursRun(NamedTuple):
    """All of it for one set of settings."""

    settings: NeighboursSettings
    fit: NeighboursFit
    search: NeighboursSearch
    view: NeighboursView
    look: NeighboursLook
    scores: tuple[Any, ...] = ()  # a `NeighboursScore` each of it and of what it is compared with

    @property
    def brushed(self) -> Brushed | None:
        """What the settings' range of scales highlights; None if all lie in it."""
        return brush_scale(self.fit, self.view)


def run_neighbours(settings: NeighboursSettings | None = None) -> NeighboursRun:
    """Fit, search, view and look."""
    settings = NeighboursSettings() if settings is None else settings
    fit = fit_neighbours(plan_of(settings))
    search = search_neighbours(fit, settings)
    view = view_neighbours(fit, search, settings)
    return NeighboursRun(settings, fit, search, view, look_at(fit, search, settings, view))


def affinity_by_trees(fit: NeighboursFit, x: Array) -> npt.NDArray[np.int64]:
    """In how many of the first 1, 2, ... trees each place of the grid shares a leaf with x.

    >>> settings = NeighboursSettings(rows=200, trees=20, x=9.0)
    >>> run = run_neighbours(settings)
    >>> grown = affinity_by_trees(run.fit, run.look.x)
    >>> grown.shape, bool((grown[-1] == run.look.map_affinity).all())
    ((20, 321), True)
    """
    assert fit.grid_leaves is not None
    leaves = fit.source.leaf_matrix(np.asarray(x, np.float64)[None, :])
    shared = [
        count_affinities(fit.grid_leaves, leaves, np.array([tree]))[0]
        for tree in range(fit.n_trees)
    ]
    return np.cumsum(np.array(shared, np.int64), axis=0)


def _place(fit: NeighboursFit, settings: NeighboursSettings) -> _Place:
    """The place of a drawn set, or the held-out row of a table, to look at."""
    data, row = fit.data, settings.row
    if row is None:
        point = np.array(settings.point)
        texts = (f"{name} = {short(x)}" for name, x in zip(data.feature_names, point, strict=True))
        return _Place(", ".join(texts), point, None, None)
    return _Place(f"held-out row {row + 1}", data.X_test[row], row, float(data.y_test[row]))


def _y_grid(loc: float, scale: float, targets: Array, target: float | None) -> Array:
    """Places of y that hold the prediction's density, the neighbours and what was observed."""
    ends = [loc - _REACH * scale, loc + _REACH * scale, float(targets.min()), float(targets.max())]
    if target is not None:
        ends.append(target)
    low, high = min(ends), max(ends)
    margin = 0.03 * (high - low) or 1.0
    return np.linspace(low - margin, high + margin, _N_Y)


def _map_affinity(
    fit: NeighboursFit, search: NeighboursSearch, x: Array
) -> npt.NDArray[np.int64] | None:
    if fit.grid_leaves is None:
        return None
    trees = select_trees(fit.n_trees, search.n_trees, search.order, fit.model.seed_)
    leaves = fit.source.leaf_matrix(x[None, :])
    return count_affinities(fit.grid_leaves, leaves, trees)[0].astype(np.int64)


def _family(
    fit: NeighboursFit,
    search: NeighboursSearch,
    view: NeighboursView,
    ranked: FamilyScores | None,
    refusals: dict[str, str],
    notes: list[str],
) -> str:
    wanted = view.settings.family
    if wanted == BEST_FAMILY:
        return (rank_families(fit, search, view) if ranked is None else ranked).best
    if wanted in refusals:
        notes.append(f"{refusals[wanted].rstrip('.')}. The picture shows the normal distribution.")
        return "normal"
    return wanted


def runs_flat(look: NeighboursLook) -> bool:
    """Whether the scale at k is nearly that of half and of double k: within a fifth of it.

    >>> from types import SimpleNamespace
    >>> k = np.arange(2, 41)
    >>> runs_flat(SimpleNamespace(k=10, path_k=k, path_std=np.ones(39)))
    True
    """
    here, lower, upper = (
        float(np.interp(k, look.path_k, look.path_std)) for k in (look.k, look.k / 2, look.k * 2)
    )
    if here == 0.0 or not math.isfinite(here):
        return lower == upper == 0.0
    return abs(lower - here) <= 0.2 * here and abs(upper - here) <= 0.2 * here
