"""What the lesson on scoreboards counts: made-up boards whose truth is known.

Every function has a seed of its own, and says how many boards, pairs or tables it draws.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gbuq_core.errors import InvalidData
from gbuq_core.experiments.scoreboard.board import Board, Table, read_board, table_of
from gbuq_core.experiments.scoreboard.comparing import ERRORS, WORSE
from gbuq_core.experiments.scoreboard.differing import count_agreement
from gbuq_core.experiments.scoreboard.fronts import Timed, find_front
from gbuq_core.experiments.scoreboard.pairing import gain_over, word_of_gain
from gbuq_core.experiments.scoreboard.ranking import critical_difference, rank_methods

Array = npt.NDArray[np.float64]

LEVEL = 0.05
THREE = 3  # splits, as in the small setting of the papers' tables
SPLITS = tuple(range(2, 21))
N_PAIRS = 20_000

GAP, OWN_NOISE = 1.0, 0.15  # of the better method, and of each score beside its split
SPREADS = tuple(round(0.25 * step, 2) for step in range(17))  # of splits, std
N_RUNS = 4000

GAIN = 0.01  # of A on five sets of six
LOSSES = (0.0, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4)  # on the sixth
N_SETS = 6

N_METHODS = 10
SET_COUNTS = tuple(range(2, 31))
N_BOARDS = 2000

COUNTS = tuple(range(1, 101))
N_REPEATS = 4000

NEIGHBOURS = 40  # the largest k that is tried
DEFAULT_K = 5
TEST_ROWS = (10, 20, 30, 50, 75, 100, 150, 200)
N_TABLES = 60

TIMED = (("ours", "crps"), ("sglb", "rmse"))  # where seconds are looked for, in this order


def t_limit(n_splits: int, level: float = LEVEL) -> float:
    """How many standard errors a paired difference needs to be significant.

    >>> round(t_limit(3), 2), round(t_limit(100), 2)
    (4.3, 1.98)
    """
    from scipy.stats import t

    return float(t.ppf(1.0 - level / 2.0, n_splits - 1))


def t_of(differences: Array) -> Array:
    """The mean of the last axis in its standard errors."""
    n = differences.shape[-1]
    error = differences.std(axis=-1, ddof=1) / np.sqrt(n)
    return differences.mean(axis=-1) / error


class Flagged(NamedTuple):
    """Shares of equal pairs that are called different, (len(SPLITS),) each."""

    two_errors: Array
    student: Array


@lru_cache(maxsize=1)
def flag_equals(seed: int = 0) -> Flagged:
    """Pairs of methods that are equally good, by how many splits they share."""
    rng = np.random.default_rng(seed)
    shares = []
    for n in SPLITS:
        sizes = np.abs(t_of(rng.normal(size=(N_PAIRS, n))))
        shares.append([(sizes > ERRORS).mean(), (sizes > t_limit(n)).mean()])
    return Flagged(*np.array(shares).T)


class Seen(NamedTuple):
    """Shares of runs that see a true difference at 5 %, and one run's scores.

    unpaired, paired : (len(SPREADS),); better, worse : (len(SPREADS), 3), lower is better.
    """

    unpaired: Array
    paired: Array
    better: Array
    worse: Array


@lru_cache(maxsize=1)
def see_difference(seed: int = 0) -> Seen:
    """Two methods on three splits that differ by `GAP`; splits differ by some spread."""
    rng = np.random.default_rng(seed)
    splits = rng.normal(size=(N_RUNS, THREE))
    own = OWN_NOISE * rng.normal(size=(2, N_RUNS, THREE))
    shares, first = [], []
    for spread in SPREADS:
        better = spread * splits + own[0]
        worse = spread * splits + own[1] + GAP
        error = np.sqrt((better.var(axis=1, ddof=1) + worse.var(axis=1, ddof=1)) / THREE)
        apart = np.abs(worse.mean(axis=1) - better.mean(axis=1)) / error
        paired = np.abs(t_of(worse - better))
        limits = (t_limit(2 * THREE - 1), t_limit(THREE))  # 4 and 2 degrees of freedom
        shares.append([(apart > limits[0]).mean(), (paired > limits[1]).mean()])
        first.append([better[0], worse[0]])
    unpaired, in_pairs = np.array(shares).T
    means = np.array(first)
    return Seen(unpaired, in_pairs, means[:, 0], means[:, 1])


class Hidden(NamedTuple):
    """Two methods whose ranks stay: errors by set, and means by how much A loses on one set.

    errors : (len(LOSSES), N_SETS), of A, where B has 1; ranks : (len(LOSSES), 2), mean ranks of A
    and B; mean : (len(LOSSES),), of A's errors.
    """

    errors: Array
    ranks: Array
    mean: Array


@lru_cache(maxsize=1)
def hide_sizes() -> Hidden:
    """A wins a little on five sets and loses on the sixth. No chance is at play."""
    names = [str(number) for number in range(1, N_SETS + 1)]
    errors, ranks = [], []
    for loss in LOSSES:
        own = [1.0 - GAIN] * (N_SETS - 1) + [1.0 + loss]
        table = table_of(
            {
                "A": {name: [value] for name, value in zip(names, own, strict=True)},
                "B": {name: [1.0] for name in names},
            }
        )
        ranking = rank_methods(table, "score")
        keys = [method.key for method in ranking.methods]
        by_key = dict(zip(keys, ranking.mean_ranks, strict=True))
        errors.append(own)
        ranks.append([by_key["A"], by_key["B"]])
    return Hidden(np.array(errors), np.array(ranks), np.mean(errors, axis=1))


class RankLuck(NamedTuple):
    """How far the best and the worst mean rank of equal methods lie apart, (len(SET_COUNTS),)."""

    median: Array
    most: Array  # of 95 % of the boards
    critical: Array


@lru_cache(maxsize=1)
def rank_equals(seed: int = 0) -> RankLuck:
    """Boards of equal methods, by their number of sets."""
    rng = np.random.default_rng(seed)
    drawn = rng.random(size=(N_BOARDS, SET_COUNTS[-1], N_METHODS))
    ranks = drawn.argsort(axis=2).argsort(axis=2) + 1.0
    totals = np.cumsum(ranks, axis=1)
    apart = [np.ptp(totals[:, n - 1], axis=1) / n for n in SET_COUNTS]
    return RankLuck(
        np.median(apart, axis=1),
        np.quantile(apart, 1.0 - LEVEL, axis=1),
        np.array([critical_difference(N_METHODS, n) for n in SET_COUNTS]),
    )


class AtLeastOne(NamedTuple):
    """Shares of repeats with at least one difference by chance, (len(COUNTS),) each."""

    two_errors: Array
    student: Array
    holm: Array


@lru_cache(maxsize=1)
def compare_many(seed: int = 0) -> AtLeastOne:
    """Many comparisons of equal methods on three splits."""
    rng = np.random.default_rng(seed)
    sizes = np.abs(t_of(rng.normal(size=(N_REPEATS, COUNTS[-1], THREE))))
    largest = np.maximum.accumulate(sizes, axis=1)
    # Holm's first step, which decides whether anything is called different.
    strict = np.array([t_limit(THREE, LEVEL / count) for count in COUNTS])
    return AtLeastOne(
        (largest > ERRORS).mean(axis=0),
        (largest > t_limit(THREE)).mean(axis=0),
        (largest > strict).mean(axis=0),
    )


class Tuned(NamedTuple):
    """RMSE of one method by rows of the test, means over tables, (len(TEST_ROWS),) each.

    leaked : stated, k chosen on the test rows; true : of the same k on new rows; honest : k chosen
    on other rows; default : k left as it is. The last two are measured on new rows.
    """

    leaked: Array
    true: Array
    honest: Array
    default: Array


@lru_cache(maxsize=1)
def tune_neighbours() -> Tuned:
    """Nearest neighbours on `N_TABLES` made-up tables of 150 rows, one seed each."""
    return Tuned(*np.mean([_tune_one(seed) for seed in range(N_TABLES)], axis=0).T)


def _tune_one(seed: int) -> list[list[float]]:
    """Of one table: leaked, true, honest and default, by rows of the test."""
    rng = np.random.default_rng(seed)

    def draw(n: int) -> tuple[Array, Array]:
        x = rng.uniform(-1.0, 1.0, size=n)
        return x, np.sin(3.0 * x) + 0.5 * rng.normal(size=n)

    x, y = draw(150)

    def squares(n: int) -> Array:
        """Squared errors of n new rows, (n, NEIGHBOURS), by k."""
        at, target = draw(n)
        near = np.abs(at[:, None] - x).argsort(axis=1)[:, :NEIGHBOURS]
        means = np.cumsum(y[near], axis=1) / np.arange(1, NEIGHBOURS + 1)
        return (means - target[:, None]) ** 2

    new = np.sqrt(squares(500).mean(axis=0))
    honest = new[squares(100).mean(axis=0).argmin()]
    test = squares(TEST_ROWS[-1])
    losses = []
    for n in TEST_ROWS:
        stated = np.sqrt(test[:n].mean(axis=0))
        k = int(stated.argmin())
        losses.append([stated[k], new[k], honest, new[DEFAULT_K - 1]])
    return losses


class Timing(NamedTuple):
    """Of a set: its methods quickest first, the best one, and the quickest that is as good."""

    set: str
    points: tuple[Timed, ...]
    best: Timed
    quickest: Timed

    @property
    def times(self) -> float:
        """How many times longer the best one takes."""
        return self.best.seconds / self.quickest.seconds


def time_sets(board: Board, table: str, score: str) -> tuple[Timing, ...]:
    """The sets of a table with the time of the best method, and of a quicker one as good.

    As good: not worse by two standard errors of the difference in pairs. Sets where fewer than
    three methods have the score on two splits or more are left out.
    """
    chosen = board.table(table)
    timings = []
    for entry in chosen.sets:
        points = [
            point
            for point in find_front(chosen, score, entry.key).points
            if np.isfinite(point.score.error) and point.seconds > 0.0
        ]
        if len(points) < 3:
            continue
        sign = -1.0 if chosen.find_score(score).higher else 1.0
        best = min(points, key=lambda point: sign * point.score.mean)
        quickest = next(p for p in points if _as_good(chosen, score, entry.key, p, best))
        timings.append(Timing(entry.label, tuple(points), best, quickest))
    return tuple(timings)


def _as_good(table: Table, score: str, set_key: str, point: Timed, best: Timed) -> bool:
    if point.method == best.method:
        return True
    values = (table.values(set_key, each.method.key, score) for each in (point, best))
    gain = gain_over(*values, bool(table.find_score(score).higher))
    return gain is not None and word_of_gain(gain) not in (WORSE, "")


@lru_cache(maxsize=1)
def time_stored() -> tuple[str, tuple[Timing, ...]]:
    """A table whose seconds are stored, and its sets: every method, else a paper's own."""
    board = read_board()
    for table, score in TIMED:
        timings = time_sets(board, table, score)
        if timings:
            return table, timings
    raise InvalidData("The scoreboard has no results yet: run the papers' tables first.")


def judged_numbers() -> int:
    """How many numbers of the stored board are judged against a paper's."""
    return sum(each.judged for each in count_agreement(read_board()))
