"""What soft trees are fitted to, and their inside: gates and leaves, the sum, correlations.

Cinquin et al. (2022), sections 4.1 and 4.2: gates of eq. 9, leaves of eq. 13, the posterior of
eq. 16. A gate is a sigmoid of a line in x, and a leaf is a line. Written in units of x and y, both
are two numbers each: all that a point needs to flow through them. Nothing here trains anything.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.experiment import Keep, Rows
from gbuq_core.experiments.placed import OWN_START, Points, check_points
from gbuq_core.figures.canvas.panels import Line, Panel, PanelSheet, Strip, StripLine
from gbuq_core.figures.colour import OKABE_ITO
from gbuq_core.figures.curves import PLAYED_PARTS, Curves
from gbuq_core.figures.curves.parts import Part, rounded
from gbuq_core.figures.handles import LiveKnob, live_knob
from gbuq_core.figures.standalone import Section
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.knobs import Knob, find_knob, narrow
from gbuq_core.methods import METHODS
from gbuq_core.presentation import short
from gbuq_core.settings import from_values, knobs_of
from gbuq_core.study.members import Array, Ints, Mask, Predictive
from gbuq_core.synthetic import CurveData, make_daubechies, make_gap, make_step, make_tails
from gbuq_core.uncertainty import decompose_regression
from gbuq_core.validation import check_choice

if TYPE_CHECKING:
    from gbuq_core.soft_trees import ElboPath
    from gbuq_core.study.soft_trees import SoftTreesSettings

SOFT_METHODS = ("vst", "vsgbm")
PROCESS = "gp"  # its functions are drawn from a process, not from parameters, members or sweeps
SWEEPS = 100  # of XBART that are kept
MOST_DRAW = 100  # the last draw of a posterior that can be chosen


# --- The rows -------------------------------------------------------------------------------------


OWN = "own"
BOARD = ((-3.0, 3.0), (-2.0, 2.0))  # what the picture of own points shows at least
N_FRESH = 500  # rows that no training sees
_FRESH_STREAM = 1  # of the seed
_OWN_GRID = 400
_MARGIN = 0.35  # of the points' width, shown on either side of them
_NEIGHBOURS_APART = 0.08  # of the points' width: a wider space between two of them is empty,
_TYPICALLY_APART = 1.5  # unless most are so far apart: times the median space
_PAD, _DRAWN_PAD = 0.12, 0.35  # of the height, above and below own points and drawn rows


class SoftTreesDataset(NamedTuple):
    """A data set of the page: its name, and where it has no rows."""

    label: str
    empty: str = ""


DATASETS: Mapping[str, SoftTreesDataset] = MappingProxyType(
    {
        "tails": SoftTreesDataset("Tails", "to the left or right of these"),
        "gap": SoftTreesDataset("Gap", "in the gap or outside these"),
        "step": SoftTreesDataset("Step"),
        "wavelet": SoftTreesDataset("Wavelet"),
        OWN: SoftTreesDataset("Own points", "in the hatched parts"),
    }
)
MAKERS: Mapping[str, Callable[..., CurveData]] = {
    "tails": make_tails,
    "gap": make_gap,
    "step": make_step,
    "wavelet": make_daubechies,
}
_THINNED = {"gap": 2}  # every second point of 601


@dataclass(frozen=True, kw_only=True)
class SoftTreesData:
    """Training rows, the grid that pictures are drawn on, and the truth; arrays are read-only."""

    # `key`, `title`: A key of `DATASETS` and its label
    key: str
    title: str
    # `X`, `y`: (n_rows, 1)
    X: Array
    y: Array
    x: Array  # (n_grid,): evenly spaced over the picture; 301 to 441 places
    # `x_range`, `y_range`: what the picture shows
    x_range: tuple[float, float]
    y_range: tuple[float, float]
    # (n_grid,): Where training rows can lie. For own points: no farther from the next one than 4 %
    # of their width, or than three quarters of the space that most have between them.
    support: Mask
    # `true_mean`, `true_std`: (n_grid,): mean of y and std of its noise; unknown for own points
    true_mean: Array | None
    true_std: Array | None
    # std of the training y: the unit of errors on the page; 1 where all are equal
    target_std: float
    # `fresh_X`, `fresh_y`, `fresh_mean`: (500, 1): other rows of the same law and their true mean
    fresh_X: Array | None = None
    fresh_y: Array | None = None
    fresh_mean: Array | None = None

    @property
    def grid(self) -> Array:
        """``x`` as a column, (n_grid, 1)."""
        return self.x[:, None]


@lru_cache(maxsize=16)
def load_soft_trees_data(
    key: str, rows: int = 150, noise: float = 0.1, seed: int = 0, points: Points = OWN_START
) -> SoftTreesData:
    """Draw the rows of a data set, or take the user's points."""
    check_choice("data", key, tuple(DATASETS))
    if key == OWN:
        data = _own_data(check_points(points))
    else:
        data = _drawn_data(key, rows, noise, seed)
    for array in vars(data).values():
        if isinstance(array, np.ndarray):
            array.setflags(write=False)
    return data


def _drawn_data(key: str, rows: int, noise: float, seed: int) -> SoftTreesData:
    make = MAKERS[key]
    curve = make(rows, noise, seed)
    fresh = make(N_FRESH, noise, [seed, _FRESH_STREAM])
    thin = slice(None, None, _THINNED.get(key, 1))
    x = curve.grid[thin, 0].copy()
    mean = curve.mean[thin].copy()
    lowest = min(float(curve.y.min()), float(mean.min()))
    highest = max(float(curve.y.max()), float(mean.max()))
    return SoftTreesData(
        key=key,
        title=DATASETS[key].label,
        X=curve.X,
        y=curve.y,
        x=x,
        x_range=(float(x[0]), float(x[-1])),
        y_range=_span(np.array([lowest, highest]), _DRAWN_PAD),
        support=curve.in_support[thin].copy(),
        true_mean=mean,
        true_std=np.sqrt(curve.variance[thin]),
        target_std=_spread_of(curve.y),
        fresh_X=fresh.X,
        fresh_y=fresh.y,
        fresh_mean=fresh.row_mean,
    )


def _own_data(points: Points) -> SoftTreesData:
    placed = np.array(points, dtype=np.float64).reshape(-1, 2)
    X, y = placed[:, :1].copy(), placed[:, 1].copy()
    low, high = _span(X, 0.0)
    width = high - low
    left = min(BOARD[0][0], low - _MARGIN * width)
    right = max(BOARD[0][1], high + _MARGIN * width)
    x = np.linspace(left, right, _OWN_GRID)
    nearest = np.abs(x[:, None] - X[:, 0]).min(axis=1, initial=np.inf)
    y_low, y_high = _span(y, _PAD)
    return SoftTreesData(
        key=OWN,
        title=DATASETS[OWN].label,
        X=X,
        y=y,
        x=x,
        x_range=(left, right),
        y_range=(min(BOARD[1][0], y_low), max(BOARD[1][1], y_high)),
        support=nearest
        <= 0.5 * max(_NEIGHBOURS_APART * width, _TYPICALLY_APART * _median_space(X[:, 0])),
        true_mean=None,
        true_std=None,
        target_std=_spread_of(y),
    )


def _median_space(x: Array) -> float:
    """Median distance of neighbours, 0 of fewer than two places."""
    places = np.unique(x)
    return float(np.median(np.diff(places))) if len(places) > 1 else 0.0


def _span(values: Array, pad: float) -> tuple[float, float]:
    """Least and greatest, and a part of their distance to either side; (0, 0) of none."""
    if not values.size:
        return 0.0, 0.0
    low, high = float(values.min()), float(values.max())
    return low - pad * (high - low), high + pad * (high - low)


def _spread_of(y: Array) -> float:
    spread = float(y.std()) if y.size else 0.0
    return spread if spread > 0.0 else 1.0


def describe_data(data: SoftTreesData) -> str:
    """How many rows there are, and where there are none."""
    text = f"{data.title}: {len(data.y):,} rows"
    if bool(data.support.all()) or not DATASETS[data.key].empty:
        return f"{text}, spread over the whole picture."
    return f"{text}. There are no rows {DATASETS[data.key].empty}."


def data_of(settings: Any) -> SoftTreesData:
    """The data of settings; own points may be too few for a fit."""
    if settings.data == OWN:
        return load_soft_trees_data(OWN, points=check_points(settings.points))
    return load_soft_trees_data(settings.data, settings.rows, settings.noise, settings.seed)


# --- A fit ----------------------------------------------------------------------------------------


class Opened(NamedTuple):
    """What a fitted model says with the first settings; other views need the model."""

    functions: Array  # (n_draws, n_grid)
    moments: tuple[Predictive, ...]  # for each number of functions that `counts_ahead` names
    numbers: Mapping[str, float]


class SoftTreesFit(NamedTuple):
    """A trained method."""

    plan: Any  # settings of one method
    model: Any = None  # fitted; None of a stored fit
    seconds: float = math.nan  # of the training; NaN of a stored fit
    memory_bytes: int | None = None  # what the model holds; None where a library does not report it
    opened: Opened | None = None  # of a stored fit, instead of the model

    @property
    def method(self) -> str:
        """The method's key in `METHODS`."""
        return str(self.plan.method)

    @property
    def label(self) -> str:
        """The method as people write it."""
        return METHODS[self.plan.method].label

    @property
    def data(self) -> SoftTreesData:
        """What it was trained on."""
        return data_of(self.plan)

    @property
    def elbo(self) -> tuple[Any, ...]:
        """The `ElboPath` of each soft tree."""
        return tuple(tree.elbo for tree in self.model.trees_) if self._soft else ()

    @property
    def frames(self) -> tuple[Any, ...]:
        """Steps at which each soft tree's training was kept, the start (0) first."""
        return tuple(tree.snapshots.step for tree in self.model.trees_) if self._soft else ()

    @property
    def _soft(self) -> bool:
        return self.method in SOFT_METHODS and self.model is not None


def predict(fit: SoftTreesFit, settings: Any, X: Array) -> tuple[Array, Predictive]:
    """Functions (n_draws, n) and moments at rows (n, 1)."""
    if fit.method == PROCESS:
        return _functions_of_process(fit, settings, X), moments_of_process(fit, X)
    return moments_of(members_of(fit, settings, X))


def moments_of_process(fit: SoftTreesFit, X: Array) -> Predictive:
    """The exact moments of a process at rows (n, 1); they need no draws."""
    return Predictive(fit.model.predict(X), *fit.model.predict_uncertainty(X))


def moments_of(members: Array) -> tuple[Array, Predictive]:
    """Functions (n_draws, n) and moments of the mean and variance of every draw (n_draws, n, 2)."""
    functions = np.ascontiguousarray(members[..., 0])
    uncertainty = decompose_regression(functions, members[..., 1])
    return functions, Predictive(functions.mean(axis=0), *uncertainty)


def members_of(fit: SoftTreesFit, settings: Any, X: Array) -> Array:
    """Mean and variance of y of every draw, (n_draws, n, 2); not of a process."""
    if fit.method in SOFT_METHODS:
        return fit.model.predict_members(X, settings.n_functions, settings.sampling_seed)
    if fit.method == "sglb":
        return fit.model.predict_members(X)[: settings.n_functions]
    return fit.model.predict_members(X, min(settings.n_functions, fit.model.n_kept_))


def kept_by(plan: Any) -> tuple[int, str] | None:
    """How many functions a fit of the plan keeps, and what; None where they are drawn anew."""
    if plan.method == "sglb":
        return plan.members, "members"
    return (SWEEPS, "sweeps") if plan.method == "xbart" else None


def _functions_of_process(fit: SoftTreesFit, settings: Any, X: Array) -> Array:
    """Draws of a Gaussian process with the settings' seed, from the fitted one."""
    model = fit.model
    if settings.sampling_seed is not None:
        model = copy.copy(model)
        model.seed_ = settings.sampling_seed
    return model.sample_functions(X, settings.n_functions)


# --- What there is of a tree ----------------------------------------------------------------------


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
    settings = fit.plan if settings is None else settings
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
    if fit.method not in SOFT_METHODS:
        raise InvalidParameter(f"{fit.label} has no soft trees: choose VST or VSGBM.")
    n_trees = len(fit.frames)
    if tree < n_trees or n_trees == 1:  # one tree is all that a VST can show
        return min(tree, n_trees - 1), []
    return n_trees - 1, [
        f"There are only {n_trees} trees. The last one is shown instead of tree {tree + 1}."
    ]


# --- In words -------------------------------------------------------------------------------------


_MOST_SPLITS = 7  # of a tree of depth 3: more places are no longer read


def describe_tree(view: TreeView) -> str:
    """One tree: how many leaves matter, and where its gates are even, from left to right."""
    used = int((view.reach.max(axis=1) > 0.5).sum())
    n_leaves = len(view.reach)
    splits = np.sort(view.splits[np.isfinite(view.splits)])
    text = f"{view.title}. {used} of {n_leaves} leaves have more than half of the weight somewhere "
    text += "in the picture."
    if len(splits) > _MOST_SPLITS:
        ends = f"{splits[0]:.2f} and {splits[-1]:.2f}"
        text += f" {len(splits)} of {len(view.gates)} gates are even (send half of the weight to "
        text += f"each side) between x = {ends}."
    elif len(splits):
        text += " Gates are even (send half of the weight to each side) at x = "
        text += f"{', '.join(f'{x:.2f}' for x in splits)}."
    elif len(view.gates):
        text += " No gate is even (sends half of the weight to each side) inside the picture."
    return text


def describe_covariance(view: CovarianceView) -> str:
    """How strongly the parameters of one tree vary together."""
    text = f"{view.n_parameters} parameters, rank {view.rank}."
    if view.strongest is None:
        return f"{text} All are independent (mean field)."
    first, second, value = view.strongest
    return (
        f"{text} On average the low-rank factor gives {100 * view.shared:.0f} % of a parameter's "
        f"variance. The largest correlation is {value:+.2f}, between {first} and {second}."
    )


def describe_stages(view: StagesView) -> str:
    """How good a boosted sum is after each tree."""
    return f"RMSE on the training rows after each tree: {', '.join(map(short, view.rmse))}."


def describe_elbo(fit: SoftTreesFit) -> str:
    """How long the training took and whether its bound still rose; empty without a bound."""
    if not fit.elbo:
        return ""
    most = fit.plan.steps
    early = sum(len(path.step) < most for path in fit.elbo)
    if len(fit.elbo) == 1:
        path = fit.elbo[0].elbo
        text = f"{fit.label} trained for {len(path):,} of at most {most:,} steps."
        if early:
            text += " It ended early because the evidence lower bound (ELBO) had stopped rising."
        rise = short(_last_rise(path), 2, "+")
        return f"{text} In the last tenth of the steps the bound changed by {rise} nats."
    rises = [_last_rise(path.elbo) for path in fit.elbo]
    return (
        f"{fit.label}: {early} of {len(rises)} trees ended before {most:,} steps because their "
        f"evidence lower bound (ELBO) had stopped rising. In the last tenth of the steps, no "
        f"tree's bound rose by more than {short(max(rises), 2)} nats."
    )


def _last_rise(elbo: np.ndarray) -> float:
    """The mean over the last tenth of the steps less that over the tenth before."""
    tenth = max(1, len(elbo) // 10)
    return float(elbo[-tenth:].mean() - elbo[-2 * tenth : -tenth].mean())


# --- Pictures through the training ----------------------------------------------------------------


MOST_VALUES = 160_000  # that a tree's frames send
_FEWEST_FRAMES = 8
_TREE_X, _TREE_ROWS = 140, 80  # places and rows of the tree's pictures
_COLOURS = OKABE_ITO[:7]  # without black, which a dark page swallows
_STAGE_FUNCTIONS, _STAGE_WEIGHT = 20, 0.3
MOST_DOTS = 1000


def few_rows(data: SoftTreesData) -> Part:
    """Training rows, evenly thinned to as many as a picture shows."""
    few = np.linspace(0, len(data.y) - 1, min(len(data.y), MOST_DOTS)).astype(np.int64)
    return {"kind": "dots", "x": rounded(data.X[few, 0]), "y": rounded(data.y[few])}


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


# --- A point that flows through -------------------------------------------------------------------


MOST_DRAWS = 100
MOST_NUMBERS = 60_000  # of all draws and trees together


class FlowLines(NamedTuple):
    """One tree's gates and leaves, for several sets of parameters."""

    # `slopes`, `offsets`: (n_sets, n_nodes): A gate sends x to the right with probability
    # `sigmoid(slope x + offset)`. Node i has the children 2 i + 1 (left) and 2 i + 2 (right).
    slopes: Array
    offsets: Array
    # `leaf_slopes`, `leaf_offsets`: (n_sets, n_leaves): A leaf answers `slope x + offset`, in units
    # of y; of later trees of a sum what they add
    leaf_slopes: Array
    leaf_offsets: Array


class TreeFlow(NamedTuple):
    """The soft trees of one method."""

    depth: int
    sets: tuple[int, ...]  # which draw each set of parameters is; 0 is the mean of the posterior
    trees: tuple[FlowLines, ...]


def tree_flow(fit: SoftTreesFit, settings: SoftTreesSettings) -> TreeFlow:
    """Gates and leaves of a method's trees, for the posterior's mean and its first draws.

    Deep trees of long sums have fewer draws, `MOST_NUMBERS` in all; the draw of the settings is
    among them.

    >>> from gbuq_core.study.soft_trees import SOFT_TREES, SoftTreesSettings
    >>> settings = SoftTreesSettings(rows=40, steps=300, depth=2)
    >>> flow = tree_flow(SOFT_TREES.fit(SOFT_TREES.plan(settings, "vst")), settings)
    >>> len(flow.sets), [part.shape for part in flow.trees[0]]
    (101, [(101, 3), (101, 3), (101, 4), (101, 4)])
    """
    if fit.method not in SOFT_METHODS:
        raise InvalidParameter(f"{fit.label} has no soft trees: choose VST or VSGBM.")
    model, most = fit.model, flow_draws(fit)
    sets = tuple(range(most + 1))
    sets = sets if settings.draw <= most else (*sets, settings.draw)
    draws = model.draw_parameters(max(sets), settings.sampling_seed)
    at = np.array(sets[1:]) - 1
    trees = tuple(
        _lines(fit, number, np.vstack([tree.posterior.mean[None], draws[number][at]]))
        for number, tree in enumerate(model.trees_)
    )
    return TreeFlow(model.trees_[0].shape.depth, sets, trees)


def flow_draws(fit: SoftTreesFit) -> int:
    """How many draws of the posterior `tree_flow` holds, whatever the settings ask for."""
    trees = fit.model.trees_
    numbers = 2 * (trees[0].shape.n_nodes + trees[0].shape.n_leaves) * len(trees)
    return max(1, min(MOST_DRAWS, MOST_NUMBERS // numbers - 1))


def _lines(fit: SoftTreesFit, number: int, thetas: Array) -> FlowLines:
    """A tree's parameters (n_sets, P) in units of x and y."""
    model = fit.model
    tree, encoding, scale = model.trees_[number], model.encoding_, model.target_scale_
    parts = tree.shape.split(np.ascontiguousarray(thetas))
    centre, spread = 0.0, np.inf  # x that never changes was left out of the matrix
    if encoding.names:
        centre, spread = float(encoding.centre[0]), float(encoding.spread[0])
    gates = tree.beta * parts.node_weights[..., 0] / spread
    leaves = np.zeros_like(parts.leaf_biases)
    if parts.leaf_weights.size:
        leaves = parts.leaf_weights[..., 0] / spread
    own = scale.centre if number == 0 else 0.0
    return FlowLines(
        gates,
        tree.beta * parts.node_biases - gates * centre,
        scale.spread * leaves,
        scale.spread * (parts.leaf_biases - leaves * centre) + own,
    )


def flow_at(lines: FlowLines, x: float, which: int = 0) -> tuple[Array, Array, float]:
    """What a tree says at x: the leaves' shares, their values, and the sum weighted by the shares.

    >>> unit = np.ones((1, 1))
    >>> lines = FlowLines(2 * unit, -unit, np.zeros((1, 2)), np.array([[1.0, 3.0]]))
    >>> shares, values, output = flow_at(lines, 0.5)
    >>> shares, output
    (array([0.5, 0.5]), 2.0)
    """
    slopes, offsets, leaf_slopes, leaf_offsets = (part[which] for part in lines)
    right = 1.0 / (1.0 + np.exp(-(slopes * x + offsets)))
    reach = np.ones(2 * len(right) + 1)
    for node, share in enumerate(right):
        reach[2 * node + 1] = reach[node] * (1.0 - share)
        reach[2 * node + 2] = reach[node] * share
    shares, values = reach[len(right) :], leaf_slopes * x + leaf_offsets
    return shares, values, float(shares @ values)


def describe_flow(flow: TreeFlow, x: float, tree: int = 0, which: int = 0) -> str:
    """Where a point at x ends up, in words.

    >>> unit = np.ones((1, 1))
    >>> lines = FlowLines(2 * unit, -unit, np.zeros((1, 2)), np.array([[1.0, 3.0]]))
    >>> describe_flow(TreeFlow(1, (0,), (lines,)), 0.5)
    'At x = 0.5 the heaviest of 2 leaves has 50 % of the point. The tree predicts 2.'
    """
    shares, _, output = flow_at(flow.trees[tree], x, which)
    n = len(shares)
    what = f"the heaviest of {n} leaves has" if n > 1 else "the only leaf has"
    most = f"{100 * shares.max():.0f} % of the point"
    return f"At x = {x:.3g} {what} {most}. The tree predicts {output:.3g}."


FLOW_PARTS = (*PLAYED_PARTS, Path(__file__).parent / "flow.js")
PLACES = 401  # of the point along x
_ROWS = {"colour": "text", "opacity": 0.3, "size": 4}
_FRAMES_PER_SECOND = 40.0


_COARSE = 8  # places of the grid between two that an axis is chosen by


def flow_figure(
    fits: Sequence[SoftTreesFit],
    flows: Sequence[TreeFlow],
    knobs: Sequence[LiveKnob],
    played: LiveKnob,
    alt: str = "",
) -> Curves:
    """The tree's curve with the point on it, and below it the tree that the point flows through."""
    data = fits[0].data
    places = np.linspace(data.x[0], data.x[-1], PLACES)
    spec: Part = {
        "name": "soft-tree-flow",
        "drawing": "flow",
        "alt": alt,
        "x": [float(data.x[0]), float(data.x[-1])],
        "rows": {**few_rows(data), **_ROWS},
        "methods": [_method(*pair) for pair in zip(fits, flows, strict=True)],
        "colours": list(_COLOURS),
        "legend": [
            {"name": "the tree's prediction", "kind": "line", "colour": "text", "width": 2.4},
            {
                "name": "leaves; area: weight at x",
                "kind": "dots",
                "colour": _COLOURS[0],
                "opacity": 0.8,
                "size": 9,
            },
            {"name": "rows", "kind": "dots", **_ROWS},
        ],
        "knobs": [knob.spec for knob in (*knobs, played)],
        "played": {
            "key": played.key,
            "label": "x",
            "texts": [short(float(x)) for x in places],
            "fps": _FRAMES_PER_SECOND,
        },
    }
    return Curves(spec, (*knobs, played), FLOW_PARTS)


def _method(fit: SoftTreesFit, flow: TreeFlow) -> Part:
    return {
        "name": METHOD_STYLES[fit.method].label,
        "colour": METHOD_STYLES[fit.method].colour,
        "depth": int(flow.depth),
        "sets": [int(number) for number in flow.sets],
        "trees": [
            {
                "slopes": np.ravel(lines.slopes).tolist(),
                "offsets": np.ravel(lines.offsets).tolist(),
                "leafSlopes": np.ravel(lines.leaf_slopes).tolist(),
                "leafOffsets": np.ravel(lines.leaf_offsets).tolist(),
                "range": list(_y_range(fit.data, lines if number else None)),
                "rows": number == 0,  # later trees see what the first ones leave
            }
            for number, lines in enumerate(flow.trees)
        ],
    }


def _y_range(data: SoftTreesData, later: FlowLines | None) -> tuple[float, float]:
    """That of the rows, or around 0 for what a later tree adds."""
    if later is None:
        return data.y_range
    return around_zero(np.array([flow_at(later, float(x))[2] for x in data.x[::_COARSE]]), data)


# --- The fold -------------------------------------------------------------------------------------


INSIDE = Knob("inside", "Inside one tree", "switch", True, group="page")
WHOSE = Knob(
    "whose",
    "Tree of",
    "choice",
    METHODS["vst"].label,
    choices=tuple(METHODS[key].label for key in SOFT_METHODS),
    group="picture",
)
PLACE = Knob(
    "tree_x",
    "Point",
    "number",
    57.5,
    0.0,
    100.0,
    step=0.25,
    unit="%",
    group="picture",
    help="Where the point is, as a share of the axis.",
)
_EMPTY = "Choose VST or VSGBM in All settings to see the inside of a soft tree."
_READ = (
    "Drag the point along x. Each gate sends a share of the point to the right, and each leaf "
    "answers with a value, whose weight is the share that reaches it. The prediction is the "
    "weighted sum. Where do several leaves share the point?"
)
_TRAINED = (
    "Play this picture to see gates and leaves move during training. A leaf's line is strong where "
    "its weight is large. The unbroken line in the colour of the text is the tree's prediction."
)
_DRAWN = "The same draw over the whole axis. The mean of the posterior can be played."
_MOST_CORRELATED = 400  # parameters of a picture


def inside_sections(
    fitted: Callable[[Any], SoftTreesFit],
    settings: SoftTreesSettings,
    fits: Sequence[SoftTreesFit],
    values: SimpleNamespace,
    keep: Keep,
    again: bool,
) -> Rows:
    """The tree that is chosen, and what its posterior is like.

    A stored fit has no model; ``again`` fits its plan anew, with ``fitted``.
    """
    soft = {fit.method: fit for fit in fits if fit.method in SOFT_METHODS}
    soft = {
        key: fit if fit.model is not None else fitted(fit.plan)
        for key, fit in soft.items()
        if again or fit.model is not None
    }
    if not soft:
        chosen = set(SOFT_METHODS) & set(settings.methods)
        return [Section(text="No soft tree is trained yet." if chosen else _EMPTY)]
    looked = (fit for key, fit in soft.items() if METHODS[key].label == values.whose)
    fit = next(looked, next(iter(soft.values())))
    look = tree_view(fit, settings)
    sentences = [_TRAINED if look.draw is None else _DRAWN, *look.notes]
    if len(look.gates):
        sentences.append(f"Colours of the gates: {level_words(len(look.gates))}.")
    words = f"{describe_tree(look)} {describe_elbo(fit)}"
    correlated = _correlations(fit, look.tree, keep)
    return [
        Section(text=_READ, curves=flow_figure_of(values, [*soft.values()], keep)),
        Section(text=words, sheet=_tree_sheet(fit, look, keep), caption=" ".join(sentences)),
        (correlated, _stages(fit, settings, keep)) if fit.method == "vsgbm" else correlated,
    ]


def flow_figure_of(values: SimpleNamespace, fits: Sequence[SoftTreesFit], keep: Keep) -> Curves:
    """The trees with a point that flows through them, and the bar that chooses among them."""
    kind: Any = type(fits[0].plan)
    settings, offered = from_values(kind, vars(values)), knobs_of(kind)
    flows = [_flow_of(fit, settings, keep) for fit in fits]
    labels = tuple(METHODS[fit.method].label for fit in fits)
    at = labels.index(values.whose) if values.whose in labels else 0
    knobs = []
    if len(labels) > 1:
        knobs.append(live_knob(narrow(WHOSE, choices=labels), labels[at]))
    most = max(len(flow.trees) for flow in flows)
    if most > 1:
        summed = next(i for i, flow in enumerate(flows) if len(flow.trees) == most)
        needs = {WHOSE.key: (summed,)} if len(labels) > 1 else None
        knobs.append(
            live_knob(
                narrow(find_knob(offered, "tree"), high=most), min(settings.tree, most), needs=needs
            )
        )
    texts = ("mean", *(str(number) for number in range(1, MOST_DRAW + 1)))
    knobs.append(live_knob(find_knob(offered, "draw"), settings.draw, texts=texts))
    tree = min(settings.tree, len(flows[at].trees)) - 1
    which = flows[at].sets.index(settings.draw)
    x = fits[0].data.x
    place = float(x[0] + (x[-1] - x[0]) * values.tree_x / 100.0)
    words = describe_flow(flows[at], place, tree, which)
    played = live_knob(PLACE, values.tree_x)
    return flow_figure(fits, flows, knobs, played, alt=words)


def _flow_of(fit: SoftTreesFit, settings: SoftTreesSettings, keep: Keep) -> TreeFlow:
    """Gates and leaves, written out again only for a draw that is not among them."""
    further = settings.draw if settings.draw > flow_draws(fit) else 0
    depends = settings.draw_seed, further
    name = f"soft-trees:flow:{fit.method}"
    return keep(name, [fit], depends, partial(tree_flow, fit, settings))


def _tree_sheet(fit: SoftTreesFit, look: TreeView, keep: Keep) -> PanelSheet:
    """The tree of the posterior mean through its training, or one draw as it stands."""
    if look.draw is None:
        frames = keep("soft-tree-frames", [fit], look.tree, lambda: tree_frames(fit, look.tree))
    else:
        parts = (look.gates, look.reach, look.leaf_means, look.output)
        steps = np.array([look.n_steps])
        frames = TreeFrames(
            look.tree, steps, look.x, *(part.astype(np.float32)[None] for part in parts)
        )
    return tree_sheet(frames, fit.data, fit.elbo[look.tree], alt=describe_tree(look))


def _correlations(fit: SoftTreesFit, tree: int, keep: Keep) -> Section:
    """How the tree's parameters vary together, in words and as a map."""
    view = keep("soft-trees-covariance", [fit], tree, lambda: covariance_view(fit, tree))
    heading, words = "Correlated parameters", describe_covariance(view)
    if view.n_parameters > _MOST_CORRELATED:
        return Section(
            heading=heading, text=f"{words} There are too many parameters for a picture."
        )
    return Section(heading=heading, text=words, sheet=correlation_sheet(view))


def _stages(fit: SoftTreesFit, settings: SoftTreesSettings, keep: Keep) -> Section:
    """The boosted sum tree by tree."""
    depends = settings.n_functions, settings.draw_seed
    view = keep("soft-trees-stages", [fit], depends, lambda: stages_view(fit, settings))
    sheet = stages_sheet(view, fit.data)
    return Section(heading="The sum, tree by tree", text=sheet.alt, sheet=sheet)
