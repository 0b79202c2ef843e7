"""Scores, baselines, claims, words and exports of the Neighbours page."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest
from tolerances import NINE_DIGITS, SAME_SUM

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.claims import VERDICTS
from gbuq_core.experiments.neighbours.claims import (
    STUDY,
    better,
    check_neighbours_claims,
    gap_between,
    no_worse,
)
from gbuq_core.experiments.neighbours.experiment import (
    as_shown,
    neighbours_code,
    neighbours_csv,
    neighbours_map_csv,
    neighbours_rows_csv,
)
from gbuq_core.experiments.neighbours.fit import view_neighbours
from gbuq_core.experiments.neighbours.look import (
    describe_brush,
    describe_choice,
    describe_empty,
    describe_neighbours,
    look_at,
    run_neighbours,
)
from gbuq_core.experiments.neighbours.plan import BASELINES, NeighboursSettings
from gbuq_core.experiments.neighbours.scores import (
    family_posterior,
    fit_baseline,
    integrate_posterior,
    needed_fits,
    score_neighbours,
    why_no_baseline,
)
from gbuq_core.experiments.seeds import count_verdicts
from gbuq_core.ibug import Posterior, quantile
from gbuq_core.metrics import crps_ensemble, crps_gaussian_values, interval_coverage, rmse

SETTINGS = NeighboursSettings(rows=400, trees=40, compare=tuple(BASELINES), seed=1)


@pytest.fixture(scope="module")
def run():
    return run_neighbours(SETTINGS)


@pytest.fixture(scope="module")
def wine():
    return run_neighbours(NeighboursSettings(data="wine", trees=20, k=8, wine_row=3))


@pytest.fixture(scope="module")
def baselines():
    return {key: fit_baseline(SETTINGS, key) for key in needed_fits(SETTINGS.compare)}


def test_all_methods_are_scored_on_the_same_rows(run, baselines):
    scores = score_neighbours(run.fit, run.search, run.view, baselines)
    assert [score.key for score in scores] == ["ibug", *BASELINES]
    by_key = {score.key: score for score in scores}
    y, view = run.fit.data.y_test, run.view
    assert by_key["ibug"].crps == view.test_crps
    for key, baseline in baselines.items():
        assert by_key[key].rmse == rmse(y, baseline.loc)
    low, high = view.loc - 1.6448536 * view.scale, view.loc + 1.6448536 * view.scale
    assert by_key["ibug"].coverage == interval_coverage(y, low, high, 0.9).observed[0]
    assert by_key["ibug"].width == pytest.approx((high - low).mean(), rel=1e-6)  # 8 digits above
    averaged = 0.5 * (view.scale + baselines["cbu"].scale)
    expected = crps_gaussian_values(y, 0.5 * (view.loc + baselines["cbu"].loc), averaged).mean()
    assert by_key["ibug_cbu"].crps == pytest.approx(expected, rel=SAME_SUM)  # another order of sums


def test_a_baseline_that_was_not_fitted_is_left_out(run):
    scores = score_neighbours(run.fit, run.search, run.view, {})
    assert [score.key for score in scores] == ["ibug", "constant"]


def test_the_constant_scale_misses_the_noise(run):
    ibug, constant = score_neighbours(run.fit, run.search, run.view)
    # The true std runs from 0 to 1 over x: the best constant is off by 0.29.
    assert constant.scale_error_inside > 0.28
    assert ibug.scale_error_inside < 0.6 * constant.scale_error_inside


def test_tables_have_no_true_scale(wine):
    score = score_neighbours(wine.fit, wine.search, wine.view)[0]
    assert np.isnan([score.scale_error_inside, score.mean_scale_outside]).all()


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


def test_another_family_has_a_line_of_its_own(run):
    normal, laplace = score_neighbours(
        run.fit,
        run.search,
        replace(run.view, settings=replace(SETTINGS, compare=())),
        {},
        "laplace",
    )
    assert laplace.label == "IBUG, Laplace"
    assert laplace.rmse == normal.rmse
    assert laplace.nll != normal.nll
    # Of equal std, a Laplace's central 90 % is 3.26 std wide, a normal's 3.29.
    assert laplace.width == pytest.approx(normal.width * 3.2564 / 3.2897, rel=0.01)


def test_baselines_that_cannot_be_are_refused_in_a_sentence():
    plan = replace(SETTINGS, library="hist")
    assert why_no_baseline(plan, "knn") == ""
    with pytest.raises(InvalidParameter, match="reports no importances"):
        fit_baseline(plan, "knn_cb")
    with pytest.raises(InvalidParameter, match="rows must be"):
        fit_baseline(replace(plan, rows=1), "knn")
    with pytest.raises(InvalidParameter, match="baseline must be one of"):
        fit_baseline(plan, "constant")


def test_claims_say_what_their_verdict_says(run, baselines):
    claims = check_neighbours_claims(run.fit, run.search, run.view, baselines)
    assert all(claim.verdict in VERDICTS for claim in claims)
    noise, by_k = claims[0], claims[1]
    assert noise.verdict == "holds"  # the noise grows fivefold and more over x
    assert f"Tuning chose k = {run.view.k}" in by_k.here
    without = check_neighbours_claims(run.fit, run.search, run.view)
    assert len(claims) == len(without) + 3


def test_a_tie_is_no_gain(run, baselines):
    gap = gap_between(np.zeros(4), np.array([-1.0, 1.0, 0.1, -0.1]))
    assert (no_worse(gap), better(gap)) == ("holds", "partly")
    claims = check_neighbours_claims(run.fit, run.search, run.view, baselines)
    best = [c for c in claims if "first trees generally" in c.paper or "averaged" in c.paper]
    assert len(best) == 2
    for claim in best:
        assert (claim.verdict == "holds") == (" better (standard" in claim.here)
        assert (claim.verdict == "partly") == ("a tie (" in claim.here)


def test_the_claim_of_k_is_of_the_score_that_tunes(run):
    # A search serves both scorings; here they choose different k.
    other = view_neighbours(run.fit, run.search, replace(SETTINGS, scoring="crps"))
    assert other.k != run.view.k
    for view, name in ((run.view, "NLL"), (other, "CRPS")):
        (claim,) = (
            each
            for each in check_neighbours_claims(run.fit, run.search, view)
            if each.paper.startswith("k tuned")
        )
        score = view.test_nll if name == "NLL" else view.test_crps
        assert claim.here.startswith(f"Tuning chose k = {view.k}, {name} {score:.4g} on")


def test_kernels_are_scored_by_their_own_mean(run):
    view = replace(run.view, settings=replace(SETTINGS, compare=()))
    normal, kernels = score_neighbours(run.fit, run.search, view, {}, "kde")
    own = run.search.near_test.targets[:, : view.k].mean(axis=1)
    assert kernels.rmse == pytest.approx(rmse(run.fit.data.y_test, own), rel=SAME_SUM)
    assert kernels.rmse != normal.rmse
    assert np.isnan([kernels.scale_error_inside, kernels.mean_scale_outside]).all()


def test_claims_leave_out_what_is_not_known(wine):
    claims = check_neighbours_claims(wine.fit, wine.search, wine.view)
    assert not any("true noise" in claim.here for claim in claims)


def test_seeds_count_the_statements_about_the_baselines_that_can_be_fitted():
    few = NeighboursSettings(rows=200, trees=20, compare=("constant", "knn_cb", "ibug_cbu"))
    plan = STUDY.plan(few, n_seeds=1)
    assert plan.settings.compare == ("knn_cb", "cbu")
    assert STUDY.plan(replace(few, library="sglb")).settings.compare == ("cbu",)
    keys = {count.key for count in count_verdicts(STUDY.run(plan))}
    assert {"knn_cb", "averaged", "noise", "stable"} <= keys


def test_one_tree_makes_no_claim_about_few():
    run = run_neighbours(NeighboursSettings(rows=60, trees=1))
    claims = check_neighbours_claims(run.fit, run.search, run.view)
    assert not any("trees" in claim.paper for claim in claims)


def test_words_carry_the_numbers(run, wine):
    words = describe_neighbours(run)
    assert f"k = {run.view.k}, the best on the validation rows" in words
    assert "knowledge uncertainty is 0 by construction" in words
    assert "The model did not see that." in describe_neighbours(wine)


def test_words_admit_that_the_scale_misses_the_empty_region(run):
    data, view = run.fit.data, run.view
    inside, outside = view.grid_scale[data.in_support].mean(), view.grid_scale[~data.in_support]
    words = describe_empty(data, view)
    assert ("does not show that rows are missing" in words) == (outside.mean() < 1.5 * inside)
    assert f"averages {outside.mean():.3g} ({inside:.3g} where there are)" in words
    assert "calibrated on errors" in words
    plain = replace(view, settings=replace(view.settings, calibrate=False))
    assert "calibrated on errors" not in describe_empty(data, plain)
    raised = replace(view, grid_scale=np.where(data.in_support, 1.0, 9.0))
    assert "The scale is higher there" in describe_empty(data, raised)


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


def test_the_code_without_a_place_looks_where_the_picture_does(run):
    assert f"chosen = np.array([{run.look.x.tolist()}])" in neighbours_code(SETTINGS)


def test_tables_to_take_away(run, wine):
    rows = list(csv.DictReader(io.StringIO(neighbours_csv(wine))))
    assert len(rows) == len(wine.view.loc)
    assert float(rows[3]["scale"]) == pytest.approx(wine.view.scale[3], rel=NINE_DIGITS)
    near = list(csv.DictReader(io.StringIO(neighbours_rows_csv(wine))))
    assert [int(row["training row"]) - 1 for row in near] == wine.look.indices.tolist()
    assert near[0]["cultivar"].startswith("cultivar ")
    places = list(csv.DictReader(io.StringIO(neighbours_map_csv(run))))
    assert [row["in_support"] == "True" for row in places] == run.fit.data.in_support.tolist()
    assert len(neighbours_map_csv(wine).splitlines()) == 1


def brushed(run, scales, scales_of="rows"):
    settings = replace(run.settings, scales=scales, scales_of=scales_of)
    return run._replace(settings=settings, view=replace(run.view, settings=settings))


def test_one_percentile_is_one_scale(run):
    assert describe_brush(run) == ""
    words = describe_brush(brushed(run, (100, 100)))
    assert words.startswith("Percentile 100 is a scale of ")
    assert describe_brush(brushed(run, (95, 100))).startswith("Percentiles 95 to 100")


def test_a_range_without_a_row_says_so(run):
    wide = replace(run.view, grid_scale=run.view.grid_scale + 9.0)
    places = brushed(run._replace(view=wide), (100, 100), "places")
    none = "None of the 1,000 fresh rows has such a scale, but some places do"
    assert none in describe_brush(places)


def test_neighbours_at_one_place_are_not_a_range(run):
    same = replace(run.look, features=np.full_like(run.look.features, 6.98))
    assert "lie at x = 6.98 and" in describe_choice(run._replace(look=same))
    assert "lie at x from " in describe_choice(run)


def test_many_trees_are_written_as_elsewhere(run):
    many = replace(run.look, affinities=np.full(run.look.k, 1999), n_trees=2000)
    assert "in 1,999 of 2,000 trees" in describe_choice(run._replace(look=many))


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
