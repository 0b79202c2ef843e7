"""The share that scoring a table tells is that of its time: no bar stands still at its end."""

import numpy as np
import pytest
from job_parts import watched

from gbuq_core.tables import (
    ScorePlan,
    ask_about_split,
    measure_unfamiliarity,
    read_table,
    score_table,
)

QUIET_SECONDS = 0.5  # with all of the work told
SHARE_OF_ALL = 0.1  # or of all seconds, on a machine that is so busy that these are many


def table_of(n_rows, seed=0, classes=False):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_rows, 5))
    y = x[:, 0] + np.sin(2.0 * x[:, 1]) + 0.3 * rng.normal(size=n_rows)
    told = np.where(y > 0.0, "a", "b") if classes else y.round(3)
    lines = [",".join([*(f"{v:.3f}" for v in row), str(t)]) for row, t in zip(x, told, strict=True)]
    return read_table("\n".join(["p,q,r,s,t,y", *lines]).encode())


@pytest.fixture(scope="module", autouse=True)
def loaded():
    """Kernels and libraries, which no share counts."""
    for classes in (False, True):
        scored = score_table(table_of(60, classes=classes), "y", plan=ScorePlan(n_trees=20))
        measure_unfamiliarity(scored.training, scored.scored)


def check(seen):
    """The share only grows, is full only at the end, and half of the time is not told at once."""
    seconds, shares = (np.array(column) for column in zip(*seen, strict=True))
    whole = seconds[-1]
    assert np.all(np.diff(shares) >= 0.0)
    full = seconds[shares > 0.995]
    assert whole - full[0] <= max(QUIET_SECONDS, SHARE_OF_ALL * whole)
    half = shares[np.searchsorted(seconds, 0.5 * whole)]
    assert 0.05 < half < 0.95


@pytest.mark.parametrize(
    ("plan", "classes", "second"),
    [
        (ScorePlan(), False, False),
        (ScorePlan(), True, False),
        (ScorePlan(), False, True),
        (ScorePlan(method="sglb", n_trees=300), False, False),
        (ScorePlan(method="knn"), False, False),
    ],
    ids=["stacked", "stacked classes", "stacked, second file", "trees", "another method"],
)
def test_a_scored_table_tells_its_progress(plan, classes, second):
    table = table_of(900, classes=classes)
    new = table_of(300, seed=1, classes=classes) if second else None
    scored, seen = watched(lambda: score_table(table, "y", plan=plan, new=new))
    assert len(scored.frame) == 300 if second else 900
    check(seen)


def test_unfamiliarity_tells_its_progress():
    scored = score_table(table_of(900), "y", plan=ScorePlan(method="sglb", n_trees=20))
    check(watched(lambda: measure_unfamiliarity(scored.training, scored.scored))[1])


def test_questions_about_a_split_tell_their_progress():
    rng = np.random.default_rng(0)
    unit = np.repeat(np.arange(60), 15)
    y = 3.0 * rng.normal(size=60)[unit] + rng.normal(size=900)
    lines = [f"{u},{v:.3f},{t:.3f}" for u, v, t in zip(unit, rng.normal(size=900), y, strict=True)]
    table = read_table("\n".join(["unit,x,y", *lines]).encode())
    plan = ScorePlan(method="sglb", n_trees=20)
    training = score_table(table, "y", plan=plan).training
    questions, seen = watched(lambda: ask_about_split(table, training, plan))
    assert questions
    check(seen)
