"""Heteroscedastic's scorecard with the paper's table 1, and the paper's statements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from gbuq_core.experiments.claims import Claim
from gbuq_core.experiments.heteroscedastic.claims import STUDY, check_claims, settings_text
from gbuq_core.experiments.heteroscedastic.data import data_of
from gbuq_core.experiments.heteroscedastic.fit import (
    HeteroscedasticFit,
    HeteroscedasticMeasure,
    HeteroscedasticRun,
    measure_heteroscedastic,
)
from gbuq_core.experiments.heteroscedastic.models import estimate_measure_seconds
from gbuq_core.experiments.heteroscedastic.plan import (
    METHODS,
    PAPER,
    SCORES,
    TAILS,
    HeteroscedasticSettings,
    plan_measure,
)
from gbuq_core.experiments.heteroscedastic.scores import (
    HeteroscedasticScore,
    LevelCoverage,
    score_heteroscedastic,
)
from gbuq_core.presentation import digits, markdown_table, megabytes
from pages._ui.claims import draw_claims
from pages._ui.controls import draw_knob
from pages._ui.heteroscedastic.controls import SORT, SORTS
from pages._ui.jobs_glue import Answer, Request
from pages._ui.kept import keep_only, kept
from pages._ui.notices import show_notice
from pages._ui.side_by_side import Shown

_SCORES, _CLAIMS = "heteroscedastic-score:", "heteroscedastic-claims"  # what is kept
_SLOT = "measure-"
_NONE = "\u2013"


def measure(
    fit: HeteroscedasticFit, plan: HeteroscedasticSettings, job: object
) -> HeteroscedasticMeasure:
    """Predict test and foreign rows; the runner calls this in another thread."""
    return measure_heteroscedastic(fit, plan)


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
            partial(measure, fit, plan),
            f"Scores of {fit.label}",
            estimate_measure_seconds(plan),
        )
        for fit, plan in zip(fits, plans, strict=True)
    ]


def run_of(
    settings: HeteroscedasticSettings, shown: Sequence[Shown], measured: Sequence[Answer]
) -> HeteroscedasticRun:
    """What belongs to these settings: methods that are fitted and measured."""
    found = {one.slot: one.result for one in measured if one.fresh and not one.error}
    ready = [
        (one.fit, one.view, found[_SLOT + one.fit.method])
        for one in shown
        if one.fresh and one.fit and one.view and _SLOT + one.fit.method in found
    ]
    settings = replace(settings, methods=tuple(fit.method for fit, _, _ in ready))
    fits, views, measures = zip(*ready, strict=True) if ready else ((), (), ())
    return HeteroscedasticRun(settings, data_of(settings), fits, views, measures)


def scores_of(run: HeteroscedasticRun) -> tuple[HeteroscedasticScore, ...]:
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


def sorted_scores(scores: Sequence[HeteroscedasticScore], by: str) -> list[HeteroscedasticScore]:
    """Best first; methods without that number last."""
    keys = {
        SORTS[0]: lambda one: one.excess,
        SORTS[1]: lambda one: max((abs(c.observed - c.level) for c in one.coverage), default=None),
        SORTS[2]: lambda one: -max((a.value for a in one.auroc), default=math.nan),
        SORTS[3]: lambda one: one.fit_seconds,
    }

    def place(one: HeteroscedasticScore) -> float:
        value = keys[by](one)
        return math.inf if value is None or math.isnan(value) else float(value)

    return sorted(scores, key=place)


def draw_scores(settings: HeteroscedasticSettings, run: HeteroscedasticRun, by: str) -> None:
    """Both tables and the paper's statements."""
    found = sorted_scores(scores_of(run), by)
    with st.container(
        horizontal=True, vertical_alignment="bottom", key="heteroscedastic-scorehead"
    ):
        st.header("Scorecard", width="content")
        with st.container(width=220):
            draw_knob(SORT)
    if not found:
        st.text("Scores appear when the first method is trained.")
    else:
        _table("heteroscedastic-intervals", interval_rows(found))
        st.caption(_how_intervals(found, settings))
        _table("heteroscedastic-ood", ood_rows(found))
        st.caption(
            "AUROC of each score for separating "
            f"{settings.ood_rows:,} foreign rows from {settings.test_rows:,} test rows. 1 is "
            "perfect, 0.5 is chance, and 0 ranks all rows the wrong way round. The number after "
            "the slash is from the paper's table 1, with the paper's settings. The last column is "
            "the share of y inside the interval outside the rows, if the formula of the rows went "
            "on there."
            f"{_how_novelty(found, settings)}"
        )
    st.header("The paper and this picture")
    st.caption(settings_text(settings))
    claims = claims_of(run)
    complete = run.settings.methods == settings.methods
    draw_claims(claims, STUDY if complete else None, settings)
    if not claims:
        st.text("The paper says nothing about these methods.", width="stretch")


def claims_of(run: HeteroscedasticRun) -> tuple[Claim, ...]:
    """The paper's statements, held once against what was measured."""
    depends = (run.settings.conformal, run.settings.level, run.settings.methods)
    return kept(_CLAIMS, list(run.measures), depends, lambda: check_claims(run, scores_of(run)))


def say_what_failed(measured: Sequence[Answer]) -> None:
    """Measurements that ended without a result."""
    for answer in measured:
        if answer.error:
            show_notice(f"{answer.request.label}: {answer.error}", answer.slot, tone="error")


def _table(key: str, rows: Sequence[tuple[str, ...]]) -> None:
    with st.container(key=f"table-{key}"):
        st.markdown(markdown_table(rows))


def interval_rows(scores: Sequence[HeteroscedasticScore]) -> list[tuple[str, ...]]:
    """One line per method: CRPS here and in the paper, coverage, errors and costs."""
    levels = [f"In {100 * c.level:g} %" for c in _levels(scores)]
    beside = any(math.isfinite(one.paper_crps) for one in scores)
    lines: list[tuple[str, ...]] = [
        ("Method", "CRPS / paper" if beside else "CRPS", "Excess CRPS", *levels,
         _thirds_head(scores), "RMSE of the mean", "RMSE of the std", "Fit, s", "Scores, s", "MB")
    ]  # fmt: skip
    for one in scores:
        covered = [_covered(c) for c in one.coverage] or [_NONE] * len(levels)
        costs = (digits(one.fit_seconds), digits(one.score_seconds), megabytes(one.memory_bytes))
        errors = (digits(one.rmse), digits(one.std_error))
        crps = _beside(one.crps, one.paper_crps)
        thirds = " / ".join(_share(part.observed) for part in one.thirds)
        thirds = f"{thirds} %" if thirds else _NONE
        lines.append((one.label, crps, digits(one.excess), *covered, thirds, *errors, *costs))
    return lines


def ood_rows(scores: Sequence[HeteroscedasticScore]) -> list[tuple[str, ...]]:
    """A line a method and a column a score that one of them has."""
    keys = [key for key in SCORES if any(a.key == key for one in scores for a in one.auroc)]
    level = next((one.outside[0].level for one in scores if one.outside), None)
    held = [] if level is None else [f"In {100 * level:g} %, left / right of the rows"]
    lines: list[tuple[str, ...]] = [("AUROC / paper", *(SCORES[key].label for key in keys), *held)]
    for one in scores:
        found = {a.key: _beside(a.value, a.paper) for a in one.auroc}
        shares = " / ".join(_share(part.observed) for part in one.outside)
        beyond = [f"{shares} %" if shares else _NONE] if held else []
        lines.append((one.label, *(found.get(key, _NONE) for key in keys), *beyond))
    return lines


def _levels(scores: Sequence[HeteroscedasticScore]) -> tuple[LevelCoverage, ...]:
    return next((one.coverage for one in scores if one.coverage), ())


def _thirds_head(scores: Sequence[HeteroscedasticScore]) -> str:
    """The column of the coverage by thirds of x names its level."""
    level = next((one.thirds[0].level for one in scores if one.thirds), None)
    return "By thirds of x" if level is None else f"In {100 * level:g} %, by thirds of x"


def _share(value: float) -> str:
    return f"{100 * value:.0f}" if math.isfinite(value) else _NONE


def _covered(found: LevelCoverage) -> str:
    """The share held and how many points that is from nominal; bold beyond sampling error."""
    off = 100 * (found.observed - found.level)
    text = f"{100 * found.observed:.1f} % ({off:+.1f})".replace("-", "\u2212")
    return text if found.low <= found.level <= found.high else f"**{text}**"


def _beside(value: float, paper: float) -> str:
    return digits(value) if not math.isfinite(paper) else f"{digits(value)} / {paper:g}"


def _how_novelty(scores: Sequence[HeteroscedasticScore], settings: HeteroscedasticSettings) -> str:
    """Which tail the novelty scores of the table have, where there are any."""
    if not any("novelty" in METHODS[one.method].scores for one in scores):
        return ""
    if settings.tail == TAILS[0]:
        return " Outside the rows, novelty scores go on rising here."
    return " Here novelty scores stop at 5.2, as in the authors' code."


def _how_intervals(
    scores: Sequence[HeteroscedasticScore], settings: HeteroscedasticSettings
) -> str:
    truth = digits(scores[0].truth_crps)
    kinds: dict[str, list[str]] = {}
    for one in scores:
        if one.crps_kind not in ("", "normal"):
            kinds.setdefault(one.crps_kind, []).append(one.label)
    kind = "".join(
        f" CRPS of {' and '.join(names)} uses the {how}." for how, names in kinds.items()
    )
    beside = " On the paper's test rows the true distribution can differ by about 0.01."
    if settings.noise_slope != PAPER.noise_slope:
        beside = f" The paper's CRPS is left out because its noise is {PAPER.noise_slope:g} x."
    wrapped = ""
    if settings.conformal:
        wrapped = (
            f" CRPS uses the conformal factor for {100 * settings.level:g} %. The coverage of each "
            "level uses the factor for that level."
        )
    return (
        f"CRPS on {settings.test_rows:,} new rows, in units of y. Lower is better. The true "
        f"distribution has {truth}, and the excess is the difference from it.{beside}{kind}"
        f"{wrapped} The number in parentheses is the difference from the level, in percentage "
        "points. It is bold where sampling error does not explain it. The thirds are x below 3.3, "
        "from 3.3 to 6.7, and above. A level can hold on average and in none of the thirds. RMSE "
        "is to the true mean and the true std."
    )
