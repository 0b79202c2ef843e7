"""What a project holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gbuq_core.tables import Edits, Schema, ScorePlan, Source, Table, Target
from gbuq_core.tables.cleaning import Feature
from gbuq_core.tables.intervals import Yardstick
from gbuq_core.tables.scoring import Fits


class ProjectModels(NamedTuple):
    """The trained models of a project, and what they need besides a table.

    Attributes
    ----------
    plan : ScorePlan
        With an automatic ensemble settled.
    why_ensemble : str
        Why it is what it is, in one sentence, or empty.
    features : tuple of Feature
        The columns that the models take.
    fits : Fits
        The model that scores new rows, and those that gave the scores, each with the rows that it
        learnt from and those that it judges.
    spread : float
        Std of the target, in its units; of codes of classes for a classification.
    yardstick : Yardstick
        How conformal intervals measure; zeros for a classification.
    residuals : ndarray of shape (n_held,)
        How many stds the held-out targets lie above their predictions, in rising order: the
        calibration of conformal intervals. Empty for a classification.
    scores : mapping of str to float
        On held-out rows: ``n_rows``, ``nll`` and either ``rmse`` and ``crps`` or ``error_rate`` and
        ``calibration_error``.
    """

    plan: ScorePlan
    why_ensemble: str
    features: tuple[Feature, ...]
    fits: Fits
    spread: float
    yardstick: Yardstick
    residuals: NDArray[np.float64]
    scores: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Project:
    """A table's settings, corrections and models, as one file keeps them, to score new rows.

    `fit_project` trains one, `save_project` and `open_project` write and read it.

    Attributes
    ----------
    source : Source
        The table's name, format, digest and how it was read. The digest recognises the table.
    n_rows : int
        Of the table.
    schema : Schema
        What its columns are, with the user's corrections.
    target : Target
    plan : ScorePlan
        How to train, as it was asked for.
    task : str or None
        The task as it was asked for; None if it was inferred.
    edits : Edits
        The user's corrections of columns.
    level : float
        Of the intervals.
    conformal : bool
        Whether these are conformal.
    models : ProjectModels or None
    why_no_models : str
        Why they are not read, in one sentence; empty where they are there.
    data : Table or None
        The table itself.
    written_by : str
        The version of gbuq that saved the project; empty before that.
    notices : tuple of str
        What had to be decided, and what makes the scores better than they will be, one sentence
        each. Said by `fit_project` only, and not saved.
    """

    source: Source
    n_rows: int
    schema: Schema
    target: Target
    plan: ScorePlan
    task: str | None = None
    edits: Edits = field(default_factory=Edits)
    level: float = 0.9
    conformal: bool = False
    models: ProjectModels | None = None
    why_no_models: str = ""
    data: Table | None = None
    written_by: str = ""
    notices: tuple[str, ...] = field(default=(), compare=False)

    def is_about(self, table: Table) -> bool:
        """Whether a table is the project's: the same bytes, in the same cells.

        The decimal mark makes no other cells: the schema says how their numbers are written.
        """
        mine, other = (
            source.options._replace(decimal=None) for source in (self.source, table.source)
        )
        same = self.source.digest == table.source.digest and mine == other
        return same and self.n_rows == table.n_rows
