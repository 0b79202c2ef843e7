"""The spiral's scores on made-up maps whose right answers are known, the papers' claims, words."""

import math

import numpy as np
import pytest

from gbuq_core.experiments.spiral import (
    GRID,
    SpiralFit,
    SpiralMaps,
    SpiralRun,
    fresh_sample,
    run_spiral,
    spiral_truth,
)
from gbuq_core.experiments.spiral_plan import METHODS, SpiralSettings, plan_spiral
from gbuq_core.experiments.spiral_regions import rank_correlation, spiral_regions
from gbuq_core.experiments.spiral_scores import check_claims, describe_spiral, score_spiral
from gbuq_core.metrics import effective_ensemble_size
from gbuq_core.synthetic import make_spiral

NOISE = 0.3  # leaves more cells without rows between the arms than 0.4
TRUTH = spiral_truth(NOISE)
WHERE = spiral_regions(TRUTH)


def made_up(method="sglb", far=0.01, between=0.01, outside=0.01, border=0.01, clear=0.01, seed=0):
    """Maps with one knowledge uncertainty a region, true data uncertainty and probabilities."""
    settings = SpiralSettings(noise=NOISE, rows=20, members=4)
    plan = plan_spiral(settings, method)
    knowledge = np.full((80, 80), outside)
    for cells, value in (
        (WHERE.inside, 0.5 * (border + clear)),
        (WHERE.border, border),
        (WHERE.clear, clear),
        (WHERE.between, between),
        (WHERE.far, far),
    ):
        knowledge[cells] = value
    proba = TRUTH.proba.reshape(3, -1).T
    errors = 0.01 * np.random.default_rng(seed).standard_normal((4, len(GRID), 3))
    fresh = fresh_sample(NOISE, 0).proba
    none = np.zeros((1, 1, 0, 3), np.float32)
    fit = SpiralFit(
        plan=plan,
        data=make_spiral(20, NOISE, 0),
        model=None,
        n_trees=np.array([300]),
        members=none,
        fresh_members=none,
        entropies=none[..., 0],
        validation=np.zeros((1, 1)),
        trace=None,
        seconds=0.5,
        memory_bytes=2_000_000,
    )
    return SpiralMaps(
        fit=fit,
        n_trees=np.array([plan.trees]),
        n_members=np.array([4]),
        total=(TRUTH.data_uncertainty + knowledge)[None],
        data=TRUTH.data_uncertainty[None],
        knowledge=knowledge[None],
        proba=TRUTH.proba,
        member_trees=np.full(4, plan.trees),
        members=proba + errors,
        fresh_proba=fresh,
    )


def run_of(*maps):
    settings = SpiralSettings(noise=NOISE, methods=tuple(one.method for one in maps))
    return SpiralRun(settings, make_spiral(20, NOISE, 0), TRUTH, maps)


def claims_of(*maps):
    """Verdicts by the first words that tell the claims apart."""
    return {claim.paper: claim for claim in check_claims(run_of(*maps))}


def verdict(claims, words):
    found = [claim.verdict for paper, claim in claims.items() if words in paper]
    assert len(found) == 1, (words, list(claims))
    return found[0]


def test_regions_are_what_they_say():
    assert WHERE.far.sum() == 2560
    assert TRUTH.density[WHERE.far].max() <= TRUTH.density[~WHERE.far].min()
    radius = np.hypot(*GRID.T).reshape(80, 80)
    assert radius[WHERE.disc].max() <= (6 * np.pi) ** 2 < radius[~WHERE.disc].min()
    assert 30 < WHERE.between.sum() < WHERE.disc.sum() / 2
    assert not (WHERE.between & WHERE.inside).any()
    assert not (WHERE.between & ~WHERE.disc).any()
    assert TRUTH.data_uncertainty[WHERE.border].min() > 0.35
    assert TRUTH.data_uncertainty[WHERE.clear].max() < 0.05
    assert WHERE.inside[WHERE.border | WHERE.clear].all()


def test_scores_of_known_maps():
    maps = made_up(far=0.3, between=0.2, outside=0.1, border=0.04, clear=0.01)
    score = score_spiral(maps, TRUTH)
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
    alone = maps._replace(
        knowledge=np.full((1, 80, 80), np.nan), n_members=np.array([1]), members=maps.members[:1]
    )
    score = score_spiral(alone, TRUTH)
    assert all(math.isnan(v) for v in (score.auroc_far, score.auroc_border, score.border_ratio))
    assert score.size.effective == 1.0
    assert np.isfinite(score.nll)
    assert check_claims(run_of(alone)) == ()
    assert "at least two members" in describe_spiral(run_of(alone))


def test_knowledge_of_nothing_has_no_ratio():
    score = score_spiral(made_up(border=0.0, clear=0.0), TRUTH)
    assert math.isnan(score.border_ratio)
    assert score_spiral(made_up(border=0.1, clear=0.0), TRUTH).border_ratio == math.inf


@pytest.mark.parametrize(
    ("other", "expected"),
    [([1.0, 2.0, 3.0, 9.0], 1.0), ([3.0, 2.0, 1.0, 0.0], -1.0), ([5.0, 5.0, 5.0, 5.0], math.nan)],
)
def test_rank_correlation_depends_on_order_alone(other, expected):
    found = rank_correlation([[0.1, 0.2], [0.5, 0.6]], other)
    assert found == pytest.approx(expected, nan_ok=True)


def test_rank_correlation_shares_ranks_among_equals():
    from scipy.stats import spearmanr

    rng = np.random.default_rng(3)
    first, second = rng.integers(0, 5, 50), rng.integers(0, 5, 50)
    assert rank_correlation(first, second) == pytest.approx(spearmanr(first, second).statistic)


def test_claims_about_independent_models_follow_the_numbers():
    good = claims_of(made_up(far=0.3, between=0.3, outside=0.3, border=0.04, clear=0.01))
    assert verdict(good, "tells regions outside") == "holds"
    assert verdict(good, "highest between the arms") == "holds"
    assert verdict(good, "traces of the class borders") == "holds"
    poor = claims_of(made_up(far=0.0, between=0.0, outside=0.0))
    assert verdict(poor, "tells regions outside") == "does not hold"
    assert verdict(poor, "highest between the arms") == "does not hold"
    assert verdict(poor, "traces of the class borders") == "does not hold"
    # Higher between the arms than among rows, but not the highest: it is higher farther out.
    beyond = claims_of(made_up(far=0.9, between=0.3, outside=0.9))
    assert verdict(beyond, "highest between the arms") == "does not hold"
    assert verdict(claims_of(made_up(border=0.015, clear=0.01)), "traces") == "nearly"


def test_knowledge_is_called_small_only_where_it_is():
    mean_data = TRUTH.data_uncertainty.mean()
    for share, expected in ((10, "holds"), (3, "nearly"), (1, "does not hold")):
        level = dict.fromkeys(("far", "between", "outside", "border", "clear"), mean_data / share)
        assert verdict(claims_of(made_up(**level)), "much smaller than data") == expected


@pytest.mark.parametrize(
    ("factor", "expected"), [(10, "holds"), (3, "nearly"), (1, "does not hold")]
)
def test_virtual_ensembles_are_compared_with_independent_ones(factor, expected):
    virtual = made_up("virtual_sglb", far=0.1 / factor, between=0.1 / factor, outside=0.1 / factor)
    claims = claims_of(made_up(far=0.1, between=0.1, outside=0.1), virtual)
    assert verdict(claims, "far lower than that of independent") == expected
    assert not any("far lower" in paper for paper in claims_of(virtual))


def test_claims_about_cycles_follow_the_numbers():
    true = made_up(far=0.3, outside=0.2, border=0.03, clear=0.01)
    blind = made_up("virtual_sglb", far=0.001, outside=0.001, between=0.001, border=0.003)
    sharp = made_up("csglb", far=0.3, outside=0.2, border=0.09, clear=0.01)
    good = claims_of(true, blind, sharp)
    assert verdict(good, "cSGLB greatly improves on virtual SGLB") == "holds"
    assert verdict(good, "about as well as independent models") == "holds"
    assert verdict(good, "jitters more") == "holds"
    assert verdict(good, "better aligned") == "holds"
    # Ten times as high everywhere, but no better at telling where.
    level = dict.fromkeys(("far", "between", "outside", "border", "clear"), 0.02)
    high = claims_of(
        true, made_up("virtual_sglb", **dict.fromkeys(level, 0.002)), made_up("csglb", **level)
    )
    assert verdict(high, "cSGLB greatly improves on virtual SGLB") == "nearly"
    assert verdict(high, "about as well as independent models") == "does not hold"
    assert verdict(high, "jitters more") == "does not hold"
    seeing = made_up("virtual_sglb", far=0.3, outside=0.2, border=0.03, clear=0.01)
    poor = claims_of(true, seeing, made_up("cbsglb", **level))
    assert verdict(poor, "cbSGLB greatly improves on virtual SGLB") == "does not hold"
    assert verdict(poor, "better aligned") == "does not hold"
    alone = check_claims(run_of(sharp))
    assert alone == ()


def test_claims_and_words_of_a_true_run_name_its_numbers():
    settings = SpiralSettings(
        methods=("sglb", "virtual_sglb", "csglb", "vrf"), rows=60, members=3, trees=30,
        chain_trees=80, step=20, cycle=20, depth=4,
    )  # fmt: skip
    run = run_spiral(settings)
    words, claims = describe_spiral(run), check_claims(run)
    for maps in run.methods:
        score = score_spiral(maps, run.truth)
        assert METHODS[maps.method].label in words
        assert f"AUROC {score.auroc_far:.2f}" in words
        assert 0 <= score.auroc_between <= 1
        assert score.nll > score.nll_optimal
    assert len(claims) == 9
    assert {claim.verdict for claim in claims} <= {"holds", "nearly", "does not hold"}
    far = score_spiral(run.methods[2], run.truth).auroc_far
    assert sum(f"{far:.2f}" in claim.here for claim in claims) >= 2
