"""Diagnostics: against slow twins, closed forms and perfect samples."""

from dataclasses import replace

import naive_sampling as naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tolerances import CANCELLED, NEAR_ZERO, SAME_SUM, ZERO

from gbuq_core.errors import GbuqError
from gbuq_core.progress import Place, Progress, at
from gbuq_core.sampling import (
    SAMPLERS,
    TARGETS,
    autocorrelation,
    cell_probabilities,
    diagnose,
    effective_sample_size,
    grid_kl,
    mode_changes,
    mode_sequence,
    modes_by_step,
    ring,
    sample_mixture,
    visit_counts,
)
from gbuq_core.sampling.diagnostics import UNIFORM_SHARE, cell_divergence, find_cells

series = st.lists(st.floats(-1e3, 1e3, width=32), min_size=2, max_size=60)
labels_and_kept = st.lists(
    st.tuples(st.integers(-1, 4), st.booleans()), min_size=30, max_size=300
).filter(lambda rows: any(kept for _, kept in rows))


def chains_from(samples, target="gaussians25", kept=None):
    """`Chains` that hold given samples (n_chains, n_steps, 2)."""
    samples = np.asarray(samples, dtype=np.float32)
    n_chains, n_steps = samples.shape[:2]
    density = TARGETS[target]
    kept = np.ones(n_steps, dtype=bool) if kept is None else kept
    labels = np.array([density.mode_of(part) for part in samples])
    counts = np.array(
        [[(part[kept] == mode).sum() for mode in range(len(density.weights))] for part in labels]
    )
    model = sample_mixture("sgld", n_steps, n_chains, random_state=0, target=target)
    return replace(
        model,
        samples=samples,
        kept=kept,
        mode_index=labels,
        occupancy=counts / np.maximum(1, counts.sum(axis=1, keepdims=True)),
    )


def chains_of_labels(labels, kept):
    """`Chains` of one chain with given modes out of five."""
    chains = sample_mixture("sgld", len(labels), random_state=0, target="banana")
    return replace(
        chains, mode_index=np.array([labels], dtype=np.int16), kept=np.array(kept, dtype=bool)
    )


def perfect_samples(target, n, rng):
    """Independent draws from a Gaussian mixture."""
    covariances = np.linalg.inv(target.arrays.precisions[:, [0, 1, 1, 2]].reshape(-1, 2, 2))
    mode = rng.choice(len(target.weights), n, p=target.weights)
    roots = np.linalg.cholesky(covariances)
    return target.modes[mode] + np.einsum("nij,nj->ni", roots[mode], rng.standard_normal((n, 2)))


# Autocorrelation and effective sample size.


@given(values=series)
def test_autocorrelation_equals_the_twin(values):
    rho = autocorrelation(values)
    assert rho.shape == (len(values),)
    assert rho[0] == 1.0
    if np.ptp(values) == 0:
        assert np.all(rho == 1.0)
    elif np.ptp(values) > 1e-3 * np.abs(values).max():
        # Products of up to 1e6 times the spread's square are rounded in the sums: 1e6 * 60 eps.
        np.testing.assert_allclose(rho, naive.autocorrelation(values), atol=1e-8)
    assert np.all(np.abs(rho) <= 1.0 + NEAR_ZERO)


def test_lags_and_axes(rng):
    values = rng.standard_normal((3, 2, 500)).cumsum(axis=-1)
    full = autocorrelation(values)
    assert full.shape == (3, 2, 500)
    np.testing.assert_allclose(autocorrelation(values, 40), full[..., :41], atol=ZERO)
    np.testing.assert_allclose(autocorrelation(values[1, 0]), full[1, 0], atol=ZERO)
    # Neither unit nor offset matters; 1e3 of offset cost three digits.
    np.testing.assert_allclose(autocorrelation(3e-5 * values + 1.0), full, atol=1e-6)


@given(values=series)
def test_sample_size_equals_the_twin(values):
    if np.ptp(values) == 0:
        assert effective_sample_size(values) == 1.0
        return
    if np.ptp(values) < 1e-2 * np.abs(values).max():
        return  # the twin rounds too much
    rho = naive.autocorrelation(values)
    pairs = [rho[2 * k] + rho[2 * k + 1] for k in range(len(values) // 2)]
    if min(abs(pair) for pair in pairs) < 1e-7:
        return  # which sum is the first that is not positive is a matter of rounding
    expected = naive.effective_sample_size(values)
    assert effective_sample_size(values) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("n", [2, 3, 200, 1000, 5001])
def test_short_transforms_give_the_same_size(n, rng):
    for phi in (-0.5, 0.3, 0.99, 1.0):
        values = ar1(phi, n, rng)
        expected = naive.effective_sample_size(values) if n <= 1000 else whole(values)
        assert effective_sample_size(values) == pytest.approx(expected, rel=1e-6)


def whole(values):
    """The size from all lags at once."""
    rho, total, smallest = autocorrelation(values), 0.0, np.inf
    for k in range(len(values) // 2):
        pair = rho[2 * k] + rho[2 * k + 1]
        if pair <= 0:
            break
        smallest = min(smallest, pair)
        total += smallest
    return len(values) / (2 * total - 1)


def ar1(phi, n, rng):
    noise = rng.standard_normal(n)
    values = np.empty(n)
    values[0] = noise[0] / np.sqrt(max(1 - phi**2, 1e-3))
    for t in range(1, n):
        values[t] = phi * values[t - 1] + noise[t]
    return values


@pytest.mark.parametrize("phi", [-0.6, 0.0, 0.5, 0.9, 0.98])
def test_sample_size_of_an_autoregression_is_known(phi, rng):
    n, repeats = 40_000, 8
    sizes = effective_sample_size(np.array([ar1(phi, n, rng) for _ in range(repeats)]))
    expected = n * (1 - phi) / (1 + phi)
    # Geyer's sum over about 5 relaxation times m has a relative variance near 2 * 2m / n (Bartlett;
    # cut at the first sum that is not positive). 4 standard errors of the mean of eight, and 4 %
    # for the sum's end, which is a random place and takes a little noise along.
    relaxation = 5.0 * (1 + abs(phi)) / (1 - abs(phi))
    tolerance = 0.04 + 4.0 * np.sqrt(4.0 * relaxation / n / repeats)
    assert sizes.mean() == pytest.approx(expected, rel=tolerance)


def test_the_mean_of_a_chain_varies_as_its_sample_size_says():
    """The definition itself: the variance of the mean over many chains is variance / size."""
    target = TARGETS["gaussian"]
    chains = sample_mixture(
        "nsgld", 3000, 300, random_state=4, target=target, noise_scale=1.0, start_extent=1.0
    )
    x = chains.samples[:, 500:, 0].astype(np.float64)
    size = effective_sample_size(x).mean()
    ratio = x.mean(axis=1).var() * size / x.var()
    # 300 chains give the variance of a mean to sqrt(2/300) = 8 %; sizes of short chains of about
    # 15 relaxation times are some 10 % too small or large.
    assert 0.6 < ratio < 1.5


# The grid.


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_cells_hold_the_density(target):
    cells = cell_probabilities(target, 50)
    assert cells.shape == (50, 50)
    assert cells.min() >= 0
    assert 0.999 < cells.sum() < 1.0 + 1e-4  # four nodes a cell of 1.4 std are good to 1e-4
    left, right, bottom, top = target.extent
    x = left + (right - left) * (np.arange(50) + 0.5) / 50
    y = bottom + (top - bottom) * (np.arange(50) + 0.5) / 50
    mean = np.array([cells.sum(axis=0) @ x, cells.sum(axis=1) @ y])
    np.testing.assert_allclose(mean, target.mean, atol=0.01)  # midpoints stand for whole cells
    with pytest.raises(ValueError, match="read-only"):
        cells[0, 0] = 1.0


def test_divergence_equals_the_twin(rng):
    for name, target in TARGETS.items():
        samples = rng.normal(0.5, 3.0, (2, 300, 2)).astype(np.float32)
        kept = rng.random(300) < 0.7
        chains = chains_from(samples, name, kept)
        cells = cell_probabilities(target, 20)
        expected = [
            naive.grid_kl(part[kept].tolist(), cells, target.extent, UNIFORM_SHARE)
            for part in samples
        ]
        np.testing.assert_allclose(grid_kl(chains, n_cells=20), expected, rtol=SAME_SUM)
        both = naive.grid_kl(
            samples[:, kept].reshape(-1, 2).tolist(), cells, target.extent, UNIFORM_SHARE
        )
        np.testing.assert_allclose(
            grid_kl(chains, n_cells=20, together=True), [both], rtol=SAME_SUM
        )


def test_cells_of_points_count_as_a_histogram_does_and_have_its_divergence(rng):
    target = TARGETS["banana"]
    left, right, bottom, top = target.extent
    points = rng.normal(0.0, 4.0, (2, 500, 2))
    counts = np.array([np.bincount(find_cells(part, target, 7), minlength=50) for part in points])
    box = [[bottom, top], [left, right]]
    for part, count in zip(points, counts, strict=True):
        expected, _, _ = np.histogram2d(part[:, 1], part[:, 0], bins=7, range=box)
        np.testing.assert_array_equal(count[:-1], expected.ravel())
        assert count[-1] == 500 - expected.sum() > 0
    nothing = np.zeros((1, 50))
    divergence = cell_divergence(np.concatenate([counts, nothing]), target)
    cells = cell_probabilities(target, 7)
    twins = [naive.grid_kl(part.tolist(), cells, target.extent, UNIFORM_SHARE) for part in points]
    np.testing.assert_allclose(divergence[:2], twins, rtol=SAME_SUM)  # 50 terms, as above
    assert np.isnan(divergence[2])


@pytest.mark.parametrize("name", ["gaussians25", "two_modes", "gaussian"])
def test_perfect_samples_have_almost_no_divergence(name, rng):
    n, target = 20_000, TARGETS[name]
    chains = chains_from(perfect_samples(target, n, rng)[None], name)
    divergence = grid_kl(chains)[0]
    occupied = (cell_probabilities(target) > 1 / n).sum()
    # (occupied cells) / 2n expected; cells with less than one expected sample add up to as much.
    assert 0 < divergence < 2.0 * occupied / (2 * n)
    assert effective_sample_size(chains.samples[0].T).min() > 0.9 * n
    report = diagnose(chains)
    assert report.all_occupancy_error < 4.0 * np.sqrt(len(target.weights) / n)


def test_a_sampler_in_one_of_25_modes_misses_their_logarithm(rng):
    chains = chains_from(0.03**0.5 * rng.standard_normal((1, 50_000, 2)))
    # ln 25, short of what smoothing gives back (0.1 % of it) and over by the empty cells' noise.
    assert grid_kl(chains)[0] == pytest.approx(np.log(25), abs=0.03)


@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**32),
    spread=st.floats(0.01, 100),
    n_cells=st.integers(2, 80),
    name=st.sampled_from(list(TARGETS)),
)
def test_divergence_is_never_negative_and_bounded(seed, spread, n_cells, name):
    points = np.random.default_rng(seed).normal(0, spread, (1, 40, 2))
    divergence = grid_kl(chains_from(points, name), n_cells=n_cells)[0]
    assert -ZERO <= divergence <= np.log((n_cells**2 + 1) / UNIFORM_SHARE)


# Visits.


@given(rows=labels_and_kept, share=st.floats(0.01, 1))
def test_visits_equal_their_twins(rows, share):
    labels, kept = zip(*rows, strict=True)
    chains = chains_of_labels(labels, kept)
    n_bins = max(1, int(share * len(labels)))
    counts = [sum(k for m, k in rows if m == mode) for mode in range(5)]
    assert visit_counts(chains)[0].tolist() == counts
    visits = modes_by_step(chains, n_bins)
    for step, number in zip(visits.steps, visits.counts[0], strict=True):
        reached = [naive.nth_visit(labels, kept, mode, 50) for mode in range(5)]
        assert number == sum(0 <= first <= step for first in reached)
    assert visits.steps[-1] == len(labels) - 1
    sequence = mode_sequence(chains)
    expected = naive.stays(labels)
    assert list(zip(sequence.modes.tolist(), sequence.steps.tolist(), strict=True)) == expected
    assert mode_changes(chains)[0] == max(0, len(expected) - 1)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_visits_agree_with_the_chains(sampler):
    chains = sample_mixture(sampler, 6000, 4, random_state=1)
    visits = modes_by_step(chains, 50)
    np.testing.assert_array_equal(visits.counts[:, -1], chains.modes_visited)
    assert np.all(np.diff(visits.counts, axis=1) >= 0)


# All of them.


def test_a_report_is_the_sum_of_its_parts():
    chains = sample_mixture("cg", 4000, 3, random_state=0)
    report = diagnose(chains)
    np.testing.assert_array_equal(report.modes_visited, chains.modes_visited)
    np.testing.assert_allclose(report.grid_kl, grid_kl(chains), rtol=SAME_SUM)
    assert report.all_grid_kl == pytest.approx(grid_kl(chains, together=True)[0], rel=SAME_SUM)
    np.testing.assert_array_equal(report.mode_changes, mode_changes(chains))
    values = chains.samples[:, chains.kept].astype(np.float64)
    np.testing.assert_allclose(report.mean, values.mean(axis=1), rtol=SAME_SUM)
    for chain in range(3):
        np.testing.assert_allclose(report.covariance[chain], np.cov(values[chain].T), rtol=SAME_SUM)
        size = min(effective_sample_size(values[chain, :, axis]) for axis in range(2))
        assert report.sample_size[chain] == pytest.approx(size, rel=CANCELLED)
    together = visit_counts(chains).sum(axis=0)
    assert report.all_modes_visited == (together >= 50).sum()
    assert report.all_modes_visited >= chains.modes_visited.max()
    apart = np.abs(together / together.sum() - TARGETS["gaussians25"].weights).sum() / 2
    assert report.all_occupancy_error == pytest.approx(apart, rel=SAME_SUM)


def test_chains_without_samples_have_no_numbers():
    with pytest.warns(RuntimeWarning, match="ran off"):
        chains = sample_mixture(
            "clr", 3000, 2, 1, random_state=0, target="gaussian", learning_rate=9.0
        )
    assert np.all(chains.stopped_at < 3000 // 4)  # gone before the first kept step
    report = diagnose(chains)
    for values in (report.grid_kl, report.sample_size, report.mean, report.covariance):
        assert np.isnan(values).all()
    assert np.isnan(report.all_grid_kl)
    assert report.all_occupancy_error == 1.0
    assert np.all(chains.share_in_modes == 0)
    assert np.all(chains.occupancy_error == 1)
    assert mode_sequence(chains).modes.size <= 1


def test_diagnosing_inside_a_job_leaves_its_progress_alone():
    progress = Progress(1.0)
    chains = sample_mixture("sgld", 500, 3, random_state=0)
    with at(Place(progress=progress)):
        diagnose(chains)
    assert progress.done == 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda c: grid_kl(c, n_cells=1), "n_cells"),
        (lambda c: grid_kl(c, "ring"), "drawn from a target of 25 modes; ring has 12"),
        (lambda c: diagnose(c, "nowhere"), "target must be one of"),
        (lambda c: diagnose(replace(c, target="my own")), "target must be one of"),
        (lambda c: cell_probabilities(ring(), 501), "n_cells"),
        (lambda c: modes_by_step(c, 0), "n_points"),
        (lambda c: mode_sequence(c, 1), "chain must be"),
        (lambda c: mode_sequence(c, -1), "chain must be"),
        (lambda c: autocorrelation(3.0), "a single number"),
        (lambda c: autocorrelation([1.0, np.nan]), "finite"),
        (lambda c: autocorrelation([1.0, 2.0], 2), "max_lag"),
        (lambda c: autocorrelation([]), "empty"),
        (lambda c: effective_sample_size([1.0]), "at least two"),
        (lambda c: effective_sample_size(["a", "b"]), "numbers"),
    ],
)
def test_bad_questions_are_refused_in_a_sentence(call, message):
    chains = sample_mixture("sgld", 100, random_state=0)
    with pytest.raises(GbuqError, match=message) as refused:
        call(chains)
    assert str(refused.value).endswith(".")
    assert "\n" not in str(refused.value)
