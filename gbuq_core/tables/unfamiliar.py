"""How unfamiliar the rows of a table are, whatever model scores them, and whether it matters.

Knowledge uncertainty of a virtual ensemble does not know foreign rows; `UnfamiliarityScore` does.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gbuq_core.lazy import why_missing
from gbuq_core.metrics import prr
from gbuq_core.presentation import counted, enumerated, one_line
from gbuq_core.tables.cleaning import Prepared
from gbuq_core.tables.intervals import refresh_output
from gbuq_core.tables.scoring import ScoredTable
from gbuq_core.unfamiliarity import Reason, Unfamiliarity, UnfamiliarityScore
from gbuq_core.validation import check_number

UNFAMILIAR = 0.9  # a tenth of ordinary rows is above
_MOST_RESAMPLED = 2000  # rows
_RESAMPLES = 200
_MOST_REASONS = 20
_INTERVAL = (2.5, 97.5)  # percent


@dataclass(frozen=True, kw_only=True)
class TableUnfamiliarity:
    """How unfamiliar the rows of a table are.

    Attributes
    ----------
    estimator : UnfamiliarityScore
        Learnt from the rows of the first file that have a target.
    rows : Unfamiliarity
        Of the rows that were scored, in the order of the file.
    n_outside : ndarray of shape (n_rows,), int64
        How many columns of each of these rows are outside the range of the first file, or hold a
        category or a gap that it does not have. 0 for its own rows.
    outside_columns : tuple of tuple of str
        The columns of each row that do so. A row of the first file is compared with the rows that
        its fold learnt from, as its scores are, so the ends of a range are outside.
    reasons : tuple of Reason or None
        For the least familiar rows, by their positions, what says so; None for other rows.
    is_second : bool
        Whether these are rows of a second file.
    seconds : float
    rows_together : float
        Rows of a group in the first file, where groups stay together: they are alike, and count as
        one row in what is usual by chance.
    """

    estimator: UnfamiliarityScore
    rows: Unfamiliarity
    n_outside: NDArray[np.int64]
    outside_columns: tuple[tuple[str, ...], ...]
    reasons: tuple[Reason | None, ...]
    is_second: bool
    seconds: float
    rows_together: float = 1.0

    @property
    def share_above(self) -> float:
        """The share of rows with a score above 0.9; a tenth of ordinary rows has one."""
        return float(np.mean(self.rows.score > UNFAMILIAR))

    @property
    def is_foreign(self) -> bool:
        """Whether a second file differs from the first by more than chance and by a lot.

        At least twice as many rows above 0.9 as by chance, and four standard errors more; or more
        than a tenth of the rows with a value outside the first file's range, and as sure.
        """
        n, n_outside = len(self.rows.score), int((self.n_outside > 0).sum())
        return self.is_second and is_unlike(self, n, self.share_above, n_outside)


class Evidence(NamedTuple):
    """Whether an order of rows finds large errors: PRR in percent with its 95 % interval."""

    prr: float
    low: float
    high: float

    @property
    def excludes_chance(self) -> bool:
        """Whether all of the interval is above 0."""
        return bool(self.low > 0.0)


def measure_unfamiliarity(
    training: Prepared, scored: Prepared, seed: int = 0, n_jobs: int | None = None
) -> TableUnfamiliarity:
    r"""How unfamiliar the rows of a prepared table are.

    The rows with a target of the training table are scored out of fold, all others as new rows.
    In a split by group, no group is in two folds; in one by time, the folds are at random.

    Parameters
    ----------
    training, scored : Prepared
        The first file, and the one whose rows are scored (the same without a second file).
    seed : int
    n_jobs : int or None

    Examples
    --------
    >>> from gbuq_core.tables import ScorePlan, read_table, score_table
    >>> rows = "\n".join(f"{i % 7},{i % 5},{i % 7 + 0.1 * (i % 3)}" for i in range(60))
    >>> new = read_table(b"x,z,y\n3,2,1\n99,2,1\n", to_score=True)
    >>> scored = score_table(read_table(f"x,z,y\n{rows}".encode()), "y", new=new,
    ...                      plan=ScorePlan(method="sglb", n_trees=40))
    >>> measured = measure_unfamiliarity(scored.training, scored.scored)
    >>> measured.n_outside.tolist(), measured.reasons[1].column, measured.reasons[1].what
    ([0, 1], 'x', 'above')
    """
    began = time.perf_counter()
    known = np.flatnonzero(training.known)
    y: Any = training.y[known]
    if training.target.classes:
        y = y.astype(np.int64)
    estimator = UnfamiliarityScore(task=training.target.task, random_state=seed, n_jobs=n_jobs)
    split = training.split
    groups = split.codes[known] if split is not None and split.by == "group" else None
    estimator.fit(training.X.iloc[known], y, groups)
    is_second = scored is not training
    n_rows = len(scored.X)
    outside = np.zeros(scored.X.shape, bool)
    others = np.arange(n_rows) if is_second else np.flatnonzero(~training.known)
    parts = [] if is_second else [(known, estimator.held_out_)]
    if len(others):
        X = scored.X.iloc[others]
        parts.append((others, estimator.judge(X)))
        outside[others] = estimator.find_outside(X)
    n_outside = outside.sum(axis=1)  # a training row lies inside, but of the rows of other folds
    if not is_second:
        outside[known] = estimator.find_outside_held_out()
    order = np.argsort(np.concatenate([rows for rows, _ in parts]))
    rows = Unfamiliarity.join([judged for _, judged in parts]).take(order)
    reasons = _reasons(estimator, training, scored, rows, is_second)
    return TableUnfamiliarity(
        estimator=estimator,
        rows=rows,
        n_outside=n_outside,
        outside_columns=_name_columns(outside, training),
        reasons=reasons,
        is_second=is_second,
        seconds=time.perf_counter() - began,
        rows_together=1.0 if groups is None else len(groups) / len(np.unique(groups)),
    )


def judge_more_rows(
    first: TableUnfamiliarity, training: Prepared, scored: Prepared
) -> TableUnfamiliarity:
    """How unfamiliar other rows of a second file are, by what was learnt from the first."""
    began = time.perf_counter()
    outside = first.estimator.find_outside(scored.X)
    return replace(
        first,
        rows=first.estimator.judge(scored.X),
        n_outside=outside.sum(axis=1),
        outside_columns=_name_columns(outside, training),
        reasons=(None,) * len(scored.X),
        seconds=time.perf_counter() - began,
    )


def add_unfamiliarity(scored: ScoredTable, unfamiliarity: TableUnfamiliarity) -> ScoredTable:
    """The scored table with how unfamiliar each row is.

    The new columns are ``unfamiliarity``, ``times_beyond``, ``novelty`` (MACAU's mean z-score,
    where it takes part) and ``outside_columns``.
    """
    notices = (*scored.notices, *lacking_notice(unfamiliarity))
    return refresh_output(replace(scored, unfamiliarity=unfamiliarity, notices=notices))


def lacking_notice(measured: TableUnfamiliarity) -> list[str]:
    """That measures are left out because LightGBM, which grows their trees, does not load."""
    parts = measured.rows.parts
    missing = "" if "affinity" in parts else why_missing("lightgbm")
    return [f"Unfamiliarity goes by {enumerated(parts)} alone. {missing}"] if missing else []


def held_out_unfamiliarity(
    scored: ScoredTable, rows: NDArray[np.int64]
) -> NDArray[np.float64] | None:
    """How unfamiliar rows of the first file are to the rows of other folds; None if not measured.

    Parameters
    ----------
    scored : ScoredTable
    rows : ndarray of shape (n_rows,)
        Positions of rows with a target, such as `HeldOut.rows`.
    """
    if scored.unfamiliarity is None:
        return None
    place = np.cumsum(scored.training.known) - 1  # among the rows with a target
    return scored.unfamiliarity.estimator.held_out_.score[place[rows]]


def bootstrap_evidence(
    errors: NDArray[np.float64], order: NDArray[np.float64], seed: int = 0
) -> Evidence:
    """Whether an order of rows finds those with large errors.

    The bootstrap resamples rows: at most 2,000 of them, 200 times.

    Parameters
    ----------
    errors : ndarray of shape (n_rows,)
        Squared errors, or 1 for a wrong class and 0 for the right one; of rows that their model did
        not learn from. Rows with NaN do not count.
    order : ndarray of shape (n_rows,)
        What should be large where the error is.
    seed : int

    Returns
    -------
    Evidence
        NaN where there is no such row, all errors are equal, or the order is not known.

    Examples
    --------
    >>> errors = np.random.default_rng(0).exponential(size=200)
    >>> bootstrap_evidence(errors, errors).excludes_chance
    True
    >>> bootstrap_evidence(errors, np.arange(200.0)).excludes_chance
    False
    """
    rng = np.random.default_rng((seed, 17))
    rows = np.flatnonzero(~np.isnan(errors))
    if len(rows) > _MOST_RESAMPLED:
        rows = np.sort(rng.choice(rows, _MOST_RESAMPLED, replace=False))
    errors, order = errors[rows], order[rows]
    if len(rows) < 2 or errors.min() == errors.max() or np.isnan(order).any():
        return Evidence(np.nan, np.nan, np.nan)
    drawn = rng.integers(0, len(rows), (_RESAMPLES, len(rows)))
    values = np.array([prr(errors[take], order[take]) for take in drawn])
    low, high = np.nanpercentile(values, _INTERVAL)
    return Evidence(float(prr(errors, order)), float(low), float(high))


def say_reason(reason: Reason) -> str:
    """What makes a row unfamiliar, after "Row 3: ". It may hold the name of a column.

    Examples
    --------
    >>> say_reason(Reason("range", 1.0, "age", "above"))
    'its value of "age" is above all training values'
    >>> say_reason(Reason("distance", 0.98, "", ""))
    'its ten nearest rows are farther away than those of 98 % of ordinary rows'
    """
    if reason.part == "range" and reason.what:
        words = {
            "above": "is above all training values",
            "below": "is below all training values",
            "new level": "never occurs in the training rows",
            "missing": "is missing, which it never is in the training rows",
        }[reason.what]
        return f'its value of "{one_line(reason.column, 30)}" {words}'
    than = f"{int(100 * reason.rank)} % of ordinary rows"
    words = {
        "range": f"more of its values are outside the training range than in {than}",
        "novelty": f"it is farther from the rows in its leaves (MACAU) than {than}",
        "distance": f"its ten nearest rows are farther away than those of {than}",
        "affinity": f"it shares fewer leaves with its nearest rows (IBUG's affinity) than {than}",
        "knowledge": f"independent models disagree more about it than about {than}",
    }[reason.part]
    return f'{words}, mainly by "{one_line(reason.column, 30)}"' if reason.column else words


def is_unlike(first: TableUnfamiliarity, n: int, share_above: float, n_outside: int) -> bool:
    """Whether n rows are unlike those of the first file; see `TableUnfamiliarity.is_foreign`."""
    n_apart = n / first.rows_together
    noise = 4.0 * np.sqrt(0.09 / n_apart)
    usual = float(np.mean(first.estimator.held_out_outside_ > 0))
    far = usual + max(0.1, 4.0 * np.sqrt(max(usual * (1.0 - usual), 0.01) / n_apart))
    return bool(share_above > 0.1 + max(0.1, noise) or n_outside / n > far)


def foreign_notice(unfamiliarity: TableUnfamiliarity) -> str:
    """A warning about a second file that is unlike the first; empty where it is not."""
    if not unfamiliarity.is_foreign:
        return ""
    return foreign_sentence(unfamiliarity.share_above, int((unfamiliarity.n_outside > 0).sum()))


def foreign_sentence(share_above: float, n_outside: int) -> str:
    """That a second file is unlike the first."""
    return (
        f"The second file is unlike the first: {100 * share_above:.0f} % of its rows are "
        "unfamiliar (10 % would be by chance), and "
        f"{counted(n_outside, 'row has', 'rows have')} a value that the first file does not reach. "
        "The scores of the first file do not hold for such rows."
    )


def reason_of(scored: ScoredTable, row: int) -> Reason | None:
    """What makes a row unfamiliar, with the table's column; None where nothing was measured."""
    measured = scored.unfamiliarity
    if measured is None:
        return None
    kept = measured.reasons[row]
    if kept is not None:
        return kept
    return reasons_of(scored, measured, np.array([row]))[0]


def unfamiliarity_parts(scored: ScoredTable, row: int) -> tuple[Reason, ...]:
    r"""What every measure of unfamiliarity says about a row; empty where nothing was measured.

    Parameters
    ----------
    scored : ScoredTable
        With its unfamiliarity: see `add_unfamiliarity`.
    row : int
        Position in ``scored.frame``.

    Returns
    -------
    tuple of Reason
        A measure each, in a fixed order: its rank among ordinary rows, 0 to 1, and the column
        that adds more than half of what it sees. Affinity and knowledge name no column.

    Examples
    --------
    >>> from gbuq_core.tables import ScorePlan, read_table, score_table
    >>> rows = "\n".join(f"{i % 7},{i % 5},{i % 7 + 0.1 * (i % 3)}" for i in range(60))
    >>> new = read_table(b"x,z,y\n3,2,1\n99,2,1\n", to_score=True)
    >>> scored = score_table(read_table(f"x,z,y\n{rows}".encode()), "y", new=new,
    ...                      plan=ScorePlan(method="sglb", n_trees=40))
    >>> scored = add_unfamiliarity(scored, measure_unfamiliarity(scored.training, scored.scored))
    >>> [(part.part, part.column) for part in unfamiliarity_parts(scored, 1)][:3]
    [('range', 'x'), ('novelty', 'x'), ('distance', 'x')]
    """
    check_number("row", row, 0, len(scored.frame) - 1, integer=True)
    version = explain_version(scored, row, scored.scored.X.iloc[[row]])
    return () if version is None else version[1]


def judge_versions(scored: ScoredTable, row: int, X: pd.DataFrame) -> Unfamiliarity | None:
    """How unfamiliar versions of a row are, by measures that did not learn from the row itself."""
    if scored.unfamiliarity is None:
        return None
    place, estimator = _place_in_training(scored, row), scored.unfamiliarity.estimator
    return estimator.judge(X) if place is None else estimator.judge_instead(X, place)


def explain_version(
    scored: ScoredTable, row: int, X: pd.DataFrame
) -> tuple[Unfamiliarity, tuple[Reason, ...]] | None:
    """`judge_versions` of one version of a row, (1, n_features), and what every measure says."""
    measured = scored.unfamiliarity
    if measured is None:
        return None
    judged, parts = measured.estimator.explain_parts(X, _place_in_training(scored, row))
    columns = _columns_of(scored.training)
    reasons = (part._replace(column=columns.get(part.column, part.column)) for part in parts[0])
    return judged, tuple(reasons)


def _place_in_training(scored: ScoredTable, row: int) -> int | None:
    """The row's place among those that the measures learnt from; None for any other row."""
    assert scored.unfamiliarity is not None
    known = scored.training.known
    if scored.unfamiliarity.is_second or not known[row]:
        return None
    return int(known[:row].sum())


def _columns_of(training: Prepared) -> dict[str, str]:
    """The table's column of each feature."""
    return {feature.name: feature.column for feature in training.features}


def _name_columns(outside: NDArray[np.bool_], training: Prepared) -> tuple[tuple[str, ...], ...]:
    """The table's columns in which each row (n_rows, n_features) is outside."""
    column_of = _columns_of(training)
    columns = [column_of.get(name, str(name)) for name in training.X.columns]
    known: dict[bytes, tuple[str, ...]] = {}  # few combinations of columns, many rows
    names: list[tuple[str, ...]] = [()] * len(outside)
    for row in np.flatnonzero(outside.any(axis=1)).tolist():
        key = outside[row].tobytes()
        if key not in known:
            known[key] = tuple(dict.fromkeys(columns[k] for k in np.flatnonzero(outside[row])))
        names[row] = known[key]
    return tuple(names)


def reasons_of(
    scored: ScoredTable, measured: TableUnfamiliarity, rows: NDArray[np.int64]
) -> list[Reason]:
    """What makes each of some rows unfamiliar, with the table's column."""
    second = measured.is_second
    return _explain(measured.estimator, scored.training, scored.scored, rows.tolist(), second)


def _reasons(
    estimator: UnfamiliarityScore,
    training: Prepared,
    scored: Prepared,
    rows: Unfamiliarity,
    is_second: bool,
) -> tuple[Reason | None, ...]:
    """Of the least familiar rows only: they are the ones that sentences are about."""
    chosen = rows.order()[:_MOST_REASONS].tolist()
    reasons: list[Reason | None] = [None] * len(rows.score)
    explained = _explain(estimator, training, scored, chosen, is_second)
    for row, reason in zip(chosen, explained, strict=True):
        reasons[row] = reason
    return tuple(reasons)


def _explain(
    estimator: UnfamiliarityScore,
    training: Prepared,
    scored: Prepared,
    rows: list[int],
    is_second: bool,
) -> list[Reason]:
    chosen = np.asarray(rows, np.int64)
    new = np.ones(len(chosen), bool) if is_second else ~training.known[chosen]
    parts: list[Reason] = []
    if new.any():
        parts += estimator.explain(scored.X.iloc[chosen[new]])
    if not new.all():
        place = np.cumsum(training.known) - 1  # among the rows with a target
        parts += estimator.explain_held_out(place[chosen[~new]])
    order = np.argsort(np.concatenate([np.flatnonzero(new), np.flatnonzero(~new)]))
    column_of = _columns_of(training)
    return [
        parts[k]._replace(column=column_of.get(parts[k].column, parts[k].column)) for k in order
    ]
