"""Several targets: what ties them is found, conditions and regions hold, bad input is refused."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from gbuq_core import MultiTargetRegressor
from gbuq_core.distribution import NormalDistribution
from gbuq_core.errors import GbuqError
from gbuq_core.several_targets import JointDistribution, energy_score


class _Line:
    """The truth of a target: its mean is the column of its own, its std 1."""

    def __init__(self, column=0):
        self.column = column

    def get_params(self, deep=False):
        return {"column": self.column}

    def fit(self, X, y):
        self.column = int(np.abs(X - y[:, None]).mean(axis=0).argmin())
        return self

    def predict_distribution(self, X):
        return NormalDistribution(X[:, self.column], np.ones(len(X)))

    def predict(self, X):
        return X[:, self.column]


def _data(rho, seed=0, n=800):
    rng = np.random.default_rng(seed)
    X, noise = 5.0 * rng.normal(size=(n, 2)), rng.normal(size=(n, 2))
    noise[:, 1] = rho * noise[:, 0] + np.sqrt(1.0 - rho * rho) * noise[:, 1]
    return X, X + noise


@pytest.fixture(scope="module")
def tied():
    X, Y = _data(0.9)
    return MultiTargetRegressor(_Line(), random_state=0).fit(X, Y)


def test_dependence_is_found_where_it_is(tied):
    assert tied.dependence_ == "pairs"
    free = MultiTargetRegressor(_Line(), random_state=0).fit(*_data(0.0))
    assert free.dependence_ == "independent"
    assert tied.energy_scores_["pairs"] < tied.energy_scores_["independent"]


def test_draws_have_the_truths_moments(tied):
    draws = tied.predict_distribution(np.array([[0.0, 10.0]])).sample(4000, random_state=0)[:, 0]
    # Four standard errors of 4,000 draws, and the copula's of 800 pairs; draws end at 3.3 std.
    np.testing.assert_allclose(draws.mean(axis=0), [0.0, 10.0], atol=0.1)
    np.testing.assert_allclose(draws.std(axis=0), 1.0, atol=0.08)
    assert np.corrcoef(draws.T)[0, 1] == pytest.approx(0.9, abs=0.04)


def test_a_sum_and_a_condition_agree_with_the_normal_truth(tied):
    joint = tied.predict_distribution(np.zeros((3, 2)))
    assert joint.of(lambda y: y.sum(axis=2), 4000).scale == pytest.approx(
        np.sqrt(2.0 + 1.8), abs=0.12
    )
    known = joint.given("y1", 1.0).sample(4000, random_state=1)
    np.testing.assert_array_equal(known[:, :, 0], 1.0)
    np.testing.assert_allclose(known[:, :, 1].mean(axis=0), 0.9, atol=0.12)
    # The kernel over pairs adds to the true 0.44.
    assert 0.38 < known[:, :, 1].std() < 0.6


def test_regions_hold_their_level(tied):
    X, Y = _data(0.9, seed=1, n=400)
    joint = tied.predict_distribution(X)
    for level in (0.5, 0.9):
        # Four standard errors of 400 rows.
        slack = 4.0 * np.sqrt(level * (1.0 - level) / 400.0)
        assert joint.contains(Y, level).mean() == pytest.approx(level, abs=slack)


def test_the_energy_score_has_its_naive_twin():
    rng = np.random.default_rng(0)
    draws, y = rng.normal(size=(400, 2, 3)), rng.normal(size=(2, 3))
    naive = [
        np.linalg.norm(draws[:, row] - y[row], axis=1).mean() - 0.5 * pdist(draws[:, row]).mean()
        for row in range(2)
    ]
    # 400 neighbouring pairs for all 79,800: three standard errors of the mean distance.
    np.testing.assert_allclose(energy_score(draws, y), naive, atol=0.08)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda joint: MultiTargetRegressor(_Line()).fit(np.ones((9, 2)), np.ones((9, 1))), "two"),
        (lambda joint: MultiTargetRegressor(_Line()).fit(np.ones((9, 2)), np.ones((8, 2))), "rows"),
        (lambda joint: joint.given("size", 1.0), "y1, y2"),
        (lambda joint: joint.given(2, 1.0), "between 0 and 1"),
        (lambda joint: joint.given(0, 1.0).given(1, 2.0), "given already"),
        (lambda joint: joint.contains(np.ones((2, 3))), "2 columns"),
        (lambda joint: joint.of(lambda y: y), "1,000 x 3 numbers|axes|dimension"),
    ],
)
def test_what_is_refused(tied, make, words):
    joint: JointDistribution = tied.predict_distribution(np.zeros((3, 2)))
    with pytest.raises(GbuqError, match=words):
        make(joint)
