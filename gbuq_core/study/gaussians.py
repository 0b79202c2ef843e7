"""25 Gaussians: samplers race over a target with many modes. Can one chain find them all?

Tan, Huertas and Zhao, "Efficient and effective uncertainty quantification in gradient boosting via
cyclical gradient MCMC", section 5.1. Read from top to bottom: numbers, claims, picture, words.
`gaussians_race` has the settings, the chains, and the closer look at one cycle.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from gbuq_core.experiments.claims import VERDICTS, Threshold, verdict_of
from gbuq_core.experiments.experiment import Closer
from gbuq_core.figures.canvas.live import offered
from gbuq_core.figures.canvas.panels import Line, Panel, PanelSheet, Points, Strip, StripLine
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.knobs import Knob
from gbuq_core.methods import SAMPLERS
from gbuq_core.presentation import percent, short
from gbuq_core.sampling.counting import VISIT_SAMPLES
from gbuq_core.settings import arguments, plan_of
from gbuq_core.study.gaussians_race import (
    ABOUT_CYCLE,
    CHARTS,
    SCALES,
    SHOWN,
    GaussiansSettings,
    Ints,
    SamplerRun,
    TargetGrid,
    cycle_section,
    run_sampler,
    target_grid,
)
from gbuq_core.study.study import Claim, Row, Run, Study, fill
from gbuq_core.validation import check_choice

Floats = npt.NDArray[np.floating]

# --- Numbers --------------------------------------------------------------------------------------


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
    )


_NUMBERS = ("No", "One", "Two", "Three", "Four")


def score(run: Run) -> dict[str, dict[str, Any]]:
    """Each sampler's numbers, what its verdict and its sentences say, and what is said once."""
    settings, truth = run.settings, run.data
    several, many = len(settings.samplers) > 1, settings.chains > 1
    shared = {
        "n_modes": float(truth.n_modes),
        "own": truth.share_in_modes,
        "chains": float(settings.chains),
        "median": f" (the median of {settings.chains} chains)" * many,
        "noise": settings.noise,
        "noise_nsgld": settings.noise_nsgld,
    }
    scores = {view.method: {**shared, **_numbers_of(view, run)} for view in run.views}
    judged = {key: each for key, each in scores.items() if "visited" in each}
    if {"clr", "cg"} <= set(judged):
        plans = [next(v.plan for v in run.views if v.method == key) for key in ("clr", "cg")]
        judged["cg"] |= _likeness(judged["clr"], judged["cg"], *plans)
    if "nsgld" in judged:
        judged["nsgld"] |= _with_noise(judged["nsgld"])
    starts = "starts" if many else "start"
    return {
        "": {
            **shared,
            "corner": truth.label,
            "noun": "modes" if truth.n_modes > 1 else "mode",
            "s": "s" * many,
            "steps": float(settings.steps),
            "each": f" for each sampler, from the same {starts}" * several,
            "a_chain": ", a chain" * many,
            "answer": _answer(scores, run),
            "unsaid": _why_no_claims(run),
        },
        **scores,
    }


def _numbers_of(view: SamplerRun, run: Run) -> dict[str, Any]:
    """A sampler's numbers and words; ``visited`` where the paper speaks of it."""
    kept, label = int(view.n_kept[-1]), SAMPLERS[view.method].label
    numbers: dict[str, Any] = {"label": label, "kept": float(kept), **vars(score_sampler(view))}
    numbers["found"] = fill(_FOUND, numbers) if kept else "; no sample was kept"
    numbers["stopped"] = view.stopped * bool(kept)
    if not kept:
        numbers["sample_size"] = math.nan
    if run.settings.chains == 1:
        numbers["all_modes_visited"] = math.nan  # it is the one above
    if run.settings.target != "gaussians25" or kept < VISIT_SAMPLES * view.n_chains:
        return numbers
    visited = numbers["modes_visited"]
    numbers |= {"visited": visited, "plural": "s" * (visited != 1), "keeps": _kept_text(view.plan)}
    if view.method == "sgld":
        verdict = _TRAPPED.judge(visited)
        numbers |= {"visited_verdict": verdict, "ending": _TRAPPED_SAID[verdict]}
        if visited < 1:
            ending = "it settles in no mode, so it is not trapped in one"
            numbers |= {"visited_verdict": "does not hold", "ending": ending}
    if view.method in ("clr", "cg"):
        verdict = _EXPLORES.judge(visited)
        numbers |= {"visited_verdict": verdict, "ending": _EXPLORED_SAID[verdict]}
        blurred = numbers["share_in_modes"] < BLURRED * run.data.share_in_modes
        if blurred and verdict in ("holds", "more than claimed"):
            ending = "but passes through them rather than locates them"
            numbers |= {"visited_verdict": "partly", "ending": ending}
    return numbers


def _with_noise(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """N-SGLD's verdict; none where its noise is not larger than the others', or they have none."""
    noise, more = numbers["noise"], numbers["noise_nsgld"]
    visited, share = numbers["visited"], numbers["share_in_modes"]
    if noise == 0 or more <= noise:
        return {"visited": math.nan}
    by_modes = verdict_of(-visited, -NEARLY_TRAPPED, 1 - PAPER_MODES)
    by_share = verdict_of(-share / numbers["own"], -BLURRED, -CLEAR)
    verdict = min(by_modes, by_share, key=VERDICTS.index)
    own, lie = percent(numbers["own"]), f"{percent(share)} of its samples lie in a mode"
    if verdict == "does not hold":
        ending = f", and {lie} (the target itself: {own}). This much noise does solve it here."
    elif by_share == verdict:
        but = "but" if visited >= PAPER_MODES else "and"
        only = "only" if verdict == "holds" else "no more than"
        ending = f", {but} {only} {lie} (the target itself: {own})."
        if more > 1:
            ending += f" It samples the density at {more**2:g} times the temperature."
    else:
        ending = f": it explores {'hardly' if verdict == 'holds' else 'little'} more."
    return {"visited_verdict": verdict, "ending": ending}


def _likeness(
    clr: Mapping[str, Any],
    cg: Mapping[str, Any],
    clr_plan: GaussiansSettings,
    cg_plan: GaussiansSettings,
) -> dict[str, Any]:
    """How alike both cycles are; nothing is alike where neither explores."""
    most = max(clr["modes_explored"], cg["modes_explored"])
    if most < PAPER_MODES / 2:
        return {}
    apart = abs(clr["modes_explored"] - cg["modes_explored"]) / most
    more = "cg-SGLD" if cg["modes_explored"] > clr["modes_explored"] else "clr-SGLD"
    rules = f"Both keep {cg['keeps']}."
    if clr_plan.exploration != cg_plan.exploration:
        rules = (
            f"cg-SGLD keeps {cg['keeps']}, and clr-SGLD keeps {clr['keeps']}. This affects the "
            "numbers that follow."
        )
    theirs = {f"clr_{name}": value for name, value in clr.items()}
    said = _ALIKE_SAID[_ALIKE.judge(apart)].format(more=more)
    return {**theirs, "apart": apart, "alike": said, "rules": rules}


def _kept_text(plan: GaussiansSettings) -> str:
    """Which of its samples a cyclical sampler keeps."""
    if not plan.exploration:
        return "all samples"
    return f"the samples after the first {short(100 * plan.exploration)} % of each cycle"


def _answer(scores: Mapping[str, Mapping[str, Any]], run: Run) -> str:
    """Can one chain find all the modes? One sentence on the samplers of a race."""
    n, least = run.data.n_modes, BLURRED * run.data.share_in_modes
    kept = [each for each in scores.values() if each["kept"]]
    clear = [(s["modes_visited"], s["label"]) for s in kept if s["share_in_modes"] >= least]
    parts = []
    if clear:
        (most, best), (fewest, last) = max(clear), min(clear)
        which = f"{most:g} of the {n} modes"
        if most == n:
            which = "the only mode" if n == 1 else f"all {n} modes"
        others = f", {last} only {fewest:g}" * (fewest < most)
        parts.append(f"{best} finds {which}{kept[0]['median']}{others}")
    parts += [
        f"{s['label']} finds {s['modes_visited']:g}, but {100 * (1 - s['share_in_modes']):.0f} % "
        "of its samples lie between modes"
        for s in kept
        if s["share_in_modes"] < least
    ]
    return "; ".join(parts) + "." * bool(parts)


def _why_no_claims(run: Run) -> str:
    """Why none of the paper's statements applies; empty without samplers."""
    if run.settings.target != "gaussians25":
        return "The paper's statements are about the 25 Gaussians. Choose them as the target."
    if not run.views:
        return ""
    return (
        "None of the paper's statements applies. They need chains that keep at least 50 samples. "
        "The one on N-SGLD also needs more noise for N-SGLD than for the others, and the others "
        "must have some noise."
    )


# --- Claims ---------------------------------------------------------------------------------------

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
_TRAPPED_SAID = {
    "holds": "it stays where it fell",
    "partly": "it gets out, but not far",
    "does not hold": "it is not trapped",
}
_EXPLORED_SAID = {
    "more than claimed": "more than in the paper",
    "holds": "as in the paper",
    "partly": "fewer than in the paper",
    "does not hold": "less than half of the paper's",
}
_ALIKE_SAID = {
    "holds": "much the same",
    "partly": "{more} explores somewhat more",
    "does not hold": "{more} explores far more",
}

# About the 25 Gaussians (section 5.1)
CLAIMS = (
    Claim(
        "trapped",
        "SGLD gets trapped in local modes, depending on where it starts.",
        "SGLD visits {visited:g} of {n_modes:g} modes{median} and changes its mode "
        "{mode_changes:digits} times: {ending}.",
        "visited", _TRAPPED, ("sgld",), chip="SGLD is trapped",
        form="{visited:g} mode{plural}", rule=f"{_TRAPPED.text} It must visit one.",
    ),
    Claim(
        "noise",
        "Increasing the noise scale does not solve the problem.",
        "With a noise scale of {noise_nsgld:g} instead of {noise:g} N-SGLD visits {visited:g} of "
        "{n_modes:g} modes{median}{ending}",
        "visited", _TRAPPED, ("nsgld",), chip="More noise does not help",
        form="{visited:g} modes, {share_in_modes:share} in modes",
        rule=f"Holds if N-SGLD visits at most {NEARLY_TRAPPED} modes, partly below {PAPER_MODES}. "
        f"It also holds if the share of its samples in modes is at most {100 * BLURRED:g} % of the "
        f"target's own, partly up to {100 * CLEAR:g} %.",
    ),
    Claim(
        "cycles:{method}",
        "{label} explores and locates roughly 7 to 8 different modes.",
        "{label} visits {visited:g} of {n_modes:g} modes{median}, {ending}. It keeps {keeps}; "
        "{share_in_modes:share} of them lie in a mode, with an occupancy error of "
        "{occupancy_error:digits}.",
        "visited", _EXPLORES, ("clr", "cg"), chip="{label} finds 7 to 8 modes",
        form="{visited:g} mode{plural}",
        rule=f"{_EXPLORES.text} At least half as many samples as the target's own must lie in "
        "modes.",
    ),
    Claim(
        "alike",
        "Cycles of the gradient's scale explore with effects similar to cycles of the step size.",
        "Counting all steps, cg-SGLD visits {modes_explored:g} of {n_modes:g} modes and clr-SGLD "
        "{clr_modes_explored:g}: {alike}. {rules} Modes visited by kept samples: "
        "{modes_visited:g} and {clr_modes_visited:g}; in a mode: {share_in_modes:share} and "
        "{clr_share_in_modes:share}; KL to the target: {grid_kl:digits} and {clr_grid_kl:digits} "
        "nats.",
        "apart", _ALIKE, ("cg",), name="difference",
    ),
)  # fmt: skip


def describe_settings(settings: GaussiansSettings) -> str:
    """Whether the verdicts are about the paper's settings; seeds and samplers are free."""
    paper = GaussiansSettings(samplers=settings.samplers, seed=settings.seed)
    if all(plan_of(settings, each) == plan_of(paper, each) for each in settings.samplers):
        return "In the paper's settings, as far as it states them."
    return "At these settings, which are not all the paper's."


# --- Picture: a column a sampler with the target first, a map above and charts below it -----------

# Marginals reach so many times the target's highest: a trapped chain is cut off, not the others.
_MARGINAL_ROOM = 2.2
# Step sizes that fall by a factor between these are drawn on a logarithmic axis.
_SMALLEST_FALL, _LARGEST_FALL = 20.0, 2000.0


def chart_rows(
    truth: TargetGrid, runs: Sequence[SamplerRun], charts: Collection[str]
) -> list[Strip]:
    """The chosen rows of charts, each with one chart of all samplers and one for each of them."""
    if not runs:
        return []
    rows = [_ROWS[chart](truth, runs, runs[0].steps) for chart in CHARTS if chart in charts]
    # The headings of the maps above tell the colours; legends would take more room than the
    # charts. On a narrow page those headings come later.
    return [
        replace(strip, legend=False if column else "narrow")
        for row in rows
        for column, strip in enumerate(row)
    ]


def _compare(title: str, runs: Sequence[SamplerRun], frames: Ints, part: str) -> Strip:
    """All samplers in one chart, as far as the race has gone."""
    lines = [
        StripLine(SAMPLERS[run.method].label, getattr(run, part), SAMPLERS[run.method].colour)
        for run in runs
        if np.array_equal(run.steps, frames)
    ]
    return Strip(title=title, x=frames, lines=lines, x_label="step", mode="grow", frame_x=frames)


def _modes_row(truth: TargetGrid, runs: Sequence[SamplerRun], frames: Ints) -> list[Strip]:
    most = max(1, truth.n_modes)
    title = "Modes, a chain" if any(run.n_chains > 1 for run in runs) else "Modes visited"
    visited = _compare(title, runs, frames, "modes_visited")
    row = [replace(visited, y_limits=(0.0, 1.04 * most))]
    for run in runs:
        x, y = _segments(run.stay_steps, run.stay_modes, int(run.steps[-1]))
        style = SAMPLERS[run.method]
        row.append(
            Strip(
                title=f"{style.label}: mode",
                x=x,
                lines=[StripLine(style.label, y, style.colour)],
                x_label="step",
                y_limits=(0.0, 1.04 * most),
                mode="grow",
                frame_x=_cursor(run, frames),
                alt=f"{style.label}: which mode chain 1 is in, "
                f"{len(np.unique(run.stay_modes[run.stay_modes >= 0]))} of them in all.",
            )
        )
    return row


def _cursor(run: SamplerRun, frames: Ints) -> Ints:
    """Where the cursor stands; at the end for a run that stands still."""
    return frames if np.array_equal(run.steps, frames) else np.full(len(frames), run.steps[-1])


def _segments(steps: Ints, modes: Ints, end: int) -> tuple[Floats, Floats]:
    """Level lines, one a stay in a mode, with gaps between them: x and y with NaN.

    >>> x, y = _segments(np.array([0, 10, 20, 30]), np.array([4, 4, -1, 2]), 40)
    >>> x.tolist()
    [0.0, 0.0, 20.0, 20.0, 30.0, 40.0, 40.0, 40.0]
    >>> y.tolist()
    [nan, 5.0, 5.0, nan, 3.0, 3.0, nan, nan]
    """
    starts = np.flatnonzero(np.append(True, modes[1:] != modes[:-1]))
    ends = np.append(steps[starts[1:]], end)
    inside = modes[starts] >= 0
    first, last = steps[starts][inside], ends[inside]
    number = modes[starts][inside] + 1.0
    x = np.column_stack([first, last, last]).ravel()
    y = np.column_stack([number, number, np.full(len(number), np.nan)]).ravel()
    # The axis spans all steps, whenever the first and the last stay are.
    whole = np.concatenate([[0.0], x, [end]])
    return whole, np.concatenate([[np.nan], y, [np.nan]])


def _schedules_row(truth: TargetGrid, runs: Sequence[SamplerRun], frames: Ints) -> list[Strip]:
    share = _compare("Share in a mode", runs, frames, "share_in_modes")
    row = [replace(share, y_limits=(0.0, 1.04))]
    for run in runs:
        style = SAMPLERS[run.method]
        limit = np.full(len(run.sizes), truth.step_limit)
        row.append(
            Strip(
                title=f"{style.label}: size",
                x=run.size_steps,
                lines=[
                    StripLine("longest stable", limit, "text", dash=True),
                    StripLine(style.label, run.sizes, style.colour),
                ],
                x_label="step",
                log=_falls_far(run.sizes),
                shaded=[(float(low), float(high)) for low, high in run.exploring],
                # The end of the last of the cycles shown, not the start of the first.
                frame_x=(_cursor(run, frames) - 1) % run.size_span + 1,
            )
        )
    return row


def _falls_far(sizes: Floats) -> bool:
    """Whether a linear axis would show the first steps only; not for sizes that come to zero."""
    lowest, highest = float(sizes.min()), float(sizes.max())
    return highest / _LARGEST_FALL < lowest < highest / _SMALLEST_FALL


def _marginal_row(
    axis: str, first: Strip, truth: TargetGrid, runs: Sequence[SamplerRun], frames: Ints
) -> list[Strip]:
    edges = np.asarray(getattr(truth, f"edges_{axis}"))
    centres = (edges[1:] + edges[:-1]) / 2
    true = np.asarray(getattr(truth, f"marginal_{axis}"))
    row = [first]
    for run in runs:
        style = SAMPLERS[run.method]
        values = getattr(run, f"marginal_{axis}")
        if not np.array_equal(run.steps, frames):
            values = np.tile(values[-1], (len(frames), 1))
        row.append(
            Strip(
                title=f"{style.label}: {axis}",
                x=centres,
                lines=[
                    StripLine("target", true, "text", dash=True),
                    StripLine(style.label, values, style.colour),
                ],
                x_label=axis,
                y_limits=(0.0, _MARGINAL_ROOM * float(true.max())),
                mode="frame",
            )
        )
    return row


def _x_row(truth: TargetGrid, runs: Sequence[SamplerRun], frames: Ints) -> list[Strip]:
    first = _compare("KL, nats", runs, frames, "divergence")
    highest = max(float(np.nanmax(line.y, initial=0.0)) for line in first.lines)
    first = replace(first, y_limits=(0.0, 1.05 * highest or 1.0))
    return _marginal_row("x", first, truth, runs, frames)


def _y_row(truth: TargetGrid, runs: Sequence[SamplerRun], frames: Ints) -> list[Strip]:
    first = _compare("Occupancy error", runs, frames, "occupancy_error")
    return _marginal_row("y", replace(first, y_limits=(0.0, 1.04)), truth, runs, frames)


_ROWS: Mapping[str, Any] = {
    "modes": _modes_row,
    "schedules": _schedules_row,
    "x": _x_row,
    "y": _y_row,
}


# A log scale spans so many times less than the target's highest cell.
_LOG_SPAN = 1e-4
_HEIGHTS = {2: 260, 3: 240}
_MOST_MAPS, _LARGE = 4, 270  # of the page's first picture; pixels high


def picture(run: Run, knobs: Sequence[LiveKnob]) -> PanelSheet:
    """The target and every sampler side by side, with charts below them."""
    truth, runs, view = run.data, run.views, run.settings
    check_choice("shown", view.shown, SHOWN)
    check_choice("scale", view.scale, SCALES)
    for chart in view.charts:
        check_choice("charts", chart, CHARTS)
    frames = runs[0].steps if runs else np.array([0])
    columns = 1 + len(runs)
    return PanelSheet(
        panels=[
            _target_panel(truth, runs, view),
            *(_panel(truth, run, view, frames) for run in runs),
        ],
        columns=columns,
        x_label="x",
        y_label="y",
        x_extent=(float(truth.edges_x[0]), float(truth.edges_x[-1])),
        y_extent=(float(truth.edges_y[0]), float(truth.edges_y[-1])),
        panel_height=_HEIGHTS.get(columns, 230),
        frame_label="step",
        frame_values=[int(n) for n in frames] if len(frames) > 1 else None,
        frames_per_second=8,
        strips=chart_rows(truth, runs, view.charts),
        strip_columns=columns,
        strip_height=72,
        lines=_outlines(truth) if view.outlines else (),
        hatch_label="no samples: every chain ran off to infinity",
        knobs=offered(knobs, plays=len(frames) > 1),
    )


def begin(sheet: PanelSheet, run: Run, values: Any) -> PanelSheet:
    """What a page opens with: a map of each sampler, and one chart below them all."""
    if values.every:
        return sheet
    panels = sheet.panels[-_MOST_MAPS:]
    return replace(
        sheet,
        panels=panels,
        columns=len(panels),
        strips=[replace(strip, legend=False) for strip in sheet.strips[:1]],
        strip_columns=1,
        lines=_outlines(run.data),
        panel_height=_LARGE,
        quiet=True,
        together=2,
        greets=True,
    )


def _outlines(truth: TargetGrid) -> list[Line]:
    """All modes' borders as one line with gaps: what counts as being in a mode."""
    gap = np.full((1, 2), np.nan)
    parts = [np.concatenate([outline, outline[:1], gap]) for outline in truth.outlines]
    whole = np.concatenate(parts) if parts else gap
    return [Line(whole[:, 0], whole[:, 1], "#ffffff", thin=True)]


def _cell_area(truth: TargetGrid) -> float:
    return float((truth.edges_x[1] - truth.edges_x[0]) * (truth.edges_y[1] - truth.edges_y[0]))


def _limits(highest: float, log: bool) -> tuple[float, float]:
    highest = highest if highest > 0 else 1.0
    return (_LOG_SPAN * highest if log else 0.0), highest


def _values(truth: TargetGrid, run: SamplerRun, view: GaussiansSettings) -> Floats:
    """A sampler's maps in the unit of the view."""
    if view.shown == "density":
        return run.density
    return np.asarray(np.rint(run.density * (run.n_kept[:, None, None] * _cell_area(truth))))


def _unit(view: GaussiansSettings) -> str:
    return "per unit area" if view.shown == "density" else "samples a cell"


def _target_panel(truth: TargetGrid, runs: Sequence[SamplerRun], view: GaussiansSettings) -> Panel:
    values = np.asarray(truth.density)
    if view.shown == "counts":
        most_kept = max((int(run.n_kept[-1]) for run in runs), default=1)
        values = values * (most_kept * _cell_area(truth))
    limits = _limits(float(values.max()), view.log)
    return Panel(title="Target", values=values, unit=_unit(view), limits=limits, log=view.log)


def _panel(truth: TargetGrid, run: SamplerRun, view: GaussiansSettings, frames: Ints) -> Panel:
    style = SAMPLERS[run.method]
    values = _values(truth, run, view)
    plays = np.array_equal(run.steps, frames)
    highest = float(truth.density.max())
    if view.shown == "counts":
        highest *= int(run.n_kept[-1]) * _cell_area(truth)
    if view.scale == "own":
        highest = float(values[-1].max())
    return Panel(
        title=style.label,
        subtitle=_found(truth, run) if plays else _found(truth, run)[-1],
        values=values if plays else values[-1],
        unit=_unit(view),
        limits=_limits(highest, view.log),
        log=view.log,
        points=_trail(run) if plays and view.trail else None,
        # Chains that are gone say nothing about the cells that they never came to.
        hatched=np.asarray(values[-1]) == 0 if run.all_stopped else None,
        accent=style.colour,
        alt=_panel_alt(truth, run),
    )


def _found(truth: TargetGrid, run: SamplerRun) -> list[str]:
    """How many modes each frame has found."""
    noun = "mode" if truth.n_modes == 1 else "modes"
    return [f"{short(n)} of {truth.n_modes} {noun}" for n in run.modes_visited]


def _panel_alt(truth: TargetGrid, run: SamplerRun) -> str:
    gone = " Every chain ran off to infinity." if run.all_stopped else ""
    return (
        f"{SAMPLERS[run.method].label}: after {int(run.steps[-1]):,} steps "
        f"{short(run.modes_visited[-1])} of {truth.n_modes} modes are visited, and "
        f"{short(100 * run.share_in_modes[-1])} % of the kept samples lie in a mode.{gone}"
    )


def _trail(run: SamplerRun) -> Points:
    """Where the first chain went during each frame, and where it is at its end."""
    n_frames, n_points = run.path.shape[:2]
    frame = np.repeat(np.arange(n_frames), n_points)
    is_head = np.tile(np.arange(n_points) == n_points - 1, n_frames)
    return Points(
        run.path[..., 0].ravel(),
        run.path[..., 1].ravel(),
        group=is_head.astype(np.int64),
        group_names=("chain 1 during the frame", "chain 1 now"),
        colours=("#ffffff", "#ff4d3d"),
        radius=1.3,
        opacity=0.9,
        appear=frame,
        vanish=frame + 1,
    )


def frames(run: Run) -> dict[str, Any]:
    """One line a sampler and frame: what it had found by then."""
    columns = {
        "step": [view.steps for view in run.views],
        "kept_samples": [view.n_kept for view in run.views],
        "modes_visited": [view.modes_visited for view in run.views],
        "share_in_modes": [view.share_in_modes for view in run.views],
        "occupancy_error": [view.occupancy_error for view in run.views],
        "kl_nats": [view.divergence for view in run.views],
        "chain_1_x": [view.path[:, -1, 0] for view in run.views],
        "chain_1_y": [view.path[:, -1, 1] for view in run.views],
    }
    samplers = [view.method for view in run.views for _ in view.steps]
    return {"sampler": samplers} | {key: np.concatenate([[], *c]) for key, c in columns.items()}


_COMMON = ("target", "n_steps", "n_chains", "random_state", "gradient_noise")  # to all samplers

_SHOW = """
left, right, bottom, top = target.extent
area = (right - left) * (top - bottom) / 60**2
panels = [Panel(title="Target", values=cell_probabilities(target, 60) / area, unit="per unit area")]
for sampler, options in samplers.items():
    chains = sample_mixture(sampler, **common, **options)
    report = diagnose(chains)
    print(
        f"{sampler}: modes {np.median(report.modes_visited):g} of {len(target.weights)}, "
        f"occupancy error {report.all_occupancy_error:.3f}, KL {report.all_grid_kl:.3f} nats"
    )
    x, y = chains.samples[:, chains.kept].reshape(-1, 2).T
    box = [[bottom, top], [left, right]]
    counts, _, _ = np.histogram2d(y, x, bins=60, range=box)
    density = counts / (len(x) * area)
    panels.append(
        Panel(title=sampler, values=density, unit="per unit area", limits=panels[0].limits)
    )
sheet = PanelSheet(
    panels=panels, columns=len(panels), x_label="x", y_label="y",
    x_extent=(left, right), y_extent=(bottom, top),
)
Path("gaussians.html").write_text(standalone_html(sheet, "25 Gaussians"), encoding="utf-8")
"""


def copied(settings: GaussiansSettings) -> str:
    """Python that runs the samplers and draws their densities with the library's public names."""
    plans = {name: arguments(plan_of(settings, name)) for name in settings.samplers}
    shared = arguments(plan_of(settings, "sgld"))
    common = {name: shared[name] for name in _COMMON}
    lines = [
        "from pathlib import Path",
        "",
        "import numpy as np",
        "",
        "from gbuq_core import sample_mixture",
        "from gbuq_core.figures.canvas.panels import Panel, PanelSheet",
        "from gbuq_core.figures.standalone import standalone_html",
        "from gbuq_core.sampling import TARGETS, cell_probabilities, diagnose",
        "",
        f'target = TARGETS["{settings.target}"]',
        f"common = {_mapping(common)}",
        "samplers = {",
    ]
    for sampler, every in plans.items():
        own = {name: value for name, value in every.items() if name not in _COMMON}
        lines.append(f'    "{sampler}": {_mapping(own)},  # {SAMPLERS[sampler].label}')
    return "\n".join([*lines, "}"]) + _SHOW


def _mapping(mapping: Mapping[str, object]) -> str:
    text = ", ".join(f"'{name}': {value!r}" for name, value in mapping.items())
    return "{" + text.replace("'", '"') + "}"


# --- Words ----------------------------------------------------------------------------------------

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


_FOUND = (
    ", {share_in_modes:share} of {kept:,.0f} kept samples in a mode, occupancy error "
    "{occupancy_error:digits}, KL to the target {grid_kl:digits} nats"
)


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


SLOW = Knob("slow", "One cycle in slow motion", "switch", False, group="page")
CYCLE = Knob(
    "cycle",
    "Cycle",
    "integer",
    1,
    1,
    100,
    step=1,
    group="page",
    help="Which cycle is shown. The start of the chain belongs to the first one.",
)

GAUSSIANS = Study(
    name="gaussians",
    question="Can one chain find all the modes?",
    lede=lede_of,
    settings=GaussiansSettings,
    methods=SAMPLERS,
    data=lambda settings: target_grid(settings.target),
    fit=run_sampler,
    # A run over another target cannot stand beside this one.
    view=lambda run, settings: run if run.plan.target == settings.target else None,
    viewed=("target",),
    kind=SamplerRun,
    done="Sampled",
    invitation="",  # the lede says it
    warn=lambda run: run.stopped[:1].lower() + run.stopped[1:],
    picture=picture,
    begin=begin,
    every=(
        "All charts",
        "Adds the target, and the charts of each sampler below its map.",
    ),
    reading="Size is step size times gradient scale; for schedules with many cycles the charts "
    "show three. Dashed lines are the longest step that does not throw a chain farther from a "
    "mode, and the target's marginals. Shaded steps explore: their samples do not count. Dots on "
    "the maps show where chain 1 has been since the previous frame.",
    score=score,
    claims=CLAIMS,
    about=lambda run: describe_settings(run.settings),
    unsaid="{unsaid}",
    scorecard={
        "Scorecard": (
            Row("Kept samples", "kept", ",.0f"),
            Row("Modes visited{a_chain}, of {n_modes:g}", "modes_visited", "g"),
            Row("Modes visited, all {chains:g} chains", "all_modes_visited", ".0f"),
            Row("Share in a mode (target {own:3})", "share_in_modes"),
            Row("Occupancy error", "occupancy_error"),
            Row("KL to the target, nats", "grid_kl"),
            Row("Changes of mode{a_chain}", "mode_changes"),
            Row("Effective samples{a_chain}", "sample_size"),
            Row("Autocorrelation time, samples", "autocorrelation_time"),
            Row("Seconds", "seconds"),
        )
    },
    caption=_DEFINITIONS,
    answer="{answer}",
    said="Target: {corner}, {n_modes:g} {noun}; {own:share} of it lies within 3 standard "
    "deviations of a mode. {chains:,.0f} chain{s} of {steps:,.0f} steps{each}.",
    said_of=(
        "{label}: {modes_visited:g} of {n_modes:g} modes visited{median}{found}.",
        "A chain is worth {sample_size:digits} independent samples.",
        "{stopped}",
    ),
    closer=(Closer(SLOW, (CYCLE,), cycle_section, hint=ABOUT_CYCLE, alone=True),),
    files={"Data": frames},
    copied=copied,
    first=("steps",),
    maps=tuple(kind.label for kind in SAMPLERS.values()),
    by_kind=False,
    presets=(
        (
            "Paper settings",
            {"noise": 0.4},
            "50,000 steps, 30 cycles, and the noise scales of the paper's appendix B.1: 5 for "
            "N-SGLD and 0.4 for the others, which is less than the density asks for. clr-SGLD then "
            "visits about 17 modes instead of 23; cg-SGLD still visits about 23.",
        ),
        (
            "Stable steps",
            {"rate_clr": 0.05, "alpha_max": 5.0},
            "Steps just below the longest one that does not overshoot.",
        ),
    ),
    story=(
        ("Four samplers start together. Which of them leave the mode they start near?", {}),
        ("Exact gradients, without noise. Who still moves on?", {"gradient_noise": 0.0}),
        (
            "Only 5,000 steps each. Which of them had needed the time?",
            {"steps": 5000, "map": SAMPLERS["cg"].label},
        ),
    ),
    title="25 Gaussians",
    lead=lambda run: (
        f"{describe_race(run.settings)} After Tan, Huertas and Zhao, Efficient and Effective "
        "Uncertainty Quantification in Gradient Boosting via Cyclical Gradient MCMC, section 5.1 "
        "(CEUR Vol-3381, paper 47)."
    ),
    equations=r"""
Tan, Huertas and Zhao, [Efficient and Effective Uncertainty Quantification in Gradient Boosting via
Cyclical Gradient MCMC](https://ceur-ws.org/Vol-3381/47.pdf), section 5.1 and appendix B.1. Every
sampler takes this step, with a noisy gradient of -log p:

$$
x_{t+1}=x_t-\epsilon_t\,\alpha_t\left(\nabla U(x_t)+\sigma_g\,\zeta_t\right)
+s\sqrt{2\epsilon_t}\,\xi_t,\qquad \zeta_t,\xi_t\sim\mathcal N(0,I)
$$

SGLD lets the step size fall. N-SGLD keeps it and sets the noise scale s to 5. clr-SGLD makes the
step size cyclic, and cg-SGLD the gradient's scale. A cycle has C steps:

$$
\epsilon_t^{\text{SGLD}}=\epsilon_0(t+1)^{-0.55},\quad
\epsilon_t^{\text{clr}}=\tfrac{\epsilon_0}{2}\left(\cos\tfrac{\pi(t\bmod C)}{C}
+1\right),\quad \alpha_t^{\text{cg}}=\max\left(\tfrac{\alpha_{\max}}{2}\left(
\cos\tfrac{\pi(t\bmod C)}{C}+1\right),\alpha_{\min}\right)
$$

Where -log p has curvature h, a gradient step s multiplies the distance to the centre by 1 - s h. A
step above 2 / h (the dashed line) lands farther from the centre than it started, and with a little
noise the chain leaves the mode. In the 25 Gaussians 2 / h is 0.06. At a learning rate of 0.01,
cg-SGLD explores while its scale is above 6, and stays where it is below that. clr-SGLD's Langevin
noise grows with its step, so it gets out earlier.
""",
    departures="25 Gaussians",
)
