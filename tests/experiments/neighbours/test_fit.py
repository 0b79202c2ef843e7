"""The Neighbours page's fits, searches and views: what refits, what is clamped, what is found."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from tolerances import CANCELLED

from gbuq_core.errors import GbuqError
from gbuq_core.experiments.neighbours.data import DATASETS, load_neighbours_data
from gbuq_core.experiments.neighbours.fit import (
    brush_scale,
    count_fits,
    fit_neighbours,
    rank_families,
    search_key,
    search_neighbours,
    view_neighbours,
)
from gbuq_core.experiments.neighbours.look import look_at
from gbuq_core.experiments.neighbours.plan import (
    LIBRARIES,
    NeighboursSettings,
    why_not,
)
from gbuq_core.ibug import FAMILIES
from gbuq_core.settings import plan_of
from gbuq_core.trees.importers import leaf_source

SMALL = {
    key: NeighboursSettings(data=key, rows=300, trees=30, rate=0.2)
    for key in ("heteroscedastic", "ripples", "wine")
}


@pytest.fixture(scope="module")
def fits():
    return {key: fit_neighbours(plan_of(each)) for key, each in SMALL.items()}


@pytest.fixture(scope="module")
def searches(fits):
    return {key: search_neighbours(fits[key], each) for key, each in SMALL.items()}


@pytest.mark.parametrize("key", DATASETS)
def test_data_have_matching_truth(key):
    data = load_neighbours_data(key, rows=60, seed=3)
    assert data.X.shape == (len(data.y), len(data.feature_names))
    assert data.X_test.shape == (len(data.y_test), len(data.feature_names))
    if data.n_inputs == 0:
        assert data.grid is None
        assert data.true_mean is None
        return
    n_grid = int(np.prod(data.grid_shape))
    assert data.grid.shape == (n_grid, data.n_inputs)
    assert {len(data.true_mean), len(data.true_std), len(data.in_support)} == {n_grid}
    # The truth at fresh rows explains them: standardised residuals of 1,000 normals have a std
    # within 4 / sqrt(2000) of 1.
    z = (data.y_test - data.test_mean) / np.maximum(data.test_std, 1e-300)
    assert abs(z.std() - 1.0) < 0.09


def test_tables_hold_rows_out():
    data = load_neighbours_data("diabetes", seed=1)
    both = np.concatenate([data.X, data.X_test])
    assert len(both) == 442 == len(np.unique(both, axis=0))


def test_only_the_models_settings_change_the_plan():
    base = NeighboursSettings(data="wine", library="hist")
    view = replace(
        base,
        k=9,
        tau=5,
        order="last",
        calibrate=False,
        scoring="crps",
        family="kde",
        wine_row=4,
        x=1.0,
        scales=(10, 20),
        compare=("knn",),
        rows=50,
        noise=3.0,
        depth=9,
    )
    assert plan_of(view) == plan_of(base)
    assert plan_of(replace(base, leaves=5)) != plan_of(base)


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert why_not(NeighboursSettings(library="xgboost")).startswith("XGBoost is not installed")


@pytest.mark.parametrize("key", LIBRARIES)
def test_every_library_fits(key):
    settings = NeighboursSettings(library=key, rows=80, trees=8, depth=3)
    plan = plan_of(settings)
    assert why_not(plan) == ""
    fit = fit_neighbours(plan)
    view = view_neighbours(fit, search_neighbours(fit, settings), settings)
    assert fit.n_trees == 8
    assert np.isfinite(view.grid_scale).all()


def test_the_view_agrees_with_the_estimator(fits, searches):
    settings = replace(SMALL["heteroscedastic"], k=15, tau=20, order="last", scoring="crps")
    fit = fits["heteroscedastic"]
    view = view_neighbours(fit, search_neighbours(fit, settings), settings)
    model = fit.model
    model = type(model)(**(model.get_params(deep=False) | {"scoring": "crps"}))
    model.fit(fit.data.X, fit.data.y)
    trees = {"n_neighbors": 15, "n_trees_sampled": 6, "tree_order": "last"}
    expected = model.predict_distribution(fit.data.X_test, **trees)
    np.testing.assert_array_equal(view.scale, expected.scale)
    np.testing.assert_array_equal(view.loc, expected.loc)
    on_grid = model.predict_distribution(fit.data.grid, **trees)
    # The grid's targets are kept as float32: 24 bits of targets up to 6.
    np.testing.assert_allclose(view.grid_scale, on_grid.scale, atol=2e-6)


def test_knobs_of_the_view_refit_nothing(fits, searches):
    before = count_fits()
    settings, fit = SMALL["heteroscedastic"], fits["heteroscedastic"]
    scales = []
    for change in ({}, {"k": 5}, {"k": 5, "tau": 5}, {"k": 5, "calibrate": False}):
        wanted = replace(settings, **change)
        view = view_neighbours(fit, search_neighbours(fit, wanted), wanted)
        scales.append(view.scale)
        assert view.tuned == ("k" not in change)
    assert count_fits() == before
    assert all((a != b).any() for a, b in itertools.pairwise(scales))


def test_scoring_reaches_tuning_and_leaves_the_fit_alone(fits, searches):
    fit, search = fits["ripples"], searches["ripples"]
    for scoring in ("crps", "nll"):
        view = view_neighbours(fit, search, replace(SMALL["ripples"], scoring=scoring))
        tuning = search.tuning
        best = np.argmin(tuning.crps if scoring == "crps" else tuning.nll)
        assert view.k == tuning.n_neighbors[best]
    assert fit.model.scoring == "nll"


@pytest.mark.parametrize("key", SMALL)
@pytest.mark.parametrize(
    "change",
    [
        {"k": 10**6, "tau": 10, "order": "random"},
        {"k": -3, "tau": 1},
        {"k": 1, "calibrate": False, "scoring": "crps"},
        {"family": "weibull"},
        {"x": 13.0, "family": "log-normal"},
        {"scales": (50, 50), "family": "best"},
    ],
)
def test_knobs_out_of_range_are_clamped_in_words(fits, searches, key, change):
    fit, settings = fits[key], replace(SMALL[key], **change)
    narrow = searches[key]
    for search in (narrow, search_neighbours(fit, settings)):
        view = view_neighbours(fit, search, settings)
        look = look_at(fit, search, settings, view)
        brush_scale(fit, view)
        assert np.isfinite(view.scale).all()
        assert (view.scale > 0.0).all()
        assert look.k == view.k == len(look.indices) >= 2
        assert look.family in FAMILIES
        assert look.family not in look.refusals
        for note in (*view.notes, *look.notes):
            assert note.endswith(".")
            assert "\n" not in note
    if abs(change.get("k", 5)) > 5 or change.get("k") == 1:
        assert any(f"The picture uses k = {view.k}." in note for note in view.notes)


def test_a_model_that_stopped_early_counts_the_trees_that_it_has(fits):
    asked = replace(SMALL["wine"], trees=300, tau=50, order="last")
    search = search_neighbours(fits["wine"], asked)
    assert (search.n_trees, search.order) == (30, "first")
    assert search.notes == (
        "You asked for 150 trees, and the model has 30. The picture counts 30.",
    )


def test_impossible_values_of_the_view_are_refused(fits, searches):
    for change in ({"order": "middle"}, {"k": 2.5}, {"tau": 7}, {"scales": (90, 10)}):
        with pytest.raises(GbuqError):
            view_neighbours(fits["wine"], searches["wine"], replace(SMALL["wine"], **change))


def test_search_key_counts_what_a_search_depends_on(fits):
    fit, settings = fits["heteroscedastic"], replace(SMALL["heteroscedastic"], k=20)
    same = [settings, replace(settings, calibrate=False, family="kde", k=9, order="last")]
    assert len({search_key(fit, each) for each in same}) == 1
    assert search_key(fit, replace(settings, tau=10)) != search_key(fit, settings)


def test_a_look_tells_the_neighbours(fits, searches):
    settings, fit = replace(SMALL["ripples"], k=12, x1=0.2, x2=-0.4), fits["ripples"]
    look = look_at(fit, searches["ripples"], settings)
    source = leaf_source(fit.model.model_)
    own = source.leaf_matrix(np.array([[0.2, -0.4]]))
    shared = (source.leaf_matrix(fit.data.X) == own).sum(axis=1)
    np.testing.assert_array_equal(look.row_affinities, shared)
    np.testing.assert_array_equal(look.affinities, np.sort(shared)[::-1][:12])
    np.testing.assert_array_equal(
        look.map_affinity, (source.leaf_matrix(fit.data.grid) == own).sum(1)
    )
    assert look.cut == look.affinities[-1]
    assert look.n_tied == (shared == look.cut).sum() - (look.affinities == look.cut).sum()
    np.testing.assert_array_equal(look.targets, fit.data.y[look.indices])
    at_k = look.path_std[look.path_k == 12][0]
    np.testing.assert_allclose(at_k, look.targets.std(), rtol=CANCELLED)  # rounding of running sums
    for density in look.densities.values():
        # 201 places over 4.5 stds to either side or more: a Laplace has 1e-3 outside, and its
        # peak's trapezoids a percent.
        assert abs(np.trapezoid(density, look.y_grid) - 1.0) < 0.03


def test_class_shares_are_those_of_the_neighbours(fits, searches):
    look = look_at(fits["wine"], searches["wine"], replace(SMALL["wine"], k=10, wine_row=4))
    labels = fits["wine"].data.labels[look.indices]
    assert look.row == 3
    assert look.target == fits["wine"].data.y_test[3]
    assert look.class_shares == {
        each: (labels == each).mean() for each in ("cultivar 1", "cultivar 2", "cultivar 3")
    }


def test_densities_are_the_estimators(fits, searches):
    settings, fit = replace(SMALL["wine"], k=12, wine_row=6, tau=70, order="last"), fits["wine"]
    look = look_at(fit, search_neighbours(fit, settings), settings)
    near = fit.model.find_neighborhood(fit.data.X_test[5:6], 12, 21, "last")
    for name, density in look.densities.items():
        expected = fit.model.predict_density(near, look.y_grid, name, n_neighbors=12)[0]
        np.testing.assert_array_equal(density, expected)
    assert look.scale == fit.model.predict_distribution(near, 12).scale[0]


def test_the_best_family_is_that_of_lowest_nll(fits, searches):
    settings = replace(SMALL["wine"], family="best")
    view = view_neighbours(fits["wine"], searches["wine"], settings)
    ranked = rank_families(fits["wine"], searches["wine"], view)
    look = look_at(fits["wine"], searches["wine"], settings, view)
    assert look.family == ranked.best == ranked.families[int(np.nanargmin(ranked.nll))]


def test_brushing_selects_by_scale(fits, searches):
    settings = SMALL["ripples"]
    fit, search = fits["ripples"], searches["ripples"]
    view = view_neighbours(fit, search, settings)
    assert brush_scale(fit, view) is None
    middle = float(np.median(view.scale))
    half = replace(settings, scales=(50, 100), scales_of="rows")
    brushed = brush_scale(fit, view_neighbours(fit, search, half))
    np.testing.assert_array_equal(brushed.rows, view.scale >= middle)
    np.testing.assert_array_equal(brushed.grid, view.grid_scale >= middle)
    # Half of the rows, the noisier ones: they are worse predicted.
    assert brushed.mean_error > brushed.mean_error_others


def test_the_scale_follows_the_noise(fits, searches):
    view = view_neighbours(
        fits["heteroscedastic"], searches["heteroscedastic"], SMALL["heteroscedastic"]
    )
    x, scale = fits["heteroscedastic"].data.X_test[:, 0], view.scale
    # The noise is five times larger at 9 than at 1.8 on average; 300 rows show at least twice.
    assert scale[x > 8.0].mean() > 2.0 * scale[x < 3.0].mean()
