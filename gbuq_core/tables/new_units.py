"""What a second file answers by itself: its rows are of units that the first file does not have.

A column such as a country or a machine repeats in the first file, and nearly all rows of the second
have a value of it that no model has seen. Rows dealt at random then say nothing about the second
file: the model knows the unit of each held-out row. So units stay together, and columns that only
name what is new are not learnt from.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from gbuq_core.presentation import columns_named, listed, percent, shown
from gbuq_core.tables.cleaning import Prepared, names_like, prepare_new, prepare_training
from gbuq_core.tables.columns import (
    Column,
    as_categories,
    as_numbers,
    finite_values,
    single_chunk,
)
from gbuq_core.tables.files import Table
from gbuq_core.tables.plan import ScorePlan
from gbuq_core.tables.schema import Schema
from gbuq_core.tables.splitting import is_named_id, is_named_time, parts_of_time

_NEARLY_ALL = 0.9  # of the second file's rows
_REPEATS = 0.5  # distinct values by rows, at most
_BY_CHANCE = 0.01
_FEWEST_UNITS = 5  # that say how much units differ
_WITHIN = 0.5  # of the rows, between the ends of the first file's
_DENSE = 5.0  # whole numbers between the ends for each one that is there: these are codes


class NewUnits(NamedTuple):
    """How a table is learnt from beside a second file of other units.

    Attributes
    ----------
    plan : ScorePlan
        With the split by the units, where it was at random.
    schema : Schema
        Without the columns that only name what is new.
    notices : tuple of str
        What was decided, and how to change it; empty where nothing was.
    """

    plan: ScorePlan
    schema: Schema
    notices: tuple[str, ...]

    def prepare(
        self, table: Table, target: str, task: str | None, new: Table | None
    ) -> tuple[Prepared, Prepared]:
        """Both files as they are learnt from and scored; without a second one, the first twice."""
        split, column = self.plan.split, self.plan.split_column
        training = prepare_training(table, self.schema, target, task, split, column)
        training = training._replace(notices=(*self.notices, *training.notices))
        return training, training if new is None else prepare_new(new, training)


def find_new_units(
    table: Table, schema: Schema, target: str, new: Table | None, plan: ScorePlan
) -> NewUnits:
    r"""How to learn from a table where nearly all rows of a second file are of unseen units.

    A column that the user has chosen to use, or to leave out, stays as it is. Where fewer than five
    units say how much units differ, nothing is decided: the rows are unlike the first file's.

    Parameters
    ----------
    table, schema : Table, Schema
        The first file.
    target : str
    new : Table or None
        The second file.
    plan : ScorePlan

    Examples
    --------
    >>> from gbuq_core.tables import infer_schema, read_table
    >>> def make(names):
    ...     lines = "".join(f"{name},{k},{k % 7}\n" for name in names for k in range(9))
    ...     return read_table(f"land,x,y\n{lines}".encode())
    >>> first, second = make("ABCDEFGH"), make("XYZ")
    >>> units = find_new_units(first, infer_schema(first), "y", second, ScorePlan())
    >>> units.plan.split, units.plan.split_column
    ('group', 'land')
    """
    nothing = NewUnits(plan, schema, ())
    if new is None:
        return nothing
    names, _ = names_like(new.names, [column.name for column in schema.columns])
    new = new._replace(data=new.data.rename_columns(names))
    times = parts_of_time(schema, target)
    found = {
        column.name: counts
        for column in schema.columns
        if column.name in names and column.name not in (target, *times)
        if (counts := _count_units(table, column, new))
    }
    # The coarsest column that says how much units differ: what is inside a new unit is new as well.
    enough = [name for name, (n_known, _) in found.items() if n_known >= _FEWEST_UNITS]
    split = min(enough, key=found.__getitem__) if enough and plan.split == "random" else ""
    left = [name for name in found if name not in (split, plan.split_column)]
    left = [name for name in left if schema.column(name).used]
    if not split and (not left or plan.split == "random"):
        return nothing  # too few units say nothing of another: its rows are unlike the first file's
    columns = tuple(
        replace(column, used=False) if column.name in left else column for column in schema.columns
    )
    notices = []
    if split:
        plan = replace(plan, split="group", split_column=split)
        held = (
            " They are also right or wrong together: 90 % intervals may hold as few as "
            f"{percent(_fewest_held(*found[split]), 0)} of the second file's rows."
        )
        held = held if schema.column(target).kind == "numeric" else ""
        notices.append(
            f"At least {percent(_NEARLY_ALL, 0)} of the second file's rows have a value of "
            f"{shown(split)} that the first file does not have. So the rows of one such value stay "
            f"together: the scores and the widths of intervals are those for new ones.{held} To "
            "deal the rows at random, leave the column out yourself "
            f"(--drop {shown(split)}), or insist on it (--use {shown(split)})."
        )
    if left:
        notices.append(
            f"{columns_named(left)} of the first file {'have' if len(left) > 1 else 'has'} hardly "
            f"any value that is in the second, and {'are' if len(left) > 1 else 'is'} not learnt "
            f"from. To learn from {'them' if len(left) > 1 else 'it'}, choose to use "
            f"{'them' if len(left) > 1 else 'it'} (--use {listed(left)})."
        )
    return NewUnits(plan, schema._replace(columns=columns), tuple(notices))


def not_fitted_anew(table: Table, schema: Schema, target: str, new: Table, plan: ScorePlan) -> str:
    """What a saved model cannot do for rows of new units, in one sentence; empty if none are."""
    column = find_new_units(table, schema, target, new, plan).plan.split_column
    if column == plan.split_column:
        return ""
    return (
        f"At least {percent(_NEARLY_ALL, 0)} of the rows have a value of {shown(column)} that the "
        "model's table does not have. A saved model is not fitted anew, so its intervals "
        f"are too narrow for them: fit with --split group --split-column {shown(column)}."
    )


def _fewest_held(n_known: int, n_new: int) -> float:
    """The least share of new units that intervals of 90 % hold in 39 of 40 second files.

    Units that are exchangeable with those that say how wide 90 % is follow a beta-binomial law.
    """
    from scipy.stats import betabinom  # slow to import

    return float(betabinom(n_new, 0.9 * (n_known + 1), 0.1 * (n_known + 1)).ppf(0.025) / n_new)


def _count_units(table: Table, column: Column, new: Table) -> tuple[int, int] | None:
    """How many units a column names in both files if those of the second are new; else None."""
    is_number, n_known = column.kind == "numeric", table.n_rows - column.n_missing
    possible = column.kind in ("category", "identifier", "text", "numeric") and not column.chosen
    if not possible or not 1 < column.n_distinct <= _REPEATS * n_known or is_named_time(column):
        return None
    arrays = [single_chunk(each.data, column.name) for each in (table, new)]
    if is_number:
        first, second = (finite_values(as_numbers(array, column)) for array in arrays)
        first, second = first[~np.isnan(first)], second[~np.isnan(second)]
        if not len(second) or not _are_codes(column, first, second):
            return None
        known, count = np.unique(first, return_counts=True)
        n_new = len(np.unique(second))
        unseen = ~np.isin(second, known)
    else:
        cells = [as_categories(array, column) for array in arrays]
        codes = cells[0].codes[cells[0].codes >= 0]
        count = np.bincount(codes, minlength=len(cells[0].categories))
        new_codes = cells[1].codes[cells[1].codes >= 0]
        n_new = len(np.unique(new_codes))
        unseen = ~cells[1].categories.isin(cells[0].categories)[new_codes]
    # As many rows of an unseen value are usual as there are rows of a value that occurs once.
    usual = float((count == 1).sum() / max(1, count.sum()))
    is_new = 2 * len(unseen) >= new.n_rows and unseen.mean() >= _NEARLY_ALL
    return (len(count), n_new) if is_new and usual ** len(unseen) < _BY_CHANCE else None


def _are_codes(column: Column, first: np.ndarray, second: np.ndarray) -> bool:
    """Whether numbers name units: by their name, or other whole numbers mostly between the ends.

    Of units dealt at random some are beyond the ends; what grows is beyond them nearly always.
    """
    both = np.concatenate([first, second])
    if (both != np.round(both)).any():
        return False
    within = np.mean((first.min() < second) & (second < first.max()))
    dense = np.ptp(both) < _DENSE * len(np.unique(both))
    return is_named_id(column) or bool(dense and within >= _WITHIN)
