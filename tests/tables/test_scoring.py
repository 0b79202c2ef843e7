"""Who is scored by which model, what comes out, and what is measured."""

import io
import threading
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from table_parts import as_table, regression_frame
from tolerances import CANCELLED, SAME_SUM, ZERO

from gbuq_core.distribution import student
from gbuq_core.errors import Cancelled
from gbuq_core.jobs import JobRunner
from gbuq_core.metrics import find_resolution, log_scores, nll_classification, prr
from gbuq_core.tables import ScorePlan, edit_schema, infer_schema, score_table, to_csv_bytes
from gbuq_core.tables.predicting import assign_folds, held_out_fifth, predict_rows

FAST = ScorePlan(ensemble="virtual", n_trees=40, depth=3, learning_rate=0.1)
ADDED = ["prediction", "total_uncertainty", "data_uncertainty", "knowledge_uncertainty"]
REGRESSION = ["prediction", "lower_90", "upper_90", *ADDED[1:], *(f"{n}_std" for n in ADDED[1:])]


def class_frame(n, seed=0):
    frame = regression_frame(n, seed)
    return frame.assign(y=np.where(frame.y > 0.5, "high", np.where(frame.y < -0.3, "low", "mid")))


@pytest.fixture(scope="module")
def regression():
    return score_table(as_table(regression_frame(300)), "y", plan=FAST)


@pytest.fixture(scope="module")
def classification():
    return score_table(as_table(class_frame(300)), "y", plan=FAST)


@pytest.mark.parametrize("kind", ["regression", "classification"])
def test_columns_of_the_output(kind, request):
    scored = request.getfixturevalue(kind)
    flags = ["error", "fold", "unseen_level", "new_missing"]
    names = [*ADDED, "p_high", "p_low", "p_mid", *flags]
    if kind == "regression":
        names = [*REGRESSION, *flags]
    assert list(scored.frame.columns) == ["x", "group", "y", *names]
    assert list(scored.added.names) == names
    if kind == "regression":
        std = scored.frame.knowledge_uncertainty_std
        np.testing.assert_array_equal(std, np.sqrt(scored.frame.knowledge_uncertainty))
        assert (scored.frame.lower_90 < scored.frame.prediction).all()
    else:
        assert (scored.frame[["p_high", "p_low", "p_mid"]].sum(axis=1).round(9) == 1.0).all()
    frame = scored.frame
    np.testing.assert_allclose(
        frame.total_uncertainty, frame.data_uncertainty + frame.knowledge_uncertainty, rtol=SAME_SUM
    )
    assert (frame[ADDED[1:]] >= 0).all().all()
    assert (scored.protocol, scored.scores.n_rows) == ("out_of_fold", 300)
    assert scored.seconds > 0


def test_input_columns_come_back_as_they_were(regression):
    pd.testing.assert_frame_equal(
        regression.frame[["x", "group", "y"]], regression_frame(300), check_dtype=False
    )


def test_cells_that_are_no_plain_numbers_come_back_letter_by_letter():
    n = 40
    columns = {
        "zip": [f"{k % 9:05d}" for k in range(n)],
        "hex": [f"0x1{k % 9}" for k in range(n)],
        "big": [str(2**60 + k) if k != 3 else "" for k in range(n)],
        "long": [str(10**19 + k) if k != 3 else "" for k in range(n)],
        "unit": [f"{k} %" for k in range(n)],
        "when": [f"{k % 28 + 1}.02.2021" for k in range(n)],
        "y": [k * 0.5 for k in range(n)],
    }
    frame = pd.DataFrame(columns)
    scored = score_table(as_table(frame), "y", plan=replace(FAST, n_trees=5))
    for name in ("zip", "hex", "unit", "when"):
        assert scored.frame[name].tolist() == columns[name]
    assert scored.frame["big"].drop(index=3).tolist() == [2**60 + k for k in range(n) if k != 3]
    assert pd.isna(scored.frame["big"][3])
    assert scored.frame["long"].tolist() == columns["long"]  # beyond the integers of 64 bits


def test_each_row_is_scored_by_the_model_that_did_not_see_it(regression):
    assert sorted(regression.frame.fold.unique()) == [1, 2, 3, 4, 5]
    np.testing.assert_array_equal(regression.frame.fold, regression.model_of_row + 1)
    X = regression.training.X
    for number, model in enumerate(regression.models):
        mine = np.flatnonzero(regression.model_of_row == number)
        assert not set(mine) & set(model.rows)
        assert len(mine) + len(model.rows) == 300
        members = model.estimator.predict_members(X.iloc[mine])
        np.testing.assert_allclose(
            regression.frame.prediction.iloc[mine], members[..., 0].mean(axis=0), rtol=SAME_SUM
        )


def test_without_clocks_the_members_are_normals():
    scored = score_table(as_table(regression_frame(60)), "y", plan=replace(FAST, stopping=None))
    mine = np.flatnonzero(scored.model_of_row == 2)
    members = scored.models[2].estimator.predict_members(scored.training.X.iloc[mine])
    scale = np.sqrt(members[..., 0].var(axis=0) + members[..., 1].mean(axis=0))
    law = stats.norm(members[..., 0].mean(axis=0), scale)
    y, step = scored.training.y[mine], scored.training.resolution
    mass = law.cdf(y + step / 2) - law.cdf(y - step / 2)
    np.testing.assert_allclose(
        scored.predictions.nll[mine], -np.log(mass / step), rtol=CANCELLED, atol=ZERO
    )
    assert scored.clocks is None
    assert np.isinf(scored.predictions.df).all()


def test_scores_of_a_regression(regression):
    frame, scores = regression.frame, regression.scores
    error = frame.y - frame.prediction
    np.testing.assert_allclose(frame.error, error.abs(), rtol=SAME_SUM)
    assert scores.rmse == pytest.approx(np.sqrt((error**2).mean()))
    assert scores.baseline_rmse == pytest.approx(frame.y.std(ddof=0))
    assert scores.rmse < 0.5 * scores.baseline_rmse
    scale = np.sqrt(frame.total_uncertainty)
    law = student(frame.prediction, scale, regression.predictions.df)
    assert scores.crps == pytest.approx(law.crps(frame.y).mean())
    assert scores.nll == pytest.approx(log_scores(law, frame.y, find_resolution(frame.y)).mean)
    assert scores.nll == pytest.approx(regression.predictions.nll.mean())
    assert scores.prr.knowledge == pytest.approx(prr(error**2, frame.knowledge_uncertainty))
    assert scores.coverage.levels.tolist() == [0.5, 0.8, 0.95]
    lower, upper = law.interval(0.8)
    inside = (frame.y > lower) & (frame.y < upper)
    assert scores.coverage.observed[1] == pytest.approx(inside.mean())
    curve = scores.rejection.total
    assert curve.remaining[0] == pytest.approx((error**2).mean())
    assert len(curve.rejected) == 201


def test_scores_of_a_classification(classification):
    frame, scores = classification.frame, classification.scores
    wrong = (frame.y != frame.prediction).to_numpy()
    np.testing.assert_array_equal(frame.error, wrong)
    assert scores.error_rate == pytest.approx(wrong.mean())
    assert scores.error_rate < 0.6 * scores.baseline_error_rate
    assert scores.baseline_error_rate == pytest.approx(
        1 - frame.y.value_counts(normalize=True).max()
    )
    probabilities = classification.predictions.probabilities
    expected = nll_classification(frame.y, probabilities, classification.training.target.classes)
    assert scores.nll == pytest.approx(expected)
    assert scores.prr.total == pytest.approx(prr(wrong, frame.total_uncertainty))
    assert scores.auroc.total > 0.5
    assert (frame.total_uncertainty <= np.log(3) + ZERO).all()


def test_folds_have_the_same_shares_of_classes(classification):
    counts = pd.crosstab(classification.frame.fold, classification.frame.y)
    assert (counts.max() - counts.min() <= 1).all()


def test_results_depend_on_the_seed_only(regression):
    table = as_table(regression_frame(300))
    again = score_table(table, "y", plan=replace(FAST, n_jobs=1))
    pd.testing.assert_frame_equal(again.frame, regression.frame)
    other = score_table(table, "y", plan=replace(FAST, seed=1))
    assert not np.array_equal(other.frame.fold, regression.frame.fold)


def test_large_tables_have_a_held_out_fifth(monkeypatch):
    monkeypatch.setattr("gbuq_core.tables.settling.MAX_ROWS_OUT_OF_FOLD", 299)
    frame = regression_frame(302)
    frame.loc[[5, 6], "y"] = np.nan
    scored = score_table(as_table(frame), "y", plan=FAST)
    assert scored.protocol == "held_out"
    assert "fold" not in scored.frame.columns
    learnt = scored.frame.in_training.to_numpy()
    assert learnt.sum() == 240
    assert not learnt[[5, 6]].any()
    np.testing.assert_array_equal(np.flatnonzero(learnt), scored.models[0].rows)
    assert scored.scores.n_rows == 60
    held = scored.frame[~learnt & scored.frame.y.notna()]
    assert scored.scores.rmse == pytest.approx(np.sqrt((held.error**2).mean()))
    assert scored.frame.prediction.notna().all()


def test_rows_without_a_target_are_predicted_but_not_learnt_from():
    frame = regression_frame(120)
    frame.loc[::4, "y"] = np.nan
    scored = score_table(as_table(frame), "y", plan=FAST)
    unknown = frame.y.isna().to_numpy()
    assert scored.frame.fold.isna().to_numpy().tolist() == unknown.tolist()
    assert scored.frame.error.isna().to_numpy().tolist() == unknown.tolist()
    assert scored.frame.prediction.notna().all()
    assert scored.scores.n_rows == 90
    for model in scored.models:
        assert not unknown[model.rows].any()


def test_a_second_file_is_scored_by_a_model_of_the_whole_first():
    first, second = regression_frame(200), regression_frame(50, seed=1)
    scored = score_table(as_table(first), "y", new=as_table(second), plan=FAST)
    assert (scored.protocol, len(scored.frame)) == ("new_file", 50)
    assert scored.models[0].rows.tolist() == list(range(200))
    assert (scored.scores.n_rows, scored.new_scores.n_rows) == (40, 50)
    error = scored.frame.y - scored.frame.prediction
    assert scored.new_scores.rmse == pytest.approx(np.sqrt((error**2).mean()))
    without = score_table(as_table(first), "y", new=as_table(second[["group", "x"]]), plan=FAST)
    assert without.new_scores is None
    assert list(without.frame.columns) == ["group", "x", *REGRESSION, "unseen_level", "new_missing"]
    np.testing.assert_array_equal(without.frame.prediction, scored.frame.prediction)


def test_unseen_levels_and_new_missing_values_are_marked():
    first, second = regression_frame(200), regression_frame(20, seed=1)
    second.loc[3, "group"] = "zzz"
    second.loc[7, "x"] = np.nan
    scored = score_table(as_table(first), "y", new=as_table(second), plan=FAST)
    assert np.flatnonzero(scored.frame.unseen_level).tolist() == [3]
    assert np.flatnonzero(scored.frame.new_missing).tolist() == [7]
    assert scored.notices[-1].startswith("2 rows have a category or a missing value")
    assert '"x" and "group"' in scored.notices[-1]


def test_classes_that_only_the_second_file_has():
    first, second = class_frame(200), class_frame(30, seed=1)
    second.loc[:4, "y"] = "never"
    scored = score_table(as_table(first), "y", new=as_table(second), plan=FAST)
    assert scored.new_scores.n_rows == 25
    assert scored.frame.error.isna().sum() == 5
    assert not (scored.frame.prediction == "never").any()
    assert any(
        'have classes that the first file does not have ("never")' in n for n in scored.notices
    )


def test_a_class_with_a_single_row_does_not_break_the_folds():
    frame = class_frame(100)
    frame.loc[17, "y"] = "unique"
    scored = score_table(as_table(frame), "y", plan=FAST)
    assert scored.predictions.probabilities.shape == (100, 4)
    np.testing.assert_allclose(scored.predictions.probabilities.sum(axis=1), 1.0, rtol=SAME_SUM)
    unique = scored.training.target.classes.index("unique")
    # The model that scores the row never met its class.
    assert scored.predictions.probabilities[17, unique] == 0.0
    assert scored.frame.error[17] == 1.0
    assert np.isfinite(scored.scores.nll)


@pytest.mark.parametrize(
    ("n_rows", "said"),
    [
        ({"no": 286, "yes": 14}, 'share of "yes", 4.7 %, could as well be 2.8 % to 7.7 %'),
        ({"a": 100, "b": 40, "c": 20, "d": 12}, "2 classes have fewer than 30 rows to learn from"),
        ({"a": 30, "b": 31}, ""),
    ],
)
def test_classes_with_few_rows_say_how_rough_a_small_probability_is(n_rows, said):
    labels = np.repeat(list(n_rows), list(n_rows.values()))
    table = as_table(pd.DataFrame({"x": np.arange(len(labels)) % 17, "y": labels}))
    notices = score_table(table, "y", plan=FAST).notices
    assert [said in notice for notice in notices if "factor of" in notice] == [True] * bool(said)


def test_numeric_classes_are_predicted_as_numbers():
    frame = regression_frame(100)
    scored = score_table(as_table(frame.assign(y=(frame.y > 0).astype(int))), "y", plan=FAST)
    assert scored.training.target.task == "classification"
    assert set(scored.frame.prediction.unique()) <= {0, 1}


@pytest.mark.parametrize(
    "classes",
    [("01", "02"), ("1_000", "2_000"), ("-5", str(2**63 + 1)), ("1" * 24, "2" * 24)],
)
def test_classes_are_predicted_letter_by_letter(classes):
    x = np.arange(60) % 2
    frame = pd.DataFrame({"x": x, "y": [classes[k] for k in x]})
    scored = score_table(as_table(frame), "y", task="classification", plan=FAST)
    assert scored.frame.prediction.tolist() == frame.y.tolist()
    written = pd.read_csv(io.BytesIO(to_csv_bytes(scored.frame)), dtype="str")
    assert [cell.lstrip("'") for cell in written.prediction] == frame.y.tolist()


def test_a_second_scoring_of_an_output_renames_its_columns(regression):
    table = as_table(regression.frame)
    schema = edit_schema(
        table, infer_schema(table), used=dict.fromkeys(regression.added.names, False)
    )
    scored = score_table(table, "y", schema=schema, plan=FAST)
    assert "prediction (input)" in scored.frame.columns
    np.testing.assert_allclose(
        scored.frame["prediction (input)"].astype(float), regression.frame.prediction, rtol=SAME_SUM
    )
    assert ("fold", "fold (input)") in scored.added.renamed
    assert any("would clash" in notice for notice in scored.notices)


def test_a_nearly_constant_target_has_finite_scores():
    frame = pd.DataFrame({"x": np.arange(60) % 7, "y": np.where(np.arange(60) == 20, 1.5, 0.5)})
    scored = score_table(as_table(frame), "y", task="regression", plan=FAST)
    assert np.isfinite(scored.scores.nll)
    assert (scored.frame.total_uncertainty > 0).all()


@pytest.mark.parametrize("ensemble", ["virtual", "independent"])
@pytest.mark.parametrize("engine", ["numba", "catboost"])
def test_ensembles_and_engines(ensemble, engine):
    plan = replace(FAST, ensemble=ensemble, engine=engine, n_members=2)
    scored = score_table(as_table(class_frame(100)), "y", plan=plan)
    assert scored.scores.error_rate < scored.scores.baseline_error_rate
    members = scored.models[0].estimator.predict_members(scored.training.X)
    assert len(members) == (10 if ensemble == "virtual" else 2)


def test_progress_is_counted_to_the_end():
    seen = []
    table = as_table(regression_frame(200))

    def run(job):
        result = score_table(table, "y", plan=ScorePlan(ensemble="virtual", n_trees=60, depth=3))
        seen.append(job.done / job.total)
        return result

    JobRunner().want("user", "key", run).result(timeout=60)
    assert seen == [pytest.approx(1.0)]


def test_a_scoring_that_nobody_wants_is_stopped():
    table = as_table(regression_frame(400))
    begun = threading.Event()

    def run(job):
        begun.set()
        return score_table(table, "y", plan=replace(FAST, n_trees=100_000))

    job = JobRunner().want("user", "key", run)
    assert begun.wait(30)
    job.stop()
    assert job.wait(30)
    with pytest.raises(Cancelled):
        job.result()


def test_blocks_of_rows_give_the_same_predictions(regression, monkeypatch):
    model, prepared = regression.models[0], regression.training
    whole = predict_rows(model.estimator, prepared.X, prepared.y, 0, 1.0)
    monkeypatch.setattr("gbuq_core.tables.predicting.BLOCK_ROWS", 7)
    pieces = predict_rows(model.estimator, prepared.X, prepared.y, 0, 1.0)
    for expected, other in zip(whole[:4], pieces[:4], strict=True):
        np.testing.assert_array_equal(expected, other)


def test_folds_share_the_rows_evenly(rng):
    y = rng.normal(size=103)
    y[:10] = np.nan
    folds = assign_folds(y, False, seed=4)
    assert (folds[:10] == -1).all()
    counts = np.bincount(folds[10:])
    assert len(counts) == 5
    assert counts.max() - counts.min() <= 1


def test_no_class_is_held_out_as_a_whole(rng):
    y = np.r_[np.zeros(50), np.ones(2), 2.0, 3.0]
    for seed in range(20):
        held = held_out_fifth(y, True, seed)
        assert 10 <= held.sum() <= 11
        assert not held[52:].any()
        assert held[50:52].sum() <= 1
