"""The soft trees themselves: gates, leaves, training, the boosted sum, the posterior's covariance.

Cinquin et al. (2022), sections 4.1 and 4.2: gates of eq. 9, leaves of eq. 13, the posterior of
eq. 16. Nothing here trains anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.soft_trees.data import Array
from gbuq_core.experiments.soft_trees.fit import SoftTreesFit
from gbuq_core.experiments.soft_trees.plan import METHODS, SoftTreesSettings

Frames = npt.NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class TreeView:
    """One soft tree over the grid, for the posterior mean or a draw."""

    title: str  # what is shown, in words
    tree: int  # which, from 0
    draw: int | None  # None: the posterior mean
    n_steps: int  # of its training
    x: Array  # (n_grid,)
    # (n_nodes, n_grid): probability of going right; node i has the children 2 i + 1 (left) and 2 i
    # + 2 (right), and what is numbered beyond the last node is a leaf, from left to right
    gates: Array
    reach: Array  # (n_leaves, n_grid): probability of each leaf
    # (n_leaves, n_grid): Lines, in units of y; of later trees of a VSGBM what they add
    leaf_means: Array
    output: Array  # (n_grid,): the tree's function: `sum of reach * leaf_means`
    # (n_nodes,): where each gate is even, in units of x; NaN where it is so nowhere on the grid
    splits: Array
    notes: tuple[str, ...]


class TreeFrames(NamedTuple):
    """A tree's training, moment by moment, for an animation."""

    tree: int
    step: npt.NDArray[np.int64]  # (n_frames,)
    x: Array  # (n_grid,)
    gates: Frames  # (n_frames, n_nodes, n_grid)
    # `reach`, `leaf_means`: (n_frames, n_leaves, n_grid)
    reach: Frames
    leaf_means: Frames
    output: Frames  # (n_frames, n_grid)


class StagesView(NamedTuple):
    """The sum of a VSGBM built tree by tree, in units of y."""

    x: Array  # (n_grid,)
    functions: Array  # (n_trees, n_draws, n_grid): Draws of the sum of the first 1, 2, ... trees.
    rmse: Array  # (n_trees,): of their mean to the training rows


@dataclass(frozen=True, kw_only=True)
class CovarianceView:
    """The posterior of one tree's parameters, on the standardised scale."""

    rank: int
    n_parameters: int
    correlation: Array  # (n_parameters, n_parameters)
    # `mean`, `scale`: (n_parameters,): of each parameter's marginal
    mean: Array
    scale: Array
    labels: tuple[str, ...]  # what each parameter is
    # name, first and one past the last parameter of each group that there is
    groups: tuple[tuple[str, int, int], ...]
    # mean share of the parameters' variances that the factor of low rank holds; 0 at rank 0
    shared: float
    # the pair of the largest correlation; None with one parameter or at rank 0
    strongest: tuple[str, str, float] | None


def tree_view(fit: SoftTreesFit, settings: SoftTreesSettings | None = None) -> TreeView:
    """The tree of the settings' ``tree``, and its ``draw`` (with ``draw_seed``)."""
    settings = SoftTreesSettings() if settings is None else settings
    tree, notes = _tree_of(fit, settings.tree - 1)
    draw = settings.draw - 1 if settings.draw else None
    picture = fit.model.tree_picture(fit.data.grid, draw, tree, None, settings.sampling_seed)
    n_trees = len(fit.frames)
    name = fit.label if n_trees == 1 else f"{fit.label}, tree {tree + 1} of {n_trees}"
    return TreeView(
        title=f"{name}: {'posterior mean' if draw is None else f'draw {draw + 1}'}",
        tree=tree,
        draw=draw,
        n_steps=len(fit.elbo[tree].step),
        x=fit.data.x,
        gates=picture.gates,
        reach=picture.reach,
        leaf_means=picture.leaf_means,
        output=picture.output,
        splits=np.array([_even(fit.data.x, gate) for gate in picture.gates]),
        notes=tuple(notes),
    )


def _even(x: Array, gate: Array) -> float:
    """Where a gate, which is monotone, crosses a half."""
    above = gate >= 0.5
    if above.all() or not above.any():
        return float("nan")
    rising = gate if above[-1] else gate[::-1]
    places = x if above[-1] else x[::-1]
    i = int(np.argmax(rising >= 0.5))
    share = (0.5 - rising[i - 1]) / (rising[i] - rising[i - 1])
    return float(places[i - 1] + share * (places[i] - places[i - 1]))


def tree_frames(fit: SoftTreesFit, tree: int = 0) -> TreeFrames:
    """Gates, leaves and output of a tree at every kept moment of its training."""
    tree, _ = _tree_of(fit, tree)
    grid, steps = fit.data.grid, fit.frames[tree]
    pictures = [fit.model.tree_picture(grid, None, tree, i) for i in range(len(steps))]
    parts = (
        np.stack([getattr(picture, name) for picture in pictures]).astype(np.float32)
        for name in ("gates", "reach", "leaf_means", "output")
    )
    return TreeFrames(tree, steps, fit.data.x, *parts)


def stages_view(fit: SoftTreesFit, settings: SoftTreesSettings) -> StagesView:
    """How the sum of a VSGBM grows tree by tree."""
    if fit.method != "vsgbm":
        raise InvalidParameter(f"{fit.label} is not built tree by tree: choose VSGBM.")
    draws = (settings.n_functions, settings.sampling_seed)
    functions = fit.model.staged_functions(fit.data.grid, *draws)
    on_rows = fit.model.staged_functions(fit.data.X, *draws).mean(axis=1)
    rmse = np.sqrt(np.square(on_rows - fit.data.y).mean(axis=1))
    return StagesView(fit.data.x, functions, rmse)


_GROUPS = (
    "gate slopes",
    "gate offsets",
    "leaf slopes",
    "leaf offsets",
    "leaf std slopes",
    "leaf stds",
)


def covariance_view(fit: SoftTreesFit, tree: int = 0) -> CovarianceView:
    """Covariance and correlation of a tree's parameters."""
    tree, _ = _tree_of(fit, tree)
    fitted = fit.model.trees_[tree]
    posterior = fitted.posterior
    scale = posterior.marginal_scale()
    correlation = posterior.covariance() / np.outer(scale, scale)
    labels: list[str] = []
    groups = []
    for name, part in zip(_GROUPS, fitted.shape.slices, strict=True):
        if part.stop > part.start:
            groups.append((name, part.start, part.stop))
            kind = "node" if name.startswith("gate") else "leaf"
            word = name.split(" ", 1)[1].removesuffix("s")
            labels += [f"{kind} {i + 1}: {word}" for i in range(part.stop - part.start)]
    strongest = None
    if posterior.rank and len(labels) > 1:
        size = np.abs(np.tril(correlation, -1))
        i, j = np.unravel_index(int(size.argmax()), size.shape)
        strongest = (labels[j], labels[i], float(correlation[i, j]))
    shared = np.square(posterior.factor).sum(axis=1) / np.square(scale)
    return CovarianceView(
        rank=posterior.rank,
        n_parameters=len(labels),
        correlation=correlation,
        mean=posterior.mean,
        scale=scale,
        labels=tuple(labels),
        groups=tuple(groups),
        shared=float(shared.mean()),
        strongest=strongest,
    )


def _tree_of(fit: SoftTreesFit, tree: int) -> tuple[int, list[str]]:
    """The number of an existing tree, and a note if it is not the one that was asked for."""
    if METHODS[fit.method].family != "soft":
        raise InvalidParameter(f"{fit.label} has no soft trees: choose VST or VSGBM.")
    n_trees = len(fit.frames)
    if tree < n_trees or n_trees == 1:  # one tree is all that a VST can show
        return min(tree, n_trees - 1), []
    return n_trees - 1, [
        f"There are only {n_trees} trees. The last one is shown instead of tree {tree + 1}."
    ]
