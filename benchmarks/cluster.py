"""Two workers of a Dask cluster on this machine against one: seconds, and the same numbers.

``python -m benchmarks.cluster`` starts worker processes of one thread each. The clusters take
turns, and each worker has compiled and loaded its kernels before.

- `score`: a Parquet file of 4,000,000 rows x 20 by a virtual ensemble of ten members and 500
  trees; workers read row groups and write part files.
- `train`: ten independent members, 400,000 rows x 20, 50 trees.

The digests of one worker, two workers and this process alone must be equal.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import Row, make_parser, report
from benchmarks.scaling import make_table
from benchmarks.streaming import make_file
from gbuq_core import BoostedEnsembleRegressor
from gbuq_core.cluster import Cluster, open_cluster
from gbuq_core.streaming import BlockScorer, PartFiles, Run, open_blocks, survey_file, write_missing
from gbuq_core.tables import ScorePlan, infer_schema, prepare_training, read_table

N_COLUMNS = 20
BLOCK_ROWS = 50_000
PART_ROWS = 100_000  # of a row group of the file too
TRAINING_ROWS = 20_000
BAR = 1.7
TARGET = "y"


def digest(arrays: Sequence[np.ndarray]) -> str:
    """SHA-256 of the bytes of some arrays."""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def compare(
    what: str, run: Callable[[Cluster | None], str], clusters: dict[int, Cluster], repeats: int
) -> list[Row]:
    """Median seconds on each cluster, in turns, and whether all digests are equal."""
    seconds: dict[int, list[float]] = {n_workers: [] for n_workers in clusters}
    digests = set()
    for cluster in clusters.values():
        digests.add(run(cluster))  # warm
    for _ in range(repeats):
        for n_workers, cluster in clusters.items():
            began = time.perf_counter()
            digests.add(run(cluster))
            seconds[n_workers].append(time.perf_counter() - began)
    began = time.perf_counter()
    digests.add(run(None))
    alone = time.perf_counter() - began
    single, two = (float(np.median(seconds[n])) for n in (1, 2))
    numbers = {"one": single, "two": two, "alone": alone, "all": seconds}
    return [
        Row(f"{what}: one worker", f"{single:.3g} s", "", None, {}),
        Row(f"{what}: two workers", f"{two:.3g} s", "", None, {}),
        Row(f"{what}: this process, all cores", f"{alone:.3g} s", "", None, {}),
        Row(
            f"{what}: two against one",
            f"{single / two:.2f} x",
            f">= {BAR} x",
            single / two >= BAR,
            numbers,
        ),
        Row(
            f"{what}: digests",
            f"{len(digests)} of them",
            "1",
            len(digests) == 1,
            {"digests": sorted(digests)},
        ),
    ]


def train(clusters: dict[int, Cluster], n_rows: int, n_trees: int, repeats: int) -> list[Row]:
    """Ten members."""
    X, y = make_table(n_rows, N_COLUMNS)
    new = make_table(2_000, N_COLUMNS, seed=1)[0]

    def run(cluster: Cluster | None) -> str:
        model = BoostedEnsembleRegressor(
            n_members=10, n_trees=n_trees, stopping=None, random_state=0
        )
        if cluster is None:
            model.fit(X, y)
        else:
            with cluster.spread():
                model.fit(X, y)
        return digest([model.predict_members(new)])

    what = f"train ten members, {n_rows:,} x {N_COLUMNS}, {n_trees} trees"
    return compare(what, run, clusters, repeats)


def score(clusters: dict[int, Cluster], n_rows: int, n_trees: int, repeats: int) -> list[Row]:
    """Part files of the scored rows; training and the first look at the file are not in it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_file(folder / "new.parquet", n_rows, N_COLUMNS)
        make_file(folder / "train.parquet", TRAINING_ROWS, N_COLUMNS)
        table = read_table(folder / "train.parquet")
        new = open_blocks(folder / "new.parquet", to_score=True)
        training = prepare_training(table, infer_schema(table), TARGET)
        survey = survey_file(new, training)
        plan = ScorePlan(ensemble="virtual", n_trees=n_trees)
        scorer = BlockScorer.train(
            table, training, new, survey, plan, None, 0.9, False, False, BLOCK_ROWS
        )

        def run(cluster: Cluster | None) -> str:
            run_of = Run(inputs={}, settings={}, seed=0, n_parts=-(-n_rows // PART_ROWS))
            parts = PartFiles(folder / "parts", run_of)
            if cluster is None:
                write_missing(parts, scorer, new, BLOCK_ROWS, PART_ROWS)
            else:
                with cluster.spread():
                    write_missing(parts, scorer, new, BLOCK_ROWS, PART_ROWS)
            digests = [parts.records[number].digest for number in range(run_of.n_parts)]
            shutil.rmtree(parts.directory)
            return hashlib.sha256("".join(digests).encode()).hexdigest()

        what = f"score {n_rows:,} x {N_COLUMNS}, ten virtual members, {n_trees} trees"
        return compare(what, run, clusters, repeats)


def main() -> None:
    """Run the sections that are asked for."""
    parser = make_parser(__doc__.splitlines()[0], ["score", "train"])
    add: Callable[..., Any] = parser.add_argument
    add("--score-rows", type=int, default=4_000_000)
    add("--score-trees", type=int, default=500)
    add("--train-rows", type=int, default=400_000)
    add("--train-trees", type=int, default=50)
    add("--repeats", type=int, default=2)
    options = parser.parse_args()
    with ExitStack() as stack:
        clusters = {
            n_workers: stack.enter_context(open_cluster(n_workers=n_workers, timeout=120.0))
            for n_workers in (1, 2)
        }
        rows = []
        if "score" in options.only:
            rows += score(clusters, options.score_rows, options.score_trees, options.repeats)
        if "train" in options.only:
            rows += train(clusters, options.train_rows, options.train_trees, options.repeats)
    report("Two workers of a cluster against one", rows, options.json)


if __name__ == "__main__":
    main()
