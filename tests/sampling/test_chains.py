"""Samplers: the kernel against its twin and known laws, schedules, and who finds which modes."""

import naive_sampling as naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tolerances import NEAR_ZERO, SAME_SUM, ZERO

from gbuq_core.errors import Cancelled, GbuqError, MemoryLimitExceeded
from gbuq_core.progress import Place, Progress, at
from gbuq_core.sampling import (
    SAMPLERS,
    TARGETS,
    describe_stopped,
    diagnose,
    effective_sample_size,
    gaussian_mixture,
    make_schedule,
    sample_mixture,
)
from gbuq_core.sampling import chains as chains_module
from gbuq_core.sampling import langevin_kernels as kernels
from gbuq_core.sampling.counting import count_steps

ARRAYS = ("samples", "mode_index", "starts", "occupancy", "modes_visited", "share_in_modes")

all_samplers = pytest.mark.parametrize("sampler", SAMPLERS)


def same(chains, other):
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(chains, name), getattr(other, name))


def flat(std=1e7):
    """A Gaussian so wide that its gradient is nothing."""
    return gaussian_mixture([[0, 0]], std**2 * np.eye(2), name="flat")


# The kernel.


@all_samplers
@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_each_step_equals_the_twin(sampler, target):
    """One step at a time from the kernel's own state: rounding cannot grow."""
    schedule = make_schedule(sampler, 60, n_cycles=2, noise_free_exploration=sampler == "clr")
    seed, first_chain = np.uint64(11), 4
    state = np.empty((2, 2))
    kernels.draw_starts(seed, first_chain, 8.0, state)
    for step in range(60):
        before = state.copy()
        out = np.empty((2, 1, 2), dtype=np.float32)
        kernels.run_chains(
            target.arrays, schedule.arrays(), 0.7, seed, first_chain, step, state, out
        )
        for chain in range(2):
            expected = naive.langevin_step(
                target, schedule, 0.7, seed, first_chain + chain, step, before[chain]
            )
            # A few roundings of numbers up to the step's own length, which is up to 30.
            np.testing.assert_allclose(state[chain], expected, rtol=SAME_SUM, atol=NEAR_ZERO)
        np.testing.assert_array_equal(out[:, 0], state.astype(np.float32))


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_the_kernel_without_its_compiler(target, monkeypatch):
    schedule = make_schedule("cg", 30, n_cycles=1).arrays()

    def run():
        state, out = np.empty((2, 2)), np.empty((2, 30, 2), dtype=np.float32)
        kernels.draw_starts(np.uint64(3), 0, 8.0, state)
        kernels.run_chains(target.arrays, schedule, 1.0, np.uint64(3), 0, 0, state, out)
        labels = np.empty(60, dtype=np.int16)
        kernels.label_modes(target.arrays, out.reshape(-1, 2), labels)
        return out, labels

    compiled = run()
    for name, value in vars(kernels).items():
        if hasattr(value, "py_func") and value.py_func.__module__ == kernels.__name__:
            monkeypatch.setattr(kernels, name, value.py_func)
    python = run()
    # The exp and cos of two math libraries may differ in the last digit, and a step too long for
    # the curvature doubles that digit at most thirty times: 2^30 times 1e-16.
    np.testing.assert_allclose(python[0], compiled[0], rtol=1e-5, atol=1e-5)
    # Of 60 points none is so near a mode's border that a shift of 1e-5 moves it across.
    np.testing.assert_array_equal(python[1], compiled[1])


@settings(max_examples=15)
@given(
    sampler=st.sampled_from(list(SAMPLERS)),
    name=st.sampled_from(list(TARGETS)),
    n_chains=st.integers(1, 6),
    n_steps=st.integers(30, 300),
    chunk=st.integers(1, 400),
    seed=st.integers(0, 2**63 - 1),
)
def test_neither_chunks_nor_threads_change_anything(sampler, name, n_chains, n_steps, chunk, seed):
    options = {"random_state": seed, "target": name, "start_extent": 5.0}
    whole = sample_mixture(sampler, n_steps, n_chains, n_jobs=1, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chains_module, "_CHUNK_STEPS", chunk)
        cut = sample_mixture(sampler, n_steps, n_chains, n_jobs=3, **options)
    same(whole, cut)
    fewer = sample_mixture(sampler, n_steps, max(1, n_chains - 1), **options)
    np.testing.assert_array_equal(fewer.samples, whole.samples[: len(fewer.samples)])


@all_samplers
def test_without_gradient_the_law_of_the_noise_is_known(sampler):
    n_chains, n_steps = 3000, 40
    chains = sample_mixture(
        sampler, n_steps, n_chains, 2, random_state=5, target=flat(), gradient_noise=0.6
    )
    moved = (chains.samples[:, -1] - chains.starts).ravel()
    injected = SAMPLERS[sampler].defaults["noise_scale"] ** 2 * 2.0 * chains.step_sizes
    np.testing.assert_allclose(chains.noises**2, injected, rtol=SAME_SUM)
    variance = np.sum(injected + (0.6 * chains.step_sizes * chains.scales) ** 2)
    # 6,000 independent normals; 4.5 standard errors of their mean and of their variance. The
    # gradient is below 1e-12.
    n = moved.size
    assert abs(moved.mean()) < 4.5 * np.sqrt(variance / n)
    assert abs(moved.var() / variance - 1.0) < 4.5 * np.sqrt(2.0 / n)
    assert stats.kstest(moved / np.sqrt(variance), "norm").pvalue > 1e-4
    x, y = chains.samples[:, -1].T - chains.starts.T
    assert abs(np.corrcoef(x, y)[0, 1]) < 4.5 / np.sqrt(n_chains)


def test_without_any_noise_a_chain_walks_down_to_the_mean():
    chains = sample_mixture(
        "nsgld", 4000, 3, random_state=0, target="gaussian", noise_scale=0, gradient_noise=0
    )
    ends = chains.samples[:, -1]
    # exp(-4000 * 0.02 * 0.67) of the way is left, and a float32's last digit.
    np.testing.assert_allclose(ends, np.tile(TARGETS["gaussian"].mean, (3, 1)), atol=1e-6)


def test_tiny_steps_recover_mean_and_covariance():
    """Against the truth, and against the exact law of the discretised chain."""
    target, h, noise = TARGETS["gaussian"], 0.02, 1.0
    chains = sample_mixture(
        "nsgld",
        20_000,
        30,
        random_state=2,
        target=target,
        learning_rate=h,
        noise_scale=1.0,
        gradient_noise=noise,
        start_extent=0.0,
    )
    # Of the start exp(-1000 * 0.02 * 0.67) is left.
    values = chains.samples[:, 1000:].astype(np.float64)
    offsets = values - target.mean
    precision = np.linalg.inv(target.covariance)
    decay = np.eye(2) - h * precision
    # Stationary: S = decay S decay + (2h + h^2 noise^2) I.
    law = (2 * h + (h * noise) ** 2) * np.linalg.inv(np.eye(2) - decay @ decay)
    for i in range(2):
        size = effective_sample_size(values[..., i]).sum()
        assert abs(offsets[..., i].mean()) < 4.0 * np.sqrt(law[i, i] / size)
        for j in range(i + 1):
            products = offsets[..., i] * offsets[..., j]
            error = products.std() / np.sqrt(effective_sample_size(products).sum())
            assert abs(products.mean() - law[i, j]) < 4.0 * error
            # The step's own bias: h/2 times the largest curvature, 3.6, relative.
            bias = 0.5 * h * 3.6 * np.sqrt(target.covariance[i, i] * target.covariance[j, j])
            assert abs(products.mean() - target.covariance[i, j]) < 4.0 * error + bias


# Schedules.


def test_schedules_follow_the_paper():
    n, cycles, t = 3000, 30, np.arange(3000)
    sgld = make_schedule("sgld", n)
    np.testing.assert_allclose(sgld.step_sizes, 0.05 * (t + 1.0) ** -0.55, rtol=SAME_SUM)
    nsgld = make_schedule("nsgld", n)
    np.testing.assert_allclose(nsgld.noises, 5.0 * np.sqrt(2 * 0.02), rtol=SAME_SUM)
    position = np.mod(t, n / cycles) / (n / cycles)
    wave = np.cos(np.pi * position) + 1
    clr = make_schedule("clr", n)
    np.testing.assert_allclose(clr.step_sizes, 0.09 / 2 * wave, rtol=SAME_SUM)
    np.testing.assert_array_equal(clr.kept, position >= 0.25)
    cg = make_schedule("cg", n)
    np.testing.assert_allclose(cg.scales, np.maximum(5 * wave, 1), rtol=SAME_SUM)
    assert np.all(cg.step_sizes == 0.01)
    assert np.all(clr.scales == 1)
    np.testing.assert_array_equal(cg.cycle, t // 100)
    for schedule in (sgld, nsgld, cg):
        assert schedule.kept.all()


def test_exploration_without_noise():
    quiet = make_schedule("clr", 1000, 10, noise_free_exploration=True)
    np.testing.assert_array_equal(quiet.noises == 0, ~quiet.kept)
    assert (~quiet.kept).sum() == 250
    # Cycles that do not divide the steps: every position stays below 1, every cycle begins at 0.
    odd = make_schedule("cg", 50_000, 30)
    starts = np.flatnonzero(np.diff(odd.cycle)) + 1
    assert len(starts) == 29
    assert np.all(odd.scales[starts] > 9.999)


# What the samplers find.


@pytest.fixture(scope="module")
def race():
    """Twelve chains of the paper's length a sampler; the starts are those of twelve seeds."""
    return {sampler: sample_mixture(sampler, n_chains=12, random_state=0) for sampler in SAMPLERS}


def test_the_measured_statement_holds(race):
    assert np.all(race["sgld"].modes_visited <= 1)
    assert np.median(race["sgld"].modes_visited) == 1
    for sampler in ("clr", "cg"):
        visited = race[sampler].modes_visited
        assert visited.min() >= 18  # 19 to 25 over 40 seeds, a little room for twelve others
        assert 22 <= visited.mean() <= 25
    assert np.all(race["nsgld"].modes_visited == 25)
    # Shares over 60 other starts: mean 0.189 and std 0.0020 for N-SGLD ("a fifth"), 0.988 and
    # 0.0035 for SGLD, 0.715 and 0.0026 for clr-SGLD, 0.602 and 0.0018 for cg-SGLD. Six std.
    for sampler, mean, std in [
        ("nsgld", 0.189, 0.0020),
        ("sgld", 0.988, 0.0035),
        ("clr", 0.715, 0.0026),
        ("cg", 0.602, 0.0018),
    ]:
        assert np.abs(race[sampler].share_in_modes - mean).max() < 6 * std
    # Visiting is not sampling: the noisy chain is fair to the modes, and hardly ever in one. At
    # most 0.045 over 60 other starts; the others' is 0.43 and more.
    assert race["nsgld"].occupancy_error.max() < 0.1


def test_all_samplers_of_a_seed_start_at_one_point(race):
    for chains in race.values():
        np.testing.assert_array_equal(chains.starts, race["sgld"].starts)
    starts = race["sgld"].starts
    assert np.all(np.abs(starts) < 10)
    assert len(np.unique(starts)) == 24


def test_unequal_modes_show_who_gets_the_shares_wrong():
    cold = sample_mixture("sgld", n_chains=6, random_state=1, target="two_modes")
    warm = sample_mixture("clr", n_chains=6, random_state=1, target="two_modes")
    assert np.all(cold.modes_visited == 1)
    assert np.all(warm.modes_visited == 2)
    assert warm.occupancy[:, 0].mean() > 0.5  # leans to the heavy mode
    assert warm.occupancy_error.max() < cold.occupancy_error.max()


@all_samplers
@pytest.mark.parametrize("name", TARGETS)
def test_what_chains_say_of_themselves(sampler, name):
    chains = sample_mixture(sampler, 1500, 3, random_state=9, target=name)
    target = TARGETS[name]
    kept = chains.mode_index[:, chains.kept]
    assert chains.samples.shape == (3, 1500, 2)
    assert chains.samples.dtype == np.float32
    for chain in range(3):
        np.testing.assert_array_equal(
            chains.mode_index[chain], target.mode_of(chains.samples[chain])
        )
        counts = np.array([(kept[chain] == mode).sum() for mode in range(len(target.weights))])
        assert chains.modes_visited[chain] == (counts >= 50).sum()
        assert chains.share_in_modes[chain] == pytest.approx(counts.sum() / kept.shape[1])
        total = chains.occupancy[chain].sum()
        assert total == pytest.approx(1.0 if counts.any() else 0.0, abs=ZERO)
        apart = np.abs(chains.occupancy[chain] - target.weights).sum() / 2
        assert chains.occupancy_error[chain] == pytest.approx(apart if counts.any() else 1.0)
    assert np.all(chains.stopped_at == -1)
    assert describe_stopped(chains) == ""
    assert (chains.target, chains.sampler) == (name, sampler)
    assert chains.seconds > 0


def test_seeds_and_generators_are_honoured():
    chains, again, other = (sample_mixture("cg", 100, random_state=s) for s in (7, 7, 8))
    same(chains, again)
    assert not np.array_equal(chains.samples, other.samples)
    drawn = [sample_mixture("cg", 100, random_state=np.random.default_rng(1)) for _ in range(2)]
    same(*drawn)
    old = [sample_mixture("cg", 100, random_state=np.random.RandomState(1)) for _ in range(2)]
    same(*old)
    free = [sample_mixture("cg", 100) for _ in range(2)]
    assert not np.array_equal(free[0].samples, free[1].samples)


# What goes wrong.


def test_a_chain_that_runs_off_is_told_of():
    with pytest.warns(RuntimeWarning, match=r"^All 3 chains ran off to infinity, the first at"):
        # The largest curvature is 3.4: each step overshoots by a seventeenth.
        chains = sample_mixture(
            "nsgld",
            500,
            3,
            random_state=0,
            target="gaussian",
            learning_rate=0.6,
            noise_scale=0.1,
            start_extent=1.0,
        )
    assert np.all(chains.stopped_at > 0)
    for chain, stop in enumerate(chains.stopped_at):
        assert np.all(np.abs(chains.samples[chain, :stop]) <= kernels.FARTHEST)
        # The step that ran off is written, far away; only the next one is NaN.
        assert np.isfinite(chains.samples[chain, stop]).all()
        assert np.abs(chains.samples[chain, stop]).max() > kernels.FARTHEST
        assert np.isnan(chains.samples[chain, stop + 1 :]).all()
        counted = np.arange(500) < stop
        np.testing.assert_array_equal(count_steps(chains, chain), counted)
        assert np.all(chains.mode_index[chain, stop:] == -1)
        inside = (chains.mode_index[chain, :stop] >= 0).sum()
        assert inside > 0
        assert chains.share_in_modes[chain] == pytest.approx(inside / stop)  # of what it drew
    report = diagnose(chains)
    assert np.isfinite(report.grid_kl).all()  # of what was drawn before


def test_one_chain_that_runs_off_leaves_the_others_alone():
    # From starts at the very edge the first steps of cg-SGLD overshoot ever more.
    with pytest.warns(RuntimeWarning, match="of 400 chains ran off"):
        chains = sample_mixture("cg", 200, 400, 1, random_state=1)
    gone = chains.stopped_at >= 0
    assert 0 < gone.sum() < 20
    assert np.abs(chains.starts[gone]).max(axis=1).min() > 9.5
    assert np.isfinite(chains.samples[~gone]).all()


def test_a_job_can_be_stopped(monkeypatch):
    monkeypatch.setattr(chains_module, "_CHUNK_STEPS", 100)
    progress, looks = Progress(1.0), []

    def look():
        looks.append(progress.done)
        if len(looks) > 5:
            raise Cancelled

    with at(Place(progress=progress, checks=(look,))), pytest.raises(Cancelled):
        sample_mixture("sgld", 10_000, random_state=0, n_jobs=1)
    assert len(looks) == 6
    assert 0.0 < progress.done < 0.1
    assert looks == sorted(looks)


def test_progress_reaches_its_end():
    progress = Progress(1.0)
    with at(Place(progress=progress)):
        sample_mixture("cg", 1000, 7, random_state=0)
    assert progress.done == pytest.approx(1.0)


def test_too_much_memory_is_refused():
    with pytest.raises(MemoryLimitExceeded, match="These chains would need"):
        sample_mixture("sgld", 10_000_000, 10_000, random_state=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sampler": "hmc"}, "sampler must be one of 'sgld', 'nsgld', 'clr', 'cg'"),
        ({"n_steps": 0}, "n_steps must be a whole number at least 1"),
        ({"n_steps": 10.5}, "n_steps"),
        ({"n_steps": True}, "n_steps"),
        ({"n_chains": 0}, "n_chains"),
        ({"n_chains": "two"}, "n_chains"),
        ({"sampler": "clr", "n_steps": 20}, "n_cycles must be at most n_steps, which is 20"),
        ({"n_cycles": 0}, "n_cycles"),
        ({"random_state": -1}, "random_state"),
        ({"random_state": 1.5}, "random_state must be a whole number"),
        ({"random_state": True}, "random_state"),
        ({"target": "spiral"}, "target must be one of"),
        ({"target": None}, "target must be a name"),
        ({"learning_rate": 0}, "learning_rate"),
        ({"learning_rate": float("nan")}, "learning_rate"),
        ({"decay": -1}, "decay"),
        ({"noise_scale": -0.1}, "noise_scale"),
        ({"alpha_max": 3}, "alpha_max does not apply to sgld; it takes"),
        ({"sampler": "nsgld", "decay": 0.1}, "decay does not apply to nsgld"),
        ({"sampler": "cg", "alpha_max": 0}, "alpha_max"),
        ({"sampler": "cg", "alpha_max": 2, "alpha_min": 3}, "alpha_min must be at most alpha_max"),
        ({"sampler": "clr", "exploration_fraction": 1}, "exploration_fraction"),
        ({"noise_free_exploration": True}, "noise_free_exploration needs cycles"),
        ({"gradient_noise": -1}, "gradient_noise"),
        ({"start_extent": float("inf")}, "start_extent"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_bad_numbers_are_refused_in_a_sentence(options, message):
    with pytest.raises(GbuqError, match=message) as refused:
        sample_mixture(**{"n_steps": 100, **options})
    assert str(refused.value).endswith(".")
    assert "\n" not in str(refused.value)
