"""The authors' implementation: its neighbours, scales and tuned values for the same model.

About half of the rows tie at the k-th place, where the authors' order is that of an unstable sort;
rows without such a tie have one answer.
"""

import numpy as np
import pytest
from tolerances import SAME_SUM

from gbuq_core.ibug import IBUGRegressor
from gbuq_core.trees.importers import load_leaf_source

pytestmark = pytest.mark.parity

# The reference scales are float32.
FLOAT32 = 1e-6
BOTH = pytest.mark.parametrize("table", ["concrete", "wine"])


@pytest.fixture(scope="module")
def load(reference_dir):
    def load_table(table):
        data = np.load(reference_dir / f"ibug_{table}.npz")
        return data, load_leaf_source(reference_dir / f"ibug_{table}.lgb.txt")

    return load_table


def untied(model, X, k):
    """Rows whose k-th and next neighbour differ in affinity."""
    affinities = model.kneighbors(X, k + 1)[1]
    return affinities[:, k - 1] > affinities[:, k]


@BOTH
def test_neighbours_and_scales_for_a_given_k(table, load):
    data, source = load(table)
    k = int(data["k"])
    model = IBUGRegressor(source, n_neighbors=k).fit(data["X_fit"], data["y_fit"])
    loc, scale = model.predict_distribution(data["X_test"])
    alone = untied(model, data["X_test"], k)
    assert alone.sum() > 50
    np.testing.assert_allclose(loc, data["loc"], rtol=SAME_SUM)
    # 1e-15 where all neighbours are equal, as theirs. Their order within a tie is free.
    np.testing.assert_allclose(scale[alone], data["scale"][alone], rtol=FLOAT32)
    mine = model.kneighbors(data["X_test"])[0][alone]
    theirs = data["neighbor_index"][alone]
    np.testing.assert_array_equal(np.sort(mine, axis=1), np.sort(theirs, axis=1))


@BOTH
def test_tied_rows_share_all_but_the_tied_neighbours(table, load):
    data, source = load(table)
    k = int(data["k"])
    model = IBUGRegressor(source, n_neighbors=k).fit(data["X_fit"], data["y_fit"])
    indices, affinities = model.kneighbors(data["X_test"])
    for mine, counts, theirs in zip(indices, affinities, data["neighbor_index"], strict=True):
        above = mine[counts > counts[-1]]
        assert set(above) <= set(theirs)


@BOTH
def test_tuned_k_least_scale_and_calibration(table, load):
    data, source = load(table)
    model = IBUGRegressor(source).fit(data["X_fit"], data["y_fit"], data["X_val"], data["y_val"])
    assert model.n_neighbors_ == data["tuned_k"]
    assert model.min_scale_ == pytest.approx(float(data["min_scale"]), rel=FLOAT32)
    # In float32, adding 1e-8 to a std changes nothing, so theirs is one of many equal deltas.
    assert model.gamma_ == data["gamma"]
    assert model.delta_ == pytest.approx(float(data["delta"]), abs=1e-4)
    loc, scale = model.predict_distribution(data["X_test"])
    alone = untied(model, data["X_test"], model.n_neighbors_)
    assert alone.sum() >= 10
    np.testing.assert_allclose(loc, data["tuned_loc"], rtol=SAME_SUM)
    # Their delta of 1e-5 or 1e-8, noise as it is, is part of their scales.
    noise = abs(model.delta_ - float(data["delta"]))
    theirs = data["tuned_scale"][alone]
    np.testing.assert_allclose(scale[alone], theirs, rtol=FLOAT32, atol=noise)
    assert np.median(scale[alone]) == pytest.approx(np.median(theirs), rel=1e-4)


@pytest.mark.parametrize(("table", "tuned"), [("concrete", True), ("wine", False)])
def test_median_scales_of_all_rows(table, tuned, load):
    """Ties move the median by 1e-3 for the other two pairs of table and k."""
    data, source = load(table)
    if tuned:
        model = IBUGRegressor(source)
        model.fit(data["X_fit"], data["y_fit"], data["X_val"], data["y_val"])
    else:
        model = IBUGRegressor(source, n_neighbors=int(data["k"]))
        model.fit(data["X_fit"], data["y_fit"])
    theirs = np.median(data["tuned_scale"] if tuned else data["scale"])
    mine = np.median(model.predict_distribution(data["X_test"]).scale)
    assert mine == pytest.approx(theirs, rel=1e-4)
