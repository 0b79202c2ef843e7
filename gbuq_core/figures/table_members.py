"""What the members of an ensemble say about one row.

Altair draws the user's words (target, classes) as plain text; Plotly would read tags in them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import altair as alt
import numpy as np
import pandas as pd

from gbuq_core.figures.theme import MethodStyle, ink

_MOST_CLASSES = 8
_ROW_HEIGHT = 17


class MemberValues(NamedTuple):
    """One row's predictions by a regression ensemble.

    Attributes
    ----------
    means, stds : ndarray of shape (n_members,)
        Of each member, in units of the target.
    total_std : float
        Of the ensemble.
    truth : float
        NaN where it is unknown.
    target : str
        The user's name for the target.
    """

    means: np.ndarray
    stds: np.ndarray
    total_std: float
    truth: float
    target: str


class MemberClasses(NamedTuple):
    """One row's probabilities by a classification ensemble.

    ``probabilities`` is (n_members, n_classes), ``classes`` holds the labels, ``truth`` is the
    position of the true class or None.
    """

    probabilities: np.ndarray
    classes: tuple[str, ...]
    truth: int | None


def member_values_figure(members: MemberValues, style: MethodStyle, dark: bool = False) -> Any:
    """One line a member: its mean as a dot, its own noise as a bar; the ensemble below.

    The spread of the dots is knowledge uncertainty, the length of the bars data uncertainty.
    """
    count = len(members.means)
    names = [f"member {i + 1}" for i in range(count)] + ["ensemble"]
    loc = float(members.means.mean())
    centre = np.append(members.means, loc)
    half = 2.0 * np.append(members.stds, members.total_std)
    frame = pd.DataFrame(
        {"c0": names, "c1": centre, "c2": centre - half, "c3": centre + half,
         "c4": ["member"] * count + ["ensemble"]}
    )  # fmt: skip
    y = alt.Y(
        "c0:N",
        sort=names,
        title=None,
        axis=alt.Axis(labelOverlap=False, labelFlush=False, ticks=False),
    )
    colour = alt.Color(
        "c4:N",
        legend=None,
        scale=alt.Scale(domain=["member", "ensemble"], range=[style.colour, ink(dark).truth]),
    )
    base = alt.Chart(frame)
    tips = [
        alt.Tooltip("c0:N", title="who"),
        alt.Tooltip("c1:Q", title="mean", format=".4g"),
        alt.Tooltip("c2:Q", title="2 std below", format=".4g"),
        alt.Tooltip("c3:Q", title="2 std above", format=".4g"),
    ]
    bars = base.mark_rule(strokeWidth=4, opacity=0.35, strokeCap="round").encode(
        x=alt.X("c2:Q", title=members.target[:60], scale=alt.Scale(zero=False)), x2="c3:Q", y=y,
        color=colour, tooltip=tips,
    )  # fmt: skip
    dots = base.mark_point(filled=True, size=55, opacity=1).encode(
        x="c1:Q", y=y, color=colour, tooltip=tips
    )
    layers = [bars, dots]
    if np.isfinite(members.truth):
        truth = alt.Chart(pd.DataFrame({"c1": [members.truth]}))
        layers.append(
            truth.mark_rule(color="#d55e00", strokeDash=[5, 3], strokeWidth=2).encode(
                x="c1:Q", tooltip=[alt.Tooltip("c1:Q", title="true value", format=".4g")]
            )
        )
    return alt.layer(*layers).properties(height=_ROW_HEIGHT * (count + 1) + 10)


def member_means_figure(members: MemberValues, style: MethodStyle) -> Any:
    """The members' means alone, on a scale of their own: what knowledge uncertainty measures."""
    frame = pd.DataFrame({"c0": range(1, len(members.means) + 1), "c1": members.means})
    return (
        alt.Chart(frame)
        .mark_tick(thickness=3, size=22, color=style.colour)
        .encode(
            x=alt.X(
                "c1:Q",
                title="means of the members, enlarged",
                scale=alt.Scale(zero=False, nice=False, padding=8),
                axis=alt.Axis(tickCount=5, grid=False),
            ),
            tooltip=[
                alt.Tooltip("c0:Q", title="member"),
                alt.Tooltip("c1:Q", title="mean", format=".5g"),
            ],
        )
        .properties(height=34)
    )


def member_classes_figure(members: MemberClasses, style: MethodStyle) -> Any:
    """One line a class: each member's probability as a dot, the ensemble's as a bar.

    Dots that disagree are knowledge uncertainty; bars of equal length are data uncertainty.
    """
    mean = members.probabilities.mean(axis=0)
    shown = np.argsort(-mean, kind="stable")[:_MOST_CLASSES]
    count = len(members.probabilities)
    labels = [_class_label(members, int(c)) for c in shown]
    frame = pd.DataFrame(
        {
            "c0": np.repeat(labels, count),
            "c1": members.probabilities[:, shown].T.ravel(),
            "c2": np.tile([f"member {i + 1}" for i in range(count)], len(shown)),
        }
    )
    bars = pd.DataFrame({"c0": labels, "c1": mean[shown]})
    y = alt.Y(
        "c0:N",
        sort=labels,
        title=None,
        axis=alt.Axis(labelLimit=130, labelOverlap=False, labelFlush=False, ticks=False),
    )
    x = alt.X("c1:Q", title="probability", scale=alt.Scale(domain=[0, 1]))
    bar = alt.Chart(bars).mark_bar(color=style.colour, opacity=0.3, height=16).encode(x=x, y=y)
    dots = (
        alt.Chart(frame)
        .mark_point(filled=True, size=40, color=style.colour, opacity=0.75)
        .encode(
            x="c1:Q",
            y=y,
            tooltip=[
                alt.Tooltip("c2:N", title="who"),
                alt.Tooltip("c1:Q", title="probability", format=".3f"),
            ],
        )
    )
    return (bar + dots).properties(height=max(110, 34 * len(shown)))


def describe_members(means: np.ndarray, stds: np.ndarray) -> str:
    """How far the members agree, for a text alternative.

    Examples
    --------
    >>> describe_members(np.array([1.0, 3.0]), np.array([0.5, 0.5]))
    '2 members predict from 1 to 3, each with a std of about 0.5.'
    """
    return (
        f"{len(means)} members predict from {means.min():.4g} to {means.max():.4g}, each with a "
        f"std of about {np.median(stds):.3g}."
    )


def _class_label(members: MemberClasses, position: int) -> str:
    """A class's words, cut to a readable length but never to the same text for two classes."""
    words = members.classes[position]
    text = words if len(words) <= 40 else f"{words[:38]}\u2026 ({position + 1})"
    return f"{text} (true)" if position == members.truth else text
