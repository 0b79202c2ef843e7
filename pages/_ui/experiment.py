"""The skeleton of an experiment's page: a question, one picture, one control, one verdict.

All else is folded until it is asked for: `FOLDS`, in this order on every page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType, SimpleNamespace
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gbuq_core.experiments.claims import Claim, chips_of
from gbuq_core.experiments.experiment import (
    Account,
    Closer,
    Experiment,
    account_html,
    experiment_sections,
    listed,
    text_of,
)
from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.figures.standalone import Section
from gbuq_core.glossary import GLOSSARY
from gbuq_core.knobs import Knob
from gbuq_core.settings import bare, from_values, sliders
from pages._ui.canvas import CanvasEvent, Selectable, canvas, keep_knobs
from pages._ui.claims import MARKS, draw_claims
from pages._ui.controls import draw_fold, draw_knob
from pages._ui.departures import show_departures
from pages._ui.export import Download, show_exports
from pages._ui.jobs_glue import ask, show_progress
from pages._ui.kept import kept, last_kept
from pages._ui.live import live_knobs, send_members
from pages._ui.live_sliders import LIVE_SECONDS, follow
from pages._ui.sections import draw_section
from pages._ui.side_by_side import (
    Shown,
    list_costs,
    plan_requests,
    say_stale,
    say_what_is_missing,
    view_answers,
)
from pages._ui.surface import OPEN, show_surface
from pages._ui.trials import draw_trials, trial_requests, trial_results
from pages._ui.url_state import ControlPlaces, PageState, open_page, read_again

COMPARE, WHY, PAPER = "Compare methods", "Why", "Does the paper hold?"
SETTINGS, EXPORT = "All settings", "Export"
_CONTROL_WIDTH, _SLIDER_WIDTH, _BOX_WIDTH = 420, 340, 130  # pixels
QUICK = 0.12  # seconds that a page waits while nobody waits for what it asked for
FOLDS = (COMPARE, WHY, PAPER, SETTINGS, EXPORT)
_NONE: Mapping[Any, Any] = MappingProxyType({})
Folded = Mapping[str, Sequence[Knob]]


def _key(title: str) -> str:
    """
    >>> _key(SETTINGS)
    'fold-all-settings'
    """
    return "fold-" + title.lower().rstrip("?").replace(" ", "-")


def _slug_of(label: str) -> str:
    """
    >>> _slug_of("Functions of VST"), _slug_of("Data")
    ('-functions-of-vst', '')
    """
    return "" if label == "Data" else "-" + label.lower().replace(" ", "-")


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
            with st.container(
                horizontal=True, vertical_alignment="center", gap="large", key="first-answer"
            ):
                self.control = st.container(width=_CONTROL_WIDTH)
                self._verdict = st.container(width="stretch", key="first-verdict")
        self._places = {title: st.container() for title in FOLDS}
        settings = self._places[SETTINGS].expander(SETTINGS, key=_key(SETTINGS))
        self._folds = {SETTINGS: settings}

    def open(self, page: PageState, keys: Sequence[str], folded: Folded = _NONE) -> SimpleNamespace:
        """`open_page`, with the knobs of these keys at the picture and all others folded.

        ``folded`` are the folds that stand in another one, by its title.
        """
        with self.notices:
            values = open_page(page, places=ControlPlaces(self.control, keys, self.fold(SETTINGS)))
        for title, place in self._places.items():
            if title in folded:
                key = f"{_key(title)}-{page.key}"
                opened = {fold.key for fold in folded[title] if getattr(values, fold.key)}
                if opened - st.session_state.get(f"_{key}", set()):
                    st.session_state[key] = True  # one that opens, opens it, too
                st.session_state[f"_{key}"] = opened
                self._folds[title] = place.expander(title, key=key, on_change="rerun")
            elif title != SETTINGS:
                self._folds[title] = place.expander(title, key=_key(title))
        return values

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

    def tell(
        self,
        one: Account,
        run: Any,
        claims: Sequence[Claim],
        sections: Callable[[], Sequence[Section]],
        words: str,
        *,
        given: Any = None,
        scored: bool = True,
        complete: bool = True,
        costs: Sequence[str] = (),
        paper: Callable[[], None] | None = None,
    ) -> None:
        """The answer and the folds, below what the page has drawn in them.

        ``sections()`` makes the page to take away, and ``words`` are the picture in words.
        ``given`` is the run that is taken away where it is another than the one that is scored;
        with ``complete`` the statements are checked over seeds, and ``paper()`` draws them where
        the page checks them by itself.
        """
        given = run if given is None else given
        self.say_verdict(one.answer(run), claims, one.numbers(run))
        with self.fold(COMPARE):
            if scored:
                for number, section in enumerate(listed(one.scores(run))):
                    draw_section(section, f"{one.name}-scores-{number}")
            else:
                st.text("Scores appear with the first fit.")
            st.caption(" ".join([one.reading, *costs]).strip())
        self.explain(one)
        with self.fold(PAPER):
            if paper is not None:
                paper()
            else:
                if claims and (about := one.about(run)):
                    st.caption(about)
                draw_claims(claims, one.study if complete else None, given.settings)
                if not claims and (why := one.silence(run)):
                    st.text(why)
            if remark := kept(f"{one.name}-remark", [run], None, lambda: one.remark(run)):
                st.markdown(remark)
        with self.fold(EXPORT):
            downloads = [
                Download(
                    f"{label} (CSV)",
                    f"{one.name}{_slug_of(label)}.csv",
                    "text/csv",
                    partial(make, given),
                )
                for label, make in one.tables(given).items()
            ]
            downloads.append(
                Download(
                    "Page (HTML)",
                    f"{one.name}.html",
                    "text/html",
                    lambda: account_html(one, given, sections()),
                )
            )
            show_exports(one.name, one.code(given), downloads)
            st.caption("In words")
            st.text(words, width="stretch")

    def explain(self, one: Account) -> None:
        """Equations, what words mean, and where gbuq departs from the paper."""
        with self.fold(WHY):
            st.markdown(one.equations)
            for term in (GLOSSARY[name] for name in one.terms):
                unit = f" Unit: {term.unit}." if term.unit else ""
                st.markdown(f"- **{term.label}.** {term.definition}{unit}")
            show_departures(one.departures)


def open_account(
    one: Account, state: PageState, keys: Sequence[str], folded: Folded = _NONE
) -> tuple[Skeleton, SimpleNamespace, Any]:
    """The page's places, the values of its knobs and its settings, as `Skeleton.open`."""
    page = Skeleton(one.question)
    values = page.open(state, keys, folded)
    settings = from_values(one.settings, vars(values))
    page.ask(text_of(one.lede, settings))
    return page, values, settings


def show_experiment(
    one: Experiment,
    state: PageState,
    keys: Sequence[str],
    on_select: Callable[[CanvasEvent], None] | None = None,
    rays: bool = False,
    below: Callable[[Any], None] | None = None,
    wait_seconds: float = 0.5,  # the default's methods come without a flash of progress
) -> None:
    """The whole page of an experiment with maps: the knobs of these keys stand at the picture.

    Cells are chosen in the picture if ``on_select`` takes them, and lines with ``rays``;
    ``below(run)`` draws what belongs to them. Nobody waits for a trial.
    """
    looks = [closer.fold for closer in one.closer] + [OPEN] * (OPEN in state.knobs)
    folded = {WHY: looks, PAPER: [trial.fold for trial in one.trials]}
    page, values, settings = open_account(one, state, keys, {k: v for k, v in folded.items() if v})
    whole = any(closer.whole and getattr(values, closer.fold.key) for closer in one.closer)
    fits, own = plan_requests(one, settings, whole), trial_requests(one)
    asked = ask([*fits, *own], QUICK if own else wait_seconds)
    answers, others = asked[: len(fits)], asked[len(fits) :]
    alone = all(answer.state == "done" for answer in answers)
    shown = view_answers(one, settings, answers)
    fresh = [each.view for each in shown if each.fresh]
    now = one.run(settings, fresh)
    settled = all(answer.state in ("done", "failed") for answer in answers)
    run, views = _settled(one, now, fresh, settled)
    claims = kept(f"{one.name}-claims", views, bare(run.settings), lambda: one.claims(run))
    sheet = _sheet_of(one, state, values, shown)
    with page.notices:
        # What was asked for beside and cancelled has its own button to start it again.
        waited = [] if alone else [each for each in others if each.state != "cancelled"]
        show_progress([*answers, *waited])
        say_what_is_missing(one, settings, shown)
        say_stale(shown)

    def draw(moment: SimpleNamespace, moving: bool) -> bool:
        """The maps, alone while a slider is on its way; whether all are of these values."""
        drawn, all_fresh = sheet, True
        if moving:
            wanted = from_values(one.settings, vars(moment))
            found = view_answers(one, wanted, ask(plan_requests(one, wanted), LIVE_SECONDS))
            drawn = _sheet_of(one, state, moment, found)
            all_fresh = all(each.fresh or each.problem for each in found)
        kinds: tuple[Selectable, ...] = ("cells", "ray") if rays else ("cells",)
        canvas(drawn, one.name, kinds if on_select else None, on_select, keep_knobs, grips=rays)
        return all_fresh

    with page.picture:
        if one.followed:
            follow(state, values, sliders(one.settings), draw)
        else:
            draw(values, False)
        if below is not None:
            below(now)
    if run.settings != settings:
        with page.fold(COMPARE):
            st.caption("The scores below still belong to the previous settings.")
    seen = [each for each in shown if each.view]
    made = [each for each in seen if each.fresh or each.answer.seconds is not None]
    with page.fold(WHY):
        for closer in one.closer:
            look = st.fragment(_look_closer) if closer.alone else _look_closer
            views = [each.view for each in (made if closer.whole else seen)]
            look(one, state, closer, now, views, values)
        if OPEN in state.knobs:
            show_surface(sheet, first=("knowledge", "KU"))
    page.tell(
        one,
        run,
        claims,
        lambda: experiment_sections(
            one, now, fresh, live_knobs(state, values), values, trial_results(others)
        ),
        sheet.alt,
        given=now,
        scored=bool(views),
        complete=settled and run.settings == settings and len(views) == len(one.chosen(settings)),
        costs=list_costs(one, settings, shown),
    )
    with page.fold(PAPER):
        if one.trials:
            draw_trials(one, state, values, others, alone)
    send_members(sheet.live, one.name)


def _settled(one: Experiment, now: Any, views: Sequence[Any], done: bool) -> tuple[Any, Any]:
    """The last run whose fits were all done, with its views: what is said stays meanwhile."""
    name = f"{one.name}-settled"
    if done:
        return kept(name, views, now.settings, lambda: (now, views))
    return last_kept(name) or (now, views)


def _look_closer(
    one: Experiment,
    state: PageState,
    closer: Closer,
    run: Any,
    views: Sequence[Any],
    values: SimpleNamespace,
) -> None:
    """One closer look, worked out only while its fold is open."""
    values = read_again(state, values) if closer.alone else values
    place = draw_fold(closer.fold, closer.knobs)
    if place is None:
        return
    key = f"{one.name}-{closer.fold.key}"
    with place:
        if closer.hint:
            st.caption(closer.hint)
        with st.container(horizontal=True, key=f"{key}-knobs"):
            for knob in closer.knobs:
                with st.container(width=_BOX_WIDTH if knob.box else _SLIDER_WIDTH):
                    draw_knob(knob)
        if not views:
            st.text("It appears with the first fit.")
            return
        depends = bare(run.settings), *(getattr(values, knob.key) for knob in closer.knobs)
        section = kept(key, views, depends, lambda: closer.section(run, views, values))
        if section.sheet is None:
            st.text(str(section.text))  # why there is none
        draw_section(section, key)


def _sheet_of(
    one: Experiment, state: PageState, values: SimpleNamespace, shown: Sequence[Shown]
) -> PanelSheet:
    """What there is to draw, the last good maps included."""
    settings = from_values(one.settings, vars(values))
    run = one.run(settings, [each.view for each in shown if each.fresh])
    views = [each.view for each in shown if each.view is not None]
    sheet = one.sheet(run, views, live_knobs(state, values))
    for closer in one.closer:
        if closer.mark and getattr(values, closer.fold.key):
            sheet = closer.mark(sheet, values)
    return one.begin(sheet, run, values)
