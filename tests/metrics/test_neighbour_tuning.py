"""Running stds, the choice of k, and the calibration of scales, against slow twins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats
from tolerances import SAME_SUM

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.metrics import crps_gaussian, nll_gaussian
from gbuq_core.metrics.neighbour_tuning import (
    CANDIDATES,
    TINIEST_SCALE,
    running_std,
    smallest_positive,
    tune_neighbors,
)
from gbuq_core.metrics.scale_calibration import DELTAS, GAMMAS, calibrate_scale

TARGETS = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 6), st.integers(3, 20)), elements=st.floats(-1e3, 1e3)
)


@given(TARGETS, st.floats(-1e6, 1e6), st.data())
def test_running_stds_are_numpys(targets, shift, data):
    counts = sorted(data.draw(st.sets(st.integers(1, targets.shape[1]), min_size=1)))
    expected = np.stack([(targets + shift)[:, :k].std(axis=1) for k in counts], axis=1)
    # The shift costs both sides digits: 1e6 eps k, as a std near 0.
    np.testing.assert_allclose(running_std(targets + shift, counts), expected, rtol=1e-7, atol=1e-6)


@given(st.integers(3, 50), st.floats(-1e9, 1e9, allow_subnormal=False))
def test_equal_targets_have_no_spread_at_all(k, value):
    assert running_std(np.full((2, k), value), [2, k]).tolist() == [[0.0, 0.0]] * 2


def test_one_distant_nearest_target_costs_few_digits(rng):
    near = rng.normal(size=(1, 701))
    near[0, 0] = 1e8  # the worst first neighbour to measure from
    expected = near[0].std()
    # sqrt(k) std away at most: k eps of the square.
    np.testing.assert_allclose(running_std(near, [701])[0, 0], expected, rtol=701 * 2.3e-16)


def test_rows_are_cut_into_blocks_without_a_trace(monkeypatch, rng):
    targets = rng.normal(size=(50, 30))
    whole = running_std(targets, [3, 7, 30])
    monkeypatch.setattr("gbuq_core.metrics.neighbour_tuning._BLOCK", 100)
    np.testing.assert_array_equal(running_std(targets, [3, 7, 30]), whole)


@pytest.mark.parametrize("counts", [[], [0, 2], [3, 3], [5, 4], [3, 99]])
def test_impossible_counts_are_refused(counts):
    sentence = r"^counts must be ascending, from at least 1 to at most 9\.$"
    with pytest.raises(InvalidData, match=sentence):
        running_std(np.zeros((2, 9)), counts)


def naive_tuning(y, loc, targets):
    """Algorithm 3 as it stands, one k and one row after the other."""
    scores = {}
    for k in CANDIDATES:
        if k <= targets.shape[1]:
            scale = np.array([np.std(row[:k]) for row in targets]) + TINIEST_SCALE
            scores[k] = -stats.norm.logpdf(y, loc, scale).mean()
    return scores


def test_tuning_is_algorithm_3(rng):
    n, k = 40, 130
    loc = rng.normal(size=n)
    spread = rng.uniform(0.5, 2.0, size=n)
    targets = loc[:, None] + spread[:, None] * rng.normal(size=(n, k))
    y = loc + spread * rng.normal(size=n)
    tuning = tune_neighbors(y, loc, targets)
    slow = naive_tuning(y, loc, targets)
    assert tuning.n_neighbors.tolist() == list(slow)
    # A sum of 40 terms in another order.
    np.testing.assert_allclose(tuning.nll, list(slow.values()), rtol=SAME_SUM)
    assert tuning.n_neighbors[tuning.best] == min(slow, key=slow.get)
    by_crps = tune_neighbors(y, loc, targets, scoring="crps")
    assert by_crps.best == int(np.argmin(tuning.crps))
    scale = targets[:, :31].std(axis=1)
    at_31 = int(np.flatnonzero(tuning.n_neighbors == 31)[0])
    assert tuning.crps[at_31] == pytest.approx(crps_gaussian(y, loc, scale), rel=SAME_SUM)
    assert tuning.min_scale[at_31] == pytest.approx(scale.min(), rel=SAME_SUM)


def test_a_k_with_a_row_of_equal_neighbours_is_not_chosen_by_nll(rng):
    targets = rng.normal(size=(30, 9))
    targets[0, :5] = 1.0
    tuning = tune_neighbors(rng.normal(size=30), np.zeros(30), targets)
    assert tuning.n_neighbors[tuning.best] in (7, 9)
    assert tuning.min_scale[0] > 0.0
    assert tuning.nll[0] > 1e20


def test_smallest_positive_of_nothing_positive_is_tiny():
    assert smallest_positive(np.zeros(4)) == TINIEST_SCALE


# Calibration


@pytest.mark.parametrize("scoring", ["nll", "crps"])
def test_calibration_is_the_best_of_the_grid(scoring, rng):
    scale = rng.uniform(0.5, 3.0, size=80)
    y = 2.2 * scale * rng.normal(size=80)
    score = nll_gaussian if scoring == "nll" else crps_gaussian
    best = calibrate_scale(y, np.zeros(80), scale, scoring)
    grid = [score(y, 0.0, scale + delta) for delta in DELTAS]
    grid += [score(y, 0.0, gamma * scale) for gamma in GAMMAS]
    assert best.score == min(grid) == score(y, 0.0, best.apply(scale))
    assert best.score < score(y, 0.0, scale)


def test_the_grid_is_the_papers():
    expected = {base * factor for base in 10.0 ** np.arange(-8, 4) for factor in (1.0, 2.5, 5.0)}
    assert set(GAMMAS) == expected
    assert set(DELTAS) == expected | {0.0}


def test_what_needs_no_calibration_gets_none():
    best = calibrate_scale([-1.0, 1.0], [0.0, 0.0], [1.0, 1.0])
    assert (best.gamma, best.delta) == (1.0, 0.0)


@given(st.floats(0.1, 10.0), st.floats(-5.0, 5.0))
def test_calibration_never_scores_worse_than_none(factor, shift):
    rng = np.random.default_rng(4)
    y = shift + factor * rng.normal(size=25)
    loc, scale = np.zeros(25), rng.uniform(0.5, 2.0, size=25)
    assert calibrate_scale(y, loc, scale).score <= nll_gaussian(y, loc, scale)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tune_neighbors([0.0], [0.0], [[1.0, 2.0]]), "there are only 2 training rows"),
        (lambda: tune_neighbors([0.0] * 2, [0.0] * 2, [[1.0, 2.0, 3.0]]), "the same rows"),
        (lambda: tune_neighbors([0.0], [0.0], np.ones((1, 3)), "mse"), "scoring must be one of"),
        (lambda: calibrate_scale([0.0], [0.0], [1.0], "rmse"), "one of 'nll', 'crps'"),
        (lambda: calibrate_scale([0.0], [0.0], [0.0]), "scale must be positive"),
    ],
)
def test_bad_input_is_refused(call, words):
    with pytest.raises((InvalidData, InvalidParameter), match=words):
        call()
