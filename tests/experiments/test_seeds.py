"""Statements over seeds: counted, told as they come, with quicker settings for much work."""

from dataclasses import replace

from gbuq_core.experiments.claims import Threshold, judged
from gbuq_core.experiments.seeds import SeedStudy, count_verdicts, run_over_seeds
from tests.seed_parts import Small

LEVEL = Threshold("level", 7.0, 4.0, more=8.0)


def fit(settings):
    return settings


def claims(run):
    """Two statements about the seed itself; the second needs seeds from 3 on."""
    yield judged("The seed is large.", "It is.", run.seed, LEVEL, key="large", chip="Large")
    if run.seed >= 3:
        yield judged("There is one.", "There is.", 9.0, LEVEL, key="one")


STUDY = SeedStudy(
    name="small",
    fit=fit,
    claims=lambda run: tuple(claims(run)),
    sizes=Small(trees=100),
)


def test_statements_are_found_again_by_their_key_and_counted():
    outcomes = list(run_over_seeds(fit, claims, Small(), range(10)))
    assert [outcome.seed for outcome in outcomes] == list(range(10))
    large, single = count_verdicts(outcomes)
    assert large.text == "holds in 2 of 10 seeds, partly in 3, more than claimed in 1"
    assert [dot.verdict for dot in large.dots][3:5] == ["does not hold", "partly"]
    assert large.dots[9].value == "level 9"
    assert single.text == "holds in 0 of 7 seeds, more than claimed in 7"


def test_seeds_come_one_by_one():
    seen = []

    def note(settings):
        seen.append(settings.seed)
        return settings

    outcomes = run_over_seeds(note, claims, Small(), range(10))
    next(outcomes)
    assert seen == [0]
    reports = []
    outcomes = STUDY.run(STUDY.plan(Small(trees=50)), reports.append)
    assert [len(report) for report in reports] == list(range(1, 11))
    assert reports[-1] == outcomes


def test_settings_that_are_much_work_are_made_quicker_and_named():
    plan = STUDY.plan(Small(trees=800))
    assert plan.quicker == ("trees 200 instead of 800",)
    assert plan.settings == Small(seed=0, trees=200, shown=0)
    # Neither the seed nor what no statement depends on makes another plan.
    assert plan == STUDY.plan(Small(seed=1, trees=800, shown=9))
    same = STUDY.plan(Small(trees=100))
    assert same.quicker == ()
    assert same.settings.trees == 100
    assert STUDY.plan(Small(trees=800), whole=True).quicker == ()
    # The smallest there are, even if they are more work.
    assert replace(STUDY, most=0.01).plan(Small(trees=800)).settings.trees == 50
