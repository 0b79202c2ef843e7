"""Beyond the rows: its rows, its scores against drawn ones, and what is stored of it."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from tolerances import SAME_SUM

from gbuq_core.metrics import crps_gaussian
from gbuq_core.study.beyond import (
    BEYOND,
    GAP_FROM,
    GRID,
    LOOK,
    PLANE,
    BeyondSettings,
    make_data,
    regions,
    true_mean,
    weights_of,
)

SMALL = BeyondSettings(rows=60, seed=3)


@pytest.fixture(scope="module")
def run():
    return BEYOND.run(SMALL)


@pytest.mark.parametrize(
    ("settings", "stretches"),
    [
        (BeyondSettings(), [(0.0, GAP_FROM), (3.5, 6.0)]),
        (BeyondSettings(gap=0.0), [(0.0, 6.0)]),
        (BeyondSettings(edge=4.5), [(0.0, GAP_FROM), (3.5, 4.5)]),
    ],
)
def test_rows_lie_where_they_may(settings, stretches):
    x = make_data(settings).X[:, 0]
    inside = regions(settings)["inside"]
    assert len(x) == settings.rows
    assert sum(((low <= x) & (x <= high)).sum() for low, high in stretches) == len(x)
    np.testing.assert_array_equal(
        inside, np.any([(low <= GRID) & (high >= GRID) for low, high in stretches], axis=0)
    )
    for low, high in stretches:
        there = x[(x >= low) & (x <= high)]
        assert there.min() < low + 0.3
        assert there.max() > high - 0.3


def test_scores_are_those_of_drawn_values(run):
    draws = np.random.default_rng(0).normal(size=(4000, 1)) * SMALL.noise
    y = true_mean(GRID) + draws
    for view in run.views:
        low, high = view.at.interval(0.9)
        held, std = ((low <= y) & (y <= high)).mean(axis=0), np.sqrt(view.at.total)
        for part in ("inside", "outside"):
            at = regions(SMALL)[part]
            ends = (np.tile(values[at], len(draws)) for values in (view.at.mean, std))
            numbers = run.numbers[view.method]
            # A share of 4,000 draws at each of some 60 places: 0.002 is a standard error.
            assert numbers[f"held_{part}"] == pytest.approx(held[at].mean(), abs=0.02)
            drawn = crps_gaussian(y[:, at].ravel(), *ends)
            assert numbers[f"crps_{part}"] == pytest.approx(drawn, rel=0.03)


def test_trees_repeat_their_last_leaf_and_only_the_others_widen(run):
    trees, process, law = (
        view.at for view in sorted(run.views, key=lambda view: "tpl".index(view.method[0]))
    )
    assert np.ptp(trees.mean[SMALL.edge < GRID]) == 0.0
    for at in (process, law):
        assert at.knowledge[-1] > 10 * np.median(at.knowledge[regions(SMALL)["inside"]])
    weights = weights_of(run.views[-1].fit)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=SAME_SUM)


def test_until_the_law_is_fitted_the_process_stands_beside_the_trees(run):
    quick = replace(run, views=run.views[:2])
    assert [claim.key for claim in BEYOND.judge(quick)] == ["trees"]
    assert BEYOND.say_answer(quick).endswith("with trees alone; the law follows.")
    assert BEYOND.at_hand(SMALL).methods == ("trees", "process")
    for shown, second in ((quick, "Process alone"), (run, "The law of all voices")):
        titles = [panel["title"] for panel in BEYOND.picture(shown, ()).spec["panels"]]
        assert titles == ["Trees alone", second]


def test_the_copied_code_says_what_the_page_draws(run):
    exec(compile(BEYOND.python(SMALL), "copied", "exec"), names := {})
    for view in run.views:
        for name, values in names["uncertainty"].get(BEYOND.methods[view.method].label, {}).items():
            # The same fit; what a page shows of the total is a sum in another order.
            np.testing.assert_allclose(values, getattr(view.at, name), rtol=SAME_SUM)


def test_what_is_stored_says_that_trees_alone_fail_and_the_law_does_not():
    """Over ten seeds of the line, and five of the plane."""
    outcomes = BEYOND.seeds.stored(BEYOND.seeds.plan(BeyondSettings()))
    verdicts = Counter((c.key, c.verdict) for outcome in outcomes for c in outcome.claims)
    assert verdicts["law", "does not hold"] <= 1
    assert verdicts["law", "holds"] >= 7
    assert verdicts["trees", "holds"] == verdicts["inside", "holds"] == len(outcomes)
    trees, law = LOOK.find(PLANE).aurocs.T
    assert trees.max() < 0.75
    assert law.min() > 0.95
