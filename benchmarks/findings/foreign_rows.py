"""How much AUROC of foreign rows depends on where the foreign rows come from.

One model a set and split, with the settings of the stored results or given ones. Foreign rows are
those of every other set in turn, made as the tables make them; those of the table's source with
each column shuffled by itself, so that its values stay and only what goes together changes; and
independent normal columns.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from benchmarks.protocols import data
from benchmarks.protocols.sglb import LABELS, make_boosted
from benchmarks.report import table_lines
from benchmarks.tables.__main__ import RESULTS
from benchmarks.tables.cells import Cell, Cells
from benchmarks.tables.protocol import Task
from gbuq_core.metrics import auroc

SHUFFLED, NORMAL = "the table's, each column shuffled", "independent normal columns"
METHODS = tuple(LABELS)[:5]


def sources(
    data_dir: Path, name: str, X_train: np.ndarray, n: int, seed: int
) -> Iterator[tuple[str, np.ndarray]]:
    """Names of sources, and ``n`` foreign rows of each on the scales of ``X_train``."""
    rng = np.random.default_rng((seed, 31))
    table = data.foreign_rows(data_dir, name, X_train, n, seed)
    yield f"{data.FOREIGN[name]} (the table's)", table
    yield SHUFFLED, rng.permuted(table, axis=0)
    normal = rng.standard_normal((n, X_train.shape[1]))
    yield NORMAL, X_train.mean(axis=0) + X_train.std(axis=0) * normal
    for other in (*data.SPLITS, *data.BUILTIN):
        if other not in (name, data.FOREIGN[name]):
            with mock.patch.dict(data.FOREIGN, {name: other}):
                yield other, data.foreign_rows(data_dir, name, X_train, n, seed)


def areas(
    data_dir: Path, name: str, method: str, split: int, settings: dict[str, Any]
) -> dict[str, tuple[float, float]]:
    """AUROC of total and of knowledge uncertainty by the source of the foreign rows."""
    rows = data.regression_rows(data_dir, name, split)
    model = make_boosted(Task(data_dir, name, split, method, "small", {}), settings, False, 10)
    model.fit(rows.X_all, rows.y_all)
    ordinary, n = model.predict_uncertainty(rows.X_test), len(rows.y_test)
    by_source = {}
    for source, foreign in sources(data_dir, name, rows.X_all, n, split):
        doubt = model.predict_uncertainty(foreign)
        by_source[source] = tuple(
            float(
                auroc(np.arange(2 * n) >= n, np.r_[getattr(ordinary, part), getattr(doubt, part)])
            )
            for part in ("total", "knowledge")
        )
    return by_source


def known_settings(store: Cells, name: str, method: str, split: int) -> dict[str, Any]:
    """What the stored cell has chosen."""
    stored = store.get(Cell("sglb", name, split, method))
    if stored is None:
        raise SystemExit(f"No result is stored for {method} on {name}: give --depth and --rate.")
    return {key: stored.settings[key] for key in ("depth", "learning_rate", "n_trees")}


def main() -> None:
    """Print a table of sets by sources."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=["boston", "concrete", "energy", "wine"])
    parser.add_argument("--methods", nargs="+", default=["sglb"], choices=METHODS)
    parser.add_argument("--splits", type=int, nargs="+", default=[0])
    parser.add_argument("--depth", type=int, help="with --rate: instead of the stored settings")
    parser.add_argument("--rate", type=float)
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the stored results")
    args = parser.parse_args()
    store = Cells(args.out)
    table = [["set", "method", "foreign rows of", "total", "knowledge"]]
    for name in args.sets:
        for method in args.methods:
            splits = []
            for split in args.splits:
                settings = (
                    known_settings(store, name, method, split)
                    if args.rate is None
                    else {"depth": args.depth, "learning_rate": args.rate, "n_trees": 1000}
                )
                splits.append(areas(args.data_dir, name, method, split, settings))
            for source in splits[0]:
                means = np.mean([each[source] for each in splits], axis=0)
                table.append([name, method, source, *(f"{value:.3f}" for value in means)])
    print("\n".join(table_lines("AUROC by the source of foreign rows", table)))


if __name__ == "__main__":
    main()
