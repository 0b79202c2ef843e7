"""Two clocks: its fits are the estimator's, its scores those of the library, its maps the best."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.base import clone
from tolerances import CANCELLED, NEAR_ZERO, SAME_SUM

from gbuq_core import BoostedEnsembleRegressor, CalibratedRegressor, progress
from gbuq_core.calibration.clocks import student_nll
from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.seeds import count_verdicts
from gbuq_core.jobs import JobRunner, current_job
from gbuq_core.methods import METHODS, find_methods
from gbuq_core.metrics import find_resolution, log_scores
from gbuq_core.settings import plan_of
from gbuq_core.study import two_clocks_fit
from gbuq_core.study.study import judge
from gbuq_core.study.two_clocks import CLAIMS, LEAST_SHARE, MOST_SHARE, TWO_CLOCKS, clocks_sheet
from gbuq_core.study.two_clocks_fit import (
    CYCLICAL,
    DATA,
    MODELS,
    SINGLE,
    WEIGHTED,
    WITH_CLOCKS,
    WITH_MEMBERS,
    WITHOUT_CLOCKS,
    MeanNLL,
    TwoClocksSettings,
    clock_arguments,
    count_fits,
    fit,
    fit_model,
    half_width,
    law_of,
    read_clocks,
    rows_of,
    view,
    write_clocks,
)

SMALL = TwoClocksSettings(data="growing noise", rows=200, trees=200, members=3)
# The page shows one factor and the moments, in its exported code too.
ONE_FACTOR = {"random_state": 0, "shape": "moments", "floor": False}
STOPPINGS = {"all": None, "early": "early", "clocks": "two_clocks"}
pytestmark = pytest.mark.filterwarnings("ignore:The best number of trees")


@cache
def fit_of(settings):
    return fit(plan_of(settings))


@cache
def look_of(settings=SMALL):
    return view(fit_of(replace(settings, tails="student")), settings)


def assert_scored(scores, law, rows):
    """The scores are those of the law of the rows, which are the same sums in another order."""
    nll = log_scores(law, rows.y_scored, find_resolution(rows.y)).mean
    assert scores["nll"] == pytest.approx(nll, rel=CANCELLED)
    assert scores["crps"] == pytest.approx(law.crps(rows.y_scored).mean(), rel=CANCELLED)


@pytest.mark.parametrize(
    ("way", "tails", "model", "kind"),
    [
        *((way, tails, "sglb", {}) for way in STOPPINGS for tails in ("student", "normal")),
        ("clocks", "student", "sgb", {"method": "sgb"}),
        ("clocks", "student", "virtual_sglb", {"ensemble": "virtual"}),
        ("clocks", "student", "csglb", {"method": "csglb", "cycle_length": 40}),
        ("clocks", "student", "cbsglb", {"method": "cbsglb", "cycle_length": 40}),
    ],
)
def test_each_way_is_the_estimators_own(way, tails, model, kind):
    look, rows = look_of(replace(SMALL, model=model, tails=tails)), rows_of(SMALL)
    knobs = {"n_members": 3, "n_trees": 200, "depth": 3, "learning_rate": 0.1, "random_state": 0}
    own = BoostedEnsembleRegressor(
        stopping=STOPPINGS[way], mean_weight=100.0, tails=tails, **knobs, **kind
    ).fit(rows.X, rows.y)
    assert_scored(look.scores[way], own.predict_distribution(rows.X_scored), rows)
    if own.clocks_ is not None:
        names = ("mean_trees", "scale_trees", "factor", "df")
        mine, theirs = ([getattr(each, name) for name in names]
                        for each in (look.clocks[way], own.clocks_))  # fmt: skip
        assert mine == theirs


@pytest.mark.parametrize("tails", ["student", "normal"])
@pytest.mark.parametrize("model", [*SINGLE, "knn", "quantile", "macau_basic", "xbart"])
def test_another_model_is_stopped_and_scaled_as_the_wrapper_does_it(model, tails):
    if METHODS[model].missing():
        pytest.skip(METHODS[model].missing())
    # A high rate, so that NGBoost's clocks differ within few trees.
    few = {"ngboost_trees": 15, "rate": 0.3} if model == "ngboost" else {}
    settings = replace(SMALL, model=model, rows=100, trees=60, tails=tails, **few)
    look, rows = look_of(settings), rows_of(settings)
    methods = {"factor": "scale", "clocks": "two_clocks"}
    methods = methods if model in SINGLE else {"scaled": "scale"}
    unfitted = clone(fit_model(plan_of(settings), rows)) if model in SINGLE else None
    for way, method in methods.items():
        base = unfitted or METHODS[model].make(**clock_arguments(plan_of(settings)))
        wrapped = CalibratedRegressor(base, method=method, tails=tails, **ONE_FACTOR)
        wrapped.fit(rows.X, rows.y)
        assert_scored(look.scores[way], wrapped.predict_distribution(rows.X_scored), rows)
        mine = look.clocks[way]
        assert (mine.factor, mine.df) == pytest.approx((wrapped.factor_, wrapped.df_))
        if method == "two_clocks":
            theirs = wrapped.clocks_
            assert (mine.mean_trees, mine.scale_trees) == (theirs.mean_trees, theirs.scale_trees)
    if model in SINGLE:
        assert not look.fit.scoring.knowledge.any()
        assert look.fit.memory_bytes is None
        return
    own = wrapped.estimator_.predict_distribution(rows.X_scored)
    assert_scored(look.scores["as_is"], own, rows)
    assert look.maps.nll[0, 0, 0] == look.scores["as_is"]["nll"]
    # The map's factor comes from another search, to half a per cent.
    assert look.maps.nll[1, 0, 0] == pytest.approx(look.scores["scaled"]["nll"], rel=1e-3)


def test_the_mean_of_a_cyclical_ensemble_stops_after_its_second_cycle():
    look = look_of(replace(SMALL, model="csglb"))
    stages = look.fit.choosing
    assert stages.n_trees[stages.for_mean].tolist() == [80, 120, 160, 200]
    assert look.clocks["clocks"].mean_trees in (80, 120, 160, 200)


def test_every_regression_that_states_a_spread_is_offered():
    offered = {METHODS[key].builder().of for key in MODELS}
    spreads = find_methods("regression", yields=("total",))
    assert {method.builder().of for method in spreads} == offered


def test_a_table_that_is_too_long_is_one_sentence(monkeypatch):
    few = replace(METHODS["gp"], most_rows=50)
    monkeypatch.setattr(two_clocks_fit, "METHODS", {**METHODS, "gp": few})
    with pytest.raises(InvalidParameter, match="takes at most 50 rows, and this table has 200"):
        fit(plan_of(replace(SMALL, model="gp")))


@pytest.mark.parametrize("df", [2.2, 5.0, math.inf])
@pytest.mark.parametrize("n_rows", [1, 7, 8, 200])
def test_logarithms_of_products_are_the_likelihood(rng, n_rows, df):
    squared, knowledge = rng.exponential(1e6, n_rows), rng.exponential(1e4, n_rows)
    data, factors = rng.exponential(1e6, (3, n_rows)), np.array([0.1, 1.0, 9.0])
    means = MeanNLL(squared, knowledge, data, df)(factors)
    variance = factors[:, None] ** 2 * data + knowledge
    np.testing.assert_allclose(
        means, student_nll(squared, variance, df).mean(axis=1), rtol=SAME_SUM
    )


@pytest.mark.parametrize("model", SINGLE)
def test_a_librarys_fit_counts_its_trees_and_ends_when_nobody_wants_it(model, monkeypatch):
    pytest.importorskip(model)
    plan, seen = plan_of(replace(SMALL, model=model, trees=2000, ngboost_trees=500)), []

    def look_at_and_stop(done, tick=progress.tick):
        seen.append(current_job().fraction)
        if len(seen) == 21:
            current_job().stop()
        tick(done)

    for module in (two_clocks_fit, progress):  # NGBoost counts there, CatBoost's watcher here
        monkeypatch.setattr(module, "tick", look_at_and_stop)
    job = JobRunner().want("me", "fit", lambda _: fit(plan), 1.0)
    job.wait(60.0)
    assert job.stopped
    assert len(seen) == 21
    assert seen[20] > seen[2] > 0.0


@pytest.mark.parametrize("model", MODELS)
def test_a_fit_depends_on_no_knob_that_its_model_does_not_have(model):
    plan = plan_of(TwoClocksSettings(model=model))
    alike = {"ngboost_trees": 50} if model != "ngboost" else {"trees": 100}
    alike |= {"members": 9} if model not in WITH_MEMBERS else {}
    alike |= {"mean_weight": 1.0} if model not in WEIGHTED else {}
    if model in WITHOUT_CLOCKS:
        alike |= {"trees": 100, "rate": 0.3, "depth": 6}
    assert plan_of(TwoClocksSettings(model=model, **alike)) == plan


def test_maps_agree_with_the_ways_and_with_the_curves():
    look = look_of(replace(SMALL, tails="normal"))
    maps, trees = look.maps, list(look.n_trees)
    for way, scaled in (("all", 0), ("early", 0), ("clocks", 1)):
        clocks, scores = look.clocks[way], look.scores[way]
        at = trees.index(clocks.scale_trees), trees.index(clocks.mean_trees)
        # The map's factor comes from another search, to half a per cent.
        assert maps.nll[scaled][at] == pytest.approx(scores["nll"], rel=1e-3)
        assert maps.coverage[scaled][at] == pytest.approx(scores["coverage"], abs=2e-3)
        assert maps.rmse[at[1]] == pytest.approx(scores["rmse"])
    # The map has the NLL of the density, the curve that at the resolution of the target.
    np.testing.assert_allclose(np.diag(maps.nll[0]), look.curves["nll"], rtol=0, atol=1e-4)
    np.testing.assert_allclose(np.diag(maps.coverage[0]), look.curves["coverage"], atol=2e-3)
    np.testing.assert_allclose(maps.rmse, look.curves["rmse"], rtol=SAME_SUM)


@pytest.mark.parametrize(("a", "b"), [(0, 0), (10, 30), (-1, -1), (-1, 5)])
def test_the_maps_factors_are_the_best_on_the_rows_that_choose(a, b):
    look = look_of()
    chosen, df = look.fit.choosing, look.maps.df
    squared = (chosen.mean[a] - chosen.y) ** 2

    def score(log_factor):
        variance = math.exp(2 * log_factor) * chosen.data[b] + chosen.knowledge[a]
        return student_nll(squared, variance, df).mean()

    best = minimize_scalar(score, bounds=(-4, 4), method="bounded")
    assert score(math.log(look.maps.factor[b, a])) <= best.fun + 1e-5


def test_the_story_early_stopping_is_on_the_diagonal_and_two_clocks_is_off_it():
    """At the page's own settings, but fewer trees and rows; 10 of 10 seeds at the full ones."""
    look = look_of(TwoClocksSettings(rows=300, trees=500, members=2))
    clocks, scores, curves = look.clocks, look.scores, look.curves
    assert clocks["factor"].mean_trees == clocks["factor"].scale_trees == 500
    assert clocks["early"].mean_trees == clocks["early"].scale_trees
    assert clocks["clocks"].mean_trees > clocks["clocks"].scale_trees
    assert scores["all"]["coverage"] < LEAST_SHARE < scores["clocks"]["coverage"]
    for name in ("nll", "crps"):
        others = min(scores[way][name] for way in ("all", "factor", "early"))
        assert scores["truth"][name] < scores["clocks"][name] < others
    assert curves["rmse"].argmin() > curves["nll"].argmin()
    assert curves["stated"][-1] < 0.6 * curves["rmse"][-1]


@pytest.mark.parametrize("data", DATA)
def test_rows_that_score_did_not_train_and_the_truth_is_theirs(data):
    rows = rows_of(replace(SMALL, data=data))
    trained = {tuple(row) for row in np.column_stack([rows.X, rows.y])}
    assert not trained & {tuple(row) for row in np.column_stack([rows.X_scored, rows.y_scored])}
    scene = rows.scene
    assert np.all(np.diff(scene.x) > 0)
    assert (scene.mean is None) == (data == "diabetes")
    if scene.mean is not None:
        z = (rows.y_scored - rows.mean_scored) / rows.std_scored
        assert abs(z.std() - 1.0) < 4 / (2 * len(z)) ** 0.5  # four standard errors
        at, std = (np.interp(scene.x_rows, scene.x, each) for each in (scene.mean, scene.std))
        held = np.abs(scene.y_rows - at) <= half_width(math.inf) * std
        assert abs(held.mean() - 0.9) < 0.12  # 121 rows at least: four standard errors


def test_tails_and_the_place_of_the_sliders_retrain_nothing():
    before = count_fits()
    assert math.isinf(view(fit_of(SMALL), replace(SMALL, tails="normal")).maps.df)
    assert count_fits() - before <= 1  # where no test has fitted it before
    assert plan_of(replace(SMALL, clocks=(5, 5, False), tails="normal")) == plan_of(SMALL)


@pytest.mark.parametrize("clocks", [None, (5, 1000, True), (1000, 5, False)])
def test_the_clocks_in_a_link_say_what_they_mean(clocks):
    assert read_clocks(write_clocks(clocks)) == clocks


@pytest.mark.parametrize(
    ("numbers", "held"),
    [
        ({"nll": 0.5, "nll_early": 1.0, "nll_below_early": 0.5}, {"nll"}),
        ({"nll": 1.0, "nll_early": 1.0, "nll_below_early": 0.0}, set()),  # equals win nothing
        ({"coverage": 0.9, "true": 0.04}, {"true"}),
        ({"coverage": 1.0, "true": -0.03}, set()),  # too wide
    ],
)
def test_a_claim_holds_where_a_score_is_lower_or_a_share_is_true(numbers, held):
    claims = judge(CLAIMS, {"clocks": {"nll_factor": math.nan, **numbers}})
    assert {claim.key for claim in claims if claim.verdict == "holds"} == held
    assert len(claims) == 1


def test_what_is_stored_says_that_two_clocks_is_true_and_all_trees_are_not():
    """Over ten seeds of the opening settings: what the chips say first is what is seen."""
    outcomes = TWO_CLOCKS.seeds.stored(TWO_CLOCKS.seeds.plan(TWO_CLOCKS.first_settings))
    held = {count.key: count.n_held for count in count_verdicts(outcomes)}
    assert len(outcomes) == held["narrow"] == held["true"] == 10


COPIED = [*(("sglb", data) for data in DATA), *((model, "wave") for model in WITH_CLOCKS[1:])]


@pytest.mark.parametrize(("model", "data"), [*COPIED, ("knn", "wave"), ("gnll", "diabetes")])
def test_the_copied_code_prints_the_pages_scores(model, data, capsys):
    if METHODS[model].missing():
        pytest.skip(METHODS[model].missing())
    trees = 40 if model in (*SINGLE, "sglb") else 100
    settings = replace(
        SMALL, data=data, model=model, rows=100, trees=trees, ngboost_trees=8, members=2
    )
    exec(TWO_CLOCKS.python(settings), {})
    printed = capsys.readouterr().out.split()
    numbers = [float(text) for text in printed if text.replace(".", "").lstrip("-").isdigit()]
    look = look_of(settings)
    ways = ("all", "factor", "clocks") if model in SINGLE else tuple(STOPPINGS)
    if model in CYCLICAL:  # without stopping, each member has the std of its own cycle's end
        ways = ("early", "clocks")
    for way in ways if model in WITH_CLOCKS else look.clocks:
        for name in ("nll", "crps"):
            value = pytest.approx(look.scores[way][name], rel=CANCELLED)
            assert any(number == value for number in numbers)


@pytest.mark.parametrize("data", DATA)
def test_the_band_is_sent_once_for_every_pair_of_clocks(data):
    settings = replace(SMALL, data=data, rows=100, trees=100, members=2)
    look, settings = look_of(settings), replace(settings, clocks=(41, 5, False))
    run = TWO_CLOCKS.gather(settings, [look])
    dials, stages = TWO_CLOCKS.picture(run, ()).spec["dials"], look.fit.scene
    for name, field in (("loc", "mean"), ("data", "data"), ("knowledge", "knowledge")):
        values = np.reshape(dials[name], stages.mean.shape)  # with five digits
        np.testing.assert_allclose(values, getattr(stages, field), rtol=1e-4, atol=NEAR_ZERO)
    trees = dials["trees"]
    assert abs(trees[dials["mean"]] - 41) <= 5
    assert (trees[dials["scale"]], dials["factor"]) == (5, False)
    # The maps mark each way where it stops, and where the sliders are.
    plain, scaled = clocks_sheet(look, settings).panels
    named = [label for panel in (plain, scaled) for mark in panel.markers
             for label in mark.label.split(" = ")]  # fmt: skip
    assert {*named} - {"", "shown"} == {*settings.ways.values()}
    assert (plain.markers[-1].shape, plain.limits) == ("square", scaled.limits)
    assert plain.markers[0].x == plain.markers[0].y == len(trees) - 1  # all trees


def test_what_a_model_without_clocks_left_moves_no_slider():
    left = replace(SMALL, clocks=(1, 1, False))
    assert left.shown is None
    assert replace(left, model="knn").shown == (1, 1, False)


def test_the_picture_that_the_page_opens_with_shows_what_its_claims_say():
    """Share of the drawn dots in the band, and the band beside the true one, over six seeds."""
    first = TWO_CLOCKS.first_settings
    looks = [look_of(replace(first, seed=seed)) for seed in range(6)]
    seen = np.array(list(map(seen_and_claimed, looks)))
    agrees = (seen[:, 0] == seen[:, 1]) & (seen[:, 2] == seen[:, 3])
    assert agrees.sum() >= 5
    # And what they say is what the page is about.
    assert seen.all(axis=1).sum() >= 5


def seen_and_claimed(look):
    """Too narrow with all trees, right with two clocks: each to the eye and by the claim."""
    scene, inside, width = rows_of(look.fit.plan).scene, {}, {}
    for way in ("all", "clocks"):
        lower, upper = law_of(look.fit.scene, look.clocks[way]).interval(0.9)
        x, y = scene.x_rows[:400], scene.y_rows[:400]  # as many dots are drawn
        low, high = (np.interp(x, scene.x, end) for end in (lower, upper))
        inside[way] = np.mean((low <= y) & (y <= high))
        among = (scene.x > 0.0) & (scene.x < 10.0)  # the rows
        true = 2.0 * half_width(math.inf) * scene.std[among]
        width[way] = np.median((upper - lower)[among] / true)
    run = TWO_CLOCKS.gather(look.fit.plan, [look])
    verdicts = {claim.key: claim.verdict == "holds" for claim in TWO_CLOCKS.judge(run)}
    return (
        inside["all"] < LEAST_SHARE and width["all"] < 0.75,
        verdicts["narrow"],
        # 400 dots: the share has a standard error of 1.5 %.
        LEAST_SHARE - 0.015 <= inside["clocks"] <= MOST_SHARE and 0.8 < width["clocks"] < 1.3,
        verdicts["true"],
    )
