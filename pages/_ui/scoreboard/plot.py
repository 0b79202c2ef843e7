"""Error against seconds: a dot for each method, by Altair."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import streamlit as st

from gbuq_core.figures.theme import ink
from gbuq_core.presentation import seconds_text, short
from gbuq_core.scoreboard.board import (
    MEASURES,
    BoardNumber,
    best_for_their_time,
    method_label,
    method_record,
)
from pages._ui.export import is_dark
from pages._ui.scoreboard.controls import OWN

_HEIGHT = 370
_OTHER = "#7f7f7f"  # of methods of other libraries
_SECONDS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)  # ticks
_LEAST = 4.0  # times more seconds at the right end than at the left, so that ticks show
_WIDE, _HIGH = 560, 300  # pixels of the plot within its axes, at least
_LINE, _LETTER = 16, 8  # pixels of a name, and of its letters
_NARROW = 480  # below it one name has room


def draw_plot(numbers: Sequence[BoardNumber], marked: Collection[str]) -> None:
    """Draw the methods of one table; the ``marked`` ones have a ring."""
    import altair as alt

    measure = MEASURES[numbers[0].measure]
    best = best_for_their_time(numbers)
    log = not measure.higher and all(number.mean > 0.0 for number in numbers)
    low, high = _limits([number.mean for number in numbers], log)
    seconds = _limits([number.seconds for number in numbers], True, room=0.16, least=_LEAST)
    places = {
        each: (_share(each.seconds, *seconds, True), _share(each.mean, low, high, log))
        for each in best
    }
    named = _named(best, places)
    rows = [
        {
            **_row(number),
            "best": number in best,
            "named": number in named,
            "first": number is best[-1],
            "left": number in best and places[number][0] < 0.5,
            "marked": number.method in marked,
        }
        for number in numbers
    ]
    ground = ink(is_dark()).truth
    unit = f", {measure.unit}" if measure.unit else ""
    better = "higher" if measure.higher else "lower"
    x = alt.X(
        "seconds:Q",
        title="Seconds" if numbers[0].set == OWN else "Seconds of one processor core",
        scale=alt.Scale(type="log", domain=seconds, nice=False),
        axis=alt.Axis(values=_SECONDS, format="~f"),
    )
    y = alt.Y(
        "mean:Q",
        title=f"{measure.term}{unit} ({better} is better)",
        scale=alt.Scale(type="log" if log else "linear", domain=(low, high), nice=False),
        axis=alt.Axis(format="~f", tickCount=6),
    )
    colour = alt.Color("colour:N", scale=None)
    on_the_right = f"(width < {_NARROW} && datum.left)"
    every = alt.Chart(alt.Data(values=rows)).encode(x=x, y=y)
    of_best = every.transform_filter("datum.best")
    layers = (
        of_best.mark_line(
            interpolate="step-after",
            strokeWidth=1.5,
            strokeDash=[4, 3],
            color=ground,
            opacity=0.5,
            aria=False,
        ).encode(order="seconds:Q"),
        every.mark_rule(opacity=0.35, clip=True, aria=False).encode(
            y="low:Q", y2="high:Q", color=colour
        ),
        every.transform_filter("datum.marked").mark_point(
            size=260, filled=False, strokeWidth=2, color=ground, aria=False
        ),
        every.mark_circle(size=110, opacity=1.0).encode(
            color=colour,
            tooltip=[
                alt.Tooltip("method:N", title="Method"),
                alt.Tooltip("value:N", title=measure.term),
                alt.Tooltip("time:N", title="Time"),
            ],
        ),
        # Nothing is quicker and better than these, so that their names have room on that side.
        every.transform_filter(f"width < {_NARROW} ? datum.first : datum.named")
        .mark_text(
            align=alt.expr(f"{on_the_right} ? 'left' : 'right'"),
            dx=alt.expr(f"{on_the_right} ? 9 : -9"),
            dy=-9 if measure.higher else 10,
            fontSize=13,
            color=ground,
        )
        .encode(text="method:N"),
    )
    chart: Any = alt.layer(*layers).properties(height=_HEIGHT)
    st.altair_chart(chart, key="board-plot", alt=plot_words(numbers))


def plot_words(numbers: Sequence[BoardNumber]) -> str:
    """The plot in words: the best methods for their time, quickest first."""
    measure = MEASURES[numbers[0].measure]
    unit = f" {measure.unit}" if measure.unit == "%" else ""
    best = "; ".join(
        f"{method_label(each.method)} {short(each.mean)}{unit} in {seconds_text(each.seconds)}"
        for each in best_for_their_time(numbers)
    )
    return f"{measure.term} against seconds. The best methods for their time: {best}."


def _row(number: BoardNumber) -> dict[str, Any]:
    record = method_record(number.method)
    known = math.isfinite(number.standard_error)
    error = number.standard_error if known else 0.0
    spread = f" \u00b1 {short(error, 2)}" if known else ""
    return {
        "method": method_label(number.method),
        "seconds": number.seconds,
        "mean": number.mean,
        "low": number.mean - error,
        "high": number.mean + error,
        "value": f"{short(number.mean)}{spread}",
        "time": seconds_text(number.seconds),
        "colour": record.colour if record else _OTHER,
    }


def _limits(
    values: Sequence[float], log: bool, room: float = 0.08, least: float = 1.0
) -> tuple[float, float]:
    """The ends of an axis, a little beyond the values, with more ``room`` at the low end.

    A log axis spans at least a factor of ``least``.
    """
    low, high = min(values), max(values)
    if log:
        wider = math.sqrt(max(1.0, least * low / high))
        low, high = low / wider, high * wider
        spread = 1.2 * high / low
        return low / spread**room, high * spread**0.08
    spread = high - low or 1.0
    return low - room * spread, high + 0.08 * spread


def _share(value: float, low: float, high: float, log: bool) -> float:
    """Where a value stands between the ends of an axis."""
    if log:
        value, low, high = (math.log(each) for each in (value, low, high))
    return (value - low) / (high - low)


def _named(
    best: Sequence[BoardNumber], places: Mapping[BoardNumber, tuple[float, float]]
) -> list[BoardNumber]:
    """The ones whose names stand clear of each other, the best first."""
    named: list[BoardNumber] = []
    for number in reversed(best):
        across, up = places[number]
        if all(
            abs(places[other][1] - up) * _HIGH >= _LINE
            or (places[other][0] - across) * _WIDE > _LETTER * len(method_label(other.method))
            for other in named
        ):
            named.append(number)
    return named
