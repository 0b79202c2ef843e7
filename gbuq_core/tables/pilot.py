"""The learning rate that suits a table, from one short fit.

Boosted Gaussians overfit their variance long before their mean: 200 trees at a learning rate of 0.1
give intervals of "95 %" that hold 57 % of the rows of the diabetes table. How far to boost depends
on the table (2 to 35 in units of learning rate times trees for the tables of the papers), so a
pilot model finds the number of trees with the best likelihood on rows it has not seen, and the
learning rate is set such that the ensemble's trees reach just as far.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gbuq_core.jobs import stage
from gbuq_core.metrics import nll_classification, nll_mixture
from gbuq_core.tables.splitting import held_out_fifth

PILOT_TREES = (50, 150, 300)  # the next stop is tried when the best stage is near the last
PILOT_ROWS = 20_000
FEWEST_PILOT_ROWS = 50  # below, a fifth of them says nothing

# Members of a virtual ensemble have between half and all of the trees, so that the best stage falls
# into their middle. The gradients of a cyclical one are scaled by 10 to 1 in each cycle: half the
# rate of a virtual ensemble gave a better likelihood on all three built-in tables, for both methods
# (NLL of csglb 5.47 to 5.43, 0.090 to 0.073 and 0.175 to 0.093), a fifth of it a worse one mostly.
REACH = MappingProxyType({"independent": 1.0, "virtual": 0.75, "cyclical": 1.5})

HIGHEST_RATE = 0.3
_PILOT_RATE = 0.1
_NEAR_THE_END = 0.8  # of a pilot's trees: a best stage beyond may not be the best of more trees
_STAGE = 5  # trees between two looks at the likelihood
_SMALL_TABLE_TREES = 20
_SMALLEST_STD = 1e-6  # of the target's, as in predictions


def pilot_rate(
    pilot: Any,
    X: pd.DataFrame,
    y: NDArray[np.float64],
    n_trees: int,
    reach: float,
    seed: int,
    highest: float = HIGHEST_RATE,
) -> float:
    """The learning rate with which ``n_trees`` trees go as far as the best stage of a pilot.

    Parameters
    ----------
    pilot : unfitted ensemble
        It becomes the pilot: its knobs are used, but for those that `pilot_of` sets.
    X : DataFrame of shape (n_rows, n_features)
    y : ndarray of shape (n_rows,)
        Numbers, or class codes for a classifier. 20,000 rows take part at most, and two more for
        each class that is rare among them.
    n_trees : int
        Of the models that the rate is for.
    reach : float
        How far the members go on average, in units of ``n_trees``: one of `REACH`.
    seed : int
    highest : float
        The rate is no higher.

    Returns
    -------
    float
        At least 0.001.
    """
    best = _SMALL_TABLE_TREES
    if len(y) >= FEWEST_PILOT_ROWS:
        best = _best_stage(pilot, X, y, seed)
    return float(np.clip(_PILOT_RATE * best / (reach * n_trees), 0.001, highest))


def pilot_of(ensemble: Any) -> Any:
    """Turn an unfitted ensemble into the pilot: a single model of at most `PILOT_TREES` trees.

    The pilot of a cyclical ensemble has no cycles: it tells how far boosting goes before it
    overfits, and large steps at the start of a cycle would hide that.
    """
    if ensemble.method in ("csglb", "cbsglb"):
        ensemble.set_params(method="sglb")
    return ensemble.set_params(
        ensemble="independent", n_members=1, n_trees=PILOT_TREES[-1], learning_rate=_PILOT_RATE,
        engine="numba",
    )  # fmt: skip


def _best_stage(pilot: Any, X: pd.DataFrame, y: NDArray[np.float64], seed: int) -> int:
    """The number of trees with the best likelihood on a held-out fifth."""
    classifies = hasattr(pilot, "predict_proba")
    if len(y) > PILOT_ROWS:
        rows = _pilot_rows(y, classifies, seed)
        X, y = X.iloc[rows], y[rows]
    held = held_out_fifth(y, classifies, seed)
    pilot_of(pilot)
    target = y.astype(np.int64) if classifies else y
    best = PILOT_TREES[-1]
    for n_trees in PILOT_TREES:
        pilot.set_params(n_trees=n_trees)
        with stage(1.0, span=n_trees / sum(PILOT_TREES)):
            pilot.fit(X[~held], target[~held])
        n_stages, scores = _stage_scores(pilot, X[held], target[held], float(np.std(y)))
        best = int(n_stages[int(np.argmin(scores))])
        if best <= _NEAR_THE_END * n_trees:
            break
    return best


def _pilot_rows(y: NDArray[np.float64], classifies: bool, seed: int) -> NDArray[np.int64]:
    """Random rows for the pilot, and for each class that is rare among them two of its rows.

    A sample without one of two classes could not be learnt.
    """
    rows = np.random.default_rng(seed).choice(len(y), PILOT_ROWS, replace=False)
    if not classifies:
        return rows
    codes = y.astype(np.int64)
    n_drawn = np.bincount(codes[rows], minlength=int(codes.max()) + 1)
    added = [np.flatnonzero(codes == code)[:2] for code in np.flatnonzero(n_drawn < 2)]
    return np.unique(np.concatenate([rows, *added])) if added else rows


def _stage_scores(
    pilot: Any, X: pd.DataFrame, y: NDArray[Any], spread: float
) -> tuple[NDArray[np.int64], list[float]]:
    """Numbers of trees, and the negative log-likelihood of unseen rows after each."""
    stages = pilot.staged_members(X, every=_STAGE)
    if hasattr(pilot, "predict_proba"):
        # Rows of a class that the pilot did not meet say nothing about how far to go.
        met = np.isin(y, pilot.classes_)
        labels = np.searchsorted(pilot.classes_, y[met])
        return stages.n_trees, [nll_classification(labels, m[0][met]) for m in stages.members]
    floor = (_SMALLEST_STD * spread) ** 2
    return stages.n_trees, [
        nll_mixture(y, members[..., 0], np.maximum(members[..., 1], floor))
        for members in stages.members
    ]
