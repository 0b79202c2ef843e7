"""The estimators behind the Heteroscedastic page's methods, and what fitting them takes."""

from __future__ import annotations

from typing import Any

from gbuq_core.errors import InvalidParameter
from gbuq_core.experiments.heteroscedastic.plan import (
    LEVELS,
    METHODS,
    HeteroscedasticSettings,
    why_not,
)
from gbuq_core.methods import Builder
from gbuq_core.settings import arguments


def heteroscedastic_arguments(plan: HeteroscedasticSettings) -> dict[str, Any]:
    """All arguments of the estimator for settings of one method."""
    record, builder = METHODS[plan.method].record, builder_of(plan)
    given = {
        "levels": LEVELS,
        **arguments(plan),
        "n_jobs": 1,
    }  # so few rows that threads would wait
    given = {
        name: value
        for name, value in given.items()
        if name in builder.takes or name not in ("levels", "n_jobs", "random_state")
    }
    given |= {name: record.knob(name).default for name in builder.at_most}
    if builder.fixed.get("leaf_model") == "linear":
        given["leaf_features"] = "path"  # as in the paper
    return builder.arguments(given)


def builder_of(plan: HeteroscedasticSettings) -> Builder:
    """How the method's estimator is made, without its knobs."""
    record = METHODS[plan.method].record
    return record.builder("regression" if record.predicts else "novelty")


def heteroscedastic_model(plan: HeteroscedasticSettings) -> Any:
    """The unfitted estimator for settings of one method.

    >>> heteroscedastic_model(HeteroscedasticSettings(methods=("gnll",), subsample=0.3)).subsample
    0.3
    """
    refusal = why_not(plan)
    if refusal:
        raise InvalidParameter(refusal)
    return builder_of(plan).make(**heteroscedastic_arguments(plan))


_CURVE_ROWS = 1000  # what the grid and the calibration rows, without scores, are worth


def estimate_heteroscedastic_seconds(plan: HeteroscedasticSettings) -> float:
    """Roughly what `fit_heteroscedastic` takes on one core; 0 for a plan that is refused."""
    if why_not(plan):
        return 0.0
    costs, trees = METHODS[plan.method].record.costs, _trees(plan)
    return costs.fit_seconds(plan.rows, 1, trees) + costs.predict_seconds(_CURVE_ROWS, trees)


def estimate_measure_seconds(plan: HeteroscedasticSettings) -> float:
    """Roughly what `measure_heteroscedastic` takes on one core; 0 for a plan that is refused."""
    if why_not(plan):
        return 0.0
    rows = plan.test_rows + plan.ood_rows
    return METHODS[plan.method].record.costs.predict_seconds(rows, _trees(plan))


def _trees(plan: HeteroscedasticSettings) -> int:
    """Trees of the method; none where it has no such thing."""
    return int(arguments(plan).get("n_trees", 0))
