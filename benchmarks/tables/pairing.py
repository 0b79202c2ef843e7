"""Two methods on the same splits: differences, and wins, ties and losses as paper 3 counts them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.tables.board import Table
from benchmarks.tables.comparing import (
    BETTER,
    ERRORS,
    SAME,
    WORSE,
    MeanError,
    mean_error,
)
from gbuq_core.errors import InvalidParameter

LEVEL = 0.05
WIN, TIE, LOSS = "win", "tie", "loss"


class Pair(NamedTuple):
    """Two methods on one set.

    gain : how much better the first one is, over the splits that both have; p_value : of the
    two-sided paired t-test; outcome : of the first one: "win", "tie" or "loss".
    """

    set: str
    gain: MeanError
    splits: int
    p_value: float
    outcome: str


class Tally(NamedTuple):
    """A method against another on all sets that both have with two splits or more."""

    method: str
    other: str
    pairs: tuple[Pair, ...]

    def count(self, outcome: str) -> int:
        """How many sets are won, tied or lost."""
        return sum(pair.outcome == outcome for pair in self.pairs)

    def __str__(self) -> str:
        """Wins, ties and losses, as the paper's tables have them."""
        return "-".join(str(self.count(outcome)) for outcome in (WIN, TIE, LOSS))


def gain_over(
    values: Mapping[int, float], others: Mapping[int, float], higher: bool
) -> MeanError | None:
    """How much better the values are than others on the splits that both have.

    Parameters
    ----------
    values, others : mappings from split to value
    higher : bool
        Whether higher values are better.

    Returns
    -------
    MeanError or None
        Positive where they are better. None if no split is shared.

    Examples
    --------
    >>> gain_over({0: 1.0, 1: 2.0}, {0: 2.0, 1: 4.0, 2: 9.0}, higher=False)
    MeanError(mean=1.5, error=0.5)
    """
    shared = sorted(values.keys() & others.keys())
    if not shared:
        return None
    sign = 1.0 if higher else -1.0
    return mean_error([sign * (values[split] - others[split]) for split in shared])


def word_of_gain(gain: MeanError) -> str:
    """Whether a gain is "better", "worse" or "same" by two standard errors; "" for one split.

    Examples
    --------
    >>> word_of_gain(MeanError(1.0, 0.4)), word_of_gain(MeanError(-0.1, 0.4))
    ('better', 'same')
    """
    if not math.isfinite(gain.error):
        return ""
    if abs(gain.mean) <= ERRORS * gain.error:
        return SAME
    return BETTER if gain.mean > 0.0 else WORSE


def judge_pair(table: Table, score: str, set_key: str, method: str, other: str) -> Pair | None:
    """The two-sided paired t-test over shared splits, at 5 % as in paper 3 (section 5).

    Returns
    -------
    Pair or None
        None if the two share fewer than two splits.

    Raises
    ------
    InvalidParameter
        If neither low nor high values of the score are better.
    """
    from scipy.stats import ttest_rel

    wanted = table.find_score(score)
    if wanted.higher is None:
        raise InvalidParameter(f"No method wins by {wanted.label}: choose another score.")
    ours = table.values(set_key, method, score)
    theirs = table.values(set_key, other, score)
    gain = gain_over(ours, theirs, wanted.higher)
    shared = sorted(ours.keys() & theirs.keys())
    if gain is None or len(shared) < 2:
        return None
    first = np.array([ours[split] for split in shared])
    second = np.array([theirs[split] for split in shared])
    if np.ptp(first - second) == 0.0:  # no spread, for which t is 0 / 0 or infinite
        p_value = 1.0 if gain.mean == 0.0 else 0.0
    else:
        p_value = float(ttest_rel(first, second).pvalue)
    outcome = TIE if p_value > LEVEL else WIN if gain.mean > 0.0 else LOSS
    return Pair(set_key, gain, len(shared), p_value, outcome)


def tally(
    table: Table, score: str, method: str, others: Sequence[str] | None = None
) -> tuple[Tally, ...]:
    """Wins, ties and losses of a method against each other one, over the sets of a table.

    Parameters
    ----------
    table : Table
    score : str
    method : str
    others : sequence of str, optional
        All that have the score without it.

    Returns
    -------
    tuple of Tally
        Only of methods that share two splits of a set with this one.

    Examples
    --------
    >>> from benchmarks.tables.board import read_board
    >>> all(record.pairs for record in tally(read_board().table("ibug"), "crps", "ibug_cbu"))
    True
    """
    table.find_method(method)
    keys = [each.key for each in table.methods_with(score)] if others is None else list(others)
    records = []
    for other in keys:
        if other == method:
            continue
        pairs = (judge_pair(table, score, entry.key, method, other) for entry in table.sets)
        record = Tally(method, other, tuple(pair for pair in pairs if pair is not None))
        if record.pairs:
            records.append(record)
    return tuple(records)
