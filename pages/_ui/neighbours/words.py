"""Neighbours in words: the chosen prediction, and the rows that a range of scales picks out."""

from __future__ import annotations

import math

import numpy as np

from gbuq_core.experiments.neighbours.fit import Brushed, NeighboursFit, NeighboursView
from gbuq_core.experiments.neighbours.look import NeighboursLook
from gbuq_core.presentation import digits, short


def title_of(fit: NeighboursFit, look: NeighboursLook) -> str:
    """What is looked at."""
    if look.row is not None:
        return f"Held-out row {look.row + 1} of {len(fit.data.y_test)}"
    at = zip(fit.data.feature_names, look.x.tolist(), strict=True)
    return "At " + ", ".join(f"{name} = {short(value)}" for name, value in at)


def describe_choice(fit: NeighboursFit, look: NeighboursLook) -> str:
    """What is predicted there, and from which rows: two sentences or three."""
    head = f"{title_of(fit, look)}: IBUG predicts {digits(look.loc)} \u00b1 {digits(look.scale)}"
    known = truth_at(fit, look)
    if look.target is not None:
        head += f", and the row's own target is {digits(look.target)}"
    elif known is not None:
        head += f"; the true mean is {digits(known[0])} and the true noise {digits(known[1])}"
    first, last = int(look.affinities[0]), int(look.affinities[-1])
    shared = f"{last:,} to {first:,}" if last < first else f"{first:,}"
    parts = [head, f"{_where(fit, look)} and share its leaf in {shared} of {look.n_trees:,} trees"]
    if not supported(fit, look):
        parts.append(
            "There are no training rows here. The neighbours come from the edge of the data, and "
            "the scale is the spread of their targets"
        )
    return ". ".join(parts) + "."


def _where(fit: NeighboursFit, look: NeighboursLook) -> str:
    """Where the neighbours lie, as the beginning of a sentence."""
    low, high = digits(float(look.targets.min())), digits(float(look.targets.max()))
    if fit.data.n_inputs == 1:
        first, last = (short(end(look.features[:, 0])) for end in (np.min, np.max))
        at = f"x from {first} to {last}" if first != last else f"x = {first}"
        return f"Its {look.k} neighbours lie at {at}"
    if fit.data.n_inputs == 2:
        far = np.hypot(*(look.features - look.x).T)
        return f"Its {look.k} neighbours lie within {digits(float(far.max()))} of it"
    return f"Its {look.k} neighbours have targets from {low} to {high}"


def _cell(fit: NeighboursFit, look: NeighboursLook) -> int | None:
    """The place of the grid that lies nearest; None for a table."""
    if fit.data.grid is None:
        return None
    return int(np.argmin(np.abs(fit.data.grid - look.x).max(axis=1)))


def supported(fit: NeighboursFit, look: NeighboursLook) -> bool:
    """Whether training rows can lie where the reader looks."""
    cell = _cell(fit, look)
    return cell is None or fit.data.in_support is None or bool(fit.data.in_support[cell])


def truth_at(fit: NeighboursFit, look: NeighboursLook) -> tuple[float, float] | None:
    """The true mean and the std of the noise at the nearest place of the grid, if known."""
    data, cell = fit.data, _cell(fit, look)
    if cell is None or data.true_mean is None or data.true_std is None:
        return None
    return float(data.true_mean[cell]), float(data.true_std[cell])


def describe_brush(
    fit: NeighboursFit, view: NeighboursView, brushed: Brushed | None, scales: tuple[int, int]
) -> str:
    """How many rows a range of scales holds, and how wrong they are; nothing without a range."""
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
