"""Would more rows help? A table's learning curve, and a verdict that says when it does not know.

The model is trained again on an eighth, a quarter, a half and all of four fifths of the rows, and
judged on the fifth that is left. A repeat is one such fifth with a random order of the other rows,
whose beginnings are the smaller sets. Five repeats leave each row out once.

The verdict and its standard errors: `gbuq_core.metrics.LearningCurve`.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gbuq_core.errors import InvalidData
from gbuq_core.jobs import check_memory, parallel_map, stage
from gbuq_core.metrics.learning import ALL_ROWS, LearningCurve, by_name, group_means
from gbuq_core.tables.cleaning import Prepared
from gbuq_core.tables.plan import N_FOLDS
from gbuq_core.tables.predicting import assign_folds
from gbuq_core.tables.scoring import ScoredTable, judge_rows_left_out
from gbuq_core.tables.settling import one_thread_a_fit, scoring_bytes
from gbuq_core.tables.splitting import assign_groups, check_left
from gbuq_core.validation import check_number

FEWEST_ROWS = 100
N_REPEATS = 10
_SHARES = (0.125, 0.25, 0.5, 1.0)
_FEWEST_LEARNT = 20


def learning_curve(scored: ScoredTable, n_repeats: int = N_REPEATS) -> LearningCurve:
    r"""Train on more and more rows of a scored table's first file, with the plan that scored it.

    Reports progress to the current job and stops once nobody wants the result.

    Parameters
    ----------
    scored : ScoredTable
    n_repeats : int
        Fits are four times as many.

    Raises
    ------
    InvalidData
        If fewer than 100 rows have a target, or the table is split by time.

    References
    ----------
    Perlich, Provost and Simonoff (2003) on learning curves of trees; Nadeau and Bengio (2003) on
    standard errors of repeats that share rows.

    Examples
    --------
    >>> from gbuq_core.tables import ScorePlan, learning_curve, read_table, score_table
    >>> rng = np.random.default_rng(0)
    >>> rows = "\n".join(f"{x:.3f},{rng.normal():.3f}" for x in rng.normal(size=120))
    >>> table = read_table(f"x,y\n{rows}\n".encode())
    >>> scored = score_table(table, "y", plan=ScorePlan(method="sglb", n_trees=20))
    >>> curve = learning_curve(scored, n_repeats=2)
    >>> curve.sizes.tolist(), curve.error.shape
    ([24, 48, 96], (2, 3, 1))
    """
    began = time.perf_counter()
    check_number("n_repeats", n_repeats, 2, 100, integer=True)
    training, plan = scored.training, scored.plan
    n_known = int(training.known.sum())
    if n_known < FEWEST_ROWS:
        raise InvalidData(
            f"{n_known} rows have a target. A learning curve takes {FEWEST_ROWS}: below that, the "
            "smaller sets are too small to learn from."
        )
    if training.split is not None and training.split.by == "time":
        raise InvalidData(
            "The rows are split by time, so fewer rows would also be older rows: choose a random "
            "split or a split by group to see a learning curve."
        )
    check_memory(scoring_bytes(training, plan), "these fits")
    is_class = bool(training.target.classes)
    repeats = [_repeat(training, plan.seed, number) for number in range(n_repeats)]
    n_most = min(len(order) for _, order in repeats)
    sizes = np.array([int(share * n_most) for share in _SHARES])
    sizes = sizes[sizes >= _FEWEST_LEARNT]

    def run(task: tuple[int, int]) -> NDArray[np.float64]:
        number, size = task
        held, order = repeats[number]
        own = replace(plan, seed=(plan.seed + number) % 2**31)
        with stage(1.0, span=float(size)):
            judged = judge_rows_left_out(training, own, order[:size], held)
        y = training.y[held]
        wrong = (judged.loc != y).astype(np.float64) if is_class else (judged.loc - y) ** 2
        return np.stack([wrong, judged.nll, judged.uncertainty.knowledge, judged.uncertainty.data])

    # The largest first, so that no core waits at the end.
    tasks = [(number, int(size)) for size in sizes[::-1] for number in range(n_repeats)]
    with stage(float(n_repeats * sizes.sum())):
        made = parallel_map(run, tasks, plan.n_jobs if one_thread_a_fit(plan) else 1)
    of_rows = tuple(np.stack(made[number::n_repeats][::-1], axis=1) for number in range(n_repeats))
    means = [
        group_means(values, np.empty((values.shape[2], 0), np.bool_), is_class)
        for values in of_rows
    ]
    return LearningCurve(
        sizes=sizes,
        names=(ALL_ROWS,),
        n_rows=np.array([n_known]),
        **by_name(means),
        is_class=is_class,
        seconds=time.perf_counter() - began,
        left_out=tuple(np.flatnonzero(held) for held, _ in repeats),
        of_rows=of_rows,
    )


def _repeat(
    training: Prepared, seed: int, number: int
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Which rows a repeat leaves out, and the other ones in the order in which they are added.

    Of classes, one row each comes first and the others in shares that stay the same. With a split
    by group, groups are left out and added as a whole.
    """
    y, by_class = training.y, bool(training.target.classes)
    codes = np.where(np.isnan(y), 0, y).astype(np.int64) if by_class else None
    alone = np.zeros(len(y), bool)
    if codes is not None:  # a class of one row is never left out
        alone = np.bincount(codes[training.known], minlength=codes.max() + 1)[codes] == 1
    usable = np.where(alone, np.nan, y)
    groups = None if training.split is None else training.split.codes
    n_classes = len(training.target.classes)

    def deal(own: int) -> NDArray[np.int64]:
        if groups is None:
            return assign_folds(usable, by_class, own)
        return assign_groups(groups, usable, n_classes, own, N_FOLDS)

    n_folds = int(deal(seed).max()) + 1
    round_, fold = divmod(number, n_folds)
    held = training.known & ~alone & (deal(seed + 1000 * round_) == fold)
    rng = np.random.default_rng((seed, 23, number))
    order = rng.permutation(np.flatnonzero(training.known & ~held))
    if groups is not None:
        check_left(y, order, training.split.column if training.split else "")
        return held, order[np.argsort(rng.permutation(groups.max() + 1)[groups[order]])]
    if not by_class:
        return held, order
    # Place k of n in its class stands at k / n among all rows.
    of_class = y[order].astype(np.int64)
    sizes = np.bincount(of_class)
    place = np.empty(len(order))
    for code in np.flatnonzero(sizes):
        mine = np.flatnonzero(of_class == code)
        place[mine] = (np.arange(len(mine)) + rng.random()) / len(mine)
        place[mine[0]] = -1.0
    return held, order[np.argsort(place, kind="stable")]
