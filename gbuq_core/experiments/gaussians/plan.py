"""The race's samplers and settings, and what a sampler's chain depends on.

Tan, Huertas and Zhao, "Efficient and effective uncertainty quantification in gradient boosting via
cyclical gradient MCMC", section 5.1 and appendix B.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gbuq_core.methods import SAMPLERS
from gbuq_core.sampling import TARGETS
from gbuq_core.settings import setting

SHOWN = ("density", "counts")
SCALES = ("the target's", "own")
CHARTS = ("modes", "schedules", "x", "y")  # what a row of charts shows, in order
_CHART_NAMES = ("modes visited", "step sizes", "marginals of x", "marginals of y")


def _own(sampler: str, name: str, **changes: Any) -> Any:
    """A number that only this sampler has."""
    record = SAMPLERS[sampler]
    return setting(
        record.defaults[name],
        f"{record.knob(name).label}, {record.label}",
        of=f"{sampler}.{name}",
        arg=name,
        uses=lambda plan: plan.sampler == sampler,
        **changes,
    )


@dataclass(frozen=True, kw_only=True)
class GaussiansSettings:
    """Everything that the race depends on. The defaults are the paper's where it states them."""

    target: str = setting(
        "gaussians25", "Target", group="data", arg="target",
        named={target.label: key for key, target in TARGETS.items()},
    )  # fmt: skip
    gradient_noise: float = setting(
        1.0, "Noise of the gradient (std)", group="data", choices=(0.0, 0.3, 1.0, 3.0, 10.0),
        arg="gradient_noise",
        help="In practice minibatches make gradients noisy. This noise stands for them.",
    )  # fmt: skip
    seed: int = setting(
        0, "Seed", group="data", low=0, high=30, step=1, arg="random_state",
        help="Sets the starts and the noise. They are the same for all samplers.",
    )  # fmt: skip
    samplers: tuple[str, ...] = setting(
        tuple(SAMPLERS), "Samplers", group="method", each=True,
        named={kind.label: key for key, kind in SAMPLERS.items()},
        help="N-SGLD adds more noise. clr-SGLD cycles the step size; cg-SGLD cycles the gradient's "
        "scale.",
    )  # fmt: skip
    steps: int = setting(
        50_000, "Steps", choices=(1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000),
        arg="n_steps", shrink=(0.5, 5000), help="The length of each chain.",
    )  # fmt: skip
    chains: int = setting(
        1, "Chains", choices=(1, 2, 5, 10, 20, 50), arg="n_chains", shrink=(0.5, 1),
        help="Each chain has its own start. The maps show all chains of a sampler together.",
    )  # fmt: skip
    cycles: int = setting(
        30, "Cycles", choices=(1, 2, 5, 10, 20, 30, 50, 100), arg="n_cycles",
        uses=lambda plan: plan.cyclical,
    )  # fmt: skip
    # SGLD's learning rate is that of its first step, clr-SGLD's that of the start of a cycle.
    rate_sgld: float = _own("sgld", "learning_rate", choices=(0.005, 0.01, 0.02, 0.05, 0.1, 0.2))
    rate_nsgld: float = _own(
        "nsgld", "learning_rate", choices=(0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1)
    )
    noise_nsgld: float = _own("nsgld", "noise_scale", choices=(1.0, 1.5, 2.0, 3.0, 5.0, 10.0))
    rate_clr: float = _own(
        "clr", "learning_rate", choices=(0.01, 0.03, 0.05, 0.06, 0.07, 0.08, 0.09, 0.1, 0.12)
    )
    exploration_clr: float = _own("clr", "exploration_fraction", high=0.9, step=0.05)
    rate_cg: float = _own(
        "cg", "learning_rate", choices=(0.002, 0.005, 0.007, 0.01, 0.012, 0.015, 0.02)
    )
    alpha_max: float = _own("cg", "alpha_max", low=1.0, high=15.0, step=0.5)
    alpha_min: float = _own("cg", "alpha_min", low=0.5, high=5.0, step=0.5)
    exploration_cg: float = _own("cg", "exploration_fraction", high=0.9, step=0.05)
    noise_free: bool = setting(
        False, "No noise while exploring", arg="noise_free_exploration",
        uses=lambda plan: plan.exploration > 0.0, help="As in cSG-MCMC (appendix A).",
    )  # fmt: skip
    # 1 samples from the target itself.
    noise: float = setting(
        SAMPLERS["sgld"].defaults["noise_scale"], "Noise scale, SGLD and cyclical",
        of="sgld.noise_scale", choices=(0.0, 0.1, 0.2, 0.4, 0.5, 0.7, 1.0, 1.5, 2.0),
        arg="noise_scale", uses=lambda plan: plan.sampler != "nsgld",
    )  # fmt: skip
    shown: str = setting("density", "Colours show", group="view", drawn=True, choices=SHOWN)
    scale: str = setting(
        SCALES[0], "Colour scale", group="view", drawn=True, choices=SCALES,
        help="A trapped chain is far denser than the target. Its own scale shows by how much.",
    )  # fmt: skip
    log: bool = setting(False, "Logarithmic colours", group="view", drawn=True)
    trail: bool = setting(True, "Path of chain 1", group="view", drawn=True)
    outlines: bool = setting(
        False, "Borders of the modes", group="view", drawn=True,
        help="A sample within 3 standard deviations of a mode counts as in that mode. Without all "
        "charts the borders are always there.",
    )  # fmt: skip
    charts: tuple[str, ...] = setting(
        CHARTS,
        "Charts",
        group="view",
        drawn=True,
        named=dict(zip(_CHART_NAMES, CHARTS, strict=True)),
    )

    @property
    def sampler(self) -> str:
        """The first sampler, the only one of a chain's key."""
        return self.samplers[0]

    @property
    def cyclical(self) -> bool:
        """Whether that sampler has cycles."""
        return SAMPLERS[self.sampler].cyclical

    @property
    def exploration(self) -> float:
        """The share of each of its cycles that is not kept."""
        return {"clr": self.exploration_clr, "cg": self.exploration_cg}.get(self.sampler, 0.0)
