"""Comparisons that take a while: each is a fold, and a job that its button starts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import streamlit as st

from gbuq_core.experiments.trial import Trial
from gbuq_core.settings import from_values
from gbuq_core.study.study import Study
from pages._ui.claims import draw_claims
from pages._ui.controls import draw_fold, draw_knob
from pages._ui.jobs_glue import (
    WAIT_SECONDS,
    Answer,
    Request,
    ask,
    cost_line,
    show_progress,
    start_again,
)
from pages._ui.notices import show_notice
from pages._ui.sections import draw_section
from pages._ui.url_state import PageState, read_again

_WANTED = "_trial:"  # the plan that was last asked for, by name
_KNOB_WIDTH = 320  # pixels


def ask_with_trials(
    record: Study, requests: Sequence[Request], wait: float, slots: Sequence[str] = ()
) -> tuple[Sequence[Answer], Sequence[Answer], bool]:
    """The answers of a page's fits and of its trials, and whether all fits are done.

    Nobody waits for a trial.
    """
    own = _requests(record)
    asked = ask([*requests, *own], WAIT_SECONDS if own else wait, others=slots)
    answers = asked[: len(requests)]
    return answers, asked[len(requests) :], all(answer.state == "done" for answer in answers)


def _requests(record: Study) -> list[Request]:
    """The trials that the reader asked for; later settings leave them as they are."""
    wanted = ((trial, st.session_state.get(_WANTED + trial.name)) for trial in record.trials)
    return [
        Request(
            trial.name,
            (trial.name, plan),
            partial(_run, trial, plan),
            trial.label,
        )
        for trial, plan in wanted
        if plan is not None
    ]


def _run(trial: Trial, plan: Any, job: object) -> Any:
    """Run it; the runner calls this in another thread."""
    return trial.run(plan)


def trial_results(answers: Sequence[Answer]) -> dict[str, Any]:
    """What came out of each, by its name."""
    return {answer.slot: answer.result for answer in answers if answer.result is not None}


@st.fragment
def draw_trials(
    record: Study, state: PageState, values: Any, answers: Sequence[Answer], alone: bool
) -> None:
    """All trials; with ``alone`` nothing else on the page shows its progress."""
    values = read_again(state, values)
    settings = from_values(record.settings, vars(values))
    by_slot = {answer.slot: answer for answer in answers}
    running = [answer for answer in answers if answer.state == "running"] if alone else []
    for trial in record.trials:
        place = draw_fold(trial.fold, trial.knobs)
        if place is not None:
            with place:
                st.markdown(trial.about)
                _draw_trial(trial, trial.plan(settings, values), values, by_slot.get(trial.name))
                if running and running[0].slot == trial.name:  # one bar and Cancel for all
                    show_progress(running)


def _draw_trial(trial: Trial, plan: Any, values: SimpleNamespace, answer: Answer | None) -> None:
    refusal = trial.why_not(plan)
    current = answer is not None and answer.request.key[1] == plan
    with st.container(horizontal=True, vertical_alignment="bottom", key=f"{trial.name}-choice"):
        for knob in trial.knobs:
            with st.container(width=_KNOB_WIDTH):
                draw_knob(knob)
        if answer is None or not current or answer.state in ("failed", "cancelled"):
            asked = st.button(
                trial.button,
                key=f"_{trial.name}-run",
                on_click=_want,
                args=(trial.name, plan),
                disabled=bool(refusal),
            )
            if asked:  # the page asks for jobs, not the fragment that this is drawn in
                st.rerun()
    if refusal:
        show_notice(refusal, trial.name)
    if answer is None:
        return
    if answer.state == "cancelled" and current:
        st.text("Cancelled.")
    if answer.error:
        show_notice(answer.error, trial.name, tone="error")
    elif answer.result is not None:
        if not (current and answer.fresh):
            st.caption("This result is for the previous settings.")
        _draw_result(trial, answer, values)
        if line := cost_line(answer):
            st.caption(f"{line.replace('Fitted', 'Computed')}.")


def _draw_result(trial: Trial, answer: Answer, values: SimpleNamespace) -> None:
    """What came out, the paper's statements on it, and its files."""
    result, plan = answer.result, answer.request.key[1]
    for number, section in enumerate(trial.sections(result, values)):
        if section.heading:
            st.markdown(f"**{section.heading}**")
        if section.text:
            st.text(str(section.text), width="stretch")
        draw_section(section, f"{trial.name}-{number}")
    if claims := trial.claims(result):
        study = trial.study if answer.fresh else None
        draw_claims(claims, study, plan, columns=1, place=trial.name)
    with st.container(horizontal=True, key=f"{trial.name}-files"):
        for label, (name, write) in trial.tables.items():
            st.download_button(
                f"{label} (CSV)",
                data=partial(write, result),
                file_name=name,
                mime="text/csv",
                key=f"_download:{trial.name}:{name}",
                on_click="ignore",
            )


def _want(name: str, plan: Any) -> None:
    st.session_state[_WANTED + name] = plan
    start_again(name)
