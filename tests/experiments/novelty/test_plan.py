"""Ranks, refusals, estimates, odd forests and exported Python of the Novelty maps page."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import rankdata
from tolerances import NEAR_ZERO

from gbuq_core.errors import GbuqError, InvalidData, InvalidParameter
from gbuq_core.experiments.novelty.claims import check_novelty_claims
from gbuq_core.experiments.novelty.data import (
    DATASETS,
    N_CELLS,
    SIDE,
    TABLES,
    cell_numbers,
    check_columns,
    load_novelty_data,
)
from gbuq_core.experiments.novelty.experiment import novelty_code
from gbuq_core.experiments.novelty.fit import fit_novelty_maps, rank_among, rank_cells, run_novelty
from gbuq_core.experiments.novelty.look import explain_place
from gbuq_core.experiments.novelty.plan import (
    NoveltySettings,
    why_not,
)
from gbuq_core.experiments.novelty.scores import crossings
from gbuq_core.tables.builtin import BUILTIN_TABLES, load_builtin

QUICK = NoveltySettings(rows=300, trees=20)
DIABETES = replace(QUICK, data="table")


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
    assert np.isnan(rank_cells(values)[3])
    assert np.isnan(rank_among(values, rows)[3])
    assert np.isfinite(np.delete(rank_cells(values), 3)).all()
    assert rank_cells([2.0]).tolist() == [0.0]
    assert np.isnan(rank_among([1.0], [])).all()


def test_crossings_lie_beside_the_support_both_ways():
    support = np.zeros((SIDE, SIDE), dtype=bool)
    support[5:10, 5:10] = support[20:30, 40:50] = True
    crossed = crossings(support.ravel()).reshape(SIDE, SIDE)
    expected = np.zeros_like(crossed)
    expected[5:10, 40:50] = expected[20:30, 5:10] = True
    np.testing.assert_array_equal(crossed, expected)


def test_places_that_leave_too_few_rows_are_refused_with_a_sentence():
    plan = replace(
        QUICK, erased=tuple((row, column) for row in (30, 38) for column in (14, 22, 30, 38))
    )
    sentence = "No training row of class 0 would be left."
    assert why_not(plan) == sentence
    with pytest.raises(InvalidData, match=sentence):
        fit_novelty_maps(plan)


@pytest.mark.parametrize(
    "change",
    [
        {"rows": 49},
        {"compared": ("novelty", "age")},
        {"tail": "up"},
        {"data": "table", "columns": ("age", "age")},
        {"erased": ((1, 1),) * 21},
        {"erased": ((1, 60),)},
        {"erased": ("magic",)},
    ],
)
def test_impossible_plans_are_one_sentence(change):
    plan = NoveltySettings(**change)
    sentence = why_not(plan)
    assert sentence.endswith(".")
    with pytest.raises(GbuqError):
        fit_novelty_maps(plan)


def test_small_and_odd_forests_are_mapped():
    for change in (
        {"rows": 50, "trees": 1, "leaves": 2},
        {"rows": 60, "min_leaf": 500, "trees": 3},
        {"leaf_model": "basic", "trees": 2},
        {"rows": 100, "min_leaf": 1, "trees": 2},
    ):
        run = run_novelty(replace(QUICK, **change))
        assert np.isfinite(run.maps.values).all()
        look = explain_place(run.fit, run.maps, run.settings)
        assert len(look.top) == min(6, run.fit.n_trees)
        check_novelty_claims(run.fit, run.maps)


@pytest.mark.parametrize(
    "settings",
    [
        replace(QUICK, trees=5),
        replace(
            DIABETES,
            trees=5,
            erased=((28, 20),),
            third=True,
            third_at=1.5,
        ),
    ],
)
def test_exported_python_computes_the_same_maps(settings, capsys):
    exec(compile(novelty_code(settings), "exported", "exec"), {})
    output = capsys.readouterr().out
    maps = run_novelty(settings).maps
    for name, key in (
        ("novelty", "novelty"),
        ("knowledge uncertainty", "knowledge"),
        ("isolation forest", "isolation"),
        ("distance to rows", "distance"),
    ):
        values = maps.of(key)
        assert f"{name}: {values.min():.4g} to {values.max():.4g}" in output
    assert output.count("training rows in the leaf") == 5


SYNTHETIC = [key for key in DATASETS if key != "table"]


@pytest.mark.parametrize("key", SYNTHETIC)
def test_the_map_reaches_well_out_of_the_rows_and_holds_their_density(key):
    data = load_novelty_data(key)
    assert data.X.shape == (600, 2)
    assert (data.cell >= 0).all()
    for axis, (low, high) in enumerate(data.extent):
        spread = np.ptp(data.X[:, axis])
        assert data.X[:, axis].min() - low > 0.25 * spread
        assert high - data.X[:, axis].max() > 0.25 * spread
    area = np.prod([axis[1] - axis[0] for axis in data.axes])
    # Cells are about as wide as the noise: the middle rule is good to a percent or two.
    assert np.exp(data.log_density).sum() * area == pytest.approx(1.0, abs=0.03)
    # 99 % by definition; cells are coarse, so that their middles may be out where the row is in.
    assert data.in_support[data.cell].mean() > 0.93
    assert data.in_support.mean() < 0.5


@pytest.mark.parametrize("key", SYNTHETIC)
def test_rows_sit_where_the_density_is(key):
    data = load_novelty_data(key, rows=3000, seed=1)
    # -E[log p] of rows of the law itself: the mean over cells, weighted by their mass.
    mass = np.exp(data.log_density)
    mass /= mass.sum()
    entropy = -(mass * data.log_density).sum()
    error = data.row_log_density.std() / np.sqrt(3000)
    # Four standard errors, and 0.1 for cells as wide as the noise.
    assert abs(-data.row_log_density.mean() - entropy) < 4 * error + 0.1


def test_cells_of_rows_are_those_of_the_grid():
    data = load_novelty_data("spiral", seed=3)
    np.testing.assert_array_equal(cell_numbers(data.extent, data.grid), np.arange(N_CELLS))
    steps = np.array([axis[1] - axis[0] for axis in data.axes])
    assert (np.abs(data.X - data.grid[data.cell]) <= steps / 2 + NEAR_ZERO).all()
    outside = np.array([[700.0, 0.0], [0.0, -600.1], [600.0, 0.0]])
    assert (cell_numbers(data.extent, outside) == -1).all()
    assert data.axes[0][0] < data.axes[0][-1]
    np.testing.assert_array_equal(data.grid[SIDE], [data.axes[0][0], data.axes[1][1]])


def test_rows_noise_and_seed_leave_the_map_alone():
    first, second = load_novelty_data("moons"), load_novelty_data("moons", 900, 2.0, 5)
    np.testing.assert_array_equal(first.grid, second.grid)
    more = load_novelty_data("moons", 900)
    np.testing.assert_array_equal(more.X[:600], first.X)
    with_third = load_novelty_data("moons", third=True)
    np.testing.assert_array_equal(with_third.X[:, :2], first.X)
    # A standard normal: five standard errors.
    assert abs(with_third.X[:, 2].mean()) < 5 / np.sqrt(600)
    assert with_third.feature_names[2] == "irrelevant feature"
    for count in (50, 601, 602):
        assert len(load_novelty_data("spiral", count).y) == count


def test_tables_give_any_two_of_their_numbers():
    for choice in TABLES:
        data = load_novelty_data("table", table=choice.key, columns=choice.columns[:2])
        assert data.task == choice.task
        assert (data.classes == ()) == (choice.task == "regression")
        assert data.log_density is None
        assert data.in_support is None
        assert (data.cell >= 0).all()
        assert np.isfinite(data.X).all()
        assert data.feature_names == choice.columns[:2]
    assert load_novelty_data("table", table="wine").classes[0] == "cultivar 1"
    for bad in [("alcohol", "alcohol"), ("alcohol", "cultivar"), ("alcohol",), ("a", "b")]:
        with pytest.raises(InvalidParameter, match="two different numeric columns"):
            check_columns("wine", bad)
    with pytest.raises(InvalidParameter, match="table must be one of"):
        check_columns("iris", None)


def test_arrays_are_read_only():
    data = load_novelty_data("blobs")
    for array in (data.X, data.y, data.grid, data.log_density, data.axes[0]):
        assert not array.flags.writeable


def test_tables_are_as_their_loader_says():
    assert [choice.key for choice in TABLES] == [about.key for about in BUILTIN_TABLES]
    for choice in TABLES:
        about, _, schema = load_builtin(choice.key)
        numbers = [column.name for column in schema.columns if column.kind == "numeric"]
        assert choice[:3] == (about.key, about.title, about.task)
        assert [*choice.columns] == [name for name in numbers if name != about.target]
