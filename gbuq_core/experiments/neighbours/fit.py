"""Which training rows a prediction comes from: IBUG on data whose noise is known.

Brophy and Lowd, "Instance-based uncertainty estimation for gradient-boosted regression trees"
(IBUG, 2022). `fit_neighbours` trains the base model; `search_neighbours` finds the neighbours with
the trees that count; `view_neighbours` turns them into scales for any k and calibration; `look_at`
(in `look`) shows one prediction. Only the first trains anything.
"""

from __future__ import annotations

import copy
import math
import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.distribution import NormalDistribution
from gbuq_core.experiments.neighbours.data import NeighboursData, load_neighbours_data
from gbuq_core.experiments.neighbours.plan import (
    ALL_TREES,
    EVERYTHING,
    ROWS,
    VALIDATION_FRACTION,
    NeighboursSettings,
    check_view,
    neighbours_model,
    one_thread,
)
from gbuq_core.ibug.results import FamilyScores, Setting
from gbuq_core.metrics import crps_gaussian, rmse
from gbuq_core.metrics.neighbour_tuning import NeighbourTuning
from gbuq_core.presentation import Tally

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


class NeighboursFit(NamedTuple):
    """The base model with its training rows, and where its trees put the grid."""

    plan: NeighboursSettings
    data: NeighboursData
    # an `IBUGRegressor`, tuned on a fifth of the rows, then trained on all; None of a stored fit,
    # as `source` and `grid_leaves` are
    model: Any
    n_trees: int  # of the model
    most_k: int  # the largest k that can be calibrated and shown
    source: Any  # a `LeafSource`: the leaves of any row in the model's trees
    grid_leaves: Any  # the `TrainLeaves` of the grid, for maps of affinity
    # `seconds`, `memory_bytes`: cost of the fit, tuning included, and what IBUG holds besides the
    # model
    seconds: float  # NaN of a stored fit
    memory_bytes: int | None


class NeighboursSearch(NamedTuple):
    """What depends on the trees that count, and on no other knob of the view."""

    n_trees: int  # how many count: the largest possible affinity
    order: str  # which ones; "first" where all count
    width: int  # how many neighbours are held: any k up to it needs no other search
    near_test: Any  # the `Neighborhood` of the test rows; None of a stored search
    grid_loc: Array | None  # (n_grid,)
    # (n_grid, width): the targets of the neighbours of every place of the grid, nearest first
    grid_targets: npt.NDArray[np.float32] | None
    # validation scores of every candidate k with these trees; `best` by the scoring that was set
    # when it was searched, while both scores are there
    tuning: NeighbourTuning
    seconds: float  # of the search
    notes: tuple[str, ...]  # what was brought into range, a sentence each


@dataclass(frozen=True, kw_only=True)
class NeighboursView:
    """Predictions and scales for one k and calibration, in units of y."""

    settings: NeighboursSettings
    setting: Setting  # k, least scale, gamma and delta in use
    tuned: bool  # whether k was chosen on the validation rows
    # `loc`, `scale`: (n_test,)
    loc: Array
    scale: Array
    # `grid_loc`, `grid_scale`: (n_grid,)
    grid_loc: Array | None
    grid_scale: Array | None
    # `test_rmse`, `test_nll`, `test_crps`: of normals on the test rows: NLL in nats, the others in
    # units of y
    test_rmse: float
    test_nll: float
    test_crps: float
    notes: tuple[str, ...]  # what was brought into range, a sentence each

    @property
    def k(self) -> int:
        """The number of neighbours in use."""
        return self.setting.n_neighbors


class Brushed(NamedTuple):
    """What a range of scale highlights."""

    # `low`, `high`: the range, in units of y
    low: float
    high: float
    rows: Mask  # (n_test,)
    grid: Mask | None  # (n_grid,)
    n_rows: int
    # `mean_error`, `mean_error_others`: mean absolute error of those test rows and of the others;
    # NaN where there are none
    mean_error: float
    mean_error_others: float


_WIDTHS = (61, 201, 701)
_PER_ROW = ("loc", "indices", "affinities", "targets")
_FITS = Tally()
count_fits = _FITS.count  # what a knob of the view leaves as it is


def fit_neighbours(plan: NeighboursSettings) -> NeighboursFit:
    """Train the base model on a part of the rows, tune k on the rest, train it on all rows."""
    from gbuq_core.ibug import IBUGRegressor
    from gbuq_core.ibug.affinity import pack_leaves
    from gbuq_core.trees.importers import leaf_source

    base = neighbours_model(plan)
    data = load_neighbours_data(plan.data, plan.rows, plan.noise, plan.seed)
    model = IBUGRegressor(
        base, delta_unit=1.0, validation_fraction=VALIDATION_FRACTION, random_state=plan.seed
    )
    began = time.perf_counter()
    with one_thread(plan.library):
        model.fit(data.X, data.y)
    seconds = time.perf_counter() - began
    source, grid_leaves = leaf_source(model.model_), None
    if data.grid is not None:
        grid_leaves = pack_leaves(source.leaf_matrix(data.grid))
    _FITS.add()
    return NeighboursFit(
        plan,
        data,
        model,
        int(model.n_trees_),
        int(model.find_validation().targets.shape[1]),
        source,
        grid_leaves,
        seconds,
        int(model.memory_bytes_),
    )


def search_key(fit: NeighboursFit, settings: NeighboursSettings) -> tuple[int, str, int]:
    """Trees that count, their order and neighbours held: with the plan, the key of a search.

    All are brought into range. The neighbours held are 61, 201, 701 or as many as there are: few k
    are large, and a wide search takes long.
    """
    count = fit.n_trees if settings.tau == ALL_TREES else min(settings.counted, fit.n_trees)
    order = "first" if count == fit.n_trees else settings.order
    k = k_in_range(fit, settings.k)
    if k is None:
        tuning = scored_by(fit, settings).tuning_for(count, order)
        assert tuning is not None  # the fit held rows out
        k = int(tuning.n_neighbors[tuning.best])
    return count, order, min(next(width for width in _WIDTHS if width >= k), fit.most_k)


def search_neighbours(fit: NeighboursFit, settings: NeighboursSettings) -> NeighboursSearch:
    """Find the neighbours of the test rows and of the grid with the trees that count."""
    check_view(settings)
    count, order, width = search_key(fit, settings)
    notes: tuple[str, ...] = ()
    if settings.tau < ALL_TREES and settings.counted != count:
        notes = (
            f"You asked for {settings.counted} trees, and the model has {fit.n_trees}. The picture "
            f"counts {count}.",
        )
    trees: dict[str, Any] = {"n_trees_sampled": count, "tree_order": order}
    data = fit.data
    rows = data.X_test if data.grid is None else np.concatenate([data.X_test, data.grid])
    began = time.perf_counter()
    with one_thread(fit.plan.library):
        near = fit.model.find_neighborhood(rows, width, **trees)
    seconds = time.perf_counter() - began
    n_test, grid_loc, grid_targets = len(data.X_test), None, None
    if data.grid is not None:
        grid_loc, grid_targets = near.loc[n_test:], near.targets[n_test:].astype(np.float32)
        near = near._replace(**{name: getattr(near, name)[:n_test].copy() for name in _PER_ROW})
    tuning = scored_by(fit, settings).tuning_for(**trees)
    assert tuning is not None  # the fit held rows out
    return NeighboursSearch(
        count,
        order,
        width,
        near,
        grid_loc,
        grid_targets,
        tuning,
        seconds,
        notes,
    )


def k_in_range(fit: NeighboursFit, k: int | None) -> int | None:
    """The nearest k that can be calibrated and shown; None tunes it."""
    return None if k is None else min(max(k, 2), fit.most_k)


def view_neighbours(
    fit: NeighboursFit, search: NeighboursSearch, settings: NeighboursSettings
) -> NeighboursView:
    """Predictions and scales for the settings' k, calibration and scoring."""
    from gbuq_core.ibug.search import scale_of

    check_view(settings)
    k, notes = k_in_range(fit, settings.k), list(search.notes)
    if k != settings.k:
        why = (
            f"only {fit.most_k} rows are left for tuning"
            if k == fit.most_k
            else "a spread needs at least 2 neighbours"
        )
        notes.append(f"k is {settings.k}, but {why}. The picture uses k = {k}.")
    setting = scored_by(fit, settings).setting_for(
        "tune" if k is None else k,
        settings.calibrate,
        n_trees_sampled=search.n_trees,
        tree_order=search.order,
    )
    if setting.n_neighbors > search.width:
        search = search_neighbours(fit, settings)
    scale = scale_of(search.near_test.targets, setting)
    grid_scale = None
    if search.grid_targets is not None:
        grid_scale = scale_of(search.grid_targets[:, : setting.n_neighbors].astype(float), setting)
    y, loc = fit.data.y_test, search.near_test.loc
    return NeighboursView(
        settings=settings,
        setting=setting,
        tuned=k is None,
        loc=loc,
        scale=scale,
        grid_loc=search.grid_loc,
        grid_scale=grid_scale,
        test_rmse=rmse(y, loc),
        test_nll=float(fit.data.log_scores(NormalDistribution(loc, scale)).mean()),
        test_crps=crps_gaussian(y, loc, scale),
        notes=tuple(notes),
    )


def brush_scale(fit: NeighboursFit, view: NeighboursView) -> Brushed | None:
    """The rows and cells whose scale lies in the settings' percentiles; None where all do."""
    scales = tuple(view.settings.scales)
    if scales == EVERYTHING:
        return None
    places = view.scale if view.grid_scale is None else view.grid_scale
    seen = view.scale if view.settings.scales_of == ROWS else places
    low, high = (float(end) for end in np.quantile(seen, [share / 100 for share in scales]))
    low = min(low, float(places.min())) if scales[0] == 0 else low
    high = max(high, float(places.max())) if scales[1] == 100 else high
    rows = (view.scale >= low) & (view.scale <= high)
    grid = None
    if view.grid_scale is not None:
        grid = (view.grid_scale >= low) & (view.grid_scale <= high)
    error = np.abs(fit.data.y_test - view.loc)
    return Brushed(
        low,
        high,
        rows,
        grid,
        int(rows.sum()),
        float(error[rows].mean()) if rows.any() else math.nan,
        float(error[~rows].mean()) if not rows.all() else math.nan,
    )


def rank_families(
    fit: NeighboursFit, search: NeighboursSearch, view: NeighboursView
) -> FamilyScores:
    """Mean NLL of the nine families on the validation rows, for the view's k and calibration."""
    model = scored_by(fit, view.settings)
    return model.score_families(
        model.find_validation(search.n_trees, search.order),
        model.y_validation_,
        n_neighbors=view.k,
        calibrate=view.settings.calibrate,
    )


def scored_by(fit: NeighboursFit, settings: NeighboursSettings) -> Any:
    """The fitted estimator with the settings' scoring; fits and searches are shared with it."""
    model = copy.copy(fit.model)
    model.scoring = settings.scoring
    return model
