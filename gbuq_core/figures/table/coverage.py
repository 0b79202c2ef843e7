"""Nominal beside measured: coverage of a regression's intervals, reliability of probabilities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gbuq_core.figures.curves import Curves, draw_curves
from gbuq_core.figures.curves.parts import Part, axis, band, entry, line, panel, reading
from gbuq_core.figures.theme import MethodStyle
from gbuq_core.metrics import Coverage, Reliability

_CONFORMAL = "#cc79a7"


def coverage_figure(
    coverage: Coverage, style: MethodStyle, height: int = 300, conformal: Coverage | None = None
) -> Curves:
    """Measured against nominal coverage with its binomial band; the diagonal is right.

    ``conformal`` is the coverage of conformal intervals of the same levels, drawn beside it.
    """
    order = np.argsort(coverage.levels)
    shares = (coverage.levels, coverage.observed, coverage.low, coverage.high)
    return _against_diagonal(
        [share[order] for share in shares],
        style,
        ("nominal coverage (%)", "measured coverage (%)"),
        describe_coverage(coverage)
        + ("" if conformal is None else f" Conformal: {describe_coverage(conformal)}"),
        height,
        None if conformal is None else conformal.observed[np.argsort(conformal.levels)],
    )


def reliability_figure(reliability: Reliability, style: MethodStyle, height: int = 300) -> Curves:
    """Share of right classes against the probability given to them, in bins with rows."""
    filled = reliability.n_rows > 0
    shares = (reliability.confidence, reliability.accuracy, reliability.low, reliability.high)
    return _against_diagonal(
        [share[filled] for share in shares],
        style,
        ("probability of the predicted class (%)", "share that is right (%)"),
        describe_reliability(reliability),
        height,
    )


def describe_coverage(coverage: Coverage) -> str:
    """One sentence a level would be long: the level nearest 90 %, and whether all bands hold.

    >>> level = np.array([0.9])
    >>> describe_coverage(Coverage(level, level - 0.1, level - 0.15, level - 0.02, 100))
    'Intervals meant to hold 90 % of the rows hold 80 %. 1 of 1 levels is outside its band.'
    """
    at = int(np.argmin(np.abs(coverage.levels - 0.9)))
    outside = int(np.sum((coverage.levels < coverage.low) | (coverage.levels > coverage.high)))
    verdict = "At every level, chance can explain the difference."
    if outside:
        verb, whose = ("is", "its") if outside == 1 else ("are", "their")
        verdict = f"{outside} of {len(coverage.levels)} levels {verb} outside {whose} band."
    return (
        f"Intervals meant to hold {100 * coverage.levels[at]:.0f} % of the rows hold "
        f"{100 * coverage.observed[at]:.0f} %. {verdict}"
    )


def describe_reliability(reliability: Reliability) -> str:
    """Where probabilities promise too much or too little, in words."""
    gaps = np.abs(reliability.accuracy - reliability.confidence)
    worst = int(np.nanargmax(gaps))  # empty bins have none
    promised, right = reliability.confidence[worst], reliability.accuracy[worst]
    side = "more often" if right > promised else "less often"
    return (
        f"The largest gap: where the predicted class has a probability of "
        f"{100 * promised:.0f} % on average, it is right in {100 * right:.0f} % of "
        f"{reliability.n_rows[worst]:,} rows, {side} than predicted."
    )


def _against_diagonal(
    shares: Sequence[np.ndarray],
    style: MethodStyle,
    labels: tuple[str, str],
    alt: str,
    height: int,
    conformal: np.ndarray | None = None,
) -> Curves:
    """What was promised, rising, what was measured, and its band; shares of rows (n_groups,)."""
    x, y, low, high = (100.0 * share for share in shares)
    diagonal = line([0.0, 100.0], [0.0, 100.0], "text", 1.2, "2 3")
    chance = band(x, low, high, style.colour, 0.2)
    measured = line(x, y, style.colour, 2.0)
    dots: Part = {**measured, "kind": "dots", "opacity": 1.0, "size": 7}
    beside: list[tuple[str, np.ndarray]] = []
    layers, legend = [measured, dots], [entry("measured", measured)]
    if conformal is not None:
        beside = [("conformal", 100.0 * conformal)]
        other = line(x, beside[0][1], _CONFORMAL, 2.0, "7 4")
        layers += [other, {**other, "kind": "dots", "opacity": 1.0, "size": 7}]
        legend = [entry("by the law", measured), entry("conformal", other)]
    read = [(labels[1].removesuffix(" (%)"), y), *beside, ("chance from", low), ("to", high)]
    return draw_curves(
        "calibration" if labels[0].startswith("probability") else "coverage",
        alt,
        height,
        axis((0.0, 100.0), labels[0]),
        [panel([0.0, 104.0], labels[1], [chance, diagonal, *layers])],
        [entry("right", diagonal), entry("95 % band of chance", chance), *legend],
        reading(x, "% predicted:", read),
    )
