"""Heart: its maps are the estimator's, its numbers and claims those of maps that are made up."""

from dataclasses import replace

import numpy as np
import pytest
from tolerances import CANCELLED, NEAR_ZERO, SAME_SUM, ZERO

from gbuq_core import BoostedEnsembleRegressor, make_heart
from gbuq_core.errors import InvalidParameter
from gbuq_core.study.heart import (
    CLAIMS,
    HEART,
    METHODS,
    HeartSettings,
    make_painted_heart,
    paint,
    problem_with_cells,
    view,
    write_cells,
)
from gbuq_core.study.members import Fit, Members, Predictive, View
from gbuq_core.study.study import judge

SMALL = HeartSettings(rows=20, members=3, trees=60, step=10, seed=1)
PARTS = ("total", "data", "knowledge")
# Both sides compute the same kernels on the same numbers; only sums may be ordered differently.
EXACT = {"rtol": SAME_SUM, "atol": ZERO}


def fit_of(method, settings=SMALL):
    return HEART.fit(HEART.plan(settings, method))


def direct(method, n_trees=60, rate=0.3, **knobs):
    data = make_heart(20, 0.01, 1)
    model = BoostedEnsembleRegressor(
        stopping=None, method=method, n_trees=n_trees, learning_rate=rate,
        categorical_features=[0, 1], random_state=1, **knobs,
    )  # fmt: skip
    return model.fit(data.X, data.y)


def assert_maps(seen, n_trees, expected, **tolerance):
    (frame,) = np.flatnonzero(seen.stages == n_trees)
    for name in PARTS:
        part = getattr(seen.at, name)[frame]
        np.testing.assert_allclose(part, getattr(expected, name), **(tolerance or EXACT))


@pytest.mark.parametrize(("method", "rate"), [("sgb", 0.1), ("sglb", 0.3)])
@pytest.mark.parametrize("n_trees", [60, 17])
def test_independent_maps_are_those_of_the_estimator_at_every_stage(method, rate, n_trees):
    seen = view(fit_of(method), SMALL)
    model = direct(method, n_trees, rate, n_members=3)
    grid = make_heart(1).grid
    assert_maps(seen, n_trees, model.predict_uncertainty(grid))
    few = view(seen.fit, replace(SMALL, shown=2))
    assert_maps(few, n_trees, model.predict_uncertainty(grid, n_members=2))


@pytest.mark.parametrize("n_trees", [60, 41, 30])
@pytest.mark.parametrize(("step", "start"), [(10, 0.5), (7, 0.0), (1, 0.9)])
def test_virtual_maps_are_those_of_a_model_of_so_many_trees(n_trees, step, start):
    seen = view(fit_of("virtual_sglb"), replace(SMALL, step=step, start=start))
    model = direct(
        "sglb", n_trees, ensemble="virtual", truncation_step=step, truncation_start=start
    )
    expected = model.predict_uncertainty(make_heart(1).grid)
    count = seen.counts[seen.stages == n_trees]
    assert count == len(model.member_trees())
    if count == 1:
        expected = expected._replace(knowledge=np.full(81, np.nan))
    assert_maps(seen, n_trees, expected)


@pytest.mark.parametrize("method", ["catboost", "virtual_catboost"])
def test_catboosts_own_maps_are_those_of_its_engine(method):
    settings = replace(SMALL, trees=20, members=2, step=5)
    kind = "virtual" if METHODS[method].virtual else "independent"
    model = direct("sglb", 20, engine="catboost", n_members=2, ensemble=kind, truncation_step=5)
    # CatBoost adds up staged predictions and virtual ensembles in different orders: means differ
    # by 1e-9, so the variance of means that spread over 0.04 by 2 x 0.04 x 1e-9.
    expected = model.predict_uncertainty(make_heart(1).grid)
    seen = view(fit_of(method, settings), settings)
    assert_maps(seen, 20, expected, rtol=1e-6, atol=NEAR_ZERO)


def test_a_truncation_without_members_is_refused_and_one_member_knows_no_knowledge():
    with pytest.raises(InvalidParameter, match="gives no member"):
        view(fit_of("virtual_sglb"), replace(SMALL, step=100))
    one = view(fit_of("sglb"), replace(SMALL, shown=1))
    assert np.isnan(one.at.knowledge).all()
    np.testing.assert_array_equal(one.at.total, one.at.data)
    forest = view(fit_of("vrf"), SMALL).last
    assert np.isfinite(forest.knowledge).all()
    assert np.isnan([forest.total, forest.data]).all()


@pytest.mark.parametrize("trees", [7, 99, 100, 250])
def test_there_are_at_most_a_hundred_stages(trees):
    settings = replace(SMALL, trees=trees)
    seen = view(fit_of("sglb", settings), settings)
    assert len(seen.stages) == len(seen.at.knowledge) <= 100
    assert seen.stages[-1] == trees


def test_painting_moves_no_other_row():
    whole, painted = make_heart(7, random_state=3), make_painted_heart(7, 0.01, 3, (0, 10, 40))
    emptied = np.isin(9 * whole.X[:, 0] + whole.X[:, 1], [0, 10])
    n_kept = int((~emptied).sum())
    np.testing.assert_array_equal(painted.X[:n_kept], whole.X[~emptied])
    np.testing.assert_array_equal(painted.y[:n_kept], whole.y[~emptied])
    assert np.isnan(painted.variance[0, 0])
    assert painted.in_support[4, 4]
    many = make_painted_heart(4000, 0.04, 3, (40,))
    mine = many.y[(many.X == [4, 4]).all(axis=1)]
    # Five standard errors of a mean and of a variance of 4000 normal draws.
    assert abs(mine.mean() - many.mean[4, 4]) < 5 * 0.2 / np.sqrt(4000)
    assert abs(mine.var() / 0.04 - 1) < 5 * np.sqrt(2 / 4000)
    filled = np.flatnonzero(whole.in_support.ravel()).tolist()
    with pytest.raises(InvalidParameter, match="At least 2 cells"):
        make_painted_heart(2, cells=tuple(filled[1:]))
    with pytest.raises(InvalidParameter, match="cells"):
        make_painted_heart(2, cells=(81,))
    run = HEART.run(replace(SMALL, methods=("sglb", "sgb"), cells=tuple(filled[2:])))
    assert all(np.isfinite(each.at.total).all() for each in run.views)
    assert problem_with_cells(range(81)).startswith("At most 66")


@pytest.mark.parametrize(
    ("held", "cells", "painted"),
    [
        ((), [3], "03"),
        ((3,), [3], ""),
        ((), [40], "44"),
        ((), [0, 1], "00.01"),
        ((0,), [0, 1], "00.01"),  # what has rows loses them
        ((0, 1), [0, 1], ""),  # none has: all get some
        ((0,), [0, 40], "44"),
    ],
)
def test_clicks_turn_cells_over_and_drags_empty_or_fill(held, cells, painted):
    places = [divmod(cell, 9) for cell in cells]
    assert paint(replace(SMALL, cells=held), places) == ({"cells": painted}, "")


def made_up(method="sglb", empty=0.04, filled=0.01, factor=1.0, cells=(), known=True):
    """A view with one knowledge variance in empty, one in filled cells, and noise times factor."""
    plan = HEART.plan(HeartSettings(rows=5, cells=cells), method)
    truth = HEART.data(plan)
    has_rows = truth.in_support.ravel()
    knowledge = np.where(has_rows, filled, empty)[None]
    data = np.where(has_rows, factor * np.nan_to_num(truth.variance).ravel(), 0.02)[None]
    data = data if known else np.full_like(data, np.nan)
    at = Predictive(truth.mean.reshape(1, -1), data + knowledge, data, knowledge)
    fit = Fit(plan, Members(np.array([1000]), np.zeros((1, 1, 81, 2))), 0.5, 2_000_000)
    return View(fit, at, np.array([1000]), np.array([10]))


def run_of(*views, **settings):
    methods = tuple(each.method for each in views)
    cells = views[0].fit.plan.cells
    return HEART.gather(HeartSettings(rows=5, methods=methods, cells=cells, **settings), views)


def test_numbers_of_known_maps():
    numbers = run_of(made_up(factor=1.21)).numbers["sglb"]
    # Roots and means of a few dozen numbers: rounding only, here and below. The std is 1.1 times
    # the truth, which is 0.1 in 48 cells and 0.2 in 16.
    known = {
        "auroc": 1.0, "empty": 0.2, "filled": 0.1, "least_empty": 0.2, "most_filled": 0.1,
        "n_found": 17.0, "error_max": 0.02, "error_mean": 0.0125, "error_share": 0.1,
    }  # fmt: skip
    assert {name: numbers[name] for name in known} == pytest.approx(known)
    variances = run_of(made_up(factor=1.21), unit="variance").numbers["sglb"]
    assert variances["empty"] == pytest.approx(0.04)
    assert variances["error_max"] == pytest.approx(0.04 * 0.21)
    for empty, auroc in ((0.01, 0.5), (0.001, 0.0)):
        assert run_of(made_up(empty=empty)).numbers["sglb"]["auroc"] == auroc


def test_there_is_no_number_of_what_there_is_not():
    forest = run_of(made_up("vrf", known=False))
    assert forest.numbers["vrf"]["auroc"] == 1.0
    assert np.isnan([forest.numbers["vrf"][name] for name in ("error_max", "auroc_total")]).all()
    assert "predicts no noise" in HEART.describe(forest)
    assert HEART.judge(forest) == ()
    whole = tuple(np.flatnonzero(~make_heart(1).in_support.ravel()).tolist())
    full = run_of(made_up(cells=whole))
    assert np.isnan([full.numbers["sglb"][name] for name in ("auroc", "empty")]).all()
    assert HEART.say_answer(full) == ""


@pytest.mark.parametrize(
    ("knobs", "verdicts"),
    [
        ({"empty": 0.0005, "filled": 1e-6}, ["holds", "holds", "holds"]),
        ({"empty": 0.004, "filled": 1e-6}, ["holds", "holds", "partly"]),
        ({"empty": 0.04, "filled": 1e-6}, ["holds", "holds", "does not hold"]),
        ({"empty": 1e-6, "filled": 1e-3}, ["does not hold", "holds", "holds"]),
        ({"empty": 0.0005, "filled": 1e-6, "factor": 1.3}, ["holds", "partly", "holds"]),
        ({"empty": 0.0005, "filled": 1e-6, "factor": 4.0}, ["holds", "does not hold", "holds"]),
    ],
)
def test_claims_are_judged_by_what_came_out(knobs, verdicts):
    assert [claim.verdict for claim in HEART.judge(run_of(made_up(**knobs)))] == verdicts


@pytest.mark.parametrize(
    ("empty", "words"),
    [(0.0005, "35 times smaller."), (0.0175, "as large."), (0.04, "2.3 times larger.")],
)
def test_the_size_of_knowledge_is_told_as_it_is(empty, words):
    # The mean noise of the filled cells is 0.0175.
    assert HEART.judge(run_of(made_up(empty=empty, filled=1e-6)))[-1].here.endswith(words)


def test_a_virtual_ensemble_is_compared_with_independent_models():
    true, virtual = made_up(), made_up("virtual_sglb", empty=0.0001, filled=1e-6)
    run = run_of(true, virtual)
    *_, detects, smaller = HEART.judge(run)
    assert detects.verdict == smaller.verdict == "holds"
    assert "20 times smaller" in smaller.here
    assert len(judge(CLAIMS, {"virtual_sglb": run_of(virtual).numbers["virtual_sglb"]})) == 1


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_papers_settings_give_the_papers_picture(seed):
    numbers = HEART.run(HeartSettings(seed=seed, unit="variance")).numbers
    true, virtual = numbers["sglb"], numbers["virtual_sglb"]
    assert true["auroc"] == 1.0
    assert virtual["auroc"] >= 0.97
    assert max(true["error_max"], virtual["error_max"]) < 0.01
    assert true["empty"] > 1000 * virtual["empty"]
    slow = HEART.run(HeartSettings(seed=seed, rate=0.1)).numbers
    assert slow["sglb"]["auroc"] == 1.0
    assert slow["virtual_sglb"]["auroc"] < 0.95  # small steps spoil the virtual ensemble only


CODE_CASES = [
    replace(SMALL, seed=0),
    HeartSettings(
        methods=("sgb", "virtual_sglb", "vrf"), rows=20, noise=0.03, seed=4, cells=(3, 40),
        members=4, trees=60, depth=3, rate_sgb=0.2, rate=0.5, temperature=100.0, leaf_noise=True,
        step=5, start=0.25, shown=2,
    ),
    HeartSettings(methods=("catboost",), rows=5, members=2, trees=10, temperature="posterior"),
    HeartSettings(methods=(), rows=5),
]  # fmt: skip


@pytest.mark.parametrize("settings", CODE_CASES, ids=lambda s: "-".join(s.methods) or "nothing")
def test_copied_code_computes_the_same_maps(settings):
    exec(compile(HEART.python(settings), "copied", "exec"), names := {})
    run = HEART.run(settings)
    assert set(names["uncertainty"]) == {METHODS[each.method].label for each in run.views}
    for each in run.views:
        for name, copied in names["uncertainty"][METHODS[each.method].label].items():
            # The same kernels on the same numbers, summed in another order.
            part = getattr(each.last, name)
            np.testing.assert_allclose(copied, part, rtol=CANCELLED, atol=ZERO)


def test_the_picture_shows_truth_first_and_scales_that_are_shared_or_own():
    views = [made_up(filled=0.04), made_up("virtual_sglb", empty=0.0001, filled=0.0001)]
    sheet = HEART.sheet(run_of(*views), views, ())
    titles = [panel.title for panel in sheet.panels]
    assert titles[:4] == ["True noise", "SGLB: total", "SGLB: data", "SGLB: knowledge"]
    assert titles[4:6] == ["Training rows", "virtual SGLB: total"]
    first = sheet.panels[0].limits
    assert all(sheet.panels[place].limits == first for place in (1, 2, 5, 6))
    # From the lowest noise, not from zero: else the maps of noise have two shades. Rows that leave
    # a cell change no colour of the truth.
    assert first == pytest.approx((0.1, 0.25))
    emptied = made_up(cells=(0, 1))
    assert HEART.sheet(run_of(emptied), [emptied], ()).panels[0].limits == first
    assert sheet.panels[3].limits == sheet.panels[7].limits == pytest.approx((0.01, 0.2))
    own = HEART.sheet(run_of(*views, scale="own"), views, ())
    assert {panel.limits for panel in own.panels if ":" in panel.title} == {None}
    assert (bool(sheet.note), bool(own.note)) == (True, False)
    forest = made_up("vrf", known=False)
    total = HEART.sheet(run_of(forest), [forest], ()).panels[1]
    assert (total.markers[0].label, "gives no" in total.alt) == ("not available", True)


def test_empty_cells_are_hatched_and_painted_ones_outlined():
    view = made_up(cells=(0, 80))
    for panel in HEART.sheet(run_of(view), [view], ()).panels:
        np.testing.assert_array_equal(panel.hatched, ~HEART.data(view.fit.plan).in_support)
        assert np.flatnonzero(panel.outlined).tolist() == [0, 80]
    assert write_cells((80, 0)) == "00.88"
