"""The skeleton of an experiment's page: a question, one picture, one control, one verdict.

All else is folded until it is asked for: `FOLDS`, in this order on every page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import MappingProxyType, SimpleNamespace
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gbuq_core.errors import GbuqError
from gbuq_core.experiments.claims import Claim, chips_of
from gbuq_core.experiments.experiment import (
    Account,
    Closer,
    Compared,
    Drawn,
    Experiment,
    Keep,
    Single,
    account_html,
    compared_sections,
    experiment_sections,
    listed,
    single_sections,
    text_of,
)
from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.figures.curves import Curves
from gbuq_core.figures.standalone import Section
from gbuq_core.glossary import GLOSSARY
from gbuq_core.knobs import Knob
from gbuq_core.presentation import format_bytes, seconds_text
from gbuq_core.settings import bare, from_values, plan_of, sliders
from pages._ui.canvas import CanvasEvent, Selectable, canvas, keep_knobs
from pages._ui.claims import MARKS, draw_claims
from pages._ui.controls import draw_fold, draw_knob
from pages._ui.curves import show_curves
from pages._ui.departures import show_departures
from pages._ui.export import Download, show_exports
from pages._ui.jobs_glue import Answer, Request, ask, in_thread, show_progress
from pages._ui.kept import kept, last_kept
from pages._ui.live import live_knobs, send_members, send_tables
from pages._ui.live_sliders import LIVE_SECONDS, follow
from pages._ui.notices import show_notice
from pages._ui.sections import Acts, draw_rows, draw_section
from pages._ui.side_by_side import (
    Shown,
    list_costs,
    plan_requests,
    say_stale,
    say_what_is_missing,
    seen_methods,
    view_answers,
)
from pages._ui.surface import OPEN, show_surface
from pages._ui.trials import draw_trials, trial_requests, trial_results
from pages._ui.url_state import ControlPlaces, PageState, open_page, read_again

COMPARE, WHY, PAPER = "Compare methods", "Why", "Does the paper hold?"
SETTINGS, EXPORT = "All settings", "Export"
_CONTROL_WIDTH, _SLIDER_WIDTH, _BOX_WIDTH, _BESIDE_WIDTH = 420, 340, 130, 220  # pixels
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
            st.caption(" ".join([text_of(one.reading, run), *costs]).strip())
        self.explain(one)
        with self.fold(PAPER):
            if paper is not None:
                paper()
            else:
                if claims and (about := one.about(run)):
                    st.caption(about)
                study = one.study if complete else None
                draw_claims(claims, study, given.settings, outcomes=one.outcomes(run))
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


Hold = Callable[[Curves, bool], Mapping[str, Any]]


def _nothing(run: Any) -> Acts:
    return _NONE


def _holds_nothing(figure: Curves, done: bool) -> Mapping[str, Any]:
    return _NONE


def show_experiment(
    one: Experiment | Compared | Single,
    state: PageState,
    keys: Sequence[str],
    acts: Callable[[Any], Acts] = _nothing,
    **choosing: Any,
) -> None:
    """The whole page of an experiment: the knobs of these keys stand at the picture.

    ``acts(run)`` says what can be done in the figures of one fit; the rest is as `_show_single`,
    `_show_compared` and `_show_maps` take it.
    """
    if isinstance(one, Single):
        _show_single(one, state, keys, acts, **choosing)
    elif isinstance(one, Compared):
        _show_compared(one, state, keys, **choosing)
    else:
        _show_maps(one, state, keys, **choosing)


def _show_single(
    one: Single,
    state: PageState,
    keys: Sequence[str],
    acts: Callable[[Any], Acts],
    below_why: Callable[[Any], None] | None = None,
) -> None:
    """One fit; ``below_why(run)`` lists rows."""
    page, values, settings = open_account(one, state, keys)
    (answer,) = ask([_single_request(one, settings)], one.wait, others=one.slots)
    with page.notices:
        show_progress([answer])
        run = _look_at(one, settings, answer)
    if run is None:
        page.explain(one)
        return
    with page.picture:
        follow(state, values, one.followed, partial(_draw_single, one, state, run, acts))
    run = _ask_behind(page, one, run, values, answer.fresh, (one.name,))

    def sections(claims: Sequence[Claim]) -> list[Section]:
        return single_sections(one, run, claims, live_knobs(state, values), kept)

    claims, paper = _check(one, run) if one.checked else (None, None)
    _tell_drawn(
        page, one, run, sections, acts(run), claims,
        complete=answer.fresh, costs=_say_cost(answer), paper=paper,
    )  # fmt: skip
    if below_why is not None:
        with page.fold(WHY):
            below_why(run)
    send_tables(one.name, one.packed(run, kept))


def _check(one: Single, run: Any) -> tuple[Sequence[Claim], Callable[[], None] | None]:
    """The statements of the first settings, or of those that the reader asked for."""
    name, depends = f"{one.name}-claims", one.checked(run) if one.checked else None
    asked = st.session_state.setdefault("_checked:" + one.name, {})
    if last_kept(name) is None:
        asked["of"] = depends
    if asked["of"] == depends:
        return kept(name, [], depends, lambda: one.claims(run)), None

    def offer() -> None:
        st.caption("The statements are not checked for these settings.")
        key = f"_{one.name}_check"
        st.button("Check these settings", key=key, on_click=asked.update, args=({"of": depends},))

    return (), offer


def _show_compared(
    one: Compared,
    state: PageState,
    keys: Sequence[str],
    hold: Hold = _holds_nothing,
    below: Callable[[Any], None] | None = None,
) -> None:
    """Methods side by side over one x axis.

    ``hold(figure, done)`` says what can be done in the picture, and ``below(settings)`` draws what
    belongs to it.
    """
    page, values, settings = open_account(one, state, keys, _folds_of(one, [one.inside]))
    fits, own = plan_requests(one, settings, one.whole(settings, values)), trial_requests(one)
    asked = ask([*fits, *own], QUICK if own else one.wait, others=one.slots)
    answers, others = asked[: len(fits)], asked[len(fits) :]
    alone = all(answer.state == "done" for answer in answers)
    shown = view_answers(one, settings, answers)
    with page.picture:
        follow(state, values, one.followed, partial(_draw_compared, one, state, shown, hold))
        if below is not None:
            below(settings)
        with st.container(key=f"{one.name}-progress"):  # below, so that the picture does not move
            say_what_is_missing(one, settings, shown)
            _show_waited(answers, [] if alone else others)
    fresh = [each for each in shown if each.fresh]
    run = one.run(settings, [each.fit for each in fresh], [each.view for each in fresh], kept)
    run = _ask_behind(page, one, run, values, True, [answer.slot for answer in asked])
    ready = one.chosen(run.settings)

    def sections(claims: Sequence[Claim]) -> list[Section]:
        figure = draw_compared(one, state, settings, fresh, values)
        return compared_sections(one, run, figure, claims, values, kept, trial_results(others))

    if one.inside is not None:
        with page.fold(WHY):
            _look_inside(one, state, values, answers)
    _tell_drawn(
        page, one, run, sections, _NONE,
        scored=bool(ready),
        complete=len(ready) == len(answers),
        costs=list_costs(one, settings, shown),
    )  # fmt: skip
    if one.trials:
        with page.fold(PAPER):
            draw_trials(one, state, values, others, alone)


@st.fragment
def _look_inside(
    one: Compared, state: PageState, values: SimpleNamespace, answers: Sequence[Answer]
) -> None:
    """The closer look; another one reruns only this fold."""
    values = read_again(state, values)
    settings = from_values(one.settings, vars(values))
    section = draw_fold(one.inside) if one.inside is not None else None
    if section is not None:
        with section:
            try:
                shown = view_answers(one, settings, answers)
                fits = [each.fit for each in shown if each.view is not None]
                rows = one.look(settings, fits, values, kept, False)
            except GbuqError as error:
                show_notice(str(error), "looks", tone="error")
            else:
                draw_rows(rows, f"{one.name}-inside")


def _show_waited(answers: Sequence[Answer], others: Sequence[Answer]) -> None:
    """Progress; what was asked for beside and cancelled has its own button to start it again."""
    show_progress([*answers, *(each for each in others if each.state != "cancelled")])


def _folds_of(one: Account, looks: Sequence[Knob | None]) -> Folded:
    """The folds within folds that a page has."""
    own = [look for look in looks if look is not None]
    folded = {WHY: own, PAPER: [trial.fold for trial in one.trials]}
    return {title: folds for title, folds in folded.items() if folds}


def draw_compared(
    one: Compared,
    state: PageState,
    settings: Any,
    shown: Sequence[Shown],
    values: SimpleNamespace,
    keep: Keep | None = kept,
) -> Curves:
    """The picture of these methods."""
    settings, seen = seen_methods(one, settings, shown)
    return one.figure(settings, seen, values, live_knobs(state, values), keep)


def _draw_compared(
    one: Compared,
    state: PageState,
    shown: Sequence[Shown],
    hold: Hold,
    values: SimpleNamespace,
    moving: bool,
) -> bool:
    """The picture, alone while something is dragged; whether it is of these values.

    One method stands there, large, until the reader asks for all, or for some by name.
    """
    settings = from_values(one.settings, vars(values))
    if moving:
        requests = plan_requests(one, settings, one.whole(settings, values))
        others = [*one.slots, *(trial.name for trial in one.trials)]
        shown = view_answers(one, settings, ask(requests, LIVE_SECONDS, others=others))
    figure = open_compared(one, state, settings, shown, values, None if moving else kept)
    done = all(each.fresh or bool(each.problem) for each in shown)
    show_curves(figure, one.place, **hold(figure, done or not moving))
    return done


def open_compared(
    one: Compared,
    state: PageState,
    settings: Any,
    shown: Sequence[Shown],
    values: SimpleNamespace,
    keep: Keep | None = kept,
) -> Curves:
    """The picture as it opens a page."""
    chosen = one.chosen(settings)
    asked = values.every or chosen != one.chosen(one.settings())
    figure = draw_compared(one, state, settings, shown if asked else shown[:1], values, keep)
    return figure if asked and len(chosen) != 1 else figure.quiet


def _ask_behind(
    page: Skeleton, one: Drawn, run: Any, values: SimpleNamespace, start: bool, slots: Sequence[str]
) -> Any:
    """The run with what does not keep its picture waiting."""
    works = one.behind(run, kept) if start else ()
    requests = [
        Request(
            work.slot, work.key, in_thread(work.make), work.label, work.seconds,
            stored=None if work.stored is None else lambda work=work: work.stored,
        )
        for work in works
    ]  # fmt: skip
    found = ask(requests, QUICK, others=slots)
    with page.fold(PAPER if one.behind_statements else COMPARE):
        told = [each for each in found if each.request.label]
        for each in told:
            if each.error:
                show_notice(f"{each.request.label}: {each.error}", each.slot, tone="error")
        show_progress([each for each in told if each.state != "done"], "-behind")
        for knob in one.beside:
            with st.container(width=_BESIDE_WIDTH):
                draw_knob(knob)
    values = SimpleNamespace(
        **{**vars(values), **{each.key: st.session_state[each.key] for each in one.beside}}
    )
    results = {each.slot: each.result for each in found if each.fresh and not each.error}
    if start:
        kept(f"{one.name}-behind", [*results.values()], tuple(results), lambda: results)
    return one.join(run, results if start else last_kept(f"{one.name}-behind") or {}, values, kept)


def _tell_drawn(
    page: Skeleton,
    one: Drawn,
    run: Any,
    sections: Callable[[Sequence[Claim]], Sequence[Section]],
    acts: Acts,
    claims: Sequence[Claim] | None = None,
    **more: Any,
) -> None:
    """The folds of a page whose pictures are drawn."""
    if claims is None:
        claims = kept(f"{one.name}-claims", [run], None, lambda: one.claims(run))
    with page.fold(WHY):
        draw_rows(one.why(run), f"{one.name}-why", acts)
    page.tell(one, run, claims, lambda: sections(claims), one.words(run), **more)


def _single_request(one: Single, settings: Any, quick: bool = False) -> Request:
    """The fit of these settings, or as much of it as can follow a hand."""
    plan = plan_of(settings)
    if quick and one.quick is not None:
        work = in_thread(one.quick, plan)
        return Request(one.name, (one.name, plan, "quick"), work, one.label)
    found = one.stored(settings)
    return Request(
        one.name, (one.name, plan), in_thread(one.fit, plan), one.label, one.estimate(plan),
        stored=None if found is None else lambda: found,
    )  # fmt: skip


def _look_at(one: Single, settings: Any, answer: Answer) -> Any:
    """What there is to show, or None and the reason."""
    if answer.error or answer.result is None:
        if answer.error:
            show_notice(answer.error, one.name, tone="error")
        else:
            st.text("The picture appears when the first fit is done.")
        return None
    try:
        run = one.look(answer.result, settings, kept)
    except GbuqError as error:
        show_notice(str(error), one.name, tone="error")
        return None
    if not answer.fresh:
        st.caption("The picture still shows the previous settings, and so do the scores.")
    if notes := one.notes(run):
        show_notice(list(dict.fromkeys(notes)), "range")
    return run


def _draw_single(
    one: Single,
    state: PageState,
    run: Any,
    acts: Callable[[Any], Acts],
    values: SimpleNamespace,
    moving: bool,
) -> bool:
    """The pictures, alone while something is dragged; whether they are of these values."""
    fresh = True
    if moving:
        settings = from_values(one.settings, vars(values))
        request = _single_request(one, settings, quick=True)
        (answer,) = ask([request], LIVE_SECONDS, others=one.slots)
        with suppress(GbuqError):
            run = one.look(answer.result, settings, kept) if answer.result is not None else run
        fresh = answer.fresh or bool(answer.error)
    pictures, given = one.pictures(run, live_knobs(state, values)), acts(run)
    places = st.columns(len(pictures), gap="medium") if len(pictures) > 1 else [st.container()]
    for place, (key, section) in zip(places, pictures.items(), strict=True):
        with place:
            if section.heading:
                st.markdown(f"**{section.heading}**")
            draw_section(_quiet(section), key, **given.get(key, {}))
    return fresh


def _quiet(section: Section) -> Section:
    """A picture as it opens a page."""
    if section.curves is not None:
        return replace(section, curves=section.curves.quiet)
    return replace(section, sheet=section.sheet and replace(section.sheet, quiet=True))


def _say_cost(answer: Answer) -> list[str]:
    """What the fit took, where it was made."""
    if answer.seconds is None:
        return []
    memory = getattr(answer.result, "memory_bytes", None)
    held = "" if memory is None else f", {format_bytes(memory)}"
    return [f"Fitted in {seconds_text(answer.seconds)}{held}."]


def _show_maps(
    one: Experiment,
    state: PageState,
    keys: Sequence[str],
    on_select: Callable[[CanvasEvent], None] | None = None,
    rays: bool = False,
    below: Callable[[Any], None] | None = None,
    wait_seconds: float = 0.5,  # the default's methods come without a flash of progress
) -> None:
    """Methods whose maps stand side by side.

    Cells are chosen in the picture if ``on_select`` takes them, and lines with ``rays``;
    ``below(run)`` draws what belongs to them. Nobody waits for a trial.
    """
    looks = [closer.fold for closer in one.closer] + [OPEN] * (OPEN in state.knobs)
    page, values, settings = open_account(one, state, keys, _folds_of(one, looks))
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
        _show_waited(answers, [] if alone else others)
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
