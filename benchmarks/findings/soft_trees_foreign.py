"""Paper 4's AUROC of foreign rows, with foreign rows of every other set in turn.

Each method is fitted once a set, on one split, with the settings of the stored results; the foreign
rows are made as the tables make them.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from unittest import mock

import numpy as np

from benchmarks.findings.soft_trees_settings import stored_settings
from benchmarks.protocols import data, soft_trees
from benchmarks.report import load_split, table_lines
from benchmarks.tables.__main__ import RESULTS
from benchmarks.tables.cells import Cells
from gbuq_core.metrics import auroc

METHODS = (
    "vst:constant", "vst", "vsgbm:constant", "vsgbm", "sglb", "sglb:one_tree", "xbart",
    "xbart:one_tree",
)  # fmt: skip


def areas(
    data_dir: Path, name: str, split: int, method: str, settings: dict[str, object]
) -> dict[str, float]:
    """AUROC of knowledge uncertainty by the set that the foreign rows come from."""
    rows = load_split(data_dir, name, split)
    n = len(rows.y_test)
    model = soft_trees.make_model(method, dict(settings), split, "small")
    model.fit(rows.X_train, rows.y_train)
    ordinary = model.predict_uncertainty(rows.X_test).knowledge
    by_set = {}
    for other in (*data.SPLITS, *data.BUILTIN):
        if other == name:
            continue
        with mock.patch.dict(data.FOREIGN, {name: other}):
            foreign = data.foreign_rows(data_dir, name, rows.X_train, n, split)
        doubt = model.predict_uncertainty(foreign).knowledge
        by_set[other] = float(auroc(np.arange(2 * n) >= n, np.r_[ordinary, doubt]))
    return by_set


def main() -> None:
    """Print a table a set: a row a method, a column a source."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=[*soft_trees.SETS[:5]])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--split", type=int, default=0)
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the stored results")
    args = parser.parse_args()
    store = Cells(args.out)
    for name in args.sets:
        others = [other for other in (*data.SPLITS, *data.BUILTIN) if other != name]
        table = [["method", "least", "largest", "the paper", *others]]
        for method in args.methods:
            settings = stored_settings(store, name, method)
            by_set = areas(args.data_dir, name, args.split, method, settings)
            theirs = soft_trees.PROTOCOL.published[name, method, "auroc"].value
            table.append(
                [method, f"{min(by_set.values()):.2f}", f"{max(by_set.values()):.2f}",
                 f"{theirs:.2f}", *(f"{by_set[other]:.2f}" for other in others)]
            )  # fmt: skip
        title = f"AUROC on {name} by the source of foreign rows (table: {data.FOREIGN[name]})"
        print("\n".join(table_lines(title, table)), flush=True)


if __name__ == "__main__":
    main()
