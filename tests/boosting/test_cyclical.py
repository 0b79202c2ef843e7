"""Cyclical SGLB: the schedule, members at the ends of cycles, and masks of original rows."""

import math

import boosting_parts as parts
import naive
import numpy as np
import pytest
from boosting_parts import KINDS, fitted, numbers
from hypothesis import given
from hypothesis import strategies as st
from refusal_parts import refused_from
from tolerances import CANCELLED, SAME_SUM, ZERO

from gbuq_core import BoostedEnsembleClassifier, BoostedEnsembleRegressor, make_spiral
from gbuq_core.boosting.gaussian_kernels import gaussian_gradients, mask_gaussian
from gbuq_core.boosting.noise_kernels import draw_mask, mask_changes
from gbuq_core.boosting.numba_engine import sum_classes, sum_gaussian, with_own_mask
from gbuq_core.boosting.plan import cycle_ends, exploring, gradient_scale, make_plan, make_schedule
from gbuq_core.boosting.softmax_kernels import mask_classes, softmax_gradients
from gbuq_core.errors import InvalidParameter
from gbuq_core.seeding import MASK_ROWS, stream
from gbuq_core.trees.binning import merge_rows, single_cells


def slow_scale(t, cycle, alpha_max, alpha_min):
    """Equation 7, letter by letter."""
    return max(alpha_max / 2 * (math.cos(math.pi * (t % cycle) / cycle) + 1), alpha_min)


@given(
    n_trees=st.integers(1, 60),
    cycle=st.integers(2, 20),
    alpha=st.tuples(st.floats(1.0, 20.0), st.floats(0.1, 1.0)),
    fraction=st.floats(0.0, 1.0),
)
def test_schedule_is_that_of_the_paper(n_trees, cycle, alpha, fraction):
    cycles = make_schedule(n_trees, "cbsglb", cycle, alpha, 0.66, fraction, True)
    expected = [slow_scale(t, cycle, *alpha) for t in range(n_trees)]
    # The same cosine, vectorised.
    np.testing.assert_allclose(cycles.scale, expected, rtol=SAME_SUM)
    assert cycles.scale.min() >= alpha[1]
    assert cycles.scale.max() <= alpha[0]
    for t in range(n_trees):
        explores = (t % cycle) / cycle < fraction
        if abs((t % cycle) - fraction * cycle) > 1e-6:  # at the border rounding may decide
            assert cycles.share[t] == (0.66 if explores else 1.0)
            assert cycles.noise[t] == (0.0 if explores else 1.0)
        assert cycles.cycle[t] == t // cycle
    plain = make_schedule(n_trees, "csglb", cycle, alpha, 0.66, fraction, False)
    assert (plain.share == 1.0).all()
    assert (plain.noise == 1.0).all()


def test_paper_settings():
    """C = 200, alpha from 10 to 1, exploration 0.9: 180 trees explore, and ten members come out."""
    scale = gradient_scale(2000, "csglb", 200, 10.0, 1.0)
    assert scale[0] == 10.0
    assert scale[100] == pytest.approx(5.0)
    assert scale[199] == 1.0
    assert exploring(2000, 200, 0.9).reshape(10, 200).sum(axis=1).tolist() == [180] * 10
    assert cycle_ends(2000, 200).tolist() == list(range(200, 2001, 200))
    assert (gradient_scale(50, "sglb", 200, 10.0, 1.0) == 1.0).all()


def test_masks_belong_to_rows_not_to_places(repeated):
    base = stream(3, 0, 2, MASK_ROWS)
    kept = naive.kept_rows(int(base), 600, 0.4)
    assert 180 < kept.sum() < 300  # 240 +- 12, five deviations
    for cells in (merge_rows(repeated.columns), single_cells(repeated.columns)):
        mask = np.ones(600, np.uint8)
        draw_mask(cells.order, 0.4, base, mask)
        np.testing.assert_array_equal(mask, kept[cells.order])
        draw_mask(cells.order, 1.0, base, mask)
        assert mask.all()


def test_masks_change_with_cycles_and_at_the_end_of_exploration():
    schedule = make_schedule(11, "cbsglb", 5, (10.0, 1.0), 0.5, 0.6, False)
    changes = [bool(mask_changes(schedule, t)) for t in range(11)]
    assert [t for t in range(11) if changes[t]] == [0, 3, 5, 8, 10]
    always = make_schedule(11, "cbsglb", 5, (10.0, 1.0), 0.5, 1.0, False)
    assert [t for t in range(11) if mask_changes(always, t)] == [0, 5, 10]
    plain = make_schedule(11, "csglb", 5, (10.0, 1.0), 0.5, 0.6, False)
    assert not any(mask_changes(plain, t) for t in range(11))


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("newton", [True, False])
@pytest.mark.parametrize(("subsample", "weighted"), [(1.0, False), (0.4, False), (0.4, True)])
def test_masked_gaussian_sums_are_those_of_the_graded_rows(
    repeated, rng, merge, newton, subsample, weighted
):
    """Masked rows have gradient 0 and keep their place in counts and curvature (algorithm 1).

    Sampling from the posterior weights the mean's sums for the leaves, not those for the splits.
    """
    y = rng.normal(size=600)
    cells = merge_rows(repeated.columns) if merge else single_cells(repeated.columns)
    sums = with_own_mask(sum_gaussian(cells, y))
    n = len(cells.codes)
    raw = np.column_stack([rng.normal(size=n), 0.3 * rng.normal(size=n)])
    values = numbers(n_rows=600.0, newton=newton, subsample=subsample, preconditioned=weighted)
    base = np.uint64(5)
    mask_gaussian(sums, 0.3, stream(1, 2, 3, MASK_ROWS))
    state = parts.member_at(raw)
    rms, loss = gaussian_gradients(sums, state, values, 4.0, base)
    graded = naive.kept_rows(int(stream(1, 2, 3, MASK_ROWS)), 600, 0.3)
    sampled = naive.kept_rows(int(base), 600, subsample)  # by place
    expected = [np.zeros((n, 2)), np.zeros((n, 2)), np.zeros((n, 3))]
    square, total = 0.0, 0.0
    for cell in range(n):
        for place in range(cells.begin[cell], cells.begin[cell + 1]):
            row = cells.order[place]
            gradient, curved = naive.gaussian_step(y[row], *raw[cell], newton)
            gradient = 4.0 * graded[row] * np.array(gradient)
            weight = np.array([math.exp(-2.0 * raw[cell, 1]) if weighted else 1.0, 1.0])
            expected[0][cell] += weight * gradient
            expected[1][cell] += weight * curved
            expected[2][cell] += sampled[place] * np.array([*gradient, 1.0])
            square += gradient @ gradient
            total += naive.gaussian_nll(y[row], *raw[cell]) + 0.5 * math.log(2 * math.pi)
    for written, wanted in zip(parts.written(state), expected, strict=True):
        np.testing.assert_allclose(written, wanted, rtol=SAME_SUM, atol=SAME_SUM)
    assert rms == pytest.approx(math.sqrt(square / 600), rel=SAME_SUM)
    assert loss == pytest.approx(total / 600, rel=SAME_SUM)


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("subsample", [1.0, 0.4])
def test_masked_class_sums_are_those_of_the_graded_rows(repeated, rng, merge, subsample):
    codes = rng.integers(0, 3, 600)
    cells = merge_rows(repeated.columns) if merge else single_cells(repeated.columns)
    sums = with_own_mask(sum_classes(cells, codes, 3))
    n = len(cells.codes)
    raw = rng.normal(size=(n, 3))
    base = np.uint64(5)
    mask_classes(sums, 0.3, stream(1, 2, 3, MASK_ROWS))
    state = parts.member_at(raw)
    values = numbers(n_rows=600.0, subsample=subsample)
    rms, loss = softmax_gradients(sums, state, values, 4.0, base)
    graded = naive.kept_rows(int(stream(1, 2, 3, MASK_ROWS)), 600, 0.3)
    sampled = naive.kept_rows(int(base), 600, subsample)
    expected = [np.zeros((n, 3)), np.zeros((n, 4))]
    square, total = 0.0, 0.0
    for cell in range(n):
        p = naive.softmax(raw[cell])
        np.testing.assert_allclose(state.curvature[cell], p, rtol=SAME_SUM)
        for place in range(cells.begin[cell], cells.begin[cell + 1]):
            row = cells.order[place]
            gradient = 4.0 * graded[row] * (np.eye(3)[codes[row]] - p)
            expected[0][cell] += gradient
            expected[1][cell] += sampled[place] * np.array([*gradient, 1.0])
            square += gradient @ gradient
            total += naive.softmax_nll(codes[row], raw[cell])
    for written, wanted in zip((state.gradients, state.channels), expected, strict=True):
        np.testing.assert_allclose(written, wanted, rtol=SAME_SUM, atol=SAME_SUM)
    assert rms == pytest.approx(math.sqrt(square / 600), rel=SAME_SUM)
    assert loss == pytest.approx(total / 600, rel=SAME_SUM)


@KINDS
@pytest.mark.parametrize("method", ["csglb", "cbsglb"])
def test_members_are_the_ends_of_cycles(kind, method):
    model, spiral = fitted(kind, method)
    X = spiral.X[:, :2]
    assert model.plan_.ensemble == "virtual"
    assert model.plan_.learning_rate == 0.05
    assert model.member_trees().tolist() == [15, 30, 45, 60]
    members = model.predict_members(X)
    staged = model.staged_members(X, at=[15, 30, 45, 60]).members[:, 0]
    np.testing.assert_array_equal(members, staged)
    np.testing.assert_array_equal(model.predict_members(X, burn_in_cycles=2), members[2:])
    np.testing.assert_array_equal(model.predict_members(X, n_members=1), members[3:])
    assert np.isfinite(model.predict_uncertainty(X, burn_in_cycles=1).knowledge).all()
    # A member is the model as it was then: a fit that stops there gives the same.
    short, _ = fitted(kind, method, n_trees=30)
    np.testing.assert_allclose(short.predict_members(X)[-1], members[1], rtol=CANCELLED, atol=ZERO)


@KINDS
def test_what_does_not_apply_is_refused(kind):
    model, spiral = fitted(kind)
    X = spiral.X[:, :2]
    with pytest.raises(InvalidParameter, match=r"^truncation_step and truncation_start do not"):
        model.predict_members(X, truncation_step=10)
    with pytest.raises(InvalidParameter, match=r"^burn_in_cycles is 4, but there are only 4"):
        model.predict_members(X, burn_in_cycles=4)
    with pytest.raises(InvalidParameter, match=r"^at must be a rising list of whole numbers"):
        model.staged_members(X, at=[30, 15])
    plain, _ = fitted(kind, "sglb", n_members=2)
    with pytest.raises(InvalidParameter, match=r"^burn_in_cycles does not apply to method='sglb'"):
        plain.predict_members(X, burn_in_cycles=1)


@pytest.mark.parametrize(
    ("knobs", "start"),
    [
        ({"ensemble": "independent"}, "ensemble='independent' does not work with method='csglb'"),
        ({"n_trees": 199}, "cycle_length is 200, but the model has only 199 trees"),
        ({"n_trees": 400, "burn_in_cycles": 2}, "burn_in_cycles is 2, but there are only 2 cycles"),
        ({"engine": "catboost"}, "engine='catboost' has no cyclical gradients"),
        ({"learning_rate": 0.3}, "learning_rate times alpha_max is 3"),
        ({"alpha_max": 1.0, "alpha_min": 2.0}, "alpha_min 2 is above alpha_max 1"),
    ],
)
def test_arguments_that_do_not_go_together_are_refused(knobs, start):
    with refused_from(InvalidParameter, start):
        make_plan(BoostedEnsembleRegressor(method="csglb", **knobs))


@KINDS
def test_constant_scale_of_one_is_sglb(kind):
    cyclical, spiral = fitted(kind, alpha_max=1.0, alpha_min=1.0)
    plain, _ = fitted(kind, "sglb", ensemble="virtual", learning_rate=0.05)
    X = spiral.X[:, :2]
    np.testing.assert_array_equal(
        cyclical.predict_members(X)[-1], plain.predict_members(X, 60, 0.0)[-1]
    )


@KINDS
def test_bootstrapping_all_rows_is_cyclical(kind):
    every, spiral = fitted(kind, "cbsglb", mask_prob=1.0)
    plain, _ = fitted(kind, "csglb")
    some, _ = fitted(kind, "cbsglb", mask_prob=0.5)
    X = spiral.X[:, :2]
    np.testing.assert_array_equal(every.predict_members(X), plain.predict_members(X))
    assert (some.predict_members(X) != plain.predict_members(X)).any()


@KINDS
def test_noise_free_exploration(kind):
    """With a noise that drowns all else, only trees of the sampling stage may feel it."""
    knobs = {"temperature": 1e-4, "leaf_noise": True, "exploration_fraction": 0.6}
    knobs |= {"random_strength": 0.0}
    noisy, _ = fitted(kind, **knobs)
    quiet, _ = fitted(kind, **knobs, noise_free_exploration=True)
    assert not np.isclose(noisy.traces_[0].leaf_norm[:9], quiet.traces_[0].leaf_norm[:9]).any()
    calm, _ = fitted(kind, **(knobs | {"temperature": 1e12}))
    np.testing.assert_allclose(  # 1e12 leaves a noise of 6e-6
        quiet.traces_[0].leaf_norm[:9], calm.traces_[0].leaf_norm[:9], rtol=1e-3
    )
    assert quiet.traces_[0].leaf_norm[9] > 3 * calm.traces_[0].leaf_norm[9]


def test_the_longest_step_is_stable():
    """At learning rate times alpha_max = 2 a cycle still ends near the mean; beyond, it may not."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(400, 1))
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=400)
    model = BoostedEnsembleRegressor(
        stopping=None,
        method="csglb",
        learning_rate=0.2,
        n_trees=200,
        cycle_length=50,
        random_state=0,
    ).fit(X, y)
    error = model.predict_members(X)[..., 0] - np.sin(X[:, 0])
    assert np.sqrt((error**2).mean(axis=1)).max() < 0.3  # the noise; at 0.3 it is over 100


def test_most_of_cyclical_knowledge_is_of_the_first_cycles():
    """On the spiral the early members are underfitted ones; 0.05 of it is left here."""
    spiral = make_spiral(300, random_state=0)
    model = BoostedEnsembleClassifier(
        stopping=None,
        method="csglb",
        n_trees=800,
        cycle_length=80,
        random_strength=100.0,
        random_state=0,
    ).fit(spiral.X, spiral.y)
    every = model.predict_uncertainty(spiral.X).knowledge.mean()
    late = model.predict_uncertainty(spiral.X, burn_in_cycles=5).knowledge.mean()
    assert late < 0.25 * every
