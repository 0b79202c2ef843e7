"""The spiral's scores on made-up maps whose right answers are known, words."""

import math
from dataclasses import replace

import numpy as np
import pytest
from spiral_parts import TRUTH, WHERE, made_up, run_of

from gbuq_core.experiments.ranking import rank_correlation
from gbuq_core.experiments.spiral.claims import check_claims
from gbuq_core.experiments.spiral.data import GRID, spiral_truth
from gbuq_core.experiments.spiral.experiment import spiral_code
from gbuq_core.experiments.spiral.fit import run_spiral
from gbuq_core.experiments.spiral.plan import (
    METHODS,
    SpiralSettings,
    forest_trees,
)
from gbuq_core.experiments.spiral.scores import (
    MIN_BETWEEN,
    describe_spiral,
    score_spiral,
    spiral_regions,
)
from gbuq_core.metrics import effective_ensemble_size
from gbuq_core.settings import plan_of


def test_regions_are_what_they_say():
    assert WHERE.far.sum() == 2560
    assert TRUTH.density[WHERE.far].max() <= TRUTH.density[~WHERE.far].min()
    radius = np.hypot(*GRID.T).reshape(80, 80)
    assert radius[WHERE.disc].max() <= (6 * np.pi) ** 2 < radius[~WHERE.disc].min()
    assert not (WHERE.between & WHERE.inside).any()
    assert not (WHERE.between & ~WHERE.disc).any()
    assert TRUTH.data_uncertainty[WHERE.border].min() > 0.35
    assert TRUTH.data_uncertainty[WHERE.clear].max() < 0.05
    assert WHERE.inside[WHERE.border | WHERE.clear].all()


def in_support(truth, x, y):
    """Whether the cell that holds a point does."""
    column, row = int((x + 600) // 15), int((y + 600) // 15)
    return 0 <= row < 80 and 0 <= column < 80 and bool(truth.in_support[row, column])


@pytest.mark.parametrize(("noise", "n_cells"), [(0.2, 199), (0.4, 0)])
def test_between_the_arms_is_no_rim(noise, n_cells):
    truth = spiral_truth(noise)
    between = spiral_regions(truth).between
    assert between.sum() == n_cells
    slow = np.zeros(6400, dtype=bool)
    for i, (x, y) in enumerate(GRID):
        radius = np.hypot(x, y)
        steps = np.arange(0, 850, 7.5)
        hit = [in_support(truth, x * step / radius, y * step / radius) for step in steps]
        sides = [
            any(h for h, step in zip(hit, steps, strict=True) if out == (step >= radius))
            for out in (False, True)
        ]
        slow[i] = all(sides) and not truth.in_support.flat[i]
    assert np.array_equal(between.ravel(), slow)


def test_there_is_no_score_between_wide_arms():
    assert 0 < spiral_regions(spiral_truth(0.25)).between.sum() < MIN_BETWEEN
    maps, truth = made_up(), spiral_truth(0.25)
    score = score_spiral(maps, truth)
    assert math.isnan(score.auroc_between)
    assert math.isnan(score.ku_mean_between)
    assert np.isfinite([score.auroc_far, score.auroc_border]).all()
    few = describe_spiral(run_of()._replace(truth=truth))
    assert "Hardly any cell between the arms is without rows." in few
    assert "199 cells between the arms have next to no rows." in describe_spiral(run_of())


@pytest.mark.parametrize(("members", "trees", "trained"), [(3, 50, 48), (7, 40, 35), (30, 10, 30)])
def test_trees_of_a_forest_are_those_trained(members, trees, trained):
    settings = SpiralSettings(methods=("vrf",), rows=20, members=members, trees=trees)
    run = run_spiral(settings)
    assert score_spiral(run.methods[0], run.truth).n_trees == trained
    assert f"one forest of {trained} trees in {members} groups" in describe_spiral(run)
    code = spiral_code(settings)
    assert f"n_groups={members}," in code
    assert f"trees_per_group={trained // members}," in code
    plan = plan_of(settings, "vrf")
    assert forest_trees(plan) == trained


def test_scores_of_known_maps():
    score = score_spiral(made_up(far=0.3, between=0.2, outside=0.1, border=0.04, clear=0.01), TRUTH)
    assert score.auroc_far == score.auroc_between == score.auroc_border == 1.0
    # Means of equal numbers: rounding only.
    assert score.ku_mean_between == pytest.approx(0.2)
    assert score.ku_mean_border == pytest.approx(0.04)
    assert score.border_ratio == pytest.approx(4.0)
    assert 0.1 < score.ku_mean_outside < 0.3
    assert 0.01 < score.ku_mean_inside < 0.04
    assert score.data_error == 0.0
    assert (score.nll, score.error) == (score.nll_optimal, score.error_optimal)
    assert 0 < score.error_optimal < 0.2
    assert score.n_members == 4
    assert score.n_trees == 4 * 300
    assert (score.seconds, score.memory_bytes) == (0.5, 2_000_000)


def test_the_opposite_order_scores_zero_and_no_order_one_half():
    low = score_spiral(made_up(far=0.0, between=0.0, outside=0.0), TRUTH)
    assert low.auroc_far == pytest.approx(0.5 * (1 - WHERE.inside.sum() / (~WHERE.far).sum()))
    assert low.auroc_between == low.auroc_border == 0.0
    level = score_spiral(made_up(), TRUTH)
    assert level.auroc_far == level.auroc_between == level.auroc_border == 0.5
    assert level.border_ratio == pytest.approx(1.0)


def test_effective_size_is_that_of_errors_where_rows_are():
    maps = made_up()
    cells, proba = WHERE.inside.ravel(), TRUTH.proba.reshape(3, -1).T
    expected = effective_ensemble_size(maps.members[:, cells] - proba[cells])
    score = score_spiral(maps, TRUTH)
    assert score.size == expected
    # Independent errors: the correlation of 4 members over 5,700 numbers is within 0.02 of 0.
    assert score.size.effective == pytest.approx(4, rel=0.1)


def test_a_single_member_has_no_scores_of_knowledge():
    maps = made_up()
    alone = replace(
        maps,
        knowledge=np.full((1, 80, 80), np.nan),
        n_members=np.array([1]),
        members=maps.members[:1],
    )
    score = score_spiral(alone, TRUTH)
    assert all(math.isnan(v) for v in (score.auroc_far, score.auroc_border, score.border_ratio))
    assert score.size.effective == 1.0
    assert np.isfinite(score.nll)
    assert check_claims(run_of(alone)) == ()
    assert "at least two members" in describe_spiral(run_of(alone))


def test_knowledge_of_nothing_has_no_ratio():
    assert math.isnan(score_spiral(made_up(border=0.0, clear=0.0), TRUTH).border_ratio)
    assert score_spiral(made_up(border=0.1, clear=0.0), TRUTH).border_ratio == math.inf


@pytest.mark.parametrize(
    ("other", "expected"),
    [([1.0, 2.0, 3.0, 9.0], 1.0), ([3.0, 2.0, 1.0, 0.0], -1.0), ([5.0, 5.0, 5.0, 5.0], math.nan)],
)
def test_rank_correlation_depends_on_order_alone(other, expected):
    correlation = rank_correlation([[0.1, 0.2], [0.5, 0.6]], other)
    assert correlation == pytest.approx(expected, nan_ok=True)


def test_rank_correlation_shares_ranks_among_equals():
    from scipy.stats import spearmanr

    rng = np.random.default_rng(3)
    first, second = rng.integers(0, 5, 50), rng.integers(0, 5, 50)
    assert rank_correlation(first, second) == pytest.approx(spearmanr(first, second).statistic)


def test_claims_and_words_of_a_true_run_name_its_numbers():
    settings = SpiralSettings(
        methods=("sglb", "virtual_sglb", "csglb", "vrf"),
        rows=60,
        members=3,
        trees=30,
        chain_trees=80,
        step=20,
        cycle=20,
        depth=4,
    )
    run = run_spiral(settings)
    words, claims = describe_spiral(run), check_claims(run)
    for maps in run.methods:
        score = score_spiral(maps, run.truth)
        assert METHODS[maps.method].label in words
        assert f"AUROC {score.auroc_far:.2f}" in words
        assert score.nll > score.nll_optimal
    assert len(claims) == 11
    assert {claim.verdict for claim in claims} <= {"holds", "partly", "does not hold"}
    far = score_spiral(run.methods[2], run.truth).auroc_far
    assert sum(f"{far:.2f}" in claim.here for claim in claims) >= 2
