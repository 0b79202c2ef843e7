"""Files that a cluster scores: the same bytes, also after the scheduler was lost."""

import signal

import numpy as np
import pandas as pd
import pytest
from cluster_parts import threads_of_a_worker

from gbuq_core.__main__ import main
from gbuq_core.cluster import open_cluster, spreading
from gbuq_core.errors import ClusterError
from gbuq_core.streaming import PartFiles, open_blocks, score_in_blocks
from gbuq_core.tables import ScorePlan, read_table

PLAN = ScorePlan(ensemble="virtual", n_trees=40)
SECONDS = 60.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """TRAIN and NEW, and NEW in both formats that are read in blocks."""
    folder = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["y"] = X[:, 0] + rng.normal(size=200)
    frame.to_csv(folder / "train.csv", index=False)
    new = pd.DataFrame(rng.normal(size=(101, 3)), columns=["a", "b", "c"])
    new.to_csv(folder / "new.csv", index=False)
    new.to_parquet(folder / "new.parquet", row_group_size=30)
    return folder


def score(folder, new, out, **options):
    return score_in_blocks(
        read_table(folder / "train.csv"),
        open_blocks(folder / new, to_score=True),
        out,
        "y",
        plan=PLAN,
        unfamiliarity=False,
        block_rows=5,
        part_rows=5,
        **options,
    )


@pytest.mark.parametrize("new", ["new.csv", "new.parquet"])
def test_parts_are_written_alike(cluster, folder, tmp_path, new):
    score(folder, new, tmp_path / "here.csv")
    with cluster.spread():
        score(folder, new, tmp_path / "there.csv")
    assert (tmp_path / "there.csv").read_bytes() == (tmp_path / "here.csv").read_bytes()


def test_a_lost_scheduler_is_survived_by_resuming(processes, folder, tmp_path, monkeypatch):
    score(folder, "new.parquet", tmp_path / "here.csv")
    noted = PartFiles.note

    def note(parts, record):
        noted(parts, record)
        if len(parts.records) == 3:
            processes.scheduler.kill()
            processes.scheduler.wait()

    def score_there(**options):
        processes.keep_workers(2)
        with (
            open_cluster(processes.address, n_workers=2, timeout=SECONDS) as cluster,
            cluster.spread(),
        ):
            return score(folder, "new.parquet", tmp_path / "there.csv", **options)

    monkeypatch.setattr(PartFiles, "note", note)
    with pytest.raises(ClusterError, match="connection to the scheduler is lost"):
        score_there()
    monkeypatch.undo()
    for worker in processes.workers:  # they end with their scheduler, sooner or later
        worker.kill()
        worker.wait()
    processes.start_scheduler()
    scored = score_there(resume=True)
    assert 3 <= scored.n_kept < scored.n_parts == 21
    assert (tmp_path / "there.csv").read_bytes() == (tmp_path / "here.csv").read_bytes()


def test_a_scheduler_that_stands_still_is_not_waited_for(cluster, processes, monkeypatch):
    answers = cluster.each(threads_of_a_worker, None, range(20))
    next(answers)
    monkeypatch.setattr(spreading, "_PATIENCE", 1.0)
    processes.scheduler.send_signal(signal.SIGSTOP)
    try:
        with pytest.raises(ClusterError, match="scheduler has not answered for 1 s"):
            list(answers)
    finally:
        processes.scheduler.send_signal(signal.SIGCONT)


def test_the_command_writes_the_same_file(cluster, processes, folder, tmp_path):
    command = [
        "score",
        str(folder / "train.csv"),
        str(folder / "new.csv"),
        "--target",
        "y",
        "--trees",
        "30",
        "--ensemble",
        "independent",
        "--members",
        "2",
        "--quiet",
        "--unfamiliarity",
        "no",
    ]
    there = ["--scheduler", processes.address]
    assert main([*command, "--out", str(tmp_path / "here.csv")]) == 0
    assert main([*command, "--out", str(tmp_path / "there.csv"), *there]) == 0
    assert (tmp_path / "there.csv").read_bytes() == (tmp_path / "here.csv").read_bytes()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--scheduler", "host"], "must look like tcp://host:8786"),
        (["--scheduler", "tcp://a:1", "--cluster", "local"], "exclude each other"),
        (["--workers", "2"], "goes with --scheduler or --cluster only"),
    ],
)
def test_options_that_mean_nothing_are_refused(folder, tmp_path, capsys, options, sentence):
    pytest.importorskip("distributed")
    command = ["score", str(folder / "train.csv"), "--target", "y", *options]
    assert main([*command, "--out", str(tmp_path / "out.csv")]) == 2
    assert sentence in capsys.readouterr().err
