"""What a paper's protocol declares, and the numbers that the paper has published."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.tables.board import Score
from benchmarks.tables.comparing import Published
from gbuq_core.methods import METHODS

EFFORTS = ("smoke", "small", "full")


class Task(NamedTuple):
    """What a protocol computes: one cell.

    known : settings of cells that were computed before, by method, which save tuning them again.
    """

    data_dir: Path | None
    set: str
    split: int
    method: str
    effort: str
    known: Mapping[str, Mapping[str, Any]]


class Found(NamedTuple):
    """Scores of a cell by their keys, and what was chosen on the way."""

    scores: Mapping[str, float]
    settings: Mapping[str, Any]


class Missing(Exception):
    """A cell whose package is not installed; the message says so in one sentence."""


class Seconds(NamedTuple):
    """Processor seconds of a cell in the small setting: at all, and for each 1,000 rows."""

    base: float
    per_1000_rows: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """All that is said about one paper's tables, declared once."""

    # `key`, `paper`: its name in files and options, and the paper
    key: str
    paper: str
    words: str  # what the small setting shortens, and how data and protocol differ from the paper's
    sets: Mapping[str, int]  # from each set to its number of splits
    rows: Mapping[str, int]  # from each set to its rows, for the estimate of time
    # from each method's key, a record's with or without a variant after a colon, to its name
    methods: Mapping[str, str]
    scores: tuple[Score, ...]
    # from (set, method, score) to the paper's number
    published: Mapping[tuple[str, str, str], Published]
    # Computes a cell. It raises `Missing` for a method that is not installed.
    run: Callable[[Task], Found]
    seconds: Mapping[str, Seconds]  # from method to `Seconds` of a cell in the small setting
    methods_on: Callable[[str], Sequence[str]]  # the methods that a set has
    builtin: tuple[str, ...] = ()  # sets that need no data folder
    # from a set to further sets that its cells read from the data folder, for foreign rows
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # from a method to the methods of the same split whose settings save it the tuning
    uses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # efforts in which split 0 chooses the settings for all splits
    tuned_once: tuple[str, ...] = ("smoke", "small")
    # sets whose splits choose their settings all the same, each for itself
    tuned_on_each: tuple[str, ...] = ()
    # sets whose cells take so many times longer than their rows say
    times: Mapping[str, float] = field(default_factory=dict)
    # sets that only run where they are named, or where `--download` fetches them
    downloads: tuple[str, ...] = ()
    # from (set, method) to the splits that it has at least where no number is asked for
    least_splits: Mapping[tuple[str, str], int] = field(default_factory=dict)
    full_times: float = 1.0  # how many times longer the full effort takes
    error_words: str = ""  # what the paper's errors are
    without_record: tuple[str, ...] = ()  # methods of others that no record has

    def __post_init__(self) -> None:
        for method in self.methods:
            if record_key(method) not in (*METHODS, *self.without_record):
                raise ValueError(f"{method} is no record's key: see gbuq_core.methods.")
        names = {score.key for score in self.scores}
        for where in self.published:
            known = where[0] in self.sets and where[1] in self.methods and where[2] in names
            if not known:
                raise ValueError(f"{self.key} has a published number at {where}, but no such cell.")

    def estimate(self, name: str, method: str, effort: str) -> float:
        """Roughly the processor seconds of a cell."""
        cost = self.seconds[method]
        small = cost.base + cost.per_1000_rows * self.rows[name] / 1000.0
        small *= self.times.get(name, 1.0)
        return {"smoke": min(small, 5.0), "small": small, "full": small * self.full_times}[effort]


def record_key(method: str) -> str:
    """The record of a method.

    >>> record_key("sglb:single")
    'sglb'
    """
    return method.partition(":")[0]


_NUMBER = re.compile(r"(-?\d+(?:\.(\d+))?)(?:\((\d+(?:\.\d+)?)\))?")


def published_numbers(
    table: str,
    score: str,
    methods: str,
    rows: Mapping[str, str],
    *,
    scale: float = 1.0,
    splits: int | None = None,
) -> dict[tuple[str, str, str], Published]:
    """A table of a paper, as it is printed.

    Examples
    --------
    >>> found = published_numbers("1", "prr", "a b", {"power": "30 -"}, scale=0.01)
    >>> found["power", "a", "prr"]
    Published(value=0.3, error=None, table='1', rounding=0.005)
    >>> list(found)
    [('power', 'a', 'prr')]
    """
    numbers = {}
    for name, row in rows.items():
        for method, text in zip(methods.split(), row.split(), strict=True):
            if text == "-":
                continue
            parts = _NUMBER.fullmatch(text)
            if parts is None:
                raise ValueError(f"Table {table} has {text!r} for {name}, which is no number.")
            error = None if parts[3] is None else scale * float(parts[3])
            if error is not None and splits is not None:
                error /= splits**0.5
            rounding = scale * 0.5 * 10.0 ** -len(parts[2] or "")
            value = scale * float(parts[1])
            numbers[name, method, score] = Published(value, error, table, rounding)
    return numbers
