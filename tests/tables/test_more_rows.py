"""Would more rows help: learning curves, their groups and verdicts."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from table_parts import as_table
from tolerances import SAME_SUM

from gbuq_core.errors import Cancelled, InvalidData, InvalidParameter
from gbuq_core.figures.table.learning import describe_rule, describe_verdict, learning_figure
from gbuq_core.figures.theme import METHOD_STYLES
from gbuq_core.jobs import RUNNER
from gbuq_core.metrics import judge_doublings
from gbuq_core.tables import (
    ScorePlan,
    failing_groups,
    find_failures,
    learning_curve,
    score_table,
)

PLAN = ScorePlan(ensemble="virtual", n_trees=50, depth=3, learning_rate=0.2)


def score(frame, target="y", **changes):
    return score_table(as_table(frame), target, plan=dataclasses.replace(PLAN, **changes))


def make_frame(n, kind, seed=0):
    rng = np.random.default_rng(seed)
    x, z = rng.uniform(-1, 1, (2, n))
    y = {"noise": 0.0 * x, "smooth": 3.0 * np.sin(3 * x) * z}[kind]
    return pd.DataFrame({"x": x, "z": z, "y": y + rng.normal(0, 1 if kind == "noise" else 0.05, n)})


@pytest.fixture(scope="module")
def smooth():
    scored = score(make_frame(240, "smooth"))
    return scored, learning_curve(scored, n_repeats=5)


def test_a_smooth_function_and_few_rows_call_for_more(smooth):
    verdict = smooth[1].verdict()
    assert verdict.word == verdict.plain == "more"
    assert verdict.n_agreeing == verdict.n_repeats == 5
    assert verdict.expected >= verdict.worth
    assert (np.diff(smooth[1].mean("error")) < 0).all()


def test_pure_noise_with_enough_rows_is_inherent():
    curve = learning_curve(score(make_frame(800, "noise")), n_repeats=5)
    verdict = curve.verdict()
    assert verdict.word == verdict.plain == "noise"
    assert verdict.knowledge_share < 0.2
    assert curve.mean("error")[-1] == pytest.approx(1.0, abs=0.1)


def test_each_repeat_is_nested_and_judged_on_the_same_rows(smooth):
    scored, curve = smooth
    known = np.flatnonzero(scored.training.known)
    assert sorted(np.concatenate(curve.left_out).tolist()) == known.tolist()  # five repeats: once
    assert curve.sizes.tolist() == [24, 48, 96, 192]
    for rows, values in zip(curve.left_out, curve.of_rows, strict=True):
        assert values.shape == (4, 4, len(rows))
    again = learning_curve(scored, n_repeats=2)
    assert np.array_equal(again.error, curve.error[:2])  # a repeat does not depend on the others


def test_groups_train_nothing_and_average_to_the_whole(smooth):
    curve = smooth[1]
    codes = (np.arange(240) % 3 == 0).astype(np.int64)
    by = curve.by(codes, ("rest", "third"))
    assert (by.names, by.n_rows.tolist()) == (("all rows", "rest", "third"), [240, 160, 80])
    assert np.array_equal(by.error[:, :, 0], curve.error[:, :, 0])
    share = np.array([np.mean(codes[rows]) for rows in curve.left_out])[:, None]
    joined = (1 - share) * by.nll[:, :, 1] + share * by.nll[:, :, 2]
    np.testing.assert_allclose(joined, by.nll[:, :, 0], rtol=SAME_SUM)  # sums in another order
    with pytest.raises(InvalidData, match="pass a group for each"):
        curve.by(codes[:50], ("rest", "third"))


def test_groups_of_few_rows_are_not_decided(smooth):
    codes = np.zeros(240, np.int64)
    codes[:3] = 1
    by = smooth[1].by(codes, ("most", "three"))
    verdict = by.verdict(2)
    assert (verdict.word, verdict.n_repeats) == ("undecided", 0)
    assert "Too few rows" in describe_verdict(verdict, False, 160)
    assert learning_figure(by, METHOD_STYLES["sglb"], "", 2).spec["panels"]


def test_the_groups_of_failures_cover_the_table(smooth):
    scored, curve = smooth
    groups = failing_groups(scored, find_failures(scored))
    by = curve.by(*groups)
    assert by.n_rows[1:].sum() == by.n_rows[0]
    assert by.verdict(1).word in ("more", "noise", "undecided")


def test_classes_keep_their_shares_in_every_set():
    rng = np.random.default_rng(1)
    x = rng.normal(size=160)
    label = np.where(x > 1.2, "rare", np.where(x > 0, "b", "a"))
    label[0] = "once"
    scored = score(pd.DataFrame({"x": x, "y": label}))
    curve = learning_curve(scored, n_repeats=2)
    assert curve.is_class
    assert np.isfinite(curve.nll).all()
    assert (curve.nll < 3).all()  # no class is unknown to the smallest set
    assert not any(0 in rows for rows in curve.left_out)  # the only row of its class
    assert curve.verdict().worth == 0.01


@pytest.mark.parametrize(
    ("values", "share", "word", "plain"),
    [
        ([[1.0, 0.8, 0.7, 0.64]] * 4, 0.5, "more", "more"),
        ([[1.0, 0.8, 0.7, 0.64]] * 4, 0.0, "more", "more"),
        ([[1.0, 0.95, 0.949, 0.948]] * 4, 0.1, "noise", "noise"),
        ([[1.0, 0.95, 0.949, 0.948]] * 4, 0.21, "undecided", "noise"),
        ([[1.0, 0.9, 0.8, 0.7], [1.0, 0.9, 0.8, 0.9]], 0.1, "undecided", "noise"),
        ([[1.0, 0.9, 0.9, 1.1]] * 4, 0.1, "noise", "noise"),
        # Flat, but one repeat is far off: the ratio of such gains says nothing.
        (
            [[1.0, 0.9, 0.9, 0.9], [1.0, 0.9, 0.9, 0.96], [1.0, 0.9, 0.9, 0.9]],
            0.1,
            "undecided",
            "noise",
        ),
        ([[1.0, 0.9, 0.8, 0.78]], 0.1, "undecided", "noise"),
    ],
)
def test_verdicts_on_fixed_curves(values, share, word, plain):
    verdict = judge_doublings(np.array(values), share)
    assert (verdict.word, verdict.plain) == (word, plain)


def test_what_is_expected_is_a_power_law():
    sizes = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    law = 0.3 + 0.5 * sizes**-0.7
    verdict = judge_doublings(np.tile(law[:4], (3, 1)), 0.1)
    assert verdict.ratio == pytest.approx(2**-0.7)
    assert verdict.expected == pytest.approx(law[3] - law[4])
    assert verdict.expected_low == pytest.approx(verdict.expected)


def test_standard_errors_are_wider_than_those_of_separate_rows():
    values = np.random.default_rng(0).normal(size=(10, 4))
    verdict = judge_doublings(values, 0.1)
    last = values[:, -2] - values[:, -1]
    half = 1.833113 * last.std(ddof=1) * np.sqrt(0.1 + 0.25)  # t of 9 degrees of freedom
    assert verdict.high - verdict.gain == pytest.approx(half, rel=1e-5)


@pytest.mark.parametrize("is_class", [False, True])
@pytest.mark.parametrize("last", [0.64, 0.699, 0.8])
def test_verdicts_in_words(is_class, last):
    verdict = judge_doublings(np.array([[1.0, 0.8, 0.7, last], [1.0, 0.8, 0.7, last + 1e-4]]), 0.1)
    words = describe_verdict(verdict, is_class, 400)
    assert "From 200 to 400 rows" in words
    assert ("log loss" if is_class else "RMSE") in words
    assert "of 2 repeats" in words
    assert "nan" not in words
    assert ("log loss" if is_class else "RMSE") in describe_rule(is_class)
    weak = describe_verdict(verdict, is_class, 400, one_model=True)  # its K decides little
    assert ("All members come from one model" in weak) == (verdict.word == "noise")


def test_the_figure_goes_on_to_twice_as_many_rows(smooth):
    curve = smooth[1]
    spec = learning_figure(curve, METHOD_STYLES["sglb"], "said").spec
    assert spec["alt"] == "said"
    assert spec["x"]["range"] == [0.0, 384.0]
    expected = spec["panels"][0]["layers"][-1]
    assert expected["x"] == [192.0, 384.0]
    assert expected["y"][1] < expected["y"][0]


def test_groups_of_a_split_stay_together():
    frame = make_frame(200, "smooth")
    frame["who"] = np.arange(200) // 8
    scored = score(frame, split="group", split_column="who")
    curve = learning_curve(scored, n_repeats=2)
    for rows in curve.left_out:
        left = set(frame["who"][rows])
        assert len(rows) == 8 * len(left)
    frame["who"] = pd.date_range("2020-01-01", periods=200)
    with pytest.raises(InvalidData, match="split by time"):
        learning_curve(score(frame, split="time", split_column="who"))


def test_small_tables_are_refused():
    with pytest.raises(InvalidData, match="takes 100"):
        learning_curve(score(make_frame(60, "smooth")))
    scored = score(make_frame(100, "smooth"))
    with pytest.raises(InvalidParameter):
        learning_curve(scored, n_repeats=1)


def test_a_job_is_cancelled_and_counts_up(smooth):
    seen = []

    def work(job):
        curve = learning_curve(smooth[0], n_repeats=2)
        seen.append(job.fraction)
        return curve

    job = RUNNER.want("more-rows", ("more rows", 1), work)
    assert np.array_equal(job.result(60).error, smooth[1].error[:2])
    assert seen[0] == 0.99  # all is done, but the job has not ended

    def stopped(job):
        job.stop()
        return learning_curve(smooth[0])

    job = RUNNER.want("more-rows", ("more rows", 2), stopped)
    assert job.wait(60)
    assert job.state == "cancelled" or isinstance(job.error, Cancelled)
