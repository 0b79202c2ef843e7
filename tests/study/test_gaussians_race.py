"""The race: frames against direct counts of the chains, what runs again, the target's grid."""

from dataclasses import replace

import numpy as np
import pytest
from tolerances import NEAR_ZERO, SAME_SUM

from gbuq_core.errors import InvalidParameter
from gbuq_core.sampling import SAMPLERS, TARGETS, grid_kl, sample_mixture
from gbuq_core.settings import arguments, plan_of
from gbuq_core.study.gaussians_race import (
    MAX_FRAMES,
    N_BINS,
    SHOWN_CYCLES,
    GaussiansSettings,
    count_chains,
    energy_map,
    record_cycle,
    run_sampler,
    target_grid,
)

SMALL = GaussiansSettings(steps=2000, chains=3, cycles=8, seed=4)


def chains_of(sampler, settings=SMALL):
    """The chains that the plan of a sampler stands for, by the library's own call."""
    own = {
        "sgld": {},
        "nsgld": {},
        "clr": {"exploration_fraction": settings.exploration_clr},
        "cg": {"alpha_max": settings.alpha_max, "alpha_min": settings.alpha_min},
    }
    return sample_mixture(
        sampler,
        settings.steps,
        settings.chains,
        settings.cycles,
        settings.seed,
        settings.target,
        **own[sampler],
    )


@pytest.fixture(scope="module", params=list(SAMPLERS))
def pair(request):
    return run_sampler(plan_of(SMALL, request.param)), chains_of(request.param)


def test_the_last_frame_is_what_the_chains_say(pair):
    run, chains = pair
    assert run.steps[-1] == SMALL.steps
    assert run.n_kept[-1] == SMALL.chains * chains.kept.sum()
    assert run.modes_visited[-1] == chains.modes_visited.mean()
    # All chains keep the same number of samples, so the mean of shares is the share; rounding.
    assert run.share_in_modes[-1] == pytest.approx(chains.share_in_modes.mean(), rel=SAME_SUM)
    # One code for both; a sum of 3,601 terms along another axis.
    assert run.divergence[-1] == pytest.approx(grid_kl(chains, together=True)[0], rel=SAME_SUM)
    assert run.occupancy_error[-1] == pytest.approx(run.report.all_occupancy_error, rel=SAME_SUM)


@pytest.mark.parametrize("frame", [3, 31, 59])
def test_a_frames_density_is_the_histogram_of_the_samples_kept_by_then(pair, frame):
    run, chains = pair
    grid = target_grid(SMALL.target)
    end = run.steps[frame]
    kept = chains.samples[:, :end][:, chains.kept[:end]].reshape(-1, 2).astype(np.float64)
    assert run.n_kept[frame] == len(kept)
    counts, _, _ = np.histogram2d(kept[:, 1], kept[:, 0], bins=[grid.edges_y, grid.edges_x])
    width = grid.edges_x[1] - grid.edges_x[0]
    # float32; a sample on the border of two cells may be counted in the other.
    np.testing.assert_allclose(
        run.density[frame], counts / len(kept) / width**2, atol=1.01 / len(kept) / width**2
    )
    for axis, marginal in enumerate((run.marginal_x, run.marginal_y)):
        expected = run.density[frame].sum(axis=axis) * width
        np.testing.assert_allclose(marginal[frame], expected, rtol=1e-5, atol=1e-7)


def test_what_is_found_is_never_lost(pair):
    run, _ = pair
    assert len(run.steps) == MAX_FRAMES
    assert np.all(np.diff(run.steps) > 0)
    assert np.all(np.diff(run.n_kept) >= 0)
    assert np.all(np.diff(run.modes_visited) >= 0)


def test_the_path_and_the_stays_are_the_first_chains(pair):
    run, chains = pair
    for frame in (0, 17, 59):
        np.testing.assert_array_equal(
            run.path[frame, -1], chains.samples[0, run.steps[frame] - 1].astype(np.float64)
        )
    np.testing.assert_array_equal(run.stay_modes, chains.mode_index[0, run.stay_steps])
    np.testing.assert_array_equal(run.sizes, (chains.step_sizes * chains.scales)[run.size_steps])
    np.testing.assert_array_equal(run.occupancy, chains.occupancy)
    for labels, explored in zip(chains.mode_index, run.modes_explored, strict=True):
        steps = np.bincount(labels[labels >= 0])
        assert explored == (steps >= 50).sum()
    assert np.all(run.modes_explored >= run.report.modes_visited)


def test_schedules_of_many_cycles_are_shown_in_part():
    cyclic = run_sampler(plan_of(SMALL, "clr"))
    assert cyclic.size_span == SHOWN_CYCLES * SMALL.steps // SMALL.cycles
    length = SMALL.steps // SMALL.cycles
    quarter = -(-length // 4)
    assert cyclic.exploring.tolist() == [[c * length, c * length + quarter] for c in range(3)]
    assert run_sampler(plan_of(replace(SMALL, cycles=2), "clr")).size_span == SMALL.steps
    plain = run_sampler(plan_of(SMALL, "sgld"))
    assert plain.size_span == SMALL.steps
    assert plain.exploring.size == 0


@pytest.mark.parametrize("target", list(TARGETS))
def test_the_grid_holds_the_whole_target(target):
    grid = target_grid(target)
    area = (grid.edges_x[1] - grid.edges_x[0]) * (grid.edges_y[1] - grid.edges_y[0])
    # The banana's tails leave its extent by 7e-5.
    assert grid.density.sum() * area == pytest.approx(1.0, abs=2e-4)
    assert grid.density.shape == (N_BINS, N_BINS)
    assert len(grid.outlines) == grid.n_modes == len(TARGETS[target].weights)


def test_the_longest_stable_step_is_twice_the_smallest_variance():
    smallest = np.linalg.eigvalsh([[1.0, 0.6], [0.6, 0.8]]).min()
    limits = {
        "gaussians25": 0.06,
        "two_modes": 0.125,
        "ring": 2 * 0.25**2,
        "gaussian": 2 * smallest,
    }
    for target, limit in limits.items():
        # Central differences of an exact gradient: 1e-4 squared times third derivatives, rounding.
        assert target_grid(target).step_limit == pytest.approx(limit, rel=1e-5)


def test_the_settings_defaults_are_the_librarys():
    for sampler, kind in SAMPLERS.items():
        options = arguments(plan_of(GaussiansSettings(), sampler))
        own = {name: value for name, value in kind.defaults.items() if name != "decay"}
        assert {name: options[name] for name in own} == own


@pytest.mark.filterwarnings("ignore:.*ran off to infinity")
def test_chains_that_run_off_are_told():
    settings = replace(SMALL, rate_nsgld=1.0)
    wild = run_sampler(plan_of(settings, "nsgld"))
    assert wild.stopped.startswith("All 3 chains ran off to infinity, the first at step")
    assert wild.stopped.endswith("; lower its learning rate.")
    assert wild.all_stopped
    far = sample_mixture(
        "nsgld", settings.steps, settings.chains, random_state=settings.seed, learning_rate=1.0
    )
    # The step that ran off is finite and does not count, here as there.
    assert np.isfinite(far.samples[0, far.stopped_at[0]]).all()
    assert wild.n_kept[-1] == far.stopped_at.sum() < 100
    inside = far.share_in_modes @ far.stopped_at
    assert wild.share_in_modes[-1] == pytest.approx(inside / far.stopped_at.sum(), rel=SAME_SUM)
    assert wild.divergence[-1] == pytest.approx(grid_kl(far, together=True)[0], rel=SAME_SUM)
    assert np.isfinite(wild.path).all()
    assert np.isfinite(wild.density).all()
    plan = plan_of(SMALL, "sgld")
    chains = chains_of("sgld")
    samples, labels = chains.samples.copy(), chains.mode_index.copy()
    samples[0, 500:], labels[0, 500:] = np.nan, -1
    stopped = np.array([500, -1, -1])
    gone = replace(chains, samples=samples, mode_index=labels, stopped_at=stopped)
    run = count_chains(plan, gone)
    assert run.n_kept[-1] == 2 * SMALL.steps + 500
    assert np.isfinite(run.path).all()
    assert run.stopped.startswith("1 of 3 chains ran off to infinity, at step 500: ")
    assert not run.all_stopped


@pytest.mark.filterwarnings("ignore:.*ran off to infinity")
def test_a_single_chain_that_runs_off_is_told_with_a_remedy():
    settings = GaussiansSettings(steps=1000, alpha_max=15.0, rate_cg=0.02, gradient_noise=10.0)
    run = run_sampler(plan_of(settings, "cg"))
    assert run.all_stopped
    assert run.stopped.startswith("The chain ran off to infinity at step ")
    assert run.stopped.endswith("; lower its learning rate or its largest gradient scale.")


def test_before_the_first_kept_sample_there_are_no_shares():
    run = run_sampler(plan_of(replace(SMALL, exploration_clr=0.9, cycles=1), "clr"))
    nothing = run.n_kept == 0
    assert nothing.any()
    assert np.isnan(run.share_in_modes[nothing]).all()
    assert np.isnan(run.divergence[nothing]).all()
    assert run.density[nothing].max() == 0
    assert np.isfinite(run.share_in_modes[-1])


def test_unknown_names_are_refused():
    for call in (lambda: plan_of(SMALL, "hmc"), lambda: target_grid("donut")):
        with pytest.raises(InvalidParameter, match="must be one of"):
            call()


@pytest.mark.parametrize(("sampler", "cycle"), [("clr", 0), ("cg", 5), ("sgld", 7)])
def test_a_recorded_cycle_is_a_stretch_of_the_race(sampler, cycle):
    chains, trace = chains_of(sampler), record_cycle(SMALL, sampler, cycle)
    first, end = 250 * cycle, 250 * (cycle + 1)
    assert (chains.cycle[first:end] == (0 if sampler == "sgld" else cycle)).all()
    np.testing.assert_array_equal(trace.points[1:], chains.samples[0, first:end])
    np.testing.assert_array_equal(trace.modes[1:], chains.mode_index[0, first:end])
    np.testing.assert_array_equal(trace.exploring[1:], ~chains.kept[first:end])
    start = chains.starts[0] if cycle == 0 else chains.samples[0, first - 1]
    np.testing.assert_allclose(trace.points[0], start, rtol=1e-6)
    target = TARGETS[SMALL.target]
    lowest = -target.log_density(target.modes).max()
    np.testing.assert_allclose(trace.energy, -target.log_density(trace.points) - lowest)
    # A step is the pull of the exact gradient and the kick that is left.
    moved = trace.points[1:] - trace.points[:-1]
    pull = -trace.sizes[1:, None] * target.gradient(trace.points[:-1])
    np.testing.assert_allclose(trace.pulls[1:], np.hypot(*pull.T), rtol=1e-6, atol=NEAR_ZERO)
    np.testing.assert_allclose(
        trace.kicks[1:], np.hypot(*(moved - pull).T), rtol=1e-6, atol=NEAR_ZERO
    )


def test_a_long_cycle_is_thinned_and_one_that_ran_off_ends():
    trace = record_cycle(replace(SMALL, cycles=1), "clr", most=300)
    assert trace.every == 7
    assert len(trace.points) <= 301
    assert trace.steps[-1] == trace.n_steps == 2000
    wild = GaussiansSettings(steps=1000, alpha_max=15.0, rate_cg=0.02, gradient_noise=10.0)
    gone = record_cycle(wild, "cg", cycle=29)
    assert np.isnan(gone.points).all()
    assert gone.visited == ()
    with pytest.raises(InvalidParameter, match="cycle"):
        record_cycle(SMALL, "clr", cycle=8)


def test_energies_are_lowest_at_the_modes():
    for name in TARGETS:
        energy = energy_map(name)
        assert 0 <= energy.min() < 0.2
        assert energy.max() == energy[[0, 0, -1, -1], [0, -1, 0, -1]].max() or name == "banana"
