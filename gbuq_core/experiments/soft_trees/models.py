"""The estimators behind the Soft trees page's methods, and what fitting them takes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.soft_trees.plan import (
    METHODS,
    SoftTreesSettings,
    why_not,
)
from gbuq_core.methods import Builder
from gbuq_core.settings import arguments

# What no knob of the page moves: SGLB's depth, and how many sweeps of XBART are kept as draws.
_FIXED: dict[str, dict[str, Any]] = {"sglb": {"depth": 3}, "xbart": {"n_draws": 100}}


def soft_trees_arguments(plan: SoftTreesSettings) -> dict[str, Any]:
    """All arguments of the plan's estimator."""
    return builder_of(plan).arguments({**_FIXED.get(plan.method, {}), **arguments(plan)})


def builder_of(plan: SoftTreesSettings) -> Builder:
    """How the plan's estimator is made, without its knobs."""
    return METHODS[plan.method].record.builder()


def soft_trees_model(plan: SoftTreesSettings) -> Any:
    """The unfitted estimator of a plan."""
    refusal = why_not(plan)
    if refusal:
        raise InvalidParameter(refusal)
    return builder_of(plan).make(**soft_trees_arguments(plan))


@lru_cache(maxsize=512)  # a press on the page asks for the same two dozen plans
def estimate_soft_trees_seconds(plan: SoftTreesSettings) -> float:
    """Roughly what `fit_soft_trees` takes on one core; 0 for a plan that is refused at once."""
    if why_not(plan):
        return 0.0
    model = soft_trees_model(plan)
    if hasattr(model, "estimate_fit"):  # counts steps and depth, which a record's costs do not
        return float(model.estimate_fit(plan.n_rows, 1).seconds)
    trees = soft_trees_arguments(plan).get("n_trees", 0)
    return METHODS[plan.method].record.costs.fit_seconds(plan.n_rows, 1, trees)
