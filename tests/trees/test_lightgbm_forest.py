"""LightGBM's random forest, grown and read tree by tree."""

import numpy as np
import pytest
from refusal_parts import refused

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.synthetic import make_heteroscedastic
from gbuq_core.trees.lightgbm_forest import grow_forest, tree_values


def test_trees_without_a_split_say_the_mean_of_their_rows():
    # LightGBM's own say their distance from the mean, as if the mean were 0.
    x, y = np.linspace(0, 1, 400)[:, None], np.linspace(100, 104, 400)
    forest = grow_forest(x, y, n_trees=30, subsample=0.1, n_jobs=1)
    values = tree_values(forest, x)
    bare = np.ptp(values, axis=1) == 0.0
    assert 0 < bare.sum() < 30
    # The mean of 40 rows of std 1.15: five standard errors. A tree of one constant value.
    assert np.abs(values[bare] - 102.0).max() < 5 * 1.15 / np.sqrt(40)
    np.testing.assert_allclose(values.mean(axis=0), forest.predict(x))
    shares = grow_forest(x, (y > 103).astype(float), objective="binary", subsample=0.01, n_jobs=1)
    # Four rows a tree cannot be split: the share of the class, less what their log-odds move.
    assert shares.predict(x[:1])[0] == pytest.approx(0.25, abs=0.1)
    with refused(InvalidData, "leaves none to grow a tree on"):
        grow_forest(x[:5], y[:5], subsample=0.1)


def test_empty_shares_give_no_gaps():
    # A share of 0.1 of 12 rows is one row or none, of which LightGBM's own trees say NaN.
    x = np.linspace(0, 1, 12)[:, None]
    values = tree_values(grow_forest(x, x[:, 0], subsample=0.1, n_jobs=1), x)
    assert (values >= 0).all()
    assert (values <= 1).all()


def test_an_unknown_objective_is_refused():
    x = np.arange(9.0)[:, None]
    with refused(InvalidParameter, "objective must be one of"):
        grow_forest(x, x[:, 0], objective="poisson")


def test_threads_do_not_matter():
    curve = make_heteroscedastic(500, random_state=0)
    alone, threaded = (grow_forest(curve.X, curve.y, n_trees=3, n_jobs=n, seed=7) for n in (1, 2))
    assert (
        alone.model_to_string(num_iteration=3).split("parameters:")[0]
        == (threaded.model_to_string(num_iteration=3).split("parameters:")[0])
    )
