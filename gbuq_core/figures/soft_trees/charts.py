"""Charts of soft trees: gates and leaves, correlations, the bandit, ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.figures.canvas.panels import Line, Panel, PanelSheet, Strip, StripLine
from gbuq_core.figures.colour import OKABE_ITO
from gbuq_core.figures.curves import Curves, draw_curves
from gbuq_core.figures.curves.parts import Part, axis, entry, line, panel, plain_dots, reading
from gbuq_core.figures.soft_trees.picture import Scene
from gbuq_core.figures.theme import METHOD_STYLES

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST_VALUES = 160_000  # that a tree's frames send
_FEWEST_FRAMES = 8
_TREE_X, _TREE_ROWS = 140, 80  # places and rows of the tree's pictures
_STEPS_DRAWN = 300  # of a bandit
_RECENT = 100  # steps that a mean regret is over
_COLOURS = OKABE_ITO[:7]  # without black, which a dark page swallows
_STAGE_FUNCTIONS, _STAGE_WEIGHT = 20, 0.3


@dataclass(frozen=True, kw_only=True)
class TreeFrames:
    """A soft tree of one input while it is trained; m moments, n places."""

    x: Array
    steps: Ints  # (m,): training steps done
    gates: Array  # (m, n_nodes, n): probabilities of going right, of nodes in the order of levels
    reach: Array  # (m, n_leaves, n): probabilities of ending in each leaf
    leaves: Array  # (m, n_leaves, n): what each leaf says
    output: Array  # (m, n): what the tree says
    # `elbo_steps`, `elbo`: (n_elbo,): the training's path
    elbo_steps: Array
    elbo: Array
    # `x_rows`, `y_rows`: (n_rows,)
    x_rows: Array
    y_rows: Array


class Regret(NamedTuple):
    """How one policy fared: cumulative regret ``mean`` (n_steps,) and its standard error."""

    policy: str
    label: str
    mean: Array
    error: Array


class RankLine(NamedTuple):
    """OOD AUROC against rank on one data set, (n_ranks,) each; ``error`` is one standard error."""

    label: str
    ranks: Ints
    mean: Array
    error: Array


def tree_sheet(
    frames: TreeFrames, y_range: tuple[float, float], start: int = -1, alt: str = ""
) -> PanelSheet:
    """Gates, leaves with their reach as opacity, and the ELBO, played through the training."""
    n_nodes, n_leaves = frames.gates.shape[1], frames.reach.shape[1]
    x, at, rows_y = places(frames)
    kept = _kept_frames(len(frames.steps), len(x) * (n_nodes + 2 * n_leaves + 1))
    gates, reach, leaves, output = (
        resample(part[kept], frames.x, x)
        for part in (frames.gates, frames.reach, frames.leaves, frames.output[:, None])
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
            y_limits=y_range,
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
            or [StripLine("no gate", np.full((len(kept), len(x)), np.nan))],
            x_label="x",
            y_label="probability of going right",
            y_limits=(0.0, 1.0),
            mode="frame",
            legend=False,
        ),
    ]
    if len(frames.elbo):
        strips.append(_elbo_strip(frames, kept))
    return PanelSheet(
        panels=[],
        strips=strips,
        strip_columns=len(strips),
        strip_height=220,
        frame_label="training step",
        frame_values=[float(step) for step in frames.steps[kept]],
        start_frame=int(np.argmin(np.abs(kept - range(len(frames.steps))[start]))),
        alt=alt,
        name="soft-tree",
    )


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


def stages_sheet(
    x: Array, stages: Array, y_range: tuple[float, float], colour: str, alt: str = ""
) -> PanelSheet:
    """A boosted sum tree by tree: its mean and a few of its functions."""
    thin = slice(None, None, max(1, len(x) // (2 * _TREE_X)))
    few = stages[:, :_STAGE_FUNCTIONS, thin]
    weight = np.full((len(stages), few.shape[2]), _STAGE_WEIGHT)
    lines = [
        StripLine(f"function {i + 1}", few[:, i], colour, weight=weight)
        for i in range(few.shape[1])
    ]
    lines.append(StripLine("mean", stages[:, :, thin].mean(axis=1), "text"))
    strip = Strip(
        title="The sum so far",
        x=x[thin],
        lines=lines,
        x_label="x",
        y_label="y",
        y_limits=y_range,
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
        alt=alt,
        name="soft-trees-stages",
    )


def correlation_sheet(
    correlation: Array,
    labels: Sequence[str],
    borders: Sequence[int],
    title: str = "Posterior correlation",
    subtitle: str = "",
    alt: str = "",
) -> PanelSheet:
    """How parameters vary together in the posterior."""
    edge = [-0.5, len(correlation) - 0.5]
    ends = [border - 0.5 for border in borders if 0 < border < len(correlation)]
    lines = [Line([end, end], edge) for end in ends] + [Line(edge, [end, end]) for end in ends]
    panel = Panel(
        title=title,
        values=correlation,
        unit="correlation",
        limits=(-1.0, 1.0),
        subtitle=subtitle,
        lines=lines,
        alt=alt,
    )
    return PanelSheet(
        panels=[panel],
        columns=1,
        x_labels=labels,
        y_labels=labels,
        panel_height=430,
        alt=alt,
        name="soft-trees-correlation",
    )


def policy_ink(policy: str) -> tuple[str, bool]:
    """The colour of a policy of the bandit, and whether its lines are dashed, as a baseline's.

    Examples
    --------
    >>> policy_ink("random"), policy_ink("greedy")[1], policy_ink("vst")[1]
    (('text', True), True, False)
    """
    style = METHOD_STYLES.get("vst" if policy == "greedy" else policy)
    return ("text", True) if style is None else (style.colour, policy == "greedy")


def regret_sheet(runs: Sequence[Regret], alt: str = "") -> PanelSheet:
    """Cumulative regret and the recent regret of a step, over the steps."""
    n_steps = len(runs[0].mean)
    at = np.unique(np.linspace(0, n_steps - 1, min(n_steps, _STEPS_DRAWN)).astype(np.int64))
    steps = at + 1.0
    sums, errors, recent = [], [], []
    for run in runs:
        colour, dash = policy_ink(run.policy)
        sums.append(StripLine(run.label, run.mean[at], colour, dash))
        if np.isfinite(run.error).all():
            faint = np.full(len(at), 0.25)
            for sign, side in (("\u2212", -1.0), ("+", 1.0)):
                name, edge = f"{run.label} {sign} 1 standard error", run.mean + side * run.error
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
        alt=alt,
        name="bandit",
    )


def rank_figure(
    lines: Sequence[RankLine],
    levels: Sequence[tuple[str, str, float]] = (),
    alt: str = "",
    height: int = 300,
) -> Curves:
    """OOD AUROC against the posterior's rank, with one standard error to both sides."""
    top = max(int(one.ranks.max()) for one in lines)
    lowest = min(float(np.nanmin(one.mean - np.nan_to_num(one.error))) for one in lines)
    low = min(0.5, *(level for _, _, level in levels), lowest) if levels else min(0.5, lowest)
    ends = [-0.03 * max(top, 1), 1.03 * max(top, 1)]
    layers: list[Part] = [line(ends, [0.5, 0.5], "text", 1.0, "2 4")]
    legend: list[Part] = []
    for i, one in enumerate(lines):
        colour = METHOD_STYLES["vst"].colour if i == 0 else _COLOURS[i]
        layers.append(line(one.ranks, one.mean, colour, 2.2))
        layers.append(plain_dots(one.ranks, one.mean, colour, 1.0, 7.0))
        for rank, mean, error in zip(one.ranks, one.mean, one.error, strict=True):
            if np.isfinite(error):
                layers.append(line([rank, rank], [mean - error, mean + error], colour, 1.4))
        legend.append({"name": one.label, "kind": "line", "colour": colour, "width": 2.2})
    for label, colour, level in levels:
        layers.append(line(ends, [level, level], colour, 1.6, "6 5"))
        legend.append(entry(label, layers[-1]))
    legend.append(entry("chance", layers[0]))
    ranks = np.unique(np.concatenate([one.ranks for one in lines])).astype(np.float64)
    values = [(one.label, np.interp(ranks, one.ranks, one.mean)) for one in lines]
    return draw_curves(
        "ood-rank",
        alt,
        height,
        axis(ends, "rank of the posterior's covariance"),
        [panel([low - 0.03, 1.02], "AUROC", layers)],
        legend,
        reading(ranks, "rank", values),
    )


def _level(node: int) -> int:
    return (node + 1).bit_length() - 1


def _gate_name(node: int) -> str:
    level = _level(node)
    return "root" if not node else f"gate {level + 1}.{node - 2**level + 2}"


def places(frames: TreeFrames | Scene) -> tuple[Array, Ints, Array]:
    """Where the pictures have x, rows among them; the rows' places there; their y."""
    grid = np.linspace(frames.x[0], frames.x[-1], _TREE_X)
    few = np.linspace(0, len(frames.x_rows) - 1, min(len(frames.x_rows), _TREE_ROWS)).astype(
        np.int64
    )
    x = np.concatenate([grid, frames.x_rows[few]])
    order = np.argsort(x, kind="stable")
    position = np.empty(len(x), dtype=np.int64)
    position[order] = np.arange(len(x))
    return x[order], position[len(grid) :], frames.y_rows[few]


def _kept_frames(n_frames: int, values: int) -> Ints:
    """Moments to send: all, or as many as a page takes, the first and the last among them."""
    most = max(_FEWEST_FRAMES, MOST_VALUES // max(values, 1))
    return np.unique(np.linspace(0, n_frames - 1, min(n_frames, most)).astype(np.int64))


def resample(parts: Array, old: Array, new: Array) -> Array:
    """Curves ``(m, k, n)`` over increasing ``old`` at ``new`` places, linearly."""
    right = np.clip(np.searchsorted(old, new), 1, len(old) - 1)
    share = np.clip((new - old[right - 1]) / (old[right] - old[right - 1]), 0.0, 1.0)
    found: Array = parts[..., right - 1] * (1.0 - share) + parts[..., right] * share
    return found


def _elbo_strip(frames: TreeFrames, kept: Ints) -> Strip:
    """The path without its first plunge, which would flatten all the rest."""
    elbo = frames.elbo
    late = elbo[len(elbo) // 10 :]
    low, high = float(np.nanquantile(late, 0.02)), float(np.nanmax(elbo))
    room = 0.08 * (high - low) or 1.0
    return Strip(
        title="ELBO",
        x=frames.elbo_steps,
        lines=[StripLine("ELBO", elbo, METHOD_STYLES["vst"].colour)],
        x_label="training step",
        y_label="nats",
        y_limits=(low - room, high + room),
        frame_x=np.clip(frames.steps[kept], frames.elbo_steps[0], frames.elbo_steps[-1]),
        legend=False,
    )
