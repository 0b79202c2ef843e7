"""`UnfamiliarityScore`: what is ordinary, what is foreign, and which column is to blame."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gbuq_core import UnfamiliarityScore
from gbuq_core.errors import Cancelled, InvalidData, InvalidParameter
from gbuq_core.jobs import JobRunner
from gbuq_core.unfamiliarity import PARTS, splits
from gbuq_core.unfamiliarity import score as scoring


@pytest.fixture(scope="module")
def table():
    """Numbers that go together, a category, gaps, a constant."""
    rng = np.random.default_rng(5)
    n = 600
    a, b = rng.normal(size=n), rng.normal(size=n)
    X = pd.DataFrame(
        {
            "a": a,
            "sum": a + 0.2 * b,
            "b": np.where(rng.random(n) < 0.05, np.nan, b),
            "kind": pd.Categorical(rng.choice(["x", "y", "z"], n)),
            "word": rng.choice(["left", "right"], n),
            "same": np.full(n, 3.0),
        }
    )
    return X, a - b + rng.normal(size=n)


@pytest.fixture(scope="module")
def learnt(table):
    X, y = table
    return UnfamiliarityScore(random_state=0).fit(X[:450], y[:450])


def moved(X, **cells):
    row = X.iloc[[460]].copy()
    for name, value in cells.items():
        row[name] = pd.Series([value], index=row.index)
    return row


def test_ordinary_rows_are_spread_evenly(learnt, table):
    held = learnt.held_out_
    assert len(held.score) == 450
    # Each fold of 90 rows is spread evenly by itself.
    assert abs(np.mean(held.score > 0.9) - 0.1) < 0.012
    assert abs(np.mean(held.score < 0.25) - 0.25) < 0.02
    new = learnt.unfamiliarity(table[0][450:])
    # 150 rows: four standard errors of a tenth are 0.1; the mean over folds makes it less.
    assert 0.02 <= np.mean(new > 0.9) <= 0.2
    assert learnt.times_beyond(table[0][450:]).max() < 2.0
    assert held.parts == learnt.parts_ == PARTS


def test_far_rows_are_sorted_by_how_far(learnt, table):
    far = (8.0, 30.0, -200.0)
    rows = pd.concat([moved(table[0]), *(moved(table[0], a=value) for value in far)])
    judged = learnt.judge(rows)
    assert judged.score[0] < 0.9
    assert judged.score[1:].tolist() == [1.0, 1.0, 1.0]
    assert (np.diff(judged.times_beyond) > 0).all()
    assert judged.times_beyond[1] > 2.0
    assert judged.order().tolist() == [3, 2, 1, 0]


@pytest.mark.parametrize(
    ("cells", "column", "what"),
    [
        ({"a": 50.0}, "a", "above"),
        ({"b": -40.0}, "b", "below"),
        ({"kind": "new"}, "kind", "new level"),
        ({"word": "up"}, "word", "new level"),
        ({"a": np.nan}, "a", "missing"),
        ({"kind": None}, "kind", "missing"),
        ({"same": 4.0}, "same", "above"),
    ],
)
def test_the_range_blames_the_column(learnt, table, cells, column, what):
    row = moved(table[0], **cells)
    (reason,) = learnt.explain(row)
    assert (reason.part, reason.column, reason.what) == ("range", column, what)
    assert learnt.unfamiliarity(row)[0] > 0.95


def test_a_known_gap_is_not_strange(learnt, table):
    (reason,) = learnt.explain(moved(table[0], b=np.nan))
    assert reason.what != "missing"
    assert reason.rank < 1.0


def test_usual_values_at_the_wrong_place(learnt, table):
    # Both values are usual, but `sum` goes with `a`.
    row = moved(table[0], a=1.5, sum=-1.5, b=0.0)
    (reason,) = learnt.explain(row)
    assert learnt.unfamiliarity(row)[0] > 0.97
    assert reason.part in ("novelty", "distance")
    assert reason.what == ""


def test_held_out_rows_are_explained_by_their_fold(learnt):
    order = learnt.held_out_.order()
    rows = order[[0, 1, -1]]
    reasons = learnt.explain_held_out(rows)
    ranks = learnt.held_out_.ranks
    for row, reason in zip(rows, reasons, strict=True):
        assert reason.rank == ranks[row].max()
        assert learnt.held_out_.parts[int(ranks[row].argmax())] == reason.part
    assert learnt.explain_held_out([]) == []


def test_units_do_not_matter(table):
    X, y = table
    parts = ("range", "novelty", "distance", "affinity")
    scaled = X.assign(a=X["a"] * 1024.0, b=X["b"] / 64.0 + 3.0)
    first, other = (
        UnfamiliarityScore(parts, random_state=0).fit(rows[:300], y[:300]) for rows in (X, scaled)
    )
    # Shifts and float32 round; a rounded distance may pass a neighbour in the order.
    np.testing.assert_allclose(first.held_out_.score, other.held_out_.score, atol=2.0 / 60, rtol=0)
    new = [score.unfamiliarity(rows[450:]) for score, rows in ((first, X), (other, scaled))]
    np.testing.assert_allclose(*new, atol=2.0 / 60, rtol=0)


def test_the_unit_of_the_target_does_not_matter(table):
    X, y = table
    parts = ("affinity", "knowledge")  # the others see no target
    first, other = (
        UnfamiliarityScore(parts, random_state=0).fit(X[:200], t[:200]) for t in (y, 4.0 * y)
    )
    np.testing.assert_allclose(first.held_out_.score, other.held_out_.score, atol=1.0 / 20, rtol=0)


def test_a_seed_moves_little(learnt, table):
    X, y = table
    other = UnfamiliarityScore(random_state=1).fit(X[:450], y[:450])
    tops = [set(score.held_out_.order()[:24].tolist()) for score in (learnt, other)]
    assert len(tops[0] & tops[1]) >= 16


def test_seeds_and_threads(table):
    X, y = table
    first, second = (
        UnfamiliarityScore(random_state=3, n_jobs=jobs).fit(X[:100], y[:100]) for jobs in (1, 4)
    )
    np.testing.assert_array_equal(first.held_out_.score, second.held_out_.score)
    np.testing.assert_array_equal(first.unfamiliarity(X[450:]), second.unfamiliarity(X[450:]))


def test_fit_leaves_the_rows_alone(table):
    X, y = table
    before = X.copy()
    UnfamiliarityScore(["range", "distance"], random_state=0).fit(X, y).unfamiliarity(X)
    pd.testing.assert_frame_equal(X, before)


@pytest.mark.parametrize("n_classes", [3, 12])
def test_classes(table, n_classes):
    X, y = table
    edges = np.quantile(y, np.arange(1, n_classes) / n_classes)
    labels = np.array([f"class {k}" for k in np.searchsorted(edges, y)])
    score = UnfamiliarityScore(random_state=0).fit(X[:200], labels[:200])
    assert score.unfamiliarity(moved(X, a=30.0)) == 1.0
    assert abs(np.mean(score.held_out_.score > 0.9) - 0.1) < 0.03


def test_samples_of_a_larger_table(monkeypatch):
    monkeypatch.setattr(splits, "MOST_ROWS_IN_FOLDS", 200)
    monkeypatch.setattr(splits, "MOST_SAMPLED", 150)
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(500, 3)), rng.normal(size=500)
    (mine, two), parts = splits.make_splits(y), ("range", "distance")
    assert [len(rows) for rows in mine] == [150, 300, 25]
    third = np.setdiff1d(mine.reference, two.learnt)  # which neither learnt from
    np.testing.assert_array_equal(np.union1d(mine.learnt, third), two.reference)
    rows = np.concatenate([mine.learnt, mine.reference, mine.others, two.others])
    assert np.array_equal(np.sort(rows), np.arange(500))
    # Every third or so of the sorted targets: the same quarters in all samples.
    for split in (mine, two):
        np.testing.assert_allclose(
            np.quantile(y[split.learnt], [0.25, 0.5, 0.75]),
            np.quantile(y, [0.25, 0.5, 0.75]),
            atol=0.05,
        )
    score = UnfamiliarityScore(parts, random_state=0).fit(X, y)
    assert abs(np.mean(score.held_out_.score > 0.9) - 0.1) < 0.05
    assert score.unfamiliarity([[9.0, 0.0, 0.0]])[0] == 1.0
    assert len(score.explain_held_out([0, 499])) == 2


def test_models_take_part_while_they_are_quick(monkeypatch, table):
    X, y = table
    monkeypatch.setattr(scoring, "MOST_MODEL_WORK", 0.0)
    score = UnfamiliarityScore(random_state=0).fit(X[:100], y[:100])
    assert score.parts_ == ("range", "novelty", "distance", "affinity")
    asked = UnfamiliarityScore(["knowledge"], random_state=0).fit(X[:100], y[:100])
    assert asked.parts_ == ("knowledge",)
    (reason,) = asked.explain(moved(X, a=30.0))
    assert (reason.part, reason.column) == ("knowledge", "")


def test_bad_input(table, learnt):
    X, y = table
    with pytest.raises(InvalidParameter, match="parts"):
        UnfamiliarityScore(["distances"]).fit(X, y)
    with pytest.raises(InvalidParameter, match="parts"):
        UnfamiliarityScore("range").fit(X, y)
    with pytest.raises(InvalidParameter, match="task"):
        UnfamiliarityScore(task="ranking").fit(X, y)
    with pytest.raises(InvalidData, match="at least 10"):
        UnfamiliarityScore().fit(X[:9], y[:9])
    with pytest.raises(InvalidData, match="infinity"):
        UnfamiliarityScore().fit(X.assign(a=np.inf), y)
    with pytest.raises(InvalidData, match="numbers"):
        learnt.unfamiliarity(X.assign(a="text"))
    with pytest.raises(ValueError, match="feature names"):
        learnt.unfamiliarity(X[["a", "b"]])


def test_a_stopped_fit_stops(table):
    X, y = table

    def run(job):
        job.stop()
        return UnfamiliarityScore(random_state=0).fit(X, y)

    job = JobRunner().want("somebody", "score", run)
    with pytest.raises(Cancelled):
        job.result(timeout=60)


CELLS = st.sampled_from([0.0, 1.0, -1.0, 1e300, -1e300, 1e-300, np.nan, 7.5])


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.tuples(CELLS, CELLS, st.sampled_from(["p", "q", None])), min_size=10, max_size=30),
    st.sampled_from(["numbers", "constant", "classes"]),
)
def test_odd_tables(rows, kind):
    X = pd.DataFrame(rows, columns=["a", "b", "c"]).astype({"a": float, "b": float})
    y = np.arange(len(X)) % 3.0
    target = {"numbers": y, "constant": np.ones(len(X)), "classes": y.astype(int).astype(str)}[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        score = UnfamiliarityScore(random_state=0).fit(X, target)
        judged = score.judge(
            pd.DataFrame({"a": [5.0, np.nan], "b": [1e308, -3.0], "c": ["p", "r"]})
        )
        for each in (judged, score.held_out_):
            assert np.isfinite(each.score).all()
            assert np.isfinite(each.times_beyond).all()
            assert ((each.score >= 0.0) & (each.score <= 1.0)).all()
        assert len(score.explain_held_out(np.arange(len(X)))) == len(X)


def test_a_version_of_a_training_row_is_judged_by_the_fold_without_it(learnt, table):
    X = table[0][:450]
    held = learnt.held_out_
    for row in (0, 7, 449):
        same = learnt.judge_instead(X.iloc[[row]], row)
        assert same.score[0] == held.score[row]
        assert same.times_beyond[0] == held.times_beyond[row]
        np.testing.assert_array_equal(same.ranks[0], held.ranks[row])
        parts = learnt.explain_parts(X.iloc[[row]], row).parts[0]
        assert [part.part for part in parts] == list(PARTS)
        # The part that speaks says what explain_held_out says.
        assert parts[held.speaks[row]] == learnt.explain_held_out([row])[0]
    far = moved(table[0], a=50.0)
    assert learnt.judge_instead(far, 3).score[0] == 1.0
    speaks = learnt.judge(far).speaks[0]
    assert learnt.explain_parts(far).parts[0][speaks] == learnt.explain(far)[0]
    with pytest.raises(InvalidParameter, match="row"):
        learnt.judge_instead(far, 450)


@pytest.mark.parametrize("most", [10_000, 100])
def test_rows_of_a_group_are_judged_without_each_other(most, monkeypatch):
    monkeypatch.setattr(splits, "MOST_ROWS_IN_FOLDS", most)
    monkeypatch.setattr(splits, "MOST_SAMPLED", 80)
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 20, 240)
    for split in splits.make_splits(rng.normal(size=240), groups):
        others = np.concatenate([split.reference, split.others])
        assert not set(groups[split.learnt]) & set(groups[others])
    judged = [np.r_[s.reference, s.others] for s in splits.make_splits(np.arange(240.0), groups)]
    assert set(np.concatenate(judged)) == set(range(240))
    if most == 100:
        return  # samples hold few rows of a group
    # Copies of a row are near each other, but for a model that has seen none of its group.
    X = rng.normal(size=(20, 3))[groups] + 1e-3 * rng.normal(size=(240, 3))
    kept = UnfamiliarityScore(["distance"], random_state=0).fit(X, X[:, 0], groups)
    apart = UnfamiliarityScore(["distance"], random_state=0).fit(X, X[:, 0])
    new = rng.normal(size=(200, 3))
    assert (apart.unfamiliarity(new) > 0.99).mean() > 0.9
    assert (kept.unfamiliarity(new) > 0.99).mean() < 0.4


def test_groups_that_leave_too_little_play_no_part():
    y = np.arange(60.0)
    for groups in (np.zeros(60), np.arange(60) > 2, np.where(y > 30, 1, 0)):
        constant = np.where(y > 30, 1.0, 0.0)
        parts = splits.make_splits(constant, groups)
        plain = splits.make_splits(constant)
        assert all((a.learnt == b.learnt).all() for a, b in zip(parts, plain, strict=True))


@pytest.mark.parametrize(("columns", "n"), [("1", 300), ("5", 300), ("binary", 400)])
def test_new_rows_of_the_same_distribution_are_ordinary(columns, n):
    beyond, above = [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        if columns == "binary":
            X = (rng.random((n + 2000, 10)) < 0.4).astype(float)
        else:
            X = rng.normal(size=(n + 2000, int(columns)))
        y = X[:, 0] + 0.5 * rng.normal(size=len(X))
        judged = UnfamiliarityScore(random_state=seed).fit(X[:n], y[:n]).judge(X[n:])
        beyond.append(np.mean(judged.times_beyond > 1.0))
        above.append(np.mean(judged.score > 0.9))
    # About one in n + 1 is farther than the farthest of n. A tenth of the n rows lie above 0.9;
    # four standard errors over three seeds of 300 rows, of which the folds agree about a half.
    assert np.mean(beyond) <= 0.01
    assert 0.05 <= np.mean(above) <= 0.15
