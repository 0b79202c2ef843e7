"""A chart on which a reader brushes a range or draws a curve before the truth is shown.

`guess_spec` is what ``guess.js`` draws; the app and a downloaded lesson share that script.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.figures.canvas.renderer import FOLDER
from gbuq_core.figures.sources import join_scripts, read_styles

_HERE = Path(__file__).parent
PLACES = 17  # of a drawn curve, at even steps from one end of the axis to the other
LETTERS = string.ascii_uppercase + string.ascii_lowercase + string.digits + "-_"  # its levels
_DIGITS = 4


class GuessLine(NamedTuple):
    """A known line; ``colour`` is ``#rrggbb`` or "text"."""

    name: str
    x: npt.ArrayLike
    y: npt.ArrayLike
    colour: str = "text"
    dash: bool = False


@dataclass(frozen=True, kw_only=True)
class GuessChart:
    """Axes, and what is known before a reader guesses."""

    # `x`, `y`: ends of the axes
    x: tuple[float, float]
    y: tuple[float, float]
    # `x_ticks`, `y_ticks`: (position, text): an axis may be of logarithms: its ticks say the
    # numbers
    x_ticks: Sequence[tuple[float, str]]
    y_ticks: Sequence[tuple[float, str]]
    # `x_label`, `y_label`: with units
    x_label: str
    y_label: str
    lines: Sequence[GuessLine] = ()  # known lines
    dots: tuple[npt.ArrayLike, npt.ArrayLike] = ((), ())  # known rows
    dots_name: str = ""  # what a dot is


def guess_spec(
    chart: GuessChart,
    kind: Literal["brush", "draw"],
    guess: str = "",
    truth: tuple[float, float] | npt.ArrayLike | None = None,
    truth_name: str = "",
    after: GuessChart | None = None,
) -> dict[str, Any]:
    """What ``guess.js`` draws, as JSON.

    >>> chart = GuessChart(
    ...     x=(0, 1), y=(0, 1), x_ticks=[(0, "0")], y_ticks=[], x_label="x", y_label="y"
    ... )
    >>> guess_spec(chart, "brush", "12-30", (0.1, 0.4), "true")["truth"]
    [0.1, 0.4]
    """
    return {
        "kind": kind,
        "places": PLACES,
        "letters": LETTERS,
        "chart": _packed(chart),
        "after": _packed(after or chart),
        "guess": guess,
        "truth": None if truth is None else _numbers(truth),
        "name": truth_name,
    }


def _packed(chart: GuessChart) -> dict[str, Any]:
    return {
        "x": list(chart.x),
        "y": list(chart.y),
        "xTicks": [list(tick) for tick in chart.x_ticks],
        "yTicks": [list(tick) for tick in chart.y_ticks],
        "xLabel": chart.x_label,
        "yLabel": chart.y_label,
        "lines": [
            {**line._asdict(), "x": _numbers(line.x), "y": _numbers(line.y)} for line in chart.lines
        ],
        "dots": [_numbers(part) for part in chart.dots],
        "dotsName": chart.dots_name,
    }


def _numbers(values: npt.ArrayLike) -> list[float]:
    return [float(f"{value:.{_DIGITS}g}") for value in np.asarray(values, dtype=float).tolist()]


@cache
def guess_source() -> str:
    """Return ``guess.js`` as the text of one ES module that exports ``mount`` and a default."""
    return join_scripts([FOLDER / "calls.js", _HERE / "guess.js"])


@cache
def guess_styles() -> str:
    """Return the style sheet of ``guess.js``."""
    return read_styles(_HERE / "guess.css")
