"""The exploration bandit: Thompson sampling with models of different uncertainty.

Cinquin et al. (2022), section 5.3 and supplement 2.3, equation 22. A context x is uniform on
[-1, 1]; with ``d = x - offset[a]`` arm a pays ``sigmoid(beta (d + alpha)) - sigmoid(beta (d -
alpha))`` and noise: a bump of height 1, and elsewhere nothing. Bumps are disjoint, so at most one
arm pays in a context, and only a model that stays uncertain where an arm was not tried finds it.
The paper leaves the constants of the bumps open; the defaults here are this project's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from gbuq_core.errors import InvalidParameter
from gbuq_core.jobs import advance, parallel_map, stage
from gbuq_core.knobs import texts_of
from gbuq_core.methods import METHODS
from gbuq_core.methods.boosted import KNOBS
from gbuq_core.settings import arguments, check, plan_of, setting
from gbuq_core.validation import check_choice, check_number

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

    steps: NDArray[np.int64]  # the steps at which functions are kept, from 1
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


def trace_steps(n_steps: int) -> NDArray[np.int64]:
    """The steps of a run at which drawn functions are kept: its last one is among them."""
    return np.array([*(step for step in TRACE_STEPS if step < n_steps), n_steps], dtype=np.int64)


Array = NDArray[np.float64]
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
    arms: NDArray[np.int64]  # (n_seeds, n_steps): the arm pulled at each step
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

    def last_functions(self, contexts: Array, which: NDArray[np.int64]) -> Array:
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

    def last_functions(self, contexts: Array, which: NDArray[np.int64]) -> Array:
        """The functions of some of the last draws, (len(which), m), at contexts (m,)."""
        return _functions(self._model, contexts[:, None])[self._chosen[which]]


class GreedyArm(SampledArm):
    """An arm whose model answers with its mean function: it never tries what looks worse."""

    def draw(self, contexts: Array) -> Array:
        """The mean of the model's functions, (m,)."""
        return _functions(self._model, contexts[:, None]).mean(axis=0)

    def last_functions(self, contexts: Array, which: NDArray[np.int64]) -> Array:
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


def _play(
    plan: BanditSettings, repetition: int
) -> tuple[Bandit, NDArray[np.int64], int, BanditTrace | None]:
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
