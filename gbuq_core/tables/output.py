"""The table that is written: the columns of the file, and those that scoring adds.

The page, the command line and Python get the same columns in the same order from here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gbuq_core.distribution import Interval
from gbuq_core.presentation import columns_named, counted, listed
from gbuq_core.tables.cleaning import Prepared
from gbuq_core.tables.columns import plain_column, single_chunk
from gbuq_core.tables.decimal_marks import FileMark
from gbuq_core.tables.files import Table, free_name
from gbuq_core.tables.plan import USUAL_LEVEL
from gbuq_core.tables.predicting import Predictions, interval_of, predicted_values, row_errors
from gbuq_core.tables.schema import Schema

if TYPE_CHECKING:
    from gbuq_core.tables.unfamiliar import TableUnfamiliarity

NUMBER_UNIT = "1 is the first row below the header"
_KINDS = ("total", "data", "knowledge")
_END = re.compile(r"(lower|upper)_\d+(\.\d+)?")

ADDED_NAMES = (
    "prediction",
    "lower_90",
    "upper_90",
    "total_uncertainty",
    "data_uncertainty",
    "knowledge_uncertainty",
    "total_uncertainty_std",
    "data_uncertainty_std",
    "knowledge_uncertainty_std",
    "unfamiliarity",
    "times_beyond",
    "novelty",
    "outside_columns",
    "error",
    "fold",
    "in_training",
    "unseen_level",
    "new_missing",
    "row_in_file",
)


class AddedColumns(NamedTuple):
    """Names of the added columns, in their order, and what they hold.

    Attributes
    ----------
    names : tuple of str
        As far as they apply, in this order:

        - ``prediction``, the mean in units of the target, or a class
        - ``lower_90`` and ``upper_90``, the ends of an interval, named after its level; infinite
          ends of conformal intervals are written ``-inf`` and ``inf``
        - ``total_uncertainty``, ``data_uncertainty`` and ``knowledge_uncertainty``: variances of
          the target, or nats; knowledge is empty where a method has nothing that can disagree
        - the same with ``_std``: the square roots, of a regression
        - ``unfamiliarity`` (0 to 1), ``times_beyond``, ``novelty`` (MACAU's, one part of the
          unfamiliarity) and ``outside_columns``: the columns whose value is outside what the rows
          that it was compared with hold, with ``; `` between them
        - ``p_`` and a class: the probability of each class
        - ``error``: absolute, or 1 for a wrong class; empty where the target is not known
        - ``fold``, ``in_training``, ``unseen_level``, ``new_missing``
        - ``row_in_file``, the number of each row in its file, where some rows were left out
    units : tuple of str
        The unit of each, or an empty string.
    renamed : tuple of (str, str)
        Columns of the input that had one of these names, and what they are called instead.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    renamed: tuple[tuple[str, str], ...]


def interval_names(level: float) -> tuple[str, str]:
    """What the ends of intervals of a level are called.

    Examples
    --------
    >>> interval_names(0.9), interval_names(0.975)
    (('lower_90', 'upper_90'), ('lower_97.5', 'upper_97.5'))
    """
    percent = f"{100.0 * level:g}"
    return f"lower_{percent}", f"upper_{percent}"


def assemble_output(
    table: Table,
    scored: Prepared,
    predictions: Predictions,
    fold: NDArray[np.int64] | None,
    in_training: NDArray[np.bool_] | None,
) -> tuple[pd.DataFrame, AddedColumns, list[str]]:
    """The output table, its added columns, and a notice if input columns had to be renamed."""
    names, notices = _input_names(table.names, scored.target.classes)
    own = dict(zip(names, plain_columns(table, scored.schema).values(), strict=True))
    protocol: dict[str, Any] = {}
    if fold is not None:
        protocol["fold"] = pd.Series(fold, dtype="Int64").mask(fold == 0)
    if in_training is not None:
        protocol["in_training"] = in_training
    interval = None if scored.target.classes else interval_of(predictions, USUAL_LEVEL)
    added = added_columns(scored, predictions, interval, protocol)
    renamed = tuple((old, new) for old, new in zip(table.names, names, strict=True) if old != new)
    return *join_columns(own, added, renamed), notices


def plain_columns(table: Table, schema: Schema) -> dict[str, pd.Series]:
    """The columns of a table as they are exported; of a second file, by the first one's schema."""
    marks = known_marks(table.names, table.source.mark, schema)
    return {
        name: plain_column(single_chunk(table.data, position), marks[name])
        for position, name in enumerate(table.names)
    }


def known_marks(names: Sequence[str], of_file: FileMark, schema: Schema) -> dict[str, str]:
    """The decimal mark of each column: a given one, else the schema's, else the file's."""
    known = {} if of_file.basis == "given" else schema.marks
    return {name: known.get(name, of_file.decimal) for name in names}


def added_columns(
    scored: Prepared,
    predictions: Predictions,
    interval: Interval | None,
    protocol: dict[str, Any],
    level: float = USUAL_LEVEL,
    unfamiliarity: TableUnfamiliarity | None = None,
) -> dict[str, tuple[Any, str]]:
    """The values and the unit of each added column, in their order."""
    target = scored.target
    units = "" if target.classes else f"units of {target.name}"
    squared = "nats" if target.classes else f"variance, squared units of {target.name}"
    values = predicted_values(predictions, target)
    added: dict[str, tuple[Any, str]] = {"prediction": (values, units)}
    if interval is not None:
        for name, end in zip(interval_names(level), interval, strict=True):
            added[name] = (end, units)
    parts = [(f"{kind}_uncertainty", getattr(predictions.uncertainty, kind)) for kind in _KINDS]
    added |= {name: (part, squared) for name, part in parts}
    if not target.classes:
        added |= {f"{name}_std": (np.sqrt(part), f"std, {units}") for name, part in parts}
    if unfamiliarity is not None:
        added |= _unfamiliar(unfamiliarity)
    for code, name in enumerate(target.classes):
        added[f"p_{name}"] = (predictions.probabilities[:, code], "probability")
    errors = row_errors(scored, predictions)
    if not np.isnan(errors).all():
        added["error"] = (errors, "1 if wrong" if target.classes else f"absolute, {units}")
    added |= {name: (column, "") for name, column in protocol.items()}
    added["unseen_level"] = (predictions.unseen_level, "")
    added["new_missing"] = (predictions.new_missing, "")
    numbers = scored.row_numbers
    if len(numbers) and numbers[-1] != len(numbers):
        added["row_in_file"] = (numbers, NUMBER_UNIT)
    return added


def join_columns(
    own: dict[str, pd.Series],
    added: dict[str, tuple[Any, str]],
    renamed: tuple[tuple[str, str], ...],
) -> tuple[pd.DataFrame, AddedColumns]:
    """The table of the input's columns and the added ones, and what was added."""
    frame = pd.DataFrame(own | {name: values for name, (values, _) in added.items()}, copy=False)
    units = tuple(unit for _, unit in added.values())
    return frame, AddedColumns(tuple(added), units, renamed)


def _unfamiliar(measured: TableUnfamiliarity) -> dict[str, tuple[Any, str]]:
    """How unfamiliar each row is, by which part, and where."""
    columns = {
        "unfamiliarity": (measured.rows.score, "0 to 1, even on ordinary rows"),
        "times_beyond": (measured.rows.times_beyond, "times the farthest ordinary row"),
    }
    if "novelty" in measured.rows.parts:
        at = measured.rows.parts.index("novelty")
        columns["novelty"] = (measured.rows.values[:, at], "mean z-score over the trees")
    outside = pd.array(["; ".join(names) for names in measured.outside_columns], dtype="str")
    return {**columns, "outside_columns": (outside, "")}


def _input_names(names: list[str], classes: Sequence[str]) -> tuple[list[str], list[str]]:
    """The input's names, out of the way of the added ones."""
    probabilities = {f"p_{name}" for name in classes}
    taken = {*names, *ADDED_NAMES, *probabilities}
    kept, renamed = [], []
    for name in names:
        # The level may be another one later.
        clashes = name in ADDED_NAMES or name in probabilities or _END.fullmatch(name)
        if clashes:
            name = free_name(f"{name} (input)", taken)
            renamed.append(name)
            taken.add(name)
        kept.append(name)
    if not renamed:
        return kept, []
    before = [name.removesuffix(" (input)") for name in renamed]
    return kept, [
        f"{columns_named(before)} of the file would clash with added columns and "
        f"{'is' if len(renamed) == 1 else 'are'} renamed to {listed(renamed)}."
    ]


def flag_notices(predictions: Predictions) -> list[str]:
    """How many rows hold something that their model had never seen."""
    if not predictions.flagged_columns:
        return []
    n_rows = int((predictions.unseen_level | predictions.new_missing).sum())
    where = columns_named(predictions.flagged_columns).replace("The column", "the column", 1)
    return [flagged_sentence(n_rows, f", in {where}")]


def flagged_sentence(n_rows: int, where: str = "") -> str:
    """So many rows hold something new; ``where`` names the columns."""
    return (
        f"{counted(n_rows, 'row has', 'rows have')} a category or a missing value that the "
        f"training rows do not have{where}. The columns unseen_level and new_missing say which."
    )
