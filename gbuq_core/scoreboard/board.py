"""The numbers of the scoreboard, and which method they speak for.

``board.csv`` has a line for each task, test table, method and measure: the mean over splits, its
standard error (empty for a single split), processor seconds of the median split, and the number of
splits. All methods have their default settings and at most 2,000 training rows.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from gbuq_core.methods import METHODS, Method
from gbuq_core.validation import check_choice

BOARD_FILE = Path(__file__).with_name("board.csv")
TASKS = ("regression", "classification")
NEAR = 4.0  # a table with so many times more or fewer rows is still like the reader's
_LEAST_SHARE = 0.5  # of the methods must have a number on a table for the table to count
# Variants of a method stand behind a colon, and methods without a record have their own name.
_VARIANTS = {"two_clocks": "two clocks", "scaled": "std scaled"}
_NAMES = {
    "ibug:catboost": "IBUG on CatBoost", "ibug:lightgbm": "IBUG on LightGBM",
    "ibug:xgboost": "IBUG on XGBoost", "quantile_forest": "quantile-forest",
}  # fmt: skip


class Measure(NamedTuple):
    """What is measured. ``unit`` is empty for a share, ``higher`` says which values are better."""

    label: str
    term: str  # the field's short name
    unit: str
    higher: bool
    meaning: str


MEASURES: Mapping[str, Measure] = MappingProxyType(
    {
        "crps": Measure(
            "Error of the predicted range",
            "CRPS",
            "the target's unit",
            False,
            "The distance between the predicted distribution and the true value.",
        ),
        "nll": Measure(
            "Error of the class probabilities",
            "log loss",
            "nats",
            False,
            "The negative log-probability of the true class.",
        ),
        "prr_total": Measure(
            "How well it ranks its errors",
            "PRR",
            "%",
            True,
            "100 % puts the largest errors first, 0 % is chance.",
        ),
        "auroc_knowledge": Measure(
            "How well it finds rows of another kind",
            "AUROC",
            "",
            True,
            "1 tells every such row apart, 0.5 is chance.",
        ),
    }
)


class Purpose(NamedTuple):
    """What uncertainty is for: the measure that says who does it well, by task.

    ``needs`` is what a method must yield, of `gbuq_core.methods.YIELDS`; empty for nothing.
    """

    label: str
    measures: Mapping[str, str]
    needs: str = ""


_RANGES = {"regression": "crps", "classification": "nll"}
PURPOSES: Mapping[str, Purpose] = MappingProxyType(
    {
        "intervals": Purpose("ranges and probabilities", _RANGES),
        "errors": Purpose("finding wrong predictions", dict.fromkeys(TASKS, "prr_total")),
        "foreign": Purpose("finding rows of another kind", dict.fromkeys(TASKS, "auroc_knowledge")),
        "rows": Purpose("showing similar training rows", {"regression": "crps"}, "neighbours"),
    }
)


class BoardNumber(NamedTuple):
    """What a method came to on a test table by a measure."""

    task: str  # of `TASKS`
    set: str  # the test table
    rows: int  # of the table
    method: str  # see `method_label`
    measure: str  # of `MEASURES`
    mean: float  # over splits
    standard_error: float  # of the mean; NaN for a single split
    seconds: float  # of a processor, for the median split
    splits: int


class RankedMethod(NamedTuple):
    """A method with its mean rank over several tables, and the mean of its seconds on them."""

    method: str
    mean_rank: float
    seconds: float


class Ranking(NamedTuple):
    """The tables that count for a reader, the nearest in size first, and all methods by rank."""

    sets: tuple[str, ...]
    methods: tuple[RankedMethod, ...]


@cache
def read_board() -> tuple[BoardNumber, ...]:
    """All numbers of the scoreboard.

    Examples
    --------
    >>> read_board()[0]
    BoardNumber(task='regression', set='boston', rows=506, method='sgb', measure='crps',
                mean=1.17279, standard_error=0.0706064, seconds=3.845, splits=3)
    """
    with BOARD_FILE.open(encoding="utf-8", newline="") as file:
        return tuple(
            BoardNumber(
                task=line["task"],
                set=line["set"],
                rows=int(line["rows"]),
                method=line["method"],
                measure=line["measure"],
                mean=float(line["mean"]),
                standard_error=float(line["standard_error"] or "nan"),
                seconds=float(line["seconds"]),
                splits=int(line["splits"]),
            )
            for line in csv.DictReader(file)
        )


def method_record(method: str) -> Method | None:
    """The record of a method of the board; None for a method of another library.

    Examples
    --------
    >>> method_record("sglb:two_clocks").label, method_record("quantile_forest")
    ('SGLB', None)
    """
    return METHODS.get(method.partition(":")[0])


def method_label(method: str) -> str:
    """The name of a method of the board for people.

    Examples
    --------
    >>> method_label("sglb:two_clocks"), method_label("ibug:catboost")
    ('SGLB, two clocks', 'IBUG on CatBoost')
    """
    if method in _NAMES:
        return _NAMES[method]
    key, _, variant = method.partition(":")
    return f"{METHODS[key].label}, {_VARIANTS[variant]}" if variant else METHODS[key].label


def purposes_for(task: str) -> tuple[str, ...]:
    """The purposes for which a task has numbers, keys of `PURPOSES`."""
    return tuple(key for key, purpose in PURPOSES.items() if task in purpose.measures)


def numbers_for(task: str, purpose: str) -> tuple[BoardNumber, ...]:
    """The numbers that say who serves a purpose, on all tables of a task.

    Raises
    ------
    InvalidParameter
        For a task that is unknown, or a purpose that has no numbers for it.
    """
    check_choice("task", task, TASKS)
    check_choice("purpose", purpose, purposes_for(task))
    needs, measure = PURPOSES[purpose].needs, PURPOSES[purpose].measures[task]
    return tuple(
        number
        for number in read_board()
        if (number.task, number.measure) == (task, measure) and _yields(number.method, task, needs)
    )


def rank_methods(task: str, purpose: str, rows: int) -> Ranking:
    """Rank methods on the test tables that are nearest in size to a reader's.

    A table counts if it has at most four times more or fewer rows, or else is the nearest one.
    gbuq's methods that have a number on all of these tables are ranked; equal means share their
    ranks. Of two methods with the same mean rank the quicker one comes first.

    Parameters
    ----------
    task : {"regression", "classification"}
    purpose : str
        A key of `PURPOSES`.
    rows : int
        Rows of the reader's table.

    Returns
    -------
    Ranking

    Raises
    ------
    InvalidParameter
        For a task that is unknown, or a purpose that has no numbers for it.

    Examples
    --------
    >>> ranking = rank_methods("regression", "intervals", 1000)
    >>> ranking.sets, ranking.methods[0].method
    (('concrete', 'energy', 'wine', 'boston', 'power', 'protein'), 'stacked')
    """
    numbers = numbers_for(task, purpose)
    by_set: dict[str, dict[str, BoardNumber]] = {}
    for number in numbers:
        by_set.setdefault(number.set, {})[number.method] = number
    least = _LEAST_SHARE * len({number.method for number in numbers})
    distances = {
        name: abs(math.log(next(iter(found.values())).rows / max(rows, 1)))
        for name, found in by_set.items()
        if len(found) >= least
    }
    limit = max(math.log(NEAR), min(distances.values())) + 1e-12  # a factor of exactly four counts
    sets = sorted(
        (name for name in distances if distances[name] <= limit), key=distances.__getitem__
    )
    shared = set.intersection(*({*by_set[name]} for name in sets))
    methods = [method for method in shared if method_record(method)]
    sign = -1.0 if MEASURES[numbers[0].measure].higher else 1.0
    ranked = []
    for method in methods:
        ranks = []
        for name in sets:
            mine = sign * by_set[name][method].mean
            others = [sign * by_set[name][other].mean for other in methods]
            ranks.append(sum(value < mine for value in others) + (others.count(mine) + 1) / 2)
        seconds = [by_set[name][method].seconds for name in sets]
        ranked.append(RankedMethod(method, sum(ranks) / len(sets), sum(seconds) / len(sets)))
    ranked.sort(key=lambda each: (each.mean_rank, each.seconds, each.method))
    return Ranking(tuple(sets), tuple(ranked))


def best_for_their_time(numbers: Sequence[BoardNumber]) -> tuple[BoardNumber, ...]:
    """The numbers of one table and measure that no quicker method reaches, quickest first.

    Examples
    --------
    >>> numbers = numbers_for("regression", "intervals")
    >>> best_for_their_time([each for each in numbers if each.set == "boston"])[-1].method
    'stacked'
    """
    best: list[BoardNumber] = []
    for number in sorted(numbers, key=lambda each: (each.seconds, _loss(each))):
        if not best or _loss(number) < _loss(best[-1]):
            best.append(number)
    return tuple(best)


def _loss(number: BoardNumber) -> float:
    return -number.mean if MEASURES[number.measure].higher else number.mean


def _yields(method: str, task: str, needs: str) -> bool:
    record = method_record(method)
    return not needs or (record is not None and needs in record.yields_for(task))
