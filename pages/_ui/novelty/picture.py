"""Novelty's picture: what has been found for the knobs' values, and the maps it makes."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import NamedTuple

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
from gbuq_core.experiments.novelty.opening import LOOK, OPENING, first_view
from gbuq_core.experiments.novelty.picture import edge_around, novelty_sheet, score_table
from gbuq_core.experiments.novelty.plan import (
    APART,
    FIRST,
    METHODS,
    OWN_LABEL,
    NoveltySettings,
    estimate_novelty_seconds,
)
from gbuq_core.experiments.novelty.scores import (
    describe_disagreement,
    describe_novelty,
    explain_variances,
)
from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.figures.near import pack_table
from gbuq_core.presentation import digits
from gbuq_core.settings import plan_of, with_fit
from pages._ui.canvas import canvas, keep_knobs
from pages._ui.jobs_glue import Answer, Request, ask, cost_line, in_thread, show_progress
from pages._ui.kept import kept
from pages._ui.live_sliders import LIVE_SECONDS, follow
from pages._ui.notices import show_notice
from pages._ui.novelty.controls import (
    FOLLOWED,
    STATE,
    bar_knobs,
    bar_of,
    settings_of,
)
from pages._ui.novelty.edits import on_maps, waiting_mask
from pages._ui.surface import show_surface

SLOT, BEFORE, CLAIMS = "novelty", "novelty-before", "novelty-claims"
_WAIT_SECONDS = 1.0  # the default comes without a flash of progress
_NEXT_TO_NOTHING = 1e-3  # of the largest KU


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


def compute(settings: NoveltySettings) -> FitWithMaps:
    """Train the forests and score the map."""
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
    stored = partial(_stored, plan) if settings == first_view(settings) else None
    return Request(slot, (SLOT, plan), in_thread(compute, settings), label, seconds, stored=stored)


def _stored(plan: NoveltySettings) -> FitWithMaps | None:
    fit = OPENING.find(plan)
    return None if fit is None else FitWithMaps(fit, fit.opening)


def find(values: SimpleNamespace, answer: Answer, edits: tuple[Edit, ...]) -> ShownMaps:
    """What the last good fit says with today's view; nothing is found twice."""
    made: FitWithMaps = answer.result
    fit = made.fit
    settings = with_fit(replace(settings_of(values), edits=edits), fit.plan)
    if fit.opening is not None:
        settings = first_view(settings)
    maps = novelty_maps(made, settings, "now")
    view: NoveltyView = kept(
        "novelty-view",
        [maps],
        (settings.maps, settings.compared, settings.show),
        lambda: view_novelty(fit, maps, settings),
    )
    depends = settings.cell, settings.drawn
    look: PlaceLook = kept(
        "novelty-look", [maps], depends,
        lambda: LOOK.find(FIRST) if fit.opening is not None else explain_place(fit, maps, settings),
    )  # fmt: skip
    words = kept("novelty-words", [view], None, lambda: describe_novelty(fit, maps, view))
    return ShownMaps(NoveltyRun(settings, fit, maps, view), look, words, bar_of(values))


def look_at(
    values: SimpleNamespace, settings: NoveltySettings | None
) -> tuple[Answer | None, Answer | None, ShownMaps | None]:
    """The fit of these settings, the one before the last edit, and what there is to show."""
    if settings is None:
        return None, None, None
    now, *behind = ask(fit_requests(settings), _WAIT_SECONDS, others=(CLAIMS,))
    show_progress([now, *behind])
    return now, behind[0] if behind else None, find_or_say(values, settings.edits, now)


def find_or_say(values: SimpleNamespace, edits: tuple[Edit, ...], now: Answer) -> ShownMaps | None:
    """What there is to show, or the reason why there is nothing."""
    if now.error:
        show_notice(now.error, "novelty", tone="error")
    elif now.result is None:
        st.text("The maps appear when the first fit is done.")
    if now.error or now.result is None:
        return None
    try:
        found = find(values, now, edits)
    except GbuqError as error:
        show_notice(str(error), "novelty", tone="error")
        return None
    if not now.fresh:
        st.caption("The picture still shows the previous settings.")
    notes = [*found.run.view.notes, *found.look.notes]
    if notes:
        show_notice(list(dict.fromkeys(notes)), "range")
    return found


def novelty_maps(made: FitWithMaps, settings: NoveltySettings, name: str) -> NoveltyMaps:
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


def describe_maps(found: ShownMaps, now: Answer) -> list[str]:
    """What the maps cost, what ranks hide, and which scores contradict each other most."""
    run = found.run
    words = [
        f"{cost_line(now)}." if now.seconds is not None else "",
        "Maps, ranks, leaves and places update the picture without retraining.",
        explain_variances(run.fit, run.maps),
    ]
    values = run.maps.of("knowledge")
    half, most = float(np.nanmedian(values)), float(np.nanmax(values))
    drawn = "knowledge" in run.view.keys and run.settings.show == "cells"
    if drawn and half < _NEXT_TO_NOTHING * most:
        words.append(
            f"Knowledge uncertainty is below {digits(half)} ({unit_of(run.fit, 'knowledge')}) in "
            f"half of the cells; its largest value is {digits(most)}. Ranks give that half of the "
            f'cells half of the colours. The map "{OWN_LABEL}" shows sizes on a logarithmic scale.'
        )
    apart = run.view.disagreement
    if APART in run.settings.maps and apart is not None:
        words.append(describe_disagreement(run.fit, apart))
    return [text for text in words if text]


def shown_sheet(found: ShownMaps, values: SimpleNamespace) -> PanelSheet:
    """The row of maps."""
    sheet = novelty_sheet(
        found.run, look=found.look, region=waiting_mask(), bar=found.bar, knobs=bar_knobs(values),
        alt=found.words,
    )  # fmt: skip
    here = edge_around(found.run.fit, found.run.settings.cell)
    return replace(sheet, quiet=True, lines=() if waiting_mask() is not None else (here,))


def draw_picture(found: ShownMaps, sheet: PanelSheet, values: SimpleNamespace) -> None:
    """The maps, which follow sliders."""
    if sheet.panels:
        follow(STATE, values, FOLLOWED, partial(_draw_maps, found, sheet))
    else:
        st.text("No map is chosen. Choose one under All settings.")


def draw_surface(sheet: PanelSheet) -> None:
    """One map as a surface."""
    if sheet.panels:
        show_surface(sheet, first=(METHODS["novelty"].label,))


def _draw_maps(found: ShownMaps, sheet: PanelSheet, values: SimpleNamespace, moving: bool) -> bool:
    """The maps, alone while a slider is on its way; whether they are of these values."""
    fresh = True
    if moving:
        with suppress(GbuqError):  # as they are, where edits do not fit these rows
            found, fresh = _find_moved(values, found.run.settings.edits)
            sheet = shown_sheet(found, values)
    pick = partial(on_maps, bool(found.run.fit.data.classes))
    canvas(sheet, "novelty-maps", "cells", pick, keep_knobs)
    return fresh


def _find_moved(values: SimpleNamespace, edits: tuple[Edit, ...]) -> tuple[ShownMaps, bool]:
    """What there is for a slider on its way, and whether that is of its value."""
    request, *_ = fit_requests(replace(settings_of(values), edits=edits))
    (answer,) = ask([request], LIVE_SECONDS, others=(BEFORE, CLAIMS))
    return find(values, answer, edits), answer.fresh or bool(answer.error)
