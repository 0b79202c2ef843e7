"""Lesson: what one long model knows of what an ensemble knows.

Malinin, Prokhorenkova and Ustimenko, "Uncertainty in gradient boosting via ensembles", section 4;
Tan, Huertas and Zhao, "Efficient and effective uncertainty quantification in gradient boosting via
cyclical gradient MCMC", section 5.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from demos.asking import Between, Largest, Right, both_of
from demos.lesson import ComputedStep, Lesson, Step, main
from demos.live import one_knob
from gbuq_core.experiments.ranking import rank_correlation
from gbuq_core.experiments.spiral.charts import ray_sheet
from gbuq_core.experiments.spiral.data import spiral_truth
from gbuq_core.experiments.spiral.fit import SpiralRun, map_spiral, run_spiral
from gbuq_core.experiments.spiral.picture import spiral_sheet
from gbuq_core.experiments.spiral.plan import SpiralSettings
from gbuq_core.experiments.spiral.probes import (
    burn_in_effect,
    ray,
    ray_truth,
    walk_off,
)
from gbuq_core.experiments.spiral.scores import (
    SpiralScore,
    describe_spiral,
    mean_of,
    score_spiral,
    spiral_regions,
)
from gbuq_core.figures.canvas.panels import Line, PanelSheet

ONE = SpiralSettings(methods=("sglb",))
NARROW = SpiralSettings(methods=("sglb",), noise=0.2)
BOTH = SpiralSettings(methods=("sglb", "virtual_sglb"))
CYCLES = SpiralSettings(methods=("virtual_sglb", "csglb"))
BURNT = SpiralSettings(methods=("sglb", "csglb"), burn_in=1)
MASKED = SpiralSettings(methods=("csglb", "cbsglb"))
WALK = ((0.0, 0.0), (600.0, 450.0))  # the page's own line


def _shown(
    settings: SpiralSettings,
    run: SpiralRun,
    text: str,
    right: Right,
    answer: str,
    more: Sequence[str],
    knob: str,
    lines: Sequence[Line] = (),
) -> ComputedStep:
    """The page's picture with one of its knobs."""
    knobs = one_knob(knob, settings)
    words = describe_spiral(run)
    sheet = spiral_sheet(run.truth, run.data, run.methods, settings, (), lines, words, knobs)
    return ComputedStep(text, right, answer, sheet, more)


def _scores(run: SpiralRun) -> list[SpiralScore]:
    return [score_spiral(maps, run.truth) for maps in run.methods]


def _other(settings: SpiralSettings, method: str, **knobs: object) -> SpiralRun:
    """The preset with one method and some knobs of its own."""
    return run_spiral(replace(settings, methods=(method,), **knobs))


def _walked(sheet: PanelSheet, run: SpiralRun) -> PanelSheet:
    """The sheet with the charts of a walk in place of those of the training."""
    truth = ray_truth(run.settings.noise, *WALK)
    rays = [ray(maps.fit, run.settings, *WALK) for maps in run.methods]
    charts = ray_sheet(rays, truth, "knowledge")
    # The line's places are no trees: nothing in these charts moves with the frames.
    still = [replace(strip, mode="frame") for strip in charts.strips]
    return replace(sheet, strips=still, strip_height=110)


def three_arms() -> ComputedStep:
    """Data uncertainty where arms run into each other."""
    run = run_spiral(ONE)
    (scores,) = _scores(run)
    inside, truth = spiral_regions(run.truth).inside, run.truth.data_uncertainty
    estimate = run.methods[0].data[-1]
    notes = (
        f"An entropy is at most ln 3 = {math.log(3):.2f} nats. Data uncertainty is the mean of the "
        f"models' entropies. In a single cell it is off by {scores.data_error:.2f} on average. "
        f"Outside the line the truth is high on three thin rays only ({truth[~inside].mean():.2f} "
        "nats on average). The trees widen the rays to fans "
        f"({estimate[~inside].mean():.2f} nats).",
    )
    text = (
        "Each class is an arm of a spiral. The first map is the truth: the entropy of the class "
        f"probabilities. {scores.n_members} SGLB models learned from {run.settings.rows} rows a "
        "class."
    )
    right = Largest((scores.error_optimal, scores.error - scores.error_optimal))
    answer = (
        f"It gets {100 * scores.error:.1f} % wrong; the best possible model gets "
        f"{100 * scores.error_optimal:.1f} % wrong. Within the dashed line, data uncertainty "
        f"averages {estimate[inside].mean():.2f} nats, the truth {truth[inside].mean():.2f}. More "
        "rows would not remove that."
    )
    return _shown(ONE, run, text, right, answer, notes, "shown")


def where_models_differ() -> ComputedStep:
    """Knowledge uncertainty lies along class borders."""
    run = run_spiral(ONE)
    (scores,) = _scores(run)
    (hot,) = _scores(_other(ONE, "sglb", temperature="posterior"))
    notes = (
        "It is the total minus the mean of the models' entropies. Its colours are logarithmic. For "
        "cells outside the data against class borders the AUROC is "
        f"{scores.auroc_border:.2f}, and {scores.auroc_border_total:.2f} for the total. More "
        "noise does not change that: at the posterior's temperature the far cells reach "
        f"{hot.auroc_far:.2f}, and {100 * hot.error:.1f} % of new rows are wrong instead of "
        f"{100 * scores.error:.1f} %.",
    )
    knowledge, where = run.methods[0].knowledge[-1], spiral_regions(run.truth)
    text = (
        "Knowledge uncertainty is how much the models disagree. It should be high where there "
        "are no rows, and low along class borders."
    )
    right = Largest(
        tuple(mean_of(knowledge, cells) for cells in (~where.inside, where.border, where.clear))
    )
    answer = (
        f"Borders have {scores.border_ratio:.1f} times the value of the arms' middles. For the "
        f"farthest 40 % of cells the AUROC is {scores.auroc_far:.2f}; 0.5 is chance. The paper "
        "says knowledge tells the two apart. With these features it does not."
    )
    return _shown(ONE, run, text, right, answer, notes, "flag")


def gaps_and_outside() -> ComputedStep:
    """Trees notice a gap between rows, but no outer edge."""
    run = run_spiral(NARROW)
    (scores,) = _scores(run)
    between, wide_between = (
        int(spiral_regions(spiral_truth(preset.noise)).between.sum()) for preset in (NARROW, ONE)
    )
    notes = (
        f"With wide arms {wide_between or 'no'} cells lay in gaps. Now knowledge uncertainty "
        f"averages {scores.ku_mean_between:.2g} nats there, and {scores.ku_mean_inside:.2g} among "
        f"the rows. {walk_off(run.methods[0].fit, run.settings).sentence}",
    )
    (x0, y0), (x1, y1) = WALK
    text = (
        f"With half the noise the arms are narrower. {between} cells lie in gaps almost without "
        "rows. The arrow walks through arms and gaps, and out."
    )
    right = Largest(both_of(scores.auroc_between - 0.7, scores.auroc_far - 0.7))
    answer = (
        f"AUROC of gaps: {scores.auroc_between:.2f}. Of far cells: {scores.auroc_far:.2f}, where "
        "0.5 is chance. Each model puts its border at another place in a gap. Outside there is "
        "nothing to put a border between."
    )
    shown = _shown(
        NARROW,
        run,
        text,
        right,
        answer,
        notes,
        "flag",
        [Line([x0, x1], [y0, y1], arrow=True)],
    )
    return shown._replace(sheet=_walked(shown.sheet, run))


def one_model() -> ComputedStep:
    """A virtual ensemble predicts as well, but its knowledge uncertainty is far smaller."""
    run = run_spiral(BOTH)
    true, virtual = _scores(run)
    alike = rank_correlation(run.methods[1].knowledge[-1], run.methods[0].knowledge[-1])
    notes = (
        "The ticks below the maps are the cuts (equation 15 of the first paper). Outside the data "
        f"it is {virtual.ku_mean_outside:.2g} nats instead of {true.ku_mean_outside:.2g}. The "
        f"AUROC of far cells is {virtual.auroc_far:.2f}.",
    )
    ratio = true.ku_mean_outside / virtual.ku_mean_outside
    text = (
        f"A virtual ensemble is one model of {virtual.n_trees} trees, cut every "
        f"{run.settings.step} trees of its second half. The {true.n_members} models have "
        f"{true.n_trees:,} trees together."
    )
    right = Largest(
        (2.0 / ratio, min(ratio / 2.0, alike / 0.5), min(ratio / 2.0, 0.5 / max(alike, 0.01)))
    )
    answer = (
        f"Outside the data it is {ratio:.0f} times smaller, because cuts share most of their "
        f"trees. The rank correlation is {alike:.2f}. Predictions lose nothing: the NLL of new "
        f"rows is {virtual.nll:.2f}, and {true.nll:.2f} before."
    )
    return _shown(BOTH, run, text, right, answer, notes, "step")


def in_cycles() -> ComputedStep:
    """Scaling the gradient in cycles raises knowledge uncertainty everywhere."""
    run = run_spiral(CYCLES)
    virtual, cyclic = _scores(run)
    settings = run.settings
    more = float((run.methods[1].knowledge[-1] > run.methods[0].knowledge[-1]).mean())
    reach = settings.alpha_max * settings.rate_cyclical
    rise = largest_rise(run.methods[1].fit.trace.train_loss, settings.cycle)
    wild = _other(CYCLES, "csglb", rate_cyclical=0.2)
    notes = (
        "Outside the data it is "
        f"{cyclic.ku_mean_outside / virtual.ku_mean_outside:.0f} times as high as before. The "
        f"chain does not leave its mode: the training loss rises by at most {rise:.2g} nats above "
        "the end of a cycle. cg-SGLD escapes because its steps are longer than twice a Newton "
        f"step. Here {settings.alpha_max:g} times the learning rate is only {reach:g}. At a rate "
        f"of 0.2 it would be 2, and the NLL of new rows would end at {_scores(wild)[0].nll:.2f} "
        f"instead of {cyclic.nll:.2f}.",
    )
    text = (
        f"cSGLB multiplies its gradients by a scale that falls from {settings.alpha_max:g} to "
        f"{settings.alpha_min:g} in each cycle of {settings.cycle} trees, and takes a member at "
        "each cycle's end."
    )
    right = Largest(
        (
            cyclic.ku_mean_inside - virtual.ku_mean_inside,
            cyclic.ku_mean_outside - virtual.ku_mean_outside,
        )
    )
    answer = (
        f"It is higher in {100 * more:.0f} % of the cells: {cyclic.ku_mean_inside:.2g} nats among "
        f"the rows, {cyclic.ku_mean_outside:.2g} outside. The AUROC of far cells is "
        f"{cyclic.auroc_far:.2f}, before {virtual.auroc_far:.2f}. The paper's improvement without "
        "rows does not appear here."
    )
    return _shown(CYCLES, run, text, right, answer, notes, "flag")


def largest_rise(loss: np.ndarray, cycle: int) -> float:
    """How far the loss (T,) rises above the end of the cycle before, in any cycle; 0 if never.

    >>> largest_rise(np.array([3.0, 2.0, 2.5, 1.0]), cycle=2)
    0.5
    """
    ends = range(cycle, len(loss), cycle)
    return max([0.0, *(float(loss[end : end + cycle].max() - loss[end - 1]) for end in ends)])


def first_cycles() -> ComputedStep:
    """Most of cSGLB's knowledge uncertainty comes from its first, unfinished members."""
    run = run_spiral(BURNT)
    models, burnt = run.methods
    effect = burn_in_effect(burnt.fit)
    whole = map_spiral(burnt.fit, replace(run.settings, burn_in=0))
    flat = _other(BURNT, "csglb", alpha_max=1.0, burn_in=0).methods[0]
    losses = burnt.fit.validation[np.searchsorted(burnt.fit.n_trees, whole.member_trees), 0]
    likes = [rank_correlation(maps.knowledge[-1], models.knowledge[-1]) for maps in (whole, burnt)]
    first, second, fourth = (float(effect.knowledge[i]) for i in (0, 1, 3))
    notes = (
        "Samplers call this a burn-in of one cycle; the paper keeps all members. Without three "
        f"cycles the mean is {fourth:.2g} nats. Cycles are not even needed: with the scale held at "
        f"1 the same {len(flat.member_trees)} cuts give {flat.knowledge[-1].mean():.2g} nats. The "
        f"rank correlation with independent models, shown above, is {likes[1]:.2f} instead of "
        f"{likes[0]:.2f}.",
    )
    text = (
        "This is the same cSGLB without its first member, the one after "
        f"{run.settings.cycle} trees. Nothing is retrained."
    )
    right = Between(-second / first, (-0.8, -0.5))
    answer = (
        f"{100 * second / first:.0f} %: the mean falls from {first:.2g} to {second:.2g} nats. The "
        f"first member has not learned the spiral yet: its NLL is {losses[0]:.2f}, the fourth's "
        f"{losses[3]:.2f}. It says little that others disagree with it."
    )
    return _shown(BURNT, run, text, right, answer, notes, "burn_in")


def rows_left_out() -> ComputedStep:
    """Hidden rows make members differ more, and for longer."""
    run = run_spiral(MASKED)
    plain, masked = _scores(run)
    settings = run.settings
    late = [float(burn_in_effect(maps.fit).knowledge[5]) for maps in run.methods]
    notes = (
        f"Without the first five cycles cbSGLB keeps {late[1]:.2g} nats, and cSGLB {late[0]:.2g}. "
        f"The errors of its members have a correlation of {masked.size.correlation:.2f} instead of "
        f"{plain.size.correlation:.2f}. The AUROC of far cells is {masked.auroc_far:.2f}, before "
        f"{plain.auroc_far:.2f}.",
    )
    text = (
        f"cbSGLB also hides {100 * (1 - settings.mask):.0f} % of the rows in the first "
        f"{100 * settings.exploration:.0f} % of each cycle. Each cycle hides other rows."
    )
    right = Largest(
        (
            0.2,
            masked.ku_mean_inside / plain.ku_mean_inside - 1.0,
            10.0 * (plain.nll - masked.nll),
        )
    )
    answer = (
        "Among the rows knowledge uncertainty is "
        f"{masked.ku_mean_inside / plain.ku_mean_inside:.1f} times as high. The "
        f"{masked.n_members} members count as {masked.size.effective:.2f} independent ones "
        f"instead of {plain.size.effective:.2f}. The NLL is {masked.nll:.2f}, before "
        f"{plain.nll:.2f}."
    )
    return _shown(MASKED, run, text, right, answer, notes, "burn_in")


LESSON = Lesson(
    name="spiral",
    title="Does one long model know what an ensemble knows?",
    lead="Seven pictures of one experiment, about ten minutes. All numbers are computed while "
    "you read.",
    page="spiral",
    source="After Malinin, Prokhorenkova and Ustimenko, Uncertainty in gradient boosting via "
    "ensembles, section 4 (arXiv 2006.10562), and Tan, Huertas and Zhao, Efficient and Effective "
    "Uncertainty Quantification in Gradient Boosting via Cyclical Gradient MCMC, section 5.1 "
    "(CEUR Vol-3381, paper 47).",
    steps=(
        Step(
            "Three arms",
            "What are most of the ensemble's mistakes on new rows?",
            ("Noise", "Lack of knowledge"),
            ONE,
            three_arms,
        ),
        Step(
            "Where models differ",
            "Where is it highest?",
            ("Outside the rows", "Along class borders", "In the arms' middles"),
            ONE,
            where_models_differ,
        ),
        Step(
            "Gaps and the outside",
            "Which empty cells does knowledge uncertainty find?",
            ("Gaps and outside", "Gaps only", "The outside only", "Neither"),
            NARROW,
            gaps_and_outside,
        ),
        Step(
            "One model instead of five",
            "What becomes of knowledge uncertainty?",
            ("It stays", "It shrinks", "It shrinks and changes its order"),
            BOTH,
            one_model,
        ),
        Step(
            "One model in cycles",
            "Where does this raise knowledge uncertainty most?",
            ("Among the rows", "Outside"),
            CYCLES,
            in_cycles,
        ),
        Step(
            "The first cycles",
            "How much of its knowledge uncertainty is left?",
            ("Over 80 %", "50 to 80 %", "Under 50 %"),
            BURNT,
            first_cycles,
        ),
        Step(
            "Rows left out",
            "What changes?",
            ("Nothing", "Members differ more", "Predictions improve"),
            MASKED,
            rows_left_out,
        ),
    ),
)

if __name__ == "__main__":
    raise SystemExit(main(LESSON))
