"""The Heteroscedastic page's plans, rows, fits and views: what refits, what is drawn, refused."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtri
from tolerances import CANCELLED, SAME_SUM, ZERO

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.heteroscedastic.data import (
    data_of,
    draw_foreign,
    draw_test,
    load_heteroscedastic_data,
)
from gbuq_core.experiments.heteroscedastic.fit import (
    count_fits,
    count_measures,
    fit_heteroscedastic,
    heteroscedastic_factor,
    measure_heteroscedastic,
    run_heteroscedastic,
    view_heteroscedastic,
)
from gbuq_core.experiments.heteroscedastic.plan import (
    LEVELS,
    METHODS,
    PARTS,
    HeteroscedasticSettings,
    heteroscedastic_arguments,
    why_not,
)
from gbuq_core.settings import plan_of

SMALL = HeteroscedasticSettings(
    rows=500, trees=12, subsample=0.3, min_child_samples=10, test_rows=200, ood_rows=150
)
VIEW_ONLY = {
    "conformal": True,
    "level": 0.5,
    "left_from": -25.0,
    "right_to": 12.0,
    "ood_rows": 999,
    "test_rows": 888,
    "show_total": True,
    "score": "data",
    "log": True,
    "tail": "clip",
    "methods": ("gnll",),
}


@pytest.fixture(scope="module")
def fits():
    return {key: fit_heteroscedastic(plan_of(SMALL, key)) for key in METHODS}


@pytest.mark.parametrize("method", METHODS)
def test_what_is_drawn_and_measured_refits_nothing(fits, method):
    settings = replace(SMALL, **VIEW_ONLY)
    assert plan_of(settings, method) == fits[method].plan
    before = count_fits(), count_measures()
    view = view_heteroscedastic(fits[method], settings)
    assert (count_fits(), count_measures()) == before
    assert (view.x[0], view.x[-1]) == (-25.0, 20.0)


@pytest.mark.parametrize("method", METHODS)
def test_estimators_get_the_plans_knobs(fits, method):
    for name, value in heteroscedastic_arguments(fits[method].plan).items():
        assert getattr(fits[method].model, name) == value
    assert fits[method].seconds > 0.0


def test_rows_of_training_calibration_test_and_foreign_streams_are_never_the_same():
    data, test = data_of(SMALL), draw_test(SMALL)
    foreign = draw_foreign(SMALL)[:, 0]
    together = np.concatenate([data.X[:, 0], data.calibration_X[:, 0], test.X[:, 0], foreign])
    assert len(np.unique(together)) == len(together)
    other = data_of(replace(SMALL, seed=1))
    assert not np.isin(other.X, together).any()


def test_more_test_rows_keep_the_earlier_ones():
    few, many = (draw_test(replace(SMALL, test_rows=n)) for n in (100, 250))
    np.testing.assert_array_equal(few.y, many.y[:100])


@pytest.mark.parametrize(
    ("left_from", "right_to", "share"),
    [(-10.0, 20.0, 0.5), (-30.0, 20.0, 0.75), (-2.0, 40.0, 1 / 16)],
)
def test_foreign_rows_fill_their_ranges_and_nothing_else(left_from, right_to, share):
    x = draw_foreign(replace(SMALL, ood_rows=4000, left_from=left_from, right_to=right_to))[:, 0]
    left, right = x[x < 0.0], x[x > 10.0]
    assert len(left) + len(right) == 4000
    assert abs(len(left) / 4000 - share) <= 0.5 / 4000  # rounded to whole rows
    for part, low, high in ((left, left_from, 0.0), (right, 10.0, right_to)):
        assert low <= part.min()
        assert part.max() <= high
        # the mean of n uniforms has a standard error of width / sqrt(12 n): four of them
        error = 4.0 * (high - low) / np.sqrt(12.0 * len(part))
        assert abs(part.mean() - 0.5 * (low + high)) < error


def test_the_truth_on_the_grid_is_that_of_the_rows():
    data = load_heteroscedastic_data(500, 0.3, 7)
    assert np.all(np.diff(data.x) > 0.0)
    test = draw_test(HeteroscedasticSettings(noise_slope=0.3, seed=7, test_rows=400))
    # linear interpolation on steps of 0.05 misses a sine by 0.05 squared / 8
    on_grid = np.interp(test.X[:, 0], data.x, data.true_mean)
    np.testing.assert_allclose(on_grid, test.mean, atol=0.05**2 / 8.0)
    stds = np.interp(test.X[:, 0], data.x, np.sqrt(data.true_variance))
    np.testing.assert_allclose(stds, test.std, atol=ZERO)  # a straight line


@pytest.mark.parametrize("method", METHODS)
def test_a_view_has_the_parts_that_its_method_has(fits, method):
    view = view_heteroscedastic(fits[method], SMALL)
    kind = METHODS[method]
    assert view.parts == kind.parts
    assert tuple(curve.key for curve in view.curves) == kind.scores
    for curve in view.curves:
        assert np.isfinite(curve.values).all()
        assert curve.values.shape == view.x.shape
    # total is the sum of its parts, to rounding
    np.testing.assert_allclose(view.total, view.data + view.knowledge, rtol=CANCELLED, atol=ZERO)
    for part in PARTS:
        assert bool(getattr(view, part).any()) == (part in kind.parts)
    if not kind.parts:
        assert view.loc is None
        assert view.lower is None
        return
    assert np.all(view.lower <= view.upper)
    if "data" in kind.parts:
        assert np.all(view.lower <= view.inner_lower + ZERO)
        assert np.all(view.inner_upper <= view.upper + ZERO)


def test_the_score_of_inference_novelty_has_no_sign(fits):
    grid = fits["macau_linear"].grid
    assert grid.signed_inference.min() < 0.0
    values = grid.curve("inference_novelty").values
    np.testing.assert_array_equal(values, np.abs(grid.signed_inference))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("method", [key for key, kind in METHODS.items() if kind.parts])
def test_the_conformal_step_covers_the_calibration_rows(fits, method, level):
    fit = fits[method]
    wrapped = replace(SMALL, conformal=True, level=level)
    factor = heteroscedastic_factor(fit, wrapped, level)
    at, y = fit.calibration, fit.data.calibration_y
    half = factor * ndtri(0.5 + level / 2.0) * np.sqrt(at.total)
    inside = np.abs(y - at.loc) <= half * (1.0 + ZERO)
    # the ceil(1001 level)-th smallest score is the factor: so many rows, and no two scores tie
    assert inside.sum() == int(np.ceil(1001 * level - 1e-9))
    plain, view = view_heteroscedastic(fit, SMALL), view_heteroscedastic(fit, wrapped)
    assert view.factor == factor
    np.testing.assert_allclose(view.scale, factor * plain.scale, rtol=SAME_SUM)
    np.testing.assert_allclose(view.upper - view.loc, view.loc - view.lower, rtol=CANCELLED)


@pytest.mark.parametrize("method", ["quantile", "cqr", "conformal_forest"])
def test_methods_with_intervals_show_their_own(fits, method):
    fit = fits[method]
    view = view_heteroscedastic(fit, replace(SMALL, level=0.8))
    own = fit.model.predict_intervals(view.x[:, None])
    at = int(np.argmin(np.abs(own.levels - 0.8)))
    np.testing.assert_allclose(view.lower, own.lower[at], rtol=SAME_SUM)
    np.testing.assert_allclose(view.upper, own.upper[at], rtol=SAME_SUM)


def test_macau_is_what_its_estimator_says(fits):
    fit = fits["macau_linear"]
    view = view_heteroscedastic(fit, SMALL)
    X = view.x[:, None]
    # the same sums in another order
    np.testing.assert_allclose(view.loc, fit.model.predict(X), rtol=CANCELLED)
    expected = fit.model.predict_uncertainty(X)
    for part in PARTS:
        np.testing.assert_allclose(getattr(view, part), getattr(expected, part), rtol=CANCELLED)
    novelty = fit.model.score_novelty(X)
    np.testing.assert_allclose(view.curve("novelty").values, novelty.novelty, rtol=CANCELLED)
    np.testing.assert_allclose(view.curve("novelty").spread, novelty.novelty_std, rtol=CANCELLED)


def test_the_authors_tail_ends_at_their_bound_and_leaves_the_model_alone(fits):
    fit = fits["macau_linear"]
    rising = view_heteroscedastic(fit, SMALL)
    clipped = view_heteroscedastic(fit, replace(SMALL, tail="clip"))
    # the z-score of 1 - 1e-7, where scikit-learn cuts its normal
    bound = ndtri(1.0 - 1e-7) + 1e-6
    for key in ("novelty", "inference_novelty"):
        assert rising.curve(key).values.max() > bound
        assert clipped.curve(key).values.max() <= bound
    inside = [view.curve("novelty").values[view.support] for view in (rising, clipped)]
    # Where rows are, the maps differ by how they place the ends of a leaf's quantiles: a hundredth.
    assert np.median(np.abs(inside[0] - inside[1])) < 0.05
    np.testing.assert_array_equal(rising.total, clipped.total)
    assert fit.model.tail == "rise"
    measure = measure_heteroscedastic(fit, replace(SMALL, tail="clip"))
    assert measure.of_foreign.curve("novelty").values.max() <= bound
    assert fits["gnll"].clipped is None


def test_both_forms_of_macau_share_their_forest(fits):
    linear, basic = (
        view_heteroscedastic(fits[f"macau_{kind}"], SMALL).curve("novelty").values
        for kind in ("linear", "basic")
    )
    np.testing.assert_allclose(linear, basic, rtol=SAME_SUM)


def test_a_measure_predicts_the_rows_it_names(fits):
    fit = fits["gnll"]
    measure = measure_heteroscedastic(fit, SMALL)
    expected = fit.model.predict(measure.test.X)
    np.testing.assert_allclose(measure.of_test.loc, expected, rtol=SAME_SUM)
    assert measure.of_foreign.total.shape == (SMALL.ood_rows,)
    assert measure.seconds > 0.0


def test_too_few_rows_for_a_cut_are_refused_in_a_sentence():
    plan = plan_of(replace(SMALL, rows=100, subsample=0.1), "macau_basic")
    words = "cannot be cut into two leaves"
    assert words in why_not(plan)
    with pytest.raises(InvalidParameter, match=words):
        fit_heteroscedastic(plan)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"methods": ()}, "at least one"),
        ({"methods": ("gnll", "gnll")}, "methods must be"),
        ({"methods": tuple(METHODS)}, "at most 6"),
        ({"methods": ("swag",)}, "methods must be one of"),
        ({"tail": "fall"}, "tail must be"),
    ],
)
def test_bad_views_are_refused_in_a_sentence(fits, wrong, words):
    settings = replace(SMALL, **wrong)
    with pytest.raises(InvalidParameter, match=words):
        view_heteroscedastic(fits["gnll"], settings)
    with pytest.raises(InvalidParameter, match=words):
        run_heteroscedastic(settings)


def test_impossible_measures_and_unknown_methods_are_refused(fits):
    with pytest.raises(InvalidParameter, match="left_from"):
        measure_heteroscedastic(fits["gnll"], replace(SMALL, left_from=3.0))
    with pytest.raises(InvalidParameter, match="method must be one of"):
        plan_of(SMALL, "swag")


def test_rows_without_noise_are_fitted_and_wrapped():
    settings = replace(SMALL, methods=("macau_linear", "forest"), noise_slope=0.0, conformal=True)
    for view in run_heteroscedastic(settings).views:
        assert np.isfinite(view.lower).all()
        assert np.isfinite(view.upper).all()
