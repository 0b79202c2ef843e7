"""The training rows that decide what the model says about a row.

Affinity of IBUG (Brophy and Lowd 2022, algorithm 1): the number of trees in which two rows share a
leaf. What a boosted ensemble says about a row is the sum of its leaves' values, and these come from
the training rows in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gbuq_core.boosting.base import BoostedEnsemble
from gbuq_core.errors import InvalidParameter
from gbuq_core.ibug.affinity import TrainLeaves, nearest, pack_leaves
from gbuq_core.tables.editing import cell_text, prepared_cell
from gbuq_core.tables.explaining import feature_groups
from gbuq_core.tables.predicting import boosted_of, read_by_model
from gbuq_core.tables.scoring import ScoredTable
from gbuq_core.validation import check_number

DECIDING_MEANING = (
    "The training rows that share the most leaves with this row, over the trees in use. What "
    "the trees predict is made of the values of these leaves, and they come from the training rows "
    "in them."
)
DIFFERS = 1.0  # stds of a column: numbers farther apart differ
_BLOCK_ROWS = 16_384


class DecidingRow(NamedTuple):
    """A training row near a row in the trees.

    Attributes
    ----------
    row : int
        Its position in the training table.
    affinity : int
        In how many trees the two share a leaf.
    share : float
        The same as a share of the trees in use.
    target : float or str
        Its target: a number, or a class.
    cells : tuple of str
        Its values by column, as text; empty where missing.
    differs : tuple of bool
        Which of them differ from the row's.
    """

    row: int
    affinity: int
    share: float
    target: float | str
    cells: tuple[str, ...]
    differs: tuple[bool, ...]


class DecidingRows(NamedTuple):
    """The training rows that decide about a row, the nearest first.

    Attributes
    ----------
    row : int
        The position of the row that they decide about.
    n_trees : int
        How many trees are in use.
    columns : tuple of str
    cells : tuple of str
        The row's own values.
    rows : tuple of DecidingRow
        Rows with the same affinity are in the order of the file.
    """

    row: int
    n_trees: int
    columns: tuple[str, ...]
    cells: tuple[str, ...]
    rows: tuple[DecidingRow, ...]


class ModelLeaves(NamedTuple):
    """The leaves of the rows that a model learnt from, in the trees that it uses."""

    leaves: TrainLeaves
    rows: NDArray[np.int64]
    trees: NDArray[np.int64]


def deciding_rows(
    scored: ScoredTable,
    row: int,
    k: int = 10,
    differs: float = DIFFERS,
    leaves: ModelLeaves | None = None,
) -> DecidingRows:
    r"""The training rows that share the most leaves with a row, and where their values differ.

    The trees are those of the model that scored the row, as many as it uses. Only rows that this
    model learnt from count, and never the row itself.

    Parameters
    ----------
    scored : ScoredTable
    row : int
        Position in ``scored.frame``.
    k : int
        How many; at most as many as there are.
    differs : float
        Numbers and dates differ where they are farther apart than this many stds of the column over
        the rows that the model learnt from. Categories differ where they are not the same.
    leaves : ModelLeaves, optional
        Of `model_leaves` for the row's model, to ask about many rows.

    Returns
    -------
    DecidingRows

    Raises
    ------
    InvalidParameter
        If there is no such row, or the method has no trees of its own: see `why_no_deciding`.

    Examples
    --------
    >>> from gbuq_core.tables import ScorePlan, read_table, score_table
    >>> rows = "\n".join(f"{i % 7},{'ab'[i % 2]},{i % 7 + 0.1 * (i % 3)}" for i in range(60))
    >>> scored = score_table(read_table(f"x,kind,y\n{rows}".encode()), "y",
    ...                      plan=ScorePlan(method="sglb", n_trees=40))
    >>> deciding = deciding_rows(scored, 3, k=2)
    >>> deciding.columns, deciding.cells
    (('x', 'kind'), ('3', 'b'))
    >>> [(near.row, near.cells[0], near.share > 0.5) for near in deciding.rows]
    [(17, '3', True), (31, '3', True)]
    """
    check_number("row", row, 0, len(scored.frame) - 1, integer=True)
    k = check_number("k", k, 1, integer=True)
    least = check_number("differs", differs, 0.0)
    number = int(scored.model_of_row[row])
    learnt = leaves or model_leaves(scored, number)
    model = scored.models[number].estimator
    own = read_by_model(model, scored.scored.X.iloc[[row]])
    own = boosted_of(model).leaf_indices(own)[:, learnt.trees]
    itself = scored.scored is scored.training and row in learnt.rows
    near = nearest(learnt.leaves, own, min(k + int(itself), len(learnt.rows)))
    columns = tuple(feature_groups(scored.training))
    cells = {column: prepared_cell(scored.scored, row, column) for column in columns}
    spreads = _spreads(scored, learnt.rows)
    chosen: list[DecidingRow] = []
    for place, affinity in zip(near.indices[0].tolist(), near.affinities[0].tolist(), strict=True):
        other = int(learnt.rows[place])
        if (itself and other == row) or len(chosen) == k:
            continue
        theirs = {column: prepared_cell(scored.training, other, column) for column in columns}
        chosen.append(
            DecidingRow(
                other,
                affinity,
                affinity / len(learnt.trees),
                target_of(scored, other),
                tuple(cell_text(theirs[column]) for column in columns),
                tuple(
                    _differ(cells[column], theirs[column], least * spreads[column])
                    for column in columns
                ),
            )
        )
    texts = tuple(cell_text(cells[column]) for column in columns)
    return DecidingRows(row, len(learnt.trees), columns, texts, tuple(chosen))


def model_leaves(scored: ScoredTable, number: int) -> ModelLeaves:
    """The leaves of the rows that one of a table's models learnt from, for `deciding_rows`.

    Parameters
    ----------
    scored : ScoredTable
    number : int
        Of the model: an entry of ``scored.model_of_row``.

    Raises
    ------
    InvalidParameter
        If the method has no trees of its own.
    """
    refusal = why_no_deciding(scored)
    if refusal:
        raise InvalidParameter(refusal)
    model, rows = scored.models[number]
    ensemble, trees = boosted_of(model), trees_in_use(model)

    def chunks() -> Iterator[NDArray[Any]]:
        for start in range(0, len(rows), _BLOCK_ROWS):
            part = scored.training.X.iloc[rows[start : start + _BLOCK_ROWS]]
            yield ensemble.leaf_indices(read_by_model(model, part))[:, trees]

    return ModelLeaves(pack_leaves(chunks(), len(rows)), rows, trees)


def trees_in_use(model: Any) -> NDArray[np.int64]:
    """Which trees the members' means or classes use, as places in ``leaf_indices``."""
    ensemble = boosted_of(model)
    chosen = getattr(model, "chosen", {})  # of a cut ensemble
    points, n_models = ensemble.chosen_members(**chosen)
    last, n_trees = int(points[-1]), ensemble.n_trees_
    return np.concatenate([np.arange(last) + k * n_trees for k in range(n_models)])


def why_no_deciding(scored: ScoredTable) -> str:
    """Why no rows decide about a row of this table; empty if some do."""
    if isinstance(boosted_of(scored.models[0].estimator), BoostedEnsemble):
        return ""
    return (
        "The rows that decide are found through the leaves of boosted trees: choose Stacked, SGLB, "
        "SGB or a cyclical method."
    )


def _spreads(scored: ScoredTable, rows: NDArray[np.int64]) -> dict[str, float]:
    """The std of each column's numbers, or days, over these training rows; 0 for categories."""
    spreads = {}
    for column, features in feature_groups(scored.training).items():
        values = scored.training.X[features[0]].iloc[rows]
        if isinstance(values.dtype, pd.CategoricalDtype):
            spreads[column] = 0.0
            continue
        known = values.to_numpy(dtype=np.float64)
        known = known[np.isfinite(known)]
        largest = float(np.max(np.abs(known), initial=0.0))
        # Divided by the largest first, so that no square overflows.
        spreads[column] = largest * float(np.std(known / largest)) if largest > 0.0 else 0.0
    return spreads


def _differ(own: Any, other: Any, least: float) -> bool:
    if own is None or other is None:
        return own is not other
    if isinstance(own, str):
        return bool(own != other)
    gap = other - own
    days = gap / np.timedelta64(1, "D") if isinstance(gap, np.timedelta64) else gap
    return bool(abs(days) > least)


def target_of(scored: ScoredTable, row: int) -> float | str:
    """The target of a training row: a number, or a class."""
    value = scored.training.y[row]
    classes = scored.training.target.classes
    return classes[int(value)] if classes else float(value)
