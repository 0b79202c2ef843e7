"""What a paper's protocol declares, and the numbers that the paper has published."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from gbuq_core.experiments.scoreboard.board import Score
from gbuq_core.experiments.scoreboard.comparing import Published
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
    """All that is said about one paper's tables, declared once.

    Attributes
    ----------
    key, paper : str
        Its name in files and options, and the paper.
    words : str
        What the small setting shortens, and how data and protocol differ from the paper's.
    sets : mapping
        From each set to its number of splits.
    rows : mapping
        From each set to its rows, for the estimate of time.
    methods : mapping
        From each method's key, a record's with or without a variant after a colon, to its name.
    scores : tuple of Score
    published : mapping
        From (set, method, score) to the paper's number.
    run : callable
        Computes a cell. It raises `Missing` for a method that is not installed.
    seconds : mapping
        From method to `Seconds` of a cell in the small setting.
    methods_on : callable
        The methods that a set has.
    builtin : tuple of str
        Sets that need no data folder.
    files : mapping
        From a set to further sets that its cells read from the data folder, for foreign rows.
    uses : mapping
        From a method to the methods of the same split whose settings save it the tuning.
    tuned_once : tuple of str
        Efforts in which split 0 chooses the settings for all splits.
    tuned_on_each : tuple of str
        Sets whose splits choose their settings all the same, each for itself.
    times : mapping
        Sets whose cells take so many times longer than their rows say.
    downloads : tuple of str
        Sets that only run where they are named, or where ``--download`` fetches them.
    least_splits : mapping
        From (set, method) to the splits that it has at least where no number is asked for.
    full_times : float
        How many times longer the full effort takes.
    error_words : str
        What the paper's errors are.
    without_record : tuple of str
        Methods of others that no record has.
    """

    key: str
    paper: str
    words: str
    sets: Mapping[str, int]
    rows: Mapping[str, int]
    methods: Mapping[str, str]
    scores: tuple[Score, ...]
    published: Mapping[tuple[str, str, str], Published]
    run: Callable[[Task], Found]
    seconds: Mapping[str, Seconds]
    methods_on: Callable[[str], Sequence[str]]
    builtin: tuple[str, ...] = ()
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    uses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tuned_once: tuple[str, ...] = ("smoke", "small")
    tuned_on_each: tuple[str, ...] = ()
    times: Mapping[str, float] = field(default_factory=dict)
    downloads: tuple[str, ...] = ()
    least_splits: Mapping[tuple[str, str], int] = field(default_factory=dict)
    full_times: float = 1.0
    error_words: str = ""
    without_record: tuple[str, ...] = ()

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

    Parameters
    ----------
    table : str
        Its number.
    score : str
    methods : str
        Keys in the order of the columns.
    rows : mapping
        From set to its numbers, with errors in parentheses; a dash stands for none.
    scale : float
        What turns the paper's unit into ours.
    splits : int, optional
        The paper's errors are standard deviations over so many splits.

    Examples
    --------
    >>> found = published_numbers("1", "prr", "a b", {"power": "30 -"}, scale=0.01)
    >>> found["power", "a", "prr"]
    Published(value=0.3, error=None, table='1', rounding=0.005)
    >>> list(found)
    [('power', 'a', 'prr')]
    """
    found = {}
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
            found[name, method, score] = Published(value, error, table, rounding)
    return found
