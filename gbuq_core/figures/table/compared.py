"""Methods side by side: how far each one's scores are from the reference's, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from gbuq_core.figures.curves import Curves, draw_curves
from gbuq_core.figures.curves.parts import (
    Part,
    around,
    axis,
    entry,
    line,
    panel,
    plain_dots,
    reading,
)
from gbuq_core.figures.theme import MethodStyle
from gbuq_core.presentation import one_line

_LONGEST = 13  # letters of a name below the picture: four have room on a phone
_WIDTH, _DOT = 3.0, 9


class ScoreGaps(NamedTuple):
    """Differences of one score, one for each method; 0 for the reference itself."""

    label: str  # the score with its unit
    # `value`, `low`, `high`: (n_methods,): the difference and the ends of its 95 % interval
    value: np.ndarray
    low: np.ndarray
    high: np.ndarray


def compared_figure(
    styles: Sequence[MethodStyle], gaps: Sequence[ScoreGaps], alt: str, height: int = 130
) -> Curves:
    """A panel for each score; an interval that crosses the dotted line at 0 tells nothing apart."""
    places = np.arange(1.0, len(styles) + 1.0)
    ends = [0.5, len(styles) + 0.5]
    names = [style.label for style in styles]
    zero = line(ends, [0.0, 0.0], "text", 1.2, "2 3")
    values = [
        (f"{gap.label}{name}", part)
        for gap in gaps
        for name, part in (("", gap.value), (" from", gap.low), (" to", gap.high))
    ]
    short = dict(zip(places.tolist(), [one_line(name, _LONGEST) for name in names], strict=True))
    return draw_curves(
        "methods",
        alt,
        len(gaps) * height + 44,
        axis(ends, "", short),
        [_panel(gap, places, styles, zero, 1.0 / len(gaps)) for gap in gaps],
        [entry("no difference", zero)],
        reading(places, "", values, names=names),
    )


def _panel(
    gap: ScoreGaps,
    places: np.ndarray,
    styles: Sequence[MethodStyle],
    zero: Part,
    share: float,
) -> Part:
    layers = [zero]
    for k, style in enumerate(styles):
        at = float(places[k])
        layers.append(line([at, at], [gap.low[k], gap.high[k]], style.colour, _WIDTH))
        layers.append(plain_dots([at], [gap.value[k]], style.colour, 1.0, _DOT))
    return panel(around(gap.low, gap.high, room=0.08), gap.label, layers, share)
