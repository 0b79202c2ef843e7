"""How much AUROC of foreign rows depends on which set the foreign rows come from.

One SGLB ensemble a set with the settings of the stored results, and foreign rows of every other set
in turn, made as the tables make them.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from unittest import mock

import numpy as np

from benchmarks.protocols import data
from benchmarks.report import table_lines
from benchmarks.tables.__main__ import RESULTS
from benchmarks.tables.cells import Cell, Cells
from gbuq_core.methods import METHODS
from gbuq_core.metrics import auroc


def areas(
    data_dir: Path, name: str, split: int, settings: dict[str, object]
) -> dict[str, tuple[float, float]]:
    """AUROC of total and of knowledge uncertainty by the set that foreign rows come from."""
    rows = data.regression_rows(data_dir, name, split)
    model = METHODS["sglb"].make(n_jobs=1, random_state=split, n_members=10, **settings)
    model.set_params(max_bins=255, standardize_target=False).fit(rows.X_all, rows.y_all)
    ordinary, n = model.predict_uncertainty(rows.X_test), len(rows.y_test)
    found = {}
    for other in (*data.SPLITS, *data.BUILTIN):
        if other == name:
            continue
        with mock.patch.dict(data.FOREIGN, {name: other}):
            foreign = data.foreign_rows(data_dir, name, rows.X_all, n, split)
        doubt = model.predict_uncertainty(foreign)
        found[other] = tuple(
            float(
                auroc(np.arange(2 * n) >= n, np.r_[getattr(ordinary, part), getattr(doubt, part)])
            )
            for part in ("total", "knowledge")
        )
    return found


def main() -> None:
    """Print a table of sets by sources."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=["boston", "concrete", "energy", "wine"])
    parser.add_argument("--split", type=int, default=0)
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the stored results")
    given = parser.parse_args()
    store = Cells(given.out)
    table = [["set", "foreign rows of", "total", "knowledge"]]
    for name in given.sets:
        stored = store.get(Cell("sglb", name, 0, "sglb"))
        known = stored.settings if stored else {}
        settings = {
            key: known.get(key, value)
            for key, value in (("depth", 6), ("learning_rate", 0.1), ("n_trees", 1000))
        }
        for other, found in areas(given.data_dir, name, given.split, settings).items():
            mark = " (the table's)" if other == data.FOREIGN[name] else ""
            table.append([name, other + mark, *(f"{value:.3f}" for value in found)])
    print("\n".join(table_lines("AUROC by the source of foreign rows", table)))


if __name__ == "__main__":
    main()
