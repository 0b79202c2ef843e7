"""Do the rows of a second file come from the law of the first? And intervals weighted if not.

Without targets, exchangeability is tested by a classifier that tells the files apart (Lopez-Paz and
Oquab, 2017): one half of the rows is ranked by what the other half taught, and a Mann-Whitney test
asks whether the second file's rows rank higher. Given the classifier, these rows are exchangeable
if the files are, so the test holds its level whatever the columns are. (Tests of both halves in
turn depend on each other: twice the smaller p-value was below 0.05 in 3.3 % of honest files.
mapie's permutation tests need targets of both files, and search for an unknown place of change.)

Where the files differ, held-out rows calibrate by how many times as frequent rows like them are in
the second file (Tibshirani, Barber, Candes and Ramdas, 2019): the odds of the classifier, out of
fold and clipped. This holds if the target depends on the columns as before.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gbuq_core.errors import InvalidParameter
from gbuq_core.jobs import stage, tick
from gbuq_core.presentation import short
from gbuq_core.tables.cleaning import Prepared
from gbuq_core.tables.drifting import why_no_coverage
from gbuq_core.tables.judging import held_out
from gbuq_core.tables.scoring import ScoredTable, ShiftWeights

LEVEL = 0.05
FEWEST_EFFECTIVE = 100  # rows of equal weight: their coverage varies by three per cent
LARGEST_WEIGHT = 20.0  # and 1 / 20 is the smallest
_ALIKE = 0.99  # share of the held-out rows: weights that leave more of them change nothing
_FEWEST_ROWS = 20  # of a file
_N_FOLDS = 5
_LEAF_ROWS = 40  # and an eighth of fewer than 320 rows, which would not be split at all
_MOST_LEARNT = 20_000  # rows of both files that a classifier learns from


def measure_shift(scored: ScoredTable, seed: int = 0) -> ShiftWeights:
    r"""Whether a second file's rows can be told from the first's, and what weighs for that.

    Parameters
    ----------
    scored : ScoredTable
        Of a second file.
    seed : int
        Of the half that is learnt from, and of the folds.

    Raises
    ------
    InvalidParameter
        If there is no second file, if rows are held out by groups, which no other file has, or if
        a file has fewer than 20 rows.

    References
    ----------
    Lopez-Paz and Oquab, "Revisiting classifier two-sample tests", ICLR (2017).
    Tibshirani, Barber, Candes and Ramdas, "Conformal prediction under covariate shift", NeurIPS
    (2019), corollary 1.

    Examples
    --------
    >>> from gbuq_core.tables import ScorePlan, read_table, score_table
    >>> rng = np.random.default_rng(1)
    >>> def make(shift, n):
    ...     x = rng.normal(shift, 1.0, n).round(3)
    ...     lines = "\n".join(f"{a},{a + b:.3f}" for a, b in zip(x, rng.normal(size=n)))
    ...     return read_table(f"x,y\n{lines}".encode())
    >>> first, plan = make(0.0, 1500), ScorePlan(method="sglb", n_trees=20)
    >>> shift = measure_shift(score_table(first, "y", new=make(0.7, 300), plan=plan))
    >>> shift.p_value < 0.001, 100.0 < shift.n_effective < 300.0
    (True, True)
    """
    if why := why_no_shift(scored):
        raise InvalidParameter(why)
    known = np.flatnonzero(scored.training.known)
    matrix, is_second = _both(scored.training, scored.scored)
    with stage(1.0 + _N_FOLDS):
        with stage(1.0, span=1.0):
            p_value = exchangeability(matrix, is_second, seed)
        nothing = np.empty(0)
        if p_value > LEVEL:
            return ShiftWeights(p_value, nothing, nothing, np.nan, "")
        with stage(float(_N_FOLDS), span=float(_N_FOLDS)):
            odds = np.exp(_log_odds(matrix, is_second, _N_FOLDS, seed))
    odds = np.clip(odds, 1.0 / LARGEST_WEIGHT, LARGEST_WEIGHT)
    held = odds[np.searchsorted(known, held_out(scored).rows)]
    n_effective = float(held.sum() ** 2 / (held**2).sum())
    why = ""
    if why_no_coverage(scored):
        why = "Many of its rows are unlike all of the first file, and no weights reach them"
    elif n_effective > _ALIKE * len(held):
        why = "The difference is so small that weights would change next to nothing"
    elif n_effective < FEWEST_EFFECTIVE:
        why = (
            f"For the second file, {len(held):,} held-out rows are worth only {n_effective:.0f} of "
            f"equal weight, and {FEWEST_EFFECTIVE} are needed"
        )
    return ShiftWeights(p_value, held, odds[len(known) :], n_effective, why)


def why_no_shift(scored: ScoredTable) -> str:
    """Why the rows of two files cannot be compared; else empty."""
    split = scored.training.split
    if scored.protocol != "new_file":
        return "There is no second file that could differ from the first: give one."
    if split is not None and split.by == "group":
        return "Rows are held out by groups: those of another file differ, however they are drawn."
    if min(int(scored.training.known.sum()), len(scored.scored.X)) < _FEWEST_ROWS:
        return f"Files of fewer than {_FEWEST_ROWS} rows cannot be compared row by row."
    return ""


def exchange_p_value(training: Prepared, scored: Prepared, seed: int = 0) -> float:
    """`exchangeability` of the rows of two prepared tables, of the first those with a target."""
    return exchangeability(*_both(training, scored), seed)


def can_weigh(weights: ShiftWeights) -> bool:
    """Whether intervals can be weighted, and need be."""
    return len(weights.rows) > 0 and not weights.why_not


def exchangeability(
    matrix: NDArray[np.float64], is_second: NDArray[np.bool_], seed: int = 0
) -> float:
    """The p-value of the rows of two files being exchangeable; at least 0.

    >>> rows = np.random.default_rng(1).normal(size=(300, 2))
    >>> moved = rows + 2.0 * (np.arange(300) < 100)[:, None]
    >>> [exchangeability(each, np.arange(300) < 100) > LEVEL for each in (rows, moved)]
    [True, False]
    """
    from scipy.stats import mannwhitneyu

    odds = _log_odds(matrix, is_second, 2, seed, most=1)
    judged = ~np.isnan(odds)
    second, first = odds[judged & is_second], odds[judged & ~is_second]
    return float(mannwhitneyu(second, first, alternative="greater").pvalue)


def describe_shift(weights: ShiftWeights) -> str:
    """The test and the weights in two plain sentences."""
    if weights.p_value > LEVEL:
        return (
            "The rows of the second file do not differ measurably from those of the first (p = "
            f"{short(weights.p_value, 2)}). Intervals need no weights."
        )
    p = "p < 0.001" if weights.p_value < 0.001 else f"p = {short(weights.p_value, 2)}"
    shift = f"The rows of the second file differ from those of the first ({p})."
    if weights.why_not:
        return f"{shift} {weights.why_not}, so intervals are not weighted for that."
    return (
        f"{shift} Conformal intervals can be weighted for that: held-out rows count for more where "
        f"the second file has more rows like them. {len(weights.held):,} held-out rows are then "
        f"worth {weights.n_effective:.0f} of equal weight. It holds if the target depends on the "
        "columns as before."
    )


def _both(training: Prepared, scored: Prepared) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The rows of both files as numbers, and which are of the second."""
    first = training.X.loc[training.known]
    matrix = _numbers(first, scored.X)
    return matrix, np.arange(len(matrix)) >= len(first)


def _numbers(first: pd.DataFrame, second: pd.DataFrame) -> NDArray[np.float64]:
    """The rows of both files as numbers; categories by how frequent they are in both together.

    Equally frequent ones are in the order of their names: nothing depends on whose rows come first.
    """
    columns = []
    for name in first.columns:
        parts = [first[name], second[name]]
        if isinstance(first[name].dtype, pd.CategoricalDtype):
            both = pd.concat([part.astype(object) for part in parts], ignore_index=True)
            counts = both.value_counts().sort_index().sort_values(ascending=False, kind="stable")
            places = {level: k for k, level in enumerate(counts.index)}
            columns.append(both.map(places).to_numpy(np.float64))
        else:
            columns.append(np.concatenate([part.to_numpy(np.float64) for part in parts]))
    return np.column_stack(columns)


def _log_odds(
    matrix: NDArray[np.float64],
    is_second: NDArray[np.bool_],
    n_folds: int,
    seed: int,
    most: int | None = None,
) -> NDArray[np.float64]:
    """Of each row being of the second file, if both had as many; NaN outside the first folds."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import StratifiedKFold
    from threadpoolctl import threadpool_limits

    rng = np.random.default_rng((seed, n_folds))
    odds = np.full(len(matrix), np.nan)
    folds: Any = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    for k, (learnt, rest) in islice(enumerate(folds.split(matrix, is_second)), most):
        tick(float(k))
        if len(learnt) > _MOST_LEARNT:
            learnt = rng.choice(learnt, _MOST_LEARNT, replace=False)
        model = HistGradientBoostingClassifier(
            max_iter=50,
            max_leaf_nodes=8,
            min_samples_leaf=min(_LEAF_ROWS, max(5, len(learnt) // 8)),
            l2_regularization=10.0,
            early_stopping=False,
            random_state=seed,
        )
        share = is_second[learnt].mean()
        with threadpool_limits(1, user_api="openmp"):  # on few rows, threads wait for each other
            model.fit(matrix[learnt], is_second[learnt])
            logits = model.decision_function(matrix[rest])
        odds[rest] = logits - np.log(share / (1.0 - share))
    return odds
