"""Lesson: what an ensemble knows about cells that it has never seen.

Malinin, Prokhorenkova and Ustimenko, "Uncertainty in gradient boosting via ensembles", section 4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from demos.asking import Between, Largest, Right
from demos.lesson import ComputedStep, Lesson, Step, main
from demos.live import one_knob
from gbuq_core.experiments.claims import times_text
from gbuq_core.study.heart import HEART, SIDE, HeartSettings
from gbuq_core.study.study import Run, auroc_text


def _shown(
    run: Run,
    text: str,
    right: Right,
    answer: str,
    more: Sequence[str],
    knob: str = "",
) -> ComputedStep:
    """The page's picture with one of its knobs; without it the reader plays the trees."""
    knobs = one_knob(knob, run.settings) if knob else ()
    sheet = HEART.sheet(run, run.views, knobs)
    return ComputedStep(text, right, answer, sheet, more)


ONE = HeartSettings(methods=("sglb",))
LINEAR = HeartSettings(methods=("sglb",), unit="variance", log=False)
BOTH = HeartSettings()
SLOW = HeartSettings(rate=0.1)
CORNER = HeartSettings(
    methods=("sglb",),
    cells=tuple(SIDE * row + column for row in (6, 7, 8) for column in (0, 1, 2)),
)
POSTERIOR = HeartSettings(methods=("sglb",), rows=100, temperature="posterior")


def noise_that_stays() -> ComputedStep:
    """Data uncertainty is the noise, whatever else is known."""
    run = HEART.run(ONE)
    scores = run.numbers["sglb"]
    truth = np.sqrt(run.data.variance[run.data.in_support])
    notes = (
        f"Each of the {truth.size} cells outside the heart has {run.settings.rows:,} training "
        "rows around its own mean. Data uncertainty is the mean of the ten models' variances. At "
        f"most it is off by {scores['error_max']:.2g}.",
    )
    inside = run.data.in_support
    off = [
        float(np.abs(np.sqrt(part[-1][inside.ravel()]) - truth).mean())
        for part in (run.views[0].at.data, run.views[0].at.knowledge)
    ]
    text = (
        "Rows lie outside the heart only. Ten SGLB models learn a mean and a variance for each "
        "cell. The noise is largest next to the heart. Hatched cells have no rows."
    )
    right = Largest((-off[0], -off[1], -0.5 * float(truth.mean())))
    answer = (
        f"Data uncertainty is off by {scores['error_mean']:.2g} on average; the noise is "
        f"{truth.min():.2g} to {truth.max():.2g} (std). More rows would not make the noise "
        "smaller. In hatched cells the value means nothing."
    )
    return _shown(run, text, right, answer, notes, "shown")


def never_seen() -> ComputedStep:
    """Knowledge uncertainty finds the heart."""
    run = HEART.run(ONE)
    scores = run.numbers["sglb"]
    notes = ("The colours of the map on the right are logarithmic.",)
    text = (
        "Knowledge uncertainty is the spread of the ten models' means. In cells with a thousand "
        "rows the models have to agree."
    )
    right = Between(scores["auroc"], (0.6, 0.999))
    answer = (
        f"The smallest value in a cell without rows is {scores['least_empty']:.2g}; the largest "
        f"with rows is {scores['most_filled']:.2g}. The AUROC, {auroc_text(scores['auroc'])}, is "
        "the share of pairs in which the empty cell has more. The noisy border leaves no trace."
    )
    return _shown(run, text, right, answer, notes, "log")


def hidden_in_the_total() -> ComputedStep:
    """The total does not tell what data and knowledge tell."""
    run = HEART.run(LINEAR)
    last, empty = run.views[0].last, ~run.data.in_support.ravel()
    scores = run.numbers["sglb"]
    share = float((last.knowledge / last.total)[empty].mean())
    notes = ("This picture shows variances, and knowledge now has linear colours.",)
    text = (
        "Variances add up: total = data + knowledge. Suppose you only had one of these maps, the "
        "total."
    )
    right = Between(-scores["auroc_total"], (-0.95, -0.7))
    answer = (
        f"The AUROC of the total is {scores['auroc_total']:.2f}: the noisy border is as yellow as "
        f"the empty cells. In empty cells, knowledge is {100 * share:.0f} % of the total. The "
        "rest is noise that the models predict for cells they never saw."
    )
    return _shown(run, text, right, answer, notes, "unit")


def watch_it_grow() -> ComputedStep:
    """Knowledge uncertainty falls where there are rows and stays where there are none."""
    run = HEART.run(ONE)
    view, filled = run.views[0], run.data.in_support.ravel()
    stds = np.sqrt(view.at.knowledge)
    early = int(np.searchsorted(view.stages, 50))
    n_early = int(view.stages[early])
    settled = math.log(filled.sum() * run.settings.rows) / run.settings.rate
    notes = (
        "random_strength adds noise to the scores of splits. It fades over about "
        f"ln(N) / rate = {settled:.0f} trees. In cells with rows knowledge uncertainty falls from "
        f"{stds[early][filled].mean():.2g} to {stds[-1][filled].mean():.2g}.",
    )
    heart = stds[:, ~filled].mean(axis=1)
    half = view.stages[int(np.argmax(heart >= 0.5 * heart[-1]))]
    text = (
        f"Every model adds {run.settings.trees:,} trees, one after the other. Play them and watch "
        "the heart in the map of knowledge uncertainty."
    )
    right = Between(float(half), (51.0, 501.0))
    answer = (
        f"With {n_early} trees it averages {stds[early][~filled].mean():.3g}, with all trees "
        f"{stds[-1][~filled].mean():.3g}. The first splits are partly random, so the models drift "
        "apart. Where there are rows, every tree corrects the trees before it."
    )
    return _shown(run, text, right, answer, notes)


def one_model() -> ComputedStep:
    """A virtual ensemble costs a tenth and sees nearly as much."""
    run = HEART.run(BOTH)
    true, virtual = run.numbers["sglb"], run.numbers["virtual_sglb"]
    cuts = int(run.views[1].counts[-1])
    ratio = true["empty"] / virtual["empty"]
    notes = (
        f"The cuts are every {run.settings.step} trees of the second half (equation 15). In empty "
        f"cells it is {virtual['empty']:.2g}, with independent models "
        f"{true['empty']:.2g}. Both methods share their colour scales.",
    )
    text = (
        f"A virtual ensemble is one model. It is cut {cuts} times during training, and the cuts "
        "are its members. It costs a tenth of ten models."
    )
    right = Largest(((1.0 - virtual["auroc"]) / 0.1, abs(math.log(ratio)) / math.log(2.0), 1.0))
    answer = (
        f"It ranks the cells nearly as well: AUROC {auroc_text(virtual['auroc'])} against "
        f"{auroc_text(true['auroc'])}. In empty cells its value is {times_text(ratio)} too "
        "small, because the cuts share most of their trees. Use it to rank rows."
    )
    return _shown(run, text, right, answer, notes, "step")


def small_steps() -> ComputedStep:
    """A virtual ensemble needs a model that has converged."""
    run = HEART.run(SLOW)
    true, virtual = run.numbers["sglb"], run.numbers["virtual_sglb"]
    others = [
        HEART.run(replace(SLOW, methods=("virtual_sglb",), **knobs)).numbers["virtual_sglb"]
        for knobs in ({"rate": 0.03}, {"trees": 2000})
    ]
    notes = (
        "At a rate of 0.03 the ranking is reversed: the virtual ensemble has an AUROC of "
        f"{auroc_text(others[0]['auroc'])}.",
    )
    text = (
        f"The learning rate is now {run.settings.rate:g} instead of {BOTH.rate:g}, still "
        f"with {run.settings.trees:,} trees."
    )
    right = Largest((1.0 - true["auroc"], 1.0 - virtual["auroc"], 0.05))
    answer = (
        f"Ten models have an AUROC of {auroc_text(true['auroc'])}, the virtual ensemble "
        f"{auroc_text(virtual['auroc'])}. It takes its members while the model is still "
        "learning, so they differ even where there are rows. With 2,000 trees: "
        f"{auroc_text(others[1]['auroc'])}."
    )
    return _shown(run, text, right, answer, notes, "start")


def take_rows_away() -> ComputedStep:
    """Knowledge uncertainty depends on rows, not on places."""
    before = HEART.run(ONE).views[0]
    run = HEART.run(CORNER)
    corner = np.isin(np.arange(SIDE * SIDE), CORNER.cells)
    stds = [np.sqrt(view.last.knowledge)[corner].mean() for view in (before, run.views[0])]
    notes = (
        "On the page, click a cell or drag over several to take their rows away, or to give rows "
        "to cells of the heart. The AUROC over all empty cells is "
        f"{auroc_text(run.numbers['sglb']['auroc'])}.",
    )
    text = (
        f"The outlined block has lost its {corner.sum() * run.settings.rows:,} rows. Nothing else "
        "has changed."
    )
    right = Between(float(stds[1] / stds[0]), (1.5, 10.0))
    answer = (
        f"It was {stds[0]:.2g} and is now {stds[1]:.2g}. Knowledge uncertainty depends on rows, "
        "not on places. The data uncertainty in the block is a guess: without rows nobody can "
        "know the noise."
    )
    return _shown(run, text, right, answer, notes, "shown")


def how_much_is_unknown() -> ComputedStep:
    """At CatBoost's temperature it ranks cells; at the posterior's it also has the right size."""
    run = HEART.run(POSTERIOR)
    rows = (POSTERIOR.rows, 100 * POSTERIOR.rows // 10)
    posterior = [run.numbers["sglb"]]
    posterior.append(HEART.run(replace(POSTERIOR, rows=rows[1])).numbers["sglb"])
    cold = HEART.run(replace(ONE, rows=rows[0])).numbers["sglb"]
    noise = float(np.sqrt(run.data.variance[run.data.in_support]).mean())
    error = noise / math.sqrt(rows[0])
    notes = (
        "The Langevin noise decides how much of it the models show. CatBoost divides that noise by "
        "the square root of the number of rows. This picture uses the temperature that samples "
        "from the posterior, with noise in splits and in leaves.",
    )
    shrinks = posterior[0]["filled"] / posterior[1]["filled"]
    text = (
        f"Each cell now has {rows[0]} rows. Their mean has a standard error of {error:.2g}: so "
        "much is unknown. These models sample from the posterior."
    )
    right = Largest(
        tuple(-abs(math.log(shrinks / factor)) for factor in (1.0, math.sqrt(10.0), 10.0))
    )
    answer = (
        f"Knowledge uncertainty is {posterior[0]['filled']:.2g}, and {shrinks:.1f} times "
        f"smaller with {rows[1]:,} rows; the square root of ten is 3.2. At CatBoost's temperature "
        f"it is {cold['filled']:.1g}: that ranks cells, but its size says nothing."
    )
    return _shown(run, text, right, answer, notes, "shown")


LESSON = Lesson(
    name="heart",
    title="What an ensemble knows about what it has never seen",
    lead="Eight pictures of one experiment, about ten minutes. All numbers are computed while "
    "you read.",
    page="heart",
    source="After Malinin, Prokhorenkova and Ustimenko, Uncertainty in gradient boosting via "
    "ensembles, section 4 (arXiv 2006.10562).",
    steps=(
        Step(
            "Noise that stays",
            "Which map repeats the true noise where there are rows?",
            ("Data", "Knowledge", "Neither"),
            ONE,
            noise_that_stays,
        ),
        Step(
            "Where nothing was ever seen",
            "How many of the cells without rows does it find?",
            ("As by chance", "Most", "All"),
            ONE,
            never_seen,
        ),
        Step(
            "Hidden in the total",
            "Would the total alone show you the empty cells?",
            ("Yes", "Only in part", "Hardly"),
            LINEAR,
            hidden_in_the_total,
        ),
        Step(
            "Watch it grow",
            "When does it reach half of its final size in the heart?",
            ("By tree 50", "By tree 500", "Later"),
            ONE,
            watch_it_grow,
        ),
        Step(
            "One model instead of ten",
            "What does the virtual ensemble get wrong?",
            ("The order of cells", "The size", "Nothing"),
            BOTH,
            one_model,
        ),
        Step(
            "Small steps",
            "Which ensemble suffers from smaller steps?",
            ("The ten models", "The virtual one", "Neither"),
            SLOW,
            small_steps,
        ),
        Step(
            "Take rows away",
            "What does knowledge uncertainty do in the block?",
            ("It stays", "It rises up to ten times", "It rises more"),
            CORNER,
            take_rows_away,
        ),
        Step(
            "How much is unknown",
            "Ten times the rows: how many times smaller does it get?",
            ("It stays", "About 3 times", "About 10 times"),
            POSTERIOR,
            how_much_is_unknown,
        ),
    ),
)

if __name__ == "__main__":
    raise SystemExit(main(LESSON))
