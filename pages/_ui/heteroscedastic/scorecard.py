"""Heteroscedastic's scores, measured behind its picture, and the paper's statements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from gbuq_core.experiments.claims import Claim
from gbuq_core.experiments.heteroscedastic.claims import check_claims
from gbuq_core.experiments.heteroscedastic.data import data_of
from gbuq_core.experiments.heteroscedastic.fit import (
    MEASURED,
    HeteroscedasticRun,
    measure_heteroscedastic,
)
from gbuq_core.experiments.heteroscedastic.plan import (
    METHODS,
    HeteroscedasticSettings,
    estimate_measure_seconds,
    plan_measure,
)
from gbuq_core.experiments.heteroscedastic.scores import (
    HeteroscedasticScore,
    score_heteroscedastic,
    sort_scores,
)
from pages._ui.controls import draw_knob
from pages._ui.experiment import QUICK
from pages._ui.heteroscedastic.controls import SORT
from pages._ui.jobs_glue import Request, ask, in_thread, show_progress
from pages._ui.kept import keep_only, kept
from pages._ui.notices import show_notice
from pages._ui.side_by_side import Shown

_SCORES, _CLAIMS = "heteroscedastic-score:", "heteroscedastic-claims"  # what is kept
_SLOT = "measure-"


def measure_slots() -> tuple[str, ...]:
    """The places of measurements, whichever methods are chosen."""
    return tuple(_SLOT + key for key in METHODS)


def measure_requests(settings: HeteroscedasticSettings, shown: Sequence[Shown]) -> list[Request]:
    """The measurements of the fits that are there."""
    fits = [one.fit for one in shown if one.fit is not None and one.fresh]
    plans = [plan_measure(settings, fit.method) for fit in fits]
    return [
        Request(
            _SLOT + fit.method,
            ("heteroscedastic-measure", plan),
            in_thread(measure_heteroscedastic, fit, plan),
            f"Scores of {fit.label}",
            estimate_measure_seconds(plan),
            stored=partial(MEASURED.find, plan),
        )
        for fit, plan in zip(fits, plans, strict=True)
    ]


def measured_run(settings: HeteroscedasticSettings, shown: Sequence[Shown]) -> HeteroscedasticRun:
    """What belongs to these settings: methods that are fitted and measured, sorted for a table."""
    measured = ask(measure_requests(settings, shown), QUICK, others=tuple(METHODS))
    show_progress([answer for answer in measured if answer.state != "done"], "-scores")
    for answer in measured:
        if answer.error:
            show_notice(f"{answer.request.label}: {answer.error}", answer.slot, tone="error")
    with st.container(width=220):
        by = draw_knob(SORT)
    found = {one.slot: one.result for one in measured if one.fresh and not one.error}
    ready = [
        (one.fit, one.view, found[_SLOT + one.fit.method])
        for one in shown
        if one.fresh and one.fit and one.view and _SLOT + one.fit.method in found
    ]
    settings = replace(settings, methods=tuple(fit.method for fit, _, _ in ready))
    fits, views, measures = zip(*ready, strict=True) if ready else ((), (), ())
    run = HeteroscedasticRun(settings, data_of(settings), fits, views, measures)
    return run._replace(scores=sort_scores(_scores_of(run), by))


def _scores_of(run: HeteroscedasticRun) -> tuple[HeteroscedasticScore, ...]:
    """The methods' scores, each worked out once for what it predicts."""
    keep_only(_SCORES, {_SCORES + fit.method for fit in run.fits})
    depends = (run.settings.conformal, run.settings.level)
    return tuple(
        kept(
            _SCORES + fit.method, [fit, found], depends,
            lambda fit=fit, found=found: score_heteroscedastic(fit, found, run.settings),
        )
        for fit, found in zip(run.fits, run.measures, strict=True)
    )  # fmt: skip


def claims_of(run: HeteroscedasticRun) -> tuple[Claim, ...]:
    """The paper's statements, held once against what was measured."""
    depends = (run.settings.conformal, run.settings.level, run.settings.methods)
    return kept(_CLAIMS, list(run.measures), depends, lambda: check_claims(run, run.scores))
