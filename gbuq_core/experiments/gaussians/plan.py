"""The race's samplers and settings, and what a sampler's chain depends on.

Tan, Huertas and Zhao, "Efficient and effective uncertainty quantification in gradient boosting via
cyclical gradient MCMC", section 5.1 and appendix B.1.
"""

from __future__ import annotations

from dataclasses import dataclass

from gbuq_core.sampling import SAMPLERS
from gbuq_core.validation import check_choice

# Seconds on one core of a 2020s server, for the estimate before a run.
_SECONDS_PER_STEP = 0.5e-6


@dataclass(frozen=True, kw_only=True)
class GaussiansSettings:
    """Everything that the race depends on. The defaults are the paper's where it states them."""

    # keys of `gbuq_core.sampling.SAMPLERS`
    samplers: tuple[str, ...] = ("sgld", "nsgld", "clr", "cg")
    target: str = "gaussians25"  # A key of `gbuq_core.sampling.TARGETS`
    seed: int = 0  # of the start and the noise; the same for all samplers
    # std of the noise on every gradient, which stands for a minibatch's
    gradient_noise: float = 1.0
    # `steps`, `chains`: of every sampler: the budget
    steps: int = 50_000
    chains: int = 1
    cycles: int = 30  # of clr-SGLD and cg-SGLD
    # `rate_sgld`, `rate_nsgld`, `rate_clr`, `rate_cg`: learning rates: SGLD's at its first step,
    # clr-SGLD's at the start of a cycle
    rate_sgld: float = SAMPLERS["sgld"].defaults["learning_rate"]
    rate_nsgld: float = SAMPLERS["nsgld"].defaults["learning_rate"]
    rate_clr: float = SAMPLERS["clr"].defaults["learning_rate"]
    rate_cg: float = SAMPLERS["cg"].defaults["learning_rate"]
    # noise scale of all but N-SGLD; 1 samples from the target itself
    noise: float = SAMPLERS["sgld"].defaults["noise_scale"]
    noise_nsgld: float = SAMPLERS["nsgld"].defaults["noise_scale"]  # N-SGLD's noise scale
    # `exploration_clr`, `exploration_cg`: share of each cycle that is not kept
    exploration_clr: float = SAMPLERS["clr"].defaults["exploration_fraction"]
    exploration_cg: float = SAMPLERS["cg"].defaults["exploration_fraction"]
    noise_free: bool = False  # whether steps that are not kept inject no noise
    # `alpha_max`, `alpha_min`: limits of cg-SGLD's gradient scale
    alpha_max: float = SAMPLERS["cg"].defaults["alpha_max"]
    alpha_min: float = SAMPLERS["cg"].defaults["alpha_min"]


@dataclass(frozen=True, kw_only=True)
class SamplerPlan:
    """What one sampler's chains depend on, and nothing else. It is the key of their result.

    Fields that the sampler does not use are None, so that changing them reruns nothing.
    """

    sampler: str
    target: str
    seed: int
    gradient_noise: float
    steps: int
    chains: int
    rate: float
    noise: float
    cycles: int | None
    exploration: float | None
    noise_free: bool
    alpha_max: float | None
    alpha_min: float | None


def plan_sampler(settings: GaussiansSettings, sampler: str) -> SamplerPlan:
    """What a sampler's chains depend on.

    >>> low, high = GaussiansSettings(alpha_max=5.0), GaussiansSettings(alpha_max=20.0)
    >>> plan_sampler(low, "clr") == plan_sampler(high, "clr")
    True
    """
    kind = SAMPLERS[check_choice("sampler", sampler, tuple(SAMPLERS))]
    rates = {
        "sgld": settings.rate_sgld,
        "nsgld": settings.rate_nsgld,
        "clr": settings.rate_clr,
        "cg": settings.rate_cg,
    }
    explorations = {"clr": settings.exploration_clr, "cg": settings.exploration_cg}
    exploration = explorations.get(sampler)
    return SamplerPlan(
        sampler=sampler,
        target=settings.target,
        seed=settings.seed,
        gradient_noise=settings.gradient_noise,
        steps=settings.steps,
        chains=settings.chains,
        rate=rates[sampler],
        noise=settings.noise_nsgld if sampler == "nsgld" else settings.noise,
        cycles=settings.cycles if kind.cyclical else None,
        exploration=exploration,
        # Without exploring steps there is nothing to be free of noise.
        noise_free=bool(settings.noise_free and exploration),
        alpha_max=settings.alpha_max if sampler == "cg" else None,
        alpha_min=settings.alpha_min if sampler == "cg" else None,
    )


def estimate_sampler_seconds(plan: SamplerPlan) -> float:
    """Roughly what `run_sampler` takes on this machine.

    >>> estimate_sampler_seconds(plan_sampler(GaussiansSettings(), "cg")) < 0.2
    True
    """
    return 0.02 + plan.steps * plan.chains * _SECONDS_PER_STEP
