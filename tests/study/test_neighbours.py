"""Neighbours: fits, searches and views, pictures that hold a run's numbers, scores and claims."""

import csv
import io
import itertools
from dataclasses import replace

import numpy as np
import pytest
from tolerances import CANCELLED, NINE_DIGITS, SAME_SUM

from gbuq_core.errors import GbuqError, InvalidParameter
from gbuq_core.experiments.seeds import count_verdicts
from gbuq_core.figures.canvas.encoding import encode_sheet
from gbuq_core.figures.near import NEAR
from gbuq_core.ibug import FAMILIES, Posterior, quantile
from gbuq_core.metrics import crps_ensemble, crps_gaussian_values, interval_coverage, rmse
from gbuq_core.settings import plan_of
from gbuq_core.study.neighbours import (
    CLAIMS,
    NEIGHBOURS,
    SEEDS,
    as_shown,
    behind,
    check_neighbours_claims,
    family_posterior,
    fit_baseline,
    integrate_posterior,
    measure_neighbours,
    needed_fits,
    neighbours_code,
    score_neighbours,
    why_no_baseline,
)
from gbuq_core.study.neighbours_fit import (
    BASELINES,
    DATASETS,
    LIBRARIES,
    NeighboursSettings,
    brush_scale,
    count_fits,
    fit_neighbours,
    load_neighbours_data,
    look_at,
    run_neighbours,
    search_neighbours,
    view_neighbours,
    why_not,
)
from gbuq_core.study.neighbours_picture import (
    IBUG,
    course_figure,
    describe_brush,
    describe_neighbours,
    neighbours_maps,
    reasons_sheet,
)
from gbuq_core.study.study import judge
from gbuq_core.trees.importers import leaf_source
from tests.figure_readers import decode_sheet

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
    shares = {each: (labels == each).mean() for each in ("cultivar 1", "cultivar 2", "cultivar 3")}
    assert (look.row, look.class_shares) == (3, shares)


def test_densities_are_the_estimators(fits, searches):
    settings, fit = replace(SMALL["wine"], k=12, wine_row=6, tau=70, order="last"), fits["wine"]
    look = look_at(fit, search_neighbours(fit, settings), settings)
    near = fit.model.find_neighborhood(fit.data.X_test[5:6], 12, 21, "last")
    for name, density in look.densities.items():
        expected = fit.model.predict_density(near, look.y_grid, name, n_neighbors=12)[0]
        np.testing.assert_array_equal(density, expected)
    assert look.scale == fit.model.predict_distribution(near, 12).scale[0]


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


# Numbers are sent with five significant digits.
ROUNDING = {"rtol": 5.1e-5, "atol": 0.0}


@pytest.fixture(scope="module")
def curve():
    return run_neighbours(NeighboursSettings(rows=200, trees=20, k=9, x=4.0))


@pytest.fixture(scope="module")
def square():
    settings = NeighboursSettings(data="ripples", rows=200, trees=20, k=9, x1=0.5, x2=-0.5)
    return run_neighbours(settings)


@pytest.fixture(scope="module")
def table():
    return run_neighbours(NeighboursSettings(data="wine", trees=20, k=9, wine_row=4))


def layers(figure, kind, panel=0, **looks):
    return [
        part
        for part in figure.spec["panels"][panel]["layers"]
        if part["kind"] == kind and all(part.get(k) == v for k, v in looks.items())
    ]


def looking(run, **look):
    return run._replace(look=replace(run.look, **look))


def brushed(run, *scales, scales_of="rows"):
    settings = replace(run.settings, scales=scales, scales_of=scales_of)
    return run._replace(settings=settings, view=replace(run.view, settings=settings))


def test_neighbours_are_drawn_by_their_affinity_and_nowhere_else(curve):
    run = looking(curve, indices=np.array([3, 0, 7]), affinities=np.array([18, 10, 2]), n_trees=20)
    figure, data = course_figure(run), run.fit.data
    strong = layers(figure, "dots", colour=NEAR)
    at = [(x, y) for part in strong for x, y in zip(part["x"], part["y"], strict=True)]
    wanted = [(data.X[row, 0], data.y[row]) for row in (7, 0, 3)]  # the weakest first
    np.testing.assert_allclose(at, wanted, **ROUNDING)
    sizes = [part["size"] for part in strong]
    assert sizes == sorted(sizes)
    assert len(set(sizes)) == 3
    (others,) = layers(figure, "dots", colour="text")
    assert len(others["x"]) == 197


def test_the_band_is_two_scales_wide_and_the_rule_at_the_chosen_x(curve):
    figure, loc, scale = course_figure(curve), curve.view.grid_loc, curve.view.grid_scale
    (band,) = layers(figure, "band")
    np.testing.assert_allclose(band["low"], loc - 2 * scale, rtol=5.1e-5, atol=5e-5)
    np.testing.assert_allclose(band["high"], loc + 2 * scale, rtol=5.1e-5, atol=5e-5)
    for panel in (0, 1):
        (rule,) = layers(figure, "line", panel, colour=NEAR)
        assert rule["x"] == [4.0, 4.0]
    (drawn,) = layers(figure, "line", 1, colour=IBUG.colour)
    np.testing.assert_allclose(drawn["y"], scale, **ROUNDING)


def test_maps_share_the_scale_of_truth_and_estimate_and_mark_the_neighbours(square):
    run = brushed(square, 50, 100)
    data, near, scale = (
        run.fit.data,
        run.look.indices,
        run.view.grid_scale.reshape(run.fit.data.grid_shape),
    )
    sheet = neighbours_maps(run)
    noise, estimate, share = sheet.panels
    highest = max(float(scale.max()), float(data.true_std.max()))
    assert noise.limits == estimate.limits == (0.0, highest)
    assert share.limits == (0.0, 1.0)
    np.testing.assert_array_equal(share.points.group, np.repeat([0, 1], [191, 9]))
    np.testing.assert_array_equal(np.asarray(share.points.x)[-9:], data.X[near, 0])
    np.testing.assert_array_equal(noise.hatched.ravel(), ~data.in_support)
    for panel in sheet.panels:
        np.testing.assert_array_equal(panel.outlined.ravel(), run.brushed.grid)
    assert (sheet.markers[0].x, sheet.markers[0].y) == (0.5, -0.5)
    drawn = decode_sheet(encode_sheet(sheet)).values[1][0]
    # Values travel in steps of a 65,535th of their range.
    np.testing.assert_allclose(drawn, scale, atol=2e-5)


def test_reasons_show_the_cut_the_path_and_the_score(curve):
    sheet, look, tuning = reasons_sheet(curve), curve.look, curve.search.tuning
    affinity, scale, score = sheet.strips
    every, near = (np.nan_to_num(np.asarray(line.y)) for line in affinity.lines)
    counts = np.bincount(look.row_affinities, minlength=21)
    np.testing.assert_array_equal(every, [*counts, counts[-1]])
    assert near[:-1].sum() == 9
    assert all(line.bars for line in affinity.lines)
    assert list(scale.marks) == list(score.marks) == [9.0]
    assert [line.name for line in scale.lines] == ["scale", "true noise"]
    at_k = np.asarray(scale.lines[0].y)[np.asarray(scale.x) == 9.0]
    np.testing.assert_allclose(at_k, [look.scale])
    np.testing.assert_array_equal(score.lines[0].y, tuning.nll[tuning.n_neighbors <= 60])
    sent = decode_sheet(encode_sheet(sheet)).header["strips"]
    assert [[line["bars"] for line in strip["lines"]] for strip in sent] == [
        [True, True],
        [False, False],
        [False],
    ]


@pytest.mark.parametrize("n_trees", [1, 49, 60, 70, 100, 1000])
def test_bars_of_affinity_hold_equally_many_numbers_of_trees(curve, n_trees):
    every = np.arange(n_trees + 1, dtype=np.int32)  # each once
    run = looking(curve, n_trees=n_trees, row_affinities=every, affinities=every[-1:])
    strip = reasons_sheet(run).strips[0]
    counts, near = (np.nan_to_num(np.asarray(line.y))[:-1] for line in strip.lines)
    assert len(set(counts[:-1].tolist())) <= 1
    assert counts.sum() == n_trees + 1
    assert len(counts) <= 51
    assert near[-1] == 1
    assert (np.diff(strip.x) > 0).all()
    assert (strip.x[0], strip.x[-1]) == (0.0, 100.0)


SETTINGS = NeighboursSettings(rows=400, trees=40, compare=tuple(BASELINES), seed=1)


@pytest.fixture(scope="module")
def run():
    return run_neighbours(SETTINGS)


@pytest.fixture(scope="module")
def baselines():
    return {key: fit_baseline(SETTINGS, key) for key in needed_fits(SETTINGS.compare)}


def test_all_methods_are_scored_on_the_same_rows(run, baselines):
    scores = score_neighbours(run.fit, run.search, run.view, baselines)
    assert [*scores] == ["ibug", *BASELINES]
    assert [*score_neighbours(run.fit, run.search, run.view)] == ["ibug", "constant"]
    y, view = run.fit.data.y_test, run.view
    assert scores["ibug"]["crps"] == view.test_crps
    for key, baseline in baselines.items():
        assert scores[key]["rmse"] == rmse(y, baseline.loc)
    low, high = view.loc - 1.6448536 * view.scale, view.loc + 1.6448536 * view.scale
    assert scores["ibug"]["coverage"] == interval_coverage(y, low, high, 0.9).observed[0]
    assert scores["ibug"]["width"] == pytest.approx((high - low).mean(), rel=1e-6)  # 8 digits above
    averaged = 0.5 * (view.scale + baselines["cbu"].scale)
    expected = crps_gaussian_values(y, 0.5 * (view.loc + baselines["cbu"].loc), averaged).mean()
    # another order of sums
    assert scores["ibug_cbu"]["crps"] == pytest.approx(expected, rel=SAME_SUM)
    # The true std runs from 0 to 1 over x: the best constant is off by 0.29.
    assert scores["constant"]["scale_error_inside"] > 0.28
    assert scores["ibug"]["scale_error_inside"] < 0.6 * scores["constant"]["scale_error_inside"]


def test_another_family_has_a_line_of_its_own(run):
    view = replace(run.view, settings=replace(SETTINGS, compare=()))
    scores = {
        family: score_neighbours(run.fit, run.search, view, family=family)
        for family in ("laplace", "kde")
    }
    normal, laplace = scores["laplace"].values()
    assert (laplace["label"], laplace["rmse"]) == ("IBUG, Laplace", normal["rmse"])
    assert laplace["nll"] != normal["nll"]
    # Of equal std, a Laplace's central 90 % is 3.26 std wide, a normal's 3.29.
    assert laplace["width"] == pytest.approx(normal["width"] * 3.2564 / 3.2897, rel=0.01)
    kernels = scores["kde"]["family"]  # which stand on the neighbours
    own = run.search.near_test.targets[:, : view.k].mean(axis=1)
    assert kernels["rmse"] == pytest.approx(rmse(run.fit.data.y_test, own), rel=SAME_SUM)
    assert np.isnan([kernels["scale_error_inside"], kernels["mean_scale_outside"]]).all()


def test_the_claims_are_those_whose_numbers_there_are(run, table, baselines):
    every = check_neighbours_claims(run.fit, run.search, run.view, baselines)
    keys = [claim.key for claim in every]
    own = ["noise", "k", "calibration", "stable", "order", "family"]
    assert keys == [*own, "knn", "knn_cb", "averaged"]
    assert every[0].verdict == "holds"  # the noise grows fivefold and more over x
    for claim in every:
        if " (standard error" in claim.value or claim.value.startswith("a tie"):
            assert claim.value in claim.here
    # No truth, one tree: nothing is said of the noise, or of fewer trees.
    numbers = measure_neighbours(table.fit, table.search, table.view)
    assert [claim.key for claim in judge(CLAIMS, numbers)] == own[1:]
    single = run_neighbours(NeighboursSettings(rows=60, trees=1))
    numbers = measure_neighbours(single.fit, single.search, single.view)
    assert [claim.key for claim in judge(CLAIMS, numbers)] == [
        "noise",
        "k",
        "calibration",
        "family",
    ]


@pytest.mark.parametrize(
    ("better", "no_worse", "order"),
    [(0.2, "holds", "holds"), (0.0, "holds", "partly"), (-0.15, "partly", "does not hold")],
)
def test_a_tie_is_no_gain(better, no_worse, order):
    away = np.array([-1.0, 1.0, 0.1, -0.1])
    away = 0.1 * away / away.std(ddof=1) * np.sqrt(4)  # a standard error of 0.1
    words = {"calibrated": 0.0, "uncalibrated": 0.0, "orders": "", "rival": "", "some": 1}
    numbers = words | {"n_trees": 9}
    for name in ("calibration", "order"):
        numbers |= behind(name, away - better, np.zeros(4))
    verdicts = {claim.key: claim.verdict for claim in judge(CLAIMS, {"": numbers})}
    assert verdicts == {"calibration": no_worse, "order": order}


def test_the_claim_of_k_is_of_the_score_that_tunes(run):
    # A search serves both scorings; here they choose different k.
    other = view_neighbours(run.fit, run.search, replace(SETTINGS, scoring="crps"))
    assert other.k != run.view.k
    for view, name, score in ((run.view, "nll", "test_nll"), (other, "crps", "test_crps")):
        numbers = measure_neighbours(run.fit, run.search, view)[""]
        assert (numbers["tuned"], numbers["scoring"]) == (view.k, name.upper())
        # another order of sums
        assert numbers["tuned_score"] == pytest.approx(getattr(view, score), rel=SAME_SUM)
        assert numbers[f"loss_{name}"] >= 0.0


@pytest.mark.parametrize("calibrate", [True, False])
def test_words_admit_that_the_scale_misses_the_empty_region(run, calibrate):
    data, view = run.fit.data, replace(run.view, settings=replace(SETTINGS, calibrate=calibrate))
    inside, outside = view.grid_scale[data.in_support].mean(), view.grid_scale[~data.in_support]
    words = describe_neighbours(run._replace(view=view))
    assert ("does not show that rows are missing" in words) == (outside.mean() < 1.5 * inside)
    assert f"averages {outside.mean():.3g} ({inside:.3g} where there are)" in words
    assert ("calibrated on errors" in words) == calibrate
    raised = replace(view, grid_scale=np.where(data.in_support, 1.0, 9.0))
    assert "The scale is higher there" in describe_neighbours(run._replace(view=raised))


def test_a_range_without_a_row_says_so(run):
    assert describe_brush(run) == ""
    wide = run._replace(view=replace(run.view, grid_scale=run.view.grid_scale + 9.0))
    words = describe_brush(brushed(wide, 100, 100, scales_of="places"))
    assert words.startswith("Percentile 100 is a scale of ")
    assert "None of the 1,000 fresh rows has such a scale, but some places do" in words
    assert describe_brush(brushed(run, 95, 100)).startswith("Percentiles 95 to 100")


def test_no_sentence_shows_a_name_or_what_is_no_number(run, table, square):
    for each in (run, table, square):
        shown = each._replace(scores=score_neighbours(each.fit, each.search, each.view))
        said = (NEIGHBOURS.words(each), NEIGHBOURS.numbers(each), NEIGHBOURS.answer(each))
        words = " ".join([*said, reasons_sheet(each).alt, NEIGHBOURS.scores(shown).caption])
        assert "nan" not in words
        assert not {"{", "}"} & {*words}


def test_posteriors_are_integrated_as_the_closed_form_says():
    random = np.random.default_rng(0)
    y, loc = random.normal(size=(2, 50))
    scale = random.uniform(0.1, 2.0, 50)
    crps, width = integrate_posterior(Posterior("normal", loc, scale), y, loc, scale)
    # Trapezoids of 128 steps over 16 stds and more: (h^2 / 12) times a curvature of order 1.
    np.testing.assert_allclose(crps, crps_gaussian_values(y, loc, scale), rtol=0.02, atol=2e-3)
    np.testing.assert_allclose(width, 2 * 1.6448536 * scale, rtol=0.01)


def test_kernel_densities_are_integrated_as_their_draws(run):
    posterior = family_posterior(run.fit, run.search, run.view, "kde")
    y, view = run.fit.data.y_test[:40], run.view
    part = Posterior("kde", *(each[:40] for each in posterior[1:3]), None, posterior.centres[:40])
    crps, width = integrate_posterior(part, y, view.loc[:40], view.scale[:40])
    levels = (np.arange(400) + 0.5) / 400
    # 400 evenly spaced quantiles as draws; trapezoids of a hundredth of the range.
    assert crps.mean() == pytest.approx(crps_ensemble(y, quantile(part, levels).T), rel=0.01)
    ends = quantile(part, [0.05, 0.95])
    np.testing.assert_allclose(width, ends[:, 1] - ends[:, 0], rtol=0.02)


def test_baselines_that_cannot_be_are_refused_in_a_sentence():
    plan = replace(SETTINGS, library="hist")
    assert why_no_baseline(plan, "knn") == ""
    with pytest.raises(InvalidParameter, match="reports no importances"):
        fit_baseline(plan, "knn_cb")
    with pytest.raises(InvalidParameter, match="rows must be"):
        fit_baseline(replace(plan, rows=1), "knn")
    with pytest.raises(InvalidParameter, match="baseline must be one of"):
        fit_baseline(plan, "constant")


def test_seeds_count_the_statements_about_the_baselines_that_can_be_fitted():
    few = NeighboursSettings(rows=200, trees=20, compare=("constant", "knn_cb", "ibug_cbu"))
    plan = SEEDS.plan(few, n_seeds=1)
    assert plan.settings.compare == ("knn_cb", "cbu")
    assert SEEDS.plan(replace(few, library="sglb")).settings.compare == ("cbu",)
    keys = {count.key for count in count_verdicts(SEEDS.run(plan))}
    assert {"knn_cb", "averaged", "noise", "stable"} <= keys


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"data": "wine", "library": "sglb", "family": "best", "tau": 70, "order": "random"},
        {"data": "ripples", "library": "xgboost", "x1": 0.1, "x2": 0.2, "k": 7, "calibrate": False},
        {"data": "diabetes", "k": 701, "diabetes_row": 88},  # a larger k than there can be
        {"k": 1, "family": "weibull"},  # refused: the targets reach below 0
    ],
)
def test_the_code_computes_the_same(change, capsys):
    settings = replace(replace(SETTINGS, rows=150, trees=12, k=20, scoring="crps"), **change)
    own = run_neighbours(settings)
    namespace = {}
    code = neighbours_code(as_shown(own))
    exec(code, namespace)  # the code is this project's own
    np.testing.assert_array_equal(namespace["scale"], own.view.scale)
    np.testing.assert_array_equal(namespace["one"].indices[0, : own.view.k], own.look.indices)
    output = capsys.readouterr().out
    assert f"RMSE {own.view.test_rmse:.4g}" in output
    assert f"training row {own.look.indices[0] + 1}: {own.look.affinities[0]} trees" in output


def read_tables(run):
    return {
        name: list(csv.DictReader(io.StringIO(write(run))))
        for name, write in NEIGHBOURS.tables(run).items()
    }


def test_tables_to_take_away(run, table):
    rows = read_tables(table)
    assert [*rows] == ["Predictions", "Neighbours"]
    assert len(rows["Predictions"]) == len(table.view.loc)
    scale = float(rows["Predictions"][3]["scale"])
    assert scale == pytest.approx(table.view.scale[3], rel=NINE_DIGITS)
    near = rows["Neighbours"]
    assert [int(row["training row"]) - 1 for row in near] == table.look.indices.tolist()
    assert near[0]["cultivar"].startswith("cultivar ")
    supported = [place["in_support"] == "True" for place in read_tables(run)["Picture"]]
    assert supported == run.fit.data.in_support.tolist()


def test_all_families_but_the_kernel_density_keep_the_prediction_as_their_mean():
    """What the page's caption says; the place is one where the two means differ."""
    run = run_neighbours(NeighboursSettings(data="diabetes", trees=50, diabetes_row=13))
    look = look_at(run.fit, run.search, run.settings, run.view)
    means = {}
    for name, density in look.densities.items():
        mass = np.trapezoid(density, look.y_grid)
        means[name] = float(np.trapezoid(density * look.y_grid, look.y_grid) / mass)
    away = {name: abs(mean - look.loc) / look.scale for name, mean in means.items()}
    # The grid ends 4.5 scales away: it cuts off little of a tail.
    assert max(value for name, value in away.items() if name != "kde") < 0.05
    assert abs(means["kde"] - look.targets.mean()) / look.scale < 0.02 < away["kde"]
