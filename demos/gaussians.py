"""Lesson: what makes a chain leave a mode, and what it costs.

Tan, Huertas and Zhao, "Efficient and effective uncertainty quantification in gradient boosting via
cyclical gradient MCMC", section 5.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from demos.asking import Between, Largest, Right
from demos.lesson import ComputedStep, Lesson, Step, main
from gbuq_core.presentation import digits, percent
from gbuq_core.settings import plan_of
from gbuq_core.study.gaussians import GAUSSIANS, SamplerScores, score_sampler
from gbuq_core.study.gaussians_race import GaussiansSettings, run_sampler
from gbuq_core.study.study import Run

SHORT = ("modes", "schedules")  # charts
ONE = GaussiansSettings(samplers=("sgld",))
NOISY = GaussiansSettings(samplers=("sgld", "nsgld"))
CYCLES = GaussiansSettings(samplers=("sgld", "clr"))
BOTH = GaussiansSettings(samplers=("clr", "cg"), charts=SHORT)
STABLE = GaussiansSettings(samplers=("cg",), alpha_max=5.0, charts=SHORT)
KEPT = GaussiansSettings(samplers=("cg",), exploration_cg=0.5, charts=("schedules", "x"))
MANY = GaussiansSettings(samplers=("sgld", "cg"), chains=20, steps=2000)
UNEQUAL = GaussiansSettings(target="two_modes", charts=(*SHORT, "x"))


def _shown(race: Run, text: str, right: Right, answer: str, more: Sequence[str]) -> ComputedStep:
    return ComputedStep(text, right, answer, GAUSSIANS.sheet(race, race.views, ()), more)


def _scores(race: Run) -> list[SamplerScores]:
    return [score_sampler(run) for run in race.views]


def _other(settings: GaussiansSettings, sampler: str, **knobs) -> SamplerScores:
    """The scores of the same settings but for some knobs."""
    return score_sampler(run_sampler(plan_of(replace(settings, **knobs), sampler)))


def trapped() -> ComputedStep:
    """A chain that stays where it falls."""
    race = GAUSSIANS.run(ONE)
    (scores,) = _scores(race)
    seeds = [_other(ONE, "sgld", seed=seed).modes_visited for seed in range(1, 6)]
    others = f"{min(seeds):g} to {max(seeds):g}" if len(set(seeds)) > 1 else f"{seeds[0]:g} each"
    notes = (
        f"{percent(scores.share_in_modes)} of its samples lie within 3 standard deviations of a "
        f"mode, as do {percent(race.data.share_in_modes)} of the target. It reports "
        f"{digits(scores.sample_size)} effective samples. The red dot is the chain; white dots "
        "show where it has just been.",
    )
    text = (
        "The target has 25 equal modes. SGLD follows noisy gradients downhill and should, in the "
        "long run, visit each place as often as the target says. Play the race."
    )
    right = Between(scores.modes_visited, (2.0, 8.0))
    answer = (
        f"It visits {scores.modes_visited:g} in {race.settings.steps:,} steps; five other seeds "
        f"visit {others}. Within its mode it is right, so the chain cannot notice that "
        f"{race.data.n_modes - scores.modes_visited:g} modes are missing. SGLB's trees walk in "
        "the same way."
    )
    return _shown(race, text, right, answer, notes)


def more_noise() -> ComputedStep:
    """Noise finds the modes and loses the density."""
    race = GAUSSIANS.run(NOISY)
    _, noisy = _scores(race)
    mild = _other(NOISY, "nsgld", noise_nsgld=1.5)
    notes = (
        f"This noise samples the density at {race.settings.noise_nsgld**2:g} times the "
        f"temperature. Its KL divergence from the target is {digits(noisy.grid_kl)} nats. The "
        "paper is right: so much noise does not solve the problem. A factor of 1.5 has KL "
        f"{digits(mild.grid_kl)} nats.",
    )
    text = (
        f"N-SGLD multiplies the Langevin noise by {race.settings.noise_nsgld:g}. Its chain jumps "
        "all over the map. Compare its samples with the target."
    )
    right = Largest((1.0, 7.0 / noisy.modes_visited, (1.0 - noisy.share_in_modes) / 0.2))
    answer = (
        f"It passes through {noisy.modes_visited:g} modes, but only "
        f"{percent(noisy.share_in_modes)} of its samples lie in one: it samples a hotter density. "
        f"Less noise does better. A factor of 1.5 finds {mild.modes_visited:g} modes, with "
        f"{percent(mild.share_in_modes)} in a mode."
    )
    return _shown(race, text, right, answer, notes)


def cycles() -> ComputedStep:
    """Large steps to leave, small steps to settle."""
    race = GAUSSIANS.run(CYCLES)
    trapped_scores, cyclic = _scores(race)
    notes = (
        f"The step size falls from {race.settings.rate_clr:g} to zero along a cosine. "
        f"{percent(cyclic.share_in_modes)} of the samples that count lie in a mode.",
    )
    text = (
        f"clr-SGLD starts each of its {race.settings.cycles} cycles with long steps and lets them "
        f"shrink to zero. The first {percent(race.settings.exploration_clr)} of a cycle does not "
        "count."
    )
    right = Between(cyclic.modes_visited, (2.0, 9.0))
    answer = (
        f"It visits {cyclic.modes_visited:g}, and SGLD {trapped_scores.modes_visited:g}; the "
        "paper speaks of 7 to 8. Long steps leave a mode, short ones settle in the next. The "
        f"modes' shares are off by {digits(cyclic.occupancy_error)}, because it settles only once "
        "a cycle."
    )
    return _shown(race, text, right, answer, notes)


def scaled_gradients() -> ComputedStep:
    """The same by scaling the gradient, which boosting can do."""
    race = GAUSSIANS.run(BOTH)
    clr, cg = _scores(race)
    every = _other(BOTH, "clr", exploration_clr=0.0)
    notes = (
        f"{percent(cg.share_in_modes)} of cg-SGLD's samples lie in a mode, and "
        f"{percent(clr.share_in_modes)} of clr-SGLD's; of all of clr-SGLD's it would be "
        f"{percent(every.share_in_modes)}. The noise does not grow with the scale.",
    )
    text = (
        "cg-SGLD keeps its learning rate and multiplies the gradient, by "
        f"{race.settings.alpha_max:g} down to {race.settings.alpha_min:g} in each cycle. Boosting "
        "can do that with any loss."
    )
    right = Between(cg.grid_kl - clr.grid_kl, (-0.05, 0.05))
    answer = (
        f"KL divergence: {digits(clr.grid_kl)} nats for clr-SGLD, {digits(cg.grid_kl)} for "
        f"cg-SGLD. But clr-SGLD drops the first {percent(race.settings.exploration_clr)} of each "
        f"cycle. With all its samples it has {digits(every.grid_kl)}. They visit "
        f"{clr.modes_visited:g} and {cg.modes_visited:g} modes."
    )
    return _shown(race, text, right, answer, notes)


def overshooting() -> ComputedStep:
    """What throws the chain out is an unstable step."""
    race = GAUSSIANS.run(STABLE)
    (stable,) = _scores(race)
    settings, limit = race.settings, race.data.step_limit
    above = _other(settings, "cg", alpha_max=7.0)
    notes = (
        "Where -log p has curvature h, a gradient step s multiplies the distance to the mode by "
        "1 - s h. The dashed line is 2 / h. Here steps reach "
        f"{settings.rate_cg * settings.alpha_max:g}, below the limit of {digits(limit)}.",
    )
    text = (
        f"Now the scale starts at {settings.alpha_max:g} instead of {BOTH.alpha_max:g}. "
        "A step above the dashed line lands farther from the mode than it started."
    )
    right = Between(stable.modes_visited, (2.0, 8.0))
    answer = (
        f"It visits {stable.modes_visited:g}. Steps become too long at a scale of "
        f"{digits(limit / settings.rate_cg)}; with 7 it visits {above.modes_visited:g}. The chain "
        "leaves because its step is too long for the curvature. In boosting nobody knows the "
        "curvature."
    )
    return _shown(race, text, right, answer, notes)


def what_to_keep() -> ComputedStep:
    """Samples of the wild part of a cycle are not from the target."""
    race = GAUSSIANS.run(KEPT)
    (half,) = _scores(race)
    every = _other(KEPT, "cg", exploration_cg=0.0)
    notes = ("cSGLB goes further with this idea: it keeps only the last model of each cycle.",)
    text = "cg-SGLD again, with its scale from 10. The first half of each cycle does not count now."
    right = Largest(
        (0.5, every.modes_visited - half.modes_visited, 10.0 * (half.grid_kl - every.grid_kl))
    )
    answer = (
        f"{percent(half.share_in_modes)} of the samples that count lie in a mode, instead of "
        f"{percent(every.share_in_modes)}. The KL divergence goes from {digits(every.grid_kl)} to "
        f"{digits(half.grid_kl)} nats. But {half.modes_visited:g} modes have 50 samples, instead "
        f"of {every.modes_visited:g}."
    )
    return _shown(race, text, right, answer, notes)


def many_chains() -> ComputedStep:
    """Many short chains against one long one."""
    race = GAUSSIANS.run(MANY)
    sgld = _scores(race)[0]
    total = race.settings.steps * race.settings.chains
    long = _other(MANY, "cg", chains=1, steps=total)
    half = _other(MANY, "cg", chains=1, steps=total, exploration_cg=0.5)
    alone = float(np.mean(race.views[0].report.modes_visited))
    notes = (
        f"If all samples of the long chain count, its KL is {digits(long.grid_kl)} nats. Without "
        f"the first half of each cycle it has {half.modes_visited:g} modes.",
    )
    text = (
        f"Each sampler runs {race.settings.chains} chains of {race.settings.steps:,} steps, each "
        "from its own start. An ensemble of independent models does the same."
    )
    right = Between(float(sgld.all_modes_visited), (7.0, 20.0))
    answer = (
        f"{sgld.all_modes_visited} together; each alone visits {alone:.2g}. One cg-SGLD chain of "
        f"as many steps visits {long.modes_visited:g}. Its later samples have a KL of "
        f"{digits(half.grid_kl)} nats, the SGLD chains {digits(sgld.grid_kl)}. But short chains "
        "can run in parallel."
    )
    return _shown(race, text, right, answer, notes)


def unequal_modes() -> ComputedStep:
    """Finding modes is not weighing them."""
    race = GAUSSIANS.run(UNEQUAL)
    scores = dict(zip(UNEQUAL.samplers, _scores(race), strict=True))
    noisy, clr, cg = scores["nsgld"], scores["clr"], scores["cg"]
    reach = UNEQUAL.rate_cg * UNEQUAL.alpha_max
    share = float(race.views[2].occupancy[0, 0])
    notes = (
        f"The dashed limit of a stable step is {digits(race.data.step_limit)} here; cg-SGLD's "
        f"steps reach {reach:g}. N-SGLD passes through {noisy.modes_visited:g} modes.",
    )
    text = (
        "This target has two wide modes. The left one has 80 % of the weight. All learning rates "
        "are as before."
    )
    right = Largest(tuple(score.modes_visited * score.share_in_modes for score in (noisy, clr, cg)))
    answer = (
        f"clr-SGLD visits {clr.modes_visited:g}, with {percent(share)} of its samples in modes on "
        f"the left. N-SGLD blurs both: {percent(noisy.share_in_modes)} of its samples lie in a "
        f"mode. cg-SGLD's steps are too short here: it visits {cg.modes_visited:g}. Every target "
        "needs its own scales."
    )
    return _shown(race, text, right, answer, notes)


LESSON = Lesson(
    name="gaussians",
    title="What makes a chain leave a mode",
    lead="Eight races of samplers, about ten minutes. All numbers are computed while you read.",
    page="gaussians",
    source="After Tan, Huertas and Zhao, Efficient and Effective Uncertainty Quantification in "
    "Gradient Boosting via Cyclical Gradient MCMC, section 5.1 (CEUR Vol-3381, paper 47).",
    steps=(
        Step(
            "Trapped",
            "How many modes does the chain visit?",
            ("One", "Two to seven", "Eight or more"),
            ONE,
            trapped,
        ),
        Step(
            "More noise",
            "What does so much noise cost?",
            ("Nothing", "It misses modes", "It leaves the modes"),
            NOISY,
            more_noise,
        ),
        Step(
            "Cycles",
            "How many modes does it visit?",
            ("One", "Two to eight", "Nine or more"),
            CYCLES,
            cycles,
        ),
        Step(
            "Cycles of the gradient",
            "Whose samples are nearer to the target?",
            ("cg-SGLD's", "Both alike", "clr-SGLD's"),
            BOTH,
            scaled_gradients,
        ),
        Step(
            "What throws it out",
            "How many modes does it visit now?",
            ("One", "Two to seven", "Eight or more"),
            STABLE,
            overshooting,
        ),
        Step(
            "What to keep",
            "What do we lose?",
            ("Nothing", "Some modes", "Accuracy"),
            KEPT,
            what_to_keep,
        ),
        Step(
            "Many chains instead",
            "How many of 25 modes do the SGLD chains visit together?",
            ("Up to 6", "7 to 19", "20 or more"),
            MANY,
            many_chains,
        ),
        Step(
            "Two unequal modes",
            "Which sampler settles in both modes?",
            ("N-SGLD", "clr-SGLD", "cg-SGLD"),
            UNEQUAL,
            unequal_modes,
        ),
    ),
)

if __name__ == "__main__":
    raise SystemExit(main(LESSON))
