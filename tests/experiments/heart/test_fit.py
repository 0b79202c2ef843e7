"""The heart: maps against direct calls of the estimators, what refits, painted cells."""

from dataclasses import replace

import numpy as np
import pytest
from tolerances import NEAR_ZERO, SAME_SUM, ZERO

from gbuq_core import BoostedEnsembleRegressor, make_heart
from gbuq_core.baselines import ForestEnsembleRegressor
from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.heart.data import make_painted_heart
from gbuq_core.experiments.heart.fit import (
    MAX_FRAMES,
    fit_heart,
    map_heart,
    run_heart,
)
from gbuq_core.experiments.heart.plan import (
    METHODS,
    HeartSettings,
)
from gbuq_core.settings import plan_of

SMALL = HeartSettings(rows=20, members=3, trees=60, step=10, seed=1)
# Both sides compute the same kernels on the same numbers; only sums may be ordered differently.
EXACT = {"rtol": SAME_SUM, "atol": ZERO}


def fit_of(method, settings=SMALL):
    return fit_heart(plan_of(settings, method))


def direct(method, data, n_trees=60, **knobs):
    return BoostedEnsembleRegressor(
        stopping=None,
        method=method,
        n_trees=n_trees,
        categorical_features=[0, 1],
        random_state=1,
        **knobs,
    ).fit(data.X, data.y)


def assert_maps(maps, frame, uncertainty, **tolerance):
    for part, expected in zip((maps.total, maps.data, maps.knowledge), uncertainty, strict=True):
        np.testing.assert_allclose(part[frame].ravel(), expected, **(tolerance or EXACT))


@pytest.mark.parametrize(("method", "rate"), [("sgb", 0.1), ("sglb", 0.3)])
@pytest.mark.parametrize("n_trees", [60, 17])
def test_independent_maps_are_those_of_the_estimator_at_every_stage(method, rate, n_trees):
    fit = fit_of(method)
    maps = map_heart(fit, SMALL)
    model = direct(method, fit.data, n_trees, learning_rate=rate, n_members=3)
    frame = int(np.flatnonzero(maps.n_trees == n_trees)[0])
    assert_maps(maps, frame, model.predict_uncertainty(fit.data.grid))


@pytest.mark.parametrize("n_trees", [60, 41, 30])
@pytest.mark.parametrize(("step", "start"), [(10, 0.5), (7, 0.0), (1, 0.9)])
def test_virtual_maps_are_those_of_a_model_of_so_many_trees(n_trees, step, start):
    fit = fit_of("virtual_sglb")
    maps = map_heart(fit, replace(SMALL, step=step, start=start))
    model = direct(
        "sglb",
        fit.data,
        n_trees,
        learning_rate=0.3,
        ensemble="virtual",
        truncation_step=step,
        truncation_start=start,
    )
    frame = int(np.flatnonzero(maps.n_trees == n_trees)[0])
    expected = model.predict_uncertainty(fit.data.grid)
    assert maps.n_members[frame] == len(model.member_trees())
    if maps.n_members[frame] == 1:
        expected = expected._replace(knowledge=np.full(81, np.nan))
    assert_maps(maps, frame, expected)


def test_stages_without_members_have_no_values():
    maps = map_heart(fit_of("virtual_sglb"), replace(SMALL, step=20))
    none = maps.n_members == 0
    assert maps.n_trees[none].max() == 19
    assert np.isnan(maps.total[none]).all()
    assert np.isfinite(maps.total[~none]).all()


def test_a_truncation_without_members_is_refused():
    with pytest.raises(InvalidParameter, match="gives no member"):
        map_heart(fit_of("virtual_sglb"), replace(SMALL, step=100))


def test_fewer_members_are_the_first_models_and_the_last_truncations():
    few = replace(SMALL, shown=2)
    fit = fit_of("sglb")
    model = direct("sglb", fit.data, learning_rate=0.3, n_members=3)
    assert_maps(map_heart(fit, few), -1, model.predict_uncertainty(fit.data.grid, n_members=2))
    virtual = fit_of("virtual_sglb")
    model = direct("sglb", fit.data, learning_rate=0.3, ensemble="virtual", truncation_step=10)
    assert_maps(map_heart(virtual, few), -1, model.predict_uncertainty(fit.data.grid, n_members=2))
    with pytest.raises(InvalidParameter, match="shown"):
        map_heart(fit, replace(SMALL, shown=0))


def test_a_single_member_knows_nothing_of_knowledge():
    maps = map_heart(fit_of("sglb"), replace(SMALL, shown=1))
    assert np.isnan(maps.knowledge).all()
    np.testing.assert_array_equal(maps.total, maps.data)


def test_a_forest_gives_knowledge_only():
    fit = fit_of("vrf")
    maps = map_heart(fit, SMALL)
    forest = ForestEnsembleRegressor(3, 20, max_depth=10, random_state=1)
    forest.fit(fit.data.X, fit.data.y)
    expected = forest.predict_knowledge(fit.data.grid)
    np.testing.assert_allclose(maps.knowledge[-1].ravel(), expected, **EXACT)
    np.testing.assert_allclose(maps.mean.ravel(), forest.predict(fit.data.grid), **EXACT)
    assert np.isnan(maps.total).all()
    assert np.isnan(maps.data).all()


@pytest.mark.parametrize("method", ["catboost", "virtual_catboost"])
def test_catboosts_own_maps_are_those_of_its_engine(method):
    settings = replace(SMALL, trees=20, members=2, step=5)
    fit = fit_of(method, settings)
    model = direct(
        "sglb",
        fit.data,
        20,
        learning_rate=0.3,
        engine="catboost",
        n_members=2,
        ensemble="virtual" if METHODS[method].virtual else "independent",
        truncation_step=5,
    )
    # CatBoost adds up staged predictions and virtual ensembles in different orders: means differ
    # by 1e-9, so the variance of means that spread over 0.04 by 2 x 0.04 x 1e-9.
    uncertainty = model.predict_uncertainty(fit.data.grid)
    assert_maps(map_heart(fit, settings), -1, uncertainty, rtol=1e-6, atol=NEAR_ZERO)


def test_there_are_at_most_a_hundred_stages():
    for trees in (7, 99, 100, 250):
        settings = replace(SMALL, trees=trees)
        maps = map_heart(fit_of("sglb", settings), settings)
        assert len(maps.n_trees) == len(maps.knowledge) <= MAX_FRAMES
        assert maps.n_trees[-1] == trees


def test_a_run_has_its_methods_in_order():
    run = run_heart(replace(SMALL, methods=("virtual_sglb", "sglb"), cells=(0,)))
    assert [maps.method for maps in run.methods] == ["virtual_sglb", "sglb"]
    assert not run.data.in_support[0, 0]
    assert run.methods[0].truth.cell_counts.sum() == 63 * 20


def test_an_unpainted_heart_is_the_papers():
    for ours, paper in zip(make_painted_heart(5), make_heart(5, random_state=0), strict=True):
        np.testing.assert_array_equal(ours, paper)


def test_painting_takes_rows_away_and_leaves_the_others_alone():
    whole, painted = make_heart(7, random_state=3), make_painted_heart(7, 0.01, 3, [0, 10])
    others = ~np.isin(9 * whole.X[:, 0] + whole.X[:, 1], [0, 10])
    np.testing.assert_array_equal(painted.X, whole.X[others])
    np.testing.assert_array_equal(painted.y, whole.y[others])
    assert np.isnan(painted.variance[0, 0])
    assert painted.cell_counts[1, 1] == 0


def test_painting_gives_rows_to_cells_of_the_heart():
    # (4, 4) and (3, 1) lie in the heart.
    painted = make_painted_heart(4000, 0.04, 3, [40, 28])
    mine = painted.y[(painted.X == [4, 4]).all(axis=1)]
    assert len(mine) == 4000
    assert painted.variance[4, 4] == 0.04
    # Five standard errors of a mean and of a variance of 4000 normal draws.
    assert abs(mine.mean() - painted.mean[4, 4]) < 5 * 0.2 / np.sqrt(4000)
    assert abs(mine.var() / 0.04 - 1) < 5 * np.sqrt(2 / 4000)
    alone = make_painted_heart(4000, 0.04, 3, [40])
    np.testing.assert_array_equal(alone.y[(alone.X == [4, 4]).all(axis=1)], mine)


@pytest.mark.parametrize("cells", [[81], [-1], [1.5], ["a"], [None]])
def test_cells_that_do_not_exist_are_refused(cells):
    with pytest.raises(InvalidParameter, match="cells"):
        make_painted_heart(2, cells=cells)


def test_some_cells_must_keep_their_rows():
    filled = np.flatnonzero(make_heart(1).in_support.ravel())
    with pytest.raises(InvalidParameter, match="At least 2 cells"):
        make_painted_heart(2, cells=filled[1:])
    assert make_painted_heart(2, cells=filled[2:]).in_support.sum() == 2


def test_two_cells_are_enough_to_fit():
    filled = np.flatnonzero(make_heart(1).in_support.ravel())
    run = run_heart(replace(SMALL, methods=("sglb", "sgb"), cells=tuple(map(int, filled[2:]))))
    for maps in run.methods:
        assert np.isfinite(maps.total).all()
