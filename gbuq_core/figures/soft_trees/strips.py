"""Functions over one input as charts of a sheet, so that they can be played; from results to them.

The experiment's results are named by what is read of them: figures know no estimator.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gbuq_core.figures.canvas.panels import Strip, StripLine
from gbuq_core.figures.curves.parts import stretches
from gbuq_core.figures.soft_trees.charts import Array, TreeFrames, places, resample
from gbuq_core.figures.soft_trees.picture import Scene

_FAINT = 0.35
_GREY = "#9a9a9a"


def scene_from(data: Any) -> Scene:
    """What all methods see."""
    return Scene(data.x, data.y_range, data.X[:, 0], data.y, data.support, data.true_mean)


def frames_from(moments: Any, path: Any, data: Any, rows: bool = True) -> TreeFrames:
    """A tree's training."""
    return TreeFrames(
        x=moments.x,
        steps=moments.step,
        gates=moments.gates,
        reach=moments.reach,
        leaves=moments.leaf_means,
        output=moments.output,
        elbo_steps=path.step.astype(np.float64),
        elbo=path.elbo,
        x_rows=data.X[:, 0] if rows else np.empty(0),
        y_rows=data.y if rows else np.empty(0),
    )


def functions_strip(
    scene: Scene,
    title: str,
    functions: Array,
    colour: str,
    spotlight: bool = False,
    y_range: tuple[float, float] | None = None,
) -> Strip:
    """A chart of rows, truth, functions and their mean. Where rows can lie, it is tinted."""
    x, at, rows_y = places(scene)
    drawn = resample(functions, scene.x, x)
    faint = np.full(drawn.shape[:-2] + drawn.shape[-1:], _FAINT)
    dots = np.full(len(x), np.nan)
    dots[at] = rows_y
    lines = [StripLine("row", dots, _GREY, dots=True)]
    if scene.true_mean is not None:
        truth = resample(scene.true_mean[None], scene.x, x)[0]
        lines.append(StripLine("truth", truth, _GREY, dash=True))
    lines += [
        StripLine(f"function {i + 1}", drawn[..., i, :], colour, weight=faint)
        for i in range(drawn.shape[-2])
    ]
    name, strong = ("this function", drawn) if spotlight else ("mean", drawn.mean(axis=-2))
    lines.append(StripLine(name, strong, "text"))
    shaded = () if scene.support.all() else stretches(scene.x, scene.support)
    return Strip(
        title=title,
        x=x,
        lines=lines,
        x_label="x",
        y_label="y",
        y_limits=y_range or scene.y_range,
        mode="frame",
        shaded=shaded,
        shaded_label="rows can lie here" if shaded else "",
        legend=False,
    )
