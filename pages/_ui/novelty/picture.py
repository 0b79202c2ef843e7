"""Novelty's picture: what has been found for the knobs' values, and the maps it makes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import streamlit as st

from gbuq_core.errors import GbuqError
from gbuq_core.experiments.novelty.edits import Edit
from gbuq_core.experiments.novelty.fit import (
    NoveltyFit,
    NoveltyMaps,
    NoveltyView,
    fit_novelty_maps,
    map_novelty,
    maps_key,
    view_novelty,
)
from gbuq_core.experiments.novelty.look import PlaceLook, explain_place
from gbuq_core.experiments.novelty.plan import (
    METHODS,
    NoveltySettings,
    check_view,
    estimate_novelty_seconds,
    plan_novelty,
    why_not,
)
from gbuq_core.experiments.novelty.scores import support_of
from gbuq_core.experiments.novelty.words import describe_disagreement, describe_novelty
from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.figures.novelty.picture import MACAU, Ellipses, Ground, ScoreMap, maps_sheet
from gbuq_core.figures.theme import METHOD_STYLES
from pages._ui.canvas import canvas
from pages._ui.jobs_glue import Answer, Request
from pages._ui.kept import kept
from pages._ui.novelty.controls import Shown, cell_of, settings_of, shown_of
from pages._ui.novelty.edits import on_maps, waiting_mask
from pages._ui.surface import show_surface

SLOT, BEFORE = "novelty", "novelty-before"
_OTHERS = ("isolation", "distance")  # scores that are not MACAU's
_POSITIVE = ("knowledge", "data", "distance")  # variances and distances


class Found(NamedTuple):
    """Everything the page shows of a fit; ``settings`` has the fit's own plan."""

    fit: NoveltyFit
    settings: NoveltySettings
    shown: Shown
    maps: NoveltyMaps
    view: NoveltyView
    look: PlaceLook
    cell: tuple[int, int]
    words: str


def problem_with(settings: NoveltySettings) -> str:
    """Why these settings cannot be fitted or shown, in a sentence; nothing if they can."""
    try:
        return why_not(plan_novelty(settings)) or check_view(settings)
    except GbuqError as error:
        return str(error)


class Made(NamedTuple):
    """A fit with the maps that were wanted first; other tails and places need others."""

    fit: NoveltyFit
    maps: NoveltyMaps


def compute(settings: NoveltySettings, job: object) -> Made:
    """Train the forests and score the map; the runner calls this in another thread."""
    fit = fit_novelty_maps(plan_novelty(settings))
    return Made(fit, map_novelty(fit, settings))


def fit_requests(settings: NoveltySettings) -> list[Request]:
    """The fit that these settings need, and the one without the last edit."""
    asked = [(SLOT, "Forest and leaves", settings)]
    if settings.edits:
        before = replace(settings, edits=settings.edits[:-1])
        asked.append((BEFORE, "The rows before the edit", before))
    return [_request(*one) for one in asked]


def _request(slot: str, label: str, settings: NoveltySettings) -> Request:
    plan = plan_novelty(settings)
    seconds = estimate_novelty_seconds(plan)
    return Request(slot, (SLOT, plan), partial(compute, settings), label, seconds)


def find(values: SimpleNamespace, answer: Answer, edits: tuple[Edit, ...]) -> Found:
    """What the last good fit says with today's view; nothing is found twice.

    Raises
    ------
    GbuqError
        One sentence.
    """
    made: Made = answer.result
    fit = made.fit
    cell, shown = cell_of(values), shown_of(values)
    settings = settings_of(values, edits, fit.plan)
    maps = maps_of(made, settings, "now")
    view: NoveltyView = kept(
        "novelty-view",
        [maps],
        replace(settings, n_top=1, score="novelty"),
        lambda: view_novelty(fit, maps, settings),
    )
    x, y = fit.data.axes
    settings = replace(settings, point=(float(x[cell[1]]), float(y[cell[0]])))
    depends = cell, settings.n_top
    look: PlaceLook = kept(
        "novelty-look", [maps], depends, lambda: explain_place(fit, maps, settings)
    )
    words = kept("novelty-words", [view], None, lambda: describe_novelty(fit, maps, view))
    return Found(fit, settings, shown, maps, view, look, cell, words)


def maps_of(made: Made, settings: NoveltySettings, name: str) -> NoveltyMaps:
    """Every score over the map, worked out once."""
    fit, maps = made
    key = maps_key(fit, settings)
    if key == (maps.tail, maps.third_at, maps.neighbours):
        return maps
    return kept(f"novelty-maps-{name}", [fit], key, lambda: map_novelty(fit, settings))


def ground_of(fit: NoveltyFit) -> Ground:
    """The rows that a fit was trained on, and the axes of its maps."""
    data, rows = fit.data, fit.rows
    x_name, y_name = data.feature_names[:2]
    known = support_of(fit)
    support = None if known is None else as_map(fit, known)
    group, names = np.zeros(len(rows.y), dtype=np.int64), ("training rows",)
    if data.classes:
        group, names = rows.y.astype(np.int64), tuple(data.classes)
    return Ground(*data.extent, rows.X[:, :2], group, names, support, x_name, y_name)


def as_map(fit: NoveltyFit, flat: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Values of cells as rows and columns."""
    x, y = fit.data.axes
    return flat.reshape(len(y), len(x))


def accent_of(key: str) -> str | None:
    """The colour of the method that a score comes from; the truth has none."""
    if key in _OTHERS:
        return METHOD_STYLES["vrf"].colour
    return None if key == "truth" else MACAU.colour


def score_maps_of(found: Found) -> list[ScoreMap]:
    """The chosen maps as they are drawn."""
    view, own = found.view, found.settings.ranks == "value"
    keys = found.shown.keys and view.keys
    # The truth comes first, and novelty takes the place of a truth that nobody knows.
    ordered = sorted(keys, key=lambda key: key != "truth")
    return [
        ScoreMap(
            METHODS[key].label,
            view.units[view.keys.index(key)],
            as_map(found.fit, view.shown[view.keys.index(key)]),
            accent_of(key),
            None if own else (0.0, 100.0),
            log=own and found.shown.log and key in _POSITIVE,
            ellipses=key == "novelty",
        )
        for key in ordered
    ]


def sheet_of(found: Found, region: npt.NDArray[np.bool_] | None = None) -> PanelSheet:
    """The row of maps."""
    fit, look = found.fit, found.look
    leaves = Ellipses(look.ellipses.centre, look.ellipses.covariance)
    apart = found.view.disagreement if found.shown.apart else None
    spread = None if apart is None else as_map(fit, apart.spread)
    return maps_sheet(
        ground_of(fit),
        score_maps_of(found),
        found.settings.point,
        leaves,
        None if region is None else as_map(fit, region),
        spread,
        found.words,
    )


def draw_picture(found: Found) -> bool:
    """The maps, with the leaves and the place that is looked at; False if none is chosen."""
    if not found.shown.keys and not found.shown.apart:
        return False
    pick = partial(on_maps, bool(found.fit.data.classes))
    sheet = sheet_of(found, waiting_mask())
    canvas(sheet, "novelty-maps", "cells", pick)
    show_surface(sheet, first=(METHODS["novelty"].label,))
    return True


def say_contradiction(found: Found) -> None:
    """Below the maps: which scores contradict each other most, and where."""
    apart = found.view.disagreement
    if found.shown.apart and apart is not None:
        st.text(describe_disagreement(found.fit, apart), width="stretch")
