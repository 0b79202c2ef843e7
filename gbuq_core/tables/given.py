"""A table judged by a model that exists already: its own predictions, IBUG, truncations, novelty.

The table is the one that the model was trained on; its rows are the neighbours, and what is novel
is far from them. With a second file, the rows of that are judged. See `gbuq_core.given_models`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow.compute as pc
from numpy.typing import NDArray

from gbuq_core.errors import InvalidData, InvalidParameter
from gbuq_core.given_models import GivenJudge, GivenModel, GivenRows, MatchedModel, match_table
from gbuq_core.given_models.matching import pick_columns
from gbuq_core.jobs import stage, tick
from gbuq_core.presentation import counted, digits, listed, short, shown
from gbuq_core.tables.cleaning import Prepared, prepare_new, prepare_training
from gbuq_core.tables.columns import as_text, single_chunk
from gbuq_core.tables.evaluating import Scores
from gbuq_core.tables.files import Table, free_name
from gbuq_core.tables.intervals import with_intervals
from gbuq_core.tables.number_columns import flag_rows
from gbuq_core.tables.output import AddedColumns, assemble_output
from gbuq_core.tables.plan import USUAL_LEVEL, ScorePlan
from gbuq_core.tables.predicting import (
    BLOCK_ROWS,
    FittedModel,
    Predictions,
    add_nll,
    nll_of_classes,
    predicted_values,
)
from gbuq_core.tables.schema import Schema, edit_schema, infer_schema
from gbuq_core.tables.scoring import ScoredTable, evaluate_rows
from gbuq_core.tables.written_numbers import holds_truths
from gbuq_core.trees.importers.source import plain_name
from gbuq_core.uncertainty import Uncertainty
from gbuq_core.validation import check_number

_IN_TRAINING = (
    "The model has learnt from these rows, so its errors and uncertainties look smaller than they "
    "are on new rows: score a second file to see those."
)
_MOST_POSSIBLE = 16  # columns that may be a model's categories: all choices among them are tried


@dataclass(frozen=True, kw_only=True)
class GivenTable:
    """A table judged by a given model.

    Attributes
    ----------
    scored : ScoredTable
        The rows with their predictions and uncertainties, for all that shows scored tables. Its
        ``scores`` are those of rows that the model has learnt from; ``new_scores`` are honest.
    matched : MatchedModel
    judge : GivenJudge
    rows : GivenRows
        Of every row, with positions of ``neighbours`` in the training table.
    notices, warnings : tuple of str
        One sentence each; a warning says why this is hardly the model's table.
    """

    scored: ScoredTable
    matched: MatchedModel
    judge: GivenJudge
    rows: GivenRows
    notices: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def frame(self) -> pd.DataFrame:
        """The input's columns and the added ones."""
        return self.scored.frame


class GivenNeighbour(NamedTuple):
    """A training row that decides a prediction: its position, its target as text, its cells."""

    row: int
    target: str
    cells: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class GivenExplanation:
    """One row of a `GivenTable`, explained.

    Attributes
    ----------
    row : int
        Its position.
    neighbours : tuple of GivenNeighbour
        The training rows of highest affinity, best first; empty for classes.
    novelty_shares : tuple of (str, float)
        How much each column adds to the row's distance, largest first; empty where there is none.
    sentences : tuple of str
    """

    row: int
    neighbours: tuple[GivenNeighbour, ...]
    novelty_shares: tuple[tuple[str, float], ...]
    sentences: tuple[str, ...]


def score_with_model(
    table: Table,
    target: str,
    model: GivenModel,
    *,
    task: str | None = None,
    schema: Schema | None = None,
    new: Table | None = None,
    n_neighbors: int | None = None,
    level: float = USUAL_LEVEL,
) -> GivenTable:
    r"""Judge the rows of a table, or of a second one, by a model that exists already.

    Trains no tree: the model's trees are used as they are.

    Parameters
    ----------
    table : Table
        The rows that the model was trained on, with their target.
    target : str
    model : GivenModel
        What `gbuq_core.read_model` has read.
    task : {"regression", "classification"}, optional
        The model's own if None.
    schema : Schema, optional
        Inferred if None. Columns that the model reads by name are used, and others left out.
    new : Table, optional
        Rows to judge instead; their target may be missing.
    n_neighbors : int, optional
        k of IBUG; chosen if None.
    level : float
        Of the intervals of a regression, after which their columns are named.

    Returns
    -------
    GivenTable

    Raises
    ------
    GbuqError
        One sentence, if the model does not read this table.

    Examples
    --------
    >>> import lightgbm
    >>> from gbuq_core import read_model
    >>> from gbuq_core.tables import read_table
    >>> x = np.arange(200) % 20.0
    >>> y = x + np.random.default_rng(0).normal(size=200)
    >>> lines = "\n".join(f"{a},{b}" for a, b in zip(x, y))
    >>> settings = {"verbose": -1, "num_leaves": 4}
    >>> data = lightgbm.Dataset(x[:, None], y, feature_name=["x"])
    >>> booster = lightgbm.train(settings, data, 40)
    >>> model = read_model(booster.model_to_string().encode())
    >>> given = score_with_model(read_table(f"x,y\n{lines}".encode()), "y", model)
    >>> bool(np.allclose(given.frame["prediction"], booster.predict(x[:, None])))
    True
    >>> given.frame.columns[-4:].tolist()
    ['ibug_std', 'nearest_rows', 'novelty', 'conditional_novelty']
    """
    began = time.perf_counter()
    schema, truths = _use_columns(table, schema or infer_schema(table), model, target)
    own = None if model.source.plain.link == "share" else model.source.task
    training = prepare_training(table, schema, target, task or own)
    target_is = training.target
    matched = match_table(model, training.X, training.y, target_is.classes)
    known = np.flatnonzero(training.known)
    with stage(3.0):
        with stage(1.0, span=2.0):
            X, y = training.X.iloc[known], training.y[known]
            judge = GivenJudge(matched, X, y, n_neighbors)
        scored = training if new is None else prepare_new(new, training)
        with stage(1.0, span=1.0):
            rows = _judge(judge, scored.X, known)
    predictions = _predictions(rows, scored, training, matched)
    in_training = None if new is not None else scored.known
    frame, added, renamed = assemble_output(new or table, scored, predictions, None, in_training)
    scores: Scores | None = None
    if new is None:
        scores = evaluate_rows(training, training, predictions, training.known)
    elif scored.known.any():
        scores = evaluate_rows(scored, training, predictions, scored.known)
    notices = [
        *matched.notices,
        *truths,
        *judge.notices,
        *renamed,
        *([_IN_TRAINING] if new is None else []),
    ]
    if new is not None:
        notices += scored.notices
    plan = ScorePlan(method="sglb" if rows.members is not None else "macau", ensemble="virtual")
    result = ScoredTable(
        frame=frame,
        added=added,
        protocol="held_out" if new is None else "new_file",
        scores=scores,  # type: ignore[arg-type]  # None where a second file has no target
        new_scores=None if new is None else scores,
        training=training,
        scored=scored,
        models=(FittedModel(judge, known),),
        model_of_row=np.zeros(len(scored.X), np.int64),
        measured=(),
        clocks=None,
        predictions=predictions,
        plan=plan,
        notices=tuple(notices),
        seconds=time.perf_counter() - began,
        held=np.zeros(len(training.X), bool),
    )
    if level != USUAL_LEVEL and not target_is.classes:
        result = with_intervals(result, level)
    frame, added = _with_more(result.frame, result.added, rows, training)
    return GivenTable(
        scored=replace(result, frame=frame, added=added),
        matched=matched,
        judge=judge,
        rows=rows,
        notices=tuple(notices),
        warnings=(*matched.warnings, *_ask_for_missing(schema, matched)),
    )


def _ask_for_missing(schema: Schema, matched: MatchedModel) -> list[str]:
    """Which codes may have been missing to a model of XGBoost, whose file does not say it."""
    if matched.source.kind != "xgboost":
        return []
    columns = [schema.column(name) for name in matched.columns]
    return [
        f"The column {shown(column.name)} holds {short(column.suspects[0])}, far from its other "
        "values. If it was missing to the model, predictions here are not XGBoost's: name it "
        f"(--missing {column.name}={short(column.suspects[0])})."
        for column in columns
        if column.suspects and not column.missing_values
    ]


def explain_with_model(given: GivenTable, row: int) -> GivenExplanation:
    """Which training rows a row's prediction comes from, and which columns make it novel.

    Parameters
    ----------
    found : GivenTable
    row : int
        Its position, from 0.

    Raises
    ------
    InvalidParameter
        If there is no such row.
    """
    n_rows = len(given.frame)
    row = check_number("row", row, 0, n_rows - 1, integer=True)
    rows, training = given.rows, given.scored.training
    neighbours: tuple[GivenNeighbour, ...] = ()
    if rows.neighbours is not None:
        places = [int(place) for place in rows.neighbours[row] if place >= 0]
        neighbours = tuple(_neighbour(given, place) for place in places)
    shares = given.judge.explain_novelty(given.scored.scored.X.iloc[[row]])
    by_column: tuple[tuple[str, float], ...] = ()
    if shares is not None:
        pairs = zip(given.matched.columns, shares[0].tolist(), strict=True)
        by_column = tuple(sorted(pairs, key=lambda pair: -pair[1]))
    return GivenExplanation(
        row=row,
        neighbours=neighbours,
        novelty_shares=by_column,
        sentences=tuple(_sentences(given, row, neighbours, by_column, training)),
    )


def _use_columns(
    table: Table, schema: Schema, model: GivenModel, target: str
) -> tuple[Schema, list[str]]:
    """The schema with what the model reads by name in use, and nothing else; and what is told."""
    schema.column(target)  # refuses a target that there is not
    names = model.source.feature_names
    if names is None:
        used_columns = [column.name for column in schema.columns if column.used]
        in_order = [name for name in used_columns if name != target]
        return _kinds_of_model(table, schema, model, in_order)
    others = [column for column in schema.columns if column.name != target]
    dropped = {column.name for column in others if column.chosen and not column.used}
    kept = {plain_name(column.name) for column in others if column.name not in dropped}
    # A column that the reader has left out comes back where no other one has its name.
    given = [c.name for c in others if c.name not in dropped or plain_name(c.name) not in kept]
    picked = pick_columns(model.source, given)
    used = {column.name: column.name in picked.values() for column in others}
    if not picked:
        raise InvalidData(
            f"The table has none of the model's columns, such as {listed(list(names)[:3])}: open "
            "the table that the model was trained on."
        )
    schema = edit_schema(table, schema, used=used)
    return _kinds_of_model(table, schema, model, [picked.get(name, "") for name in names])


def _kinds_of_model(
    table: Table, schema: Schema, model: GivenModel, read: Sequence[str]
) -> tuple[Schema, list[str]]:
    """The schema with the kinds that the model reads; and what is told of it.

    Numbers are categories where they are the levels that the model knows; True and False are 1 and
    0 where it reads numbers. ``read`` are the table's columns in the order of the model's features.
    A file of LightGBM or XGBoost says how many of them are categories, not which ones where no tree
    splits by them.
    """
    kinds = {column.name: column.kind for column in schema.columns}
    words = {name for name in read if kinds.get(name) == "category"}
    levels = model.source.plain.categories
    split = {read[place] for place in model.source.category_features if place < len(read)} - {""}
    if len(model.source.plain.hashed):
        schema = edit_schema(table, schema, kinds=dict.fromkeys(split - words, "category"))
    elif len(words) == len(levels):
        return schema, []
    if len(words) < len(levels):
        coded = _columns_of_levels(table, read, words | split, levels)
        notices = [
            f"The numbers of the column {shown(name)} are categories to the model."
            for name in coded
            if name not in words
        ]
        return edit_schema(table, schema, kinds=dict.fromkeys(coded, "category")), notices
    words -= split
    truths = [
        name
        for name in read
        if name in words and holds_truths(as_text(single_chunk(table.data, name)))
    ]
    notices = [
        f"True and False of the column {shown(name)} are 1 and 0 to the model." for name in truths
    ]
    return edit_schema(table, schema, kinds=dict.fromkeys(truths, "numeric")), notices


def _columns_of_levels(
    table: Table, read: Sequence[str], sure: set[str], levels: Sequence[tuple[str, ...]]
) -> tuple[str, ...]:
    """The columns of the model's categories, in order; empty where several choices fit, or none."""
    cells = {
        name: {*pc.unique(as_text(single_chunk(table.data, name)).drop_null()).to_pylist()}
        for name in read
        if name
    }
    known = [{*column} for column in levels]
    possible = [name for name in cells if name in sure or any(cells[name] <= own for own in known)]
    if len(possible) > _MOST_POSSIBLE:
        return ()
    fitting = [
        chosen
        for chosen in combinations(possible, len(known))
        if sure <= {*chosen}
        and all(
            cells[name] & own if name in sure else cells[name] <= own
            for name, own in zip(chosen, known, strict=True)
        )
    ]
    return fitting[0] if len(fitting) == 1 else ()


def _judge(judge: GivenJudge, X: pd.DataFrame, known: NDArray[np.int64]) -> GivenRows:
    """All rows, a block at a time, with neighbours as positions in the training table."""
    blocks = []
    for low in range(0, len(X), BLOCK_ROWS):
        tick(0.0)
        blocks.append(judge.judge(X.iloc[low : low + BLOCK_ROWS]))

    def joined(name: str, axis: int = 0) -> Any:
        parts = [getattr(block, name) for block in blocks]
        return None if parts[0] is None else np.concatenate(parts, axis=axis)

    neighbours = joined("neighbours")
    kinds = zip(*(block.uncertainty for block in blocks), strict=True)
    return GivenRows(
        loc=joined("loc"),
        probabilities=joined("probabilities"),
        uncertainty=Uncertainty(*(np.concatenate(parts) for parts in kinds)),
        scale=joined("scale"),
        neighbours=None if neighbours is None else known[neighbours],
        members=joined("members", axis=1),
        novelty=joined("novelty"),
        conditional_novelty=joined("conditional_novelty"),
        inference_novelty=joined("inference_novelty"),
    )


def _predictions(
    rows: GivenRows, scored: Prepared, training: Prepared, matched: MatchedModel
) -> Predictions:
    """The same as of any scored table: a normal, or the model's probabilities."""
    nll = normal = np.full(len(scored.y), np.inf)
    is_class = bool(training.target.classes)
    if is_class:
        nll = nll_of_classes(rows.probabilities, scored.y)
    unseen, missing, where = _flags(scored.X, training.X, matched)
    predictions = Predictions(
        rows.loc, rows.probabilities, rows.uncertainty, nll, unseen, missing, where, normal
    )
    return predictions if is_class else add_nll(predictions, scored.y, training.resolution)


def _flags(
    X: pd.DataFrame, of_training: pd.DataFrame, matched: MatchedModel
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], tuple[str, ...]]:
    """Rows with a level that the model does not know, or a gap where training had none."""
    complete = {name for name in matched.columns if not of_training[name].isna().any()}
    return flag_rows(X, matched.columns, matched.levels, complete)


def _with_more(
    frame: pd.DataFrame, added: AddedColumns, rows: GivenRows, training: Prepared
) -> tuple[pd.DataFrame, AddedColumns]:
    """The table with IBUG's and MACAU's columns too, under names that are free."""
    more: dict[str, tuple[Any, str]] = {}
    if rows.scale is not None and rows.neighbours is not None:
        more["ibug_std"] = (rows.scale, f"std, units of {training.target.name}")
        nearest = [
            "; ".join(map(str, row.tolist())) for row in training.row_numbers[rows.neighbours]
        ]
        more["nearest_rows"] = (pd.array(nearest, dtype="str"), "rows of the training table")
    for name in ("novelty", "conditional_novelty", "inference_novelty"):
        values = getattr(rows, name)
        if values is not None:
            more[name] = (values, "mean z-score over the trees")
    taken = set(frame.columns)
    named = {free_name(name, taken): pair for name, pair in more.items()}
    frame = frame.assign(**{name: values for name, (values, _) in named.items()})
    units = (*added.units, *(unit for _, unit in named.values()))
    return frame, added._replace(names=(*added.names, *named), units=units)


def _neighbour(given: GivenTable, place: int) -> GivenNeighbour:
    training = given.scored.training
    value = training.y[place]
    classes = training.target.classes
    target = classes[int(value)] if classes else short(value, 4)
    cells = training.X.iloc[place]
    return GivenNeighbour(
        place,
        target,
        tuple((name, _cell(cells[name])) for name in given.matched.columns),
    )


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if pd.isna(value) else short(float(value), 6)


def _sentences(
    given: GivenTable,
    row: int,
    neighbours: tuple[GivenNeighbour, ...],
    shares: tuple[tuple[str, float], ...],
    training: Prepared,
) -> list[str]:
    rows, target = given.rows, training.target
    parts = Uncertainty(*(part[row] for part in rows.uncertainty))
    predicted = predicted_values(given.scored.predictions, target)
    value = str(predicted.iloc[row]) if target.classes else short(rows.loc[row], 4)
    number = given.scored.scored.row_numbers[row]
    sentences = [f"The model predicts {value} for row {number:,}."]
    knows = not np.isnan(parts.knowledge)
    if target.classes:
        knowledge = f"{digits(parts.knowledge)} nats" if knows else "is not known"
        sentences.append(
            f"Data uncertainty is {digits(parts.data)} nats and knowledge uncertainty {knowledge}."
        )
    else:
        knowledge = f"and {digits(np.sqrt(parts.knowledge))} from knowledge"
        sentences.append(
            f"The std is {digits(np.sqrt(parts.data))} from data "
            f"{knowledge if knows else '(that from knowledge is not known)'}."
        )
    if neighbours and rows.scale is not None:
        who = ", ".join(f"{training.row_numbers[n.row]:,} ({n.target})" for n in neighbours)
        sentences.append(
            f"It falls into the same leaves as the training rows {who}; among its "
            f"{given.judge.n_neighbors_} neighbours the target has a std of "
            f"{digits(rows.scale[row])}."
        )
    if rows.novelty is not None and shares:
        novelty = rows.novelty[row]
        usual = "farther from the training rows than usual" if novelty > 2.0 else "not unusual"
        sentences.append(
            f"Its novelty is {short(novelty, 2)} ({usual}); the column {shares[0][0]} adds most to "
            f"it ({100 * shares[0][1]:.0f} %)."
        )
    return sentences


def describe_given(given: GivenTable) -> str:
    """How well the model does, in one sentence that says on which rows.

    Raises
    ------
    InvalidParameter
        If no row has a target.
    """
    scored = given.scored
    scores: Any = scored.new_scores if scored.protocol == "new_file" else scored.scores
    if scores is None:
        raise InvalidParameter("No row of the second file has a target, so there are no scores.")
    where = "of the second file" if scored.protocol == "new_file" else "that it has learnt from"
    on = f"On {counted(scores.n_rows, 'row')} {where}"
    if scored.training.target.classes:
        return (
            f"{on}, the model gets {scores.error_rate:.1%} of the classes wrong (always the most "
            f"frequent class: {scores.baseline_error_rate:.1%})."
        )
    return (
        f"{on}, the RMSE is {short(scores.rmse)} (always predicting the mean gives "
        f"{short(scores.baseline_rmse)}), and intervals of "
        f"{100 * scores.coverage.levels[-1]:.0f} % hold {100 * scores.coverage.observed[-1]:.0f} % "
        "of the rows."
    )
