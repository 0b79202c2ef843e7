"""The benchmark of unfamiliar rows: how it moves rows away, its bars, and what it keeps."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from benchmarks import own_tables
from benchmarks.store import Store
from gbuq_core.tables import ScorePlan


@pytest.fixture
def table(rng):
    X = rng.normal(size=(200, 8))
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(8)]).round({"x0": 0})
    return frame.assign(target=X.sum(axis=1))


def test_rows_are_moved_as_said(table):
    data = own_tables.split(table)
    assert data.X_test.shape == (40, 8)
    moved = own_tables.move(data)
    std = data.X_train.std(axis=0)
    np.testing.assert_allclose(moved["+3 std"] - data.X_test, np.tile(3.0 * std, (40, 1)))
    gaps = moved["one column +10 std"] - data.X_test
    assert (np.count_nonzero(gaps, axis=1) == 1).all()
    np.testing.assert_allclose(gaps.sum(axis=1), 10.0 * std[gaps.argmax(axis=1)])
    np.testing.assert_array_equal(np.sort(moved["permuted"], axis=0), np.sort(data.X_test, axis=0))


def test_the_tail_is_the_upper_quarter_of_the_column_of_most_values(table):
    data, tail, name = own_tables.leave_tail_out(table)
    assert name != "x0"  # rounded: few values
    assert len(tail) == 50
    at = int(name[1:])
    assert tail[:, at].min() > max(data.X_train[:, at].max(), data.X_test[:, at].max())


def test_results_are_kept_and_judged(table, tmp_path, monkeypatch):
    table.to_csv(tmp_path / "concrete.csv.gz", index=False)
    store = Store(tmp_path / "kept.json", {"version": 1})
    sections = ["moved", "tail"]
    own_tables.run(store, tmp_path, ["concrete"], sections, 200)
    assert sorted(store.results) == ["concrete/0/moved", "concrete/0/tail"]
    monkeypatch.setattr(own_tables, "run_moved", None)  # what is kept is not run again
    own_tables.run(store, tmp_path, ["concrete"], sections, 200)
    rows = {row.what: row for row in own_tables.rows_of(store, ["concrete"])}
    assert rows["concrete, +3 std: AUROC"].met
    assert rows["concrete, one column +10 std: AUROC"].met
    assert not rows["concrete, permuted: AUROC"].met  # its columns are independent


def test_second_files_are_drawn_honestly_and_shifted(table, tmp_path, monkeypatch):
    few = pd.concat([table] * 5).assign(x1=np.random.default_rng(0).normal(size=1000).round(3))
    few.to_csv(tmp_path / "power.csv.gz", index=False)
    plan = ScorePlan(ensemble="virtual", n_trees=20, depth=2)
    monkeypatch.setattr(own_tables, "ScorePlan", lambda seed, **given: replace(plan, seed=seed))
    for name, n in (("HONEST_FILES", 2), ("SHIFT_SEEDS", 1)):
        monkeypatch.setattr(own_tables, name, n)
    monkeypatch.setattr(own_tables, "WAYS", ("one column",))
    store = Store(tmp_path / "kept.json", {"version": 1})
    own_tables.run(store, tmp_path, ["power"], ["shifted"], 1000)
    result = store.results["power/0/shifted: one column"]
    assert result["p"] < 0.05
    assert result["why not"].endswith("100 are needed")  # of 120 held-out rows
    store.put("power/1/shifted: one column", {**result, "plain": 0.8, "weighted": 0.9})
    monkeypatch.setattr(own_tables, "SHIFT_SEEDS", 2)
    honest, shifted = own_tables.rows_of(store, ["power"])
    assert honest.what == "honest second files told apart at 5 %, of 2"
    assert shifted.what == "power, shifted by one column: coverage of 90 %, 1 of 2 files"
    assert shifted.met
