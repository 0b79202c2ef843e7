"""Charts and runs over seeds for the steps of the lesson on soft trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from gbuq_core.figures.canvas.panels import PanelSheet, Strip, StripLine
from gbuq_core.figures.curves.parts import stretches
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.study.members import Array
from gbuq_core.study.soft_trees import SOFT_TREES, SoftTreesSettings
from gbuq_core.study.soft_trees_inside import SoftTreesData, places, resample
from gbuq_core.study.study import Run

_FAINT = 0.35
_GREY = "#9a9a9a"


def functions_strip(
    data: SoftTreesData,
    title: str,
    functions: Array,
    colour: str,
    spotlight: bool = False,
    y_range: tuple[float, float] | None = None,
) -> Strip:
    """A chart of rows, truth, functions and their mean. Where rows can lie, it is tinted."""
    x, at, rows_y = places(data)
    drawn = resample(functions, data.x, x)
    faint = np.full(drawn.shape[:-2] + drawn.shape[-1:], _FAINT)
    dots = np.full(len(x), np.nan)
    dots[at] = rows_y
    lines = [StripLine("row", dots, _GREY, dots=True)]
    if data.true_mean is not None:
        truth = resample(data.true_mean[None], data.x, x)[0]
        lines.append(StripLine("truth", truth, _GREY, dash=True))
    lines += [
        StripLine(f"function {i + 1}", drawn[..., i, :], colour, weight=faint)
        for i in range(drawn.shape[-2])
    ]
    name, strong = ("this function", drawn) if spotlight else ("mean", drawn.mean(axis=-2))
    lines.append(StripLine(name, strong, "text"))
    shaded = () if data.support.all() else stretches(data.x, data.support)
    return Strip(
        title=title,
        x=x,
        lines=lines,
        x_label="x",
        y_label="y",
        y_limits=y_range or data.y_range,
        mode="frame",
        shaded=shaded,
        shaded_label="rows can lie here" if shaded else "",
        legend=False,
    )


VST, VSGBM = METHOD_STYLES["vst"].colour, METHOD_STYLES["vsgbm"].colour
SEEDS = (0, 1, 2)


def charts_of(strips: Sequence[Strip], alt: str, columns: int = 2, height: int = 170) -> PanelSheet:
    """A sheet of charts alone."""
    return PanelSheet(
        panels=[],
        strips=strips,
        strip_columns=columns,
        strip_height=height,
        alt=alt,
        name="soft-trees",
    )


def spread_strip(run: Run, title: str) -> Strip:
    """Knowledge and data uncertainty over x, as stds."""
    (view,), data = run.views, run.data
    lines = [
        StripLine("knowledge", np.sqrt(view.at.knowledge), VST),
        StripLine("data", np.sqrt(view.at.data), "text"),
    ]
    shaded = functions_strip(data, "", view.functions[:1], VST).shaded
    return Strip(
        title=title,
        x=data.x,
        lines=lines,
        x_label="x",
        y_label="std of y",
        mode="frame",
        shaded=shaded,
        shaded_label="rows can lie here",
    )


def blend_width(gate: np.ndarray, x: np.ndarray) -> float:
    """Width of x over which both sides of a gate (n,) have a weight of 0.1 or more.

    >>> blend_width(np.array([0.0, 0.3, 0.7, 1.0]), np.array([0.0, 1.0, 2.0, 3.0]))
    1.5
    """
    return float(np.mean((gate >= 0.1) & (gate <= 0.9)) * (x[-1] - x[0]))


def score_all(run: Run) -> list[SimpleNamespace]:
    """The scores of every method in a run, by name."""
    return [SimpleNamespace(method=v.method, label=v.fit.label, **v.numbers) for v in run.views]


def numbers(runs: Sequence[Run]) -> list[SimpleNamespace]:
    """The first method's scores in every run."""
    return [score_all(run)[0] for run in runs]


def over_seeds(settings: SoftTreesSettings, **knobs: Any) -> list[Run]:
    """Runs of the same settings with other seeds of the rows and the training."""
    return [SOFT_TREES.run(replace(settings, seed=seed, **knobs)) for seed in SEEDS]


def mean_of(scores: Sequence[SimpleNamespace], name: str) -> float:
    """The mean of one of their numbers."""
    return float(np.mean([getattr(score, name) for score in scores]))
