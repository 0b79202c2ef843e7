"""Novelty maps: they are the estimators' scores; ranks, places and rows against naive twins."""

import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata
from tolerances import NEAR_ZERO, SAME_SUM

from gbuq_core.errors import GbuqError, InvalidParameter
from gbuq_core.experiments.ranking import auroc_of
from gbuq_core.figures.canvas.encoding import encode_sheet
from gbuq_core.knobs import find_knob
from gbuq_core.macau.results import LeafEllipses
from gbuq_core.resources import Recent
from gbuq_core.settings import knobs_of, plan_of
from gbuq_core.study import novelty_maps
from gbuq_core.study.novelty import (
    NOVELTY,
    as_map,
    crossings,
    ellipse_corners,
    explain_place,
    histogram_edges,
    novelty_sheet,
    one_ellipse,
    predict_places,
    score_panel,
    tree_sheet,
    view,
)
from gbuq_core.study.novelty_maps import (
    APART,
    AROUND,
    DATASETS,
    MOST_PLACES,
    N_CELLS,
    OWN,
    SCORES,
    SIDE,
    TABLES,
    NoveltySettings,
    cell_numbers,
    compare_ranks,
    count_fits,
    erase,
    fit,
    load_novelty_data,
    rank_among,
    rank_cells,
    ranks_of,
    read_places,
    squares_around,
    why_not,
    write_places,
)
from gbuq_core.tables.builtin import BUILTIN_TABLES, load_builtin
from tests.figure_readers import decode_sheet, decode_strips

QUICK = NoveltySettings(rows=300, trees=20)
WINE = replace(QUICK, data="table", table="wine", trees=6)
SPIRAL = replace(QUICK, data="spiral", trees=6)
DIABETES = replace(QUICK, data="table")
SYNTHETIC = [key for key in DATASETS if key != "table"]
CELL = st.integers(0, SIDE - 1)
PLACES = st.lists(st.tuples(CELL, CELL), max_size=MOST_PLACES)
PATTERN = find_knob(knobs_of(NoveltySettings), "erased").pattern


def view_of(settings):
    return view(fit(plan_of(settings)), settings)


@pytest.fixture(scope="module")
def moons():
    return view_of(replace(QUICK, third=True))


@pytest.fixture(scope="module")
def rings():
    return view_of(replace(QUICK, data="rings"))


def seen(shown, **change):
    return view(shown.fit, replace(shown.settings, **change))


# --- Data and erased rows


@pytest.mark.parametrize("key", SYNTHETIC)
def test_the_map_reaches_well_out_of_the_rows_and_holds_their_density(key):
    data = load_novelty_data(key, rows=3000, seed=1)
    assert (data.cell >= 0).all()
    for axis, (low, high) in enumerate(data.extent):
        spread = np.ptp(data.X[:, axis])
        assert data.X[:, axis].min() - low > 0.2 * spread
        assert high - data.X[:, axis].max() > 0.2 * spread
    mass = np.exp(data.log_density) * np.prod([axis[1] - axis[0] for axis in data.axes])
    # Cells are about as wide as the noise: the middle rule is good to a percent or two.
    assert mass.sum() == pytest.approx(1.0, abs=0.03)
    # -E[log p] of rows of the law itself: the mean over cells, weighted by their mass.
    entropy = -(mass * data.log_density).sum() / mass.sum()
    error = data.row_log_density.std() / np.sqrt(3000)
    # Four standard errors, and 0.1 for cells as wide as the noise.
    assert abs(-data.row_log_density.mean() - entropy) < 4 * error + 0.1
    # 99 % by definition; cells are coarse, so that their middles may be out where the row is in.
    assert data.in_support[data.cell].mean() > 0.93
    assert data.in_support.mean() < 0.5


def test_rows_noise_and_seed_leave_the_map_and_the_rows_alone():
    first, second = load_novelty_data("moons"), load_novelty_data("moons", 900, 2.0, 5)
    np.testing.assert_array_equal(first.grid, second.grid)
    np.testing.assert_array_equal(load_novelty_data("moons", 900).X[:600], first.X)
    third = load_novelty_data("moons", third=True)
    np.testing.assert_array_equal(third.X[:, :2], first.X)
    assert abs(third.X[:, 2].mean()) < 5 / np.sqrt(600)  # a standard normal: five standard errors
    assert [len(load_novelty_data("spiral", n).y) for n in (50, 601, 602)] == [50, 601, 602]
    with pytest.raises(ValueError, match="read-only"):
        first.X[0] = 0.0


def test_cells_of_rows_are_those_of_the_grid():
    data = load_novelty_data("spiral", seed=3)
    np.testing.assert_array_equal(cell_numbers(data.extent, data.grid), np.arange(N_CELLS))
    steps = np.array([axis[1] - axis[0] for axis in data.axes])
    assert (np.abs(data.X - data.grid[data.cell]) <= steps / 2 + NEAR_ZERO).all()
    outside = np.array([[700.0, 0.0], [0.0, -600.1], [600.0, 0.0]])
    assert (cell_numbers(data.extent, outside) == -1).all()


def test_tables_are_as_their_loader_says_and_give_any_two_of_their_numbers():
    assert [*TABLES] == [about.key for about in BUILTIN_TABLES]
    for key, choice in TABLES.items():
        about, _, schema = load_builtin(key)
        numbers = [column.name for column in schema.columns if column.kind == "numeric"]
        assert choice[:2] == (about.title, about.task)
        assert [*choice.columns] == [name for name in numbers if name != about.target]
        data = load_novelty_data("table", table=key, columns=choice.columns[:2])
        assert (data.classes == (), data.log_density) == (choice.task == "regression", None)
        assert (data.cell >= 0).all()
    for bad in [("alcohol", "alcohol"), ("alcohol", "cultivar"), ("alcohol",), ("a", "b")]:
        with pytest.raises(InvalidParameter, match="two different numeric columns"):
            load_novelty_data("table", table="wine", columns=bad)


@given(PLACES)
def test_links_carry_places_and_a_square_holds_the_cells_beside_its_place(places):
    text = write_places(places)
    assert read_places(text) == tuple(places)
    assert re.fullmatch(PATTERN, text)
    row, column = np.divmod(np.arange(N_CELLS), SIDE)
    beside = np.zeros(N_CELLS, dtype=bool)
    for at_row, at_column in places:
        beside |= np.maximum(np.abs(row - at_row), np.abs(column - at_column)) <= AROUND
    np.testing.assert_array_equal(squares_around(places), beside)


@pytest.mark.parametrize("text", ["0_5", "61_5", "5_61", "5", "5_5~", "5_5" + 20 * "~5_5", "a_b"])
def test_a_link_names_no_other_places(text):
    assert not re.fullmatch(PATTERN, text)


@pytest.mark.parametrize("key", ["moons", "table"])
def test_the_rows_in_the_squares_go_and_the_others_stay_as_they_are(key):
    places = ((34, 20), (25, 30))
    data, left = load_novelty_data(key), load_novelty_data(key, erased=places)
    steps = [axis[1] - axis[0] for axis in data.axes]
    away = [np.abs(data.X - data.grid[SIDE * row + column]) / steps for row, column in places]
    # From the middle of a cell; the edge of the square is half a cell behind its last one.
    inside = np.logical_or(*[each.max(axis=1) < AROUND + 0.5 for each in away])
    assert 0 < inside.sum() < len(data.y)
    np.testing.assert_array_equal(left.origin, np.flatnonzero(~inside))
    np.testing.assert_array_equal(left.X, data.X[~inside])
    np.testing.assert_array_equal(left.y, data.y[~inside])
    assert left.n_all == len(data.y)


_INNER = tuple((row, column) for row in (25, 34) for column in (25, 34))  # within 1.5 of the middle


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"data": "rings", "erased": _INNER}, r"No training row of class 0 would be left\."),
        (
            {"rows": 60, "erased": ((34, 20),)},
            r"Only \d\d training rows would be left. A forest needs at least 50\.",
        ),
        ({"erased": ((1, 60),)}, "erased must"),
        ({"erased": ((1,),)}, r"A place in erased .* got \(1,\)"),
        ({"erased": ((5, 5),) * 21}, "Rows can be erased at 20 places at most"),
        ({"rows": 49}, "rows must"),
        ({"compared": ("novelty", "age")}, "compared must"),
        ({"tail": "up"}, "tail must"),
        ({"show": "deciles"}, "show must"),
        ({"data": "table", "diabetes_x": "log of serum triglycerides"}, "columns must be two"),
    ],
)
def test_what_cannot_be_fitted_is_one_sentence(change, sentence):
    plan = NoveltySettings(**change)
    assert re.match(sentence, why_not(plan))
    with pytest.raises(GbuqError, match=sentence):
        fit(plan)
    # Too few rows do not empty the page: all of them stay.
    admitted = NOVELTY.admit(plan)
    assert admitted == (replace(plan, erased=()) if plan.erased else plan)


def test_a_click_erases_the_rows_around_a_place_and_looks_at_it():
    small = replace(QUICK, rows=200)
    here = {"row": 35.0, "column": 21.0}
    assert erase(small, [(34, 20)]) == ({**here, "erased": "21_35"}, "")
    # Nothing is erased where no rows are, where they are gone already, or by a drag.
    assert erase(small, [(4, 59)]) == ({"row": 5.0, "column": 60.0}, "")
    gone = replace(small, erased=((34, 20),))
    assert erase(gone, [(34, 20)]) == (here, "")
    assert erase(small, [(32, 20), (36, 20)]) == (here, "")
    assert erase(small, []) == ({}, "")
    assert read_places(erase(gone, [(22, 36)])[0]["erased"]) == ((34, 20), (22, 36))
    place, problem = erase(replace(small, rows=60), [(34, 20)])
    assert place == here
    assert re.fullmatch(r"Only \d\d training .* at least 50. The rows here stay\.", problem)


# --- Scores


def test_maps_are_the_estimators_own_scores(moons):
    places, maps = moons.data.places(), moons.maps
    assert places.shape == (N_CELLS, 3)
    for rows, of in ((places, maps.of), (moons.data.X, maps.of_rows)):
        novel, uncertain = (
            getattr(moons.fit.model[0], name)(rows)
            for name in ("score_novelty", "predict_uncertainty")
        )
        np.testing.assert_allclose(of("novelty"), novel.novelty)
        np.testing.assert_allclose(of("conditional"), novel.conditional_novelty)
        np.testing.assert_allclose(of("inference"), np.abs(novel.inference_novelty))
        np.testing.assert_allclose(of("knowledge"), uncertain.knowledge)
        np.testing.assert_allclose(of("data"), uncertain.data)
    np.testing.assert_array_equal(maps.of("truth"), -moons.data.log_density)
    assert maps.keys == tuple(SCORES)
    assert predict_places(moons.fit, places).shape == (N_CELLS, 2)


def test_distances_are_those_to_the_nearest_other_rows(moons):
    X, maps = moons.data.X, moons.maps
    spread = np.subtract(*np.quantile(X, [0.75, 0.25], axis=0))
    for cell in (0, 1830, 3599):
        x = np.append(moons.data.grid[cell], 0.0)
        away = np.sort(np.sqrt((((X - x) / spread) ** 2).sum(axis=1)))
        assert maps.of("distance")[cell] == pytest.approx(away[:10].mean())
    away = np.sort(np.sqrt((((X - X[7]) / spread) ** 2).sum(axis=1)))
    assert maps.of_rows("distance")[7] == pytest.approx(away[1:11].mean())


def test_a_knob_of_the_view_fits_and_measures_nothing_again(moons, monkeypatch):
    fits, scored = count_fits(), []
    for name in ("measure_novelty", "score_novelty", "predict_uncertainty"):
        own = getattr(type(moons.fit.model[0]), name)
        monkeypatch.setattr(
            type(moons.fit.model[0]),
            name,
            lambda model, X, own=own: scored.append(len(X)) or own(model, X),
        )
    seen(moons, tail="clip").maps  # noqa: B018 - whatever the bound has dropped since
    scored.clear()
    for change in ({"tail": "clip"}, {"neighbours": 4}, {"show": "rows"}, {"maps": ("data",)}):
        assert seen(moons, **change).maps is not None
    assert scored == []
    assert seen(moons, third_at=-2.25).maps.third_at == -2.25
    assert scored == [N_CELLS, N_CELLS]  # the rows' own scores do not depend on it
    assert count_fits() == fits
    assert moons.fit.model[0].tail == "rise"  # the fit is shared: nobody changes it


@pytest.mark.parametrize("settings", [replace(QUICK, third=True), SPIRAL, DIABETES])
def test_what_is_kept_changes_no_bit(settings, monkeypatch):
    shown = view_of(settings)
    changes = [("clip", 0.0, 10), ("rise", 1.5, 3), ("clip", 1.5, 3)]
    views = [{"tail": tail, "third_at": third, "neighbours": near} for tail, third, near in changes]
    kept = [seen(shown, **each).maps for each in views]
    monkeypatch.setattr(novelty_maps, "_REUSE", Recent(most_bytes=0))
    monkeypatch.setattr(novelty_maps, "MOST_CELLS", 0)  # the estimator's own `score_novelty`
    for each, maps in zip(views, kept, strict=True):
        anew = seen(shown, **each).maps
        np.testing.assert_array_equal(maps.values, anew.values)
        np.testing.assert_array_equal(maps.rows, anew.rows)


# --- Ranks


def test_ranks_are_percentiles(rng):
    values = rng.integers(0, 30, 500).astype(float)
    expected = (rankdata(values) - 1.0) / 499 * 100
    np.testing.assert_allclose(rank_cells(values), expected)
    rows = rng.integers(0, 30, 80).astype(float)
    naive = [
        100 * ((rows < value).sum() + 0.5 * (rows == value).sum()) / 80 for value in values
    ]  # one value at a time
    np.testing.assert_allclose(rank_among(values, rows), naive)
    values[3] = np.nan
    assert np.flatnonzero(np.isnan(rank_cells(values))).tolist() == [3]
    assert np.isnan(rank_among(values, rows)[3])
    assert rank_cells([2.0]).tolist() == [0.0]
    assert np.isnan(rank_among([1.0], [])).all()


@pytest.mark.parametrize("show", ["cells", "rows"])
def test_disagreement_names_who_says_what(moons, show):
    apart, cells = seen(moons, show=show).apart, np.arange(N_CELLS)
    ranks = np.array([ranks_of(moons.maps, key, show) for key in apart.keys])
    np.testing.assert_array_equal(apart.spread, np.ptp(ranks, axis=0))
    np.testing.assert_array_equal(ranks[apart.most, cells], ranks.max(axis=0))
    np.testing.assert_array_equal(ranks[apart.least, cells], ranks.min(axis=0))
    assert compare_ranks(("a", "b"), ranks[[0, 0]]).spread.max() == 0.0
    assert seen(moons, compared=("novelty",)).apart is None


# --- Places, numbers and claims


def test_a_place_is_explained_by_its_trees(moons):
    look, forest = explain_place(moons, (1.0, 2.5)), moons.fit.model[0].forest_
    assert look.z.mean() == pytest.approx(look.value_of("novelty"))
    assert look.shares.sum() == pytest.approx(1.0)
    np.testing.assert_array_equal(np.sort(look.z)[::-1][: len(look.top)], look.z[look.top])
    np.testing.assert_array_equal(look.ellipses.tree, look.top)
    leaves, own = (forest.leaf_matrix(X) for X in (moons.data.X, np.array([[1.0, 2.5, 0.0]])))
    for tree, rows, size in zip(look.top, look.leaf_rows, look.ellipses.n_rows, strict=True):
        np.testing.assert_array_equal(rows, np.flatnonzero(leaves[:, tree] == own[0, tree]))
        assert len(rows) == size
    # At the middle of a cell the values are the map's, and the ranks of it or so.
    cell = int(np.hypot(*(moons.data.grid - look.point).T).argmin())
    for value in explain_place(moons, tuple(moons.data.grid[cell])).values:
        assert value.value == pytest.approx(moons.maps.of(value.key)[cell])
        rank = ranks_of(moons.maps, value.key)[cell]
        assert value.rank_cells == pytest.approx(rank, abs=0.05)  # it counts itself by half
        assert value.rank_rows == pytest.approx(ranks_of(moons.maps, value.key, "rows")[cell])
    far = explain_place(moons, (50.0, 50.0))
    assert np.isfinite([value.value for value in far.values]).all()


@pytest.mark.parametrize(
    "settings",
    [
        WINE,
        DIABETES,
        SPIRAL,
        replace(QUICK, rows=50, trees=1, leaves=2),
        replace(QUICK, rows=60, min_leaf=500, trees=3),
        replace(QUICK, leaf_model="basic", trees=2),
        replace(QUICK, rows=100, min_leaf=1, trees=2),
    ],
)
def test_every_kind_of_data_and_odd_forests_are_mapped(settings):
    run = NOVELTY.run(settings)
    (shown,) = run.views
    assert np.isfinite(shown.maps.values).all()
    known = settings.data != "table"
    assert ("truth" in shown.maps.keys, bool(shown.notes)) == (known, not known)
    assert len(shown.look.top) == min(6, shown.fit.n_trees)
    for key, numbers in shown.numbers.items():
        assert np.isfinite(numbers["auroc"]) == known
        fitted = key != "distance"  # which needs no fit
        assert (numbers["seconds"] > 0, numbers["bytes"] > 0) == (fitted, fitted)
    keys = [claim.key for claim in NOVELTY.judge(run)]
    assert set(keys) <= {"rise"} if not known else len(keys) >= 8


def test_crossings_lie_beside_the_support_both_ways():
    support = np.zeros((SIDE, SIDE), dtype=bool)
    support[5:10, 5:10] = support[20:30, 40:50] = True
    crossed = crossings(support.ravel()).reshape(SIDE, SIDE)
    expected = np.zeros_like(crossed)
    expected[5:10, 40:50] = expected[20:30, 5:10] = True
    np.testing.assert_array_equal(crossed, expected)


def test_erased_rows_leave_a_hole_that_scores_of_rows_notice(rings):
    place = (30, 36)  # an arc of both rings
    squares, gone = squares_around([place]), view_of(replace(rings.settings, erased=(place,)))
    for key in ("distance", "isolation"):
        assert gone.maps.of(key)[squares].mean() > rings.maps.of(key)[squares].mean()
    np.testing.assert_array_equal(gone.support, rings.support & ~squares)
    assert np.isnan(gone.numbers["novelty"]["rank_correlation"])
    np.testing.assert_array_equal(
        gone.maps.of_rows("truth"), rings.maps.of_rows("truth")[gone.data.origin]
    )


def test_claims_say_what_came_out(moons):
    run = NOVELTY.run(moons.settings)
    claims = {claim.key: claim for claim in NOVELTY.judge(run)}
    assert [*claims][:3] == ["ellipses", "crossings", "novelty"]
    assert len(claims) == 10
    assert f"{moons.numbers['novelty']['auroc']:.3f}" in claims["novelty"].here
    # One ellipse finds far cells as well; at crossings it does not.
    support, free = moons.support, one_ellipse(moons)
    assert auroc_of(~support, support, free) > 0.9
    beside = auroc_of(crossings(support), support, free)
    assert beside < moons.numbers["novelty"]["auroc_crossings"]
    assert claims["third"].verdict == "holds"  # 0.05 of the rise, and 0.1 is the level
    assert "0.500" in claims["inference:basic"].here  # a constant in each leaf is always typical
    # No knob of the view changes them.
    other = replace(moons.settings, tail="clip", third_at=3.0, neighbours=2)
    assert NOVELTY.judge(NOVELTY.run(other)) == tuple(claims.values())


@pytest.mark.parametrize(
    "settings",
    [
        replace(QUICK, trees=5),
        replace(DIABETES, trees=5, erased=((28, 20),), third=True, third_at=1.5, tail="clip"),
    ],
)
def test_copied_code_computes_the_same_maps(settings):
    exec(compile(NOVELTY.python(settings), "copied", "exec"), names := {})
    maps, copied = view_of(settings).maps, names["uncertainty"]
    forest = copied["MACAU (linear)"]
    for key, values in (
        ("novelty", forest["novelty"]),
        ("conditional", forest["conditional_novelty"]),
        ("knowledge", forest["knowledge"]),
        ("isolation", copied["Isolation forest"]["novelty"]),
        ("distance", copied["Distance to rows"]["novelty"]),
    ):
        # The same kernels on the same numbers; only sums may be ordered differently.
        np.testing.assert_allclose(values, maps.of(key), rtol=SAME_SUM, atol=NEAR_ZERO)


# --- Picture


def test_maps_keep_their_units_scales_and_numbers(moons):
    own = seen(moons, maps=("knowledge", "truth", OWN), show="value", log=True)
    sheet = novelty_sheet(own)
    assert [panel.unit for panel in sheet.panels] == ["nats", "variance of p", "variance of p"]
    assert [panel.log for panel in sheet.panels] == [False, True, True]
    assert {panel.limits for panel in sheet.panels} == {None}
    decoded = decode_sheet(encode_sheet(sheet))
    for key, values in zip(("truth", "knowledge", "knowledge"), decoded.values, strict=True):
        # Travels as float32: half a unit in its last place.
        np.testing.assert_allclose(values[0], as_map(moons.maps.of(key)), rtol=6e-8)
    ranks = score_panel(moons, "knowledge", log=True)
    assert (ranks.limits, ranks.log, ranks.unit) == ((0.0, 100.0), False, "% of cells below")


def test_rows_lie_on_every_map_and_the_first_outlines_where_they_can_lie(moons):
    sheet, table = novelty_sheet(moons, look=moons.look), novelty_sheet(view_of(DIABETES))
    for panel in sheet.panels:
        np.testing.assert_array_equal(np.asarray(panel.points.x), moons.data.X[:, 0])
        np.testing.assert_array_equal(panel.points.group, moons.data.y)
    np.testing.assert_array_equal(sheet.panels[0].outlined, as_map(moons.support))
    assert all(panel.outlined is None for panel in (*sheet.panels[1:], *table.panels))
    assert [panel.title for panel in sheet.panels if panel.lines] == ["Novelty"]  # the leaves
    points = table.panels[0].points
    assert (points.group_names, set(points.group)) == (("training rows",), {0})


def test_the_settings_choose_the_maps_and_the_truth_comes_first(moons):
    def titles(shown, *maps):
        return [panel.title for panel in novelty_sheet(seen(shown, maps=maps)).panels]

    truth = SCORES["truth"].label
    chosen = titles(moons, APART, "novelty", "truth")
    assert chosen == [truth, "Novelty", "Where ranks disagree"]
    assert titles(moons) == []
    assert titles(view_of(WINE), "truth") == ["Novelty"]  # in place of a truth that nobody knows
    assert titles(seen(moons, compared=("novelty",)), APART) == []


def test_an_ellipse_has_the_mahalanobis_distance_it_says():
    covariance = np.array([[[0.5, 0.2], [0.2, 0.3]], [[1.0, 0.0], [0.0, 0.0]]])
    none = np.zeros(2)
    leaves = LeafEllipses(none, np.array([[0.0, 1.0], [-1.0, 0.5]]), covariance, none, none, none)
    x, y = ellipse_corners(leaves, 2.0)
    ends = np.flatnonzero(np.isnan(x))
    first = np.stack([x, y])[:, : ends[0]].T - leaves.centre[0]
    squared = np.einsum("ij,jk,ik->i", first, np.linalg.inv(leaves.covariance[0]), first)
    np.testing.assert_allclose(squared, 4.0, rtol=SAME_SUM)  # a 2 x 2 solve loses a few digits
    flat = y[ends[0] + 1 : ends[1]]  # a leaf without extent in y is a line
    np.testing.assert_allclose(flat, 0.5, rtol=SAME_SUM)


def test_every_tree_is_in_a_bar_of_some_width(moons):
    (strip,) = decode_strips(encode_sheet(tree_sheet(moons.look)))
    (heights,) = strip.lines.values()
    assert np.nansum(heights[0][:-1]) == len(moons.look.z)
    assert strip.header["marks"][0] == pytest.approx(moons.look.z.mean())
    edges = histogram_edges(np.full(5, 5.2))  # trees that agree
    assert edges[0] < 5.2 < edges[-1]
    assert all(low < high for low, high in pairwise(edges))
