"""The board: what `board.json` holds, read and checked.

``python -m benchmarks.tables --publish`` writes the file from committed results, the papers'
protocols and the findings. Nothing in it is written by hand.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache, cached_property
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from benchmarks.tables.comparing import (
    Beside,
    MeanError,
    Published,
    judge,
    mean_error,
)
from gbuq_core.errors import InvalidData, InvalidParameter

BOARD_FILE = Path(__file__).with_name("board.json")
FORMAT = 1
TASKS = ("regression", "classification", "bandit")
# What reading a file that somebody or something has changed may raise.
_DAMAGES = (
    OSError, ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError,
    RecursionError,
)  # fmt: skip


class Score(NamedTuple):
    """A score's name in files and for people, and whether higher values are better.

    ``higher`` is None where neither is, as for seconds of another machine.
    """

    key: str
    label: str
    higher: bool | None = False


class BoardSet(NamedTuple):
    """A data set of a table.

    rows : how many it has; task : of `TASKS`; needs_data : whether it is read from a folder.
    """

    key: str
    rows: int
    task: str
    needs_data: bool = True

    @property
    def label(self) -> str:
        """Its name for people."""
        return self.key.replace("_", " ")


class BoardMethod(NamedTuple):
    """A method of a table, and the key of its record; None for others' methods without one."""

    key: str
    label: str
    record: str | None


class Place(NamedTuple):
    """A number's place on the board."""

    table: str
    set: str
    method: str
    score: str

    def __str__(self) -> str:
        """Its four names with slashes between them."""
        return "/".join(self)


class BoardResult(NamedTuple):
    """What one method came to on one split of one set.

    scores : by their keys; seconds : processor time; peak_memory : bytes; errors : standard errors
    that are known without other splits, by score.
    """

    set: str
    split: int
    method: str
    scores: Mapping[str, float]
    seconds: float
    peak_memory: int
    errors: Mapping[str, float] = MappingProxyType({})


class Finding(NamedTuple):
    """Why numbers differ from the paper's: a section of the findings, and the cells it explains.

    Each part of a cell may have the wildcard ``*``.
    """

    title: str
    text: str
    cells: tuple[Place, ...]

    def explains(self, place: Place) -> bool:
        """Whether a place is among its cells.

        Examples
        --------
        >>> Finding("t", "", (Place("sglb", "*", "sglb", "nll"),)).explains(
        ...     Place("sglb", "wine", "sglb", "nll"))
        True
        """
        return any(all(map(fnmatchcase, place, cell)) for cell in self.cells)


_Named = TypeVar("_Named", Score, BoardSet, BoardMethod)
_Kind = TypeVar("_Kind")


def _find(things: Sequence[_Named], key: str, what: str) -> _Named:
    for thing in things:
        if thing.key == key:
            return thing
    known = ", ".join(thing.key for thing in things)
    raise InvalidParameter(f"The table has no {what} {key!r}: choose from {known}.")


@dataclass(frozen=True, kw_only=True)
class Table:
    """A paper's table: what is measured on what, the paper's numbers, and ours.

    Attributes
    ----------
    key, paper : str
    words : str
        How settings, data and protocol differ from the paper's.
    error_words : str
        What the paper's errors are.
    sets : tuple of BoardSet
    methods : tuple of BoardMethod
    scores : tuple of Score
    published : mapping
        From (set, method, score) to the paper's number.
    results : tuple of BoardResult
        Ordered by set, method and split.
    wanted : mapping
        From (set, method) to the splits of the whole small setting.
    effort : str
        Of the results: "small" or "full"; "" if there are none.
    versions, machines : tuple of str
        Of gbuq, and what ran it, in words.
    """

    key: str
    paper: str
    words: str
    error_words: str
    sets: tuple[BoardSet, ...]
    methods: tuple[BoardMethod, ...]
    scores: tuple[Score, ...]
    published: Mapping[tuple[str, str, str], Published]
    results: tuple[BoardResult, ...]
    wanted: Mapping[tuple[str, str], int]
    effort: str = ""
    versions: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()

    @property
    def short_paper(self) -> str:
        """The paper's authors and year; the whole of what has no year.

        Examples
        --------
        >>> read_board().table("soft_trees").short_paper
        'Cinquin et al. (2022)'
        """
        authors = re.match(r".*?\(\d{4}\)", self.paper)
        return authors[0] if authors else self.paper

    def find_set(self, key: str) -> BoardSet:
        """A set by its key.

        Raises
        ------
        InvalidParameter
        """
        return _find(self.sets, key, "set")

    def find_method(self, key: str) -> BoardMethod:
        """A method by its key.

        Raises
        ------
        InvalidParameter
        """
        return _find(self.methods, key, "method")

    def find_score(self, key: str) -> Score:
        """A score by its key.

        Raises
        ------
        InvalidParameter
        """
        return _find(self.scores, key, "score")

    @cached_property
    def _cells(self) -> Mapping[tuple[str, str], tuple[BoardResult, ...]]:
        by_cell: dict[tuple[str, str], list[BoardResult]] = {}
        for result in self.results:
            by_cell.setdefault((result.set, result.method), []).append(result)
        return {cell: tuple(results) for cell, results in by_cell.items()}

    def results_of(self, set_key: str, method: str) -> tuple[BoardResult, ...]:
        """Results of a method on a set, one a split; empty if there are none."""
        return self._cells.get((set_key, method), ())

    def values(self, set_key: str, method: str, score: str) -> dict[int, float]:
        """Our values by split; empty if there are none."""
        results = self.results_of(set_key, method)
        return {each.split: each.scores[score] for each in results if score in each.scores}

    def ours(self, set_key: str, method: str, score: str) -> MeanError | None:
        """Our mean over splits with its standard error; None if there is no number."""
        values = self.values(set_key, method, score)
        if not values:
            return None
        if len(values) == 1:
            known = [each.errors.get(score) for each in self.results_of(set_key, method)]
            if known[0] is not None:
                return MeanError(next(iter(values.values())), known[0])
        return mean_error(list(values.values()))

    def beside(self, set_key: str, method: str, score: str) -> Beside | None:
        """Our mean beside the paper's number; None if there is none of ours."""
        ours = self.ours(set_key, method, score)
        if ours is None:
            return None
        theirs = self.published.get((set_key, method, score))
        return judge(ours, theirs, self.find_score(score).higher)

    def seconds(self, set_key: str, method: str) -> float | None:
        """Median processor seconds of a split; None without results.

        The small setting tunes on split 0 only, so that of several splits the median leaves the
        tuning out.
        """
        results = self.results_of(set_key, method)
        return median(each.seconds for each in results) if results else None

    def sets_with(self, score: str) -> tuple[BoardSet, ...]:
        """The sets on which some method of ours has the score."""
        has = {each.set for each in self.results if score in each.scores}
        return tuple(each for each in self.sets if each.key in has)

    def methods_with(self, score: str) -> tuple[BoardMethod, ...]:
        """The methods that have the score on some set."""
        has = {each.method for each in self.results if score in each.scores}
        return tuple(each for each in self.methods if each.key in has)

    def scores_shown(self) -> tuple[Score, ...]:
        """The scores that results or the paper have."""
        has = {score for each in self.results for score in each.scores}
        has |= {score for _, _, score in self.published}
        return tuple(score for score in self.scores if score.key in has)


@dataclass(frozen=True, kw_only=True)
class Board:
    """All tables, and what was found where they differ from the papers'."""

    tables: tuple[Table, ...]
    findings: tuple[Finding, ...] = field(default=())

    def table(self, key: str) -> Table:
        """A table by its key.

        Raises
        ------
        InvalidParameter
        """
        for table in self.tables:
            if table.key == key:
                return table
        known = ", ".join(table.key for table in self.tables)
        raise InvalidParameter(f"The scoreboard has no table {key!r}: choose from {known}.")

    def findings_on(self, place: Place) -> tuple[Finding, ...]:
        """The findings that explain a number."""
        return tuple(finding for finding in self.findings if finding.explains(place))


def table_of(
    numbers: Mapping[str, Mapping[str, Sequence[float]]],
    score: str = "score",
    higher: bool = False,
    seconds: Mapping[str, float] = MappingProxyType({}),
) -> Table:
    """A table of any numbers, to rank methods that the board does not have.

    Parameters
    ----------
    numbers : mapping
        From each method to its sets, and from those to values, one a split.
    score : str
        The name of what they are.
    higher : bool
        Whether higher values are better.
    seconds : mapping of str to float, optional
        What a split takes, by method.

    Examples
    --------
    >>> table = table_of({"ours": {"mine": [0.5, 0.7]}, "other": {"mine": [0.9, 0.8]}})
    >>> str(table.ours("mine", "ours", "score"))
    '0.600 (0.100)'
    """
    sets = dict.fromkeys(name for by_set in numbers.values() for name in by_set)
    return Table(
        key="numbers",
        paper="",
        words="",
        error_words="",
        sets=tuple(BoardSet(name, 0, "regression", needs_data=False) for name in sets),
        methods=tuple(BoardMethod(key, key, None) for key in numbers),
        scores=(Score(score, score, higher),),
        published=MappingProxyType({}),
        results=tuple(
            BoardResult(name, split, key, {score: float(value)}, seconds.get(key, 0.0), 0)
            for key, by_set in numbers.items()
            for name, values in by_set.items()
            for split, value in enumerate(values)
        ),
        wanted=MappingProxyType({}),
    )


@cache
def _own_board() -> Board:
    return _read(BOARD_FILE)


def read_board(path: Path | None = None) -> Board:
    """The board of this package, or that of another file.

    Parameters
    ----------
    path : Path, optional

    Raises
    ------
    InvalidData
        If the file is missing or damaged.

    Examples
    --------
    >>> board = read_board()
    >>> [table.key for table in board.tables]
    ['sglb', 'cyclical', 'ibug', 'soft_trees', 'macau', 'ours', 'tails', 'shapes']
    >>> board.table("ibug").published["power", "ibug", "crps"]
    Published(value=1.542, error=0.02, table='1', rounding=0.0005)
    """
    return _own_board() if path is None else _read(path)


def _read(path: Path) -> Board:
    try:
        content = json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)
        return _board_of(content)
    except _DAMAGES as error:
        raise InvalidData(
            f"{path.name} holds no scoreboard that can be read: install gbuq again, or write the "
            "file anew with python -m benchmarks.tables --publish."
        ) from error


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no number of a board")


def _as(kind: type[_Kind], value: Any) -> _Kind:
    """The value, which must be of this very kind: a truth value is no number."""
    if type(value) is not kind:
        raise TypeError(f"{value!r} is no {kind.__name__}")
    return value


def _number(value: Any) -> float:
    if type(value) is not int:
        _as(float, value)
    if not math.isfinite(number := float(value)):  # a huge whole number overflows
        raise ValueError(f"{value!r} is not finite")
    return number


def _whole(value: Any) -> int:
    if _as(int, value) < 0:
        raise ValueError(f"{value!r} is no number of things")
    return value


def _board_of(content: Any) -> Board:
    if content["format"] != FORMAT:
        raise ValueError("another format")
    return Board(
        tables=tuple(_table_of(each) for each in _as(list, content["tables"])),
        findings=tuple(
            Finding(
                _as(str, each["title"]),
                _as(str, each["text"]),
                tuple(Place(*_four(cell)) for cell in _as(list, each["cells"])),
            )
            for each in _as(list, content["findings"])
        ),
    )


def _four(cell: Any) -> list[str]:
    parts = _as(str, cell).split("/")
    if len(parts) != 4:
        raise ValueError(f"{cell!r} is no place on the board")
    return parts


def _table_of(content: Any) -> Table:
    sets = tuple(
        BoardSet(_as(str, key), _whole(rows), TASKS[TASKS.index(task)], _as(bool, needs))
        for key, rows, task, needs in _as(list, content["sets"])
    )
    methods = tuple(
        BoardMethod(_as(str, key), _as(str, label), None if record is None else _as(str, record))
        for key, label, record in _as(list, content["methods"])
    )
    scores = tuple(
        Score(_as(str, key), _as(str, label), None if higher is None else _as(bool, higher))
        for key, label, higher in _as(list, content["scores"])
    )
    published = {}
    names = ("set", "method", "score", "value", "error", "table", "rounding")
    columns = [_as(list, content["published"][name]) for name in names]
    for at_set, at_method, at_score, value, error, where, rounding in zip(*columns, strict=True):
        place = (sets[_whole(at_set)].key, methods[_whole(at_method)].key,
                 scores[_whole(at_score)].key)  # fmt: skip
        known = None if error is None else _number(error)
        published[place] = Published(_number(value), known, _as(str, where), _number(rounding))
    return Table(
        key=_as(str, content["key"]),
        paper=_as(str, content["paper"]),
        words=_as(str, content["words"]),
        error_words=_as(str, content["error_words"]),
        sets=sets,
        methods=methods,
        scores=scores,
        published=MappingProxyType(published),
        results=_results_of(content["results"], sets, methods, scores),
        wanted=MappingProxyType(_wanted_of(content["wanted"], sets, methods)),
        effort=_as(str, content["effort"]),
        versions=tuple(_as(str, each) for each in _as(list, content["versions"])),
        machines=tuple(_as(str, each) for each in _as(list, content["machines"])),
    )


def _wanted_of(
    content: Any, sets: Sequence[BoardSet], methods: Sequence[BoardMethod]
) -> dict[tuple[str, str], int]:
    columns = [_as(list, content[name]) for name in ("set", "method", "splits")]
    return {
        (sets[_whole(at_set)].key, methods[_whole(at_method)].key): _whole(splits)
        for at_set, at_method, splits in zip(*columns, strict=True)
    }


def _results_of(
    content: Any,
    sets: Sequence[BoardSet],
    methods: Sequence[BoardMethod],
    scores: Sequence[Score],
) -> tuple[BoardResult, ...]:
    columns = [_as(list, content[k]) for k in ("set", "split", "method", "seconds", "peak_memory")]
    known = {score.key for score in scores}
    if not set(content["scores"]) <= known:
        raise KeyError("scores that the table does not have")
    by_score = {key: _as(list, values) for key, values in content["scores"].items()}
    if any(len(values) != len(columns[0]) for values in by_score.values()):
        raise ValueError("columns of different lengths")
    results = []
    for i, (at_set, split, method, seconds, memory) in enumerate(zip(*columns, strict=True)):
        values = {
            key: _number(column[i]) for key, column in by_score.items() if column[i] is not None
        }
        results.append(
            BoardResult(
                sets[_whole(at_set)].key, _whole(split), methods[_whole(method)].key,
                MappingProxyType(values), _number(seconds), _whole(memory),
            )
        )  # fmt: skip
    return tuple(results)
