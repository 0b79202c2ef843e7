"""How fast neighbours are found, against the naive NumPy twin in the same run."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import Row, load_split, median_seconds
from gbuq_core.ibug.affinity import TrainLeaves, nearest, pack_leaves
from gbuq_core.jobs import effective_n_jobs
from gbuq_core.trees.importers import LeafSource, leaf_source

_K = 50
_QUERIES = 800
_TWIN_QUERIES = 12  # the twin takes milliseconds a row
_AUTHORS_MS = {"kin8nm": 9.4, "protein": 59.0}  # a row, their code on two cores


def _lightgbm(X: np.ndarray, y: np.ndarray) -> Any:
    import lightgbm

    model = lightgbm.LGBMRegressor(
        n_estimators=1000,
        num_leaves=31,
        learning_rate=0.1,
        random_state=0,
        verbose=-1,
        n_jobs=1,  # threads of LightGBM that wait for each other take minutes on a busy machine
    )
    return model.fit(X, y)


def _library_leaves(model: Any, query: np.ndarray) -> np.ndarray:
    return model.booster_.predict(query, pred_leaf=True, num_threads=effective_n_jobs(None))


def _twin_seconds(leaves: np.ndarray, query: np.ndarray) -> float:
    """Seconds a row of one comparison of the whole matrix and one argsort."""
    seconds = []
    for row in query[:_TWIN_QUERIES]:
        began = time.perf_counter()
        np.argsort(-(leaves == row).sum(axis=1), kind="stable")[:_K]
        seconds.append(time.perf_counter() - began)
    return float(np.median(seconds))


def _measure(name: str, X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> list[Row]:
    model = _lightgbm(X, y)
    began = time.perf_counter()
    source = leaf_source(model)
    read = time.perf_counter() - began
    began = time.perf_counter()
    source.leaf_matrix(X[:64])
    compile_seconds = time.perf_counter() - began
    train = pack_leaves(source.leaf_chunks(X), len(X))
    packing = median_seconds(lambda: pack_leaves(source.leaf_chunks(X), len(X)), 3, warm_ups=0)
    query = X_test[:_QUERIES]
    began = time.perf_counter()
    _search(source, train, query[:32])
    compile_seconds += time.perf_counter() - began
    return [
        *_search_rows(name, source, train, X, query),
        *_lookup_rows(name, model, source, query),
        Row(
            f"{name}: reading the trees {read:.2f} s, packing the training leaves; compiling "
            f"(or loading) kernels once {compile_seconds:.1f} s",
            f"{packing:.2f} s", "", None,
            {"read": read, "pack": packing, "compile": compile_seconds},
        ),
    ]  # fmt: skip


def _search(source: LeafSource, train: TrainLeaves, query: np.ndarray) -> Any:
    return nearest(train, source.leaf_matrix(query), _K)


def _search_rows(
    name: str, source: LeafSource, train: TrainLeaves, X: np.ndarray, query: np.ndarray
) -> list[Row]:
    leaves = source.leaf_matrix(X)
    query_leaves = source.leaf_matrix(query)
    ours, twins = [], []
    for _ in range(5):  # in turn, so that both see the same machine
        ours.append(median_seconds(lambda: _search(source, train, query), 3) / len(query))
        twins.append(_twin_seconds(leaves, query_leaves))
    began = time.process_time()
    _search(source, train, query)
    cpu = (time.process_time() - began) / len(query)  # of all threads: a busy machine adds less
    seconds, twin = float(np.median(ours)), float(np.median(twins))
    near = _search(source, train, query[:_TWIN_QUERIES])
    for row, indices in zip(query_leaves, near.indices, strict=False):
        expected = np.argsort(-(leaves == row).sum(axis=1), kind="stable")[:_K]
        if not np.array_equal(indices, expected):
            raise RuntimeError("the neighbours are not those of the twin")
    ratio, authors = twin / seconds, _AUTHORS_MS[name] / (1e3 * seconds)
    size = train.n_bytes / (train.n_rows * train.n_trees)
    bar, met = ">= 50 x", ratio >= 50
    if name == "protein":
        bar, met = ">= 80 x the authors, <= 3 bytes", authors >= 80 and size <= 3
    return [Row(
        f"{name}: {train.n_rows:,} rows x {train.n_trees} trees, k = {_K}, {len(query)} query rows "
        f"with leaf lookup; naive NumPy {1e3 * twin:.1f} ms a row",
        f"{1e3 * seconds:.3f} ms a row ({1e3 * cpu:.3f} of processor time), "
        f"{ratio:.0f} x naive, {authors:.0f} x the authors' "
        f"{_AUTHORS_MS[name]} ms, {size:.2f} bytes a (row, tree)",
        bar, met,
        {"ms": 1e3 * seconds, "naive_ms": 1e3 * twin, "cpu_ms": 1e3 * cpu, "ratio": ratio,
         "authors_ratio": authors, "bytes": size},
    )]  # fmt: skip


def _lookup_rows(name: str, model: Any, source: LeafSource, query: np.ndarray) -> list[Row]:
    ours = median_seconds(lambda: source.leaf_matrix(query), 7)
    theirs = median_seconds(lambda: _library_leaves(model, query), 3)
    if not np.array_equal(source.leaf_matrix(query), _library_leaves(model, query)):
        raise RuntimeError("the leaves are not LightGBM's")
    return [Row(
        f"{name}: leaf lookup of {len(query)} rows; LightGBM itself {1e3 * theirs:.0f} ms",
        f"{1e3 * ours:.1f} ms, {theirs / ours:.0f} x", "", None,
        {"ms": 1e3 * ours, "lightgbm_ms": 1e3 * theirs},
    )]  # fmt: skip


def kin8nm() -> list[Row]:
    """7,373 rows x 8 features, the size of kin8nm's training rows: a smooth function and noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8192, 8))
    angles = np.cumsum(X, axis=1)
    y = np.cos(angles).sum(axis=1) + 0.2 * rng.normal(size=len(X))
    return _measure("kin8nm", X[:7373], y[:7373], X[7373:])


def protein(data_dir: Path) -> list[Row]:
    """41,157 rows of the protein table."""
    data = load_split(data_dir, "protein", 0)
    return _measure("protein", data.X_train, data.y_train, data.X_test)
