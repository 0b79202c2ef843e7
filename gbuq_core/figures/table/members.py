"""What the members of an ensemble say about one row.

The figures are Vega-Lite specifications: it draws the user's words (target, classes) as plain
text, where Plotly would read tags in them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gbuq_core.figures.theme import MethodStyle, ink
from gbuq_core.figures.vega import (
    AXIS_HEIGHT,
    Spec,
    bars_of,
    distinct,
    layer,
    own_colour,
    quantity,
    tip,
)
from gbuq_core.presentation import one_line, short

_MOST_CLASSES = 8
_ROW_HEIGHT = 17


class MemberValues(NamedTuple):
    """One row's predictions by a regression ensemble."""

    # `means`, `stds`: (n_members,): of each member, in units of the target
    means: np.ndarray
    stds: np.ndarray
    total_std: float  # of the ensemble
    truth: float  # naN where it is unknown
    target: str  # the user's name for the target


class MemberClasses(NamedTuple):
    """One row's probabilities by a classification ensemble.

    ``probabilities`` is (n_members, n_classes), ``classes`` holds the labels, ``truth`` is the
    position of the true class or None.
    """

    probabilities: np.ndarray
    classes: tuple[str, ...]
    truth: int | None


def member_values_figure(members: MemberValues, style: MethodStyle, dark: bool = False) -> Spec:
    """One line a member: its mean as a dot, its own noise as a bar; the ensemble below.

    The spread of the dots is knowledge uncertainty, the length of the bars data uncertainty.
    """
    count = len(members.means)
    names = [f"member {i + 1}" for i in range(count)] + ["ensemble"]
    centres = [*members.means.tolist(), float(members.means.mean())]
    stds = [*members.stds.tolist(), members.total_std]
    colours = [style.colour] * count + [ink(dark).truth]
    rows = [
        {"c0": name, "c1": loc, "c2": loc - 2 * std, "c3": loc + 2 * std, "c4": colour}
        for name, loc, std, colour in zip(names, centres, stds, colours, strict=True)
    ]
    y = bars_of(names, 90)
    colour = own_colour("c4")
    scale = {"zero": False}
    tips = [
        tip("c0", "who"),
        tip("c1", "mean", ".4g"),
        tip("c2", "2 std below", ".4g"),
        tip("c3", "2 std above", ".4g"),
    ]
    title = one_line(members.target, 60)  # the same in all layers, or Vega-Lite would join them
    dots_x = quantity("c1", title, scale=scale)
    shared = {"y": y, "color": colour, "tooltip": tips}
    bar = {"strokeWidth": 4, "opacity": 0.35, "strokeCap": "round"}
    layers = [
        layer("rule", bar, x=quantity("c2", title, scale=scale), x2={"field": "c3"}, **shared),
        layer("point", {"filled": True, "size": 55, "opacity": 1}, x=dots_x, **shared),
    ]
    if np.isfinite(members.truth):
        truth = {"color": "#d55e00", "strokeDash": [5, 3], "strokeWidth": 2}
        at = [{"c1": members.truth}]
        truth_tips = [tip("c1", "true value", ".4g")]
        layers.append(layer("rule", truth, values=at, x=dots_x, tooltip=truth_tips))
    height = _ROW_HEIGHT * (count + 1) + AXIS_HEIGHT
    return {"height": height, "data": {"values": rows}, "layer": layers}


def member_means_figure(members: MemberValues, style: MethodStyle) -> Spec:
    """The members' means alone, on a scale of their own: what knowledge uncertainty measures."""
    rows = [{"c0": i + 1, "c1": float(mean)} for i, mean in enumerate(members.means)]
    x = quantity(
        "c1",
        "means of the members, enlarged",
        scale={"zero": False, "nice": False, "padding": 8},
        axis={"tickCount": 5, "grid": False},
    )
    return {
        "height": 28 + AXIS_HEIGHT,
        "data": {"values": rows},
        **layer(
            "tick",
            {"thickness": 3, "size": 22, "color": style.colour},
            x=x,
            tooltip=[tip("c0", "member"), tip("c1", "mean", ".5g")],
        ),
    }


def member_classes_figure(members: MemberClasses, style: MethodStyle) -> Spec:
    """One line a class: each member's probability as a dot, the ensemble's as a bar.

    Dots that disagree are knowledge uncertainty; bars of equal length are data uncertainty.
    """
    mean = members.probabilities.mean(axis=0)
    codes = np.argsort(-mean, kind="stable")[:_MOST_CLASSES]
    labels = distinct([_class_label(members, int(c)) for c in codes])
    bars = [{"c0": label, "c1": float(mean[c])} for label, c in zip(labels, codes, strict=True)]
    dots = [
        {"c0": label, "c1": float(p), "c2": f"member {i + 1}"}
        for label, c in zip(labels, codes, strict=True)
        for i, p in enumerate(members.probabilities[:, c])
    ]
    y = bars_of(labels, 130)
    x = quantity("c1", "probability", scale={"domain": [0, 1]})
    tips = [tip("c2", "who"), tip("c1", "probability", ".3f")]
    bar = {"color": style.colour, "opacity": 0.3, "height": 16}
    dot = {"filled": True, "size": 40, "color": style.colour, "opacity": 0.75}
    layers = [
        layer("bar", bar, values=bars, x=x, y=y),
        layer("point", dot, values=dots, x=x, y=y, tooltip=tips),
    ]
    return {"height": max(90, 34 * len(codes)) + AXIS_HEIGHT, "layer": layers}


def describe_members(means: np.ndarray, stds: np.ndarray) -> str:
    """How far the members agree, for a text alternative.

    >>> describe_members(np.array([1.0, 3.0]), np.array([0.5, 0.5]))
    '2 members predict from 1 to 3, each with a std of about 0.5.'
    """
    return (
        f"{len(means)} members predict from {short(means.min(), 4)} to {short(means.max(), 4)}, "
        f"each with a std of about {short(np.median(stds))}."
    )


def _class_label(members: MemberClasses, position: int) -> str:
    """A class's words, cut to a readable length but never to the same text for two classes."""
    words = members.classes[position]
    text = words if len(words) <= 40 else f"{words[:38]}\u2026 ({position + 1})"
    return f"{text} (true)" if position == members.truth else text
