"""The smallest change of a row: against a search that asks the model about every cell."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tolerances import CANCELLED, NEAR_ZERO, SAME_SUM

from gbuq_core import BoostedEnsembleClassifier, BoostedEnsembleRegressor, find_smallest_change
from gbuq_core.boosting.grid_kernels import fill_grid
from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.trees.binning import apply_bins

SMALL = {"n_trees": 30, "depth": 3, "max_bins": 12, "random_state": 0}


def make_table(n=300, seed=0):
    """A number, a whole number with gaps, a category of 3 and one of 40 levels, and noise in one
    corner.
    """
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "length": rng.uniform(0, 10, n).round(2),
            "count": np.where(rng.random(n) < 0.1, np.nan, rng.integers(0, 6, n)),
            "colour": rng.choice(["red", "green", "blue"], n),
            "town": [f"t{k:02d}" for k in rng.integers(0, 40, n)],
        }
    )
    noise = 0.1 + 2.0 * ((table.length > 5) & (table.colour != "red"))
    return table, table.length.to_numpy() + rng.normal(0, noise)


def naive_costs(model, row, most, kind, scales):
    """The least cost of one or of two columns, asking `predict_uncertainty` about every value that
    stands for a bin or a category.
    """
    offered = []
    for column, coding in enumerate(model.encoding_.columns):
        own = row.iloc[0, column]
        if coding.kind == "number":
            borders = model.models_.bins.borders[column]
            after = np.nextafter(borders, np.inf)
            cost = np.full(2 * len(borders), 1.0)
            if not np.isnan(own):
                cost = np.concatenate([own - borders, borders - own]) / scales[column]
            values = [*borders, *after]
            offered.append([(v, c) for v, c in zip(values, cost, strict=True) if c >= 0.0])
        else:
            offered.append([(level, 1.0) for level in coding.levels if level != own])
    least = [np.inf, np.inf]
    for n_columns in (1, 2):
        for columns in combinations(range(len(offered)), n_columns):
            table, costs = changed_rows(row, columns, offered)
            doubt = getattr(model.predict_uncertainty(table), kind)
            good = costs[doubt <= most]
            least[n_columns - 1] = min([least[n_columns - 1], *good])
    return least


def changed_rows(row, columns, offered):
    chosen = [offered[column] for column in columns]
    mesh = np.meshgrid(*[np.arange(len(values)) for values in chosen], indexing="ij")
    table = row.loc[row.index.repeat(mesh[0].size)].reset_index(drop=True)
    costs = np.zeros(mesh[0].size)
    for column, values, picked in zip(columns, chosen, mesh, strict=True):
        table[table.columns[column]] = [values[k][0] for k in picked.ravel()]
        costs += [values[k][1] for k in picked.ravel()]
    return table, costs


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({"n_members": 3, "stopping": None}, "total"),
        ({"ensemble": "virtual", "stopping": None, "truncation_step": 5}, "knowledge"),
        ({"n_members": 2}, "total"),
        ({"method": "csglb", "cycle_length": 10, "stopping": None}, "knowledge"),
    ],
    ids=["independent", "virtual", "two clocks", "cyclical"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_it_is_the_smallest_of_all_changes(arguments, kind):
    X, y = make_table()
    model = BoostedEnsembleRegressor(**SMALL, **arguments).fit(X, y)
    scales = [3.0, 2.0, 1.0, 1.0]
    doubt = getattr(model.predict_uncertainty(X), kind)
    most = float(np.quantile(doubt, 0.15))
    rows = [*np.argsort(-doubt)[:2], int(np.flatnonzero(X["count"].isna() & (doubt > most))[0])]
    for position in rows:
        row = X.iloc[[position]]
        of_one, of_two = naive_costs(model, row, most, kind, scales)
        for n_columns, least in ((1, of_one), (2, min(of_one, of_two))):
            edit = find_smallest_change(model, row, most, kind, scales=scales, n_columns=n_columns)
            assert (edit is None) == np.isinf(least)
            if edit is not None:
                # The naive twin stands on the border or just behind it.
                assert edit.size == pytest.approx(least, abs=NEAR_ZERO)
                after = getattr(edit.uncertainty_after, kind)[0]
                assert after <= most * (1 + SAME_SUM)
                assert getattr(model.predict_uncertainty(edit.row), kind)[0] == after


def test_classes_and_their_temperature():
    X, _ = make_table()
    y = np.where(np.random.default_rng(1).random(len(X)) < X.length / 10, "high", "low")
    model = BoostedEnsembleClassifier(n_members=3, **SMALL).fit(X, y)
    doubt = model.predict_uncertainty(X).total
    most = float(np.quantile(doubt, 0.3))
    row = X.iloc[[int(np.argmax(doubt))]]
    edit = find_smallest_change(model, row, most, scales=np.ones(4))
    assert edit.size == pytest.approx(min(naive_costs(model, row, most, "total", np.ones(4))))
    assert model.predict_uncertainty(edit.row).total[0] <= most * (1 + SAME_SUM)


def test_columns_that_are_fixed_keep_their_values():
    X, y = make_table()
    model = BoostedEnsembleRegressor(n_members=2, **SMALL, stopping=None).fit(X, y)
    total = model.predict_uncertainty(X).total
    row, most = X.iloc[[int(np.argmax(total))]], float(np.quantile(total, 0.3))
    free = find_smallest_change(model, row, most)
    assert free.columns
    for fixed in (free.columns[0], X.columns[free.columns[0]]):
        edit = find_smallest_change(model, row, most, fixed=[fixed])
        assert edit is None or free.columns[0] not in edit.columns
        assert edit is None or edit.size >= free.size
    assert find_smallest_change(model, row, most, fixed=list(X.columns)) is None


def test_a_row_below_the_level_keeps_all_values():
    X, y = make_table()
    model = BoostedEnsembleRegressor(n_members=2, **SMALL, stopping=None).fit(X, y)
    total = model.predict_uncertainty(X).total
    edit = find_smallest_change(model, X.iloc[[0]], float(total[0]) + 1e-9)
    assert (edit.columns, edit.size) == ((), 0.0)


def test_whole_numbers_are_suggested_where_only_they_were_seen():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 20, (800, 2)).astype(float)
    y = rng.normal(0, np.where(X[:, 0] > 9, 3.0, 0.1))
    model = BoostedEnsembleRegressor(n_members=2, n_trees=100, random_state=0).fit(X, y)
    edit = find_smallest_change(model, [[15.0, 4.0]], 1.0)
    assert edit.columns == (0,)
    assert edit.after[0] in (8.0, 9.0, 10.0)  # the noise begins at 10


def test_a_missing_value_is_filled_in_but_never_made():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (600, 2))
    X[rng.random(600) < 0.3, 0] = np.nan
    y = rng.normal(0, np.where(np.isnan(X[:, 0]), 3.0, 0.1))
    model = BoostedEnsembleRegressor(n_members=2, n_trees=100, random_state=0).fit(X, y)
    edit = find_smallest_change(model, [[np.nan, 0.5]], 0.5)
    assert (edit.columns, edit.size) == ((0,), 1.0)
    assert 0.0 <= edit.after[0] <= 1.0
    # Being missing would now be the calm case.
    y = rng.normal(0, np.where(np.isnan(X[:, 0]), 0.1, 3.0))
    model = BoostedEnsembleRegressor(n_members=2, n_trees=100, random_state=0).fit(X, y)
    edit = find_smallest_change(model, [[0.5, 0.5]], 0.5)
    assert edit is None or not np.isnan(edit.after).any()


def test_two_columns_where_one_after_the_other_finds_nothing():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (3000, 3))
    calm = (X[:, 0] < 0.5) & (X[:, 1] < 0.5)
    y = rng.normal(0, np.where(calm, 0.1, 2.0))
    model = BoostedEnsembleRegressor(n_members=2, n_trees=100, stopping=None, random_state=0)
    model.fit(X, y)
    row = [[0.9, 0.9, 0.5]]
    assert find_smallest_change(model, row, 0.3, n_columns=1) is None
    edit = find_smallest_change(model, row, 0.3)
    assert edit.columns == (0, 1)
    assert edit.after == pytest.approx((0.5, 0.5), abs=0.05)  # rows are 0.02 apart there


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 3),
    st.lists(st.integers(0, 255), min_size=2, max_size=9, unique=True),
    st.lists(st.integers(0, 255), min_size=1, max_size=9, unique=True),
)
def test_a_grid_holds_what_single_rows_would_get(fitted, first, codes_a, codes_b):
    model, X = fitted
    second = (first + 1) % 4
    own = apply_bins(model.models_.bins, model._matrix(X.iloc[[3]]))[:, 0]
    models = model.models_
    axis, place = np.zeros(4, np.int8), np.zeros(4, np.int64)
    axis[first], axis[second] = 1, 2
    a, b = (np.array([codes], np.uint8) for codes in (codes_a, codes_b))
    points = np.array([7, 30])
    out = np.empty((2, a.shape[1], b.shape[1], 2))
    fill_grid(
        models.forests[0], models.bins.is_category, own, axis, place, a, b, models.start,
        models.decay, points, out,
    )  # fmt: skip
    for i, j in np.ndindex(a.shape[1], b.shape[1]):
        codes = own.copy()
        codes[first], codes[second] = a[0, i], b[0, j]
        expected = naive_raw(models, codes, points)
        np.testing.assert_allclose(out[:, i, j], expected, rtol=CANCELLED, atol=NEAR_ZERO)


@pytest.fixture(scope="module")
def fitted():
    X, y = make_table()
    model = BoostedEnsembleRegressor(ensemble="virtual", stopping=None, truncation_step=5, **SMALL)
    return model.fit(X, y), X


def naive_raw(models, codes, points):
    """A row's raw outputs tree by tree, by the definition of a leaf."""
    forest, raw, rows = models.forests[0], models.start.copy(), []
    for tree in range(points[-1]):
        leaf = 0
        for level in range(forest.levels[tree]):
            feature, split = forest.features[tree, level], forest.bins[tree, level]
            is_category = models.bins.is_category[feature]
            right = codes[feature] == split if is_category else codes[feature] > split
            leaf += int(right) << level
        raw = raw * (models.decay if tree else 1.0) + forest.values[tree, leaf]
        if tree + 1 in points:
            rows.append(raw)
    return np.array(rows)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ({"row": "two"}, "one row"),
        ({"most": -1.0}, "most"),
        ({"most": np.nan}, "most"),
        ({"kind": "doubt"}, "kind"),
        ({"fixed": ["height"]}, "height"),
        ({"fixed": [4]}, "fixed"),
        ({"scales": [1.0, 1.0]}, "scales"),
        ({"scales": [1.0, 0.0, 1.0, 1.0]}, "scales"),
        ({"n_columns": 3}, "n_columns"),
    ],
)
def test_impossible_arguments_are_refused(fitted, edit, message):
    model, X = fitted
    arguments = {"row": X.iloc[[0]], "most": 0.1} | edit
    if isinstance(arguments["row"], str):
        arguments["row"] = X.iloc[:2]
    with pytest.raises((InvalidParameter, InvalidData), match=message):
        find_smallest_change(model, **arguments)


def test_catboosts_trees_are_refused():
    X, y = make_table(60)
    model = BoostedEnsembleRegressor(
        n_members=1, n_trees=5, engine="catboost", stopping=None, random_state=0
    ).fit(X[["length"]], y)
    with pytest.raises(InvalidParameter, match="numba"):
        find_smallest_change(model, X[["length"]].iloc[[0]], 0.1)
