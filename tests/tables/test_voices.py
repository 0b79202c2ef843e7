"""The usual method of a table: the law around its trees, honest about every row."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from table_parts import as_table

from gbuq_core.distribution import NormalDistribution
from gbuq_core.errors import InvalidParameter
from gbuq_core.metrics import log_scores
from gbuq_core.projects import fit_project, open_project, project_bytes, score_project
from gbuq_core.tables import (
    ScorePlan,
    infer_schema,
    law_found,
    law_of,
    prepare_training,
    row_intervals,
    score_table,
    with_intervals,
)
from gbuq_core.tables.evaluating import COVERAGE_LEVELS
from gbuq_core.tables.output import interval_names
from gbuq_core.tables.scoring import judge_rows_left_out
from gbuq_core.tables.settling import MOST_ROWS_STACKED, settle_plan

QUICK = ScorePlan(method="automatic", n_trees=40, n_members=2, depth=3)


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.uniform(0, 3, 90), "shop": rng.choice(list("ab"), 90)})
    frame["sold"] = rng.poisson(np.exp(frame.x - 1.0 + (frame["shop"] == "a")))
    frame["busy"] = np.where(frame.sold > 2, "yes", "no")
    return frame


@pytest.fixture(scope="module")
def scored(counts):
    return score_table(as_table(counts.drop(columns="busy")), "sold", plan=QUICK)


def test_the_law_is_usual_and_keeps_the_columns_of_the_trees(scored, counts):
    table = as_table(counts.drop(columns="busy"))
    alone = score_table(table, "sold", plan=replace(QUICK, method="sglb"))
    assert (scored.plan.method, alone.plan.method) == ("stacked", "sglb")
    assert scored.frame.columns.tolist() == alone.frame.columns.tolist()
    assert scored.clocks.factor == alone.clocks.factor  # the same trees
    assert scored.scores.nll < alone.scores.nll


def test_ends_of_intervals_are_values_that_the_target_can_have(scored):
    ends = scored.frame[["lower_90", "upper_90"]].to_numpy()
    assert (ends >= 0.0).all()
    np.testing.assert_array_equal(ends, np.round(ends))
    law = law_found(scored.models)
    assert law.resolution == 1.0
    assert law.weights.keys() == {"trees", "residuals", "targets", "process"}
    assert any("The target is a whole number from 0" in what for what in scored.notices)
    few = law_of(scored.predictions, np.array([5, 80, 2])).interval(0.9)
    np.testing.assert_array_equal(np.stack(few, axis=1), ends[[5, 80, 2]])


@pytest.mark.parametrize("spread", [0.05, 0.4, 3.0])
def test_rounding_alone_parts_no_prediction_from_its_ends(spread):
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 40, (2, 120))
    y = np.round(a + b + 60 + spread * rng.normal(size=120)).astype(int)
    scored = score_table(as_table(pd.DataFrame({"a": a, "b": b, "y": y})), "y", plan=QUICK)
    for level, said in zip(COVERAGE_LEVELS, scored.scores.coverage.observed, strict=True):
        for conformal in (False, True):
            frame = with_intervals(scored, level, conformal).frame
            lower, upper = (frame[name] for name in interval_names(level))
            assert ((lower <= y) & (y <= upper)).mean() == said or conformal
            inside = (lower <= frame.prediction) & (frame.prediction <= upper)
            # A mixture may have a mean outside of its middle half.
            assert inside.mean() == 1.0 or (level == 0.5 and inside.mean() > 0.97)
    if spread < 0.1:  # certain numbers stay so
        assert (scored.frame.lower_90 == scored.frame.upper_90).mean() > 0.3


def test_conformal_intervals_end_on_possible_values_too(scored):
    for level in (0.05, 0.8, 0.999):
        lower, upper = row_intervals(scored, level, conformal=True)
        assert (lower >= 0.0).all()
        assert (lower <= upper).all()
        np.testing.assert_array_equal(lower, np.round(lower))
        inside = (lower <= scored.training.y) & (scored.training.y <= upper)
        assert inside.mean() > level - 0.1


def test_a_project_says_of_a_second_file_what_the_table_does(counts):
    rows = counts.drop(columns="sold")
    new = as_table(rows.iloc[:20].drop(columns="busy"), to_score=True)
    at_once = score_table(as_table(rows), "busy", new=new, plan=QUICK)
    assert len(at_once.measured) == at_once.plan.n_folds
    assert at_once.held.all()
    project = open_project(project_bytes(fit_project(as_table(rows), "busy", plan=QUICK)))
    pd.testing.assert_frame_equal(score_project(project, new).frame, at_once.frame)


def test_no_law_sees_more_in_noise_than_there_is(rng):
    frame = pd.DataFrame(rng.normal(size=(160, 4)), columns=list("abcy"))
    scored = score_table(as_table(frame), "y", plan=QUICK)
    truth = NormalDistribution(np.zeros(160), np.ones(160))
    best = log_scores(truth, frame.y.to_numpy(), scored.training.resolution).values
    gap = scored.predictions.nll - best
    assert gap.mean() > -2.0 * gap.std() / np.sqrt(160)


def test_rows_left_out_are_judged_by_laws_of_the_other_half(scored):
    held = np.arange(90) % 2 == 0
    judged = judge_rows_left_out(scored.training, scored.plan, np.flatnonzero(~held), held)
    assert len(judged.law) == held.sum()
    assert np.isfinite(judged.nll).all()


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"ensemble": "virtual"}, ""),
        ({"stopping": None}, ""),
        ({"scale": "log"}, "log scale"),
        (39, "needs 40 rows"),
        (MOST_ROWS_STACKED + 1, f"up to {MOST_ROWS_STACKED:,} rows only"),
    ],
)
def test_trees_alone_are_trained_where_a_setting_or_the_table_asks_for_them(settings, what, counts):
    n_rows = settings if isinstance(settings, int) else 0
    plan = QUICK if n_rows else replace(QUICK, **settings)
    table = as_table(counts.drop(columns="busy").assign(sold=counts.sold + 1))
    prepared = prepare_training(table, infer_schema(table), "sold")
    if n_rows:
        prepared = prepared._replace(y=np.arange(float(n_rows)))
    settled, reason = settle_plan(plan, prepared)
    assert settled.method == "sglb"
    assert reason.startswith("Trees alone") == bool(what)
    assert what in reason
    if plan.scale == "log":
        with pytest.raises(InvalidParameter, match="does not go with a log scale"):
            settle_plan(replace(plan, method="stacked"), prepared)
