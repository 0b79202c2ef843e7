"""The skeleton of an experiment's page: a question, one picture, one control, one verdict.

All else is folded until it is asked for: `FOLDS`, in this order on every page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gbuq_core.experiments.claims import Claim, chips_of
from gbuq_core.experiments.experiment import Experiment, experiment_html
from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.settings import bare, from_values, sliders
from pages._ui.canvas import CanvasEvent, canvas, keep_knobs
from pages._ui.claims import MARKS, draw_claims
from pages._ui.departures import show_departures
from pages._ui.export import Download, show_exports
from pages._ui.jobs_glue import ask, show_progress
from pages._ui.kept import kept
from pages._ui.live import live_knobs, send_members
from pages._ui.live_sliders import LIVE_SECONDS, follow
from pages._ui.sections import draw_section
from pages._ui.side_by_side import (
    Shown,
    list_costs,
    plan_requests,
    say_what_is_missing,
    view_answers,
)
from pages._ui.surface import OPEN, show_surface
from pages._ui.url_state import ControlPlaces, PageState, open_page

COMPARE, WHY, PAPER = "Compare methods", "Why", "Does the paper hold?"
SETTINGS, EXPORT = "All settings", "Export"
_CONTROL_WIDTH = 420  # pixels
FOLDS = (COMPARE, WHY, PAPER, SETTINGS, EXPORT)


def _key(title: str) -> str:
    """
    >>> _key(SETTINGS)
    'fold-all-settings'
    """
    return "fold-" + title.lower().rstrip("?").replace(" ", "-")


class Skeleton:
    """The places of a page, from the top; each is filled with ``with``."""

    def __init__(self, question: str, lede: str = "", halved: bool = False) -> None:
        st.title(question)
        # With `halved` the picture leaves a half of the page beside it.
        self.half, place = st.columns([0.4, 0.6], gap="large") if halved else (None, st.container())
        with place:
            self._lede = st.container(key="lede")
            self.ask(lede)
            self.notices = st.container()
            self.picture = st.container(key="first-picture")
            with st.container(horizontal=True, vertical_alignment="center", gap="large"):
                self.control = st.container(width=_CONTROL_WIDTH)
                self._verdict = st.container(width="stretch", key="first-verdict")
        self._folds = {title: st.expander(title, key=_key(title)) for title in FOLDS}

    def open(self, page: PageState, keys: Sequence[str]) -> SimpleNamespace:
        """`open_page`, with the knobs of these keys at the picture and all others folded."""
        with self.notices:
            return open_page(page, places=ControlPlaces(self.control, keys, self.fold(SETTINGS)))

    def ask(self, lede: str) -> None:
        """One sentence under the title, given late where it depends on the knobs."""
        if lede:
            self._lede.markdown(lede)

    def fold(self, title: str) -> DeltaGenerator:
        """The fold of a title."""
        return self._folds[title]

    def say_verdict(self, words: str, claims: Sequence[Claim], numbers: str = "") -> None:
        """The answer in one sentence; numbers and thresholds are a click away."""
        if not words:
            return
        with self._verdict, st.popover(words, type="tertiary"):
            if numbers:
                st.text(numbers)
            for claim in chips_of(claims):
                here = claim.here[:1].upper() + claim.here[1:]
                st.markdown(f"{MARKS[claim.verdict]} **{claim.answer}**")
                st.caption(f"{here} {claim.threshold}".strip())


def show_experiment(
    one: Experiment,
    state: PageState,
    keys: Sequence[str],
    on_select: Callable[[CanvasEvent], None] | None = None,
    below: Callable[[Any], None] | None = None,
    wait_seconds: float = 0.5,  # the default's methods come without a flash of progress
) -> None:
    """The whole page of an experiment with maps: the knobs of these keys stand at the picture.

    Cells are chosen in the picture if ``on_select`` takes them; ``below(settings)`` draws what
    belongs to them.
    """
    page = Skeleton(one.question, one.lede)
    values = page.open(state, keys)
    settings = from_values(one.settings, vars(values))
    answers = ask(plan_requests(one, settings), wait_seconds)
    shown = view_answers(one, settings, answers)
    views = [each.view for each in shown if each.fresh]
    run = one.run(settings, views)
    claims = kept(f"{one.name}-claims", views, bare(settings), lambda: one.claims(run))
    sheet = _sheet_of(one, state, values, shown)
    with page.notices:
        show_progress(answers)
        say_what_is_missing(one, settings, shown)

    def draw(now: SimpleNamespace, moving: bool) -> bool:
        """The maps, alone while a slider is on its way; whether all are of these values."""
        drawn, fresh = sheet, True
        if moving:
            wanted = from_values(one.settings, vars(now))
            found = view_answers(one, wanted, ask(plan_requests(one, wanted), LIVE_SECONDS))
            drawn = _sheet_of(one, state, now, found)
            fresh = all(each.fresh or each.problem for each in found)
        canvas(drawn, one.name, "cells" if on_select else None, on_select, keep_knobs)
        return fresh

    with page.picture:
        follow(state, values, sliders(one.settings), draw)
        if below is not None:
            below(settings)
    page.say_verdict(one.answer(run), claims)
    with page.fold(COMPARE):
        if views:
            draw_section(one.scores(run), "scores")
        else:
            st.text("Scores appear with the first fit.")
        st.caption(" ".join(list_costs(one, settings, shown)))
    with page.fold(WHY):
        st.markdown(one.equations)
        show_departures(one.departures)
    with page.fold(PAPER):
        complete = len(views) == len(one.chosen(settings))
        draw_claims(claims, one.study if complete else None, settings)
    with page.fold(EXPORT):
        whole = partial(experiment_html, one, run, views, live_knobs(state, values))
        downloads = (
            Download("Data (CSV)", f"{one.name}.csv", "text/csv", partial(one.csv, run)),
            Download("Page (HTML)", f"{one.name}.html", "text/html", whole),
        )
        show_exports(one.name, one.code(settings), downloads)
        st.caption("In words")
        st.text(one.words(run))
    if OPEN in state.knobs:
        show_surface(sheet, first=("knowledge",))
    send_members(sheet.live, one.name)


def _sheet_of(
    one: Experiment, state: PageState, values: SimpleNamespace, shown: Sequence[Shown]
) -> PanelSheet:
    """What there is to draw, the last good maps included."""
    settings = from_values(one.settings, vars(values))
    run = one.run(settings, [each.view for each in shown if each.fresh])
    views = [each.view for each in shown if each.view is not None]
    return replace(one.sheet(run, views, live_knobs(state, values)), quiet=True)
