"""How long a fit will take, from a rough count of its work.

The constants were measured on one core of a 2020s server; a page shows them as an estimate, and the
measured seconds beside them afterwards.
"""

from __future__ import annotations

from gbuq_core.boosting.plan import BoostingPlan
from gbuq_core.jobs import effective_n_jobs

_SECONDS_PER_GRADIENT = 20e-9  # gradients, noise and leaf sums: a row and output
_SECONDS_PER_COUNT = 0.8e-9  # histograms: a row, feature and output
_SECONDS_PER_CANDIDATE = 2.0e-9  # scores: a leaf, candidate and output
_SECONDS_PER_TREE = 10e-6
_CATBOOST_FACTOR = 2.0


def estimate_seconds(
    plan: BoostingPlan, n_rows: int, n_features: int, n_outputs: int, n_jobs: int | None
) -> float:
    """Seconds that a fit without merged rows takes; merging can only make it shorter."""
    levels = 0.5 * (plan.depth + 1)  # the root in full, then the smaller half of each level
    bins = n_features * min(plan.max_bins, n_rows)
    hessian = n_outputs * n_outputs if plan.newton and n_outputs > 2 else n_outputs
    per_tree = (
        _SECONDS_PER_TREE
        + _SECONDS_PER_GRADIENT * n_rows * n_outputs
        + _SECONDS_PER_COUNT * n_rows * (levels * n_features * (n_outputs + 1) + hessian)
        + _SECONDS_PER_CANDIDATE * (2**plan.depth - 1) * bins * (n_outputs + 1)
    )
    at_once = min(effective_n_jobs(n_jobs), plan.n_models)
    seconds = per_tree * plan.n_trees * plan.n_models / at_once
    return seconds * (_CATBOOST_FACTOR if plan.engine == "catboost" else 1.0)
