"""The paper's statements about the one-dimensional experiment, compared with the results here.

MACAU (doi 10.5121/csit.2023.131920), section 4.1, figure 1 and table 1. Stds are taken without a
conformal step. CRPS grows with the noise, so statements about CRPS are left out unless the noise is
the paper's. `settings_text` names all settings that differ from the paper's.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from gbuq_core.experiments.claims import Claim, Threshold, judged
from gbuq_core.experiments.heteroscedastic.data import Array
from gbuq_core.experiments.heteroscedastic.fit import HeteroscedasticRun, run_heteroscedastic
from gbuq_core.experiments.heteroscedastic.plan import (
    PAPER,
    SUPPORT,
    HeteroscedasticSettings,
    plan_measure,
)
from gbuq_core.experiments.heteroscedastic.scores import HeteroscedasticScore, score_all
from gbuq_core.experiments.seeds import SeedStudy
from gbuq_core.presentation import short
from gbuq_core.settings import differences, quicker

# What counts as agreement. The paper has a picture and a table, so these limits are this project's.
CAPTURES, HARDLY_CAPTURES = 0.015, 0.03  # CRPS above the truth's own, in units of y
CALLED_DATA, HARDLY_CALLED_DATA = 0.9, 0.75  # share of total uncertainty
SEPARATES, HARDLY_SEPARATES = 0.99, 0.95  # AUROC, of a table's 1.00
RISES_LINEARLY, HARDLY_LINEARLY = 0.95, 0.85  # R squared of a straight line
KNOWS, HARDLY_KNOWS = 0.9, 0.8  # AUROC, of the table's 0.95
BLIND, HARDLY_BLIND = 0.6, 0.7  # AUROC at most, of the table's 0.53
CHANCE, HARDLY_CHANCE = 0.05, 0.1  # from 0.5
OFF, HARDLY_OFF = 0.05, 0.0  # over- and underestimation of the mean noise std
HALF, HARDLY_HALF = 0.5, 0.75  # of the noise that between-tree spread alone shows
NEAR, HARDLY_NEAR = 0.03, 0.06  # of a coverage to its level
FOLLOWS, HARDLY_FOLLOWS = 0.15, 0.3  # error of the std, as a share of the mean noise std

_CAPTURED = Threshold("CRPS above the truth's", CAPTURES, HARDLY_CAPTURES, decimals=3)
_CALLED = Threshold(
    "share of data uncertainty", CALLED_DATA, HARDLY_CALLED_DATA, unit=" %", times=100.0, decimals=0
)
_SEPARATED = Threshold("AUROC", SEPARATES, HARDLY_SEPARATES, decimals=3)
_STRAIGHT = Threshold(
    "share explained by a straight line",
    RISES_LINEARLY,
    HARDLY_LINEARLY,
    unit=" %",
    times=100.0,
    decimals=0,
)
_KNOWN = Threshold("AUROC", KNOWS, HARDLY_KNOWS, decimals=2)
_BLIND = Threshold("AUROC", BLIND, HARDLY_BLIND, decimals=2)
_CHANCE = Threshold("distance of the AUROC from 0.5", CHANCE, HARDLY_CHANCE, decimals=2)
_OVER = Threshold("overestimation", OFF, HARDLY_OFF, unit=" %", times=100.0, decimals=0)
_UNDER = _OVER._replace(what="underestimation")
_HALF = Threshold("share of the noise std", HALF, HARDLY_HALF, unit=" %", times=100.0, decimals=0)
_NEAR = Threshold(
    "distance of a coverage from its level",
    NEAR,
    HARDLY_NEAR,
    unit=" points",
    times=100.0,
    decimals=0,
)
_FOLLOWED = Threshold(
    "error of the std", FOLLOWS, HARDLY_FOLLOWS, unit=" % of the noise", times=100.0, decimals=0
)
_ORDERED = Threshold("share of the pairs in the paper's order", 1.0, 0.6, unit=" %", times=100.0)


def settings_text(settings: HeteroscedasticSettings) -> str:
    """Which settings differ from the paper's. Methods and seed may differ."""
    here = plan_measure(replace(settings, seed=PAPER.seed, tail=PAPER.tail))
    paper = plan_measure(replace(PAPER, methods=settings.methods))
    other = differences(here, paper, "{} {} (there {})")
    if other:
        return f"Different from the paper: {', '.join(other)}."
    return "These are the paper's settings."


def check_claims(
    run: HeteroscedasticRun, scores: tuple[HeteroscedasticScore, ...] | None = None
) -> tuple[Claim, ...]:
    """Compare the paper's statements about the methods that were run with the results."""
    if scores is None or run.settings.conformal:
        scores = score_all(run._replace(settings=replace(run.settings, conformal=False)))
    by_method = {score.method: score for score in scores}
    claims: list[Claim] = []
    if run.settings.noise_slope > 0.0:
        claims += _claims_of_noise(by_method)
    for key in ("macau_linear", "macau_basic"):
        if key in by_method:
            claims += _claims_of_novelty(run, by_method[key])
    if "catboost" in by_method:
        claims.append(_claim_of_catboost(run, by_method["catboost"]))
    if "isolation" in by_method:
        claims.append(
            _separates(
                "An isolation forest detects all foreign rows (table 1).",
                by_method["isolation"],
                "isolation",
            )
        )
    if run.settings.noise_slope > 0.0:
        claims += _claim_of_order(by_method)
    return tuple(claims)


class Ray(NamedTuple):
    """How a curve changes from the last row outwards, on one side."""

    linear: float  # R squared of a straight line; 0 where the curve is flat
    slope: float  # of that line, per unit of x
    first: float  # the curve at the end of the rows
    last: float  # and of the picture


def follow_rays(x: Array, values: Array) -> tuple[Ray, Ray]:
    """A curve from 0 to the left and from 10 to the right."""
    rays = []
    for away in (SUPPORT[0] - x, x - SUPPORT[1]):
        outside = away >= 0.0
        order = np.argsort(away[outside])
        distance, curve = away[outside][order], values[outside][order]
        first, last = float(curve[0]), float(curve[-1])
        if float(np.ptp(curve)) <= 1e-12 * max(1.0, float(np.abs(curve).max())):
            rays.append(Ray(0.0, 0.0, first, last))
            continue
        slope, offset = np.polyfit(distance, curve, 1)
        left_over = float(np.square(curve - offset - slope * distance).sum())
        spread = float(np.square(curve - curve.mean()).sum())
        rays.append(Ray(1.0 - left_over / spread, float(slope), first, last))
    return rays[0], rays[1]


def _claims_of_noise(by_method: Mapping[str, HeteroscedasticScore]) -> list[Claim]:
    claims = []
    for key in ("macau_linear", "macau_basic"):
        if key in by_method:
            claims += _claims_of_macau(by_method[key])
    if "forest" in by_method:
        claims.append(_claim_of_forest(by_method["forest"]))
    for key, sign in (("quantile", 1.0), ("ngboost", 1.0), ("catboost", -1.0)):
        if key in by_method:
            claims.append(_claim_of_scale(by_method[key], sign))
    if "conformal_forest" in by_method:
        claims.append(_claim_of_average(by_method["conformal_forest"]))
    if "gnll" in by_method:
        error, noise = by_method["gnll"].std_error, by_method["gnll"].mean_noise
        claims.append(
            judged(
                "GNLL captures noise that grows linearly (section 4.1).",
                f"The RMSE of its std is {short(error, 2)}, {100 * error / noise:.0f} % of the "
                "mean noise std.",
                error / noise,
                _FOLLOWED,
                key="captures:gnll",
                chip="GNLL follows the noise",
                name="off by",
            )
        )
    return claims


def _claims_of_macau(score: HeteroscedasticScore) -> list[Claim]:
    called = judged(
        f"{score.label} attributes the noise to data uncertainty (section 4.1).",
        f"Data uncertainty is {100 * score.data_share:.0f} % of the total variance on test rows.",
        score.data_share,
        _CALLED,
        key=f"called:{score.method}",
        name="data share",
    )
    if math.isnan(score.paper_crps):
        return [called]
    captured = judged(
        f"{score.label} captures the noise that grows with x (section 4.1; CRPS "
        f"{score.paper_crps:.2f}).",
        f"Its CRPS is {score.crps:.3f}, {score.excess:.3f} above that of the true distribution "
        f"({score.truth_crps:.3f}). The RMSE of its std is {score.std_error:.2f}.",
        score.excess,
        _CAPTURED,
        key=f"captures:{score.method}",
        chip=f"{score.label} follows the noise",
        name="excess CRPS",
    )
    return [captured, called]


def _claim_of_forest(score: HeteroscedasticScore) -> Claim:
    crps = "" if math.isnan(score.paper_crps) else f"; CRPS {score.paper_crps:.2f}"
    return judged(
        "The spread between the trees of a random forest does not capture the noise (section "
        f"4.1{crps}).",
        f"Its std is {100 * score.noise_ratio:.0f} % of the noise std. Its CRPS is "
        f"{score.crps:.3f}, {score.excess:.3f} above that of the true distribution.",
        score.noise_ratio,
        _HALF,
        key="forest",
        name="share",
    )


def _claim_of_scale(score: HeteroscedasticScore, sign: float) -> Claim:
    word = "over" if sign > 0.0 else "under"
    return judged(
        f"{score.label} {word}estimates the noise (section 4.1).",
        f"On test rows its mean std is {score.mean_std:.3f} and the true one is "
        f"{score.mean_noise:.3f}. The ratio is {score.noise_ratio:.2f}.",
        sign * (score.noise_ratio - 1.0),
        _OVER if sign > 0.0 else _UNDER,
        key=f"scale:{score.method}",
    )


def _claim_of_average(score: HeteroscedasticScore) -> Claim:
    worst = max(score.coverage, key=lambda coverage: abs(coverage.observed - coverage.level))
    return judged(
        "Inductive conformal prediction captures the noise on average (section 4.1).",
        f"The interval farthest from its level holds {100 * worst.observed:.0f} % of test rows "
        f"instead of {100 * worst.level:.0f} %. All rows get the same std, with an RMSE of "
        f"{score.std_error:.2f}.",
        abs(worst.observed - worst.level),
        _NEAR,
        key="average",
        name="off by",
    )


def _claims_of_novelty(run: HeteroscedasticRun, score: HeteroscedasticScore) -> list[Claim]:
    linear = score.method == "macau_linear"
    claims = [
        _separates(
            f"Novelty of {score.label} detects all foreign rows (table 1).", score, "novelty"
        ),
        _claim_of_inference(score, linear),
    ]
    rays = _rays_of(run, score.method)
    known = score.auroc_of("knowledge")
    if linear:
        straight, rising = min(ray.linear for ray in rays), min(ray.slope for ray in rays)
        claims.append(
            judged(
                "Outside the rows, knowledge uncertainty of MACAU (linear) rises linearly "
                "(section 4.1).",
                f"A straight line explains {100 * rays[0].linear:.0f} % of its std on the left and "
                f"{100 * rays[1].linear:.0f} % on the right. {_away_from_rows(rays)}",
                straight if rising > 0.0 else 0.0,
                _STRAIGHT,
                key="straight",
                name="explained",
            )
        )
        claims.append(
            judged(
                "Knowledge uncertainty of MACAU (linear) detects most foreign rows (table 1: "
                "AUROC 0.95).",
                f"AUROC {known:.2f}.",
                known,
                _KNOWN,
                key="knowledge:macau_linear",
                chip="KU of MACAU (linear) finds foreign rows",
            )
        )
    else:
        claims.append(
            judged(
                "Knowledge uncertainty of MACAU (basic) cannot detect foreign rows (table 1: "
                "AUROC 0.20).",
                f"AUROC {known:.2f}. At the ends of the picture its std is "
                f"{short(rays[0].last, 2)} on the left and {short(rays[1].last, 2)} on the right.",
                known,
                _BLIND,
                key="knowledge:macau_basic",
            )
        )
    return claims


def _claim_of_inference(score: HeteroscedasticScore, linear: bool) -> Claim:
    if linear:
        return _separates(
            "Inference novelty of MACAU (linear) detects all foreign rows (table 1).",
            score,
            "inference_novelty",
        )
    value = score.auroc_of("inference_novelty")
    return judged(
        "Inference novelty of MACAU (basic) is no better than chance, because a leaf predicts one "
        "value (table 1: AUROC 0.50).",
        f"AUROC {value:.2f}.",
        abs(value - 0.5),
        _CHANCE,
        key="inference:macau_basic",
        name="distance",
    )


def _separates(paper: str, score: HeteroscedasticScore, key: str) -> Claim:
    value = score.auroc_of(key)
    return judged(
        paper,
        f"AUROC {value:.3f}.",
        value,
        _SEPARATED,
        key=f"{key}:{score.method}",
        chip=f"Novelty of {score.label} finds foreign rows" if key == "novelty" else "",
    )


def _rays_of(run: HeteroscedasticRun, method: str) -> tuple[Ray, Ray]:
    """How the std of knowledge uncertainty changes outside the rows."""
    view = next(view for view in run.views if view.method == method)
    return follow_rays(view.x, np.sqrt(view.knowledge))


def _away_from_rows(rays: tuple[Ray, Ray]) -> str:
    """How a std changes from the last rows to both ends of the picture."""
    left, right = rays
    return (
        f"From the last row outwards, the std goes from {short(left.first, 2)} to "
        f"{short(left.last, 2)} on the left and from {short(right.first, 2)} to "
        f"{short(right.last, 2)} on the right."
    )


def _claim_of_catboost(run: HeteroscedasticRun, score: HeteroscedasticScore) -> Claim:
    value, rays = score.auroc_of("knowledge"), _rays_of(run, score.method)
    return judged(
        "Knowledge uncertainty of CatBoost does not detect foreign rows (section 4.1; table 1: "
        "AUROC 0.53).",
        f"AUROC {value:.2f}. {_away_from_rows(rays)}",
        value,
        _BLIND,
        key="knowledge:catboost",
    )


def _claim_of_order(by_method: Mapping[str, HeteroscedasticScore]) -> list[Claim]:
    """Pairs of methods with different CRPS in the table, which rounds to two digits."""
    known = [score for score in by_method.values() if not math.isnan(score.paper_crps + score.crps)]
    pairs = [
        (near, far) if near.paper_crps < far.paper_crps else (far, near)
        for near, far in itertools.combinations(known, 2)
        if near.paper_crps != far.paper_crps
    ]
    if not pairs:
        return []
    alike = sum(near.crps < far.crps for near, far in pairs)
    paper = sorted(known, key=lambda score: score.paper_crps)
    here = sorted(known, key=lambda score: score.crps)
    return [
        judged(
            f"CRPS, best first: {'; '.join(f'{s.label} {s.paper_crps:.2f}' for s in paper)} "
            "(table 1).",
            f"Best first: {'; '.join(f'{s.label} {s.crps:.3f}' for s in here)}. The table orders "
            f"{len(pairs)} pairs of these methods. {alike} of them have the same order here.",
            alike / len(pairs),
            _ORDERED,
            key="order",
            name="pairs in order",
        )
    ]


def _quicker(settings: HeteroscedasticSettings, share: float) -> HeteroscedasticSettings:
    """Fewer rows and trees; a tree of a forest sees as many rows as before, so that it can grow."""
    small = quicker(settings, share)
    return replace(small, subsample=min(0.9, settings.subsample * settings.rows / small.rows))


STUDY = SeedStudy(
    name="heteroscedastic",
    fit=run_heteroscedastic,
    claims=check_claims,
    quicker=_quicker,
    bare=plan_measure,  # no statement is about a conformal step
    first=HeteroscedasticSettings(),
    most=0.3,  # test rows and foreign rows of every seed are scored, too
)
