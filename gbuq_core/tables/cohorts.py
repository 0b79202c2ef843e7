"""Named groups of rows, compared on held-out rows: error, likelihood, coverage, unfamiliarity.

A cohort is a name and a condition as the box "Find rows" of the page "Your data" reads it
(`gbuq_core.tables.finding`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gbuq_core.errors import InvalidData
from gbuq_core.metrics import wilson_band
from gbuq_core.tables.files import Table
from gbuq_core.tables.finding import find_rows, names_marks
from gbuq_core.tables.intervals import own_misses
from gbuq_core.tables.judging import HeldOut, held_out
from gbuq_core.tables.output import plain_columns
from gbuq_core.tables.scoring import ScoredTable
from gbuq_core.validation import check_choice

MOST_COHORTS, LONGEST_NAME, LONGEST_CONDITION = 8, 40, 200
_UNITS = ("variance", "std")
_Z = 1.959964  # two-sided 95 %
# As a link holds them: name=condition, with bars between them; % and | of a condition are escaped.
_ONE = rf"[^=|\x00-\x1f]{{1,{LONGEST_NAME}}}=[^|\x00-\x1f]{{1,{3 * LONGEST_CONDITION}}}"
COHORTS_PATTERN = rf"(?:{_ONE}(?:\|{_ONE}){{0,{MOST_COHORTS - 1}}})?"
MOST_CHARACTERS = MOST_COHORTS * (LONGEST_NAME + 3 * LONGEST_CONDITION + 2)


class Gap(NamedTuple):
    """A mean over a cohort minus that over the other held-out rows, and its standard error."""

    value: float
    error: float

    @property
    def told_apart(self) -> bool:
        """Whether it differs from 0 by more than 1.96 standard errors."""
        return bool(abs(self.value) > _Z * self.error)


class Gaps(NamedTuple):
    """How a cohort differs from the other held-out rows; NaN where something does not apply."""

    error: Gap  # of absolute errors, or wrong classes
    nll: Gap
    coverage: Gap  # of the share inside
    knowledge: Gap
    unfamiliarity: Gap


class CohortScores(NamedTuple):
    """The scores of a named group of held-out rows.

    Attributes
    ----------
    name, condition : str
    n_rows, share : int, float
        Of the held-out rows.
    error : float
        Root mean squared error in units of the target, or share of wrong classes.
    nll : float
        Nats.
    coverage : float
        Share of rows inside their interval; NaN for classes.
    coverage_band : (low, high)
        Wilson's 95 % band of it.
    knowledge : float
        Mean knowledge uncertainty: a variance of the target, or nats.
    unfamiliarity : float
        Mean; NaN where it was not measured.
    gaps : Gaps
        Differences from the other held-out rows.
    """

    name: str
    condition: str
    n_rows: int
    share: float
    error: float
    nll: float
    coverage: float
    coverage_band: tuple[float, float]
    knowledge: float
    unfamiliarity: float
    gaps: Gaps


class CohortComparison(NamedTuple):
    """The cohorts in the order given, and all held-out rows together."""

    cohorts: tuple[CohortScores, ...]
    everything: CohortScores


def compare_cohorts(
    scored: ScoredTable,
    cohorts: Mapping[str, str],
    *,
    table: Table | None = None,
    unit: str = "variance",
) -> CohortComparison:
    r"""Compare named groups of rows side by side, on rows that their model did not learn from.

    A group that `find_failures` found was chosen on half of these rows: its difference from the
    others looks larger here than it is.

    Parameters
    ----------
    scored : ScoredTable
        Beside a second file, the rows are the held-out ones of the first file. Its own intervals
        count: of 90 %, or those of `with_intervals`.
    cohorts : mapping of str to str
        Conditions by name, such as ``{"old": "age > 60, shop = south"}``. They may use the table's
        columns, total, data, knowledge, error, prediction, and unfamiliarity and times_beyond
        where these were measured.
    table : Table, optional
        The first file, beside a second one: without it, conditions can only use the model's
        columns and the target.
    unit : {"variance", "std"}
        Of the uncertainties that conditions of a regression name.

    Raises
    ------
    InvalidData
        One sentence, for a condition that cannot be read; it begins with the cohort's name.

    Examples
    --------
    >>> from gbuq_core.tables import ScorePlan, compare_cohorts, read_table, score_table
    >>> rng = np.random.default_rng(0)
    >>> x, shop = rng.uniform(0, 1, 300), rng.choice(["north", "south"], 300)
    >>> noise = rng.normal(0, np.where(shop == "south", 2.0, 0.1))
    >>> rows = zip(x.round(3), shop, (x + noise).round(3), strict=True)
    >>> text = "x,shop,y\n" + "\n".join(",".join(map(str, row)) for row in rows)
    >>> scored = score_table(read_table(text.encode()), "y",
    ...                      plan=ScorePlan(method="sglb", n_trees=50))
    >>> compared = compare_cohorts(scored, {"southern": "shop = south", "low": "x < 0.5"})
    >>> [(cohort.name, cohort.gaps.error.told_apart) for cohort in compared.cohorts]
    [('southern', True), ('low', False)]
    """
    check_choice("unit", unit, _UNITS)
    held = held_out(scored)
    numbers = _Numbers.of(scored, held)
    rows = _Rows.of(scored, held, table, unit)
    scores = [_judge(name, text, numbers, rows.meet(name, text)) for name, text in cohorts.items()]
    everything = _judge("all held-out rows", "", numbers, np.ones(len(held.rows), bool))
    return CohortComparison(tuple(scores), everything)


def cohort_rows(
    scored: ScoredTable,
    cohorts: Mapping[str, str],
    *,
    table: Table | None = None,
    unit: str = "variance",
) -> NDArray[np.bool_]:
    r"""Which rows of the first file are in each named group, for `LearningCurve.by`.

    Conditions on columns hold for any row. Conditions on uncertainties, errors, predictions and
    unfamiliarity hold for held-out rows only: other rows have none from a model that had not seen
    them. A row may be in several groups.

    Parameters
    ----------
    scored, cohorts, table, unit
        As of `compare_cohorts`.

    Returns
    -------
    ndarray of shape (n_rows, n_cohorts), bool

    Raises
    ------
    InvalidData
        One sentence, for a condition that cannot be read; it begins with the cohort's name.

    Examples
    --------
    >>> from gbuq_core.tables import ScorePlan, read_table, score_table
    >>> rows = "\n".join(f"{i % 7},{i % 7 + 0.1 * (i % 3)}" for i in range(60))
    >>> scored = score_table(
    ...     read_table(f"x,y\n{rows}\n".encode()), "y", plan=ScorePlan(method="sglb", n_trees=20)
    ... )
    >>> cohort_rows(scored, {"low": "x < 2", "zero": "x = 0"}).sum(axis=0).tolist()
    [18, 9]
    """
    check_choice("unit", unit, _UNITS)
    held = held_out(scored)
    rows, cells = _Rows.of(scored, held, table, unit), _cells(scored, table)
    members = np.zeros((len(scored.training.X), len(cohorts)), np.bool_)
    for number, (name, text) in enumerate(cohorts.items()):
        inside = rows.meet(name, text)
        try:
            members[:, number] = find_rows(text, cells, {}, rows.marks)
        except InvalidData:  # it names a measure
            members[held.rows[inside], number] = True
    return members


def check_cohorts(
    scored: ScoredTable,
    cohorts: Mapping[str, str],
    *,
    table: Table | None = None,
    unit: str = "variance",
) -> dict[str, str]:
    """Sentences about the conditions that cannot be read, by the cohort's name."""
    rows = _Rows.of(scored, held_out(scored), table, unit)
    problems: dict[str, str] = {}
    for name, text in cohorts.items():
        try:
            rows.meet(name, text)
        except InvalidData as error:
            problems[name] = str(error)
    return problems


def name_problem(name: str) -> str:
    """What is wrong with a cohort's name, in one sentence; empty if nothing is."""
    fits = re.fullmatch(rf"[^=|\x00-\x1f]{{1,{LONGEST_NAME}}}", name) and name == name.strip()
    return "" if fits else f"A name has 1 to {LONGEST_NAME} characters, and none of them is = or |."


def write_cohorts(cohorts: Mapping[str, str]) -> str:
    """Names and conditions as a link holds them.

    Examples
    --------
    >>> write_cohorts({"old": "age > 60", "odd": "code = a|b"})
    'old=age > 60|odd=code = a%7Cb'
    """
    return "|".join(f"{name}={_escaped(text)}" for name, text in cohorts.items())


def read_cohorts(text: str) -> dict[str, str]:
    """The names and conditions that `write_cohorts` wrote.

    Examples
    --------
    >>> read_cohorts("old=age > 60|odd=code = a%7Cb")
    {'old': 'age > 60', 'odd': 'code = a|b'}
    """
    pairs = [part.partition("=") for part in text.split("|") if part]
    return {
        name.strip(): condition.replace("%7C", "|").replace("%25", "%")[:LONGEST_CONDITION]
        for name, _, condition in pairs
    }


class _Numbers(NamedTuple):
    """Of every held-out row: absolute error or wrong class, NLL, inside, knowledge, unfamiliar."""

    error: NDArray[np.float64]
    nll: NDArray[np.float64]
    coverage: NDArray[np.float64]
    knowledge: NDArray[np.float64]
    unfamiliarity: NDArray[np.float64]
    is_regression: bool

    @staticmethod
    def of(scored: ScoredTable, held: HeldOut) -> _Numbers:
        n = len(held.rows)
        familiarity = _familiarity(scored, held)
        return _Numbers(
            held.errors,
            held.predictions.nll,
            1.0 - own_misses(scored, held),
            np.asarray(held.predictions.uncertainty.knowledge),
            familiarity.get("unfamiliarity", np.full(n, np.nan)),
            not held.classes,
        )


class _Rows(NamedTuple):
    """What conditions are about: cells as in the file, and measures, of the held-out rows."""

    cells: pd.DataFrame
    measures: dict[str, NDArray[np.float64]]
    marks: dict[str, str]  # of the decimals of columns of text

    @staticmethod
    def of(scored: ScoredTable, held: HeldOut, table: Table | None, unit: str) -> _Rows:
        parts = held.predictions.uncertainty
        is_std = unit == "std" and not held.classes
        named = zip(("total", "data", "knowledge"), parts, strict=True)
        measures = {name: np.sqrt(part) if is_std else part for name, part in named}
        measures["error"] = held.errors
        prediction = held.predictions.loc
        if held.classes:
            prediction = np.asarray(held.classes, object)[prediction.astype(np.int64)]
        measures["prediction"] = prediction
        cells = _cells(scored, table).iloc[held.rows].reset_index(drop=True)
        marks = scored.training.schema.marks
        return _Rows(cells, measures | _familiarity(scored, held), marks)

    def meet(self, name: str, condition: str) -> NDArray[np.bool_]:
        """Which rows meet a cohort's condition."""
        if names_marks(condition):
            raise InvalidData(f"{name}: marks of reviewed rows cannot name a cohort.")
        try:
            return find_rows(condition, self.cells, self.measures, self.marks)
        except InvalidData as error:
            raise InvalidData(f"{name}: {error}") from None


def _cells(scored: ScoredTable, table: Table | None) -> pd.DataFrame:
    """The first file's cells."""
    if scored.protocol != "new_file":
        return scored.frame.drop(columns=list(scored.added.names))
    if table is not None:
        return pd.DataFrame(plain_columns(table, scored.training.schema), copy=False)
    training = scored.training
    target = training.y
    if training.target.classes:
        labels = np.array([*training.target.classes, None], object)
        target = labels[np.where(training.known, training.y, -1).astype(np.int64)]
    return training.X.assign(**{training.target.name: target})


def _familiarity(scored: ScoredTable, held: HeldOut) -> dict[str, NDArray[np.float64]]:
    unfamiliarity = scored.unfamiliarity
    if unfamiliarity is None:
        return {}
    place = (np.cumsum(scored.training.known) - 1)[held.rows]  # among the rows with a target
    own = unfamiliarity.estimator.held_out_
    return {"unfamiliarity": own.score[place], "times_beyond": own.times_beyond[place]}


def _judge(name: str, condition: str, numbers: _Numbers, inside: NDArray[np.bool_]) -> CohortScores:
    n_rows = int(inside.sum())

    def mean(values: NDArray[np.float64]) -> float:
        return float(values[inside].mean()) if n_rows else np.nan

    error = mean(numbers.error)
    if numbers.is_regression:
        error = float(np.sqrt(mean(np.square(numbers.error))))
    covered, band = mean(numbers.coverage), (np.nan, np.nan)
    if n_rows and not np.isnan(covered):
        low, high = wilson_band(int(numbers.coverage[inside].sum()), n_rows)
        band = (float(low), float(high))
    gaps = Gaps(*(_gap(getattr(numbers, field), inside) for field in Gaps._fields))
    return CohortScores(
        name, condition, n_rows, n_rows / max(len(inside), 1), error, mean(numbers.nll), covered,
        band, mean(numbers.knowledge), mean(numbers.unfamiliarity), gaps,
    )  # fmt: skip


def _gap(values: NDArray[np.float64], inside: NDArray[np.bool_]) -> Gap:
    mine, others = values[inside], values[~inside]
    if min(len(mine), len(others)) < 2 or np.isnan(values).any():
        return Gap(np.nan, np.nan)
    error = np.sqrt(mine.var(ddof=1) / len(mine) + others.var(ddof=1) / len(others))
    return Gap(float(mine.mean() - others.mean()), float(error))


def _escaped(condition: str) -> str:
    return condition.replace("%", "%25").replace("|", "%7C")
