"""Which rows to label next: uncertain or unfamiliar ones that are unlike each other."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table_parts import as_table, with_unfamiliarity
from tolerances import ZERO

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.tables import ScorePlan, next_frame, rank_next, score_table, to_csv_bytes
from gbuq_core.tables.next_rows import choose_unlike
from tests.naive_unfamiliarity import choose_unlike_slowly

PLAN = ScorePlan(ensemble="virtual", n_trees=40, depth=3)


def make_frame(n=120, seed=0):
    rng = np.random.default_rng(seed)
    x, z = rng.uniform(-1, 1, (2, n))
    return pd.DataFrame({"x": x, "z": z, "y": x * z + 0.1 * rng.normal(size=n)}).round(4)


def score(new, training=None, **changes):
    table = as_table(make_frame() if training is None else training)
    new = None if new is None else as_table(new, to_score=True)
    return with_unfamiliarity(score_table(table, "y", new=new, plan=PLAN))


@pytest.fixture(scope="module")
def pool():
    """Forty ordinary rows, and ten copies of a strange one."""
    new = make_frame(40, seed=1).drop(columns="y")
    strange = pd.DataFrame({"x": [2.5] * 10, "z": [-2.5] * 10})
    return score(pd.concat([new, strange], ignore_index=True))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 9), n_trees=st.integers(1, 6))
def test_the_greedy_rule_is_that_of_its_naive_twin(seed, n, n_trees):
    rng = np.random.default_rng(seed)
    leaves = rng.integers(0, 3, (9, n_trees))
    affinity = (leaves[:, None] == leaves[None]).mean(axis=2)
    weight = rng.uniform(0.1, 3.0, 9)
    chosen, left = choose_unlike(weight, lambda row: affinity[row], n)
    slow = choose_unlike_slowly(weight, affinity, n)
    # Where a determinant is 0 but for rounding, one of them may stop a step before the other.
    sure = int(np.sum(left > 1e-6))
    assert chosen.tolist()[:sure] == slow[:sure]
    assert (left <= 1.0 + ZERO).all()


def test_copies_are_picked_once(pool):
    ranked = rank_next(pool, n=20)
    assert ranked.n_candidates == 50
    assert int(np.sum(ranked.rows >= 40)) == 1
    assert ranked.rows[0] >= 40  # it is the least familiar row
    assert "above all training values" in ranked.reasons[0] or "below" in ranked.reasons[0]
    assert len(set(ranked.rows.tolist())) == len(ranked.rows)
    only = rank_next(pool, n=10, rows=np.arange(40, 50))
    assert only.rows.tolist() == [40]


def test_rows_of_the_first_file_without_a_target_are_ranked():
    frame = make_frame(150)
    frame.loc[100:, "y"] = np.nan
    ranked = rank_next(score(None, frame), n=5)
    assert ranked.n_candidates == 50
    assert (ranked.rows >= 100).all()
    with pytest.raises(InvalidData, match="has a target already"):
        rank_next(score(None))


def test_the_numbers_are_those_of_the_scored_rows(pool):
    ranked = rank_next(pool, n=8)
    assert np.array_equal(ranked.knowledge, pool.predictions.uncertainty.knowledge[ranked.rows])
    assert np.array_equal(ranked.unfamiliarity, pool.unfamiliarity.rows.score[ranked.rows])
    assert ranked.left[0] == 1.0
    assert ((ranked.left > 0) & (ranked.left <= 1)).all()
    assert all(reason and reason[0].isupper() for reason in ranked.reasons)
    with pytest.raises(InvalidParameter):
        rank_next(pool, n=0)


def test_a_method_without_trees_of_ours_is_ranked_too(pool):
    new = make_frame(20, seed=3).drop(columns="y")
    table, new = as_table(make_frame()), as_table(new, to_score=True)
    scored = score_table(table, "y", new=new, plan=ScorePlan(method="knn"))
    assert len(rank_next(with_unfamiliarity(scored), n=5).rows) == 5


def test_the_table_to_label_is_harmless_and_has_room_for_the_target():
    frame = make_frame().rename(columns={"x": "row", "z": "=z"})
    new = make_frame(12, seed=4).drop(columns="y").rename(columns={"x": "row", "z": "=z"})
    new["note"] = '=HYPERLINK("http://evil.example")'
    scored = score(new, frame)
    ranked = rank_next(scored, n=3)
    table = next_frame(scored, ranked)
    assert table.columns[:2].tolist() == ["row 2", "rank"] or "row" in table.columns[0]
    assert table.iloc[:, 0].tolist() == (ranked.rows + 1).tolist()
    assert table["rank"].tolist() == [1, 2, 3]
    assert (table["y"] == "").all()
    np.testing.assert_allclose(table["row"], new["row"].to_numpy()[ranked.rows])
    text = to_csv_bytes(table).decode()
    assert "'=z" in text.splitlines()[0]
    assert text.count("\"'=HYPERLINK") == 3
