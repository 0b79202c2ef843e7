"""Curves, ripples and moons: their rows follow the truth that they claim."""

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.spatial.distance import cdist
from tolerances import ZERO

from gbuq_core.errors import GbuqError, InvalidData, InvalidParameter
from gbuq_core.synthetic import (
    HOLE_CENTRE,
    HOLE_RADIUS,
    make_blobs,
    make_daubechies,
    make_friedman,
    make_gap,
    make_heteroscedastic,
    make_moons3,
    make_rings,
    make_ripples,
    make_step,
    make_tails,
    moons_posterior,
    ripples_truth,
)

CURVES = [make_tails, make_gap, make_step, make_daubechies, make_heteroscedastic]
SETS = [*CURVES, make_ripples, make_moons3, make_rings, make_blobs, make_friedman]
FORMULAS = {
    make_tails: lambda x: 0.7 * np.sin(3 * x),
    make_gap: lambda x: np.sin(2 * x),
    make_step: lambda x: np.where(x > 0, 1.0, 0.0),
    make_heteroscedastic: lambda x: x / 2 + np.sin(x),
}
PLACES = {
    make_tails: [(-1, 1)],
    make_gap: [(-2, -0.8), (0.8, 2)],
    make_step: [(-1, 1)],
    make_daubechies: [(0, 1)],
    make_heteroscedastic: [(0, 10)],
}
SHOWN = {
    make_tails: (-2.2, 2.2),
    make_gap: (-3, 3),
    make_step: (-1, 1),
    make_daubechies: (0, 1),
    make_heteroscedastic: (-10, 20),
}
STEEPEST = {  # bounds of the slopes; the wavelet's is that of its finest differences
    make_tails: 2.1,
    make_gap: 2.0,
    make_step: 0.0,
    make_daubechies: 62.5,
    make_heteroscedastic: 1.5,
}
ROWS = 20_000


@pytest.fixture(scope="module", params=CURVES, ids=lambda make: make.__name__)
def curve(request):
    return request.param, request.param(n=ROWS, random_state=3)


def test_curve_rows_have_the_mean_and_variance_of_their_place(curve):
    make, data = curve
    x, grid = data.X[:, 0], data.grid[:, 0]
    bins = np.digitize(x, np.quantile(x, np.linspace(0, 1, 21)[1:-1]))
    noise = data.y - data.row_mean
    n = np.bincount(bins)
    z = np.bincount(bins, noise / np.sqrt(data.row_variance)) / n
    square = np.bincount(bins, noise**2 / data.row_variance) / n
    # Five standard errors of the mean and the variance of each twentieth.
    assert (np.abs(z) < 5 / np.sqrt(n)).all()
    assert (np.abs(square - 1) < 5 * np.sqrt(2 / n)).all()
    # The truth at the rows is that of the grid: a line between two grid points stays within half
    # the largest rise over a cell, and the step jumps in one cell.
    between, step = np.interp(x, grid, data.mean), grid[1] - grid[0]
    smooth = (x <= 0) | (x >= step) if make is make_step else np.ones(len(x), dtype=bool)
    assert np.abs(between - data.row_mean)[smooth].max() <= STEEPEST[make] * step / 2
    np.testing.assert_allclose(
        np.interp(x, grid, np.sqrt(data.variance)), np.sqrt(data.row_variance), atol=ZERO
    )


def test_curve_means_follow_their_formulas(curve):
    make, data = curve
    if make in FORMULAS:
        np.testing.assert_allclose(data.mean, FORMULAS[make](data.grid[:, 0]), atol=ZERO)
        np.testing.assert_allclose(data.row_mean, FORMULAS[make](data.X[:, 0]), atol=ZERO)


def test_curve_rows_fill_their_support_evenly_and_nothing_else(curve):
    make, data = curve
    x, grid = data.X[:, 0], data.grid[:, 0]
    inside = np.zeros(len(grid), dtype=bool)
    for low, high in PLACES[make]:
        inside |= (grid >= low - ZERO) & (grid <= high + ZERO)
    np.testing.assert_array_equal(data.in_support, inside)
    assert (grid[0], grid[-1]) == pytest.approx(SHOWN[make])
    assert sum(((x >= low) & (x <= high)).sum() for low, high in PLACES[make]) == ROWS
    width = sum(high - low for low, high in PLACES[make])
    # Five binomial standard errors for the share of each tenth of each stretch.
    for low, high in PLACES[make]:
        share = (high - low) / width / 10
        counts, _ = np.histogram(x, np.linspace(low, high, 11))
        assert (np.abs(counts - share * ROWS) < 5 * np.sqrt(ROWS * share * (1 - share))).all()


def test_noise_has_the_std_asked_for():
    for make in (make_tails, make_gap, make_step, make_daubechies):
        np.testing.assert_allclose(make(noise=0.3).variance, 0.09)
    data = make_heteroscedastic(noise_slope=0.2)
    np.testing.assert_allclose(np.sqrt(data.variance), 0.2 * np.abs(data.grid[:, 0]), atol=ZERO)


def test_the_best_crps_of_the_heteroscedastic_set_is_the_one_of_the_paper():
    # A normal's own CRPS is std / sqrt(pi): 0.1 * E[x] / sqrt(pi) = 0.282 for x uniform to 10.
    data = make_heteroscedastic(n=200_000, random_state=0)
    best = np.sqrt(data.row_variance).mean() / np.sqrt(np.pi)
    error = 0.1 * (10 / np.sqrt(12)) / np.sqrt(np.pi) / np.sqrt(200_000)
    assert abs(best - 0.5 / np.sqrt(np.pi)) < 5 * error  # Monte-Carlo, five standard errors


def test_the_wavelet_is_orthonormal_with_four_vanishing_moments():
    data = make_daubechies(noise=0.0, n=200_000, random_state=1)
    order = np.argsort(data.X[:, 0])
    t, psi = 7 * data.X[order, 0], data.y[order]
    # 200,000 random places are on average 3.5e-5 apart on [0, 7], the widest gap ten times that:
    # trapezoids err by well below 1e-4 for values up to 1.4.
    assert trapezoid(psi**2, t) == pytest.approx(1.0, abs=1e-3)
    for power in range(4):
        assert trapezoid(psi * ((t - 3.5) / 3.5) ** power, t) == pytest.approx(0.0, abs=1e-3)
    assert abs(trapezoid(psi * ((t - 3.5) / 3.5) ** 4, t)) > 0.003  # the fifth does not vanish
    for shift in range(1, 7):  # orthogonal to its own translates
        moved = np.interp(t + shift, t, psi, right=0.0)
        assert trapezoid(psi * moved, t) == pytest.approx(0.0, abs=1e-3)


def test_ripples_rows_follow_the_truth_and_leave_the_disc_empty():
    data = make_ripples(n=ROWS, random_state=5)
    assert (np.abs(data.X) <= 1).all()
    assert cdist(data.X, [HOLE_CENTRE]).min() >= HOLE_RADIUS - 1e-6
    z = (data.y - data.row_mean) / np.sqrt(data.row_variance)
    cell = np.minimum(((data.X + 1) * 2).astype(int), 3) @ [1, 4]
    n = np.bincount(cell, minlength=16)
    # Five standard errors in each of 16 tiles.
    assert (np.abs(np.bincount(cell, z) / n) < 5 / np.sqrt(n)).all()
    assert (np.abs(np.bincount(cell, z * z) / n - 1) < 5 * np.sqrt(2 / n)).all()


def test_ripples_rows_are_uniform_outside_the_disc():
    data = make_ripples(n=ROWS, random_state=6)
    counts, *_ = np.histogram2d(*data.X.T, bins=8, range=[(-1, 1), (-1, 1)])
    # The share of each tile outside the disc, by a fine lattice (error below 0.3 % of a tile).
    fine = -1 + (np.arange(1600) + 0.5) / 800
    open_ = np.hypot(fine[:, None] - HOLE_CENTRE[0], fine - HOLE_CENTRE[1]) > HOLE_RADIUS
    share = open_.reshape(8, 200, 8, 200).sum(axis=(1, 3)) / open_.sum()
    # Five binomial standard errors, and the lattice's error.
    allowed = 5 * np.sqrt(ROWS * share * (1 - share)) + 0.003 * ROWS / 64
    assert (np.abs(counts - share * ROWS) <= allowed).all()
    assert counts.min() < counts.max() / 4  # a tile that lies mostly in the disc


def test_ripples_maps_are_the_truth_at_the_middles_of_their_cells():
    data = make_ripples(n=10, noise=0.4, random_state=0)
    assert data.grid.shape == (3600, 2)
    across, up = np.meshgrid(*data.axes)
    np.testing.assert_array_equal(data.grid, np.column_stack([across.ravel(), up.ravel()]))
    np.testing.assert_allclose(data.mean, np.cos(4 * np.hypot(across + 1, up + 1)), atol=ZERO)
    truth = ripples_truth(data.grid, 0.4)
    np.testing.assert_array_equal(truth.variance.reshape(60, 60), data.variance)
    std = np.sqrt(data.variance)
    assert std.max() > 8 * std.min()
    assert std.max() == pytest.approx(0.4, rel=0.01)  # a cell's middle is 0.02 from the spot's
    hole = np.hypot(across - HOLE_CENTRE[0], up - HOLE_CENTRE[1]) <= HOLE_RADIUS
    np.testing.assert_array_equal(data.in_support, ~hole)
    assert not ripples_truth([[1.2, 0.0]]).in_support[0]


def test_moons_rows_are_of_the_class_that_the_posterior_says():
    data = make_moons3(n=20_000, noise=0.3, random_state=2)
    p = moons_posterior(data.X[:, :2], 0.3)
    bins = np.minimum((p * 10).astype(int), 9)
    n = np.bincount(bins, minlength=10)
    assert (n > 100).all()
    # Calibrated in each tenth: five binomial standard errors.
    off = np.bincount(bins, data.y - p) / n
    assert (np.abs(off) < 5 * np.sqrt(np.bincount(bins, p * (1 - p)) / n / n)).all()
    np.testing.assert_array_equal(np.bincount(data.y), 10_000)


def test_the_third_feature_of_the_moons_means_nothing():
    data = make_moons3(n=40_000, random_state=4)
    third = data.X[:, 2]
    # Five standard errors of a correlation of 40,000 rows; and a standard normal.
    for other in (data.y, data.X[:, 0], data.X[:, 1], data.X[:, 1] ** 2):
        assert abs(np.corrcoef(third, other)[0, 1]) < 5 / np.sqrt(40_000)
    assert abs(third.mean()) < 5 / np.sqrt(40_000)
    assert abs(third.var() - 1) < 5 * np.sqrt(2 / 40_000)


def test_moons_maps_and_their_support():
    data = make_moons3(n=40_000, noise=0.15, random_state=7)
    np.testing.assert_allclose(data.variance, data.mean * (1 - data.mean))
    np.testing.assert_array_equal(data.mean.ravel(), moons_posterior(data.grid[:, :2], 0.15))
    # Distances to 20,000 places on the half circles, at most pi/20,000 apart.
    t = np.linspace(0, np.pi, 20_000)
    upper = np.column_stack([np.cos(t), np.sin(t)])
    arcs = np.vstack([upper, [1.0, 0.5] - upper])
    distance = np.array(
        [cdist(row, arcs).min(axis=1) for row in data.grid.reshape(60, 60, 3)[:, :, :2]]
    )
    clear = np.abs(distance - 0.45) > 1e-3
    np.testing.assert_array_equal(data.in_support[clear], distance[clear] <= 0.45)
    column = np.searchsorted(data.axes[0] + 2.5 / 60, data.X[:, 0]).clip(0, 59)
    row = np.searchsorted(data.axes[1] + 2.5 / 60, data.X[:, 1]).clip(0, 59)
    assert data.in_support[row, column].mean() > 0.98  # a cell's edge blurs the last per cent


@pytest.mark.parametrize("make", SETS, ids=lambda make: make.__name__)
def test_more_rows_leave_the_first_ones_alone_and_seeds_count(make):
    few, many = (make(n=n, random_state=8) for n in (30, 200))
    np.testing.assert_array_equal(many.X[:30], few.X)
    np.testing.assert_array_equal(many.y[:30], few.y)
    if len(few.mean) != 30:  # of the rows
        np.testing.assert_array_equal(many.mean, few.mean)
    assert not np.array_equal(make(n=30, random_state=9).X, few.X)
    assert not np.array_equal(make(n=30).X, make(n=30).X)


@pytest.mark.parametrize("make", SETS, ids=lambda make: make.__name__)
def test_impossible_parameters_are_refused_by_a_sentence(make):
    width = "noise_slope" if make is make_heteroscedastic else "noise"
    cases = [("n", 1), ("n", 2.5), ("n", 10**9), (width, -0.1), (width, float("nan"))]
    if make is not make_friedman:
        cases.append((width, 1e7))
    for name, value in [*cases, ("random_state", "seed"), ("random_state", -1)]:
        with pytest.raises(InvalidParameter, match=rf"^{name} must [^\n]*\.$"):
            make(**{name: value})


@pytest.mark.parametrize("truth", [ripples_truth, moons_posterior])
@pytest.mark.parametrize("points", [[[0.0]], [[0.0, np.nan]], [1.0, 2.0], [["a", "b"]]])
def test_points_that_are_no_pairs_are_refused(truth, points):
    with pytest.raises(InvalidData, match=r"^points must [^\n]*\.$"):
        truth(points)
    with pytest.raises(GbuqError, match=r"^noise must"):
        truth([[0.0, 0.0]], -1.0)


def test_moons_posterior_is_defined_far_away():
    far = moons_posterior([[1e5, 0.0], [-1e5, 0.0], [0.5, 0.25]])
    np.testing.assert_allclose(far, [1.0, 0.0, 0.5], atol=ZERO)  # the last by symmetry
