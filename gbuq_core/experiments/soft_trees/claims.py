"""The paper's statements about sampled functions, compared with the results here.

Cinquin et al., "Variational boosted soft trees" (2022), sections 4.1, 5.1 to 5.3, figures 2, 3 and
5 to 7, table 3, and the supplement's RMSEs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from gbuq_core.experiments.claims import Claim, Threshold, judged, times_text
from gbuq_core.experiments.seeds import SeedStudy
from gbuq_core.experiments.soft_trees.bandit import (
    BanditRun,
    BanditSettings,
    run_policies,
)
from gbuq_core.experiments.soft_trees.data import SoftTreesData
from gbuq_core.experiments.soft_trees.fit import SoftTreesRun, SoftTreesScore, run_soft_trees
from gbuq_core.experiments.soft_trees.plan import (
    METHODS,
    SoftTreesSettings,
)
from gbuq_core.experiments.soft_trees.rank import (
    RankRun,
    RankSettings,
    rank_gain,
    run_rank,
)
from gbuq_core.experiments.soft_trees.scores import score_all
from gbuq_core.settings import bare, quicker

# RMSE. The paper has none for other pairs, and does not say how much noise it drew.
PAPER_RMSE: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "step": MappingProxyType({"vst": 0.212, "xbart": 0.098, "sglb": 0.301}),
        "wavelet": MappingProxyType({"vst": 0.235, "vsgbm": 0.253, "xbart": 0.119, "sglb": 0.150}),
    }
)
# What counts as agreement. The paper shows pictures, so these limits are this project's.
FANS_OUT, HARDLY_FANS_OUT = 4.0, 2.0
AGREES, HARDLY_AGREES = 0.15, 0.3  # std of the functions where there are rows, in target stds
MORE, HARDLY_MORE = 1.5, 1.0  # times the other's fan-out
UNDERFITS, HARDLY_UNDERFITS = 1.2, 1.0  # times the RMSE of the best tree method
RISES, HARDLY_RISES = 2.0, 1.0  # standard errors

_AGREED = Threshold(
    "std where there are rows", AGREES, HARDLY_AGREES, unit=" stds of y", decimals=2
)
_FANNED = Threshold("ratio of the two stds", FANS_OUT, HARDLY_FANS_OUT)
_MORE = Threshold("ratio of the two spreads", MORE, HARDLY_MORE)
_UNDERFIT = Threshold("ratio of the RMSEs", UNDERFITS, HARDLY_UNDERFITS)
_ORDERED = Threshold("share of the pairs in the paper's order", 1.0, 0.6, unit=" %", times=100.0)
_RISEN = Threshold("difference", RISES, HARDLY_RISES, unit=" standard errors")


def check_claims(
    run: SoftTreesRun, scores: tuple[SoftTreesScore, ...] | None = None
) -> tuple[Claim, ...]:
    """Compare the paper's statements about this data set with the results of a run."""
    scores = score_all(run) if scores is None else scores
    by_method = {score.method: score for score in scores}
    claims: list[Claim] = []
    for key in ("vst", "vsgbm"):
        if key in by_method and not math.isnan(by_method[key].outside):
            claims += _claims_of_shape(by_method, key)
    if run.data.key == "wavelet" and "vst" in by_method:
        claims += _claim_of_underfit(by_method)
    beside = rmse_beside_paper(run, scores)
    if len(beside) > 1:
        claims.append(_claim_of_order(run.data, beside))
    return tuple(claims)


class RmseRow(NamedTuple):
    """The paper's RMSE of a method on a set, and ours to the true mean, both in units of y."""

    method: str
    label: str
    paper: float
    here: float


def rmse_beside_paper(
    run: SoftTreesRun, scores: tuple[SoftTreesScore, ...] | None = None
) -> tuple[RmseRow, ...]:
    """The paper's RMSEs of the methods that were run; it has them for the step and the wavelet."""
    by_method = {score.method: score for score in (score_all(run) if scores is None else scores)}
    return tuple(
        RmseRow(key, METHODS[key].label, paper, by_method[key].rmse * run.data.target_std)
        for key, paper in PAPER_RMSE.get(run.data.key, {}).items()
        if key in by_method
    )


def _claims_of_shape(by_method: Mapping[str, SoftTreesScore], key: str) -> list[Claim]:
    score = by_method[key]
    claims = [
        judged(
            "Functions drawn from the posterior agree where there are rows (figures 2 and 5).",
            f"{score.label}: where there are rows, its functions have a std of {score.inside:.2f} "
            f"stds of y on average. All of them share {100 * score.agreement:.0f} % of their "
            "variation.",
            score.inside,
            _AGREED,
            key=f"inside:{key}",
            chip=f"{score.label}'s functions agree at the rows",
            name="std",
        ),
        judged(
            "They spread where there are no rows (figures 2 and 5).",
            f"{score.label}: where there are no rows, its functions have a std of "
            f"{score.outside:.2f} stds of y, {times_text(score.fan_out)} the std where there are "
            "rows.",
            score.fan_out,
            _FANNED,
            key=f"outside:{key}",
            chip=f"{score.label}'s functions spread elsewhere",
            name="ratio",
        ),
    ]
    for other in ("sglb", "xbart"):
        if other in by_method:
            theirs = by_method[other]
            ratio = score.fan_out / theirs.fan_out if theirs.fan_out else math.inf
            claims.append(
                judged(
                    f"The functions of {theirs.label} spread less (figures 2 and 5).",
                    f"Outside the data, {score.label}'s functions spread "
                    f"{times_text(score.fan_out)} as wide as inside. {theirs.label}'s spread "
                    f"{times_text(theirs.fan_out)} as wide.",
                    ratio,
                    _MORE,
                    key=f"more:{key}:{other}",
                    chip=f"{theirs.label}'s spread less" if key == "vst" else "",
                    name="ratio",
                )
            )
    return claims


def _claim_of_underfit(by_method: Mapping[str, SoftTreesScore]) -> list[Claim]:
    others = [by_method[key] for key in ("xbart", "sglb") if key in by_method]
    if not others:
        return []
    best = min(others, key=lambda score: score.rmse)
    ratio = by_method["vst"].rmse / best.rmse
    return [
        judged(
            "VST underfits the wavelet. Trees with hard splits fit it better (figure 7).",
            f"The RMSE to the true mean is {by_method['vst'].rmse:.3f} stds of y for VST and "
            f"{best.rmse:.3f} for {best.label}. VST's is {times_text(ratio)} as large.",
            ratio,
            _UNDERFIT,
            key="underfit",
            chip="VST underfits the wavelet",
            name="ratio",
        )
    ]


def _claim_of_order(data: SoftTreesData, beside: tuple[RmseRow, ...]) -> Claim:
    """Which method is nearest to the curve. The paper does not give its noise and rows."""
    paper = sorted(beside, key=lambda row: row.paper)
    here = sorted(beside, key=lambda row: row.here)
    pairs = list(itertools.combinations(paper, 2))
    ordered = sum(near.here < far.here for near, far in pairs)
    return judged(
        f"RMSE on the {data.title.lower()}, best first: "
        f"{', '.join(f'{row.label} {row.paper:.3f}' for row in paper)} (figures 6 and 7).",
        f"RMSE to the true mean in units of y, best first: "
        f"{', '.join(f'{row.label} {row.here:.3f}' for row in here)}. {ordered} of {len(pairs)} "
        "pairs are in the paper's order. The paper does not say how much noise it drew.",
        ordered / len(pairs),
        _ORDERED,
        key="order",
        name="pairs in order",
    )


# Table 3, "exploration": mean cumulative regret after 20,000 steps. The paper omits its bumps.
PAPER_REGRET: Mapping[str, float] = MappingProxyType(
    {"xbart": 5039.93, "vst": 7054.60, "sglb": 9469.07, "random": 18904.95}
)


def check_policies(runs: Sequence[BanditRun]) -> tuple[Claim, ...]:
    """Compare the order of the paper's policies with the order here; nothing for fewer than two."""
    here = {run.plan.policy: float(run.mean[-1]) for run in runs}
    labels = {run.plan.policy: run.label for run in runs}
    paper = [policy for policy in PAPER_REGRET if policy in here]
    if len(paper) < 2:
        return ()
    pairs = list(itertools.combinations(paper, 2))
    ordered = sum(here[less] < here[more] for less, more in pairs)
    order = sorted(paper, key=lambda policy: here[policy])
    claim = judged(
        "Cumulative regret after 20,000 steps, lowest first: "
        f"{', '.join(f'{labels[policy]} {PAPER_REGRET[policy]:,.0f}' for policy in paper)} "
        "(table 3).",
        f"After {runs[0].plan.n_steps:,} steps, lowest first: "
        f"{', '.join(f'{labels[policy]} {here[policy]:.0f}' for policy in order)}. {ordered} of "
        f"{len(pairs)} pairs are in the paper's order. The paper does not give the shape of its "
        "bumps.",
        ordered / len(pairs),
        _ORDERED,
        key="bandit",
        name="pairs in order",
    )
    return (claim,)


def check_rank_claim(run: RankRun) -> Claim:
    """Compare the paper's statement about the rank with the result here."""
    gain, error = rank_gain(run)
    low, high = int(run.ranks[0]), int(run.ranks[-1])
    spread = "" if math.isnan(error) else f" (standard error {error:.3f})"
    n = run.settings.n_seeds
    if math.isnan(error):  # one seed tells no more than a direction
        size = HARDLY_RISES if gain > 0.0 else 0.0
    else:
        size = gain / error if error > 0.0 else math.copysign(math.inf, gain) if gain else 0.0
    return judged(
        "A higher rank of the posterior's covariance generally helps to detect foreign rows "
        "(section 5.2; figure 3 shows the data sets where it helps most).",
        f"{run.label}: the AUROC is {run.mean[0]:.2f} at rank {low} and {run.mean[-1]:.2f} at rank "
        f"{high}. The difference is {gain:+.3f}{spread} over {n} seed{'s' if n > 1 else ''}.",
        size if low < high else math.nan,
        _RISEN,
        key="rank",
    )


STUDY = SeedStudy(
    name="soft_trees",
    fit=run_soft_trees,
    claims=check_claims,
    bare=lambda settings: replace(bare(settings), draws=settings.n_functions),
    first=SoftTreesSettings(),
)


def _quicker_bandit(settings: BanditSettings, share: float) -> BanditSettings:
    """Fewer steps, fewer fits, shorter fits, in equal parts: the order needs steps to show."""
    every = settings.refit_every
    rarer = min(int(round(every / share ** (1.0 / 3.0), -1)), settings.n_steps // 10)
    return replace(quicker(settings, share), refit_every=max(every, rarer))


def _bare_bandit(settings: BanditSettings) -> BanditSettings:
    """Each seed by itself, and the policies that the statement is about."""
    policies = tuple(policy for policy in settings.policies if policy in PAPER_REGRET)
    return replace(settings, policies=policies, n_seeds=1)


BANDIT_STUDY = SeedStudy(
    name="bandit",
    fit=run_policies,
    claims=check_policies,
    quicker=_quicker_bandit,
    bare=_bare_bandit,
    sizes=BanditSettings(),
    most=0.11,  # every arm is fitted again and again
)


def _bare_ranks(settings: RankSettings) -> RankSettings:
    """The lowest and the highest rank: the statement compares them."""
    return replace(settings, ranks=(min(settings.ranks), max(settings.ranks)))


def _run_ranks(settings: RankSettings) -> RankRun:
    """With repetitions of its own for every seed: run 1 starts where run 0 ends."""
    return run_rank(replace(settings, seed=settings.seed * settings.n_seeds))


RANK_STUDY = SeedStudy(
    name="rank",
    fit=_run_ranks,
    claims=lambda run: (check_rank_claim(run),),
    bare=_bare_ranks,
    sizes=RankSettings(),
)
