"""The page of an experiment, drawn from its record: one fit, curves side by side, or maps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import streamlit as st

from gbuq_core.errors import GbuqError
from gbuq_core.experiments.claims import Claim
from gbuq_core.experiments.experiment import (
    Compared,
    Drawn,
    Experiment,
    Keep,
    Single,
    compared_sections,
    single_sections,
)
from gbuq_core.figures.curves import Curves
from gbuq_core.figures.standalone import Section
from gbuq_core.presentation import format_bytes
from gbuq_core.settings import from_values, plan_of
from pages._ui.controls import draw_fold, draw_knob
from pages._ui.curves import show_curves
from pages._ui.jobs_glue import Answer, Request, ask, cost_line, in_thread, show_progress
from pages._ui.kept import kept, last_kept
from pages._ui.live import EVERY, live_knobs, send_tables
from pages._ui.live_sliders import LIVE_SECONDS, follow
from pages._ui.maps import show_maps
from pages._ui.notices import show_notice
from pages._ui.sections import Acts, draw_rows, draw_section
from pages._ui.side_by_side import (
    Shown,
    list_costs,
    plan_requests,
    say_what_is_missing,
    seen_methods,
    view_answers,
)
from pages._ui.skeleton import (
    COMPARE,
    PAPER,
    WHY,
    Skeleton,
    folds_of,
    open_account,
    show_waited,
)
from pages._ui.surface import OPEN, show_surface
from pages._ui.trials import ask_with_trials, draw_trials, trial_results
from pages._ui.url_state import PageState, read_again

Hold = Callable[[Curves, bool], Mapping[str, Any]]
_BESIDE_WIDTH = 220  # pixels


def _same(given: Any) -> Any:
    return given


def _nothing(*given: Any) -> Mapping[str, Any]:
    return {}


def show_experiment(
    one: Experiment | Compared | Single,
    state: PageState,
    keys: Sequence[str],
    **own: Any,
) -> None:
    """The whole page of an experiment: the knobs of these keys stand at the picture.

    ``own`` are functions of the page, which `_show_single`, `_show_compared` or `show_maps` takes.
    """
    if isinstance(one, Single):
        _show_single(one, state, keys, **own)
    elif isinstance(one, Compared):
        _show_compared(one, state, keys, **own)
    else:
        show_maps(one, state, keys, **own)


def _show_single(
    one: Single,
    state: PageState,
    keys: Sequence[str],
    acts: Callable[[Any], Acts] = _nothing,
    admit: Callable[[Any], Any] = _same,
    mark: Callable[[Any], Any] = _same,
    below: Callable[[Skeleton, Any], None] | None = None,
    below_why: Callable[[Any], None] | None = None,
    last: Callable[[Any], None] | None = None,
) -> None:
    """One fit.

    ``acts(run)`` says what can be done in its figures, by their places. ``admit(settings)`` says
    what is wrong with settings and returns those to be shown, or None; ``mark(run)`` adds what the
    session has to a run. ``below(page, run)`` draws what belongs to the picture, ``below_why(run)``
    what stands in Why, and ``last(run)`` what ends the page.
    """
    surface = [OPEN] * (OPEN in state.knobs)
    page, values, settings = open_account(one, state, keys, folds_of(one, surface))
    run = None
    with page.notices:
        settings = admit(one.read(values) if one.read else settings)
        if settings is not None:
            request = _single_request(one, settings)
            (answer,) = ask([request], one.wait, others=one.slots)
            show_progress([answer])
            run = _look_at(one, settings, answer)
    if run is None:
        page.explain(one)
        return
    run = mark(run)
    with page.picture:
        follow(state, values, one.followed, partial(_draw_single, one, state, run, acts, mark))
    run = _ask_behind(page, one, run, values, answer.fresh, (one.name,))
    if below is not None:
        with page.picture:
            below(page, run)
    knobs = live_knobs(state, values)
    if surface:
        with page.fold(WHY):
            show_surface(lambda: next(iter(one.pictures(run, knobs).values())).sheet)

    def sections(claims: Sequence[Claim]) -> list[Section]:
        return single_sections(one, run, claims, knobs, kept)

    claims, paper = _check(one, run) if one.checked else (None, None)
    _tell_drawn(
        page, one, run, sections, acts(run), claims, below_why,
        complete=answer.fresh, costs=_say_cost(answer), paper=paper,
    )  # fmt: skip
    if last is not None:
        last(run)
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
    hold: Hold = _nothing,
    below: Callable[[Any], None] | None = None,
) -> None:
    """Methods side by side over one x axis.

    ``hold(figure, done)`` says what can be done in the picture, and ``below(settings)`` draws what
    belongs to it.
    """
    page, values, settings = open_account(one, state, keys, folds_of(one, [one.inside]))
    requests = plan_requests(one, settings, one.whole(settings, values))
    answers, others, alone = ask_with_trials(one, requests, one.wait, one.slots)
    shown = view_answers(one, settings, answers)
    with page.picture:
        follow(state, values, one.followed, partial(_draw_compared, one, state, shown, hold))
        if below is not None:
            below(settings)
        with st.container(key=f"{one.name}-progress"):  # below, so that the picture does not move
            say_what_is_missing(one, settings, shown)
            show_waited(answers, [] if alone else others)
    fresh = [each for each in shown if each.fresh]
    run = one.run(settings, [each.fit for each in fresh], [each.view for each in fresh], kept)
    run = _ask_behind(page, one, run, values, True, [each.slot for each in (*answers, *others)])
    ready = one.chosen(run.settings)

    def sections(claims: Sequence[Claim]) -> list[Section]:
        # All are shown at once, since no other view is in the file.
        knobs = tuple(knob for knob in state.knobs if knob.key != EVERY.key)
        figure = draw_compared(one, state._replace(knobs=knobs), settings, fresh, values)
        return compared_sections(one, run, figure, claims, values, kept, trial_results(others))

    if one.inside is not None:
        with page.fold(WHY):
            _look_inside(one, state, values, answers)
    _tell_drawn(
        page, one, run, sections, {},
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
    found = ask(requests, others=slots)
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
    below_why: Callable[[Any], None] | None = None,
    **more: Any,
) -> None:
    """The folds of a page whose pictures are drawn."""
    if claims is None:
        claims = kept(f"{one.name}-claims", [run], None, lambda: one.claims(run))
    with page.fold(WHY):
        draw_rows(one.why(run), f"{one.name}-why", acts)
        if below_why is not None:
            below_why(run)
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
    mark: Callable[[Any], Any],
    values: SimpleNamespace,
    moving: bool,
) -> bool:
    """The pictures, alone while something is dragged; whether they are of these values."""
    fresh = True
    if moving:
        settings = one.read(values) if one.read else from_values(one.settings, vars(values))
        request = _single_request(one, settings, quick=True)
        (answer,) = ask([request], LIVE_SECONDS, others=one.slots)
        if answer.result is not None:
            with suppress(GbuqError):
                run = mark(one.look(answer.result, settings, kept))
        fresh = answer.fresh or bool(answer.error)
    pictures, given = one.pictures(run, live_knobs(state, values)), acts(run)
    places = st.columns(len(pictures), gap="medium") if len(pictures) > 1 else [st.container()]
    for place, (key, section) in zip(places, pictures.items(), strict=True):
        with place:
            if section.heading:
                st.markdown(f"**{section.heading}**")
            if section.text:
                st.text(str(section.text))
            draw_section(_quiet(section), key, **given.get(key, {}))
    return fresh


def _quiet(section: Section) -> Section:
    """A picture as it opens a page."""
    if section.curves is not None:
        return replace(section, curves=section.curves.quiet)
    return replace(section, sheet=section.sheet and replace(section.sheet, quiet=True))


def _say_cost(answer: Answer) -> list[str]:
    """What the fit took and holds, or what one would take."""
    memory = getattr(answer.result, "memory_bytes", None) if answer.seconds is not None else None
    held = "" if memory is None else f", {format_bytes(memory)}"
    return [f"{cost_line(answer)}{held}."]
