"""Test scores of both engines on UCI sets, with the same knobs and the same splits."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.report import Row, load_split
from gbuq_core import BoostedEnsembleRegressor
from gbuq_core.metrics import nll_gaussian

_DATA_SETS = ("concrete", "wine", "protein")
_SEEDS, _SPLITS = range(3), range(3)


def _test_nll(engine: str, data_dir: Path, name: str, learning_rate: float) -> np.ndarray:
    """Test NLL of single SGLB models in nats, (n_splits, n_seeds)."""
    scores = np.empty((len(_SPLITS), len(_SEEDS)))
    for split in _SPLITS:
        data = load_split(data_dir, name, split)
        for seed in _SEEDS:
            model = BoostedEnsembleRegressor(
                stopping=None,
                n_members=1, n_trees=1000, depth=4, learning_rate=learning_rate, engine=engine,
                random_state=seed,
            ).fit(data.X_train, data.y_train)  # fmt: skip
            loc, scale = model.predict_distribution(data.X_test)
            scores[split, seed] = nll_gaussian(data.y_test, loc, scale)
    return scores


def nll(data_dir: Path) -> list[Row]:
    """Ours may exceed CatBoost's mean by its seed-to-seed std plus 0.02 nats."""
    rows = []
    for name in _DATA_SETS:
        for learning_rate in (0.01, 0.03):
            ours = _test_nll("numba", data_dir, name, learning_rate)
            peer = _test_nll("catboost", data_dir, name, learning_rate)
            seed_std = float(np.sqrt(peer.var(axis=1, ddof=1).mean()))
            excess = float(ours.mean() - peer.mean())
            rows.append(Row(
                f"test NLL, {name}, rate {learning_rate}: ours {ours.mean():.3f}, CatBoost "
                f"{peer.mean():.3f} (seed std {seed_std:.3f})",
                f"{excess:+.3f} nats", f"<= {seed_std + 0.02:.3f}", excess <= seed_std + 0.02,
                {"ours": ours.tolist(), "catboost": peer.tolist()},
            ))  # fmt: skip
    return rows
