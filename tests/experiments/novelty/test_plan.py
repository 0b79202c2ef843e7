"""Ranks, refusals, estimates, odd forests and exported Python of the Novelty maps page."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import rankdata

from gbuq_core.errors import GbuqError, InvalidData
from gbuq_core.experiments.novelty.claims import check_novelty_claims
from gbuq_core.experiments.novelty.data import N_CELLS, SIDE
from gbuq_core.experiments.novelty.edits import edit_of
from gbuq_core.experiments.novelty.export import novelty_code
from gbuq_core.experiments.novelty.fit import fit_novelty_maps, run_novelty
from gbuq_core.experiments.novelty.look import explain_place
from gbuq_core.experiments.novelty.plan import (
    NoveltySettings,
    estimate_novelty_seconds,
    why_not,
)
from gbuq_core.experiments.novelty.ranks import rank_among, rank_cells
from gbuq_core.experiments.novelty.scores import crossings

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
    found = crossings(support.ravel()).reshape(SIDE, SIDE)
    expected = np.zeros_like(found)
    expected[5:10, 40:50] = expected[20:30, 5:10] = True
    np.testing.assert_array_equal(found, expected)


def test_edits_that_leave_nothing_are_refused_with_a_sentence():
    everything = edit_of("remove", range(N_CELLS))
    plan = replace(QUICK, edits=(everything,))
    assert "every training row" in why_not(plan)
    with pytest.raises(InvalidData, match="every training row"):
        fit_novelty_maps(plan)


@pytest.mark.parametrize(
    "change",
    [
        {"rows": 49},
        {"rows": 5001},
        {"noise": 0.0},
        {"noise": float("nan")},
        {"seed": -1},
        {"trees": 0},
        {"leaves": 1},
        {"min_leaf": 0},
        {"subsample": 1.0},
        {"leaf_model": "cubic"},
        {"compared": ("novelty", "age")},
        {"tail": "up"},
        {"data": "table", "columns": ("age", "age")},
        {"edits": (edit_of("remove", [1]),) * 21},
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


def test_estimates_grow_with_the_work():
    small, spiral = QUICK, replace(QUICK, data="spiral")
    assert estimate_novelty_seconds(spiral) > estimate_novelty_seconds(small) > 0
    longer = replace(small, trees=200)
    assert estimate_novelty_seconds(longer) > estimate_novelty_seconds(small)


@pytest.mark.parametrize(
    "settings",
    [
        replace(QUICK, trees=5),
        replace(
            DIABETES,
            trees=5,
            edits=(edit_of("remove", [1700, 1701]),),
            third=True,
            third_at=1.5,
        ),
    ],
)
def test_exported_python_computes_the_same_maps(settings, capsys):
    exec(compile(novelty_code(settings), "exported", "exec"), {})
    said = capsys.readouterr().out
    maps = run_novelty(settings).maps
    for name, key in (
        ("novelty", "novelty"),
        ("knowledge uncertainty", "knowledge"),
        ("isolation forest", "isolation"),
        ("distance to rows", "distance"),
    ):
        values = maps.of(key)
        assert f"{name}: {values.min():.4g} to {values.max():.4g}" in said
    assert said.count("training rows in the leaf") == 5
