"""Cells of tables, and their results as small JSON files: one file a cell."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple


class Cell(NamedTuple):
    """One method on one split of one set, under a table's protocol."""

    table: str
    set: str
    split: int
    method: str

    def __str__(self) -> str:
        """Its four names with slashes between them."""
        return "/".join(map(str, self))


class BadResult(ValueError):
    """A file that holds no result; the message is one sentence."""


class NotStored(OSError):
    """A result that could not be written; the message is one sentence."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """What is kept of a cell."""

    # `table`, `set`, `split`, `method`: the cell
    table: str
    set: str
    split: int
    method: str
    # numbers by the keys of the protocol's scores; what a method does not have is left out
    scores: dict[str, float]
    seconds: float  # processor time of the cell's process
    peak_memory: int  # the most memory that the process held at once, in bytes
    seed: int
    settings: dict[str, Any]  # `effort`, and what was chosen by tuning
    version: str  # of gbuq
    machine: str  # cores, processor, memory, system and Python, in words

    @property
    def cell(self) -> Cell:
        """Where it stands."""
        return Cell(self.table, self.set, self.split, self.method)

    @property
    def effort(self) -> str:
        """Of `benchmarks.protocols.EFFORTS`."""
        return str(self.settings.get("effort", ""))


FIELDS = tuple(field.name for field in fields(Result))


def parse_result(content: Any) -> Result:
    """A result from what its JSON holds."""
    if not isinstance(content, dict) or sorted(content) != sorted(FIELDS):
        raise BadResult(f"a result has exactly the fields {', '.join(FIELDS)}.")
    scores = content["scores"]
    if not isinstance(scores, dict) or not all(
        isinstance(value, (int, float)) and math.isfinite(value) for value in scores.values()
    ):
        raise BadResult("the scores of a result are finite numbers by name.")
    if not isinstance(content["settings"], dict) or not isinstance(content["split"], int):
        raise BadResult("the settings of a result have names, and its split is a whole number.")
    return Result(**content)


def finite(scores: Mapping[str, float]) -> dict[str, float]:
    """Without what is not a number, which JSON cannot hold.

    >>> finite({"rmse": 1, "prr": float("nan")})
    {'rmse': 1.0}
    """
    return {name: float(value) for name, value in scores.items() if math.isfinite(value)}


class Cells:
    """The results in a folder, which is made when the first is written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path_of(self, cell: Cell) -> Path:
        """The file of a cell. A colon is no letter of a file's name on every system."""
        return self.folder / ("-".join(map(str, cell)).replace(":", "+") + ".json")

    def make_folder(self) -> None:
        """Make the folder where there is none."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise NotStored(f"{self.folder} cannot hold results: {error.strerror}.") from error

    def put(self, result: Result) -> None:
        """Write a result, whole or not at all."""
        self.make_folder()
        path = self.path_of(result.cell)
        part = path.with_suffix(f".{os.getpid()}.part")
        try:
            part.write_text(json.dumps(asdict(result), indent=1, allow_nan=False) + "\n")
            os.replace(part, path)
        except OSError as error:
            raise NotStored(
                f"The result of {result.cell} cannot be written to {self.folder}: "
                f"{error.strerror}. The results before it are stored: make room, and go on with "
                "--resume."
            ) from error
        finally:
            part.unlink(missing_ok=True)

    def get(self, cell: Cell) -> Result | None:
        """The result of a cell, if it is there."""
        path = self.path_of(cell)
        return _read(path) if path.exists() else None

    def __iter__(self) -> Iterator[Result]:
        """All results, by file name."""
        yield from map(_read, sorted(self.folder.glob("*.json")))


def _read(path: Path) -> Result:
    try:
        return parse_result(json.loads(path.read_text()))
    except (ValueError, OSError) as error:  # BadResult and JSON's own errors are ValueErrors
        reason = error if isinstance(error, BadResult) else "it is no JSON."
        raise BadResult(f"{path} holds no result of a table: {reason}") from error
