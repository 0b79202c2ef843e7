"""One row's values against the training rows, and what its uncertainty comes from.

Altair draws column names and values as plain text, whatever is in them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import pandas as pd

from gbuq_core.figures.table_rejection import KIND_COLOURS

_ROW_HEIGHT = 26


class FeatureValue(NamedTuple):
    """One feature of one row.

    Attributes
    ----------
    name, value : str
        The user's words.
    percentile : float
        For a number: how many of the training rows lie below it, 0 to 100; else NaN.
    share : float
        For a category or a missing value: how many of the training rows have the same, 0 to 100.
    note : str
        "outside the training range", "never seen in training", "missing", or nothing.
    """

    name: str
    value: str
    percentile: float
    share: float
    note: str = ""


def positions_figure(features: Sequence[FeatureValue]) -> Any:
    """A strip a feature: the middle half of the training rows shaded, the row's place marked.

    A category has a bar as long as its share of the training rows instead. What is outside the
    training rows, or was never there, is vermilion.
    """
    labels = _labels([f"{_cut(f.name, 24)}: {_cut(f.value, 14)}" for f in features])
    frame = pd.DataFrame(
        {
            "c0": labels,
            "c1": [0.0 if np.isnan(f.percentile) else f.percentile for f in features],
            "c2": [f.share for f in features],
            "c3": [f.note or _in_numbers(f) for f in features],
            "c4": [bool(f.note) for f in features],
            "c5": [bool(np.isnan(f.percentile)) for f in features],
        }
    )
    y = alt.Y("c0:N", sort=labels, title=None, axis=_name_axis(190))
    x = alt.X(
        "c6:Q",
        title="percentile; bars: share of rows",
        scale=alt.Scale(domain=[0, 100]),
        axis=alt.Axis(values=[0, 25, 50, 75, 100], format="d"),
    )
    tips = [alt.Tooltip("c0:N", title="value"), alt.Tooltip("c3:N", title="place")]
    colour = alt.condition("datum.c4", alt.value("#d55e00"), alt.value("#0072b2"))
    numbers, others = frame[~frame["c5"]], frame[frame["c5"]]
    back = pd.concat(
        [numbers.assign(c6=0.0, c7=100.0, c8=0.12), numbers.assign(c6=25.0, c7=75.0, c8=0.25)]
    )
    strip = (
        alt.Chart(back)
        .mark_bar(color="#7f7f7f", height=10)
        .encode(x=x, x2="c7:Q", y=y, opacity=alt.Opacity("c8:Q", scale=None))
    )
    shares = (
        alt.Chart(others.assign(c6=0.0, c7=others["c2"]))
        .mark_bar(height=10, opacity=0.6)
        .encode(x=x, x2="c7:Q", y=y, color=colour, tooltip=tips)
    )
    marks = (
        alt.Chart(numbers.assign(c6=numbers["c1"]))
        .mark_tick(thickness=4, size=18)
        .encode(x=x, y=y, color=colour, tooltip=tips)
    )
    notes = (
        alt.Chart(frame[frame["c4"]].assign(c6=50.0))
        .mark_text(color="#d55e00", fontWeight="bold")
        .encode(x=x, y=y, text="c3:N")
    )
    height = _ROW_HEIGHT * max(len(features), 1)
    return alt.layer(strip, shares, marks, notes).properties(height=height)


def contributions_figure(names: Sequence[str], changes: np.ndarray, kind: str, unit: str) -> Any:
    """Bars of how much of one uncertainty of a row hangs on each feature.

    Parameters
    ----------
    names : sequence of str
        Of the features, in the order to show.
    changes : ndarray of shape (n_features,)
        Positive: a usual value would make the row less uncertain.
    kind : {"total", "data", "knowledge"}
    unit : str
        Not a user's text.
    """
    labels = _labels([_cut(name, 28) for name in names])
    frame = pd.DataFrame({"c0": labels, "c1": np.asarray(changes, float)})
    return (
        alt.Chart(frame)
        .mark_bar(height=12, color=KIND_COLOURS[kind])
        .encode(
            x=alt.X("c1:Q", title=f"{kind} uncertainty ({unit})", axis=alt.Axis(tickCount=4)),
            y=alt.Y("c0:N", sort=labels, title=None, axis=_name_axis(130)),
            tooltip=[
                alt.Tooltip("c0:N", title="column"),
                alt.Tooltip("c1:Q", title="hangs on it", format="+.3g"),
            ],
        )
        .properties(height=_ROW_HEIGHT * max(len(labels), 1))
    )


def _in_numbers(feature: FeatureValue) -> str:
    if np.isnan(feature.percentile):
        return f"{feature.share:.3g} % of the training rows have it"
    return f"{feature.percentile:.3g} % of the training rows lie below"


def _name_axis(limit: int) -> Any:
    return alt.Axis(
        labelLimit=limit, labelOverlap=False, labelFlush=False, ticks=False, domain=False
    )


def _labels(texts: Sequence[str]) -> list[str]:
    """Texts kept distinct, since a label is also a position."""
    labels: list[str] = []
    for text in texts:
        labels.append(text if text not in labels else f"{text} ({len(labels) + 1})")
    return labels


def _cut(text: str, length: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1]}\u2026"
