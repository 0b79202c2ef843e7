"""What Soft trees compares only when it is asked to: policies of a bandit, and ranks.

Cinquin et al., "Variational boosted soft trees" (2022). The bandit: section 5.3 and supplement 2.3,
equation 22. A context x is uniform on [-1, 1]; with ``d = x - offset[a]`` arm a pays
``sigmoid(beta (d + alpha)) - sigmoid(beta (d - alpha))`` and noise: a bump of height 1, and
elsewhere nothing. Bumps are disjoint, so at most one arm pays in a context, and only a model that
stays uncertain where an arm was not tried finds it. The paper leaves the constants of the bumps
open; the defaults here are this project's.

The ranks: section 5.2, figure 3 and supplement 2.2. Knowledge uncertainty of held-out rows against
that of rows from elsewhere, for soft trees whose posterior covariance has rank 0 (independent
parameters) up to full.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from gbuq_core.errors import InvalidParameter, refusal_of_call
from gbuq_core.experiments.claims import Claim, Threshold, judged
from gbuq_core.experiments.seeds import SeedStudy
from gbuq_core.experiments.trial import Trial
from gbuq_core.figures.canvas.panels import PanelSheet, Strip, StripLine
from gbuq_core.figures.colour import OKABE_ITO
from gbuq_core.figures.curves import PLAYED_PARTS, Curves, draw_curves
from gbuq_core.figures.curves.parts import (
    Part,
    axis,
    entry,
    line,
    panel,
    plain_dots,
    reading,
    rounded,
)
from gbuq_core.figures.handles import LiveKnob, live_knob
from gbuq_core.figures.standalone import Section
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.jobs import advance, parallel_map, stage
from gbuq_core.knobs import Knob, find_knob, narrow, texts_of
from gbuq_core.methods import METHODS
from gbuq_core.methods.boosted import KNOBS
from gbuq_core.metrics import auroc
from gbuq_core.presentation import csv_text
from gbuq_core.settings import (
    arguments,
    check,
    from_values,
    knobs_of,
    plan_of,
    quicker,
    setting,
)
from gbuq_core.soft_trees.layout import TreeShape
from gbuq_core.study.members import Array, Ints
from gbuq_core.synthetic import MOONS_EXTENT, make_moons3
from gbuq_core.validation import check_choice, check_number

# --- The bandit -----------------------------------------------------------------------------------


TRACE_PLACES = 81  # contexts at which a function is kept
_DENSE, _GROWTH, _LAST = 30, 1.08, 20_000
_ENDS = (200, 500, 1000, 2000, 5000, 10_000)  # of runs: whatever its length, the last step is kept


def _ladder() -> tuple[int, ...]:
    steps = list(range(1, _DENSE + 1))
    while steps[-1] < _LAST:
        steps.append(min(_LAST, round(_GROWTH * steps[-1])))
    return tuple(sorted({*steps, *_ENDS}))


TRACE_STEPS = _ladder()


@dataclass(frozen=True, kw_only=True)
class BanditTrace:
    """The pulls of the first repetition, and what led to them; less than a megabyte."""

    steps: Ints  # the steps at which functions are kept, from 1
    x: Array  # contexts
    # The function of each arm that was drawn at the step; NaN before the first fit. Without any
    # place (g = 0) for a policy that draws none.
    functions: NDArray[np.float32]
    # its value in the context of the step, by which the arm was chosen; NaN before the first fit
    drawn: Array
    rewards: Array  # (n_steps,): what the pulled arm paid at every step, its noise included


class Recorder:
    """Keeps what is drawn at the steps of the ladder, while a policy plays."""

    def __init__(self, n_steps: int, n_arms: int, draws: bool) -> None:
        self._at = trace_steps(n_steps) - 1
        self._x = np.linspace(-1.0, 1.0, TRACE_PLACES if draws else 0)
        self._drawn = np.full((len(self._at), n_arms), np.nan)
        shape = (len(self._at), n_arms, len(self._x))
        self._functions = np.full(shape, np.nan, dtype=np.float32)

    def note(self, arms: Sequence[Arm], first: int, drawn: Array) -> None:
        """Keep what arms have just drawn for the contexts of steps from ``first`` on."""
        inside = np.flatnonzero((self._at >= first) & (self._at < first + len(drawn)))
        which = self._at[inside] - first
        self._drawn[inside] = drawn[which]
        if not len(which) or not len(self._x):
            return
        for number, arm in enumerate(arms):
            self._functions[inside, number] = arm.last_functions(self._x, which)

    def trace(self, rewards: Array) -> BanditTrace:
        """What was kept, with the rewards (n_steps,) that were paid."""
        return BanditTrace(
            steps=self._at + 1,
            x=self._x,
            functions=self._functions,
            drawn=self._drawn,
            rewards=rewards,
        )


def trace_steps(n_steps: int) -> Ints:
    """The steps of a run at which drawn functions are kept: its last one is among them."""
    return np.array([*(step for step in TRACE_STEPS if step < n_steps), n_steps], dtype=np.int64)


_CONTEXT_STREAM, _NOISE_STREAM, _FIT_STREAM = range(3)  # of a seed

POLICIES = {
    "random": "Random",
    "greedy": f"Greedy {METHODS['vst'].label}",  # its mean function: it explores by chance alone
    **{key: METHODS[key].label for key in ("sglb", "xbart", "vst")},
}
SGLB_ENSEMBLES = ("virtual", "independent")
MAX_BANDIT_STEPS = 20_000  # the paper's
BURN_IN = 15  # of XBART, the paper's
_MAX_FITS = 20_000  # of all seeds: hours
_MODEL_OF = {"greedy": "vst"}  # where a policy is not called like its model
# What no knob of the bandit moves; seeds run side by side, so that a fit takes one thread.
_FIXED: dict[str, dict[str, Any]] = {
    "sglb": {"truncation_step": 5, "depth": 3, "n_jobs": 1},
    "xbart": {"n_burn_in": BURN_IN},
    "vst": {"n_jobs": 1},
}


def _draws(settings: BanditSettings) -> bool:
    """Whether the policy has models that are fitted."""
    return settings.policy != "random"


def _is(*models: str) -> Callable[[BanditSettings], bool]:
    """Whether the policy's model is one of these."""
    return lambda settings: _MODEL_OF.get(settings.policy, settings.policy) in models


@dataclass(frozen=True, kw_only=True)
class BanditSettings:
    """Everything that a comparison depends on."""

    policies: tuple[str, ...] = setting(
        ("random", "sglb", "xbart", "vst"), "Policies", each=True,
        named={label: key for key, label in POLICIES.items()},
    )  # fmt: skip
    # Contexts, one pull each; the paper's 20,000 or fewer.
    n_steps: int = setting(2000, "Steps", low=10, high=MAX_BANDIT_STEPS, shrink=(1 / 3, 300))
    n_arms: int = setting(5, "Arms", low=2, high=20)  # bumps, evenly spaced over [-1, 1]
    # At most half the distance of two bumps, `1 / n_arms`: they are disjoint.
    alpha: float = setting(0.15, "Half the width of a bump", low=0.001, high=0.5)
    # `alpha * beta` is at least 2, or the flanks would be flat.
    beta: float = setting(40.0, "Steepness of a bump's flanks", low=2.0, high=1e6)
    noise: float = setting(0.1, "Noise of a reward (std)", low=0.001, high=1000.0)
    refit_every: int = setting(50, "Steps between fits", uses=_draws, low=1, high=MAX_BANDIT_STEPS)
    # Of each arm, in turn, before the first fit.
    initial_pulls: int = setting(3, "First pulls of each arm", uses=_draws, low=3, high=1000)
    # Contexts and noise are the same for all policies.
    n_seeds: int = setting(3, "Repetitions", low=1, high=20)
    seed: int = setting(0, "Seed of the first repetition", low=0, high=2**31 - 1)
    sglb_ensemble: str = setting(
        "virtual", "SGLB's ensemble", uses=_is("sglb"), arg="ensemble", choices=SGLB_ENSEMBLES
    )
    sglb_temperature: str | float = setting(
        "catboost", "Temperature of SGLB", of="sglb.temperature", uses=_is("sglb"),
        arg="temperature", kind="choice", choices=texts_of(KNOBS["temperature"]), help="",
    )  # fmt: skip
    # A virtual ensemble has two members for every ten of them.
    n_trees: int = setting(
        100, "Trees of each SGLB model", uses=_is("sglb"), arg="n_trees", low=20, high=2000
    )
    xbart_trees: int = setting(
        20, "Trees of XBART", uses=_is("xbart"), arg="n_trees", low=1, high=200
    )
    xbart_draws: int = setting(
        40, "Draws of XBART", uses=_is("xbart"), arg="n_draws", low=2, high=1000
    )
    vst_depth: int = setting(3, "Depth of VST", uses=_is("vst"), arg="depth", low=1, high=6)
    vst_rank: int = setting(5, "Rank of VST", uses=_is("vst"), arg="rank", low=0, high=50)
    vst_steps: int = setting(
        600, "Training steps of VST", uses=_is("vst"), arg="n_steps", low=50, high=20_000,
        shrink=(1 / 3, 150),
    )  # fmt: skip

    @property
    def policy(self) -> str:
        """The first policy, the only one of a run's key."""
        return self.policies[0]


def plan_bandit(settings: BanditSettings, policy: str) -> BanditSettings:
    """What a policy's run depends on, checked."""
    plan = plan_of(settings, check_choice("policy", policy, tuple(POLICIES)))
    check(plan, "knobs")
    check_number("alpha", plan.alpha, 0.001, 1.0 / plan.n_arms)
    check_number("beta", plan.beta, 2.0 / plan.alpha, 1e6)
    if plan.initial_pulls * plan.n_arms >= plan.n_steps:
        raise InvalidParameter(
            f"initial_pulls = {plan.initial_pulls} for each of {plan.n_arms} arms uses up all "
            f"{plan.n_steps} steps: choose a larger n_steps or fewer pulls."
        )
    fits = count_fits(plan)
    if fits > _MAX_FITS:
        raise InvalidParameter(
            f"refit_every = {plan.refit_every} would mean {fits:,} fits, but at most "
            f"{_MAX_FITS:,} are allowed: fit less often, or choose fewer steps, arms or seeds."
        )
    return plan


def fit_steps(plan: BanditSettings) -> np.ndarray:
    """The steps before which arms are fitted, (n_fits,) int64; none for the random policy."""
    if not _draws(plan):
        return np.empty(0, dtype=np.int64)
    first = plan.initial_pulls * plan.n_arms
    return np.arange(first, plan.n_steps, plan.refit_every, dtype=np.int64)


def count_fits(plan: BanditSettings) -> int:
    """Fits of all arms and seeds at most: an arm without new rewards is not fitted again."""
    return len(fit_steps(plan)) * plan.n_arms * plan.n_seeds


class Bandit(NamedTuple):
    """One repetition's world, the same for every policy."""

    contexts: Array  # (n_steps,)
    means: Array  # (n_steps, n_arms): what each arm pays on average
    rewards: Array  # (n_steps, n_arms): what it would pay: a policy sees its own arm's only


@dataclass(frozen=True, kw_only=True)
class BanditRun:
    """The result of one policy."""

    plan: BanditSettings
    label: str
    contexts: Array  # (n_seeds, n_steps)
    arms: Ints  # (n_seeds, n_steps): the arm pulled at each step
    # (n_seeds, n_steps): best mean reward of the context minus that of the pulled arm, without
    # noise
    regret: Array
    cumulative: Array  # (n_seeds, n_steps): its running sum
    # `mean`, `standard_error`: (n_steps,): of `cumulative` over seeds; the error is NaN with one
    # seed
    mean: Array
    standard_error: Array
    fits: int  # models that were fitted
    seconds: float
    trace: BanditTrace  # the first repetition step by step


def arm_offsets(n_arms: int) -> Array:
    """The middles of the bumps, evenly spaced so that each arm has an equal part of [-1, 1]."""
    return (2.0 * np.arange(n_arms) + 1.0 - n_arms) / n_arms


def mean_rewards(contexts: Array, n_arms: int, alpha: float, beta: float) -> Array:
    """What each arm pays on average in each context, (n, n_arms): equation 22 without noise."""
    distance = contexts[:, None] - arm_offsets(n_arms)
    return expit(beta * (distance + alpha)) - expit(beta * (distance - alpha))


def make_bandit(plan: BanditSettings, repetition: int) -> Bandit:
    """The contexts and rewards of one repetition; they depend on no policy."""
    context_rng, noise_rng = (
        np.random.default_rng((plan.seed, repetition, stream))
        for stream in (_CONTEXT_STREAM, _NOISE_STREAM)
    )
    contexts = context_rng.uniform(-1.0, 1.0, plan.n_steps)
    means = mean_rewards(contexts, plan.n_arms, plan.alpha, plan.beta)
    rewards = means + plan.noise * noise_rng.standard_normal(means.shape)
    return Bandit(contexts, means, rewards)


class RandomArm:
    """Knows nothing: draws are uniform, so that all arms are equally likely."""

    def __init__(self, plan: BanditSettings, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def fit(self, contexts: Array, rewards: Array) -> Self:
        """Learn nothing."""
        return self

    def draw(self, contexts: Array) -> Array:
        """Uniform numbers, (m,)."""
        return self._rng.random(len(contexts))

    def last_functions(self, contexts: Array, which: Ints) -> Array:
        """None are drawn: NaN, (len(which), m)."""
        return np.full((len(which), len(contexts)), np.nan)


class SampledArm:
    """An arm whose model has functions to draw from: one at random for each context."""

    def __init__(self, plan: BanditSettings, seed: int) -> None:
        self._plan, self._seed = plan, seed
        self._rng = np.random.default_rng(seed)
        self._model: Any = None
        self._chosen = np.empty(0, dtype=np.int64)  # functions of the last draw

    def fit(self, contexts: Array, rewards: Array) -> Self:
        """Fit the model anew on all of the arm's pulls."""
        key = _MODEL_OF.get(self._plan.policy, self._plan.policy)
        builder = METHODS[key].builder()
        knobs = {**_FIXED[key], **arguments(self._plan)}
        self._model = builder.make(random_state=self._seed, **knobs)
        self._model.fit(contexts[:, None], rewards)
        return self

    def draw(self, contexts: Array) -> Array:
        """Values of functions drawn at random with replacement, (m,)."""
        functions = _functions(self._model, contexts[:, None])
        self._chosen = self._rng.integers(len(functions), size=len(contexts))
        return functions[self._chosen, np.arange(len(contexts))]

    def last_functions(self, contexts: Array, which: Ints) -> Array:
        """The functions of some of the last draws, (len(which), m), at contexts (m,)."""
        return _functions(self._model, contexts[:, None])[self._chosen[which]]


class GreedyArm(SampledArm):
    """An arm whose model answers with its mean function: it never tries what looks worse."""

    def draw(self, contexts: Array) -> Array:
        """The mean of the model's functions, (m,)."""
        return _functions(self._model, contexts[:, None]).mean(axis=0)

    def last_functions(self, contexts: Array, which: Ints) -> Array:
        """The same mean for each, (len(which), m)."""
        return np.tile(self.draw(contexts), (len(which), 1))


Arm = RandomArm | SampledArm  # one policy's model of one arm


def _functions(model: Any, X: Array) -> Array:
    """Functions to draw from, (n_functions, n_samples): posterior draws, or an ensemble's means."""
    if hasattr(model, "sample_functions"):
        return model.sample_functions(X)
    return model.predict_members(X)[:, :, 0]


def make_arms(plan: BanditSettings, repetition: int) -> list[Arm]:
    """One model an arm, each with a seed of its own."""
    source = np.random.SeedSequence((plan.seed, repetition, _FIT_STREAM))
    seeds = (source.generate_state(plan.n_arms) >> 1).tolist()
    kinds: dict[str, type[Arm]] = {"random": RandomArm, "greedy": GreedyArm}
    kind = kinds.get(plan.policy, SampledArm)
    return [kind(plan, seed) for seed in seeds]


def run_bandit(plan: BanditSettings) -> BanditRun:
    """Let one policy play all repetitions; seeds run side by side.

    Between two fits the policy draws, for every context, one function of each arm and pulls the
    arm whose value is highest (Thompson sampling). Arms that were not pulled since keep their
    model.
    """
    began = time.perf_counter()
    n_blocks = max(1, len(fit_steps(plan)))
    with stage(plan.n_seeds * n_blocks * plan.n_arms):
        played = parallel_map(lambda seed: _play(plan, seed), range(plan.n_seeds))
    worlds, arms, fits, traces = zip(*played, strict=True)
    chosen = np.stack(arms)
    means = np.stack([world.means for world in worlds])
    pulled = np.take_along_axis(means, chosen[:, :, None], axis=2)[:, :, 0]
    regret = means.max(axis=2) - pulled
    cumulative = np.cumsum(regret, axis=1)
    error = np.full(plan.n_steps, np.nan)
    if plan.n_seeds > 1:
        error = cumulative.std(axis=0, ddof=1) / np.sqrt(plan.n_seeds)
    return BanditRun(
        plan=plan,
        label=POLICIES[plan.policy],
        contexts=np.stack([world.contexts for world in worlds]),
        arms=chosen,
        regret=regret,
        cumulative=cumulative,
        mean=cumulative.mean(axis=0),
        standard_error=error,
        fits=sum(fits),
        seconds=time.perf_counter() - began,
        trace=traces[0],
    )


def plan_policies(settings: BanditSettings) -> list[BanditSettings]:
    """What each chosen policy plays."""
    return [plan_bandit(settings, policy) for policy in settings.policies]


def run_policies(settings: BanditSettings) -> tuple[BanditRun, ...]:
    """All chosen policies in turn."""
    plans = plan_policies(settings)
    runs = []
    with stage(max(1, len(plans))):
        for plan in plans:
            with stage(1, span=1):
                runs.append(run_bandit(plan))
    return tuple(runs)


def describe_bandit(runs: Sequence[BanditRun]) -> str:
    """The final regrets in words, lowest first."""
    if not runs:
        return "No policy has played yet."
    order = sorted(runs, key=lambda run: run.mean[-1])
    parts = []
    for run in order:
        error = run.standard_error[-1]
        parts.append(
            f"{run.label} {run.mean[-1]:.1f}" + ("" if np.isnan(error) else f" ± {error:.1f}")
        )
    return f"Cumulative regret after {order[0].plan.n_steps:,} steps: {', '.join(parts)}."


def _play(plan: BanditSettings, repetition: int) -> tuple[Bandit, Ints, int, BanditTrace | None]:
    """One repetition: the world, the arm pulled at each step, fitted models; the first's trace."""
    world = make_bandit(plan, repetition)
    models = make_arms(plan, repetition)
    arms = np.arange(plan.n_steps, dtype=np.int64) % plan.n_arms  # in turn, before the first fit
    starts = fit_steps(plan)
    starts = starts if len(starts) else np.zeros(1, dtype=np.int64)
    stale = np.ones(plan.n_arms, dtype=bool)
    recorder = None
    if repetition == 0:
        recorder = Recorder(plan.n_steps, plan.n_arms, _draws(plan))
    n_fits = 0
    for low, high in zip(starts, np.append(starts[1:], plan.n_steps), strict=True):
        for arm in range(plan.n_arms):
            with stage(1, span=1):
                if stale[arm] and low:
                    pulls = np.flatnonzero(arms[:low] == arm)
                    models[arm].fit(world.contexts[pulls], world.rewards[pulls, arm])
                    n_fits += 1
        drawn = np.stack([model.draw(world.contexts[low:high]) for model in models], axis=1)
        arms[low:high] = drawn.argmax(axis=1)
        stale = np.bincount(arms[low:high], minlength=plan.n_arms) > 0
        if recorder is not None:
            recorder.note(models, int(low), drawn)
        advance(0.0)
    if recorder is None:
        return world, arms, n_fits, None
    return world, arms, n_fits, recorder.trace(world.rewards[np.arange(plan.n_steps), arms])


# --- Its pictures ---------------------------------------------------------------------------------


_STEPS_DRAWN = 300  # of a bandit
_RECENT = 100  # steps that a mean regret is over


def policy_ink(policy: str) -> tuple[str, bool]:
    """The colour of a policy of the bandit, and whether its lines are dashed, as a baseline's.

    >>> policy_ink("random"), policy_ink("greedy")[1], policy_ink("vst")[1]
    (('text', True), True, False)
    """
    style = METHOD_STYLES.get("vst" if policy == "greedy" else policy)
    return ("text", True) if style is None else (style.colour, policy == "greedy")


def regret_sheet(runs: Sequence[BanditRun]) -> PanelSheet:
    """Cumulative regret and the recent regret of a step, over the steps."""
    n_steps = len(runs[0].mean)
    at = np.unique(np.linspace(0, n_steps - 1, min(n_steps, _STEPS_DRAWN)).astype(np.int64))
    steps = at + 1.0
    sums, errors, recent = [], [], []
    for run in runs:
        colour, dash = policy_ink(run.plan.policy)
        sums.append(StripLine(run.label, run.mean[at], colour, dash))
        if np.isfinite(run.standard_error).all():
            faint = np.full(len(at), 0.25)
            for sign, side in (("\u2212", -1.0), ("+", 1.0)):
                name = f"{run.label} {sign} 1 standard error"
                edge = run.mean + side * run.standard_error
                errors.append(StripLine(name, edge[at], colour, weight=faint))
        padded = np.concatenate([[0.0], run.mean])
        first = np.maximum(at + 1 - _RECENT, 0)
        per_step = (padded[at + 1] - padded[first]) / (at + 1 - first)
        recent.append(StripLine(run.label, per_step, colour, dash))
    top = 1.05 * max(float(run.mean[-1]) for run in runs) or 1.0
    strips = [
        Strip(
            title="Cumulative regret",
            x=steps,
            lines=[*sums, *errors],
            x_label="step",
            y_label="sum so far",
            y_limits=(0.0, top),
            mode="grow",
            legend=False,
        ),
        Strip(
            title="Regret per step",
            x=steps,
            lines=recent,
            x_label="step",
            y_label=f"mean of the last {_RECENT}",
            y_limits=(0.0, 1.0),
            mode="grow",
        ),
    ]
    return PanelSheet(
        panels=[],
        strips=strips,
        strip_columns=2,
        strip_height=200,
        frame_label="step",
        frame_values=steps.tolist(),
        alt=describe_bandit(runs),
        name="bandit",
    )


BANDIT_PARTS = (*PLAYED_PARTS, Path(__file__).parent / "bandit.js")
_ARM_COLOURS = OKABE_ITO[:7]  # without black, which a dark page swallows
_NONE = 65_535  # the code of no function
_OUTSIDE = 0.5  # functions may leave the rewards' range by this much of a bump
_FRAMES_PER_SECOND = 3.0


def bandit_figure(runs: Sequence[BanditRun], policy: LiveKnob, step: LiveKnob) -> Curves:
    """The functions of a step beside the regret of all policies, in their first repetition."""
    plan, steps = runs[0].plan, runs[0].trace.steps
    last = int(steps[-1])
    world, x = make_bandit(plan, 0), np.linspace(-1.0, 1.0, TRACE_PLACES)
    truth = mean_rewards(x, plan.n_arms, plan.alpha, plan.beta)
    rewards = np.concatenate([run.trace.rewards for run in runs])
    low = min(-_OUTSIDE, float(np.quantile(rewards, 0.001)))
    high = max(1.0 + _OUTSIDE, float(np.quantile(rewards, 0.999)))
    n_arms = truth.shape[1]
    spec: Part = {
        "name": "soft-trees-bandit-steps",
        "drawing": "bandit",
        "alt": f"The bandit step by step. {describe_bandit(runs)}",
        "arms": n_arms,
        "x": x.tolist(),
        "range": [low, high],
        "steps": [int(step) for step in steps],
        "contexts": rounded(world.contexts),
        "means": rounded(world.means.ravel()),
        "truth": rounded(truth.T.ravel()),
        "colours": list(_ARM_COLOURS),
        "policies": [_policy(run, steps - 1, low, high) for run in runs],
        "legend": _legend(runs, n_arms),
        "knobs": [policy.spec, step.spec],
        "played": {
            "key": step.key,
            "label": "step",
            "texts": [f"{int(step):,} of {last:,}" for step in steps],
            "fps": _FRAMES_PER_SECOND,
        },
    }
    functions = "".join(policy["functions"]["data"] for policy in spec["policies"])
    spec["digest"] = hashlib.sha256(functions.encode()).hexdigest()[:16]
    return Curves(spec, (policy, step), BANDIT_PARTS)


def _policy(run: BanditRun, at: Ints, low: float, high: float) -> Part:
    colour, dash = policy_ink(run.plan.policy)
    trace = run.trace
    return {
        "name": run.label,
        "colour": colour,
        "dash": dash,
        "draws": bool(np.size(trace.functions)),
        "pulled": [int(arm) for arm in run.arms[0]],
        "rewards": rounded(trace.rewards),
        "drawn": [None if np.isnan(v) else round(float(v), 5) for v in np.ravel(trace.drawn)],
        "regret": rounded(run.cumulative[0][at]),
        "functions": _packed(trace.functions, low - (high - low), high + (high - low)),
    }


def _packed(functions: Any, low: float, high: float) -> Part:
    """Values as 16-bit steps of a range; what lies outside of it is cut off."""
    shares = np.clip((np.nan_to_num(functions) - low) / (high - low), 0.0, 1.0)
    codes = np.where(np.isnan(functions), _NONE, np.rint((_NONE - 1) * shares)).astype("<u2")
    data = base64.b64encode(codes.tobytes()).decode()
    return {"data": data, "range": [low, high], "none": _NONE}


def _legend(runs: Sequence[BanditRun], n_arms: int) -> list[Part]:
    arms: list[Part] = [
        {
            "name": f"arm {arm + 1}",
            "kind": "line",
            "colour": _ARM_COLOURS[arm % len(_ARM_COLOURS)],
            "width": 2.4,
        }
        for arm in range(n_arms)
    ]
    regret: list[Part] = []
    for run in runs:
        colour, dash = policy_ink(run.plan.policy)
        entry: Part = {"name": run.label, "kind": "line", "colour": colour, "width": 1.6}
        regret.append({**entry, "dash": "5 4"} if dash else entry)
    true = {"name": "true mean", "kind": "line", "colour": "text", "width": 1.0, "dash": "3 3"}
    return [*arms, true, *regret]


# --- Its claim ------------------------------------------------------------------------------------


# Table 3, "exploration": mean cumulative regret after 20,000 steps. The paper omits its bumps.
PAPER_REGRET: Mapping[str, float] = MappingProxyType(
    {"xbart": 5039.93, "vst": 7054.60, "sglb": 9469.07, "random": 18904.95}
)
ORDERED = Threshold("share of the pairs in the paper's order", 1.0, 0.6, unit=" %", times=100.0)


def check_policies(runs: Sequence[BanditRun]) -> tuple[Claim, ...]:
    """Compare the order of the paper's policies with the order here; nothing for fewer than two."""
    here = {run.plan.policy: float(run.mean[-1]) for run in runs}
    labels = {run.plan.policy: run.label for run in runs}
    paper = [policy for policy in PAPER_REGRET if policy in here]
    if len(paper) < 2:
        return ()
    pairs = list(itertools.combinations(paper, 2))
    ordered = sum(here[less] < here[more] for less, more in pairs)
    order = sorted(paper, key=lambda policy: here[policy])
    claim = judged(
        "Cumulative regret after 20,000 steps, lowest first: "
        f"{', '.join(f'{labels[policy]} {PAPER_REGRET[policy]:,.0f}' for policy in paper)} "
        "(table 3).",
        f"After {runs[0].plan.n_steps:,} steps, lowest first: "
        f"{', '.join(f'{labels[policy]} {here[policy]:.0f}' for policy in order)}. {ordered} of "
        f"{len(pairs)} pairs are in the paper's order. The paper does not give the shape of its "
        "bumps.",
        ordered / len(pairs),
        ORDERED,
        key="bandit",
        name="pairs in order",
    )
    return (claim,)


def _quicker_bandit(settings: BanditSettings, share: float) -> BanditSettings:
    """Fewer steps, fewer fits, shorter fits, in equal parts: the order needs steps to show."""
    every = settings.refit_every
    rarer = min(int(round(every / share ** (1.0 / 3.0), -1)), settings.n_steps // 10)
    return replace(quicker(settings, share), refit_every=max(every, rarer))


def _bare_bandit(settings: BanditSettings) -> BanditSettings:
    """Each seed by itself, and the policies that the statement is about."""
    policies = tuple(policy for policy in settings.policies if policy in PAPER_REGRET)
    return replace(settings, policies=policies, n_seeds=1)


BANDIT_STUDY = SeedStudy(
    name="bandit",
    fit=run_policies,
    claims=check_policies,
    quicker=_quicker_bandit,
    bare=_bare_bandit,
    sizes=BanditSettings(),
    most=0.11,  # every arm is fitted again and again
)


# --- Ranks ----------------------------------------------------------------------------------------


MOST_SEEDS, MOST_RANKS, MOST_RANK_ROWS = 20, 12, 2000
FULL = 500  # more than any tree of the panel has parameters: counts as full rank
MOONS_NOISE = 0.15
_TEST_ROWS = 400  # of each kind, of the drawn set
_HELD_OUT = 0.2  # of a table
_TEST_STREAM, _FOREIGN_STREAM, _SPLIT_STREAM = 1, 2, 3  # of a seed


class RankDataset(NamedTuple):
    """A data set of the ranks: label, number of features, training rows."""

    label: str
    n_features: int
    rows: int | None


RANK_DATASETS: Mapping[str, RankDataset] = MappingProxyType(
    {
        # Foreign rows are uniform over the part of the plane outside the moons.
        "moons3": RankDataset("Two moons", 3, None),
        # Foreign rows are wines, on the patients' scales.
        "diabetes": RankDataset("Diabetes", 10, 354),
    }
)


@dataclass(frozen=True, kw_only=True)
class RankSettings:
    """Everything that the comparison depends on, so it is also the key of its result."""

    data: str = setting(
        "diabetes", "Data", named={info.label: key for key, info in RANK_DATASETS.items()}
    )
    # One above the number of parameters counts as that number.
    ranks: tuple[int, ...] = setting(
        (0, 1, 2, 5, 10, 20), "Ranks", choices=tuple(range(FULL + 1)), most=MOST_RANKS
    )
    n_seeds: int = setting(5, "Repetitions", low=1, high=MOST_SEEDS)  # of split and fit
    seed: int = setting(0, "Seed of the first repetition", low=0, high=2**31 - 1 - MOST_SEEDS)
    # A table has the rows that it has.
    rows: int = setting(
        200, "Training rows", low=20, high=MOST_RANK_ROWS,
        uses=lambda settings: RANK_DATASETS[settings.data].rows is None,
    )  # fmt: skip
    depth: int = setting(2, of="vst.depth", arg="depth", limits=(0, 4))
    leaf: str = setting("linear", of="vst.leaf", arg="leaf")
    beta: float = setting(4.0, of="vst.beta", arg="beta")
    prior_scale: float = setting(2.5, of="vst.prior_scale", arg="prior_scale")
    steps: int = setting(
        1000, of="vst.n_steps", arg="n_steps", limits=(50, 20_000), shrink=(1.0, 200)
    )
    draws: int = setting(100, "Functions", arg="n_draws", low=2, high=1000)


class RankRun(NamedTuple):
    """AUROC of knowledge uncertainty for every rank and seed."""

    settings: RankSettings
    label: str  # of the data
    # (n_ranks,): as they were fitted: none above the number of parameters, and none twice
    ranks: np.ndarray
    n_parameters: int  # of a tree: the full rank
    # (n_ranks, n_seeds): 1 separates foreign rows from held-out ones perfectly, 0.5 is chance
    auroc: Array
    # `mean`, `standard_error`: (n_ranks,): over seeds; the error is NaN with one seed
    mean: Array
    standard_error: Array
    # (n_ranks, n_seeds): mean log predictive density (or class probability) of the held-out rows,
    # in nats
    log_score: Array
    seconds: float


class RankRows(NamedTuple):
    """Training rows, held-out rows of the same law, and foreign rows, each (n, p); y for two."""

    X: Array
    y: np.ndarray
    X_test: Array
    y_test: np.ndarray
    X_foreign: Array


def plan_rank(settings: RankSettings) -> RankSettings:
    """The settings without what does not matter, so that equal comparisons run once."""
    refusal = why_no_rank(settings)
    if refusal:
        raise InvalidParameter(refusal)
    full = rank_parameters(settings)
    ranks = tuple(sorted({min(rank, full) for rank in settings.ranks}))
    return plan_of(replace(settings, ranks=ranks))


def why_no_rank(settings: RankSettings) -> str:
    """Why the settings are refused, in one sentence; empty if they are fine."""
    n = len(settings.ranks)
    if not 1 <= n <= MOST_RANKS:
        return f"There must be 1 to {MOST_RANKS} ranks, but there are {n}."
    return refusal_of_call(_check, settings)


def _check(settings: RankSettings) -> None:
    for rank in settings.ranks:  # one named twice is fitted once
        check_number("ranks", rank, 0, FULL, integer=True)
    check(settings, "knobs", besides=("ranks",))


def rank_parameters(settings: RankSettings) -> int:
    """Parameters of a tree of the settings: the full rank."""
    of_classes = ("classes", 2) if settings.data == "moons3" else ()
    n_features = RANK_DATASETS[settings.data].n_features
    return TreeShape(settings.depth, n_features, settings.leaf, *of_classes).n_parameters


def run_rank(settings: RankSettings | None = None) -> RankRun:
    """Fit a tree for every rank and seed, and score how well it detects foreign rows."""
    plan = plan_rank(RankSettings() if settings is None else settings)
    began = time.perf_counter()
    jobs = [(rank, seed) for seed in range(plan.n_seeds) for rank in plan.ranks]

    def score(job: tuple[int, int]) -> tuple[float, float]:
        with stage(1, span=1):
            return _score(plan, *job)

    with stage(len(jobs)):
        scores = np.array(parallel_map(score, jobs))
    by_seed = scores.reshape(plan.n_seeds, len(plan.ranks), 2).transpose(1, 0, 2)
    aurocs = by_seed[..., 0]
    error = np.full(len(plan.ranks), np.nan)
    if plan.n_seeds > 1:
        error = aurocs.std(axis=1, ddof=1) / np.sqrt(plan.n_seeds)
    return RankRun(
        plan,
        RANK_DATASETS[plan.data].label,
        np.array(plan.ranks, dtype=np.int64),
        rank_parameters(plan),
        aurocs,
        aurocs.mean(axis=1),
        error,
        by_seed[..., 1],
        time.perf_counter() - began,
    )


def _model(plan: RankSettings, rank: int, seed: int) -> Any:
    from gbuq_core.soft_trees import VariationalSoftTreeClassifier, VariationalSoftTreeRegressor

    kind = VariationalSoftTreeClassifier if plan.data == "moons3" else VariationalSoftTreeRegressor
    return kind(**arguments(plan), rank=rank, n_jobs=1, random_state=plan.seed + seed)


def _score(plan: RankSettings, rank: int, seed: int) -> tuple[float, float]:
    """AUROC and log score of one fit."""
    rows = rank_rows(plan, seed)
    model = _model(plan, rank, seed).fit(rows.X, rows.y)
    both = np.concatenate([rows.X_test, rows.X_foreign])
    knowledge = model.predict_uncertainty(both).knowledge
    foreign = np.arange(len(both)) >= len(rows.X_test)
    return float(auroc(foreign, knowledge)), float(model.log_score(rows.X_test, rows.y_test))


def rank_rows(settings: RankSettings, seed: int) -> RankRows:
    """The rows of one repetition, the same for all ranks."""
    stream = settings.seed + seed
    return _moons(settings, stream) if settings.data == "moons3" else _patients_and_wines(stream)


def _moons(settings: RankSettings, seed: int) -> RankRows:
    train = make_moons3(settings.rows, MOONS_NOISE, seed)
    test = make_moons3(_TEST_ROWS, MOONS_NOISE, [seed, _TEST_STREAM])
    rng = np.random.default_rng([seed, _FOREIGN_STREAM])
    empty = train.grid[~train.in_support.ravel(), :2]
    cells = rng.choice(len(empty), _TEST_ROWS)
    side = [(high - low) / train.mean.shape[0] for low, high in MOONS_EXTENT]
    plane = empty[cells] + (rng.random((_TEST_ROWS, 2)) - 0.5) * side
    foreign = np.column_stack([plane, rng.standard_normal(_TEST_ROWS)])
    return RankRows(train.X, train.y, test.X, test.y, foreign)


def _patients_and_wines(seed: int) -> RankRows:
    from sklearn.datasets import load_diabetes, load_wine

    X, y = load_diabetes(return_X_y=True, scaled=False)
    order = np.random.default_rng([seed, _SPLIT_STREAM]).permutation(len(y))
    n_test = round(_HELD_OUT * len(y))
    test, train = order[:n_test], order[n_test:]
    wines = load_wine().data[:, : X.shape[1]]
    wines = (wines - wines.mean(axis=0)) / wines.std(axis=0)
    chosen = np.random.default_rng([seed, _FOREIGN_STREAM]).permutation(len(wines))[:n_test]
    foreign = X[train].mean(axis=0) + X[train].std(axis=0) * wines[chosen]
    return RankRows(X[train], y[train], X[test], y[test], foreign)


def describe_rank(run: RankRun) -> str:
    """The curve in words."""
    parts = [
        f"{mean:.2f}" + ("" if np.isnan(error) else f" ± {error:.2f}") + f" at rank {rank}"
        for rank, mean, error in zip(run.ranks, run.mean, run.standard_error, strict=True)
    ]
    n = run.settings.n_seeds
    return (
        f"{run.label}, {n} seed{'s' if n > 1 else ''}: AUROC of knowledge uncertainty is "
        f"{', '.join(parts)}. Full rank is {run.n_parameters}."
    )


def rank_gain(run: RankRun) -> tuple[float, float]:
    """Mean gain of the highest rank over the lowest, and its standard error over seeds (paired)."""
    gain = run.auroc[-1] - run.auroc[0]
    error = float(gain.std(ddof=1) / np.sqrt(len(gain))) if len(gain) > 1 else float("nan")
    return float(gain.mean()), error


def rank_figure(run: RankRun) -> Curves:
    """OOD AUROC against the posterior's rank, with one standard error to both sides."""
    colour, error = METHOD_STYLES["vst"].colour, np.nan_to_num(run.standard_error)
    top = max(int(run.ranks.max()), 1)
    ends = [-0.03 * top, 1.03 * top]
    chance = line(ends, [0.5, 0.5], "text", 1.0, "2 4")
    mean = line(run.ranks, run.mean, colour, 2.2)
    layers: list[Part] = [chance, mean, plain_dots(run.ranks, run.mean, colour, 1.0, 7.0)]
    layers += [
        line([rank, rank], [middle - half, middle + half], colour, 1.4)
        for rank, middle, half in zip(run.ranks, run.mean, run.standard_error, strict=True)
        if np.isfinite(half)
    ]
    low = min(0.5, float(np.nanmin(run.mean - error)))
    return draw_curves(
        "ood-rank",
        describe_rank(run),
        300,
        axis(ends, "rank of the posterior's covariance"),
        [panel([low - 0.03, 1.02], "AUROC", layers)],
        [entry(run.label, mean), entry("chance", chance)],
        reading(run.ranks.astype(np.float64), "rank", [(run.label, run.mean)]),
    )


# --- Their claim ----------------------------------------------------------------------------------


RISES, HARDLY_RISES = 2.0, 1.0  # standard errors
_RISEN = Threshold("difference", RISES, HARDLY_RISES, unit=" standard errors")


def check_rank_claim(run: RankRun) -> Claim:
    """Compare the paper's statement about the rank with the result here."""
    gain, error = rank_gain(run)
    low, high = int(run.ranks[0]), int(run.ranks[-1])
    spread = "" if math.isnan(error) else f" (standard error {error:.3f})"
    n = run.settings.n_seeds
    if math.isnan(error):  # one seed tells no more than a direction
        size = HARDLY_RISES if gain > 0.0 else 0.0
    else:
        size = gain / error if error > 0.0 else math.copysign(math.inf, gain) if gain else 0.0
    return judged(
        "A higher rank of the posterior's covariance generally helps to detect foreign rows "
        "(section 5.2; figure 3 shows the data sets where it helps most).",
        f"{run.label}: the AUROC is {run.mean[0]:.2f} at rank {low} and {run.mean[-1]:.2f} at rank "
        f"{high}. The difference is {gain:+.3f}{spread} over {n} seed{'s' if n > 1 else ''}.",
        size if low < high else math.nan,
        _RISEN,
        key="rank",
    )


def _bare_ranks(settings: RankSettings) -> RankSettings:
    """The lowest and the highest rank: the statement compares them."""
    return replace(settings, ranks=(min(settings.ranks), max(settings.ranks)))


def _run_ranks(settings: RankSettings) -> RankRun:
    """With repetitions of its own for every seed: run 1 starts where run 0 ends."""
    return run_rank(replace(settings, seed=settings.seed * settings.n_seeds))


RANK_STUDY = SeedStudy(
    name="rank",
    fit=_run_ranks,
    claims=lambda run: (check_rank_claim(run),),
    bare=_bare_ranks,
    sizes=RankSettings(),
)


# --- Trials ---------------------------------------------------------------------------------------


PLAY = narrow(
    find_knob(knobs_of(BanditSettings), "n_steps"),
    key="bandit_steps",
    default=500,
    group="page",
    label="Steps of the bandit",
    choices=(200, 500, 1000, 2000, 5000),
)
POLICY = Knob(
    "bandit_policy",
    "Policy",
    "choice",
    POLICIES["vst"],
    choices=tuple(POLICIES.values()),
    group="picture",
    help="Whose functions and pulls are shown.",
)
MOMENT = Knob(
    "bandit_at",
    "Step",
    "ladder",
    60,
    group="picture",
    choices=tuple(step for step in TRACE_STEPS if step <= PLAY.choices[-1]),
    help="Which step of the bandit is shown.",
)
DATA = narrow(
    find_knob(knobs_of(RankSettings), "data"),
    key="rank_data",
    group="page",
    default=RANK_DATASETS["moons3"].label,
)
_BUILT_IN = ("random", "greedy")  # policies that need no other library


def bandit_plan(settings: Any, values: SimpleNamespace) -> BanditSettings:
    """The bandit with the soft trees of the page."""
    return BanditSettings(
        policies=tuple(p for p in POLICIES if p in _BUILT_IN or not METHODS[p].missing()),
        n_steps=int(values.bandit_steps),
        refit_every=50,
        n_seeds=2,
        seed=settings.seed,
        vst_depth=max(1, settings.depth),
        vst_rank=min(int(settings.rank), 50),
    )


def _bandit_sections(runs: tuple[BanditRun, ...], values: SimpleNamespace) -> list[Section]:
    """Cumulative regret of the policies, and the bandit step by step."""
    return [
        Section(text=describe_bandit(runs), sheet=regret_sheet(runs)),
        Section(
            heading="A bandit, step by step",
            text="A context comes (the vertical line), and the policy draws one function for each "
            "arm. The arm whose function is highest there is pulled. Faint dots are earlier "
            "rewards, the diamond is this one. Play it: when does each arm find its bump?",
            curves=bandit_steps_figure(values, runs),
        ),
    ]


def bandit_steps_figure(values: SimpleNamespace, runs: tuple[BanditRun, ...]) -> Curves:
    """The bandit step by step, at the policy and step of the knobs."""
    steps, labels = runs[0].trace.steps, tuple(run.label for run in runs)
    policy = values.bandit_policy if values.bandit_policy in labels else labels[-1]
    near = min(steps.tolist(), key=lambda step: abs(step - values.bandit_at))
    return bandit_figure(
        runs,
        live_knob(narrow(POLICY, choices=labels), policy),
        live_knob(narrow(MOMENT, choices=tuple(steps.tolist())), near),
    )


def bandit_csv(runs: Sequence[BanditRun]) -> str:
    """One line a policy, seed and step: context, pulled arm, regret and its running sum."""
    names = ["policy", "seed", "step", "context", "arm", "regret", "cumulative"]
    rows = (
        (run.label, run.plan.seed + seed, step + 1, *values)
        for run in runs
        for seed in range(len(run.regret))
        for step, values in enumerate(
            zip(
                run.contexts[seed],
                run.arms[seed] + 1,
                run.regret[seed],
                run.cumulative[seed],
                strict=True,
            )
        )
    )
    return csv_text(names, rows)


def _rank_plan(settings: Any, values: SimpleNamespace) -> RankSettings:
    ranked = RankSettings(
        data=from_values(RankSettings, {"data": values.rank_data}).data,
        seed=settings.seed,
        leaf=settings.leaf,
        beta=settings.beta,
        prior_scale=settings.prior_scale,
    )
    if ranked.data == "moons3":  # few parameters: full rank is cheap
        ranked = replace(ranked, ranks=(*ranked.ranks, FULL))
    return ranked if why_no_rank(ranked) else plan_rank(ranked)


def rank_csv(run: RankRun) -> str:
    """One line a rank and seed: AUROC of knowledge uncertainty, log score of held-out rows."""
    rows = [
        (int(rank), run.settings.seed + seed, run.auroc[i, seed], run.log_score[i, seed])
        for i, rank in enumerate(run.ranks)
        for seed in range(run.auroc.shape[1])
    ]
    return csv_text(["rank", "seed", "auroc", "log_score"], rows)


# All are open in a link, as they were before they could fold.
BANDIT = Trial(
    name="soft-trees-bandit",
    label="Bandit",
    fold=Knob(
        "exploring", "Does knowledge uncertainty help to explore?", "switch", True, group="page"
    ),
    knobs=(PLAY,),
    about="Each of five arms pays in its own part of [-1, 1]. **Thompson sampling** draws one "
    "function for each arm and pulls the arm with the highest value. A model that is certain too "
    "early stops exploring. SGLB, XBART and VST, with the page's depth and rank, are retrained "
    "every 50 steps. **Random** pulls by chance, **Greedy VST** the highest mean. Each policy "
    "plays twice.",
    plan=bandit_plan,
    why_not=partial(refusal_of_call, plan_policies),
    run=run_policies,
    sections=_bandit_sections,
    claims=check_policies,
    study=BANDIT_STUDY,
    tables=MappingProxyType({"Steps": ("bandit.csv", bandit_csv)}),
)
RANKS = Trial(
    name="soft-trees-rank",
    label="Ranks",
    fold=Knob(
        "ranks", "Does a higher rank detect foreign rows better?", "switch", True, group="page"
    ),
    knobs=(DATA,),
    about="How well does knowledge uncertainty separate foreign rows from held-out rows (AUROC, "
    "figure 3 of the paper)? VST has depth 2 and the page's leaves, sharpness and prior, and five "
    "seeds for each rank. Rank 0 is mean field. On the moons, the highest rank is the full rank.",
    plan=_rank_plan,
    why_not=why_no_rank,
    run=run_rank,
    sections=lambda run, values: [Section(text=describe_rank(run), curves=rank_figure(run))],
    claims=lambda run: [check_rank_claim(run)],
    study=RANK_STUDY,
    tables=MappingProxyType({"AUROC by rank and seed": ("ranks.csv", rank_csv)}),
)
TRIALS = (BANDIT, RANKS)
