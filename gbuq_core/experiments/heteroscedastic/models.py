"""The estimators behind the Heteroscedastic page's methods, and what fitting them takes."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.heteroscedastic.plan import (
    LEVELS,
    HeteroscedasticPlan,
    MeasurePlan,
    why_not,
)

_CONFORMAL = "gbuq_core.baselines.conformal"
_BOOSTED = "gbuq_core.baselines.boosted_distributions"
_ISOLATION = "gbuq_core.baselines.isolation"
MODEL_CLASSES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "macau_linear": ("gbuq_core.macau", "MacauRegressor"),
        "macau_basic": ("gbuq_core.macau", "MacauRegressor"),
        "forest": ("gbuq_core.baselines.interval_regressor", "ForestVarianceRegressor"),
        "quantile": ("gbuq_core.baselines.quantiles", "QuantileForestRegressor"),
        "conformal_forest": (_CONFORMAL, "ConformalRegressor"),
        "conformal_linear": (_CONFORMAL, "ConformalRegressor"),
        "cqr": (_CONFORMAL, "ConformalizedQuantileRegressor"),
        "gnll": ("gbuq_core.baselines.gaussian_nll", "GaussianNLLRegressor"),
        "ngboost": (_BOOSTED, "NGBoostRegressor"),
        "catboost": (_BOOSTED, "CatBoostUncertaintyRegressor"),
        "isolation": (_ISOLATION, "IsolationForestScore"),
        "distance": (_ISOLATION, "DistanceScore"),
    }
)
_FIXED: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "macau_linear": {"leaf_model": "linear"},
        "macau_basic": {"leaf_model": "basic"},
        "conformal_forest": {"model": "forest", "levels": LEVELS},
        "conformal_linear": {"model": "linear", "levels": LEVELS},
        "cqr": {"levels": LEVELS},
    }
)
_MEMBERS = 10  # of CatBoost's virtual ensemble, and what fewer trees have room for


def heteroscedastic_knobs(plan: HeteroscedasticPlan) -> dict[str, Any]:
    """Arguments of the plan's estimator, only those that its method uses."""
    knobs: dict[str, Any] = dict(_FIXED.get(plan.method, {}))
    names = {
        "n_trees": plan.trees,
        "max_leaves": plan.max_leaves,
        "min_child_samples": plan.min_child_samples,
        "subsample": plan.subsample,
    }
    knobs |= {name: value for name, value in names.items() if value is not None}
    if plan.method == "catboost" and plan.trees is not None:
        knobs["n_members"] = max(2, min(_MEMBERS, plan.trees // 2))
    if plan.method != "ngboost":
        knobs["n_jobs"] = 1  # so few rows that threads would wait for each other
    if plan.method != "distance":
        knobs["random_state"] = plan.seed
    return knobs


def heteroscedastic_model(plan: HeteroscedasticPlan) -> Any:
    """The unfitted estimator of a plan.

    Raises
    ------
    InvalidParameter
        With the sentence of `why_not`, if there is no such model.

    Examples
    --------
    >>> from gbuq_core.experiments.heteroscedastic.plan import (
    ...     HeteroscedasticSettings, plan_heteroscedastic
    ... )
    >>> settings = HeteroscedasticSettings(subsample=0.3)
    >>> heteroscedastic_model(plan_heteroscedastic(settings, "gnll")).subsample
    0.3
    """
    refusal = why_not(plan)
    if refusal:
        raise InvalidParameter(refusal)
    module, name = MODEL_CLASSES[plan.method]
    return getattr(importlib.import_module(module), name)(**heteroscedastic_knobs(plan))


# Seconds on one core of a 2020s server: for a fit, for each of its trees, for each tree and row.
_FIT_SECONDS: Mapping[str, tuple[float, float, float]] = MappingProxyType(
    {
        "macau_linear": (0.02, 0.0, 1.4e-6),
        "macau_basic": (0.02, 0.0, 1.3e-6),
        "forest": (0.02, 3e-4, 2e-7),
        "quantile": (0.01, 2.5e-3, 8e-7),
        "conformal_forest": (0.05, 3e-4, 2e-7),
        "conformal_linear": (0.01, 0.0, 0.0),
        "cqr": (0.01, 2.2e-3, 7e-7),
        "gnll": (0.02, 3e-4, 2e-7),
        "ngboost": (0.05, 1.6e-2, 1.8e-6),
        "catboost": (0.02, 3e-4, 1e-7),
        "isolation": (0.02, 2.3e-3, 0.0),
        "distance": (0.01, 0.0, 0.0),
    }
)
# And of predicting and scoring: for each row, and for each tree and row.
_ROW_SECONDS: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "macau_linear": (0.0, 1.5e-6),
        "macau_basic": (0.0, 1.2e-6),
        "forest": (0.0, 1.5e-7),
        "quantile": (0.0, 5e-7),
        "conformal_forest": (2e-6, 1e-7),
        "conformal_linear": (2e-6, 0.0),
        "cqr": (5e-6, 5e-7),
        "gnll": (0.0, 7e-8),
        "ngboost": (0.0, 4e-7),
        "catboost": (2e-6, 0.0),
        "isolation": (0.0, 1e-7),
        "distance": (2e-6, 0.0),
    }
)
_CURVE_ROWS = 1000  # what the grid and the calibration rows, without scores, are worth


def estimate_heteroscedastic_seconds(plan: HeteroscedasticPlan) -> float:
    """Roughly what `fit_heteroscedastic` takes on one core; 0 for a plan that is refused at once.

    Examples
    --------
    >>> from gbuq_core.experiments.heteroscedastic.plan import (
    ...     HeteroscedasticSettings, plan_heteroscedastic
    ... )
    >>> quick = plan_heteroscedastic(HeteroscedasticSettings(trees=20), "macau_linear")
    >>> seconds = estimate_heteroscedastic_seconds(quick)
    >>> estimate_heteroscedastic_seconds(quick._replace(trees=200)) > 5 * seconds
    True
    """
    if why_not(plan):
        return 0.0
    base, tree, tree_row = _FIT_SECONDS[plan.method]
    trees = plan.trees or 0
    return base + trees * (tree + plan.rows * tree_row) + _row_seconds(plan, _CURVE_ROWS)


def estimate_measure_seconds(plan: HeteroscedasticPlan, measure: MeasurePlan) -> float:
    """Roughly what `measure_heteroscedastic` takes on one core; 0 for a plan that is refused.

    Examples
    --------
    >>> from gbuq_core.experiments.heteroscedastic.plan import (
    ...     HeteroscedasticSettings, plan_heteroscedastic, plan_measure
    ... )
    >>> settings = HeteroscedasticSettings()
    >>> plan = plan_heteroscedastic(settings, "gnll")
    >>> estimate_measure_seconds(plan, plan_measure(settings)) < 1.0
    True
    """
    if why_not(plan):
        return 0.0
    return _row_seconds(plan, measure.test_rows + measure.ood_rows)


def _row_seconds(plan: HeteroscedasticPlan, rows: int) -> float:
    row, tree_row = _ROW_SECONDS[plan.method]
    return rows * (row + (plan.trees or 0) * tree_row)
