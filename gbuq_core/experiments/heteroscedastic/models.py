"""The estimators behind the Heteroscedastic page's methods, and what fitting them takes."""

from __future__ import annotations

from typing import Any

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.heteroscedastic.plan import (
    ARGUMENTS,
    LEVELS,
    METHODS,
    HeteroscedasticPlan,
    MeasurePlan,
    why_not,
)
from gbuq_core.methods import Builder


def heteroscedastic_knobs(plan: HeteroscedasticPlan) -> dict[str, Any]:
    """Arguments of the plan's estimator, only those that its method uses."""
    record = METHODS[plan.method].record
    builder = record.builder(_task(plan))
    knobs: dict[str, Any] = {"levels": LEVELS} if "levels" in builder.takes else {}
    values = {argument: getattr(plan, name) for name, argument in ARGUMENTS.items()}
    knobs |= {name: value for name, value in values.items() if value is not None}
    knobs |= {name: record.knob(name).default for name in builder.at_most}
    if builder.fixed.get("leaf_model") == "linear":
        knobs["leaf_features"] = "path"  # as in the paper
    if "n_jobs" in builder.takes:
        knobs["n_jobs"] = 1  # so few rows that threads would wait for each other
    if "random_state" in builder.takes:
        knobs["random_state"] = plan.seed
    return builder.arguments(knobs)


def builder_of(plan: HeteroscedasticPlan) -> Builder:
    """How the plan's estimator is made, without its knobs."""
    return METHODS[plan.method].record.builder(_task(plan))


def _task(plan: HeteroscedasticPlan) -> str:
    return "regression" if METHODS[plan.method].record.predicts else "novelty"


def heteroscedastic_model(plan: HeteroscedasticPlan) -> Any:
    """The unfitted estimator of a plan.

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
    return builder_of(plan).make(**heteroscedastic_knobs(plan))


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
    costs, trees = METHODS[plan.method].record.costs, plan.trees or 0
    return costs.fit_seconds(plan.rows, 1, trees) + costs.predict_seconds(_CURVE_ROWS, trees)


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
    rows = measure.test_rows + measure.ood_rows
    return METHODS[plan.method].record.costs.predict_seconds(rows, plan.trees or 0)
