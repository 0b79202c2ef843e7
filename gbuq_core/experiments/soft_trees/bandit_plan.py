"""The exploration bandit's knobs, and which of them one policy's run depends on.

Cinquin et al. (2022), section 5.3 and supplement 2.3, equation 22. The paper leaves the constants
of the bumps open; the defaults here are this project's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gbuq_core.boosting.plan import TEMPERATURES
from gbuq_core.errors import InvalidParameter
from gbuq_core.validation import check_choice, check_number

POLICIES = {"random": "Random", "sglb": "SGLB", "xbart": "XBART", "vst": "VST"}
SGLB_ENSEMBLES = ("virtual", "independent")
MAX_BANDIT_STEPS = 20_000  # the paper's
BURN_IN = 15  # of XBART, the paper's
_MAX_FITS = 20_000  # of all seeds: hours

# Measured on one core of a 2020s server.
_SGLB_TREE, _SGLB_ROW_TREE = 5e-5, 1e-8
_XBART_TREE, _XBART_ROW_TREE = 7e-5, 1.5e-7


@dataclass(frozen=True, kw_only=True)
class BanditSettings:
    """Everything that a comparison depends on.

    Attributes
    ----------
    policies : tuple of str
        Keys of `POLICIES`.
    n_steps : int
        Contexts, one pull each; the paper's 20,000 or fewer.
    n_arms : int
        Bumps, evenly spaced over [-1, 1].
    alpha : float
        Half the width of a bump; at most half their distance, ``1 / n_arms``: they are disjoint.
    beta : float
        Steepness of their flanks; ``alpha * beta`` is at least 2, or they would be flat.
    noise : float
        Std of a reward's noise.
    refit_every : int
        Steps between two fits of an arm's model.
    initial_pulls : int
        Pulls of each arm, in turn, before the first fit.
    n_seeds, seed : int
        Repetitions, and the seed of the first; contexts and noise are the same for all policies.
    sglb_ensemble : {"virtual", "independent"}
    sglb_temperature : str or float
        As of `BoostedEnsembleRegressor`.
    n_trees : int
        Of each SGLB model; a virtual ensemble has two members for every ten of them.
    xbart_trees, xbart_draws : int
    vst_depth, vst_rank, vst_steps : int
        Depth, rank and Adam steps of the soft tree.
    """

    policies: tuple[str, ...] = ("random", "sglb", "xbart", "vst")
    n_steps: int = 2000
    n_arms: int = 5
    alpha: float = 0.15
    beta: float = 40.0
    noise: float = 0.1
    refit_every: int = 50
    initial_pulls: int = 3
    n_seeds: int = 3
    seed: int = 0
    sglb_ensemble: str = "virtual"
    sglb_temperature: str | float = "catboost"
    n_trees: int = 100
    xbart_trees: int = 20
    xbart_draws: int = 40
    vst_depth: int = 3
    vst_rank: int = 5
    vst_steps: int = 600


@dataclass(frozen=True, kw_only=True)
class BanditPlan:
    """What one policy's run depends on, and nothing else: the key of its result.

    ``model`` holds the estimator's own parameters, as pairs of name and value; knobs that the
    policy does not use are None or absent, so that moving them runs nothing again.
    """

    policy: str
    n_steps: int
    n_arms: int
    alpha: float
    beta: float
    noise: float
    n_seeds: int
    seed: int
    refit_every: int | None
    initial_pulls: int | None
    model: tuple[tuple[str, Any], ...]


def plan_bandit(settings: BanditSettings, policy: str) -> BanditPlan:
    """What a policy's run depends on.

    Raises
    ------
    InvalidParameter
        If a knob is impossible, bumps would overlap, or there would be too many fits.

    Examples
    --------
    >>> few, many = BanditSettings(xbart_trees=5), BanditSettings(xbart_trees=50)
    >>> plan_bandit(few, "sglb") == plan_bandit(many, "sglb")
    True
    """
    check_choice("policy", policy, tuple(POLICIES))
    steps = check_number("n_steps", settings.n_steps, 10, MAX_BANDIT_STEPS, integer=True)
    arms = check_number("n_arms", settings.n_arms, 2, 20, integer=True)
    alpha = check_number("alpha", settings.alpha, 0.001, 1.0 / arms)
    beta = check_number("beta", settings.beta, 2.0 / alpha, 1e6)
    every = check_number("refit_every", settings.refit_every, 1, MAX_BANDIT_STEPS, integer=True)
    pulls = check_number("initial_pulls", settings.initial_pulls, 3, 1000, integer=True)
    if pulls * arms >= steps:
        raise InvalidParameter(
            f"initial_pulls = {pulls} of {arms} arms leave nothing of n_steps = {steps}: take more "
            "steps or fewer pulls."
        )
    plan = BanditPlan(
        policy=policy,
        n_steps=steps,
        n_arms=arms,
        alpha=alpha,
        beta=beta,
        noise=check_number("noise", settings.noise, 0.001, 1000.0),
        n_seeds=check_number("n_seeds", settings.n_seeds, 1, 20, integer=True),
        seed=check_number("seed", settings.seed, 0, 2**31 - 1, integer=True),
        refit_every=None if policy == "random" else every,
        initial_pulls=None if policy == "random" else pulls,
        model=_model_parameters(settings, policy),
    )
    fits = count_fits(plan)
    if fits > _MAX_FITS:
        raise InvalidParameter(
            f"refit_every = {every} would mean {fits:,} fits, and at most {_MAX_FITS:,} are "
            "allowed: fit more rarely, or take fewer steps, arms or seeds."
        )
    return plan


def _model_parameters(settings: BanditSettings, policy: str) -> tuple[tuple[str, Any], ...]:
    """The parameters of the policy's estimator, checked."""

    def whole(knob: str, low: int, high: int) -> int:
        number: int = check_number(knob, getattr(settings, knob), low, high, integer=True)
        return number

    found: dict[str, Any] = {}
    if policy == "sglb":
        found["ensemble"] = check_choice("sglb_ensemble", settings.sglb_ensemble, SGLB_ENSEMBLES)
        found["temperature"] = _check_temperature(settings.sglb_temperature)
        found["n_trees"] = whole("n_trees", 20, 2000)
    elif policy == "xbart":
        found["n_trees"] = whole("xbart_trees", 1, 200)
        found["n_draws"] = whole("xbart_draws", 2, 1000)
    elif policy == "vst":
        found["depth"] = whole("vst_depth", 1, 6)
        found["rank"] = whole("vst_rank", 0, 50)
        found["n_steps"] = whole("vst_steps", 50, 20_000)
    return tuple(found.items())


def _check_temperature(value: str | float) -> str | float:
    if isinstance(value, str):
        return check_choice("sglb_temperature", value, TEMPERATURES)
    number: float = check_number("sglb_temperature", value, 0.0, 1e12, low_open=True)
    return number


def fit_steps(plan: BanditPlan) -> np.ndarray:
    """The steps before which arms are fitted, (n_fits,) int64; none for the random policy.

    Examples
    --------
    >>> fit_steps(plan_bandit(BanditSettings(n_steps=120), "sglb"))
    array([ 15,  65, 115])
    """
    if plan.refit_every is None or plan.initial_pulls is None:
        return np.empty(0, dtype=np.int64)
    first = plan.initial_pulls * plan.n_arms
    return np.arange(first, plan.n_steps, plan.refit_every, dtype=np.int64)


def count_fits(plan: BanditPlan) -> int:
    """Fits of all arms and seeds at most: an arm without new rewards is not fitted again."""
    return len(fit_steps(plan)) * plan.n_arms * plan.n_seeds


def estimate_bandit_seconds(plan: BanditPlan) -> float:
    """Roughly what `run_bandit` takes on one core.

    Arms end with an equal share of the steps at best; the estimate takes half of that as the
    number of rows of a fit.

    Examples
    --------
    >>> estimate_bandit_seconds(plan_bandit(BanditSettings(), "random")) < 1.0
    True
    """
    rows = 0.5 * plan.n_steps / plan.n_arms
    model, seconds = dict(plan.model), 0.0
    if plan.policy == "sglb":
        models = 10 if model["ensemble"] == "independent" else 1
        seconds = models * model["n_trees"] * (_SGLB_TREE + rows * _SGLB_ROW_TREE)
    elif plan.policy == "xbart":
        trees = model["n_trees"] * (BURN_IN + model["n_draws"])
        seconds = trees * (_XBART_TREE + rows * _XBART_ROW_TREE)
    elif plan.policy == "vst":
        from gbuq_core.soft_trees import VariationalSoftTreeRegressor

        seconds = VariationalSoftTreeRegressor(**model).estimate_fit(int(rows), 1)[0]
    return 0.05 + count_fits(plan) * seconds
