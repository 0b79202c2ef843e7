"""Functions over one input as charts of a sheet, so that they can be played."""

from __future__ import annotations

import numpy as np

from gbuq_core.experiments.soft_trees.charts import places, resample
from gbuq_core.experiments.soft_trees.data import Array, SoftTreesData
from gbuq_core.figures.canvas.panels import Strip, StripLine
from gbuq_core.figures.curves.parts import stretches

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
