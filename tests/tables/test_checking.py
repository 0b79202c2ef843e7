"""The rows to check first: which they are, and the reasons that are told."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from table_parts import as_table, with_unfamiliarity

from gbuq_core.tables import ScorePlan, score_table
from gbuq_core.tables.checking import rows_to_check, say_prediction
from gbuq_core.tables.words import name_members

PLAN = ScorePlan(ensemble="virtual", n_trees=60, depth=3)


def noisy_right(n=300):
    """Numbers whose noise is larger where x is; a town of three."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0.0, 1.0, n)
    y = 10.0 * x + rng.normal(size=n) * np.where(x > 0.9, 4.0, 0.3)
    return pd.DataFrame(
        {"x": x, "z": rng.normal(size=n), "town": rng.choice(list("ABC"), n), "y": y}
    )


def checks_of(frame, target="y", new=None):
    new = None if new is None else as_table(new, to_score=True)
    scored = with_unfamiliarity(score_table(as_table(frame), target, new=new, plan=PLAN))
    return {row: f"{why} {also}" for row, why, also in rows_to_check(scored)}, scored


PLANTED = {
    "above": ("z", 40.0, '"z" is 40, above all that the model has seen: check this value.'),
    "below": ("z", -40.0, '"z" is -40, below all that the model has seen: check this value.'),
    "new level": (
        "town",
        "Ulm",
        '"town" is Ulm, which the model has never seen: check this value.',
    ),
    "missing": ("town", None, '"town" is missing, which the model has never seen: check this'),
    "wrong target": ("y", 90.0, "Recorded as 90, but predicted "),
}


@pytest.mark.parametrize("case", PLANTED)
def test_a_row_with_something_wrong_is_among_the_ten_with_the_reason(case):
    column, value, reason = PLANTED[case]
    frame = noisy_right()
    frame.loc[17, column] = value
    checks, _ = checks_of(frame)
    assert len(checks) == 10
    assert reason in checks[17]


def test_rows_where_similar_rows_vary_are_told_so_and_the_range_holds_them():
    checks, scored = checks_of(noisy_right())
    noisy = [row for row, why in checks.items() if "Rows like it vary a lot" in why]
    assert noisy
    assert (noisy_right()["x"].to_numpy()[noisy] > 0.85).all()
    low, high = map(
        float, re.search(r"90 % range (\S+) to (\S+)", say_prediction(scored, 3)).groups()
    )
    lower, upper = (scored.frame[name].iloc[3] for name in ("lower_90", "upper_90"))
    np.testing.assert_allclose([low, high], [lower, upper], rtol=1e-2)  # three digits are written


def test_a_class_that_the_record_contradicts_is_told_with_its_chance():
    frame = noisy_right()
    frame["kind"] = np.where(frame.pop("y") > 5.0, "large", "small")
    frame.loc[30, ["x", "kind"]] = 0.05, "large"
    checks, scored = checks_of(frame, "kind")
    assert re.search(r"Recorded as large, but the model gives that \d+ %: check the", checks[30])
    assert re.fullmatch(r"Predicted small, \d+ % sure", say_prediction(scored, 30))


def test_of_a_second_file_without_targets_the_strange_rows_come_first():
    new = noisy_right(40).drop(columns="y")
    new.loc[5, "z"] = 77.0
    checks, _ = checks_of(noisy_right(), new=new)
    assert next(iter(checks)) == 5
    assert "above all that the model has seen" in checks[5]
    assert not any("Recorded" in why for why in checks.values())


@pytest.mark.parametrize(
    "plan",
    [
        {"stacks": True},
        {"stacks": False, "listed": True, "method": "vrf"},
        {"stacks": False, "listed": False, "cyclical": True},
    ],
)
def test_whose_disagreement_it_is_takes_an_article_where_a_sentence_has_one(plan):
    name = name_members(SimpleNamespace(plan=SimpleNamespace(**plan)))
    assert not re.match(r"(the|a|an)\b", name)
