"""One prediction looked at: its neighbours, why its scale is what it is, and its posteriors.

Brophy and Lowd (IBUG, 2022), algorithms 1 and 2, equation 3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.errors import InvalidData
from gbuq_core.experiments.neighbours.data import NeighboursData
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
from gbuq_core.ibug import FAMILIES, check_family, fit_posterior, log_density
from gbuq_core.ibug.results import FamilyScores
from gbuq_core.metrics import rmse
from gbuq_core.metrics.neighbour_tuning import running_std
from gbuq_core.presentation import counted, digits, short
from gbuq_core.settings import plan_of

if TYPE_CHECKING:
    from gbuq_core.ibug.search import Neighborhood

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
    codes: npt.NDArray[np.int64]  # (n_trees,): its leaves, tree by tree
    y_grid: Array  # (201,)
    densities: dict[str, Array]  # (201,): of every family that these targets allow
    refusals: dict[str, str]  # why a family cannot be used
    family: str  # the one in use
    # The share of each class among the neighbours, where the rows have classes. Our own view, not
    # the paper's.
    class_shares: dict[str, float] | None
    notes: tuple[str, ...]


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
    x, model = _place(fit, settings)[1], scored_by(fit, settings)
    trees = {"n_trees_sampled": search.n_trees, "tree_order": search.order}
    with one_thread(fit.plan.library):
        near = model.find_neighborhood(x[None, :], len(fit.data.y), **trees)
        leaves = fit.source.leaf_matrix(x[None, :])
    look = describe_near(fit, search, settings, view, near, leaves[0].astype(np.int64), ranked)
    shares = None
    if fit.data.labels is not None:
        classes = model.neighbor_class_shares(near, fit.data.labels, view.k)
        shares = dict(zip(classes.classes.tolist(), classes.shares[0].tolist(), strict=True))
    return replace(look, map_affinity=_map_affinity(fit, search, leaves), class_shares=shares)


def describe_near(
    fit: NeighboursFit,
    search: NeighboursSearch,
    settings: NeighboursSettings,
    view: NeighboursView,
    near: Neighborhood,
    codes: npt.NDArray[np.int64],
    ranked: FamilyScores | None = None,
) -> NeighboursLook:
    """A look of all training rows by their affinity to a place; it asks no model."""
    from gbuq_core.ibug.search import scale_of

    notes: list[str] = []
    title, x, row, target = _place(fit, settings)
    k = view.k
    row_affinities = np.empty(len(fit.data.y), np.int32)
    row_affinities[near.indices[0]] = near.affinities[0]
    targets, scales = near.targets[:, :k], scale_of(near.targets, view.setting)
    loc, scale = float(near.loc[0]), float(scales[0])
    y_grid = _y_grid(loc, scale, targets[0], target)
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
    cut = int(near.affinities[0, k - 1])
    return NeighboursLook(
        title=title,
        x=x,
        row=row,
        target=target,
        loc=loc,
        scale=scale,
        k=k,
        indices=near.indices[0, :k],
        affinities=near.affinities[0, :k],
        targets=targets[0],
        features=fit.data.X[near.indices[0, :k]],
        row_affinities=row_affinities,
        n_trees=search.n_trees,
        cut=cut,
        n_tied=int((near.affinities[0, k:] == cut).sum()),
        path_k=path_k,
        path_std=running_std(near.targets, path_k.tolist())[0],
        map_affinity=None,
        codes=codes,
        y_grid=y_grid,
        densities=densities,
        refusals=refusals,
        family=_family(fit, search, view, ranked, refusals, notes),
        class_shares=None,
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
    fitted: Mapping[str, Any] = MappingProxyType({})  # a `BaselineFit` of each of these
    ranked: FamilyScores | None = None  # every family's NLL on the validation rows

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
    from gbuq_core.ibug.affinity import count_affinities

    assert fit.grid_leaves is not None
    leaves = fit.source.leaf_matrix(np.asarray(x, np.float64)[None, :])
    shared = [
        count_affinities(fit.grid_leaves, leaves, np.array([tree]))[0]
        for tree in range(fit.n_trees)
    ]
    return np.cumsum(np.array(shared, np.int64), axis=0)


def _place(
    fit: NeighboursFit, settings: NeighboursSettings
) -> tuple[str, Array, int | None, float | None]:
    """What is looked at: its name, its features, and a table's held-out row and its target."""
    data, row = fit.data, settings.row
    if row is None:
        point = np.array(settings.point)
        texts = (f"{name} = {short(x)}" for name, x in zip(data.feature_names, point, strict=True))
        return ", ".join(texts), point, None, None
    return f"held-out row {row + 1}", data.X_test[row], row, float(data.y_test[row])


def _y_grid(loc: float, scale: float, targets: Array, target: float | None) -> Array:
    """Places of y that hold the prediction's density, the neighbours and what was observed."""
    ends = [loc - _REACH * scale, loc + _REACH * scale, float(targets.min()), float(targets.max())]
    if target is not None:
        ends.append(target)
    low, high = min(ends), max(ends)
    margin = 0.03 * (high - low) or 1.0
    return np.linspace(low - margin, high + margin, _N_Y)


def _map_affinity(
    fit: NeighboursFit, search: NeighboursSearch, leaves: Any
) -> npt.NDArray[np.int64] | None:
    from gbuq_core.ibug.affinity import count_affinities
    from gbuq_core.ibug.search import select_trees

    if fit.grid_leaves is None:
        return None
    trees = select_trees(fit.n_trees, search.n_trees, search.order, fit.model.seed_)
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


_HIGHER = 1.5  # times the scale elsewhere that counts as marking a region


def describe_neighbours(run: NeighboursRun) -> str:
    """The picture in words, from its numbers."""
    fit, search, view, look = run.fit, run.search, run.view, run.look
    data = fit.data
    return " ".join(
        [
            f"{data.title}: {fit.plan.base.label} with {fit.n_trees:,} trees on "
            f"{len(data.y):,} rows. {describe_setting(fit, search, view)}",
            _describe_look(data, look),
            *([describe_empty(data, view)] if data.n_inputs else []),
            f"On {len(data.y_test):,} {'fresh' if data.n_inputs else 'held-out'} rows: RMSE "
            f"{short(view.test_rmse)}, NLL {short(view.test_nll)} nats, "
            f"CRPS {short(view.test_crps)}.",
        ]
    )


def describe_setting(fit: NeighboursFit, search: NeighboursSearch, view: NeighboursView) -> str:
    """k, the trees that count and the calibration in words."""
    k, least, gamma, delta = view.setting
    text = f"k = {k}, {'the best on the validation rows' if view.tuned else 'as set'}"
    trees = f"{search.n_trees:,} trees count" if search.n_trees > 1 else "one tree counts"
    if search.n_trees < fit.n_trees:
        trees += f" (the {search.order} ones)"
    if not view.settings.calibrate:
        how = "The neighbours' std is not calibrated"
    elif gamma == 1.0 and delta == 0.0:
        how = "Calibration does not change the neighbours' std"
    elif delta == 0.0:
        how = f"Calibration multiplies the neighbours' std by {gamma:g}"
    else:
        how = f"Calibration adds {delta:g} to the neighbours' std"
    return f"{text}; {trees}. {how}. The std used is at least {short(least)}."


def _describe_look(data: NeighboursData, look: NeighboursLook) -> str:
    spread = float(look.targets.std())
    text = (
        f"At {look.title} the prediction is {short(look.loc, 4)} with a scale of "
        f"{short(look.scale)}. The targets of its {look.k} neighbours range from "
        f"{short(look.targets.min(), 4)} to {short(look.targets.max(), 4)} (std {short(spread)}). "
        f"The first neighbour shares a leaf in {look.affinities[0]:,} of {look.n_trees:,} trees, "
        f"the last in {look.cut:,}."
    )
    if look.n_tied:
        text += (
            f" {look.n_tied:,} more training rows share as many trees as the last; ties go to the "
            "lower row number."
        )
    text += (
        " With half or double that k the std changes by at most 20 %."
        if runs_flat(look)
        else " The std depends on k: with half or double that k it changes by more than 20 %."
    )
    if look.target is not None:
        away = abs(look.target - look.loc) / look.scale
        text += (
            f" The observed target is {short(look.target, 4)}, {short(away, 2)} scales from the "
            "prediction."
        )
    if look.class_shares:
        most, share = max(look.class_shares.items(), key=lambda pair: pair[1])
        text += f" {100 * share:.0f} % of the neighbours are {most}. The model did not see that."
    return text


def describe_empty(data: NeighboursData, view: NeighboursView) -> str:
    """What the scale does where no rows are; IBUG has no knowledge uncertainty to rise there."""
    fitted = ", calibrated on errors where rows are" if view.settings.calibrate else ""
    none = (
        "One model has no members that could disagree, so its knowledge uncertainty is 0 by "
        "construction. IBUG's scale is the std of k neighbours' targets, "
        f"sqrt(mean((y_i - mean y)^2)){fitted}."
    )
    if view.grid_scale is None or view.grid_loc is None or data.in_support is None:
        return none
    if data.true_std is None or data.true_mean is None or data.in_support.all():
        return none
    out, near = ~data.in_support, data.in_support
    error = rmse(data.true_mean[out], view.grid_loc[out])
    scale, inside = float(view.grid_scale[out].mean()), float(view.grid_scale[near].mean())
    if scale >= _HIGHER * inside:
        says = "The scale is higher there, because the nearest rows' targets spread more"
    else:
        says = "The scale does not show that rows are missing"
    return (
        f"{none} Where there are no training rows, the scale averages {short(scale)} "
        f"({short(inside)} where there are) and the true noise "
        f"{short(data.true_std[out].mean())}. The root mean squared error of the prediction there "
        f"is {short(error)}. {says}."
    )


def title_of(run: NeighboursRun) -> str:
    """What is looked at."""
    fit, look = run.fit, run.look
    if look.row is not None:
        return f"Held-out row {look.row + 1} of {len(fit.data.y_test)}"
    at = zip(fit.data.feature_names, look.x.tolist(), strict=True)
    return "At " + ", ".join(f"{name} = {short(value)}" for name, value in at)


def answer_neighbours(run: NeighboursRun) -> str:
    """Which training rows does the prediction come from? One sentence on the chosen one."""
    fit, look = run.fit, run.look
    title = title_of(run)
    empty = "" if _supported(fit, look) else ", where no training rows are,"
    at = title if look.row is None else f"For held-out row {look.row + 1}"
    return (
        f"{at}{empty} the model says {digits(look.loc)} \u00b1 {digits(look.scale)}, from "
        f"{look.k} rows that {_where(fit, look)}."
    )


def describe_choice(run: NeighboursRun) -> str:
    """What is predicted there, and from which rows: two sentences or three."""
    fit, look = run.fit, run.look
    head = f"{title_of(run)}: IBUG predicts {digits(look.loc)} \u00b1 {digits(look.scale)}"
    known = truth_at(run)
    if look.target is not None:
        head += f", and the row's own target is {digits(look.target)}"
    elif known is not None:
        head += f"; the true mean is {digits(known[0])} and the true noise {digits(known[1])}"
    first, last = int(look.affinities[0]), int(look.affinities[-1])
    shared = f"{last:,} to {first:,}" if last < first else f"{first:,}"
    parts = [
        head,
        f"Its {look.k} neighbours {_where(fit, look)} and share its leaf in {shared} of "
        f"{look.n_trees:,} trees",
    ]
    if not _supported(fit, look):
        parts.append(
            "There are no training rows here. The neighbours come from the edge of the data, and "
            "the scale is the spread of their targets"
        )
    return ". ".join(parts) + "."


def _where(fit: NeighboursFit, look: NeighboursLook) -> str:
    """Where the neighbours lie, as the predicate of a sentence."""
    low, high = digits(float(look.targets.min())), digits(float(look.targets.max()))
    if fit.data.n_inputs == 1:
        first, last = (short(end(look.features[:, 0])) for end in (np.min, np.max))
        at = f"x from {first} to {last}" if first != last else f"x = {first}"
        return f"lie at {at}"
    if fit.data.n_inputs == 2:
        far = np.hypot(*(look.features - look.x).T)
        return f"lie within {digits(float(far.max()))} of it"
    return f"have targets from {low} to {high}"


def _cell(fit: NeighboursFit, look: NeighboursLook) -> int | None:
    """The place of the grid that lies nearest; None for a table."""
    if fit.data.grid is None:
        return None
    return int(np.argmin(np.abs(fit.data.grid - look.x).max(axis=1)))


def _supported(fit: NeighboursFit, look: NeighboursLook) -> bool:
    """Whether training rows can lie where the reader looks."""
    cell = _cell(fit, look)
    return cell is None or fit.data.in_support is None or bool(fit.data.in_support[cell])


def truth_at(run: NeighboursRun) -> tuple[float, float] | None:
    """The true mean and the std of the noise at the nearest place of the grid, if known."""
    data, cell = run.fit.data, _cell(run.fit, run.look)
    if cell is None or data.true_mean is None or data.true_std is None:
        return None
    return float(data.true_mean[cell]), float(data.true_std[cell])


def describe_brush(run: NeighboursRun) -> str:
    """How many rows a range of scales holds, and how wrong they are; nothing without a range."""
    fit, view = run.fit, run.view
    brushed, scales = run.brushed, view.settings.scales
    if brushed is None:
        return ""
    rows = "fresh rows" if fit.data.n_inputs else "held-out rows"
    low, high = digits(brushed.low), digits(brushed.high)
    head = (
        f"Percentiles {scales[0]} to {scales[1]} are scales from {low} to {high}."
        if scales[0] != scales[1]
        else f"Percentile {scales[0]} is a scale of {low}."
    )
    if not brushed.n_rows:
        cells = "" if brushed.grid is None or not brushed.grid.any() else ", but some places do"
        none = f"None of the {len(view.scale):,} {rows} has such a scale{cells}"
        return f"{head} {none}. Choose a wider range."
    verb = "lies" if brushed.n_rows == 1 else "lie"
    share = f"{brushed.n_rows:,} of {len(view.scale):,} {rows} {verb} in this range"
    errors = f"The mean absolute error is {digits(brushed.mean_error)} for them"
    if not math.isnan(brushed.mean_error_others):
        errors += f" and {digits(brushed.mean_error_others)} for the other rows"
    return f"{head} {share}. {errors}."


def describe_scale(run: NeighboursRun) -> str:
    """Where the cut lies, and what turns the neighbours' spread into the scale."""
    look, (k, least, gamma, delta) = run.look, run.view.setting
    std = float(look.path_std[k - 2])
    zero = int((look.row_affinities == 0).sum())
    strangers = (
        f"{zero:,} of {len(look.row_affinities):,} training rows share no leaf with it"
        if zero
        else "Every training row shares a leaf with it in some tree"
    )
    parts = [
        strangers,
        f"The {k} neighbours each share a leaf with it in at least {look.cut} of {look.n_trees} "
        "trees",
    ]
    if look.n_tied:
        others = f"{look.n_tied:,} other row{'s' * (look.n_tied > 1)}"
        reached = counted(look.cut, "tree")
        parts.append(f"{others} also reached {reached}: ties go to the rows that come first")
    parts.append(f"The standard deviation (std) of the neighbours' targets is {digits(std)}")
    if std < least:
        parts.append(f"That is below the smallest scale allowed, {digits(least)}")
    if gamma != 1.0:
        parts.append(f"Calibration multiplies it by {short(gamma)}")
    if delta:
        parts.append(f"Calibration adds {short(delta)}")
    if gamma == 1.0 and not delta:
        off = not run.settings.calibrate
        parts.append("Calibration is off" if off else "Calibration does not change it")
    parts.append(f"The scale is {digits(look.scale)}")
    if gamma != 1.0 or delta:
        parts.append("The chart of the scale against k uses this calibration for every k")
    return ". ".join(parts) + "."
