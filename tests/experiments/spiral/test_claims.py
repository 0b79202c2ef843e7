"""The papers' statements about the spiral: verdicts that follow the numbers, words that follow."""

from dataclasses import replace

import numpy as np
import pytest
from spiral_parts import TRUTH, WHERE, made_up, run_of

from gbuq_core.experiments.claims import VERDICTS, chips_of
from gbuq_core.experiments.spiral.claims import (
    _claim_of_forest,
    check_claims,
    finds_outside,
    settings_text,
)
from gbuq_core.experiments.spiral.plan import PAPER, SpiralSettings, spiral_arguments
from gbuq_core.experiments.spiral.scores import score_spiral
from gbuq_core.settings import plan_of

REGIONS = ("far", "between", "outside", "border", "clear")
# What a claim may end with, and the verdicts that this goes with.
ENDS = {
    "greatly improves": {
        "it finds what virtual SGLB does not.": "holds",
        "better, not greatly.": "partly",
        "a higher level, no better placed.": "partly",
        "no improvement.": "does not hold",
        "a higher level, and not where rows are missing.": "does not hold",
        "no higher level, and not where rows are missing.": "does not hold",
    },
    "about as well": {
        ": better.": "holds",
        ": as well.": "holds",
        ": somewhat worse.": "partly",
        ": worse.": "does not hold",
        ": independent models alone find them.": "does not hold",
        ": neither finds them.": "does not hold",
    },
    "better aligned": {
        ": better.": "holds",
        ": no better, no worse.": "partly",
        ": worse.": "does not hold",
    },
}


def claims_of(*maps):
    """Claims by the paper's statement."""
    return {claim.paper: claim for claim in check_claims(run_of(*maps))}


def claim_of(claims, words):
    (claim,) = (claim for paper, claim in claims.items() if words in paper)
    return claim


def verdict(claims, words):
    return claim_of(claims, words).verdict


def sloped(method, slope, level, rng):
    """Maps whose knowledge uncertainty is higher the farther from the rows, but for noise."""
    distance = -TRUTH.log_density / TRUTH.log_density.std()
    steps = slope * (distance - distance[WHERE.inside].mean()) + rng.standard_normal((80, 80))
    return replace(made_up(method), knowledge=level * np.exp(steps)[None])


def level_of(value):
    return dict.fromkeys(REGIONS, value)


def test_claims_about_independent_models_follow_the_numbers():
    good = claims_of(made_up(far=0.3, between=0.3, outside=0.3, border=0.04, clear=0.01))
    assert verdict(good, "tells regions outside") == "holds"
    assert "better than chance" in claim_of(good, "tells regions outside").here
    assert verdict(good, "traces of the class borders") == "holds"
    gaps = claim_of(good, "gaps between the arms")
    assert (gaps.verdict, gaps.value) == ("holds", "AUROC 1.00")
    assert gaps.answer == "KU of SGLB finds the gaps between arms: yes, AUROC 1.00"
    assert verdict(claims_of(made_up(between=0.0)), "gaps between") == "does not hold"
    assert len(chips_of(list(good.values()))) == 2  # the gaps take the place of the class borders
    poor = claims_of(made_up(far=0.0, between=0.0, outside=0.0))
    assert verdict(poor, "tells regions outside") == "does not hold"
    assert "worse than chance" in claim_of(poor, "tells regions outside").here
    assert verdict(poor, "traces of the class borders") == "does not hold"
    assert verdict(claims_of(made_up(border=0.015, clear=0.01)), "traces") == "partly"
    assert "authors say" in claim_of(poor, "tells regions outside").paper


def test_knowledge_is_called_small_only_where_it_is():
    for share, expected in ((10, "holds"), (3, "partly"), (1, "does not hold")):
        claims = claims_of(made_up(**level_of(TRUTH.data_uncertainty.mean() / share)))
        assert verdict(claims, "much smaller than data") == expected


def test_nothing_is_claimed_of_no_knowledge_at_all():
    claims = claims_of(made_up(**level_of(0.0)))
    assert not any("traces" in paper for paper in claims)
    assert "infinitely many times" in claim_of(claims, "much smaller than data").here


def test_borders_beside_no_knowledge_at_all_are_told_in_nats():
    claim = claim_of(claims_of(made_up(border=0.03, clear=0.0)), "traces of the class borders")
    assert claim.verdict == "holds"
    assert "is 0.03 nats at class borders and 0 in the middles of the arms." in claim.here
    assert "times" not in claim.here
    assert "inf" not in claim.here


@pytest.mark.parametrize(
    ("factor", "expected", "words"),
    [
        (10, "holds", "10 times smaller"),
        (3, "partly", "3 times smaller"),
        (1, "does not hold", "as large"),
        (0.5, "does not hold", "2 times larger"),
    ],
)
def test_virtual_ensembles_are_compared_with_independent_ones(factor, expected, words):
    virtual = made_up("virtual_sglb", **level_of(0.1 / factor))
    claims = claims_of(made_up(**level_of(0.1)), virtual)
    assert verdict(claims, "far lower than that of independent") == expected
    assert words in claim_of(claims, "far lower than that of independent").here
    assert not any("far lower" in paper for paper in claims_of(virtual))


def test_a_virtual_ensemble_struggles_if_it_finds_neither():
    level = claims_of(made_up("virtual_sglb"))
    assert verdict(level, "struggles") == "holds"
    assert "no better than chance" in claim_of(level, "struggles").here
    seeing = claims_of(made_up("virtual_sglb", far=0.3, between=0.3, outside=0.3))
    assert verdict(seeing, "struggles") == "does not hold"


def test_a_cyclical_ensemble_that_sees_the_outside_improves():
    true = made_up(far=0.3, outside=0.2, border=0.03, clear=0.01)
    blind = made_up("virtual_sglb", far=0.001, outside=0.001, between=0.001, border=0.003)
    sharp = made_up("csglb", far=0.3, outside=0.2, border=0.09, clear=0.01)
    good = claims_of(true, blind, sharp)
    assert verdict(good, "cSGLB greatly improves on virtual SGLB") == "holds"
    assert verdict(good, "about as well as independent models") == "holds"
    assert verdict(good, "jitters more") == "holds"
    assert verdict(good, "better aligned") == "holds"
    assert check_claims(run_of(sharp)) == ()


def test_a_higher_level_in_the_wrong_place_is_no_improvement():
    true = made_up(far=0.3, outside=0.2, border=0.03, clear=0.01)
    virtual = made_up("virtual_sglb", far=0.0005, outside=0.001, border=0.003, clear=0.002)
    # Its AUROC is higher than virtual SGLB's, but still no better than chance.
    high = made_up("csglb", far=0.01, between=0.03, outside=0.03, border=0.03, clear=0.03)
    claims = claims_of(true, virtual, high)
    assert verdict(claims, "greatly improves") == "does not hold"
    assert "a higher level, and not where rows are" in claim_of(claims, "greatly improves").here
    assert verdict(claims, "about as well as independent models") == "does not hold"
    assert "independent models alone" in claim_of(claims, "about as well").here
    # Nor is it as good as independent models that find nothing either.
    blind = claims_of(made_up(far=0.005), high)
    assert verdict(blind, "about as well as independent models") == "does not hold"
    assert "neither finds them" in claim_of(blind, "about as well").here


@pytest.mark.parametrize(
    ("chain", "expected", "tested"),
    [(300, "holds", True), (600, "holds", True), (700, "partly", False), (1600, "partly", False)],
)
def test_the_price_is_tested_only_where_independent_models_cost_far_more(chain, expected, tested):
    true, sharp = made_up(far=0.3, outside=0.2), made_up("csglb", far=0.3, outside=0.2)
    longer = replace(sharp, fit=replace(sharp.fit, n_trees=np.array([chain])))
    claims = claims_of(true, longer)  # the independent models have 1,200 trees
    claim = claim_of(claims, "about as well as independent models")
    assert f"It has {100 * chain / 1200:.3g} % of their trees: as well" in claim.here
    assert ("the price is not tested" not in claim.here) == tested
    assert claim.verdict == expected


def test_every_text_follows_its_verdict():
    rng = np.random.default_rng(5)
    seen = {words: set() for words in ENDS}
    slopes = np.array([-1.0, 0.0, 0.3, 0.5, 0.7, 1.0, 2.0])
    for _ in range(60):
        true, virtual, cyclical = (
            sloped(method, rng.choice(slopes), level, rng)
            for method, level in (
                ("sglb", 0.01),
                ("virtual_sglb", rng.choice([0.001, 0.02])),
                ("csglb", 0.02),
            )
        )
        claims = claims_of(true, virtual, cyclical)
        assert {claim.verdict for claim in claims.values()} <= set(VERDICTS)
        for words, ends in ENDS.items():
            claim = claim_of(claims, words)
            (end,) = [end for end in ends if claim.here.endswith(end)][:1]
            assert ends[end] == claim.verdict, claim
            seen[words].add(claim.verdict)
        if verdict(claims, "greatly improves") != "does not hold":
            score = score_spiral(cyclical, TRUTH)
            assert finds_outside(score)
            assert score.auroc_far > 0.5
            assert score.ku_mean_outside > score.ku_mean_inside
        if verdict(claims, "tells regions outside") == "holds":
            assert "better than chance" in claim_of(claims, "tells regions outside").here
        if verdict(claims, "far lower") == "holds":
            assert "times smaller" in claim_of(claims, "far lower").here
    reached = {"holds", "partly", "does not hold"}  # the papers give no number to exceed
    assert all(verdicts == reached for verdicts in seen.values()), seen


def test_claims_say_whether_the_settings_are_the_papers():
    run = run_of(made_up(far=0.3), made_up("csglb", far=0.3))
    ours, paper = check_claims(run), check_claims(run._replace(settings=PAPER))
    for claim, same in zip(ours, paper, strict=True):
        if "cSGLB" in claim.paper:
            assert claim.here.startswith("At these settings: ")
            assert same.here.startswith("In the papers' settings: ")


def test_the_settings_that_are_not_the_papers_are_named():
    assert settings_text(replace(PAPER, methods=("sgb",), seed=7)) == "In the papers' settings."
    words = settings_text(SpiralSettings(noise_free=True))
    assert words.startswith("Not the papers' settings: training rows per class 500 instead of 1,5")
    assert "no noise while exploring on instead of off" in words
    assert "alpha" not in words


@pytest.mark.parametrize(("above", "expected"), [(0.2, "does not hold"), (0.03, "holds")])
def test_a_forest_that_learned_little_is_said_with_its_depth(above, expected):
    maps = made_up("vrf")
    score = replace(score_spiral(maps, TRUTH), error=0.003 + above, error_optimal=0.003)
    claim = _claim_of_forest(maps, score)
    assert (claim.verdict, claim.key) == (expected, "depth:vrf")
    assert "trees of depth 10" in claim.here
    assert check_claims(run_of(maps))[-1].key == "depth:vrf"
    deep = replace(PAPER, methods=("vrf",), forest_depth=20)
    assert settings_text(deep) == "Not the papers' settings: depth, vRF 20 instead of 10."
    assert settings_text(replace(deep, methods=("sglb",))) == "In the papers' settings."
    # Deeper trees are what the knob gives the forest, and nobody else.
    assert spiral_arguments(plan_of(deep, "vrf"))["max_depth"] == 20
    assert plan_of(deep, "sglb") == plan_of(PAPER, "sglb")
