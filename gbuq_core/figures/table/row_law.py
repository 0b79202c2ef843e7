"""The law of one row: a density with spikes, masses, or the probabilities of classes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from gbuq_core.figures.curves import Curves, draw_curves
from gbuq_core.figures.curves.parts import axis, band, entry, limits, line, panel, reading
from gbuq_core.figures.theme import VOICE_COLOURS
from gbuq_core.presentation import one_line, percent

Array = npt.NDArray[np.float64]

VOICE_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "trees": "the trees", "process": "the smooth trend", "targets": "rows like it",
        "residuals": "misses at rows like it", "shares": "all rows",
    }
)  # fmt: skip
_MOST_BARS = 60


def law_figure(
    points: Array,
    values: Array,
    voices: Sequence[tuple[str, float, Array]],
    spikes: Sequence[tuple[float, float]],
    kind: str,
    target: str,
    truth: float,
    alt: str,
    names: Sequence[str] = (),
    height: int = 300,
) -> Curves:
    """The law as an area or as bars, and what each voice, by name and weight, puts into it.

    A spike is as high as the picture for a probability of 1, and is named with its probability.
    """
    colour = VOICE_COLOURS["law"]
    is_area = kind == "density" or len(points) > _MOST_BARS
    y = limits(values, headroom=0.08)
    x, heights, ends = points, values, [float(points[0]), float(points[-1])]
    if not is_area:
        edges = (points[:, None] + np.array([-0.4, -0.4, 0.4, 0.4])).ravel()
        x, heights = edges, (values[:, None] * np.array([0.0, 1.0, 1.0, 0.0])).ravel()
        ends = [ends[0] - 0.6, ends[1] + 0.6]
    at = [place for place, _ in spikes] + ([truth] if math.isfinite(truth) else [])
    room = 0.02 * (ends[1] - ends[0]) if spikes else 0.0
    ends = [
        min([ends[0], *(place - room for place in at)]),
        max([ends[1], *(place + room for place in at)]),
    ]
    parts = [("the law", band(x, np.zeros(len(x)), heights, colour, 0.25))]
    for name, weight, own in voices:
        part = line(points, weight * own, VOICE_COLOURS[name], 1.8)
        parts.append((f"{VOICE_WORDS[name]}, {percent(weight, 0)}", part))
    for place, chance in spikes:
        part = line([place, place], [0.0, chance * y[1]], colour, 5.0)
        parts.append((f"exactly {place:g}, {percent(chance, 0)}", part))
    if math.isfinite(truth):
        parts.append(("true value", line([truth, truth], y, "#d55e00", 1.6, "5 3")))
    label = "density" if kind == "density" else "probability"
    read = [
        ("the law", values),
        *((VOICE_WORDS[name], weight * own) for name, weight, own in voices),
    ]
    ticks = {float(k): one_line(name, 16) for k, name in enumerate(names)} if names else None
    return draw_curves(
        "row-law",
        alt,
        height,
        axis(ends, "" if names else one_line(target, 40), ticks),
        [panel(y, label, [part for _, part in parts])],
        [entry(name, part) for name, part in parts],
        reading(
            points,
            "" if names else f"{one_line(target, 20)}:",
            read,
            **({"names": list(names)} if names else {}),
        ),
    )
