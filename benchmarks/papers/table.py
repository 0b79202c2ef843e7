"""The file of all cells, and how our number compares with the paper's."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np

FILE = Path(__file__).parents[1] / "papers.csv"
PAPERS = {
    "sglb": "Malinin, Prokhorenkova and Ustimenko (2021)",
    "cyclical": "Tan, Huertas and Zhao (2023)",
    "ibug": "Brophy and Lowd (2022)",
    "soft_trees": "Cinquin et al. (2022)",
    "macau": "Merilinna (2023)",
    "ours": "Every method of this project and its peers",
}
ERRORS = 2.0  # standard errors that count as better or worse
SAME, BETTER, WORSE = "same", "better", "worse"
UNEXPLAINED = "unexplained"  # how such a reason begins
# Beginnings of measures' names. Lower values of all others are better.
_HIGHER = ("accuracy", "macro_f1", "f1_auc", "auroc", "prr", "log_likelihood")
_NEITHER = ("sharpness", "n_neighbors", "fit_seconds", "predict_ms", "noise_ratio", "coverage")


class Row(NamedTuple):
    """One cell by one measure; what is unknown is empty.

    ``ours`` is a mean over ``seeds`` splits.
    """

    paper: str  # a key of `benchmarks.papers.computing.RUNNERS`
    table: str  # where the published number stands
    set: str
    method: str
    measure: str
    published: str  # with the digits that the paper prints
    published_error: str  # its standard error
    ours: str
    error: str  # the standard error of ours
    seconds: str
    seeds: str
    reason: str  # why the numbers differ, or why ours is not there

    @property
    def place(self) -> tuple[str, str, str, str]:
        """What no two rows have in common."""
        return self.paper, self.set, self.method, self.measure

    @property
    def differs(self) -> bool:
        """Whether the numbers differ by two standard errors and half of the paper's last digit."""
        if not self.published or not self.ours:
            return False
        gap = abs(float(self.ours) - float(self.published))
        error = math.hypot(float(self.error or 0.0), float(self.published_error or 0.0))
        decimals = len(self.published.partition(".")[2])
        return gap > ERRORS * error + 0.5 * 10.0**-decimals

    @property
    def word(self) -> str:
        """Whether ours is the same, better or worse; empty where the two cannot be compared.

        One of them may lack, a single split has no standard error, and of some measures neither
        low nor high values are better.
        """
        neither = self.measure.startswith(_NEITHER)
        if neither or not (self.published and self.ours and self.error):
            return ""
        if not self.differs:
            return SAME
        above = float(self.ours) > float(self.published)
        return BETTER if above == self.measure.startswith(_HIGHER) else WORSE


def read_rows(path: Path = FILE) -> list[Row]:
    """All rows of the file."""
    with path.open(encoding="utf-8", newline="") as file:
        return [Row(**line) for line in csv.DictReader(file)]


def write_rows(rows: Iterable[Sequence[object]], file: IO[str]) -> None:
    """Write rows as CSV."""
    csv.writer(file, lineterminator="\n").writerows(rows)


def replace_rows(rows: Iterable[Row], path: Path = FILE) -> None:
    """Put rows into the file, in the place of those of the same cells."""
    by_place = {row.place: row for row in read_rows(path)}
    by_place.update((row.place, row) for row in rows)
    with path.open("w", encoding="utf-8", newline="") as file:
        write_rows([Row._fields, *by_place.values()], file)


def mean_and_error(values: Sequence[float]) -> tuple[str, str]:
    """Mean and standard error of values of several splits; a single one has no error."""
    n = len(values)
    error = f"{np.std(values, ddof=1) / math.sqrt(n):.6g}" if n > 1 else ""
    return f"{np.mean(values):.8g}", error
