"""Where the models of a scored table stop, chosen on rows that they did not learn from.

No fit is made for this: the models of a protocol judge unseen rows anyway, and these rows choose
the two clocks of `gbuq_core.calibration`.

All unseen rows together choose the numbers of trees, once for the table: of all folds, of judging
and of the model that scores a second file. Knowledge uncertainty grows and shrinks with the number
of trees, so rows of folds that stopped elsewhere could not be compared. What makes intervals wide
enough and probabilities honest is chosen by other rows than those it is used for: the unseen rows
are in groups (the folds, or the two halves of a held-out fifth), and each group has the factor and
the tails that the other groups chose. The temperature of classes scales knowledge uncertainty too;
a fold's rows are dealt into parts for it, so that it is chosen by nearly all rows and differs
little. In a split by time, nothing about a group is chosen by later ones: each has the clocks that
the earlier groups chose, and its knowledge uncertainty may have another size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gbuq_core.boosting.stopping import class_clocks_of, class_stages, clocks_of, regression_stages
from gbuq_core.calibration import ClassClocks, ClassStages, Clocks, Stages
from gbuq_core.calibration.clocks import (
    join_class_stages,
    join_stages,
    refit_factor,
    refit_temperature,
)
from gbuq_core.jobs import parallel_map
from gbuq_core.presentation import short
from gbuq_core.tables.cleaning import Prepared
from gbuq_core.tables.plan import MEMBERS, ScorePlan
from gbuq_core.tables.predicting import is_on_log_scale
from gbuq_core.tables.splitting import assign_groups

TAILS = "student"
MOST_CHOOSING = 4000  # rows of all groups: more change the choice little and take much time
_FEWEST_CHOOSING = 4  # rows
# Parts of a fold of classes: many of a small table, where a fifth of the rows changes most.
_ROWS_TO_PART, _MOST_PARTS, _FEWEST_TO_DEAL = 2400, 10, 20
_MOST_CLASS_VALUES = 100_000  # log probabilities of one stage: members x rows x classes


class TableClocks(NamedTuple):
    """What a table's unseen rows chose."""

    whole: Clocks | ClassClocks  # by all of them together
    # For each part of each group, in their order: the same numbers of trees with the factor and the
    # tails, or the temperature, that the rows outside of the part chose. In a split by time, all
    # that the earlier groups chose.
    crossed: tuple[Clocks | ClassClocks, ...]


class UnseenRows(NamedTuple):
    """A group of rows that choose: a fitted ensemble, and rows that it did not learn from."""

    estimator: Any
    rows: NDArray[np.int64]
    part: NDArray[np.int64] | None = None  # of the group that each row is in; None: all in one


def halves(held: NDArray[np.bool_], prepared: Prepared, seed: int) -> NDArray[np.int64]:
    """Held-out rows in halves 0 and 1, groups whole and shares of classes the same; others -1."""
    split = prepared.split
    if split is not None and len(np.unique(split.codes[held])) > 1:
        y, n_classes = np.where(held, prepared.y, np.nan), len(prepared.target.classes)
        return np.where(held, assign_groups(split.codes, y, n_classes, seed, 2), -1)
    half = np.full(len(held), -1, dtype=np.int64)
    half[held] = deal(np.flatnonzero(held), prepared, seed, 2)
    return half


def n_parts(prepared: Prepared) -> int:
    """How many parts each fold of a table is dealt into; 1 for a regression or groups."""
    if not prepared.target.classes or prepared.split is not None:
        return 1
    n_known = int(prepared.known.sum())
    most = max(1, min(_MOST_PARTS, n_known // _FEWEST_TO_DEAL))
    return int(np.clip(_ROWS_TO_PART // max(1, n_known), 1, most))


def deal(
    rows: NDArray[np.int64], prepared: Prepared, seed: int, n_groups: int
) -> NDArray[np.int64]:
    """A group for each of these rows, with the same shares of classes."""
    order = np.random.default_rng((seed, 5)).permutation(len(rows))
    if prepared.target.classes:
        order = order[np.argsort(prepared.y[rows[order]], kind="stable")]
    group = np.empty(len(rows), dtype=np.int64)
    group[order] = np.arange(len(rows)) % n_groups
    return group


def choose_table_clocks(
    groups: Sequence[UnseenRows],
    prepared: Prepared,
    plan: ScorePlan,
    earlier_only: bool = False,
) -> TableClocks | None:
    """The table's clocks and those of each group, or None if too few rows are there to choose."""
    most = _most_rows(plan, prepared) // len(groups)
    choosing = [_sample(group, prepared, most, plan.seed) for group in groups]
    counts = [len(group.rows) for group in choosing]
    fewest = counts[0] if earlier_only else sum(counts) - max(counts)
    if fewest < _FEWEST_CHOOSING:
        return None
    jobs = plan.n_jobs
    stages: list[Any] = parallel_map(lambda group: _stages(group, prepared), choosing, jobs)
    if earlier_only:
        whole, *earlier = parallel_map(
            _choose, [stages, *(stages[:k] for k in range(1, len(stages)))], jobs
        )
        return TableClocks(whole, tuple(earlier))
    # The part of each row that chose, counted over all groups.
    numbers, n_all = [], 0
    for group, given in zip(choosing, groups, strict=True):
        numbers.append(
            n_all + (np.zeros(len(group.rows), int) if group.part is None else group.part)
        )
        n_all += 1 if given.part is None else int(given.part.max(initial=0)) + 1
    number = np.concatenate(numbers)
    whole = _choose(stages)

    def cross(k: int) -> Clocks | ClassClocks:
        others = joined.rows(number != k)
        if isinstance(whole, ClassClocks):
            return refit_temperature(others, whole)
        return refit_factor(others, whole, TAILS)

    joined: Any = (join_class_stages if prepared.target.classes else join_stages)(stages)
    return TableClocks(whole, tuple(parallel_map(cross, range(n_all), jobs)))


def _choose(parts: list[Any]) -> Clocks | ClassClocks:
    """What the rows of all parts choose together."""
    if isinstance(parts[0], ClassStages):
        return class_clocks_of(parts, "two_clocks")
    return clocks_of(parts, "two_clocks", TAILS)


def describe_clocks(clocks: Clocks | ClassClocks, n_trees: int) -> str:
    """What was chosen, in one sentence; a second one if all trees were best."""
    where = "(chosen on rows the models had not seen)"
    if isinstance(clocks, ClassClocks):
        sentence = (
            f"The models use {clocks.last:,} of {n_trees:,} trees, and the logits are divided by "
            f"{short(clocks.temperature)} {where}."
        )
    else:
        sentence = (
            f"The mean uses {clocks.mean_trees:,} trees and the spread {clocks.scale_trees:,}; "
            f"stds are multiplied by {short(clocks.factor)} {where}."
        )
    if clocks.last >= n_trees:
        sentence += f" All {n_trees:,} trees are in use: more trees may be better still."
    return sentence


def _most_rows(plan: ScorePlan, prepared: Prepared) -> int:
    """How many rows choose."""
    n_classes = len(prepared.target.classes)
    if not n_classes:
        return MOST_CHOOSING
    n_members = MEMBERS if plan.one_model else plan.members
    return min(MOST_CHOOSING, max(1000, _MOST_CLASS_VALUES // (n_members * n_classes)))


def _sample(group: UnseenRows, prepared: Prepared, most: int, seed: int) -> UnseenRows:
    """At most so many of a group's rows; none of a class that its model never met."""
    place = np.arange(len(group.rows))
    if prepared.target.classes:
        place = place[np.isin(prepared.y[group.rows], group.estimator.classes_)]
    if len(place) > most:
        place = np.sort(np.random.default_rng((seed, 6)).choice(place, most, replace=False))
    part = None if group.part is None else group.part[place]
    return group._replace(rows=group.rows[place], part=part)


def _stages(group: UnseenRows, prepared: Prepared) -> Stages | ClassStages:
    """What the group's model says about its rows at every number of trees to try."""
    estimator, rows = group.estimator, group.rows
    X, y = prepared.X.iloc[rows], prepared.y[rows]
    n_classes = len(prepared.target.classes)
    if not n_classes:
        # Of a target on a log scale, its logarithm chooses.
        return regression_stages(estimator, X, np.log(y) if is_on_log_scale(estimator) else y)
    met = np.asarray(estimator.classes_, dtype=np.int64)
    steps = class_stages(estimator, X, np.searchsorted(met, y), len(met))
    wide = []
    for log_p in steps.log_probabilities:
        # Folds whose models met other classes are joined: a class never met has probability 0.
        every = np.full((*log_p.shape[:2], n_classes), -np.inf)
        every[..., met] = log_p
        wide.append(every)
    return ClassStages(n_trees=steps.n_trees, log_probabilities=tuple(wide), codes=met[steps.codes])
