"""What the steps of the lesson on neighbours share: the page's maps and charts, and other views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gbuq_core.figures.canvas.panels import (
    Panel,
    PanelSheet,
    Points,
    Strip,
    StripLine,
    shared_limits,
)
from gbuq_core.figures.colour import OKABE_ITO
from gbuq_core.figures.near import NEAR
from gbuq_core.ibug import FAMILIES
from gbuq_core.study.neighbours import score_neighbours
from gbuq_core.study.neighbours_fit import (
    NeighboursRun,
    NeighboursView,
    search_neighbours,
    view_neighbours,
)
from gbuq_core.study.neighbours_picture import describe_neighbours, family_strip, neighbours_maps


def described_maps(run: NeighboursRun) -> PanelSheet:
    """The page's three maps, with all that it says of them."""
    return replace(neighbours_maps(run), alt=describe_neighbours(run))


def with_strips(sheet: PanelSheet, strips: Sequence[Strip]) -> PanelSheet:
    """The sheet with these charts under its maps, in one row."""
    return replace(sheet, strips=strips, strip_columns=len(strips), strip_height=130)


def scale_panel(sheet: PanelSheet, title: str, scale: np.ndarray) -> Panel:
    """The sheet's map of the estimated scale with another one in it, (..., n_grid)."""
    panel = sheet.panels[1]
    shape = np.shape(panel.values)[-2:]
    return replace(
        panel,
        title=title,
        values=scale.reshape(*scale.shape[:-1], *shape),
        points=None,
    )


def over_k(run: NeighboursRun, tried: Sequence[int]) -> tuple[PanelSheet, list[int]]:
    """The page's maps with a player of k: the scale, and the neighbours that count; and all k."""
    ks = sorted({*tried, run.view.k})
    search = search_neighbours(run.fit, replace(run.settings, k=ks[-1]))
    views = [
        run.view
        if k == run.view.k
        else view_neighbours(run.fit, search, replace(run.settings, k=k))
        for k in ks
    ]
    sheet, data = described_maps(run), run.fit.data
    nearest = run.fit.model.find_neighborhood(run.look.x[None], ks[-1]).indices[0]
    dots = Points(
        data.X[nearest, 0],
        data.X[nearest, 1],
        None,
        ("the neighbours that count",),
        (NEAR,),
        radius=3.4,
        opacity=0.9,
        appear=np.searchsorted(ks, np.arange(1, len(nearest) + 1)),
    )
    truth, _, affinity = sheet.panels
    scale = scale_panel(sheet, "Estimated scale", np.array([view.grid_scale for view in views]))
    truth, scale = same_colours([truth, replace(scale, points=dots)])
    return replace(
        sheet,
        panels=[truth, scale, replace(affinity, points=dots)],
        frame_label="k =",
        frame_values=[str(k) for k in ks],
        start_frame=ks.index(run.view.k),
    ), ks


def played_families(run: NeighboursRun) -> tuple[Strip, list[str]]:
    """The page's chart of all families with one of them a frame in another colour; their names."""
    label = {name: family.label.lower() for name, family in FAMILIES.items()}
    densities = {label[name]: density for name, density in run.look.densities.items()}
    strip = family_strip(run, run.look.y_grid, densities, label[run.look.family], label["normal"])
    played = StripLine("this family", np.stack(list(densities.values())), OKABE_ITO[2])
    lines = [*strip.lines[:-1], played, strip.lines[-1]]
    return replace(strip, lines=lines, mode="frame"), list(densities)


def same_colours(panels: Sequence[Panel]) -> list[Panel]:
    """The maps with one scale of colours, from 0."""
    limits = (0.0, shared_limits([panel.values for panel in panels])[1])
    return [replace(panel, limits=limits) for panel in panels]


def viewed(run: NeighboursRun, **knobs: object) -> NeighboursView:
    """The same fit through other knobs of the view, searched again where they ask for it."""
    settings = replace(run.settings, **knobs)
    return view_neighbours(run.fit, search_neighbours(run.fit, settings), settings)


def score_of(run: NeighboursRun, view: NeighboursView) -> dict[str, Any]:
    """IBUG's scores on fresh rows."""
    return score_neighbours(run.fit, run.search, view)["ibug"]
