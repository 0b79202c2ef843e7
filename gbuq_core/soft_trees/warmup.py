"""Compile, or load from the cache, the kernels that a first soft tree needs."""

from __future__ import annotations

import numpy as np

from gbuq_core.soft_trees.regressor import VariationalSoftTreeRegressor


def warm_up() -> None:
    """Fit a tiny tree with the default output and draw from it, so that no user waits.

    Half a minute the first time ever, well under a second with a warm cache. Means and classes
    have kernels of their own, compiled when somebody first asks for them.

    Examples
    --------
    >>> warm_up()
    """
    x = np.linspace(-1.0, 1.0, 8)[:, None]
    tree = VariationalSoftTreeRegressor(
        depth=1, n_steps=2, n_restarts=1, n_draws=2, random_state=0, n_jobs=1
    ).fit(x, x[:, 0])
    tree.predict_uncertainty(x)
    tree.log_score(x, x[:, 0])
    tree.tree_picture(x)
