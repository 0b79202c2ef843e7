"""Intervals of a scored table: by the law, and conformal ones beside a slow obvious twin."""

import math
from dataclasses import replace

import numpy as np
import pytest
from mapie import conditional_conformal_prediction
from sklearn.dummy import DummyRegressor
from tolerances import CANCELLED, NEAR_ZERO

from gbuq_core.errors import InvalidParameter
from gbuq_core.tables import (
    ScorePlan,
    conformal_coverage,
    edit_schema,
    held_out,
    held_out_inside,
    infer_schema,
    law_of,
    load_builtin,
    own_groups,
    read_table,
    row_intervals,
    score_table,
    table_ends,
    to_csv_bytes,
    with_intervals,
    written_scores,
)
from gbuq_core.tables.cutting import Cut, cut_table
from gbuq_core.tables.intervals import _group_factors

FAST = ScorePlan(ensemble="virtual", n_trees=40, depth=3)


def table_of(n, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2, 2, n)
    y = np.sin(2 * x) + 0.2 * (1 + (x > 0)) * rng.standard_t(3, n)
    lines = "\n".join(f"{a:.6f},{b:.6f}" for a, b in zip(x, y, strict=True))
    return read_table(f"x,y\n{lines}\n".encode())


def naive_factors(residuals, level):
    """How many stds below and above hold half of the level each, of some rows and one more."""
    rank = math.ceil((len(residuals) + 1) * (1 + level) / 2 - 1e-9)
    if rank > len(residuals):
        return np.array([math.inf, math.inf])
    return np.array([sorted(-residuals)[rank - 1], sorted(residuals)[rank - 1]])


def residuals_of(held):
    """Of held-out rows in stds, and the stds."""
    std = np.sqrt(held.predictions.uncertainty.total)
    return (held.y - held.predictions.loc) / std, std


@pytest.fixture(scope="module")
def folds():
    return score_table(table_of(150), "y", plan=FAST)


@pytest.fixture(scope="module")
def second():
    return score_table(table_of(150), "y", new=table_of(40, seed=1), plan=FAST)


def test_intervals_of_the_law_are_those_of_the_law(folds):
    lower, upper = row_intervals(folds, 0.8)
    law = law_of(folds.predictions)
    np.testing.assert_array_equal(lower, law.interval(0.8).lower)
    at = law.cdf(upper) - law.cdf(lower)
    np.testing.assert_allclose(at, 0.8, atol=NEAR_ZERO)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.98, 0.999])
def test_each_fold_is_calibrated_by_the_other_folds(folds, level):
    y, loc = folds.training.y, folds.predictions.loc
    std = np.sqrt(folds.predictions.uncertainty.total)
    fold = folds.frame.fold.to_numpy()
    lower, upper = row_intervals(folds, level, conformal=True)
    for row in (0, 17, 149):
        others = np.flatnonzero(fold != fold[row])
        below, above = std[row] * naive_factors(((y - loc) / std)[others], level)
        assert upper[row] == pytest.approx(loc[row] + above)
        assert lower[row] == pytest.approx(loc[row] - below)
    assert np.isinf(upper).all() == (level > 1 - 2 / 121)


def test_a_second_file_is_calibrated_by_the_rows_held_out_of_the_first(second):
    held = held_out(second)
    factors = naive_factors(residuals_of(held)[0], 0.8)
    std = np.sqrt(second.predictions.uncertainty.total)
    for end, factor in zip(row_intervals(second, 0.8, True), factors * [-1, 1], strict=True):
        np.testing.assert_allclose(end, second.predictions.loc + factor * std, rtol=1e-6)
    assert held_out_inside(second, 0.8, conformal=True, held=held).shape == (30,)


def test_rows_of_one_model_are_calibrated_by_all_others(monkeypatch):
    monkeypatch.setattr("gbuq_core.tables.settling.MAX_ROWS_OUT_OF_FOLD", 100)
    plan = ScorePlan(ensemble="virtual", n_trees=20, depth=2, stopping=None)  # no halves: one model
    scored = score_table(table_of(120), "y", plan=plan)
    held = held_out(scored)
    residuals, std = residuals_of(held)
    ends = row_intervals(scored, 0.7, conformal=True)
    for place, row in enumerate(held.rows):
        above = naive_factors(np.delete(residuals, place), 0.7)[1]
        assert ends.upper[row] == pytest.approx(held.predictions.loc[place] + above * std[place])
    inside = held_out_inside(scored, 0.7, conformal=True)
    np.testing.assert_array_equal(
        inside, (held.y >= ends.lower[held.rows]) & (held.y <= ends.upper[held.rows])
    )


@pytest.mark.parametrize("most", [100, 1000])
@pytest.mark.parametrize("by", ["group", "time"])
def test_no_row_is_calibrated_by_its_own_group_or_by_later_rows(by, most, monkeypatch):
    monkeypatch.setattr("gbuq_core.tables.settling.MAX_ROWS_OUT_OF_FOLD", most)
    rng = np.random.default_rng(0)
    unit = np.arange(300) // 10
    lines = "\n".join(f"{rng.normal()},{u},{u + rng.normal()}" for u in unit)
    plan = ScorePlan(
        ensemble="virtual", n_trees=20, depth=2, stopping=None, split=by, split_column="u"
    )
    scored = score_table(read_table(f"x,u,y\n{lines}\n".encode()), "y", plan=plan)
    held = held_out(scored)
    units = unit[held.rows]
    part = scored.frame["fold"].to_numpy()[held.rows] if most > 300 else units
    lower, upper = row_intervals(scored, 0.7, conformal=True)
    residuals, std = residuals_of(held)
    rows = [place for place in range(0, len(units), 7) if part[place] > part.min() + 1]
    for place in rows:
        others = part < part[place] if by == "time" else part != part[place]
        width = (upper - lower)[held.rows][place] / std[place]
        assert width == pytest.approx(naive_factors(residuals[others], 0.7).sum())
    assert rows
    judged = conformal_coverage(scored, held).n_rows
    assert (judged < len(units)) == (by == "time")


def eight_units(n, rng):
    """Rows of eight units whose noise has a std from 1 to 4."""
    x, unit = rng.uniform(-2, 2, n), rng.integers(0, 8, n)
    y = 5 * np.sin(x) + (1 + 3 * unit / 7) * rng.normal(size=n)
    lines = "\n".join(f"{a:.4f},u{b},{b},{c:.4f}" for a, b, c in zip(x, unit, y, strict=True))
    return read_table(f"x,unit,size,y\n{lines}\n".encode()), y, unit


@pytest.fixture(scope="module")
def by_units():
    """Scored by a model that knows no unit: 300 held-out rows of each, and 2,000 new ones."""
    rng = np.random.default_rng(0)
    table, new = eight_units(12_000, rng)[0], eight_units(16_000, rng)
    schema = edit_schema(table, infer_schema(table), used={"unit": False, "size": False})
    scored = score_table(table, "y", schema=schema, new=new[0], plan=FAST)
    return table, scored, *new[1:]


@pytest.mark.parametrize("column", ["unit", "size"])  # words, and numbers in five bins
def test_groups_that_are_off_are_repaired_by_intervals_of_their_own(by_units, column):
    table, scored, y, unit = by_units

    def worst(scored):
        lower, upper = (scored.frame[name].to_numpy() for name in ("lower_90", "upper_90"))
        inside = (lower <= y) & (y <= upper)
        shares = [inside[unit == k].mean() for k in range(8)]
        return shares[np.argmax(np.abs(np.array(shares) - 0.9))], min(shares)

    groups = own_groups(scored, column, table)
    assert worst(scored)[1] <= 0.75
    assert worst(with_intervals(scored, conformal=True))[1] <= 0.77
    repaired = with_intervals(scored, conformal=True, by=groups)
    # Units beside each other share a bin of sizes.
    low, high = (0.86, 0.94) if column == "unit" else (0.8, 0.97)
    assert low <= worst(repaired)[0] <= high
    residuals = residuals_of(held_out(scored))[0]
    lower, upper = row_intervals(scored, 0.9, True, by=groups)
    width = (upper - lower) / law_of(scored.predictions).scale
    held, rows = groups.held[:, 0], groups.rows[:, 0]
    for code in np.unique(held):
        factors = naive_factors(residuals[held == code], 0.9)
        np.testing.assert_allclose(width[rows == code], factors.sum(), rtol=CANCELLED)
    inside = held_out_inside(scored, 0.9, True, by=groups)
    own = [inside[held == code].mean() for code in np.unique(held)]
    assert 0.84 <= min(own) <= max(own) <= 0.96  # of 300 rows, each half by the other


def test_groups_that_overlap_are_all_repaired_as_mapie_says(by_units, monkeypatch):
    """A quantile regression on the groups, which mapie solves row by row."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, (8000, 2)) * [1, 2]  # of two columns
    distances = np.abs(rng.normal(size=8000)) * (1 + codes[:, 0]) * (1 + codes[:, 1] / 4)
    held, new = np.arange(8000) < 2000, np.arange(8000) >= 2000
    inside = distances[new] <= _group_factors(distances[held], codes[held], codes[new], 0.9)
    for column in codes[new].T:
        shares = [inside[column == code].mean() for code in np.unique(column)]
        assert 0.86 <= min(shares) <= max(shares) <= 0.94
    # Mapie sets up a problem for cvxpy that its exact way does not solve.
    monkeypatch.setattr(conditional_conformal_prediction, "setup_cvx_problem", lambda *_: None)

    def features(codes):
        parts = [codes[:, :1] == [1, 2, 3], codes[:, 1:] == [2, 4, 6]]
        return np.column_stack([np.ones(len(codes)), *parts]).astype(float)

    zero = DummyRegressor(strategy="constant", constant=0.0).fit([[0.0]], [0.0])
    mapie = conditional_conformal_prediction.ConditionalSplitConformalRegressor(
        features, zero, confidence_level=0.9
    )
    mapie.conformalize(codes[:300], distances[:300])
    expected = mapie.predict_interval(codes[300:320])[1][:, 1, 0]
    factors = _group_factors(distances[:300], codes[:300], codes[300:320], 0.9)
    np.testing.assert_allclose(factors, expected, rtol=1e-6)  # of two solvers
    strange = np.array([[9, 0]])  # is calibrated by all rows
    assert _group_factors(distances, codes, strange, 0.9) == np.sort(distances)[7200]
    table, scored, *_ = by_units
    groups = own_groups(scored, "unit, size", table)  # which says the same twice
    assert groups.held.shape[1] == groups.rows.shape[1] == 2
    judged = held_out_inside(scored, 0.9, True, by=groups)
    for column in groups.held.T:
        shares = [judged[column == code].mean() for code in np.unique(column)]
        assert 0.83 <= min(shares) <= max(shares) <= 0.97


def test_small_groups_share_and_what_cannot_be_repaired_is_said(folds):
    rng = np.random.default_rng(1)
    shop = rng.choice(["north", "south", "east", "west"], 300, p=[0.45, 0.4, 0.1, 0.05])
    lines = "\n".join(
        f"{a:.3f},{b},{i},{a:.3f}"
        for i, (a, b) in enumerate(zip(rng.normal(size=300), shop, strict=True))
    )
    table = read_table(f"x,shop,who,y\n{lines}\n".encode())
    scored = score_table(table, "y", plan=FAST)
    groups = own_groups(scored, "shop", table)
    assert sorted(groups.shared) in (["east", "west"], ["east", "south", "west"])
    assert set(groups.rows[shop == "north", 0]) != {-1}
    assert (groups.rows[(shop == "east") | (shop == "west")] == -1).all()
    with pytest.raises(InvalidParameter, match='There is no column "town"'):
        own_groups(scored, "town", table)
    grouped = score_table(table, "y", plan=replace(FAST, split="group", split_column="shop"))
    with pytest.raises(InvalidParameter, match='held out by "shop"'):
        own_groups(grouped, "shop", table)
    small = load_builtin("wine")
    classes = score_table(small.table, "cultivar", schema=small.schema, plan=FAST)
    with pytest.raises(InvalidParameter, match="need a number as target"):
        own_groups(classes, "alcohol", small.table)
    few = table_of(60)
    with pytest.raises(InvalidParameter, match='No group of "x" has 50 held-out rows'):
        own_groups(score_table(few, "y", plan=FAST), "x", few)


def test_conformal_intervals_hold_what_they_say():
    """Without stopping early the law is far too narrow; conformal intervals are not."""
    scored = score_table(
        table_of(400), "y", plan=ScorePlan(ensemble="virtual", n_trees=200, depth=6, stopping=None)
    )
    by_law = np.mean(held_out_inside(scored, 0.9))
    coverage = conformal_coverage(scored, levels=(0.5, 0.9))
    assert by_law < 0.85
    assert (coverage.low <= coverage.levels).all()
    assert (coverage.high >= coverage.levels).all()
    lower, upper = row_intervals(scored, 0.9, conformal=True)
    y = scored.training.y
    assert coverage.observed[1] == np.mean((lower <= y) & (y <= upper))


def test_the_columns_are_named_after_the_level_and_follow_a_cut(folds):
    table = with_intervals(folds, 0.975, conformal=True)
    names = ["prediction", "lower_97.5", "upper_97.5", "total_uncertainty"]
    assert table.frame.columns.tolist()[2:6] == names
    assert "lower_90" not in table.frame
    cut = cut_table(table, Cut(members=2))
    assert cut.frame.columns.tolist() == table.frame.columns.tolist()
    expected = row_intervals(cut, 0.975, conformal=True)
    np.testing.assert_array_equal(cut.frame["lower_97.5"], expected.lower)
    again = with_intervals(table, 0.9)
    assert again.frame.equals(folds.frame)


@pytest.mark.parametrize("s", [0.5, 1.5])
def test_each_tail_of_a_skewed_target_misses_half(s):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(2, 3000))
    y = np.exp(0.5 * x + s * rng.normal(size=x.shape))
    first, new = (
        read_table(b"x,y\n" + b"".join(b"%f,%f\n" % pair for pair in zip(*rows, strict=True)))
        for rows in zip(x, y, strict=True)
    )
    scored = with_intervals(score_table(first, "y", new=new, plan=FAST), conformal=True)
    misses = [(y[1] < scored.frame.lower_90).mean(), (y[1] > scored.frame.upper_90).mean()]
    # Three standard errors of 600 rows that calibrate and 3,000 that are judged.
    np.testing.assert_allclose(misses, 0.05, atol=3 * np.sqrt(0.05 * 0.95 * (1 / 600 + 1 / 3000)))


@pytest.mark.parametrize(("end", "sign", "where"), [(0, 1, "below"), (90, -1, "above")])
def test_what_ends_show_is_said_of_those_that_are_written(end, sign, where):
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, 200)
    y = end + sign * np.maximum(0, 40 * (x - 0.6) + 2 * rng.normal(size=200))
    table = read_table(b"x,claim\n" + b"".join(b"%f,%f\n" % p for p in zip(x, y, strict=True)))
    alone = score_table(table, "claim", plan=FAST)
    lower, upper = row_intervals(alone, 0.9)
    n_beyond = (lower < end).sum() if sign > 0 else (upper > end).sum()
    first, beyond = table_ends(alone)
    assert first == "The prediction is the mean."
    assert f"is exactly {end}, and nothing is {where} it, but {n_beyond} of 200 int" in beyond
    stacked = score_table(table, "claim", plan=ScorePlan(n_trees=40, n_members=2, depth=3))
    ends = stacked.frame[["lower_90", "upper_90"]].to_numpy()
    reach = ends.min() < end if sign > 0 else ends.max() > end
    assert any(where in sentence for sentence in table_ends(stacked)) == reach
    assert not reach or sign < 0  # the law of a positive number ends at 0
    prediction, *ends = stacked.frame[["prediction", "lower_90", "upper_90"]].to_numpy().T
    n_apart = ((prediction < ends[0]) | (prediction > ends[1])).sum()
    assert f"In {n_apart} of 200 rows it lies outside" in table_ends(stacked)[0] or not n_apart
    far = with_intervals(alone, 0.995, conformal=True)
    assert "200 of 200 intervals have an infinite end" in table_ends(far)[1]
    assert "needs 399 held-out rows" in table_ends(far)[1]
    held = written_scores(with_intervals(alone, conformal=True)).coverage.observed
    assert (held != alone.scores.coverage.observed).any()
    for level, share in zip((0.5, 0.8, 0.95), held, strict=True):
        ends = row_intervals(alone, level, conformal=True)
        assert ((ends.lower <= y) & (y <= ends.upper)).mean() == share


def test_infinite_ends_are_written(folds):
    table = with_intervals(folds, 0.999, conformal=True)
    assert b",-inf,inf," in to_csv_bytes(table.frame)


def test_on_a_log_scale_they_are_positive_and_not_symmetric():
    rng = np.random.default_rng(0)
    x = rng.normal(size=120)
    y = np.exp(x + 0.5 * rng.normal(size=120))
    lines = "\n".join(f"{a},{b}" for a, b in zip(x, y, strict=True))
    plan = replace(FAST, scale="log")
    scored = score_table(read_table(f"x,y\n{lines}\n".encode()), "y", plan=plan)
    lower, upper = row_intervals(scored, 0.9, conformal=True)
    assert (lower > 0.0).all()
    away = np.log(upper) - scored.predictions.log_loc
    assert len(np.unique((away / scored.predictions.log_scale).round(6))) <= 5  # one a fold
    inside = held_out_inside(scored, 0.9, conformal=True)
    np.testing.assert_array_equal(inside, (lower <= y) & (y <= upper))
    assert 0.8 < inside.mean() < 1.0
    assert row_intervals(scored, 0.999, conformal=True).lower[0] == 0.0


def test_classes_and_odd_levels_are_refused(folds):
    wine = load_builtin("wine")
    scored = score_table(wine.table, wine.about.target, schema=wine.schema, plan=FAST)
    assert with_intervals(scored, 0.8) is scored
    assert "p_class_0" in scored.frame or any(n.startswith("p_") for n in scored.frame)
    for asked in (lambda: with_intervals(scored, conformal=True), lambda: row_intervals(scored)):
        with pytest.raises(InvalidParameter, match="number as target"):
            asked()
    for level in (0.0, 1.0, 90, float("nan")):
        with pytest.raises(InvalidParameter, match="between 0 and 1"):
            with_intervals(folds, level)
