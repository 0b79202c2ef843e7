"""Lesson: what one long model knows of what an ensemble knows.

Malinin, Prokhorenkova and Ustimenko, "Uncertainty in gradient boosting via ensembles", section 4;
Tan, Huertas and Zhao, "Efficient and effective uncertainty quantification in gradient boosting via
cyclical gradient MCMC", section 5.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from demos.lesson import Lesson, Shown, Step, main
from gbuq_core.experiments.ranking import rank_correlation
from gbuq_core.experiments.spiral.fit import SpiralRun, map_spiral, run_spiral, spiral_truth
from gbuq_core.experiments.spiral.growth import growth_of
from gbuq_core.experiments.spiral.plan import SpiralSettings
from gbuq_core.experiments.spiral.probe import ray, ray_truth
from gbuq_core.experiments.spiral.quality import (
    burn_in_effect,
    quality_against_compute,
    walk_off,
)
from gbuq_core.experiments.spiral.regions import spiral_regions
from gbuq_core.experiments.spiral.scores import SpiralScore, describe_spiral, score_spiral
from gbuq_core.figures.canvas.panels import Line, PanelSheet
from gbuq_core.figures.spiral.charts import RayOfMethod, ray_sheet
from gbuq_core.figures.spiral.picture import SpiralView, spiral_sheet


class SpiralPreset(NamedTuple):
    """What the Spiral page is opened with."""

    settings: SpiralSettings
    view: SpiralView = SpiralView()


ONE = SpiralPreset(SpiralSettings(methods=("sglb",)))
NARROW = SpiralPreset(SpiralSettings(methods=("sglb",), noise=0.2))
BOTH = SpiralPreset(SpiralSettings(methods=("sglb", "virtual_sglb")))
CYCLES = SpiralPreset(SpiralSettings(methods=("virtual_sglb", "csglb")))
BURNT = SpiralPreset(SpiralSettings(methods=("sglb", "csglb"), burn_in=1))
MASKED = SpiralPreset(SpiralSettings(methods=("csglb", "cbsglb")))
MANY = SpiralPreset(SpiralSettings(methods=("sglb", "virtual_sglb", "csglb", "cbsglb"), members=30))
WALK = ((0.0, 0.0), (600.0, 450.0))  # the page's own line


def _shown(
    preset: SpiralPreset,
    run: SpiralRun,
    text: tuple[str, ...],
    answer: str,
    lines: Sequence[Line] = (),
) -> Shown:
    grown = [growth for maps in run.methods if (growth := growth_of(maps)) is not None]
    words = describe_spiral(run)
    sheet = spiral_sheet(run.truth, run.data, run.methods, grown, preset.view, (), lines, words)
    return Shown(text, answer, sheet)


def _scores(run: SpiralRun) -> list[SpiralScore]:
    return [score_spiral(maps, run.truth) for maps in run.methods]


def _other(preset: SpiralPreset, method: str, **knobs: object) -> SpiralRun:
    """The preset with one method and some knobs of its own."""
    return run_spiral(replace(preset.settings, methods=(method,), **knobs))


def _walked(sheet: PanelSheet, run: SpiralRun) -> PanelSheet:
    """The sheet with the charts of a walk in place of those of the training."""
    truth = ray_truth(run.settings.noise, *WALK)
    lines = [
        RayOfMethod(maps.method, ray(maps.fit, run.settings, *WALK).knowledge)
        for maps in run.methods
    ]
    charts = ray_sheet(lines, truth.distance, truth.density, truth.in_support, "knowledge")
    # The line's places are no trees: nothing in these charts moves with the frames.
    still = [replace(strip, mode="frame") for strip in charts.strips]
    return replace(sheet, strips=still, strip_height=110)


def three_arms() -> Shown:
    """Data uncertainty where arms run into each other."""
    run = run_spiral(ONE.settings)
    (scores,) = _scores(run)
    inside, truth = spiral_regions(run.truth).inside, run.truth.data_uncertainty
    estimate = run.methods[0].data[-1]
    text = (
        f"Each class is an arm of a spiral, with {run.settings.rows} training rows. Their law is "
        "known, so that the first map is the truth: the entropy of the class probabilities, up to "
        f"ln 3 = {math.log(3):.2f} nats. The dotted line is where rows end.",
        f"An ensemble of {scores.n_members} SGLB models, {run.settings.trees} trees each, learned "
        "from the same rows with other Langevin noise. The mean of the models' entropies is the "
        "data uncertainty.",
    )
    answer = (
        "Where the rows of two arms mix, as in the truth. Within the dotted line it averages "
        f"{estimate[inside].mean():.2f} nats, the truth {truth[inside].mean():.2f}; cell by cell "
        f"it is off by {scores.data_error:.2f}. Of new rows the ensemble gets "
        f"{100 * scores.error:.1f} % wrong, the best possible {100 * scores.error_optimal:.1f} %: "
        "most of its mistakes are noise that no model can remove. Outside, the truth averages "
        f"{truth[~inside].mean():.2f} nats, in three thin rays; the trees widen them to fans, "
        f"{estimate[~inside].mean():.2f} nats."
    )
    return _shown(ONE, run, text, answer)


def where_models_differ() -> Shown:
    """Knowledge uncertainty lies along class borders."""
    run = run_spiral(ONE.settings)
    (scores,) = _scores(run)
    (hot,) = _scores(_other(ONE, "sglb", temperature="posterior"))
    text = (
        "Knowledge uncertainty is what the models disagree about: the total minus the mean of "
        "their entropies. Its colours are logarithmic.",
        "It should be high where nobody saw rows, and low along the borders of classes, where "
        "rows are many and only noisy. Play the trees to see it settle.",
    )
    answer = (
        f"Hardly. Ordered by it, a cell of the farthest 40 % comes before another one with AUROC "
        f"{scores.auroc_far:.2f}, where 0.5 is chance. Class borders light up instead: "
        f"{scores.border_ratio:.1f} times the middles of the arms, and cells outside come before "
        f"them with AUROC {scores.auroc_border:.2f} only. The first paper's claim that knowledge "
        "uncertainty tells the two apart does not reproduce here, where features are continuous "
        "and its authors grant that it is harder; that it does so better than the total "
        f"({scores.auroc_border_total:.2f}) does. More noise helps a little: at the "
        f"posterior's temperature the far cells reach {hot.auroc_far:.2f}, at the price of "
        f"{100 * hot.error:.1f} % mistakes instead of {100 * scores.error:.1f} %."
    )
    return _shown(ONE, run, text, answer)


def gaps_and_outside() -> Shown:
    """Trees notice a gap between rows, and no edge."""
    run = run_spiral(NARROW.settings)
    (scores,) = _scores(run)
    between, wide_between = (
        int(spiral_regions(spiral_truth(preset.settings.noise)).between.sum())
        for preset in (NARROW, ONE)
    )
    text = (
        f"Half the noise: the arms are narrower, and {between} cells between them have next to no "
        f"rows, but arms on both sides ({wide_between or 'none'} before). The arrow walks from the "
        "middle through the arms and out.",
        "The charts below follow it. Tinted: where the data are.",
    )
    answer = (
        f"The gaps, yes: {scores.ku_mean_between:.2g} nats on average against "
        f"{scores.ku_mean_inside:.2g} among the rows, AUROC {scores.auroc_between:.2f}. "
        "Each model puts its border somewhere else in a gap. The outside, no, since there is "
        f"nothing to put a border between. {walk_off(run.methods[0].fit, run.settings).sentence}"
    )
    (x0, y0), (x1, y1) = WALK
    shown = _shown(NARROW, run, text, answer, [Line([x0, x1], [y0, y1], arrow=True)])
    return shown._replace(sheet=_walked(shown.sheet, run))


def one_model() -> Shown:
    """A virtual ensemble predicts as well and knows far less."""
    run = run_spiral(BOTH.settings)
    true, virtual = _scores(run)
    alike = rank_correlation(run.methods[1].knowledge[-1], run.methods[0].knowledge[-1])
    text = (
        f"Wide arms again. The {true.n_members} models have {true.n_trees:,} trees together. A "
        f"virtual ensemble takes one of {virtual.n_trees} and cuts it every {run.settings.step} "
        f"trees of its second half: {virtual.n_members} members (equation 15 of the first paper).",
        "The ticks below the maps are those cuts. All maps share their scales.",
    )
    answer = (
        f"A pale copy. Outside the data it is {virtual.ku_mean_outside:.2g} nats, "
        f"{true.ku_mean_outside / virtual.ku_mean_outside:.0f} times less than the "
        f"{true.ku_mean_outside:.2g} of independent models, as the paper says: the cuts share "
        "most of their trees. It orders cells in a similar way, with a rank correlation of "
        f"{alike:.2f}, but far cells come later still (AUROC {virtual.auroc_far:.2f}). As a "
        f"prediction it loses nothing: NLL {virtual.nll:.2f} on new rows against {true.nll:.2f}."
    )
    return _shown(BOTH, run, text, answer)


def in_cycles() -> Shown:
    """Scaling the gradient in cycles raises knowledge uncertainty everywhere."""
    run = run_spiral(CYCLES.settings)
    virtual, cyclic = _scores(run)
    settings = run.settings
    more = float((run.methods[1].knowledge[-1] > run.methods[0].knowledge[-1]).mean())
    reach = settings.alpha_max * settings.rate_cyclical
    rise = largest_rise(run.methods[1].fit.trace.train_loss, settings.cycle)
    wild = _other(CYCLES, "csglb", rate_cyclical=0.2)
    text = (
        f"cSGLB is one model too. It multiplies its gradients by a scale that falls from "
        f"{settings.alpha_max:g} to {settings.alpha_min:g} in each cycle of {settings.cycle} "
        f"trees, as cg-SGLD does for the 25 Gaussians, and takes a member at each cycle's end.",
        "Below the maps are the scale, with the members as ticks, and the losses.",
    )
    answer = (
        f"Its knowledge uncertainty is higher in {100 * more:.0f} % of the cells, "
        f"{cyclic.ku_mean_outside / virtual.ku_mean_outside:.0f} times outside the data, but it is "
        f"highest among them ({cyclic.ku_mean_inside:.2g} against "
        f"{cyclic.ku_mean_outside:.2g} nats outside). Its AUROC for far cells is "
        f"{cyclic.auroc_far:.2f}, virtual SGLB's {virtual.auroc_far:.2f}: the second paper's "
        "great improvement where there are no rows is one of level, not of place. Nor does the "
        "chain leave its mode: the largest rise of the training loss above the end of a cycle is "
        f"{rise:.2g} nats. cg-SGLD escapes with steps that overshoot, beyond twice a Newton step; "
        f"{settings.alpha_max:g} times the learning rate is {reach:g} here. At a rate of 0.2 it "
        f"would be 2, and the NLL of new rows ends at {_scores(wild)[0].nll:.2f} instead of "
        f"{cyclic.nll:.2f}."
    )
    return _shown(CYCLES, run, text, answer)


def largest_rise(loss: np.ndarray, cycle: int) -> float:
    """How far the loss (T,) rises above the end of the cycle before, in any cycle; 0 if never.

    >>> largest_rise(np.array([3.0, 2.0, 2.5, 1.0]), cycle=2)
    0.5
    """
    ends = range(cycle, len(loss), cycle)
    return max([0.0, *(float(loss[end : end + cycle].max() - loss[end - 1]) for end in ends)])


def first_cycles() -> Shown:
    """Most of cSGLB's knowledge uncertainty is of its first, unfinished members."""
    run = run_spiral(BURNT.settings)
    models, burnt = run.methods
    effect = burn_in_effect(burnt.fit)
    whole = map_spiral(burnt.fit, replace(run.settings, burn_in=0))
    flat = _other(BURNT, "csglb", alpha_max=1.0, burn_in=0).methods[0]
    losses = burnt.fit.validation[np.searchsorted(burnt.fit.n_trees, whole.member_trees), 0]
    likes = [rank_correlation(maps.knowledge[-1], models.knowledge[-1]) for maps in (whole, burnt)]
    first, second, fourth = (float(effect.knowledge[i]) for i in (0, 1, 3))
    text = (
        f"The same cSGLB without its first member, the one after {run.settings.cycle} trees: a "
        "burn-in of one cycle, as samplers have it. The paper keeps all members.",
        "Nothing is fitted again. The independent models stand above for comparison.",
    )
    answer = (
        f"{100 * second / first:.0f} %: the mean over the map falls from {first:.2g} to "
        f"{second:.2g} nats, and without three cycles to {fourth:.2g}. The first member has not "
        f"yet learned the spiral (NLL {losses[0]:.2f} on new rows, the fourth {losses[3]:.2f}); "
        "disagreeing with it says little. Cycles are not even needed: with the scale held at 1 "
        f"the same {len(flat.member_trees)} cuts give {flat.knowledge[-1].mean():.2g} nats. "
        "Burn-in also makes the map more like that of independent models: rank correlation "
        f"{likes[1]:.2f} instead of {likes[0]:.2f}."
    )
    return _shown(BURNT, run, text, answer)


def rows_left_out() -> Shown:
    """Bootstrapped rows make members differ for a better reason."""
    run = run_spiral(MASKED.settings)
    plain, masked = _scores(run)
    settings = run.settings
    late = [float(burn_in_effect(maps.fit).knowledge[5]) for maps in run.methods]
    text = (
        f"cbSGLB also hides {100 * (1 - settings.mask):.0f} % of the rows in the first "
        f"{100 * settings.exploration:.0f} % of each cycle, shaded below, and others in the next "
        "cycle.",
        "Both chains have the same length and the same schedule.",
    )
    answer = (
        "Yes: knowledge uncertainty among the data is "
        f"{masked.ku_mean_inside / plain.ku_mean_inside:.1f} times as high. Burn-in "
        "wears it out more slowly, too: without the first five cycles cbSGLB keeps "
        f"{late[1]:.2g} nats, cSGLB {late[0]:.2g}. The errors of its members correlate by "
        f"{masked.size.correlation:.2f} instead of "
        f"{plain.size.correlation:.2f}, so that {masked.n_members} of them count as "
        f"{masked.size.effective:.2f} independent ones instead of {plain.size.effective:.2f}. "
        f"Predictions gain nothing (NLL {masked.nll:.2f} against {plain.nll:.2f}), nor do far "
        f"cells (AUROC {masked.auroc_far:.2f} against {plain.auroc_far:.2f})."
    )
    return _shown(MASKED, run, text, answer)


def what_compute_buys() -> Shown:
    """More models agree with more models, and know no more of the outside."""
    run = run_spiral(MANY.settings)
    done = {maps.fit.plan: maps.fit for maps in run.methods}
    few, _, ten, many, virtual, cyclic, masked = quality_against_compute(run.settings, done)
    text = (
        f"Now {many.n_models} independent models, {many.n_trees:,} trees, beside one long model "
        f"of each kind with {virtual.n_trees}. Likeness is the rank correlation of a map of "
        "knowledge uncertainty with that of 20 of those models.",
        "The page draws it against the seconds of one core, under What compute buys.",
    )
    answer = (
        f"No: with {few.n_models} models the AUROC of far cells is {few.auroc_far:.2f}, with "
        f"{many.n_models} it is {many.auroc_far:.2f}. They buy a steadier map: likeness "
        f"{few.rank_correlation:.2f} with {few.n_models} models, "
        f"{ten.rank_correlation:.2f} with {ten.n_models}. Virtual SGLB has "
        f"{virtual.rank_correlation:.2f} for {virtual.n_trees} trees, much for its price; cSGLB "
        f"has {cyclic.rank_correlation:.2f} and cbSGLB {masked.rank_correlation:.2f}, so that "
        "the second paper's better agreement of cycles with real ensembles does not reproduce "
        f"on this spiral. And all {many.n_models} models make nearly the same mistakes: they "
        f"count as {many.effective:.2f}."
    )
    return _shown(MANY, run, text, answer)


LESSON = Lesson(
    name="spiral",
    title="What one long model knows of what an ensemble knows",
    lead="Eight pictures of one experiment, about ten minutes. All numbers are computed as you "
    "read.",
    page="spiral",
    source="After Malinin, Prokhorenkova and Ustimenko, Uncertainty in gradient boosting via "
    "ensembles, section 4 (arXiv 2006.10562), and Tan, Huertas and Zhao, Efficient and Effective "
    "Uncertainty Quantification in Gradient Boosting via Cyclical Gradient MCMC, section 5.1 "
    "(CEUR Vol-3381, paper 47).",
    steps=(
        Step("Three arms", "Where is data uncertainty high, and is it right?", ONE, three_arms),
        Step("Where models differ", "Is knowledge uncertainty high where there are no rows?", ONE,
             where_models_differ),
        Step("Gaps and the outside", "Does it find the gaps between the arms, and the outside?",
             NARROW, gaps_and_outside),
        Step("One model instead of five", "What is left of knowledge uncertainty?", BOTH,
             one_model),
        Step("One model in cycles", "Does it know more where there are no rows?", CYCLES,
             in_cycles),
        Step("The first cycles", "How much of its knowledge uncertainty is left?", BURNT,
             first_cycles),
        Step("Rows left out", "Do members now differ more?", MASKED, rows_left_out),
        Step("What compute buys", "Would more models know more of the outside?", MANY,
             what_compute_buys),
    ),
)  # fmt: skip

if __name__ == "__main__":
    raise SystemExit(main(LESSON))
