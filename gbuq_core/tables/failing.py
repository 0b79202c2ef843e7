"""Where a model fails: groups of rows, named by one to three conditions, that have large errors.

A shallow tree looks for the groups on one half of the held-out rows, and the other half says how
large their errors are, so that a group found by chance shows as one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gbuq_core.errors import InvalidData
from gbuq_core.metrics import binomial_band
from gbuq_core.presentation import number_between
from gbuq_core.tables.explaining import feature_groups
from gbuq_core.tables.intervals import own_misses
from gbuq_core.tables.judging import Groups, HeldOut, held_out
from gbuq_core.tables.scoring import ScoredTable
from gbuq_core.validation import check_choice, check_number

MEASURES = ("error", "misses", "knowledge")
FEWEST_ROWS = 100  # held-out rows: 50 look for groups, 50 judge them
_MOST_LEVELS = 20  # of a category that are conditions of their own
_DEPTH, _MOST_GROUPS = 3, 6
_LEAST_ROWS, _LEAST_SHARE = 15, 0.05  # of a group
_Z = 1.959964  # two-sided 95 %


class Condition(NamedTuple):
    """``column sign value``; an equality with an empty value means that the cell is missing."""

    column: str
    sign: str
    value: str

    @property
    def text(self) -> str:
        """As the box "Find rows" reads it."""
        return f"{_quoted(self.column)} {self.sign} {_quoted(self.value)}".rstrip()


class FailingGroup(NamedTuple):
    """A group of rows, judged on held-out rows that did not choose it.

    Attributes
    ----------
    conditions : tuple of Condition
        All of them hold.
    n_rows, share : int, float
        How many of the judging rows it has.
    error : float
        Root mean squared error in units of the target, or share of wrong classes.
    misses : float
        Share of rows outside their interval; NaN for classes.
    misses_band : (low, high)
        Exact 95 % band of it.
    knowledge : float
        Mean knowledge uncertainty: a variance of the target, or nats.
    gap, gap_error : float
        Mean of what was looked at (of errors of a regression, of their squares), minus that of the
        other rows, and its standard error.
    """

    conditions: tuple[Condition, ...]
    n_rows: int
    share: float
    error: float
    misses: float
    misses_band: tuple[float, float]
    knowledge: float
    gap: float
    gap_error: float

    @property
    def text(self) -> str:
        """The conditions as the box "Find rows" reads them."""
        return ", ".join(condition.text for condition in self.conditions)

    @property
    def is_worse(self) -> bool:
        """Whether the gap is above 0 beyond chance: by 1.96 standard errors."""
        return self.gap > _Z * self.gap_error

    @property
    def is_better(self) -> bool:
        """Whether the gap is below 0 beyond chance."""
        return self.gap < -_Z * self.gap_error


class Failures(NamedTuple):
    """The groups from the worst to the best, and the numbers of all judging rows together.

    They are in the order of the number that was asked for: `FailingGroup.error`, ``misses`` or
    ``knowledge``, which is ``measure``. ``everything`` is the group without conditions;
    ``n_looking`` rows chose the groups.
    """

    measure: str
    groups: tuple[FailingGroup, ...]
    everything: FailingGroup
    n_looking: int


def find_failures(scored: ScoredTable, measure: str = "error", seed: int = 0) -> Failures:
    r"""Groups of rows for which the model fails, found on half of the held-out rows.

    Parameters
    ----------
    scored : ScoredTable
        Beside a second file, the groups are those of the first file's held-out rows. Its own
        intervals count: of 90 %, or those of `with_intervals`.
    measure : {"error", "misses", "knowledge"}
        What is large in a group that fails: the error, the share of rows outside their interval
        (of regressions), or knowledge uncertainty.
    seed : int
        Of the halves.

    Raises
    ------
    InvalidData
        If fewer than 100 rows were held out, or classes are asked for intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from gbuq_core.tables import ScorePlan, find_failures, read_table, score_table
    >>> rng = np.random.default_rng(0)
    >>> x, shop = rng.uniform(0, 1, 400), rng.choice(["north", "south"], 400)
    >>> noise = rng.normal(0, np.where(shop == "south", 2.0, 0.1))
    >>> rows = zip(x.round(3), shop, (x + noise).round(3), strict=True)
    >>> text = "x,shop,y\n" + "\n".join(",".join(map(str, row)) for row in rows)
    >>> scored = score_table(read_table(text.encode()), "y",
    ...                      plan=ScorePlan(method="sglb", n_trees=50))
    >>> find_failures(scored).groups[0].conditions[0].text
    'shop = south'
    """
    from sklearn.tree import DecisionTreeRegressor

    check_choice("measure", measure, MEASURES)
    check_number("seed", seed, 0, 2**31 - 1, integer=True)
    if measure == "misses" and scored.training.target.classes:
        raise InvalidData("A predicted class has no interval: look at errors or at knowledge.")
    held = held_out(scored)
    n_rows = len(held.rows)
    if n_rows < FEWEST_ROWS:
        raise InvalidData(
            f"{n_rows} rows with a target were held out. To look for groups and to judge them "
            f"takes {FEWEST_ROWS}."
        )
    every = _Numbers.of(scored, held)
    looked_at: NDArray[np.float64] = getattr(every, measure)
    if measure == "knowledge" and np.isnan(looked_at).any():
        raise InvalidData("This model tells no knowledge uncertainty: look for groups by errors.")
    counted_as = np.square(looked_at) if measure == "error" and every.is_regression else looked_at
    looking, judging = np.split(np.random.default_rng(seed).permutation(n_rows), [n_rows // 2])
    X = scored.training.X.iloc[held.rows]
    questions = _questions(X.iloc[looking], feature_groups(scored.training))
    groups: list[FailingGroup] = []
    if questions.names:
        tree = DecisionTreeRegressor(
            max_depth=_DEPTH,
            max_leaf_nodes=_MOST_GROUPS,
            min_samples_leaf=max(_LEAST_ROWS, math.ceil(_LEAST_SHARE * len(looking))),
            random_state=seed,
        )
        tree.fit(questions.values, looked_at[looking])
        for conditions in _leaves(tree.tree_, questions):
            group = _judge(X, conditions, judging, every, counted_as)
            if group is not None:
                groups.append(group)
    everything = _judge(X, (), judging, every, counted_as)
    assert everything is not None  # there are at least 50 judging rows
    groups.sort(key=lambda group: -getattr(group, measure))
    several = tuple(groups) if len(groups) > 1 else ()
    return Failures(measure, several, everything, len(looking))


def failing_groups(scored: ScoredTable, failures: Failures) -> Groups:
    """All rows of the first file by the groups that were found, for the learning curve by group.

    Rows in none, whose cell is missing where a condition asks for a number, are a group of their
    own at the end.

    Parameters
    ----------
    scored : ScoredTable
    found : Failures
        Of the same table.
    """
    X = scored.training.X
    codes = np.full(len(X), -1, np.int64)
    for number in range(len(failures.groups))[::-1]:
        codes[_holds(X, failures.groups[number].conditions)] = number
    names = tuple(group.text for group in failures.groups)
    if (codes >= 0).all():
        return Groups(codes, names)
    return Groups(np.where(codes < 0, len(names), codes), (*names, "other rows"))


class _Numbers(NamedTuple):
    """Of every held-out row: absolute error or wrong class, outside its interval, knowledge."""

    error: NDArray[np.float64]
    misses: NDArray[np.float64]
    knowledge: NDArray[np.float64]
    is_regression: bool

    @staticmethod
    def of(scored: ScoredTable, held: HeldOut) -> _Numbers:
        knowledge = np.asarray(held.predictions.uncertainty.knowledge)
        return _Numbers(held.errors, own_misses(scored, held), knowledge, not held.classes)


class _Questions(NamedTuple):
    """What the tree may ask about a row."""

    names: list[tuple[str, str | None]]  # a column, with a category or "" for missing
    values: NDArray[np.float64]  # (n_rows, n_questions)
    other: dict[tuple[str, str], str]  # what not to be one of two means


def _questions(X: pd.DataFrame, groups: dict[str, list[str]]) -> _Questions:
    """Numbers as they are, the most frequent categories one by one; no dates."""
    names: list[tuple[str, str | None]] = []
    parts: list[NDArray[np.float64]] = []
    other: dict[tuple[str, str], str] = {}
    for column, features in groups.items():
        if len(features) > 1 or features[0] != column:
            continue  # a date: its parts are not cells of the table
        cells = X[column]
        missing = cells.isna().to_numpy()
        if missing.any():
            names.append((column, ""))
            parts.append(missing.astype(np.float64))
        if isinstance(cells.dtype, pd.CategoricalDtype):
            counts = cells.value_counts()
            levels = [str(level) for level in counts.index[counts > 0]]
            if len(levels) == 2 and not missing.any():
                other |= {(column, levels[k]): levels[1 - k] for k in (0, 1)}
            for level in counts.index[counts > 0][:_MOST_LEVELS]:
                names.append((column, str(level)))
                parts.append((cells == level).to_numpy(bool, na_value=False).astype(np.float64))
            continue
        numbers = cells.to_numpy(np.float64)
        if np.isnan(numbers).all():
            continue
        # A missing cell is on no side of a limit; it is kept out of the conditions' groups below.
        parts.append(np.where(missing, np.nanmedian(numbers), numbers))
        names.append((column, None))
    values = np.column_stack(parts) if parts else np.empty((len(X), 0))
    return _Questions(names, values, other)


def _leaves(tree: object, questions: _Questions) -> list[tuple[Condition, ...]]:
    """The conditions of each leaf, without those that another one implies."""
    left, right = tree.children_left, tree.children_right  # type: ignore[attr-defined]
    feature, threshold = tree.feature, tree.threshold  # type: ignore[attr-defined]
    leaves: list[tuple[Condition, ...]] = []

    def walk(node: int, path: tuple[Condition, ...]) -> None:
        if left[node] < 0:
            leaves.append(_shortest(path))
            return
        column, level = questions.names[feature[node]]
        if level is None:
            values = questions.values[:, feature[node]]
            below = values[values <= threshold[node]].max()
            above = values[values > threshold[node]].min()
            limit = _plain(number_between(float(below), float(above), ends=True))
            sides = (Condition(column, "<=", limit), Condition(column, ">", limit))
        else:
            otherwise = questions.other.get((column, level))
            is_not = Condition(column, "=", otherwise) if otherwise else None
            sides = (is_not or Condition(column, "!=", level), Condition(column, "=", level))
        walk(left[node], (*path, sides[0]))
        walk(right[node], (*path, sides[1]))

    walk(0, ())
    return [conditions for conditions in leaves if conditions]


def _shortest(path: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """A path's closest conditions; beside an equality, no other condition on that column."""
    equal = {condition.column for condition in path if condition.sign == "="}
    kept: dict[tuple[str, ...], Condition] = {}
    for condition in path:
        column, sign, value = condition
        if column in equal and sign != "=":
            continue
        kept[(column, sign, value) if sign in ("=", "!=") else (column, sign)] = condition
    return tuple(kept.values())


def _holds(X: pd.DataFrame, conditions: tuple[Condition, ...]) -> NDArray[np.bool_]:
    """Which rows meet all conditions."""
    keep = np.ones(len(X), bool)
    for column, sign, value in conditions:
        cells = X[column]
        if sign in ("<=", ">"):
            numbers, limit = cells.to_numpy(np.float64), float(value)
            with np.errstate(invalid="ignore"):
                keep &= numbers <= limit if sign == "<=" else numbers > limit
            continue
        same = cells.isna().to_numpy()
        if value:
            same = (cells.astype("str") == value).to_numpy(bool, na_value=False) & ~same
        keep &= same if sign == "=" else ~same
    return keep


def _judge(
    X: pd.DataFrame,
    conditions: tuple[Condition, ...],
    judging: NDArray[np.int64],
    every: _Numbers,
    counted_as: NDArray[np.float64],
) -> FailingGroup | None:
    inside = _holds(X, conditions)[judging]
    mine, others = judging[inside], judging[~inside]
    if len(mine) < 2:
        return None
    error = every.error[mine]
    if every.is_regression:
        error = np.square(error)
    misses, band = math.nan, (math.nan, math.nan)
    if not np.isnan(every.misses[mine]).any():
        misses = float(every.misses[mine].mean())
        low, high = binomial_band(int(every.misses[mine].sum()), len(mine))
        band = (float(low), float(high))
    gap, gap_error = 0.0, math.inf
    if len(others) > 1:
        gap = float(counted_as[mine].mean() - counted_as[others].mean())
        parts = (counted_as[rows].var(ddof=1) / len(rows) for rows in (mine, others))
        gap_error = math.sqrt(sum(parts))
    mean = float(error.mean())
    return FailingGroup(
        conditions,
        len(mine),
        len(mine) / len(judging),
        math.sqrt(mean) if every.is_regression else mean,
        misses,
        band,
        float(every.knowledge[mine].mean()),
        gap,
        gap_error,
    )


def _plain(value: float) -> str:
    return repr(value).removesuffix(".0")


def _quoted(text: str) -> str:
    """In quotation marks where the box "Find rows" would read signs or words in it."""
    plain = text == "" or (
        not any(sign in text for sign in ',<>=!"') and " and " not in text and text == text.strip()
    )
    return text if plain else f'"{text}"'
