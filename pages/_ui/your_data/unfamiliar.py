"""How unfamiliar the rows are: measured once a table, after its model, whatever the view shows."""

from __future__ import annotations

from collections.abc import Hashable

import streamlit as st

from gbuq_core.figures.table.unfamiliar import PartRank
from gbuq_core.jobs import Job
from gbuq_core.lenses import row as row_in_words
from gbuq_core.tables import (
    ScoredTable,
    TableUnfamiliarity,
    add_unfamiliarity,
    measure_unfamiliarity,
)
from gbuq_core.tables.unfamiliar import estimate_unfamiliarity
from pages._ui.jobs_glue import Answer
from pages._ui.your_data.explain import Task, ask_job, show_waiting_for_task
from pages._ui.your_data.training import Trained, View, own_key

_MEASURING = Task(
    "unfamiliar",
    "Measuring how unfamiliar the rows are",
    "Cancelled. It is not known how unfamiliar the rows are.",
    "It could not be measured how unfamiliar the rows are. The server's log has the details.",
)


class Waiting:
    """What is drawn while it is measured: the job, None after Cancel, and the estimate."""

    def __init__(self, job: Job | None, seconds: float) -> None:
        self.job, self.seconds = job, seconds


def with_unfamiliarity(view: View, answer: Answer) -> tuple[View, Waiting | None]:
    """The view with the columns of unfamiliarity, or as it is with what to wait for."""
    trained: Trained = answer.result
    wanted, scored = trained.wanted, trained.scored
    # No knob of the model or of the view is in it, but the groups, which stay together here too.
    key: tuple[Hashable, ...] = (
        "your data", "unfamiliar", wanted.table, wanted.edits, wanted.target, wanted.task,
        wanted.second, wanted.plan.seed, wanted.groups,
    )  # fmt: skip
    if trained.opened.is_upload or wanted.second:
        key = own_key(key)
    found = ask_job(_MEASURING, key, lambda job: _measure(scored))
    if not isinstance(found, TableUnfamiliarity):
        return view, Waiting(found, estimate_unfamiliarity(scored.training, scored.scored))
    digest = f"{view.digest}-familiar"
    return View(_add(digest, view.scored, found), digest), None


def show_measuring(waiting: Waiting | None) -> None:
    """Progress with Cancel, or that it was cancelled."""
    if waiting is not None:
        show_waiting_for_task(_MEASURING, waiting.job, waiting.seconds)


def describe_unfamiliarity(scored: ScoredTable, row: int, digest: str) -> str:
    """How unfamiliar a row is, with what says so where it is; empty where nothing was measured."""
    return "" if scored.unfamiliarity is None else _say(digest, row, scored)


def parts_of(scored: ScoredTable, row: int, digest: str) -> tuple[PartRank, ...]:
    """What every measure says about a row; empty where nothing was measured."""
    return _parts(digest, row, scored)


@st.cache_resource(max_entries=64, show_spinner=False, scope="session")
def _parts(digest: str, row: int, _scored: ScoredTable) -> tuple[PartRank, ...]:
    return row_in_words.parts_of(_scored, row)


def _measure(scored: ScoredTable) -> TableUnfamiliarity:
    return measure_unfamiliarity(scored.training, scored.scored, scored.plan.seed)


@st.cache_resource(max_entries=8, show_spinner=False, scope="session")
def _add(digest: str, _scored: ScoredTable, _found: TableUnfamiliarity) -> ScoredTable:
    return add_unfamiliarity(_scored, _found)


@st.cache_resource(max_entries=64, show_spinner=False, scope="session")
def _say(digest: str, row: int, _scored: ScoredTable) -> str:
    return row_in_words.say_unfamiliarity(_scored, row)
