"""Where a row's uncertainty comes from: at once, or as a job where there are many columns."""

from __future__ import annotations

import logging
from collections.abc import Hashable
from functools import partial

import streamlit as st

from gbuq_core.errors import GbuqError
from gbuq_core.jobs import RUNNER, Job
from gbuq_core.presentation import seconds_text
from gbuq_core.tables import RowExplanation, ScoredTable, estimate_explaining, explain_row
from pages._ui.jobs_glue import POLL_SECONDS, WAIT_SECONDS, session_user
from pages._ui.notices import show_notice
from pages._ui.your_data.training import own_key

ROW_SLOT = "row"
AT_ONCE_SECONDS = 0.5  # longer ones do not hold up the page
_CANCELLED = "_data_row_cancelled"
_CACHED = 64

_LOG = logging.getLogger(__name__)


def explanation_of(scored: ScoredTable, row: int, digest: str) -> RowExplanation | Job | None:
    """The explanation of a row, or the job that is at it, or None if it was cancelled or failed.

    Parameters
    ----------
    scored : ScoredTable
    row : int
    digest : str
        Names the scored table.
    """
    if estimate_explaining(scored) <= AT_ONCE_SECONDS:
        return _explain(digest, row, scored)
    key = own_key(("your data", "row", digest, row))
    if st.session_state.get(_CANCELLED) == key:
        return None
    st.session_state.pop(_CANCELLED, None)
    job = RUNNER.want(session_user(), key, partial(_compute, scored, row), slot=ROW_SLOT)
    if not job.wait(WAIT_SECONDS) or job.state == "cancelled":
        return job
    if job.error is not None:
        _tell(job.error)
        return None
    explained: RowExplanation = job.result()
    return explained


def show_waiting(waiting: Job | None, scored: ScoredTable) -> None:
    """In the place of an explanation: how far it is, or that it was cancelled."""
    if waiting is not None:
        _poll(waiting, estimate_explaining(scored))
    elif _CANCELLED in st.session_state:
        with st.container(horizontal=True, vertical_alignment="center", key="row-cancelled"):
            st.text("Cancelled. It is not known where this row's uncertainty comes from.")
            st.button("Compute it", key="_row_again", on_click=_forget_cancelled)


@st.fragment(run_every=POLL_SECONDS)
def _poll(job: Job, estimate: float) -> None:
    """Progress and Cancel; reruns the page when the job ends."""
    text = (
        "Replacing one column at a time to see where this row's uncertainty comes from: about "
        f"{seconds_text(estimate)} in all"
    )
    st.progress(job.fraction, text=text)
    st.button("Cancel", key="_row_cancel", on_click=_cancel, args=(job.key,))
    if job.state not in ("queued", "running"):
        st.rerun()


def _compute(scored: ScoredTable, row: int, job: Job) -> RowExplanation:
    return explain_row(scored, row)


def _cancel(key: Hashable) -> None:
    st.session_state[_CANCELLED] = key
    RUNNER.release(session_user(), [ROW_SLOT])


def _forget_cancelled() -> None:
    st.session_state.pop(_CANCELLED, None)


def _tell(error: BaseException) -> None:
    """One sentence about a failure; what is not ours goes to the log in full."""
    if isinstance(error, GbuqError):
        show_notice(str(error), "row")
        return
    _LOG.error("Explaining a row failed", exc_info=error)
    show_notice("This row could not be explained. The server's log has the details.", "row")


@st.cache_resource(max_entries=_CACHED, show_spinner=False, scope="session")
def _explain(digest: str, row: int, _scored: ScoredTable) -> RowExplanation:
    return explain_row(_scored, row)
