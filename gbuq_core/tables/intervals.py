"""An interval for each row of a scored table: by the law of its prediction, or conformal.

Conformal intervals assume nothing about the law. Held-out rows say how many stds the target lies
above the prediction, and below it. Each end of an interval is as far away as the
``ceil((n + 1) (1 + level) / 2)``-th smallest of these distances on its side, so that each tail of a
skewed target misses half of what the interval may miss (Romano, Patterson and Candes, 2019, section
5, by residuals):

- rows of a second file are calibrated by the rows held out from the first one (split conformal:
  Papadopoulos et al., 2002, with scores divided by the predicted std, Lei et al., 2018, section
  5.2);
- rows that are held out themselves are calibrated by those of the other folds, or the other half,
  which no model of theirs has judged (cross-conformal: Vovk, 2015; CV+: Barber et al., 2021). Where
  one model judged all of them, each row is calibrated by all others;
- where rows are split by group, no row is calibrated by its own group, and where they are split by
  time, by earlier rows only. The first ones in time have none and take all others, but coverage is
  counted without them;
- where a second file has ``shift``ed, held-out rows count by how many times as frequent rows like
  them are there (weighted split conformal: Tibshirani et al., 2019);
- ``by`` a column, each of its groups is calibrated by its own rows alone (Mondrian: Vovk et al.,
  2005, section 4.5). Groups of fewer than 50 held-out rows, and values that are new, share one. Of
  several columns, whose groups overlap, the distance that is exceeded seldom enough is a sum over
  the groups of a row, so that each group of each column is covered (Gibbs, Cherian and Candes,
  2025). Groups are judged by halves: what one half of the rows says about widths holds or not on
  the other.

One model with all its held-out rows covers at least the level, whatever the law. Across folds,
other models judged the rows that calibrate, so this holds in practice and is no theorem: for CV+,
which keeps a prediction of every fold where we keep the one that the table shows, the coverage is
at least about 2 level - 1 (Barber et al., 2021, theorem 4). Rows that a model learnt from
(``in_training``) get the intervals of held-out rows, which are too wide for them.

Where there are too few held-out rows for a level, the interval is infinite: ``-inf`` and ``inf``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gbuq_core.distribution import Interval, LogDistribution
from gbuq_core.errors import InvalidParameter
from gbuq_core.metrics import Coverage
from gbuq_core.metrics.conformal import conformal_needs, conformal_rank
from gbuq_core.presentation import percent, short, shown
from gbuq_core.stacking.outliers import has_long_tail
from gbuq_core.tables.evaluating import (
    COVERAGE_LEVELS,
    RegressionScores,
    count_coverage,
)
from gbuq_core.tables.files import Table
from gbuq_core.tables.judging import BINS, FEW_NUMBERS, HeldOut, held_out
from gbuq_core.tables.output import added_columns, interval_names, join_columns, plain_columns
from gbuq_core.tables.plan import USUAL_LEVEL, check_level
from gbuq_core.tables.predicting import (
    Predictions,
    beside_prediction,
    inside_interval,
    interval_of,
    law_of,
)
from gbuq_core.tables.scaling import log_parameters
from gbuq_core.tables.scoring import OwnGroups, ScoredTable, ShiftWeights
from gbuq_core.tables.splitting import split_names

_STRETCHES = 5  # of time, where one model judged all rows
_MOST_SETS = 200  # of groups
_FEWEST_OF_GROUP = 50  # held-out rows: the coverage that they reach varies by four per cent
_PARTS = 5  # of rows whose groups overlap, where one model judged all of them
_MOST_AT_ONCE = 5000  # held-out rows, drawn by chance, that say widths of overlapping groups
_BELOW_BOUND = 1e-7  # so that of several quantiles the least one counts
_ROUNDING = 1e-12  # of sums of weights
_SMALLEST_STD = 1e-6  # as a share of the target's, so that no distance is infinite
_HAIR = 1e-9  # stds
_PILE, _FEWEST_NUMBERS = 0.2, 10  # share of the rows at one end, where more numbers are than these


class EndCounts(NamedTuple):
    """How many intervals there are, and of how many a person has to know something."""

    rows: int
    apart: int  # the prediction lies outside
    infinite: int
    below: int  # the lower end is below all targets that were learnt from
    above: int


class _Calibration(NamedTuple):
    """The held-out rows: how many stds each target is above, and what may not calibrate it."""

    rows: NDArray[np.int64]
    residuals: NDArray[np.float64]
    part: NDArray[np.int64]  # of each row: its model, or of one model its group or stretch of time
    in_time: bool  # parts follow each other, and each is calibrated by earlier ones
    group: NDArray[np.int64]  # (n_held, n_columns): what it calibrates


def why_not_conformal(classes: tuple[str, ...]) -> str:
    """Say why a table has no conformal intervals; empty if it has.

    Examples
    --------
    >>> why_not_conformal(()), why_not_conformal(("no", "yes"))
    ('', 'Conformal intervals need a number as target. For classes, see the columns p_.')
    """
    if not classes:
        return ""
    return "Conformal intervals need a number as target. For classes, see the columns p_."


def own_groups(scored: ScoredTable, column: str, table: Table) -> OwnGroups:
    r"""The groups of a column, or of several, which say how wide their own conformal intervals are.

    Categories are groups, and so are up to six different numbers, or five bins of more of them.
    Those with fewer than 50 held-out rows share one, together with missing and new values.

    Parameters
    ----------
    scored : ScoredTable
        Of a regression.
    column : str
        Whether the model learns from it or not. Several names with commas between are columns whose
        groups overlap: each group of each column is covered, also where few rows are in both. Of
        more than 5,000 held-out rows, 5,000 drawn by chance then say the widths.
    table : Table
        The first file.

    Raises
    ------
    InvalidParameter
        If no group has 50 held-out rows, or rows are held out by this column.

    Examples
    --------
    >>> from gbuq_core.tables import ScorePlan, read_table, score_table
    >>> text = "x,shop,y" + "".join(f"\n{i % 7},{'ab'[i % 2]},{i / 7}" for i in range(200))
    >>> table = read_table(text.encode())
    >>> scored = score_table(table, "y", plan=ScorePlan(method="sglb", n_trees=20))
    >>> shops = own_groups(scored, "shop", table)
    >>> with_intervals(scored, 0.9, conformal=True, by=shops).conformal
    True
    """
    if scored.training.target.classes:
        raise InvalidParameter(why_not_conformal(scored.training.target.classes))
    columns = split_names(column, list(table.names)) or (column,)
    groups = [_groups_of(scored, name, table) for name in columns]
    held, rows, shared = zip(*groups, strict=True)
    return OwnGroups(column, np.column_stack(held), np.column_stack(rows), sum(shared, ()))


def _groups_of(
    scored: ScoredTable, column: str, table: Table
) -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[str, ...]]:
    """Of a column: the groups of held-out rows and of all rows, and those that share one."""
    split, name = scored.training.split, shown(column)
    if split is not None and split.by == "group" and split.column == column:
        raise InvalidParameter(
            f"Rows are held out by {name}, so a new group has no rows to calibrate its intervals: "
            "choose another column."
        )
    known, new = _cells(scored, column, table)
    held = held_out(scored).rows
    if pd.api.types.is_numeric_dtype(known.dtype):
        numbers = known.to_numpy(np.float64, na_value=np.nan)[held]
        ends = np.unique(numbers[~np.isnan(numbers)])
        if len(ends) > FEW_NUMBERS:
            at = np.arange(1, BINS) / BINS
            ends = np.append(np.unique(np.nanquantile(numbers, at, method="inverted_cdf")), np.inf)
        ends = ends if len(ends) else np.array([-np.inf])  # a column of missing cells

        def place(cells: pd.Series) -> NDArray[np.int64]:
            values = cells.to_numpy(np.float64, na_value=np.nan)
            return np.where(np.isnan(values) | (values > ends[-1]), -1, ends.searchsorted(values))

        names = [f"{end:g}" for end in ends]
        if ends[-1] == np.inf:
            names = [*(f"up to {name}" for name in names[:-1]), f"above {names[-2]}"]
    else:
        levels = pd.Index(known.iloc[held].dropna().astype(str).unique())
        names = [str(level) for level in levels]

        def place(cells: pd.Series) -> NDArray[np.int64]:
            return np.where(cells.isna(), -1, levels.get_indexer(cells.astype(str)))

    codes = place(known)[held]
    n_rows = np.bincount(codes[codes >= 0], minlength=len(names))
    few = np.flatnonzero(n_rows < _FEWEST_OF_GROUP)
    large = np.flatnonzero(n_rows >= _FEWEST_OF_GROUP)
    if not len(large):
        raise InvalidParameter(
            f"No group of {name} has {_FEWEST_OF_GROUP} held-out rows, which its own intervals "
            "need: choose a column with fewer groups."
        )
    n_shared = len(codes) - int(n_rows[large].sum())
    if 0 < n_shared < _FEWEST_OF_GROUP and len(large) > 1:
        few = np.append(few, large[np.argmin(n_rows[large])])  # takes them in
    codes, rows = (np.where(np.isin(each, few), -1, each) for each in (codes, place(new)))
    return codes, rows, tuple(names[code] for code in few)


def _cells(scored: ScoredTable, column: str, table: Table) -> tuple[pd.Series, pd.Series]:
    """A column of the first file, and of the rows in the frame."""
    if column in scored.training.X.columns:
        return scored.training.X[column], scored.scored.X[column]
    if column not in table.names:
        raise InvalidParameter(f"There is no column {shown(column)}.")
    known = plain_columns(table, scored.training.schema)[column]
    if scored.protocol != "new_file":
        return known, known
    if column not in scored.frame.columns:
        raise InvalidParameter(f"The second file has no column {shown(column)}.")
    return known, scored.frame[column]


def row_intervals(
    scored: ScoredTable,
    level: float = USUAL_LEVEL,
    conformal: bool = False,
    held: HeldOut | None = None,
    by: OwnGroups | None = None,
    shift: ShiftWeights | None = None,
) -> Interval:
    r"""A central interval for each row of a scored table.

    Parameters
    ----------
    scored : ScoredTable
        Of a regression.
    level : float
        The share of rows that should lie inside, above 0 and below 1.
    conformal : bool
        False: by the law of each prediction (`law_of`). True: as many stds below and above the
        prediction as held-out rows need; see the top of `gbuq_core.tables.intervals`. On a log
        scale, and for positive targets with a long tail, stds are those of the logarithm.
    held : HeldOut, optional
        `held_out` of the table, if it is at hand.
    by : OwnGroups, optional
        `own_groups` of a column: each is calibrated by itself, where intervals are conformal.
    shift : ShiftWeights, optional
        `measure_shift` of a second file: weights of the held-out rows, where intervals are
        conformal.

    Returns
    -------
    Interval
        ``(lower, upper)``, (n_rows,) each, in units of the target. Infinite where there are too few
        held-out rows for the level; on a log scale the lower end is then 0.

    Raises
    ------
    InvalidParameter
        For a level that is not between 0 and 1, a table of classes, or weights that are not there
        or go with groups.

    References
    ----------
    Vovk, Gammerman and Shafer, "Algorithmic Learning in a Random World" (2005).
    Vovk, "Cross-conformal predictors", Annals of Mathematics and Artificial Intelligence 74 (2015).
    Barber, Candes, Ramdas and Tibshirani, "Predictive inference with the jackknife+", Annals of
    Statistics 49 (2021).

    Examples
    --------
    >>> from gbuq_core.tables import ScorePlan, read_table, score_table
    >>> text = "x,y" + "".join(f"\n{i % 7},{i % 7 + 0.1 * (i % 3)}" for i in range(60))
    >>> scored = score_table(read_table(text.encode()), "y",
    ...                      plan=ScorePlan(method="sglb", n_trees=20))
    >>> lower, upper = row_intervals(scored, 0.8, conformal=True)
    >>> bool((lower < upper).all())
    True
    >>> float(row_intervals(scored, 0.99, conformal=True).upper[0])  # of 48 rows
    inf
    """
    _check(scored, level)
    if not conformal:
        return interval_of(scored.predictions, level)
    if shift is not None:
        _check_weights(scored, shift, by)
    calibration = _calibrate(scored, held, by)

    def reach(residuals: NDArray[np.float64], level: float) -> NDArray[np.float64]:
        factors = np.full(len(scored.predictions.loc), _factor(residuals, level))
        if shift is not None:
            factors = _weighted_factors(residuals, shift, level)
        if by is not None:
            factors = _group_factors(residuals, by.held, by.rows, level)
        if not scored.measured:
            factors[calibration.rows] = _own_factors(calibration, residuals, level)
        return factors

    factors = _tails(reach, calibration.residuals, level)
    return _around(scored.predictions, factors, _yardstick(scored))


def _tails(
    reach: Callable[[NDArray[np.float64], float], Any], residuals: NDArray[np.float64], level: float
) -> Interval:
    """How many stds the ends lie below and above the prediction, each by its own tail."""
    tail = 0.5 + 0.5 * level
    return Interval(reach(-residuals, tail), reach(residuals, tail))


class Yardstick(NamedTuple):
    """How conformal intervals measure: in stds of the target, or of its logarithm.

    Positive targets with a long tail are measured by logarithms, whose mean and variance follow
    from those of the prediction: in stds of the target, all the smallest ones are equally far away.
    """

    smallest_std: float  # of a row
    smallest_mean: float  # of a row whose logarithm is measured; 0 where none is

    def parameters(
        self, predictions: Predictions
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], bool]:
        """Middle and std of each row, and whether they are of the logarithm."""
        law = law_of(predictions)
        loc, std, is_log = law.loc, law.scale, self.smallest_mean > 0.0
        if isinstance(law, LogDistribution):
            loc, std, is_log = law.inner.loc, law.inner.scale, True
        elif is_log:
            means = np.maximum(loc, self.smallest_mean)
            loc, variance = log_parameters(means, np.square(std))
            std = np.sqrt(variance)
        return loc, np.maximum(std, self.smallest_std), is_log


def yardstick_of(y: NDArray[np.float64], scale: str) -> Yardstick:
    """The one for known targets that are learnt on such a scale.

    No std is below a millionth of theirs.
    """
    by_logs = scale == "plain" and has_long_tail(y)
    std = float(np.std(np.log(y) if by_logs or scale == "log" else y))
    return Yardstick(_SMALLEST_STD * std, float(y.min()) if by_logs else 0.0)


def conformal_residuals(held: HeldOut, yardstick: Yardstick) -> NDArray[np.float64]:
    """How many stds each held-out target lies above its prediction, (n_held,), in its order."""
    loc, std, is_log = yardstick.parameters(held.predictions)
    return ((np.log(held.y) if is_log else held.y) - loc) / std


def new_intervals(
    predictions: Predictions,
    level: float,
    residuals: NDArray[np.float64] | None,
    yardstick: Yardstick,
) -> Interval:
    """Intervals of new rows: by the law of each prediction, or conformal with ``residuals``."""
    check_level(level)
    if residuals is None:
        return interval_of(predictions, level)
    return _around(predictions, _tails(_factor, residuals, level), yardstick)


def _around(predictions: Predictions, factors: Interval, yardstick: Yardstick) -> Interval:
    """So many stds below and above each prediction."""
    loc, std, is_log = yardstick.parameters(predictions)
    # A hair more, so that no rounding leaves out the row that says where an end is.
    lower, upper = loc - (factors.lower + _HAIR) * std, loc + (factors.upper + _HAIR) * std
    if is_log:
        with np.errstate(over="ignore"):
            lower, upper = np.exp(lower), np.exp(upper)
    return _possible(Interval(lower, upper), predictions)


def _possible(ends: Interval, predictions: Predictions) -> Interval:
    """Ends without the values that the law's target cannot have, which hold no row."""
    support = getattr(predictions.law, "support", None)
    if support is None:
        return ends
    lower, upper = (np.clip(end, support.low, support.high) for end in ends)
    if support.whole:
        inner = np.ceil(lower), np.floor(upper)
        between = inner[0] > inner[1]  # two whole numbers, of which the nearest is kept
        nearest = np.round(0.5 * (np.where(between, lower + upper, 0.0)))
        lower, upper = (np.where(between, nearest, end) for end in inner)
    return beside_prediction(Interval(lower, upper), predictions)


def held_out_inside(
    scored: ScoredTable,
    level: float,
    conformal: bool = False,
    held: HeldOut | None = None,
    by: OwnGroups | None = None,
) -> NDArray[np.bool_]:
    """Which of the rows that give the scores lie inside their interval, (n_held,).

    No row takes part in its own calibration, and half of the rows says how wide the groups of the
    other half are, where one model judged all of them.

    Parameters
    ----------
    scored, level, conformal, held, by
        As in `row_intervals`.
    """
    _check(scored, level)
    held = held_out(scored) if held is None else held
    if not conformal:
        return inside_interval(interval_of(held.predictions, level), held.y)
    calibration = _calibrate(scored, held, by)
    if by is not None and len(np.unique(calibration.part)) == 1:
        half = np.random.default_rng(0).permutation(len(calibration.part)) % 2
        calibration = calibration._replace(part=half)
    return _inside(scored, held, calibration, level)


def _inside(
    scored: ScoredTable, held: HeldOut, calibration: _Calibration, level: float
) -> NDArray[np.bool_]:
    """Which held-out rows lie inside the intervals that other rows say."""
    factors = _tails(partial(_own_factors, calibration), calibration.residuals, level)
    return inside_interval(_around(held.predictions, factors, _yardstick(scored)), held.y)


def own_misses(scored: ScoredTable, held: HeldOut) -> NDArray[np.float64]:
    """1 for held-out rows outside the table's own intervals, 0 for others; NaN for classes."""
    if held.classes:
        return np.full(len(held.rows), np.nan)
    inside = held_out_inside(scored, scored.level, scored.conformal, held, scored.by_group)
    return (~inside).astype(np.float64)


def count_ends(
    ends: Interval, prediction: NDArray[np.float64], y: NDArray[np.float64]
) -> EndCounts:
    """Counts of ends and predictions (n,) as they are written, beside known targets."""
    low, high = (y.min(), y.max()) if len(y) else (-np.inf, np.inf)
    apart, infinite = ~inside_interval(ends, prediction), np.isinf(ends).any(axis=0)
    flags = apart, infinite, ends.lower < low, ends.upper > high
    return EndCounts(len(prediction), *(int(flag.sum()) for flag in flags))


def describe_ends(
    counts: EndCounts, level: float, target: str, y: NDArray[np.float64]
) -> list[str]:
    """What `count_ends` found in sentences, which hold the target's name."""
    n, percents = f"{counts.rows:,}", f"{100 * level:g} %"
    apart = (
        f" In {counts.apart:,} of {n} rows it lies outside of the row's {percents} interval: rare "
        "values far away move a mean."
    )
    sentences = [f"The prediction is the mean.{apart if counts.apart else ''}"]
    if counts.infinite:
        n_needed = conformal_needs(0.5 + 0.5 * level)
        sentences.append(
            f"{counts.infinite:,} of {n} intervals have an infinite end: of conformal {percents} "
            f"intervals, each end needs {n_needed:,} held-out rows that calibrate it. Choose a "
            "lower level, or add rows."
        )
    for end, where, n_beyond in (("min", "below", counts.below), ("max", "above", counts.above)):
        bound = float(getattr(y, end)()) if len(y) else np.nan
        share = float((y == bound).mean()) if len(y) else 0.0
        if n_beyond and share >= _PILE and len(np.unique(y)) > _FEWEST_NUMBERS:
            sentences.append(
                f"{percent(share, 0)} of the target {shown(target)} is exactly {short(bound)}, and "
                f"nothing is {where} it, but {n_beyond:,} of {n} intervals reach {where} "
                f"{short(bound)}: one bell shape does not fit that. Score the other rows "
                "alone, and beside that a column that says which rows they are."
            )
    return sentences


def table_ends(scored: ScoredTable) -> list[str]:
    """`describe_ends` of a table's own intervals; none of classes."""
    training = scored.training
    if training.target.classes:
        return []
    ends = Interval(*(scored.frame[name].to_numpy() for name in interval_names(scored.level)))
    y = training.y[training.known]
    counts = count_ends(ends, scored.predictions.loc, y)
    return describe_ends(counts, scored.level, training.target.name, y)


def name_interval(scored: ScoredTable) -> str:
    r"""The table's own intervals in words.

    >>> from gbuq_core.tables import ScorePlan, read_table, score_table
    >>> text = "x,y" + "".join(f"\n{i % 7},{i % 7 + 0.1 * (i % 3)}" for i in range(60))
    >>> scored = score_table(read_table(text.encode()), "y",
    ...                      plan=ScorePlan(method="sglb", n_trees=20))
    >>> name_interval(scored), name_interval(with_intervals(scored, 0.8, conformal=True))
    ('90 % interval', 'conformal 80 % interval')
    """
    kind = "conformal " if scored.conformal else ""
    of_group = f" by {shown(scored.by_group.column)}" if scored.by_group else ""
    return f"{kind}{100 * scored.level:g} % interval{of_group}"


def conformal_coverage(
    scored: ScoredTable,
    held: HeldOut | None = None,
    levels: tuple[float, ...] = COVERAGE_LEVELS,
) -> Coverage:
    """How many held-out rows lie inside their conformal intervals, with the bands of chance.

    Parameters
    ----------
    scored, held
        As in `row_intervals`.
    levels : tuple of float
    """
    held = held_out(scored) if held is None else held
    calibration = _calibrate(scored, held, None)
    judged = np.ones(len(calibration.rows), bool)
    if calibration.in_time and len(np.unique(calibration.part)) > 1:
        judged = calibration.part > calibration.part.min()
    inside = [_inside(scored, held, calibration, level)[judged] for level in levels]
    return count_coverage(np.stack(inside, axis=1), levels)


def written_scores(scored: ScoredTable, second: bool = False) -> Any:
    """Scores of held-out rows, or of a second file, with the coverage of the table's intervals."""
    scores = scored.new_scores if second else scored.scores
    if not scored.conformal or not isinstance(scores, RegressionScores):
        return scores
    held = held_out(scored)

    def inside(level: float) -> NDArray[np.bool_]:
        if not second:
            return held_out_inside(scored, level, True, held, scored.by_group)
        ends = row_intervals(scored, level, True, held, scored.by_group, scored.shift)
        return inside_interval(ends, scored.scored.y)[scored.scored.known]

    coverage = count_coverage(np.stack([*map(inside, COVERAGE_LEVELS)], axis=1), COVERAGE_LEVELS)
    return scores._replace(coverage=coverage)


def with_intervals(
    scored: ScoredTable,
    level: float = USUAL_LEVEL,
    conformal: bool = False,
    held: HeldOut | None = None,
    by: OwnGroups | None = None,
    shift: ShiftWeights | None = None,
) -> ScoredTable:
    r"""The same table with intervals of this level, such as the columns lower_80 and upper_80.

    Parameters
    ----------
    scored, level, conformal, held, by, shift
        As in `row_intervals`. Tables of classes have no intervals and stay as they are.

    Examples
    --------
    >>> from gbuq_core.tables import ScorePlan, read_table, score_table
    >>> text = "x,y" + "".join(f"\n{i % 7},{i % 7 + 0.1 * (i % 3)}" for i in range(60))
    >>> scored = score_table(read_table(text.encode()), "y",
    ...                      plan=ScorePlan(method="sglb", n_trees=20))
    >>> with_intervals(scored, 0.8, conformal=True).frame.columns.tolist()[2:5]
    ['prediction', 'lower_80', 'upper_80']
    """
    if scored.training.target.classes:
        if conformal:
            raise InvalidParameter(why_not_conformal(scored.training.target.classes))
        return scored
    chosen = replace(
        scored,
        level=level,
        conformal=conformal,
        by_group=by if conformal else None,
        shift=shift if conformal else None,
    )
    return refresh_output(chosen, held)


def refresh_output(scored: ScoredTable, held: HeldOut | None = None) -> ScoredTable:
    """The table with all added columns as its predictions, level and unfamiliarity say."""
    names = set(scored.added.names)
    own = {name: scored.frame[name] for name in scored.frame.columns if name not in names}
    kept = [name for name in ("fold", "in_training") if name in names]
    protocol: dict[str, Any] = {name: scored.frame[name] for name in kept}
    interval = None
    if not scored.training.target.classes:
        interval = row_intervals(
            scored, scored.level, scored.conformal, held, scored.by_group, scored.shift
        )
    added = added_columns(
        scored.scored, scored.predictions, interval, protocol, scored.level, scored.unfamiliarity
    )
    frame, columns = join_columns(own, added, scored.added.renamed)
    return replace(scored, frame=frame, added=columns)


def _check(scored: ScoredTable, level: float) -> None:
    if scored.training.target.classes:
        raise InvalidParameter(why_not_conformal(scored.training.target.classes))
    check_level(level)


def _check_weights(scored: ScoredTable, shift: ShiftWeights, by: OwnGroups | None) -> None:
    if shift.why_not:
        raise InvalidParameter(f"{shift.why_not}: leave the shift out.")
    if by is not None:
        raise InvalidParameter("Weights for a shift do not go with groups: choose one of them.")
    if not len(shift.rows):
        raise InvalidParameter(
            "The rows of the second file do not differ measurably from those of the first, so "
            "there are no weights: "
            "leave the shift out."
        )


def _yardstick(scored: ScoredTable) -> Yardstick:
    training = scored.training
    return yardstick_of(training.y[training.known], scored.plan.scale)


def _calibrate(scored: ScoredTable, held: HeldOut | None, by: OwnGroups | None) -> _Calibration:
    held = held_out(scored) if held is None else held
    group = np.zeros((len(held.rows), 1), np.int64) if by is None else by.held
    part, in_time = _parts(scored, held)
    residuals = conformal_residuals(held, _yardstick(scored))
    return _Calibration(held.rows, residuals, part, in_time, group)


def _parts(scored: ScoredTable, held: HeldOut) -> tuple[NDArray[np.int64], bool]:
    """What no held-out row may be calibrated by, and whether it follows in time."""
    model, split = np.zeros(len(held.rows), np.int64), scored.training.split
    if not scored.measured:
        model = scored.model_of_row[held.rows]
    for number, part in enumerate(scored.measured):
        model[np.searchsorted(held.rows, part.rows)] = number
    in_time = split is not None and split.by == "time"
    # The models of folds have different groups, and follow each other in time.
    apart = scored.protocol == "out_of_fold" if in_time else len(np.unique(model)) > 1
    if split is None or apart:
        return model, in_time
    codes = split.codes[held.rows]
    if not in_time:
        return np.unique(codes, return_inverse=True)[1] % _MOST_SETS, False
    ends = np.quantile(codes, np.arange(1, _STRETCHES) / _STRETCHES)
    return np.searchsorted(ends, codes), True


def _factor(distances: NDArray[np.float64], level: float) -> float:
    """How many stds away an end is, by these calibration rows."""
    rank = conformal_rank(len(distances), level)
    if rank > len(distances):
        return np.inf
    return float(np.partition(distances, rank - 1)[rank - 1])


def _weighted_factors(
    distances: NDArray[np.float64], weights: ShiftWeights, level: float
) -> NDArray[np.float64]:
    """Of each row of a second file: the weighted quantile of the distances, where it is at inf."""
    order = np.argsort(distances)
    sums = np.cumsum(weights.held[order])
    wanted = level * (sums[-1] + weights.rows) * (1.0 - _ROUNDING)
    return np.append(distances[order], np.inf)[sums.searchsorted(wanted)]


def _own_factors(
    calibration: _Calibration, distances: NDArray[np.float64], level: float
) -> NDArray[np.float64]:
    """The same for each calibration row, by other or earlier parts, or others of its group."""
    part, group = calibration.part, calibration.group
    out, parts = np.empty(len(distances)), np.unique(part)
    if len(parts) == 1 and group.shape[1] > 1:
        part = np.arange(len(part)) % _PARTS
        parts = np.unique(part)
    if len(parts) > 1:
        for own in parts:
            others = part < own if calibration.in_time and own > parts[0] else part != own
            mine = part == own
            out[mine] = _group_factors(distances[others], group[others], group[mine], level)
        return out
    for code in np.unique(group):
        mine = group[:, 0] == code
        out[mine] = _factors_of_others(distances[mine], level)
    return out


def _group_factors(
    distances: NDArray[np.float64],
    held: NDArray[np.int64],
    rows: NDArray[np.int64],
    level: float,
) -> NDArray[np.float64]:
    """Of rows by the calibration rows of their groups, (n, n_columns) each; of all without one."""
    out = np.full(len(rows), _factor(distances, level))
    if held.shape[1] == 1:
        for code in np.unique(held):
            out[rows[:, 0] == code] = _factor(distances[held[:, 0] == code], level)
        return out
    codes = [np.unique(column) for column in held.T]
    known = np.all([np.isin(row, each) for row, each in zip(rows.T, codes, strict=True)], axis=0)
    sets, place = np.unique(rows[known], axis=0, return_inverse=True)
    if len(held) > _MOST_AT_ONCE:
        drawn = np.random.default_rng(0).choice(len(held), _MOST_AT_ONCE, replace=False)
        held, distances = held[drawn], distances[drawn]
    features, wanted = (
        np.column_stack(
            [
                np.ones(len(each)),
                *(
                    column == code
                    for column, every in zip(each.T, codes, strict=True)
                    for code in every[1:]
                ),
            ]
        )
        for each in (held, sets)
    )
    factors = [_conditional_factor(distances, features, row, level) for row in wanted]
    out[known] = np.array(factors)[place.ravel()] if factors else out[known]
    return out


def _conditional_factor(
    distances: NDArray[np.float64],
    features: NDArray[np.float64],
    row: NDArray[np.float64],
    level: float,
) -> float:
    """The largest distance that a row of such features may have, as conditional conformal says.

    A quantile regression of all distances on the features, with the row's own at infinity: its
    dual variable is then at its bound. One linear program gives what
    `mapie.conditional_conformal_prediction` follows row by row, for which cvxpy would be needed.
    """
    from scipy.optimize import linprog

    solved = linprog(
        -distances,
        A_eq=features.T,
        b_eq=-(level - _BELOW_BOUND) * row,
        bounds=(level - 1.0, level),
        method="highs",
    )
    return float(-row @ solved.eqlin.marginals) if solved.status == 0 else np.inf


def _factors_of_others(distances: NDArray[np.float64], level: float) -> NDArray[np.float64]:
    """Of each row by all others."""
    out = np.empty(len(distances))
    rank = conformal_rank(len(distances) - 1, level)
    if rank > len(distances) - 1:
        out[:] = np.inf
        return out
    order = np.argsort(distances, kind="stable")
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    ordered = distances[order]
    return np.where(place >= rank, ordered[rank - 1], ordered[rank])
