"""The knobs of an ensemble, checked and with their defaults filled in, and the work of a tree.

Also which numbers of trees give members, and how strongly each tree follows its gradient: the
members of a virtual ensemble are truncations of one model (virtual-ensembles paper, eq. 15 and
figure 1), or the ends of cycles (cyclical SGLB, eq. 7).

Tan, Huertas and Zhao, "Efficient and effective uncertainty quantification in gradient boosting via
cyclical gradient MCMC", section 4 and algorithm 1. A cycle of C trees begins with large gradients,
which carry the model away from where it is, and ends with small ones, among which the noise is
relatively large; the model at the end of each cycle is one member of the ensemble.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np

from gbuq_core.errors import InvalidParameter
from gbuq_core.knobs import check_within
from gbuq_core.methods.boosted import KNOBS
from gbuq_core.presentation import short
from gbuq_core.validation import check_choice, check_number

CYCLICAL = ("csglb", "cbsglb")
METHODS = ("sgb", "sglb", *CYCLICAL)
ENSEMBLES = ("independent", "virtual")
LONGEST_STEP = 2.0  # of learning rate times gradient scale

# In cells that are read: a row whatever its columns, and the best split of a column in a leaf, of
# so many columns at most, as more of them get fewer bins.
_CELLS_A_ROW, _CELLS_A_SPLIT, _MOST_SPLIT_COLUMNS = 5, 50, 200


@dataclass(frozen=True, kw_only=True)
class BoostingPlan:
    """Everything a fit needs to know besides the data; see `BoostedEnsembleRegressor` for the
    meaning.

    ``n_models`` is how many models are trained: ``n_members``, or 1 for a virtual ensemble.
    ``temperature`` is still a name or a number: what it means depends on the number of rows.
    """

    method: str
    ensemble: str
    n_models: int
    n_trees: int
    depth: int
    learning_rate: float
    subsample: float
    temperature: str | float
    leaf_noise: bool
    random_strength: float
    newton: bool
    standardize_target: bool
    l2: float
    max_bins: int
    engine: str
    cycle_length: int
    alpha_max: float
    alpha_min: float
    mask_prob: float
    exploration_fraction: float
    noise_free_exploration: bool

    @property
    def cyclical(self) -> bool:
        """Whether the gradients are scaled in cycles."""
        return self.method in CYCLICAL

    @property
    def preconditioned(self) -> bool:
        """Whether the noise has the posterior's covariance; CatBoost's never has."""
        return self.method != "sgb" and self.temperature != "catboost"


class CatBoostModels(NamedTuple):
    """Fitted models: ``catboost.CatBoost`` objects, all trained on ``n_cells`` rows."""

    models: tuple[Annotated[Any, "catboost.CatBoost"], ...]
    is_category: np.ndarray  # (n_features,) bool: which columns hold level codes
    n_outputs: int
    decay: float  # by which CatBoost shrinks a model before it adds a tree
    n_cells: int
    n_bytes: int  # size of the models, serialised


class Langevin(NamedTuple):
    """The numbers of SGLB for a data set of ``n_rows`` rows."""

    diffusion_temperature: float
    model_shrink_rate: float
    # `sqrt(2 / (learning_rate * diffusion_temperature))`: std of a row's gradient noise, times the
    # root of its curvature if preconditioned
    noise: float
    leaf_noise: float  # the same, or 0 (see `leaf_noise` of the estimators)
    decay: float  # `1 - model_shrink_rate * learning_rate`


def make_plan(estimator: Any) -> BoostingPlan:
    """Check an estimator's constructor arguments."""
    method = check_choice("method", estimator.method, METHODS)
    ensemble = _check_ensemble(estimator.ensemble, method)
    n_members = check_within(KNOBS["n_members"], estimator.n_members)
    learning_rate = estimator.learning_rate
    if learning_rate is None:
        learning_rate = 0.05 if method in CYCLICAL else 0.1
    subsample = estimator.subsample
    if subsample is None:
        subsample = 0.5 if method == "sgb" else 1.0
    temperature = check_within(KNOBS["temperature"], estimator.temperature)
    newton = (
        check_choice("leaf_estimation", estimator.leaf_estimation, ("newton", "gradient"))
        == "newton"
    )
    engine = check_choice("engine", estimator.engine, ("numba", "catboost"))
    leaf_noise = estimator.leaf_noise
    if leaf_noise is not None and not isinstance(leaf_noise, bool):
        raise InvalidParameter(f"leaf_noise must be True, False or None; got {leaf_noise!r}.")
    if engine == "catboost":
        if method in CYCLICAL:
            raise InvalidParameter(
                f"engine='catboost' has no cyclical gradients: use engine='numba' for {method!r}, "
                "or method='sglb'."
            )
        leaf_noise = _catboost_leaf_noise(leaf_noise if method == "sglb" else None, newton)
    elif leaf_noise is None:
        leaf_noise = temperature != "catboost" or not newton
    n_trees = check_within(KNOBS["n_trees"], estimator.n_trees)
    learning_rate = check_within(KNOBS["learning_rate"], learning_rate)
    cycle_length, alpha_max, alpha_min = _check_cycles(estimator, n_trees, learning_rate)
    return BoostingPlan(
        method=method,
        ensemble=ensemble,
        n_models=n_members if ensemble == "independent" else 1,
        n_trees=n_trees,
        depth=check_within(KNOBS["depth"], estimator.depth),
        learning_rate=learning_rate,
        subsample=check_within(KNOBS["subsample"], subsample),
        temperature=temperature,
        leaf_noise=leaf_noise,
        random_strength=check_within(KNOBS["random_strength"], estimator.random_strength),
        newton=newton,
        standardize_target=_check_switch(estimator, "standardize_target"),
        l2=check_number("l2", estimator.l2, 0.0, 1e9),
        max_bins=check_within(KNOBS["max_bins"], estimator.max_bins),
        engine=engine,
        cycle_length=cycle_length,
        alpha_max=alpha_max,
        alpha_min=alpha_min,
        mask_prob=check_within(KNOBS["mask_prob"], estimator.mask_prob),
        exploration_fraction=check_within(
            KNOBS["exploration_fraction"], estimator.exploration_fraction
        ),
        noise_free_exploration=_check_switch(estimator, "noise_free_exploration"),
    )


def _check_switch(estimator: Any, name: str) -> bool:
    value = getattr(estimator, name)
    if not isinstance(value, bool):
        raise InvalidParameter(f"{name} must be True or False; got {value!r}.")
    return value


def _check_ensemble(ensemble: str | None, method: str) -> str:
    if ensemble is None:
        return "virtual" if method in CYCLICAL else "independent"
    if check_choice("ensemble", ensemble, ENSEMBLES) == "independent" and method in CYCLICAL:
        raise InvalidParameter(
            f"ensemble='independent' does not work with method={method!r}, because its members "
            "are cycles of one model: leave ensemble at None."
        )
    return ensemble


def _check_cycles(estimator: Any, n_trees: int, learning_rate: float) -> tuple[int, float, float]:
    """Cycle length and both ends of the gradient scale.

    Of the cyclical methods members must come out, and no tree may step over its target by more than
    it was away: each moves a prediction by up to ``learning_rate * alpha_max`` of its residual.
    """
    length = check_within(KNOBS["cycle_length"], estimator.cycle_length)
    burn_in = check_within(KNOBS["burn_in_cycles"], estimator.burn_in_cycles)
    alpha_max = check_within(KNOBS["alpha_max"], estimator.alpha_max)
    alpha_min = check_within(KNOBS["alpha_min"], estimator.alpha_min)
    if alpha_min > alpha_max:
        raise InvalidParameter(
            f"alpha_min {alpha_min:g} is above alpha_max {alpha_max:g}: the gradient scale falls "
            "from alpha_max to alpha_min in each cycle."
        )
    if estimator.method in CYCLICAL:
        cycle_ends(n_trees, length, burn_in)
        step = learning_rate * alpha_max
        if step > LONGEST_STEP + 1e-9:
            raise InvalidParameter(
                f"learning_rate times alpha_max is {step:g}, but the model diverges above "
                f"{LONGEST_STEP:g}: choose a learning rate of at most "
                f"{short(LONGEST_STEP / alpha_max)} or a smaller alpha_max."
            )
    return length, alpha_max, alpha_min


def plan_schedule(plan: BoostingPlan) -> Schedule:
    """What changes from tree to tree under ``plan``."""
    return make_schedule(
        plan.n_trees,
        plan.method,
        plan.cycle_length,
        (plan.alpha_max, plan.alpha_min),
        plan.mask_prob,
        plan.exploration_fraction,
        plan.noise_free_exploration,
    )


def _catboost_leaf_noise(wanted: bool | None, newton: bool) -> bool:
    """Whether CatBoost (1.2) draws noise on leaves: on gradient ones always, on Newton never."""
    if wanted is not None and wanted == newton:
        does, leaves = ("never", "newton") if newton else ("always", "gradient")
        raise InvalidParameter(
            f"engine='catboost' {does} adds noise to leaves with leaf_estimation={leaves!r}, so "
            f"leaf_noise={wanted} is not possible: leave it at None or use engine='numba'."
        )
    return not newton


def langevin_numbers(plan: BoostingPlan, n_rows: float) -> Langevin:
    """Noise and shrinkage of ``plan`` on ``n_rows`` rows (of weighted rows: their weights' sum).

    ``"catboost"`` is CatBoost's ``posterior_sampling``: diffusion temperature N. ``"posterior"`` is
    the noise that sampling from the posterior asks for (cyclical paper, noise std ``sqrt(2 N / (eps
    beta))`` with beta = N): diffusion temperature 1. The model shrink rate is 1 / (2 N) in every
    case. SGB has neither noise nor shrinkage.
    """
    if plan.method == "sgb":
        return Langevin(math.inf, 0.0, 0.0, 0.0, 1.0)
    named = {"catboost": float(n_rows), "posterior": 1.0}
    temperature = plan.temperature
    diffusion = named[temperature] if isinstance(temperature, str) else temperature
    shrink_rate = 1.0 / (2.0 * n_rows)
    noise = math.sqrt(2.0 / (plan.learning_rate * diffusion))
    leaf_noise = noise if plan.leaf_noise else 0.0
    decay = 1.0 - shrink_rate * plan.learning_rate
    return Langevin(diffusion, shrink_rate, noise, leaf_noise, decay)


def tree_work(n_rows: int, n_columns: int, n_outputs: int, depth: int) -> float:
    """How much work a tree is, roughly, in cells (row times column) that are read for an output.

    >>> tree_work(1000, 10, 2, 6) < tree_work(100_000, 10, 2, 6) / 25
    True
    """
    splits = _CELLS_A_SPLIT * 2**depth * min(n_columns, _MOST_SPLIT_COLUMNS)
    return float((n_rows * (n_columns + _CELLS_A_ROW) + splits) * (n_outputs + 1))


class Schedule(NamedTuple):
    """What changes from tree to tree, (n_trees,) each, as the kernels read it.

    ``scale`` float64 multiplies the gradients; ``noise`` float64 multiplies the Langevin noise (1,
    or 0 where exploration is free of it); ``share`` float64 is the share of rows whose gradients
    count, and ``cycle`` int64 numbers the cycles: rows are drawn anew where either changes.
    """

    scale: np.ndarray
    noise: np.ndarray
    share: np.ndarray
    cycle: np.ndarray


def gradient_scale(
    n_trees: int, method: str, cycle_length: int, alpha_max: float, alpha_min: float
) -> np.ndarray:
    """The factor of every tree's gradients, (n_trees,): 1, or eq. 7 for the cyclical methods."""
    if method not in CYCLICAL:
        return np.ones(n_trees)
    angle = math.pi * (np.arange(n_trees) % cycle_length) / cycle_length
    return np.maximum(0.5 * alpha_max * (np.cos(angle) + 1.0), alpha_min)


def exploring(n_trees: int, cycle_length: int, exploration_fraction: float) -> np.ndarray:
    """Whether each tree belongs to the exploration of its cycle: ``mod(t, C) / C < fraction``."""
    done = np.arange(n_trees) % cycle_length
    return done < exploration_fraction * cycle_length - 1e-9  # 0.9 * 200 is 180.00000000000003


def cycle_ends(n_trees: int, cycle_length: int, burn_in_cycles: int = 0) -> np.ndarray:
    """Numbers of trees ``C, 2 C, ...`` at which members are taken, without the first cycles."""
    length = check_within(KNOBS["cycle_length"], cycle_length)
    burn_in = check_within(KNOBS["burn_in_cycles"], burn_in_cycles)
    n_cycles = n_trees // length
    if n_cycles == 0:
        raise InvalidParameter(
            f"cycle_length is {length}, but the model has only {n_trees} trees: choose shorter "
            "cycles or more trees."
        )
    if burn_in >= n_cycles:
        raise InvalidParameter(
            f"burn_in_cycles is {burn_in}, but there are only {n_cycles} cycles: choose at most "
            f"{n_cycles - 1}."
        )
    return np.arange(burn_in + 1, n_cycles + 1) * length


def make_schedule(
    n_trees: int,
    method: str,
    cycle_length: int,
    alpha: tuple[float, float],
    mask_prob: float,
    exploration_fraction: float,
    noise_free_exploration: bool,
) -> Schedule:
    """The schedule of a fit; ``alpha`` is (alpha_max, alpha_min).

    cbSGLB lets a random ``mask_prob`` of the rows, drawn once a cycle, have gradients while it
    explores (algorithm 1). ``noise_free_exploration`` leaves out the Langevin noise there, as
    cSG-MCMC does (appendix A).
    """
    every = np.ones(n_trees)
    if method not in CYCLICAL:
        return Schedule(every, every, every, np.zeros(n_trees, np.int64))
    explores = exploring(n_trees, cycle_length, exploration_fraction)
    return Schedule(
        scale=gradient_scale(n_trees, method, cycle_length, *alpha),
        noise=np.where(explores & noise_free_exploration, 0.0, 1.0),
        share=np.where(explores & (method == "cbsglb"), mask_prob, 1.0),
        cycle=np.arange(n_trees) // cycle_length,
    )


def truncation_points(n_trees: int, truncation_step: int, truncation_start: float) -> np.ndarray:
    """Numbers of trees ``t = K, 2K, ...`` with ``truncation_start * n_trees < t <= n_trees``."""
    step = check_within(KNOBS["truncation_step"], truncation_step)
    start = check_within(KNOBS["truncation_start"], truncation_start)
    first = math.floor(start * n_trees / step + 1e-9) + 1
    points = np.arange(first, n_trees // step + 1) * step
    if len(points) == 0:
        raise InvalidParameter(
            f"truncation_step {step} gives no member between tree {start * n_trees:.0f} and tree "
            f"{n_trees}: choose a smaller step, an earlier start or more trees."
        )
    return points


def member_points(
    plan: BoostingPlan, n_trees: int, step: int, start: float, burn_in: int
) -> np.ndarray:
    """The members' numbers of trees of ``n_trees``; truncations keep their number."""
    if plan.cyclical:
        cycle_ends(plan.n_trees, plan.cycle_length, burn_in)  # refuses what never fits
        if n_trees < plan.n_trees and n_trees <= plan.cycle_length * (burn_in + 1):
            return np.array([n_trees])  # before the first member; or the only one
        return cycle_ends(n_trees, plan.cycle_length, burn_in)
    if plan.ensemble != "virtual":
        return np.array([n_trees])
    points = truncation_points(plan.n_trees, step, start)  # refuses what never fits
    if n_trees == plan.n_trees:
        return points
    shorter = max(1, round(step * n_trees / plan.n_trees))
    first = math.floor(start * n_trees / shorter + 1e-9) + 1
    points = np.arange(first, n_trees // shorter + 1) * shorter
    return points if len(points) else np.array([n_trees])


def check_stages(at: Any, n_trees: int) -> np.ndarray:
    """Numbers of trees that a caller wants to see a model at."""
    stages = np.asarray(at)
    usable = stages.ndim == 1 and len(stages) > 0 and np.issubdtype(stages.dtype, np.integer)
    if not usable or stages[0] < 1 or stages[-1] > n_trees or (np.diff(stages) <= 0).any():
        raise InvalidParameter(
            f"at must be a rising list of whole numbers from 1 to {n_trees}; got {at!r}."
        )
    return stages.astype(np.int64)
