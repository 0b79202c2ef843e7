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
from gbuq_core.errors import InvalidParameter, refusal_of_call
from gbuq_core.experiments import ensembles
from gbuq_core.presentation import short
from gbuq_core.settings import arguments, setting
from gbuq_core.validation import check_number

STAGE_STEP = 10  # trees between two kept stages of a chain: K is a multiple of it


METHODS = ensembles.ensemble_methods(
    "classification", ("sgb", "sglb", "virtual_sglb", "csglb", "cbsglb", "catboost", "vrf")
)
POINTS = ("truth", "all maps", "off")
_RATES = (0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3)


def explores(plan: SpiralSettings) -> bool:
    """Whether exploration differs from the rest of a cycle."""
    return plan.kind.boosting == "cbsglb" or (plan.kind.cyclical and plan.noise_free)


@dataclass(frozen=True, kw_only=True)
class SpiralSettings(ensembles.OfEnsembles):
    """Everything that the maps depend on. `PAPER` holds the papers' values."""

    known = METHODS

    rows: int = setting(
        500, "Training rows per class", group="data", shrink=(0.5, 100),
        choices=(50, 100, 200, 300, 500, 700, 1000, 1500, 2000, 3000),
    )  # fmt: skip
    noise: float = setting(
        0.4, "Noise", group="data", choices=(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0),
        help="More noise makes the arms wider. They also widen with the distance from the middle.",
    )  # fmt: skip
    seed: int = setting(
        0, "Seed", group="data", low=0, high=30, step=1, arg="random_state",
        help="Sets the rows and the models' random numbers.",
    )  # fmt: skip
    # An ensemble and one long model: large maps, soon there
    methods: tuple[str, ...] = setting(
        ("sglb", "csglb"), "Methods, at most four", group="method", most=4, each=True,
        named={method.label: key for key, method in METHODS.items()},
        help="cSGLB and cbSGLB are one long model each, with a member at the end of every cycle. "
        "vRF is one random forest whose members are groups of trees. CatBoost trains SGLB with "
        "its own code.",
    )  # fmt: skip
    members: int = setting(
        5, of="sglb.n_members", low=2, high=30, step=1, arg="n_members", shrink=(0.5, 5),
        uses=lambda plan: not plan.kind.virtual,
        help="The number of independent models, or of groups of vRF's trees. The members of one "
        "long model follow from K or from its cycles.",
    )  # fmt: skip
    trees: int = setting(
        300, "Trees, independent models", of="sglb.n_trees", arg="n_trees", shrink=(0.5, 50),
        choices=(50, 100, 150, 200, 300, 500, 700, 1000, 1500, 2000),
        uses=lambda plan: not plan.kind.virtual,
        help="The trees of each boosted model, and of the whole forest.",
    )  # fmt: skip
    chain_trees: int = setting(
        600, "Trees, one long model", of="csglb.n_trees", arg="n_trees", shrink=(0.5, 100),
        choices=(100, 200, 300, 400, 500, 600, 800, 1000, 1500, 2000, 3000),
        uses=lambda plan: plan.kind.virtual, help="The length of virtual SGLB, cSGLB and cbSGLB.",
    )  # fmt: skip
    depth: int = ensembles.DEPTH()
    # The paper's is too little for the spiral's nine features.
    forest_depth: int = setting(
        10, "Depth, vRF", of="vrf.max_depth", low=2, high=30, step=1, arg="max_depth",
        uses=lambda plan: not plan.kind.boosting,
        help="The paper's forests have depth 10. Does vRF learn the arms with it?",
    )  # fmt: skip
    rate: float = setting(
        0.1, of="sglb.learning_rate", choices=_RATES, arg="learning_rate",
        uses=lambda plan: bool(plan.kind.boosting) and not plan.kind.cyclical,
        help="For all boosted methods without cycles.",
    )  # fmt: skip
    rate_cyclical: float = setting(
        0.05, "Learning rate, cyclical", of="csglb.learning_rate", choices=_RATES,
        arg="learning_rate", uses=lambda plan: plan.kind.cyclical,
    )  # fmt: skip
    step: int = setting(
        30, of="virtual_sglb.truncation_step", low=10, high=200, step=STAGE_STEP, group="picture",
        brief="K", arg="truncation_step", uses=lambda plan: plan.kind.cut,
    )  # fmt: skip
    start: float = ensembles.START()
    cycle: int = setting(
        60, of="csglb.cycle_length", arg="cycle_length", uses=lambda plan: plan.kind.cyclical,
        choices=(10, 20, 25, 40, 50, 60, 80, 100, 150, 200, 300, 400, 500),
    )  # fmt: skip
    alpha_max: float = setting(
        10.0, of="csglb.alpha_max", choices=(1.0, 2.0, 3.0, 5.0, 10.0, 15.0, 20.0),
        arg="alpha_max", uses=lambda plan: plan.kind.cyclical,
    )  # fmt: skip
    alpha_min: float = setting(
        1.0, of="csglb.alpha_min", choices=(0.1, 0.2, 0.5, 1.0, 2.0), arg="alpha_min",
        uses=lambda plan: plan.kind.cyclical,
    )  # fmt: skip
    mask: float = setting(
        0.66, of="cbsglb.mask_prob", low=0.05, step=0.01, arg="mask_prob",
        uses=lambda plan: plan.kind.boosting == "cbsglb",
    )  # fmt: skip
    noise_free: bool = setting(
        False, of="csglb.noise_free_exploration", arg="noise_free_exploration",
        uses=lambda plan: plan.kind.cyclical,
    )  # fmt: skip
    exploration: float = setting(
        0.9, of="csglb.exploration_fraction", step=0.05, arg="exploration_fraction", uses=explores,
        help="cbSGLB hides rows during this part. If the switch above is on, this part has no "
        "noise.",
    )  # fmt: skip
    temperature: str | float = ensembles.TEMPERATURE()
    leaf_noise: bool | None = ensembles.LEAF_NOISE()
    random_strength: float = setting(
        100.0, of="sglb.random_strength", choices=(0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0),
        arg="random_strength", uses=lambda plan: bool(plan.kind.boosting),
    )  # fmt: skip
    burn_in: int = setting(
        0, of="csglb.burn_in_cycles", high=10, step=1, group="picture", brief="Burn-in",
        arg="burn_in_cycles", uses=lambda plan: plan.kind.cyclical,
        help="The first cycles give no member. Nothing is retrained. The paper keeps all cycles.",
    )  # fmt: skip
    # The first models, or the last truncations
    shown: int | None = setting(
        None, "Members shown", group="picture", brief="Members", kind="ladder",
        named={**{str(n): n for n in (2, 3, 5, 7, 10, 15)}, "all": None},
        help="Uses only this many members. Nothing is retrained.",
    )  # fmt: skip
    flag: int = setting(
        0, "Flag the most unknown cells", unit="%", group="picture", brief="Flag", drawn=True,
        choices=(0, 1, 5, 10, 20, 30, 40, 50), kinds=("knowledge",),
        help="Hatches these cells in each map of knowledge uncertainty.",
    )  # fmt: skip
    points: str = setting("truth", "Training rows on", group="view", choices=POINTS, drawn=True)
    log: bool = ensembles.LOG()
    scale: str = ensembles.SCALE(
        help="Shared: total and data run from 0 to ln 3 nats, and all knowledge maps share a "
        "scale. Own: each map has its own scale.",
    )  # fmt: skip

    @property
    def n_trees(self) -> int:
        """Trees of each of its models."""
        return self.chain_trees if self.kind.virtual else self.trees

    @property
    def n_models(self) -> int:
        """Models that it trains; of a forest its groups."""
        return 1 if self.kind.virtual else self.members


# Appendix B.2 of the cyclical paper: one chain of 2000 trees costs a tenth of 20 models of 1000.
# Narrow arms, with gaps between them to find, and trees of a forest that can learn them.
FIRST = SpiralSettings(noise=0.2, forest_depth=20)
PAPER = SpiralSettings(
    methods=("sglb", "virtual_sglb", "csglb"),
    rows=1500,
    members=20,
    trees=1000,
    chain_trees=2000,
    step=50,
    start=0.5,
    cycle=200,
)


def forest_trees(plan: SpiralSettings) -> int:
    """Trees that a forest trains: equally many a group, at least one."""
    return plan.members * max(1, plan.trees // plan.members)


def spiral_arguments(plan: SpiralSettings) -> dict[str, Any]:
    """All arguments of the estimator for settings of one method."""
    options = arguments(plan)
    if not plan.kind.boosting:
        groups = {"n_groups": options.pop("n_members")}
        options = {**groups, "trees_per_group": forest_trees(plan) // plan.members, **options}
        del options["n_trees"]
    return plan.kind.builder.arguments(options)


def why_not(plan: SpiralSettings, settings: SpiralSettings | None = None) -> str:
    """One sentence on why a plan cannot be fitted; empty if it can."""
    refusal = _refusal(plan)
    if refusal or settings is None or not plan.kind.virtual:
        return refusal
    return refusal_of_call(member_trees, plan, settings)


def _refusal(plan: SpiralSettings) -> str:
    """What the estimator would refuse too, but in the words of the settings."""
    if not plan.kind.cyclical:
        return ""
    if plan.cycle > plan.n_trees:
        return (
            f"Cycle length {plan.cycle} is more than the {plan.n_trees} trees of the model: choose "
            "shorter cycles or more trees."
        )
    if plan.alpha_min > plan.alpha_max:
        return (
            f"Smallest alpha {plan.alpha_min:g} is above largest alpha {plan.alpha_max:g}: lower "
            "the smallest or raise the largest."
        )
    step = plan.rate_cyclical * plan.alpha_max
    if step > LONGEST_STEP + 1e-9:  # 0.2 * 10 is not quite 2 in binary
        return (
            f"Learning rate {plan.rate_cyclical:g} times largest alpha {plan.alpha_max:g} is "
            f"{short(step)}. Above {LONGEST_STEP:g} every tree overshoots and the model diverges. "
            f"Lower the learning rate to {short(LONGEST_STEP / plan.alpha_max)}, or lower the "
            "largest alpha."
        )
    return ""


def spiral_estimator(plan: SpiralSettings) -> Any:
    """The unfitted estimator of a plan."""
    refusal = _refusal(plan)
    if refusal:
        raise InvalidParameter(refusal)
    return plan.kind.make(spiral_arguments(plan))


def member_trees(
    plan: SpiralSettings, settings: SpiralSettings, n_trees: int | None = None
) -> npt.NDArray[np.int64]:
    """After how many trees a chain gives a member: every K trees, or at the ends of cycles."""
    if settings.shown is not None:
        check_number("shown", settings.shown, 1, integer=True)
    points = _all_members(plan, settings, plan.n_trees)  # refuses a chain without any
    if n_trees is not None and n_trees < plan.n_trees:
        try:
            points = _all_members(plan, settings, n_trees)
        except InvalidParameter:
            return np.empty(0, dtype=np.int64)
    return points[-(settings.shown or 0) :]


def _all_members(
    plan: SpiralSettings, settings: SpiralSettings, n_trees: int
) -> npt.NDArray[np.int64]:
    if not plan.kind.cyclical:
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
