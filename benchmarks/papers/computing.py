"""Cells computed anew, each split in a process of its own with one thread."""

from __future__ import annotations

import os
import statistics
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from benchmarks.papers.data import Found, Missing, Task
from gbuq_core.methods import METHODS
from gbuq_core.resources import MOST_THREADS

RUNNERS = {
    **{paper: (paper, "run") for paper in ("sglb", "cyclical", "ibug", "soft_trees", "macau")},
    "ours": ("ours", "run"),
    "tails": ("ours", "run_tail"),
    "shapes": ("ours", "run_shape"),
}
# Seconds can then be added up, and splits be computed side by side.
_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


def run_task(paper: str, task: Task) -> Found:
    """Numbers of one method on one split, computed in this process with one thread."""
    record = METHODS.get(task.method.partition(":")[0])
    if record is not None and record.missing():
        raise Missing(record.missing())
    module, name = RUNNERS[paper]
    run = getattr(import_module(f"benchmarks.papers.{module}"), name)
    token = MOST_THREADS.set(1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = run(task)
    finally:
        MOST_THREADS.reset(token)
    scores = {key: float(value) for key, value in found.scores.items() if np.isfinite(value)}
    return Found(scores, found.settings)


def _timed(paper: str, task: Task) -> tuple[Found, float]:
    return run_task(paper, task), time.process_time()


def compute(
    paper: str, name: str, method: str, seeds: int, data_dir: Path | None, jobs: int = 1
) -> tuple[dict[str, list[float]], float]:
    """Numbers by measure of all splits, and seconds of the median one; split 0 tunes for all."""
    first = Task(data_dir, name, 0, method)
    os.environ.update(_ONE_THREAD)  # of the processes to come
    with ProcessPoolExecutor(jobs, get_context("spawn"), max_tasks_per_child=1) as pool:
        outcomes = [pool.submit(_timed, paper, first).result()]
        known = outcomes[0][0].settings
        rest = [
            pool.submit(_timed, paper, first._replace(split=split, known=known))
            for split in range(1, seeds)
        ]
        outcomes += [future.result() for future in rest]
    numbers: dict[str, list[float]] = {}
    for found, _ in outcomes:
        for measure, value in found.scores.items():
            numbers.setdefault(measure, []).append(value)
    return numbers, statistics.median(seconds for _, seconds in outcomes)
