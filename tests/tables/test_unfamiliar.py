"""How unfamiliar a table's rows are: the added columns, the words, and a second file."""

import numpy as np
import pytest
from table_parts import with_unfamiliarity

from gbuq_core.tables import (
    Evidence,
    ScorePlan,
    add_unfamiliarity,
    bootstrap_evidence,
    foreign_notice,
    read_table,
    reason_of,
    say_reason,
    score_table,
    to_csv_bytes,
)
from gbuq_core.tables.cutting import Cut, cut_table
from gbuq_core.tables.evidence import find_evidence
from gbuq_core.tables.words import describe_table
from gbuq_core.unfamiliarity import PARTS, Reason

PLAN = ScorePlan(ensemble="virtual", n_trees=40, depth=3)


def lines(rng, n, shift=0.0, city="ABC", day=1):
    x = rng.normal(size=n) + shift
    names = rng.choice(list(city), n)
    days = [f"2021-{month:02d}-{day:02d}" for month in rng.integers(1, 13, n)]
    y = x + np.where(names == "A", 1.0, 0.0) + rng.normal(size=n) * 0.5
    rows = [f"{a:.4f},{b},{c},{d:.4f}" for a, b, c, d in zip(x, names, days, y, strict=True)]
    return ("x,city,day,y\n" + "\n".join(rows) + "\n").encode()


@pytest.fixture(scope="module")
def first():
    return read_table(lines(np.random.default_rng(0), 200))


def measured(table, new=None):
    return with_unfamiliarity(score_table(table, "y", new=new, plan=PLAN))


@pytest.fixture(scope="module")
def own(first):
    return measured(first)


def test_the_columns_stand_beside_the_uncertainties(own):
    at = own.added.names.index("knowledge_uncertainty_std")
    names = ("unfamiliarity", "times_beyond", "novelty", "outside_columns")
    assert own.added.names[at + 1 : at + 5] == names
    assert len(own.added.units) == len(own.added.names)
    assert tuple(own.frame.columns[-len(own.added.names) :]) == own.added.names
    held = own.unfamiliarity.estimator.held_out_
    np.testing.assert_array_equal(own.frame["unfamiliarity"], held.score)
    np.testing.assert_array_equal(own.frame["times_beyond"], held.times_beyond)
    assert b",unfamiliarity,times_beyond," in to_csv_bytes(own.frame)
    novelty = held.ranks[:, held.parts.index("novelty")]
    assert np.corrcoef(own.frame["novelty"], novelty)[0, 1] > 0.5  # the same, but in its own unit
    outside = own.unfamiliarity.estimator.held_out_outside_
    np.testing.assert_array_equal(own.frame["outside_columns"] != "", outside > 0)
    again = add_unfamiliarity(own, own.unfamiliarity)
    assert again.added == own.added
    assert list(again.frame.columns) == list(own.frame.columns)


def test_a_cut_keeps_them(own):
    seen = cut_table(own, Cut(step=10))
    np.testing.assert_array_equal(seen.frame["unfamiliarity"], own.frame["unfamiliarity"])
    assert seen.unfamiliarity is own.unfamiliarity


def test_rows_without_a_target_are_new(rng):
    text = lines(rng, 80).decode().splitlines()
    text[5] = text[5].rpartition(",")[0] + ","
    text[7] = "99,A,2021-03-01,"
    scored = measured(read_table("\n".join(text).encode()))
    unfamiliarity = scored.unfamiliarity
    assert len(unfamiliarity.rows.score) == 80
    assert unfamiliarity.rows.score[6] == 1.0
    assert unfamiliarity.n_outside[6] == 1
    assert not np.delete(unfamiliarity.n_outside, [4, 6]).any()
    assert not unfamiliarity.is_foreign
    reason = reason_of(scored, 6)
    assert (reason.part, reason.column, reason.what) == ("range", "x", "above")


def test_a_file_like_the_first_is_not_foreign(first, rng):
    scored = measured(first, read_table(lines(rng, 150), to_score=True))
    assert foreign_notice(scored.unfamiliarity) == ""
    assert 0.02 < scored.unfamiliarity.share_above < 0.25
    assert "unlike" not in " ".join(describe_table(scored))


@pytest.mark.parametrize("change", [{"shift": 4.0}, {"city": "DE"}])
def test_a_foreign_file_is_told_before_anything_else(first, rng, change):
    scored = measured(first, read_table(lines(rng, 60, **change), to_score=True))
    notice = foreign_notice(scored.unfamiliarity)
    assert notice.startswith("The second file is unlike the first: ")
    assert describe_table(scored)[0] == notice
    assert scored.unfamiliarity.share_above > 0.5


def test_reasons_name_the_columns_of_the_file(first, rng):
    new = b"x,city,day,y\n0.1,A,2021-05-01,\n0.1,Z,2021-05-01,\n,B,2021-05-01,\n0,B,2031-05-01,\n"
    scored = measured(first, read_table(new, to_score=True))
    reasons = [reason_of(scored, row) for row in range(4)]
    assert [(r.column, r.what) for r in reasons[1:]] == [
        ("city", "new level"),
        ("x", "missing"),
        ("day", "above"),
    ]


def test_words_say_what_excludes_chance(own):
    evidence = find_evidence(own)
    assert set(evidence) == {"total", "data", "knowledge", "unfamiliarity"}
    words = " ".join(describe_table(own))
    for kind, rows in (
        ("knowledge", "disagree about"),
        ("data", "noisy rows"),
        ("unfamiliarity", "unfamiliar rows"),
    ):
        assert (f"{rows} have larger errors" in words) == evidence[kind].excludes_chance
    n_silent = sum(not evidence[k].excludes_chance for k in ("data", "knowledge", "unfamiliarity"))
    assert words.count("This table gives no evidence that") == n_silent


def test_evidence_beside_a_second_file_is_of_the_held_out_fifth(first, rng):
    scored = measured(first, read_table(lines(rng, 50), to_score=True))
    evidence = find_evidence(scored)
    assert evidence["total"].prr == pytest.approx(scored.scores.prr.total)
    assert evidence["knowledge"].prr == pytest.approx(scored.scores.prr.knowledge)


def test_without_measuring_no_row_is_called_unfamiliar(first):
    scored = score_table(first, "y", plan=PLAN)
    assert "familiar" not in " ".join(describe_table(scored))
    assert reason_of(scored, 0) is None


def test_evidence_of_chance_and_of_nothing(rng):
    errors = rng.exponential(size=300)
    excluded = [
        bootstrap_evidence(errors, np.random.default_rng(seed).normal(size=300)).excludes_chance
        for seed in range(20)
    ]
    assert sum(excluded) <= 3  # 2.5 % of them are above by chance
    assert bootstrap_evidence(errors, errors).prr == pytest.approx(100.0)
    assert np.isnan(bootstrap_evidence(np.ones(5), np.arange(5.0)).prr)
    assert not Evidence(np.nan, np.nan, np.nan).excludes_chance


@pytest.mark.parametrize("part", PARTS)
def test_every_part_has_a_sentence(part):
    alone = say_reason(Reason(part, 0.999, "", ""))
    assert "99 % of ordinary rows" in alone
    assert '"a b"' in say_reason(Reason(part, 0.999, "a\n b", ""))
