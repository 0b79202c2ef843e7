"""The smallest change of a scored row, in the table's own words."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from table_parts import as_table
from tolerances import CANCELLED, NEAR_ZERO

from gbuq_core.errors import InvalidParameter
from gbuq_core.tables import ScorePlan, change_row, estimate_change, score_table, why_no_change

PLAN = ScorePlan(n_trees=60, depth=3, learning_rate=0.1, ensemble="independent", n_members=3)


def make_frame(n=400):
    """Rows of group "b" and rows with x above 0 are noisy; the day says nothing."""
    rng = np.random.default_rng(5)
    days = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D")
    frame = pd.DataFrame(
        {
            "x": rng.uniform(-1, 1, n).round(4),
            "group": rng.choice(["a", "b"], n),
            "day": days.strftime("%Y-%m-%d"),
        }
    )
    noisy = (frame.group == "b") | (frame.x > 0)
    frame["y"] = (frame.x + rng.normal(0, np.where(noisy, 2.0, 0.05))).round(6)
    return frame


@pytest.fixture(scope="module")
def scored():
    table = as_table(make_frame())
    return score_table(table, "y", plan=replace(PLAN, stopping=None))


@pytest.fixture(scope="module")
def classified():
    frame = make_frame()
    frame["y"] = np.where(frame.y > 0.5, "high", "low")
    table = as_table(frame)
    return score_table(table, "y", plan=PLAN)


def worst_row(scored):
    frame = scored.frame
    noisy = (frame["group"] == "b") & (frame["x"].astype(float) > 0.2)
    return int(np.flatnonzero(noisy)[0])


def test_the_change_holds_in_the_model_that_scored_the_row(scored):
    row = worst_row(scored)
    total = scored.predictions.uncertainty.total
    most = float(np.quantile(total, 0.1))
    change = change_row(scored, row, most)
    assert set(change.columns) == {"x", "group"}
    assert change.before == tuple(str(scored.frame[name].iloc[row]) for name in change.columns)
    model = scored.models[int(scored.model_of_row[row])].estimator
    changed = scored.scored.X.iloc[[row]].copy()
    for column, value in zip(change.columns, change.after, strict=True):
        changed[column] = float(value) if column == "x" else value
    assert model.predict_uncertainty(changed).total[0] == change.uncertainty_after.total[0]
    assert change.uncertainty_after.total[0] <= most * (1 + NEAR_ZERO)  # sums in another order
    assert change.uncertainty_before.total[0] == pytest.approx(total[row], rel=CANCELLED)
    assert change.prediction_after == pytest.approx(model.predict(changed)[0])
    assert dict(zip(change.columns, change.after, strict=True))["group"] == "a"


def test_fixed_columns_and_dates_stay(scored):
    row = worst_row(scored)
    most = float(np.quantile(scored.predictions.uncertainty.total, 0.1))
    assert change_row(scored, row, most, fixed=["group", "x"]) is None
    half = float(np.quantile(scored.predictions.uncertainty.total, 0.6))
    change = change_row(scored, row, half, fixed=["group"])
    assert change is None or change.columns == ("x",)


def test_a_class_is_told_by_its_name(classified):
    total = classified.predictions.uncertainty.total
    row = int(np.argmax(total))
    change = change_row(classified, row, float(np.quantile(total, 0.3)))
    assert change.prediction_before in ("high", "low")
    assert change.prediction_after in ("high", "low")
    assert estimate_change(classified) > 0.0


def test_what_cannot_be_changed_is_a_sentence(scored):
    with pytest.raises(InvalidParameter, match="row"):
        change_row(scored, len(scored.frame), 1.0)
    with pytest.raises(InvalidParameter, match="height"):
        change_row(scored, 0, 1.0, fixed=["height"])
    with pytest.raises(InvalidParameter, match="kind"):
        change_row(scored, 0, 1.0, kind="doubt")
    assert why_no_change(scored) == ""
    table = as_table(make_frame(80))
    other = score_table(table, "y", plan=replace(PLAN, engine="catboost", n_trees=5))
    assert "numba" in why_no_change(other)
    with pytest.raises(InvalidParameter, match="numba"):
        change_row(other, 0, 1.0)
