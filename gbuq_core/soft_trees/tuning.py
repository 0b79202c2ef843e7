"""Choosing the knobs of soft trees, by the ELBO or by validation rows."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.inputs import as_table, draw_seed
from gbuq_core.jobs import parallel_map, stage
from gbuq_core.soft_trees.base import SoftTrees
from gbuq_core.soft_trees.layout import DEFAULT_GRID
from gbuq_core.soft_trees.results import TunedSoftTree
from gbuq_core.validation import check_choice, check_number

SCORINGS = ("elbo", "log_score")
MAX_COMBINATIONS = 500


def tune_soft_tree(
    estimator: SoftTrees,
    X: Any,
    y: Any,
    grid: Mapping[str, Sequence[float]] | None = None,
    scoring: str = "elbo",
    validation_fraction: float = 0.2,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> TunedSoftTree:
    """Fit every combination of a grid to a part of the rows and the best to all of them.

    Parameters
    ----------
    estimator : a soft tree's estimator
        Gives all other knobs; it stays as it is.
    X : array-like (n_samples, n_features) or DataFrame
    y : array-like (n_samples,)
    grid : mapping of knob to values, optional
        `DEFAULT_GRID` without it.
    scoring : {"elbo", "log_score"}
        "elbo": the validation ELBO, the mean of the draws' own log densities at the validation
        rows less the KL to the prior for each training row; "log_score": the log of the mean
        density, without the KL.
    validation_fraction : float
        Share of the rows that are held out for the scores.
    n_jobs : int, optional
        Combinations at the same time; None means all cores.
    random_state : int, Generator, RandomState or None
        Of the split.

    Returns
    -------
    TunedSoftTree

    References
    ----------
    Cinquin et al., "Variational boosted soft trees" (2023), supplement 2.4 and table 5.

    Examples
    --------
    >>> from gbuq_core.soft_trees import VariationalSoftTreeRegressor
    >>> x = np.linspace(-1.0, 1.0, 80)[:, None]
    >>> start = VariationalSoftTreeRegressor(n_steps=200, random_state=0)
    >>> tuned = tune_soft_tree(start, x, x[:, 0] > 0, {"depth": [0, 2]}, random_state=0)
    >>> tuned.best
    {'depth': 2}
    """
    check_choice("scoring", scoring, SCORINGS)
    check_number("validation_fraction", validation_fraction, 0.01, 0.9)
    knobs = _combinations(estimator, DEFAULT_GRID if grid is None else grid)
    table, target = as_table(X), np.asarray(y)
    if target.ndim != 1 or len(target) != len(table):
        raise InvalidData(
            f"y must have one value for each of the {len(table)} rows of X; got shape "
            f"{target.shape}."
        )
    n_held = round(validation_fraction * len(table))
    if n_held < 1 or len(table) - n_held < 2:
        raise InvalidData(
            f"{len(table)} rows are too few to hold out a share of {validation_fraction:g}: pass "
            "more rows."
        )
    order = np.random.default_rng(draw_seed(random_state)).permutation(len(table))
    held, kept = np.sort(order[:n_held]), np.sort(order[n_held:])

    def score(chosen: dict[str, float]) -> tuple[float, float]:
        with stage(1, span=1):
            model = clone(estimator).set_params(**chosen)
            model.fit(table.iloc[kept], target[kept])
            rows = table.iloc[held], target[held]
            return float(model.validation_elbo(*rows)), float(model.log_score(*rows))

    with stage(len(knobs) + 1):
        with stage(len(knobs), span=len(knobs)):
            elbos, log_scores = np.array(parallel_map(score, knobs, n_jobs)).T
        scores = elbos if scoring == "elbo" else log_scores
        best = knobs[int(np.argmax(scores))]
        with stage(1, span=1):
            fitted = clone(estimator).set_params(**best).fit(X, y)
    return TunedSoftTree(best, fitted, tuple(knobs), scores, scoring, elbos, log_scores)


def _combinations(
    estimator: SoftTrees, grid: Mapping[str, Sequence[float]]
) -> list[dict[str, float]]:
    if not isinstance(estimator, SoftTrees):
        raise InvalidParameter(f"estimator must be a soft tree; got {estimator!r:.60}.")
    if not isinstance(grid, Mapping):
        raise InvalidParameter(
            "grid must give each parameter a list of values, as in {'depth': [2, 3]}; got a "
            f"{type(grid).__name__}."
        )
    known = estimator.get_params()
    for name, values in grid.items():
        if name not in known:
            raise InvalidParameter(
                f"grid names {name!r}, but {type(estimator).__name__} has no such parameter."
            )
        if not isinstance(values, list | tuple | np.ndarray):
            raise InvalidParameter(
                f"grid must have a list of values for {name!r}; got {values!r:.60}."
            )
        if len(values) == 0:
            raise InvalidParameter(f"grid has no value for {name!r}: give at least one.")
    tries = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
    if len(tries) > MAX_COMBINATIONS:
        raise InvalidParameter(
            f"grid has {len(tries)} combinations, but at most {MAX_COMBINATIONS} are tried: "
            "give fewer values."
        )
    return tries
