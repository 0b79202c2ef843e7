"""Bandit and ranks of soft trees: rewards, regret, who finds the bumps, and foreign rows."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from tolerances import NEAR_ZERO, NINE_DIGITS, ZERO

from gbuq_core.errors import Cancelled, InvalidParameter
from gbuq_core.experiments.claims import VERDICTS
from gbuq_core.experiments.trial import trial_sections
from gbuq_core.figures.canvas.encoding import encode_sheet
from gbuq_core.figures.handles import live_knob
from gbuq_core.knobs import Knob
from gbuq_core.progress import Place, Progress, at
from gbuq_core.settings import arguments
from gbuq_core.study import soft_trees_trials as bandit
from gbuq_core.study.soft_trees_trials import (
    BANDIT,
    BANDIT_STUDY,
    POLICIES,
    RANK_DATASETS,
    RANK_STUDY,
    TRIALS,
    BanditSettings,
    RankSettings,
    arm_offsets,
    bandit_csv,
    bandit_figure,
    check_policies,
    check_rank_claim,
    count_fits,
    describe_rank,
    fit_steps,
    make_arms,
    make_bandit,
    mean_rewards,
    plan_bandit,
    plan_rank,
    rank_csv,
    rank_gain,
    rank_rows,
    regret_sheet,
    run_bandit,
    run_policies,
    run_rank,
    trace_steps,
    why_no_rank,
)
from gbuq_core.synthetic import moons_posterior
from tests.figure_readers import decode_strips

ROUNDING = {"rtol": 5.1e-5, "atol": 0.0}  # numbers are sent with five significant digits
RANK = RankSettings(data="moons3", ranks=(0, 3), n_seeds=2, rows=60, steps=80, depth=1)
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


def test_the_greedy_policy_pulls_the_highest_mean(runs):
    plan = runs["greedy"].plan
    assert arguments(plan) == arguments(runs["vst"].plan)
    arms = make_arms(plan, 0)
    x = np.linspace(-1, 1, 9)
    arms[0].fit(np.linspace(-1, 1, 20), np.linspace(-1, 1, 20))
    first, again = arms[0].draw(x), arms[0].draw(x)
    np.testing.assert_array_equal(first, again)


@pytest.fixture(scope="module")
def played():
    return run_bandit(plan_bandit(BanditSettings(n_steps=1000, n_seeds=2), "random"))


def test_regret_grows_and_its_recent_mean_is_per_step(played):
    steps = np.arange(1.0, 1001.0)
    runs = [
        replace(played, mean=steps, standard_error=np.full(1000, np.nan)),
        replace(played, label="VST", mean=np.sqrt(steps), standard_error=np.ones(1000)),
    ]
    total, recent = decode_strips(encode_sheet(regret_sheet(runs)))
    np.testing.assert_allclose(recent.lines["Random"], 1.0, rtol=1e-6)
    last = (np.sqrt(1000.0) - np.sqrt(900.0)) / 100
    np.testing.assert_allclose(recent.lines["VST"][0, -1], last, rtol=1e-5)
    assert [name for name in total.lines if "error" in name] == [
        "VST \u2212 1 standard error",
        "VST + 1 standard error",
    ]


def test_the_bandit_is_played_from_its_first_repetition(played):
    steps = played.trace.steps
    policy = live_knob(Knob("bandit_policy", "Policy", "choice", "R", choices=("R",)), "R")
    step = live_knob(Knob("at", "Step", "ladder", 1, choices=tuple(steps.tolist())), 1)
    spec = bandit_figure([played], policy, step).spec
    contexts = make_bandit(played.plan, 0).contexts
    np.testing.assert_allclose(spec["contexts"], contexts, **ROUNDING)
    truth = mean_rewards(np.array(spec["x"]), 5, played.plan.alpha, played.plan.beta)
    assert spec["truth"] == pytest.approx(truth.T.ravel(), rel=5.1e-5, abs=NEAR_ZERO)
    (drawn,) = spec["policies"]
    assert drawn["pulled"] == played.arms[0].tolist()
    np.testing.assert_allclose(drawn["regret"], played.cumulative[0][steps - 1], **ROUNDING)
    assert spec["played"]["texts"][-1] == "1,000 of 1,000"
    assert not drawn["draws"]


@pytest.fixture(scope="module")
def ranked():
    return run_rank(RANK)


def test_the_papers_order_of_policies_stands_beside_ours():
    settings = BanditSettings(n_steps=200, n_seeds=2)
    run = run_bandit(plan_bandit(settings, "random"))
    regrets = {"xbart": 50.0, "vst": 70.0, "sglb": 95.0, "random": 190.0}
    runs = [
        replace(
            run, plan=replace(run.plan, policies=(policy,)), label=policy, mean=np.array([regret])
        )
        for policy, regret in regrets.items()
    ]
    (claim,) = check_policies(runs)
    assert claim.verdict == "holds"
    assert "6 of 6 pairs" in claim.here
    worse = [runs[0], replace(runs[1], mean=np.array([300.0])), *runs[2:]]
    assert check_policies(worse)[0].verdict == "partly"  # 4 of 6
    assert check_policies(runs[:1]) == ()
    values = SimpleNamespace(bandit_policy="Random", bandit_at=60)
    first, steps = trial_sections(TRIALS, {BANDIT.name: (run,)}, values)
    assert (first.heading, steps.heading) == (BANDIT.fold.label, "A bandit, step by step")
    lines = bandit_csv([run]).splitlines()
    assert len(lines) == 1 + 2 * 200
    assert float(lines[200].split(",")[-1]) == pytest.approx(run.cumulative[0, -1], rel=NINE_DIGITS)


def test_rank_rows_are_held_out_and_foreign():
    for key in RANK_DATASETS:
        settings = replace(RANK, data=key)
        rows = rank_rows(settings, 1)
        again = rank_rows(replace(settings, seed=1), 0)
        np.testing.assert_array_equal(rows.X_foreign, again.X_foreign)
        known = {tuple(row) for row in rows.X}
        assert not known & {tuple(row) for row in rows.X_test}
        assert not known & {tuple(row) for row in rows.X_foreign}
        assert rows.X_foreign.shape == rows.X_test.shape
    moons = rank_rows(RANK, 0)
    # where no moon can be, the classes are as good as certain almost everywhere
    certain = moons_posterior(moons.X_foreign[:, :2], 0.15)
    assert (np.minimum(certain, 1.0 - certain) < 0.01).mean() > 0.8


def test_foreign_wines_stand_where_patients_do():
    rows = rank_rows(RankSettings(), 0)
    # 88 of 178 standardised wines: means within 4 / sqrt(88) stds of the patients'
    gap = (rows.X_foreign.mean(axis=0) - rows.X.mean(axis=0)) / rows.X.std(axis=0)
    assert np.abs(gap).max() < 0.43


def test_a_rank_run_has_all_ranks_and_seeds(ranked):
    assert ranked.auroc.shape == (2, 2)
    assert ((ranked.auroc >= 0.0) & (ranked.auroc <= 1.0)).all()
    np.testing.assert_allclose(ranked.mean, ranked.auroc.mean(axis=1))
    spread = ranked.auroc.std(axis=1, ddof=1) / math.sqrt(2.0)
    np.testing.assert_allclose(ranked.standard_error, spread)
    assert (ranked.log_score < 0.0).all()
    assert ranked.n_parameters == 20
    gain, error = rank_gain(ranked)
    assert gain == pytest.approx(ranked.mean[1] - ranked.mean[0])
    assert error >= 0.0
    assert "Full rank is 20." in describe_rank(ranked)
    assert len(rank_csv(ranked).splitlines()) == 5


def test_a_rank_run_is_repeatable_and_seeds_are_its_own(ranked):
    second = run_rank(replace(RANK, seed=1, n_seeds=1))
    # the second repetition of seed 0 is the first of seed 1
    np.testing.assert_array_equal(second.auroc[:, 0], ranked.auroc[:, 1])
    assert np.isnan(second.standard_error).all()
    assert "±" not in describe_rank(second)
    assert check_rank_claim(second).verdict in VERDICTS


def test_the_rank_claim_follows_the_numbers(ranked):
    rising = ranked._replace(
        auroc=np.array([[0.5, 0.51], [0.9, 0.92]]), mean=np.array([0.505, 0.91])
    )
    assert check_rank_claim(rising).verdict == "holds"
    falling = ranked._replace(auroc=rising.auroc[::-1], mean=rising.mean[::-1])
    assert check_rank_claim(falling).verdict == "does not hold"
    single = ranked._replace(ranks=np.array([5]), auroc=rising.auroc[:1], mean=rising.mean[:1])
    assert check_rank_claim(single).verdict == "does not hold"


def test_a_gain_within_its_error_is_no_rise(ranked):
    noise = np.array([[0.5, 0.6], [0.62, 0.5]])  # +0.12 and -0.1: +0.01 with an error of 0.11
    assert check_rank_claim(ranked._replace(auroc=noise, mean=noise.mean(axis=1))).verdict == (
        "does not hold"
    )
    alone = ranked._replace(auroc=np.array([[0.5], [0.9]]), mean=np.array([0.5, 0.9]))
    assert check_rank_claim(alone).verdict == "partly"  # one seed tells a direction at most


def test_every_seed_of_the_rank_has_repetitions_of_its_own():
    plan = RANK_STUDY.plan(replace(RANK, ranks=(0, 1, 3)), n_seeds=2)
    assert plan.settings.ranks == (0, 3)  # the statement compares the lowest with the highest
    second = RANK_STUDY.fit(replace(plan.settings, seed=1))
    assert second.settings.seed == plan.settings.n_seeds
    (claim,) = RANK_STUDY.claims(second)
    assert claim == check_rank_claim(run_rank(second.settings))


def test_a_quicker_bandit_has_fewer_steps_and_fewer_and_shorter_fits():
    plan = BANDIT_STUDY.plan(BanditSettings())
    assert [sentence.split(" ")[0] for sentence in plan.quicker] == ["steps", "steps", "training"]
    assert plan.settings.n_steps >= 300


def test_rank_plans_drop_what_does_not_matter():
    table = RankSettings(ranks=(5, 0, 300, 400, 5))
    plan = plan_rank(table)
    assert plan.ranks == (0, 5, 121)
    assert plan == plan_rank(replace(table, rows=50))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"ranks": ()}, "1 to 12 ranks"),
        ({"ranks": (-1,)}, "ranks must be"),
    ],
)
def test_bad_rank_settings_are_refused_in_a_sentence(wrong, words):
    settings = replace(RANK, **wrong)
    sentence = why_no_rank(settings)
    assert words in sentence
    assert sentence.endswith(".")
    with pytest.raises(InvalidParameter) as caught:
        run_rank(settings)
    assert str(caught.value) == sentence
