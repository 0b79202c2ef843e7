"""What the members say about one row while trees are added."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gbuq_core.figures.colour import OKABE_ITO
from gbuq_core.figures.curves import Curves, draw_curves
from gbuq_core.figures.curves.parts import (
    Part,
    around,
    axis,
    band,
    entry,
    line,
    panel,
    plain_dots,
    reading,
)
from gbuq_core.presentation import one_line, short

_STDS = 2.0
_MOST_CLASSES = 5


class Growing(NamedTuple):
    """A row tree by tree."""

    n_trees: np.ndarray  # (n_stages,)
    # `loc`, `scale`: (n_models, n_stages): means and stds, or the probabilities of the predicted
    # class and an empty array
    loc: np.ndarray
    scale: np.ndarray
    # (n_classes, n_stages): mean probabilities of the classes, the predicted one first; empty for a
    # regression
    others: np.ndarray
    names: tuple[str, ...]  # of these classes: the user's words
    member_trees: np.ndarray  # where members stop: several of one model, or one of several models
    scale_trees: int  # where the stds stop
    truth: float  # naN where it is not known, or for classes
    label: str  # of the axis: the user's word
    colour: str


def growing_figure(row: Growing, height: int = 300) -> Curves:
    """A line a model, its interval of 2 std, a dot at each member, the trees in use marked."""
    x, used = row.n_trees, int(row.member_trees[-1])
    mean = row.loc.mean(axis=0)
    parts: list[tuple[str, Part]] = []  # those without a name are in no legend
    values = [row.loc]
    if row.scale.size:
        std = np.sqrt((row.scale**2).mean(axis=0))
        low, high = mean - _STDS * std, mean + _STDS * std
        parts.append(("2 std of noise", band(x, low, high, row.colour, 0.18)))
        values += [low, high]
    for k, name in enumerate(row.names[1:_MOST_CLASSES], start=1):
        other = line(x, row.others[k], OKABE_ITO[(k + 1) % len(OKABE_ITO)], 1.2, "2 3")
        parts.append((one_line(name, 20), other))
        values.append(row.others[k])
    n_models = len(row.loc)
    lines = [line(x, loc, row.colour, 2.0 if n_models == 1 else 1.2) for loc in row.loc]
    name = "mean" if not row.names else one_line(row.names[0], 20)
    parts.append((name if n_models == 1 else f"{name} of {n_models} models", lines[0]))
    parts += [("", part) for part in lines[1:]]
    at = np.flatnonzero(np.isin(x, row.member_trees))
    dots = plain_dots(np.tile(x[at], n_models), row.loc[:, at].ravel(), row.colour, 1.0, 7)
    parts.append(("members", dots))
    if np.isfinite(row.truth):
        values.append(np.array([row.truth]))
        truth = line([0.0, float(x[-1])], [row.truth] * 2, "#d55e00", 1.6, "5 3")
        parts.append(("true value", truth))
    limits = [0.0, 1.0] if row.names else around(*values, room=0.05)
    for trees, dash, what in ((used, "6 4", "in use"), (row.scale_trees, "2 3", "for the noise")):
        if what == "in use" or trees != used:
            mark = line([trees, trees], limits, "text", 1.2, dash)
            parts.append((f"{trees:,} trees {what}", mark))
    readings = [("mean", mean)]
    if row.scale.size:
        readings += [("2 std below", low), ("2 std above", high)]
    elif n_models > 1:
        readings += [("lowest model", row.loc.min(axis=0)), ("highest", row.loc.max(axis=0))]
    return draw_curves(
        "members-by-trees",
        describe_growing(row),
        height,
        axis((0.0, x[-1]), "trees"),
        [panel(limits, one_line(row.label, 40), [part for _, part in parts])],
        [entry(name, part) for name, part in parts if name],
        reading(x, "trees:", readings),
    )


def describe_growing(row: Growing) -> str:
    """The picture in words."""
    used = int(row.member_trees[-1])
    at = int(np.searchsorted(row.n_trees, used))
    mean = row.loc.mean(axis=0)
    what = f"The probability of {row.names[0]}" if row.names else "The mean"
    return (
        f"{what} is {short(mean[0])} with {row.n_trees[0]:,} trees, {short(mean[at])} with the "
        f"{used:,} in use and {short(mean[-1])} with all {row.n_trees[-1]:,}."
    )
