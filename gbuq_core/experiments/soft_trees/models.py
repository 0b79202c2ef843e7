"""The estimators behind the Soft trees page's methods, and what fitting them takes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.soft_trees.plan import (
    DEPTH_OF_SGLB,
    KEPT_SWEEPS,
    METHODS,
    SoftTreesPlan,
    why_not,
)
from gbuq_core.methods import Builder


def soft_trees_knobs(plan: SoftTreesPlan) -> dict[str, Any]:
    """Arguments of the plan's estimator, only those that its method uses."""
    if METHODS[plan.method].family == "soft":
        trees = {"n_trees": plan.trees} if plan.method == "vsgbm" else {}
        rate = {} if plan.learning_rate is None else {"learning_rate": plan.learning_rate}
        return {
            **trees,
            "depth": plan.depth,
            "leaf": plan.leaf,
            "rank": plan.rank,
            "beta": plan.beta,
            "prior_scale": plan.prior_scale,
            "n_steps": plan.steps,
            "n_restarts": plan.restarts,
            **rate,
            "random_state": plan.seed,
        }
    if plan.method == "sglb":
        return {
            "n_members": plan.members,
            "n_trees": plan.trees,
            "depth": DEPTH_OF_SGLB,
            "temperature": plan.temperature,
            "random_state": plan.seed,
        }
    if plan.method == "xbart":
        return {"n_trees": plan.trees, "n_draws": KEPT_SWEEPS, "random_state": plan.seed}
    return {"random_state": plan.seed}


def builder_of(plan: SoftTreesPlan) -> Builder:
    """How the plan's estimator is made, without its knobs."""
    return METHODS[plan.method].record.builder()


def soft_trees_model(plan: SoftTreesPlan) -> Any:
    """The unfitted estimator of a plan.

    Examples
    --------
    >>> from gbuq_core.experiments.soft_trees.plan import SoftTreesSettings, plan_soft_trees
    >>> soft_trees_model(plan_soft_trees(SoftTreesSettings(rank=500), "vst")).rank
    46
    """
    refusal = why_not(plan)
    if refusal:
        raise InvalidParameter(refusal)
    return builder_of(plan).make(**soft_trees_knobs(plan))


@lru_cache(maxsize=512)  # a press on the page asks for the same two dozen plans
def estimate_soft_trees_seconds(plan: SoftTreesPlan) -> float:
    """Roughly what `fit_soft_trees` takes on one core; 0 for a plan that is refused at once.

    Soft trees often take a third of it, as their training stops once the bound is flat.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from gbuq_core.experiments.soft_trees.plan import SoftTreesSettings, plan_soft_trees
    >>> quick = plan_soft_trees(SoftTreesSettings(steps=500), "vst")
    >>> seconds = estimate_soft_trees_seconds(quick)
    >>> estimate_soft_trees_seconds(replace(quick, steps=5000)) > 5 * seconds
    True
    """
    if why_not(plan):
        return 0.0
    rows = plan.rows if plan.rows is not None else len(plan.points or ())
    model = soft_trees_model(plan)
    if hasattr(model, "estimate_fit"):  # counts steps and depth, which a record's costs do not
        return float(model.estimate_fit(rows, 1).seconds)
    return METHODS[plan.method].record.costs.fit_seconds(rows, 1, plan.trees or 0)
