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
    """One soft tree over the grid: for the posterior mean, a draw or a moment of its training.

    Attributes
    ----------
    title : str
        What is shown, in words.
    tree, n_trees : int
        Which of how many trees, from 0.
    draw, frame : int or None
        The draw, or the moment of the training; both None: the posterior mean at the end.
    step, n_steps : int
        Steps taken by then, and in all.
    x : ndarray of shape (n_grid,)
    gates : ndarray of shape (n_nodes, n_grid)
        Probability of going right; node i has the children 2 i + 1 (left) and 2 i + 2 (right), and
        what is numbered beyond the last node is a leaf, from left to right.
    reach : ndarray of shape (n_leaves, n_grid)
        Probability of each leaf.
    leaf_means : ndarray of shape (n_leaves, n_grid)
        Lines, in units of y; of later trees of a VSGBM what they add.
    leaf_stds : ndarray of shape (n_leaves, n_grid), or (0, n_grid)
        None for a VSGBM, whose noise is one number.
    output : ndarray of shape (n_grid,)
        The tree's function: ``sum of reach * leaf_means``.
    splits : ndarray of shape (n_nodes,)
        Where each gate is even, in units of x; NaN where it is so nowhere on the grid.
    notes : tuple of str
    """

    title: str
    tree: int
    n_trees: int
    draw: int | None
    frame: int | None
    step: int
    n_steps: int
    x: Array
    gates: Array
    reach: Array
    leaf_means: Array
    leaf_stds: Array
    output: Array
    splits: Array
    notes: tuple[str, ...]


class TreeFrames(NamedTuple):
    """A tree's training, moment by moment, for an animation.

    Attributes
    ----------
    tree : int
    step : ndarray of shape (n_frames,), int64
    x : ndarray of shape (n_grid,)
    gates : ndarray of shape (n_frames, n_nodes, n_grid), float32
    reach, leaf_means : ndarray of shape (n_frames, n_leaves, n_grid), float32
    output : ndarray of shape (n_frames, n_grid), float32
    """

    tree: int
    step: npt.NDArray[np.int64]
    x: Array
    gates: Frames
    reach: Frames
    leaf_means: Frames
    output: Frames


class StagesView(NamedTuple):
    """The sum of a VSGBM built tree by tree, in units of y.

    Attributes
    ----------
    x : ndarray of shape (n_grid,)
    functions : ndarray of shape (n_trees, n_draws, n_grid)
        Draws of the sum of the first 1, 2, ... trees.
    loc, knowledge : ndarray of shape (n_trees, n_grid)
        Their mean and variance (squared units of y).
    rmse : ndarray of shape (n_trees,)
        Of ``loc`` to the training rows.
    """

    x: Array
    functions: Array
    loc: Array
    knowledge: Array
    rmse: Array


@dataclass(frozen=True, kw_only=True)
class CovarianceView:
    """The posterior of one tree's parameters, on the standardised scale.

    Attributes
    ----------
    tree : int
    rank, n_parameters : int
    correlation, covariance : ndarray of shape (n_parameters, n_parameters)
    mean, scale : ndarray of shape (n_parameters,)
        Of each parameter's marginal.
    labels : tuple of str
        What each parameter is.
    groups : tuple of (str, int, int)
        Name, first and one past the last parameter of each group that there is.
    shared : float
        Mean share of the parameters' variances that the factor of low rank holds; 0 at rank 0.
    strongest : tuple of (str, str, float) or None
        The pair of the largest correlation; None with one parameter or at rank 0.
    """

    tree: int
    rank: int
    n_parameters: int
    correlation: Array
    covariance: Array
    mean: Array
    scale: Array
    labels: tuple[str, ...]
    groups: tuple[tuple[str, int, int], ...]
    shared: float
    strongest: tuple[str, str, float] | None


def tree_view(fit: SoftTreesFit, settings: SoftTreesSettings | None = None) -> TreeView:
    """The tree of the settings' ``tree``, ``draw`` (with ``draw_seed``) or ``frame``.

    If a moment of the training is given, the draw is ignored, because only means are kept during
    training. A tree or moment that does not exist is replaced by the last one, and a note says so.

    Raises
    ------
    InvalidParameter
        If the method has no soft trees.

    Examples
    --------
    >>> from gbuq_core.experiments.soft_trees.fit import fit_soft_trees
    >>> from gbuq_core.experiments.soft_trees.plan import plan_soft_trees
    >>> settings = SoftTreesSettings(rows=40, steps=300, depth=1, draw=4)
    >>> tree_view(fit_soft_trees(plan_soft_trees(settings, "vst")), settings).title
    'VST: draw 5'
    """
    settings = SoftTreesSettings() if settings is None else settings
    tree, notes = _tree_of(fit, settings.tree)
    steps = fit.frames[tree]
    frame = settings.frame
    if frame is not None and frame > len(steps) - 1:
        notes.append(f"The training has {len(steps)} saved moments. The last one is shown.")
        frame = len(steps) - 1
    draw = settings.draw if frame is None else None
    picture = fit.model.tree_picture(fit.data.grid, draw, tree, frame, settings.draw_seed)
    n_steps = len(fit.elbo[tree].step)
    what = "posterior mean"
    if frame is not None:
        what = f"step {int(steps[frame]):,} of {n_steps:,}"
    elif draw is not None:
        what = f"draw {draw + 1}"
    n_trees = len(fit.frames)
    name = fit.label if n_trees == 1 else f"{fit.label}, tree {tree + 1} of {n_trees}"
    return TreeView(
        title=f"{name}: {what}",
        tree=tree,
        n_trees=n_trees,
        draw=draw,
        frame=frame,
        step=n_steps if frame is None else int(steps[frame]),
        n_steps=n_steps,
        x=fit.data.x,
        gates=picture.gates,
        reach=picture.reach,
        leaf_means=picture.leaf_means,
        leaf_stds=picture.leaf_stds,
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
    """Gates, leaves and output of a tree at every kept moment of its training.

    Raises
    ------
    InvalidParameter
        If the method has no soft trees.
    """
    tree, _ = _tree_of(fit, tree)
    grid, steps = fit.data.grid, fit.frames[tree]
    pictures = [fit.model.tree_picture(grid, None, tree, i) for i in range(len(steps))]

    def stacked(name: str) -> Frames:
        return np.stack([getattr(picture, name) for picture in pictures]).astype(np.float32)

    return TreeFrames(
        tree,
        steps,
        fit.data.x,
        stacked("gates"),
        stacked("reach"),
        stacked("leaf_means"),
        stacked("output"),
    )


def stages_view(fit: SoftTreesFit, settings: SoftTreesSettings) -> StagesView:
    """How the sum of a VSGBM grows tree by tree.

    Raises
    ------
    InvalidParameter
        For another method.
    """
    if fit.method != "vsgbm":
        raise InvalidParameter(f"{fit.label} is not built tree by tree: choose VSGBM.")
    draws = (settings.draws, settings.draw_seed)
    functions = fit.model.staged_functions(fit.data.grid, *draws)
    on_rows = fit.model.staged_functions(fit.data.X, *draws).mean(axis=1)
    return StagesView(
        fit.data.x,
        functions,
        functions.mean(axis=1),
        functions.var(axis=1),
        np.sqrt(np.square(on_rows - fit.data.y).mean(axis=1)),
    )


_GROUPS = (
    "gate slopes",
    "gate offsets",
    "leaf slopes",
    "leaf offsets",
    "leaf std slopes",
    "leaf stds",
)


def covariance_view(fit: SoftTreesFit, tree: int = 0) -> CovarianceView:
    """Covariance and correlation of a tree's parameters.

    Raises
    ------
    InvalidParameter
        If the method has no soft trees.
    """
    tree, _ = _tree_of(fit, tree)
    fitted = fit.model.trees_[tree]
    posterior = fitted.posterior
    covariance = posterior.covariance()
    scale = posterior.marginal_scale()
    correlation = covariance / np.outer(scale, scale)
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
        tree=tree,
        rank=posterior.rank,
        n_parameters=len(labels),
        correlation=correlation,
        covariance=covariance,
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
