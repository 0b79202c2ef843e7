"""Projects out of tables, and new rows scored by projects without training again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from gbuq_core.errors import InvalidParameter, ProjectError
from gbuq_core.jobs import check_memory
from gbuq_core.metrics.log_score import FINEST
from gbuq_core.presentation import counted, short, shown
from gbuq_core.projects.listed_models import why_method_not_kept
from gbuq_core.projects.models import score_names
from gbuq_core.projects.project import Project, ProjectModels
from gbuq_core.tables import (
    AddedColumns,
    Edits,
    HeldOut,
    Predictions,
    Prepared,
    ScoredTable,
    ScorePlan,
    Settled,
    Table,
    ask_about_split,
    edit_schema,
    infer_schema,
    prepare_new,
    prepare_training,
    scoring_bytes,
    settle_plan,
    split_warnings,
    with_intervals,
)
from gbuq_core.tables.evaluating import Scores
from gbuq_core.tables.intervals import (
    Yardstick,
    conformal_residuals,
    count_ends,
    describe_ends,
    new_intervals,
    why_not_conformal,
    yardstick_of,
)
from gbuq_core.tables.judging import heavy_held
from gbuq_core.tables.output import added_columns, assemble_output, flag_notices, join_columns
from gbuq_core.tables.plan import check_level, check_table_method
from gbuq_core.tables.predicting import predict_rows
from gbuq_core.tables.scoring import Fits, fit_for_new, judge_measured, score_again

_SAME = 1e-6  # of a score: another processor may change the last digits


class ScoredRows(NamedTuple):
    """New rows as the models of a project score them.

    Attributes
    ----------
    frame : DataFrame of shape (n_rows, ...)
        The file's columns and the added ones.
    added : AddedColumns
    predictions : Predictions
    notices : tuple of str
    """

    frame: pd.DataFrame
    added: AddedColumns
    predictions: Predictions
    notices: tuple[str, ...]


def fit_project(
    table: Table,
    target: str,
    *,
    task: str | None = None,
    edits: Edits | None = None,
    plan: ScorePlan | None = None,
    level: float = 0.9,
    conformal: bool = False,
    with_data: bool = False,
) -> Project:
    r"""Train on a table once, to score other rows with it later.

    One model learns from all rows, and one from four fifths of them for the scores, as
    `gbuq_core.tables.score_table` trains for a second file.

    Parameters
    ----------
    table : Table
    target : str
    task : {"regression", "classification"}, optional
    edits : Edits, optional
        The user's corrections of columns.
    plan : ScorePlan, optional
    level, conformal : float, bool
        Of the intervals.
    with_data : bool
        Whether the project holds the table.

    Returns
    -------
    Project

    Examples
    --------
    >>> from gbuq_core.projects import fit_project, score_project
    >>> from gbuq_core.tables import ScorePlan, read_table
    >>> rows = "\n".join(f"{i % 7},{i % 7 + 0.1 * (i % 3)}" for i in range(60))
    >>> project = fit_project(read_table(f"x,y\n{rows}".encode()), "y",
    ...                       plan=ScorePlan(method="sglb", n_trees=20))
    >>> scored = score_project(project, read_table(b"x\n3\n", to_score=True))
    >>> scored.frame.columns.tolist()[:4]
    ['x', 'prediction', 'lower_90', 'upper_90']
    """
    plan = plan or ScorePlan()
    schema = edit_schema(table, infer_schema(table), **(edits or Edits()).arguments())
    training = prepare_training(table, schema, target, task, plan.split, plan.split_column)
    _check_interval(training, level, conformal)
    if plan.listed:
        check_table_method(plan.method, training.target.task)
    if why := why_method_not_kept(plan, training.target.task):
        raise InvalidParameter(why)
    settled = settle_plan(plan, training, n_new=1)
    check_memory(scoring_bytes(training, settled.plan, n_new=1), "training on this table")
    fits = fit_for_new(training, settled.plan)
    rows, predictions, scores = judge_measured(fits, training, settled.plan)
    held = HeldOut(rows, training.y[rows], predictions, training.target.classes)
    questions = map(str, ask_about_split(table, training, settled.plan))
    warnings = *heavy_held(training, held), *split_warnings(table, training)
    return Project(
        source=table.source,
        n_rows=table.n_rows,
        schema=training.schema,
        target=training.target,
        plan=plan,
        task=task,
        edits=edits or Edits(),
        level=level,
        conformal=conformal,
        models=_models(settled, training, fits, held, scores),
        data=table if with_data else None,
        notices=tuple(dict.fromkeys((*questions, *warnings, *training.notices))),
    )


def restore_project(project: Project, table: Table | None, new: Table) -> ScoredTable:
    """New rows scored beside a project's table, as `score_table` does; nothing is fitted.

    Parameters
    ----------
    project : Project
    table : Table or None
        The project's own table; None where the project holds it.
    new : Table
        The rows to score.

    Returns
    -------
    ScoredTable
        With the project's intervals.

    Raises
    ------
    ProjectError
        If the table is another one, or the models are not read.
    """
    table = own_table(project, table)
    models = _models_of(project)
    training = _prepare_again(project, models, table)
    settled = Settled(models.plan, models.why_ensemble)
    scored = score_again(table, training, models.fits, settled, new)
    _check_scores(scored.scores, models.scores, training.target.task)
    if (project.level, project.conformal) != (scored.level, scored.conformal):
        scored = with_intervals(scored, project.level, project.conformal)
    return scored


def _prepare_again(project: Project, models: ProjectModels, table: Table) -> Prepared:
    """The table as the models were trained on it."""
    plan, target = models.plan, project.target
    training = prepare_training(
        table, project.schema, target.name, target.task, plan.split, plan.split_column
    )
    same = training.target._replace(reason=target.reason) == target
    if training.features != models.features or not same:
        raise ProjectError(
            "This version of gbuq reads the columns of the table in another way than the one that "
            "saved the project: train again."
        )
    return training._replace(target=target)


def score_project(project: Project, new: Table) -> ScoredRows:
    """Score new rows with a project's models; its own table is not needed.

    Parameters
    ----------
    project : Project
    new : Table
        With the columns of the project's table, in any order. The target may be missing.

    Returns
    -------
    ScoredRows

    Raises
    ------
    ProjectError
        If the models are not read.
    InvalidData
        If columns are missing or hold something else.
    """
    models = _models_of(project)
    none = np.zeros(0)
    X = pd.DataFrame({feature.name: none for feature in models.features})
    training = Prepared(X, none, project.target, models.features, project.schema, ())
    prepared = prepare_new(new, training)
    (model,) = models.fits.models
    n_classes = len(project.target.classes)
    step = FINEST * models.spread  # the table, which has the true one, need not be here
    predictions = predict_rows(model.estimator, prepared.X, prepared.y, n_classes, step)
    frame, added, renamed = assemble_output(new, prepared, predictions, None, None)
    told: list[str] = []
    if not n_classes:
        residuals = models.residuals if project.conformal else None
        ends = new_intervals(predictions, project.level, residuals, models.yardstick)
        own = {name: frame[name] for name in frame.columns if name not in added.names}
        columns = added_columns(prepared, predictions, ends, {}, project.level)
        frame, added = join_columns(own, columns, added.renamed)
        counts = count_ends(ends, predictions.loc, none)
        told = describe_ends(counts, project.level, project.target.name, none)
    notices = (*new.notices, *prepared.notices, *renamed, *told, *flag_notices(predictions))
    return ScoredRows(frame, added, predictions, notices)


def own_table(project: Project, table: Table | None) -> Table:
    """The table that is given if it is the project's, or the one that the project holds.

    Raises
    ------
    ProjectError
        If there is none, or it is another one.
    """
    table = project.data if table is None else table
    if table is None:
        raise ProjectError(
            f"The project does not hold its table: give {shown(project.source.name)} with it."
        )
    if not project.is_about(table):
        raise ProjectError(
            f"{shown(table.source.name)} is not the table of the project, which is "
            f"{shown(project.source.name)} with {counted(project.n_rows, 'row')}: give that one."
        )
    return table


def describe_project(project: Project) -> tuple[str, ...]:
    r"""What a project holds, one sentence each.

    Examples
    --------
    >>> from gbuq_core.projects import describe_project, fit_project
    >>> from gbuq_core.tables import ScorePlan, read_table
    >>> rows = "\n".join(f"{i % 7},{i % 7 + 0.1 * (i % 3)}" for i in range(60))
    >>> project = fit_project(read_table(f"x,y\n{rows}".encode()), "y",
    ...                       plan=ScorePlan(method="sglb", n_trees=20))
    >>> for sentence in describe_project(project)[:3]:
    ...     print(sentence)
    The project is about "table", with 60 rows and 2 columns.
    It predicts "y" (regression).
    The table is not in the project.
    """
    n_columns = len(project.schema.columns)
    sentences = [
        f"The project is about {shown(project.source.name)}, with "
        f"{counted(project.n_rows, 'row')} and {counted(n_columns, 'column')}.",
        f"It predicts {shown(project.target.name)} ({project.target.task}).",
        f"The table is {'' if project.data else 'not '}in the project.",
    ]
    if n_corrected := len(project.edits.names):
        sentences.append(f"{counted(n_corrected, 'column is corrected', 'columns are corrected')}.")
    models = project.models
    if models is None:
        return (*sentences, project.why_no_models)
    sentences.append(f"A trained model ({models.plan.method}) can score any new rows.")
    sentences.append(
        f"On {counted(int(models.scores['n_rows']), 'held-out row')}: {_scores_text(models)}."
    )
    return tuple(sentences)


def _scores_text(models: ProjectModels) -> str:
    """The scores of a project in a line."""
    labels = {
        "nll": "NLL",
        "rmse": "RMSE",
        "crps": "CRPS",
        "error_rate": "error rate",
        "calibration_error": "calibration error",
    }
    return ", ".join(
        f"{labels[name]} {short(models.scores[name])}" for name in models.scores if name in labels
    )


def _models(
    settled: Settled, training: Prepared, fits: Fits, held: HeldOut, scores: Scores
) -> ProjectModels:
    classes = bool(training.target.classes)
    known = training.y[training.known]
    yardstick = Yardstick(0.0, 0.0) if classes else yardstick_of(known, settled.plan.scale)
    residuals = np.empty(0) if classes else np.sort(conformal_residuals(held, yardstick))
    return ProjectModels(
        settled.plan,
        settled.reason,
        training.features,
        fits,
        float(np.nanstd(training.y)),
        yardstick,
        residuals,
        _scores(scores, training.target.task),
    )


def _scores(scores: Any, task: str) -> dict[str, float]:
    return {name: float(getattr(scores, name)) for name in score_names(task)}


def _models_of(project: Project) -> ProjectModels:
    if project.models is None:
        raise ProjectError(project.why_no_models)
    return project.models


def _check_scores(scores: Scores, saved: Mapping[str, float], task: str) -> None:
    """Refuse models that do not give the scores that were saved with them."""
    now = _scores(scores, task)
    for name, value in saved.items():
        close = math.isclose(now[name], value, rel_tol=_SAME, abs_tol=1e-12)
        if not close and not (math.isnan(now[name]) and math.isnan(value)):
            raise ProjectError(
                f"The models of the project do not give the scores that were saved with them "
                f"({name}): train again."
            )


def _check_interval(training: Prepared, level: float, conformal: bool) -> None:
    check_level(level)
    if conformal and training.target.classes:
        raise InvalidParameter(why_not_conformal(training.target.classes))
