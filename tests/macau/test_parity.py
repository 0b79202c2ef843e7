"""The authors' implementation: every column of its answers, on the LightGBM forests beside them.

Novelties in the reference are the per-tree z-scores of scikit-learn's transform, averaged, so the
tail is clipped; uncertainties are averaged standard deviations.
"""

import numpy as np
import pytest

from gbuq_core.macau import MacauRegressor
from gbuq_core.trees.importers import load_leaf_source

pytestmark = pytest.mark.parity

# Of the column's spread. ARD stops where its weights move by less than 1e-3: what is left of two
# programs that stop at the same step is rounding, worst (1e-9) where a leaf is fitted exactly and
# its tiny variance is a difference of large numbers.
CLOSE = 1e-6


@pytest.mark.parametrize("leaf_model", ["linear", "basic"])
def test_concrete(leaf_model, reference_dir):
    data = np.load(reference_dir / "macau_concrete.npz")
    source = load_leaf_source(reference_dir / "macau_concrete.lgb.txt")
    knobs = {"combine": "std", "tail": "clip", "standardize_target": False, "leaf_features": "path"}
    model = MacauRegressor(leaf_model, source, n_jobs=1, **knobs)
    model.fit(data["X_fit"], data["y_fit"])
    total, noise, knowledge = model.predict_uncertainty(data["X_test"])
    mine = {
        "prediction": model.predict(data["X_test"]),
        **model.score_novelty(data["X_test"])._asdict(),
        "aleatoric_std": noise,
        "epistemic_std": knowledge,
        "total_std": total,
    }
    for name, expected in zip(data["columns"], data[leaf_model].T, strict=True):
        worst = np.abs(mine[str(name)] - expected).max()
        # A constant column (inference novelty of basic leaves is 0) has to be met exactly.
        assert worst <= CLOSE * expected.std(), (leaf_model, name, worst)
