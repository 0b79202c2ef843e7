"""What the lesson on chains says in fixed sentences is so, at its own settings."""

from dataclasses import replace

import pytest
from lesson_parts import computed

from demos.gaussians import BOTH, KEPT, MANY, NOISY, ONE, STABLE, UNEQUAL
from gbuq_core.presentation import digits
from gbuq_core.settings import plan_of
from gbuq_core.study.gaussians import GAUSSIANS, score_sampler
from gbuq_core.study.gaussians_race import run_sampler, target_grid


def score(settings, sampler, **knobs):
    return score_sampler(run_sampler(plan_of(replace(settings, **knobs), sampler)))


def test_sgld_stays_in_one_mode_whatever_the_seed():
    for seed in range(6):
        assert score(ONE, "sgld", seed=seed).modes_visited == 1
    assert "five other seeds visit 1 each" in computed("gaussians", "Trapped").answer


def test_much_noise_blurs_and_a_little_more_of_it_does_better():
    much, mild = score(NOISY, "nsgld"), score(NOISY, "nsgld", noise_nsgld=1.5)
    assert much.modes_visited > 7
    assert much.share_in_modes < 0.5 < mild.share_in_modes
    assert mild.grid_kl < much.grid_kl
    assert f"KL {digits(mild.grid_kl)} nats" in computed("gaussians", "More noise").more[-1]


def test_each_cycle_takes_two_frames():
    race = GAUSSIANS.run(replace(ONE, samplers=("clr",)))
    assert len(race.views[0].steps) == 2 * ONE.cycles


def test_the_limit_of_a_stable_step_lies_between_the_two_scales():
    limit = target_grid(STABLE.target).step_limit / STABLE.rate_cg
    assert STABLE.alpha_max < limit < 7
    assert score(STABLE, "cg").modes_visited == 1
    assert score(STABLE, "cg", alpha_max=7.0).modes_visited >= 7
    assert "too long at a scale of 6.00" in computed("gaussians", "What throws it out").answer


def test_by_one_rule_of_what_is_kept_the_two_cycles_are_alike():
    clr, every, cg = (
        score(BOTH, "clr"),
        score(BOTH, "clr", exploration_clr=0.0),
        score(BOTH, "cg"),
    )
    assert abs(cg.modes_visited - clr.modes_visited) <= 3  # of 25: "hardly"
    assert clr.grid_kl < cg.grid_kl
    assert clr.share_in_modes > cg.share_in_modes
    # By the same rule the difference is a tenth of that, or of the other sign.
    assert abs(cg.grid_kl - every.grid_kl) < 0.1 * (cg.grid_kl - clr.grid_kl)
    assert every.share_in_modes < cg.share_in_modes
    answer = computed("gaussians", "Cycles of the gradient").answer
    assert f"With all its samples it has {digits(every.grid_kl)}." in answer


def test_samples_of_the_second_half_of_a_cycle_are_better_and_fewer():
    half, every = score(KEPT, "cg"), score(KEPT, "cg", exploration_cg=0.0)
    assert half.share_in_modes > 0.95 > every.share_in_modes
    assert half.grid_kl < every.grid_kl
    assert half.modes_visited < every.modes_visited


def test_one_long_cyclical_chain_against_many_short_ones():
    """It finds more modes, is farther off with all its samples, nearer with the later ones."""
    total = MANY.steps * MANY.chains
    short = score(MANY, "sgld")
    long = score(MANY, "cg", chains=1, steps=total)
    half = score(MANY, "cg", chains=1, steps=total, exploration_cg=0.5)
    assert short.modes_visited == 1
    assert short.all_modes_visited < half.modes_visited <= long.modes_visited
    assert half.grid_kl < short.grid_kl < long.grid_kl


def test_two_modes_are_found_by_clr_and_not_by_cg():
    scores = {run.method: score_sampler(run) for run in GAUSSIANS.run(UNEQUAL).views}
    assert scores["clr"].modes_visited == 2
    assert scores["cg"].modes_visited == 1
    assert scores["nsgld"].share_in_modes < 0.5
    grid = target_grid("two_modes")
    assert UNEQUAL.rate_cg * UNEQUAL.alpha_max < grid.step_limit
    # The first mode is the left one, with 80 % of the weight.
    left = grid.density[:, : grid.density.shape[1] // 2].sum() / grid.density.sum()
    assert left == pytest.approx(0.8, abs=1e-3)
