"""Targets: densities, gradients, true moments, and what it means to be in a mode."""

import naive_sampling as naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tolerances import NEAR_ZERO, SAME_SUM, ZERO

from gbuq_core.errors import GbuqError, InvalidData, InvalidParameter
from gbuq_core.sampling import TARGETS, banana, gaussian_mixture, ring, sample_mixture
from gbuq_core.sampling.langevin_kernels import _gradient
from gbuq_core.sampling.targets import find_target

UNEQUAL = gaussian_mixture(
    [[0, 0], [3, 1], [-2, 2]],
    [[[1, 0.3], [0.3, 0.5]], [[0.2, 0], [0, 0.4]], [[0.3, -0.2], [-0.2, 0.6]]],
    [1, 2, 3],
)
ALL = [*TARGETS.values(), UNEQUAL]

all_targets = pytest.mark.parametrize("target", ALL, ids=lambda target: target.name)


def points_in(target, rng, n):
    left, right, bottom, top = target.extent
    return np.stack([rng.uniform(left, right, n), rng.uniform(bottom, top, n)], axis=1)


def fine_grid(target, n):
    """Midpoints of n x n cells over a little more than the extent, and the area of a cell."""
    left, right, bottom, top = target.extent
    dx, dy = (right - left) / n * 1.6, (top - bottom) / n * 1.6
    x = (left + right) / 2 + dx * (np.arange(n) + 0.5 - n / 2)
    y = (bottom + top) / 2 + dy * (np.arange(n) + 0.5 - n / 2)
    return np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2), dx * dy


@all_targets
def test_log_density_is_the_log_of_the_density(target, rng):
    points = points_in(target, rng, 300)
    plain = np.array([naive.density(target, x, y) for x, y in points])
    there = plain > 1e-250  # the twin underflows
    assert there.sum() > 100
    # Terms of up to some hundreds are rounded on both sides; the ring's tip holds 1e-33 of it.
    np.testing.assert_allclose(
        target.log_density(points)[there], np.log(plain[there]), rtol=SAME_SUM, atol=NEAR_ZERO
    )


@all_targets
def test_gradients_meet_finite_differences(target, rng):
    points = points_in(target, rng, 300)
    points = points[np.hypot(*points.T) > 0.05]  # the ring has a tip at the centre
    h = 1e-4  # h^4 times the fifth derivative, and rounding over h, are both below 1e-8
    slopes = np.empty_like(points)
    for axis in range(2):
        unit = np.eye(2)[axis]
        slopes[:, axis] = naive.five_point_slope(
            lambda move, unit=unit: -target.log_density(points + move * unit), 0.0, h
        )
    size = np.linalg.norm(slopes, axis=1, keepdims=True)
    assert np.all(np.abs(target.gradient(points) - slopes) <= 1e-6 * np.maximum(size, 0.1))


@all_targets
def test_the_kernel_has_the_same_gradient(target, rng):
    points = np.concatenate([points_in(target, rng, 300), rng.uniform(-1e4, 1e4, (100, 2))])
    exponents = np.empty(target.arrays.means.shape[0])
    out = np.array([_gradient(target.arrays, exponents, x, y) for x, y in points])
    expected = target.gradient(points)
    assert np.isfinite(out).all()  # also far out, where the density underflows
    # Terms up to the distance over the variance are rounded; a ratio of two modes' densities is
    # off by the rounding of its exponent, up to 1e9 times 2e-16 far out.
    size = np.linalg.norm(expected, axis=1, keepdims=True)
    assert np.all(np.abs(out - expected) <= 1e-11 * size + 1e-11)


@all_targets
def test_moments_are_the_true_ones(target):
    grid, area = fine_grid(target, 400)
    mass = np.exp(target.log_density(grid)) * area
    # The midpoint rule on smooth densities that vanish at the borders is exact to rounding; a
    # border at five std or more leaves out 1e-5 at most.
    np.testing.assert_allclose(mass.sum(), 1.0, atol=1e-6)
    mean = mass @ grid
    np.testing.assert_allclose(mean, target.mean, atol=1e-5)
    offsets = grid - target.mean
    np.testing.assert_allclose(
        np.einsum("n,ni,nj->ij", mass, offsets, offsets), target.covariance, atol=2e-4
    )


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_modes_have_the_mass_they_say(target):
    grid, area = fine_grid(target, 500)
    mass = np.exp(target.log_density(grid)) * area
    labels = target.mode_of(grid)
    shares = np.bincount(labels + 1, weights=mass, minlength=len(target.weights) + 1)[1:]
    # Cells of width 0.04 that a border cuts count as a whole: up to half a cell times the density
    # along the border, which is 0.27 per unit of x where the banana is thickest.
    np.testing.assert_allclose(shares.sum(), target.share_in_modes, atol=6e-3)
    np.testing.assert_allclose(shares / shares.sum(), target.weights, atol=6e-3)
    assert target.weights.sum() == pytest.approx(1.0, abs=ZERO)
    assert np.array_equal(target.mode_of(target.modes), np.arange(len(target.modes)))


@all_targets
def test_in_a_mode_means_what_is_said(target, rng):
    points = points_in(target, rng, 600).astype(np.float32)
    expected = [naive.mode_of(target, float(x), float(y)) for x, y in points]
    np.testing.assert_array_equal(target.mode_of(points), expected)
    assert len(set(expected)) > 1


@all_targets
def test_outlines_enclose_their_modes(target):
    outlines = target.outlines(40)
    assert len(outlines) == len(target.modes)
    for mode, outline in enumerate(outlines):
        middle = target.modes[mode]
        assert outline.shape == (40, 2)
        inside = target.mode_of(middle + 0.999 * (outline - middle))
        # A sector is not star-shaped seen from its middle, so some points leave it.
        assert np.mean(inside == mode) > 0.45
        assert np.mean(target.mode_of(middle + 1.01 * (outline - middle)) == mode) < 0.3


@given(radius=st.floats(0.5, 20), share=st.floats(0.02, 0.33), sectors=st.integers(2, 40))
def test_rings_of_any_size_integrate_to_one(radius, share, sectors):
    target = ring(radius, share * radius, sectors)
    r = np.linspace(0, radius * (1 + 12 * share), 20_001)
    points = np.stack([r, np.zeros_like(r)], axis=1)
    mass = 2 * np.pi * r * np.exp(target.log_density(points))
    width = r[1] - r[0]
    # The trapezoid rule: its error is of the order (width / std)^2 at the kink in the centre.
    assert np.sum(mass) * width == pytest.approx(1.0, abs=1e-5)
    second = np.sum(mass * r**2) * width / 2
    assert target.covariance[0, 0] == pytest.approx(second, rel=1e-5)
    band = np.abs(r - radius) <= 3 * share * radius
    assert target.share_in_modes == pytest.approx(np.sum(mass[band]) * width, abs=2e-3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gaussian_mixture([[0, 0, 0]], np.eye(2)), "two columns"),
        (lambda: gaussian_mixture([], np.eye(2)), "two axes|2 axes"),
        (lambda: gaussian_mixture([[0, 0]], [[1, 2], [2, 1]]), "positive definite"),
        (lambda: gaussian_mixture([[0, 0]], [[1, 0.5], [0, 1]]), "symmetric"),
        (lambda: gaussian_mixture([[0, 0]], np.ones((2, 2, 2))), "shape"),
        (lambda: gaussian_mixture([[0, 0]], np.eye(2), [0]), "positive numbers"),
        (lambda: gaussian_mixture([[0, 0]], np.eye(2), [1, 1]), "one for each mean"),
        (lambda: gaussian_mixture([[0, np.nan]], np.eye(2)), "finite"),
        (lambda: ring(radius=0), "radius"),
        (lambda: ring(radius=1, std=0.5), "std"),
        (lambda: ring(n_sectors=1), "n_sectors"),
        (lambda: banana(std=0), "std"),
        (lambda: banana(n_regions=2.5), "n_regions"),
        (lambda: find_target("gaussian25"), "target must be one of"),
        (lambda: find_target(25), "target must be a name"),
        (lambda: TARGETS["ring"].log_density([[1, 2, 3]]), "two columns"),
        (lambda: TARGETS["ring"].gradient([1, 2]), "axes"),
        (lambda: TARGETS["ring"].mode_of([[np.inf, 0]]), "finite"),
    ],
)
def test_bad_targets_are_refused_in_a_sentence(make, message):
    with pytest.raises(GbuqError, match=message) as refused:
        make()
    assert isinstance(refused.value, InvalidData | InvalidParameter)
    text = str(refused.value)
    assert text.endswith(".")
    assert "\n" not in text


def test_a_target_of_ones_own_is_sampled():
    chains = sample_mixture("clr", 5000, n_chains=2, random_state=0, target=UNEQUAL)
    assert chains.target == "mixture"
    assert chains.occupancy.shape == (2, 3)
    np.testing.assert_array_equal(chains.mode_index[1], UNEQUAL.mode_of(chains.samples[1]))
