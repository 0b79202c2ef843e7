"""Has a second file drifted from the first? Column by column, and as rows that are foreign.

The population stability index compares shares of rows by bins of the first file: the deciles of a
column of numbers, the most frequent categories, and missing values. What chance gives for as many
rows is drawn by simulation, so that small files raise no alarm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gbuq_core.errors import InvalidData
from gbuq_core.metrics import binomial_band
from gbuq_core.presentation import (
    counted,
    csv_text,
    listed,
    one_line,
    percent,
    short,
    written_apart,
)
from gbuq_core.tables.cleaning import Feature, Prepared
from gbuq_core.tables.scoring import ScoredTable
from gbuq_core.tables.unfamiliar import TableUnfamiliarity
from gbuq_core.tables.written_dates import DATE_PARTS, dates_apart

SMOOTHING = 0.5  # rows added to each bin of each file, so that no share is 0
MODERATE, LARGE = 0.1, 0.25  # PSI by convention: below, between, above
FOREIGN_SHARE = 0.1  # of the rows: above it, the first file's coverage is not shown
N_BINS = 20  # of the histograms
_DECILES = np.arange(1, 10) / 10.0
_HEAVY = 0.1  # a value held by as many rows has a bin of its own
_MOST_LEVELS = 20
_DRAWS, _LEVEL = 400, 0.95
_NAMED = 3
_UNFAMILIARITY_EDGES = np.linspace(0.0, 1.0, N_BINS + 1)


class ColumnDrift(NamedTuple):
    """How far a column of the second file is from the first.

    Attributes
    ----------
    name, column : str
        The feature, such as ``"day: month"``, and the column that it is of.
    psi : float
        The population stability index over the bins.
    chance : float
        What 95 % of unchanged files of as many rows stay below, for all columns together.
    outside : float
        Share of the second file's rows below the smallest or above the largest number of the
        first.
    new_levels : tuple of str
        Categories that the first file does not have, the most frequent first.
    n_new_level : int
        Rows that hold one.
    missing : (float, float)
        Shares of rows where it is missing, in the first file and in the second.
    bins : tuple of str
        In words.
    first, second : ndarray of shape (n_bins,), int64
        Rows in each bin.
    """

    name: str
    column: str
    psi: float
    chance: float
    outside: float
    new_levels: tuple[str, ...]
    n_new_level: int
    missing: tuple[float, float]
    bins: tuple[str, ...]
    first: NDArray[np.int64]
    second: NDArray[np.int64]

    @property
    def shifted(self) -> bool:
        """Whether the index is above what chance gives."""
        return self.psi > self.chance

    @property
    def newly_missing(self) -> bool:
        """Whether values are missing that never are in the first file."""
        return self.missing[0] == 0.0 < self.missing[1]

    @property
    def size(self) -> str:
        """The shift in a word: by the usual limits 0.1 and 0.25, where chance is excluded."""
        if not self.shifted:
            return "not told apart"
        return "small" if self.psi < MODERATE else "moderate" if self.psi < LARGE else "large"


class Histograms(NamedTuple):
    """Shares of the rows of two files in the same bins.

    Attributes
    ----------
    edges : ndarray of shape (n_bins + 1,)
        Empty for categories. The first and the last bin hold what lies beyond them too.
    labels : tuple of str
        The bins in words.
    first, second : ndarray of shape (n_bins,)
        Shares of the rows of each file that have a value.
    dates : tuple of str
        The edges as dates, where they are days since 1 January 1970; else empty.
    """

    edges: NDArray[np.float64]
    labels: tuple[str, ...]
    first: NDArray[np.float64]
    second: NDArray[np.float64]
    dates: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TableDrift:
    """How a second file differs from the first.

    Attributes
    ----------
    n_first, n_second : int
        Rows that were compared: of the first file those with a target.
    columns : tuple of ColumnDrift
        The largest index first.
    outside, usual_outside : float
        Share of the second file's rows with a number outside the first file's range, a category or
        a gap that the first file does not have; and the most that is usual for new rows like those
        of the first file.
    foreign, usual_foreign : float
        Share of rows less familiar than every held-out row in all folds (``unfamiliarity`` of 1),
        and the most that is usual. NaN where unfamiliarity was not measured.
    unfamiliarity : Histograms or None
        Of the first file's held-out rows and of the second file.
    """

    n_first: int
    n_second: int
    columns: tuple[ColumnDrift, ...]
    outside: float
    usual_outside: float
    foreign: float
    usual_foreign: float
    unfamiliarity: Histograms | None

    @property
    def shifted(self) -> tuple[ColumnDrift, ...]:
        """The columns that shifted by more than chance."""
        return tuple(column for column in self.columns if column.shifted)

    def find(self, name: str) -> ColumnDrift:
        """The feature of this name, or the one of this column that shifted the most."""
        for key in ("name", "column"):
            for column in self.columns:
                if getattr(column, key) == name:
                    return column
        raise InvalidData(f'The model uses no column "{name[:60]}".')


def measure_drift(scored: ScoredTable, seed: int = 0) -> TableDrift:
    r"""How a second file differs from the first: by column, and as rows that are foreign.

    The population stability index of a column is :math:`\sum_b (q_b - p_b) \log(q_b / p_b)` over
    bins b, where p and q are the shares of the first and of the second file with `SMOOTHING` rows
    added to each bin. Below 0.1 a shift is called small and above 0.25 large, by convention. The
    band of chance comes from pairs of files drawn from both files together, with as many rows as
    these have.

    Parameters
    ----------
    scored : ScoredTable
        Of a second file; with `add_unfamiliarity`, foreign rows are counted too.
    seed : int
        Of the simulation.

    Raises
    ------
    InvalidData
        If there is no second file.

    References
    ----------
    Yurdakul and Naranjo, "Statistical properties of the population stability index", Journal of
    Risk Model Validation 14 (2020): the index of unchanged files and its dependence on their rows.

    Examples
    --------
    >>> from gbuq_core.tables import ScorePlan, read_table, score_table
    >>> rng = np.random.default_rng(0)
    >>> def make(shift, n):
    ...     x, z = rng.normal(shift, 1.0, n).round(3), rng.normal(size=n).round(3)
    ...     lines = "\n".join(f"{a},{b},{a - b:.3f}" for a, b in zip(x, z, strict=True))
    ...     return read_table(f"x,z,y\n{lines}".encode())
    >>> scored = score_table(make(0.0, 200), "y", new=make(1.5, 100),
    ...                      plan=ScorePlan(method="sglb", n_trees=30))
    >>> drift = measure_drift(scored)
    >>> [(column.name, column.size) for column in drift.columns]
    [('x', 'large'), ('z', 'not told apart')]
    """
    if scored.protocol != "new_file":
        raise InvalidData("There is no second file that could differ from the first: give one.")
    first, measured = FirstFile(scored.training), scored.unfamiliarity
    counts = first.count(scored.scored.X, None if measured is None else measured.rows.score)
    return first.compare(counts, measured, seed)


class ColumnCounts(NamedTuple):
    """What is counted of a column of the second file."""

    # (n_bins,): rows in each bin of the first file; missing values are in none
    bins: NDArray[np.int64]
    # `n_missing`, `n_outside`: rows without a value, and with a number outside the first file's
    # range
    n_missing: int
    n_outside: int
    new_levels: dict[str, int]  # rows by category that the first file does not have

    def add(self, other: ColumnCounts) -> ColumnCounts:
        """Of both."""
        levels = dict(self.new_levels)
        for level, n in other.new_levels.items():
            levels[level] = levels.get(level, 0) + n
        return ColumnCounts(
            self.bins + other.bins,
            self.n_missing + other.n_missing,
            self.n_outside + other.n_outside,
            levels,
        )


class SecondCounts(NamedTuple):
    """What is counted of the second file: of all of it, or of a block, to be added up."""

    n_rows: int
    n_out: int  # rows that the first file does not cover; see `TableDrift`
    n_foreign: int  # rows with an unfamiliarity of 1; 0 where it is not measured
    columns: tuple[ColumnCounts, ...]
    unfamiliarity: NDArray[np.int64]

    def add(self, other: SecondCounts) -> SecondCounts:
        """Of both blocks."""
        pairs = zip(self.columns, other.columns, strict=True)
        return SecondCounts(
            self.n_rows + other.n_rows,
            self.n_out + other.n_out,
            self.n_foreign + other.n_foreign,
            tuple(mine.add(theirs) for mine, theirs in pairs),
            self.unfamiliarity + other.unfamiliarity,
        )

    def as_json(self, most_levels: int) -> list[Any]:
        """As JSON, with the most frequent new categories; others are under the empty name."""
        columns = []
        for column in self.columns:
            order = sorted(column.new_levels.items(), key=_most_frequent)
            kept, rest = dict(order[:most_levels]), sum(n for _, n in order[most_levels:])
            if rest:
                kept[""] = kept.get("", 0) + rest
            columns.append([column.bins.tolist(), column.n_missing, column.n_outside, kept])
        return [self.n_rows, self.n_out, self.n_foreign, columns, self.unfamiliarity.tolist()]

    @classmethod
    def from_json(cls, values: list[Any]) -> SecondCounts:
        """What `as_json` has told."""
        n_rows, n_out, n_foreign, columns, unfamiliarity = values
        return cls(
            n_rows,
            n_out,
            n_foreign,
            tuple(ColumnCounts(np.array(bins, np.int64), *rest) for bins, *rest in columns),
            np.array(unfamiliarity, np.int64),
        )


class FirstFile:
    r"""The first file as what a second one is compared with: bins, ranges and rows in them.

    A second file may be counted block by block: `measure_drift` gives the same for all of it.

    >>> from gbuq_core.tables import infer_schema, prepare_training, read_table
    >>> table = read_table(b"x,y\n" + b"1,1\n2,2\n3,4\n4,3\n" * 3)
    >>> first = FirstFile(prepare_training(table, infer_schema(table), "y", "regression"))
    >>> blocks = [first.count(pd.DataFrame({"x": x}), None) for x in ([1.0, 9.0], [2.0])]
    >>> first.compare(blocks[0].add(blocks[1]), None).columns[0].second.tolist()
    [1, 1, 0, 1]
    """

    def __init__(self, training: Prepared) -> None:
        first = training.X.loc[training.known]
        self._n_rows = len(first)
        self._names = [(feature.name, feature.column) for feature in training.features]
        self._columns = [
            _bins_of(first[feature.name], _writer_of(feature)) for feature in training.features
        ]

    def count(self, second: pd.DataFrame, scores: NDArray[np.float64] | None) -> SecondCounts:
        """Rows of a second file, or of a block of it, by bin."""
        out = np.zeros(len(second), bool)
        columns = []
        for (name, _), bins in zip(self._names, self._columns, strict=True):
            cells = second[name]
            beyond = _beyond(bins.range, cells)
            out |= beyond.out
            codes = bins.code(cells)
            rows = np.bincount(codes[codes >= 0], minlength=len(bins.names)).astype(np.int64)
            n_missing = int(cells.isna().sum())
            columns.append(ColumnCounts(rows, n_missing, beyond.n_outside, beyond.new_levels))
        n_foreign, unfamiliarity = 0, np.zeros(N_BINS, np.int64)
        if scores is not None:
            n_foreign = int(_is_foreign(scores).sum())
            unfamiliarity = _rows_in(_UNFAMILIARITY_EDGES, scores)
        return SecondCounts(len(second), int(out.sum()), n_foreign, tuple(columns), unfamiliarity)

    def compare(
        self, counts: SecondCounts, unfamiliar: TableUnfamiliarity | None, seed: int = 0
    ) -> TableDrift:
        """How the second file differs."""
        level = 1.0 - (1.0 - _LEVEL) / max(len(self._columns), 1)
        columns, usual = [], 0.0
        for number, (bins, rows) in enumerate(zip(self._columns, counts.columns, strict=True)):
            usual += bins.range.usual(rows.n_missing > 0)
            columns.append(self._column(number, bins, rows, counts.n_rows, level, seed))
        columns.sort(key=lambda column: -column.psi)
        foreign, usual_foreign, unfamiliarity = np.nan, np.nan, None
        if unfamiliar is not None:
            foreign, usual_foreign = counts.n_foreign / counts.n_rows, _usual_foreign(unfamiliar)
            held = _rows_in(_UNFAMILIARITY_EDGES, unfamiliar.estimator.held_out_.score)
            unfamiliarity = _histograms(_UNFAMILIARITY_EDGES, held, counts.unfamiliarity)
        return TableDrift(
            n_first=self._n_rows,
            n_second=counts.n_rows,
            columns=tuple(columns),
            outside=counts.n_out / counts.n_rows,
            usual_outside=min(usual, 1.0),
            foreign=foreign,
            usual_foreign=usual_foreign,
            unfamiliarity=unfamiliarity,
        )

    def _column(
        self, number: int, bins: _Bins, rows: ColumnCounts, n_rows: int, level: float, seed: int
    ) -> ColumnDrift:
        texts, first, second = bins.filled(rows)
        rng = np.random.default_rng((seed, number))
        order = sorted(rows.new_levels.items(), key=_most_frequent)
        return ColumnDrift(
            *self._names[number],
            population_stability(first, second),
            _chance(first, second, level, rng),
            rows.n_outside / n_rows,
            tuple(name for name, _ in order if name),
            sum(rows.new_levels.values()),
            (bins.range.n_missing / self._n_rows, rows.n_missing / n_rows),
            texts,
            first,
            second,
        )


def _most_frequent(pair: tuple[str, int]) -> tuple[int, str]:
    """The order of categories: the most frequent first."""
    return -pair[1], pair[0]


def population_stability(first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
    """The population stability index of the rows in each bin; bins without any row do not count.

    Examples
    --------
    >>> round(population_stability(np.array([10, 10]), np.array([10, 10])), 6)
    0.0
    >>> round(population_stability(np.array([90, 10]), np.array([50, 50])), 2)
    0.85
    """
    filled = (first + second) > 0
    return float(_psi(first[None, filled], second[None, filled])[0])


def column_histograms(scored: ScoredTable, name: str) -> Histograms:
    """A feature in both files: up to 20 bins of equal width, or the bins of categories.

    Parameters
    ----------
    scored : ScoredTable
        Of a second file.
    name : str
        Of a feature, such as ``"age"`` or ``"day: month"``.
    """
    training = scored.training
    first, second = training.X.loc[training.known, name], scored.scored.X[name]
    write = _writer_of(next(each for each in training.features if each.name == name))
    if isinstance(first.dtype, pd.CategoricalDtype):
        bins = _bins_of(first, write)
        codes = bins.code(second)
        rows = np.bincount(codes[codes >= 0], minlength=len(bins.names))
        texts, *counts = bins.filled(ColumnCounts(rows, int(second.isna().sum()), 0, {}))
        shares = [part / max(part.sum(), 1) for part in counts]
        return Histograms(np.empty(0), texts, shares[0], shares[1])
    pair = [cells.to_numpy(np.float64) for cells in (first, second)]
    pair = [values[~np.isnan(values)] for values in pair]
    ends = [np.quantile(values, [0.005, 0.995]) for values in pair if len(values)]
    low = min((float(end[0]) for end in ends), default=0.0)
    high = max((float(end[1]) for end in ends), default=1.0)
    distinct = np.unique(np.concatenate(pair))
    if len(distinct) <= N_BINS and len(distinct) > 1:
        edges = np.concatenate([distinct[:1], (distinct[1:] + distinct[:-1]) / 2.0, distinct[-1:]])
    else:
        edges = np.linspace(low, high if high > low else low + 1.0, N_BINS + 1)
    both = [_rows_in(edges, values) for values in pair]
    dates = tuple(write(edges.tolist())) if write is dates_apart else ()
    return _histograms(edges, both[0], both[1], write)._replace(dates=dates)


def foreign_share(unfamiliarity: TableUnfamiliarity) -> float:
    """The share of rows that are less familiar than every held-out row, in all folds."""
    # Not of times_beyond above 1: it is a mean over folds, and one fold alone may raise it.
    return float(np.mean(_is_foreign(unfamiliarity.rows.score)))


def why_no_coverage(scored: ScoredTable) -> str:
    """Why the first file's coverage (or calibration) does not hold for the second; else empty.

    More than a tenth of the second file's rows are foreign, and more than chance explains. Where
    unfamiliarity was not measured, rows outside the first file's range count.
    """
    if scored.protocol != "new_file":
        return ""
    measured, n = scored.unfamiliarity, len(scored.scored.X)
    classes = scored.training.target.classes
    if measured is not None:
        part, sure = (foreign_share(measured), _usual_foreign(measured)), measured.is_foreign
        return coverage_withheld(classes, n / measured.rows_together, *part, True, sure)
    out, usual = np.zeros(n, bool), 0.0
    first = scored.training.X.loc[scored.training.known]
    for feature in scored.training.features:
        cells, range_of_first = scored.scored.X[feature.name], _range_of(first[feature.name])
        out |= _beyond(range_of_first, cells).out
        usual += range_of_first.usual(bool(cells.isna().any()))
    return coverage_withheld(classes, n, float(out.mean()), usual, False, False)


def coverage_withheld(
    classes: tuple[str, ...], n: float, share: float, usual: float, measured: bool, sure: bool
) -> str:
    """`why_no_coverage` by the share of n rows that are apart, and by how many are usual."""
    n_apart = max(1, round(n))
    score = "calibration" if classes else "coverage"
    what = (
        "are less familiar than every held-out row of the first"
        if measured
        else ("have a value that the first file does not reach")
    )
    low = float(binomial_band(round(share * n_apart), n_apart)[0])
    if share <= FOREIGN_SHARE or not (sure or low > usual):
        return ""
    return (
        f"The {score} measured on the first file is not shown: {percent(share, 0)} of the second "
        f"file's rows {what}, and it does not hold for such rows."
    )


def may_use(drift: TableDrift, unfamiliarity: TableUnfamiliarity | None) -> str:
    """Whether the model of the first file may be used on the second, in one plain sentence."""
    if unfamiliarity is not None and unfamiliarity.is_foreign:
        return "Do not rely on this model for the second file: it is unlike the first."
    large = [one_line(column.name) for column in drift.shifted if column.psi > LARGE]
    if large:
        return (
            f"Use this model with care: {listed(large, _NAMED)} shifted a lot. Measure its errors "
            "on some of the new rows first."
        )
    if unfamiliarity is None:
        return "No column shifted a lot. How unfamiliar the new rows are is not measured yet."
    return "You may use this model on the second file: its rows look like those of the first."


def describe_drift(drift: TableDrift) -> str:
    """The second file against the first in one line of plain text, which holds columns' names."""
    parts = [describe_outside(drift)]
    if not np.isnan(drift.foreign):
        parts.append(
            f"{_share(drift.foreign)} are less familiar than every held-out row of the first"
            f"{_usual(drift.usual_foreign)}"
        )
    return f"{', '.join(parts)}. {describe_shifts(drift)}"


def describe_outside(drift: TableDrift) -> str:
    """How many rows the first file does not cover, without a full stop."""
    rows = counted(drift.n_second, "row")
    return (
        f"{_share(drift.outside)} of the second file's {rows} have a value that the first file "
        f"does not reach{_usual(drift.usual_outside)}"
    )


def describe_shifts(drift: TableDrift) -> str:
    """Which columns shifted by more than chance, in one sentence of plain text."""
    shifted = drift.shifted
    if not shifted:
        return "No column has shifted by more than chance."
    named = ", ".join(
        f"{one_line(column.name)} (PSI {short(column.psi)}, {column.size})"
        for column in shifted[:_NAMED]
    )
    more = f" and {len(shifted) - _NAMED} more" if len(shifted) > _NAMED else ""
    columns = counted(len(drift.columns), "column")
    return f"{len(shifted)} of {columns} shifted by more than chance: {named}{more}."


def describe_column(column: ColumnDrift) -> str:
    """One column in a sentence or two of plain text, which holds its name and categories."""
    name = one_line(column.name)
    against = "above" if column.shifted else "within"
    parts = [
        f"{name}: PSI {short(column.psi)}, {column.size}. This is {against} what chance gives for "
        f"so many rows (up to {short(column.chance)})."
    ]
    if column.outside > 0.0:
        parts.append(f"{_share(column.outside)} of the rows are outside the first file's range.")
    if column.n_new_level:
        rows = counted(column.n_new_level, "row holds", "rows hold")
        parts.append(f"{rows} a category that is new: {listed(column.new_levels, 3)}.")
    before, after = column.missing
    if column.newly_missing:
        parts.append(f"It is missing in {_share(after)} of the rows, in the first file never.")
    elif before or after:
        parts.append(f"It is missing in {_share(before)} of the rows, then in {_share(after)}.")
    return " ".join(parts)


def drift_csv(drift: TableDrift) -> str:
    """The table of columns as CSV."""
    head = (
        "column",
        "psi",
        "chance_up_to",
        "shift",
        "share_outside_range",
        "rows_new_category",
        "new_categories",
        "missing_first",
        "missing_second",
    )
    rows = [
        (
            column.name,
            column.psi,
            column.chance,
            column.size,
            column.outside,
            column.n_new_level,
            "; ".join(column.new_levels),
            *column.missing,
        )
        for column in drift.columns
    ]
    return csv_text(head, rows)


class _Range(NamedTuple):
    """What the first file's values of a column reach, and the most that is usual beyond it.

    Usual for new rows of the same law is at most 2 in n + 1 beyond two ends, and the share of
    categories that occur once (Good and Turing).
    """

    n_rows: int
    n_missing: int
    low: float
    high: float
    levels: frozenset[str] | None
    usual_beyond: float

    def usual(self, has_gaps: bool) -> float:
        """The most that is usual, of a second file with missing values or without."""
        gaps = 1.0 / (self.n_rows + 1) if self.n_missing == 0 and has_gaps else 0.0
        return gaps + self.usual_beyond


def _range_of(first: pd.Series) -> _Range:
    n, n_missing = len(first), int(first.isna().sum())
    if isinstance(first.dtype, pd.CategoricalDtype):
        counts = first.value_counts()
        levels = frozenset(str(level) for level in counts.index[counts > 0])
        return _Range(n, n_missing, 0.0, 0.0, levels, float((counts == 1).sum()) / max(n, 1))
    known = first.to_numpy(np.float64)
    known = known[~np.isnan(known)]
    if not len(known):
        return _Range(n, n_missing, np.inf, -np.inf, None, 0.0)
    return _Range(n, n_missing, known.min(), known.max(), None, 2.0 / (len(known) + 1))


class _Beyond(NamedTuple):
    """Which rows of the second file the first does not cover, how many numbers, what categories."""

    out: NDArray[np.bool_]
    n_outside: int
    new_levels: dict[str, int]


def _beyond(range_of_first: _Range, second: pd.Series) -> _Beyond:
    gap = second.isna().to_numpy(bool)
    out = np.zeros(len(second), bool) if range_of_first.n_missing else gap
    if range_of_first.levels is not None:
        names = [str(level) for level in second.cat.categories]
        codes = second.cat.codes.to_numpy()
        new = np.array([*(name not in range_of_first.levels for name in names), False])
        held = new[codes]
        rows = np.bincount(codes[held], minlength=len(names))
        return _Beyond(out | held, 0, {names[k]: int(rows[k]) for k in np.flatnonzero(rows)})
    values = second.to_numpy(np.float64)
    beyond = (values < range_of_first.low) | (values > range_of_first.high)
    return _Beyond(out | beyond, int(beyond.sum()), {})


class _Bins(NamedTuple):
    """A column's bins: the largest number of each but the last, or the place of each category."""

    range: _Range
    names: list[str]
    edges: NDArray[np.float64]
    place: dict[str, int]
    rows: NDArray[np.int64]  # (n_bins,): of the first file

    def code(self, cells: pd.Series) -> NDArray[np.int64]:
        """The bin of each cell; -1 where it is missing."""
        if self.range.levels is not None:
            new = len(self.names) - 1
            by_code = [self.place.get(str(level), new) for level in cells.cat.categories]
            return np.array([*by_code, -1], np.int64)[cells.cat.codes]
        values = cells.to_numpy(np.float64)
        return np.where(np.isnan(values), -1, np.searchsorted(self.edges, values, side="left"))

    def filled(
        self, second: ColumnCounts
    ) -> tuple[tuple[str, ...], NDArray[np.int64], NDArray[np.int64]]:
        """The bins in words and the rows of both files, with missing values, without empty bins."""
        names, counts = self.names, [self.rows, second.bins]
        n_missing = self.range.n_missing, second.n_missing
        if any(n_missing):
            names = [*names, "missing"]
            counts = [np.append(rows, n) for rows, n in zip(counts, n_missing, strict=True)]
        keep = (counts[0] + counts[1]) > 0
        texts = tuple(name for name, kept in zip(names, keep, strict=True) if kept)
        return texts, counts[0][keep].astype(np.int64), counts[1][keep].astype(np.int64)


_Writer = Callable[[Sequence[float]], list[str]]


def _writer_of(feature: Feature) -> _Writer:
    """How the values of a feature are written: the days of a date as dates."""
    return dates_apart if feature.part == DATE_PARTS[0] else partial(written_apart, places=4)


def _bins_of(first: pd.Series, write: _Writer) -> _Bins:
    """Bins that end at deciles, where a value that many rows share has one of its own; or the most
    frequent categories, the other ones together, and those that are new.
    """
    edges, place = np.empty(0), {}
    if isinstance(first.dtype, pd.CategoricalDtype):
        counts = first.value_counts()
        levels = [str(level) for level in counts.index[counts > 0]]
        names = [*levels[:_MOST_LEVELS], "other categories", "new categories"]
        place = {level: min(k, _MOST_LEVELS) for k, level in enumerate(levels)}
    else:
        known = first.to_numpy(np.float64)
        known = known[~np.isnan(known)]
        edges = _edges(known) if len(known) else edges
        names = _between(write(edges.tolist()))
    bins = _Bins(_range_of(first), names, edges, place, np.zeros(len(names), np.int64))
    codes = bins.code(first)
    rows = np.bincount(codes[codes >= 0], minlength=len(names)).astype(np.int64)
    return bins._replace(rows=rows)


def _between(edges: list[str]) -> list[str]:
    """The bins between edges, in words."""
    if not edges:
        return ["any number"]
    between = [f"{low} to {high}" for low, high in pairwise(edges)]
    return [f"up to {edges[0]}", *between, f"above {edges[-1]}"]


def _edges(known: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest value of each bin but the last."""
    distinct, counts = np.unique(known, return_counts=True)
    if len(distinct) <= len(_DECILES) + 1:
        return distinct[:-1]
    edges = np.quantile(known, _DECILES, method="inverted_cdf")
    heavy = np.flatnonzero(counts >= _HEAVY * len(known))
    before = distinct[heavy[heavy > 0] - 1]
    ends = np.unique(np.concatenate([edges, distinct[heavy], before]))
    return ends[ends < distinct[-1]]


def _psi(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.float64]:
    """The index of each line of counts (n_files, n_bins)."""
    p, q = (
        (counts + SMOOTHING) / (counts.sum(axis=1, keepdims=True) + SMOOTHING * counts.shape[1])
        for counts in (first, second)
    )
    return np.sum((q - p) * np.log(q / p), axis=1)


def _chance(
    first: NDArray[np.int64], second: NDArray[np.int64], level: float, rng: np.random.Generator
) -> float:
    """What this share of unchanged files stays below, by chi-square with simulated moments."""
    from scipy.special import gammaincinv

    pooled = (first + second) / (first.sum() + second.sum())
    drawn = [rng.multinomial(int(counts.sum()), pooled, _DRAWS) for counts in (first, second)]
    indices = _psi(*drawn)
    mean, variance = float(indices.mean()), float(indices.var())
    if variance == 0.0:
        return mean
    return float(gammaincinv(mean * mean / variance, level) * variance / mean)


def _is_foreign(scores: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Rows that are less familiar than every held-out row."""
    return scores >= 1.0


def _usual_foreign(unfamiliarity: TableUnfamiliarity) -> float:
    """The most rows that are usually beyond the largest of n held-out values: each 1 in n + 1."""
    return 1.0 / (unfamiliarity.estimator.n_ordinary / unfamiliarity.rows_together + 1.0)


def _rows_in(edges: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Rows between edges; the first and the last bin hold what lies beyond them too."""
    return np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0].astype(np.int64)


def _histograms(
    edges: NDArray[np.float64],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    write: _Writer = written_apart,
) -> Histograms:
    shares = [count / max(count.sum(), 1) for count in (first, second)]
    labels = tuple(f"{low} to {high}" for low, high in pairwise(write(edges.tolist())))
    return Histograms(edges, labels, shares[0], shares[1])


def _usual(share: float) -> str:
    return f" (up to {_share(share)} is usual)"


def _share(share: float) -> str:
    return f"{short(100.0 * share, 2)} %"
