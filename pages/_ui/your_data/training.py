"""What is trained for the page, how much work that is, and the view of it that costs nothing."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Hashable
from functools import partial
from types import SimpleNamespace
from typing import NamedTuple

import streamlit as st

from gbuq_core.errors import GbuqError
from gbuq_core.jobs import RUNNER, Job
from gbuq_core.presentation import counted, format_bytes, seconds_text
from gbuq_core.settings import from_values, needed
from gbuq_core.tables import (
    Edits,
    Prepared,
    Schema,
    ScoredTable,
    ScorePlan,
    Table,
    TrainingSize,
    prepare_training,
    score_table,
    training_size,
)
from gbuq_core.tables.cutting import Stages, cut_table, stage_table
from gbuq_core.tables.plan import Cut
from gbuq_core.tables.predicting import trees_of
from pages._ui.jobs_glue import Answer, Request, session_user
from pages._ui.kept import remember
from pages._ui.notices import show_notice
from pages._ui.your_data.source import Opened
from pages._ui.your_data.state import AUTOMATIC

_LAST_VIEW, _OWNER = "_data_last_view", "_data_owner"


class Wanted(NamedTuple):
    """All that a trained and scored table depends on; the bytes are in the digests."""

    table: str
    edits: Edits
    target: str
    task: str | None
    plan: ScorePlan
    second: str

    @property
    def groups(self) -> str | None:
        """The column whose groups stay together; it is no feature, whatever model is trained."""
        return self.plan.split_column if self.plan.split == "group" else None


class Trained(NamedTuple):
    """A scored table with what it was made from; ``second`` is the other file's name.

    ``stages`` holds what all possible members say, so that knobs of the view predict nothing.
    ``unasked`` tells scores whose questions are still looked for, beside what is ``warned`` of.
    """

    wanted: Wanted
    opened: Opened
    second: str
    scored: ScoredTable
    stages: Stages | None
    unasked: bool = False
    warned: tuple[str, ...] = ()


class _Kept(NamedTuple):
    """What a session leaves behind in the process unless it is taken away."""

    user: str
    keys: set[Hashable]


class View(NamedTuple):
    """What the page draws: a scored table, cut, with a digest that names it."""

    scored: ScoredTable
    digest: str


def plan_of(values: SimpleNamespace) -> ScorePlan:
    """The knobs that train. K, start and members shown are not among them."""
    return needed(from_values(ScorePlan, vars(values)))


def wanted_of(
    opened: Opened, edits: Edits, values: SimpleNamespace, second: tuple[str, Table | None]
) -> Wanted:
    """What the page asks for."""
    task = None if values.task == AUTOMATIC else values.task
    return Wanted(opened.key, edits, values.target, task, plan_of(values), second[0])


def request_of(
    wanted: Wanted,
    opened: Opened,
    schema: Schema,
    second: Table | None,
) -> Request:
    """The one job of the page."""
    key: tuple[Hashable, ...] = ("your data", wanted)
    if opened.is_upload or second is not None:  # nobody else's, whoever has the same file
        key = own_key(key)
    return Request(
        "score",
        key,
        partial(_score, wanted, opened, schema, second),
        "Training and scoring each row",
        method=wanted.plan.method,
        rows=opened.table.n_rows,
        columns=len(schema.columns),
    )


def own_key(key: tuple[Hashable, ...]) -> tuple[Hashable, ...]:
    """The key of a result that is this session's alone, and goes when its tab is closed."""
    own = (*key, st.session_state.setdefault(_OWNER, uuid.uuid4().hex))
    _kept().keys.add(own)
    return own


def called_as_now(answer: Answer, opened: Opened, second: tuple[str, Table | None]) -> Answer:
    """The answer with the names that the files have now: the same content may have had others."""
    if not answer.fresh:
        return answer
    name = "" if second[1] is None else second[1].source.name
    return answer._replace(result=answer.result._replace(opened=opened, second=name))


def stale_line(answer: Answer) -> str:
    """Say what earlier results belong to; empty where they are those that are asked for.

    It may hold the name of the user's file.
    """
    if answer.fresh or answer.result is None:
        return ""
    trained: Trained = answer.result
    asked: Wanted = answer.request.key[1]  # type: ignore[index]
    name = trained.opened.table.source.name
    if asked.table != trained.wanted.table:
        sentence = f'These results belong to the table before, "{name}".'
    elif asked.second != trained.wanted.second:
        sentence = "These results belong to the second file before."
        if not trained.second:
            sentence = f'These results belong to "{name}" without the second file.'
    else:
        sentence = f'These results belong to "{name}" with the settings before your change.'
    return f"{sentence} New ones are on their way." if answer.state == "running" else sentence


def show_if_stale(answer: Answer) -> None:
    """Name earlier results; the style sheet dims the container called results while it is named."""
    sentence = stale_line(answer)
    with st.container(key="stale"):  # always there, so that nothing below it moves
        if sentence:
            show_notice(sentence, "stale", tone="note")


def cut_of(plan: ScorePlan, values: SimpleNamespace) -> Cut:
    """The knobs of the view that go with a plan."""
    return needed(from_values(Cut, vars(values)), plan)


def view_of(answer: Answer, values: SimpleNamespace) -> View | None:
    """The answer through the view's knobs; a cut that gives no member keeps the view before."""
    trained: Trained = answer.result
    cut = cut_of(trained.scored.plan, values)
    asked = trained.scored.questions  # which come later than the rows
    digest = hashlib.sha256(repr((trained.wanted, cut, asked)).encode()).hexdigest()
    last: View | None = st.session_state.get(_LAST_VIEW)
    try:
        scored = remember(digest, cut_table, trained.scored, cut, trained.stages, most=8)
        view = View(scored, digest)
    except GbuqError as error:
        show_notice(str(error), "cut", tone="error")
        return last
    st.session_state[_LAST_VIEW] = view
    return view


def measured_line(answer: Answer, view: View) -> str:
    """What training cost, measured."""
    scored: ScoredTable = answer.result.scored
    fits, seconds = scored.fits, answer.seconds if answer.seconds is not None else scored.seconds
    trees = [trees_of(model.estimator) for model in fits]
    if trees[0] is None:
        return f"It took {seconds_text(seconds)} to train and judge all rows."
    size = format_bytes(sum(each.memory_bytes_ for each in trees))
    what = f"{size} of models, {trees[0].n_trees_} trees each."
    ensembles = counted(len(fits), "ensemble")
    return f"It took {seconds_text(seconds)} to train {ensembles} and judge all rows, {what}"


def _score(
    wanted: Wanted, opened: Opened, schema: Schema, second: Table | None, job: Job
) -> Trained:
    scored = score_table(
        opened.table,
        wanted.target,
        task=wanted.task,
        schema=schema,
        new=second,
        plan=wanted.plan,
    )
    name = "" if second is None else second.source.name
    return Trained(wanted, opened, name, scored, stage_table(scored))


def size_of(
    wanted: Wanted, opened: Opened, schema: Schema, second: Table | None
) -> TrainingSize | None:
    """How much work training is; None where it cannot be trained at all."""
    n_new = 0 if second is None else second.n_rows
    try:
        return training_size(_prepared_of(wanted, opened, schema), wanted.plan, n_new)
    except GbuqError:  # the fit says it, where the picture would be
        return None


def _prepared_of(wanted: Wanted, opened: Opened, schema: Schema) -> Prepared:
    """The prepared table with a first row of features: all that the amount of work goes by."""
    known = wanted._replace(plan=_split_alone(wanted.plan), second="")
    return remember(known, _first_row_of, known, opened, schema, most=8)


def _split_alone(plan: ScorePlan) -> ScorePlan:
    """The part of a plan that decides which rows and columns are trained on."""
    return ScorePlan(split=plan.split, split_column=plan.split_column)


# Of a large table this takes a second, and most knobs leave it as it is.
def _first_row_of(known: Wanted, opened: Opened, schema: Schema) -> Prepared:
    split, column = known.plan.split, known.plan.split_column
    prepared = prepare_training(opened.table, schema, known.target, known.task, split, column)
    return prepared._replace(X=prepared.X.iloc[:1].copy())


def _forget(kept: _Kept) -> None:
    RUNNER.release(kept.user)
    RUNNER.forget(kept.keys)


@st.cache_resource(scope="session", on_release=_forget, show_spinner=False)
def _kept() -> _Kept:
    """The results made of this session's own files, which go when its tab is closed."""
    return _Kept(session_user(), set())
