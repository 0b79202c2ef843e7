"""Novelty's picture: what has been found for the knobs' values, and the maps it makes."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import streamlit as st

from gbuq_core.errors import GbuqError
from gbuq_core.experiments.novelty.edits import Edit
from gbuq_core.experiments.novelty.fit import (
    NoveltyFit,
    NoveltyMaps,
    NoveltyRun,
    NoveltyView,
    fit_novelty_maps,
    map_novelty,
    maps_key,
    unit_of,
    view_novelty,
)
from gbuq_core.experiments.novelty.look import PlaceLook, explain_place
from gbuq_core.experiments.novelty.picture import novelty_sheet, score_table
from gbuq_core.experiments.novelty.plan import (
    APART,
    METHODS,
    OWN_LABEL,
    NoveltySettings,
    estimate_novelty_seconds,
)
from gbuq_core.experiments.novelty.words import describe_disagreement, describe_novelty
from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.figures.canvas.renderer import near_source
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.near import pack_table
from gbuq_core.presentation import digits
from gbuq_core.settings import plan_of, with_fit
from pages._ui.canvas import CanvasEvent, canvas, keep_knobs
from pages._ui.jobs_glue import Answer, Request, ask
from pages._ui.kept import kept
from pages._ui.live_sliders import LIVE_SECONDS, drop, follow
from pages._ui.novelty.controls import (
    EXPLORE,
    FOLLOWED,
    STATE,
    bar_knobs,
    bar_of,
    settings_of,
)
from pages._ui.novelty.edits import on_maps, waiting_mask
from pages._ui.surface import show_surface

SLOT, BEFORE, CLAIMS = "novelty", "novelty-before", "novelty-claims"
_NEXT_TO_NOTHING = 1e-3  # of the largest KU
_TABLES = st.components.v2.component("gbuq_near", js=near_source(), isolate_styles=True)


class ShownMaps(NamedTuple):
    """Everything the page shows of a fit; the run's settings have the fit's own plan."""

    run: NoveltyRun
    look: PlaceLook
    words: str
    bar: tuple[LiveKnob, ...]


class FitWithMaps(NamedTuple):
    """A fit with the maps that were wanted first; other tails and places need others."""

    fit: NoveltyFit
    maps: NoveltyMaps


def compute(settings: NoveltySettings, job: object) -> FitWithMaps:
    """Train the forests and score the map; the runner calls this in another thread."""
    fit = fit_novelty_maps(plan_of(settings))
    return FitWithMaps(fit, map_novelty(fit, settings))


def fit_requests(settings: NoveltySettings) -> list[Request]:
    """The fit that these settings need, and the one without the last edit."""
    asked = [(SLOT, "Forest and leaves", settings)]
    if settings.edits:
        before = replace(settings, edits=settings.edits[:-1])
        asked.append((BEFORE, "The rows before the edit", before))
    return [_request(*one) for one in asked]


def _request(slot: str, label: str, settings: NoveltySettings) -> Request:
    plan = plan_of(settings)
    seconds = estimate_novelty_seconds(plan)
    return Request(slot, (SLOT, plan), partial(compute, settings), label, seconds)


def find(values: SimpleNamespace, answer: Answer, edits: tuple[Edit, ...]) -> ShownMaps:
    """What the last good fit says with today's view; nothing is found twice."""
    made: FitWithMaps = answer.result
    fit = made.fit
    settings = with_fit(replace(settings_of(values), edits=edits), fit.plan)
    maps = maps_of(made, settings, "now")
    view: NoveltyView = kept(
        "novelty-view",
        [maps],
        (settings.maps, settings.compared, settings.show),
        lambda: view_novelty(fit, maps, settings),
    )
    depends = settings.cell, settings.drawn
    look: PlaceLook = kept(
        "novelty-look", [maps], depends, lambda: explain_place(fit, maps, settings)
    )
    words = kept("novelty-words", [view], None, lambda: describe_novelty(fit, maps, view))
    return ShownMaps(NoveltyRun(settings, fit, maps, view), look, words, bar_of(values))


def maps_of(made: FitWithMaps, settings: NoveltySettings, name: str) -> NoveltyMaps:
    """Every score over the map, worked out once."""
    fit, maps = made
    key = maps_key(fit, settings)
    if key == (maps.tail, maps.third_at, maps.neighbours):
        return maps
    return kept(f"novelty-maps-{name}", [fit], key, lambda: map_novelty(fit, settings))


def scores_of_maps(found: ShownMaps) -> bytes:
    """Every score, packed once for the browser."""
    maps = found.run.maps
    return kept("novelty-table", [maps], None, lambda: pack_table(score_table(maps)))


def send_scores(found: ShownMaps) -> None:
    """Send every score to the browser; the maps do not wait for them."""
    with st.container(key="unseen-novelty-scores"):
        _TABLES(key="novelty-scores", data=scores_of_maps(found))


def say_own(run: NoveltyRun) -> None:
    """Below the maps: what ranks hide of KU."""
    values = run.maps.of("knowledge")
    half, most = float(np.nanmedian(values)), float(np.nanmax(values))
    drawn = "knowledge" in run.view.keys and run.settings.show == "cells"
    if drawn and half < _NEXT_TO_NOTHING * most:
        st.caption(
            f"Knowledge uncertainty is below {digits(half)} ({unit_of(run.fit, 'knowledge')}) in "
            f"half of the cells; its largest value is {digits(most)}. Ranks give that half of the "
            f'cells half of the colours. The map "{OWN_LABEL}" shows sizes on a logarithmic scale.'
        )


def sheet_of(found: ShownMaps, values: SimpleNamespace) -> PanelSheet:
    """The row of maps."""
    return novelty_sheet(
        found.run, look=found.look, region=waiting_mask(), bar=found.bar, knobs=bar_knobs(values),
        alt=found.words,
    )  # fmt: skip


def draw_picture(found: ShownMaps, values: SimpleNamespace) -> bool:
    """The maps, which follow sliders, and one as a surface; False if none is chosen."""
    sheet = sheet_of(found, values)
    if not sheet.panels:
        return False
    follow(STATE, values, FOLLOWED, partial(_draw_maps, found, sheet))
    show_surface(sheet, first=(METHODS["novelty"].label,))
    return True


def _draw_maps(found: ShownMaps, sheet: PanelSheet, values: SimpleNamespace, moving: bool) -> bool:
    """The maps, alone while a slider is on its way; whether they are of these values."""
    fresh = True
    if moving:
        with suppress(GbuqError):  # as they are, where edits do not fit these rows
            found, fresh = _find_moved(values, found.run.settings.edits)
            sheet = sheet_of(found, values)
    pick = partial(_hear, bool(found.run.fit.data.classes))
    canvas(sheet, "novelty-maps", "cells", pick, _turn)
    return fresh


def _find_moved(values: SimpleNamespace, edits: tuple[Edit, ...]) -> tuple[ShownMaps, bool]:
    """What there is for a slider on its way, and whether that is of its value."""
    request, *_ = fit_requests(replace(settings_of(values), edits=edits))
    (answer,) = ask([request], LIVE_SECONDS, others=(BEFORE, CLAIMS))
    return find(values, answer, edits), answer.fresh or bool(answer.error)


def _hear(classes: bool, event: CanvasEvent) -> None:
    """A click or a lasso runs the maps and what is looked at in them: a callback."""
    on_maps(classes, event)
    drop(STATE, EXPLORE)


def _turn(values: dict[str, Any]) -> None:
    """So does a knob of the picture's bar: a callback."""
    keep_knobs(values)
    drop(STATE, EXPLORE)


def say_contradiction(run: NoveltyRun) -> None:
    """Below the maps: which scores contradict each other most, and where."""
    apart = run.view.disagreement
    if APART in run.settings.maps and apart is not None:
        st.text(describe_disagreement(run.fit, apart), width="stretch")
