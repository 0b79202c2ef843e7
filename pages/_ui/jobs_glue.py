"""Ask for results that may take a while, and keep the page alive meanwhile.

A page asks for several results at once (methods side by side) and draws what it is given::

    from pages._ui.jobs_glue import Request, ask, show_progress

    answers = ask(
        [
            Request(method, ("spiral", plan), partial(SPIRAL.fit, plan), label=method)
            for method, plan in plans.items()
        ]
    )
    show_progress(answers)                      # only while something is running
    for column, answer in zip(st.columns(len(answers)), answers, strict=True):
        with column:
            if answer.error:
                show_notice(answer.error, answer.slot, tone="error")
            elif answer.result is not None:     # the last good picture while a new one is made
                draw(answer.result, faded=not answer.fresh)
                st.caption(cost_line(answer))

- ``compute`` runs on the process-wide executor, in a thread without Streamlit: it must not touch
  ``st``. Estimators tick the current job by themselves, so nothing needs to be passed on.
- ``key`` must name everything the result depends on (a NamedTuple of settings, a digest of the
  rows), beginning with the experiment: two sessions that ask for the same key share one fit.
- Results that are ready within 0.12 s come back at once, without a flash of progress. For longer
  ones a fragment polls and reruns the page when one of them ends.
- A new request in a slot stops the old one of this session, unless another session wants it too;
  so do Cancel, another page and a closed tab.
- Where a server limits what a session may take (`gbuq_core.session_limits`), fits that are too many
  at once wait, and what is refused is told in ``answer.error``; the last good picture stays.
- A request that ``waits`` starts nothing: a page gives it until the reader has pressed a button.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, NamedTuple

import streamlit as st

from gbuq_core.compilers import compiling_words
from gbuq_core.errors import GbuqError, LimitReached
from gbuq_core.jobs import RUNNER, Job
from gbuq_core.presentation import counted, seconds_text
from pages._ui.export import OFFERED
from pages._ui.journal import Work, note_work
from pages._ui.kept import forget_kept
from pages._ui.leaving import session_ended
from pages._ui.warmup import is_warm

WAIT_SECONDS = 0.12  # a rerun may take this long before progress is shown
POLL_SECONDS = 0.2
_SLICE_SECONDS = 0.05  # after so long a wait a newer run of the page is looked for

BACKGROUND = "background"  # slots of what a page asks for without waiting begin with this

# Session keys, declared once.
_LAST, _CANCELLED, _PAGE = "_jobs_last", "_jobs_cancelled", "_jobs_page"
_BEHIND = "_jobs_behind"  # the slots that the page asked for one by one
_BAR = "_jobs_bar"  # the `_Bar` of the page

_NAMED = 3  # of the jobs that a bar counts
_TELLS_FROM = 0.05  # of the work, before which nothing is said of the time that is left


class Request(NamedTuple):
    """A result a page wants in one of its places."""

    slot: str  # the place; a session has one job a slot
    key: Hashable  # everything that the result depends on, the experiment's name first
    compute: Callable[[Job], Any]  # called with the job, in another thread
    label: str = ""  # what is being made, in the page's own words (not a user's text)
    total: float = 1.0  # how many units of progress the fit ticks
    # Whether the reader has to start it first. A result that the session holds is shown anyway.
    waits: bool = False
    method: str = ""  # what the server's log calls it, in words of ours; empty: the label
    # `rows`, `columns`: of the table that is fitted, for the log; None: the log looks for `rows` in
    # the key
    rows: int | None = None
    columns: int | None = None
    # the result, if it need not be made, else None; without it no stored result will do
    stored: Callable[[], Any] | None = None
    cancelled: str = ""  # what is said once the reader has stopped it
    failed: str = ""  # what has failed, in a sentence; empty: the fit


def in_thread(work: Callable[..., Any], *given: Any) -> Callable[[Job], Any]:
    """What a request computes where the work does not look at its job."""
    return lambda job: work(*given)


class Answer(NamedTuple):
    """What there is for a request now.

    ``result`` is the wanted one if ``fresh``, else the last good one of the slot, or None.
    ``seconds`` is what making ``result`` took. ``state`` is "running", "done", "failed",
    "cancelled" or "waiting"; ``error`` is one sentence, to be shown where the picture would be.
    """

    slot: str
    request: Request
    state: str
    result: Any
    fresh: bool
    seconds: float | None
    error: str
    job: Job | None


class _Good(NamedTuple):
    """The last good result of a slot."""

    key: Hashable
    result: Any
    seconds: float | None  # None where it was stored

    def serves(self, request: Request) -> bool:
        """Whether it is the wanted result: a stored one has to be stored for this request, too."""
        if self.key != request.key:
            return False
        return self.seconds is not None or (
            request.stored is not None and request.stored() is not None
        )


class _Bar:
    """The one bar of a page, in work done: of all jobs that its places wait for, alike.

    It counts on while jobs join and end, and begins anew where all of them are others.
    """

    def __init__(self) -> None:
        self._jobs: dict[str, list[tuple[str, Job]]] = {}  # by place, each with its label
        self._counted: set[str] = set()  # references of jobs
        self.shown_at: set[str] = set()  # places that have waited
        self._n_ended, self._shown = 0, 0.0

    def begin_run(self) -> None:
        """Forget the places: those that still wait say so in the run that begins."""
        for place in [*self._jobs]:
            self.wait_for(place, [])

    def wait_for(self, place: str, jobs: list[tuple[str, Job]]) -> None:
        """Note what a place waits for now."""
        left = {job.reference for _, job in jobs}
        before = [job for _, job in self._jobs.get(place, []) if job.reference not in left]
        self._n_ended += sum(job.state == "done" for job in before)
        if jobs:
            self._jobs[place] = jobs
            self.shown_at.add(place)
        else:
            self._jobs.pop(place, None)

    def is_at(self, place: str) -> bool:
        """Whether the bar stands at this place, the first one that waits."""
        return next(iter(self._jobs), None) == place

    def look(self) -> tuple[float, str]:
        """The share to show, which never shrinks, and the words on it."""
        labelled = {
            job.reference: (label, job) for jobs in self._jobs.values() for label, job in jobs
        }
        if not self._counted & labelled.keys():
            self._n_ended, self._shown = 0, 0.0
        self._counted = {*labelled}
        jobs = [job for _, job in labelled.values()]
        done = self._n_ended + sum(job.fraction for job in jobs)
        self._shown = max(self._shown, done / (self._n_ended + len(jobs)))
        named = _named([label for label, _ in labelled.values()])
        if all(job.state == "queued" for job in jobs):
            return self._shown, f"{named}: {_why_queued(jobs)}"
        left = _remaining_seconds(jobs)
        more = f", about {seconds_text(left)} left" if left is not None and left >= 1.0 else ""
        return self._shown, f"{named}: {int(100 * self._shown)} %{more}"


def _named(labels: Sequence[str]) -> str:
    """The first few different labels.

    >>> _named(["SGB", "SGLB", "SGB"]), _named(["a", "b", "c", "d"])
    ('SGB, SGLB', 'a, b, c and others')
    """
    own = [label for label in dict.fromkeys(labels) if label]
    return ", ".join(own[:_NAMED]) + (" and others" if len(own) > _NAMED else "")


def _why_queued(jobs: Sequence[Job]) -> str:
    if any(job.held_back for job in jobs) and RUNNER.limits.fits_at_once is not None:
        most = counted(RUNNER.limits.fits_at_once, "fit")
        return f"waiting, because this server runs {most} of a visitor at once"
    return "waiting for another fit"


def _remaining_seconds(jobs: Sequence[Job]) -> float | None:
    """Of the job that takes longest, from its work done so far; None before there is enough."""
    going = [job for job in jobs if job.state in ("queued", "running")]
    if not going or min(job.fraction for job in going) < _TELLS_FROM:
        return None
    return max(job.seconds * (1.0 - job.fraction) / job.fraction for job in going)


def ask(
    requests: Sequence[Request], wait: float = WAIT_SECONDS, others: Sequence[str] = ()
) -> list[Answer]:
    """Return an answer for each request, after at most ``wait`` seconds.

    Slots that a page asked for before and no longer does are given up, but for ``others``, which a
    fragment of the page sees to, and those of `ask_beside`. What this session holds already, as
    the last good result of a slot, is never computed again.
    """
    user = session_user()
    RUNNER.keep(
        user, [*(request.slot for request in requests), *others, *st.session_state.get(_BEHIND, ())]
    )
    cancelled = st.session_state.setdefault(_CANCELLED, {})
    jobs: list[Job | None] = []
    refused: dict[str, str] = {}
    for request in requests:
        slot, key = request.slot, request.key
        if slot in cancelled and cancelled[slot] == key:
            jobs.append(None)
            continue
        cancelled.pop(slot, None)
        if _held(request) is not None:
            RUNNER.settle(user, key, slot)
            jobs.append(None)
            continue
        if request.waits:
            RUNNER.release(user, [slot])
            jobs.append(None)
            continue
        try:
            jobs.append(_want(request))
        except LimitReached as error:
            refused[slot] = str(error)
            jobs.append(None)

    deadline = time.monotonic() + wait
    for job in jobs:
        if job is not None:
            _wait_for(job, deadline)
    return [
        _answer(request, job, refused.get(request.slot, ""))
        for request, job in zip(requests, jobs, strict=True)
    ]


def _want(request: Request, background: bool = False) -> Job:
    """The job of a request; the first one who asks for it has its end noted in the log."""
    page, slot = st.session_state.get(_PAGE, ""), request.slot
    work = Work(
        page, slot, request.method or request.label, request.rows, request.columns, request.key
    )
    return RUNNER.want(
        session_user(),
        request.key,
        request.compute,
        request.total,
        slot=slot,
        background=background,
        when_ended=partial(note_work, work),
    )


def _wait_for(job: Job, deadline: float) -> None:
    while not job.wait(max(0.0, min(deadline - time.monotonic(), _SLICE_SECONDS))):
        if time.monotonic() >= deadline:
            return
        st.session_state.setdefault(_LAST, {})  # here a run that is overtaken ends


def ask_beside(request: Request, start: bool = True, background: bool = False) -> Answer:
    """What there is for a request of less weight than those that the page asks for together."""
    slot, key = request.slot, request.key
    st.session_state.setdefault(_BEHIND, set()).add(slot)
    cancelled = st.session_state.setdefault(_CANCELLED, {})
    if slot in cancelled and cancelled[slot] == key:
        return _answer(request, None)
    cancelled.pop(slot, None)
    if _held(request) is not None:
        RUNNER.settle(session_user(), key, slot)
        return _answer(request, None)
    if not start:
        return _answer(request, None)._replace(state="waiting")
    try:
        job = _want(request, background)
    except LimitReached as error:
        return _answer(request, None, str(error))
    job.wait(WAIT_SECONDS)
    return _answer(request, job)


def stop_in_background(slot: str, key: Hashable) -> None:
    """Stop what runs in the background for this page: a button's callback."""
    _cancel([(slot, key)])


def show_progress(answers: Sequence[Answer], place: str = "") -> None:
    """Show progress and Cancel while something runs; offer to start again what was cancelled.

    A page that calls it at two places names the second one, since both may show something at once:
    Cancel at each, and one bar for both at the first.
    """
    running = [answer for answer in answers if answer.state == "running"]
    labelled = [(answer.request.label, answer.job) for answer in running]
    bar = _bar()
    bar.wait_for(place, [(label, job) for label, job in labelled if job is not None])
    if running:
        with st.container():
            if words := compiling_words():
                st.text(f"{words}. What this page needs goes first.")
            elif not is_warm():
                st.text("The server has just started and is loading its kernels: some seconds.")
            _poll(running, place)
    elif place in bar.shown_at:
        st.empty()  # at once, and not at the end of the run, where another place may have the bar
    cancelled = [answer for answer in answers if answer.state == "cancelled"]
    if cancelled:
        kept = any(answer.result is not None for answer in cancelled)
        key = f"jobs-cancelled{place}"
        with st.container(horizontal=True, vertical_alignment="center", key=key):
            more = " The picture still shows the previous settings." if kept else ""
            sentences = "".join(f" {answer.request.cancelled}" for answer in cancelled)
            st.text(f"Cancelled.{sentences.rstrip()}{more}")
            slots = [answer.slot for answer in cancelled]
            again = f"_jobs_again{place}"
            if st.button("Start again", key=again, on_click=start_again, args=slots):
                st.rerun()  # in a fragment, whose page asks for jobs: else it is running by now


def cost_line(answer: Answer) -> str:
    """The measured cost of what is shown; empty where nothing was fitted.

    >>> cost_line(Answer("a", Request("a", 1, print), "done", 1, True, 0.0421, "", None))
    'Fitted in 0.042 s'
    """
    if answer.fresh and answer.seconds is not None:
        return f"Fitted in {seconds_text(answer.seconds)}"
    return ""


def leave_other_pages(page: str) -> None:
    """Stop what this session wanted on another page. `app.py` calls it before each page."""
    _bar().begin_run()
    if st.session_state.get(_PAGE) == page:
        return
    st.session_state[_PAGE] = page
    RUNNER.release(session_user())
    st.session_state.pop(_LAST, None)
    st.session_state.pop(_CANCELLED, None)
    st.session_state.pop(_BEHIND, None)
    st.session_state.pop(_BAR, None)
    st.session_state.pop(OFFERED, None)
    forget_kept()


def _drop_user(user: str) -> None:
    RUNNER.forget_user(user)
    session_ended()


@st.cache_resource(scope="session", on_release=_drop_user, show_spinner=False)
def session_user() -> str:
    """Return this session's name for the job runner; what it wants ends when the tab is closed."""
    return uuid.uuid4().hex


def _held(request: Request) -> _Good | None:
    """The wanted result, if it is the last good one of the slot, or stored."""
    last: dict[str, _Good] = st.session_state.setdefault(_LAST, {})
    good = last.get(request.slot)
    if good is not None and good.serves(request):
        return good
    stored = None if request.stored is None else request.stored()
    if stored is None:
        return None
    last[request.slot] = _Good(request.key, stored, None)
    return last[request.slot]


def _answer(request: Request, job: Job | None, refused: str = "") -> Answer:
    last: dict[str, _Good] = st.session_state.setdefault(_LAST, {})
    if job is None:
        state = "waiting" if request.waits else "cancelled"
        state = state if _held(request) is None else "done"
    else:
        state = job.state
    state = "running" if state == "queued" else state
    error = refused
    if refused:
        state = "failed"
    if job is not None and state == "done":
        last[request.slot] = _Good(request.key, job.result(), job.seconds)
    elif job is not None and state == "failed":
        error = _sentence(job, request.failed)
    good = last.get(request.slot)
    return Answer(
        slot=request.slot,
        request=request,
        state=state,
        result=None if good is None else good.result,
        fresh=good is not None and good.serves(request),
        seconds=None if good is None else good.seconds,
        error=error,
        job=job,
    )


def _sentence(job: Job, failed: str) -> str:
    """One sentence about a failed fit; the log says where what is not ours went wrong."""
    error = job.error
    if isinstance(error, GbuqError):
        return str(error)
    what = failed or f"The fit failed ({type(error).__name__})."
    return f"{what} The server's log tells where, under the reference {job.reference}."


def _bar() -> _Bar:
    bar: _Bar = st.session_state.setdefault(_BAR, _Bar())
    return bar


@st.fragment(run_every=POLL_SECONDS)
def _poll(running: Sequence[Answer], place: str = "") -> None:
    """The bar, or that it stands elsewhere, and Cancel; reruns the page when a job ends."""
    if any(
        answer.job is None or answer.job.state not in ("queued", "running") for answer in running
    ):
        st.rerun()  # before a full bar is drawn, which would stand there until the page is
    bar = _bar()
    if bar.is_at(place):
        share, words = bar.look()
        st.progress(share, text=words)
    else:
        named = _named([answer.request.label for answer in running])
        st.text(f"{named}: the bar above counts this, too.")
    # Streamlit keeps the arguments as long as the session: no results among them.
    wanted = [(answer.slot, answer.request.key) for answer in running]
    st.button("Cancel", key=f"_jobs_cancel{place}", on_click=_cancel, args=(wanted,))


def _cancel(wanted: Sequence[tuple[str, Hashable]]) -> None:
    for slot, key in wanted:
        st.session_state[_CANCELLED][slot] = key
    RUNNER.release(session_user(), [slot for slot, _ in wanted])


def was_cancelled(request: Request) -> bool:
    """Whether the reader stopped this very request; a page may then have it wait."""
    key: Hashable = st.session_state.get(_CANCELLED, {}).get(request.slot)
    return bool(key == request.key)


def start_again(*slots: str) -> None:
    """Make what was cancelled in these slots wanted again: a button's callback."""
    cancelled = st.session_state.setdefault(_CANCELLED, {})
    for slot in slots:
        cancelled.pop(slot, None)
