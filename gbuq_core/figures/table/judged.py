"""Is a scored table any good? Its PIT histogram and coverage by group."""

from __future__ import annotations

import numpy as np

from gbuq_core.figures.curves import Curves, draw_curves
from gbuq_core.figures.curves.parts import (
    Part,
    axis,
    band,
    entry,
    limits,
    line,
    panel,
    plain_dots,
    reading,
)
from gbuq_core.figures.theme import MethodStyle
from gbuq_core.metrics import GroupCoverage, PitHistogram, binomial_band
from gbuq_core.presentation import one_line, percent

_OFF = "#d55e00"
_MOST_NAMED = 2
_LETTERS, _FEWEST_LETTERS = 72, 4  # of all names below a picture, and of one
_TAILS, _HALF = 0.2, 0.5


def pit_figure(histogram: PitHistogram, style: MethodStyle, alt: str, height: int = 240) -> Curves:
    """Bars of the PIT values with their bands; flat where the predicted distributions are right."""
    edges, middle = 100.0 * histogram.edges, 50.0 * (histogram.edges[1:] + histogram.edges[:-1])
    share, low, high = (100.0 * part for part in (histogram.share, histogram.low, histogram.high))
    flat = np.full(2, 100.0 / len(share))
    bars: Part = band(
        np.repeat(edges, 2)[1:-1], np.zeros(2 * len(share)), np.repeat(share, 2), style.colour, 0.45
    )
    chance = [
        line([x, x], ends, "text", 1.5)
        for x, ends in zip(middle, np.column_stack([low, high]).tolist(), strict=True)
    ]
    right = line([0.0, 100.0], flat, "text", 1.2, "2 3")
    return draw_curves(
        "pit",
        alt,
        height,
        axis((0.0, 100.0), "true value's place in its distribution (%)"),
        [panel(limits(high, flat), "share of rows (%)", [bars, *chance, right])],
        [entry("right", right), entry("measured", bars), entry("95 % band", chance[0])],
        reading(
            middle,
            "% and its neighbours:",
            [("share of rows", share), ("95 % band from", low), ("to", high)],
        ),
    )


def describe_pit(pit: np.ndarray) -> str:
    """What the PIT values say beyond chance about width and centre of the distributions.

    Two statements share the 95 %: the outer fifth, and the median.
    """
    n = len(pit)
    outside = int(np.sum(np.abs(2.0 * pit - 1.0) > 1.0 - _TAILS))
    above = int(np.sum(pit > _HALF))
    sentences = []
    for count, meant in ((outside, _TAILS), (above, _HALF)):
        low, high = (float(end) for end in binomial_band(count, n, 0.975))
        if low <= meant <= high:
            continue
        share = f"{percent(count / n, 0)} of the true values ({_range(low, high)})"
        if meant == _TAILS:
            width = "narrow" if low > meant else "wide"
            sentences.append(
                f"Intervals are too {width}: {share} lie in the outer 20 % of their distribution."
            )
        else:
            side = "low" if low > meant else "high"
            sentences.append(f"Predictions are too {side}: {share} lie above the predicted median.")
    return " ".join(sentences) or (
        "Neither the width nor the median differs from what it should be by more than chance."
    )


def groups_figure(groups: GroupCoverage, style: MethodStyle, label: str, alt: str) -> Curves:
    """A column a group: coverage as a dot, its band as a bar, the promise as a dotted tick.

    Groups whose band excludes the promise are vermilion. Group names are the user's words.
    """
    n = len(groups.names)
    places = np.arange(1.0, n + 1.0)
    shares = (groups.observed, groups.low, groups.high, groups.promised)
    observed, low, high, promised = (100.0 * np.asarray(part) for part in shares)
    layers: list[Part] = []
    for k, at in enumerate(places.tolist()):
        colour = _OFF if groups.is_off[k] else style.colour
        layers.append(line([at - 0.35, at + 0.35], [promised[k]] * 2, "text", 1.5, "2 3"))
        layers.append(line([at, at], [low[k], high[k]], colour, 3.0))
        layers.append(plain_dots([at], [observed[k]], colour, 1.0, 9))
    parts = (("should be", promised), ("is", observed), ("band from", low), ("to", high))
    letters = max(_FEWEST_LETTERS, _LETTERS // n)
    below = dict(
        zip(places.tolist(), [one_line(name, letters) for name in groups.names], strict=True)
    )
    return draw_curves(
        "groups",
        alt,
        240,
        axis((0.5, n + 0.5), "", below),
        [panel([min(low.min(), promised.min(), 90.0) - 2.0, 102.0], label, layers)],
        [entry("what it should be", layers[0])],
        reading(places, "", parts, names=list(groups.names)),
    )


def describe_groups(groups: GroupCoverage, is_class: bool) -> str:
    """Groups whose coverage differs from what is promised by more than chance, the worst first.

    Plain text that holds the user's words.
    """
    gap = np.where(groups.is_off, np.abs(groups.observed - groups.promised), 0.0)[1:]
    worst = [int(k) + 1 for k in np.argsort(-gap, kind="stable")[:_MOST_NAMED] if gap[k] > 0.0]
    if not worst:
        return "No group differs from what it should be by more than chance."
    what = "are predicted right" if is_class else "are inside their interval"
    sentences = [
        f"{one_line(groups.names[k], 40)}: {percent(groups.observed[k], 0)} of the rows "
        f"({_range(groups.low[k], groups.high[k])}) {what}, "
        f"{percent(groups.promised[k], 0)} should be."
        for k in worst
    ]
    n_more = int(np.sum(gap > 0.0)) - len(worst)
    if n_more:
        sentences.append(f"{n_more} more {'group is' if n_more == 1 else 'groups are'} off.")
    return " ".join(sentences)


def _range(low: float, high: float) -> str:
    return f"{percent(low, 0).removesuffix(' %')} to {percent(high, 0)}"
