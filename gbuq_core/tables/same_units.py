"""Whether scores of rows dealt at random hold for new rows: of other units, or of a later time.

Rows of one unit are alike, and so are rows that follow each other in time. Which column names the
units is found by its name and the data: its levels explain blocks of other columns, or much of the
target. What is measured, and what gives the target away, names no units. Small models that are
judged in both ways say what it changes; they know the unit, or the place in time. The split of the
rows is never changed by this; the result asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gbuq_core.errors import InvalidData
from gbuq_core.jobs import stage
from gbuq_core.presentation import percent, short, shown
from gbuq_core.tables.cleaning import Feature, Prepared
from gbuq_core.tables.columns import Column, as_numbers, finite_values, single_chunk
from gbuq_core.tables.files import Table
from gbuq_core.tables.leaking import find_leaks
from gbuq_core.tables.plan import USUAL_LEVEL, ScorePlan
from gbuq_core.tables.predicting import Predictions, law_of
from gbuq_core.tables.schema import Schema
from gbuq_core.tables.scoring import fit_protocol, judge_fits
from gbuq_core.tables.splitting import (
    ROW_ORDER,
    RowSplit,
    is_named_id,
    is_named_time,
    names_time,
    parts_of_time,
    read_split,
    split_names,
)

_MOST_ROWS = 3000  # that the small models learn from and are judged on
_FEWEST_ROWS = 60
_N_TREES = 100
# Times the error of rows dealt at random, from where it is asked; for what is named like units.
_WORSE, _WORSE_OF_IDS, _MUCH_WORSE = 1.2, 1.1, 3.0
_SURE = 2.0  # standard errors of the number of groups, or stretches of time, that are worse
_STRETCHES = 20
_PLACE = "place in time\n"  # a column that no file has
# Groups: how many, how large, and what their column explains.
_FEWEST_GROUPS, _FEWEST_NUMBERS, _MOST_GROUPS = 8, 20, 0.5
_CONSTANT, _BY_CHANCE = 0.85, 0.5  # share of groups in which a block is constant
_UNEQUAL = 0.6  # std of the sizes of groups, of their mean
_EXPLAINED = 0.1  # of the variance of the target
_SMOOTH = 0.3  # correlation of the targets of numbers that follow each other, or 2 standard errors
_MOST_COLUMNS, _MOST_TRIED = 40, 2
# Time.
_NEIGHBOURS, _WALKS = 0.3, 0.9  # correlation with the next row, of the target and of a column
_SPREAD = 0.6  # of the range between deciles; evenly spread times have .8, normal numbers .4
_BEYOND_CHANCE = 5.0
_FIRST_MONTH = 190001
_EPOCHS = ((3e8, 4.2e9), (3e11, 4.2e12))  # seconds and milliseconds from 1979 to 2103


class SplitQuestion(NamedTuple):
    """A split that changes what the scores say, with both numbers.

    Attributes
    ----------
    split : {"group", "time"}
    column : str
        As `ScorePlan.split_column` takes it.
    at_random, apart, baseline : float
        RMSE, or the share of wrong classes, of small models: of rows dealt at random, of the same
        rows with their group or all later rows kept apart, and of the mean or the usual class.
    wider : float
        How many times as wide intervals are apart as at random, in the median; NaN for classes.
    n_trees : int
        Of the small models.
    """

    split: str
    column: str
    at_random: float
    apart: float
    baseline: float
    wider: float
    n_trees: int

    def __str__(self) -> str:
        is_class = np.isnan(self.wider)
        models = f"Small models{' that know it' if self.split == 'time' else ''}"
        name = shown(self.column)
        numbers = [
            percent(value, 1) if is_class else short(value, 3)
            for value in (self.at_random, self.apart, self.baseline)
        ]
        if self.split == "group":
            asked = f"Will new rows come from the same units (column {name})?"
            whom, answer = "for units not seen before", "they come from other units"
        else:
            by = "the order of the rows" if self.column == ROW_ORDER else name
            asked = f"Will new rows be later than these (by {by})?"
            whom, answer = "for later rows", "they are later"
        if is_class:
            result = (
                f"{models} are wrong in {numbers[0]} of the rows dealt at random, and in "
                f"{numbers[1]} {whom} (the most frequent class: {numbers[2]})."
            )
        else:
            result = (
                f"{models} have an RMSE of {numbers[0]} with rows dealt at random, and of "
                f"{numbers[1]} {whom} (mean only: {numbers[2]}), with intervals "
                f"{short(self.wider, 2)} times as wide."
            )
        return (
            f"{asked} {result} If {answer}, choose Split: by {self.split} "
            f"(--split {self.split} --split-column {name})."
        )


def ask_about_split(table: Table, training: Prepared, plan: ScorePlan) -> list[SplitQuestion]:
    r"""What to ask before the scores of rows dealt at random are believed, the worst first.

    Nothing is asked where the plan has another split, or where both ways to deal the rows come to
    the same. Small models (100 trees, at most 3,000 rows) are trained where a column may name units
    or a time, or neighbours in the file have near targets.

    Parameters
    ----------
    table : Table
    training : Prepared
        Of this table, by `prepare_training`.
    plan : ScorePlan

    Examples
    --------
    Forty units with ten rows each, whose level is in the target:

    >>> from gbuq_core.tables import infer_schema, prepare_training, read_table
    >>> rng = np.random.default_rng(0)
    >>> level, size = rng.normal(size=40), rng.normal(size=40).round(3)
    >>> rows = "".join(
    ...     f"{k // 10},{size[k // 10]},{10 * level[k // 10] + rng.normal():.2f}\n"
    ...     for k in rng.permutation(400)
    ... )
    >>> table = read_table(f"unit,size,y\n{rows}".encode())
    >>> training = prepare_training(table, infer_schema(table), "y")
    >>> [(q.split, q.column) for q in ask_about_split(table, training, ScorePlan())]
    [('group', 'unit')]
    """
    if training.split is not None or int(training.known.sum()) < _FEWEST_ROWS:
        return []
    questions: list[SplitQuestion] = []
    asked = {"group": _unit_columns(table, training), "time": [*_time_columns(table, training)]}
    with stage(sum(map(len, asked.values())) or 1.0):
        for split, columns in asked.items():
            for column in columns:
                if questions and column == ROW_ORDER:
                    break  # the units may stand in blocks
                with stage(1.0, span=1.0):
                    question = _compare(table, training, plan, split, column)
                if question is not None:
                    questions.append(question)
                    break
    return sorted(questions, key=lambda asked: -asked.apart / max(asked.at_random, 1e-300))


def _compare(
    table: Table, training: Prepared, plan: ScorePlan, split: str, column: str
) -> SplitQuestion | None:
    """The question about one split, if small models are worse with it than at random."""
    try:
        together = read_split(table, training.schema, split, column, training.target.name)
    except InvalidData:
        return None
    assert together is not None
    rows = _some_rows(training, together, plan.seed)
    if len(rows) < _FEWEST_ROWS or len(np.unique(together.codes[rows])) < 2:
        return None
    kept = [f for f in training.features if split == "time" or f.column != column]
    if not kept:
        return None
    small = ScorePlan(
        ensemble="virtual",
        n_trees=_N_TREES,
        seed=plan.seed,
        n_jobs=plan.n_jobs,
        scale="plain" if training.target.classes else plan.scale,
    )
    X = training.X.iloc[rows]
    names = split_names(column, table.names)
    if split == "group" and column in X:
        X = X.assign(**{column: pd.Categorical(together.codes[rows])})  # as names, of numbers too
    elif split == "time" and not any(feature.column in names for feature in kept):
        X = X.assign(**{_PLACE: together.codes[rows].astype(np.float64)})
        kept = [*kept, Feature(_PLACE, _PLACE, "")]
    random = training._replace(X=X, y=training.y[rows])
    codes = np.unique(together.codes[rows], return_inverse=True)[1].astype(np.int64)
    apart = random._replace(
        X=random.X[[feature.name for feature in kept]],
        features=tuple(kept),
        split=together._replace(codes=codes, n_missing=0),
    )
    # As many rows are learnt from in time as in a random order of time.
    mixed = random
    if split == "time":
        drawn = np.random.default_rng(plan.seed).permutation(len(codes))
        mixed = random._replace(split=together._replace(codes=drawn, n_missing=0))
    try:
        with stage(2.0 if split == "group" else 3.0):
            judged = []
            for prepared in (random, apart) if split == "group" else (random, apart, mixed):
                with stage(1.0, span=1.0):
                    fits = fit_protocol("out_of_fold", prepared, small)
                    judged.append((fits.held, judge_fits(fits, prepared, prepared, small)[0]))
    except InvalidData:  # too few groups with a target, or times, to judge by
        return None
    at_random, by_split, fair = judged[0], judged[1], judged[-1] if split == "time" else judged[0]
    held, y = by_split[0], random.y
    is_class = bool(training.target.classes)
    errors = [_errors(judgement, y, is_class) for _, judgement in (at_random, by_split)]
    factor = (
        _WORSE_OF_IDS
        if split == "group" and is_named_id(training.schema.column(column))
        else _WORSE
    )
    if not _is_worse(
        errors[1][held],
        _errors(fair[1], y, is_class)[fair[0]],
        errors[0][held],
        codes[held],
        split,
        factor,
    ):
        return None
    usual = np.bincount(y.astype(int)).argmax() if is_class else y.mean()
    base = (y[held] != usual).astype(float) if is_class else (y[held] - usual) ** 2
    means = [float(part.mean()) for part in (errors[0][held], errors[1][held], base)]
    at, kept_apart, baseline = means if is_class else [float(np.sqrt(mean)) for mean in means]
    wider = np.nan
    if not is_class:
        widths = [_median_width(judgement, held) for _, judgement in (by_split, at_random)]
        wider = widths[0] / max(widths[1], np.finfo(float).tiny)
    return SplitQuestion(split, column, at, kept_apart, baseline, wider, n_trees=_N_TREES)


def _is_worse(
    apart: NDArray[np.float64],
    fair: NDArray[np.float64],
    at_random: NDArray[np.float64],
    codes: NDArray[np.int64],
    split: str,
    factor: float,
) -> bool:
    """Whether errors apart are larger than by chance, and by so much; squares, or 0 and 1."""
    power = 1 if set(np.unique(apart)) <= {0.0, 1.0} else 2
    if apart.mean() < factor**power * max(fair.mean(), at_random.mean()) or not apart.any():
        return False
    parts = codes
    if split == "time":
        parts = np.argsort(np.argsort(codes, kind="stable")) * _STRETCHES // len(codes)
    gaps = pd.Series(apart - at_random).groupby(parts).mean()
    n_worse, n_better = int((gaps > 0.0).sum()), int((gaps < 0.0).sum())
    much = apart.mean() >= _MUCH_WORSE**power * fair.mean()
    return n_worse - n_better > (1.0 if much else _SURE) * np.sqrt(n_worse + n_better)


def _errors(judged: Predictions, y: NDArray[np.float64], is_class: bool) -> NDArray[np.float64]:
    return (judged.loc != y).astype(np.float64) if is_class else (judged.loc - y) ** 2


def _median_width(predictions: Predictions, rows: NDArray[np.bool_]) -> float:
    lower, upper = law_of(predictions, rows).interval(USUAL_LEVEL)
    return float(np.median(upper - lower))


def _some_rows(training: Prepared, together: RowSplit, seed: int) -> NDArray[np.int64]:
    """At most so many rows with a target: whole groups, or the last ones in time."""
    usable = np.flatnonzero(training.known & (together.codes >= 0))
    if len(usable) <= _MOST_ROWS:
        return usable
    if together.by == "time":
        order = np.argsort(together.codes[usable], kind="stable")
        return np.sort(usable[order[-_MOST_ROWS:]])
    groups, place, count = np.unique(
        together.codes[usable], return_inverse=True, return_counts=True
    )
    drawn = np.random.default_rng(seed).permutation(len(groups))
    taken = drawn[np.cumsum(count[drawn]) <= _MOST_ROWS]
    return usable[np.isin(place, taken)]


def _unit_columns(table: Table, training: Prepared) -> list[str]:
    """Columns that may name units, the likeliest first."""
    schema, target = training.schema, training.target.name
    rows = np.flatnonzero(training.known)[:20_000]
    y = training.y[rows]
    columns: list[tuple[bool, int, int, str]] = []
    possible = _may_name(schema, (target, *parts_of_time(schema, target)))
    leaks = [name for leak in find_leaks(training) for name in leak.columns] if possible else []
    for column in [column for column in possible if column.name not in leaks][:_MOST_COLUMNS]:
        try:
            # Numbers are codes in their order.
            by = "time" if column.kind == "numeric" else "group"
            split = read_split(table, schema, by, column.name, target)
        except InvalidData:
            continue
        assert split is not None
        codes = np.unique(split.codes[rows], return_inverse=True)[1]
        n_groups = int(codes.max()) + 1
        named = is_named_id(column)
        are_numbers = column.kind == "numeric" and not named
        fewest = _FEWEST_NUMBERS if are_numbers else _FEWEST_GROUPS
        if not fewest <= n_groups <= _MOST_GROUPS * len(rows) or _has_fractions(training, column):
            continue
        blocks = _n_blocks(training, rows, codes, column.name)
        explains = n_groups >= _FEWEST_NUMBERS and _explained(
            codes, y, bool(training.target.classes), are_numbers
        )
        if are_numbers:  # units have about as many rows each; what is measured piles up
            sizes = np.bincount(codes)
            explains = explains and bool(sizes.std() <= _UNEQUAL * sizes.mean())
        # What is measured may be constant beside another measure, too.
        if named or explains or (blocks and not are_numbers):
            columns.append((not named, -blocks, len(columns), column.name))
    return [name for *_, name in sorted(columns)][:_MOST_TRIED]


def _has_fractions(training: Prepared, column: Column) -> bool:
    """Whether numbers are no whole ones, which names of units are."""
    if column.kind != "numeric" or column.name not in training.X:
        return False
    values = training.X[column.name].dropna().to_numpy(np.float64)
    return bool((values != np.round(values)).any())


def _may_name(schema: Schema, others: Sequence[str]) -> list[Column]:
    """Columns with repeated values, words before numbers."""
    n_rows = schema.n_rows
    possible = [
        column
        for column in schema.columns
        if column.name not in others
        and column.kind not in ("date", "empty", "constant")
        and not names_time(column.name)
        and _FEWEST_GROUPS <= column.n_distinct <= _MOST_GROUPS * (n_rows - column.n_missing)
    ]
    return sorted(possible, key=lambda c: (not is_named_id(c), c.kind == "numeric"))


def _n_blocks(
    training: Prepared, rows: NDArray[np.int64], codes: NDArray[np.int64], own: str
) -> int:
    """How many other features are constant within groups, and not by chance."""
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    several = np.diff(np.append(starts, len(order))) > 1
    if several.sum() < _FEWEST_GROUPS:
        return 0
    drawn = np.random.default_rng(0).permutation(order)
    blocks = 0
    for feature in training.features:
        if feature.column == own:
            continue
        values = training.X[feature.name].iloc[rows]
        if isinstance(values.dtype, pd.CategoricalDtype):
            numbers = values.cat.codes.to_numpy().astype(np.float64)
        else:
            numbers = np.nan_to_num(values.to_numpy(np.float64), nan=-np.inf)
        shares = []
        for taken in (order, drawn):
            given = numbers[taken]
            same = np.maximum.reduceat(given, starts) == np.minimum.reduceat(given, starts)
            shares.append(float(same[several].mean()))
            if shares[0] < _CONSTANT:
                break
        blocks += shares[0] >= _CONSTANT and shares[-1] < _BY_CHANCE
    return blocks


def _explained(
    codes: NDArray[np.int64], y: NDArray[np.float64], is_class: bool, are_numbers: bool
) -> bool:
    """Whether groups have other targets than by chance, by much; of numbers, not smoothly so."""
    columns = np.eye(int(y.max()) + 1)[y.astype(int)] if is_class else y[:, None]
    means = pd.DataFrame(columns).groupby(codes).mean().to_numpy()
    total = ((columns - columns.mean(axis=0)) ** 2).sum()
    left = len(y) - len(means)
    if left <= 0 or total == 0.0:
        return False
    within = ((columns - means[codes]) ** 2).sum()
    # Adjusted for what as many groups explain by chance.
    if 1.0 - (within / left) / (total / (len(y) - 1)) < _EXPLAINED:
        return False
    first, second = (part - means.mean(axis=0) for part in (means[1:], means[:-1]))
    near = (first * second).sum() / max(((means - means.mean(axis=0)) ** 2).sum(), 1e-300)
    return not are_numbers or near < max(_SMOOTH, 2.0 / np.sqrt(len(means)))


def _time_columns(table: Table, training: Prepared) -> Iterator[str]:
    """What may be the order of time: a column, parts of one, or the order of the rows."""
    schema, target = training.schema, training.target.name
    columns = [c for c in schema.columns if c.name != target and c.kind != "empty"]
    parts = parts_of_time(schema, target)
    named = [column.name for column in columns if column.kind == "date"]
    named += [column.name for column in columns if _is_epoch(table, column)]
    if parts:
        named.append(", ".join(parts))
    named += [
        column.name
        for column in columns
        if column.name not in (*parts, *named)
        and column.n_distinct >= _FEWEST_GROUPS
        and is_named_time(column)
        and _is_even(_numbers(table, column))
    ]
    yield from named[:_MOST_TRIED]
    rows = np.flatnonzero(training.known)
    if _has_near_neighbours(training, rows):
        yield ROW_ORDER
        return
    for column in columns:
        if column.n_distinct < table.n_rows or column.kind not in ("numeric", "identifier"):
            continue
        if column.range is not None and np.diff(column.range)[0] < 0.5 * (table.n_rows - 1):
            continue  # half of the steps would be 1
        order = _numbers(table, column)
        is_shuffled = _counts(np.sort(order)) and not _counts(order)
        if is_shuffled and _has_near_neighbours(training, rows[np.argsort(order[rows])]):
            yield column.name
            return


def _is_even(values: NDArray[np.float64]) -> bool:
    """Whether numbers spread over their range as times do; how long something takes piles up."""
    low, high = np.quantile(values, [0.1, 0.9])
    return bool(high - low >= _SPREAD * np.ptp(values))


def _counts(values: NDArray[np.float64]) -> bool:
    """Whether numbers go up as those of rows do, of which some may have gone: mostly by one."""
    steps = np.diff(values)
    return bool(len(steps)) and bool((steps > 0).all() and (steps == 1.0).mean() >= 0.5)


def _numbers(table: Table, column: Column) -> NDArray[np.float64]:
    values = finite_values(as_numbers(single_chunk(table.data, column.name), column))
    return values[~np.isnan(values)]


def _is_epoch(table: Table, column: Column) -> bool:
    """Whether whole numbers are seconds or milliseconds since 1970, or years and months."""
    if column.kind not in ("numeric", "identifier"):
        return False
    if column.range is not None and column.range[1] < _FIRST_MONTH:
        return False
    values = _numbers(table, column)
    if len(values) < _FEWEST_ROWS or (values != np.round(values)).any():
        return False
    if any(low <= values.min() and values.max() <= high for low, high in _EPOCHS):
        return True
    # 202401, 202402, ...
    months = np.unique(values)
    return (
        len(months) >= _FEWEST_NUMBERS
        and months[0] >= _FIRST_MONTH
        and months[-1] <= 210012
        and bool(((months % 100 >= 1) & (months % 100 <= 12)).all())
    )


def _has_near_neighbours(training: Prepared, rows: NDArray[np.int64]) -> bool:
    """Whether the next row has a near target, or is near in a column, though nothing sorts them."""
    y = training.y[rows]
    if training.target.classes:
        same = y[1:] == y[:-1]
        shares = np.bincount(y.astype(int)) / len(y)
        near = (same.mean() - shares @ shares) / max(1.0 - shares @ shares, 1e-9)
        sorted_by = len(np.unique(y)) * 3 >= (~same).sum()
    else:
        ranks = np.asarray(pd.Series(y).rank(), np.float64)
        near, sorted_by = _with_next(ranks), _is_sorted(y)
    if sorted_by:
        return False
    walks = near >= max(_NEIGHBOURS, _BEYOND_CHANCE / np.sqrt(len(y)))
    X = training.X.iloc[rows]
    for feature in training.features:
        values = X[feature.name]
        if isinstance(values.dtype, pd.CategoricalDtype):
            if _in_blocks(values.cat.codes.to_numpy()):
                return False
            continue
        numbers = values.to_numpy(np.float64)
        steps = {*np.unique(np.diff(numbers)).tolist()}
        counts = _counts(numbers) or (steps == {0.0, 1.0} and 1900 <= numbers[0] <= 2100)  # years
        if not counts and ((len(steps) > 1 and _is_sorted(numbers)) or _in_blocks(numbers)):
            return False
        walks = walks or (not counts and len(steps) > 1 and _with_next(numbers) >= _WALKS)
    return walks


def _with_next(values: NDArray[np.float64]) -> float:
    """Correlation of numbers with those of the next rows; NaN where some are missing."""
    return float(np.corrcoef(values[1:], values[:-1])[0, 1]) if np.ptp(values) > 0.0 else 0.0


def _is_sorted(values: NDArray[np.float64]) -> bool:
    steps = np.diff(values)
    steps = steps[~np.isnan(steps) & (steps != 0.0)]
    return bool(len(steps)) and max((steps > 0).mean(), (steps < 0).mean()) > 0.98


def _in_blocks(values: NDArray[Any]) -> bool:
    """Whether nearly all rows with one value stand together."""
    n_levels = len(np.unique(values))
    return 1 < n_levels < len(values) / 2 and (np.diff(values) != 0).sum() < 1.5 * n_levels
