"""What the members say about a row while trees are added."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gbuq_core.boosting.base import BoostedEnsemble
from gbuq_core.errors import InvalidParameter
from gbuq_core.tables.predicting import (
    all_classes,
    boosted_of,
    is_on_log_scale,
    read_by_model,
    stacked_model,
)
from gbuq_core.tables.scaling import exp_uncertainty
from gbuq_core.tables.scoring import ScoredTable
from gbuq_core.uncertainty import Uncertainty
from gbuq_core.validation import check_number

_MOST_STAGES = 100


class RowStages(NamedTuple):
    """What each model of an ensemble says about a row with fewer and with more trees.

    Attributes
    ----------
    row : int
        Its position in the scored table.
    n_trees : ndarray of shape (n_stages,), int64
        Rising.
    loc, scale : ndarray of shape (n_models, n_stages)
        Means and stds of the models with so many trees, in units of the target, the stds with the
        factor that the table's rows chose; empty for a classification. A virtual ensemble is one
        model.
    probabilities : ndarray of shape (n_models, n_stages, n_classes)
        Empty for a regression.
    member_trees : ndarray of shape (n_points,), int64
        Where the members stop: truncations or ends of cycles of the one model, or one number that
        all models share. These are among ``n_trees``.
    scale_trees : int
        Where the members' stds stop; that of the means for a classification.
    classes : tuple of str
    """

    row: int
    n_trees: NDArray[np.int64]
    loc: NDArray[np.float64]
    scale: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    member_trees: NDArray[np.int64]
    scale_trees: int
    classes: tuple[str, ...]


def grow_row(scored: ScoredTable, row: int) -> RowStages:
    r"""What the members of the row's model say about it while trees are added. Fits nothing.

    Parameters
    ----------
    scored : ScoredTable
    row : int
        Position in ``scored.frame``.

    Raises
    ------
    InvalidParameter
        If there is no such row, or the method does not add trees one after the other.

    Examples
    --------
    >>> from gbuq_core.tables import ScorePlan, read_table, score_table
    >>> rows = "\n".join(f"{i % 7},{i % 7 + 0.1 * (i % 3)}" for i in range(60))
    >>> plan = ScorePlan(n_trees=40, truncation_step=5, stopping=None)
    >>> scored = score_table(read_table(f"x,y\n{rows}".encode()), "y", plan=plan)
    >>> stages = grow_row(scored, 3)
    >>> stages.loc.shape, stages.member_trees.tolist()
    ((1, 40), [25, 30, 35, 40])
    >>> members = np.isin(stages.n_trees, stages.member_trees)
    >>> bool(np.isclose(stages.loc[0, members].mean(), scored.frame["prediction"][3]))
    True
    """
    check_number("row", row, 0, len(scored.frame) - 1, integer=True)
    refusal = why_no_stages(scored)
    if refusal:
        raise InvalidParameter(refusal)
    model = scored.models[int(scored.model_of_row[row])].estimator
    ensemble = boosted_of(model)
    points, n_models = ensemble.chosen_members(**getattr(model, "chosen", {}))
    scale_trees = ensemble._scale_trees() or int(points[-1])
    every = max(1, -(-ensemble.n_trees_ // _MOST_STAGES))
    steps = np.arange(every, ensemble.n_trees_ + 1, every)
    at = np.unique(np.concatenate([steps, points, [scale_trees, ensemble.n_trees_]]))
    own = read_by_model(model, scored.scored.X.iloc[[row]])
    members = ensemble.growing_members(own, at)[:n_models, :, 0]
    target = scored.training.target
    if target.classes:
        none = np.empty((0, 0))
        laws = all_classes(members, ensemble, len(target.classes))
        return RowStages(row, at, none, none, laws, points, scale_trees, target.classes)
    loc, variance = members[..., 0], members[..., 1]
    if stacked_model(model) is not None and is_on_log_scale(model):  # whose trees learnt logs
        loc, of_y = exp_uncertainty(loc, Uncertainty(variance, variance, 0.0 * variance))
        variance = of_y.total
    return RowStages(
        row,
        at,
        loc,
        np.sqrt(variance),
        np.empty((0, 0, 0)),
        points,
        scale_trees,
        (),
    )


def why_no_stages(scored: ScoredTable) -> str:
    """Why no row of this table can be seen with fewer trees; empty if rows can."""
    if isinstance(boosted_of(scored.models[0].estimator), BoostedEnsemble):
        return ""
    return "Only boosted ensembles add one tree after the other: choose Stacked, SGLB or another."
