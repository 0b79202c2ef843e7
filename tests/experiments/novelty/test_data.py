"""The data of the Novelty maps page: cells, truth, tables."""

import numpy as np
import pytest
from tolerances import NEAR_ZERO

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.novelty.data import (
    DATASETS,
    N_CELLS,
    SIDE,
    TABLE_TITLES,
    cell_numbers,
    check_columns,
    load_novelty_data,
    table_choices,
)

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
    for choice in table_choices():
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


def test_tables_have_the_titles_of_their_loader():
    assert {choice.key: choice.title for choice in table_choices()} == TABLE_TITLES
