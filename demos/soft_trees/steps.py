"""Lesson: how many functions fit the same rows, and what a tree that is soft knows of them.

Cinquin, Rukat, Schmidt, Wistuba and Bekasov, "Variational boosted soft trees" (2022), sections 4
and 5.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from demos.lesson import Lesson, Shown, Step
from demos.soft_trees.parts import (
    SEEDS,
    VSGBM,
    VST,
    blend_width,
    charts_of,
    mean_of,
    names,
    numbers,
    over_seeds,
    spread_strip,
)
from gbuq_core.experiments.claims import times_text
from gbuq_core.experiments.soft_trees.claims import check_claims, rmse_beside_paper
from gbuq_core.experiments.soft_trees.fit import fit_soft_trees, run_soft_trees, view_soft_trees
from gbuq_core.experiments.soft_trees.look import (
    covariance_view,
    stages_view,
    tree_frames,
    tree_view,
)
from gbuq_core.experiments.soft_trees.models import estimate_soft_trees_seconds
from gbuq_core.experiments.soft_trees.plan import SoftTreesSettings, full_rank, plan_soft_trees
from gbuq_core.experiments.soft_trees.scores import score_all, score_soft_trees
from gbuq_core.experiments.soft_trees.words import describe_elbo, describe_soft_trees
from gbuq_core.figures.canvas.panels import Strip, StripLine
from gbuq_core.figures.soft_trees.charts import TreeFrames, correlation_sheet, tree_sheet
from gbuq_core.figures.soft_trees.strips import frames_from, functions_strip, scene_from
from gbuq_core.figures.theme import METHOD_STYLES


class SoftTreesPreset(NamedTuple):
    """What the Soft trees page is opened with."""

    settings: SoftTreesSettings


_ONE = SoftTreesSettings(methods=("vst",))
GATE = SoftTreesPreset(
    replace(_ONE, data="step", rows=75, depth=1, leaf="constant", beta=2.0, steps=1000)
)
TAILS = SoftTreesPreset(_ONE)
GAP = SoftTreesPreset(replace(_ONE, data="gap"))
FIELD = SoftTreesPreset(replace(_ONE, rank=0))
WAVELET = SoftTreesPreset(SoftTreesSettings(methods=("vst", "vsgbm"), data="wavelet"))
OTHERS = SoftTreesPreset(SoftTreesSettings(methods=("vst", "vsgbm", "sglb", "gp")))
COST = SoftTreesPreset(replace(OTHERS.settings, data="gap"))
SOFTEST, HARDEST, N_BETAS = 0.25, 32.0, 29
RANKS = (0, 2, 5, 10, 20)
_PLAYED, _STILL = 30, 12  # functions that are lifted out one by one; that stand behind others


def one_gate() -> Shown:
    """Beta turns a soft split into a hard one."""
    settings = GATE.settings
    betas = np.round(np.geomspace(SOFTEST, HARDEST, N_BETAS), 3)
    fits = [
        fit_soft_trees(plan_soft_trees(replace(settings, beta=float(beta)), "vst"))
        for beta in betas
    ]
    views = [tree_view(fit) for fit in fits]
    data = fits[0].data
    nothing = np.empty(0)
    frames = TreeFrames(
        x=data.x,
        steps=np.arange(len(betas)),
        gates=np.stack([view.gates for view in views]),
        reach=np.stack([view.reach for view in views]),
        leaves=np.stack([view.leaf_means for view in views]),
        output=np.stack([view.output for view in views]),
        elbo_steps=nothing,
        elbo=nothing,
        x_rows=data.X[:, 0],
        y_rows=data.y,
    )
    widths = [blend_width(view.gates[0], view.x) for view in views]
    scores = [
        score_soft_trees(fit, view_soft_trees(fit, settings), settings)
        for fit in (fits[0], fits[-1])
    ]  # fmt: skip
    start = int(np.abs(betas - settings.beta).argmin())
    words = (
        f"One gate and two leaves fitted to a step, for {len(betas)} values of beta from "
        f"{betas[0]:g} to {betas[-1]:g}: the wider the blend, the smoother the step."
    )
    sheet = tree_sheet(frames, data.y_range, start, words)
    sheet = replace(sheet, frame_label="beta", frame_values=betas.tolist())
    text = (
        f"The smallest soft tree: one gate, two leaves, {len(data.y)} rows of a step. A hard tree "
        "sends a row either left or right. The gate of a soft tree sends it right with the "
        "probability sigmoid(beta (w x + b)), and the tree says the mean of its leaves weighted "
        "with the probabilities of reaching them.",
        f"Play beta: each of the {len(betas)} frames is a fit of its own.",
    )
    answer = (
        f"At beta = {betas[0]:g} both leaves have a say of a tenth or more over {widths[0]:.2g} of "
        f"the {data.x[-1] - data.x[0]:g} that the picture spans, at {betas[-1]:g} over "
        f"{widths[-1]:.2g}, nearly a split. The step likes hard gates: the error of the mean falls "
        f"from {scores[0].rmse:.2f} to {scores[1].rmse:.2f} stds of the targets. Beta is no limit: "
        "the weight w multiplies it and is learned too. But w has a prior, and a steep gate of a "
        "small beta would need an unlikely w. What is soft has a gradient, and that is what the "
        "next pictures live on: it makes the whole tree fit for variational inference."
    )
    return Shown(text, answer, sheet)


def many_functions() -> Shown:
    """Draws of the posterior agree among the rows and fan out elsewhere."""
    tails, gap = run_soft_trees(TAILS.settings), run_soft_trees(GAP.settings)
    scores = [score_all(run)[0] for run in (tails, gap)]
    strips = []
    for run in (tails, gap):
        scene, functions = scene_from(run.data), run.views[0].functions
        strips.append(
            functions_strip(scene, run.data.title, functions[:_PLAYED], VST, spotlight=True)
        )
    strips += [spread_strip(run, f"{run.data.title}: std") for run in (tails, gap)]
    alt = " ".join(describe_soft_trees(run) for run in (tails, gap))
    sheet = replace(
        charts_of(strips, alt),
        frame_label="function",
        frame_values=list(range(1, _PLAYED + 1)),
        frames_per_second=3.0,
        start_frame=0,
    )
    (fit,), support = tails.fits, tails.data.support
    noise = [float(np.sqrt(tails.views[0].data[where]).mean()) for where in (support, ~support)]
    draws, n_parameters = len(tails.views[0].functions), len(fit.model.posterior_.mean)
    text = (
        f"A soft tree of depth {tails.settings.depth} has {n_parameters} parameters. Variational "
        "inference puts one Gaussian over all of them and makes it as like the posterior as it "
        "can. Every draw of the parameters is a whole tree, and so a whole function of x.",
        f"Two sets of {len(tails.data.y)} rows, tinted where rows can lie: tails end, and a gap. "
        "Play the functions: the line in ink is one of them at a time.",
    )
    answer = (
        f"Among the rows they agree: over {draws} draws their std there is "
        f"{scores[0].inside:.2g} target stds on the tails and {scores[1].inside:.2g} around the "
        f"gap. Elsewhere it is {scores[0].outside:.2g} and {scores[1].outside:.2g}: they fan out "
        f"{times_text(scores[0].fan_out)} and {times_text(scores[1].fan_out)}. That spread is the "
        "knowledge uncertainty below. But data uncertainty, the variance within one draw, grows "
        f"there, too: on the tails from {noise[0]:.2f} to {noise[1]:.2f}, while the true noise is "
        f"{tails.settings.noise:g} everywhere. A draw is a mixture of leaves, and where no row "
        "decides, its leaves disagree among themselves. Beyond the rows each leaf is a line that "
        "goes on, and nobody knows better; among them "
        f"{100 * scores[1].coverage:.0f} % of fresh rows around the gap lie in their 90 % "
        "interval, more than promised."
    )
    return Shown(text, answer, sheet)


def what_varies_together() -> Shown:
    """Correlations of the posterior, and what they change."""
    by_rank = {rank: over_seeds(FIELD.settings, rank=rank) for rank in RANKS}
    scores = {rank: numbers(runs) for rank, runs in by_rank.items()}
    gap = {rank: numbers(over_seeds(GAP.settings, rank=rank)) for rank in (0, 5)}
    first = [by_rank[rank][0] for rank in RANKS]
    views = [covariance_view(run.fits[0]) for run in first]
    scene = scene_from(first[0].data)
    functions = np.stack([run.views[0].functions[:_STILL] for run in first])
    ranks = np.array(RANKS, float)
    fan_out = np.array([[score.fan_out for score in scores[rank]] for rank in RANKS])
    lines = [
        StripLine(f"seed {seed}", fan_out[:, i], "text", weight=np.full(len(ranks), 0.4))
        for i, seed in enumerate(SEEDS)
    ]
    lines.append(StripLine("mean of the seeds", fan_out.mean(axis=1), VST))
    strips = [
        functions_strip(scene, "Functions, seed 0", functions, VST),
        Strip(
            title="Fan-out",
            x=ranks,
            lines=lines,
            x_label="rank",
            y_label="std without rows / with rows",
            y_limits=(0.0, 1.05 * float(fan_out.max())),
            legend=False,
            frame_x=ranks,
        ),
    ]
    last = views[-1]
    shown = ", ".join(
        f"{value:.1f} at rank {r}" for value, r in zip(fan_out.mean(1), RANKS, strict=True)
    )
    sheet = correlation_sheet(
        last.correlation, last.labels, [start for _, start, _ in last.groups],
        alt=f"Posterior correlations for ranks {names([str(rank) for rank in RANKS])}. "
        f"Mean fan-out: {shown}.",
    )  # fmt: skip
    panel = replace(sheet.panels[0], values=np.stack([view.correlation for view in views]))
    sheet = replace(
        sheet,
        panels=[panel], strips=strips, strip_columns=2, strip_height=170, panel_height=380,
        frame_label="rank", frame_values=list(RANKS), start_frame=RANKS.index(5),
        frames_per_second=1.0, name="soft-trees",
    )  # fmt: skip
    field, five = (np.array([score.fan_out for score in scores[rank]]) for rank in (0, 5))
    text = (
        f"The Gaussian's covariance is a diagonal and a factor of low rank. With rank 0, mean "
        f"field, all {last.n_parameters} parameters are independent; the full rank, "
        f"{full_rank('vst', 3, 'linear')}, would allow any correlations.",
        "Play the ranks. The last chart is how much wider functions spread without rows "
        f"than with them, for {len(SEEDS)} seeds of rows and start.",
    )
    strongest = views[RANKS.index(5)].strongest
    assert strongest is not None
    answer = (
        f"At rank 5 the strongest correlation is {strongest[2]:+.2f}, of {strongest[0]} and "
        f"{strongest[1]}: parameters that move together without moving the function much among "
        "the rows. Mean field forbids that and has to squeeze each of them. On the tails the "
        f"fan-out is {field.mean():.1f} on average at rank 0 and {five.mean():.1f} at rank 5, "
        f"higher for {int((five > field).sum())} of {len(SEEDS)} seeds. It does not go on rising: "
        f"{fan_out[-1].mean():.1f} at rank {RANKS[-1]}. Around the gap rank hardly matters, "
        f"{mean_of(gap[0], 'fan_out'):.1f} and {mean_of(gap[5], 'fan_out'):.1f}. Nor does a "
        "prediction gain: on the tails the NLL of fresh rows is "
        f"{mean_of(scores[0], 'nll'):.2f} nats at rank 0 and {mean_of(scores[5], 'nll'):.2f} at "
        f"rank 5, and the mean is off by {mean_of(scores[0], 'rmse'):.2f} and "
        f"{mean_of(scores[5], 'rmse'):.2f} target stds. A richer Gaussian is "
        "nearer to the posterior, which need not be nearer to the truth. And chance is "
        f"large: at rank 0 alone the fan-out goes from {field.min():.1f} to {field.max():.1f}."
    )
    return Shown(text, answer, sheet)


def several_trees() -> Shown:
    """One tree underfits what several fit; and which part of the gain is of the trees."""
    runs = over_seeds(WAVELET.settings)
    steps = over_seeds(WAVELET.settings, data="step")
    run = runs[0]
    one, many = zip(*(score_all(each) for each in runs), strict=True)
    step_one, step_many = zip(*(score_all(each) for each in steps), strict=True)
    alone = numbers(over_seeds(WAVELET.settings, methods=("vsgbm",), trees=1))
    deeper = run_soft_trees(replace(run.settings, methods=("vst",), depth=4))
    scene = scene_from(run.data)
    staged = stages_view(run.fits[1], run.settings).functions[:, :_STILL]
    strips = [
        functions_strip(scene, "VST, one tree", run.views[0].functions[:_STILL], VST),
        functions_strip(scene, "VSGBM, the sum so far", staged, VSGBM),
    ]
    sheet = replace(
        charts_of(strips, describe_soft_trees(run), height=220),
        frame_label="tree",
        frame_values=list(range(1, len(staged) + 1)),
        frames_per_second=1.5,
    )
    paper = {row.method: row for row in rmse_beside_paper(run, (one[0], many[0]))}
    text = (
        f"A wavelet: flat, then fast up and down, {len(run.data.y)} rows. A VSGBM is a boosted "
        f"sum, here of {len(staged)} soft trees, each fitted to what those before it leave, each "
        "with a posterior of its own.",
        "Play the trees of the sum.",
    )
    answer = (
        f"No: the mean of one tree is off by {mean_of(one, 'rmse'):.2f} target stds over "
        f"{len(SEEDS)} seeds, that of {len(staged)} trees by {mean_of(many, 'rmse'):.2f}. A deeper "
        f"tree hardly helps: with depth 4, {2**4} leaves, the one in the picture has "
        f"{score_all(deeper)[0].rmse:.2f} instead of {one[0].rmse:.2f}. But look at the first "
        f"tree of the sum: a VSGBM of one tree has {mean_of(alone, 'rmse'):.2f}, so that only part "
        "of the gain is boosting. Its trees say a mean with a single noise; VST's leaves are a "
        "mixture, each with a noise of its own, and may call swings noise. On a step there is "
        f"less to win: {mean_of(step_one, 'rmse'):.2f} with one tree and "
        f"{mean_of(step_many, 'rmse'):.2f} with several, and the NLL of fresh rows is better "
        f"with one ({mean_of(step_one, 'nll'):.2f} nats against "
        f"{mean_of(step_many, 'nll'):.2f}). In units of y the picture's errors are "
        f"{paper['vst'].here:.2f} and {paper['vsgbm'].here:.2f}; the paper has "
        f"{paper['vst'].paper:.2f} and {paper['vsgbm'].paper:.2f} and does not give its noise."
    )
    return Shown(text, answer, sheet)


def beside_others() -> Shown:
    """SGLB does not fan out; a Gaussian process does."""
    run = run_soft_trees(OTHERS.settings)
    scores = score_all(run)
    found = {score.method: score for score in scores}
    scene = scene_from(run.data)
    fewest = min(len(view.functions) for view in run.views)
    strips = [
        functions_strip(
            scene, view.label, view.functions[:fewest], METHOD_STYLES[view.method].colour, True
        )
        for view in run.views
    ]
    sheet = replace(
        charts_of(strips, describe_soft_trees(run, scores)),
        frame_label="function",
        frame_values=list(range(1, fewest + 1)),
        frames_per_second=3.0,
        start_frame=0,
    )
    claims = check_claims(run, scores)
    kept = sum(claim.verdict == "holds" for claim in claims)
    fans = names(
        [f"{found[key].label} {found[key].fan_out:.1f}" for key in OTHERS.settings.methods]
    )
    covers = names(
        [f"{found[key].label} {100 * found[key].coverage:.0f} %" for key in OTHERS.settings.methods]
    )
    best = min(scores, key=lambda score: score.nll)
    text = (
        "The same rows for four ways to believe in functions: one soft tree, a boosted sum of "
        f"them, {run.settings.members} boosted models trained with Langevin noise (SGLB), and a "
        "Gaussian process, which many know.",
        "All share their axes. Play the functions: one of each at a time is in ink.",
    )
    answer = (
        f"SGLB. Times wider without rows than with them: {fans}. Hard trees say beyond the last "
        "split whatever they say at the edge, all of them nearly the same; a soft tree's leaves "
        "are lines that go on, and a Gaussian process returns to its prior. How wide is right "
        "cannot be read off these rows. Where there are rows, 90 % intervals hold these shares of "
        f"fresh ones: {covers}. The best NLL there has the {best.label}, {best.nll:.2f} nats; "
        f"the VST has {found['vst'].nll:.2f}, the VSGBM {found['vsgbm'].nll:.2f} and SGLB "
        f"{found['sglb'].nll:.2f}. The curve is smooth, which is the home ground of a Gaussian "
        f"process. Of the paper's {len(claims)} statements about this picture {kept} hold here: "
        "soft trees agree among the rows, part beyond them, and SGLB parts less."
    )
    return Shown(text, answer, sheet)


def what_it_costs() -> Shown:
    """Seconds, bytes, and steps that were needed."""
    run = run_soft_trees(COST.settings)
    fit = run.fits[0]
    moments, path = tree_frames(fit), fit.elbo[0]
    sheet = replace(
        tree_sheet(frames_from(moments, path, fit.data), fit.data.y_range, -1, describe_elbo(fit)),
        name="soft-trees",
    )
    began = time.perf_counter()
    view = view_soft_trees(fit, run.settings)
    redraw = time.perf_counter() - began
    half = run_soft_trees(replace(_ONE, data="gap", steps=run.settings.steps // 2))
    quarter, full = (run_soft_trees(replace(GAP.settings, **knobs)) for knobs in (
        {"steps": run.settings.steps // 4}, {"rank": full_rank("vst", 3, "linear")}))  # fmt: skip
    seconds = names([f"{fit.label} {fit.seconds:.2g}" for fit in run.fits])
    memory = names(
        [f"{fit.label} {fit.memory_bytes / 1000:.0f}" for fit in run.fits if fit.memory_bytes]
    )
    scores = [score_all(each)[0] for each in (run, half, quarter)]
    tables = {
        n: estimate_soft_trees_seconds(plan_soft_trees(replace(_ONE, rows=n), "vst"))
        for n in (100, 1000)
    }
    text = (
        f"The whole training of the tree over the gap, {len(path.step):,} steps of gradient "
        "ascent on the evidence lower bound (ELBO): how well the draws explain the rows, less "
        "how far the Gaussian has moved from the prior.",
        "Play it: leaves are drawn as strongly as they are reached, under the tree in ink.",
    )
    answer = (
        f"On this machine the fits took, in seconds: {seconds}; with full rank the VST took "
        f"{full.fits[0].seconds:.2g}. They hold {memory} kB. After that "
        f"{len(view.functions)} new functions at {len(view.x)} places cost {1000 * redraw:.0f} ms "
        "and no training: a posterior is kept, not a set of members. Seconds grow with steps and "
        f"rows (about {tables[1000] / tables[100]:.1f} times from 100 to 1,000 rows) and "
        f"about double with each level of depth. Fewer steps would have done for the mean: with "
        f"{scores[2].rmse:.2f} target stds after {quarter.settings.steps:,}, {scores[1].rmse:.2f} "
        f"after {half.settings.steps:,} and {scores[0].rmse:.2f} after {run.settings.steps:,} it "
        f"is as near; functions part {times_text(scores[2].fan_out)}, "
        f"{times_text(scores[1].fan_out)} and {times_text(scores[0].fan_out)}."
    )
    return Shown(text, answer, sheet)


LESSON = Lesson(
    name="soft_trees",
    title="How many functions fit the same rows",
    lead="Six pictures of one method, about ten minutes. All numbers are computed as you read.",
    page="soft_trees",
    source="After Cinquin, Rukat, Schmidt, Wistuba and Bekasov, Variational boosted soft trees, "
    "sections 4 and 5 (arXiv 2302.10706).",
    steps=(
        Step("A soft gate", "What does beta do, and which beta does a step like?", GATE, one_gate),
        Step("Many functions", "Where do they agree, and where not?", GAP, many_functions),
        Step("What varies together", "Does rank 5 know more than rank 0?", FIELD,
             what_varies_together),
        Step("One tree or several", "Is one soft tree enough for a wavelet?", WAVELET,
             several_trees),
        Step("Beside others", "Which of the four does not notice that the rows end?", OTHERS,
             beside_others),
        Step("What it costs", "How long does it take, and could it have stopped earlier?", COST,
             what_it_costs),
    ),
)  # fmt: skip
