"""Ranks of methods over the sets of a table, and which of them are told apart.

The best method of a set has rank 1, and methods with the same mean share the mean of their ranks.
Friedman's test asks whether any method differs; Nemenyi's critical difference says how far two
mean ranks must lie apart (Demšar 2006, Statistical comparisons of classifiers over multiple data
sets, section 3.2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.experiments.scoreboard.board import BoardMethod, BoardSet, Score, Table
from gbuq_core.presentation import counted, short

LEVEL = 0.05
_LEAST_SHARE = 0.5  # of the methods that a set must have, to count

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """Methods in the order of their mean ranks.

    Attributes
    ----------
    table : str
        Its key.
    score : Score
    methods : tuple of BoardMethod
        Best first.
    sets : tuple of BoardSet
    means : ndarray of shape (n_methods, n_sets)
        Over the splits that all ranked methods have on a set.
    ranks : ndarray of shape (n_methods, n_sets)
        From 1, the best.
    left_out : tuple of str
        Which methods and sets are not ranked and why, a sentence each.
    """

    table: str
    score: Score
    methods: tuple[BoardMethod, ...]
    sets: tuple[BoardSet, ...]
    means: Array
    ranks: Array
    left_out: tuple[str, ...]

    @property
    def mean_ranks(self) -> Array:
        """One for each method, rising."""
        return self.ranks.mean(axis=1)

    @cached_property
    def p_value(self) -> float:
        """Of Friedman's test; NaN with fewer than three methods or two sets."""
        return friedman(self.ranks)[1]

    @cached_property
    def critical_difference(self) -> float:
        """Of two mean ranks, by Nemenyi at 5 %; NaN with fewer than two methods or sets."""
        return critical_difference(*self.ranks.shape)

    @cached_property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Keys of methods that are not told apart, best first; each group as large as it can be."""
        groups = group_ranks(self.mean_ranks, self.critical_difference)
        return tuple(tuple(self.methods[i].key for i in group) for group in groups)

    @property
    def told_apart(self) -> bool:
        """Whether Friedman's test says that methods differ at all."""
        return bool(self.p_value <= LEVEL)

    @property
    def words(self) -> str:
        """The ranks in a sentence or two, for who cannot see the picture.

        Examples
        --------
        >>> from gbuq_core.experiments.scoreboard.board import table_of
        >>> table = table_of({"a": {"one": [0.1], "two": [0.2]}, "b": {"one": [1], "two": [2]}})
        >>> rank_methods(table, "score").words
        'Mean ranks by score over 2 sets: a 1; b 2. Too few methods or sets for a test.'
        """
        means = self.mean_ranks.tolist()
        listed = "; ".join(
            f"{method.label} {short(mean)}"
            for method, mean in zip(self.methods, means, strict=True)
        )
        ranks = f"Mean ranks by {self.score.label} over {counted(len(self.sets), 'set')}: {listed}."
        if math.isnan(self.p_value):
            return ranks + " Too few methods or sets for a test."
        p_value = short(self.p_value, 2)
        if not self.told_apart:
            return f"{ranks} Friedman's test tells none of them apart (p = {p_value})."
        return (
            f"{ranks} Friedman's test says that methods differ (p = {p_value}). Two mean ranks "
            f"must lie {short(self.critical_difference)} apart to be told apart."
        )


def rank_methods(
    table: Table,
    score: str,
    methods: Sequence[str] | None = None,
    sets: Sequence[str] | None = None,
) -> Ranking:
    """Rank the methods that have a score on all sets, by their means over shared splits.

    Without ``sets``, a set counts if at least half of the methods have it.

    Parameters
    ----------
    table : Table
    score : str
    methods, sets : sequences of str, optional
        All that have the score without them.

    Raises
    ------
    InvalidParameter
        If neither low nor high values of the score are better, or something is unknown.
    InvalidData
        If no method has the score on all sets.

    Examples
    --------
    >>> from gbuq_core.experiments.scoreboard.board import table_of
    >>> numbers = {"a": (0.1, 0.2), "b": (0.2, 0.3), "c": (0.3, 0.4)}
    >>> table = table_of(
    ...     {key: {"one": [one], "two": [two]} for key, (one, two) in numbers.items()}
    ...     | {"d": {"one": [0.0]}}
    ... )
    >>> ranking = rank_methods(table, "score")
    >>> [method.key for method in ranking.methods], ranking.mean_ranks.tolist()
    (['a', 'b', 'c'], [1.0, 2.0, 3.0])
    >>> ranking.left_out
    ('d is not ranked: it has no result on two.',)
    """
    wanted = table.find_score(score)
    if wanted.higher is None:
        raise InvalidParameter(
            f"Methods are not ranked by {wanted.label}: neither low nor high values are better."
        )
    scored = table.methods_with(score)
    named = [table.find_method(key) for key in methods or ()] or scored
    candidates = [method for method in named if method in scored]
    left_out = [_unranked(m, "it has no result") for m in named if m not in candidates]
    if sets is None:
        counting, without = counting_sets(table, score, candidates)
        left_out += without
    else:
        counting = [table.find_set(key) for key in sets]
    ranked, splits = _ranked(table, score, candidates, counting)
    for method in candidates:
        if method not in ranked:
            gaps = [s.label for s in counting if not table.values(s.key, method.key, score)]
            why = f"it has no result on {', '.join(gaps)}" if gaps else "it shares no split"
            left_out.append(_unranked(method, why))
    if not ranked or not counting:
        raise InvalidData(
            f"No method of {table.key} has {wanted.label} on all of these sets: choose fewer sets."
        )
    means = np.array(
        [
            [
                np.mean([table.values(entry.key, method.key, score)[split] for split in shared])
                for entry, shared in zip(counting, splits, strict=True)
            ]
            for method in ranked
        ]
    )
    ranks = rank_columns(means, wanted.higher)
    order = np.argsort(ranks.mean(axis=1), kind="stable")
    ranked = [ranked[i] for i in order]
    means, ranks = means[order], ranks[order]
    return Ranking(
        table=table.key,
        score=wanted,
        methods=tuple(ranked),
        sets=tuple(counting),
        means=means,
        ranks=ranks,
        left_out=tuple(left_out),
    )


def _unranked(method: BoardMethod, why: str) -> str:
    return f"{method.label} is not ranked: {why}."


def counting_sets(
    table: Table, score: str, candidates: Sequence[BoardMethod]
) -> tuple[list[BoardSet], list[str]]:
    """The sets on which at least half of the methods have a score, and a sentence for each other.

    Examples
    --------
    >>> from gbuq_core.experiments.scoreboard.board import table_of
    >>> table = table_of({"a": {"one": [1], "two": [1]}, "b": {"one": [1]}, "c": {"one": [1]}})
    >>> counting_sets(table, "score", table.methods)[1]
    ['The set two does not count: 1 of 3 methods have it.']
    """
    counting, without = [], []
    for entry in table.sets_with(score):
        n = sum(bool(table.values(entry.key, method.key, score)) for method in candidates)
        if n >= _LEAST_SHARE * len(candidates):
            counting.append(entry)
        elif n:
            without.append(
                f"The set {entry.label} does not count: {n} of {len(candidates)} methods have it."
            )
    return counting, without


def _ranked(
    table: Table, score: str, candidates: Sequence[BoardMethod], sets: Sequence[BoardSet]
) -> tuple[list[BoardMethod], list[list[int]]]:
    """The methods on all sets, and of each set the splits that all of them have."""
    ranked = [m for m in candidates if all(table.values(s.key, m.key, score) for s in sets)]
    while ranked:
        splits = []
        for entry in sets:
            by_method = [table.values(entry.key, method.key, score).keys() for method in ranked]
            splits.append(sorted(set(by_method[0]).intersection(*by_method[1:])))
        if all(splits):
            return ranked, splits
        fewest = min(
            ranked, key=lambda m: sum(len(table.values(s.key, m.key, score)) for s in sets)
        )
        ranked.remove(fewest)
    return [], []


def rank_columns(means: Array, higher: bool) -> Array:
    """Ranks of the rows in each column from 1, the best; ties share the mean of their ranks.

    Examples
    --------
    >>> rank_columns(np.array([[0.1, 5.0], [0.3, 5.0], [0.2, 9.0]]), higher=False).tolist()
    [[1.0, 1.5], [3.0, 1.5], [2.0, 3.0]]
    """
    values = -means if higher else means
    below, equal = values[None] < values[:, None], values[None] == values[:, None]
    return below.sum(axis=1) + 0.5 * (equal.sum(axis=1) + 1.0)


def friedman(ranks: Array) -> tuple[float, float]:
    """Friedman's statistic with ties and its p value; NaN for too few methods or sets.

    Parameters
    ----------
    ranks : ndarray of shape (n_methods, n_sets)
        At least three methods and two sets.

    Examples
    --------
    >>> statistic, p_value = friedman(np.array([[1.0, 1.0, 1.0], [2.0, 3.0, 2.0], [3.0, 2.0, 3.0]]))
    >>> round(statistic, 3), round(p_value, 3)
    (4.667, 0.097)
    """
    from scipy.stats import friedmanchisquare

    if ranks.shape[0] < 3 or ranks.shape[1] < 2 or not np.ptp(ranks, axis=0).any():
        return math.nan, math.nan
    statistic, p_value = friedmanchisquare(*ranks)
    return float(statistic), float(p_value)


@cache
def critical_difference(n_methods: int, n_sets: int, level: float = LEVEL) -> float:
    """Nemenyi's critical difference of two mean ranks; NaN for one method or set.

    With q the upper quantile of the studentized range for infinitely many degrees of freedom, it is
    q / sqrt(2) * sqrt(k (k + 1) / (6 N)) for k methods on N sets.
    """
    from scipy.stats import studentized_range

    if n_methods < 2 or n_sets < 2:
        return math.nan
    quantile = float(studentized_range.ppf(1.0 - level, n_methods, np.inf))
    return quantile * math.sqrt(n_methods * (n_methods + 1) / (12.0 * n_sets))


def nemenyi(ranks: Array) -> Array:
    """P values of Nemenyi's test for each pair of methods.

    Parameters
    ----------
    ranks : ndarray of shape (n_methods, n_sets)

    Returns
    -------
    ndarray of shape (n_methods, n_methods)
        Symmetric, with 1 on the diagonal.

    Examples
    --------
    >>> ranks = np.array([[1.0] * 9, [2.0] * 9, [3.0] * 9])
    >>> nemenyi(ranks).round(4)[0].tolist()
    [1.0, 0.0855, 0.0001]
    """
    from scipy.stats import studentized_range

    n_methods, n_sets = ranks.shape
    means = ranks.mean(axis=1)
    unit = math.sqrt(n_methods * (n_methods + 1) / (12.0 * n_sets))
    gaps = np.abs(means[:, None] - means[None, :]) / unit
    p_values = np.asarray(studentized_range.sf(gaps, n_methods, np.inf), dtype=np.float64)
    np.fill_diagonal(p_values, 1.0)
    return p_values


def group_ranks(mean_ranks: Array, difference: float) -> list[tuple[int, ...]]:
    """Largest groups of methods whose mean ranks lie closer than a critical difference.

    Parameters
    ----------
    mean_ranks : ndarray of shape (n_methods,)
        Rising.
    difference : float
        NaN tells nobody apart.

    Examples
    --------
    >>> group_ranks(np.array([1.0, 1.5, 2.0, 4.0]), 0.6)
    [(0, 1), (1, 2)]
    """
    n = len(mean_ranks)
    if math.isnan(difference):
        return [tuple(range(n))] if n > 1 else []
    groups: list[tuple[int, ...]] = []
    last = 0
    for first in range(n):
        end = int(np.searchsorted(mean_ranks, mean_ranks[first] + difference, side="left"))
        if end - first > 1 and end > last:
            groups.append(tuple(range(first, end)))
        last = max(last, end)
    return groups
