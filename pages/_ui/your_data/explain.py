"""What is worked out about one row: at once, or as a job where that takes long.

Where its uncertainty comes from, and what would have to be different for its model to be sure.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, NamedTuple

import streamlit as st

from gbuq_core.errors import GbuqError, LimitReached
from gbuq_core.jobs import RUNNER, Job
from gbuq_core.presentation import seconds_text
from gbuq_core.tables import (
    RowChange,
    RowExplanation,
    ScoredTable,
    change_row,
    estimate_change,
    estimate_explaining,
    explain_row,
)
from pages._ui.jobs_glue import POLL_SECONDS, WAIT_SECONDS, session_user
from pages._ui.journal import Work, note_work
from pages._ui.notices import show_notice
from pages._ui.your_data.training import own_key

ROW_SLOTS = ("row", "change", "leaves", "unfamiliar", "drift", "curve", "next", "methods", "given")
AT_ONCE_SECONDS = 0.5  # longer ones do not hold up the page
_CACHED = 64


class Task(NamedTuple):
    """Something to work out about a row: its slot, and what is said meanwhile and without it."""

    slot: str
    working: str
    cancelled: str
    failed: str


_EXPLAINING = Task(
    "row",
    "Replacing one column at a time to see where this row's uncertainty comes from",
    "Cancelled. It is not known where this row's uncertainty comes from.",
    "This row could not be explained. The server's log has the details.",
)
_CHANGING = Task(
    "change",
    "Trying all pairs of columns",
    "Cancelled. No change was found.",
    "No change could be looked for. The server's log has the details.",
)


class Change(NamedTuple):
    """A question: to which level which uncertainty of a row shall come, and what must stay."""

    row: int
    most: float
    kind: str
    fixed: tuple[str, ...]


class Nothing(NamedTuple):
    """The answer that no change of two values is enough."""


def explanation_of(scored: ScoredTable, row: int, digest: str) -> RowExplanation | Job | None:
    """The explanation of a row, or the job that is at it, or None if it was cancelled or failed."""
    if estimate_explaining(scored) <= AT_ONCE_SECONDS:
        return _explain(digest, row, scored)
    return _as_job(_EXPLAINING, digest, row, lambda job: explain_row(scored, row))


def change_of(scored: ScoredTable, asked: Change, digest: str) -> RowChange | Nothing | Job | None:
    """The smallest change, the job that is at it, or None if it was cancelled or failed."""
    if estimate_change(scored) <= AT_ONCE_SECONDS:
        return _change(digest, asked, scored)
    return _as_job(_CHANGING, digest, asked, lambda job: _look_for(scored, asked))


def show_waiting(waiting: Job | None, scored: ScoredTable) -> None:
    """In the place of an explanation: how far it is, or that it was cancelled."""
    show_waiting_for_task(_EXPLAINING, waiting, estimate_explaining(scored))


def show_waiting_for_change(waiting: Job | None, scored: ScoredTable) -> None:
    """In the place of a change: how far it is, or that it was cancelled."""
    show_waiting_for_task(_CHANGING, waiting, estimate_change(scored))


def _as_job(task: Task, digest: str, asked: Hashable, work: Callable[[Job], Any]) -> Any:
    return ask_job(task, own_key(("your data", task.slot, digest, asked)), work)


def ask_job(task: Task, key: Hashable, work: Callable[[Job], Any]) -> Any:
    """The result, the job that is at it, or None if it was cancelled or failed."""
    if st.session_state.get(_cancelled(task)) == key:
        return None
    st.session_state.pop(_cancelled(task), None)
    noted = partial(note_work, Work("your_data", task.slot, task.slot, None, None, key))
    try:
        job = RUNNER.want(session_user(), key, work, slot=task.slot, when_ended=noted)
    except LimitReached as error:
        show_notice(str(error), task.slot)
        return None
    if not job.wait(WAIT_SECONDS) or job.state == "cancelled":
        return job
    if job.error is not None:
        _tell(task, job)
        return None
    return job.result()


def show_waiting_for_task(task: Task, waiting: Job | None, estimate: float) -> None:
    """In the place of a result: how far it is, or that it was cancelled."""
    if waiting is not None:
        _poll(task, waiting, estimate)
    elif _cancelled(task) in st.session_state:
        with st.container(
            horizontal=True, vertical_alignment="center", key=f"{task.slot}-cancelled"
        ):
            st.text(task.cancelled)
            st.button(
                "Compute it", key=f"_{task.slot}_again", on_click=_forget_cancelled, args=(task,)
            )


@st.fragment(run_every=POLL_SECONDS)
def _poll(task: Task, job: Job, estimate: float) -> None:
    """Progress and Cancel; reruns the page when the job ends."""
    st.progress(job.fraction, text=f"{task.working}: about {seconds_text(estimate)} in all")
    st.button("Cancel", key=f"_{task.slot}_cancel", on_click=_cancel, args=(task, job.key))
    if job.state not in ("queued", "running"):
        st.rerun()


def _cancelled(task: Task) -> str:
    return f"_data_{task.slot}_cancelled"


def _cancel(task: Task, key: Hashable) -> None:
    st.session_state[_cancelled(task)] = key
    RUNNER.release(session_user(), [task.slot])


def _forget_cancelled(task: Task) -> None:
    st.session_state.pop(_cancelled(task), None)


def _tell(task: Task, job: Job) -> None:
    """One sentence about a failure; the log says where what is not ours went wrong."""
    if isinstance(job.error, GbuqError):
        show_notice(str(job.error), task.slot)
    else:
        show_notice(f"{task.failed} Its reference there is {job.reference}.", task.slot)


def _look_for(scored: ScoredTable, asked: Change) -> RowChange | Nothing:
    return change_row(scored, asked.row, asked.most, asked.kind, asked.fixed) or Nothing()


@st.cache_resource(max_entries=_CACHED, show_spinner=False, scope="session")
def _explain(digest: str, row: int, _scored: ScoredTable) -> RowExplanation:
    return explain_row(_scored, row)


@st.cache_resource(max_entries=_CACHED, show_spinner=False, scope="session")
def _change(digest: str, asked: Change, _scored: ScoredTable) -> RowChange | Nothing:
    return _look_for(_scored, asked)
