"""Synthetic data: the truth they claim, and that growing them only appends rows."""

import numpy as np
import pytest
from tolerances import NEAR_ZERO, ZERO

from gbuq_core.errors import InvalidParameter
from gbuq_core.synthetic import make_heart, make_spiral, make_wave
from gbuq_core.synthetic.wave import describe_rare

HEART = [
    "111111111",
    "114111411",
    "140414041",
    "400040004",
    "140000041",
    "114000411",
    "111404111",
    "111141111",
    "111111111",
]


def in_cells(heart):
    """y as (rows per cell, 9, 9), NaN where a cell is empty, by a loop over the rows."""
    columns = {}
    for (row, column), y in zip(heart.X.astype(int), heart.y, strict=True):
        columns.setdefault((row, column), []).append(y)
    cells = np.full((heart.cell_counts.max(), 9, 9), np.nan)
    for (row, column), values in columns.items():
        cells[: len(values), row, column] = values
    return cells


def test_heart_has_the_papers_cells():
    heart = make_heart(n_per_cell=7, noise=0.02, random_state=0)
    multiples = np.array([[int(digit) for digit in row] for row in HEART])
    np.testing.assert_array_equal(heart.in_support, multiples > 0)
    assert heart.in_support.sum() == 64
    np.testing.assert_array_equal(heart.cell_counts, 7 * heart.in_support)
    expected = np.where(multiples > 0, 0.02 * multiples, np.nan)
    np.testing.assert_array_equal(heart.variance, expected)
    counts = np.zeros((9, 9), dtype=int)
    np.add.at(counts, tuple(heart.X.astype(int).T), 1)
    np.testing.assert_array_equal(counts, heart.cell_counts)


def test_heart_is_64000_rows_of_codes_by_default():
    heart = make_heart(random_state=0)
    assert heart.X.shape == (64_000, 2)
    assert heart.y.shape == (64_000,)
    assert heart.X.dtype == heart.y.dtype == np.float64
    assert set(np.unique(heart.X)) == set(range(9))
    assert ((heart.mean > 0) & (heart.mean < 1)).all()


def test_heart_rows_have_the_mean_and_variance_of_their_cell():
    n = 1000
    heart = make_heart(n_per_cell=n, random_state=4)
    cells = in_cells(heart)[:, heart.in_support]
    mean, variance = heart.mean[heart.in_support], heart.variance[heart.in_support]
    # Five standard errors, since the largest of 64 deviations is looked at.
    assert (np.abs(cells.mean(axis=0) - mean) < 5 * np.sqrt(variance / n)).all()
    assert (np.abs(cells.var(axis=0) - variance) < 5 * variance * np.sqrt(2 / n)).all()


def test_heart_grid_is_row_major():
    heart = make_heart(n_per_cell=1, random_state=0)
    assert heart.grid.shape == (81, 2)
    np.testing.assert_array_equal(heart.grid.reshape(9, 9, 2)[3, 5], [3, 5])
    # The rows of one round through the filled cells are the filled rows of the grid.
    np.testing.assert_array_equal(heart.X, heart.grid[heart.in_support.ravel()])


def test_more_heart_rows_leave_the_first_ones_alone():
    few, many = (make_heart(n_per_cell=n, random_state=9) for n in (3, 10))
    np.testing.assert_array_equal(many.X[: len(few.X)], few.X)
    np.testing.assert_array_equal(many.y[: len(few.y)], few.y)
    np.testing.assert_array_equal(many.mean, few.mean)


def test_heart_noise_only_scales_deviations():
    quiet, loud = (make_heart(5, noise=v, random_state=9) for v in (0.01, 0.04))
    np.testing.assert_array_equal(loud.mean, quiet.mean)
    cell = tuple(quiet.X.astype(int).T)
    # Four times the variance; y - mean cancels two digits of values near one.
    np.testing.assert_allclose(
        loud.y - loud.mean[cell], 2 * (quiet.y - quiet.mean[cell]), atol=ZERO
    )
    silent = make_heart(2, noise=0, random_state=9)
    np.testing.assert_array_equal(silent.y, silent.mean[tuple(silent.X.astype(int).T)])


@pytest.mark.parametrize("make", [make_heart, make_wave])
def test_seeds(make):
    np.testing.assert_array_equal(make(30, random_state=1).y, make(30, random_state=1).y)
    assert not np.array_equal(make(30, random_state=1).y, make(30, random_state=2).y)
    assert not np.array_equal(make(30).y, make(30).y)
    for state in (np.random.default_rng(3), np.random.RandomState(3), np.random.SeedSequence(3)):
        assert np.isfinite(make(30, random_state=state).y).all()


def test_wave_rows_have_the_mean_and_variance_of_their_position():
    wave = make_wave(n=40_000, random_state=2)
    position = np.rint(wave.X[:, 0] * 10).astype(int)
    np.testing.assert_array_equal(wave.grid[position], wave.X)
    z = (wave.y - wave.mean[position]) / np.sqrt(wave.variance[position])
    n = np.bincount(position, minlength=len(wave.grid))
    often = n > 100
    assert often.sum() == wave.in_support.sum() - wave.is_rare.sum()
    # Five standard errors at each position.
    mean = np.bincount(position, weights=z, minlength=len(n))[often] / n[often]
    assert (np.abs(mean) < 5 / np.sqrt(n[often])).all()
    square = np.bincount(position, weights=z * z, minlength=len(n))[often] / n[often]
    assert (np.abs(square - 1) < 5 * np.sqrt(2 / n[often])).all()


@pytest.mark.parametrize("n", [20, 500])
def test_wave_is_rare_where_it_says_and_ends_where_it_says(n):
    wave = make_wave(n=n, random_state=5)
    assert wave.X.shape == (n, 1)
    counts = np.bincount(np.rint(wave.X[:, 0] * 10).astype(int), minlength=len(wave.grid))
    np.testing.assert_array_equal(counts[wave.is_rare], 1)
    np.testing.assert_array_equal(counts[~wave.in_support], 0)


@pytest.mark.parametrize("width", [0.5, 1.5, 3.0])
def test_the_wave_says_how_many_rows_its_rare_stretch_has_wherever_it_lies(width):
    for begin in np.arange(56) / 10.0:
        wave = make_wave(300, random_state=0, rare_from=begin, rare_width=width)
        end = min(begin + width, 6.0)
        x = wave.X[:, 0]
        n_rows = int(((x > begin + 1e-9) & (x < end - 1e-9)).sum())
        sentence = describe_rare(begin, width)
        assert sentence.startswith(f"Between {begin:g} and {end:g} there are {n_rows} rows, one at")


def test_rare_rows_of_the_wave_can_lie_elsewhere_and_the_usual_place_is_as_before():
    usual, named = make_wave(200, random_state=5), make_wave(200, random_state=5, rare_from=3.0)
    np.testing.assert_array_equal(usual.y, named.y)
    for begin, width in ((0.0, 1.5), (0.7, 3.0), (2.9, 0.5), (4.5, 1.5), (5.5, 3.0)):
        wave = make_wave(200, random_state=5, rare_from=begin, rare_width=width)
        x, end = wave.grid[:, 0], min(begin + width, 6.0)
        beside = np.isclose(x, begin) | np.isclose(x, end)
        np.testing.assert_array_equal(wave.is_rare, (x > begin) & (x < end) & ~beside)
        counts = np.bincount(np.rint(wave.X[:, 0] * 10).astype(int), minlength=len(wave.grid))
        np.testing.assert_array_equal(counts[wave.is_rare], 1)
        assert counts[wave.in_support & ~wave.is_rare].sum() == 200 - wave.is_rare.sum()


def test_wave_noise_varies_and_more_rows_leave_the_first_ones_alone():
    few, many = (make_wave(n, random_state=5) for n in (50, 300))
    np.testing.assert_array_equal(many.X[:50], few.X)
    np.testing.assert_array_equal(many.y[:50], few.y)
    assert few.variance.max() > 10 * few.variance.min()


def test_spiral_without_noise_lies_on_its_arms():
    spiral = make_spiral(n_per_class=200, noise=0.0, random_state=3)
    x, y, radius = spiral.X[:, 0], spiral.X[:, 1], spiral.X[:, 8]
    t = np.sqrt(radius)  # the radius of an arm is t squared
    offset = 2 * np.pi * spiral.y / 3
    # atol: products of numbers up to (6 pi)^2 = 355 in double precision
    np.testing.assert_allclose(x, -np.cos(t + offset) * t**2, atol=NEAR_ZERO)
    np.testing.assert_allclose(y, np.sin(t + offset) * t**2, atol=NEAR_ZERO)
    np.testing.assert_array_equal(np.bincount(spiral.y), 200)


def test_spiral_noise_grows_outwards_and_more_rows_leave_the_first_ones_alone():
    few, many = (make_spiral(n, random_state=3) for n in (50, 4000))
    np.testing.assert_array_equal(many.X[:150], few.X)
    true = make_spiral(4000, noise=0.0, random_state=3)
    t = np.sqrt(true.X[:, 8])
    scaled = (many.X[:, :2] - true.X[:, :2]) / (0.4 * t[:, None] ** 1.5)
    # 24,000 standard normals: five standard errors of their mean and of their variance
    assert abs(scaled.mean()) < 5 / np.sqrt(scaled.size)
    assert abs(scaled.var() - 1) < 5 * np.sqrt(2 / scaled.size)
    np.testing.assert_allclose(many.X[:, 4], 2 * many.X[:, 0] + many.X[:, 1])


@pytest.mark.parametrize(
    ("make", "arguments"),
    [
        (make_heart, {"n_per_cell": 0}),
        (make_heart, {"n_per_cell": 10**9}),
        (make_heart, {"n_per_cell": 2.5}),
        (make_heart, {"noise": -0.1}),
        (make_heart, {"noise": float("nan")}),
        (make_heart, {"random_state": -1}),
        (make_heart, {"random_state": "seed"}),
        (make_wave, {"n": 3}),
        (make_wave, {"noise": -1.0}),
        (make_wave, {"rare_from": 5.6}),
        (make_wave, {"rare_width": 0.4}),
        (make_wave, {"n": 28, "rare_width": 3.0}),
        (make_wave, {"random_state": 0.5}),
        (make_spiral, {"n_per_class": 0}),
        (make_spiral, {"noise": -0.4}),
        (make_spiral, {"noise": 5000}),
        (make_spiral, {"noise": 1e200}),
    ],
)
def test_impossible_parameters_are_refused_by_a_sentence(make, arguments):
    with pytest.raises(InvalidParameter, match=next(iter(arguments))) as caught:
        make(**arguments)
    assert str(caught.value).endswith(".")
