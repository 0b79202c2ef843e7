"""What becomes of a session's memory after its tab has been closed.

Streamlit keeps a session for two minutes, so that a browser whose connection broke can come back.
Until then the session holds what its pages drew: tables, results, models. Streamlit drops it only
when another session ends, which may be hours later. `session_ended` sees to it in time, and returns
what was freed to the system.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable

from streamlit import runtime

from gbuq_core.jobs import release_memory

_SOON = 2.0  # seconds, by which the caches of a session are empty
_STORED = 2 * 60.0 + 1.0  # seconds, by which Streamlit lets nobody back into a session

_LOG = logging.getLogger(__name__)


class Later:
    """Work that is due some time after it was asked for, in a thread of its own; errors are logged.

    It begins at most ``grain`` seconds after it is due, and at most once in so many.
    """

    def __init__(self, seconds: float, grain: float, work: Callable[[], object]) -> None:
        self._seconds, self._grain, self._work = seconds, grain, work
        self._due: set[float] = set()
        self._waiting = False
        self._lock = threading.Lock()

    def ask(self) -> None:
        """Have the work done when it is due."""
        due = math.ceil((time.monotonic() + self._seconds) / self._grain) * self._grain
        with self._lock:
            self._due.add(due)
            if self._waiting:  # for something that is due earlier
                return
            self._waiting = True
        threading.Thread(target=self._wait, name="gbuq-later", daemon=True).start()

    def _wait(self) -> None:
        while True:
            with self._lock:
                if not self._due:
                    self._waiting = False
                    return
                due = min(self._due)
            time.sleep(max(0.0, due - time.monotonic()))
            with self._lock:
                self._due.discard(due)
            try:
                self._work()
            except Exception:
                _LOG.exception("What is left of a session could not be dropped")


def give_back_memory() -> None:
    """Return to the system what was freed, in a moment: what is ending has ended by then."""
    _GIVE_BACK.ask()


def session_ended() -> None:
    """Drop what a session held as soon as nobody can come back to it."""
    give_back_memory()
    _DROP.ask()


def drop_stored_sessions() -> None:
    """Drop the sessions that Streamlit stores and that nobody can come back to.

    Nothing public does it. What a run that was under way put into the session's caches after they
    were emptied, and what it wanted of the job runner, goes with them. Each session is emptied,
    because Streamlit's loop holds the one that it looked at last until somebody else comes.
    """
    if not runtime.exists():
        return
    manager = runtime.get_instance()._session_mgr
    storage = getattr(manager, "_session_storage", None)
    if storage is None:
        return
    with manager._storage_lock:  # type: ignore[attr-defined]
        dropped = storage._cache.expire()
    for _, info in dropped:
        info.session.shutdown()
        if info.session._scriptrunner is None:
            info.session._fragment_storage.clear()
            info.session.session_state.clear()
    dropped.clear()
    release_memory()


_GIVE_BACK = Later(_SOON, 2.0, release_memory)
_DROP = Later(_STORED, 5.0, drop_stored_sessions)
