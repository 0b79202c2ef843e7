"""The experiments behind the findings on paper 4 measure what its table measures."""

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_limits
from tolerances import SAME_SUM

from benchmarks.findings import soft_trees_foreign, soft_trees_regret, soft_trees_settings
from benchmarks.protocols import data, soft_trees
from benchmarks.report import load_split
from benchmarks.tables.cells import Result
from benchmarks.tables.protocol import Task

KNOWN = {"vst": {"depth": 1, "beta": 5.0}, "sglb:one_tree": soft_trees.GRIDS["sglb:one_tree"][0]}


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sets")
    rng = np.random.default_rng(0)
    for name in data.SPLITS:
        X = rng.normal(size=(90, 4))
        table = pd.DataFrame(X).add_prefix("x").assign(target=X[:, 0] + rng.normal(size=90))
        table.to_csv(folder / f"{name}.csv.gz", index=False)
        np.savez(folder / f"{name}_splits.npz", test_0=np.arange(20))
    return folder


def cell(data_dir, method):
    task = Task(data_dir, "concrete", 0, method, "small", {method: KNOWN[method]})
    return soft_trees.PROTOCOL.run(task).scores


@pytest.mark.parametrize("method", sorted(KNOWN))
def test_without_a_change_the_scores_are_the_cells(data_dir, method):
    scores = soft_trees_settings.measure(data_dir, "concrete", 0, method, KNOWN[method], "")
    wanted = cell(data_dir, method)
    assert {key: scores[key] for key in wanted} == pytest.approx(wanted, rel=SAME_SUM)


def test_changes_reach_the_model(data_dir):
    def measured(text):
        return soft_trees_settings.measure(data_dir, "concrete", 0, "vst", KNOWN["vst"], text)

    few, many = measured("n_steps=1,rank=0"), measured("n_steps=300,rank=0")
    assert few["elbo_a_row"] < many["elbo_a_row"]  # training climbs it


def test_rows_and_targets_change_as_said(data_dir):
    rows = load_split(data_dir, "concrete", 0)
    fewer = soft_trees_settings.change_rows(rows, 0.5, 0.0, seed=0)
    assert fewer.X_train.shape == (35, 4)
    assert np.isin(fewer.y_train, rows.y_train).all()
    assert np.array_equal(fewer.y_test, rows.y_test)
    blurred = soft_trees_settings.change_rows(rows, 1.0, 2.0, seed=0)
    moved = np.abs(blurred.y_test - rows.y_test)
    assert moved.min() > 0.0
    assert moved.max() <= 1.0
    assert np.array_equal(blurred.X_train, rows.X_train)


def test_areas_by_source_hold_the_tables_own(data_dir):
    by_source = soft_trees_foreign.areas(data_dir, "concrete", 0, "vst", KNOWN["vst"])
    assert by_source.keys() == {*data.SPLITS, *data.BUILTIN} - {"concrete"}
    own = by_source[data.FOREIGN["concrete"]]
    assert own == pytest.approx(cell(data_dir, "vst")["auroc"], rel=SAME_SUM)


def regret(policy, seed, value):
    return Result(
        table="soft_trees", set="exploration", split=seed, method=policy,
        scores={"regret_1000": value}, seconds=1.0, peak_memory=1, seed=seed,
        settings={"effort": "small"}, version="0", machine="a machine",
    )  # fmt: skip


def test_pairs_of_policies_share_their_seeds():
    results = [regret("vst", 0, 1.0), regret("vst", 1, 2.0), regret("vst", 2, 9.0)]
    results += [regret("sglb", 0, 4.0), regret("sglb", 1, 3.0)]
    regrets = soft_trees_regret.stored_regrets(results)
    (pair,) = soft_trees_regret.compare(regrets)
    # Leads of 3 and 1 on the two seeds of both: mean 2, standard error 1.
    assert pair == ("vst", "sglb", 2, 2, pytest.approx(2.0))


def test_play_is_the_tables_cell():
    regrets = soft_trees_regret.play(["random"], 60, 2)
    task = Task(None, soft_trees.EXPLORATION, 1, "random", "smoke", {})
    assert regrets["random"][1] == soft_trees.PROTOCOL.run(task).scores["regret_60"]
