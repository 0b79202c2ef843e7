"""The heart's methods and settings, and what a fit depends on.

Malinin, Prokhorenkova and Ustimenko, "Uncertainty in gradient boosting via ensembles", section 4;
forests from appendix C.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gbuq_core.experiments.ensembles import ensemble_methods
from gbuq_core.jobs import effective_n_jobs
from gbuq_core.validation import check_choice

FOREST_DEPTH = 10  # the paper's

# Seconds on one core of a 2020s server, for the estimate before a fit. The records' own costs are
# for rows that differ: here they fall into 81 cells, which training merges.
_SECONDS_PER_TREE = 25e-6
_SECONDS_PER_DRAWN_ROW = 4.5e-9  # and tree: subsampling draws every row anew
_SECONDS_PER_CATBOOST_ROW = 1.6e-7  # and tree, categories one-hot
_SECONDS_PER_FOREST_TREE = 6e-3


METHODS = ensemble_methods(
    "regression", ("sgb", "sglb", "virtual_sglb", "vrf", "catboost", "virtual_catboost")
)


@dataclass(frozen=True, kw_only=True)
class HeartSettings:
    """Everything that the maps depend on. The defaults are the paper's."""

    methods: tuple[str, ...] = ("sglb", "virtual_sglb")  # keys of `METHODS`
    # `rows`, `noise`, `seed`: as `n_per_cell`, `noise` and `random_state` of `make_heart`; the seed
    # is the models' too
    rows: int = 1000
    noise: float = 0.01
    seed: int = 0
    # Painted cells, numbered from 0 row by row. A filled cell loses its rows; an empty one gets
    # some.
    cells: tuple[int, ...] = ()
    # `members`, `trees`, `depth`: Of each ensemble. A virtual ensemble has a member for each
    # truncation. A forest of `trees` trees of depth 10 is split into `members` groups.
    members: int = 10
    trees: int = 1000
    depth: int = 6
    # `rate`, `rate_sgb`: learning rates of the SGLB methods and of SGB
    rate: float = 0.3
    rate_sgb: float = 0.1
    # "catboost" (the number of rows), "posterior" (1) or a number
    temperature: str | float = "catboost"
    # Langevin noise in the leaves as well as in the choice of splits; the numba engine only. None
    # leaves it to the temperature, as `gbuq_core.BoostedEnsembleRegressor` does.
    leaf_noise: bool | None = None
    # `step`, `start`: truncation step K and start of virtual ensembles
    step: int = 50
    start: float = 0.5
    # How many members count: the first models, or the last truncations. None: all.
    shown: int | None = None


@dataclass(frozen=True, kw_only=True)
class HeartPlan:
    """What one method's fit depends on, and nothing else. It is the key of the fit's result.

    Fields that the method does not use are None, so that changing them retrains nothing.
    """

    method: str
    rows: int
    noise: float
    seed: int
    cells: tuple[int, ...]
    members: int
    trees: int
    depth: int | None
    rate: float | None
    temperature: str | float | None
    leaf_noise: bool | None


def plan_heart(settings: HeartSettings, method: str) -> HeartPlan:
    """What a method's fit depends on.

    >>> slow, quick = HeartSettings(step=10), HeartSettings(step=100)
    >>> plan_heart(slow, "virtual_sglb") == plan_heart(quick, "virtual_sglb")
    True
    """
    kind = METHODS[check_choice("method", method, tuple(METHODS))]
    numba_sglb = kind.langevin and kind.engine == "numba"
    return HeartPlan(
        method=method,
        rows=settings.rows,
        noise=settings.noise,
        seed=settings.seed,
        cells=tuple(sorted(set(settings.cells))),
        members=1 if kind.virtual else settings.members,
        trees=settings.trees,
        depth=settings.depth if kind.boosting else None,
        rate={"sgb": settings.rate_sgb, "sglb": settings.rate}.get(kind.boosting),
        temperature=settings.temperature if kind.langevin else None,
        leaf_noise=settings.leaf_noise if numba_sglb else None,
    )


def heart_estimator(plan: HeartPlan) -> Any:
    """The unfitted estimator of a plan.

    >>> heart_estimator(plan_heart(HeartSettings(rate=0.2), "sglb")).learning_rate
    0.2
    """
    kind = METHODS[plan.method]
    if not kind.boosting:
        return kind.make(
            {
                "n_groups": plan.members,
                "trees_per_group": max(1, plan.trees // plan.members),
                "max_depth": FOREST_DEPTH,
                "random_state": plan.seed,
            }
        )
    knobs: dict[str, Any] = {
        "n_members": plan.members,
        "n_trees": plan.trees,
        "depth": plan.depth or 1,
        "learning_rate": plan.rate,
        "categorical_features": [0, 1],
        "random_state": plan.seed,
    }
    if kind.langevin:
        knobs["temperature"] = plan.temperature
    if plan.leaf_noise is not None:
        knobs["leaf_noise"] = plan.leaf_noise
    return kind.make(knobs)


def estimate_heart_seconds(plan: HeartPlan) -> float:
    """Roughly what `fit_heart` takes on this machine's cores.

    >>> estimate_heart_seconds(plan_heart(HeartSettings(), "catboost")) > 20
    True
    """
    kind, n_cores = METHODS[plan.method], effective_n_jobs(None)
    n_rows = 64 * plan.rows
    if not kind.boosting:
        return plan.trees * _SECONDS_PER_FOREST_TREE * (0.1 + plan.rows / 1000) / n_cores
    per_tree = _SECONDS_PER_TREE
    if kind.boosting == "sgb":
        per_tree += _SECONDS_PER_DRAWN_ROW * n_rows
    if kind.engine == "catboost":  # which has threads of its own
        return plan.members * plan.trees * (2e-4 + _SECONDS_PER_CATBOOST_ROW * n_rows / n_cores)
    return plan.members * plan.trees * per_tree / min(n_cores, plan.members)
