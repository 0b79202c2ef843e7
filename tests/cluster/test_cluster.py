"""The same numbers on a cluster as on one machine, bit for bit, whatever the parts."""

import dataclasses
import os
import signal
import threading

import numpy as np
import pytest
from cluster_parts import first_entry, refuse, slow_members, threads_of_a_worker
from sklearn.ensemble import HistGradientBoostingRegressor

from gbuq_core import BoostedEnsembleClassifier, BoostedEnsembleRegressor, IBUGRegressor
from gbuq_core.cluster import predict_parts, search_parts, spreading
from gbuq_core.errors import InvalidParameter
from gbuq_core.parallel import is_elsewhere
from gbuq_core.tables import ScorePlan, read_table, score_table

N_ROWS = 300


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 4))
    return X, X[:, 0] + np.exp(0.5 * X[:, 1]) * rng.normal(size=N_ROWS)


@pytest.fixture(scope="module")
def model(table):
    """Nine members: from eight on, NumPy adds up one row's in another order than many rows'."""
    return BoostedEnsembleRegressor(n_members=9, n_trees=30, random_state=0).fit(*table)


def assert_same(actual, expected):
    if isinstance(expected, tuple):
        assert type(actual) is type(expected)
        for a, b in zip(actual, expected, strict=True):
            np.testing.assert_array_equal(a, b)
    else:
        np.testing.assert_array_equal(actual, expected)


def regressor():
    return BoostedEnsembleRegressor(n_members=5, n_trees=30, random_state=0)


def classifier():
    return BoostedEnsembleClassifier(n_members=3, n_trees=20, subsample=0.5, random_state=0)


@pytest.mark.parametrize("make", [regressor, classifier])
def test_models_and_folds_are_trained_alike(cluster, table, make):
    X, y = table
    y = y if make is regressor else (y > 0).astype(int) + (y > 1)
    here = make().fit(X, y)
    with cluster.spread():
        assert is_elsewhere()
        there = make().fit(X, y)
    assert not is_elsewhere()
    assert_same(there.predict_members(X), here.predict_members(X))
    assert_same(there.traces_[-1].train_loss, here.traces_[-1].train_loss)


@pytest.mark.parametrize("method", ["predict", "predict_uncertainty", "predict_members"])
@pytest.mark.parametrize("part_rows", [1, 37, N_ROWS])
def test_parts_of_any_size_are_predicted_alike(cluster, table, model, method, part_rows):
    X = table[0][:40] if part_rows == 1 else table[0]
    assert_same(predict_parts(cluster, model, X, method, part_rows), getattr(model, method)(X))


@pytest.mark.parametrize("n_blocks", [1, 2, 24])
def test_neighbours_in_blocks_are_the_same(cluster, table, n_blocks):
    X, y = table
    trees = HistGradientBoostingRegressor(max_iter=8, max_depth=2, random_state=0).fit(
        X[:24], y[:24]
    )
    model = IBUGRegressor(trees, n_neighbors=10, random_state=0)
    model.fit(X[:24], y[:24], X[24:], y[24:])
    spread = search_parts(cluster, model, n_blocks)
    near, expected = spread.kneighbors(X[:50]), model.kneighbors(X[:50])
    assert (np.diff(expected.affinities) == 0).mean() > 0.5  # there are many ties to break
    assert_same(near, expected)
    assert_same(tuple(spread.predict_distribution(X[:5])), tuple(model.predict_distribution(X[:5])))


def test_weighted_neighbours_are_the_same(cluster, table):
    X, y = table
    weight = np.random.default_rng(1).integers(1, 4, N_ROWS).astype(float)
    trees = HistGradientBoostingRegressor(max_iter=8, max_depth=2, random_state=0).fit(X, y)
    model = IBUGRegressor(trees, n_neighbors=20, random_state=0)
    model.fit(X, y, sample_weight=weight)
    assert_same(search_parts(cluster, model, 3).kneighbors(X), model.kneighbors(X))


@pytest.mark.parametrize("method", ["sglb", "forest"])
def test_a_table_is_scored_alike(cluster, table, method):
    X, y = table
    lines = (",".join(map(repr, row)) for row in np.column_stack([X, y]).tolist())
    read = read_table(("a,b,c,d,y\n" + "\n".join(lines)).encode())
    plan = ScorePlan(method=method, knobs=() if method == "sglb" else (("n_trees", 20),))
    if method == "sglb":
        plan = dataclasses.replace(plan, ensemble="independent", n_members=2, n_trees=20)
    here = score_table(read, "y", plan=plan)
    with cluster.spread():
        there = score_table(read, "y", plan=plan)
    assert there.frame.equals(here.frame)


def test_a_worker_has_one_thread(cluster):
    assert cluster.map(threads_of_a_worker, None, [0]) == [(1, 1, 1)]


def test_what_a_worker_refuses_arrives(cluster):
    with pytest.raises(InvalidParameter, match="one sentence"):
        cluster.map(refuse, None, range(3))


def test_a_worker_killed_half_way_costs_nothing(cluster, processes, table, model):
    X = table[0]
    parts = [X[low : low + 5] for low in range(0, N_ROWS, 5)]
    members = {}
    for index, part in cluster.each(slow_members, (model, 0.02), parts):
        members[index] = part
        if len(members) == 20:
            os.kill(processes.workers[0].pid, signal.SIGKILL)
    joined = np.concatenate([members[index] for index in range(len(parts))], axis=1)
    assert_same(joined, model.predict_members(X))
    assert cluster.n_workers == 1


@pytest.mark.parametrize("repeat", range(2))  # the first copy goes to either worker
def test_a_worker_lost_while_it_is_sent_something_is_done_without(cluster, processes, repeat):
    lost = processes.workers[0]
    lost.send_signal(signal.SIGSTOP)  # the scheduler counts on it still
    threading.Timer(0.5, lost.kill).start()
    shared = np.zeros(100_000)
    assert cluster.map(threads_of_a_worker, shared, range(8)) == [(1, 1, 1)] * 8


def test_a_worker_that_stands_still_for_long_is_no_lack_of_workers(cluster, processes, monkeypatch):
    monkeypatch.setattr(spreading, "_PATIENCE", 1.0)
    still = processes.workers[0]
    still.send_signal(signal.SIGSTOP)
    threading.Timer(3.0, still.kill).start()
    kept = [cluster.keep(np.zeros(100_000)) for _ in range(2)]  # one for each worker
    assert cluster.map(threads_of_a_worker, None, kept) == [(1, 1, 1)] * 2


def test_a_loss_of_many_items_has_the_shared_object_sent_once_more(cluster, processes, monkeypatch):
    sent = []

    def count(self, item):
        sent.append(item)
        return copy_to_all(self, item)

    copy_to_all = spreading.Cluster._copy_to_all
    kept = [cluster.keep(np.full(100_000, i)) for i in range(6)]  # three at each worker
    assert cluster.map(first_entry, None, kept) == list(range(6))
    monkeypatch.setattr(spreading.Cluster, "_copy_to_all", count)
    processes.workers[0].kill()
    assert cluster.map(first_entry, None, kept) == list(range(6))
    assert 1 <= len(sent) <= 2


def test_a_lost_block_of_training_rows_is_sent_again(cluster, processes, table):
    X, y = table
    trees = HistGradientBoostingRegressor(max_iter=8, random_state=0).fit(X, y)
    model = IBUGRegressor(trees, n_neighbors=20, random_state=0).fit(X, y)
    spread = search_parts(cluster, model, 4)
    assert_same(spread.kneighbors(X), model.kneighbors(X))
    os.kill(processes.workers[0].pid, signal.SIGKILL)
    assert_same(spread.kneighbors(X), model.kneighbors(X))
