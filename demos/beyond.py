"""Lesson: what trees, a process and the law of several voices say where no row is.

The law is that of Yao, Vehtari, Simpson and Gelman (2018), "Using stacking to average Bayesian
predictive distributions", around boosted trees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from demos.asking import Between, Brush, Brushed, Largest
from demos.lesson import ComputedStep, Lesson, Step, main
from gbuq_core.figures.canvas.panels import PanelSheet, Strip, StripLine
from gbuq_core.figures.guess import GuessChart, GuessLine
from gbuq_core.figures.theme import VOICE_COLOURS as COLOURS
from gbuq_core.presentation import decimal, percent, short
from gbuq_core.stacking.voices import VOICES
from gbuq_core.study.beyond import (
    BEYOND,
    GAP_FROM,
    GRID,
    LEVEL,
    LOOK,
    PLANE,
    Y_RANGE,
    BeyondSettings,
    plane_section,
    regions,
    true_mean,
    weights_of,
)
from gbuq_core.study.members import Predictive
from gbuq_core.study.study import Run

FIRST, WIDE = BeyondSettings(), BeyondSettings(gap=2.0)
_TRUTH = true_mean(GRID)
_EDGES = tuple(np.arange(4.5, 8.01, 0.5).tolist())
_GAPS = tuple(np.arange(0.0, 2.01, 0.25).tolist())
_FLAGGED = (100, 60, 40, 20, 10, 5)  # % of the plane's cells


@lru_cache(maxsize=64)
def _run(settings: BeyondSettings, *methods: str) -> Run:
    return BEYOND.run(replace(settings, methods=methods))


def _band(settings: BeyondSettings, method: str) -> tuple[Predictive, np.ndarray]:
    """What a model says over the picture, and half the width of its band."""
    at = _run(settings, method).views[0].at
    return at, at.interval(LEVEL)[1] - at.mean


def _numbers(method: str) -> Mapping[str, Any]:
    return _run(FIRST, method).numbers[method]


def _moved(key: str, knob: str, values: Sequence[float], label: str) -> PanelSheet:
    """Bands of one model that follow a knob of the rows."""
    drawn = [_band(replace(FIRST, **{knob: value}), key) for value in values]
    mean, half = map(np.stack, zip(*((at.mean, half) for at, half in drawn), strict=True))
    colour = COLOURS[key]
    lines = [
        StripLine("true curve", _TRUTH, "text", dash=True),
        StripLine("prediction", mean, colour),
        StripLine(f"band of {percent(LEVEL, 0)}, below", np.clip(mean - half, *Y_RANGE), colour),
        StripLine("above", np.clip(mean + half, *Y_RANGE), colour),
    ]
    strip = Strip(
        title=f"{BEYOND.methods[key].label}: prediction and band",
        x=GRID,
        lines=lines,
        x_label="x",
        y_label="y",
        y_limits=Y_RANGE,
        mode="frame",
    )
    return PanelSheet(
        panels=[],
        strips=[strip],
        strip_height=260,
        frame_label=label,
        frame_values=[*values],
        frames_per_second=1.0,
        start_frame=min(3, len(values) - 1),
        name="beyond",
        alt=BEYOND.describe(_run(FIRST, *FIRST.methods)),
    )


def last_leaf() -> ComputedStep:
    """Trees repeat their last value."""
    right, mean = FIRST.edge < GRID, _band(FIRST, "trees")[0].mean
    last, rows = mean[~right][-1], BEYOND.data(FIRST)
    away = [_rms(mean[right] - other) for other in (_TRUTH[right], last, rows.y.mean())]
    text = f"{FIRST.rows} rows follow a wave up to x = {FIRST.edge:g}. Boosted trees learn it."
    answer = (
        f"Their distance from the last value is {short(away[1], 2)}. The wave goes on, and they "
        f"are off by {short(away[0], 2)}."
    )
    sheet = _moved("trees", "edge", _EDGES, "rows end at x =")
    return ComputedStep(text, Largest(tuple(-distance for distance in away)), answer, sheet)


def too_sure() -> ComputedStep:
    """Bands of trees alone hold little outside."""
    trees = _numbers("trees")
    text = f"Bands of {percent(LEVEL, 0)} should hold {percent(LEVEL, 0)} of new values everywhere."
    answer = (
        f"{percent(trees['held_outside'], 0)}; among the rows "
        f"{percent(trees['held_inside'], 0)}. The band is hardly wider there: "
        f"{short(trees['width_outside'], 2)} against {short(trees['width_inside'], 2)}."
    )
    sheet = _moved("trees", "gap", _GAPS, "width of the gap")
    return ComputedStep(text, Between(trees["held_outside"], (0.5, 0.8)), answer, sheet)


def a_smooth_voice() -> ComputedStep:
    """A process is least sure where no rows are."""
    process, half = _band(WIDE, "process")
    std, rows = np.sqrt(process.knowledge), BEYOND.data(WIDE)
    begin, end, known = GAP_FROM, GAP_FROM + WIDE.gap, regions(WIDE)["inside"]
    at = FIRST.edge >= GRID
    wide = at & (std > 0.5 * std[at & (GRID > 1.0)].max()) & (GRID > 1.0)
    low, high = float(GRID[wide][0]), float(GRID[wide][-1])
    chart = GuessChart(
        x=(0.0, FIRST.edge),
        y=Y_RANGE,
        x_ticks=[(float(k), str(k)) for k in range(7)],
        y_ticks=[(float(k), str(k)) for k in (-2, 0, 2, 4)],
        x_label="x",
        y_label="y",
        lines=[],
        dots=(rows.X[:, 0], rows.y),
    )
    inside = GRID[at]
    bands = [
        GuessLine(name, inside, np.clip(values[at], *Y_RANGE), COLOURS["process"], dashed)
        for name, values, dashed in (
            ("process", process.mean, False),
            ("its band", process.mean + half, True),
            ("its band, below", process.mean - half, True),
        )
    ]
    right = Brushed(chart, low, high, "more than half of the most", replace(chart, lines=bands))
    text = (
        "A Gaussian process believes in smooth curves. Its std grows with the distance from the "
        "rows. The dots are the rows."
    )
    answer = (
        f"From {low:.1f} to {high:.1f}, within the gap from {begin:g} to {end:g}. Its knowledge "
        f"std is {short(std[wide].max(), 2)} there, and {short(np.median(std[known]), 2)} among "
        "the rows."
    )
    return ComputedStep(text, right, answer, _moved("process", "gap", _GAPS, "width of the gap"))


def who_speaks() -> ComputedStep:
    """The process has most of the weight beyond the rows."""
    far, weights = FIRST.edge + 1.0 < GRID, weights_of(_run(FIRST, "law").fits[0])
    inside, outside = (weights[at].mean(axis=0) for at in (regions(FIRST)["inside"], far))
    trees, process = VOICES.index("trees"), VOICES.index("process")
    text = (
        "The law weighs trees, rows like this one, and the process by what they say of rows that "
        "none has seen. Far from the rows the weights shift."
    )
    answer = (
        f"The process: {percent(outside[process], 0)} from {FIRST.edge + 1.0:g} on. Trees keep "
        f"{percent(outside[trees], 0)}. Among the rows it is {percent(inside[process], 0)} and "
        f"{percent(inside[trees], 0)}."
    )
    others = 1.0 - outside[trees] - outside[process]
    right = Largest((float(outside[trees]), float(others), float(outside[process])))
    return ComputedStep(text, right, answer, _moved("law", "edge", _EDGES, "rows end at x ="))


def nothing_lost() -> ComputedStep:
    """Inside, the law is at least as good."""
    trees, law = _numbers("trees"), _numbers("law")
    ratio = law["crps_inside"] / trees["crps_inside"]
    text = (
        f"Outside, bands of the law hold {percent(law['held_outside'], 0)} instead of "
        f"{percent(trees['held_outside'], 0)}. CRPS is the error of a whole law; lower is better."
    )
    answer = (
        f"The law has {short(law['crps_inside'])} among the rows, trees alone "
        f"{short(trees['crps_inside'])}. A smooth curve suits the process there, too."
    )
    sheet = _moved("law", "gap", _GAPS, "width of the gap")
    return ComputedStep(text, Between(ratio, (0.97, 1.03)), answer, sheet)


def in_a_plane() -> ComputedStep:
    """Far cells of the spiral's plane."""
    look, section = LOOK.find(PLANE), plane_section()
    assert section.sheet is not None
    trees, law = look.aurocs.mean(axis=0)
    panels = []
    for panel in section.sheet.panels:
        values = np.asarray(panel.values)
        least = [np.quantile(values, 1.0 - share / 100.0) for share in _FLAGGED]
        frames = np.stack([np.where(values >= low, values, np.nan) for low in least])
        panels.append(replace(panel, values=frames, blank_hatched=True))
    sheet = replace(
        section.sheet,
        panels=panels,
        frame_label="most uncertain cells (%)",
        frame_values=[*_FLAGGED],
        frames_per_second=1.0,
        start_frame=2,
        blank_label="cells that are surer",
    )
    text = (
        "Three arms of rows in a plane. Knowledge should be highest far away. AUROC says how often "
        "a far cell has more than a near one."
    )
    answer = (
        f"Trees have {decimal(trees, 2)}, and 0.5 is chance. The law has {decimal(law, 2)}: its "
        "knowledge rises in all directions."
    )
    return ComputedStep(text, Between(float(trees), (0.4, 0.8)), answer, sheet)


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


LESSON = Lesson(
    name="beyond",
    title="What a model says where it has seen nothing",
    lead="Six pictures of rows that end. Trees do not notice, a process does, and a law can have "
    "both.",
    page="beyond",
    source="The law is that of Yao, Vehtari, Simpson and Gelman, Using stacking to average "
    "Bayesian predictive distributions (doi 10.1214/17-BA1091), around boosted trees.",
    steps=(
        Step(
            "The last leaf",
            "What do trees predict beyond the last row?",
            ("The wave goes on", "Their last value", "The mean of all rows"),
            FIRST,
            last_leaf,
        ),
        Step(
            "Too sure",
            "How much do bands of trees hold where no rows are?",
            ("Less than half", "50 to 80 %", "More"),
            FIRST,
            too_sure,
        ),
        Step("A smooth voice", "Where is its std large?", Brush(), WIDE, a_smooth_voice),
        Step(
            "Who speaks",
            "Whose weight is largest far from the rows?",
            ("The trees'", "That of rows like this one", "The process's"),
            FIRST,
            who_speaks,
        ),
        Step(
            "Nothing lost",
            "What does the law cost among the rows?",
            ("It is better there", "It is as good", "It is worse"),
            FIRST,
            nothing_lost,
        ),
        Step(
            "In a plane",
            "How well does the trees' knowledge find far cells?",
            ("The wrong way round", "Hardly better than chance", "Well"),
            FIRST,
            in_a_plane,
        ),
    ),
)

if __name__ == "__main__":
    raise SystemExit(main(LESSON))
