"""Heteroscedastic's scorecard beside the paper's table 1, and the paper's statements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from gbuq_core.experiments.claims import Claim
from gbuq_core.experiments.heteroscedastic.claims import check_claims, settings_text
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
    MeasurePlan,
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


def measure(fit: HeteroscedasticFit, plan: MeasurePlan, job: object) -> HeteroscedasticMeasure:
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
            ("heteroscedastic-measure", fit.plan, plan),
            partial(measure, fit, plan),
            f"Scores of {fit.label}",
            estimate_measure_seconds(fit.plan, plan),
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
        st.text("Scores appear with the first fit.")
    else:
        _table("heteroscedastic-intervals", interval_rows(found))
        st.caption(_how_intervals(found, settings))
        _table("heteroscedastic-ood", ood_rows(found))
        st.caption(
            "AUROC of each score for telling "
            f"{settings.ood_rows:,} foreign rows from {settings.test_rows:,} test rows: 1 tells "
            "all, 0.5 is chance, 0 is the wrong way round. After the slash the paper's table 1, of "
            f"its own settings.{_how_novelty(found, settings)}"
        )
    st.header("The paper and this picture")
    st.caption(settings_text(settings))
    claims = claims_of(run)
    draw_claims(claims)
    if not claims:
        st.text("The paper says nothing about these methods alone.", width="stretch")


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
    """A line a method: CRPS beside the paper's and the truth's, coverage, errors, costs."""
    levels = [f"In {100 * c.level:g} %" for c in _levels(scores)]
    beside = any(math.isfinite(one.paper_crps) for one in scores)
    lines: list[tuple[str, ...]] = [
        ("Method", "CRPS / paper" if beside else "CRPS", "Above the truth", *levels,
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
    lines: list[tuple[str, ...]] = [("AUROC / paper", *(SCORES[key].label for key in keys))]
    for one in scores:
        found = {a.key: _beside(a.value, a.paper) for a in one.auroc}
        lines.append((one.label, *(found.get(key, _NONE) for key in keys)))
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
        return " Novelty scores here go on rising beyond the rows."
    return " Novelty scores here end at 5.2, as in the authors' code."


def _how_intervals(
    scores: Sequence[HeteroscedasticScore], settings: HeteroscedasticSettings
) -> str:
    truth = digits(scores[0].truth_crps)
    kinds: dict[str, list[str]] = {}
    for one in scores:
        if one.crps_kind not in ("", "normal"):
            kinds.setdefault(one.crps_kind, []).append(one.label)
    kind = "".join(f" CRPS of {' and '.join(names)}: {how}." for how, names in kinds.items())
    beside = "; the paper's test rows are others, with a best value that differs by about 0.01."
    if settings.noise_slope != PAPER.noise_slope:
        beside = f"; the paper's CRPS, of noise {PAPER.noise_slope:g} x, is no match and left out."
    wrapped = ""
    if settings.conformal:
        wrapped = (
            f" CRPS is of the stds as stretched for {100 * settings.level:g} %; each level's "
            "coverage, of those stretched for itself."
        )
    return (
        f"On {settings.test_rows:,} fresh rows, in units of y; lower is better. The truth's own "
        f"CRPS on them is {truth}{beside}{kind}{wrapped} In parentheses: points away from the "
        "level; bold where sampling error does not explain it. By thirds: x below 3.3, up to 6.7, "
        "and above; a level held on average may be held nowhere. RMSE: to the true mean and the "
        "true std."
    )
