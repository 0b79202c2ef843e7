"""Methods side by side: the same rows, scores and differences recomputed by hand, failures."""

import math
import random
import threading
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from table_parts import as_table
from tolerances import CANCELLED, SAME_SUM

from gbuq_core.errors import Cancelled, InvalidParameter
from gbuq_core.jobs import JobRunner
from gbuq_core.methods import METHODS
from gbuq_core.metrics import prr
from gbuq_core.tables import (
    MethodRun,
    ScorePlan,
    compare_methods,
    compare_runs,
    describe_comparison,
    infer_schema,
    prepare_training,
    run_methods,
    score_table,
    why_not_compared,
)
from gbuq_core.tables.comparing import run_method
from gbuq_core.tables.plan import check_methods, compared_methods, tells_total
from gbuq_core.tables.predicting import ListedModel, assign_folds, held_out_fifth

FAST = ScorePlan(ensemble="virtual", n_trees=30, depth=2, n_members=2, n_jobs=1)


def frame_of(n=90, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, n)
    z = rng.normal(size=n)
    return pd.DataFrame({"x": x, "z": z, "y": np.sin(2 * x) + 0.3 * rng.normal(size=n)}).round(6)


def prepared_of(frame, target="y"):
    table = as_table(frame)
    return prepare_training(table, infer_schema(table), target)


def made_up(key, seed, n=50, shift=0.0):
    rng = np.random.default_rng(seed)
    shared = np.random.default_rng(99).normal(size=n)
    error = shared + 0.3 * rng.normal(size=n) + shift
    return MethodRun(
        key=key,
        plan=FAST,
        rows=np.arange(n),
        values={
            "nll": 0.5 * error**2,
            "crps": np.abs(error),
            "squared_error": error**2,
            "inside": (np.abs(error) < 1.5).astype(float),
        },
        total=rng.exponential(size=n),
        seconds=1.0,
    )


def test_scores_and_differences_are_those_of_the_rows():
    """The slow twin: loops over rows, one formula a score."""
    run, other = made_up("ibug", 1), made_up("knn", 2, shift=0.8)
    compared = compare_runs([run, other], reference="ibug")
    n = len(run.rows)

    def mean(values):
        return sum(values) / len(values)

    def error_of_mean(values):
        centre = mean(values)
        return math.sqrt(sum((v - centre) ** 2 for v in values) / (n - 1) / n)

    first, second = compared.methods
    for score, name in (("nll", "nll"), ("crps", "crps"), ("coverage", "inside")):
        a, b = list(run.values[name]), list(other.values[name])
        assert first.scores[score].value == pytest.approx(mean(a), rel=SAME_SUM)
        assert second.scores[score].se == pytest.approx(error_of_mean(b), rel=SAME_SUM)
        gap = second.differences[score]
        differences = [v - u for u, v in zip(a, b, strict=True)]
        assert gap.value == pytest.approx(mean(differences), rel=CANCELLED)
        assert gap.se == pytest.approx(error_of_mean(differences), rel=CANCELLED)
        assert gap.high - gap.low == pytest.approx(2 * 1.959964 * gap.se, rel=1e-6)
        assert gap.told_apart == (abs(gap.value) > 1.959964 * gap.se)
    assert not first.differences
    assert second.scores["prr"].value == prr(other.values["squared_error"], other.total)
    # The delta method against leaving out one row at a time, which agrees to about 1/n.
    roots = [
        math.sqrt(mean(np.delete(other.values["squared_error"], k)))
        - math.sqrt(mean(np.delete(run.values["squared_error"], k)))
        for k in range(n)
    ]
    jackknife = math.sqrt((n - 1) / n * sum((r - mean(roots)) ** 2 for r in roots))
    assert second.differences["rmse"].se == pytest.approx(jackknife, rel=0.1)
    assert second.differences["rmse"].value == pytest.approx(
        second.scores["rmse"].value - first.scores["rmse"].value, rel=SAME_SUM
    )


def test_the_bootstrap_draws_the_same_rows_for_all():
    run = made_up("ibug", 1)
    same = replace(run, key="knn")
    compared = compare_runs([run, same])
    assert compared.methods[1].differences["prr"].value == 0.0
    assert compared.methods[1].differences["prr"].se == 0.0
    assert compared.methods[0].scores["prr"].se > 1.0
    # 2,000 of the rows are drawn: as for all rows, but for chance.
    many = made_up("ibug", 1, n=8000)
    assert compare_runs([many]).methods[0].scores["prr"].se == pytest.approx(
        compare_runs([made_up("ibug", 1, n=2000)]).methods[0].scores["prr"].se / 2, rel=0.35
    )


def test_the_best_is_marked_and_words_say_what_is_not_told_apart():
    runs = [made_up("ibug", 1), made_up("gp", 3), made_up("knn", 2, shift=2.0)]
    compared = compare_runs(runs)
    values = {method.key: method.scores["nll"].value for method in compared.methods}
    assert compared.best["nll"] == min(values, key=values.get)
    sentences = describe_comparison(compared)
    assert len(sentences) == 5
    assert "Not told apart from it: " in sentences[0]
    assert "kNN is worse by" in sentences[0]
    frame = compared.frame()
    assert len(frame) == 15
    assert frame.best.sum() == 5
    assert frame.loc[frame.best, "difference"].isna().all()


def test_every_method_judges_the_same_rows_by_the_same_folds():
    frame = frame_of()
    frame.loc[5, "y"] = np.nan
    prepared = prepared_of(frame)
    runs = run_methods(["sgb", "knn", "catboost"], prepared, FAST)
    assert [run.error for run in runs] == [""] * 3
    for run in runs:
        assert run.rows.tolist() == [k for k in range(90) if k != 5]
    folds = assign_folds(prepared.y, False, FAST.seed)
    for fold in range(5):
        learnt = np.flatnonzero((folds >= 0) & (folds != fold))
        judged = np.flatnonzero(folds == fold)
        model = ListedModel("knn", "regression", {}, 1, FAST.seed)
        model.fit(prepared.X.iloc[learnt], prepared.y[learnt])
        loc = model.judge(prepared.X.iloc[judged]).loc
        kept = np.isin(runs[1].rows, judged)
        np.testing.assert_allclose(
            runs[1].values["squared_error"][kept], (prepared.y[judged] - loc) ** 2, rtol=SAME_SUM
        )


@pytest.mark.parametrize("second", [False, True])
def test_the_scored_method_is_not_fitted_again(monkeypatch, second):
    table = as_table(frame_of())
    new = as_table(frame_of(20, seed=1)) if second else None
    scored = score_table(table, "y", plan=FAST, new=new)
    made = []
    run = run_method
    monkeypatch.setattr(
        "gbuq_core.tables.comparing.run_method",
        lambda key, *rest: (made.append(key), run(key, *rest))[1],
    )
    compared = compare_methods(table, "y", ["virtual_sglb", "knn"], scored=scored)
    assert made == ["knn"]
    first, other = compared.methods
    assert first.scores["nll"].value == pytest.approx(scored.scores.nll, rel=SAME_SUM)
    assert first.scores["crps"].value == pytest.approx(scored.scores.crps, rel=SAME_SUM)
    assert first.scores["rmse"].value == pytest.approx(scored.scores.rmse, rel=SAME_SUM)
    assert first.scores["prr"].value == pytest.approx(scored.scores.prr.total, rel=SAME_SUM)
    assert other.scores
    held = held_out_fifth(scored.training.y, False, FAST.seed).sum()
    assert compared.n_rows == (held if second else 90)


def test_an_open_plan_is_settled_as_scoring_settles_it():
    table, plan = as_table(frame_of()), ScorePlan(method="sglb", depth=2, n_trees=20)
    scored = score_table(table, "y", plan=plan)
    (method,) = compare_methods(table, "y", ["sglb"], plan=plan).methods
    assert scored.plan.n_members == 5
    assert method.scores["nll"].value == pytest.approx(scored.scores.nll, rel=SAME_SUM)


def test_a_method_that_fails_does_not_lose_the_others(monkeypatch):
    def fail(self, X, y):
        raise ValueError("of a library")

    monkeypatch.setattr(ListedModel, "fit", fail)
    compared = compare_methods(as_table(frame_of()), "y", ["knn", "sgb"], plan=FAST)
    failed, done = compared.methods
    assert failed.error == "kNN failed on this table (ValueError)."
    assert not failed.scores
    assert done.scores["nll"].value
    assert compared.best["nll"] == "sgb"
    assert "SGB is best" in describe_comparison(compared)[0]
    none = compare_methods(as_table(frame_of()), "y", ["knn"], plan=FAST)
    assert describe_comparison(none) == ["No method could be compared."]


def test_a_cancelled_comparison_keeps_what_is_done():
    prepared = prepared_of(frame_of())
    kept, ready = [], threading.Event()

    def keep(run):
        kept.append(run.key)
        ready.wait(20)

    job = JobRunner().want(
        "me", "key", lambda job: run_methods(["sgb", "knn"], prepared, FAST, on_run=keep)
    )
    while not kept:
        assert not job.wait(0.01)
    job.stop()
    ready.set()
    with pytest.raises(Cancelled):
        job.result(20)
    assert kept == ["sgb"]


def test_reasons_say_why_a_method_cannot(monkeypatch):
    frame = frame_of()
    fits = why_not_compared(prepared_of(frame), FAST)
    assert set(fits) == {method.key for method in compared_methods()}
    assert "macau" not in fits
    for key, reason in fits.items():
        possible = tells_total(key, "regression") if METHODS[key].predicts else False
        assert bool(reason) != possible, (key, reason)
    frame.loc[3, "x"] = np.nan
    gaps = why_not_compared(prepared_of(frame), FAST)
    assert "cannot read missing values" in gaps["knn"]
    assert not gaps["ibug"]
    monkeypatch.setattr("gbuq_core.methods.record.is_installed", lambda name: name != "ngboost")
    lacking = why_not_compared(prepared_of(frame_of()), FAST)
    assert "is not installed" in lacking["ngboost"]
    monkeypatch.setattr("gbuq_core.tables.comparing.available_memory_bytes", lambda: 1000)
    assert "of memory" in why_not_compared(prepared_of(frame_of()), FAST)["ibug"]
    many = prepared_of(pd.concat([frame_of()] * 60))
    assert "takes at most 5,000 rows" in why_not_compared(many, FAST)["gp"]


def test_classes_are_compared_by_methods_without_members_too():
    frame = frame_of()
    frame["y"] = np.where(frame.y > 0.7, "high", np.where(frame.y > 0, "middle", "low"))
    reasons = why_not_compared(prepared_of(frame), FAST)
    assert reasons["ibug"] == "IBUG can predict numbers only."
    assert not reasons["macau_basic"]
    compared = compare_methods(as_table(frame), "y", ["macau_basic", "virtual_sglb"], plan=FAST)
    forest, boosted = compared.methods
    assert 0.0 < forest.scores["error_rate"].value < 0.6
    assert 0.0 < forest.scores["nll"].value < math.log(3)
    assert set(boosted.scores) == {"nll", "error_rate", "prr"}
    scored = score_table(as_table(frame), "y", plan=replace(FAST, method="macau_basic"))
    assert np.isfinite(scored.predictions.uncertainty.knowledge).all()


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        ([], "One to 4 methods"),
        (["sgb", "sglb", "csglb", "knn", "gp"], "got 5"),
        (["sgb", "sgb"], "named twice"),
        (["oracle"], "no method 'oracle'"),
        (["isolation"], "cannot predict a target"),
        (["vrf"], "predicts no noise"),
    ],
)
def test_impossible_choices_are_one_sentence(keys, sentence):
    with pytest.raises(InvalidParameter, match=sentence):
        check_methods(keys, "regression")


def test_a_reference_must_be_among_the_runs_and_rows_the_same():
    run = made_up("ibug", 1)
    with pytest.raises(InvalidParameter, match="not among"):
        compare_runs([run], reference="gp")
    with pytest.raises(InvalidParameter, match="same rows"):
        compare_runs([run, made_up("gp", 1, n=40)])


def test_order_does_not_matter():
    runs = [made_up("ibug", 1), made_up("gp", 3), made_up("knn", 2)]
    compared = compare_runs(runs)
    random.Random(0).shuffle(runs)
    again = compare_runs(runs)
    assert compared.best == again.best
    assert {m.key: m.scores for m in compared.methods} == {m.key: m.scores for m in again.methods}
