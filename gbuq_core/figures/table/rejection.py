"""Rejection curves of a scored table: the error that remains as uncertain rows are handed over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from gbuq_core.figures.curves import Curves, draw_curves
from gbuq_core.figures.curves.parts import Part, axis, entry, limits, line, panel, reading
from gbuq_core.metrics import RejectionCurve

# One colour for each uncertainty, told apart by dashes as well.
KIND_COLOURS: Mapping[str, str] = MappingProxyType(
    {"total": "#7f7f7f", "data": "#e69f00", "knowledge": "#0072b2"}
)
_DASHES = {"total": "", "data": "7 4", "knowledge": ""}
_WIDTHS = {"total": 3.2, "data": 2.0, "knowledge": 2.0}


class Ranking(NamedTuple):
    """How well one uncertainty ranks the errors: its curve and its PRR in percent."""

    kind: str
    curve: RejectionCurve
    prr: float


def rejection_figure(
    rankings: Sequence[Ranking], error_label: str, height: int = 300, name: str = "rejection"
) -> Curves:
    """Draw the curves between those of random order and of the errors' own (the oracle's)."""
    first = rankings[0].curve
    share = 100.0 * np.asarray(first.rejected)
    parts: list[tuple[str, Part]] = [
        ("random", line(share, first.random, "text", 1.2, "2 3")),
        ("oracle", line(share, first.oracle, "text", 1.2, "7 3 2 3")),
    ]
    for kind, curve, _ in rankings:
        drawn = line(
            100.0 * np.asarray(curve.rejected),
            curve.remaining,
            KIND_COLOURS[kind],
            _WIDTHS[kind],
            _DASHES[kind],
        )
        parts.append((kind, drawn))
    values = [("random", first.random), ("oracle", first.oracle)]
    values += [(ranking.kind, ranking.curve.remaining) for ranking in rankings]
    return draw_curves(
        name,
        describe_rejection(rankings),
        height,
        axis((0.0, 100.0), "rows handed over, most uncertain first (%)"),
        [panel(limits(*(at for _, at in values)), error_label, [part for _, part in parts])],
        [entry(title, part) for title, part in parts],
        reading(share, "% handed over:", values),
    )


def describe_rejection(rankings: Sequence[Ranking], share: float = 0.1) -> str:
    """The curves in words: what is left after handing over a tenth of the rows, and the PRRs."""
    sentences = []
    for ranking in rankings:
        curve = ranking.curve
        start = float(curve.remaining[0])
        if start <= 0.0:
            return "No row is wrong, so there is nothing to reject."
        left = float(np.interp(share, curve.rejected, curve.remaining))
        ratio = f", PRR {ranking.prr:.0f} %" if np.isfinite(ranking.prr) else ""
        sentences.append(f"by {ranking.kind} uncertainty {100 * (1 - left / start):.0f} %{ratio}")
    return (
        f"If a person handles the most uncertain {share:.0%} of rows, this much of the error goes "
        f"away: {'; '.join(sentences)}. A random choice of rows would remove {share:.0%}."
    )
