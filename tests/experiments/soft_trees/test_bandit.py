"""The exploration bandit: its rewards, its regret, and who finds the bumps."""

import inspect
from dataclasses import replace

import numpy as np
import pytest
from tolerances import ZERO

from gbuq_core.errors import Cancelled, InvalidParameter
from gbuq_core.experiments.soft_trees import bandit
from gbuq_core.experiments.soft_trees.bandit import (
    POLICIES,
    TRACE_STEPS,
    BanditSettings,
    arm_offsets,
    count_fits,
    describe_bandit,
    fit_steps,
    make_arms,
    make_bandit,
    mean_rewards,
    plan_bandit,
    run_bandit,
    run_policies,
    trace_steps,
)
from gbuq_core.progress import Place, Progress, at
from gbuq_core.settings import arguments

SMALL = BanditSettings(
    n_steps=300, n_arms=3, alpha=0.25, n_seeds=2, n_trees=60, xbart_trees=8, vst_steps=250
)


@pytest.fixture(scope="module")
def runs():
    return {policy: run_bandit(plan_bandit(SMALL, policy)) for policy in POLICIES}


def test_rewards_are_those_of_the_paper():
    # Equation 22, written out for one arm and context.
    x, offset, alpha, beta = 0.33, 0.4, 0.15, 40.0

    def sigmoid(z):
        return 1 / (1 + np.exp(-z))

    expected = sigmoid(beta * (x + alpha - offset)) - sigmoid(beta * (x - alpha - offset))
    rewards = mean_rewards(np.array([x]), 5, alpha, beta)[0]
    assert rewards[list(arm_offsets(5).round(9)).index(offset)] == pytest.approx(expected)


@pytest.mark.parametrize("n_arms", [2, 5, 20])
def test_bumps_are_disjoint_and_of_unit_height(n_arms):
    plan = plan_bandit(BanditSettings(n_arms=n_arms, alpha=0.7 / n_arms, beta=300.0), "random")
    x = np.linspace(-1, 1, 2001)
    means = mean_rewards(x, n_arms, plan.alpha, plan.beta)
    # At the middle a bump lacks 2 / (1 + e^(alpha beta)) of 1, with alpha beta of at least 10.5.
    assert means.max(axis=0).min() > 0.9999
    assert np.sort(means, axis=1)[:, -2].max() < 0.2  # where two meet, both are small
    assert means.min() > -ZERO
    # Each is 2 alpha wide: its integral; a sum over a lattice is exact to its spacing.
    np.testing.assert_allclose(means.sum(axis=0) * 0.001, 2 * plan.alpha, atol=0.002)


def test_worlds_have_uniform_contexts_and_noise_of_the_std_asked_for():
    plan = plan_bandit(BanditSettings(n_steps=20_000, noise=0.3), "random")
    world = make_bandit(plan, 0)
    counts, _ = np.histogram(world.contexts, np.linspace(-1, 1, 11))
    assert counts.sum() == 20_000
    assert (np.abs(counts - 2000) < 5 * np.sqrt(20_000 * 0.09)).all()  # five binomial std errors
    deviations = (world.rewards - world.means) / 0.3
    assert abs(deviations.mean()) < 5 / np.sqrt(deviations.size)
    assert abs(deviations.var() - 1) < 5 * np.sqrt(2 / deviations.size)


def test_worlds_are_the_same_for_all_policies_and_grow_at_the_end():
    few, many = SMALL, replace(SMALL, n_steps=400)
    first, second = (make_bandit(plan_bandit(few, policy), 1) for policy in ("vst", "sglb"))
    np.testing.assert_array_equal(first.rewards, second.rewards)
    longer = make_bandit(plan_bandit(many, "vst"), 1)
    np.testing.assert_array_equal(longer.contexts[:300], first.contexts)
    np.testing.assert_array_equal(longer.rewards[:300], first.rewards)
    assert not np.array_equal(make_bandit(plan_bandit(few, "vst"), 0).contexts, first.contexts)


def test_regret_is_the_best_mean_minus_the_pulled_ones(runs):
    for run in runs.values():
        for seed in range(2):
            means = mean_rewards(run.contexts[seed], 3, 0.25, 40.0)
            for step in (0, 150, 299):
                lost = means[step].max() - means[step, run.arms[seed, step]]
                assert run.regret[seed, step] == pytest.approx(lost, abs=ZERO)
        assert (run.regret >= 0).all()
        np.testing.assert_allclose(run.cumulative[:, -1], run.regret.sum(axis=1))
        np.testing.assert_allclose(run.mean, run.cumulative.mean(axis=0))
        spread = np.abs(run.cumulative[0] - run.cumulative[1])
        np.testing.assert_allclose(run.standard_error, spread / 2)  # std / sqrt(2) of two numbers


def test_the_random_policy_pulls_all_arms_alike_and_loses_what_chance_loses():
    plan = plan_bandit(replace(SMALL, n_steps=20_000, n_seeds=2), "random")
    run = run_bandit(plan)
    counts = np.bincount(run.arms.ravel(), minlength=3)
    assert (np.abs(counts - 40_000 / 3) < 5 * np.sqrt(40_000 * 2 / 9)).all()
    means = mean_rewards(np.linspace(-1, 1, 20_001), 3, 0.25, 40.0)
    expected = (means.max(axis=1) - means.mean(axis=1)).mean()
    # A step's regret lies in [0, 1]: std of at most 0.5, five standard errors.
    assert abs(run.regret.mean() - expected) < 5 * 0.5 / np.sqrt(40_000)


def test_thompson_sampling_learns_and_the_random_policy_does_not(runs):
    def late(run):
        return run.regret[:, 200:].mean()

    for policy in ("sglb", "xbart", "vst"):
        # Twice is far: 200 pulls a late mean, of a std of at most 0.5, are within 0.04 of theirs.
        assert late(runs[policy]) < 0.5 * late(runs["random"])
        # A model that knew everything after the first fits would lose nothing later.
        assert late(runs[policy]) < 0.7 * runs[policy].regret[:, :50].mean()
        assert runs[policy].mean[-1] < 0.8 * runs["random"].mean[-1]


def test_arms_are_tried_in_turn_before_the_first_fit(runs):
    for policy in ("sglb", "xbart", "vst"):
        np.testing.assert_array_equal(runs[policy].arms[:, :9], np.tile(np.arange(9) % 3, (2, 1)))


def test_a_policy_sees_its_own_rewards_only(monkeypatch):
    seen = []

    class Spy:
        def __init__(self, plan, seed):
            self.arm = len([each for each in seen if each == "new"]) % plan.n_arms
            seen.append("new")

        def fit(self, contexts, rewards):
            seen.append((self.arm, contexts, rewards))
            return self

        def draw(self, contexts):
            return np.where(contexts > 0.0, self.arm == 1, self.arm == 2).astype(float)

        def last_functions(self, contexts, which):
            return np.tile(self.draw(contexts), (len(which), 1))

    monkeypatch.setattr(bandit, "SampledArm", Spy)
    plan = plan_bandit(replace(SMALL, n_seeds=1), "vst")
    run = run_bandit(plan)
    world = make_bandit(plan, 0)
    np.testing.assert_array_equal(run.arms[0, 9:], np.where(world.contexts[9:] > 0, 1, 2))
    fits = [each for each in seen if each != "new"]
    for arm, contexts, rewards in fits:
        places = np.searchsorted(np.sort(world.contexts), contexts)
        steps = np.argsort(world.contexts)[places]
        np.testing.assert_array_equal(run.arms[0, steps], arm)
        np.testing.assert_array_equal(world.rewards[steps, arm], rewards)
    # Arm 0 is never pulled after its first fit, so it is not fitted again.
    assert [arm for arm, *_ in fits].count(0) == 1
    assert run.fits == len(fits) == 1 + 2 * len(fit_steps(plan))


@pytest.mark.parametrize("policy", ["sglb", "xbart", "vst"])
def test_draws_are_functions_of_the_model_one_a_context(policy):
    plan = plan_bandit(SMALL, policy)
    model = make_arms(plan, 0)[0]
    world = make_bandit(plan, 0)
    model.fit(world.contexts[:40], world.rewards[:40, 0])
    x = np.full(4000, 0.05)
    drawn = model.draw(x)
    functions = bandit._functions(model._model, x[:1, None])[:, 0]
    assert set(drawn) <= set(functions)
    # The mean of 4,000 draws with replacement: five standard errors.
    assert abs(drawn.mean() - functions.mean()) <= 5 * functions.std() / np.sqrt(4000) + ZERO
    assert len(np.unique(functions)) > 5


def test_seeds_are_honoured(runs):
    again = run_bandit(plan_bandit(SMALL, "sglb"))
    np.testing.assert_array_equal(again.arms, runs["sglb"].arms)
    other = run_bandit(plan_bandit(replace(SMALL, seed=1), "sglb"))
    assert not np.array_equal(other.contexts, again.contexts)


def test_progress_goes_to_the_end_and_a_run_can_be_cancelled():
    plan = plan_bandit(replace(SMALL, n_seeds=1, n_steps=60), "xbart")
    progress = Progress(1)
    with at(Place(progress=progress)):
        run_bandit(plan)
    assert progress.done == pytest.approx(1.0)
    calls = []

    def refuse():
        calls.append(1)
        if len(calls) > 12:
            raise Cancelled

    with at(Place(progress=Progress(1), checks=(refuse,))), pytest.raises(Cancelled):
        run_bandit(plan)


def test_plans_hold_what_their_policy_uses():
    moved = replace(SMALL, xbart_trees=99, vst_rank=1, sglb_ensemble="independent")
    same = {
        policy for policy in POLICIES if plan_bandit(SMALL, policy) == plan_bandit(moved, policy)
    }
    assert same == {"random"}
    assert plan_bandit(replace(SMALL, refit_every=7), "random") == plan_bandit(SMALL, "random")
    for policy in POLICIES:
        plan = plan_bandit(SMALL, policy)
        assert plan.policies == (policy,)
        assert hash(plan) == hash(plan_bandit(SMALL, policy))
    for policy in ("sglb", "xbart", "vst"):
        assert count_fits(plan_bandit(SMALL, policy)) == 2 * 3 * 6  # before steps 9, 59, ..., 259


@pytest.mark.parametrize(
    ("policy", "knob", "value"),
    [
        ("random", "alpha", 0.4),
        ("random", "beta", 3.0),
        ("vst", "initial_pulls", 100),
    ],
)
def test_knobs_that_do_not_go_together_are_refused_by_a_sentence(policy, knob, value):
    with pytest.raises(InvalidParameter, match=rf"^[^\n]*{knob}[^\n]*\.$"):
        plan_bandit(replace(SMALL, **{knob: value}), policy)


def test_unknown_policies_and_endless_runs_are_refused():
    with pytest.raises(InvalidParameter, match="policy must be one of"):
        plan_bandit(SMALL, "ucb")
    with pytest.raises(InvalidParameter, match="policy must be one of"):
        run_policies(replace(SMALL, policies=("random", "ucb")))
    with pytest.raises(InvalidParameter, match="refit_every = 1 would mean 99,925 fits"):
        plan_bandit(BanditSettings(n_steps=20_000, refit_every=1, n_seeds=1), "vst")


def test_policies_are_compared_in_words():
    both = run_policies(replace(SMALL, policies=("random", "xbart"), n_seeds=1, n_steps=120))
    words = describe_bandit(both)
    assert words.startswith("Cumulative regret after 120 steps: ")
    order = sorted(both, key=lambda run: run.mean[-1])
    assert words.index(order[0].label) < words.index(order[1].label)
    assert "±" not in words  # one seed has no standard error
    assert np.isnan(both[0].standard_error).all()
    assert describe_bandit(()) == "No policy has played yet."


def test_models_are_imported_when_they_are_needed():
    head = inspect.getsource(bandit).split("class Bandit")[0]
    assert "gbuq_core.soft_trees" not in head


@pytest.mark.parametrize("policy", ["sglb", "xbart", "vst", "greedy"])
def test_the_trace_holds_the_functions_that_chose_the_arms(runs, policy):
    run = runs[policy]
    trace, world = run.trace, make_bandit(run.plan, 0)
    np.testing.assert_array_equal(trace.steps, trace_steps(SMALL.n_steps))
    pulled = run.arms[0]
    np.testing.assert_array_equal(trace.rewards, world.rewards[np.arange(len(pulled)), pulled])
    before = trace.steps <= SMALL.initial_pulls * SMALL.n_arms
    assert np.isnan(trace.drawn[before]).all()
    assert np.isnan(trace.functions[before]).all()
    after, steps = ~before, trace.steps[~before] - 1
    np.testing.assert_array_equal(trace.drawn[after].argmax(axis=1), pulled[steps])
    # A function's value in its context lies between those at the places beside it; a tree jumps.
    x = run.contexts[0, steps]
    right = np.clip(np.searchsorted(trace.x, x), 1, len(trace.x) - 1)
    sides = np.stack([trace.functions[after], trace.functions[after]])
    rows = np.arange(len(x))
    beside = np.stack([sides[0][rows, :, right - 1], sides[1][rows, :, right]])
    low, high = beside.min(axis=0), beside.max(axis=0)
    room = 0.02 + 0.1 * (high - low)
    inside = (trace.drawn[after] >= low - room) & (trace.drawn[after] <= high + room)
    assert inside.mean() > 0.97


def test_a_policy_without_functions_has_rewards_alone(runs):
    trace = runs["random"].trace
    assert trace.functions.shape == (len(trace.steps), SMALL.n_arms, 0)
    assert len(trace.rewards) == SMALL.n_steps


def test_the_trace_is_small_and_ends_with_the_run():
    largest = trace_steps(20_000)
    assert len(largest) * 20 * 81 * 4 < 1e6  # bytes, with the most arms
    assert set(largest) <= set(TRACE_STEPS)
    assert trace_steps(77)[-1] == 77


def test_the_greedy_policy_pulls_the_highest_mean(runs):
    plan = runs["greedy"].plan
    assert arguments(plan) == arguments(runs["vst"].plan)
    arms = make_arms(plan, 0)
    x = np.linspace(-1, 1, 9)
    arms[0].fit(np.linspace(-1, 1, 20), np.linspace(-1, 1, 20))
    first, again = arms[0].draw(x), arms[0].draw(x)
    np.testing.assert_array_equal(first, again)
