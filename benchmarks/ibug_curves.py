"""What fewer trees and other families do to IBUG on CatBoost: NLL and time against tau, and gains.

The model is the one that the scores chose; k, least std and calibration are found anew with
exactly the trees that count.
"""

from __future__ import annotations

import time
from typing import Any

from benchmarks.ibug_data import Rows
from gbuq_core import IBUGRegressor
from gbuq_core.ibug.search import TREE_ORDERS
from gbuq_core.metrics import nll_gaussian

SHARES = (0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0)
_MOST_TEST_ROWS = 1000  # of the curves; more rows make the means steadier, not other


def tau_curves(model: IBUGRegressor, parts: Rows) -> list[dict[str, Any]]:
    """One record for each order and share: NLL in nats and processor time in ms a row."""
    X, y = parts.X_test[:_MOST_TEST_ROWS], parts.y_test[:_MOST_TEST_ROWS]
    model.find_neighborhood(X[:8])  # compiled by now
    records = []
    for order in TREE_ORDERS:
        for share in SHARES:
            tau = max(1, round(share * model.n_trees_))
            chosen = model.setting_for("tune", n_trees_sampled=tau, tree_order=order)
            began = time.process_time()
            near = model.find_neighborhood(X, chosen.n_neighbors, tau, order)
            seconds = time.process_time() - began
            loc, scale = model.predict_distribution(near, n_neighbors=chosen.n_neighbors)
            records.append({
                "order": order, "share": share, "tau": tau, "k": chosen.n_neighbors,
                "nll": nll_gaussian(y, loc, scale), "cpu_ms": 1e3 * seconds / len(y),
            })  # fmt: skip
    return records


def family_gains(model: IBUGRegressor, parts: Rows) -> dict[str, dict[str, Any]]:
    """Test NLL of the normal, and of the family of lowest validation NLL, for both kinds of fit."""
    near = model.find_neighborhood(parts.X_test)
    on_validation = model.find_validation()
    gains = {}
    for fit in ("matched", "likelihood"):
        chosen = model.score_families(on_validation, model.y_validation_, posterior_fit=fit).best
        on_test = model.score_families(near, parts.y_test, posterior_fit=fit)
        nll = dict(zip(on_test.families, (float(value) for value in on_test.nll), strict=True))
        gains[fit] = {"chosen": chosen, "normal": nll["normal"], "nll": nll[chosen]}
    return gains
