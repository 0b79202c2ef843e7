"""The rule of two clocks against a slow search, and against data whose answer is known."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tolerances import CANCELLED, NEAR_ZERO, SAME_SUM

from gbuq_core.calibration import (
    ClassStages,
    Stages,
    choose_class_clocks,
    choose_clocks,
    early_clocks,
)
from gbuq_core.calibration.clocks import join_stages, soften, student_nll, tree_grid
from gbuq_core.errors import InvalidData, InvalidParameter

FACTORS = np.exp(np.linspace(-4.0, 4.0, 1601))  # half a percent apart, as the search's own steps


def stages_of(mean, data, y, knowledge=None, for_mean=None):
    mean, data = np.broadcast_arrays(np.asarray(mean, float), np.asarray(data, float))
    mean = np.broadcast_to(mean, (len(mean), len(y)))
    knowledge = np.zeros(mean.shape) if knowledge is None else knowledge
    return Stages(
        n_trees=10 * np.arange(1, len(mean) + 1),
        mean=mean,
        knowledge=np.broadcast_to(knowledge, mean.shape),
        data=np.broadcast_to(data, mean.shape),
        y=y,
        for_mean=np.ones(len(mean), bool) if for_mean is None else np.asarray(for_mean),
    )


def random_stages(seed, n_stages, n_rows):
    rng = np.random.default_rng(seed)
    y = rng.standard_t(4, n_rows) * rng.uniform(0.1, 10.0)
    shape = (n_stages, n_rows)
    for_mean = rng.random(n_stages) < 0.7
    for_mean[rng.integers(n_stages)] = True
    return stages_of(
        y * rng.random((n_stages, 1)) + rng.normal(size=shape),
        rng.gamma(2.0, 1.0, shape),
        y,
        rng.gamma(1.0, 0.05, shape),
        for_mean,
    )


def slow_nll(squared, variance, df):
    """Of a t or a normal with this variance, by scipy; rows last."""
    scale = np.sqrt(variance * (1.0 if np.isinf(df) else (df - 2) / df))
    return -stats.t.logpdf(np.sqrt(squared), df, scale=scale).mean(axis=-1)


def slow_scores(stages, df):
    """The best score of every stage over all factors, with the mean at its own clock."""
    errors = [((m - stages.y) ** 2).mean() for m in stages.mean]
    at = min(np.flatnonzero(stages.for_mean), key=lambda k: errors[k])
    squared = (stages.mean[at] - stages.y) ** 2
    best = []
    for data in stages.data:
        total = FACTORS[:, None] ** 2 * data + stages.knowledge[at]
        best.append(slow_nll(squared, total, df).min())
    return at, np.array(best)


cases = given(
    seed=st.integers(0, 10_000), n_stages=st.integers(1, 6), n_rows=st.sampled_from([10, 40, 150])
)


@cases
@settings(max_examples=25)
def test_normal_clocks_equal_a_search_over_everything(seed, n_stages, n_rows):
    stages = random_stages(seed, n_stages, n_rows)
    clocks = choose_clocks(stages, "normal")
    at, scores = slow_scores(stages, np.inf)
    assert clocks.mean_trees == stages.n_trees[at]
    assert np.isinf(clocks.df)
    # A factor half a step off costs (0.0025)^2 nats a row at most.
    np.testing.assert_allclose(clocks.nll, scores, atol=1e-4)
    assert scores[stages.n_trees == clocks.scale_trees] <= scores.min() + 1e-4


@cases
@settings(max_examples=15)
def test_student_clocks_beat_the_normal_and_are_best_where_they_stop(seed, n_stages, n_rows):
    stages = random_stages(seed, n_stages, n_rows)
    clocks = choose_clocks(stages, "student")
    stage = int(np.searchsorted(stages.n_trees, clocks.scale_trees))
    best = clocks.nll[stage]
    assert best <= choose_clocks(stages, "normal").nll.min() + 1e-6
    assert best == pytest.approx(clocks.nll.min(), abs=1e-6)  # no other stage is better at this df
    for df in (2.5, 4.0, 10.0, np.inf):  # nor another df at this stage
        assert best <= slow_scores(stages, df)[1][stage] + 1e-4
    np.testing.assert_allclose(clocks.nll, slow_scores(stages, clocks.df)[1], atol=1e-4)


@given(
    z=st.floats(-30, 30),
    variance=st.floats(1e-3, 1e3),
    df=st.sampled_from([2.2, 5.0, 50.0, np.inf]),
)
def test_the_likelihood_is_scipys(z, variance, df):
    squared = np.array([z * z * variance])
    nll = student_nll(squared, np.array([variance]), df)
    expected = slow_nll(squared, np.array([variance]), df)
    np.testing.assert_allclose(nll, expected, rtol=CANCELLED, atol=NEAR_ZERO)


@pytest.mark.parametrize("factor", [0.2, 1.0, 3.0])
def test_a_known_factor_is_found_again(rng, factor):
    data = rng.gamma(2.0, 1.0, (1, 4000))
    y = factor * np.sqrt(data[0]) * rng.normal(size=4000)
    clocks = choose_clocks(stages_of(np.zeros((1, 1)), data, y))
    # The std of 4,000 normals has a standard error of 1.1 %.
    assert clocks.factor == pytest.approx(factor, rel=0.04)
    assert clocks.df >= 20.0


def test_knowledge_is_not_scaled(rng):
    """Half of the variance is knowledge and right, half is data and four times too large."""
    y = np.sqrt(2.0) * rng.normal(size=8000)
    clocks = choose_clocks(stages_of(np.zeros((1, 1)), 4.0, y, 1.0), "normal")
    assert clocks.factor**2 * 4.0 + 1.0 == pytest.approx(2.0, rel=0.05)


@pytest.mark.parametrize("df", [3.0, 5.0])
def test_heavy_tails_are_found(rng, df):
    y = rng.standard_t(df, 6000)
    clocks = choose_clocks(stages_of(np.zeros((1, 1)), 1.0, y))
    assert 0.7 * df <= clocks.df <= 1.5 * df
    assert clocks.nll[0] < choose_clocks(stages_of(np.zeros((1, 1)), 1.0, y), "normal").nll[0]


def test_each_clock_stops_where_its_own_part_is_best(rng):
    """The mean goes on improving; the scale is right in the second stage and collapses."""
    data = rng.gamma(3.0, 1.0, 2000)
    y = np.sqrt(data) * rng.normal(size=2000)
    offsets = np.array([[2.0], [1.0], [0.5], [0.1]])
    scales = np.array([np.full(2000, 3.0), data, np.full(2000, 0.1), 0.01 * rng.gamma(1, 1, 2000)])
    stages = stages_of(offsets, scales, y)
    clocks = choose_clocks(stages)
    assert (clocks.mean_trees, clocks.scale_trees, clocks.n_rows) == (40, 20, 2000)
    np.testing.assert_allclose(clocks.rmse, np.sqrt(((offsets - y) ** 2).mean(axis=1)))
    early = early_clocks(stages)
    assert early.mean_trees == early.scale_trees == 20
    assert early.factor == 1.0
    expected = [slow_nll((m - y) ** 2, s, np.inf) for m, s in zip(stages.mean, scales, strict=True)]
    np.testing.assert_allclose(early.nll, expected)
    np.testing.assert_allclose(clocks.nll_uncorrected, expected)


def test_the_mean_stops_at_ends_of_cycles_only(rng):
    y = rng.normal(size=100)
    stages = stages_of([[0.0], [1.0], [0.5]], 1.0, y, for_mean=[False, True, True])
    clocks = choose_clocks(stages)
    assert clocks.mean_trees == 30
    assert np.isnan(clocks.rmse[0])
    assert early_clocks(stages).mean_trees in (20, 30)


@cases
@settings(max_examples=10)
def test_the_unit_of_y_does_not_matter(seed, n_stages, n_rows):
    stages = random_stages(seed, n_stages, n_rows)
    unit, origin = 2.0**20, 5.0  # a power of two: the same digits
    moved = dataclasses.replace(
        stages,
        mean=unit * stages.mean + origin,
        y=unit * stages.y + origin,
        data=unit**2 * stages.data,
        knowledge=unit**2 * stages.knowledge,
    )
    for rule in (choose_clocks, early_clocks):
        plain, other = rule(stages), rule(moved)
        assert (plain.mean_trees, plain.scale_trees, plain.df) == (
            other.mean_trees,
            other.scale_trees,
            other.df,
        )
        assert plain.factor == pytest.approx(other.factor, rel=1e-5)
        np.testing.assert_allclose(plain.nll + np.log(unit), other.nll, atol=1e-6)


def test_early_stopping_may_have_tails(rng):
    y = rng.standard_t(3, 3000) / np.sqrt(3)
    stages = stages_of(np.zeros((1, 1)), 1.0, y)
    assert np.isinf(early_clocks(stages).df)
    assert early_clocks(stages, "student").df <= 4.0


def test_exact_fits_are_finite():
    """Rows without noise and stds of 0: the likelihood is floored, not infinite."""
    y = np.linspace(0, 1, 50)
    for rule in (choose_clocks, early_clocks):
        clocks = rule(stages_of(np.stack([y, y + 0.1]), 0.0, y))
        assert np.isfinite(clocks.nll).all()
        assert np.isfinite(clocks.factor)


def test_parts_are_joined_row_by_row():
    first, second = random_stages(0, 3, 10), random_stages(1, 3, 20)
    second = dataclasses.replace(second, for_mean=first.for_mean)
    both = join_stages([first, second])
    assert both.mean.shape == (3, 30)
    np.testing.assert_array_equal(both.rows(np.arange(10)).data, first.data)
    np.testing.assert_array_equal(both.rows(np.arange(30) >= 10).y, second.y)


@pytest.mark.parametrize("n_trees", [1, 4, 5, 6, 100, 5000])
def test_the_grid_rises_to_all_trees(n_trees):
    grid = tree_grid(n_trees)
    assert grid[-1] == n_trees
    assert grid[0] == min(5, n_trees)
    assert (np.diff(grid) > 0).all()
    assert len(grid) <= 40


class TestClasses:
    """Trees and temperature of a classifier."""

    def logits(self, rng, temperature, n=4000, n_members=2):
        """Classes drawn from softmax(logits / temperature)."""
        logits = rng.normal(size=(n, 3))
        p = np.exp(soften(logits, 1.0))
        codes = (rng.random((n, 1)) > np.cumsum(p, axis=1)).sum(axis=1)
        sure = soften(temperature * logits, 1.0)
        return np.stack([sure] * n_members), codes

    @pytest.mark.parametrize("temperature", [0.5, 1.0, 4.0])
    def test_a_known_temperature_is_found_again(self, rng, temperature):
        logits, codes = self.logits(rng, temperature)
        stages = ClassStages(n_trees=np.array([7]), log_probabilities=(logits,), codes=codes)
        clocks = choose_class_clocks(stages)
        assert clocks.temperature == pytest.approx(temperature, rel=0.1)
        assert clocks.log_loss[0] <= clocks.log_loss_uncorrected[0] + NEAR_ZERO

    def test_the_best_stage_by_a_slow_search(self, rng):
        good, codes = self.logits(rng, 3.0, n=300)
        noisy = soften(good + rng.normal(size=good.shape), 1.0)
        stages = ClassStages(n_trees=np.array([5, 9]), log_probabilities=(noisy, good), codes=codes)
        clocks = choose_class_clocks(stages)
        means = [np.exp(log_p).mean(axis=0)[np.arange(300), codes] for log_p in (noisy, good)]
        own = -np.log(means).mean(axis=1)
        np.testing.assert_allclose(clocks.log_loss_uncorrected, own, rtol=SAME_SUM)
        best = int(np.argmin(own))
        assert clocks.n_trees_used == stages.n_trees[best]
        log_p = (noisy, good)[best]
        p = np.exp(log_p).mean(axis=0)
        median = np.argsort(p.max(axis=1), kind="stable")[150]
        scores = []
        tried = np.geomspace(0.3, 20, 800)
        for temperature in tried:
            p = np.exp(soften(log_p, temperature)).mean(axis=0)
            loss = -np.log(p[np.arange(300), codes]).sum()
            scores.append(loss - np.log(np.sort(p[median])[-2]))  # one more row, and it is wrong
        slow = tried[int(np.argmin(scores))]
        assert clocks.temperature == pytest.approx(slow, rel=0.02)  # the grid's steps are 0.5 %

        plain = choose_class_clocks(stages, sharpen=False)
        assert plain.temperature == 1.0
        np.testing.assert_array_equal(plain.log_loss, plain.log_loss_uncorrected)

    def test_rows_that_are_all_right_do_not_ask_for_certainty(self):
        sure = soften(np.tile([2.0, 0.0], (1, 50, 1)), 1.0)
        stages = ClassStages(
            n_trees=np.array([5]), log_probabilities=(sure,), codes=np.zeros(50, int)
        )
        p = np.exp(soften(sure, choose_class_clocks(stages).temperature))[0, 0, 0]
        assert p == pytest.approx(50 / 51, abs=1e-3)  # one wrong of 51


def test_nonsense_is_refused():
    stages = random_stages(0, 2, 10)
    for rule in (choose_clocks, early_clocks):
        with pytest.raises(InvalidParameter, match="tails must be one of"):
            rule(stages, "heavy")
        with pytest.raises(InvalidData):
            rule(stages.rows(np.zeros(10, bool)))
