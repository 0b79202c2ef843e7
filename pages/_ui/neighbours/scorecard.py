"""Neighbours' scorecard: IBUG beside simpler ways, and the paper's statements beside both."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace

import streamlit as st

from gbuq_core.errors import GbuqError
from gbuq_core.experiments.claims import Claim
from gbuq_core.experiments.neighbours.baselines import (
    BaselineFit,
    fit_baseline,
    needed_fits,
    why_no_baseline,
)
from gbuq_core.experiments.neighbours.claims import STUDY, check_neighbours_claims
from gbuq_core.experiments.neighbours.export import scorecard_section
from gbuq_core.experiments.neighbours.look import NeighboursRun
from gbuq_core.experiments.neighbours.plan import (
    BASELINES,
    NeighboursSettings,
    estimate_neighbours_seconds,
)
from gbuq_core.experiments.neighbours.scores import NeighboursScore, score_neighbours
from gbuq_core.settings import bare, plan_of
from pages._ui.claims import draw_claims
from pages._ui.jobs_glue import Answer, Request
from pages._ui.kept import kept, last_kept
from pages._ui.neighbours.picture import find
from pages._ui.notices import show_notice
from pages._ui.sections import draw_section

_CLAIMS = "neighbours-claims"  # what is kept
_CHECKED = "_neighbours_checked"  # the settings that claims were last asked for
_SLOTS = tuple(f"baseline-{key}" for key in BASELINES)


def compute(plan: NeighboursSettings, key: str, scoring: str, job: object) -> BaselineFit:
    """Fit one baseline; the runner calls this in another thread."""
    return fit_baseline(plan, key, scoring)


def baseline_slots() -> tuple[str, ...]:
    """The places of baselines, whichever are chosen."""
    return _SLOTS


def baseline_requests(settings: NeighboursSettings) -> list[Request]:
    """The fits that the chosen baselines need and can have."""
    plan = plan_of(settings)
    return [
        Request(
            f"baseline-{key}",
            ("neighbours-baseline", plan, key, settings.scoring),
            partial(compute, plan, key, settings.scoring),
            BASELINES[key],
            estimate_neighbours_seconds(plan),
        )
        for key in needed_fits(settings.compare)
        if not why_no_baseline(plan, key)
    ]


def draw_scorecard(run: NeighboursRun, answers: Sequence[Answer]) -> tuple[Claim, ...]:
    """The scores beside the paper's statements, and a sentence for each score that is missing."""
    fitted = {answer.request.key[2]: answer.result for answer in answers if answer.fresh}
    scores, claims = st.columns([0.58, 0.42], gap="large")
    with scores:
        section = scorecard_section(run, scores_of(run, fitted))
        st.header(section.heading)
        _say_what_is_missing(run, answers)
        draw_section(section, "scores")
    with claims:
        st.header("The paper and this picture")
        return _draw_claims(run, fitted)


def _draw_claims(run: NeighboursRun, fitted: dict[str, BaselineFit]) -> tuple[Claim, ...]:
    """Checked at first and when asked again: it takes longer than a slider may."""
    depends = bare(run.settings), tuple(sorted(fitted))
    if last_kept(_CLAIMS) is None:
        st.session_state[_CHECKED] = depends
    if st.session_state[_CHECKED] != depends:  # no statements of other settings beside these
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption("The statements are not checked for these settings.", width="content")
            st.button(
                "Check these settings", key="_neighbours_check", on_click=_check, args=(depends,)
            )
        return ()
    claims: tuple[Claim, ...] = kept(
        _CLAIMS,
        [],
        depends,
        lambda: check_neighbours_claims(run.fit, run.search, run.view, fitted),
    )
    draw_claims(claims, STUDY, bare(run.settings), columns=1)
    return claims


def _check(depends: tuple[object, ...]) -> None:
    st.session_state[_CHECKED] = depends


def scores_of(run: NeighboursRun, fitted: dict[str, BaselineFit]) -> tuple[NeighboursScore, ...]:
    """The scores, worked out once."""
    return kept(
        "neighbours-scores",
        [run.search, *fitted.values()],
        (bare(run.settings), run.look.family, tuple(fitted)),
        lambda: score_neighbours(run.fit, run.search, run.view, fitted, run.look.family),
    )


def _say_what_is_missing(run: NeighboursRun, answers: Sequence[Answer]) -> None:
    plan = run.fit.plan
    for key in needed_fits(run.settings.compare):
        refusal = why_no_baseline(plan, key)
        if refusal:
            show_notice(f"{BASELINES[key]}: {refusal}", f"baseline-{key}")
    for answer in answers:
        if answer.error:
            show_notice(f"{answer.request.label}: {answer.error}", answer.slot, tone="error")
    waiting = [one.request.label for one in answers if not one.fresh and not one.error]
    if waiting:
        st.caption(f"Still being fitted: {', '.join(waiting)}.")


def scores_or_say(
    values: SimpleNamespace, answer: Answer, baselines: Sequence[Answer]
) -> tuple[Claim, ...]:
    """The scorecard, or one sentence why there is none. Returns the statements that it shows."""
    try:
        return draw_scorecard(find(values, answer), baselines)
    except GbuqError as error:
        show_notice(str(error), "scores", tone="error")
        return ()
