"""Moons, rings and blobs in the plane: densities that integrate to one and match their rows."""

import numpy as np
import pytest
from scipy.special import ndtr
from tolerances import SAME_SUM, ZERO

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.synthetic import (
    blobs_log_density,
    blobs_posterior,
    make_blobs,
    make_moons3,
    make_rings,
    moons_log_density,
    moons_posterior,
    rings_log_density,
    rings_posterior,
)
from gbuq_core.synthetic.plane import cell_middles

SETS = {
    "moons": (make_moons3, moons_log_density, moons_posterior, 0.2),
    "rings": (make_rings, rings_log_density, rings_posterior, 0.2),
    "blobs": (make_blobs, blobs_log_density, blobs_posterior, 0.6),
}
SIDE, EXTENT = 400, ((-8.0, 8.0), (-8.0, 8.0))


@pytest.mark.parametrize("key", SETS)
def test_class_densities_integrate_to_one(key):
    _, log_density, _, noise = SETS[key]
    cells = cell_middles(EXTENT, SIDE)[1]
    area = (16.0 / SIDE) ** 2
    # Sums over cells of 0.04, a fifth of the noise, are exact for normals far below the 1e-6; the
    # mass beyond 8 is below it too.
    np.testing.assert_allclose(np.exp(log_density(cells, noise)).sum(axis=0) * area, 1.0, atol=1e-6)


@pytest.mark.parametrize("key", SETS)
def test_densities_count_the_rows_of_each_class(key):
    make, log_density, _, noise = SETS[key]
    data = make(40_000, noise, random_state=1)
    side = 12
    edges = np.linspace(-4.0, 4.0, side + 1)
    # 25 points a box: the middle rule's error is below the 5 standard errors of the counts.
    cells = cell_middles(((-4.0, 4.0), (-4.0, 4.0)), 5 * side)[1]
    density = np.exp(log_density(cells, noise)).reshape(side, 5, side, 5, 2).mean(axis=(1, 3))
    for label in range(2):
        rows = data.X[data.y == label]
        counts = np.histogram2d(rows[:, 1], rows[:, 0], bins=[edges, edges])[0]
        expected = density[..., label] * (8.0 / side) ** 2 * len(rows)
        away = np.abs(counts - expected) - 5.0 * np.sqrt(expected) - 0.02 * expected
        assert (away < 5.0).all(), key


@pytest.mark.parametrize("key", SETS)
def test_posterior_is_the_share_of_class_one_among_rows_nearby(key):
    make, _, posterior, noise = SETS[key]
    noise *= 2.0  # so that the classes overlap
    data = make(60_000, noise, random_state=2)
    probability = posterior(data.X[:, :2], noise)
    bins = np.minimum((probability * 10).astype(int), 9)
    used = 0
    for at in range(10):
        rows = bins == at
        if rows.sum() < 200:
            continue
        used += 1
        error = np.sqrt((probability[rows] * (1 - probability[rows])).sum()) / rows.sum()
        # The largest of up to ten deviations is looked at: five standard errors.
        assert abs(data.y[rows].mean() - probability[rows].mean()) < 5 * error, (key, at)
    assert used >= 8  # all kinds of places were looked at


@pytest.mark.parametrize(("make", "least"), [(make_rings, 0.985), (make_blobs, 0.985)])
def test_support_holds_99_percent_of_the_rows(make, least):
    data = make(20_000, random_state=3)
    x, y = data.axes
    step = x[1] - x[0]
    column, row = (np.floor((data.X[:, j] - x[0]) / step + 0.5).astype(int) for j in range(2))
    inside = data.in_support[np.clip(row, 0, 59), np.clip(column, 0, 59)]
    # Cells are tenths of the noise or so: the border's roundness costs half a percent.
    assert least < inside.mean() <= 1.0
    assert 0.02 < data.in_support.mean() < 0.5
    np.testing.assert_allclose(y, x)


@pytest.mark.parametrize("make", [make_rings, make_blobs])
def test_maps_are_those_of_the_grid(make):
    data = make(10, noise=0.5, random_state=0)
    _, log_density, posterior, _ = SETS["rings" if make is make_rings else "blobs"]
    np.testing.assert_array_equal(data.mean.ravel(), posterior(data.grid, 0.5))
    np.testing.assert_allclose(data.variance, data.mean * (1 - data.mean))
    either = np.log(0.5 * np.exp(log_density(data.grid, 0.5)).sum(axis=1))
    there = np.isfinite(either)
    np.testing.assert_allclose(data.log_density.ravel()[there], either[there], rtol=SAME_SUM)
    assert np.isfinite(data.log_density).all()


@pytest.mark.parametrize("make", [make_rings, make_blobs])
def test_more_rows_and_noise_leave_the_draws_alone(make):
    few, many = make(50, random_state=7), make(200, random_state=7)
    np.testing.assert_array_equal(many.X[:50], few.X)
    np.testing.assert_array_equal(many.y[:50], few.y)
    assert (np.bincount(few.y) == 25).all()
    narrow, wide, wider = (make(50, noise, random_state=7).X for noise in (0.1, 0.2, 0.3))
    np.testing.assert_allclose(wide - narrow, wider - wide, atol=ZERO)


def test_rings_are_normal_across_where_the_curvature_does_not_matter():
    radius = np.hypot(*make_rings(20_000, 0.05, random_state=5).X.T)
    inner = np.sort(radius[::2])
    # The curvature moves the mean radius by noise^2 / (2 r) = 0.00125, 0.025 stds; the largest
    # deviation of 10,000 rows from their law is below 0.02 with a chance of 99.9 %.
    uniform = ndtr((inner - 1.00125) / 0.05)
    assert np.abs(uniform - (np.arange(10_000) + 0.5) / 10_000).max() < 0.025


@pytest.mark.parametrize("key", SETS)
def test_refusals(key):
    make, log_density, posterior, _ = SETS[key]
    for bad in ({"n": 1}, {"noise": 0.0}, {"noise": float("nan")}, {"random_state": "x"}):
        with pytest.raises(InvalidParameter):
            make(**bad)
    for function in (log_density, posterior):
        with pytest.raises(InvalidData, match="two columns"):
            function([[1.0, 2.0, 3.0]])
        with pytest.raises(InvalidData):
            function([[np.nan, 0.0]])
        with pytest.raises(InvalidParameter):
            function([[0.0, 0.0]], noise=-1.0)
