"""The page of a study whose methods have maps side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import streamlit as st

from gbuq_core.experiments.experiment import Closer, map_sections
from gbuq_core.figures.canvas.live import MAP
from gbuq_core.figures.canvas.panels import PanelSheet
from gbuq_core.settings import bare, from_values
from gbuq_core.study.study import Study
from pages._ui.canvas import CanvasEvent, Selectable, canvas, keep_knobs
from pages._ui.controls import draw_fold, draw_knob
from pages._ui.jobs_glue import ask, show_progress
from pages._ui.kept import kept, last_kept
from pages._ui.live import live_knobs, send_members, send_tables, turning
from pages._ui.live_sliders import LIVE_SECONDS, follow
from pages._ui.sections import draw_rows, draw_section
from pages._ui.side_by_side import (
    Shown,
    ask_behind,
    list_costs,
    plan_requests,
    say_stale,
    say_what_is_missing,
    view_answers,
)
from pages._ui.skeleton import COMPARE, FOLLOWS, WHY, folds_of, open_account
from pages._ui.surface import OPEN, show_surface
from pages._ui.url_state import PageState, read_again

_SLIDER_WIDTH, _BOX_WIDTH = 340, 130  # pixels


def show_maps(
    record: Study,
    state: PageState,
    keys: Sequence[str],
    on_select: Callable[[CanvasEvent], None] | None = None,
    rays: bool = False,
    below: Callable[[Any], None] | None = None,
    wait_seconds: float = 0.5,  # the default's methods come without a flash of progress
) -> None:
    """Methods whose maps stand side by side.

    Cells are chosen in the picture if ``on_select`` takes them, and lines with ``rays``;
    ``below(run)`` draws what belongs to them.
    """
    looks = [closer.fold for closer in record.closer] + [OPEN] * (OPEN in state.knobs)
    page, values, settings = open_account(record, state, keys, folds_of(looks))
    whole = any(closer.whole and getattr(values, closer.fold.key) for closer in record.closer)
    requests = plan_requests(record, settings, whole)
    answers = ask(requests, wait_seconds, others=record.slots)
    shown = view_answers(record, settings, answers)
    of_now = [each for each in shown if each.fresh]
    fresh = [each.view for each in of_now]
    now = record.gather(settings, fresh)
    done = all(answer.state in ("done", "failed") for answer in answers)
    sheet = _sheet_of(record, state, values, shown)
    with page.notices:
        say_what_is_missing(record, settings, shown)
    with page.progress:
        show_progress(answers)
        say_stale(shown)

    def draw(moment: SimpleNamespace, moving: bool) -> bool:
        """The maps, alone while a slider is on its way; whether all are of these values."""
        drawn, all_fresh = sheet, True
        page.place_verdict(moving)
        if moving:
            wanted = from_values(record.settings, vars(moment))
            asked = ask(plan_requests(record, wanted), LIVE_SECONDS, others=record.slots)
            moved = view_answers(record, wanted, asked)
            drawn = _sheet_of(record, state, moment, moved)
            all_fresh = all(each.fresh or each.problem for each in moved)
            of_moment = [each for each in moved if each.fresh]
            page.say_verdict(record.say_answer(_answered(record, moment, of_moment)) or FOLLOWS, ())
        kinds: tuple[Selectable, ...] = ("cells", "ray") if rays else ("cells",)
        if not drawn.panels:
            st.text(drawn.note)
            return all_fresh
        canvas(drawn, record.name, kinds if on_select else None, on_select, keep_knobs, grips=rays)
        return all_fresh

    with page.picture:
        if record.followed:
            follow(state, values, record.followed, draw)
        else:
            draw(values, False)
        if below is not None:
            below(now)
    now = ask_behind(page, record, now, values, True, [each.slot for each in answers])
    run, views = _settled(record, now, fresh, done)
    told_of = [*views, *run.measured]
    claims = kept(f"{record.name}-claims", told_of, bare(run.settings), lambda: record.judge(run))
    if run.settings != settings:
        with page.fold(COMPARE):
            st.caption("The scores below still belong to the previous settings.")
    seen = [each for each in shown if each.view]
    made = [each for each in seen if each.fresh or each.answer.seconds is not None]
    with page.fold(WHY):
        for closer in record.closer:
            look = st.fragment(_look_closer) if closer.alone else _look_closer
            looked_at = [each.view for each in (made if closer.whole else seen)]
            look(record, state, closer, now, looked_at, values)
        if fresh:
            draw_rows(record.why(now), f"{record.name}-why")
        if OPEN in state.knobs:
            show_surface(lambda: sheet)
    page.tell(
        record,
        run,
        claims,
        lambda: map_sections(record, now, fresh, live_knobs(state, values), values),
        sheet.alt,
        given=now,
        answered=_answered(record, values, of_now) if run.settings == settings else run,
        scored=bool(views),
        complete=done and run.settings == settings and len(views) == len(record.chosen(settings)),
        costs=list_costs(record, shown),
    )
    send_members(sheet.live, record.name)
    send_tables(record.name, record.packed(now, kept) if fresh else {})


def _answered(record: Study, values: SimpleNamespace, shown: Sequence[Shown]) -> Any:
    """The run with the method first whose map is shown: the answer is on that one."""
    method = str(getattr(values, MAP, "")).rpartition(": ")[0]
    first = sorted(shown, key=lambda each: each.answer.request.label != method)
    settings = from_values(record.settings, vars(values))
    return record.gather(settings, [each.view for each in first])


def _settled(record: Study, now: Any, views: Sequence[Any], done: bool) -> tuple[Any, Any]:
    """The last run whose fits were all done, with its views: what is said stays meanwhile."""
    name = f"{record.name}-settled"
    if done:
        objects = [*views, *now.measured]
        return kept(name, objects, now.settings, lambda: (now, views))
    return last_kept(name) or (now, views)


def _look_closer(
    record: Study,
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
    key = f"{record.name}-{closer.fold.key}"
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
    record: Study, state: PageState, values: SimpleNamespace, shown: Sequence[Shown]
) -> PanelSheet:
    """What there is to draw, the last good maps included."""
    settings = from_values(record.settings, vars(values))
    run = record.gather(settings, [each.view for each in shown if each.fresh])
    views = [each.view for each in shown if each.view is not None]
    sheet = record.sheet(run, views, live_knobs(state, values))
    for closer in record.closer:
        if closer.mark and getattr(values, closer.fold.key):
            sheet = closer.mark(sheet, values)
    return turning(record.begin(sheet, run, values), state, values)
