"""Charts of soft trees: gates and leaves, correlations, the bandit, ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gbuq_core.experiments.soft_trees.bandit import BanditRun, describe_bandit
from gbuq_core.experiments.soft_trees.data import Array, SoftTreesData
from gbuq_core.experiments.soft_trees.look import CovarianceView, StagesView, TreeFrames
from gbuq_core.experiments.soft_trees.rank import RankRun, describe_rank
from gbuq_core.experiments.soft_trees.scores import describe_covariance, describe_stages
from gbuq_core.figures.canvas.panels import Line, Panel, PanelSheet, Strip, StripLine
from gbuq_core.figures.colour import OKABE_ITO
from gbuq_core.figures.curves import Curves, draw_curves
from gbuq_core.figures.curves.parts import Part, axis, entry, line, panel, plain_dots, reading
from gbuq_core.figures.theme import METHOD_STYLES

if TYPE_CHECKING:
    from gbuq_core.soft_trees import ElboPath

Ints = npt.NDArray[np.int64]

MOST_VALUES = 160_000  # that a tree's frames send
_FEWEST_FRAMES = 8
_TREE_X, _TREE_ROWS = 140, 80  # places and rows of the tree's pictures
_STEPS_DRAWN = 300  # of a bandit
_RECENT = 100  # steps that a mean regret is over
_COLOURS = OKABE_ITO[:7]  # without black, which a dark page swallows
_STAGE_FUNCTIONS, _STAGE_WEIGHT = 20, 0.3


def tree_sheet(
    frames: TreeFrames,
    data: SoftTreesData,
    elbo: ElboPath | None = None,
    *,
    start: int = -1,
    alt: str = "",
) -> PanelSheet:
    """Gates, leaves with their reach as opacity, and the ELBO, played through the training."""
    n_nodes, n_leaves = frames.gates.shape[1], frames.reach.shape[1]
    own = not frames.tree
    x, at, rows_y = places(data, rows=own)
    moments = _kept_frames(len(frames.step), len(x) * (n_nodes + 2 * n_leaves + 1))
    gates, reach, leaves, output = (
        resample(part[moments], frames.x, x)
        for part in (frames.gates, frames.reach, frames.leaf_means, frames.output[:, None])
    )
    dots = np.full(len(x), np.nan)
    dots[at] = rows_y
    strips = [
        Strip(
            title="Leaves",
            x=x,
            lines=[
                StripLine("rows", dots, "#9a9a9a", dots=True),
                StripLine("the tree", output[:, 0], "text"),
                *(
                    StripLine(
                        f"leaf {i + 1}",
                        leaves[:, i],
                        _COLOURS[i % len(_COLOURS)],
                        weight=np.clip(reach[:, i], 0.0, 1.0),
                    )
                    for i in range(n_leaves)
                ),
            ],
            x_label="x",
            y_label="prediction; opacity: weight",
            y_limits=data.y_range if own else around_zero(frames.output[-1], data),
            mode="frame",
            legend=False,
        ),
        Strip(
            title="Gates",
            x=x,
            lines=[
                StripLine(_gate_name(i), gates[:, i], _COLOURS[_level(i) % len(_COLOURS)])
                for i in range(n_nodes)
            ]
            or [StripLine("no gate", np.full((len(moments), len(x)), np.nan))],
            x_label="x",
            y_label="probability of going right",
            y_limits=(0.0, 1.0),
            mode="frame",
            legend=False,
        ),
    ]
    if elbo is not None:
        strips.append(_elbo_strip(elbo, frames.step[moments]))
    return PanelSheet(
        panels=[],
        strips=strips,
        strip_columns=len(strips),
        strip_height=220,
        frame_label="training step",
        frame_values=[float(step) for step in frames.step[moments]],
        start_frame=int(np.argmin(np.abs(moments - range(len(frames.step))[start]))),
        alt=alt,
        name="soft-tree",
    )


def around_zero(output: Array, data: SoftTreesData) -> tuple[float, float]:
    """The y axis of a later tree of a sum, which adds to what the others say."""
    half = max(float(np.abs(output).max()), data.target_std)
    return -1.3 * half, 1.3 * half


def level_words(n_nodes: int) -> str:
    """Which colour is which level of gates, for a caption.

    >>> level_words(7)
    'blue: the root; orange: level 2; green: level 3'
    """
    names = ("blue", "orange", "green", "purple", "sky", "vermilion", "yellow")
    levels = range(_level(n_nodes - 1) + 1) if n_nodes else ()
    return "; ".join(
        f"{names[i % len(names)]}: {'the root' if i == 0 else f'level {i + 1}'}" for i in levels
    )


def stages_sheet(view: StagesView, data: SoftTreesData) -> PanelSheet:
    """A boosted sum tree by tree: its mean and a few of its functions."""
    x, stages = view.x, view.functions
    thin = slice(None, None, max(1, len(x) // (2 * _TREE_X)))
    few = stages[:, :_STAGE_FUNCTIONS, thin]
    weight = np.full((len(stages), few.shape[2]), _STAGE_WEIGHT)
    lines = [
        StripLine(f"function {i + 1}", few[:, i], METHOD_STYLES["vsgbm"].colour, weight=weight)
        for i in range(few.shape[1])
    ]
    lines.append(StripLine("mean", stages[:, :, thin].mean(axis=1), "text"))
    strip = Strip(
        title="The sum so far",
        x=x[thin],
        lines=lines,
        x_label="x",
        y_label="y",
        y_limits=data.y_range,
        mode="frame",
        legend=False,
    )
    return PanelSheet(
        panels=[],
        strips=[strip],
        strip_height=220,
        frame_label="tree",
        frame_values=[float(tree) for tree in range(1, len(stages) + 1)],
        frames_per_second=1.5,
        alt=describe_stages(view),
        name="soft-trees-stages",
    )


def correlation_sheet(view: CovarianceView, alt: str = "") -> PanelSheet:
    """How parameters vary together in the posterior."""
    n, alt = view.n_parameters, alt or describe_covariance(view)
    edge = [-0.5, n - 0.5]
    ends = [first - 0.5 for _, first, _ in view.groups if 0 < first < n]
    lines = [Line([end, end], edge) for end in ends] + [Line(edge, [end, end]) for end in ends]
    panel = Panel(
        title="Posterior correlation",
        values=view.correlation,
        unit="correlation",
        limits=(-1.0, 1.0),
        subtitle=f"rank {view.rank} of {n}",
        lines=lines,
        alt=alt,
    )
    return PanelSheet(
        panels=[panel],
        columns=1,
        x_labels=view.labels,
        y_labels=view.labels,
        panel_height=430,
        alt=alt,
        name="soft-trees-correlation",
    )


def policy_ink(policy: str) -> tuple[str, bool]:
    """The colour of a policy of the bandit, and whether its lines are dashed, as a baseline's.

    >>> policy_ink("random"), policy_ink("greedy")[1], policy_ink("vst")[1]
    (('text', True), True, False)
    """
    style = METHOD_STYLES.get("vst" if policy == "greedy" else policy)
    return ("text", True) if style is None else (style.colour, policy == "greedy")


def regret_sheet(runs: Sequence[BanditRun]) -> PanelSheet:
    """Cumulative regret and the recent regret of a step, over the steps."""
    n_steps = len(runs[0].mean)
    at = np.unique(np.linspace(0, n_steps - 1, min(n_steps, _STEPS_DRAWN)).astype(np.int64))
    steps = at + 1.0
    sums, errors, recent = [], [], []
    for run in runs:
        colour, dash = policy_ink(run.plan.policy)
        sums.append(StripLine(run.label, run.mean[at], colour, dash))
        if np.isfinite(run.standard_error).all():
            faint = np.full(len(at), 0.25)
            for sign, side in (("\u2212", -1.0), ("+", 1.0)):
                name = f"{run.label} {sign} 1 standard error"
                edge = run.mean + side * run.standard_error
                errors.append(StripLine(name, edge[at], colour, weight=faint))
        padded = np.concatenate([[0.0], run.mean])
        first = np.maximum(at + 1 - _RECENT, 0)
        per_step = (padded[at + 1] - padded[first]) / (at + 1 - first)
        recent.append(StripLine(run.label, per_step, colour, dash))
    top = 1.05 * max(float(run.mean[-1]) for run in runs) or 1.0
    strips = [
        Strip(
            title="Cumulative regret",
            x=steps,
            lines=[*sums, *errors],
            x_label="step",
            y_label="sum so far",
            y_limits=(0.0, top),
            mode="grow",
            legend=False,
        ),
        Strip(
            title="Regret per step",
            x=steps,
            lines=recent,
            x_label="step",
            y_label=f"mean of the last {_RECENT}",
            y_limits=(0.0, 1.0),
            mode="grow",
        ),
    ]
    return PanelSheet(
        panels=[],
        strips=strips,
        strip_columns=2,
        strip_height=200,
        frame_label="step",
        frame_values=steps.tolist(),
        alt=describe_bandit(runs),
        name="bandit",
    )


def rank_figure(run: RankRun) -> Curves:
    """OOD AUROC against the posterior's rank, with one standard error to both sides."""
    colour, error = METHOD_STYLES["vst"].colour, np.nan_to_num(run.standard_error)
    top = max(int(run.ranks.max()), 1)
    ends = [-0.03 * top, 1.03 * top]
    chance = line(ends, [0.5, 0.5], "text", 1.0, "2 4")
    mean = line(run.ranks, run.mean, colour, 2.2)
    layers: list[Part] = [chance, mean, plain_dots(run.ranks, run.mean, colour, 1.0, 7.0)]
    layers += [
        line([rank, rank], [middle - half, middle + half], colour, 1.4)
        for rank, middle, half in zip(run.ranks, run.mean, run.standard_error, strict=True)
        if np.isfinite(half)
    ]
    low = min(0.5, float(np.nanmin(run.mean - error)))
    return draw_curves(
        "ood-rank",
        describe_rank(run),
        300,
        axis(ends, "rank of the posterior's covariance"),
        [panel([low - 0.03, 1.02], "AUROC", layers)],
        [entry(run.label, mean), entry("chance", chance)],
        reading(run.ranks.astype(np.float64), "rank", [(run.label, run.mean)]),
    )


def _level(node: int) -> int:
    return (node + 1).bit_length() - 1


def _gate_name(node: int) -> str:
    level = _level(node)
    return "root" if not node else f"gate {level + 1}.{node - 2**level + 2}"


def places(data: SoftTreesData, rows: bool = True) -> tuple[Array, Ints, Array]:
    """Where the pictures have x, rows among them; the rows' places there; their y."""
    n = len(data.y) if rows else 0
    grid = np.linspace(data.x[0], data.x[-1], _TREE_X)
    few = np.linspace(0, n - 1, min(n, _TREE_ROWS)).astype(np.int64)
    x = np.concatenate([grid, data.X[few, 0]])
    order = np.argsort(x, kind="stable")
    position = np.empty(len(x), dtype=np.int64)
    position[order] = np.arange(len(x))
    return x[order], position[len(grid) :], data.y[few]


def _kept_frames(n_frames: int, values: int) -> Ints:
    """Moments to send: all, or as many as a page takes, the first and the last among them."""
    most = max(_FEWEST_FRAMES, MOST_VALUES // max(values, 1))
    return np.unique(np.linspace(0, n_frames - 1, min(n_frames, most)).astype(np.int64))


def resample(parts: npt.NDArray[Any], old: Array, new: Array) -> Array:
    """Curves ``(m, k, n)`` over increasing ``old`` at ``new`` places, linearly."""
    right = np.clip(np.searchsorted(old, new), 1, len(old) - 1)
    share = np.clip((new - old[right - 1]) / (old[right] - old[right - 1]), 0.0, 1.0)
    return parts[..., right - 1] * (1.0 - share) + parts[..., right] * share


def _elbo_strip(path: ElboPath, steps: Ints) -> Strip:
    """The path without its first plunge, which would flatten all the rest."""
    elbo, steps_taken = path.elbo, path.step.astype(np.float64)
    late = elbo[len(elbo) // 10 :]
    low, high = float(np.nanquantile(late, 0.02)), float(np.nanmax(elbo))
    room = 0.08 * (high - low) or 1.0
    return Strip(
        title="ELBO",
        x=steps_taken,
        lines=[StripLine("ELBO", elbo, METHOD_STYLES["vst"].colour)],
        x_label="training step",
        y_label="nats",
        y_limits=(low - room, high + room),
        frame_x=np.clip(steps, *steps_taken[[0, -1]]),
        legend=False,
    )
