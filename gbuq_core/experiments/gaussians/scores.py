"""Scores of a race, and the race in words.

Tan, Huertas and Zhao (2023), section 5.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gbuq_core.experiments.claims import VERDICTS, Claim, Threshold, judged, verdict_of
from gbuq_core.experiments.gaussians.fit import FIRST, GaussiansRun, SamplerRun, run_gaussians
from gbuq_core.experiments.gaussians.plan import (
    GaussiansSettings,
)
from gbuq_core.experiments.seeds import SeedStudy
from gbuq_core.figures.standalone import Section
from gbuq_core.presentation import digits, percent, short
from gbuq_core.sampling import SAMPLERS
from gbuq_core.sampling.counting import VISIT_SAMPLES
from gbuq_core.settings import plan_of

_QUESTIONS = {
    "gaussians25": "Does a chain find all 25 modes",
    "ring": "Does a chain get all the way round this long ring without walls",
    "banana": "Does a chain reach both ends of the ridge, steep across and long along",
    "two_modes": "Does a chain find both modes, though the left one has 80 % of the weight",
    "gaussian": "Does a chain get the spread of this one mode right",
}
_SPELT = (
    "SGLD takes noisy steps downhill; N-SGLD adds noise, clr-SGLD cycles the step and cg-SGLD the "
    "gradient."
)
_NUMBERS = ("No", "One", "Two", "Three", "Four")


@dataclass(frozen=True, kw_only=True)
class SamplerScores:
    """One sampler's scores with all steps."""

    modes_visited: float  # modes with at least 50 kept samples; median over chains
    all_modes_visited: int  # the same for all chains together
    modes_explored: float  # modes with at least 50 steps, kept or not; median over chains
    # `share_in_modes`, `occupancy_error`, `grid_kl`: of the kept samples of all chains together;
    # the divergence in nats
    share_in_modes: float
    occupancy_error: float
    grid_kl: float
    # `mode_changes`, `sample_size`, `autocorrelation_time`: means over chains: times that a chain
    # went from one mode to another, independent samples that its kept ones are worth, and kept
    # samples for each of those
    mode_changes: float
    sample_size: float
    autocorrelation_time: float
    seconds: float  # of the sampling of all chains


def score_sampler(run: SamplerRun) -> SamplerScores:
    """Score a sampler with all its steps."""
    report = run.report
    sizes = report.sample_size[np.isfinite(report.sample_size)]
    n_kept = int(run.n_kept[-1]) / len(report.modes_visited)
    size = float(sizes.mean()) if sizes.size else math.nan
    return SamplerScores(
        modes_visited=float(np.median(report.modes_visited)),
        all_modes_visited=report.all_modes_visited,
        modes_explored=float(np.median(run.modes_explored)),
        share_in_modes=float(run.share_in_modes[-1]),
        occupancy_error=report.all_occupancy_error,
        grid_kl=report.all_grid_kl,
        mode_changes=float(report.mode_changes.mean()),
        sample_size=size,
        autocorrelation_time=n_kept / size,
        seconds=run.seconds,
    )


def score_section(race: GaussiansRun) -> Section:
    """The scorecard: a line a score and a column a sampler."""
    scores = [score_sampler(run) for run in race.runs]
    truth = race.truth
    chains = race.settings.chains
    a_chain = ", a chain" if chains > 1 else ""
    share = f"Share in a mode (target {short(truth.share_in_modes)})"
    rows = [
        (truth.label, *(SAMPLERS[run.sampler].label for run in race.runs)),
        ("Kept samples", *(f"{int(run.n_kept[-1]):,}" for run in race.runs)),
        (f"Modes visited{a_chain}, of {truth.n_modes}", *(f"{s.modes_visited:g}" for s in scores)),
        (f"Modes visited, all {chains} chains", *(str(s.all_modes_visited) for s in scores)),
        (share, *(digits(s.share_in_modes) for s in scores)),
        ("Occupancy error", *(digits(s.occupancy_error) for s in scores)),
        ("KL to the target, nats", *(digits(s.grid_kl) for s in scores)),
        (f"Changes of mode{a_chain}", *(digits(s.mode_changes) for s in scores)),
        (f"Effective samples{a_chain}", *(digits(s.sample_size) for s in scores)),
        ("Autocorrelation time, samples", *(digits(s.autocorrelation_time) for s in scores)),
        ("Seconds", *(digits(s.seconds) for s in scores)),
    ]
    if chains == 1:
        del rows[3]
    return Section(heading="Scorecard", caption=_DEFINITIONS, table=rows)


_DEFINITIONS = (
    "Kept samples are counted over all chains. clr-SGLD and cg-SGLD drop the samples of their "
    "exploration (the paper gives 25 % of each cycle, for clr-SGLD only); the others keep all. "
    "Changes of mode and seconds count all steps. All other scores use kept samples only. A mode "
    "is visited if at least 50 kept samples lie within 3 standard deviations (std) of it; with "
    "several chains the table shows the median. The share in a mode counts kept samples within 3 "
    "std of any mode. The occupancy error is half the sum of the differences between the modes' "
    "shares and their weights. KL is the Kullback-Leibler divergence of the samples' histogram "
    "from the target's. Effective samples and autocorrelation time are those of the coordinate "
    "that mixes more slowly, averaged over chains; they do not notice modes that a chain never "
    "found. Seconds are those of all chains. The ring's modes are twelve equal sectors. The "
    "banana's are five stretches of equal probability."
)


def chains_text(race: GaussiansRun) -> str:
    """Text after a median over several chains; empty for a single chain."""
    return f" (the median of {race.settings.chains} chains)" if race.settings.chains > 1 else ""


def describe_race(settings: GaussiansSettings) -> str:
    """How many samplers race, from how many starts, in one sentence."""
    several = len(settings.samplers) > 1
    words = [f"{_NUMBERS[len(settings.samplers)]} sampler{'s' * (len(settings.samplers) != 1)}"]
    if settings.chains > 1:
        words.append(f"{'the same ' * several}{settings.chains} starts")
    elif settings.samplers:
        words.append("one start")
    words += ["the same number of steps"] * several
    return ", ".join(words) + "."


def lede_of(settings: GaussiansSettings) -> str:
    """The page's first sentences, as Markdown."""
    if not settings.samplers:
        return "Samplers that are chosen in **All settings** race over this target."
    return f"{describe_race(settings)} {_SPELT} {_QUESTIONS[settings.target]}?"


def describe_gaussians(race: GaussiansRun) -> str:
    """The picture in words, from its numbers."""
    truth, settings = race.truth, race.settings
    noun = "modes" if truth.n_modes > 1 else "mode"
    starts = "start" if settings.chains == 1 else "starts"
    each = f" for each sampler, from the same {starts}" if len(settings.samplers) > 1 else ""
    words = [
        f"Target: {truth.label}, {truth.n_modes} {noun}; {percent(truth.share_in_modes)} of it "
        "lies within 3 standard deviations of a mode. "
        f"{settings.chains:,} chain{'s' * (settings.chains > 1)} of {settings.steps:,} steps{each}."
    ]
    words += [_describe_run(run, race) for run in race.runs]
    return " ".join(words)


def _describe_run(run: SamplerRun, race: GaussiansRun) -> str:
    scores = score_sampler(run)
    text = (
        f"{SAMPLERS[run.sampler].label}: {scores.modes_visited:g} of {race.truth.n_modes} modes "
        f"visited{chains_text(race)}"
    )
    if int(run.n_kept[-1]) == 0:
        return text + "; no sample was kept."
    text += (
        f", {percent(scores.share_in_modes)} of {int(run.n_kept[-1]):,} kept samples in a mode, "
        f"occupancy error {digits(scores.occupancy_error)}, KL to the target "
        f"{digits(scores.grid_kl)} nats"
    )
    if not math.isnan(scores.sample_size):
        text += f". A chain is worth {digits(scores.sample_size)} independent samples"
    return f"{text}. {run.stopped}".rstrip()


# "Roughly 7 - 8 different modes" of 25.
PAPER_MODES, MOST_PAPER_MODES = 7, 8
# The levels below are ours. Trapped: a mode and a neighbour, or a few of them.
TRAPPED, NEARLY_TRAPPED = 2, 4
# Share of the samples in modes, relative to the target's own. Below a half most samples lie where
# the target has next to none. cg-SGLD, which the paper counts as a solution, has 0.61.
BLURRED, CLEAR = 0.5, 0.6
# Relative difference of the modes explored. Over 60 starts single chains of clr-SGLD differ from
# each other by up to 0.08 and of cg-SGLD by up to 0.16.
SIMILAR, NEARLY_SIMILAR = 0.2, 0.4

_TRAPPED = Threshold("number of modes visited", TRAPPED, NEARLY_TRAPPED)
_EXPLORES = Threshold(
    "number of modes visited", PAPER_MODES, PAPER_MODES / 2, more=MOST_PAPER_MODES
)
_ALIKE = Threshold(
    "difference of the modes explored", SIMILAR, NEARLY_SIMILAR, unit=" %", times=100.0
)


def check_claims(race: GaussiansRun) -> tuple[Claim, ...]:
    """Check the paper's statements about the 25 Gaussians (section 5.1) against a race."""
    if race.settings.target != "gaussians25":
        return ()
    runs = {
        run.sampler: run for run in race.runs if int(run.n_kept[-1]) >= VISIT_SAMPLES * run.n_chains
    }
    scores = {sampler: score_sampler(run) for sampler, run in runs.items()}
    claims: list[Claim | None] = []
    if "sgld" in runs:
        claims.append(_claim_of_trapping(scores["sgld"], race))
    if "nsgld" in runs:
        claims.append(_claim_of_noise(scores["nsgld"], race))
    claims += [
        _claim_of_cycles(runs[key], scores[key], race) for key in ("clr", "cg") if key in runs
    ]
    if "clr" in runs and "cg" in runs:
        claims.append(_claim_of_likeness(runs["clr"].plan, runs["cg"].plan, scores, race))
    return tuple(claim for claim in claims if claim is not None)


def answer_gaussians(race: GaussiansRun) -> str:
    """Can one chain find all the modes? One sentence on the samplers of a race."""
    n, least = race.truth.n_modes, BLURRED * race.truth.share_in_modes
    runs = [run for run in race.runs if int(run.n_kept[-1])]
    scores = {SAMPLERS[run.sampler].label: score_sampler(run) for run in runs}
    clear = [(s.modes_visited, label) for label, s in scores.items() if s.share_in_modes >= least]
    parts = []
    if clear:
        (most, best), (fewest, last) = max(clear), min(clear)
        which = f"{most:g} of the {n} modes"
        if most == n:
            which = "the only mode" if n == 1 else f"all {n} modes"
        others = f", {last} only {fewest:g}" * (fewest < most)
        parts.append(f"{best} finds {which}{chains_text(race)}{others}")
    parts += [
        f"{label} finds {s.modes_visited:g}, but {100 * (1 - s.share_in_modes):.0f} % of its "
        "samples lie between modes"
        for label, s in scores.items()
        if s.share_in_modes < least
    ]
    return "; ".join(parts) + "." * bool(parts)


def describe_settings(settings: GaussiansSettings) -> str:
    """Whether the verdicts are about the paper's settings; seeds and samplers are free."""
    paper = GaussiansSettings(samplers=settings.samplers, seed=settings.seed)
    if all(plan_of(settings, each) == plan_of(paper, each) for each in settings.samplers):
        return "In the paper's settings, as far as it states them."
    return "At these settings, which are not all the paper's."


def why_no_claims(race: GaussiansRun) -> str:
    """Why none of the paper's statements applies; empty without samplers."""
    if race.settings.target != "gaussians25":
        return "The paper's statements are about the 25 Gaussians. Choose them as the target."
    if not race.runs:
        return ""
    return (
        "None of the paper's statements applies. They need chains that keep at least 50 samples. "
        "The one on N-SGLD also needs more noise for N-SGLD than for the others, and the others "
        "must have some noise."
    )


def _claim_of_trapping(scores: SamplerScores, race: GaussiansRun) -> Claim:
    visited, n_modes = scores.modes_visited, race.truth.n_modes
    verdict = _TRAPPED.judge(visited)
    text = {
        "holds": "it stays where it fell",
        "partly": "it gets out, but not far",
        "does not hold": "it is not trapped",
    }[verdict]
    if visited < 1:
        verdict, text = "does not hold", "it settles in no mode, so it is not trapped in one"
    return Claim(
        "SGLD gets trapped in local modes, depending on where it starts.",
        f"SGLD visits {visited:g} of {n_modes} modes{chains_text(race)} and changes its mode "
        f"{digits(scores.mode_changes)} times: {text}.",
        verdict,
        f"{_TRAPPED.text} It must visit one.",
        f"{visited:g} mode{'s' * (visited != 1)}",
        "trapped",
        "SGLD is trapped",
    )


def _claim_of_noise(scores: SamplerScores, race: GaussiansRun) -> Claim | None:
    """None where N-SGLD's noise is no larger than the others', or they have none to increase."""
    settings, own = race.settings, percent(race.truth.share_in_modes)
    if settings.noise == 0 or settings.noise_nsgld <= settings.noise:
        return None
    visited, share = scores.modes_visited, scores.share_in_modes
    by_modes = verdict_of(-visited, -NEARLY_TRAPPED, 1 - PAPER_MODES)
    by_share = verdict_of(-share / race.truth.share_in_modes, -BLURRED, -CLEAR)
    verdict = min(by_modes, by_share, key=VERDICTS.index)
    here = (
        f"With a noise scale of {settings.noise_nsgld:g} instead of {settings.noise:g} N-SGLD "
        f"visits {visited:g} of {race.truth.n_modes} modes{chains_text(race)}"
    )
    if verdict == "does not hold":
        here += (
            f", and {percent(share)} of its samples lie in a mode (the target itself: {own}). This "
            "much noise does solve it here."
        )
    elif by_share == verdict:
        here += (
            f", {'but' if visited >= PAPER_MODES else 'and'} "
            f"{'only' if verdict == 'holds' else 'no more than'} {percent(share)} of its samples "
            f"lie in a mode (the target itself: {own})."
        )
        if settings.noise_nsgld > 1:
            here += f" It samples the density at {settings.noise_nsgld**2:g} times the temperature."
    else:
        here += f": it explores {'hardly' if verdict == 'holds' else 'little'} more."
    return Claim(
        "Increasing the noise scale does not solve the problem.",
        here,
        verdict,
        f"Holds if N-SGLD visits at most {NEARLY_TRAPPED} modes, partly below {PAPER_MODES}. It "
        f"also holds if the share of its samples in modes is at most {100 * BLURRED:g} % of the "
        f"target's own, partly up to {100 * CLEAR:g} %.",
        f"{visited:g} modes, {percent(share)} in modes",
        "noise",
        "More noise does not help",
    )


def _claim_of_cycles(run: SamplerRun, scores: SamplerScores, race: GaussiansRun) -> Claim:
    label, visited = SAMPLERS[run.sampler].label, scores.modes_visited
    verdict = _EXPLORES.judge(visited)
    text = {
        "more than claimed": "more than in the paper",
        "holds": "as in the paper",
        "partly": "fewer than in the paper",
        "does not hold": "less than half of the paper's",
    }[verdict]
    explores = verdict in ("holds", "more than claimed")
    if explores and scores.share_in_modes < BLURRED * race.truth.share_in_modes:
        verdict, text = "partly", "but passes through them rather than locates them"
    return Claim(
        f"{label} explores and locates roughly 7 to 8 different modes.",
        f"{label} visits {visited:g} of {race.truth.n_modes} modes{chains_text(race)}, {text}. It "
        f"keeps {_kept_text(run.plan)}; {percent(scores.share_in_modes)} of them lie in a mode, "
        f"with an occupancy error of {digits(scores.occupancy_error)}.",
        verdict,
        f"{_EXPLORES.text} At least half as many samples as the target's own must lie in modes.",
        f"{visited:g} mode{'s' * (visited != 1)}",
        f"cycles:{run.sampler}",
        f"{label} finds 7 to 8 modes",
    )


def _claim_of_likeness(
    clr_plan: GaussiansSettings,
    cg_plan: GaussiansSettings,
    scores: dict[str, SamplerScores],
    race: GaussiansRun,
) -> Claim | None:
    """None where neither explores: nothing is alike in finding nothing."""
    clr, cg = scores["clr"], scores["cg"]
    most = max(clr.modes_explored, cg.modes_explored)
    if most < PAPER_MODES / 2:
        return None
    apart = abs(clr.modes_explored - cg.modes_explored) / most
    verdict = _ALIKE.judge(apart)
    more = "cg-SGLD" if cg.modes_explored > clr.modes_explored else "clr-SGLD"
    text = {
        "holds": "much the same",
        "partly": f"{more} explores somewhat more",
        "does not hold": f"{more} explores far more",
    }[verdict]
    if clr_plan.exploration == cg_plan.exploration:
        rules = f"Both keep {_kept_text(cg_plan)}."
    else:
        rules = (
            f"cg-SGLD keeps {_kept_text(cg_plan)}, and clr-SGLD keeps {_kept_text(clr_plan)}. This "
            "affects the numbers that follow."
        )
    return judged(
        "Cycles of the gradient's scale explore with effects similar to cycles of the step size.",
        f"Counting all steps, cg-SGLD visits {cg.modes_explored:g} of {race.truth.n_modes} modes "
        f"and clr-SGLD {clr.modes_explored:g}: {text}. {rules} Modes visited by kept samples: "
        f"{cg.modes_visited:g} and {clr.modes_visited:g}; in a mode: {percent(cg.share_in_modes)} "
        f"and {percent(clr.share_in_modes)}; KL to the target: {digits(cg.grid_kl)} and "
        f"{digits(clr.grid_kl)} nats.",
        apart,
        _ALIKE,
        key="alike",
        name="difference",
    )


def _kept_text(plan: GaussiansSettings) -> str:
    """Which of its samples a cyclical sampler keeps."""
    if not plan.exploration:
        return "all samples"
    return f"the samples after the first {short(100 * plan.exploration)} % of each cycle"


STUDY = SeedStudy(
    name="gaussians",
    fit=run_gaussians,
    claims=check_claims,
    first=FIRST,
)
