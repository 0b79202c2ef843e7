"""Methods side by side: a fit each, what today's view shows of it, and what it cost.

The study says what its methods are, how one is planned, fitted and viewed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import streamlit as st

from gbuq_core.errors import GbuqError
from gbuq_core.experiments.experiment import SeenMethod, Single
from gbuq_core.presentation import seconds_text
from gbuq_core.settings import with_fit
from gbuq_core.study.study import Study
from pages._ui.jobs_glue import Answer, Request, ask, in_thread, show_progress
from pages._ui.kept import keep_only, kept, last_kept
from pages._ui.notices import show_notice
from pages._ui.skeleton import COMPARE, PAPER, Skeleton

_STATES = {"cancelled": "cancelled", "failed": "no result"}  # of a method without a view


def plan_requests(record: Study, settings: Any, whole: bool = False) -> list[Request]:
    """One request for each chosen method that can be fitted; a ``whole`` fit is no stored one."""
    plans = {method: record.plan(settings, method) for method in record.chosen(settings)}
    return [
        Request(
            method,
            (record.name, plan),
            in_thread(record.fit, plan),
            record.methods[method].label,
            stored=None if whole else partial(record.opening.answer, plan, settings),
        )
        for method, plan in plans.items()
        if not record.why_not(plan)
    ]


def list_refusals(record: Study, settings: Any) -> list[str]:
    """Why methods cannot be fitted, each sentence once."""
    reasons = (record.why_not(record.plan(settings, method)) for method in record.chosen(settings))
    return list(dict.fromkeys(text for text in reasons if text))


def view_answers(record: Study, settings: Any, answers: Sequence[Answer]) -> list[Shown]:
    """What can be shown of every answer. A view is computed again only if its inputs change."""
    keep_only(f"{record.name}:", [f":{answer.slot}" for answer in answers])
    return [_view_answer(record, settings, answer) for answer in answers]


def _view_answer(record: Study, settings: Any, answer: Answer) -> Shown:
    fit = answer.result
    if fit is None or answer.error:
        return Shown(answer, None, None, answer.error)
    depends = record.depends(fit, settings)
    try:
        name = f"{record.name}:view:{answer.slot}"
        view = kept(name, [fit], depends, lambda: record.view(fit, settings))
    except GbuqError as error:
        return Shown(answer, fit, None, str(error))
    return Shown(answer, fit, view, "")


def list_costs(record: Study, shown: Sequence[Shown]) -> list[str]:
    """What the fits took, in a sentence; none where nothing was fitted."""
    taken = [
        f"{each.answer.request.label} {seconds_text(each.fit.seconds)}"
        for each in shown
        if each.fresh and each.answer.seconds is not None
    ]
    return [f"{record.done}: {', '.join(taken)}."] if taken else []


class Shown(NamedTuple):
    """One method: its answer, its fit, today's view of it, or the reason why there is none."""

    answer: Answer
    fit: Any
    view: Any
    problem: str

    @property
    def fresh(self) -> bool:
        """Whether it belongs to today's settings."""
        return self.view is not None and self.answer.fresh


def seen_methods(
    record: Study, settings: Any, shown: Sequence[Shown]
) -> tuple[Any, list[SeenMethod]]:
    """The settings whose rows a picture shows, and each method with a note beside its title.

    Until one method is fitted on today's rows, the picture before stays. A method of other rows has
    no view in it.
    """
    fits = [each.fit for each in shown if each.fit is not None]
    if fits and all(record.rows(fit.plan) != record.rows(settings) for fit in fits):
        settings = with_fit(settings, fits[0].plan)
    seen = []
    for each in shown:
        note = "" if each.answer.fresh else "previous settings"
        view = each.view
        if view is None or record.rows(each.fit.plan) != record.rows(settings):
            note = "no result" if each.problem else _STATES.get(each.answer.state, "training")
            view = None
        seen.append(SeenMethod(each.answer.slot, each.fit, view, note, each.answer.fresh))
    return settings, seen


def say_what_is_missing(record: Study, settings: Any, shown: Sequence[Shown]) -> None:
    """Notices about methods without a view, and what is to be done without any."""
    for place, text in enumerate(list_refusals(record, settings)):
        show_notice(text, f"refused-{place}", tone="error")
    several = len(record.methods) > 1
    for each in shown:
        said = f"{each.answer.request.label}: " if several else ""
        if each.problem:
            show_notice(f"{said}{each.problem}", each.answer.slot, tone="error")
        elif each.fresh and (text := record.warn(each.view)):
            show_notice(f"{said}{text}", each.answer.slot)
    if record.invitation and not record.chosen(settings):
        st.text(record.invitation)


def say_stale(shown: Sequence[Shown]) -> None:
    """A caption that names the methods whose picture belongs to earlier settings."""
    old = [each.answer.request.label for each in shown if each.view is not None and not each.fresh]
    if old:
        st.caption(f"Still the previous settings: {', '.join(old)}.")


def ask_behind(
    page: Skeleton, record: Single | Study, run: Any, values: Any, start: bool, slots: Sequence[str]
) -> Any:
    """The run with what does not keep its picture waiting."""
    works = record.behind(run, kept) if start else ()
    requests = [
        Request(
            work.slot,
            work.key,
            in_thread(work.make),
            work.label,
            stored=None if work.stored is None else lambda work=work: work.stored,
        )
        for work in works
    ]
    answers = ask(requests, others=slots)
    with page.fold(PAPER if record.behind_statements else COMPARE):
        named = [each for each in answers if each.request.label]
        for each in named:
            if each.error:
                show_notice(f"{each.request.label}: {each.error}", each.slot, tone="error")
        show_progress([each for each in named if each.state != "done"], "-behind")
    results = {each.slot: each.result for each in answers if each.fresh and not each.error}
    name = f"{record.name}-behind"
    if start:
        kept(name, [*results.values()], tuple(results), lambda: results)
    return record.join(run, results if start else last_kept(name) or {}, values, kept)
