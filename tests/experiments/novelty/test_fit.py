"""Fits, maps, ranks, places, changes, claims and exports of the Novelty maps page."""

from dataclasses import replace

import numpy as np
import pytest

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.claims import VERDICTS
from gbuq_core.experiments.novelty import fit as novelty_fit
from gbuq_core.experiments.novelty.claims import check_novelty_claims, one_ellipse
from gbuq_core.experiments.novelty.data import N_CELLS
from gbuq_core.experiments.novelty.erasing import squares_around
from gbuq_core.experiments.novelty.experiment import novelty_csv, novelty_rows_csv
from gbuq_core.experiments.novelty.fit import (
    at_places,
    compare_ranks,
    count_fits,
    map_novelty,
    maps_key,
    predict_places,
    ranks_of,
    run_novelty,
    view_novelty,
)
from gbuq_core.experiments.novelty.look import explain_place
from gbuq_core.experiments.novelty.plan import (
    METHODS,
    NoveltySettings,
)
from gbuq_core.experiments.novelty.scores import (
    crossings,
    describe_novelty,
    describe_place,
    score_maps,
    support_of,
)
from gbuq_core.experiments.ranking import auroc_of
from gbuq_core.resources import Recent
from gbuq_core.settings import plan_of

QUICK = NoveltySettings(rows=300, trees=20)
WINE = replace(QUICK, data="table", table="wine", trees=6)
SPIRAL = replace(QUICK, data="spiral", trees=6)
DIABETES = replace(QUICK, data="table")


@pytest.fixture(scope="module")
def moons():
    return run_novelty(replace(QUICK, third=True))


@pytest.fixture(scope="module")
def rings():
    return run_novelty(replace(QUICK, data="rings"))


def test_maps_are_the_estimators_own_scores(moons):
    fit, maps = moons.fit, moons.maps
    places = at_places(fit, fit.data.grid)
    assert places.shape == (N_CELLS, 3)
    novel, uncertain = fit.model.score_novelty(places), fit.model.predict_uncertainty(places)
    np.testing.assert_allclose(maps.of("novelty"), novel.novelty)
    np.testing.assert_allclose(maps.of("conditional"), novel.conditional_novelty)
    np.testing.assert_allclose(maps.of("inference"), np.abs(novel.inference_novelty))
    np.testing.assert_allclose(maps.of("knowledge"), uncertain.knowledge)
    np.testing.assert_allclose(maps.of("data"), uncertain.data)
    np.testing.assert_array_equal(maps.of("truth"), -fit.data.log_density)
    assert maps.keys == tuple(METHODS)
    assert predict_places(fit, places).shape == (N_CELLS, 2)
    own = fit.model.score_novelty(fit.rows.X)
    np.testing.assert_allclose(maps.of_rows("novelty"), own.novelty)


def test_distances_are_those_to_the_nearest_other_rows(moons):
    fit, maps = moons.fit, moons.maps
    X = fit.rows.X
    spread = np.subtract(*np.quantile(X, [0.75, 0.25], axis=0))
    for cell in (0, 1830, 3599):
        x = np.append(fit.data.grid[cell], 0.0)
        away = np.sort(np.sqrt((((X - x) / spread) ** 2).sum(axis=1)))
        assert maps.of("distance")[cell] == pytest.approx(away[:10].mean())
    away = np.sort(np.sqrt((((X - X[7]) / spread) ** 2).sum(axis=1)))
    assert away[0] == 0.0
    assert maps.of_rows("distance")[7] == pytest.approx(away[1:11].mean())


def test_view_knobs_fit_nothing(moons):
    fit, before = moons.fit, count_fits()
    for change in (
        {"third_at": 3.0},
        {"tail": "clip"},
        {"neighbours": 3},
        {"show": "rows"},
        {"maps": ("data",), "compared": ("data", "novelty")},
        {"row": 3, "column": 4, "drawn": 2},
    ):
        settings = replace(moons.settings, **change)
        assert plan_of(settings) == fit.plan
        maps = moons.maps
        if maps_key(fit, settings) != maps_key(fit, moons.settings):
            maps = map_novelty(fit, settings)
        view_novelty(fit, maps, settings)
    assert count_fits() == before
    assert maps_key(fit, moons.settings) != maps_key(fit, replace(moons.settings, third_at=3.0))


def test_the_authors_tail_ends_where_scikit_learns_does(moons):
    clipped = map_novelty(moons.fit, replace(moons.settings, tail="clip"))
    assert clipped.of("novelty").max() < 5.21
    assert moons.maps.of("novelty").max() > 8.0
    assert moons.fit.model.tail == "rise"  # the fit is shared: nobody changes it
    below = clipped.of("novelty") < 1.0
    # Where hardly any tree is beyond its rows, the tails agree.
    assert np.abs(clipped.of("novelty") - moons.maps.of("novelty"))[below].mean() < 0.2


def test_an_irrelevant_feature_counts_for_novelty_only(moons):
    far = map_novelty(moons.fit, replace(moons.settings, third_at=6.0))
    rise = {
        key: (far.of(key) - moons.maps.of(key))[moons.fit.data.in_support].mean()
        for key in ("novelty", "conditional", "distance")
    }
    assert rise["novelty"] > 3.0  # the feature is six stds away, and leaves know its width
    assert rise["conditional"] < 0.3 * rise["novelty"]
    assert rise["distance"] > 1.0
    look = explain_place(moons.fit, far, moons.settings, (0.0, 1.0))
    assert look.shares[2] > 0.8


def test_disagreement_names_who_says_what(moons):
    apart = moons.view.disagreement
    ranks = np.array([ranks_of(moons.maps, key) for key in apart.keys])
    cells = np.arange(N_CELLS)
    np.testing.assert_allclose(apart.spread, ranks[apart.most, cells] - ranks[apart.least, cells])
    assert (ranks <= ranks[apart.most, cells]).all()
    same = compare_ranks(("a", "b"), ranks[[0, 0]])
    assert same.spread.max() == 0.0
    by_rows = view_novelty(moons.fit, moons.maps, replace(moons.settings, show="rows"))
    ranks = np.array([ranks_of(moons.maps, key, "rows") for key in apart.keys])
    np.testing.assert_array_equal(by_rows.disagreement.spread, np.ptp(ranks, axis=0))


def test_leaves_stretch_over_the_middle_of_the_rings():
    # The inner ring is pure: a leaf of it has its ellipse, and its best-known place, in the hole.
    run = run_novelty(NoveltySettings(data="rings", trees=30))
    hole = np.abs(run.fit.data.grid).max(axis=1) < 0.3
    assert not run.fit.data.in_support[hole].any()
    assert ranks_of(run.maps, "novelty")[hole].max() < 10.0
    assert ranks_of(run.maps, "truth")[hole].min() > 10.0
    scores = {score.key: score for score in score_maps(run.fit, run.maps)}
    assert scores["novelty"].auroc_crossings < 0.9 < scores["distance"].auroc_crossings
    assert scores["novelty"].auroc > 0.95
    assert "truth" not in scores


def test_a_place_is_explained_by_its_trees(moons):
    fit, maps = moons.fit, moons.maps
    look = explain_place(fit, maps, moons.settings, (1.0, 2.5))
    assert look.z.mean() == pytest.approx(look.value_of("novelty"))
    assert look.shares.sum() == pytest.approx(1.0)
    np.testing.assert_array_equal(np.sort(look.z)[::-1][: len(look.top)], look.z[look.top])
    np.testing.assert_array_equal(look.ellipses.tree, look.top)
    leaves, own = (
        fit.model.forest_.leaf_matrix(X) for X in (fit.rows.X, np.array([[1.0, 2.5, 0.0]]))
    )
    for tree, rows, size in zip(look.top, look.leaf_rows, look.ellipses.n_rows, strict=True):
        np.testing.assert_array_equal(rows, np.flatnonzero(leaves[:, tree] == own[0, tree]))
        assert len(rows) == size >= fit.plan.min_leaf * fit.plan.subsample * 0.5
    # At the middle of a cell the values are the map's, and the ranks of it or so.
    cell = int(np.hypot(*(fit.data.grid - look.point).T).argmin())
    exact = explain_place(fit, maps, moons.settings, tuple(fit.data.grid[cell]))
    for value in exact.values:
        assert value.value == pytest.approx(maps.of(value.key)[cell])
        rank = ranks_of(maps, value.key)[cell]
        assert value.rank_cells == pytest.approx(rank, abs=0.05)  # it counts itself by half
        among = ranks_of(maps, value.key, "rows")[cell]
        assert value.rank_rows == pytest.approx(among)


def test_any_place_is_answered(moons):
    for point in ((float("nan"), 0.0), "x", (1.0,), (1e400, 0.0), (0.0, -1e7)):
        look = explain_place(moons.fit, moons.maps, moons.settings, point)
        assert len(look.notes) == 1
        assert look.point == explain_place(moons.fit, moons.maps, moons.settings).point
    far = explain_place(moons.fit, moons.maps, moons.settings, (50.0, 50.0))
    assert np.isfinite([value.value for value in far.values]).all()


@pytest.mark.parametrize("settings", [WINE, DIABETES, SPIRAL])
def test_every_kind_of_data_is_mapped(settings):
    run = run_novelty(settings)
    assert np.isfinite(run.maps.values).all()
    known = settings.data != "table"
    assert ("truth" in run.maps.keys) == known
    assert bool(run.view.notes) != known
    look = explain_place(run.fit, run.maps, settings)
    assert len(look.top) == 6
    assert len(describe_place(run.fit, look)) > 100
    assert len(describe_novelty(run.fit, run.maps, run.view)) > 100
    for score in score_maps(run.fit, run.maps):
        assert np.isfinite(score.auroc) == known
        assert score.seconds > 0.0
        assert score.memory_bytes > 0
    assert novelty_csv(run.fit, run.maps).count("\n") == N_CELLS + 1
    assert novelty_rows_csv(run.fit, run.maps).count("\n") == len(run.fit.rows.y) + 1


def test_erased_rows_leave_a_hole_that_scores_of_rows_notice(rings):
    place = (30, 36)  # an arc of both rings
    squares = squares_around([place])
    gone = run_novelty(replace(rings.settings, erased=(place,)))
    for key in ("distance", "isolation"):
        assert gone.maps.of(key)[squares].mean() > rings.maps.of(key)[squares].mean()
    assert not support_of(gone.fit)[squares].any()
    outside = support_of(rings.fit) & ~squares
    np.testing.assert_array_equal(support_of(gone.fit), outside)
    assert np.isnan(score_maps(gone.fit, gone.maps)[0].rank_correlation)
    n = len(rings.fit.rows.y)
    words = f"{n - len(gone.fit.rows.y)} of {n} training rows are erased."
    assert words in describe_novelty(gone.fit, gone.maps, gone.view)
    assert words.partition(" of ")[0] != "0"
    np.testing.assert_array_equal(
        gone.maps.of_rows("truth"), rings.maps.of_rows("truth")[gone.fit.rows.origin]
    )


def test_claims_say_what_their_verdicts_do(moons):
    claims = check_novelty_claims(moons.fit, moons.maps)
    assert {claim.verdict for claim in claims} <= set(VERDICTS)
    assert len(claims) == 10
    scores = {score.key: score for score in score_maps(moons.fit, moons.maps)}
    by_key = {claim.key: claim for claim in claims}
    assert len(by_key) == 10
    assert f"{scores['novelty'].auroc:.3f}" in by_key["novelty"].here
    assert [claim.key for claim in claims[:3]] == ["ellipses", "crossings", "novelty"]
    # One ellipse finds far cells as well; at crossings it does not.
    support, free = support_of(moons.fit), one_ellipse(moons.fit, moons.maps)
    assert auroc_of(~support, support, free) > 0.9
    assert auroc_of(crossings(support), support, free) < scores["novelty"].auroc_crossings
    third = next(claim for claim in claims if "do see it" in claim.here)
    assert third.verdict == "holds"  # 0.05 of the rise, and 0.1 is the level
    constant = next(claim for claim in claims if "cannot use inference" in claim.paper)
    assert "0.500" in constant.here  # a constant in each leaf is always typical
    assert len(check_novelty_claims(*run_novelty(DIABETES)[1:3])) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"show": "deciles"},
        {"compared": ("novelty", "novelty")},
    ],
)
def test_impossible_views_are_one_sentence(moons, change):
    settings = replace(moons.settings, **change)
    with pytest.raises(InvalidParameter, match=r"\.$"):
        view_novelty(moons.fit, moons.maps, settings)


@pytest.mark.parametrize("settings", [replace(QUICK, third=True), SPIRAL, DIABETES])
def test_what_is_kept_changes_no_bit(settings, monkeypatch):
    run = run_novelty(settings)
    views = [
        replace(run.settings, tail=tail, third_at=third, neighbours=k)
        for tail, third, k in (("clip", 0.0, 10), ("rise", 1.5, 3), ("clip", 1.5, 3))
    ]
    kept = [map_novelty(run.fit, view) for view in [*views, run.settings]]
    monkeypatch.setattr(novelty_fit, "_REUSE", Recent(most_bytes=0))
    monkeypatch.setattr(novelty_fit, "MOST_CELLS", 0)  # the estimator's own `score_novelty`
    for view, maps in zip([*views, run.settings], kept, strict=True):
        anew = map_novelty(run.fit, view)
        np.testing.assert_array_equal(maps.values, anew.values)
        np.testing.assert_array_equal(maps.rows, anew.rows)


def test_a_knob_of_the_view_measures_nothing_again(moons, monkeypatch):
    scored = []
    for name in ("measure_novelty", "score_novelty", "predict_uncertainty"):
        own = getattr(type(moons.fit.model), name)
        monkeypatch.setattr(
            type(moons.fit.model),
            name,
            lambda model, X, own=own: scored.append(len(X)) or own(model, X),
        )
    map_novelty(moons.fit, moons.settings)  # whatever the bound has dropped since
    scored.clear()
    map_novelty(moons.fit, replace(moons.settings, tail="clip"))
    map_novelty(moons.fit, replace(moons.settings, neighbours=4))
    assert scored == []
    map_novelty(moons.fit, replace(moons.settings, third_at=-2.25))
    assert scored == [N_CELLS, N_CELLS]  # the rows' own scores do not depend on it


def test_what_is_kept_is_bounded():
    reuse = Recent(most_bytes=2000)
    for n in range(5):
        reuse.get(n, lambda: np.zeros(100))
    assert list(reuse._values) == [3, 4]
    reuse.get("large", lambda: np.zeros(1000))
    assert not reuse._values
