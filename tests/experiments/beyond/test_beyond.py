"""Beyond the rows: its rows, its scores against drawn ones, and what it says of itself."""

import re

import numpy as np
import pytest

from gbuq_core.experiments.beyond.experiment import (
    BEYOND,
    STUDY,
    answer_beyond,
    beyond_code,
    check_claims,
    curves_csv,
)
from gbuq_core.experiments.beyond.fit import (
    FIRST,
    OPENING,
    BeyondSettings,
    fit_beyond,
    make_rows,
    score_beyond,
    true_mean,
)
from gbuq_core.experiments.beyond.picture import beyond_figure, voices_figure
from gbuq_core.experiments.beyond.plane import LOOK, PLANE
from gbuq_core.experiments.experiment import single_sections
from gbuq_core.experiments.seeds import count_verdicts
from gbuq_core.metrics import crps_gaussian
from gbuq_core.presentation import percent

SMALL = BeyondSettings(rows=60, seed=3)


@pytest.fixture(scope="module")
def fit():
    return fit_beyond(SMALL)


@pytest.mark.parametrize("settings", [FIRST, BeyondSettings(gap=0.0), BeyondSettings(edge=4.5)])
def test_rows_lie_where_they_may(settings):
    x = make_rows(settings).x
    assert len(x) == settings.rows
    assert np.any([(low <= x) & (x <= high) for low, high in settings.stretches], axis=0).all()
    for low, high in settings.stretches:
        assert x[(x >= low) & (x <= high)].min() < low + 0.3
        assert x[(x >= low) & (x <= high)].max() > high - 0.3


def test_scores_are_those_of_drawn_values(fit):
    draws = np.random.default_rng(0).normal(size=(4000, 1)) * SMALL.noise
    y = true_mean(fit.x) + draws
    for score in score_beyond(fit):
        estimate = getattr(fit, score.key)
        held = (abs(y - estimate.mean) <= estimate.half).mean(axis=0)
        assert score.coverage.outside == pytest.approx(held[~fit.inside].mean(), abs=0.02)
        std = np.sqrt(estimate.data + estimate.knowledge)
        for at, crps in ((fit.inside, score.crps.inside), (~fit.inside, score.crps.outside)):
            drawn = crps_gaussian(
                y[:, at].ravel(), *(np.tile(part[at], len(draws)) for part in (estimate.mean, std))
            )
            assert crps == pytest.approx(drawn, rel=0.03)


def test_a_quick_fit_has_the_trees_and_the_process_of_a_whole_one(fit):
    quick = fit_beyond(SMALL, whole=False)
    assert quick.law is None
    assert not check_claims(quick)
    assert answer_beyond(quick).endswith("with trees alone; the law follows.")
    for key in ("trees", "process"):
        np.testing.assert_array_equal(getattr(quick, key), getattr(fit, key))
    titles = [panel["title"] for panel in beyond_figure(quick).spec["panels"]]
    assert titles == ["Trees alone", "Process alone"]


def test_trees_repeat_their_last_leaf_and_only_the_others_widen(fit):
    assert np.ptp(fit.trees.mean[fit.x > SMALL.edge]) == 0.0
    for estimate in (fit.process, fit.law):
        assert estimate.knowledge[-1] > 10 * np.median(estimate.knowledge[fit.inside])
    np.testing.assert_allclose(fit.spoken.weight.sum(axis=1), 1.0)


def test_the_copied_code_prints_what_the_page_says(fit, capsys):
    exec(beyond_code(SMALL), {})
    printed = re.findall(r"([\w ]+?) ([\d.]+) ([\d.]+)\n", capsys.readouterr().out)
    scores = {score.key: score.coverage for score in score_beyond(fit)}
    assert [name for name, *_ in printed] == ["Trees alone", "The law"]
    for key, (_, inside, outside) in zip(("trees", "law"), printed, strict=True):
        assert float(inside) == pytest.approx(scores[key].inside, abs=1e-4)
        assert float(outside) == pytest.approx(scores[key].outside, abs=1e-4)
        assert percent(scores[key].outside, 0) in answer_beyond(fit)


def test_the_files_and_figures_hold_the_run(fit):
    lines = curves_csv(fit).splitlines()
    assert len(lines) == len(fit.x) + 1
    assert lines[0].endswith("law_mean,law_data,law_knowledge")
    panels = voices_figure(fit).spec["panels"]
    assert [panel["title"] for panel in panels] == ["Trees", "Residuals", "Targets", "Process"]


def test_what_is_stored_says_that_trees_alone_fail_and_the_law_does_not():
    """Over ten seeds of the line, and five of the plane."""
    assert answer_beyond(OPENING.find(FIRST))
    verdicts = {claim.key: [] for claim in check_claims(OPENING.find(FIRST))}
    for outcome in STUDY.stored(STUDY.plan(FIRST)):
        for claim in outcome.claims:
            verdicts[claim.key].append(claim.verdict)
    assert verdicts["law"].count("does not hold") <= 1
    assert verdicts["law"].count("holds") >= 7
    assert set(verdicts["trees"]) == set(verdicts["inside"]) == {"holds"}
    trees, law = LOOK.find(PLANE).aurocs.T
    assert trees.max() < 0.75
    assert law.min() > 0.95


def test_the_downloaded_page_has_the_verdict_of_the_seeds():
    fit = OPENING.find(FIRST)
    claims = check_claims(fit)
    counts = count_verdicts(STUDY.stored(STUDY.plan(FIRST)))
    sections = single_sections(
        BEYOND, fit, claims, [], lambda name, objects, settings, make: make()
    )
    (held,) = (each for each in sections if each.heading == BEYOND.held[0])
    assert [row[2] for row in held.table[1:]] == [count.text for count in counts]
