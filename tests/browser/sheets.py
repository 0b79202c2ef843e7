"""Sheets for the tests of the canvas figure: maps, points, labels, charts with frames."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gbuq_core.figures.canvas.panels import (
    Line,
    Marker,
    Panel,
    PanelSheet,
    Points,
    Strip,
    StripLine,
    shared_limits,
)

HEART = "111111111/114111411/140414041/400040004/140000041/114000411/111404111/111141111/111111111"
VARIANCE = np.array([[float(v) for v in row] for row in HEART.split("/")])
EMPTY = VARIANCE == 0


def heart_panels(method: str, accent: str, n_frames: int, seed: int) -> list[Panel]:
    """Maps shaped like the heart experiment's: KU shrinks on filled cells as trees are added."""
    rng = np.random.default_rng([seed, len(method)])
    data = np.where(EMPTY, 0.02, 0.01 * VARIANCE) * rng.uniform(0.9, 1.1, (9, 9))
    share = np.linspace(0, 1, n_frames)[:, None, None]
    start = rng.uniform(1e-3, 4e-3, (9, 9))
    knowledge = np.where(EMPTY, start * 4 * (0.3 + share), start * np.exp(-6 * share) + 1e-5)
    data = data * (1 - 0.5 * np.exp(-5 * share))
    unit = "variance of y"
    common = {"unit": unit, "hatched": EMPTY, "accent": accent}
    return [
        Panel(title=f"{method}: total", values=data + knowledge, **common),
        Panel(title=f"{method}: data", values=data, **common),
        Panel(
            title=f"{method}: knowledge",
            values=knowledge,
            log=True,
            subtitle="AUROC 1.00",
            **common,
        ),
    ]


def heart(n_frames: int, seed: int) -> PanelSheet:
    """Nine panels with frames, shared scales a column, empty cells hatched."""
    methods = (("SGB", "#7f7f7f"), ("SGLB", "#0072b2"), ("Virtual SGLB", "#56b4e9"))
    rows = [heart_panels(name, colour, n_frames, seed) for name, colour in methods]
    limits = [shared_limits([row[i].values for row in rows], log=i == 2) for i in range(3)]
    panels = [replace(panel, limits=limits[i]) for row in rows for i, panel in enumerate(row)]
    return PanelSheet(
        panels=panels,
        x_label="feature 2",
        y_label="feature 1",
        frame_label="tree",
        frame_values=list(np.linspace(1000 / n_frames, 1000, n_frames)),
        panel_height=200,
        hatch_label="no training rows",
        alt="Total, data and knowledge uncertainty of three methods on the heart data.",
        name="heart",
    )


def fields(n: int, phase: float, n_frames: int = 1) -> PanelSheet:
    """Three smooth maps on a numeric grid, turning from frame to frame."""
    turn = phase + np.linspace(0, 6, n_frames)[:, None, None]
    x = np.linspace(-600, 600, n)
    xx, yy = np.meshgrid(x, x)
    radius, angle = np.hypot(xx, yy), np.arctan2(yy, xx)
    data = 0.5 + 0.5 * np.sin(radius / 60 + 3 * angle + turn)
    knowledge = 10 ** (-4 + 3 * radius / 850 + 0.3 * np.cos(5 * angle - turn))
    far = radius > 560
    return PanelSheet(
        panels=[
            Panel(
                title="Total uncertainty",
                values=data + knowledge,
                unit="nats",
                limits=(0, 1.1),
                hatched=far,
            ),
            Panel(title="Data uncertainty", values=data, unit="nats", limits=(0, 1.1), hatched=far),
            Panel(
                title="Knowledge uncertainty", values=knowledge, unit="nats", log=True, hatched=far
            ),
        ],
        x_label="x",
        y_label="y",
        x_extent=(-600, 600),
        y_extent=(-600, 600),
        frames_per_second=60,
        hatch_label="farther than 560 from the centre",
        name="spiral",
    )


def chains() -> PanelSheet:
    """Points that appear one by one, markers, a scale that follows each frame."""
    rng = np.random.default_rng(3)
    walk = np.cumsum(rng.normal(0, 0.25, (2, 400)), axis=1)
    grid = np.linspace(-6, 6, 60)
    xx, yy = np.meshgrid(grid, grid)
    density = np.exp(-0.5 * ((xx - 1) ** 2 + (yy + 1) ** 2) / 4)
    points = Points(
        walk[0].clip(-6, 6),
        walk[1].clip(-6, 6),
        group=np.repeat([0, 5], 200),
        group_names=["chain 1", "", "", "", "", "chain 2"],
        appear=np.arange(400),
    )
    growing = density * np.linspace(0.1, 1, 400)[:, None, None]
    outline = density > 0.8
    return PanelSheet(
        panels=[
            Panel(
                title="Target density",
                values=density,
                colour_map="viridis",
                points=points,
                outlined=outline,
            ),
            Panel(title="Estimate", values=growing, limits="frame", colour_map="viridis"),
        ],
        columns=2,
        x_extent=(-6, 6),
        y_extent=(-6, 6),
        frame_label="step",
        markers=[Marker(1, -1, "mode"), Marker(-4, 4, shape="cross"), Marker(4, 4, shape="square")],
        outline_label="density above 0.8",
        name="chains",
    )


def labels(title: str) -> PanelSheet:
    """Categories with long and hostile names, blank cells, one panel."""
    values = np.array([[1.5, np.nan, -3.25], [1e-7, 2e9, 0.0]])
    return PanelSheet(
        panels=[
            Panel(
                title=title,
                values=values,
                unit="<b>unit</b>",
                hatched=np.isnan(values),
                subtitle="$x^2$",
            )
        ],
        columns=1,
        x_label="category & more",
        x_labels=["<img src=x onerror=alert(1)>", "a very long category name " * 4, "z"],
        y_labels=["[link](javascript:0)", "second"],
        frame_label="",
        hatch_label="<script>alert(2)</script>",
    )


def training(n_frames: int, n: int, seed: int) -> PanelSheet:
    """Maps, charts and a scrubber: shaped like the training of cyclical boosting."""
    rng = np.random.default_rng(seed)
    trees = np.linspace(0, 2000, n)
    frames = np.linspace(2000 / n_frames, 2000, n_frames)
    phase = (trees % 200) / 200
    names = (("SGB", "#7f7f7f"), ("SGLB", "#0072b2"), ("cSGLB", "#e69f00"), ("cbSGLB", "#d55e00"))
    maps = fields(80, 0.0, n_frames)
    panels = [
        replace(maps.panels[2], title=name, accent=colour, hatched=None, unit="nats")
        for name, colour in names
    ]
    scale = 1 + 4.5 * (1 + np.cos(np.pi * phase))
    loss = np.exp(-trees / 500) + 0.05 + 0.01 * np.cumsum(rng.normal(0, 0.1, (4, n)), axis=1)
    scales = [StripLine(name, scale + i, c, step=True) for i, (name, c) in enumerate(names)]
    losses = [StripLine(name, y, c) for (name, c), y in zip(names, loss, strict=True)]
    losses[-1] = StripLine("held out", loss[3] + 0.1, "text", dash=True)
    members = list(range(200, 2001, 200))
    tint = [(k, k + 180) for k in range(0, 2000, 200)]
    x = np.linspace(0, 900, n)
    walk = np.exp(-x / 300) * (1 + np.cos(x / 60 + np.linspace(0, 6, n_frames)[:, None]))
    strips = [
        Strip(
            title="Gradient scale",
            x=trees,
            lines=scales,
            x_label="tree",
            y_label="α",
            marks=members,
            mark_label="members",
            shaded=tint,
            shaded_label="exploration",
        ),
        Strip(
            title="Training loss",
            x=trees,
            lines=losses,
            x_label="tree",
            y_label="nats",
            log=True,
            mode="grow",
            marks=members,
        ),
        Strip(
            title="Knowledge along a line",
            x=x,
            lines=[StripLine(name, walk * (i + 1), c) for i, (name, c) in enumerate(names)],
            x_label="distance from the start",
            y_label="nats",
            mode="frame",
        ),
        Strip(
            title="Leaf norm",
            x=trees,
            lines=[StripLine(name, y**2, c) for (name, c), y in zip(names, loss, strict=True)],
            x_label="tree",
            mode="grow",
        ),
    ]
    return replace(
        maps,
        panels=panels,
        columns=4,
        lines=[Line([0, 560], [0, 400], label="walk", arrow=True)],
        strips=strips,
        strip_columns=2,
        frame_label="tree",
        frame_values=list(frames),
        hatch_label="",
        alt="",
        name="training",
    )


def charts(n_frames: int) -> PanelSheet:
    """Charts without maps: gaps, steps, dots, one value alone, hostile names."""
    x = np.arange(11.0)
    y = np.array([1, 2, np.nan, 4, np.nan, 3, 3, 2, 2, 5, 4.0])
    lines = [
        StripLine("<b>a</b>", y),
        StripLine("held", y / 2, step=True),
        StripLine("dots", y + 1, "text", dots=True),
    ]
    frames = None if n_frames == 1 else np.linspace(0, 10, n_frames)
    first = Strip(
        title="Gaps & <i>steps</i>",
        x=x,
        lines=lines,
        x_label="index",
        y_label="a unit",
        frame_x=frames,
    )
    still = Strip(
        title="Grows",
        x=x,
        lines=[StripLine("Grows", x**2)],
        x_label="index",
        mode="grow",
        frame_x=frames,
    )
    return PanelSheet(panels=[], strips=[first, still], name="charts")


def trails() -> PanelSheet:
    """Points that vanish after ten frames, over a blank map."""
    at = np.arange(40.0)
    points = Points(at, np.zeros(40), appear=at, vanish=at + 10, radius=4)
    panel = Panel(title="Trail", values=np.full((3, 40), np.nan), points=points)
    return PanelSheet(panels=[panel], columns=1, aspect=4, x_extent=(-0.5, 39.5), y_extent=(-1, 1))
