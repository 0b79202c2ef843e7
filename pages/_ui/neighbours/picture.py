"""Neighbours' picture: what has been found for the knobs' values, and the figure it makes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import streamlit as st

from gbuq_core.experiments.neighbours.fit import (
    Brushed,
    NeighboursFit,
    NeighboursSearch,
    NeighboursView,
    brush_scale,
    fit_neighbours,
    rank_families,
    search_key,
    search_neighbours,
    view_neighbours,
)
from gbuq_core.experiments.neighbours.live import (
    is_small,
    leaf_name,
    leaf_table,
    leaves_at,
    scale_name,
    scale_table,
    tree_name,
    tree_table,
)
from gbuq_core.experiments.neighbours.look import NeighboursLook, look_at
from gbuq_core.experiments.neighbours.plan import (
    BEST_FAMILY,
    FAMILY_LABELS,
    KS,
    PLACES,
    PREDICTION,
    NeighboursSettings,
    estimate_neighbours_seconds,
    share_of,
)
from gbuq_core.figures.canvas.panels import PanelSheet, Strip
from gbuq_core.figures.canvas.renderer import near_source
from gbuq_core.figures.curves import Curves
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.neighbours.charts import Families, family_strip
from gbuq_core.figures.neighbours.live import Aside, Follow, pack_table
from gbuq_core.figures.neighbours.parts import Near
from gbuq_core.figures.neighbours.picture import Course, course_figure, surface_sheet
from gbuq_core.figures.neighbours.rows import HeldOut, held_out_figure, training_figure
from gbuq_core.figures.neighbours.sources import near_from, surface_from
from gbuq_core.ibug import FAMILIES, FamilyScores
from gbuq_core.settings import bare, from_values, plan_of, with_fit
from pages._ui.canvas import CanvasEvent, canvas, keep_knobs
from pages._ui.controls import draw_knob
from pages._ui.curves import Carry, show_curves
from pages._ui.jobs_glue import Answer, Request
from pages._ui.kept import kept
from pages._ui.live import live_knobs
from pages._ui.live_sliders import carried, carry, drop
from pages._ui.neighbours.controls import KNOBS, STATE, rounded_place
from pages._ui.neighbours.words import describe_brush, describe_choice, truth_at

SLOT = "neighbours"
EXPLORE = "neighbours-explore"  # the fragment that a click into the picture runs again
_BOX_WIDTH = 170  # pixels of a number box
_STRIP_POINTS = 401
_TABLES = st.components.v2.component("gbuq_near", js=near_source(), isolate_styles=True)
_MORE_OFTEN = 2.0  # times, among the neighbours of the highlighted rows


class Found(NamedTuple):
    """Everything the page shows of a fit; ``settings`` has the fit's own plan."""

    fit: NeighboursFit
    settings: NeighboursSettings
    search: NeighboursSearch
    view: NeighboursView
    look: NeighboursLook
    brushed: Brushed | None
    words: str
    bar: tuple[LiveKnob, ...]
    beside: LiveKnob


def compute(plan: NeighboursSettings, job: object) -> NeighboursFit:
    """Train the trees; the runner calls this in another thread."""
    return fit_neighbours(plan)


def fit_request(settings: NeighboursSettings) -> Request:
    """The fit that these settings need."""
    plan = plan_of(settings)
    seconds = estimate_neighbours_seconds(plan)
    return Request(SLOT, (SLOT, plan), partial(compute, plan), "Trees", seconds)


def find(values: SimpleNamespace, answer: Answer) -> Found:
    """What the last good fit says with today's view; nothing is found twice."""
    fit: NeighboursFit = answer.result
    settings = with_fit(from_values(NeighboursSettings, vars(values)), fit.plan)
    search = kept(
        "neighbours-search",
        [fit],
        search_key(fit, settings),
        lambda: search_neighbours(fit, settings),
    )
    plain = replace(bare(settings), compare=())
    view: NeighboursView = kept(
        "neighbours-view", [search], plain, lambda: view_neighbours(fit, search, plain)
    )
    view = replace(view, settings=settings)
    ranked = ranked_of(fit, search, view) if settings.family == BEST_FAMILY else None
    look = kept(
        "neighbours-look",
        [search],
        (plain, settings.point, settings.row, settings.family),
        lambda: look_at(fit, search, settings, view, ranked),
    )
    brushed = brush_scale(fit, view)
    words = describe_choice(fit, look)
    *bar, beside = live_knobs(STATE, values)
    return Found(fit, settings, search, view, look, brushed, words, tuple(bar), beside)


def ranked_of(fit: NeighboursFit, search: NeighboursSearch, view: NeighboursView) -> FamilyScores:
    """Every family's NLL on the validation rows, worked out once."""
    depends = view.setting, view.settings.calibrate, view.settings.scoring
    return kept("neighbours-ranked", [search], depends, lambda: rank_families(fit, search, view))


def draw_picture(found: Found) -> None:
    """The picture of the kind of data, with what is chosen in it; a place can be dragged."""
    data = found.fit.data
    if data.n_inputs == 1:
        place = Carry(
            carried(STATE),
            False,
            partial(_carry_x, data.key, data.axes[0]),
            float(found.look.x[0]),
            " Drag the orange line to move it.",
            is_small(found.fit),
        )
        pick = partial(_pick_x, data.key, data.axes[0])
        show_curves(course_of(found), "neighbours-course", pick, carry=place)
    elif data.n_inputs == 2:
        pick = partial(_pick_cell, data.key, data.axes)
        canvas(surface_of(found), "neighbours-maps", "cells", pick, keep_knobs)
    else:
        left, right = st.columns(2, gap="medium")
        with left:
            st.markdown("**Held-out rows**: point at one, click to keep it")
            show_curves(
                held_out_of(found), "neighbours-rows", partial(_pick_row, found.settings.data)
            )
        with right:
            st.markdown("**Training rows**: the neighbours are marked")
            show_curves(training_of(found), "neighbours-training")


def draw_choice(found: Found) -> None:
    """Under the picture: what is looked at, in boxes and in words."""
    data = found.settings.data
    across = [] if found.fit.data.n_inputs else [f"{data}_by"]
    with st.container(horizontal=True, key="neighbours-choice", vertical_alignment="bottom"):
        for name in (*PLACES[data], *across):
            with st.container(width=_BOX_WIDTH if KNOBS[name].box else 240):
                draw_knob(KNOBS[name])
        with st.container(width=320):
            draw_knob(KNOBS["scales"])
        if found.fit.data.n_inputs:
            with st.container(width=_BOX_WIDTH):
                draw_knob(KNOBS["scales_of"])
    st.text(found.words, width="stretch")
    highlighted = describe_brush(found.fit, found.view, found.brushed, found.settings.scales)
    if highlighted:
        st.text(highlighted, width="stretch")


def near_of(found: Found) -> Near:
    """The neighbours as the figures read them."""
    return near_from(found.look)


def follow_of(found: Found) -> Follow | None:
    """How the picture follows its knobs and the pointer; None if its leaves are too many."""
    fit, look = found.fit, found.look
    if not is_small(fit):
        return None
    return Follow(
        leaf_name(fit),
        scale_name(fit, found.search, found.settings),
        tree_name(fit, found.settings),
        {knob.key: knob.value for knob in found.bar},
        [min(share_of(fit.plan.trees, share), fit.n_trees) for share in KNOBS["tau"].choices],
        list(FAMILY_LABELS.items()),
        look.family,
        leaves_at(fit, look.x),
        look.loc,
        look.scale,
    )


def tables_of(found: Found) -> list[bytes]:
    """What the picture follows with, packed once a fit, a search and a k."""
    fit, search, settings = found.fit, found.search, found.settings
    if not is_small(fit):
        return []
    name = scale_name(fit, search, settings)
    return [
        kept("neighbours-leaves", [fit], None, lambda: pack_table(leaf_table(fit))),
        kept(
            "neighbours-scales", [search], name,
            lambda: pack_table(scale_table(fit, search, settings, KS)),
        ),
        kept(
            "neighbours-trees", [fit], tree_name(fit, settings),
            lambda: pack_table(tree_table(fit, settings, KNOBS["tau"].choices)),
        ),
    ]  # fmt: skip


def send_tables(found: Found) -> None:
    """Send them; the picture does not wait for them."""
    for name, data in zip(("leaves", "scales", "trees"), tables_of(found), strict=False):
        with st.container(key=f"unseen-neighbours-{name}"):
            _TABLES(key=f"neighbours-{name}", data=data)


def aside_of(found: Found) -> Aside:
    """The density of the family in use at the chosen place."""
    look = found.look
    return Aside(look.y_grid, look.densities[look.family], _density_name(look))


def _density_name(look: NeighboursLook) -> str:
    return f"density ({FAMILIES[look.family].label})"


def course_of(found: Found) -> Curves:
    """The curves over one input."""
    data, view = found.fit.data, found.view
    x = data.axes[0]
    course = Course(
        x, view.grid_loc, view.grid_scale, data.true_mean, data.true_std, data.X[:, 0], data.y,
        data.in_support,
    )  # fmt: skip
    inside = None if found.brushed is None else found.brushed.grid
    at = float(found.look.x[0])
    return course_figure(
        course, at, near_of(found), inside, data.target_name, found.words, 400,
        knobs=found.bar, follow=follow_of(found), aside=aside_of(found),
    )  # fmt: skip


def surface_of(found: Found) -> PanelSheet:
    """The maps over two inputs."""
    data, view, look = found.fit.data, found.view, found.look
    surface = surface_from(data, view.grid_scale, look.map_affinity / look.n_trees)
    shape = data.grid_shape
    inside = None if found.brushed is None else found.brushed.grid.reshape(shape)
    point = float(look.x[0]), float(look.x[1])
    return surface_sheet(
        surface, point, near_of(found), inside, data.unit, found.words,
        knobs=(*found.bar, found.beside), follow=follow_of(found), strip=targets_of(found),
    )  # fmt: skip


def targets_of(found: Found) -> Strip:
    """The neighbours' targets with the density in use, over all targets of the data."""
    look, data = found.look, found.fit.data
    low, high = float(data.y.min()), float(data.y.max())
    y = np.linspace(low - 0.1 * (high - low), high + 0.1 * (high - low), _STRIP_POINTS)
    density = np.interp(y, look.y_grid, np.nan_to_num(look.densities[look.family]), 0.0, 0.0)
    known = truth_at(found.fit, look)
    families = Families(
        y, {_density_name(look): density}, _density_name(look), look.targets,
        near_of(found).share, None if known is None else known[0], "true mean",
    )  # fmt: skip
    return family_strip(families, data.target_name)


def held_out_of(found: Found) -> Curves:
    """The map of a table's held-out rows."""
    data, view = found.fit.data, found.view
    error = np.abs(data.y_test - view.loc)
    rows = HeldOut(np.arange(1, len(error) + 1), view.loc, view.scale, error)
    inside = None if found.brushed is None else found.brushed.rows
    return held_out_figure(
        rows, found.look.row, inside, data.target_name, found.words, 360,
        knobs=found.bar, follow=follow_of(found),
    )  # fmt: skip


def training_of(found: Found) -> Curves:
    """The training rows with the neighbours of the chosen one."""
    data, look = found.fit.data, found.look
    across, value, others = _across(found)
    return training_figure(
        across,
        data.y,
        near_of(found),
        (value, look.loc, look.scale),
        behind_range(found),
        (found.settings.across, data.target_name),
        found.words,
        360,
        look.target,
        follow=follow_of(found),
        aside=aside_of(found),
        places=(look.row, others),
    )


def _across(found: Found) -> tuple[np.ndarray, float, np.ndarray]:
    """The column that training rows are drawn by; the chosen row's value in it, and all others'."""
    fit, look, name = found.fit, found.look, found.settings.across
    if name == PREDICTION:
        trained = kept("neighbours-trained", [fit], None, lambda: fit.model.predict(fit.data.X))
        return trained, look.loc, found.view.loc
    column = fit.data.feature_names.index(name)
    return fit.data.X[:, column], float(look.x[column]), fit.data.X_test[:, column]


def behind_range(found: Found) -> np.ndarray | None:
    """Training rows that are neighbours of highlighted rows at least twice as often as of others.

    None if no range is chosen or it holds no row.
    """
    brushed = found.brushed
    if brushed is None or not brushed.n_rows:
        return None
    indices, n = found.search.near_test.indices[:, : found.view.k], len(found.fit.data.y)
    inside, outside = (
        np.bincount(indices[rows].ravel(), minlength=n) / max(int(rows.sum()), 1)
        for rows in (brushed.rows, ~brushed.rows)
    )
    return (inside > 0) & (inside >= _MORE_OFTEN * outside)


def _carry_x(data: str, x: np.ndarray, seq: int, place: int) -> None:
    carry(STATE, seq, **rounded_place(data, (float(x[place]),)))


def _pick_x(data: str, x: np.ndarray, place: int) -> None:
    drop(STATE, EXPLORE, **rounded_place(data, (float(x[place]),)))


def _pick_cell(data: str, axes: tuple[np.ndarray, ...], event: CanvasEvent) -> None:
    """The clicked cell; of several, the one in their middle."""
    cells = [event.clicked[1:]] if event.clicked is not None else event.lassoed
    if cells:
        row, column = (round(sum(at) / len(at)) for at in zip(*cells, strict=True))
        place = float(axes[0][column]), float(axes[1][row])
        drop(STATE, EXPLORE, **rounded_place(data, place))


def _pick_row(data: str, number: int) -> None:
    drop(STATE, EXPLORE, **rounded_place(data, (float(number),)))
