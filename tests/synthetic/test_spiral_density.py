"""The spiral's true density: against adaptive quadrature, drawn rows and its total mass."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from tolerances import NEAR_ZERO, ZERO

from gbuq_core.errors import GbuqError
from gbuq_core.synthetic import (
    MAX_SPIRAL_NOISE,
    MIN_SPIRAL_NOISE,
    make_spiral,
    spiral_density,
    spiral_log_density,
    spiral_posterior,
)

END = 6 * np.pi


def by_adaptive_quadrature(point, label, noise):
    """The integral of the docstring, piece by piece, by scipy."""

    def integrand(t):
        angle = t + 2 * np.pi * label / 3
        mean = np.array([-np.cos(angle), np.sin(angle)]) * t**2
        variance = noise**2 * t**3
        distance = ((point - mean) ** 2).sum()
        normal = np.exp(-distance / (2 * variance)) / (2 * np.pi * variance)
        return 2 * t / END**2 * normal

    edges = np.concatenate([[0.0], np.geomspace(1e-6, 0.1, 20), np.linspace(0.1, END, 150)[1:]])
    return sum(quad(integrand, *piece, epsabs=0, epsrel=1e-9)[0] for piece in pairwise(edges))


@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")  # of pieces that are 0
@pytest.mark.parametrize("noise", [0.15, 0.4, 1.5])
def test_density_is_the_integral_over_the_arm(noise):
    rows = make_spiral(1, noise, random_state=1).X[:, :2]
    points = np.vstack([rows, [[0.1, -0.05], [100.0, 50.0], [330.0, 0.0], [-400.0, 380.0]]])
    densities = spiral_density(points, noise)
    for point, density in zip(points, densities, strict=True):
        for label in range(3):
            # 1e-4 is what `_PANEL_STDS` promises; smaller densities are beyond adaptive steps.
            expected = by_adaptive_quadrature(point, label, noise)
            if expected > 1e-60:
                assert density[label] == pytest.approx(expected, rel=1e-4)


def test_rows_are_drawn_from_the_density_and_its_mass_is_one():
    rows = make_spiral(60_000, random_state=7)
    edges = np.linspace(-540, 540, 19)  # 18 bins of 60
    fine = np.arange(-537.0, 540.0, 6.0)  # ten midpoints a bin and axis
    points = np.stack(np.meshgrid(fine, fine, indexing="ij"), axis=-1).reshape(-1, 2)
    density = spiral_density(points)
    for label in range(3):
        x, y = rows.X[rows.y == label, :2].T
        counts = np.histogram2d(x, y, bins=(edges, edges))[0]
        mass = density[:, label].reshape(18, 10, 18, 10).sum(axis=(1, 3)) * 36.0
        # Around the centre the arms are narrower than the midpoints are apart.
        outer = np.ones((18, 18), dtype=bool)
        outer[8:10, 8:10] = False
        expected = 60_000 * mass[outer]
        usual = expected > 20
        z = (counts[outer] - expected)[usual] / np.sqrt(expected[usual])
        # About 100 bins; five standard errors of the mean of z squared, whose variance is 2.
        assert abs((z**2).mean() - 1) < 5 * np.sqrt(2 / usual.sum())
        assert np.abs(z).max() < 5
    inner = np.arange(-59.75, 60.0, 0.5)
    points = np.stack(np.meshgrid(inner, inner), axis=-1).reshape(-1, 2)
    centre = spiral_density(points).sum(axis=0) * 0.25
    outside = density[np.abs(points_max(fine)) > 60].sum(axis=0) * 36.0
    # Within the innermost 0.4 % of the rows the arms are narrower than half a unit; none of the
    # rest lies beyond 540, which is more than five stds from the arms' ends.
    np.testing.assert_allclose(centre + outside, 1.0, atol=2e-3)


def points_max(axis):
    """The larger coordinate of each point of a square grid, row by row."""
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1)
    return np.abs(grid).max(axis=-1).ravel()


def test_classes_are_rotations_of_each_other():
    point = np.array([[120.0, -75.0]])
    turn = 2 * np.pi / 3  # the offset moves (-cos, sin) clockwise
    rotation = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    first = spiral_log_density(point)[0]
    turned = spiral_log_density(point @ rotation.T)[0]
    # Rounding of the exponents, which are below 1e3.
    np.testing.assert_allclose(turned, np.roll(first, 1), atol=NEAR_ZERO)


def test_class_probabilities_are_defined_where_the_density_underflows():
    far = np.array([[-5e4, 3e4], [600.0, 600.0]])
    assert spiral_density(far[:1], 0.05).max() == 0.0
    log_density = spiral_log_density(far, 0.05)
    assert np.isfinite(log_density).all()
    proba = spiral_posterior(far, 0.05)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert (proba[np.arange(2), log_density.argmax(axis=1)] > 0.99).all()


def test_true_probabilities_are_calibrated():
    rows = make_spiral(5000, random_state=3)
    proba = spiral_posterior(rows.X[:, :2])
    residual = (rows.y[:, None] == np.arange(3)) - proba
    # Of what probabilities say of themselves: variance p (1 - p) a row, five standard errors.
    error = np.sqrt((proba * (1 - proba)).sum(axis=0))
    assert (np.abs(residual.sum(axis=0)) < 5 * error).all()
    doubtful = proba.max(axis=1) < 0.7
    assert doubtful.sum() > 500
    hits = rows.y[doubtful] == proba[doubtful].argmax(axis=1)
    expected = proba[doubtful].max(axis=1)
    error = np.sqrt((expected * (1 - expected)).sum())
    assert abs(hits.sum() - expected.sum()) < 5 * error


def test_the_origin_is_where_all_arms_meet():
    proba = spiral_posterior([[0.0, 0.0]])
    np.testing.assert_allclose(proba, 1 / 3, atol=ZERO)


@pytest.mark.parametrize(
    ("points", "noise", "words"),
    [
        ([[0.0, 1.0]], 0.0, "noise must be at least"),
        ([[0.0, 1.0]], MIN_SPIRAL_NOISE / 2, "noise must be at least"),
        ([[0.0, 1.0]], float("nan"), "noise"),
        ([[0.0, 1.0]], 5000, "noise must be a number at least 0 and at most 1000"),
        ([[0.0, 1.0]], 1e200, "noise must be a number at least 0 and at most 1000"),
        ([[0.0, 1.0]], "much", "noise"),
        ([[0.0, 1.0, 2.0]], 0.4, "two columns"),
        ([0.0, 1.0], 0.4, "points"),
        ([[0.0, np.inf]], 0.4, "points"),
    ],
)
def test_impossible_densities_are_refused_by_a_sentence(points, noise, words):
    with pytest.raises(GbuqError, match=words) as caught:
        spiral_density(points, noise)
    assert str(caught.value).endswith(".")


def test_the_most_noise_still_has_a_density_at_its_rows():
    points = make_spiral(500, MAX_SPIRAL_NOISE, random_state=2).X[:, :2]
    log_density = spiral_log_density(points, MAX_SPIRAL_NOISE)
    assert np.isfinite(log_density).all()
    # Arms are nothing beside this noise: by symmetry classes are all but equal.
    np.testing.assert_allclose(spiral_posterior(points, MAX_SPIRAL_NOISE), 1 / 3, atol=0.01)
