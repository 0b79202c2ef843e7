"""The paper's statements about the one-dimensional experiment, held against what came out here.

MACAU (doi 10.5121/csit.2023.131920), section 4.1, figure 1 and table 1. Stds count as the methods
give them, without a conformal step. CRPS grows with the noise, so that with another one than the
paper's what it says of CRPS is left out; `settings_text` names all settings that are not its own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.stats import spearmanr

from gbuq_core.experiments.claims import Claim, other_settings, verdict_of
from gbuq_core.experiments.heteroscedastic.data import Array
from gbuq_core.experiments.heteroscedastic.fit import HeteroscedasticRun
from gbuq_core.experiments.heteroscedastic.plan import (
    METHODS,
    PAPER,
    SUPPORT,
    HeteroscedasticSettings,
)
from gbuq_core.experiments.heteroscedastic.scores import HeteroscedasticScore, score_all
from gbuq_core.presentation import short

# What counts as agreeing; the paper shows a picture and a table, the levels are ours.
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

_KNOBS = {
    "rows": "rows",
    "noise_slope": "noise per unit of x",
    "trees": "trees",
    "subsample": "subsample",
    "max_leaves": "leaves of a tree",
    "min_child_samples": "rows in a leaf",
    "left_from": "foreign rows down to",
    "right_to": "foreign rows up to",
    "ood_rows": "foreign rows",
    "test_rows": "test rows",
}
_OF_METHODS = ("trees", "subsample", "max_leaves", "min_child_samples")


def settings_text(settings: HeteroscedasticSettings) -> str:
    """Whether these are the paper's settings, and which are not; methods and seed are free.

    Knobs that none of the methods uses do not count.

    Examples
    --------
    >>> settings_text(HeteroscedasticSettings(seed=3))
    "In the paper's settings."
    >>> other = HeteroscedasticSettings(methods=("catboost",), noise_slope=0.5, subsample=0.8)
    >>> settings_text(other)
    "Not the paper's settings: noise per unit of x 0.5 (there 0.1)."
    """
    used = {knob for method in settings.methods for knob in METHODS[method].knobs}
    names = {k: name for k, name in _KNOBS.items() if k in used or k not in _OF_METHODS}
    other = other_settings(settings, PAPER, names)
    return f"Not the paper's settings: {', '.join(other)}." if other else "In the paper's settings."


def check_claims(
    run: HeteroscedasticRun, scores: tuple[HeteroscedasticScore, ...] | None = None
) -> tuple[Claim, ...]:
    """Hold the paper's statements about the methods that were run against what came out.

    Examples
    --------
    >>> from gbuq_core.experiments.heteroscedastic.fit import run_heteroscedastic
    >>> from gbuq_core.experiments.heteroscedastic.plan import HeteroscedasticSettings
    >>> run = run_heteroscedastic(HeteroscedasticSettings(methods=("forest",)))
    >>> [claim.verdict for claim in check_claims(run)]
    ['holds']
    """
    if scores is None or run.settings.conformal:
        scores = score_all(run._replace(settings=replace(run.settings, conformal=False)))
    found = {score.method: score for score in scores}
    claims: list[Claim] = []
    if run.settings.noise_slope > 0.0:
        claims += _claims_of_noise(found)
    for key in ("macau_linear", "macau_basic"):
        if key in found:
            claims += _claims_of_novelty(run, found[key])
    if "catboost" in found:
        claims.append(_claim_of_catboost(run, found["catboost"]))
    if "isolation" in found:
        claims.append(_separates("An isolation forest tells all foreign rows (table 1).",
                                 found["isolation"], "isolation"))  # fmt: skip
    if run.settings.noise_slope > 0.0:
        claims += _claim_of_order(found)
    return tuple(claims)


class Ray(NamedTuple):
    """How a curve goes from the last row outwards, on one side.

    side : "left" or "right"; spearman : rank correlation with the distance (0 where the curve is
    flat); linear : R squared of a straight line; slope : of that line, per unit of x; first, last :
    the curve at the end of the rows and of the picture.
    """

    side: str
    spearman: float
    linear: float
    slope: float
    first: float
    last: float


def follow_rays(x: Array, values: Array) -> tuple[Ray, Ray]:
    """A curve from 0 to the left and from 10 to the right.

    Examples
    --------
    >>> x = np.arange(-10.0, 20.5, 0.5)
    >>> left, right = follow_rays(x, np.abs(x))
    >>> round(left.spearman, 6), round(right.slope, 6), right.last
    (1.0, 1.0, 20.0)
    """
    rays = []
    for side, away in (("left", SUPPORT[0] - x), ("right", x - SUPPORT[1])):
        outside = away >= 0.0
        order = np.argsort(away[outside])
        distance, curve = away[outside][order], values[outside][order]
        if float(np.ptp(curve)) <= 1e-12 * max(1.0, float(np.abs(curve).max())):
            rays.append(Ray(side, 0.0, 0.0, 0.0, float(curve[0]), float(curve[-1])))
            continue
        slope, offset = np.polyfit(distance, curve, 1)
        left_over = float(np.square(curve - offset - slope * distance).sum())
        spread = float(np.square(curve - curve.mean()).sum())
        rank = float(spearmanr(distance, curve).statistic)
        rays.append(
            Ray(
                side,
                rank,
                1.0 - left_over / spread,
                float(slope),
                float(curve[0]),
                float(curve[-1]),
            )
        )
    return rays[0], rays[1]


def _claims_of_noise(found: Mapping[str, HeteroscedasticScore]) -> list[Claim]:
    claims = []
    for key in ("macau_linear", "macau_basic"):
        if key in found:
            claims += _claims_of_macau(found[key])
    if "forest" in found:
        claims.append(_claim_of_forest(found["forest"]))
    for key, sign in (("quantile", 1.0), ("ngboost", 1.0), ("catboost", -1.0)):
        if key in found:
            claims.append(_claim_of_scale(found[key], sign))
    if "conformal_forest" in found:
        claims.append(_claim_of_average(found["conformal_forest"]))
    if "gnll" in found:
        error, noise = found["gnll"].std_error, found["gnll"].mean_noise
        claims.append(
            Claim(
                "GNLL captures noise that grows linearly (section 4.1).",
                f"Its std is off by {short(error, 2)}, {100 * error / noise:.0f} % of the mean "
                "noise.",
                verdict_of(-error / noise, -FOLLOWS, -HARDLY_FOLLOWS),
            )
        )
    return claims


def _claims_of_macau(score: HeteroscedasticScore) -> list[Claim]:
    called = Claim(
        f"{score.label} calls the noise data uncertainty (section 4.1).",
        f"It is {100 * score.data_share:.0f} % of total uncertainty where rows are.",
        verdict_of(score.data_share, CALLED_DATA, HARDLY_CALLED_DATA),
    )
    if math.isnan(score.paper_crps):
        return [called]
    captured = Claim(
        f"{score.label} captures the noise that grows with x (section 4.1; CRPS "
        f"{score.paper_crps:.2f}).",
        f"CRPS {score.crps:.3f}, {score.excess:.3f} above the truth's own "
        f"{score.truth_crps:.3f}; its std is off by {score.std_error:.2f}.",
        verdict_of(-score.excess, -CAPTURES, -HARDLY_CAPTURES),
    )
    return [captured, called]


def _claim_of_forest(score: HeteroscedasticScore) -> Claim:
    crps = "" if math.isnan(score.paper_crps) else f"; CRPS {score.paper_crps:.2f}"
    return Claim(
        f"A random forest's between-tree spread fails to capture the noise (section 4.1{crps}).",
        f"Its std is {100 * score.noise_ratio:.0f} % of the noise; CRPS {score.crps:.3f}, "
        f"{score.excess:.3f} above the truth's own.",
        verdict_of(-score.noise_ratio, -HALF, -HARDLY_HALF),
    )


def _claim_of_scale(score: HeteroscedasticScore, sign: float) -> Claim:
    word = "over" if sign > 0.0 else "under"
    return Claim(
        f"{score.label} {word}estimates the noise (section 4.1).",
        f"Its std over test rows is {score.mean_std:.3f} on average and the true one "
        f"{score.mean_noise:.3f}, a ratio of {score.noise_ratio:.2f}.",
        verdict_of(sign * (score.noise_ratio - 1.0), OFF, HARDLY_OFF),
    )


def _claim_of_average(score: HeteroscedasticScore) -> Claim:
    worst = max(score.coverage, key=lambda found: abs(found.observed - found.level))
    return Claim(
        "Inductive conformal prediction captures the noise on average (section 4.1).",
        f"Its worst interval holds {100 * worst.observed:.0f} % of test rows and should hold "
        f"{100 * worst.level:.0f} %; its one std for all rows is off by {score.std_error:.2f}.",
        verdict_of(-abs(worst.observed - worst.level), -NEAR, -HARDLY_NEAR),
    )


def _claims_of_novelty(run: HeteroscedasticRun, score: HeteroscedasticScore) -> list[Claim]:
    linear = score.method == "macau_linear"
    claims = [
        _separates(f"Novelty of {score.label} tells all foreign rows (table 1).", score, "novelty"),
        _claim_of_inference(score, linear),
    ]
    rays = _rays_of(run, score.method)
    known = score.auroc_of("knowledge")
    if linear:
        straight, rising = min(ray.linear for ray in rays), min(ray.slope for ray in rays)
        claims.append(
            Claim(
                "Knowledge uncertainty of MACAU (linear) rises linearly out of the rows "
                "(section 4.1).",
                f"A straight line explains {100 * rays[0].linear:.0f} % (left) and "
                f"{100 * rays[1].linear:.0f} % (right) of its std, which goes from "
                f"{short(rays[0].first, 2)} to {short(rays[0].last, 2)} and from "
                f"{short(rays[1].first, 2)} to {short(rays[1].last, 2)}.",
                verdict_of(straight if rising > 0.0 else 0.0, RISES_LINEARLY, HARDLY_LINEARLY),
            )
        )
        claims.append(
            Claim(
                "Knowledge uncertainty of MACAU (linear) tells most foreign rows (table 1: AUROC "
                "0.95).",
                f"AUROC {known:.2f}.",
                verdict_of(known, KNOWS, HARDLY_KNOWS),
            )
        )
    else:
        claims.append(
            Claim(
                "Knowledge uncertainty of MACAU (basic) cannot tell foreign rows (table 1: AUROC "
                "0.20).",
                f"AUROC {known:.2f}: beyond the rows its std stays at {short(rays[0].last, 2)} "
                f"(left) and {short(rays[1].last, 2)} (right).",
                verdict_of(-known, -BLIND, -HARDLY_BLIND),
            )
        )
    return claims


def _claim_of_inference(score: HeteroscedasticScore, linear: bool) -> Claim:
    if linear:
        return _separates(
            "Inference novelty of MACAU (linear) tells all foreign rows (table 1).",
            score,
            "inference_novelty",
        )
    value = score.auroc_of("inference_novelty")
    return Claim(
        "Inference novelty of MACAU (basic) is chance, as a leaf predicts one value (table 1: "
        "AUROC 0.50).",
        f"AUROC {value:.2f}.",
        verdict_of(-abs(value - 0.5), -CHANCE, -HARDLY_CHANCE),
    )


def _separates(paper: str, score: HeteroscedasticScore, key: str) -> Claim:
    value = score.auroc_of(key)
    return Claim(paper, f"AUROC {value:.3f}.", verdict_of(value, SEPARATES, HARDLY_SEPARATES))


def _rays_of(run: HeteroscedasticRun, method: str) -> tuple[Ray, Ray]:
    """How the std of knowledge uncertainty goes out of the rows."""
    view = next(view for view in run.views if view.method == method)
    return follow_rays(view.x, np.sqrt(view.knowledge))


def _claim_of_catboost(run: HeteroscedasticRun, score: HeteroscedasticScore) -> Claim:
    value, rays = score.auroc_of("knowledge"), _rays_of(run, score.method)
    return Claim(
        "Knowledge uncertainty of CatBoost does not see foreign rows (section 4.1; table 1: AUROC "
        "0.53).",
        f"AUROC {value:.2f}: from the last rows outwards its std goes from "
        f"{short(rays[0].first, 2)} to {short(rays[0].last, 2)} (left) and from "
        f"{short(rays[1].first, 2)} to {short(rays[1].last, 2)} (right).",
        verdict_of(-value, -BLIND, -HARDLY_BLIND),
    )


def _claim_of_order(found: Mapping[str, HeteroscedasticScore]) -> list[Claim]:
    """Pairs of methods whose CRPS the table tells apart; it rounds to two digits."""
    known = [score for score in found.values() if not math.isnan(score.paper_crps + score.crps)]
    pairs = [
        (near, far) if near.paper_crps < far.paper_crps else (far, near)
        for near, far in itertools.combinations(known, 2)
        if near.paper_crps != far.paper_crps
    ]
    if not pairs:
        return []
    kept = sum(near.crps < far.crps for near, far in pairs)
    paper = sorted(known, key=lambda score: score.paper_crps)
    here = sorted(known, key=lambda score: score.crps)
    return [
        Claim(
            "CRPS from the best to the worst: "
            f"{'; '.join(f'{s.label} {s.paper_crps:.2f}' for s in paper)} (table 1).",
            f"{'; '.join(f'{s.label} {s.crps:.3f}' for s in here)}. {kept} of {len(pairs)} pairs "
            "that the table tells apart are in its order.",
            verdict_of(kept / len(pairs), 1.0, 0.6),
        )
    ]
