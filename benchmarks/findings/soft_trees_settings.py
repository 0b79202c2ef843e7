"""Paper 4's cells with parameters, training rows or targets that are changed one after the other.

Each ``--try`` is a row: parameters of the estimator as ``name=value``, with commas between them,
on top of the settings of the stored results. ``rows=0.8`` trains on that share of the training rows
(the paper's folds have 0.8 of ours), and ``blur=1`` adds uniform noise of that width to the target.
"""

from __future__ import annotations

import argparse
import ast
import math
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.protocols import data, soft_trees
from benchmarks.report import Split, load_split, table_lines
from benchmarks.tables.__main__ import RESULTS
from benchmarks.tables.cells import Cell, Cells
from benchmarks.tables.protocol import record_key
from gbuq_core.metrics import auroc, rmse
from gbuq_core.soft_trees.results import ElboPath

SCORES = ("rmse", "log_likelihood", "auroc")


def read_changes(text: str) -> dict[str, Any]:
    """What a ``--try`` says.

    >>> read_changes("rank=0,rows=0.8")
    {'rank': 0, 'rows': 0.8}
    """
    pairs = [part.partition("=") for part in text.split(",") if part]
    return {name.strip(): ast.literal_eval(value) for name, _, value in pairs}


def change_rows(rows: Split, share: float, blur: float, seed: int) -> Split:
    """A share of the training rows, and all targets with uniform noise of width ``blur``."""
    rng = np.random.default_rng((seed, 31))
    order = np.sort(rng.permutation(len(rows.y_train))[: round(share * len(rows.y_train))])
    noise = [blur * rng.uniform(-0.5, 0.5, len(y)) for y in (rows.y_train, rows.y_test)]
    return Split(
        rows.X_train[order], (rows.y_train + noise[0])[order], rows.X_test, rows.y_test + noise[1]
    )


def measure(
    data_dir: Path, name: str, split: int, method: str, settings: dict[str, Any], text: str
) -> dict[str, float]:
    """Scores of one cell after the changes; those of the training rows have ``train_`` in front."""
    changes = read_changes(text)
    rows = change_rows(
        load_split(data_dir, name, split), changes.pop("rows", 1.0), changes.pop("blur", 0.0), split
    )
    model = soft_trees.make_model(method, settings, split, "small").set_params(**changes)
    model.fit(rows.X_train, rows.y_train)
    spread, n = float(rows.y_train.std()), len(rows.y_test)
    scores = {"rmse": float(rmse(rows.y_test, model.predict(rows.X_test))) / spread}
    if record_key(method) in soft_trees.POINT:
        return scores
    foreign = data.foreign_rows(data_dir, name, rows.X_train, n, split)
    doubt = model.predict_uncertainty(np.concatenate([rows.X_test, foreign])).knowledge
    scores["auroc"] = float(auroc(np.arange(2 * n) >= n, doubt))
    for part, X, y in (("", rows.X_test, rows.y_test), ("train_", rows.X_train, rows.y_train)):
        scores[f"{part}log_likelihood"] = soft_trees.log_likelihood(model, X, y, spread)
    path = getattr(model, "elbo_path_", None)
    if isinstance(path, ElboPath):  # a sum of trees has one for each
        scores["elbo_a_row"] = float(path.elbo[-100:].mean()) / len(rows.y_train)
    return scores


def stored_settings(store: Cells, name: str, method: str) -> dict[str, Any]:
    """What the table chose, or the first of its grid."""
    first = soft_trees.GRIDS[method][0]
    stored = store.get(Cell("soft_trees", name, 0, method))
    return {key: stored.settings.get(key, first[key]) if stored else first[key] for key in first}


def main() -> None:
    """Print a table a set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=["concrete"], choices=soft_trees.SETS)
    parser.add_argument("--methods", nargs="+", default=["vst"], choices=list(soft_trees.GRIDS))
    parser.add_argument("--try", dest="tries", nargs="*", default=[], metavar="CHANGES")
    parser.add_argument("--splits", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the stored results")
    args = parser.parse_args()
    store = Cells(args.out)
    for name in args.sets:
        table = []
        for method in args.methods:
            settings = stored_settings(store, name, method)
            for text in ("", *args.tries):
                cells = [
                    measure(args.data_dir, name, split, method, settings, text)
                    for split in args.splits
                ]
                means = {key: float(np.mean([cell[key] for cell in cells])) for key in cells[0]}
                table.append((method, text or f"the table's, {settings}", means))
            paper = {
                score: each.value
                for score in SCORES
                if (each := soft_trees.PROTOCOL.published.get((name, method, score)))
            }
            table.append((method, "the paper", paper))
        columns = list(dict.fromkeys(key for *_, scores in table for key in scores))
        lines = [["method", "changed", *columns]]
        for method, text, scores in table:
            numbers = [scores.get(key, math.nan) for key in columns]
            lines.append([method, text, *(f"{v:.3f}" if v == v else "" for v in numbers)])
        print("\n".join(table_lines(f"{name}, splits {args.splits}", lines)), flush=True)


if __name__ == "__main__":
    main()
