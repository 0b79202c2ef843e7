"""Edits of the Novelty maps page: what they do to the rows, and links that carry them."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gbuq_core.errors import GbuqError, InvalidData, InvalidParameter
from gbuq_core.experiments.novelty.data import N_CELLS, SIDE, cell_numbers, load_novelty_data
from gbuq_core.experiments.novelty.edits import (
    EDIT_KINDS,
    MOST_CHARACTERS,
    MOST_ROWS_AFTER,
    Edit,
    apply_edits,
    cells_of,
    cells_within,
    check_edit,
    decode_edits,
    edit_of,
    encode_edits,
    mask_of,
    runs_of,
)

CELLS = st.sets(st.integers(0, N_CELLS - 1), min_size=1, max_size=60)
EDITS = st.builds(
    edit_of,
    st.sampled_from(EDIT_KINDS),
    CELLS.map(sorted),
    label=st.integers(0, 99),
    value=st.floats(-1e6, 1e6, width=32),
    copies=st.integers(1, 20),
)


def half(data, right=False):
    """The cells of the left or right half of a map."""
    column = np.arange(N_CELLS) % SIDE
    return np.flatnonzero((column >= SIDE // 2) == right)


@settings(max_examples=30)
@given(CELLS)
def test_runs_hold_the_cells_and_nothing_else(cells):
    runs = runs_of(list(cells))
    np.testing.assert_array_equal(cells_of(runs), sorted(cells))
    assert all(b[0] > a[0] + a[1] for a, b in pairwise(runs))
    pairs = [(cell // SIDE, cell % SIDE) for cell in cells]
    assert runs_of(pairs) == runs
    assert mask_of(runs).sum() == len(cells)


@settings(max_examples=30)
@given(st.lists(EDITS, max_size=4))
def test_links_carry_edits(edits):
    try:
        text = encode_edits(edits)
    except InvalidParameter:
        return
    assert decode_edits(text) == tuple(edits)
    assert all(c.isascii() and (c.isalnum() or c in "-_") for c in text)


@given(st.text(max_size=60))
def test_any_text_is_edits_or_one_sentence(text):
    message = ""
    try:
        decode_edits(text)
    except InvalidParameter as error:
        message = str(error)
    assert message == "" or (message.count(".") == 1 and message.endswith("."))


def test_a_link_that_was_cut_or_mistyped_is_told():
    text = encode_edits([edit_of("duplicate", range(100, 140), copies=3)] * 3)
    for cut in range(1, len(text)):
        with pytest.raises(InvalidParameter, match="damaged"):
            decode_edits(text[:cut])
    for at in range(len(text) - 1):  # the last character may hold bits that nothing reads
        other = "A" if text[at] != "A" else "B"
        with pytest.raises(InvalidParameter, match=r"damaged|version"):
            decode_edits(text[:at] + other + text[at + 1 :])


def test_a_round_lasso_takes_few_characters_and_twenty_fit():
    axes = (np.arange(60.0), np.arange(60.0))
    angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    circle = np.column_stack([30 + 10 * np.cos(angle), 30 + 10 * np.sin(angle)])
    edit = edit_of("add", cells_within(axes, circle), label=1)
    assert len(encode_edits([edit])) < 75
    assert len(encode_edits([edit] * 20)) <= MOST_CHARACTERS
    with pytest.raises(InvalidParameter, match="At most 20 edits"):
        encode_edits([edit] * 21)
    chequered = edit_of("remove", range(0, N_CELLS, 2))
    with pytest.raises(InvalidParameter, match=r"characters of a link.*simpler"):
        encode_edits([chequered])
    with pytest.raises(InvalidParameter, match="2,000 characters"):
        decode_edits("A" * 2000)
    for bad in (None, 3, b"AQ"):
        with pytest.raises(InvalidParameter):
            decode_edits(bad)


def test_a_polygon_holds_the_middles_within():
    axes = (np.arange(60.0), np.arange(60.0))
    triangle = cells_within(axes, [(-0.1, -0.1), (10.2, -0.1), (-0.1, 10.2)])
    x, y = triangle % SIDE, triangle // SIDE
    assert ((x + y) <= 10).all()
    assert len(triangle) == 66  # 11 + 10 + ... + 1
    assert len(cells_within(axes, [(0, 0), (1, 1)])) == 0
    with pytest.raises(InvalidParameter):
        cells_within(axes, [(0, 0), (np.nan, 1), (2, 2)])


def test_remove_takes_the_rows_of_the_cells_only():
    data = load_novelty_data("moons")
    cells = cells_within(data.axes, [(-0.5, 0.2), (0.6, 0.2), (0.6, 2), (-0.5, 2)])
    rows = apply_edits(data, [edit_of("remove", cells)])
    gone = np.isin(data.cell, cells)
    assert 30 < gone.sum() < 300
    np.testing.assert_array_equal(rows.X, data.X[~gone])
    np.testing.assert_array_equal(rows.origin, np.flatnonzero(~gone))
    assert rows.outcomes[0].n_rows == gone.sum()
    # Those rows lie in the box but for less than a cell.
    inside = (np.abs(data.X[:, 0] - 0.05) < 0.55) & (data.X[:, 1] > 0.2)
    assert (inside != gone).sum() < 40


def test_add_puts_rows_of_the_class_into_the_cells():
    data = load_novelty_data("rings", third=True)
    cells = cells_within(data.axes, [(-0.5, -0.5), (0.5, -0.5), (0.5, 0.5), (-0.5, 0.5)])
    edit = edit_of("add", cells, label=1, copies=2)
    rows = apply_edits(data, [edit], seed=4)
    new = rows.origin == -1
    assert new.sum() == 2 * len(cells) == rows.outcomes[0].n_rows
    assert (rows.y[new] == 1).all()
    np.testing.assert_array_equal(np.sort(rows.cell[new]), np.repeat(cells, 2))
    np.testing.assert_array_equal(cell_numbers(data.extent, rows.X), rows.cell)
    assert rows.X.shape[1] == 3
    np.testing.assert_array_equal(rows.X, apply_edits(data, [edit], seed=4).X)
    assert (rows.X[new] != apply_edits(data, [edit], seed=5).X[new]).all()


def test_duplicate_copies_rows_as_they_are():
    data = load_novelty_data("table", table="diabetes")
    rows = apply_edits(data, [edit_of("duplicate", half(data), copies=3)])
    hit = np.isin(data.cell, half(data))
    counts = np.bincount(rows.origin, minlength=len(data.y))
    np.testing.assert_array_equal(counts, np.where(hit, 4, 1))
    np.testing.assert_array_equal(rows.X, data.X[rows.origin])
    np.testing.assert_array_equal(rows.y, data.y[rows.origin])


def test_flip_swaps_turns_and_mirrors():
    for key in ("moons", "spiral"):
        data = load_novelty_data(key)
        rows = apply_edits(data, [edit_of("flip", half(data))])
        hit = np.isin(data.cell, half(data))
        n_classes = len(data.classes)
        np.testing.assert_array_equal(rows.y, np.where(hit, (data.y + 1) % n_classes, data.y))
        back = apply_edits(data, [edit_of("flip", half(data))] * n_classes)
        np.testing.assert_array_equal(back.y, data.y)
    table = load_novelty_data("table")
    rows = apply_edits(table, [edit_of("flip", range(N_CELLS))])
    np.testing.assert_allclose(rows.y + table.y, 2 * table.y.mean())
    assert rows.y.mean() == pytest.approx(table.y.mean())
    assert "about the mean" in rows.outcomes[0].text


def test_edits_apply_in_order():
    data = load_novelty_data("moons")
    sparse = half(data)[::7]
    add = edit_of("add", sparse, label=0)
    remove, everything = edit_of("remove", half(data)), edit_of("flip", range(N_CELLS))
    first, last = (apply_edits(data, each) for each in ([add, remove], [remove, add]))
    assert (first.origin >= 0).all()  # what was added went too
    assert (last.origin == -1).sum() == len(sparse)
    both = apply_edits(data, [add, everything])
    assert (both.y[both.origin == -1] == 1).all()


def why_no_edits(data, edits):
    with pytest.raises(GbuqError) as caught:
        apply_edits(data, edits)
    return str(caught.value)


def test_edits_that_leave_nothing_to_fit_are_one_sentence():
    data = load_novelty_data("rings")
    assert "every training row" in why_no_edits(data, [edit_of("remove", range(N_CELLS))])
    inner = cells_within(
        data.axes, [(-1.5, -1.5), (1.5, -1.5), (1.5, 1.5), (-1.5, 1.5)]
    )  # the inner ring has its rows within 1.5
    assert "no training row of class 0" in why_no_edits(data, [edit_of("remove", inner)])
    few = load_novelty_data("moons", rows=60)
    # Half of the 60 rows or so lie to the left of the middle.
    assert "at least 50" in why_no_edits(few, [edit_of("remove", half(few))])
    many = edit_of("add", range(N_CELLS), label=0, copies=3)
    assert f"{MOST_ROWS_AFTER:,}" in why_no_edits(data, [many])
    assert "one of the 2 classes" in why_no_edits(data, [edit_of("add", [5], label=2)])
    assert "one of the 2 classes" in why_no_edits(data, [edit_of("add", [5], value=2.0)])
    table = load_novelty_data("table")
    assert "need a number" in why_no_edits(table, [edit_of("add", [5], label=0)])
    apply_edits(table, [edit_of("add", [5], value=90.0)])


def test_an_edit_of_empty_cells_says_so():
    data = load_novelty_data("moons")
    for kind in ("remove", "duplicate", "flip"):
        rows = apply_edits(data, [edit_of(kind, [0])])
        np.testing.assert_array_equal(rows.X, data.X)
        np.testing.assert_array_equal(rows.y, data.y)
        assert "nothing changed" in rows.outcomes[0].text


@pytest.mark.parametrize(
    "make",
    [
        lambda: edit_of("paint", [1]),
        lambda: edit_of("remove", []),
        lambda: edit_of("remove", [N_CELLS]),
        lambda: edit_of("remove", [-1]),
        lambda: edit_of("remove", [0.5]),
        lambda: edit_of("remove", [float("nan")]),
        lambda: edit_of("remove", [(0, SIDE)]),
        lambda: edit_of("remove", ["a"]),
        lambda: edit_of("add", [1], label=-1),
        lambda: edit_of("add", [1], value=float("inf")),
        lambda: edit_of("add", [1], label=0, copies=21),
        lambda: check_edit(Edit("remove", ((5, 3), (8, 1)))),
        lambda: check_edit(Edit("remove", ((5, 3), (1, 1)))),
        lambda: check_edit(Edit("remove", ((N_CELLS - 1, 2),))),
    ],
)
def test_refused_edits(make):
    with pytest.raises(GbuqError) as caught:
        make()
    assert isinstance(caught.value, InvalidParameter | InvalidData)
    assert "\n" not in str(caught.value)
