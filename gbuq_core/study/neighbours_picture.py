"""The pictures of Neighbours and their words: a place, its neighbours, and why its scale is so.

Vermilion is the chosen point with its neighbours, green is IBUG, black the truth, and blue the part
that a range of scales picks out. With the ``knobs`` of its bar a picture follows them by itself.
Affinity is a count of equal leaves (Brophy and Lowd, IBUG, 2022, algorithm 1), so the leaves of the
training rows and of all places are enough for a browser to find neighbours; the scale of every
place for every k, with the floor and the calibration that belong to that k, is worked out here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.figures.canvas.panels import (
    Marker,
    Panel,
    PanelSheet,
    Points,
    Strip,
    StripLine,
    shared_limits,
)
from gbuq_core.figures.curves import Curves, draw_curves
from gbuq_core.figures.curves.parts import (
    Part,
    axis,
    band,
    entry,
    hatches,
    line,
    panel,
    plain_dots,
    readable_dots,
    reading,
    rounded,
    stretches,
)
from gbuq_core.figures.error_dots import error_dots
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.near import (
    MOST_DOTS,
    NEAR,
    STRENGTH,
    Near,
    by_strength,
    dot_look,
    others_of,
    room_around,
)
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.ibug import FAMILIES
from gbuq_core.metrics import rmse
from gbuq_core.metrics.neighbour_tuning import running_std
from gbuq_core.presentation import counted, digits, short
from gbuq_core.study.neighbours_fit import (
    FAMILY_LABELS,
    ORDERS,
    PREDICTION,
    SHARES,
    Array,
    Mask,
    NeighboursData,
    NeighboursFit,
    NeighboursLook,
    NeighboursRun,
    NeighboursSearch,
    NeighboursSettings,
    NeighboursView,
    k_in_range,
    one_thread,
    scored_by,
    share_of,
)
from gbuq_core.study.study import fill

# --- What the browser finds by itself -------------------------------------------------------------


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


# --- Words ----------------------------------------------------------------------------------------


_HIGHER = 1.5  # times the scale elsewhere that counts as marking a region
_NOT = math.nan  # what is not the case: a sentence that names it is not said


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


def tell(run: NeighboursRun) -> dict[str, Any]:
    """All that sentences say of a run, by name; a text that is empty is a condition that holds."""
    fit, view, look, data = run.fit, run.view, run.look, run.fit.data
    k, least, gamma, delta = view.setting
    std, target = float(look.path_std[k - 2]), _NOT if look.target is None else look.target
    mean, noise = truth_at(run) or (_NOT, _NOT)
    strangers = int((look.row_affinities == 0).sum())
    classes = look.class_shares or {}
    most = max(classes, key=lambda name: classes[name], default="")
    first, is_as_is = int(look.affinities[0]), gamma == 1.0 and delta == 0.0
    cell, flat = cell_of(fit, look), runs_flat(look)
    is_empty = cell is not None and data.in_support is not None and not data.in_support[cell]

    def where(holds: bool) -> str | float:
        return "" if holds else _NOT

    return {
        "data": data.title,
        "library": fit.plan.base.label,
        "n_trees": fit.n_trees,
        "n_rows": len(data.y),
        "n_test": len(data.y_test),
        "test_rows": "fresh rows" if data.n_inputs else "held-out rows",
        "rmse": view.test_rmse,
        "nll": view.test_nll,
        "crps": view.test_crps,
        "k": k,
        "chosen": "the best on the validation rows" if view.tuned else "as set",
        "counted": look.n_trees,
        "counting": f"{look.n_trees:,} trees count" if look.n_trees > 1 else "one tree counts",
        "which": f" (the {run.search.order} ones)" if look.n_trees < fit.n_trees else "",
        "least": least,
        "floor": least if std < least else _NOT,
        "factor": gamma if gamma != 1.0 else _NOT,
        "added": delta or _NOT,
        "off": where(not view.settings.calibrate),
        "idle": where(view.settings.calibrate and is_as_is),
        "changed": where(not is_as_is),
        "place": look.title,
        "title": title_of(run),
        "loc": look.loc,
        "scale": look.scale,
        "std": std,
        "lowest": look.targets.min(),
        "highest": look.targets.max(),
        "spread": look.targets.std(),
        "first": first,
        "cut": look.cut,
        "shared": f"{look.cut:,} to {first:,}" if look.cut < first else f"{first:,}",
        "reach": _reach(fit, look),
        "strangers": strangers or _NOT,
        "no_stranger": where(not strangers),
        "tied": look.n_tied or _NOT,
        "others": counted(look.n_tied, "other row") if look.n_tied else _NOT,
        "reached": counted(look.cut, "tree"),
        "flat": where(flat),
        "steep": where(not flat),
        "target": target,
        "away": abs(target - look.loc) / look.scale,
        "true_mean": mean,
        "true_noise": noise,
        "class": most,
        "class_share": 100 * classes[most] if classes else _NOT,
        "empty": where(is_empty),
        "at": title_of(run) if look.row is None else f"For held-out row {look.row + 1}",
        "nowhere": ", where no training rows are," if is_empty else "",
        **_tell_outside(data, view),
    }


def _tell_outside(data: NeighboursData, view: NeighboursView) -> dict[str, Any]:
    """What the scale does where no rows are; IBUG has no knowledge uncertainty to rise there."""
    fitted = ", calibrated on errors where rows are" if view.settings.calibrate else ""
    told: dict[str, Any] = {"fitted": fitted if data.n_inputs else _NOT}
    inside, mean, std = data.in_support, data.true_mean, data.true_std
    loc, scale = view.grid_loc, view.grid_scale
    if inside is None or mean is None or std is None or loc is None or scale is None:
        return told
    if inside.all():
        return told
    far, near = float(scale[~inside].mean()), float(scale[inside].mean())
    return told | {
        "scale_outside": far,
        "scale_inside": near,
        "noise_outside": std[~inside].mean(),
        "error_outside": rmse(mean[~inside], loc[~inside]),
        "verdict": "The scale is higher there, because the nearest rows' targets spread more"
        if far >= _HIGHER * near
        else "The scale does not show that rows are missing",
    }


_SETTING = (
    "k = {k:d}, {chosen}; {counting}{which}.",
    "The neighbours' std is not calibrated.{off}",
    "Calibration does not change the neighbours' std.{idle}",
    "Calibration multiplies the neighbours' std by {factor:g}.",
    "Calibration adds {added:g} to the neighbours' std.",
    "The std used is at least {least}.",
)
_OUTSIDE = (
    "One model has no members that could disagree, so its knowledge uncertainty is 0 by "
    "construction. IBUG's scale is the std of k neighbours' targets, "
    "sqrt(mean((y_i - mean y)^2)){fitted}.",
    "Where there are no training rows, the scale averages {scale_outside} ({scale_inside} where "
    "there are) and the true noise {noise_outside}. The root mean squared error of the prediction "
    "there is {error_outside}. {verdict}.",
)
_PICTURE = (
    "{data}: {library} with {n_trees:,} trees on {n_rows:,} rows.",
    *_SETTING,
    "At {place} the prediction is {loc:4} with a scale of {scale}. The targets of its {k:d} "
    "neighbours range from {lowest:4} to {highest:4} (std {spread}). The first neighbour shares a "
    "leaf in {first:,} of {counted:,} trees, the last in {cut:,}.",
    "{tied:,} more training rows share as many trees as the last; ties go to the lower row number.",
    "With half or double that k the std changes by at most 20 %.{flat}",
    "The std depends on k: with half or double that k it changes by more than 20 %.{steep}",
    "The observed target is {target:4}, {away:2} scales from the prediction.",
    "{class_share:.0f} % of the neighbours are {class}. The model did not see that.",
    *_OUTSIDE,
    "On {n_test:,} {test_rows}: RMSE {rmse}, NLL {nll} nats, CRPS {crps}.",
)
_ANSWER = (
    "{at}{nowhere} the model says {loc:digits} \u00b1 {scale:digits}, from {k:d} rows that {reach}."
)
_CHOICE = (
    "{title}: IBUG predicts {loc:digits} \u00b1 {scale:digits}, and the row's own target is "
    "{target:digits}.",
    "{title}: IBUG predicts {loc:digits} \u00b1 {scale:digits}; the true mean is "
    "{true_mean:digits} and the true noise {true_noise:digits}.",
    "Its {k:d} neighbours {reach} and share its leaf in {shared} of {counted:,} trees.",
    "There are no training rows here. The neighbours come from the edge of the data, and the scale "
    "is the spread of their targets.{empty}",
)
_SCALE = (
    "{strangers:,} of {n_rows:,} training rows share no leaf with it.",
    "Every training row shares a leaf with it in some tree.{no_stranger}",
    "The {k:d} neighbours each share a leaf with it in at least {cut:d} of {counted:d} trees.",
    "{others} also reached {reached}: ties go to the rows that come first.",
    "The standard deviation (std) of the neighbours' targets is {std:digits}.",
    "That is below the smallest scale allowed, {floor:digits}.",
    "Calibration multiplies it by {factor}.",
    "Calibration adds {added}.",
    "Calibration is off.{off}",
    "Calibration does not change it.{idle}",
    "The scale is {scale:digits}.",
    "The chart of the scale against k uses this calibration for every k.{changed}",
)
_BRUSH = (
    "Percentiles {first:d} to {last:d} are scales from {low:digits} to {high:digits}.",
    "Percentile {only:d} is a scale of {low:digits}.",
    "None of the {n_test:,} {test_rows} has such a scale{places}. Choose a wider range.",
    "{n_inside:,} of {n_test:,} {test_rows} {lie} in this range.",
    "The mean absolute error is {error:digits} for them and {error_others:digits} for the other "
    "rows.",
    "The mean absolute error is {error:digits} for them.{all_rows}",
)


def say(sentences: Sequence[str], told: Mapping[str, Any]) -> str:
    """The sentences whose numbers are there."""
    return " ".join(filter(None, (fill(sentence, told) for sentence in sentences)))


def describe_neighbours(run: NeighboursRun) -> str:
    """The picture in words, from its numbers."""
    return say(_PICTURE, tell(run))


def answer_neighbours(run: NeighboursRun) -> str:
    """Which training rows does the prediction come from? One sentence on the chosen one."""
    return fill(_ANSWER, tell(run))


def describe_choice(run: NeighboursRun) -> str:
    """What is predicted there, and from which rows: two sentences or three."""
    return say(_CHOICE, tell(run))


def describe_scale(run: NeighboursRun) -> str:
    """Where the cut lies, and what turns the neighbours' spread into the scale."""
    return say(_SCALE, tell(run))


def describe_brush(run: NeighboursRun) -> str:
    """How many rows a range of scales holds, and how wrong they are; nothing without a range."""
    brushed, (first, last) = run.brushed, run.view.settings.scales
    if brushed is None:
        return ""
    n_rows, others = brushed.n_rows, brushed.mean_error_others
    places = "" if brushed.grid is None or not brushed.grid.any() else ", but some places do"
    told = {
        **tell(run),
        "first": first if first != last else _NOT,
        "last": last,
        "only": first if first == last else _NOT,
        "low": brushed.low,
        "high": brushed.high,
        "n_inside": n_rows or _NOT,
        "lie": "lies" if n_rows == 1 else "lie",
        "places": _NOT if n_rows else places,
        "error": brushed.mean_error,
        "error_others": others,
        "all_rows": "" if math.isnan(others) else _NOT,
    }
    return say(_BRUSH, told)


def title_of(run: NeighboursRun) -> str:
    """What is looked at."""
    fit, look = run.fit, run.look
    if look.row is not None:
        return f"Held-out row {look.row + 1} of {len(fit.data.y_test)}"
    at = zip(fit.data.feature_names, look.x.tolist(), strict=True)
    return "At " + ", ".join(f"{name} = {short(value)}" for name, value in at)


def _reach(fit: NeighboursFit, look: NeighboursLook) -> str:
    """Where the neighbours lie, as the predicate of a sentence."""
    if fit.data.n_inputs == 1:
        first, last = (short(end(look.features[:, 0])) for end in (np.min, np.max))
        at = f"x from {first} to {last}" if first != last else f"x = {first}"
        return f"lie at {at}"
    if fit.data.n_inputs == 2:
        far = np.hypot(*(look.features - look.x).T)
        return f"lie within {digits(float(far.max()))} of it"
    low, high = digits(float(look.targets.min())), digits(float(look.targets.max()))
    return f"have targets from {low} to {high}"


def cell_of(fit: NeighboursFit, look: NeighboursLook) -> int | None:
    """The place of the grid that lies nearest; None for a table."""
    if fit.data.grid is None:
        return None
    return int(np.argmin(np.abs(fit.data.grid - look.x).max(axis=1)))


def truth_at(run: NeighboursRun) -> tuple[float, float] | None:
    """The true mean and the std of the noise at the nearest place of the grid, if known."""
    data, cell = run.fit.data, cell_of(run.fit, run.look)
    if cell is None or data.true_mean is None or data.true_std is None:
        return None
    return float(data.true_mean[cell]), float(data.true_std[cell])


# --- One place: charts ----------------------------------------------------------------------------


IBUG = METHOD_STYLES["ibug"]
SCORES = {"nll": "NLL (nats)", "crps": "CRPS (units of y)"}
_BARS, _MOST_BARS = 0.2, 24  # opacity, number
_BINS = 50  # of a histogram of affinities, if there are more trees
_LEAST_REACH, _REACH = 60, 4  # of k that a scale is drawn up to: so many, or times k
_OTHER = "#9a9a9a"  # readable on white and on black
_PALE = "#b4b4b4"
_ROOM = 1.5  # times the chosen family's peak that the others may take


def near_of(run: NeighboursRun) -> Near:
    """The neighbours, their affinities as shares of the trees that count."""
    look = run.look
    return Near(look.indices.astype(np.int64), look.affinities / look.n_trees)


def _observed(run: NeighboursRun) -> tuple[float | None, str]:
    """The row's own target, or the true mean where that is known, and what it is."""
    if run.look.target is not None:
        return run.look.target, "the row's own target"
    known = truth_at(run)
    return (None, "") if known is None else (known[0], "true mean")


def family_figure(run: NeighboursRun) -> Curves:
    """All families over the neighbours' targets: bars, a rug of dots, and the chosen one strong."""
    look = run.look
    y, targets, chosen = look.y_grid, look.targets, look.densities[look.family]
    heights, edges = _histogram(y, targets)
    low, high = (digits(float(np.quantile(targets, share))) for share in (0.25, 0.75))
    label = FAMILIES[look.family].label
    alt = (
        f"{len(look.densities)} distributions over the targets of {look.k} neighbours, whose "
        f"middle half lies from {low} to {high}. The bold line is {label}."
    )
    # A family of tiny scale may rise beyond all measure: the chosen one and the bars are seen, and
    # of the others what rises at most half as high again.
    needed = max(float(np.nanmax(part, initial=0.0)) for part in (heights, chosen))
    peaks = [float(np.max(d, initial=0.0, where=np.isfinite(d))) for d in look.densities.values()]
    top = 1.12 * max(needed, min(max(peaks, default=0.0), _ROOM * needed)) or 1.0
    foot = -0.07 * top
    layers: list[Part] = [
        band([a, b], [0.0, 0.0], [h, h], NEAR, _BARS)
        for a, b, h in zip(edges[:-1], edges[1:], heights, strict=True)
        if h > 0
    ]
    layers += [
        _curve(y, density, _OTHER, 1.1)
        for name, density in look.densities.items()
        if name != look.family
    ]
    layers.append(_curve(y, chosen, IBUG.colour, 2.6))
    every = Near(np.arange(len(targets)), near_of(run).share)
    for rows, size, opacity in by_strength(every):
        foot_y = np.full(len(rows), foot / 2)
        layers.append(plain_dots(targets[rows], foot_y, NEAR, 0.6 * opacity, size))
    legend: list[Part] = [
        {"name": label, "kind": "line", "colour": IBUG.colour, "width": 2.6},
        {"name": "other families", "kind": "line", "colour": _OTHER, "width": 1.1},
        {"name": "the neighbours' targets", **dot_look(NEAR)},
    ]
    observed, what = _observed(run)
    if observed is not None:
        truth = line([observed] * 2, [foot, top], "text", 1.4, "6 5")
        layers.append(truth)
        legend.append(entry(what, truth))
    finite = [
        (FAMILIES[name].label, np.where(np.isfinite(density), density, np.nan))
        for name, density in look.densities.items()
    ]
    return draw_curves(
        "posterior-families",
        alt,
        300,
        axis((y[0], y[-1]), run.fit.data.target_name),
        [panel([foot, top], "density", layers)],
        legend,
        reading(y, "y", finite),
        hint="Point at the picture, or use its arrow keys, to read every family's density.",
    )


def family_strip(
    run: NeighboursRun, y: Array, densities: Mapping[str, Array], chosen: str, beside: str = ""
) -> Strip:
    """Densities over ``y``, by their names, above the neighbours' targets, as a small chart."""
    heights, edges = _histogram(y, run.look.targets)
    at = np.searchsorted(edges, y, side="right") - 1
    there = (at >= 0) & (at < len(heights))
    bars = np.full(len(y), np.nan)
    bars[there] = heights[at[there]]
    bars[bars <= 0] = np.nan
    lines = [
        StripLine("neighbours", bars, NEAR, bars=True),
        *(
            StripLine(name, density, "text" if name == beside else _OTHER, dash=name != beside)
            for name, density in densities.items()
            if name != chosen
        ),
        StripLine(chosen, densities[chosen], IBUG.colour),
    ]
    observed, what = _observed(run)
    return Strip(
        title="The neighbours' targets",
        x=y,
        lines=lines,
        x_label=run.fit.data.target_name,
        y_label="density",
        y_limits=(0.0, 1.12 * float(np.nanmax(np.concatenate([bars, densities[chosen]])))),
        marks=() if observed is None else [observed],
        mark_label=what,
    )


def density_name(run: NeighboursRun) -> str:
    """What the legend calls the density of the family in use."""
    return f"density ({FAMILIES[run.look.family].label})"


def density_beside(run: NeighboursRun, x: float) -> tuple[Part, Part]:
    """The density of the family in use, drawn sideways at ``x``, and its entry in the legend."""
    look, name = run.look, density_name(run)
    density = look.densities[look.family]
    known = np.where(np.isfinite(density), density, 0.0)
    drawn = {"x": x, "y": rounded(look.y_grid), "density": rounded(known), "colour": NEAR}
    entry = {"name": name, "kind": "band", "colour": NEAR, "opacity": 0.3, "role": "aside"}
    return {**drawn, "name": name}, entry


def reasons_sheet(run: NeighboursRun) -> PanelSheet:
    """Affinities of all training rows, the scale against k, and the score that chose k."""
    look, (_, least, gamma, delta) = run.look, run.view.setting
    truth, chosen = truth_at(run), f"k = {look.k}"
    n = look.n_trees
    width = -(-(n + 1) // _BINS)  # whole numbers of trees, or bars would differ by their room
    edges = np.arange(-0.5, n + 0.5 + width, width)
    every, near = (_bars(counted, edges) for counted in (look.row_affinities, look.affinities))
    affinity = Strip(
        title="Affinity of all training rows",
        x=100.0 * np.clip(edges / n, 0.0, 1.0),
        lines=[
            StripLine("training rows", every, _PALE, bars=True),
            StripLine(f"the {look.k} neighbours", near, NEAR, bars=True),
        ],
        x_label="trees with a shared leaf (%)",
        y_label="rows",
        y_limits=(0.7, 1.4 * float(np.nanmax(every, initial=1.0))),
        log=True,
    )
    drawn = look.path_k <= max(_LEAST_REACH, _REACH * look.k)
    k, by_k = look.path_k[drawn], gamma * np.maximum(look.path_std[drawn], least) + delta
    lines = [StripLine("scale", by_k, IBUG.colour)]
    seen = float(np.nanmax(by_k, initial=0.0))
    if truth is not None:
        lines.append(StripLine("true noise", np.full(len(k), truth[1]), "text", dash=True))
        seen = max(seen, truth[1])
    scale = Strip(
        title="Its scale against k",
        x=k.astype(np.float64),
        lines=lines,
        x_label="k, neighbours that count",
        y_label=run.fit.data.unit,
        y_limits=(0.0, 1.08 * seen or 1.0),
        marks=[float(look.k)],
        mark_label=chosen,
    )
    strips, tuning, scoring = [affinity, scale], run.search.tuning, run.settings.scoring
    tried = tuning.n_neighbors <= k[-1]
    if tried.sum() > 1:
        scores = tuning.nll if scoring == "nll" else tuning.crps
        strips.append(
            Strip(
                title="The score that chooses k",
                x=tuning.n_neighbors[tried].astype(np.float64),
                lines=[StripLine("validation rows", scores[tried], IBUG.colour)],
                x_label="k, neighbours that count",
                y_label=SCORES[scoring],
                marks=[float(look.k)],
                mark_label=chosen,
            )
        )
    return PanelSheet(
        panels=[],
        strips=strips,
        strip_columns=len(strips),
        strip_height=150,
        alt=describe_scale(run),
        name="why-this-scale",
    )


def _bars(affinities: npt.NDArray[np.int32], edges: Array) -> Array:
    """Rows by affinity: heights at the left edges, the last once more; nothing where none are."""
    counts = np.histogram(affinities, bins=edges)[0]
    heights = np.append(counts, counts[-1:]).astype(np.float64)
    heights[heights <= 0] = np.nan
    return heights


def _curve(y: Array, density: Array, colour: str, width: float) -> Part:
    """A density where it is a number: a family may be refused, or be infinite at an edge."""
    there = np.isfinite(density)
    return line(y[there], density[there], colour, width)


def _histogram(y: Array, targets: Array) -> tuple[Array, Array]:
    """Bars of the targets within ``y``, whose area is the share of them all that lies there."""
    inside = targets[(targets >= y[0]) & (targets <= y[-1])]
    if len(inside) < 2 or float(np.ptp(inside)) == 0.0:
        return np.zeros(0), np.zeros(1)
    bars = int(np.clip(round(2 * len(targets) ** (1 / 3)), 4, _MOST_BARS))
    counts, edges = np.histogram(inside, bins=bars)
    return counts / (len(targets) * np.diff(edges)), edges


# --- The picture ----------------------------------------------------------------------------------


CHOSEN_RANGE = "#0072b2"  # what a range of scales picks out
_TRUTH: Part = {"colour": "text", "width": 1.4, "dash": "6 5"}
_TINT = 0.16
_STRIP_POINTS = 401
_HINT = "Point at the picture, or use its arrow keys, to read values; click or Enter chooses x."


def round_up(value: float) -> float:
    """The next of 1, 1.5, 2, 3, 4, 5, 6, 8, 10 times a power of ten: an axis that seldom moves.

    >>> round_up(0.43), round_up(11), round_up(0.0)
    (0.5, 15.0, 1.0)
    """
    if not value > 0 or not math.isfinite(value):
        return 1.0
    unit = 10.0 ** math.floor(math.log10(value))
    return unit * next(step for step in _STEPS if step * unit >= value * (1 - 1e-9))


_STEPS = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


def course_figure(run: NeighboursRun, knobs: Sequence[LiveKnob] = ()) -> Curves:
    """Rows, prediction and band with the neighbours of one x; below, scale against true noise."""
    data: Any = run.fit.data  # of a set that is drawn: nothing of its grid is None
    view: Any = run.view
    brushed: Any = run.brushed
    loc, scale, near = view.grid_loc, view.grid_scale, near_of(run)
    x, x_rows, at = data.axes[0], data.X[:, 0], float(run.look.x[0])
    spread = np.concatenate([data.y, data.true_mean])
    low, high = float(spread.min()), float(spread.max())
    upper = [low - 0.06 * (high - low), high + 0.06 * (high - low)]
    lower = [0.0, round_up(1.05 * float(max(scale.max(), data.true_std.max())))]
    picked = [] if brushed is None else stretches(x, brushed.grid)
    gaps = hatches(x, ~data.in_support)
    others = others_of(len(x_rows), near)
    dots: Part = {"kind": "dots", "colour": "text", "opacity": 0.28, "role": "others"}
    layers = [
        *(_column(a, b, upper) for a, b in picked),
        *gaps,
        {**band(x, loc - 2 * scale, loc + 2 * scale, IBUG.colour, 0.22), "role": "band"},
        {**dots, "x": rounded(x_rows[others]), "y": rounded(data.y[others])},
        line(x, data.true_mean, **_TRUTH),
        line(x, loc, IBUG.colour, 2.2),
        {**line([at, at], upper, NEAR, 1.2), "role": "place"},
        *_strong(near, x_rows, data.y),
    ]
    below = [
        *(_column(a, b, lower) for a, b in picked),
        *gaps,
        line(x, data.true_std, **_TRUTH),
        {**line(x, scale, IBUG.colour, 2.2), "role": "scale"},
        {**line([at, at], lower, NEAR, 1.2), "role": "place"},
    ]
    aside, aside_entry = density_beside(run, at)
    live: Part = {}
    if (follow := follow_of(run, knobs)) is not None:
        places = np.flatnonzero(np.abs(x - at) < 1e-9)
        live["live"] = {
            "kind": "course",
            "follow": follow,
            "points": True,
            "x": at,
            "place": int(places[0]) if len(places) else None,
            "strength": STRENGTH,
            "noise": float(data.true_std.max()),
        }
    read = (
        ("prediction", loc),
        ("truth", data.true_mean),
        ("scale", scale),
        ("true noise", data.true_std),
    )
    return draw_curves(
        "neighbours",
        describe_choice(run),
        400,
        axis((x[0], x[-1]), "x"),
        [
            panel(upper, data.target_name, layers, 0.66, aside=aside),
            panel(lower, "scale", below, 0.34),
        ],
        [
            {"name": f"the {len(near.rows)} neighbours", **dot_look(NEAR), "role": "near"},
            {
                "name": "prediction \u00b1 2 scales",
                "kind": "band",
                "colour": IBUG.colour,
                "opacity": 0.22,
            },
            {"name": "truth", "kind": "line", **_TRUTH},
            aside_entry,
            *([_RANGE_ENTRY] if picked else []),
            *([{"name": "no rows", "kind": "hatch", "colour": "text"}] if gaps else []),
        ],
        reading(x, "x", [(name, values, name) for name, values in read]),
        hint=_HINT,
        knobs=knobs,
        pick=True,
        **live,
    )


def neighbours_maps(run: NeighboursRun, knobs: Sequence[LiveKnob] = ()) -> PanelSheet:
    """True noise, estimated scale, and how near every cell is to the chosen point."""
    data: Any = run.fit.data  # of a set that is drawn: nothing of its grid is None
    view: Any = run.view
    look: Any = run.look
    brushed: Any = run.brushed
    X, near = data.X, near_of(run)
    true_std, scale, empty, share = (
        part.reshape(data.grid_shape)
        for part in (data.true_std, view.grid_scale, ~data.in_support, look.map_affinity)
    )
    inside = None if brushed is None else brushed.grid.reshape(data.grid_shape)
    low, high = shared_limits([true_std, scale])
    scale_limits = (min(low, 0.0), high)
    few = others_of(len(X), near)
    at = np.concatenate([few, near.rows]).astype(np.int64)
    group = np.repeat([0, 1], [len(few), len(near.rows)])
    names = ("training rows", f"the {len(near.rows)} neighbours")
    rows = Points(X[at, 0], X[at, 1], group, names, ("#c8c8c8", NEAR), 2.7, 0.85)
    only_near = Points(
        X[near.rows, 0], X[near.rows, 1], None, names[1:], (NEAR,), radius=3.4, opacity=0.9
    )
    std_unit = f"std, {data.unit}"
    maps = (
        Panel(
            title="True noise", values=true_std, unit=std_unit, limits=scale_limits, hatched=empty
        ),
        Panel(
            title="Estimated scale",
            values=scale,
            unit=std_unit,
            limits=scale_limits,
            hatched=empty,
            points=only_near,
            accent=IBUG.colour,
        ),
        Panel(
            title="Affinity with the point",
            values=share / look.n_trees,
            unit="of the trees",
            limits=(0.0, 1.0),
            colour_map="viridis",
            points=rows,
            accent=NEAR,
        ),
    )
    x_extent, y_extent = (_edges(axis) for axis in data.axes)
    follow, strips = follow_of(run, knobs), (_targets_strip(run),) if knobs else ()
    sheet = PanelSheet(
        panels=[replace(panel, outlined=inside) for panel in maps],
        columns=3,
        x_label="x1",
        y_label="x2",
        x_extent=x_extent,
        y_extent=y_extent,
        panel_height=330,
        hatch_label="no training rows",
        outline_label="scale in the chosen range" if inside is not None else "",
        markers=(Marker(float(look.x[0]), float(look.x[1]), legend="the place you look at"),),
        alt=describe_choice(run),
        name="neighbours",
        strips=strips,
        strip_height=90,
        knobs=knobs,
    )
    if follow is None:
        return sheet
    # What near_maps.js reads.
    noise = [float(true_std.min()), float(true_std.max())]
    following = {"follow": follow, "place": _cell(data.axes, look.x), "noise": noise}
    return replace(sheet, near={**following, "most": MOST_DOTS, "strip": 0})


def _targets_strip(run: NeighboursRun) -> Strip:
    """The neighbours' targets with the density in use, over all targets of the data."""
    look, targets, name = run.look, run.fit.data.y, density_name(run)
    low, high = float(targets.min()), float(targets.max())
    y = np.linspace(low - 0.1 * (high - low), high + 0.1 * (high - low), _STRIP_POINTS)
    density = np.interp(y, look.y_grid, np.nan_to_num(look.densities[look.family]), 0.0, 0.0)
    return family_strip(run, y, {name: density}, name)


def _edges(places: Array) -> tuple[float, float]:
    """The outer edges of cells with these middles."""
    half = 0.5 * float(places[1] - places[0])
    return float(places[0]) - half, float(places[-1]) + half


def _cell(axes: Sequence[Array], point: Array) -> int | None:
    """The cell whose middle a point is, counted row by row; None if it is none's."""
    place, stride = 0, 1
    for places, at in zip(axes, point, strict=True):
        cell = float((at - places[0]) / (places[1] - places[0]))
        if abs(cell - round(cell)) > 1e-6 or not 0 <= round(cell) < len(places):
            return None
        place += stride * round(cell)
        stride *= len(places)
    return place


def _strong(near: Near, x: Array, y: Array) -> list[Part]:
    return [
        {**plain_dots(x[rows], y[rows], NEAR, opacity, size), "role": "near"}
        for rows, size, opacity in by_strength(near)
    ]


def _column(low: float, high: float, limits_of_y: Sequence[float]) -> Part:
    """A stretch of x whose scale lies in the range that is looked at."""
    bottom, top = limits_of_y
    tint = band([low, high], [bottom, bottom], [top, top], CHOSEN_RANGE, _TINT)
    return {**tint, "role": "range"}


_RANGE_ENTRY: Part = {
    "name": "scale in the chosen range",
    "kind": "band",
    "colour": CHOSEN_RANGE,
    "opacity": _TINT,
}


_MORE_OFTEN = 2.0  # times, among the neighbours of the highlighted rows
_HEIGHT = 360


def held_out_figure(run: NeighboursRun, knobs: Sequence[LiveKnob] = ()) -> Curves:
    """Held-out rows by prediction and scale, coloured by their error; the chosen one ringed."""
    data, loc, scale, chosen = run.fit.data, run.view.loc, run.view.scale, run.look.row
    brushed, error = run.brushed, np.abs(data.y_test - run.view.loc)
    live: Part = {}
    if (follow := follow_of(run, knobs)) is not None:
        live["live"] = {"kind": "held", "follow": follow, "points": True, "place": chosen}
    layers, legend = error_dots(error, "absolute error", None if brushed is None else brushed.rows)
    x, y = rounded([loc[chosen], scale[chosen]])
    top = round_up(1.03 * float(scale.max()))
    of = f" ({data.target_name})"
    return draw_curves(
        "held-out-rows",
        describe_choice(run),
        _HEIGHT,
        axis(room_around(loc), f"prediction{of}"),
        [panel([-0.02 * top, top], f"scale{of}", layers, ring={"x": x, "y": y, "colour": NEAR})],
        legend,
        reading(
            loc,
            "row",
            [("prediction", loc), ("scale", scale, "scale"), ("error", error)],
            y=rounded(scale),
            names=[*range(1, len(loc) + 1)],
        ),
        hint="Point at a dot to read its row, click to choose it; drag a frame to look closer.",
        knobs=knobs,
        pick=True,
        **live,
    )


def training_figure(run: NeighboursRun, knobs: Sequence[LiveKnob] = ()) -> Curves:
    """Training rows by one column and their target, with the neighbours of the chosen row."""
    look, target, near = run.look, run.fit.data.y, near_of(run)
    across, value, places = _across(run)
    share = np.zeros(len(target))
    share[near.rows] = near.share
    drawn_rows = np.union1d(others_of(len(target), near), near.rows).astype(np.int64)
    place = {int(row): i for i, row in enumerate(drawn_rows)}
    chosen_rows = set(near.rows.tolist())  # one may share no tree at all
    others = [i for row, i in place.items() if row not in chosen_rows]
    layers: list[Part] = [{**readable_dots(others, "text", 0.28, 4.5), "role": "others"}]
    marked = behind_range(run)
    if marked is not None:
        blue = [i for row, i in place.items() if marked[row] and row not in chosen_rows]
        layers.append({**readable_dots(blue, CHOSEN_RANGE, 0.8, 5.0), "role": "marked"})
    for rows, size, opacity in by_strength(near):
        at = [place[int(row)] for row in rows]
        layers.append({**readable_dots(at, NEAR, opacity, size), "role": "near"})
    low, high = look.loc - 2 * look.scale, look.loc + 2 * look.scale
    bar = line([value, value], [low, high], IBUG.colour, 3.0)
    own = {**_OWN_TARGET, "x": rounded([value]), "y": rounded([look.target]), "role": "own"}
    drawn = [part for part in layers if part["at"]] + [{**bar, "role": "bar"}, own]
    x, y = rounded([value, look.loc])
    aside, aside_entry = density_beside(run, value)
    live: Part = {}
    if (follow := follow_of(run, knobs)) is not None:
        live["live"] = {
            "kind": "training",
            "follow": follow,
            "place": look.row,
            "strength": STRENGTH,
            "across": rounded(places),
        }
    trees = np.where(share[drawn_rows] > 0.0, share[drawn_rows], np.nan)
    seen = room_around([*target, low, high, float(look.target or 0.0)])
    return draw_curves(
        "training-rows",
        describe_choice(run),
        _HEIGHT,
        axis(room_around(np.append(across, value)), run.settings.across),
        [
            panel(
                seen,
                run.fit.data.target_name,
                drawn,
                ring={"x": x, "y": y, "colour": NEAR},
                aside=aside,
            )
        ],
        [
            {"name": f"{len(near.rows)} neighbours", **dot_look(NEAR), "role": "near"},
            aside_entry,
            entry("\u00b1 2 scales", bar),
            entry("its own target", _OWN_TARGET),
            *([_BEHIND] if marked is not None else []),
        ],
        reading(
            across[drawn_rows],
            "training row",
            [("target", target[drawn_rows]), ("share of trees", trees, "share")],
            y=rounded(target[drawn_rows]),
            names=(drawn_rows + 1).tolist(),
        ),
        hint="Point at a dot to read its training row; drag a frame to look closer.",
        pick=False,
        **live,
    )


def _across(run: NeighboursRun) -> tuple[Array, float, Array]:
    """The column that training rows are drawn by; the chosen row's value in it, and all others'."""
    fit, look, name = run.fit, run.look, run.settings.across
    if name == PREDICTION:
        return fit.source.predict(fit.data.X), look.loc, run.view.loc
    column = fit.data.feature_names.index(name)
    return fit.data.X[:, column], float(look.x[column]), fit.data.X_test[:, column]


def behind_range(run: NeighboursRun) -> Mask | None:
    """Training rows that are neighbours of highlighted rows at least twice as often as of others.

    None if no range is chosen or it holds no row.
    """
    brushed = run.brushed
    if brushed is None or not brushed.n_rows:
        return None
    indices, n = run.search.near_test.indices[:, : run.view.k], len(run.fit.data.y)
    inside, outside = (
        np.bincount(indices[rows].ravel(), minlength=n) / max(int(rows.sum()), 1)
        for rows in (brushed.rows, ~brushed.rows)
    )
    return (inside > 0) & (inside >= _MORE_OFTEN * outside)


_OWN_TARGET: Part = {"kind": "dots", "colour": "text", "opacity": 1.0, "size": 9.0}
_BEHIND: Part = {
    "name": "neighbours of highlighted rows",
    "kind": "dots",
    "colour": CHOSEN_RANGE,
    "opacity": 0.8,
    "size": 5.0,
}
