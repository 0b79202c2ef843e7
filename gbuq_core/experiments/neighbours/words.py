"""The Neighbours page in words, from its numbers; what IBUG cannot know included."""

from __future__ import annotations

import math

import numpy as np

from gbuq_core.experiments.neighbours.data import NeighboursData
from gbuq_core.experiments.neighbours.fit import NeighboursFit, NeighboursSearch, NeighboursView
from gbuq_core.experiments.neighbours.look import NeighboursLook, NeighboursRun, runs_flat
from gbuq_core.metrics import rmse
from gbuq_core.presentation import counted, digits, short

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
