"""Neighbours' scorecard: IBUG beside simpler ways, and the paper's statements beside both."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from gbuq_core.experiments.claims import Claim
from gbuq_core.experiments.neighbours.claims import STUDY, check_neighbours_claims
from gbuq_core.experiments.neighbours.look import NeighboursRun
from gbuq_core.experiments.neighbours.plan import (
    BASELINES,
    NeighboursSettings,
    estimate_neighbours_seconds,
)
from gbuq_core.experiments.neighbours.scores import (
    BaselineFit,
    NeighboursScore,
    fit_baseline,
    needed_fits,
    score_neighbours,
    why_no_baseline,
)
from gbuq_core.settings import bare, plan_of
from pages._ui.claims import draw_claims
from pages._ui.jobs_glue import Answer, Request, ask, in_thread, show_progress
from pages._ui.kept import kept, last_kept
from pages._ui.neighbours.picture import SLOT, opening_of
from pages._ui.notices import show_notice

_CLAIMS = "neighbours-claims"  # what is kept
_CHECKED = "_neighbours_checked"  # the settings that claims were last asked for


def baselines_of(settings: NeighboursSettings, fit: Answer) -> list[Answer]:
    """What IBUG is compared with, fitted after it; that of the last settings while it is not."""
    if fit.state != "done" or fit.error:
        return last_kept("neighbours-asked") or []
    found = ask(_baseline_requests(settings), others=(SLOT,))
    show_progress(found)
    return kept("neighbours-asked", found, None, lambda: found)


def _baseline_requests(settings: NeighboursSettings) -> list[Request]:
    """The fits that the chosen baselines need and can have."""
    plan = plan_of(settings)
    return [
        Request(
            f"baseline-{key}",
            ("neighbours-baseline", plan, key, settings.scoring),
            in_thread(fit_baseline, plan, key, settings.scoring),
            BASELINES[key],
            estimate_neighbours_seconds(plan),
        )
        for key in needed_fits(settings.compare)
        if not why_no_baseline(plan, key)
    ]


def scored(run: NeighboursRun, answers: Sequence[Answer]) -> NeighboursRun:
    """The run with its scores; a sentence for each one that is missing."""
    _say_what_is_missing(run, answers)
    return run._replace(scores=_scores_of(run, _fitted(answers)))


def claims_of(run: NeighboursRun, answers: Sequence[Answer]) -> tuple[Claim, ...]:
    """The paper's statements: of the first settings, and where asked; they outlast a slider."""
    fitted = _fitted(answers)
    depends = _depends(run, fitted)
    if last_kept(_CLAIMS) is None:
        st.session_state[_CHECKED] = depends
    if st.session_state[_CHECKED] != depends:
        return ()
    claims: tuple[Claim, ...] = kept(
        _CLAIMS,
        [],
        depends,
        lambda: (
            opening.claims
            if (opening := opening_of(run.fit))
            else check_neighbours_claims(run.fit, run.search, run.view, fitted)
        ),
    )
    return claims


def check_paper(run: NeighboursRun, claims: Sequence[Claim], answers: Sequence[Answer]) -> None:
    """The statements with their numbers; never those of other settings."""
    if claims:
        draw_claims(claims, STUDY, bare(run.settings))
        return
    st.caption("The statements are not checked for these settings.")
    depends = _depends(run, _fitted(answers))
    st.button("Check these settings", key="_neighbours_check", on_click=_check, args=(depends,))


def _fitted(answers: Sequence[Answer]) -> dict[str, BaselineFit]:
    return {answer.request.key[2]: answer.result for answer in answers if answer.fresh}


def _depends(run: NeighboursRun, fitted: dict[str, BaselineFit]) -> tuple[object, ...]:
    return bare(run.settings), tuple(sorted(fitted))


def _check(depends: tuple[object, ...]) -> None:
    st.session_state[_CHECKED] = depends


def _scores_of(run: NeighboursRun, fitted: dict[str, BaselineFit]) -> tuple[NeighboursScore, ...]:
    """The scores, worked out once."""
    if (opening := opening_of(run.fit)) is not None:
        return opening.scores
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
