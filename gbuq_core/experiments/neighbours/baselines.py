"""What IBUG is set beside: Euclidean neighbours, virtual SGLB, and their average with IBUG.

Brophy and Lowd (IBUG, 2022), section 5.2 and appendix C.2. All hold out the same rows to tune on.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from gbuq_core.baselines import AveragingRegressor, EuclideanNeighborsRegressor
from gbuq_core.boosting import BoostedEnsembleRegressor
from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.neighbours.data import load_neighbours_data
from gbuq_core.experiments.neighbours.fit import Array
from gbuq_core.experiments.neighbours.plan import (
    SCORINGS,
    VALIDATION_FRACTION,
    NeighboursSettings,
    neighbours_model,
    why_not,
)
from gbuq_core.validation import check_choice

FITTED = ("knn", "knn_cb", "cbu")
_WITH_IMPORTANCES = ("lightgbm", "catboost", "xgboost")
_FEWEST_TREES, _MEMBERS = 200, 20  # of virtual SGLB, whose later half of members counts


class BaselineFit(NamedTuple):
    """A baseline's predictions in units of y, and what it cost.

    key : str; loc, scale : (n_test,); grid_loc, grid_scale : (n_grid,) or None; seconds : float, of
    the fit with its tuning; memory_bytes : int, what the fitted baseline holds.
    """

    key: str
    loc: Array
    scale: Array
    grid_loc: Array | None
    grid_scale: Array | None
    seconds: float
    memory_bytes: int


def needed_fits(baselines: tuple[str, ...]) -> tuple[str, ...]:
    """Which fits the chosen baselines take: their average with IBUG takes that of virtual SGLB."""
    wanted = {"cbu" if key == "ibug_cbu" else key for key in baselines}
    return tuple(key for key in FITTED if key in wanted)


def why_no_baseline(plan: NeighboursSettings, key: str) -> str:
    """Why a baseline cannot be fitted to a plan, in a sentence; empty if it can."""
    if key == "knn_cb" and plan.library not in _WITH_IMPORTANCES:
        return (
            f"kNN-CB uses the most important features, but {plan.base.label} "
            "reports no importances: choose CatBoost, LightGBM or XGBoost."
        )
    return why_not(plan)


def fit_baseline(plan: NeighboursSettings, key: str, scoring: str = "nll") -> BaselineFit:
    """Fit one baseline on the plan's rows and predict the test rows and the grid."""
    check_choice("baseline", key, FITTED)
    check_choice("scoring", scoring, SCORINGS)
    refusal = why_no_baseline(plan, key)
    if refusal:
        raise InvalidParameter(refusal)
    data = load_neighbours_data(plan.data, plan.rows, plan.noise, plan.seed)
    model = baseline_model(plan, key, scoring)
    began = time.perf_counter()
    model.fit(data.X, data.y)
    seconds = time.perf_counter() - began
    loc, scale = model.predict_distribution(data.X_test)
    grid_loc = grid_scale = None
    if data.grid is not None:
        grid_loc, grid_scale = model.predict_distribution(data.grid)
    held = data.X.nbytes + data.y.nbytes
    if key == "cbu":
        held = int(model.estimators_[0].memory_bytes_)
    return BaselineFit(key, loc, scale, grid_loc, grid_scale, seconds, held)


def baseline_model(plan: NeighboursSettings, key: str, scoring: str) -> Any:
    """The unfitted baseline."""
    shared: dict[str, Any] = {
        "scoring": scoring,
        "validation_fraction": VALIDATION_FRACTION,
        "random_state": plan.seed,
    }
    if key == "cbu":
        return AveragingRegressor(
            [("sglb", BoostedEnsembleRegressor(**virtual_knobs(plan)))], **shared
        )
    base = neighbours_model(plan) if key == "knn_cb" else None
    return EuclideanNeighborsRegressor(base, **shared)


def virtual_knobs(plan: NeighboursSettings) -> dict[str, Any]:
    """Arguments of virtual SGLB: as many trees as the base model or 200, truncated to ten members.

    >>> virtual_knobs(NeighboursSettings(trees=400))["truncation_step"]
    20
    """
    n_trees = max(plan.trees, _FEWEST_TREES)
    return {
        "stopping": None,
        "method": "sglb",
        "ensemble": "virtual",
        "n_trees": n_trees,
        "truncation_step": n_trees // _MEMBERS,
        "depth": plan.depth,
        "learning_rate": plan.rate,
        "random_state": plan.seed,
    }
