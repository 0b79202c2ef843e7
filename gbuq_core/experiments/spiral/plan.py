"""The spiral's methods and settings, and what a fit depends on.

Malinin, Prokhorenkova and Ustimenko, "Uncertainty in gradient boosting via ensembles", section 4;
Tan, Huertas and Zhao, "Cyclical gradient MCMC", algorithm 1, section 5.1 and appendix B.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gbuq_core.boosting.plan import LONGEST_STEP, cycle_ends, truncation_points
from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.ensembles import ensemble_methods
from gbuq_core.jobs import effective_n_jobs
from gbuq_core.presentation import short
from gbuq_core.validation import check_choice, check_number

STAGE_STEP = 10  # trees between two kept stages of a chain: K is a multiple of it
_N_FEATURES, _N_CLASSES = 9, 3


METHODS = ensemble_methods(
    "classification", ("sgb", "sglb", "virtual_sglb", "csglb", "cbsglb", "catboost", "vrf")
)


@dataclass(frozen=True, kw_only=True)
class SpiralSettings:
    """Everything that the maps depend on. `PAPER` holds the papers' values."""

    methods: tuple[str, ...] = ("sglb", "virtual_sglb", "csglb")  # keys of `METHODS`
    # `rows`, `noise`, `seed`: as `n_per_class`, `noise` and `random_state` of `make_spiral`; the
    # seed is the models' too
    rows: int = 500
    noise: float = 0.4
    seed: int = 0
    # `members`, `trees`: models of an independent ensemble and trees of each; a forest of `trees`
    # trees is split into `members` groups
    members: int = 5
    trees: int = 300
    chain_trees: int = 600  # trees (T) of the one model behind virtual and cyclical ensembles
    # `step`, `start`: truncation step K, a multiple of 10, and start of virtual SGLB
    step: int = 30
    start: float = 0.5
    # `cycle`, `burn_in`: trees of a cycle (C), and how many first cycles give no member
    cycle: int = 60
    burn_in: int = 0
    # `alpha_max`, `alpha_min`: bounds of the gradient scale
    alpha_max: float = 10.0
    alpha_min: float = 1.0
    # `mask`, `exploration`: cbSGLB's share of rows that count, and the part of a cycle in which
    # they alone do
    mask: float = 0.66
    exploration: float = 0.9
    noise_free: bool = False  # no Langevin noise while exploring (cSG-MCMC's variant)
    # "catboost" (the number of rows), "posterior" (1) or a number
    temperature: str | float = "catboost"
    # as `gbuq_core.BoostedEnsembleClassifier`; the numba engine only
    leaf_noise: bool | None = None
    random_strength: float = 100.0  # noise on split scores that fades
    # `rate`, `rate_cyclical`: learning rates of all others and of the cyclical methods
    rate: float = 0.1
    rate_cyclical: float = 0.05
    # `depth`, `forest_depth`: Of the boosted trees and of the forest's. The paper's forest has
    # depth 10, too little for the spiral's nine features.
    depth: int = 6
    forest_depth: int = 10
    # How many members count: the first models, or the last truncations. None: all.
    shown: int | None = None


# Appendix B.2 of the cyclical paper: one chain of 2000 trees costs a tenth of 20 models of 1000.
PAPER = SpiralSettings(
    rows=1500, members=20, trees=1000, chain_trees=2000, step=50, start=0.5, cycle=200
)


@dataclass(frozen=True, kw_only=True)
class SpiralPlan:
    """What one method's fit depends on, and nothing else. It is the key of the fit's result.

    Fields that the method does not use are None, so that changing them retrains nothing.
    """

    method: str
    rows: int
    noise: float
    seed: int
    members: int
    trees: int
    depth: int
    rate: float | None
    random_strength: float | None
    temperature: str | float | None
    leaf_noise: bool | None
    cycle: int | None
    alpha_max: float | None
    alpha_min: float | None
    mask: float | None
    exploration: float | None
    noise_free: bool | None


def plan_spiral(settings: SpiralSettings, method: str) -> SpiralPlan:
    """What a method's fit depends on.

    Examples
    --------
    >>> few, many = SpiralSettings(step=100), SpiralSettings(step=10, burn_in=2)
    >>> [plan_spiral(few, key) == plan_spiral(many, key) for key in ("virtual_sglb", "csglb")]
    [True, True]
    """
    kind = METHODS[check_choice("method", method, tuple(METHODS))]
    boosting = bool(kind.boosting)
    masked = kind.boosting == "cbsglb"
    explores = masked or (kind.cyclical and settings.noise_free)
    return SpiralPlan(
        method=method,
        rows=settings.rows,
        noise=settings.noise,
        seed=settings.seed,
        members=1 if kind.virtual else settings.members,
        trees=settings.chain_trees if kind.virtual else settings.trees,
        depth=settings.depth if boosting else settings.forest_depth,
        rate=(settings.rate_cyclical if kind.cyclical else settings.rate) if boosting else None,
        random_strength=settings.random_strength if boosting else None,
        temperature=settings.temperature if kind.langevin else None,
        leaf_noise=settings.leaf_noise if kind.langevin and kind.engine == "numba" else None,
        cycle=settings.cycle if kind.cyclical else None,
        alpha_max=settings.alpha_max if kind.cyclical else None,
        alpha_min=settings.alpha_min if kind.cyclical else None,
        mask=settings.mask if masked else None,
        exploration=settings.exploration if explores else None,
        noise_free=settings.noise_free if kind.cyclical else None,
    )


def forest_trees(plan: SpiralPlan) -> int:
    """Trees that a forest trains: equally many a group, at least one.

    >>> forest_trees(plan_spiral(SpiralSettings(members=3, trees=50), "vrf"))
    48
    """
    return plan.members * max(1, plan.trees // plan.members)


def spiral_knobs(plan: SpiralPlan) -> dict[str, Any]:
    """Arguments of the plan's estimator, only those that its method uses."""
    kind = METHODS[plan.method]
    if not kind.boosting:
        return {
            "n_groups": plan.members,
            "trees_per_group": forest_trees(plan) // plan.members,
            "max_depth": plan.depth,
            "random_state": plan.seed,
        }
    knobs = {
        "method": kind.boosting,
        "ensemble": "virtual" if kind.virtual else "independent",
        "n_members": None if kind.virtual else plan.members,
        "n_trees": plan.trees,
        "depth": plan.depth,
        "learning_rate": plan.rate,
        "random_strength": plan.random_strength,
        "temperature": plan.temperature,
        "leaf_noise": plan.leaf_noise,
        "cycle_length": plan.cycle,
        "alpha_max": plan.alpha_max,
        "alpha_min": plan.alpha_min,
        "mask_prob": plan.mask,
        "exploration_fraction": plan.exploration,
        "noise_free_exploration": plan.noise_free,
        "engine": None if kind.engine == "numba" else kind.engine,
        "random_state": plan.seed,
    }
    return {name: value for name, value in knobs.items() if value is not None}


def why_not(plan: SpiralPlan, settings: SpiralSettings | None = None) -> str:
    """One sentence on why a plan cannot be fitted; empty if it can.

    With ``settings`` it also says why the fit would give no members.

    Examples
    --------
    >>> why_not(plan_spiral(SpiralSettings(chain_trees=100, cycle=500), "csglb"))
    'Cycle length 500 is more than the 100 trees of the model: choose shorter cycles or more trees.'
    >>> why_not(plan_spiral(SpiralSettings(chain_trees=100, cycle=500), "sglb"))
    ''
    """
    refusal = _refusal(plan)
    if refusal or settings is None or not METHODS[plan.method].virtual:
        return refusal
    try:
        member_trees(plan, settings)
    except InvalidParameter as error:
        return str(error)
    return ""


def _refusal(plan: SpiralPlan) -> str:
    """What the estimator would refuse too, but in the words of the settings."""
    if plan.cycle is None or plan.rate is None or plan.alpha_max is None or plan.alpha_min is None:
        return ""
    if plan.cycle > plan.trees:
        return (
            f"Cycle length {plan.cycle} is more than the {plan.trees} trees of the model: choose "
            "shorter cycles or more trees."
        )
    if plan.alpha_min > plan.alpha_max:
        return (
            f"Smallest alpha {plan.alpha_min:g} is above largest alpha {plan.alpha_max:g}: lower "
            "the smallest or raise the largest."
        )
    step = plan.rate * plan.alpha_max
    if step > LONGEST_STEP + 1e-9:  # 0.2 * 10 is not quite 2 in binary
        return (
            f"Learning rate {plan.rate:g} times largest alpha {plan.alpha_max:g} is {short(step)}. "
            f"Above {LONGEST_STEP:g} every tree overshoots and the model diverges. Lower the "
            f"learning rate to {short(LONGEST_STEP / plan.alpha_max)}, or lower the largest alpha."
        )
    return ""


def spiral_estimator(plan: SpiralPlan) -> Any:
    """The unfitted estimator of a plan.

    Examples
    --------
    >>> spiral_estimator(plan_spiral(SpiralSettings(rate=0.2), "sglb")).learning_rate
    0.2
    """
    refusal = _refusal(plan)
    if refusal:
        raise InvalidParameter(refusal)
    return METHODS[plan.method].make(spiral_knobs(plan))


def estimate_spiral_seconds(plan: SpiralPlan) -> float:
    """Roughly what `fit_spiral` takes on this machine's cores.

    A plan that cannot be fitted takes no time: `fit_spiral` refuses it at once (`why_not`).

    Examples
    --------
    >>> quick = estimate_spiral_seconds(plan_spiral(SpiralSettings(), "virtual_sglb"))
    >>> estimate_spiral_seconds(plan_spiral(PAPER, "sglb")) > 5 * quick
    True
    """
    n_rows = _N_CLASSES * plan.rows
    if not METHODS[plan.method].boosting:
        costs = METHODS[plan.method].record.costs
        seconds = costs.fit_seconds(n_rows, _N_FEATURES, forest_trees(plan))
        return seconds / effective_n_jobs(None)
    try:
        estimate = spiral_estimator(plan).estimate_fit(n_rows, _N_FEATURES, _N_CLASSES)
    except InvalidParameter:
        return 0.0
    return 0.1 + float(estimate.seconds)


def member_trees(
    plan: SpiralPlan, settings: SpiralSettings, n_trees: int | None = None
) -> npt.NDArray[np.int64]:
    """After how many trees a chain gives a member: every K trees, or at the ends of cycles.

    Examples
    --------
    >>> settings = SpiralSettings(chain_trees=600, cycle=100, burn_in=2)
    >>> member_trees(plan_spiral(settings, "csglb"), settings)
    array([300, 400, 500, 600])
    """
    if settings.shown is not None:
        check_number("shown", settings.shown, 1, integer=True)
    points = _all_members(plan, settings, plan.trees)  # refuses a chain without any
    if n_trees is not None and n_trees < plan.trees:
        try:
            points = _all_members(plan, settings, n_trees)
        except InvalidParameter:
            return np.empty(0, dtype=np.int64)
    return points[-(settings.shown or 0) :]


def _all_members(plan: SpiralPlan, settings: SpiralSettings, n_trees: int) -> npt.NDArray[np.int64]:
    if plan.cycle is None:
        step = check_number("step", settings.step, 1, integer=True)
        if step % STAGE_STEP:
            raise InvalidParameter(
                f"The truncation step K must be a multiple of {STAGE_STEP} here; got {step}."
            )
        if n_trees // step * step <= settings.start * n_trees:
            raise InvalidParameter(
                f"Truncation step {step} gives no member between tree "
                f"{settings.start * n_trees:.0f} and tree {n_trees}: choose a smaller step, an "
                "earlier start or more trees."
            )
        return truncation_points(n_trees, step, settings.start)
    n_cycles = n_trees // plan.cycle
    if settings.burn_in >= max(n_cycles, 1):
        raise InvalidParameter(
            f"Burn-in {settings.burn_in} leaves none of the {n_cycles} cycles: choose a smaller "
            "burn-in."
        )
    return cycle_ends(n_trees, plan.cycle, settings.burn_in)
