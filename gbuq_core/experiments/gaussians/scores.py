"""Scores of a race, and the race in words.

Tan, Huertas and Zhao (2023), section 5.1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gbuq_core.experiments.gaussians.fit import GaussiansRun, SamplerRun
from gbuq_core.experiments.gaussians.plan import GaussiansSettings
from gbuq_core.figures.standalone import Section
from gbuq_core.presentation import digits, percent, short
from gbuq_core.sampling import SAMPLERS

_QUESTIONS = {
    "gaussians25": "does a chain find all 25 modes",
    "ring": "does a chain get all the way round this long ring without walls",
    "banana": "does a chain reach both ends of the ridge, steep across and long along",
    "two_modes": "does a chain find both modes, though the left one has 80 % of the weight",
    "gaussian": "does a chain get the spread of this one mode right",
}
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
    kept = int(run.n_kept[-1]) / len(report.modes_visited)
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
        autocorrelation_time=kept / size,
        seconds=run.seconds,
    )


def score_section(race: GaussiansRun) -> Section:
    """The scorecard: a line a score and a column a sampler."""
    scores = [score_sampler(run) for run in race.runs]
    truth = race.truth
    chains = race.settings.chains
    a_chain = ", a chain" if chains > 1 else ""
    rows = [
        (race.truth.label, *(SAMPLERS[run.sampler].label for run in race.runs)),
        (
            "Kept samples",
            *(f"{int(run.n_kept[-1]):,}" for run in race.runs),
        ),
        (
            f"Modes visited{a_chain}, of {truth.n_modes}",
            *(f"{s.modes_visited:g}" for s in scores),
        ),
        (
            f"Modes visited, all {chains} chains",
            *(str(s.all_modes_visited) for s in scores),
        ),
        (
            f"Share in a mode (target {short(truth.share_in_modes)})",
            *(digits(s.share_in_modes) for s in scores),
        ),
        ("Occupancy error", *(digits(s.occupancy_error) for s in scores)),
        ("KL to the target, nats", *(digits(s.grid_kl) for s in scores)),
        (f"Changes of mode{a_chain}", *(digits(s.mode_changes) for s in scores)),
        (f"Effective samples{a_chain}", *(digits(s.sample_size) for s in scores)),
        ("Autocorrelation time, samples", *(digits(s.autocorrelation_time) for s in scores)),
        ("Seconds", *(digits(s.seconds) for s in scores)),
    ]
    rows = [row for row in rows if chains > 1 or "all 1 chains" not in row[0]]
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
    return f"{describe_race(settings)} Press play: {_QUESTIONS[settings.target]}?"


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
