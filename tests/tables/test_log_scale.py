"""Targets learnt on a log scale: the law, the scores in units of the target, and who is refused."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from table_parts import as_table
from tolerances import CANCELLED, SAME_SUM

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.metrics import find_resolution
from gbuq_core.tables import (
    ScorePlan,
    advise_scale,
    held_out,
    infer_schema,
    law_of,
    pit_values,
    score_table,
)
from gbuq_core.tables.cutting import Cut, cut_table, stage_table
from gbuq_core.tables.scaling import exp_uncertainty
from gbuq_core.uncertainty import Uncertainty

LOG = ScorePlan(
    ensemble="virtual", n_trees=60, depth=3, learning_rate=0.1, max_bins=16, scale="log"
)


def price_frame(n=150, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 3, n)
    return pd.DataFrame(
        {"x": x, "z": rng.normal(size=n), "y": np.exp(2 * x + rng.normal(0, 0.3, n))}
    )


@pytest.fixture(scope="module")
def scored():
    return score_table(as_table(price_frame()), "y", plan=LOG)


def normal(scored):
    """The same with normal tails, whose exponentials are log-normals."""
    return score_table(as_table(price_frame()), "y", plan=replace(LOG, stopping=None))


def test_the_law_is_that_of_the_ensembles_themselves(scored):
    law = law_of(scored.predictions)
    X = scored.training.X
    for number, model in enumerate(scored.models):
        mine = scored.model_of_row == number
        own = model.estimator.predict_distribution(X[mine])
        np.testing.assert_allclose(
            law.quantile([0.05, 0.5, 0.95])[mine], own.quantile([0.05, 0.5, 0.95]), rtol=CANCELLED
        )
        np.testing.assert_allclose(
            scored.predictions.loc[mine], model.estimator.predict(X[mine]), rtol=SAME_SUM
        )
        uncertainty = model.estimator.predict_uncertainty(X[mine])
        for name in uncertainty._fields:
            ours = getattr(scored.predictions.uncertainty, name)[mine]
            np.testing.assert_allclose(ours, getattr(uncertainty, name), rtol=CANCELLED)
    assert (law.interval(0.99).lower > 0).all()


def test_scores_are_in_units_of_the_target():
    scored = normal(None)
    part, y = scored.predictions, scored.training.y
    law = stats.lognorm(s=part.log_scale, scale=np.exp(part.log_loc))
    scores = scored.scores
    step = find_resolution(y)
    mass = law.cdf(y + step / 2) - law.cdf(y - step / 2)
    assert scores.nll == pytest.approx(-np.log(mass / step).mean(), rel=CANCELLED)
    np.testing.assert_allclose(pit_values(held_out(scored)), law.cdf(y), rtol=CANCELLED)
    # CRPS = int (F(t) - [t >= y])^2 dt, of three rows on a fine grid.
    for row in range(3):
        frozen = stats.lognorm(s=part.log_scale[row], scale=np.exp(part.log_loc[row]))
        t = np.linspace(0, max(y[row], frozen.ppf(1 - 1e-9)) * 1.01, 400_001)
        by_hand = np.trapezoid((frozen.cdf(t) - (t >= y[row])) ** 2, t)
        assert law_of(part, np.array([row])).crps([y[row]])[0] == pytest.approx(by_hand, rel=1e-3)
    assert scores.rmse == pytest.approx(np.sqrt(((y - part.loc) ** 2).mean()))
    inside = (law.ppf(0.1) <= y) & (y <= law.ppf(0.9))
    assert scores.coverage.observed[1] == pytest.approx(inside.mean())


def test_relative_errors_are_learnt_better_on_a_log_scale(scored):
    plain = score_table(as_table(price_frame()), "y", plan=replace(LOG, scale="plain"))
    assert scored.scores.nll < plain.scores.nll - 0.1


def test_cuts_keep_the_scale(scored):
    stages = stage_table(scored)
    for cut in (Cut(step=5), Cut(step=10, start=0.3, members=2)):
        quick, slow = cut_table(scored, cut, stages), cut_table(scored, cut)
        assert quick.scores.nll == slow.scores.nll
        np.testing.assert_array_equal(quick.predictions.log_scale, slow.predictions.log_scale)
    assert not np.array_equal(slow.predictions.log_loc, scored.predictions.log_loc)


def test_uncertainties_of_log_normals_against_draws():
    rng = np.random.default_rng(0)
    d, k = 0.3, 0.2
    mean, uncertainty = exp_uncertainty(
        np.array([1.0]), Uncertainty(np.array([d + k]), np.array([d]), np.array([k]))
    )
    centres = np.exp(1.0 + np.sqrt(k) * rng.standard_normal(2_000_000) + d / 2)
    # Monte-Carlo error of the mean below 0.1 %, of the variance below 1 %.
    assert mean[0] == pytest.approx(centres.mean(), rel=2e-3)
    assert uncertainty.knowledge[0] == pytest.approx(centres.var(), rel=1e-2)
    assert uncertainty.data[0] == pytest.approx((centres**2 * np.expm1(d)).mean(), rel=1e-2)
    assert uncertainty.total[0] == uncertainty.data[0] + uncertainty.knowledge[0]


def test_other_methods_learn_the_logarithm_too():
    plan = ScorePlan(method="knn", scale="log")
    scored = score_table(as_table(price_frame()), "y", plan=plan)
    plain = score_table(as_table(price_frame()), "y", plan=replace(plan, scale="plain"))
    assert (law_of(scored.predictions).interval(0.99).lower > 0).all()
    assert (law_of(plain.predictions).interval(0.99).lower <= 0).any()
    assert scored.scores.nll < plain.scores.nll


def test_a_second_file_may_hold_targets_that_are_not_positive():
    new = price_frame(20, seed=1)
    new.loc[0, "y"] = -1.0
    scored = score_table(as_table(price_frame()), "y", new=as_table(new), plan=LOG)
    step = find_resolution(scored.training.y)
    assert scored.predictions.nll[0] == pytest.approx(np.log(step * 1e12))
    assert (scored.predictions.nll[1:] < scored.predictions.nll[0]).all()
    assert np.isfinite(scored.new_scores.crps)
    assert any("not positive" in notice for notice in scored.notices)


def test_who_is_offered_a_log_scale_and_who_is_refused():
    def advise(y, task=None):
        table = as_table(pd.DataFrame({"x": np.arange(len(y)), "y": y}))
        return advise_scale(table, infer_schema(table), "y", task)

    y = price_frame().y.to_numpy()
    assert "long tail" in advise(y).offer
    assert advise(y.max() + 1 - y) == ("", "")  # skewed to the left
    assert advise(np.linspace(1, 2, 100)) == ("", "")
    ordinary = 5.0 + np.random.default_rng(0).normal(size=300)
    unit_errors = np.where(np.arange(300) % 100 == 7, 1000.0 * ordinary, ordinary)
    assert advise(unit_errors) == ("", "")  # as skewed on a log scale
    assert "smallest value of the target is 0," in advise(y - y.min()).refusal
    assert "classes" in advise(np.where(y > 5, "a", "b")).refusal
    frame = price_frame()
    with pytest.raises(InvalidData, match="not positive"):
        score_table(as_table(frame.assign(y=frame.y - 5)), "y", plan=LOG)
    with pytest.raises(InvalidParameter, match="classes"):
        score_table(as_table(frame.assign(y=np.where(frame.y > 5, "a", "b"))), "y", plan=LOG)
    with pytest.raises(InvalidParameter, match="scale"):
        score_table(as_table(frame), "y", plan=replace(LOG, scale="root"))
