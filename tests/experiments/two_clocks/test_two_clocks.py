"""Two clocks: the page's fits are the estimator's, its scores those of the library."""

import csv
import io
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.base import clone as clone_of
from tolerances import CANCELLED, NINE_DIGITS, SAME_SUM

from gbuq_core import BoostedEnsembleRegressor, CalibratedRegressor, progress
from gbuq_core.calibration.clocks import student_nll
from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.claims import chips_of
from gbuq_core.experiments.seeds import count_verdicts
from gbuq_core.experiments.two_clocks import fit, scores
from gbuq_core.experiments.two_clocks.data import rows_of
from gbuq_core.experiments.two_clocks.experiment import (
    describe_data,
    describe_two_clocks,
    maps_csv,
    score_rows,
    scores_csv,
    seed_rows,
    two_clocks_code,
)
from gbuq_core.experiments.two_clocks.fit import (
    clock_arguments,
    count_fits,
    fit_model,
    fit_two_clocks,
)
from gbuq_core.experiments.two_clocks.plan import (
    CYCLICAL,
    DATA,
    MODELS,
    SINGLE,
    WAYS,
    WEIGHTED,
    WITH_CLOCKS,
    WITH_MEMBERS,
    WITHOUT_CLOCKS,
    TwoClocksSettings,
    seeds_of,
)
from gbuq_core.experiments.two_clocks.scores import (
    LEAST_SHARE,
    SCORES,
    SeedScores,
    check_seed,
    check_seeds,
    half_width,
    look_two_clocks,
    score_seeds,
    verdicts_of,
)
from gbuq_core.jobs import JobRunner, current_job
from gbuq_core.methods import METHODS, find_methods
from gbuq_core.metrics import find_resolution, log_scores
from gbuq_core.presentation import short
from gbuq_core.settings import plan_of

SMALL = TwoClocksSettings(data="growing noise", rows=200, trees=200, members=3)
# The page shows one factor and the moments, in its exported code too.
ONE_FACTOR = {"random_state": 0, "shape": "moments", "floor": False}
STOPPINGS = {"all": None, "early": "early", "clocks": "two_clocks"}


@cache
def fit_of(settings):
    return fit_two_clocks(plan_of(settings))


@cache
def unfitted_of(plan):
    return clone_of(fit_model(plan, rows_of(plan)))


@cache
def look_of(settings=SMALL):
    return look_two_clocks(fit_of(replace(settings, tails="student")), settings.tails)


def log_score(law, rows):
    return log_scores(law, rows.y_scored, find_resolution(rows.y)).mean


@pytest.mark.parametrize("tails", ["student", "normal"])
@pytest.mark.parametrize("way", STOPPINGS)
def test_each_way_is_the_estimators_own(way, tails):
    look = look_of(replace(SMALL, tails=tails))
    rows = look.fit.rows
    model = BoostedEnsembleRegressor(
        stopping=STOPPINGS[way],
        mean_weight=100.0,
        tails=tails,
        n_members=3,
        n_trees=200,
        depth=3,
        random_state=0,
    ).fit(rows.X, rows.y)
    law = model.predict_distribution(rows.X_scored)
    score = look.scores[list(WAYS).index(way)]
    # The same sums in another order.
    assert score.nll == pytest.approx(log_score(law, rows), rel=CANCELLED)
    assert score.crps == pytest.approx(law.crps(rows.y_scored).mean(), rel=CANCELLED)
    if model.clocks_ is not None:
        mine, theirs = look.clocks[way], model.clocks_
        assert (mine.mean_trees, mine.scale_trees) == (theirs.mean_trees, theirs.scale_trees)
        assert (mine.factor, mine.df) == (theirs.factor, theirs.df)


@pytest.mark.filterwarnings("ignore:The best number of trees")
@pytest.mark.parametrize(
    ("model", "kind"),
    [
        ("sgb", {"method": "sgb"}),
        ("virtual_sglb", {"ensemble": "virtual"}),
        ("csglb", {"method": "csglb", "cycle_length": 20}),
        ("cbsglb", {"method": "cbsglb", "cycle_length": 20}),
    ],
)
def test_each_ensemble_is_the_estimators_own(model, kind):
    look = look_of(replace(SMALL, model=model, trees=100))
    rows, score = look.fit.rows, look.scores[list(WAYS).index("clocks")]
    own = BoostedEnsembleRegressor(
        **kind,
        mean_weight=100.0,
        n_members=3,
        n_trees=100,
        depth=3,
        learning_rate=0.1,
        random_state=0,
    ).fit(rows.X, rows.y)
    law = own.predict_distribution(rows.X_scored)
    assert score.nll == pytest.approx(log_score(law, rows), rel=CANCELLED)
    assert score.crps == pytest.approx(law.crps(rows.y_scored).mean(), rel=CANCELLED)


@pytest.mark.filterwarnings("ignore:The best number of trees")
@pytest.mark.parametrize("tails", ["student", "normal"])
@pytest.mark.parametrize("model", SINGLE)
def test_another_librarys_model_stops_where_the_wrapper_stops_it(model, tails):
    pytest.importorskip(model)
    # A high rate, so that NGBoost's clocks differ within few trees.
    few = {"rows": 100, "ngboost_trees": 15, "rate": 0.3} if model == "ngboost" else {}
    look = look_of(replace(SMALL, model=model, trees=60, tails=tails, **few))
    rows, plan = look.fit.rows, look.fit.plan
    unfitted = unfitted_of(plan)
    for way, method in (("factor", "scale"), ("clocks", "two_clocks")):
        wrapped = CalibratedRegressor(unfitted, method=method, tails=tails, **ONE_FACTOR)
        law = wrapped.fit(rows.X, rows.y).predict_distribution(rows.X_scored)
        score, mine = look.scores[list(WAYS).index(way)], look.clocks[way]
        assert (mine.factor, mine.df) == pytest.approx((wrapped.factor_, wrapped.df_))
        assert score.nll == pytest.approx(log_score(law, rows), rel=CANCELLED)
        if method == "two_clocks":
            theirs = wrapped.clocks_
            assert (mine.mean_trees, mine.scale_trees) == (theirs.mean_trees, theirs.scale_trees)
    assert not look.fit.scoring.knowledge.any()
    assert look.fit.memory_bytes is None
    assert list(look.maps.n_trees) == list(look.fit.choosing.n_trees)


def test_the_mean_of_a_cyclical_ensemble_stops_after_its_second_cycle():
    look = look_of(replace(SMALL, model="csglb", trees=100))
    stages = look.fit.choosing
    assert stages.n_trees[stages.for_mean].tolist() == [40, 60, 80, 100]
    assert look.clocks["clocks"].mean_trees in (40, 60, 80, 100)
    words = describe_data(replace(SMALL, model="csglb", trees=100))
    assert "a member at the end of every 20 trees" in words


@pytest.mark.parametrize("tails", ["student", "normal"])
@pytest.mark.parametrize("model", ["knn", "quantile", "macau_basic", "xbart"])
def test_a_model_without_clocks_is_scaled_as_the_wrapper_scales_it(model, tails):
    if METHODS[model].missing():
        pytest.skip(METHODS[model].missing())
    look = look_of(replace(SMALL, rows=100, model=model, tails=tails))
    rows, plan = look.fit.rows, look.fit.plan
    unfitted = METHODS[model].make(**clock_arguments(plan))
    wrapped = CalibratedRegressor(unfitted, method="scale", tails=tails, **ONE_FACTOR)
    scaled = wrapped.fit(rows.X, rows.y).predict_distribution(rows.X_scored)
    own = wrapped.estimator_.predict_distribution(rows.X_scored)
    assert list(look.labels.values()) == ["As it is", "One factor"]
    for score, law in zip(look.scores, (own, scaled), strict=False):
        assert score.nll == pytest.approx(log_score(law, rows), rel=CANCELLED)
        assert score.crps == pytest.approx(law.crps(rows.y_scored).mean(), rel=CANCELLED)
    assert look.scores[0].rmse == pytest.approx(look.scores[1].rmse)  # one prediction
    factor = look.clocks["factor"]
    assert (factor.factor, factor.df) == pytest.approx((wrapped.factor_, wrapped.df_))
    assert look.maps.nll_plain[0, 0] == look.scores[0].nll
    assert look.maps.nll_scaled[0, 0] == pytest.approx(look.scores[1].nll, rel=1e-3)
    assert "trees for the" not in describe_two_clocks(look)


def test_every_regression_that_states_a_spread_is_offered():
    offered = {METHODS[key].builder().of for key in MODELS}
    spreads = find_methods("regression", yields=("total",))
    assert {method.builder().of for method in spreads} == offered
    assert MODELS[:5] == ("sglb", "sgb", "virtual_sglb", "catboost", "ngboost")


def test_a_table_that_is_too_long_is_one_sentence(monkeypatch):
    few = replace(METHODS["gp"], most_rows=50)
    monkeypatch.setattr(fit, "METHODS", {**METHODS, "gp": few})
    with pytest.raises(InvalidParameter, match="takes at most 50 rows, and this table has 200"):
        fit_two_clocks(plan_of(replace(SMALL, model="gp")))


@pytest.mark.parametrize("df", [2.2, 5.0, math.inf])
@pytest.mark.parametrize("n_rows", [1, 7, 8, 200])
def test_logarithms_of_products_are_the_likelihood(rng, n_rows, df):
    squared, knowledge = rng.exponential(1e6, n_rows), rng.exponential(1e4, n_rows)
    data, factors = rng.exponential(1e6, (3, n_rows)), np.array([0.1, 1.0, 9.0])
    means = scores._MeanNLL(squared, knowledge, data, df)(factors)
    variance = factors[:, None] ** 2 * data + knowledge
    np.testing.assert_allclose(
        means, student_nll(squared, variance, df).mean(axis=1), rtol=SAME_SUM
    )


@pytest.mark.parametrize("model", SINGLE)
def test_a_librarys_fit_counts_its_trees_and_ends_when_nobody_wants_it(model):
    pytest.importorskip(model)
    plan = plan_of(replace(SMALL, model=model, trees=2000, ngboost_trees=500))
    seen = []

    def look_at_and_stop(done, tick=progress.tick):
        seen.append(current_job().fraction)
        if len(seen) == 21:
            current_job().stop()
        tick(done)

    runner = JobRunner()
    with pytest.MonkeyPatch.context() as patch:
        for module in (fit, progress):  # NGBoost counts there, CatBoost's watcher here
            patch.setattr(module, "tick", look_at_and_stop)
        job = runner.want("me", "fit", lambda _: fit_two_clocks(plan), 1.0)
        job.wait(60.0)
    assert job.stopped
    assert len(seen) == 21
    assert seen[20] > seen[2] > 0.0


@pytest.mark.parametrize("model", MODELS)
def test_a_fit_depends_on_no_knob_that_its_model_does_not_have(model):
    plan = plan_of(TwoClocksSettings(model=model))
    alike = {"ngboost_trees": 50, "members": 9, "mean_weight": 1.0}
    for names, of_models in (("ngboost_trees", "ngboost"), ("members", WITH_MEMBERS)):
        if model in of_models:
            del alike[names]
    if model in WEIGHTED:
        del alike["mean_weight"]
    if model == "ngboost":
        alike["trees"] = 100
    if model in WITHOUT_CLOCKS:
        alike |= {"trees": 100, "rate": 0.3, "depth": 6}
    assert plan_of(TwoClocksSettings(model=model, **alike)) == plan
    assert seeds_of(plan) == (5 if model == "ngboost" or model in WITHOUT_CLOCKS else 10)


def test_one_factor_keeps_all_trees():
    clocks = look_of().clocks["factor"]
    assert clocks.mean_trees == clocks.scale_trees == SMALL.trees
    assert clocks.factor > 1.0


def test_the_marks_scores_are_those_of_the_maps():
    look = look_of(replace(SMALL, tails="normal"))
    maps, trees = look.maps, list(look.maps.n_trees)
    for way, nll, coverage in (
        ("all", maps.nll_plain, maps.coverage_plain),
        ("early", maps.nll_plain, maps.coverage_plain),
        ("clocks", maps.nll_scaled, maps.coverage_scaled),
    ):
        clocks, score = look.clocks[way], look.scores[list(WAYS).index(way)]
        at = trees.index(clocks.scale_trees), trees.index(clocks.mean_trees)
        # The map's factor comes from another search, to half a per cent.
        assert nll[at] == pytest.approx(score.nll, rel=1e-3)
        assert coverage[at] == pytest.approx(score.coverage, abs=2e-3)
        assert maps.rmse[at[1]] == pytest.approx(score.rmse)


def test_the_diagonal_of_the_map_is_the_curve_over_trees():
    look = look_of()
    # The map has the density's, the curve that at the resolution of the target.
    np.testing.assert_allclose(np.diag(look.maps.nll_plain), look.curves.nll, rtol=0, atol=1e-4)
    np.testing.assert_allclose(np.diag(look.maps.coverage_plain), look.curves.coverage, atol=2e-3)
    np.testing.assert_allclose(look.maps.rmse, look.curves.rmse, rtol=SAME_SUM)


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
    every, factor, early, clocks, truth = look.scores
    assert early.clocks.mean_trees == early.clocks.scale_trees
    assert clocks.clocks.mean_trees > clocks.clocks.scale_trees
    assert every.coverage < LEAST_SHARE < clocks.coverage
    assert truth.nll < clocks.nll < min(every.nll, factor.nll, early.nll)
    assert truth.crps < clocks.crps < min(every.crps, early.crps)
    curves = look.curves
    assert curves.n_trees[curves.rmse.argmin()] > curves.n_trees[curves.nll.argmin()]
    assert curves.stated[-1] < 0.6 * curves.rmse[-1]


@pytest.mark.parametrize("data", DATA)
def test_rows_that_score_are_not_rows_that_train(data):
    rows = rows_of(plan_of(replace(SMALL, data=data, rows=100)))
    trained = {tuple(row) for row in np.column_stack([rows.X, rows.y])}
    assert not trained & {tuple(row) for row in np.column_stack([rows.X_scored, rows.y_scored])}
    scene = rows.scene
    assert (scene.mean is None) == (data == "diabetes")
    assert np.all(np.diff(scene.x) > 0)


def test_the_truth_of_the_picture_is_the_truth_of_the_rows():
    for data in ("five features", "growing noise", "wave"):
        rows = rows_of(plan_of(replace(SMALL, data=data)))
        z = (rows.y_scored - rows.mean_scored) / rows.std_scored
        assert abs(z.std() - 1.0) < 4 / (2 * len(z)) ** 0.5  # four standard errors
        scene = rows.scene
        at = np.interp(scene.x_rows, scene.x, scene.mean)
        width = np.interp(scene.x_rows, scene.x, scene.std)
        held = np.abs(scene.y_rows - at) <= half_width(math.inf) * width
        assert abs(held.mean() - 0.9) < 0.12


def test_tails_and_the_place_of_the_sliders_retrain_nothing():
    student = look_of()
    before = count_fits()
    two = look_two_clocks(student.fit, "normal")
    assert count_fits() == before
    assert math.isinf(two.maps.df)
    shown = replace(SMALL, clocks=(5, 5, False), tails="normal")
    assert plan_of(shown) == plan_of(SMALL)


def test_seeds_are_fits_of_their_own_and_the_first_is_the_pages():
    settings = replace(SMALL, data="wave", rows=100, trees=50, members=2, seed=4)
    seeds = score_seeds(plan_of(settings), 2)
    assert seeds.seeds == (4, 5)
    look = look_of(settings)
    first = seeds.by_tails["student"][0]
    for way, score in zip(first, look.scores, strict=False):
        assert way.tolist() == [getattr(score, name) for name in SCORES]
    assert len(seed_rows(seeds.by_tails["normal"])) == 1 + len(WAYS)


def keyed(claims):
    return {claim.key: claim for claim in claims}


def made_up(wins, n=10):
    """Scores in which two clocks has the lower NLL in so many seeds, and 90 % coverage."""
    scores = np.ones((n, 4, 4))
    scores[:, :, 0] = 0.9
    scores[:, 3, 1] = np.where(np.arange(n) < wins, 0.5, 1.5)
    return scores


@pytest.mark.parametrize(
    ("wins", "verdict"),
    [(10, "holds"), (8, "holds"), (7, "partly"), (6, "partly"), (5, "does not hold")],
)
def test_a_verdict_counts_seeds(wins, verdict):
    claim = keyed(verdicts_of(made_up(wins)))["nll"]
    assert claim.verdict == verdict
    assert f"in {wins} of 10 seeds" in claim.here


def test_verdicts_of_a_model_without_clocks_are_about_its_factor():
    scores = made_up(0)[:, :2]
    scores[:, 1, 1] = 0.5
    claims = verdicts_of(scores)
    assert [claim.verdict for claim in claims] == ["holds", "does not hold", "holds", "holds"]
    assert [row[0] for row in seed_rows(scores)] == ["", "As it is", "One factor"]


def test_seeds_are_counted_one_by_one_and_a_chip_says_what_they_say():
    scores = SeedScores(seeds=tuple(range(10)), by_tails={"normal": made_up(7)})
    counts = count_verdicts(check_seeds(scores, "normal"))
    claims = verdicts_of(scores.by_tails["normal"])
    assert [count.key for count in counts] == [claim.key for claim in claims]
    assert keyed(counts)["nll"].text == "holds in 7 of 10 seeds"
    assert keyed(counts)["nll"].dots[9].value == "NLL 1.5 against 1"
    assert [claim.answer for claim in chips_of(claims)] == [
        "All trees: too narrow: no, 0 of 10 seeds",
        "Two clocks' intervals are true: yes, 10 of 10 seeds",
        "Lower NLL than early stopping: partly, 7 of 10 seeds",
    ]
    look = look_of(replace(SMALL, data="wave", rows=100, trees=50, members=2))
    of_seed = check_seed(look.scores)  # the truth's scores, too, are in there
    assert [claim.key for claim in of_seed] == [claim.key for claim in claims]
    assert keyed(of_seed)["nll"].value.endswith(f"against {short(look.scores[2].nll)}")


def test_equal_scores_win_nothing_and_coverage_has_two_sides():
    claims = verdicts_of(made_up(0))
    assert [claim.key for claim in claims if claim.verdict != "does not hold"] == ["true"]
    wide = made_up(10)
    wide[:, 3, 0] = 1.0
    assert keyed(verdicts_of(wide))["true"].verdict == "does not hold"
    wide[:, 0, 0] = 0.5
    assert keyed(verdicts_of(wide))["narrow"].verdict == "holds"


COPIED = [*(("sglb", data) for data in DATA), *((model, "wave") for model in WITH_CLOCKS[1:])]


@pytest.mark.filterwarnings("ignore:The best number of trees")
@pytest.mark.parametrize(("model", "data"), [*COPIED, ("knn", "wave"), ("gnll", "diabetes")])
def test_the_copied_code_prints_the_pages_scores(model, data, capsys):
    if METHODS[model].missing():
        pytest.skip(METHODS[model].missing())
    trees = 40 if model in (*SINGLE, "sglb") else 100
    settings = replace(
        SMALL, data=data, model=model, rows=100, trees=trees, ngboost_trees=8, members=2
    )
    exec(two_clocks_code(settings), {})
    printed = capsys.readouterr().out.split()
    numbers = [float(text) for text in printed if text.replace(".", "").lstrip("-").isdigit()]
    look = look_of(settings)
    ways = ("all", "factor", "clocks") if model in SINGLE else tuple(STOPPINGS)
    if model in CYCLICAL:  # without stopping, each member has the std of its own cycle's end
        ways = ("early", "clocks")
    for way in ways if model in WITH_CLOCKS else look.labels:
        score = look.scores[list(look.labels).index(way)]
        for value in (score.nll, score.crps):
            assert any(number == pytest.approx(value, rel=CANCELLED) for number in numbers)


def test_tables_have_a_line_a_way_and_a_pair():
    look = look_of()
    lines = list(csv.DictReader(io.StringIO(scores_csv(look))))
    assert [line["way"] for line in lines] == [*WAYS.values(), "The truth"]
    assert float(lines[3]["nll"]) == pytest.approx(look.scores[3].nll, rel=NINE_DIGITS)
    pairs = list(csv.DictReader(io.StringIO(maps_csv(look))))
    assert len(pairs) == len(look.maps.n_trees) ** 2
    at = next(p for p in pairs if (p["mean_trees"], p["scale_trees"]) == ("200", "5"))
    assert float(at["nll"]) == pytest.approx(look.maps.nll_plain[0, -1], rel=NINE_DIGITS)


def test_the_words_name_every_way_with_its_clocks():
    look = look_of()
    words = describe_two_clocks(look)
    clocks = look.clocks["clocks"]
    assert f"Two clocks ({clocks.mean_trees} trees for the mean, {clocks.scale_trees}" in words
    assert all(label in words for label in (*WAYS.values(), "The truth"))
    assert len(score_rows(look)) == 6
    table = look_of(replace(SMALL, data="diabetes", trees=20, members=2))
    assert len(score_rows(table)) == 5
