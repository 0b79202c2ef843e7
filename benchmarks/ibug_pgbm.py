"""PGBM in an interpreter of its own: ``python ibug_pgbm.py rows.npz results.npz``.

Needs that interpreter's NumPy below 2 and the scikit-learn that pgbm 2.3 was built for (1.4), so
it imports nothing of this project. Tuned by validation RMSE like the other point models.
"""

from __future__ import annotations

import sys
import time

import numpy as np

LEAVES = (15, 61)


def _make(n_trees: int, leaves: int, seed: int):
    from pgbm.sklearn import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(
        max_iter=n_trees, max_leaf_nodes=leaves, learning_rate=0.1, early_stopping=False,
        random_state=seed,
    )  # fmt: skip


def main() -> None:
    """Tune, predict the validation rows, train on all rows, predict the test rows."""
    with np.load(sys.argv[1], allow_pickle=False) as rows:
        parts = {name: rows[name] for name in rows.files}
    seed, trees = int(parts["seed"]), [int(n) for n in parts["trees"]]
    began = time.process_time()
    grid = [int(n) for n in parts["leaves"]]
    best, chosen = np.inf, (grid[0], trees[0])
    for leaves in grid:
        model = _make(trees[-1], leaves, seed).fit(parts["X_fit"], parts["y_fit"])
        for n_trees, loc in enumerate(model.staged_predict(parts["X_val"]), start=1):
            error = np.sqrt(np.mean((loc - parts["y_val"]) ** 2))
            if n_trees in trees and error < best:
                best, chosen = error, (leaves, n_trees)
    leaves, n_trees = chosen
    model = _make(n_trees, leaves, seed).fit(parts["X_fit"], parts["y_fit"])
    val_loc, val_scale = model.predict(parts["X_val"], return_std=True)
    X_all = np.concatenate([parts["X_fit"], parts["X_val"]])
    y_all = np.concatenate([parts["y_fit"], parts["y_val"]])
    model = _make(n_trees, leaves, seed).fit(X_all, y_all)
    fit_seconds = time.process_time() - began
    began = time.process_time()
    test_loc, test_scale = model.predict(parts["X_test"], return_std=True)
    np.savez(
        sys.argv[2], val_loc=val_loc, val_scale=val_scale, test_loc=test_loc,
        test_scale=test_scale, leaves=leaves, n_trees=n_trees, fit_seconds=fit_seconds,
        predict_seconds=time.process_time() - began,
    )  # fmt: skip


if __name__ == "__main__":
    main()
