"""The page of an experiment, drawn from its record: one fit, or curves side by side."""

from __future__ import annotations

import time
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
    Keep,
    Single,
    compared_sections,
    single_sections,
)
from gbuq_core.figures.curves import Curves
from gbuq_core.figures.standalone import Section
from gbuq_core.presentation import format_bytes
from gbuq_core.settings import from_values, plan_of
from gbuq_core.study.study import Study
from pages._ui.controls import draw_fold
from pages._ui.curves import show_curves
from pages._ui.jobs_glue import Answer, Request, ask, cost_line, in_thread, show_progress
from pages._ui.kept import kept, last_kept
from pages._ui.live import EVERY, live_knobs, send_tables, turning
from pages._ui.live_sliders import LIVE_SECONDS, follow
from pages._ui.notices import show_notice
from pages._ui.sections import Acts, draw_rows, draw_section
from pages._ui.side_by_side import (
    Shown,
    ask_behind,
    list_costs,
    plan_requests,
    say_what_is_missing,
    seen_methods,
    view_answers,
)
from pages._ui.skeleton import (
    FOLLOWS,
    PAPER,
    WHY,
    Skeleton,
    folds_of,
    open_account,
)
from pages._ui.trials import ask_with_trials, draw_trials, trial_results
from pages._ui.url_state import PageState, read_again

_LOOK_SECONDS = 0.4  # what making a first look and sending it takes
Hold = Callable[[Any, Curves, bool], Mapping[str, Any]]


def _nothing(*given: Any) -> Mapping[str, Any]:
    return {}


def show_single(
    record: Single,
    state: PageState,
    keys: Sequence[str],
    acts: Callable[[Any], Acts] = _nothing,
    below: Callable[[Any], None] | None = None,
    below_why: Callable[[Any], None] | None = None,
) -> None:
    """One fit.

    ``acts(run)`` says what can be done in its figures, by their places, ``below(run)`` draws what
    belongs to them, and ``below_why(run)`` what stands in Why.
    """
    page, values, settings = open_account(record, state, keys)
    with page.notices:
        (answer,) = ask([_single_request(record, settings)], record.wait, others=record.slots)
        run = _look_at(record, settings, answer)
    with page.progress:
        show_progress([answer])
        if run is not None and record.quick is None and not answer.fresh:
            st.caption("The picture still shows the previous settings, and so do the scores.")
    if run is None:
        page.explain(record)
        return
    with page.picture:
        draw = partial(_draw_single, page, record, state, run, acts)
        follow(state, values, record.followed, draw)
        if below is not None:
            below(run)
    run = ask_behind(page, record, run, values, answer.fresh, (record.name,))
    knobs = live_knobs(state, values)

    def sections(claims: Sequence[Claim]) -> list[Section]:
        return single_sections(record, run, claims, knobs, kept)

    claims, paper = _check(record, run) if record.checked else (None, None)
    _tell_drawn(
        page,
        record,
        run,
        sections,
        acts(run),
        claims,
        below_why,
        complete=answer.fresh,
        costs=_say_cost(answer),
        paper=paper,
    )
    send_tables(record.name, record.packed(run, kept))


def _check(record: Single, run: Any) -> tuple[Sequence[Claim], Callable[[], None] | None]:
    """The statements of the first settings, or of those that the reader asked for."""
    name, depends = f"{record.name}-claims", record.checked(run) if record.checked else None
    asked = st.session_state.setdefault("_checked:" + record.name, {})
    if last_kept(name) is None:
        asked["of"] = depends
    if asked["of"] == depends:
        return kept(name, [], depends, lambda: record.judge(run)), None

    def offer() -> None:
        st.caption("The statements are not checked for these settings.")
        key = f"_{record.name}_check"
        st.button("Check these settings", key=key, on_click=asked.update, args=({"of": depends},))

    return (), offer


def show_compared(
    record: Study,
    state: PageState,
    keys: Sequence[str],
    hold: Hold = _nothing,
    below: Callable[[Any], None] | None = None,
    acts: Callable[[Any], Acts] = _nothing,
) -> None:
    """Methods side by side over one x axis.

    ``hold(settings, figure, done)`` says what can be done in the picture, and ``below(settings)``
    draws what belongs to it. ``acts(run)`` says what can be done in the figures of Why.
    """
    folded = folds_of([record.inside], record.trials)
    page, values, settings = open_account(record, state, keys, folded)
    requests = plan_requests(record, settings, record.whole(settings, values))
    answers, others, alone = ask_with_trials(record, requests, record.wait, record.slots)
    shown = view_answers(record, settings, answers)
    with page.picture:
        draw = partial(_draw_compared, page, record, state, shown, hold)
        follow(state, values, record.followed, draw)
        if below is not None:
            below(settings)
    with page.progress:
        say_what_is_missing(record, settings, shown)
        # What was asked for beside and cancelled has its own button to start it again.
        beside = [each for each in others if not alone and each.state != "cancelled"]
        show_progress([*answers, *beside])
    fresh = [each for each in shown if each.fresh]
    fits, views = [each.fit for each in fresh], [each.view for each in fresh]
    run = record.join_views(settings, fits, views, kept)
    run = ask_behind(page, record, run, values, True, [each.slot for each in (*answers, *others)])
    ready = run.views

    def sections(claims: Sequence[Claim]) -> list[Section]:
        # All are shown at once, since no other view is in the file.
        knobs = tuple(knob for knob in state.knobs if knob.key != EVERY.key)
        figure = draw_compared(record, state._replace(knobs=knobs), settings, fresh, values)
        return compared_sections(record, run, figure, claims, values, kept, trial_results(others))

    if record.inside is not None:
        with page.fold(WHY):
            _look_inside(record, state, values, answers)
    _tell_drawn(
        page,
        record,
        run,
        sections,
        acts(run),
        scored=bool(ready),
        complete=len(ready) == len(answers),
        costs=list_costs(record, shown),
    )
    if record.trials:
        with page.fold(PAPER):
            draw_trials(record, state, values, others, alone)


@st.fragment
def _look_inside(
    record: Study, state: PageState, values: SimpleNamespace, answers: Sequence[Answer]
) -> None:
    """The closer look; another one reruns only this fold."""
    values = read_again(state, values)
    settings = from_values(record.settings, vars(values))
    section = draw_fold(record.inside) if record.inside is not None else None
    if section is not None:
        with section:
            try:
                shown = view_answers(record, settings, answers)
                fits = [each.fit for each in shown if each.view is not None]
                rows = record.look(settings, fits, values, kept, False)
            except GbuqError as error:
                show_notice(str(error), "looks", tone="error")
            else:
                draw_rows(rows, f"{record.name}-inside")


def draw_compared(
    record: Study,
    state: PageState,
    settings: Any,
    shown: Sequence[Shown],
    values: SimpleNamespace,
    keep: Keep | None = kept,
) -> Curves:
    """The picture of these methods."""
    several = len(record.chosen(settings)) > 1
    knobs = [knob for knob in live_knobs(state, values) if several or knob.key != EVERY.key]
    settings, seen = seen_methods(record, settings, shown)
    return record.figure(settings, seen, values, knobs, keep)


def _draw_compared(
    page: Skeleton,
    record: Study,
    state: PageState,
    shown: Sequence[Shown],
    hold: Hold,
    values: SimpleNamespace,
    moving: bool,
) -> bool:
    """The picture, alone while something is dragged; whether it is of these values.

    One method stands there, large, until the reader asks for all, or for some by name.
    """
    settings = from_values(record.settings, vars(values))
    page.place_verdict(moving)
    if moving:
        few = record.at_hand(settings)
        requests = plan_requests(record, few, record.whole(few, values))
        others = [*record.slots, *(trial.name for trial in record.trials)]
        shown = view_answers(record, few, ask(requests, LIVE_SECONDS, others=others))
        fresh = [each.view for each in shown if each.fresh]
        page.say_verdict(record.say_at_hand(few, fresh) or FOLLOWS, ())
    figure = open_compared(record, state, settings, shown, values, None if moving else kept)
    done = all(each.fresh or bool(each.problem) for each in shown)
    show_curves(figure, record.place, **hold(settings, figure, done or not moving))
    return done


def open_compared(
    record: Study,
    state: PageState,
    settings: Any,
    shown: Sequence[Shown],
    values: SimpleNamespace,
    keep: Keep | None = kept,
) -> Curves:
    """The picture as it opens a page."""
    chosen = record.chosen(settings)
    asked = record.together or values.every or chosen != record.chosen(record.settings())
    figure = draw_compared(record, state, settings, shown if asked else shown[:1], values, keep)
    return figure if asked and not record.together and len(chosen) != 1 else figure.quiet


def _tell_drawn(
    page: Skeleton,
    record: Single | Study,
    run: Any,
    sections: Callable[[Sequence[Claim]], Sequence[Section]],
    acts: Acts,
    claims: Sequence[Claim] | None = None,
    below_why: Callable[[Any], None] | None = None,
    **more: Any,
) -> None:
    """The folds of a page whose pictures are drawn."""
    if claims is None:
        claims = kept(f"{record.name}-claims", [run], None, lambda: record.judge(run))
    with page.fold(WHY):
        draw_rows(record.why(run), f"{record.name}-why", acts)
        if below_why is not None:
            below_why(run)
    page.tell(record, run, claims, lambda: sections(claims), record.words(run), **more)


def _single_request(record: Single, settings: Any, quick: bool = False) -> Request:
    """The fit of these settings, or as much of it as can follow a hand."""
    plan = plan_of(settings)
    if quick and record.quick is not None:
        work = in_thread(record.quick, plan)
        return Request(record.name, (record.name, plan, "quick"), work, record.label)
    stored = record.stored(settings)
    work = record.fit if record.quick is None else partial(_after_a_look, record.fit)
    return Request(
        record.name,
        (record.name, plan),
        in_thread(work, plan),
        record.label,
        stored=None if stored is None else lambda: stored,
    )


def _after_a_look(fit: Callable[[Any], Any], plan: Any) -> Any:
    """The whole fit, begun when its first look has been drawn: both share one interpreter."""
    time.sleep(_LOOK_SECONDS)
    return fit(plan)


def _look_at(record: Single, settings: Any, answer: Answer) -> Any:
    """What there is to show, or None and the reason."""
    result, quick = answer.result, not answer.fresh and record.quick is not None
    if quick and not answer.error:  # what of these settings is there at once, until all of it is
        plan = plan_of(settings)
        result = kept(f"{record.name}-quick", [], plan, lambda: record.quick(plan))
    if answer.error or result is None:
        if answer.error:
            show_notice(answer.error, record.name, tone="error")
        else:
            st.text("The picture appears when the first fit is done.")
        return None
    try:
        run = record.look(result, settings, kept)
    except GbuqError as error:
        show_notice(str(error), record.name, tone="error")
        return None
    if notes := record.notes(run):
        show_notice(list(dict.fromkeys(notes)), "range")
    return run


def _draw_single(
    page: Skeleton,
    record: Single,
    state: PageState,
    run: Any,
    acts: Callable[[Any], Acts],
    values: SimpleNamespace,
    moving: bool,
) -> bool:
    """The pictures, alone but for the answer while something is dragged; whether they are fresh."""
    fresh = True
    page.place_verdict(moving)
    if moving:
        settings = from_values(record.settings, vars(values))
        request = _single_request(record, settings, quick=True)
        (answer,) = ask([request], LIVE_SECONDS, others=record.slots)
        if answer.result is not None:
            with suppress(GbuqError):
                run = record.look(answer.result, settings, kept)
        fresh = answer.fresh or bool(answer.error)
        page.say_verdict(record.say_answer(run) or FOLLOWS, ())
    pictures, given = record.pictures(run, live_knobs(state, values)), acts(run)
    places = st.columns(len(pictures), gap="medium") if len(pictures) > 1 else [st.container()]
    for place, (key, section) in zip(places, pictures.items(), strict=True):
        with place:
            if section.heading:
                st.markdown(f"**{section.heading}**")
            if section.text:
                st.text(str(section.text))
            act = dict(given.get(key, {}))
            if "carry" in act:
                act["carry"] = act["carry"]._replace(waits=not fresh)
            if section.sheet is not None:
                sheet = replace(turning(section.sheet, state, values), quiet=True)
                section = replace(section, sheet=sheet)
            elif section.curves is not None:
                section = replace(section, curves=section.curves.quiet)
            draw_section(section, key, **act)
    return fresh


def _say_cost(answer: Answer) -> list[str]:
    """What the fit took and holds."""
    memory = getattr(answer.result, "memory_bytes", None) if answer.seconds is not None else None
    held = "" if memory is None else f", {format_bytes(memory)}"
    return [f"{line}{held}."] if (line := cost_line(answer)) else []
