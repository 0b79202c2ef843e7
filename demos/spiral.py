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
from gbuq_core.figures.canvas.panels import Line, PanelSheet
from gbuq_core.study.spiral import SPIRAL, SpiralSettings, mean_of, spiral_truth
from gbuq_core.study.spiral_walks import ask_members, burn_in_effect, walk, walk_off, walk_sheet
from gbuq_core.study.study import Numbers, Run
from gbuq_core.uncertainty import decompose_classification

ONE = SpiralSettings(methods=("sglb",))
NARROW = SpiralSettings(methods=("sglb",), noise=0.2)
BOTH = SpiralSettings(methods=("sglb", "virtual_sglb"))
CYCLES = SpiralSettings(methods=("virtual_sglb", "csglb"))
BURNT = SpiralSettings(methods=("sglb", "csglb"), burn_in=1)
MASKED = SpiralSettings(methods=("csglb", "cbsglb"))
WALK = ((0.0, 0.0), (600.0, 450.0))  # the page's own line


def _shown(
    settings: SpiralSettings,
    run: Run,
    text: str,
    right: Right,
    answer: str,
    more: Sequence[str],
    knob: str,
) -> ComputedStep:
    """The page's picture with one of its knobs."""
    sheet = SPIRAL.sheet(run, run.views, one_knob(knob, settings))
    return ComputedStep(text, right, answer, sheet, more)


def _scores(run: Run) -> list[Numbers]:
    return [run.numbers[view.method] for view in run.views]


def _knowledge(run: Run) -> list[np.ndarray]:
    """The methods' maps of knowledge uncertainty with all trees, (80, 80) each."""
    return [view.last.knowledge.reshape(run.data.in_support.shape) for view in run.views]


def _other(settings: SpiralSettings, method: str, **knobs: object) -> Run:
    """The preset with one method and some knobs of its own."""
    return SPIRAL.run(replace(settings, methods=(method,), **knobs))


def _walked(sheet: PanelSheet, run: Run) -> PanelSheet:
    """The sheet with a walk, and its charts in place of those of the training."""
    line, (x, y) = walk(run, *WALK), zip(*WALK, strict=True)
    levels = [
        decompose_classification(ask_members(run, view, line.points)).knowledge
        for view in run.views
    ]
    charts = walk_sheet([view.method for view in run.views], levels, line, "knowledge")
    # The line's places are no trees: nothing in these charts moves with the frames.
    still = [replace(strip, mode="frame") for strip in charts.strips]
    return replace(sheet, lines=[Line([*x], [*y], arrow=True)], strips=still, strip_height=110)


def three_arms() -> ComputedStep:
    """Data uncertainty where arms run into each other."""
    run = SPIRAL.run(ONE)
    (scores,) = _scores(run)
    inside, truth = run.data.in_support, run.data.truth.data_uncertainty
    estimate = run.views[0].last.data.reshape(inside.shape)
    notes = (
        f"An entropy is at most ln 3 = {math.log(3):.2f} nats. Data uncertainty is the mean of the "
        f"models' entropies. In a single cell it is off by {scores['data_error']:.2f} on average. "
        f"Outside the line the truth is high on three thin rays only ({truth[~inside].mean():.2f} "
        "nats on average). The trees widen the rays to fans "
        f"({estimate[~inside].mean():.2f} nats).",
    )
    text = (
        "Each class is an arm of a spiral. The first map is the truth: the entropy of the class "
        f"probabilities. {scores['n_members']:.0f} SGLB models learned from {run.settings.rows} "
        "rows a class."
    )
    right = Largest((scores["error_optimal"], scores["error"] - scores["error_optimal"]))
    answer = (
        f"It gets {100 * scores['error']:.1f} % wrong; the best possible model gets "
        f"{100 * scores['error_optimal']:.1f} % wrong. Within the dashed line, data uncertainty "
        f"averages {estimate[inside].mean():.2f} nats, the truth {truth[inside].mean():.2f}. More "
        "rows would not remove that."
    )
    return _shown(ONE, run, text, right, answer, notes, "shown")


def where_models_differ() -> ComputedStep:
    """Knowledge uncertainty lies along class borders."""
    run = SPIRAL.run(ONE)
    (scores,) = _scores(run)
    (hot,) = _scores(_other(ONE, "sglb", temperature="posterior"))
    notes = (
        "It is the total minus the mean of the models' entropies. Its colours are logarithmic. For "
        "cells outside the data against class borders the AUROC is "
        f"{scores['auroc_border']:.2f}, and {scores['auroc_border_total']:.2f} for the total. More "
        "noise does not change that: at the posterior's temperature the far cells reach "
        f"{hot['auroc_far']:.2f}, and {100 * hot['error']:.1f} % of new rows are wrong instead of "
        f"{100 * scores['error']:.1f} %.",
    )
    (knowledge,), truth = _knowledge(run), run.data.truth
    text = (
        "Knowledge uncertainty is how much the models disagree. It should be high where there "
        "are no rows, and low along class borders."
    )
    right = Largest(
        tuple(mean_of(knowledge, cells) for cells in (~truth.in_support, truth.border, truth.clear))
    )
    answer = (
        f"Borders have {scores['border_ratio']:.1f} times the value of the arms' middles. For the "
        f"farthest 40 % of cells the AUROC is {scores['auroc_far']:.2f}; 0.5 is chance. The paper "
        "says knowledge tells the two apart. With these features it does not."
    )
    return _shown(ONE, run, text, right, answer, notes, "flag")


def gaps_and_outside() -> ComputedStep:
    """Trees notice a gap between rows, but no outer edge."""
    run = SPIRAL.run(NARROW)
    (scores,) = _scores(run)
    between, wide_between = (
        int(spiral_truth(preset.noise).between.sum()) for preset in (NARROW, ONE)
    )
    notes = (
        f"With wide arms {wide_between or 'no'} cells lay in gaps. Now knowledge uncertainty "
        f"averages {scores['between']:.2g} nats there, and {scores['inside']:.2g} among "
        f"the rows. {walk_off(run, run.views[0])['sentence']}",
    )
    text = (
        f"With half the noise the arms are narrower. {between} cells lie in gaps almost without "
        "rows. The arrow walks through arms and gaps, and out."
    )
    right = Largest(both_of(scores["auroc_between"] - 0.7, scores["auroc_far"] - 0.7))
    answer = (
        f"AUROC of gaps: {scores['auroc_between']:.2f}. Of far cells: {scores['auroc_far']:.2f}, "
        "where 0.5 is chance. Each model puts its border at another place in a gap. Outside there "
        "is nothing to put a border between."
    )
    shown = _shown(
        NARROW,
        run,
        text,
        right,
        answer,
        notes,
        "flag",
    )
    return shown._replace(sheet=_walked(shown.sheet, run))


def one_model() -> ComputedStep:
    """A virtual ensemble predicts as well, but its knowledge uncertainty is far smaller."""
    run = SPIRAL.run(BOTH)
    true, virtual = _scores(run)
    alike = rank_correlation(*_knowledge(run))
    notes = (
        "The ticks below the maps are the cuts (equation 15 of the first paper). Outside the data "
        f"it is {virtual['outside']:.2g} nats instead of {true['outside']:.2g}. The "
        f"AUROC of far cells is {virtual['auroc_far']:.2f}.",
    )
    ratio = true["outside"] / virtual["outside"]
    text = (
        f"A virtual ensemble is one model of {virtual['n_trees']:.0f} trees, cut every "
        f"{run.settings.step} trees of its second half. The {true['n_members']:.0f} models have "
        f"{true['n_trees']:,.0f} trees together."
    )
    right = Largest(
        (2.0 / ratio, min(ratio / 2.0, alike / 0.5), min(ratio / 2.0, 0.5 / max(alike, 0.01)))
    )
    answer = (
        f"Outside the data it is {ratio:.0f} times smaller, because cuts share most of their "
        f"trees. The rank correlation is {alike:.2f}. Predictions lose nothing: the NLL of new "
        f"rows is {virtual['nll']:.2f}, and {true['nll']:.2f} before."
    )
    return _shown(BOTH, run, text, right, answer, notes, "step")


def in_cycles() -> ComputedStep:
    """Scaling the gradient in cycles raises knowledge uncertainty everywhere."""
    run = SPIRAL.run(CYCLES)
    virtual, cyclic = _scores(run)
    settings = run.settings
    more = float(np.greater(*_knowledge(run)[::-1]).mean())
    reach = settings.alpha_max * settings.rate_cyclical
    rise = largest_rise(run.views[1].fit.more["trace"].train_loss, settings.cycle)
    wild = _other(CYCLES, "csglb", rate_cyclical=0.2)
    notes = (
        "Outside the data it is "
        f"{cyclic['outside'] / virtual['outside']:.0f} times as high as before. The "
        f"chain does not leave its mode: the training loss rises by at most {rise:.2g} nats above "
        "the end of a cycle. cg-SGLD escapes because its steps are longer than twice a Newton "
        f"step. Here {settings.alpha_max:g} times the learning rate is only {reach:g}. At a rate "
        f"of 0.2 it would be 2, and the NLL of new rows would end at {_scores(wild)[0]['nll']:.2f} "
        f"instead of {cyclic['nll']:.2f}.",
    )
    text = (
        f"cSGLB multiplies its gradients by a scale that falls from {settings.alpha_max:g} to "
        f"{settings.alpha_min:g} in each cycle of {settings.cycle} trees, and takes a member at "
        "each cycle's end."
    )
    right = Largest(
        (
            cyclic["inside"] - virtual["inside"],
            cyclic["outside"] - virtual["outside"],
        )
    )
    answer = (
        f"It is higher in {100 * more:.0f} % of the cells: {cyclic['inside']:.2g} nats among "
        f"the rows, {cyclic['outside']:.2g} outside. The AUROC of far cells is "
        f"{cyclic['auroc_far']:.2f}, before {virtual['auroc_far']:.2f}. The paper's improvement "
        "without rows does not appear here."
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
    run = SPIRAL.run(BURNT)
    models, burnt = run.views
    effect = burn_in_effect(burnt, run.data.truth.far)[0]
    whole = SPIRAL.view(burnt.fit, replace(run.settings, burn_in=0))
    flat = _other(BURNT, "csglb", alpha_max=1.0, burn_in=0).views[0]
    at = np.searchsorted(burnt.fit.members.stages, whole.trees)
    losses = burnt.fit.more["validation"][at, 0]
    likes = [
        rank_correlation(view.last.knowledge, models.last.knowledge) for view in (whole, burnt)
    ]
    first, second, fourth = (float(effect[i]) for i in (0, 1, 3))
    notes = (
        "Samplers call this a burn-in of one cycle; the paper keeps all members. Without three "
        f"cycles the mean is {fourth:.2g} nats. Cycles are not even needed: with the scale held at "
        f"1 the same {len(flat.trees)} cuts give {flat.last.knowledge.mean():.2g} nats. The "
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
    run = SPIRAL.run(MASKED)
    plain, masked = _scores(run)
    settings = run.settings
    far = run.data.truth.far
    late = [float(burn_in_effect(view, far)[0, 5]) for view in run.views]
    notes = (
        f"Without the first five cycles cbSGLB keeps {late[1]:.2g} nats, and cSGLB {late[0]:.2g}. "
        f"The errors of its members have a correlation of {masked['correlation']:.2f} instead of "
        f"{plain['correlation']:.2f}. The AUROC of far cells is {masked['auroc_far']:.2f}, before "
        f"{plain['auroc_far']:.2f}.",
    )
    text = (
        f"cbSGLB also hides {100 * (1 - settings.mask):.0f} % of the rows in the first "
        f"{100 * settings.exploration:.0f} % of each cycle. Each cycle hides other rows."
    )
    right = Largest(
        (
            0.2,
            masked["inside"] / plain["inside"] - 1.0,
            10.0 * (plain["nll"] - masked["nll"]),
        )
    )
    answer = (
        "Among the rows knowledge uncertainty is "
        f"{masked['inside'] / plain['inside']:.1f} times as high. The "
        f"{masked['n_members']:.0f} members count as {masked['effective']:.2f} independent ones "
        f"instead of {plain['effective']:.2f}. The NLL is {masked['nll']:.2f}, before "
        f"{plain['nll']:.2f}."
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
