"""The spiral: three interleaved arms, and who notices that there is nothing between and around.

Malinin, Prokhorenkova and Ustimenko, "Uncertainty in gradient boosting via ensembles", section 4,
figures 3 and 4; Tan, Huertas and Zhao, "Cyclical gradient MCMC", algorithm 1, section 5.1, figure 3
and appendix B.2. Read from top to bottom: data, settings, fit, numbers, claims, picture, words.
`spiral_walks` holds its closer looks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax

from gbuq_core.boosting.plan import LONGEST_STEP, cycle_ends, truncation_points
from gbuq_core.errors import InvalidParameter, refusal_of_call
from gbuq_core.experiments import ensembles
from gbuq_core.experiments.claims import Threshold, times_text, verdict_of
from gbuq_core.experiments.ranking import auroc_of, rank_correlation
from gbuq_core.figures.canvas.panels import Panel, PanelSheet, Points
from gbuq_core.figures.handles import LiveKnob
from gbuq_core.metrics import effective_ensemble_size, error_rate, nll_classification
from gbuq_core.presentation import short
from gbuq_core.settings import arguments, bare, differences, plan_of, quicker, setting, to_values
from gbuq_core.study.maps import FLAGGED, Truth, border_of, common_frames, flagged, maps
from gbuq_core.study.members import (
    Array,
    Fit,
    Ints,
    Mask,
    Members,
    View,
    fit_members,
    list_stages,
    view_members,
    with_last_class,
)
from gbuq_core.study.spiral_walks import (
    CLASS_COLOURS,
    CLASSES,
    EXTENT,
    LOOKS,
    choose_line,
    choose_point,
    say_beyond,
    training_strips,
    walk_off,
)
from gbuq_core.study.study import BETTER_THAN_CHANCE, Claim, Code, Row, Run, Study, fill
from gbuq_core.synthetic import SpiralData, make_spiral, spiral_features, spiral_log_density
from gbuq_core.uncertainty import entropy

# --- Data -----------------------------------------------------------------------------------------

SIDE = 80
ARM_RADIUS = (6.0 * np.pi) ** 2  # of the arms' ends, without noise
AXIS = EXTENT[0] + (np.arange(SIDE) + 0.5) * (EXTENT[1] - EXTENT[0]) / SIDE
# One row a cell, the second feature upwards: predict(...).reshape(80, 80) is a map.
GRID = np.stack(np.meshgrid(AXIS, AXIS), axis=-1).reshape(-1, 2)
GRID.setflags(write=False)
FRESH_PER_CLASS = 500
_FRESH_STREAM, _QUANTILE_STREAM = 1, 2  # of the seed: rows that are nobody's training rows
_LEAST_MASS = 0.01  # of the data lies outside the support that the maps draw
FAR_SHARE = 0.4  # of the grid: where the true density is lowest
# In nats: class borders have more true data uncertainty than the first (two equal classes: 0.69),
# the middles of the arms less than the second.
BORDER_ENTROPY, CLEAR_ENTROPY = 0.35, 0.05
MIN_BETWEEN = 20  # cells: with fewer there is no gap between the arms to speak of


class SpiralTruth(NamedTuple):
    """What is true at each cell of `GRID` (80, 80); see `gbuq_core.synthetic.spiral_log_density`.

    The last four are cells where the truth alone says that there are rows, none, or two classes.
    """

    data_uncertainty: Array  # entropy of the true class probabilities, in nats
    # `density`, `log_density`: of all rows, whatever their class, per unit area
    density: Array
    log_density: Array
    proba: Array  # (3, 80, 80): true class probabilities
    limit: float  # the log density that all but 1 % of the rows exceed
    in_support: Mask  # and the cells where it does
    far: Mask
    # gaps, not the rim. There are some if the arms are narrow, with a noise below 0.25 or so.
    between: Mask
    border: Mask
    clear: Mask


class Plane(NamedTuple):
    """The training rows, and the truth."""

    rows: SpiralData
    truth: SpiralTruth

    @property
    def in_support(self) -> Mask:
        """The cells with rows."""
        return self.truth.in_support


@lru_cache(maxsize=8)
def make_plane(rows: int, noise: float, seed: int) -> Plane:
    """So many training rows a class, with the truth."""
    return Plane(make_spiral(rows, noise, seed), spiral_truth(noise))


def make_data(settings: SpiralSettings) -> Plane:
    """The data of settings, or of a fit's key."""
    return make_plane(settings.rows, settings.noise, settings.seed)


@lru_cache(maxsize=8)
def spiral_truth(noise: float) -> SpiralTruth:
    """The truth on `GRID`."""
    by_class = spiral_log_density(GRID, noise)
    log_density = _of_any_class(by_class).reshape(SIDE, SIDE)
    proba = softmax(by_class, axis=1)
    uncertainty = entropy(proba).reshape(SIDE, SIDE)
    rows = make_spiral(FRESH_PER_CLASS, noise, [0, _QUANTILE_STREAM]).X[:, :2]
    limit = float(np.quantile(_of_any_class(spiral_log_density(rows, noise)), _LEAST_MASS))
    inside = log_density > limit
    truth = SpiralTruth(
        data_uncertainty=uncertainty,
        density=np.exp(log_density),
        log_density=log_density,
        proba=proba.T.reshape(3, SIDE, SIDE),
        limit=limit,
        in_support=inside,
        far=log_density <= np.quantile(log_density, FAR_SHARE),
        between=_on_both_sides(inside) & ~inside,
        border=inside & (uncertainty > BORDER_ENTROPY),
        clear=inside & (uncertainty < CLEAR_ENTROPY),
    )
    for array in truth:
        if isinstance(array, np.ndarray):
            array.setflags(write=False)
    return truth


def _of_any_class(by_class: Array) -> Array:
    """Log density of a row of any class from those of each (n, 3)."""
    return np.logaddexp.reduce(by_class, axis=1) - np.log(3.0)


def _on_both_sides(support: Mask) -> Mask:
    """Cells with the support nearer to the middle and farther out along their ray."""
    width = (EXTENT[1] - EXTENT[0]) / SIDE
    own = np.hypot(*GRID.T)[:, None]
    # What each cell's ray crosses from the middle to the corners, in steps of half a cell
    radius = np.arange(0.0, EXTENT[1] * math.sqrt(2.0), width / 2.0)
    points = (GRID / own)[:, None] * radius[:, None]
    column, row = np.moveaxis(np.floor((points - EXTENT[0]) / width).astype(np.int16), -1, 0)
    on_grid = (row >= 0) & (row < SIDE) & (column >= 0) & (column < SIDE)
    crossed = np.where(on_grid, row * SIDE + column, SIDE * SIDE)
    hits, nearer = np.append(support, False)[crossed], radius < own
    both = np.any(hits & nearer, axis=1) & np.any(hits & ~nearer, axis=1)
    return np.reshape(both, support.shape)


class FreshSample(NamedTuple):
    """1,500 rows that no method trained on, and their true class probabilities (n_rows, 3)."""

    data: SpiralData
    proba: Array


@lru_cache(maxsize=8)
def fresh_sample(noise: float, seed: int) -> FreshSample:
    """1,500 rows of the same law as the training rows, and none of them."""
    data = make_spiral(FRESH_PER_CLASS, noise, [seed, _FRESH_STREAM])
    return FreshSample(data, softmax(spiral_log_density(data.X[:, :2], noise), axis=1))


# --- Settings -------------------------------------------------------------------------------------

STAGE_STEP = 10  # trees between two kept stages of a chain: K is a multiple of it
METHODS = ensembles.ensemble_methods(
    "classification", ("sgb", "sglb", "virtual_sglb", "csglb", "cbsglb", "catboost", "vrf")
)
POINTS = ("truth", "all maps", "off")
_RATES = (0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3)


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
        0.9, of="csglb.exploration_fraction", step=0.05, arg="exploration_fraction",
        uses=lambda plan: plan.explores,
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
    def explores(self) -> bool:
        """Whether exploration differs from the rest of a cycle."""
        return self.kind.boosting == "cbsglb" or (self.kind.cyclical and self.noise_free)

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


def _quicker(settings: SpiralSettings, share: float) -> SpiralSettings:
    """Fewer rows, trees and models; a chain keeps its number of cycles."""
    smaller = quicker(settings, share)
    fewer = smaller.chain_trees / settings.chain_trees
    return replace(
        smaller,
        cycle=min(settings.cycle, max(5, int(settings.cycle * fewer))),
        step=min(settings.step, max(1, round(settings.step * fewer / STAGE_STEP)) * STAGE_STEP),
    )


def settings_text(settings: SpiralSettings) -> str:
    """Whether these are the papers' settings, and which are not; methods and seed are free."""
    other = _not_the_papers(settings)
    return f"Not the papers' settings: {'; '.join(other)}." if other else "In the papers' settings."


def _not_the_papers(settings: SpiralSettings) -> tuple[str, ...]:
    """How the settings differ; the forest's depth counts only if there is a forest."""
    free = bare(replace(settings, methods=PAPER.methods, seed=PAPER.seed))
    forest = free if "vrf" in settings.methods else replace(free, forest_depth=PAPER.forest_depth)
    return differences(forest, PAPER)


# --- Fit ------------------------------------------------------------------------------------------

MAX_FRAMES = 40  # stages of the animation: 12 maps with 6,400 cells then travel as 3 MB
_INDEPENDENT_FRAMES, _MAX_STAGE_MAPS = 25, 500  # the latter stages x models: 73 MB


def forest_trees(plan: SpiralSettings) -> int:
    """Trees that a forest trains: equally many a group, at least one."""
    return plan.members * max(1, plan.trees // plan.members)


def estimator_arguments(plan: SpiralSettings) -> dict[str, Any]:
    """All arguments of the estimator for settings of one method."""
    options = arguments(plan)
    if not plan.kind.boosting:
        groups = {"n_groups": options.pop("n_members")}
        options = {**groups, "trees_per_group": forest_trees(plan) // plan.members, **options}
        del options["n_trees"]
    return plan.kind.builder.arguments(options)


def why_not(plan: SpiralSettings, settings: SpiralSettings | None = None) -> str:
    """One sentence on why a plan cannot be fitted, or viewed with settings; empty if it can."""
    step = plan.rate_cyclical * plan.alpha_max if plan.kind.cyclical else 0.0
    if plan.kind.cyclical and plan.cycle > plan.n_trees:
        return (
            f"Cycle length {plan.cycle} is more than the {plan.n_trees} trees of the model: choose "
            "shorter cycles or more trees."
        )
    if plan.kind.cyclical and plan.alpha_min > plan.alpha_max:
        return (
            f"Smallest alpha {plan.alpha_min:g} is above largest alpha {plan.alpha_max:g}: lower "
            "the smallest or raise the largest."
        )
    if step > LONGEST_STEP + 1e-9:  # 0.2 * 10 is not quite 2 in binary
        return (
            f"Learning rate {plan.rate_cyclical:g} times largest alpha {plan.alpha_max:g} is "
            f"{short(step)}. Above {LONGEST_STEP:g} every tree overshoots and the model diverges. "
            f"Lower the learning rate to {short(LONGEST_STEP / plan.alpha_max)}, or lower the "
            "largest alpha."
        )
    if settings is None or not plan.kind.virtual:
        return ""
    return refusal_of_call(member_trees, plan, settings, plan.n_trees)


def member_trees(plan: SpiralSettings, settings: SpiralSettings, n_trees: int) -> Ints:
    """After how many trees a chain gives a member: every K trees, or at the ends of cycles."""
    if not plan.kind.cyclical:
        if settings.step % STAGE_STEP:
            raise InvalidParameter(
                f"The truncation step K must be a multiple of {STAGE_STEP} here; got "
                f"{settings.step}."
            )
        if n_trees // settings.step * settings.step <= settings.start * n_trees:
            raise InvalidParameter(
                f"Truncation step {settings.step} gives no member between tree "
                f"{settings.start * n_trees:.0f} and tree {n_trees}: choose a smaller step, an "
                "earlier start or more trees."
            )
        return truncation_points(n_trees, settings.step, settings.start)
    n_cycles = n_trees // plan.cycle
    if settings.burn_in >= max(n_cycles, 1):
        raise InvalidParameter(
            f"Burn-in {settings.burn_in} leaves none of the {n_cycles} cycles: choose a smaller "
            "burn-in."
        )
    return cycle_ends(n_trees, plan.cycle, settings.burn_in)


def fit(plan: SpiralSettings) -> Fit:
    """Train one method and keep its predictions on the grid and the fresh rows while it grew."""
    if refusal := why_not(plan):
        raise InvalidParameter(refusal)
    model, rows = plan.kind.make(estimator_arguments(plan)), make_data(plan).rows
    test = fresh_sample(plan.noise, plan.seed).data
    places = np.concatenate([spiral_features(GRID), test.X])
    made = fit_members(plan, model, rows, places, _stages(plan), "classes")
    grid, fresh = np.split(made.grown.values, [len(GRID)], axis=2)
    members = Members(made.grown.stages, grid, "classes")
    _ = members.entropies  # here rather than where they are drawn
    traces = getattr(model, "traces_", ())
    more = {
        "fresh": fresh,  # (n_stages, n_models, n_fresh, 3)
        "validation": _losses(fresh, test.y),  # (n_stages, n_models)
        # Scale and loss of every tree of the first model, if there is one
        "trace": traces[0] if traces else None,
        "beyond": "",  # of a stored fit: what `walk_off` says of it
    }
    return made._replace(members=members, model=model, more=more)


def _stages(plan: SpiralSettings) -> Ints:
    """Numbers of trees at which predictions are kept."""
    if plan.kind.virtual:
        every = plan.cycle if plan.kind.cyclical else STAGE_STEP
        return np.union1d(list_stages(plan.n_trees, STAGE_STEP), list_stages(plan.n_trees, every))
    wanted = max(1, min(_INDEPENDENT_FRAMES, _MAX_STAGE_MAPS // plan.members))
    return list_stages(plan.trees, -(-plan.trees // wanted))


def fresh_of(fit: Fit) -> Members:
    """The members' class probabilities of the fresh rows."""
    return Members(fit.grown.stages, fit.more["fresh"], "classes")


def _losses(fresh: Any, classes: Ints) -> Array:
    """Mean negative log likelihood (n_stages, n_models) of members (..., n_rows, 3), in nats."""
    own = fresh[..., np.arange(len(classes)), classes].astype(np.float64)
    # A float32 probability may underflow to 0: it counts as the smallest normal number.
    losses: Array = -np.log(np.maximum(own, np.finfo(np.float32).tiny)).mean(axis=-1)
    return losses


def view(fit: Fit, settings: SpiralSettings) -> View:
    """Uncertainty at every frame for the settings' truncation, burn-in and members; trains nothing.

    A chain at t trees has the members that it would have if training had ended there.
    """
    plan = fit.plan
    if not plan.kind.virtual:
        seen = view_members(fit, None, settings.shown)
    else:
        tens = -(-plan.n_trees // (MAX_FRAMES * STAGE_STEP))
        even = np.arange(STAGE_STEP * tens, plan.n_trees, STAGE_STEP * tens)
        frames = np.append(even[: MAX_FRAMES - 1], plan.n_trees)
        seen = view_members(fit, partial(member_trees, plan, settings), settings.shown, frames)
    return seen._replace(numbers=measure(seen))


_STORED_STAGES = 3  # of independent models, which all grow


def _store(made: Fit) -> Fit:
    """What the page opens with: a fit with members of few stages and two of three classes."""
    plan, stages, beyond = made.plan, made.grown.stages, ""
    ends = np.linspace(stages[0], plan.n_trees, _STORED_STAGES)
    wanted = np.arange(plan.cycle, plan.n_trees + 1, plan.cycle) if plan.kind.cyclical else ends
    at = np.searchsorted(stages, wanted)
    if plan.method == FIRST.method:
        seen = view(made, FIRST)
        beyond = walk_off(SPIRAL.gather(FIRST, [seen]), seen)["sentence"]
    members = Members(stages[at], made.grown.values[at, ..., :2], "classes")
    more = {"fresh": made.more["fresh"][at, ..., :2], "beyond": beyond}
    return made._replace(members=members, more=more)


def _restore(fit: Fit) -> Fit:
    more = {**fit.more, "fresh": with_last_class(fit.more["fresh"])}
    values = with_last_class(fit.grown.values)
    return fit._replace(members=replace(fit.grown, values=values), more=more)


# --- Numbers --------------------------------------------------------------------------------------


def measure(view: View) -> dict[str, Any]:
    """One method's numbers with all trees; uncertainties in nats.

    NaN where there is a single member or there are no such cells.
    """
    plan, truth = view.fit.plan, spiral_truth(view.fit.plan.noise)
    total, data, knowledge = (part.reshape(SIDE, SIDE) for part in view.last.moments[1:])
    inside, far, border = truth.in_support, truth.far, truth.border
    between = truth.between if truth.between.sum() >= MIN_BETWEEN else np.zeros_like(inside)
    disc = np.hypot(*GRID.T).reshape(SIDE, SIDE) <= ARM_RADIUS
    fresh = fresh_sample(plan.noise, plan.seed)
    proba = fresh_of(view.fit).pick(view.trees).mean(axis=0, dtype=np.float64)
    members = view.fit.grown.pick(view.trees)[:, inside.ravel()]
    size = effective_ensemble_size(members, truth.proba.reshape(3, -1).T[inside.ravel()])
    return {
        # The chance that a cell of the farthest 40 % has more knowledge uncertainty than another
        "auroc_far": auroc_of(far, ~far, knowledge),
        # The same for cells between the arms against the support's, within the data's disc
        "auroc_between": auroc_of(between, inside & disc, knowledge),
        # The same for cells outside the support against class borders inside
        "auroc_border": auroc_of(~inside, border, knowledge),
        "auroc_far_total": auroc_of(far, ~far, total),
        "auroc_border_total": auroc_of(~inside, border, total),
        # Mean knowledge uncertainty in the support, between the arms, outside, at class borders
        "inside": mean_of(knowledge, inside),
        "between": mean_of(knowledge, between),
        "outside": mean_of(knowledge, ~inside),
        "border": mean_of(knowledge, border),
        "border_ratio": ratio_of(mean_of(knowledge, border), mean_of(knowledge, truth.clear)),
        "share": ratio_of(float(data.mean()), float(knowledge.mean())),
        "data_error": float(np.abs(data - truth.data_uncertainty)[inside].mean()),
        # Of the mean prediction for 1,500 fresh rows, and of their true class probabilities
        "nll": nll_classification(fresh.data.y, proba),
        "error": error_rate(fresh.data.y, proba.argmax(axis=1)),
        "nll_optimal": nll_classification(fresh.data.y, fresh.proba),
        "error_optimal": error_rate(fresh.data.y, fresh.proba.argmax(axis=1)),
        # From the correlation of the members' errors in the support
        "effective": size.effective,
        "correlation": size.correlation,
        # Members that count, and trees trained in all
        "n_members": float(len(view.trees)),
        "n_trees": float(view.stages[-1]) * (plan.n_models if plan.kind.boosting else 1),
    }


def mean_of(values: Array, cells: Mask) -> float:
    """Mean over some cells; NaN without any."""
    return float(values[cells].mean()) if cells.any() else math.nan


def ratio_of(above: float, below: float) -> float:
    """The quotient; infinite if ``below`` is 0, NaN if both are."""
    return above / below if below else math.nan if not above else math.inf


def score(run: Run) -> dict[str, dict[str, Any]]:
    """Each method's numbers, what it is beside others, and the words that depend on them."""
    scores = {view.method: _with_words(view) for view in run.views}
    known = {key: each for key, each in scores.items() if not math.isnan(each["auroc_far"])}
    true, virtual = known.get("sglb"), known.get("virtual_sglb")
    maps = {view.method: view.last.knowledge for view in run.views}
    if true and virtual:
        ratio = ratio_of(true["outside"], virtual["outside"])
        virtual |= {"true_outside": true["outside"], "true_ratio": ratio}
    for key in {"csglb", "cbsglb"} & set(known):
        own = known[key]
        own |= _beside_virtual(own, virtual) if virtual else {}
        own |= _beside_true(own, true) if true else {}
        if true and virtual:
            alike, other = (
                rank_correlation(maps[of], maps["sglb"]) for of in (key, "virtual_sglb")
            )
            ends = {"holds": "better", "partly": "no better, no worse", "does not hold": "worse"}
            own |= {"alike": alike, "virtual_alike": other, "aligned": alike - other}
            own["alignment"] = ends[_ALIGNED.judge(alike - other)]
    for each in known.values():
        each["at"] = (
            "At these settings" if _not_the_papers(run.settings) else "In the papers' settings"
        )
    return {"": _score_all(run), **scores}


def _score_all(run: Run) -> dict[str, Any]:
    """What is said once."""
    truth, flag = run.data.truth, run.settings.flag
    inside, n_between = truth.in_support, int(truth.between.sum())
    fresh = fresh_sample(run.settings.noise, run.settings.seed)
    outside = ~inside.ravel()
    flags = {view.method: flagged(view.last.knowledge, flag) for view in run.views if flag}
    shares = [
        f"{METHODS[method].label} {100 * outside[cells].mean():.0f} %"
        for method, cells in flags.items()
        if cells.any()
    ]
    return {
        "corner": "Score",
        "rows": float(run.settings.rows),
        "inside_percent": 100.0 * float(inside.mean()),
        "outside_percent": 100.0 * float((~inside).mean()),
        "flagged": ", ".join(shares) or math.nan,
        "noise_inside": float(truth.data_uncertainty[inside].mean()),
        "gaps": f"{n_between} cells between the arms have next to no rows."
        if n_between >= MIN_BETWEEN
        else "Hardly any cell between the arms is without rows.",
        "error_percent": 100.0 * error_rate(fresh.data.y, fresh.proba.argmax(axis=1)),
        "nll_optimal": nll_classification(fresh.data.y, fresh.proba),
    }


_NOTICES = {"holds": "notices", "partly": "partly notices", "does not hold": "does not notice"}


def _with_words(view: View) -> dict[str, Any]:
    """A method's numbers with words that follow from them."""
    plan, numbers = view.fit.plan, {**view.numbers}
    above = numbers["error"] - numbers["error_optimal"]
    numbers |= {
        "label": plan.kind.label,
        "members": plan.kind.describe(len(view.trees), int(view.stages[-1])),
        "error_percent": 100.0 * numbers["error"],
        "optimal_percent": 100.0 * numbers["error_optimal"],
        "depth": float(plan.forest_depth),
        "knows": fill(_KNOWS, numbers) or "knowledge uncertainty needs at least two members",
    }
    if math.isnan(numbers["auroc_far"]):
        return numbers
    far, gaps = (
        _NOTICES[verdict_of(numbers[name], DETECTS, HARDLY_DETECTS)]
        for name in ("auroc_far", "auroc_between")
    )
    start = "Trees fail far out: " if far == _NOTICES["does not hold"] else ""
    no_gaps = math.isnan(numbers["auroc_between"])
    join = "and" if far == gaps else "but"
    notices = far if no_gaps else f"{gaps} the gaps between the arms, {join} {far}"
    ratio = numbers["border_ratio"]
    trace = (
        f"{fill('{border:.2g}', numbers)} nats at class borders and 0 in the middles of the arms"
    )
    if math.isfinite(ratio):
        trace = f"{times_text(ratio)} as high at class borders as in the middles of the arms"
    return numbers | {
        "answer": f"{start}{plan.kind.label} {notices} that it left the data.",
        "trace": trace,
        "no_gaps": "" if no_gaps else math.nan,
        "auroc_best": max(numbers["auroc_far"], numbers["auroc_border"]),
        "above": above,
        "above_points": 100.0 * above,
    }


def finds_outside(numbers: Any) -> bool:
    """Whether knowledge uncertainty is high where no rows are."""
    found: bool = numbers["auroc_far"] >= BETTER_THAN_CHANCE
    return found and numbers["outside"] > numbers["inside"]


def _beside_virtual(own: Any, virtual: Any) -> dict[str, Any]:
    """What a cyclical ensemble is beside virtual SGLB, and the verdict on its improvement."""
    gain = own["auroc_far"] - virtual["auroc_far"]
    higher = ratio_of(own["outside"], virtual["outside"]) >= SMALLER
    if not finds_outside(own):
        verdict = "does not hold"
        end = f"{'a' if higher else 'no'} higher level, and not where rows are missing"
    elif gain >= GREATLY:
        verdict, end = "holds", "it finds what virtual SGLB does not"
    elif gain >= APART:
        verdict, end = "partly", "better, not greatly"
    elif higher and gain > -APART:
        verdict, end = "partly", "a higher level, no better placed"
    else:
        verdict, end = "does not hold", "no improvement"
    others = {f"virtual_{name}": virtual[name] for name in ("auroc_far", "inside", "outside")}
    return {**others, "gain": gain, "gain_verdict": verdict, "improvement": end}


def _beside_true(own: Any, true: Any) -> dict[str, Any]:
    """What a cyclical ensemble is beside independent models, and the verdict on its price."""
    gap = own["auroc_far"] - true["auroc_far"]
    share = ratio_of(own["n_trees"], true["n_trees"])
    verdict = verdict_of(gap, -APART, -2 * APART)
    end = {"holds": "as well", "partly": "somewhat worse", "does not hold": "worse"}[verdict]
    if not finds_outside(own):
        verdict = "does not hold"
        end = "independent models alone find them" if finds_outside(true) else "neither finds them"
    elif gap >= APART:
        end = "better"
    if share * SMALLER > 1.0:  # the others do not cost far more: half of the statement is untried
        verdict = "partly" if verdict == "holds" else verdict
        end += "; independent models do not cost far more here, so the price is not tested"
    others = {f"true_{name}": true[name] for name in ("auroc_far", "inside", "border", "n_members")}
    jitter = ratio_of(own["border"], true["border"])
    found = {"trees_percent": 100.0 * share, "price": end, "true_auroc_far_verdict": verdict}
    return {**others, **found, "jitter": jitter}


# --- Claims: the papers use words; what counts as agreeing is ours. -------------------------------

DETECTS, HARDLY_DETECTS = 0.8, 0.6  # AUROC
TRACE, FAINT_TRACE = 2.0, 1.2  # knowledge uncertainty at borders over that elsewhere
MUCH_SMALLER, SMALLER = 5.0, 2.0  # times
# Of differences of AUROCs and of rank correlations. With the settings' defaults those of cSGLB and
# virtual SGLB have a std of 0.05 and 0.07 over eight seeds: one seed tells no smaller difference
# from none, and one that is great should be more than two of them.
APART, GREATLY = 0.06, 0.15
LEARNS, HARDLY_LEARNS = 0.05, 0.1  # of the fresh rows, above the best possible error rate

_AUROC = Threshold("AUROC", DETECTS, HARDLY_DETECTS, decimals=2)
_ALIGNED = Threshold("difference of the rank correlations", APART, -APART, decimals=2)
_MUST_FIND = f"It must find the farthest cells with an AUROC of at least {BETTER_THAN_CHANCE:g}"
INDEPENDENT = tuple(key for key, kind in METHODS.items() if kind.boosting and not kind.virtual)
CYCLICAL = ("csglb", "cbsglb")

# Malinin et al. (2021), section 4 and the conclusion; Tan et al., sections 1, 5.1 and 5.2
CLAIMS = (
    Claim(
        "far:{method}",
        "Knowledge uncertainty is high where there are no training rows.",
        "{label}: the AUROC of the farthest 40 % of the cells against all others is "
        "{auroc_far:.2f}, {auroc_far:chance}. For total uncertainty it is {auroc_far_total:.2f}.",
        "auroc_far", _AUROC._replace(what="AUROC of the farthest cells"), INDEPENDENT,
        "KU of {label} finds far cells", "AUROC",
    ),
    Claim(
        "between:{method}",
        "Knowledge uncertainty is high where there are no training rows, also in the gaps between "
        "the arms. (The paper's own arms are too wide to leave gaps.)",
        "{label}: the AUROC of the cells in the gaps against those with rows is "
        "{auroc_between:.2f}, {auroc_between:chance}. In the gaps knowledge uncertainty averages "
        "{between:.2g} nats, where there are rows {inside:.2g}.",
        "auroc_between", _AUROC._replace(what="AUROC of the gaps"), INDEPENDENT,
        "KU of {label} finds the gaps between arms", "AUROC",
    ),
    Claim(
        "border:{method}",
        "Knowledge uncertainty tells regions outside the data from class borders. (The authors say "
        "that this is harder with continuous features, as here, because borders move from model to "
        "model.)",
        "{label}: the AUROC of cells outside the data against class borders is {auroc_border:.2f}, "
        "{auroc_border:chance}. For total uncertainty it is {auroc_border_total:.2f}.",
        "auroc_border", _AUROC, INDEPENDENT,
        # The gaps are the moment of narrow arms, and chips are few.
        "KU of {label} tells outside from class borders{no_gaps}",
    ),
    Claim(
        "traces:{method}",
        "It still shows traces of the class borders.",
        "{label}: where there are rows, knowledge uncertainty is {trace}.",
        "border_ratio", Threshold("ratio of borders to middles", TRACE, FAINT_TRACE), INDEPENDENT,
        name="ratio",
    ),
    Claim(
        "share:{method}",
        "It is much smaller than data uncertainty and adds little to the total.",
        "{label}: over the map, data uncertainty is {share:times} as high on average.",
        "share", Threshold("ratio of data to knowledge", MUCH_SMALLER, SMALLER), INDEPENDENT,
        name="ratio",
    ),
    Claim(
        "struggle",
        "A virtual ensemble struggles to find regions outside the data and to tell them from class "
        "borders.",
        "The AUROC on the farthest 40 % of the cells is {auroc_far:.2f}, {auroc_far:chance}. For "
        "all cells outside the data against class borders it is {auroc_border:.2f}, "
        "{auroc_border:chance}.",
        "auroc_best", Threshold("larger of the two AUROCs", HARDLY_DETECTS, DETECTS, decimals=2),
        ("virtual_sglb",), "Virtual SGLB struggles outside", "AUROC",
    ),
    Claim(
        "size",
        "A virtual ensemble's knowledge uncertainty is far lower than that of independent models.",
        "Outside the data it averages {outside:.2g} nats; with independent models "
        "{true_outside:.2g}. It is {true_ratio:smaller}.",
        "true_ratio", Threshold("ratio of independent to virtual", MUCH_SMALLER, SMALLER),
        ("virtual_sglb",), name="ratio",
    ),
    Claim(
        "improvement:{method}",
        "{label} greatly improves on virtual SGLB in capturing high knowledge uncertainty where "
        "there are no training rows.",
        "{at}: it averages {outside:.2g} nats outside the data and {inside:.2g} among the rows. "
        "Virtual SGLB averages {virtual_outside:.2g} and {virtual_inside:.2g}. The AUROC on the "
        "farthest 40 % is {auroc_far:.2f} ({auroc_far:chance}), and {virtual_auroc_far:.2f} for "
        "virtual SGLB: {improvement}.",
        "gain", _AUROC, CYCLICAL, "{label} improves on virtual SGLB", "AUROC gain",
        rule=f"Holds if its AUROC is at least {GREATLY:g} higher, partly from {APART:g} or if it "
        f"averages at least {SMALLER:g} times as much outside. {_MUST_FIND}.",
    ),
    Claim(
        "price:{method}",
        "{label}'s single model finds data unlike the training rows about as well as independent "
        "models that cost far more (shown on weather data only).",
        "{at}: the AUROC on the farthest 40 % is {auroc_far:.2f}, and {true_auroc_far:.2f} for "
        "independent models. It has {trees_percent:.3g} % of their trees: {price}.",
        "true_auroc_far", _AUROC, CYCLICAL, "{label} finds far cells as well as SGLB",
        form="AUROC {auroc_far:.2f} against {true_auroc_far:.2f}",
        rule=f"Holds if its AUROC is at most {APART:g} lower, partly up to {2 * APART:g}. "
        f"{_MUST_FIND}, with less than half of the trees.",
    ),
    Claim(
        "jitter:{method}",
        "At class borders {label} jitters more than independent models.",
        "{at}: knowledge uncertainty there averages {border:.2g} nats, and {true_border:.2g} with "
        "independent models. Over all cells with rows it averages {inside:.2g} and "
        "{true_inside:.2g}.",
        "jitter", Threshold("ratio at class borders", TRACE, FAINT_TRACE), CYCLICAL, name="ratio",
    ),
    Claim(
        "alignment:{method}",
        "{label}'s uncertainty is better aligned with that of independent models than virtual "
        "SGLB's.",
        "{at}: the rank correlation of its map with that of {true_n_members:.0f} independent "
        "models is {alike:.2f}, and {virtual_alike:.2f} for virtual SGLB's map: {alignment}.",
        "aligned", _ALIGNED, CYCLICAL, name="difference",
    ),
    # Whether its trees are deep enough: its uncertainty says little where it learned little.
    Claim(
        "depth:{method}",
        "vRF learns the arms. (The paper's forests have depth 10.)",
        "vRF: with trees of depth {depth:.0f} it gets {error_percent:.1f} % of fresh rows wrong. "
        "The best possible is {optimal_percent:.1f} %.",
        "above",
        Threshold(
            "share of wrong rows above the best possible", LEARNS, HARDLY_LEARNS, unit=" points",
            times=100.0,
        ),
        ("vrf",), "vRF learns the arms",
        form="{above_points:.1f} points above the best error rate",
    ),
)  # fmt: skip


# --- Picture --------------------------------------------------------------------------------------

_NOISE = (0.0, math.log(3.0))  # an entropy of three classes
_DENSITY_SPAN = 1e-4
_DENSITY = "True density"
# By the number of methods: panels in a row, and pixels of a map, so that all of them fit on the
# first screen of a laptop.
_COLUMNS = {0: 3, 1: 5, 2: 4, 3: 4, 4: 5}
_HEIGHTS = {0: 300, 1: 200, 2: 174, 3: 118, 4: 118}


def picture(run: Run, knobs: Sequence[LiveKnob]) -> PanelSheet:
    """The truth beside the maps of up to four methods, over strips of their training."""
    truth, settings, views = run.data.truth, run.settings, run.views
    frames = common_frames(views, MAX_FRAMES)
    rows, brief = run.data.rows, len(views) > 2
    (x0, y0), (x1, y1) = rows.X[:, :2].min(axis=0), rows.X[:, :2].max(axis=0)
    sheet = maps(
        views,
        (
            Truth(
                "True DU" if brief else "True data uncertainty",
                truth.data_uncertainty,
                limits=_NOISE,
            ),
            _density(_DENSITY, truth.density)._replace(beside=("knowledge",)),
            # Equally frequent classes: p(x | class) = 3 p(class | x) p(x).
            _density("Density of class 1", 3.0 * truth.proba[0] * truth.density),
        ),
        settings,
        noise=_NOISE,
        each={"lines": (border_of(truth.in_support, EXTENT),)},
        knobs=knobs,
        marker_at=(-300.0, 0.0),
        family="classes",
        most=MAX_FRAMES,
        stage_step=STAGE_STEP,
        arrange=_arrange,
        brief=brief,
        focus=((float(x0), float(x1)), (float(y0), float(y1))),
        hatch_label=FLAGGED.format(settings.flag),
        x_label="x",
        y_label="y",
        x_extent=EXTENT,
        y_extent=EXTENT,
        strips=training_strips(views, frames) if len(frames) > 1 else (),
        strip_columns=2,
        strip_height=74,
    )
    every = {panel.title for panel in sheet.panels}
    where = {"truth": {_DENSITY}, "off": set(), "all maps": every}[settings.points]
    points = Points(
        rows.X[:, 0], rows.X[:, 1], rows.y, CLASSES, CLASS_COLOURS, radius=1.0, opacity=0.8
    )
    panels = [
        replace(panel, points=points) if panel.title in where else panel for panel in sheet.panels
    ]
    return replace(sheet, panels=panels)


def _density(title: str, values: Array) -> Truth:
    highest = float(np.nanmax(values))
    return Truth(title, values, "per area", (highest * _DENSITY_SPAN, highest), log=True)


def _arrange(truths: Sequence[Panel], methods: Sequence[Sequence[Panel]]) -> Any:
    """Panels in reading order, the truth at the left: more than two methods along a row."""
    noise, density, first = truths
    if len(methods) > 2:
        rows = zip((first, noise, density), zip(*methods, strict=True), strict=True)
        panels = [panel for left, row in rows for panel in (left, *row)]
    elif len(methods) == 2:
        panels = [noise, *methods[0], density, *methods[1]]
    else:
        panels = [noise, density, *(methods[0] if methods else [first])]
    return panels, _COLUMNS[len(methods)], _HEIGHTS[len(methods)]


# --- Words ----------------------------------------------------------------------------------------


def columns(run: Run) -> dict[str, Any]:
    """Place and truth of each cell."""
    truth = run.data.truth
    classes = {f"true_class_{i + 1}": proba for i, proba in enumerate(truth.proba)}
    places = {"x": GRID[:, 0], "y": GRID[:, 1], "true_log_density": truth.log_density}
    known = {"in_support": truth.in_support.astype(int)}
    return {**places, **known, "true_data_uncertainty": truth.data_uncertainty, **classes}


def copied(settings: SpiralSettings) -> Code:
    """What the copied code calls."""
    models, forests = [], False
    for method in settings.methods:
        plan = replace(settings, methods=(method,))
        if why_not(plan_of(settings, method), settings):
            continue
        kind, most, n_members = plan.kind, settings.shown, plan.members
        if kind.virtual:
            n_members = len(member_trees(plan, settings, plan.n_trees))
        few = most is not None and most < n_members
        parts = f"model.predict_uncertainty(grid{f', n_members={most}' if few else ''})._asdict()"
        if not kind.boosting:
            forests, shown = True, f"[:{most}]" if few else ""
            parts = f"decompose_classification(model.predict_members(grid){shown})._asdict()"
        models.append((kind.label, kind.builder.of, estimator_arguments(plan), parts))
    given = {"n_per_class": settings.rows, "noise": settings.noise, "random_state": settings.seed}
    return Code(
        "gbuq_core:make_spiral",
        given,
        models,
        (
            "gbuq_core.synthetic:spiral_features",
            *["gbuq_core.uncertainty:decompose_classification"] * forests,
        ),
        (
            "axis = np.linspace(-592.5, 592.5, 80)",
            "points = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)",
            "grid = spiral_features(points)",
        ),
    )


def _refuse(plan: SpiralSettings) -> str:
    """The reason with the method it is about: two methods may refuse the same settings."""
    reason = why_not(plan)
    return plan.kind.record.missing() or (f"{plan.kind.label}: {reason}" if reason else "")


_KNOWS = (
    "knowledge uncertainty averages {inside:.2g} nats where there are rows and {outside:.2g} "
    "elsewhere. It finds the farthest 40 % of the cells with AUROC {auroc_far:.2f}, "
    "{auroc_far:chance}"
)

_FLAGS = (
    "Flagged cells outside the data: {flagged}. Chance would give {outside_percent:.0f} %, the "
    "share of the map that lies outside."
)

SPIRAL = Study(
    name="spiral",
    question="Does the model know that it left the data?",
    lede="Three classes lie on the arms of a spiral, without rows beyond the dashed line. Does the "
    "**knowledge** uncertainty of noisy boosting (SGLB) say so? Point at a place to read it.",
    settings=SpiralSettings,
    beginning=FIRST,
    methods=METHODS,
    data=make_data,
    fit=fit,
    view=view,
    viewed=("step", "start", "burn_in", "shown"),
    why_not=_refuse,
    store=_store,
    restore=_restore,
    bits=11,
    shares=True,
    quicker=_quicker,
    picture=picture,
    score=score,
    claims=CLAIMS,
    about=lambda run: settings_text(run.settings),
    remark=say_beyond,
    closer=LOOKS,
    scorecard={
        "Scorecard": (
            Row("AUROC of knowledge, far", "auroc_far", "auroc"),
            Row("AUROC of total, far", "auroc_far_total", "auroc"),
            Row("AUROC of knowledge, between", "auroc_between", "auroc"),
            Row("Knowledge, among the data", "inside"),
            Row("Knowledge, outside", "outside"),
            Row("At class borders, times as high", "border_ratio"),
            Row("Error of data, mean", "data_error"),
            Row("NLL, fresh rows", "nll"),
            Row("Wrong, fresh rows", "error", "percent1"),
            Row("Members", "n_members", ".0f"),
            Row("Effective members", "effective"),
            Row("Trees in all", "n_trees", ",.0f"),
            Row("Seconds", "seconds"),
            Row("Megabytes", "bytes", "MB"),
        )
    },
    caption="Uncertainties are in nats. An AUROC of 0.5 is chance. Far compares the 40 % of the "
    "cells with the lowest true density to all others. Between compares cells in the gaps between "
    "the arms to cells with rows, where the arms are narrow: the gaps need at least "
    f"{MIN_BETWEEN} cells. Fresh rows are 1,500 rows that no method has "
    "seen. On them the best possible prediction gets {error_percent:.1f} % wrong, with an NLL of "
    "{nll_optimal:.3f}. Effective members: how many independent members would be worth as much. "
    "Seconds are the training time; megabytes are the size of the trained models.",
    answer="{answer}",
    said="Three arms of a spiral are three classes with {rows:,.0f} rows each. The maps have 80 by "
    "80 cells from -600 to 600. 99 % of all rows lie in {inside_percent:.0f} % of the cells. There "
    "the true data uncertainty averages {noise_inside:.2g} nats, and it is highest at class "
    "borders. {gaps}",
    said_of=(
        "{members}: {knows}. It gets {error_percent:.1f} % of fresh rows wrong (the best possible: "
        "{optimal_percent:.1f} %), with a mean NLL of {nll:.3f} (the best possible: "
        "{nll_optimal:.3f}).",
    ),
    click=lambda settings, cells: (choose_point(cells, SIDE), ""),
    line=choose_line,
    undo=lambda run: (fill(_FLAGS, run.numbers[""]), {}),
    columns=columns,
    copied=copied,
    first=("noise",),
    maps=(_DENSITY, "Density of class 1"),
    presets=(
        (
            "Paper settings",
            to_values(PAPER),
            "4,500 rows, 20 independent models of 1,000 trees, long models of 2,000 trees in "
            "cycles of 200. This takes a while.",
        ),
    ),
    story=(
        (
            "Noise 0.2: there are gaps between the arms. Is knowledge uncertainty high in them?",
            {},
        ),
        (
            "Noise 0.4, the paper's. Where does data uncertainty lie now?",
            {"noise": 0.4, "map": "SGLB: data"},
        ),
        (
            "Noise 0.8: the arms overlap. What is left for knowledge uncertainty to find?",
            {"noise": 0.8},
        ),
        (
            "50 rows per class instead of 500. Which uncertainty grows?",
            {"noise": 0.2, "rows": 50},
        ),
    ),
    title="The spiral",
    lead="The three arms of a spiral are three classes. After Malinin, Prokhorenkova and "
    "Ustimenko, Uncertainty in gradient boosting via ensembles (arXiv 2006.10562), section 4, and "
    "Tan, Huertas and Zhao, Efficient and effective uncertainty quantification in gradient "
    "boosting via cyclical gradient MCMC (CEUR-WS 3381, paper 47), section 5.1.",
    equations=r"""
Malinin, Prokhorenkova and Ustimenko, [Uncertainty in gradient boosting via
ensembles](https://arxiv.org/abs/2006.10562), section 4. Total, data and knowledge uncertainty of M
members with class probabilities p (equations 3 to 5), in nats:

$$
\underbrace{H\!\left(\tfrac1M\sum_m p_m\right)}_{\text{total}}
=\underbrace{\tfrac1M\sum_m H(p_m)}_{\text{data}}+\underbrace{\mathcal I}
_{\text{knowledge}},\quad H(p)=-\sum_c p_c\ln p_c
$$

Tan, Huertas and Zhao, [Efficient and effective uncertainty quantification in gradient boosting via
cyclical gradient MCMC](https://ceur-ws.org/Vol-3381/47.pdf), scale the gradients of tree t in
cycles of C trees (algorithm 1, equation 7) and take a member at the end of each cycle. They do not
scale the noise:

$$
\alpha_t=\max\!\left(\tfrac{\alpha_{\max}}2\left(\cos\tfrac{\pi\,(t\bmod C)}{C}
+1\right),\ \alpha_{\min}\right)
$$

While cbSGLB explores, it uses the gradients of a random share of the rows only. A virtual ensemble
is one model; its members are that model cut at K, 2K, ... trees above the start. M members count
for M / (1 + (M - 1) rho) independent ones, where rho is the mean correlation between their errors.
""",
    departures="Boosting",
)
