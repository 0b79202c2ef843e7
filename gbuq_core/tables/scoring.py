"""Scoring a table: train, measure on rows that were held out, and judge every row.

Which rows a model learns from and which model scores which row, on the page as on the command line:

- **out of fold**: without a second file and with up to 20,000 rows that have a target, five models
  are trained, each without one fifth of the rows (column ``fold``, 1 to 5), and each row is scored
  by the model that did not see it. Rows without a target are scored by the first model.
- **held out**: with more rows, one model is trained on four fifths. The held-out fifth gives the
  scores. The other rows are scored by the same model that learnt them and marked ``in_training``:
  their uncertainties and errors look better than they are.
- **new file**: with a second file, one model is trained on four fifths of the first file for the
  scores, and another on all of it, which scores the second file.

Rows are dealt at random, or by groups that stay together, or by time (`ScorePlan.split`). By time,
the rows are in blocks: out of fold, each of five blocks is judged by a model of all earlier rows
(column ``fold``), and the first sixth is only learnt from (marked ``in_training``); else the last
fifth is held out. The earliest model chooses the number of trees for the block after its own, and
so on: nothing about a block is chosen by later rows.

The rows that are held out choose the numbers of trees, once for all models of a table. The factor
of the stds, the tails and the temperature are chosen by other rows than those that they score. See
`gbuq_core.tables.clocks`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gbuq_core.calibration import ClassClocks, Clocks
from gbuq_core.compilers import COMPILERS
from gbuq_core.jobs import check_memory, stage
from gbuq_core.parallel import outer_map, spread_map
from gbuq_core.presentation import counted, shown
from gbuq_core.resources import allowed_n_jobs
from gbuq_core.tables.cleaning import Prepared, prepare_new
from gbuq_core.tables.clocks import (
    TableClocks,
    UnseenRows,
    choose_table_clocks,
    deal,
    describe_clocks,
    halves,
    n_parts,
)
from gbuq_core.tables.evaluating import Scores, evaluate
from gbuq_core.tables.files import Table
from gbuq_core.tables.new_units import find_new_units
from gbuq_core.tables.output import AddedColumns, assemble_output, flag_notices
from gbuq_core.tables.plan import USUAL_LEVEL, ScorePlan, check_table_method
from gbuq_core.tables.predicting import (
    FittedModel,
    Predictions,
    assign_folds,
    fit_rows,
    held_out_fifth,
    predict_rows,
    stops_early,
    width_notice,
)
from gbuq_core.tables.schema import Schema, infer_schema
from gbuq_core.tables.settling import (
    Settled,
    by_time,
    check_stacks,
    choose_protocol,
    deals_folds,
    one_thread_a_fit,
    scoring_bytes,
    settle_plan,
)
from gbuq_core.tables.splitting import (
    CHAIN,
    LAST_FIFTH,
    Chain,
    RowSplit,
    assign_groups,
    chain_blocks,
    check_left,
    hold_out_groups,
)
from gbuq_core.tables.voices import describe_law, shares_of_work, stack, tamed

if TYPE_CHECKING:
    from gbuq_core.tables.same_units import SplitQuestion
    from gbuq_core.tables.unfamiliar import TableUnfamiliarity


class Measured(NamedTuple):
    """A model that gave scores beside a second file, and the rows held out that it scored."""

    model: FittedModel
    rows: NDArray[np.int64]


class Fits(NamedTuple):
    """What training leaves: models, and which rows of the first file each of them judges."""

    models: tuple[FittedModel, ...]
    model_of_row: NDArray[np.int64]  # empty beside a second file, whose rows the first one scores
    fold: NDArray[np.int64] | None
    in_training: NDArray[np.bool_] | None
    measured: tuple[Measured, ...]  # empty without a second file
    clocks: Clocks | ClassClocks | None
    held: NDArray[np.bool_]  # the rows of the first file that give the scores


def fit_protocol(protocol: str, training: Prepared, plan: ScorePlan) -> Fits:
    """Train by one of `PROTOCOLS`."""
    if plan.stacks:
        return _fit_stacked(protocol, training, plan)
    run = {"out_of_fold": _out_of_fold, "held_out": _held_out, "new_file": fit_for_new}[protocol]
    return run(training, plan)


def judge_fits(
    fits: Fits, training: Prepared, scored: Prepared, plan: ScorePlan
) -> tuple[Predictions, Scores]:
    """What the models say of the rows to score, and the scores on those of the first file."""
    if not fits.measured:
        predictions = _predict(training, scored, plan, [*fits.models], fits.model_of_row)
        return predictions, evaluate_rows(training, training, predictions, fits.held)
    scores = judge_measured(fits, training, plan)[2]
    first = np.zeros(len(scored.X), np.int64)
    return _predict(training, scored, plan, [*fits.models], first), scores


def _fit_stacked(protocol: str, training: Prepared, plan: ScorePlan) -> Fits:
    """The trees of a protocol, and around each a law that other held-out rows weigh.

    Beside a second file, rows of a small table are dealt into folds too: neighbours and weights of
    the law come from rows that trees have not seen.
    """
    check_stacks(plan)
    kernels = ("neighbours", "laws") if training.target.task == "regression" else ("neighbours",)
    COMPILERS.begin(kernels, asked=True)  # while the trees wait for theirs
    in_folds = protocol == "out_of_fold" or deals_folds(training)
    n_fits = (plan.n_folds if in_folds else 1) + (protocol == "new_file")
    of_trees, of_law = shares_of_work(training, plan, n_fits)
    with stage(of_trees + of_law):
        with stage(float(n_fits), span=of_trees):
            fits, models, of_row, whole = _fit_trees(protocol, tamed(training), plan, in_folds)
        groups = [np.flatnonzero(fits.held & (of_row == k)) for k in range(len(models))]
        laws, of_others = stack(training, plan, models, groups, whole)
    if protocol == "new_file":
        assert of_others is not None
        measured = tuple(map(Measured, laws, groups))
        return Fits((of_others,), np.zeros(0, int), None, None, measured, fits.clocks, fits.held)
    if of_others is None:
        return fits._replace(models=tuple(laws))
    return fits._replace(models=(of_others, *laws), model_of_row=of_row + 1)


def _fit_trees(
    protocol: str, training: Prepared, plan: ScorePlan, in_folds: bool
) -> tuple[Fits, list[FittedModel], NDArray[np.int64], FittedModel | None]:
    """The trees, those that laws stand around, which of these has not seen a row, and the whole."""
    trees = plan.of_trees()
    if in_folds:
        with stage(1.0, span=float(trees.n_folds)):
            fits = _out_of_fold(training, trees, parts=1)
        whole = None
        if protocol == "new_file":
            every = [np.flatnonzero(training.known)]
            whole = _stopped(_fit(training, trees, every)[0], fits.clocks)
        return fits, [*fits.models], fits.model_of_row, whole
    fits = (_held_out if protocol == "held_out" else fit_for_new)(training, trees)
    whole = fits.models[0]
    models = [*fits.models[1:], *(part.model for part in fits.measured)]
    models = models if len(models) == 2 else [models[0] if models else whole] * 2
    return fits, models, halves(fits.held, training, trees.seed), whole


def _out_of_fold(training: Prepared, plan: ScorePlan, parts: int | None = None) -> Fits:
    if by_time(training):
        return _in_blocks(training, plan)
    folds, n_folds = _folds(training, plan)
    known = training.known
    rows_of = [np.flatnonzero(known & (folds == fold)) for fold in range(n_folds)]
    learnt = [np.flatnonzero(known & (folds >= 0) & (folds != fold)) for fold in range(n_folds)]
    _check_left(training, learnt)
    models = _fit(training, plan, learnt)
    clocks = None
    # A row without a target is new to all models, but for its group; the first one scores it.
    model_of_row = np.maximum(folds, 0)
    if stops_early(plan, training):
        n_each = n_parts(training) if parts is None else parts
        groups = [
            UnseenRows(model.estimator, rows, deal(rows, training, plan.seed, n_each))
            for model, rows in zip(models, rows_of, strict=True)
        ]
        clocks = choose_table_clocks(groups, training, plan)
        if clocks is not None:
            crossed = enumerate(clocks.crossed)
            models = [_stopped(models[k // n_each], chosen) for k, chosen in crossed]
            model_of_row *= n_each
            for _, rows, part in groups:
                model_of_row[rows] += part
    held = known & (folds >= 0)
    fold = np.where(held, folds + 1, 0)
    return Fits(tuple(models), model_of_row, fold, None, (), _whole(clocks), held)


def _folds(training: Prepared, plan: ScorePlan) -> tuple[NDArray[np.int64], int]:
    """The fold of each row, -1 where it has none, and how many there are."""
    classes = training.target.classes
    if training.split is None:
        return assign_folds(training.y, bool(classes), plan.seed, plan.n_folds), plan.n_folds
    codes = training.split.codes
    folds = assign_groups(codes, training.y, len(classes), plan.seed, plan.n_folds)
    return folds, int(folds.max()) + 1


def _check_left(training: Prepared, learnt: list[NDArray[np.int64]]) -> None:
    if training.split is not None:
        for rows in learnt:
            check_left(training.y, rows, training.split.column)


class _Blocks(NamedTuple):
    """Models of earlier rows, one for each block that is judged, and what chose their clocks."""

    chain: Chain
    models: list[FittedModel]
    clocks: TableClocks | None


def _fit_blocks(
    training: Prepared, plan: ScorePlan, starts: tuple[float, ...], further: list[NDArray[np.int64]]
) -> tuple[_Blocks, list[FittedModel]]:
    """Forward chaining, and models of ``further`` sets of rows, fitted beside them."""
    split = training.split
    assert split is not None
    chain = chain_blocks(split.codes, training.y, starts, split.column)
    usable = training.known & (chain.block >= 0)
    chooses = () if chain.chooses is None or not stops_early(plan, training) else (chain.chooses,)
    blocks = (*chooses, *chain.judged)
    learnt = [np.flatnonzero(usable & (chain.block < number)) for number in blocks]
    fitted = _fit(training, plan, [*learnt, *further])
    models, others = fitted[: len(blocks)], fitted[len(blocks) :]
    clocks = None
    if chooses:
        groups = [
            UnseenRows(model.estimator, np.flatnonzero(usable & (chain.block == number)))
            for number, model in zip(blocks, models, strict=True)
        ]
        clocks = choose_table_clocks(groups, training, plan, earlier_only=True)
    models = models[len(chooses) :]
    if clocks is not None:
        models = [_stopped(*pair) for pair in zip(models, clocks.crossed, strict=True)]
    return _Blocks(chain, models, clocks), others


def _in_blocks(training: Prepared, plan: ScorePlan) -> Fits:
    (chain, models, clocks), _ = _fit_blocks(training, plan, CHAIN, [])
    block, first = chain.block, chain.judged[0]
    # The earliest rows are scored by the first model, which learnt them; those without a time by
    # the last one.
    model_of_row = np.where(block < 0, len(models) - 1, np.maximum(block - first, 0))
    held = training.known & (block >= first)
    in_training = training.known & (block >= 0) & (block < first)
    fold = np.where(held, model_of_row + 1, 0)
    return Fits(tuple(models), model_of_row, fold, in_training, (), _whole(clocks), held)


def _last_fifth(
    training: Prepared, plan: ScorePlan, further: list[NDArray[np.int64]]
) -> tuple[FittedModel, NDArray[np.bool_], TableClocks | None, list[FittedModel]]:
    """By time, the model of the earlier rows, which rows it is measured on, and other models."""
    (chain, models, clocks), others = _fit_blocks(training, plan, LAST_FIFTH, further)
    last = chain.judged[-1]
    return models[-1], training.known & (chain.block == last), clocks, others


def _held_fifth(training: Prepared, plan: ScorePlan) -> NDArray[np.bool_]:
    classes = training.target.classes
    if training.split is None:
        return held_out_fifth(training.y, bool(classes), plan.seed)
    return hold_out_groups(training.split.codes, training.y, len(classes), plan.seed)


def _held_out(training: Prepared, plan: ScorePlan) -> Fits:
    if by_time(training):
        model, held, clocks, _ = _last_fifth(training, plan, [])
        models, learnt = [model], model.rows
        model_of_row = np.zeros(len(held), np.int64)
    else:
        held = _held_fifth(training, plan)
        learnt = np.flatnonzero(~held & training.known)
        _check_left(training, [learnt])
        models = _fit(training, plan, [learnt])
        half, clocks = _halves_choose(training, plan, models[0], held)
        model_of_row = half + 1  # 0 for rows that chose nothing
        if clocks is None:
            model_of_row = np.zeros(len(held), np.int64)
        else:
            models = [_stopped(models[0], chosen) for chosen in (clocks.whole, *clocks.crossed)]
    in_training = np.zeros(len(training.X), bool)
    in_training[learnt] = True
    return Fits(tuple(models), model_of_row, None, in_training, (), _whole(clocks), held)


def fit_for_new(training: Prepared, plan: ScorePlan) -> Fits:
    """The models that score a second file, whatever is in it, and those that give the scores."""
    if plan.stacks:
        return _fit_stacked("new_file", training, plan)
    everything = np.flatnonzero(training.known)
    if by_time(training):
        measuring, held, clocks, (model,) = _last_fifth(training, plan, [everything])
        parts = [Measured(measuring, np.flatnonzero(held))]
    else:
        held = _held_fifth(training, plan)
        learnt = [np.flatnonzero(~held & training.known), everything]
        _check_left(training, learnt)
        measuring, model = _fit(training, plan, learnt)
        half, clocks = _halves_choose(training, plan, measuring, held)
        parts = [Measured(measuring, np.flatnonzero(held))]
        if clocks is not None:
            parts = [
                Measured(_stopped(measuring, chosen), np.flatnonzero(half == k))
                for k, chosen in enumerate(clocks.crossed)
            ]
    model = _stopped(model, _whole(clocks))
    none = np.zeros(0, np.int64)
    return Fits((model,), none, None, None, tuple(parts), _whole(clocks), held)


def judge_measured(
    fits: Fits, training: Prepared, plan: ScorePlan
) -> tuple[NDArray[np.int64], Predictions, Scores]:
    """The rows that give the scores beside a second file, what is said of them, and the scores."""
    held_rows = np.flatnonzero(fits.held)
    number = np.zeros(len(training.y), np.int64)  # which of the measuring models scores a row
    for k, part in enumerate(fits.measured):
        number[part.rows] = k
    measuring = [part.model for part in fits.measured]
    predictions = _predict(training, training, plan, measuring, number[held_rows], held_rows)
    return held_rows, predictions, evaluate_measured(training, held_rows, predictions)


def judge_rows_left_out(
    training: Prepared, plan: ScorePlan, learnt: NDArray[np.int64], held: NDArray[np.bool_]
) -> Predictions:
    """What a model that learns from some rows says about others, in their order.

    All of the others choose the numbers of trees. Each half is judged with the factor and the
    tails, or the temperature, that the other half chose.
    """
    (model,) = _fit(training, plan, [learnt])
    half, clocks = _halves_choose(training, plan.of_trees(), model, held)
    rows = np.flatnonzero(held)
    if plan.stacks:
        both = [model] * 2 if clocks is None else [_stopped(model, each) for each in clocks.crossed]
        laws, _ = stack(training, plan, both, [np.flatnonzero(half == k) for k in range(2)], None)
        return _predict(training, training, plan, laws, half[rows], rows)
    if clocks is None:
        return _predict(training, training, plan, [model], np.zeros(len(rows), np.int64), rows)
    models = [_stopped(model, chosen) for chosen in clocks.crossed]
    return _predict(training, training, plan, models, half[rows], rows)


def _halves_choose(
    training: Prepared, plan: ScorePlan, model: FittedModel, held: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], TableClocks | None]:
    """The half of each row that is held out, -1 for others, and what the halves chose."""
    half = halves(held, training, plan.seed)
    if not stops_early(plan, training):
        return half, None
    groups = [UnseenRows(model.estimator, np.flatnonzero(half == k)) for k in range(2)]
    return half, choose_table_clocks(groups, training, plan)


def _stopped(model: FittedModel, clocks: Clocks | ClassClocks | None) -> FittedModel:
    if clocks is None:
        return model
    return model._replace(estimator=model.estimator.with_clocks(clocks))


def _whole(clocks: TableClocks | None) -> Clocks | ClassClocks | None:
    return None if clocks is None else clocks.whole


def _fit(training: Prepared, plan: ScorePlan, learnt: list[NDArray[np.int64]]) -> list[FittedModel]:
    """A model of all trees for each set of rows, on a cluster each as a whole or in its parts."""
    n_jobs = _fits_at_once(plan)
    with stage(float(len(learnt))):
        if plan.listed or plan.engine != "numba":
            return spread_map(_fit_part, (training, plan), learnt, n_jobs)
        return outer_map(partial(_fit_part, (training, plan)), learnt, n_jobs)


def _fit_part(shared: tuple[Prepared, ScorePlan], rows: NDArray[np.int64]) -> FittedModel:
    training, plan = shared
    plan = replace(plan, n_jobs=allowed_n_jobs(plan.n_jobs))
    with stage(1.0, span=1.0):
        return FittedModel(fit_rows(plan, training, rows), rows)


def _predict(
    training: Prepared,
    scored: Prepared,
    plan: ScorePlan,
    models: list[FittedModel],
    model_of_row: NDArray[np.int64],
    rows: NDArray[np.int64] | None = None,
) -> Predictions:
    """What each row's model says about it, for all rows or for these, in their order."""
    step, n_classes = training.resolution, len(training.target.classes)
    rows = np.arange(len(scored.X)) if rows is None else rows
    places = [np.flatnonzero(model_of_row == number) for number in range(len(models))]
    filled = [number for number, place in enumerate(places) if len(place)]

    def run(number: int) -> Predictions:
        mine = rows[places[number]]
        X = scored.X if len(mine) == len(scored.X) else scored.X.iloc[mine]
        with stage(1.0, span=float(len(mine))):
            return predict_rows(models[number].estimator, X, scored.y[mine], n_classes, step)

    with stage(1.01 * max(1, len(rows))):  # and the scores
        pieces = outer_map(run, filled, _fits_at_once(plan))
    return joined(pieces, [places[number] for number in filled])


def _fits_at_once(plan: ScorePlan) -> int | None:
    return plan.n_jobs if one_thread_a_fit(plan) else 1


def joined(pieces: list[Predictions], places: list[NDArray[np.int64]]) -> Predictions:
    """Predictions of parts of some rows in the order of the rows."""
    if len(pieces) == 1:
        return pieces[0]
    return Predictions.join(pieces).take(np.argsort(np.concatenate(places), kind="stable"))


def evaluate_measured(
    training: Prepared, rows: NDArray[np.int64], predictions: Predictions
) -> Scores:
    """Scores of predictions of these rows of the training table only."""
    held = training._replace(y=training.y[rows])
    return evaluate_rows(held, training, predictions, np.ones(len(rows), bool))


def evaluate_rows(
    prepared: Prepared, training: Prepared, predictions: Predictions, rows: NDArray[np.bool_]
) -> Scores:
    """Scores over those of some rows of a prepared table that have a target."""
    y_train = training.y[training.known]
    return evaluate(prepared.y, predictions, rows, y_train, len(training.target.classes))


class OwnGroups(NamedTuple):
    """Groups of rows by a column or several, of the held-out rows and of those in the frame.

    Those that are ``shared`` calibrate each other; see `gbuq_core.tables.own_groups`.
    """

    column: str
    held: NDArray[np.int64]  # (n_held, n_columns)
    rows: NDArray[np.int64]  # (n_rows, n_columns)
    shared: tuple[str, ...]


class ShiftWeights(NamedTuple):
    """How a second file's rows differ from the first's; see `gbuq_core.tables.measure_shift`.

    Attributes
    ----------
    p_value : float
        Of the rows of both files being exchangeable.
    held, rows : ndarray of shape (n_held,), (n_rows,)
        How many times as frequent rows like each held-out row, and like each row of the second
        file, are in the second file; empty where the p-value is above 0.05.
    n_effective : float
        So many held-out rows of equal weight would vary as much; NaN without weights.
    why_not : str
        Why intervals cannot be weighted, without a full stop; empty if they can or need not.
    """

    p_value: float
    held: NDArray[np.float64]
    rows: NDArray[np.float64]
    n_effective: float
    why_not: str


@dataclass(frozen=True, kw_only=True)
class ScoredTable:
    """A scored table.

    Attributes
    ----------
    frame : DataFrame of shape (n_rows, ...)
        The input's columns and the added ones, in the order of the file.
    added : AddedColumns
        The names of the added columns.
    protocol : str
        One of `PROTOCOLS`; see the top of `gbuq_core.tables.scoring`.
    scores : RegressionScores or ClassificationScores
        On held-out rows of the first file.
    new_scores : the same or None
        On the second file, if it has targets.
    training, scored : Prepared
        The first table, and the one whose rows are scored (the same without a second file).
    models : tuple of FittedModel
        Several of them may share a fit and differ in what other rows chose; see ``fits``.
    model_of_row : ndarray of shape (n_rows,), int64
        Which of the models scored each row.
    measured : tuple of Measured
        With a second file, the models that gave ``scores``, which scored none of its rows.
    clocks : Clocks, ClassClocks or None
        What all rows held out chose together. The models of rows with a target use the same
        numbers of trees, with a factor and tails, or a temperature, that other rows chose
        (``models[k].estimator.clocks_``), so that intervals are honest.
    predictions : Predictions
        Of each row.
    plan : ScorePlan
        With an automatic ensemble settled.
    why_ensemble : str
        Why an automatic ensemble is what it is, in one sentence; else empty.
    notices : tuple of str
        What was decided about the file and the fit, one sentence each.
    seconds : float
        How long it took.
    held : ndarray of shape (n_training_rows,), bool
        The rows of the first file that give ``scores``: a model that did not learn from them
        judged them.
    unfamiliarity : TableUnfamiliarity or None
        Of each row, where `gbuq_core.tables.add_unfamiliarity` has added it.
    level : float
        Of the intervals in the frame; see `gbuq_core.tables.with_intervals`.
    conformal : bool
        Whether these are conformal.
    by_group : OwnGroups or None
        The groups that calibrate these each by itself; None for all rows together.
    shift : ShiftWeights or None
        What weighs the held-out rows that calibrate them; None for equal weights.
    questions : tuple of SplitQuestion
        What to ask before ``scores`` are believed; see `gbuq_core.tables.ask_about_split`.
    new_units : tuple of str
        What was done because a second file has other units; see `gbuq_core.tables.new_units`.
    """

    frame: pd.DataFrame
    added: AddedColumns
    protocol: str
    scores: Scores
    new_scores: Scores | None
    training: Prepared
    scored: Prepared
    models: tuple[FittedModel, ...]
    model_of_row: NDArray[np.int64]
    measured: tuple[Measured, ...]
    clocks: Clocks | ClassClocks | None
    predictions: Predictions
    plan: ScorePlan
    notices: tuple[str, ...]
    seconds: float
    held: NDArray[np.bool_]
    why_ensemble: str = ""
    unfamiliarity: TableUnfamiliarity | None = None
    level: float = USUAL_LEVEL
    conformal: bool = False
    by_group: OwnGroups | None = None
    shift: ShiftWeights | None = None
    questions: tuple[SplitQuestion, ...] = ()
    new_units: tuple[str, ...] = ()

    @property
    def fits(self) -> tuple[FittedModel, ...]:
        """One model for each fit that was made."""
        every = (*self.models, *(part.model for part in self.measured))
        first = {id(model.rows): model for model in reversed(every)}  # one that stops elsewhere
        return tuple(model for model in every if first[id(model.rows)] is model)


def score_table(
    table: Table,
    target: str,
    *,
    task: str | None = None,
    schema: Schema | None = None,
    new: Table | None = None,
    plan: ScorePlan | None = None,
) -> ScoredTable:
    r"""Train an ensemble on a table and give each row a prediction and its uncertainties.

    Scores the rows of ``new`` if it is given, else those of ``table``. The top of this module says
    which model scores which row. Reports progress to the current job and stops once nobody wants
    the result.

    Parameters
    ----------
    table : Table
    target : str
        The column to predict.
    task : {"regression", "classification"}, optional
        Inferred if None.
    schema : Schema, optional
        Inferred if None.
    new : Table, optional
        A second file to score; its target may be missing.
    plan : ScorePlan, optional

    Returns
    -------
    ScoredTable

    Examples
    --------
    >>> from gbuq_core.tables import read_table
    >>> rows = "\n".join(f"{i % 7},{i % 7 + 0.1 * (i % 3)}" for i in range(60))
    >>> table = read_table(f"x,y\n{rows}\n".encode())
    >>> scored = score_table(table, "y", plan=ScorePlan(n_trees=50))
    >>> scored.frame.columns.tolist()[:4]
    ['x', 'y', 'prediction', 'lower_90']
    """
    began = time.perf_counter()
    units = find_new_units(table, schema or infer_schema(table), target, new, plan or ScorePlan())
    training, scored = units.prepare(table, target, task, new)
    result = score_prepared(table, training, scored, new, units.plan)
    return replace(result, seconds=time.perf_counter() - began, new_units=units.notices)


def score_prepared(
    table: Table, training: Prepared, scored: Prepared, new: Table | None, plan: ScorePlan
) -> ScoredTable:
    """`score_table` once both tables are prepared."""
    began = time.perf_counter()
    if plan.listed:
        check_table_method(plan.method, training.target.task)
    n_new = 0 if new is None else new.n_rows
    settled = settle_plan(plan, training, n_new)
    check_memory(scoring_bytes(training, settled.plan, n_new), "scoring this table")
    protocol = choose_protocol(int(training.known.sum()), new is not None)
    with stage(1.0):
        with stage(1.0, span=0.94):  # the answers take the rest, measured once
            fits = fit_protocol(protocol, training, settled.plan)
        return _put_together(table, new, training, scored, settled, protocol, fits, began)


def score_again(
    table: Table, training: Prepared, fits: Fits, settled: Settled, new: Table
) -> ScoredTable:
    """What `score_table` returned beside a second file, from its models: nothing is fitted."""
    began, scored = time.perf_counter(), prepare_new(new, training)
    return _put_together(table, new, training, scored, settled, "new_file", fits, began)


def _put_together(
    table: Table,
    new: Table | None,
    training: Prepared,
    scored: Prepared,
    settled: Settled,
    protocol: str,
    fits: Fits,
    began: float,
) -> ScoredTable:
    """The result of a protocol with its output table and all that there is to tell."""
    plan, reason = settled
    predictions, scores = judge_fits(fits, training, scored, plan)
    new_scores = None
    if new is not None and scored.known.any():
        new_scores = evaluate_rows(scored, training, predictions, scored.known)
    frame, added, renamed = assemble_output(
        new or table, scored, predictions, fits.fold, fits.in_training
    )
    notices = [*table.notices, *training.notices, *width_notice(plan, training)]
    if new is not None:
        notices += [f"Second file: {notice}" for notice in new.notices]
        notices += scored.notices
        notices += _scale_notice(plan, scored)
    return ScoredTable(
        frame=frame,
        added=added,
        protocol=protocol,
        scores=scores,
        new_scores=new_scores,
        training=training,
        scored=scored,
        models=fits.models,
        model_of_row=fits.model_of_row if new is None else np.zeros(len(scored.X), np.int64),
        measured=fits.measured,
        clocks=fits.clocks,
        predictions=predictions,
        plan=plan,
        why_ensemble=reason,
        notices=(
            *notices,
            *renamed,
            *([reason] if reason else []),
            *_clock_notice(plan, fits.clocks, training.split),
            *describe_law([*fits.models, *(part.model for part in fits.measured)], training),
            *_few_groups_notice(fits, training.split),
            *flag_notices(predictions),
        ),
        seconds=time.perf_counter() - began,
        held=fits.held,
    )


def _scale_notice(plan: ScorePlan, new: Prepared) -> list[str]:
    """That targets of a second file cannot be on the log scale of the first."""
    n_rows = int((new.y <= 0.0).sum()) if plan.scale == "log" else 0
    if not n_rows:
        return []
    return [
        f"{counted(n_rows, 'target')} of the second file {'is' if n_rows == 1 else 'are'} not "
        "positive, which a log scale holds for impossible: the NLL counts each as 1 in a trillion."
    ]


def _clock_notice(
    plan: ScorePlan, clocks: Clocks | ClassClocks | None, split: RowSplit | None
) -> list[str]:
    """Where the models stop."""
    if plan.stopping is None or (plan.listed and not plan.stacks):
        return []
    if clocks is None:
        few = "rows" if split is None or split.by == "group" else "points in time"
        return [
            f"There are too few {few} to choose the number of trees. All trees are used, and "
            "intervals are likely to be too narrow."
        ]
    return [describe_clocks(clocks, plan.trees)]


def _few_groups_notice(fits: Fits, split: RowSplit | None) -> list[str]:
    """That the number of trees was chosen by rows of the group that gives the scores."""
    if split is None or split.by == "time" or fits.fold is not None or fits.clocks is None:
        return []
    if len(np.unique(split.codes[fits.held])) > 1:
        return []
    return [
        f"There are few values of {shown(split.column)}, so the scores are those of one group. "
        "Its own rows chose the number of trees and how wide intervals are: the scores are a "
        "little too good."
    ]
