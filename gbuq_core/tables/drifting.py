"""Has a second file drifted from the first? Column by column, and as rows that are foreign.

The population stability index compares shares of rows by bins of the first file: the deciles of a
column of numbers, the most frequent categories, and missing values. What chance gives for as many
rows is drawn by simulation, so that small files raise no alarm.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gbuq_core.errors import InvalidData
from gbuq_core.metrics import binomial_band
from gbuq_core.presentation import counted, csv_text, digits, listed, percent, short
from gbuq_core.tables.scoring import ScoredTable
from gbuq_core.tables.unfamiliar import TableUnfamiliarity
from gbuq_core.unfamiliarity.score import N_FOLDS

SMOOTHING = 0.5  # rows added to each bin of each file, so that no share is 0
MODERATE, LARGE = 0.1, 0.25  # PSI by convention: below, between, above
FOREIGN_SHARE = 0.1  # of the rows: above it, the first file's coverage is not shown
N_BINS = 20  # of the histograms
_DECILES = np.arange(1, 10) / 10.0
_HEAVY = 0.1  # a value held by as many rows has a bin of its own
_MOST_LEVELS = 20
_DRAWS, _LEVEL = 400, 0.95
_NAMED = 3
_ROUNDING = 1e-9  # of a mean over folds


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
    """

    edges: NDArray[np.float64]
    labels: tuple[str, ...]
    first: NDArray[np.float64]
    second: NDArray[np.float64]


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
    >>> scored = score_table(make(0.0, 200), "y", new=make(1.5, 100), plan=ScorePlan(n_trees=30))
    >>> drift = measure_drift(scored)
    >>> [(column.name, column.size) for column in drift.columns]
    [('x', 'large'), ('z', 'not told apart')]
    """
    if scored.protocol != "new_file":
        raise InvalidData("There is no second file that could differ from the first: give one.")
    training = scored.training
    first, second = training.X.loc[training.known], scored.scored.X
    level = 1.0 - (1.0 - _LEVEL) / max(len(training.features), 1)
    columns, usual = [], 0.0
    out = np.zeros(len(second), bool)
    for number, feature in enumerate(training.features):
        counts = _count(first[feature.name], second[feature.name])
        out |= counts.out
        usual += counts.usual
        rng = np.random.default_rng((seed, number))
        columns.append(
            ColumnDrift(
                feature.name,
                feature.column,
                population_stability(counts.first, counts.second),
                _chance(counts.first, counts.second, level, rng),
                counts.outside,
                counts.new_levels,
                counts.n_new_level,
                counts.missing,
                counts.bins,
                counts.first,
                counts.second,
            )
        )
    columns.sort(key=lambda column: -column.psi)
    found = scored.unfamiliarity
    foreign, usual_foreign = _foreign(found)
    return TableDrift(
        n_first=len(first),
        n_second=len(second),
        columns=tuple(columns),
        outside=float(out.mean()),
        usual_outside=min(usual, 1.0),
        foreign=foreign,
        usual_foreign=usual_foreign,
        unfamiliarity=None if found is None else _unfamiliarity(found),
    )


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
    if isinstance(first.dtype, pd.CategoricalDtype):
        counts = _count(first, second)
        shares = [part / max(part.sum(), 1) for part in (counts.first, counts.second)]
        return Histograms(np.empty(0), counts.bins, shares[0], shares[1])
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
    return _histograms(edges, *pair)


def foreign_share(found: TableUnfamiliarity) -> float:
    """The share of rows that are less familiar than every held-out row, in all folds.

    Not of ``times_beyond`` above 1: it is a mean over folds, and one fold alone may raise it.
    """
    return float(np.mean(found.rows.score > 1.0 - _ROUNDING))


def why_no_coverage(scored: ScoredTable) -> str:
    """Why the first file's coverage (or calibration) does not hold for the second; else empty.

    More than a tenth of the second file's rows are foreign, and more than chance explains. Where
    unfamiliarity was not measured, rows outside the first file's range count.
    """
    if scored.protocol != "new_file":
        return ""
    found = scored.unfamiliarity
    sure = found is not None and found.is_foreign
    if found is not None:
        share, usual = _foreign(found)
        what = "are less familiar than every held-out row of the first"
    else:
        training, out, usual = scored.training, np.zeros(len(scored.scored.X), bool), 0.0
        first = training.X.loc[training.known]
        for feature in training.features:
            here = _out_of_range(first[feature.name], scored.scored.X[feature.name])
            out |= here.out
            usual += here.usual
        share = float(out.mean())
        what = "have a value that the first file does not reach"
    n, score = len(scored.scored.X), "calibration" if scored.training.target.classes else "coverage"
    low = float(binomial_band(round(share * n), n)[0])
    if share <= FOREIGN_SHARE or not (sure or low > usual):
        return ""
    return (
        f"The {score} measured on the first file is not shown: {percent(share, 0)} of the second "
        f"file's rows {what}, and it does not hold for such rows."
    )


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
    found = drift.shifted
    if not found:
        return "No column has shifted by more than chance."
    named = ", ".join(
        f"{_one_line(column.name)} (PSI {short(column.psi)}, {column.size})"
        for column in found[:_NAMED]
    )
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    columns = counted(len(drift.columns), "column")
    return f"{len(found)} of {columns} shifted by more than chance: {named}{more}."


def describe_column(column: ColumnDrift) -> str:
    """One column in a sentence or two of plain text, which holds its name and categories."""
    name = _one_line(column.name)
    against = "above" if column.shifted else "within"
    told = [
        f"{name}: PSI {short(column.psi)}, {column.size}. This is {against} what chance gives for "
        f"so many rows (up to {short(column.chance)})."
    ]
    if column.outside > 0.0:
        told.append(f"{_share(column.outside)} of the rows are outside the first file's range.")
    if column.n_new_level:
        rows = counted(column.n_new_level, "row holds", "rows hold")
        told.append(f"{rows} a category that is new: {listed(column.new_levels, 3)}.")
    before, after = column.missing
    if column.newly_missing:
        told.append(f"It is missing in {_share(after)} of the rows, in the first file never.")
    elif before or after:
        told.append(f"It is missing in {_share(before)} of the rows, then in {_share(after)}.")
    return " ".join(told)


def drift_csv(drift: TableDrift) -> str:
    """The table of columns as CSV."""
    head = ("column", "psi", "chance_up_to", "shift", "share_outside_range", "rows_new_category",
            "new_categories", "missing_first", "missing_second")  # fmt: skip
    rows = [
        (column.name, column.psi, column.chance, column.size, column.outside, column.n_new_level,
         "; ".join(column.new_levels), *column.missing)
        for column in drift.columns
    ]  # fmt: skip
    return csv_text(head, rows)


class _OutOfRange(NamedTuple):
    """Which rows of the second file the first does not cover, and the most that is usual."""

    out: NDArray[np.bool_]
    usual: float
    outside: float
    new_levels: tuple[str, ...]
    n_new_level: int


class _Counts(NamedTuple):
    """Rows by bin, and what lies outside."""

    bins: tuple[str, ...]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    missing: tuple[float, float]
    out: NDArray[np.bool_]
    usual: float
    outside: float
    new_levels: tuple[str, ...]
    n_new_level: int


def _count(first: pd.Series, second: pd.Series) -> _Counts:
    gaps = [cells.isna().to_numpy(bool) for cells in (first, second)]
    by_bin = _by_level if isinstance(first.dtype, pd.CategoricalDtype) else _by_decile
    bins, codes = by_bin(first, second)
    here = _out_of_range(first, second)
    counts = [np.bincount(code[code >= 0], minlength=len(bins)) for code in codes]
    if gaps[0].any() or gaps[1].any():
        bins = [*bins, "missing"]
        counts = [np.append(c, gap.sum()) for c, gap in zip(counts, gaps, strict=True)]
    filled = (counts[0] + counts[1]) > 0
    return _Counts(
        tuple(name for name, keep in zip(bins, filled, strict=True) if keep),
        counts[0][filled].astype(np.int64),
        counts[1][filled].astype(np.int64),
        (float(gaps[0].mean()), float(gaps[1].mean())),
        *here,
    )


def _by_decile(first: pd.Series, second: pd.Series) -> tuple[list[str], list[NDArray[np.int64]]]:
    """Bins that end at deciles; a value that many rows share has one of its own."""
    pair = [cells.to_numpy(np.float64) for cells in (first, second)]
    known = pair[0][~np.isnan(pair[0])]
    edges = _edges(known) if len(known) else np.empty(0)
    codes = []
    for values in pair:
        code = np.searchsorted(edges, values, side="left")
        codes.append(np.where(np.isnan(values), -1, code))
    texts = [digits(edge, 4) for edge in edges]
    if not texts:
        return ["any number"], codes
    between = [f"{low} to {high}" for low, high in pairwise(texts)]
    return [f"up to {texts[0]}", *between, f"above {texts[-1]}"], codes


def _edges(known: NDArray[np.float64]) -> NDArray[np.float64]:
    """The largest value of each bin but the last."""
    distinct, counts = np.unique(known, return_counts=True)
    if len(distinct) <= len(_DECILES) + 1:
        return distinct[:-1]
    edges = np.quantile(known, _DECILES, method="inverted_cdf")
    heavy = np.flatnonzero(counts >= _HEAVY * len(known))
    before = distinct[heavy[heavy > 0] - 1]
    found = np.unique(np.concatenate([edges, distinct[heavy], before]))
    return found[found < distinct[-1]]


def _by_level(first: pd.Series, second: pd.Series) -> tuple[list[str], list[NDArray[np.int64]]]:
    """The most frequent categories, the other ones together, and those that are new."""
    counts = first.value_counts()
    counts = counts[counts > 0]
    levels = [str(level) for level in counts.index]
    own = levels[:_MOST_LEVELS]
    others = frozenset(levels[_MOST_LEVELS:])
    names = [*own, "other categories", "new categories"]
    place = {level: k for k, level in enumerate(own)}
    codes = []
    for cells in (first, second):
        by_code = [
            place.get(str(level), len(own) + (str(level) not in others))
            for level in cells.cat.categories
        ]
        codes.append(np.array([*by_code, -1], np.int64)[cells.cat.codes.to_numpy()])
    return names, codes


def _out_of_range(first: pd.Series, second: pd.Series) -> _OutOfRange:
    """Rows outside the first file; usual for new rows of the same law is at most 2 in n + 1 beyond
    two ends, and the share of categories that occur once (Good and Turing).
    """
    gap = second.isna().to_numpy(bool)
    n_gaps = int(first.isna().sum())
    out = gap if not n_gaps else np.zeros(len(second), bool)
    usual = 1.0 / (len(first) + 1) if n_gaps == 0 and gap.any() else 0.0
    if isinstance(first.dtype, pd.CategoricalDtype):
        counts = first.value_counts()
        seen = {str(level) for level in counts.index[counts > 0]}
        new = np.array([*(str(level) not in seen for level in second.cat.categories), False])
        held = new[second.cat.codes.to_numpy()]
        levels = second[held].value_counts()
        names = tuple(str(level) for level in levels.index[levels > 0])
        usual += float((counts == 1).sum()) / max(len(first), 1)
        return _OutOfRange(out | held, usual, 0.0, names, int(held.sum()))
    known, values = (cells.to_numpy(np.float64) for cells in (first, second))
    known = known[~np.isnan(known)]
    if not len(known):
        return _OutOfRange(out | ~gap, usual, float(np.mean(~gap)), (), 0)
    with np.errstate(invalid="ignore"):
        beyond = (values < known.min()) | (values > known.max())
    return _OutOfRange(out | beyond, usual + 2.0 / (len(known) + 1), float(beyond.mean()), (), 0)


def _psi(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.float64]:
    """The index of each line of counts (n_files, n_bins)."""
    p, q = (
        (counts + SMOOTHING) / (counts.sum(axis=1, keepdims=True) + SMOOTHING * counts.shape[1])
        for counts in (first, second)
    )
    found: NDArray[np.float64] = np.sum((q - p) * np.log(q / p), axis=1)
    return found


def _chance(
    first: NDArray[np.int64], second: NDArray[np.int64], level: float, rng: np.random.Generator
) -> float:
    """What this share of unchanged files stays below.

    The index of unchanged files is a multiple of chi-square for many rows; the multiple and the
    degrees of freedom are those of simulated files, which holds for few rows and rare bins too.
    """
    from scipy.special import gammaincinv

    pooled = (first + second) / (first.sum() + second.sum())
    drawn = [rng.multinomial(int(counts.sum()), pooled, _DRAWS) for counts in (first, second)]
    found = _psi(*drawn)
    mean, variance = float(found.mean()), float(found.var())
    if variance == 0.0:
        return mean
    return float(gammaincinv(mean * mean / variance, level) * variance / mean)


def _foreign(found: TableUnfamiliarity | None) -> tuple[float, float]:
    """Share of foreign rows, and the most that is usual for rows like the training rows.

    A new row is beyond the largest of n held-out values once in n + 1.
    """
    if found is None:
        return np.nan, np.nan
    held = found.estimator.held_out_
    n_held = max(len(held.score) // N_FOLDS, 1)
    return foreign_share(found), 1.0 / (n_held + 1)


def _unfamiliarity(found: TableUnfamiliarity) -> Histograms:
    edges = np.linspace(0.0, 1.0, N_BINS + 1)
    return _histograms(edges, found.estimator.held_out_.score, found.rows.score)


def _histograms(
    edges: NDArray[np.float64], first: NDArray[np.float64], second: NDArray[np.float64]
) -> Histograms:
    counts = [
        np.histogram(np.clip(values, edges[0], edges[-1]), edges)[0] for values in (first, second)
    ]
    shares = [count / max(count.sum(), 1) for count in counts]
    labels = tuple(f"{digits(low)} to {digits(high)}" for low, high in pairwise(edges))
    return Histograms(edges, labels, shares[0], shares[1])


def _usual(share: float) -> str:
    return f" (up to {_share(share)} is usual)"


def _share(share: float) -> str:
    return f"{short(100.0 * share, 2)} %"


def _one_line(name: str) -> str:
    line = " ".join(name.split())
    return line if len(line) <= 40 else f"{line[:39]}\u2026"
