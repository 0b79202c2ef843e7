"""Friedman's five features: the formula, its noise, and rows that only grow."""

import numpy as np
from tolerances import SAME_SUM

from gbuq_core.synthetic import make_friedman


def test_the_mean_is_friedmans_and_the_noise_follows_the_fourth_feature():
    data = make_friedman(20_000, 0.5, random_state=3)
    x = data.X.T
    mean = 10 * np.sin(np.pi * x[0] * x[1]) + 20 * (x[2] - 0.5) ** 2 + 10 * x[3] + 5 * x[4]
    np.testing.assert_allclose(data.mean, mean, rtol=SAME_SUM)
    np.testing.assert_allclose(data.variance, x[3] ** 2, rtol=SAME_SUM)
    z = (data.y - mean) / x[3]
    # Four standard errors of a mean and of a std of 20,000 normals.
    assert abs(z.mean()) < 4 / 20_000**0.5
    assert abs(z.std() - 1.0) < 4 / 40_000**0.5
