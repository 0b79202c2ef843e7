"""Lesson: how many functions fit the same rows, and what does a soft tree know of them?

Cinquin, Rukat, Schmidt, Wistuba and Bekasov, "Variational boosted soft trees" (2022), sections 4
and 5.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from demos.asking import Between, Largest
from demos.lesson import ComputedStep, Lesson, Step
from demos.soft_trees.parts import (
    SEEDS,
    VSGBM,
    VST,
    blend_width,
    charts_of,
    functions_strip,
    mean_of,
    numbers,
    over_seeds,
    score_all,
    spread_strip,
)
from gbuq_core.experiments.claims import times_text
from gbuq_core.figures.canvas.panels import Strip, StripLine
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.presentation import enumerated
from gbuq_core.study.soft_trees import PAPER_RMSE, SOFT_TREES, SoftTreesSettings, full_rank
from gbuq_core.study.soft_trees_inside import (
    TreeFrames,
    correlation_sheet,
    covariance_view,
    describe_elbo,
    stages_view,
    tree_frames,
    tree_sheet,
    tree_view,
)

TAILS = SoftTreesSettings(methods=("vst",))
GATE = replace(TAILS, data="step", rows=75, depth=1, leaf="constant", beta=2.0, steps=1000)
GAP = replace(TAILS, data="gap")
FIELD = replace(TAILS, rank=0)
WAVELET = SoftTreesSettings(methods=("vst", "vsgbm"), data="wavelet")
OTHERS = SoftTreesSettings(methods=("vst", "vsgbm", "sglb", "gp"))
COST = replace(OTHERS, data="gap")
SOFTEST, HARDEST, N_BETAS = 0.25, 32.0, 29
RANKS = (0, 2, 5, 10, 20)
_PLAYED, _STILL = 30, 12  # functions that are lifted out one by one; that stand behind others


def one_gate() -> ComputedStep:
    """Beta turns a soft split into a hard one."""
    settings = GATE
    betas = np.round(np.geomspace(SOFTEST, HARDEST, N_BETAS), 3)
    fits = [
        SOFT_TREES.fit(SOFT_TREES.plan(replace(settings, beta=float(beta)), "vst"))
        for beta in betas
    ]
    views = [tree_view(fit) for fit in fits]
    data = fits[0].data
    frames = TreeFrames(
        tree=0,
        step=np.arange(len(betas)),
        x=data.x,
        gates=np.stack([view.gates for view in views]),
        reach=np.stack([view.reach for view in views]),
        leaf_means=np.stack([view.leaf_means for view in views]),
        output=np.stack([view.output for view in views]),
    )
    widths = [blend_width(view.gates[0], view.x) for view in views]
    rmse = [SOFT_TREES.view(fit, settings).numbers["rmse"] for fit in (fits[0], fits[-1])]
    start = int(np.abs(betas - settings.beta).argmin())
    words = (
        f"One gate and two leaves fitted to a step, for {len(betas)} values of beta from "
        f"{betas[0]:g} to {betas[-1]:g}. A small beta mixes the leaves over a wide range of x."
    )
    sheet = tree_sheet(frames, data, start=start, alt=words)
    sheet = replace(sheet, frame_label="beta", frame_values=betas.tolist())
    notes = (
        f"Each of the {len(betas)} frames is a fit of its own to {len(data.y)} rows. The learned "
        "weight w multiplies beta, but w has a prior: with a small beta a steep gate would need "
        "an unlikely w.",
    )
    text = (
        "A soft tree's gate sends a row right with the probability sigmoid(beta (w x + b)). The "
        "mean weighs both leaves. Play beta."
    )
    right = Between(rmse[0] / rmse[1], (0.9, 1.1))
    answer = (
        f"RMSE: {rmse[0]:.2f} at beta = {betas[0]:g}, {rmse[1]:.2f} at "
        f"{betas[-1]:g}. The leaves blend over {widths[0]:.2g} and {widths[-1]:.2g} units of x. A "
        "step needs a steep gate, but a soft gate has a gradient to train by."
    )
    return ComputedStep(text, right, answer, sheet, notes)


def many_functions() -> ComputedStep:
    """Do draws of the posterior agree where there are rows, and spread elsewhere?"""
    tails, gap = SOFT_TREES.run(TAILS), SOFT_TREES.run(GAP)
    scores = [score_all(run)[0] for run in (tails, gap)]
    strips = []
    for run in (tails, gap):
        functions = run.views[0].functions
        strips.append(
            functions_strip(run.data, run.data.title, functions[:_PLAYED], VST, spotlight=True)
        )
    strips += [spread_strip(run, f"{run.data.title}: std") for run in (tails, gap)]
    alt = " ".join(SOFT_TREES.describe(run) for run in (tails, gap))
    sheet = replace(
        charts_of(strips, alt),
        frame_label="function",
        frame_values=list(range(1, _PLAYED + 1)),
        frames_per_second=3.0,
        start_frame=0,
    )
    (fit,), support = tails.fits, tails.data.support
    noise = [float(np.sqrt(tails.views[0].at.data[where]).mean()) for where in (support, ~support)]
    draws, n_parameters = len(tails.views[0].functions), len(fit.model.posterior_.mean)
    notes = (
        f"A soft tree of depth {tails.settings.depth} has {n_parameters} parameters. One Gaussian "
        f"over all of them is fitted to the posterior. Where there are rows, {draws} draws have a "
        f"std of {scores[0].inside:.2g} stds of y on the tails and {scores[1].inside:.2g} around "
        f"the gap. Where there are none, it is {scores[0].outside:.2g} and "
        f"{scores[1].outside:.2g}. The 90 % intervals around the gap hold "
        f"{100 * scores[1].coverage:.0f} % of new rows.",
    )
    text = (
        "Each draw from the posterior of a soft tree is a whole function. Play them. Rows can "
        "lie in the tinted parts."
    )
    right = Between(float(scores[1].fan_out), (1.2, 3.0))
    answer = (
        f"{times_text(scores[1].fan_out).capitalize()} as wide in the gap, "
        f"{times_text(scores[0].fan_out)} on the tails: this is knowledge uncertainty. There the "
        f"stated noise grows as well, from {noise[0]:.2f} to {noise[1]:.2f}; the truth is "
        f"{tails.settings.noise:g}. Leaves disagree where no row decides."
    )
    return ComputedStep(text, right, answer, sheet, notes)


def what_varies_together() -> ComputedStep:
    """Correlations of the posterior, and their effect."""
    by_rank = {rank: over_seeds(FIELD, rank=rank) for rank in RANKS}
    scores = {rank: numbers(runs) for rank, runs in by_rank.items()}
    gap = {rank: numbers(over_seeds(GAP, rank=rank)) for rank in (0, 5)}
    first = [by_rank[rank][0] for rank in RANKS]
    views = [covariance_view(run.fits[0]) for run in first]
    data = first[0].data
    functions = np.stack([run.views[0].functions[:_STILL] for run in first])
    ranks = np.array(RANKS, float)
    fan_out = np.array([[score.fan_out for score in scores[rank]] for rank in RANKS])
    lines = [
        StripLine(f"seed {seed}", fan_out[:, i], "text", weight=np.full(len(ranks), 0.4))
        for i, seed in enumerate(SEEDS)
    ]
    lines.append(StripLine("mean of the seeds", fan_out.mean(axis=1), VST))
    strips = [
        functions_strip(data, "Functions, seed 0", functions, VST),
        Strip(
            title="Spread without rows",
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
    spreads = ", ".join(
        f"{value:.1f} at rank {r}" for value, r in zip(fan_out.mean(1), RANKS, strict=True)
    )
    sheet = correlation_sheet(
        last,
        alt=f"Posterior correlations for ranks {enumerated([str(rank) for rank in RANKS])}. "
        f"Mean spread without rows, relative to with rows: {spreads}.",
    )
    values = np.stack([view.correlation for view in views])
    panel = replace(sheet.panels[0], values=values, subtitle="")
    sheet = replace(
        sheet,
        panels=[panel],
        strips=strips,
        strip_columns=2,
        strip_height=170,
        panel_height=380,
        frame_label="rank",
        frame_values=list(RANKS),
        start_frame=RANKS.index(5),
        frames_per_second=1.0,
        name="soft-trees",
    )
    field, five = (np.array([score.fan_out for score in scores[rank]]) for rank in (0, 5))
    strongest = views[RANKS.index(5)].strongest
    assert strongest is not None
    notes = (
        "The covariance is a diagonal plus a low-rank factor. The full rank, "
        f"{full_rank('vst', 3, 'linear')}, allows any correlations. At rank 5 the strongest is "
        f"{strongest[2]:+.2f}, between {strongest[0]} and {strongest[1]}. Rank 0 cannot express "
        "it, and makes both narrower instead.",
        f"At rank {RANKS[-1]} the functions spread {fan_out[-1].mean():.1f} times as wide. Around "
        f"the gap it is {mean_of(gap[0], 'fan_out'):.1f} times at rank 0 and "
        f"{mean_of(gap[5], 'fan_out'):.1f} at rank 5. At rank 0 alone, the seeds go from "
        f"{field.min():.1f} to {field.max():.1f} times. The RMSE of the mean is "
        f"{mean_of(scores[0], 'rmse'):.2f} and {mean_of(scores[5], 'rmse'):.2f} stds of y.",
    )
    text = (
        f"Rank 0 treats all {last.n_parameters} parameters as independent. A higher rank lets "
        "them vary together. Play the ranks."
    )
    right = Largest((mean_of(scores[0], "nll") - mean_of(scores[5], "nll"), 0.02))
    answer = (
        f"NLL: {mean_of(scores[0], 'nll'):.2f} at rank 0, {mean_of(scores[5], 'nll'):.2f} at rank "
        f"5. Without rows the functions spread {field.mean():.1f} and {five.mean():.1f} times as "
        f"wide, more at rank 5 for {int((five > field).sum())} of {len(SEEDS)} seeds. Coming "
        "closer to the posterior need not improve predictions."
    )
    return ComputedStep(text, right, answer, sheet, notes)


def several_trees() -> ComputedStep:
    """Does one tree underfit, and how much of the gain comes from having several?"""
    runs = over_seeds(WAVELET)
    steps = over_seeds(WAVELET, data="step")
    run = runs[0]
    single, many = zip(*(score_all(each) for each in runs), strict=True)
    step_one, step_many = zip(*(score_all(each) for each in steps), strict=True)
    alone = numbers(over_seeds(WAVELET, methods=("vsgbm",), trees=1))
    deeper = SOFT_TREES.run(replace(run.settings, methods=("vst",), depth=4))
    staged = stages_view(run.fits[1], run.settings).functions[:, :_STILL]
    strips = [
        functions_strip(run.data, "VST, one tree", run.views[0].functions[:_STILL], VST),
        functions_strip(run.data, "VSGBM, the sum so far", staged, VSGBM),
    ]
    sheet = replace(
        charts_of(strips, SOFT_TREES.describe(run), height=220),
        frame_label="tree",
        frame_values=list(range(1, len(staged) + 1)),
        frames_per_second=1.5,
    )
    paper = PAPER_RMSE[run.data.key]
    here = [score.rmse * run.data.target_std for score in (single[0], many[0])]
    notes = (
        f"Numbers are means of {len(SEEDS)} seeds. With depth 4 one tree has "
        f"{score_all(deeper)[0].rmse:.2f} instead of {single[0].rmse:.2f}. On a step, one tree has "
        f"{mean_of(step_one, 'rmse'):.2f} and several have {mean_of(step_many, 'rmse'):.2f}, with "
        f"an NLL of new rows of {mean_of(step_one, 'nll'):.2f} and "
        f"{mean_of(step_many, 'nll'):.2f} nats. In units of y, the RMSEs of the picture are "
        f"{here[0]:.2f} and {here[1]:.2f}. The paper has "
        f"{paper['vst']:.2f} and {paper['vsgbm']:.2f}, and does not give its noise.",
    )
    text = (
        "A wavelet is flat at first, then fast up and down. A VSGBM is a boosted sum of "
        f"{len(staged)} soft trees. Play the sum."
    )
    right = Between(-mean_of(many, "rmse") / mean_of(single, "rmse"), (-0.8, -0.5))
    answer = (
        f"One tree: {mean_of(single, 'rmse'):.2f}; {len(staged)} trees: {mean_of(many, 'rmse'):.2f}"
        f" stds of y. A VSGBM of one tree has {mean_of(alone, 'rmse'):.2f} already: it has one "
        "noise for all rows, so no leaf can take the swings for noise."
    )
    return ComputedStep(text, right, answer, sheet, notes)


def beside_others() -> ComputedStep:
    """Which of four methods spread outside the rows?"""
    run = SOFT_TREES.run(OTHERS)
    scores = score_all(run)
    of = {score.method: score for score in scores}
    fewest = min(len(view.functions) for view in run.views)
    strips = [
        functions_strip(
            run.data,
            view.fit.label,
            view.functions[:fewest],
            METHOD_STYLES[view.method].colour,
            True,
        )
        for view in run.views
    ]
    sheet = replace(
        charts_of(strips, SOFT_TREES.describe(run)),
        frame_label="function",
        frame_values=list(range(1, fewest + 1)),
        frames_per_second=3.0,
        start_frame=0,
    )
    claims = SOFT_TREES.judge(run)
    held = sum(claim.verdict == "holds" for claim in claims)
    fans = enumerated([f"{of[key].label} {of[key].fan_out:.1f}" for key in OTHERS.methods])
    covers = enumerated(
        [f"{of[key].label} {100 * of[key].coverage:.0f} %" for key in OTHERS.methods]
    )
    best = min(scores, key=lambda score: score.nll)
    notes = (
        f"SGLB has {run.settings.members} models. Where there are rows, the 90 % intervals hold "
        f"these shares of new rows: {covers}. {best.label} has the best NLL there, "
        f"{best.nll:.2f} nats; VST has {of['vst'].nll:.2f}, VSGBM {of['vsgbm'].nll:.2f} and "
        f"SGLB {of['sglb'].nll:.2f}. Of the paper's {len(claims)} statements about this "
        f"picture, {held} hold here.",
    )
    text = (
        "Four methods give functions for the same rows. All charts have the same axes. Play the "
        "functions."
    )
    right = Largest(tuple(-of[key].fan_out for key in OTHERS.methods))
    answer = (
        f"Spread outside over inside: {fans}. A hard tree repeats its last value, a soft leaf is "
        "a line that goes on, a Gaussian process returns to its prior. These rows cannot tell "
        "which width is right."
    )
    return ComputedStep(text, right, answer, sheet, notes)


def what_it_costs() -> ComputedStep:
    """Seconds, bytes, and how many steps are needed."""
    run = SOFT_TREES.run(COST)
    fit = run.fits[0]
    n_steps = len(fit.elbo[0].step)
    sheet = replace(
        tree_sheet(tree_frames(fit), fit.data, fit.elbo[0], alt=describe_elbo(fit)),
        name="soft-trees",
    )
    began = time.perf_counter()
    view = SOFT_TREES.view(fit, run.settings)
    redraw = time.perf_counter() - began
    half = SOFT_TREES.run(replace(GAP, steps=run.settings.steps // 2))
    quarter, full = (
        SOFT_TREES.run(replace(GAP, **knobs))
        for knobs in ({"steps": run.settings.steps // 4}, {"rank": full_rank("vst", 3, "linear")})
    )
    seconds = enumerated([f"{fit.label} {fit.seconds:.2g}" for fit in run.fits])
    memory = enumerated(
        [f"{fit.label} {fit.memory_bytes / 1000:.0f}" for fit in run.fits if fit.memory_bytes]
    )
    scores = [score_all(each)[0] for each in (run, half, quarter)]
    notes = (
        "The ELBO is how well the draws explain the rows, minus how far the Gaussian has moved "
        "away from the prior. A leaf's line is strong where the leaf has a large weight.",
        f"Seconds of training: {seconds}. VST with full rank took {full.fits[0].seconds:.2g}. The "
        f"models take, in kB: {memory}. The time grows in proportion to the rows. The functions "
        f"spread {times_text(scores[2].fan_out)}, {times_text(scores[1].fan_out)} and "
        f"{times_text(scores[0].fan_out)} as wide without rows.",
    )
    text = (
        f"Training is {n_steps:,} steps of gradient ascent on the evidence lower bound "
        "(ELBO). Play them."
    )
    right = Between(scores[2].rmse / scores[0].rmse, (1.3, 2.0))
    answer = (
        f"RMSE after {quarter.settings.steps:,}, {half.settings.steps:,} and "
        f"{run.settings.steps:,} steps: {scores[2].rmse:.2f}, {scores[1].rmse:.2f} and "
        f"{scores[0].rmse:.2f} stds of y. Training VST took {fit.seconds:.2g} s; "
        f"{len(view.functions)} new functions take {1000 * redraw:.0f} ms, because the model "
        "keeps a posterior, not members."
    )
    return ComputedStep(text, right, answer, sheet, notes)


LESSON = Lesson(
    name="soft_trees",
    title="How many functions fit the same rows?",
    lead="Six pictures of one method, about ten minutes. All numbers are computed as you read.",
    page="soft_trees",
    source="After Cinquin, Rukat, Schmidt, Wistuba and Bekasov, Variational boosted soft trees, "
    "sections 4 and 5 (arXiv 2302.10706).",
    steps=(
        Step(
            "A soft gate",
            "Which beta fits the step better?",
            ("A small one", "No difference", "A large one"),
            GATE,
            one_gate,
        ),
        Step(
            "Many functions",
            "How much wider do they spread in the gap?",
            ("Not wider", "Up to 3 times", "More"),
            GAP,
            many_functions,
        ),
        Step(
            "What varies together",
            "Does rank 5 predict new rows better than rank 0?",
            ("Yes", "No"),
            FIELD,
            what_varies_together,
        ),
        Step(
            "One tree or several",
            "How large is its RMSE, against one tree?",
            ("As large", "50 to 80 %", "Under half"),
            WAVELET,
            several_trees,
        ),
        Step(
            "Beside others",
            "Which spreads least where the rows end?",
            ("VST", "VSGBM", "SGLB", "Gaussian process"),
            OTHERS,
            beside_others,
        ),
        Step(
            "What it costs",
            "How much worse is the mean after a quarter of them?",
            ("Up to 30 %", "30 to 100 %", "More"),
            COST,
            what_it_costs,
        ),
    ),
)
