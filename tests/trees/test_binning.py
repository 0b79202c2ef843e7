"""Borders, codes, merged cells and candidates against their slow twins, and their extremes."""

import itertools

import naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gbuq_core.trees.binning import (
    UNSEEN_LEVEL,
    apply_bins,
    binned_rows,
    choose_borders,
    fit_bins,
    merge_rows,
    single_cells,
)

finite = st.floats(allow_nan=False, allow_infinity=False)
# Values that repeat, and values that do not.
columns = st.one_of(
    st.lists(st.integers(-3, 9).map(float), min_size=1, max_size=60),
    st.lists(finite, min_size=1, max_size=60),
)


def numeric(*features):
    """Bins of numeric features given as lists, and those features' codes (n, n_features)."""
    X = np.array(features, float).T
    bins = fit_bins(X, np.zeros(len(features), bool), 255)
    return bins, apply_bins(bins, X).T


@given(values=columns, max_bins=st.integers(2, 255))
def test_borders_equal_the_twin(values, max_bins):
    borders = choose_borders(np.array(values), max_bins)
    np.testing.assert_array_equal(borders, naive.choose_borders(values, max_bins))


@given(values=columns, max_bins=st.integers(2, 20))
def test_every_border_parts_two_values(values, max_bins):
    borders = choose_borders(np.array(values), max_bins)
    codes = 1 + np.searchsorted(borders, values)
    assert len(borders) < max_bins
    assert set(codes) == set(range(1, len(borders) + 2))


def test_bins_of_distinct_values_are_equally_full(rng):
    values = rng.permutation(1000).astype(float)
    codes = 1 + np.searchsorted(choose_borders(values, 8), values)
    np.testing.assert_array_equal(np.bincount(codes)[1:], 125)


def test_a_frequent_value_has_a_bin_of_its_own(rng):
    values = np.concatenate([np.zeros(900), rng.permutation(100) + 1.0])
    borders = choose_borders(values, 10)
    assert borders[0] == 0.5


@given(low=st.floats(-1.7e308, 1.7e308))
def test_adjacent_floats_are_parted(low):
    above = np.nextafter(low, np.inf)
    borders = choose_borders(np.array([above, low]), 255)
    assert np.searchsorted(borders, [low, above]).tolist() == [0, 1]


@pytest.mark.parametrize(
    "values",
    [
        [-1.7e308, -1e308, 1e308, 1.7e308],  # sums and differences overflow
        [0.0, 5e-324, 1e-323],  # halves underflow
        [-5e-324, 0.0, 5e-324],
    ],
)
def test_extreme_values_get_a_bin_each(values):
    _, codes = numeric(values)
    np.testing.assert_array_equal(codes[:, 0], np.arange(len(values)) + 1)


def test_minus_zero_is_zero():
    _, codes = numeric([0.0, -0.0, 1.0])
    assert codes[0] == codes[1]


@given(values=columns, new=st.lists(st.one_of(finite, st.just(np.nan)), min_size=1, max_size=20))
def test_codes_equal_the_twin(values, new):
    bins = fit_bins(np.array(values)[:, None], np.array([False]), 16)
    codes = apply_bins(bins, np.array(new)[:, None])
    assert codes[0].tolist() == naive.bin_codes(new, bins.borders[0])


def test_the_largest_code_is_255():
    values = np.append(np.arange(1000.0), np.nan)[:, None]
    bins = fit_bins(values, np.array([False]), 255)
    codes = apply_bins(bins, values)[0]
    assert bins.n_codes[0] == 256
    assert (codes.min(), codes.max(), codes[-1]) == (0, 255, 0)
    assert bins.has_missing[0]
    assert len(np.unique(codes)) == 256


def test_missing_values_do_not_move_borders(rng):
    column = rng.normal(size=500)
    with_gaps = np.insert(column, [3, 77, 400], np.nan)[:, None]
    bins = [fit_bins(x, np.array([False]), 32) for x in (column[:, None], with_gaps)]
    np.testing.assert_array_equal(bins[0].borders[0], bins[1].borders[0])
    assert not bins[0].has_missing[0]


def test_only_missing_values():
    bins = fit_bins(np.full((3, 1), np.nan), np.array([False]), 32)
    assert bins.n_codes[0] == 2
    np.testing.assert_array_equal(apply_bins(bins, np.array([[np.nan], [5.0]]))[0], [0, 1])


@pytest.mark.parametrize("strange", [np.nan, -1.0, 3.0, 255.0, 256.0, 1e300])
def test_unseen_levels_share_a_code_of_their_own(strange):
    bins = fit_bins(np.array([[0.0], [2.0], [1.0]]), np.array([True]), 255)
    codes = apply_bins(bins, np.array([[2.0], [strange]]))[0]
    assert codes.tolist() == [2, UNSEEN_LEVEL]


@given(
    codes=arrays(
        np.uint8, st.tuples(st.integers(1, 4), st.integers(2, 60)), elements=st.integers(0, 3)
    )
)
def test_merged_rows_equal_the_twin(codes):
    expected = naive.cells_of(codes.T)
    cells = merge_rows(codes)
    if cells is None:
        assert len(expected) > codes.shape[1] // 2 or len(expected) > 0.9 * codes.shape[1]
        return
    rows_of = {
        tuple(code): cells.order[low:high].tolist()
        for code, (low, high) in zip(
            cells.codes.tolist(), itertools.pairwise(cells.begin), strict=True
        )
    }
    assert rows_of == expected  # and every cell's rows in ascending order
    assert cells.codes.flags.c_contiguous


@pytest.mark.parametrize(("n_features", "n_codes"), [(40, 256), (40, 250), (9, 2), (3, 256)])
def test_merging_many_features(rng, n_features, n_codes):
    """Forty features of 256 codes push the first ones out of a key, if it is not renumbered."""
    distinct = rng.integers(0, n_codes, size=(30, n_features)).astype(np.uint8)
    distinct[4] = n_codes - 1
    # Two rows that differ in their first feature only, and two in their last.
    distinct[1], distinct[3] = distinct[0], distinct[2]
    distinct[1, 0], distinct[3, -1] = 1 - distinct[0, 0] % 2, 1 - distinct[2, -1] % 2
    rows = distinct[rng.integers(0, 30, size=5000)]
    cells = merge_rows(np.ascontiguousarray(rows.T))
    _, first, counts = np.unique(rows, axis=0, return_index=True, return_counts=True)
    assert sorted(zip(cells.codes.tolist(), np.diff(cells.begin).tolist(), strict=True)) == sorted(
        zip(rows[first].tolist(), counts.tolist(), strict=True)
    )
    owner = np.repeat(np.arange(len(cells.codes)), np.diff(cells.begin))
    np.testing.assert_array_equal(cells.codes[owner], rows[cells.order])


@pytest.mark.parametrize("shape", [(3, 1), (0, 5)])
def test_nothing_to_merge(shape):
    assert merge_rows(np.zeros(shape, np.uint8)) is None


def test_continuous_rows_are_not_merged(rng):
    codes = rng.integers(0, 128, size=(6, 9000)).astype(np.uint8)
    assert merge_rows(codes) is None
    cells = single_cells(codes)
    np.testing.assert_array_equal(cells.codes, codes.T)
    np.testing.assert_array_equal(np.diff(cells.begin), 1)
    np.testing.assert_array_equal(cells.order, np.arange(9000))


@pytest.mark.parametrize(
    ("column", "is_category", "expected"),
    [
        ([1.0, 2.0, 3.0], False, [1, 2]),  # code > 1, code > 2
        ([1.0, 2.0, np.nan], False, [0, 1]),  # missing against the rest too
        ([5.0, np.nan], False, [0]),
        ([5.0, 5.0], False, []),
        ([np.nan, np.nan], False, [0]),  # all rows on one side: a split without effect
        ([0.0, 1.0], True, [0]),  # both levels part the rows alike
        ([0.0, 1.0, 2.0], True, [0, 1, 2]),
        ([0.0, 0.0], True, []),
    ],
)
def test_candidates(column, is_category, expected):
    X = np.array(column)[:, None]
    bins = fit_bins(X, np.array([is_category]), 255)
    rows = binned_rows(bins, single_cells(apply_bins(bins, X)))
    assert rows.slot_bin[rows.is_candidate].tolist() == expected
    options = naive.candidates(bins.n_codes, bins.is_category, bins.has_missing)
    assert [code for _, code in options] == expected


def test_slots_follow_the_features(rng):
    X = np.column_stack([rng.normal(size=50), rng.integers(0, 4, 50), np.full(50, 3.0)])
    bins = fit_bins(X, np.array([False, True, False]), 8)
    rows = binned_rows(bins, single_cells(apply_bins(bins, X)))
    slots = list(zip(rows.slot_feature.tolist(), rows.slot_bin.tolist(), strict=True))
    assert slots == [(f, c) for f, size in enumerate(bins.n_codes) for c in range(size)]
    for feature, offset in enumerate(rows.offset.tolist()):
        assert slots[offset] == (feature, 0)
    options = [slot for slot, chosen in zip(slots, rows.is_candidate, strict=True) if chosen]
    assert options == naive.candidates(bins.n_codes, bins.is_category, bins.has_missing)
    np.testing.assert_array_equal(rows.columns, rows.codes.T)
